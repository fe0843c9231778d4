/* test_err.c - what a tn_error holds after failures, and how bytes of a file are shown. */
#include "base/err.h"
#include "base/utf8.h"
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static void first_failure_wins(void **state)
{
	(void)state;
	tn_error err = { 0 };
	assert_int_equal(err_set(&err, TN_E_CORRUPT, 17, "gguf: %d dimensions", 9), TN_E_CORRUPT);
	assert_int_equal(err_set(&err, TN_E_NOMEM, 3, "later"), TN_E_CORRUPT);
	assert_int_equal(err_sys(&err, ENOENT, "open", "x"), TN_E_CORRUPT);
	assert_int_equal(err.code, TN_E_CORRUPT);
	assert_int_equal(err.offset, 17);
	assert_int_equal(err.sys, 0);
	assert_string_equal(err.msg, "gguf: 9 dimensions");
}

static void an_absent_error_is_allowed(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, TN_E_LIMIT, 0, "x"), TN_E_LIMIT);
	assert_int_equal(err_sys(NULL, EIO, "read", "x"), TN_E_IO);
	err_prefix(NULL, "x");
	err_clear(NULL);
}

static void clearing_makes_room_for_another(void **state)
{
	(void)state;
	tn_error err = { 0 };
	err_set(&err, TN_E_IO, 5, "one");
	err_clear(&err);
	assert_int_equal(err.code, TN_OK);
	assert_string_equal(err.msg, "");
	assert_true(err.offset == TN_NO_OFFSET);
	assert_int_equal(err_set(&err, TN_E_USAGE, 6, "two"), TN_E_USAGE);
	assert_string_equal(err.msg, "two");
}

static void system_failures_name_call_path_and_reason(void **state)
{
	(void)state;
	tn_error err = { 0 };
	assert_int_equal(err_sys(&err, ENOENT, "open", "dir/a\nb"), TN_E_IO);
	assert_int_equal(err.sys, ENOENT);
	assert_true(err.offset == TN_NO_OFFSET);
	assert_string_equal(err.msg, "open dir/a\\nb: No such file or directory");
}

/* A message of any length ends inside the array, and never inside a character. */
static void long_messages_are_cut_between_characters(void **state)
{
	(void)state;
	char text[2 * sizeof ((tn_error *)0)->msg];
	for (size_t shift = 0; shift < 4; shift++) {
		memset(text, 'x', shift);
		size_t len = shift;
		while (len + 4 < sizeof text) {
			memcpy(text + len, "\xf0\x9f\x98\x80", 4);
			len += 4;
		}
		text[len] = '\0';
		tn_error err = { 0 };
		err_set(&err, TN_E_CORRUPT, 0, "%s", text);
		size_t got = strlen(err.msg);
		assert_true(utf8_ok(tn_text(err.msg)));
		assert_in_range(got, sizeof err.msg - 4, sizeof err.msg - 1);
		assert_memory_equal(err.msg, text, got);
	}
}

