/* test_safetensors_verify.c - what verify finds in files that open. */
#include "safetensors.h"

/* Verifies what was opened; the findings of opening are put away first. */
static void verify(struct opened *o, bool deep)
{
	struct reader file = { .map = { o->bytes, o->len }, .size = o->len };
	struct verify_job job = {
		.file = &file, .model = &o->model, .deep = deep, .report = &o->report, .mem = &o->mem, .err = &o->err,
	};
	report_fini(&o->report);
	report_init(&o->report);
	assert_int_equal(format_safetensors.verify(&job), TN_OK);
}

#define FORMAT_PT "\"__metadata__\":{\"format\":\"pt\"},"
#define ONE "{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}"
#define TWO "{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}"

static void a_canonical_file_has_nothing_to_say(void **state)
{
	(void)state;
	struct opened o;
	char header[256];
	int n = snprintf(header, sizeof header, "{" FORMAT_PT "\"a\":" ONE ",\"b\":" TWO "}");
	while (n % DATA_ALIGN != 0)
		header[n++] = ' ';
	assert_int_equal(open_header(&o, (tn_view){ (const uint8_t *)header, (size_t)n }, 8), TN_OK);
	verify(&o, true);
	assert_int_equal(o.report.n, 0);
	close_opened(&o);
}

static void any_other_form_is_shown_where_it_starts(void **state)
{
	(void)state;
	static const struct { const char *header; size_t at; } cases[] = {
		{ "{ \"a\":" ONE "}      ", 1 },
		{ "{\"b\":" ONE ",\"a\":" TWO "}  ", 2 },
		{ "{\"\\u0061\":" ONE "}", 2 },
		{ "{\"a\":{\"shape\":[1],\"dtype\":\"F32\",\"data_offsets\":[0,4]}}  ", 6 },
		{ "{\"a\":" ONE "}", 54 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct opened o;
		size_t data = strstr(cases[i].header, "[4,8]") != NULL ? 8 : 4;
		assert_int_equal(open_header(&o, tn_text(cases[i].header), data), TN_OK);
		verify(&o, false);
		bool shown = false;
		for (size_t k = 0; k < o.report.n; k++)
			shown = shown || (strstr(o.report.list[k].text, "a rewrite changes it") != NULL &&
			                  o.report.list[k].offset >= HEADER_AT + cases[i].at &&
			                  o.report.list[k].offset <= HEADER_AT + cases[i].at + 3);
		if (!shown)
			fail_msg("%s: no note at %zu", cases[i].header, cases[i].at);
		close_opened(&o);
	}
}

static void habits_of_readers_are_notes(void **state)
{
	(void)state;
	struct opened o;
	assert_int_equal(open_header(&o, VIEW("{\"u\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
	                                      "\"d\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[4,12]}}"), 12), TN_OK);
	verify(&o, false);
	assert_true(says(&o.report, TN_NOTE, "no 'format'"));
	assert_true(says(&o.report, TN_NOTE, "multiple of its 8-byte elements"));
	assert_int_equal(o.report.of[TN_WARNING] + o.report.of[TN_ERROR], 0);
	close_opened(&o);
}

static void booleans_are_read_when_deep(void **state)
{
	(void)state;
	struct opened o;
	tn_view header = VIEW("{\"m\":{\"dtype\":\"BOOL\",\"shape\":[5],\"data_offsets\":[0,5]}}");
	assert_int_equal(open_header(&o, header, 5), TN_OK);
	verify(&o, false);
	assert_int_equal(o.report.of[TN_WARNING], 0);
	verify(&o, true);
	assert_int_equal(o.report.of[TN_WARNING], 1); /* the data is 0 1 2 3 4 */
	assert_true(says(&o.report, TN_WARNING, "3 of its booleans are neither 0 nor 1, the first is element 2"));
	memset(o.bytes + o.len - 5, 1, 5);
	verify(&o, true);
	assert_int_equal(o.report.of[TN_WARNING], 0);
	close_opened(&o);
}

static void a_header_for_few_readers_is_noted(void **state)
{
	(void)state;
	size_t n = HUB_MAX + 8;
	uint8_t *text = malloc(n);
	assert_non_null(text);
	memset(text, ' ', n);
	memcpy(text, "{}", 2);
	struct opened o;
	assert_int_equal(open_header(&o, (tn_view){ text, n }, 0), TN_OK);
	verify(&o, false);
	assert_true(says(&o.report, TN_NOTE, "hub's viewer"));
	close_opened(&o);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_canonical_file_has_nothing_to_say),
		cmocka_unit_test(any_other_form_is_shown_where_it_starts),
		cmocka_unit_test(habits_of_readers_are_notes),
		cmocka_unit_test(booleans_are_read_when_deep),
		cmocka_unit_test(a_header_for_few_readers_is_noted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
