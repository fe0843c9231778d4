/* test_put_text.c - values spelled as text: each type at its limits, and what is no value of it. */
#include "tenon.h"

#include "base/view.h"
#include "support/dump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static tn_writer *writer(void)
{
	tn_writer *w;
	tn_error err;
	assert_int_equal(tn_writer_new(&w, "gguf", NULL, &err), TN_OK);
	return w;
}

static const struct {
	const char *type, *text, *want;
} values[] = {
	{ "string", "7", "\"k\" string \"7\"\n" },
	{ "string", "", "\"k\" string \"\"\n" },
	{ "string", "\xff", "\"k\" string \"\\xff\"\n" },
	{ "u8", "255", "\"k\" uint8 255\n" },
	{ "u64", "18446744073709551615", "\"k\" uint64 18446744073709551615\n" },
	{ "uint", "1", "\"k\" uint 1\n" },
	{ "i8", "-128", "\"k\" int8 -128\n" },
	{ "i64", "7", "\"k\" int64 7\n" },
	{ "i64", "-9223372036854775808", "\"k\" int64 -9223372036854775808\n" },
	{ "int", "-1", "\"k\" int -1\n" },
	{ "f32", "0.1", "\"k\" float32 3fb99999a0000000\n" },
	{ "f32", "3", "\"k\" float32 4008000000000000\n" },
	{ "f64", "-1e300", "\"k\" float64 fe37e43c8800759c\n" },
	{ "f64", "-0", "\"k\" float64 8000000000000000\n" },
	{ "f64", "nan", "\"k\" float64 7ff8000000000000\n" },
	{ "f32", "-inf", "\"k\" float32 fff0000000000000\n" },
	{ "float", "2", "\"k\" float 4000000000000000\n" },
	{ "bool", "true", "\"k\" bool true\n" },
	{ "bytes", "00ff", "\"k\" bytes \"\\x00\\xff\"\n" },
	{ "null", "whatever", "\"k\" null\n" },
	{ "u16[]", " [ 1, 65535 ] ", "\"k\" array\n  uint16 1\n  uint16 65535\n" },
	{ "f32[]", "[]", "\"k\" array\n" },
	{ "bool[]", "[true,false]", "\"k\" array\n  bool true\n  bool false\n" },
	{ "string[]", "[\"a\",\"\"]", "\"k\" array\n  string \"a\"\n  string \"\"\n" },
	{ "json", "{\"a\":[1,{\"$u8\":2},\"x\"]}",
		"\"k\" map\n  \"a\" array\n    uint64 1\n    uint8 2\n    string \"x\"\n" },
};

static void each_type_reads_its_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		tn_writer *w = writer();
		tn_error err;
		if (tn_put_text(w, tn_writer_metadata(w), VIEW("k"), values[i].type,
		                tn_text(values[i].text), &err) != TN_OK)
			fail_msg("%s: %s", values[i].type, err.msg);
		char *got = dump_meta(tn_writer_metadata(w), true);
		assert_string_equal(got, values[i].want);
		free(got);
		tn_writer_free(w);
	}
}

static void what_is_no_value_is_refused(void **state)
{
	(void)state;
	static const char *const bad[][2] = {
		{ "u8", "256" }, { "u8", "-1" }, { "u8", "" }, { "u8", "1.0" }, { "u8", " 1" },
		{ "u8", "0x1" }, { "u8", "1}" },
		{ "i8", "128" }, { "i64", "9223372036854775808" },
		{ "u64", "18446744073709551616" }, { "uint", "x" },
		{ "f32", "1e39" }, { "f32", "" }, { "f64", "one" }, { "f64", "1,2" },
		{ "f64", "0.5,\"x\":1" }, { "bool", "1" },
		{ "bool", "True" }, { "bytes", "0" }, { "bytes", "FF" },
		{ "bytes", "00\",\"x\":\"" }, { "json", "" },
		{ "json", "{" }, { "json", "{\"$u8\":256}" }, { "u8[]", "1" }, { "u8[]", "[256]" },
		{ "u8[]", "[1],\"x\":[2]" },
		{ "string[]", "[1]" }, { "bool[]", "[0]" }, { "uint[]", "[1]" },
		{ "u8[][]", "[[1]]" }, { "json[]", "[1]" },
		{ "u7", "1" }, { "", "1" }, { "[]", "[]" },
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		tn_writer *w = writer();
		tn_error err;
		if (tn_put_text(w, tn_writer_metadata(w), VIEW("k"), bad[i][0], tn_text(bad[i][1]),
		                &err) != TN_E_USAGE)
			fail_msg("'%s' is taken for %s", bad[i][1], bad[i][0]);
		assert_int_equal(tn_meta_count(tn_writer_metadata(w)), 0);
		tn_writer_free(w);
	}
}

static void json_nests_no_deeper_than_maps_do(void **state)
{
	(void)state;
	tn_writer *w = writer();
	tn_meta *at = tn_writer_metadata(w);
	tn_error err;
	for (unsigned depth = 1; depth <= 99; depth++)
		assert_int_equal(tn_put_map(w, at, VIEW("m"), &at, &err), TN_OK);
	assert_int_equal(tn_put_text(w, at, VIEW("k"), "json", VIEW("[]"), &err), TN_OK);
	assert_int_equal(tn_put_text(w, at, VIEW("k"), "json", VIEW("[[]]"), &err), TN_E_USAGE);
	tn_writer_free(w);
}

static void arrays_of_one_type_cannot_be_added_to(void **state)
{
	(void)state;
	tn_writer *w = writer();
	tn_meta *root = tn_writer_metadata(w);
	tn_error err;
	assert_int_equal(tn_put_text(w, root, VIEW("k"), "u8[]", VIEW("[1]"), &err), TN_OK);
	tn_meta *array = (tn_meta *)tn_meta_find(root, VIEW("k"));
	assert_int_equal(tn_put_uint(w, array, VIEW(""), 2, 8, &err), TN_E_USAGE);
	tn_writer_free(w);
}

static void keys_are_removed(void **state)
{
	(void)state;
	tn_writer *w = writer();
	tn_meta *root = tn_writer_metadata(w);
	tn_error err;
	assert_int_equal(tn_put_string(w, root, VIEW("a"), VIEW("1"), &err), TN_OK);
	assert_int_equal(tn_remove(w, root, VIEW("b"), &err), TN_E_NOTFOUND);
	assert_int_equal(tn_remove(w, root, VIEW("a"), &err), TN_OK);
	assert_int_equal(tn_remove(w, root, VIEW("a"), &err), TN_E_NOTFOUND);
	assert_int_equal(tn_remove(w, NULL, VIEW("a"), &err), TN_E_USAGE);
	tn_writer_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_reads_its_text),
		cmocka_unit_test(what_is_no_value_is_refused),
		cmocka_unit_test(json_nests_no_deeper_than_maps_do),
		cmocka_unit_test(arrays_of_one_type_cannot_be_added_to),
		cmocka_unit_test(keys_are_removed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
