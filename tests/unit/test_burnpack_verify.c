/* test_burnpack_verify.c - findings about files that open. */
#include "unit/burnpack.h"

/* Opens metadata over data bytes 1 2 3 ... and verifies; the report is o->report. */
static void verify(struct opened *o, const char *metadata, size_t data, bool deep)
{
	if (open_text(o, metadata, data) != TN_OK)
		fail_msg("%s: %s", metadata, o->err.msg);
	struct reader reader = { .map = buf_bytes(&o->file), .size = o->file.len };
	struct verify_job job = { .file = &reader, .model = &o->model, .deep = deep, .report = &o->report, .mem = &o->mem,
	                          .err = &o->err };
	assert_int_equal(format_burnpack.verify(&job), TN_OK);
}

static void sound_file_has_no_findings(void **state)
{
	(void)state;
	struct opened o;
	verify(&o, "{'tensors':{'a':{'dtype':{'Bool':'U8'},'shape':[1],'data_offsets':[0,1]},"
	       "'b':{'dtype':'U8','shape':[3],'data_offsets':[1,4]}}}", 4, true);
	assert_int_equal(o.report.n, 0);
	close_opened(&o);
}

static void booleans_are_counted(void **state)
{
	(void)state;
	static const struct { const char *text; const char *words; } cases[] = {
		{ ONE("'dtype':{'Bool':'Native'},'shape':[4],'data_offsets':[0,4]"), "3 of its booleans are neither 0 nor 1, the first "
		  "is element 1" },
		{ ONE("'dtype':{'Bool':'U32'},'shape':[1],'data_offsets':[0,4]"), "1 of its booleans are neither 0 nor 1, the first is "
		  "element 0" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct opened o;
		verify(&o, cases[i].text, 4, true);
		assert_true(says(&o.report, TN_WARNING, cases[i].words));
		assert_int_equal(tn_report_of(&o.report, TN_ERROR), 0);
		close_opened(&o);
		verify(&o, cases[i].text, 4, false);
		assert_int_equal(o.report.n, 0);
		close_opened(&o);
	}
}

/* Across the pieces in which data is read. */
static void booleans_are_counted_in_every_piece(void **state)
{
	(void)state;
	struct opened o;
	verify(&o, ONE("'dtype':{'Bool':'Native'},'shape':[1048578],'data_offsets':[0,1048578]"), 1048578, true);
	/* 1 2 ... 255 0 over and over: 254 of each 256, and the very last one */
	assert_true(says(&o.report, TN_WARNING, "1040385 of its booleans"));
	close_opened(&o);
}

static void padding_must_be_zero(void **state)
{
	(void)state;
	struct opened o;
	verify(&o, "{'tensors':{'a':{'dtype':'U8','shape':[3],'data_offsets':[0,3]},"
	       "'b':{'dtype':'U8','shape':[1],'data_offsets':[256,257]}}}", 257, true);
	assert_true(says(&o.report, TN_NOTE, "padding holds something else than zeros"));
	assert_int_equal(o.report.list[0].offset, 256 + 3);
	close_opened(&o);
}

static void payload_must_fit_its_scheme(void **state)
{
	(void)state;
	struct opened o;
	verify(&o, QUANTISED("'value':'Q8S','store':'Native','mode':'Symmetric'", "9"), 9, false);
	assert_true(says(&o.report, TN_ERROR, "the payload has not the length"));
	close_opened(&o);
	verify(&o, QUANTISED("'value':'Q8S','param':'F16','store':'Native','level':'Tensor','mode':'Symmetric'", "8"), 8, false);
	assert_int_equal(tn_report_of(&o.report, TN_ERROR), 0);
	close_opened(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sound_file_has_no_findings),
		cmocka_unit_test(booleans_are_counted),
		cmocka_unit_test(booleans_are_counted_in_every_piece),
		cmocka_unit_test(padding_must_be_zero),
		cmocka_unit_test(payload_must_fit_its_scheme),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
