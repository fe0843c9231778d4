/* test_json_print.c - JSON spelled as serde_json spells it. */
#include "base/bytes.h"
#include "codec/json.h"
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static void assert_printed(struct buf *b, const char *text)
{
	assert_false(b->failed);
	if (b->len != strlen(text) || memcmp(b->ptr, text, b->len) != 0)
		fail_msg("%.*s is not %s", (int)b->len, (const char *)b->ptr, text);
	buf_fini(b);
}

static void strings(void **state)
{
	(void)state;
	static const struct { tn_view in; const char *out; } cases[] = {
		{ { NULL, 0 }, "\"\"" },
		{ { (const uint8_t *)"model.weight", 12 }, "\"model.weight\"" },
		{ { (const uint8_t *)"a\"b\\c/d", 7 }, "\"a\\\"b\\\\c/d\"" },
		{ { (const uint8_t *)"\b\f\n\r\t", 5 }, "\"\\b\\f\\n\\r\\t\"" },
		{ { (const uint8_t *)"\0\x01\x0b\x1f\x20\x7f", 6 }, "\"\\u0000\\u0001\\u000b\\u001f \x7f\"" },
		{ { (const uint8_t *)"\xc3\xa9\xf0\x9f\x98\x80", 6 }, "\"\xc3\xa9\xf0\x9f\x98\x80\"" },
		{ { (const uint8_t *)"\"", 1 }, "\"\\\"\"" },
	};
	struct buf b;
	buf_init(&b, 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		json_put_string(&b, cases[i].in);
		assert_printed(&b, cases[i].out);
		json_put_lossy(&b, cases[i].in); /* the same wherever it is UTF-8 */
		assert_printed(&b, cases[i].out);
	}
}

static void bytes_that_are_no_utf8(void **state)
{
	(void)state;
	static const struct { const char *in, *out; } cases[] = {
		{ "\xff", "\"\\\\xff\"" },
		{ "a\x80" "b\n", "\"a\\\\x80b\\n\"" },
		{ "\xed\xa0\x80", "\"\\\\xed\\\\xa0\\\\x80\"" },
		{ "\xc3\xa9\xc3", "\"\xc3\xa9\\\\xc3\"" },
		{ "\xe2\x82" "A", "\"\\\\xe2\\\\x82A\"" },
	};
	struct buf b;
	buf_init(&b, 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		json_put_lossy(&b, tn_text(cases[i].in));
		assert_printed(&b, cases[i].out);
	}
}

static void numbers(void **state)
{
	(void)state;
	struct buf b;
	buf_init(&b, 0);
	json_put_uint(&b, 0);
	buf_byte(&b, ' ');
	json_put_uint(&b, UINT64_MAX);
	buf_byte(&b, ' ');
	json_put_int(&b, INT64_MIN);
	buf_byte(&b, ' ');
	json_put_int(&b, 12);
	assert_printed(&b, "0 18446744073709551615 -9223372036854775808 12");
}

static void reals(void **state)
{
	(void)state;
	static const struct { double v; const char *out; } cases[] = {
		{ 1, "1.0" }, { -0.0, "-0.0" }, { 0.1, "0.1" }, { 1e-5, "0.00001" }, { 1e-6, "1e-6" },
		{ 1e15, "1000000000000000.0" },
		{ 1e16, "1e+16" }, { 1.5e300, "1.5e+300" }, { (double)INFINITY, "null" },
		{ -(double)INFINITY, "null" }, { (double)NAN, "null" },
	};
	struct buf b;
	buf_init(&b, 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		json_put_real(&b, cases[i].v);
		assert_printed(&b, cases[i].out);
	}
}

/* Every byte, as a string of its own and in company, comes back from the reader. */
static void the_reader_takes_what_is_printed(void **state)
{
	(void)state;
	for (unsigned c = 0; c < 0x80; c++) {
		const uint8_t text[] = { 'x', (uint8_t)c, (uint8_t)c, 'y' };
		const struct json_options opt = { .what = "test" };
		struct buf b;
		struct json_doc *doc;
		tn_error err = { 0 };
		buf_init(&b, 0);
		json_put_string(&b, (tn_view){ text, sizeof text });
		assert_int_equal(json_parse(&doc, buf_bytes(&b), &opt, &err), TN_OK);
		assert_true(view_eq(json_string(json_root(doc)), (tn_view){ text, sizeof text }));
		json_free(doc);
		buf_fini(&b);
	}
}

static void a_full_buffer_fails(void **state)
{
	(void)state;
	struct buf b;
	for (uint64_t budget = 1; budget < 12; budget++) {
		buf_init(&b, budget);
		json_put_string(&b, VIEW("abc\n\xc3\xa9" "d"));
		assert_int_equal(b.failed, budget < 10);
		buf_fini(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings),
		cmocka_unit_test(bytes_that_are_no_utf8),
		cmocka_unit_test(numbers),
		cmocka_unit_test(reals),
		cmocka_unit_test(the_reader_takes_what_is_printed),
		cmocka_unit_test(a_full_buffer_fails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
