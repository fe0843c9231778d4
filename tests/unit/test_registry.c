/* test_registry.c - formats are found by name, extension and first bytes; their jobs share words. */
#include "format/format.h"

#include "base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void formats_are_found_by_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < format_count; i++)
		assert_ptr_equal(format_named(formats[i]->name), formats[i]);
	assert_non_null(format_named("safetensors"));
	assert_null(format_named("Safetensors"));
	assert_null(format_named("safe"));
	assert_null(format_named(""));
}

static void formats_are_found_by_extension(void **state)
{
	(void)state;
	assert_string_equal(format_for_extension("safetensors")->name, "safetensors");
	assert_string_equal(format_for_extension(".safetensors")->name, "safetensors");
	assert_string_equal(format_for_extension("bpk")->name, "burnpack");
	assert_null(format_for_extension("bp"));
	assert_null(format_for_extension("bpkx"));
	assert_null(format_for_extension(""));
	assert_null(format_for_extension("."));
}

/* A safetensors header of length n before text. */
static tn_view headed(char out[64], uint64_t n, const char *text)
{
	size_t len = strlen(text);
	put_le64((uint8_t *)out, n);
	memcpy(out + 8, text, len);
	return (tn_view){ (const uint8_t *)out, 8 + len };
}

static void the_first_bytes_decide(void **state)
{
	(void)state;
	static const struct { uint64_t n; const char *text; uint64_t size; bool mine; } cases[] = {
		{ 8, "{}      ", 16, true },
		{ 8, " \n{ \"a\":1", 1000, true },
		{ 8, "{'a':1}", 1000, true },          /* parse says what is wrong */
		{ 100, "{\"a\":", 20, true },          /* the file is short */
		{ 8, "\xef\xbb\xbf{\"a\":1", 20, true },
		{ 100, "{x", 20, false },
		{ 0, "{}      ", 16, false },
		{ 8, "[]      ", 16, false },
		{ 100000001, "{x", 200000000, false },
		{ 100000001, "{\"", 200000000, true }, /* a limit that can be raised */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char bytes[64];
		tn_error err = { .code = TN_OK };
		const struct format *f = format_detect(headed(bytes, cases[i].n, cases[i].text), cases[i].size, NULL, &err);
		if ((f != NULL) != cases[i].mine || (f == NULL) != (err.code != TN_OK))
			fail_msg("case %zu", i);
		if (f != NULL)
			assert_string_equal(f->name, "safetensors");
	}
}

/* ---- What is no model ---- */

#define BYTES(text) { (const uint8_t *)(text), sizeof(text) - 1 }

struct other {
	tn_view     head;
	const char *path;
	tn_code     code;
	const char *want;
};

static const struct other others[] = {
	{ BYTES(""), NULL, TN_E_FORMAT, "the file is empty" },
	{ BYTES("\0\0\0\0\0\0\0\0x"), NULL, TN_E_FORMAT, "starts with zero bytes; probably a failed transfer" },
	{ BYTES("version https://git-lfs.github.com/spec/v1\noid sha256:0123456789abcdef0123\nsize 4321\n"), NULL, TN_E_FORMAT,
	  "a git-lfs pointer to 4321 bytes with sha256 0123456789ab...; fetch them with 'git lfs pull'" },
	{ BYTES("version https://git-lfs.github.com/spec/v1"), NULL, TN_E_FORMAT, "git-lfs pointer" },
	{ BYTES("<!DOCTYPE html><html>"), NULL, TN_E_FORMAT, "web page" },
	{ BYTES("\n<HTML>"), NULL, TN_E_FORMAT, "web page" },
	{ BYTES("<?xml version=\"1.0\"?><Error/>"), NULL, TN_E_FORMAT, "XML" },
	{ BYTES("{\"error\":\"Invalid username\"}"), NULL, TN_E_FORMAT, "error reply, {\\x22error\\x22:\\x22Invalid" },
	{ BYTES("{\"metadata\":{},\"weight_map\":{\"a\":\"b\"}}"), "model.safetensors", TN_E_FORMAT, "files that it names" },
	{ BYTES("{\"a\":1}"), NULL, TN_E_FORMAT, "JSON" },
	{ BYTES("Entry not found"), "m.safetensors", TN_E_FORMAT, "'Entry not found'; probably a server's error message" },
	{ BYTES("404: Not Found\n"), NULL, TN_E_FORMAT, "'404: Not Found'" },
	{ BYTES("PK\3\4\0\0\0\0archive/data.pkl"), NULL, TN_E_FORMAT, "PyTorch" },
	{ BYTES("PK\3\4\0\0\0\0w.npy"), NULL, TN_E_FORMAT, "npz" },
	{ BYTES("PK\3\4\0\0\0\0config.json"), NULL, TN_E_FORMAT, "zip file" },
	{ BYTES("\x80\x02\x8a\n"), NULL, TN_E_FORMAT, "pickle" },
	{ BYTES("\x89HDF\r\n\x1a\n"), NULL, TN_E_FORMAT, "HDF5" },
	{ BYTES("\x93NUMPY\1\0"), NULL, TN_E_FORMAT, "NumPy" },
	{ BYTES("\x08\x07\x12\x07pytorch"), NULL, TN_E_FORMAT, "ONNX" },
	{ BYTES("\x1c\0\0\0TFL3"), NULL, TN_E_FORMAT, "TensorFlow Lite" },
	{ BYTES("\x1f\x8b\x08"), NULL, TN_E_FORMAT, "gzip" },
	{ BYTES("APR\0\2\0"), NULL, TN_E_UNSUPPORTED, "an APR model: not supported" },
	{ BYTES("APR1\2\0"), NULL, TN_E_UNSUPPORTED, "an APR model of version 1: not" },
	{ BYTES("\1\2\3\4\5\6\xf7\x7f"), NULL, TN_E_FORMAT, "starts with 01 02 03 04 05 06 f7 7f" },
	{ BYTES("\1\2\3"), NULL, TN_E_FORMAT, "starts with 01 02 03;" },
	{ BYTES("\1\2\3\4\5\6\7\x7f"), "dir.x/m.safetensors", TN_E_FORMAT,
	  "safetensors: header length 9153291386265731585 is larger than the file (8 bytes)" },
	{ BYTES("\1\2\3"), "m.safetensors", TN_E_FORMAT, "the file has 3 bytes, too few" },
	{ BYTES("\2\0\0\0\0\0\0\0[]"), "m.safetensors", TN_E_FORMAT, "no JSON object follows the header length 2" },
	{ BYTES("\2\0\0\0\0\0\0\0[]"), "m.safetensors/x", TN_E_FORMAT, "starts with 02 00" },
};

