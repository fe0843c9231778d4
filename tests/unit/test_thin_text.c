/* test_thin_text.c - JSON as upstream's parser takes it: its numbers, its strings, and what it passes over unseen. */
#include "base/bytes.h"
#include "format/thin/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static struct arena mem;
static tn_error err;

static int set_up(void **state)
{
	(void)state;
	arena_init(&mem, 0);
	err_clear(&err);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_fini(&mem);
	return 0;
}

static struct text over(const char *text)
{
	err_clear(&err);
	return text_over(tn_text(text), 100, &mem, &err);
}

static uint64_t real_bits(const char *text, bool exact)
{
	struct text t = over(text);
	double v = 0;
	t.exact = exact;
	if (!text_real(&t, "a real", &v) || !text_end(&t))
		fail_msg("%s: %s", text, err.msg);
	return f64_bits(v);
}

static void reals_by_upstreams_arithmetic(void **state)
{
	(void)state;
	static const struct { const char *text; uint64_t bits, nearest; } cases[] = {
		{ "0", 0, 0 },
		{ "-0", UINT64_C(0x8000000000000000), UINT64_C(0x8000000000000000) },
		{ "1.5", 0x3ff8000000000000, 0x3ff8000000000000 },
		{ "-1e2", 0xc059000000000000, 0xc059000000000000 },
		{ "10000", 0x40c3880000000000, 0x40c3880000000000 },
		{ "18446744073709551616", 0x43f0000000000000, 0x43f0000000000000 },
		/* the root of 14: one multiplication is not enough for the nearest double */
		{ "3.7416573867739413", 0x400deeea11683f4a, 0x400deeea11683f49 },
		{ "1e-400", 0, 0 },
		{ "0e99999999999", 0, 0 },
		{ "1e-99999999999", 0, 0 },
		{ "1.7976931348623157e308", 0x7fefffffffffffff, 0x7fefffffffffffff },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (real_bits(cases[i].text, false) != cases[i].bits)
			fail_msg("%s: %llx", cases[i].text, (unsigned long long)real_bits(cases[i].text, false));
		if (real_bits(cases[i].text, true) != cases[i].nearest)
			fail_msg("%s: exactly %llx", cases[i].text, (unsigned long long)real_bits(cases[i].text, true));
	}
}

static void numbers_that_are_none(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"", "-", "+1", "01", "-01", ".5", "1.", "1.e2", "1e", "1e+", "1e400", "1e99999999999", "0x1", "nan", "\"1\"", "1e309"
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct text t = over(bad[i]);
		double v;
		if (text_real(&t, "a real", &v) && text_end(&t))
			fail_msg("'%s' is taken", bad[i]);
		assert_int_equal(err.code, TN_E_CORRUPT);
		assert_in_range(err.offset, 100, 100 + strlen(bad[i]));
	}
}

static void whole_numbers(void **state)
{
	(void)state;
	static const struct { const char *text; uint64_t max, value; bool ok; } cases[] = {
		{ "7", 10, 7, true }, { " \n7", 7, 7, true }, { "8", 7, 0, false }, { "-1", 7, 0, false }, { "-0", 7, 0, false },
		{ "4.0", 7, 0, false }, { "1e0", 7, 0, false }, { "18446744073709551615", UINT64_MAX, UINT64_MAX, true },
		{ "18446744073709551616", UINT64_MAX, 0, false }, { "null", 7, 0, false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct text t = over(cases[i].text);
		uint64_t v = 0;
		if (text_uint(&t, "a number", cases[i].max, &v) != cases[i].ok || (cases[i].ok && v != cases[i].value))
			fail_msg("%s", cases[i].text);
	}
}

static void strings(void **state)
{
	(void)state;
	static const struct { const char *text, *value; size_t len; } cases[] = {
		{ "\"\"", "", 0 }, { "\"plain and long enough for a word\"", "plain and long enough for a word", 32 },
		{ "\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "a\"\\/\b\f\n\r\t", 9 }, { "\"\\u0000\"", "\0", 1 },
		{ "\"\\u00e9\\ud83e\\udd99\"", "\xc3\xa9\xf0\x9f\xa6\x99", 6 }, { "\"\x7f\"", "\x7f", 1 },
	};
	static const char *const bad[] = {
		"\"", "\"a", "\"\n\"", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\xff\"", "a"
	};
	tn_view v;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct text t = over(cases[i].text);
		if (!text_string(&t, "a string", &v) || !text_end(&t))
			fail_msg("%s: %s", cases[i].text, err.msg);
		assert_int_equal(v.len, cases[i].len);
		assert_non_null(v.ptr);
		assert_memory_equal(v.ptr, cases[i].value, v.len);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct text t = over(bad[i]);
		if (text_string(&t, "a string", &v))
			fail_msg("%s is taken", bad[i]);
	}
}

static void unknown_values_are_passed_over(void **state)
{
	(void)state;
	static const char *const good[] = {
		"1", "1e400", "-0.5E+3", "\"\xff\\ud800\"", "[]", "{}", "[[],{},[1,{\"a\":[]}],\"]\"]", "{\"a\":{\"b\":[true,false,null]},\"c\":1}"
	};
	static const char *const bad[] = { "01", "[1,]", "{\"a\"}", "{1:2}", "[1}", "\"\x01\"", "\"\\x\"", "tru", "[", "{\"a\":", "{,}" };
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct text t = over(good[i]);
		text_skip(&t);
		if (!text_end(&t))
			fail_msg("%s: %s", good[i], err.msg);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct text t = over(bad[i]);
		text_skip(&t);
		if (text_end(&t))
			fail_msg("%s is passed over", bad[i]);
	}
}

static char *nested(size_t n)
{
	char *text = malloc(2 * n + 1);
	assert_non_null(text);
	memset(text, '[', n);
	memset(text + n, ']', n);
	text[2 * n] = '\0';
	return text;
}

static void depth_is_bounded_where_something_is_kept(void **state)
{
	(void)state;
	char *deep = nested(200000), *tree = nested(META_DEPTH), *deeper = nested(META_DEPTH + 1);
	struct text t = over(deep);
	text_skip(&t);
	assert_true(text_end(&t));
	t = over(tree);
	assert_non_null(text_tree(&t));
	t = over(deeper);
	assert_null(text_tree(&t));
	assert_int_equal(err.code, TN_E_LIMIT);
	free(deep);
	free(tree);
	free(deeper);
}

static void trees_are_sorted_and_the_last_counts(void **state)
{
	(void)state;
	struct text t = over("{\"b\":1,\"a\":[true,null,-2,0.5,\"x\"],\"b\":{\"z\":1,\"y\":2},\"\":0}");
	struct tn_meta *map = text_tree(&t);
	assert_non_null(map);
	assert_true(text_end(&t));
	assert_int_equal(map->as.kids.n, 3);
	assert_int_equal(map->as.kids.first->key.len, 0);
	assert_true(view_is(map->as.kids.first->next->key, "a"));
	assert_int_equal(map->as.kids.last->type, TN_META_MAP);
	assert_true(view_is(map->as.kids.last->as.kids.first->key, "y"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reals_by_upstreams_arithmetic), TEST(numbers_that_are_none), TEST(whole_numbers), TEST(strings),
		TEST(unknown_values_are_passed_over), TEST(depth_is_bounded_where_something_is_kept),
		TEST(trees_are_sorted_and_the_last_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