static void a_message_that_just_fits_is_kept_whole(void **state)
{
	(void)state;
	char text[sizeof ((tn_error *)0)->msg];
	memset(text, 'y', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	tn_error err = { 0 };
	err_set(&err, TN_E_CORRUPT, 0, "%s", text);
	assert_string_equal(err.msg, text);
}

static void prefixes_go_in_front(void **state)
{
	(void)state;
	tn_error err = { 0 };
	err_prefix(&err, "nothing failed");
	assert_string_equal(err.msg, "");
	err_set(&err, TN_E_TRUNCATED, 12, "ends early");
	err_prefix(&err, "tensor '%s'", "w");
	assert_string_equal(err.msg, "tensor 'w': ends early");
	assert_int_equal(err.code, TN_E_TRUNCATED);
	assert_int_equal(err.offset, 12);
	for (int i = 0; i < 100; i++)
		err_prefix(&err, "\xc3\xa9t\xc3\xa9 %d", i);
	assert_true(utf8_ok(tn_text(err.msg)));
	assert_int_equal(strncmp(err.msg, "\xc3\xa9t\xc3\xa9 99: \xc3\xa9t\xc3\xa9 98: ", 12), 0);
}

static void codes_have_names(void **state)
{
	(void)state;
	static const char *const names[] = {
		"ok", "nomem", "io", "format", "unsupported", "truncated", "corrupt", "checksum", "limit", "lossy",
		"notfound", "usage", "unknown",
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		assert_string_equal(tn_code_name((tn_code)i), names[i]);
	assert_int_equal(TN_E_USAGE + 1, sizeof names / sizeof *names - 1);
}

static void views_of_c_strings(void **state)
{
	(void)state;
	assert_int_equal(tn_text("abc").len, 3);
	assert_int_equal(tn_text("").len, 0);
	assert_int_equal(tn_text(NULL).len, 0);
}

static void escaping(void **state)
{
	(void)state;
	static const struct { tn_view in; const char *out; } cases[] = {
		{ { NULL, 0 }, "" },
		{ { (const uint8_t *)"plain text 1.2", 14 }, "plain text 1.2" },
		{ { (const uint8_t *)"a\n\t\r\a\b\v\f", 8 }, "a\\n\\t\\r\\a\\b\\v\\f" },
		{ { (const uint8_t *)"\0\x1b[31m\x7f", 7 }, "\\x00\\x1b[31m\\x7f" },
		{ { (const uint8_t *)"it's \"a\\b\"", 10 }, "it\\x27s \\x22a\\x5cb\\x22" },
		{ { (const uint8_t *)"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9 }, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ { (const uint8_t *)"\xff\xc3", 2 }, "\\xff\\xc3" },                     /* no UTF-8 */
		{ { (const uint8_t *)"\xed\xa0\x80", 3 }, "\\xed\\xa0\\x80" },            /* a surrogate */
		{ { (const uint8_t *)"\xc2\x9b", 2 }, "\\xc2\\x9b" },                     /* C1: a terminal's CSI */
		{ { (const uint8_t *)"\xe2\x80\xae", 3 }, "\\xe2\\x80\\xae" },            /* text that runs backwards */
		{ { (const uint8_t *)"\xef\xbb\xbf", 3 }, "\\xef\\xbb\\xbf" },            /* byte order mark */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_string_equal(ESC(cases[i].in), cases[i].out);
}

static void escaping_cuts_where_there_is_no_room(void **state)
{
	(void)state;
	static const struct { const char *in; size_t cap; const char *out; } cases[] = {
		{ "abcdefg", 8, "abcdefg" },
		{ "abcdefgh", 8, "abcd..." },
		{ "abcdef\n", 8, "abcd..." },
		{ "abc\x01xyz", 8, "abc..." },             /* an escape is whole or absent */
		{ "ab\xe2\x82\xac\xe2\x82\xac", 8, "ab..." }, /* and so is a character */
		{ "abcd", 4, "..." },
		{ "abcd", 3, ".." },
		{ "abcd", 1, "" },
		{ "", 1, "" },
	};
	char out[16];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		memset(out, '#', sizeof out);
		assert_ptr_equal(escape(tn_text(cases[i].in), out, cases[i].cap), out);
		assert_string_equal(out, cases[i].out);
		for (size_t past = cases[i].cap; past < sizeof out; past++)
			assert_int_equal(out[past], '#');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_failure_wins),
		cmocka_unit_test(an_absent_error_is_allowed),
		cmocka_unit_test(clearing_makes_room_for_another),
		cmocka_unit_test(system_failures_name_call_path_and_reason),
		cmocka_unit_test(long_messages_are_cut_between_characters),
		cmocka_unit_test(a_message_that_just_fits_is_kept_whole),
		cmocka_unit_test(prefixes_go_in_front),
		cmocka_unit_test(codes_have_names),
		cmocka_unit_test(views_of_c_strings),
		cmocka_unit_test(escaping),
		cmocka_unit_test(escaping_cuts_where_there_is_no_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