static void anything_else_is_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		tn_error err = { .code = TN_OK };
		const struct format *f = format_detect(others[i].head, others[i].head.len, others[i].path, &err);
		if (f != NULL || err.code != others[i].code || strstr(err.msg, others[i].want) == NULL)
			fail_msg("case %zu: code %d '%s' does not say '%s'", i, (int)err.code, err.msg, others[i].want);
	}
}

static void any_few_bytes_get_an_answer(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		for (size_t n = 0; n <= others[i].head.len; n++) {
			uint8_t *copy = malloc(n != 0 ? n : 1); /* exact, for sanitizers */
			tn_error err = { .code = TN_OK };
			assert_non_null(copy);
			memcpy(copy, others[i].head.ptr, n);
			assert_null(format_detect((tn_view){ copy, n }, n, others[i].path, &err));
			assert_true(err.code != TN_OK && err.msg[0] != '\0');
			free(copy);
		}
	}
}

/* ---- Jobs ---- */

static void a_job_asks_for_more_or_says_what_is_missing(void **state)
{
	(void)state;
	tn_error err = { .code = TN_OK };
	struct parse_job job = { .file = { (const uint8_t *)"abcd", 4 }, .size = 10, .err = &err };
	assert_true(job_has(&job, 4, "x: head"));
	assert_int_equal(err.code, TN_OK);
	assert_false(job_has(&job, 10, "x: head"));
	assert_int_equal(err.code, TN_E_TRUNCATED);
	assert_int_equal(job.need, 10);
	err.code = TN_OK;
	assert_false(job_has(&job, 11, "x: head"));
	assert_int_equal(job.need, 0);
	assert_int_equal(err.code, TN_E_TRUNCATED);
	assert_string_equal(err.msg, "x: head: ends at byte 11, the file has 10");
}

static void a_loss_is_an_error_unless_allowed(void **state)
{
	(void)state;
	struct tn_report report;
	report_init(&report);
	struct plan_job job = { .report = &report };
	job_lossy(&job, NO_TENSOR, "x: %d things", 3);
	job.allow_loss = true;
	job_lossy(&job, NO_TENSOR, "x: more");
	assert_int_equal(report.n, 2);
	assert_true(report.list[0].severity == TN_ERROR && report.list[0].code == TN_E_LOSSY);
	assert_string_equal(report.list[0].text, "x: 3 things");
	assert_true(report.list[1].severity == TN_WARNING && report.list[1].code == TN_E_LOSSY);
	report_fini(&report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats_are_found_by_name),
		cmocka_unit_test(formats_are_found_by_extension),
		cmocka_unit_test(the_first_bytes_decide),
		cmocka_unit_test(anything_else_is_named),
		cmocka_unit_test(any_few_bytes_get_an_answer),
		cmocka_unit_test(a_job_asks_for_more_or_says_what_is_missing),
		cmocka_unit_test(a_loss_is_an_error_unless_allowed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
