/* test_json.c - what the JSON reader takes, what it refuses and where it says the fault is. */
#include "base/bytes.h"
#include "codec/json.h"
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static struct json_doc *parse(tn_view text)
{
	const struct json_options opt = { .what = "test" };
	struct json_doc *doc;
	tn_error err = { 0 };
	if (json_parse(&doc, text, &opt, &err) != TN_OK)
		fail_msg("%s at %u", err.msg, (unsigned)err.offset);
	assert_int_equal(err.code, TN_OK);
	return doc;
}

static void assert_view(tn_view v, const void *bytes, size_t len)
{
	assert_int_equal(v.len, len);
	assert_memory_equal(v.ptr, bytes, len);
}

static void numbers_keep_their_kind(void **state)
{
	(void)state;
	static const struct { const char *text; enum json_type type; uint64_t bits; } cases[] = {
		{ "0", JSON_UINT, 0 },
		{ "1", JSON_UINT, 1 },
		{ "9223372036854775807", JSON_UINT, INT64_MAX },
		{ "9223372036854775808", JSON_UINT, UINT64_C(1) << 63 },
		{ "18446744073709551615", JSON_UINT, UINT64_MAX },
		{ "18446744073709551616", JSON_REAL, 0x43f0000000000000 },
		{ "-1", JSON_INT, UINT64_MAX },
		{ "-9223372036854775808", JSON_INT, UINT64_C(1) << 63 },
		{ "-9223372036854775809", JSON_REAL, 0xc3e0000000000000 },
		{ "-0", JSON_REAL, 0x8000000000000000 },
		{ "0.0", JSON_REAL, 0 },
		{ "-0.0", JSON_REAL, 0x8000000000000000 },
		{ "2.0", JSON_REAL, 0x4000000000000000 },
		{ "1e0", JSON_REAL, 0x3ff0000000000000 },
		{ "1E+2", JSON_REAL, 0x4059000000000000 },
		{ "0.1", JSON_REAL, 0x3fb999999999999a },
		{ "3.7416573867739413", JSON_REAL, 0x400deeea11683f49 },
		{ "5e-324", JSON_REAL, 1 },
		{ "1e-400", JSON_REAL, 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct json_doc *doc = parse(tn_text(cases[i].text));
		const struct json_val *v = json_root(doc);
		assert_int_equal(json_type(v), cases[i].type);
		uint64_t bits = cases[i].type == JSON_UINT ? json_uint(v) :
		                cases[i].type == JSON_INT ? (uint64_t)json_int(v) : f64_bits(json_real(v));
		if (bits != cases[i].bits)
			fail_msg("%s", cases[i].text);
		if (cases[i].type == JSON_UINT && bits <= INT64_MAX)
			assert_true((uint64_t)json_int(v) == bits);
		json_free(doc);
	}
}

static void words(void **state)
{
	(void)state;
	struct json_doc *doc = parse(tn_text(" [null,\ttrue,\r\nfalse] "));
	struct json_iter it = json_items(json_root(doc));
	assert_true(json_next(&it));
	assert_int_equal(json_type(it.val), JSON_NULL);
	assert_true(json_next(&it));
	assert_int_equal(json_type(it.val), JSON_BOOL);
	assert_true(json_bool(it.val));
	assert_true(json_next(&it));
	assert_int_equal(json_type(it.val), JSON_BOOL);
	assert_false(json_bool(it.val));
	assert_false(json_next(&it));
	assert_false(json_next(&it));
	json_free(doc);
}

static void strings_are_unescaped(void **state)
{
	(void)state;
	static const struct { const char *text, *out; size_t len; } cases[] = {
		{ "\"\"", "", 0 },
		{ "\"plain\"", "plain", 5 },
		{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8 },
		{ "\"a\\u0000b\"", "a\0b", 3 },
		{ "\"\\u00e9\\u20AC\"", "\xc3\xa9\xe2\x82\xac", 5 },
		{ "\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 4 },
		{ "\"\xc3\xa9\x7f\"", "\xc3\xa9\x7f", 3 },
		{ "\"\xf4\x8f\xbf\xbf\"", "\xf4\x8f\xbf\xbf", 4 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct json_doc *doc = parse(tn_text(cases[i].text));
		assert_int_equal(json_type(json_root(doc)), JSON_STRING);
		assert_view(json_string(json_root(doc)), cases[i].out, cases[i].len);
		json_free(doc);
	}
}

/* Order and repetition of keys are the file's own. */
static void members_come_in_the_order_of_the_text(void **state)
{
	(void)state;
	struct json_doc *doc = parse(tn_text("{\"b\":1,\"a\":[10,{},20],\"b\":\"s\",\"\":{\"x\":-5},\"n\\u0000l\":null}"));
	const struct json_val *root = json_root(doc);
	static const struct { const char *key; size_t len; enum json_type type; size_t count; } members[] = {
		{ "b", 1, JSON_UINT, 0 }, { "a", 1, JSON_ARRAY, 3 }, { "b", 1, JSON_STRING, 0 },
		{ "", 0, JSON_OBJECT, 1 },
		{ "n\0l", 3, JSON_NULL, 0 },
	};
	assert_int_equal(json_type(root), JSON_OBJECT);
	assert_int_equal(json_count(root), 5);
	struct json_iter it = json_items(root);
	for (size_t i = 0; i < 5; i++) {
		assert_true(json_next(&it));
		assert_view(it.key, members[i].key, members[i].len);
		assert_int_equal(json_type(it.val), members[i].type);
		assert_int_equal(json_count(it.val), members[i].count);
	}
	assert_false(json_next(&it));
	assert_int_equal(json_uint(json_find(root, "b")), 1); /* the first of two */
	assert_int_equal(json_int(json_find(json_find(root, ""), "x")), -5);
	assert_null(json_find(root, "n"));
	assert_null(json_find(json_find(root, "a"), "b"));
	json_free(doc);
}

static void arrays_have_no_keys(void **state)
{
	(void)state;
	struct json_doc *doc = parse(tn_text("[[1,2],[],3]"));
	static const size_t counts[] = { 2, 0, 0 };
	struct json_iter it = json_items(json_root(doc));
	for (size_t i = 0; i < 3; i++) {
		assert_true(json_next(&it));
		assert_int_equal(it.key.len, 0);
		assert_int_equal(json_count(it.val), counts[i]);
	}
	assert_int_equal(json_uint(it.val), 3);
	it = json_items(it.val); /* a number has no items */
	assert_false(json_next(&it));
	json_free(doc);
}

static void assert_refused(tn_view text, tn_code code, uint64_t offset, const struct json_options *opt)
{
	struct json_doc *doc = (void *)&text;
	tn_error err = { 0 };
	assert_int_equal(json_parse(&doc, text, opt, &err), code);
	assert_null(doc);
	assert_int_equal(err.code, code);
	if (offset != TN_NO_OFFSET && err.offset != opt->origin + offset)
		fail_msg("%.*s: %s at %u, not %u", (int)text.len, (const char *)text.ptr, err.msg,
		         (unsigned)(err.offset - opt->origin), (unsigned)offset);
}

/* The text, and where the fault stands in it; ANY where that is a matter of taste. */
#define ANY TN_NO_OFFSET
static void faults_are_refused_where_they_stand(void **state)
{
	(void)state;
	static const struct { const char *text; uint64_t at; } cases[] = {
		{ "", 0 }, { "   ", ANY }, { "{", 1 }, { "[", 1 }, { "[1", 2 }, { "{\"a\"", 4 }, { "\"a", 2 },
		{ "[1,]", 2 }, { "{\"a\":1,}", 6 }, { "[,1]", 1 }, { "{,}", 1 }, { "[1 2]", 3 },
		{ "[1}", 2 }, { "{\"a\" 1}", 5 },
		{ "{a:1}", 1 }, { "{'a':1}", 1 }, { "{1:2}", 1 },
		{ "1 2", 2 }, { "{}x", 2 }, { "[]]", 2 },
		{ "01", ANY }, { "1.", ANY }, { ".5", 0 }, { "-", ANY }, { "+1", 0 },
		{ "1e", ANY }, { "0x10", ANY }, { "--1", ANY }, { "-.5", ANY }, { "1e400", ANY },
		{ "NaN", 0 }, { "nan", 0 }, { "Infinity", 0 }, { "-Infinity", ANY }, { "True", 0 },
		{ "nul", ANY },
		{ "// c\n1", 0 }, { "/* c */1", 0 }, { "[1/**/]", 2 },
		{ "\"\x01\"", ANY }, { "\"\n\"", ANY }, { "\"\t\"", ANY }, { "\"\x1f\"", ANY },
		{ "\"\\x41\"", ANY }, { "\"\\u12g4\"", ANY }, { "\"\\u123\"", ANY }, { "\"\\", ANY },
		{ "\"\\ud800\"", ANY }, { "\"\\udc00\"", ANY }, { "\"\\ud800\\u0041\"", ANY },
		{ "\"\\ud800\\ud800\"", ANY },
		{ "\"\xff\"", ANY }, { "\"\xc0\xaf\"", ANY }, { "\"\xed\xa0\x80\"", ANY },
		{ "\"\xf4\x90\x80\x80\"", ANY }, { "\"\xc3\"", ANY }, { "{\"\xff\":1}", ANY },
		{ "\xef\xbb\xbf{}", 0 }, { "\xc2\xa0{}", 0 }, { "\f{}", 0 }, { "\v{}", 0 },
	};
	const struct json_options opt = { .origin = 1000, .what = "test" };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_refused(tn_text(cases[i].text), TN_E_CORRUPT, cases[i].at, &opt);
	assert_refused(VIEW("{}\0"), TN_E_CORRUPT, 2, &opt);
	assert_refused(VIEW("\0"), TN_E_CORRUPT, 0, &opt);
	assert_refused((tn_view){ NULL, 0 }, TN_E_CORRUPT, 0, &opt);
	assert_refused(VIEW("{\0}"), TN_E_CORRUPT, 1, &opt);
}

static void messages_are_lower_case_and_say_what_was_read(void **state)
{
	(void)state;
	const struct json_options opt = { .origin = 8, .what = "safetensors: header" };
	struct json_doc *doc;
	tn_error err = { 0 };
	assert_int_equal(json_parse(&doc, VIEW("[1,x]"), &opt, &err), TN_E_CORRUPT);
	assert_int_equal(err.offset, 11);
	assert_memory_equal(err.msg, "safetensors: header: ", 21);
	assert_true(err.msg[21] != '\0');
	for (const char *c = err.msg; *c != '\0'; c++)
		assert_false(*c >= 'A' && *c <= 'Z');
}

/* A text that runs to the very end of its memory is not read past. */
static void the_text_needs_no_terminator(void **state)
{
	(void)state;
	static const char *const texts[] = { "12", "[1,2]", "{\"a\":\"b\"}", "\"abc\"", "true" };
	const struct json_options opt = { .what = "test" };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		for (size_t len = 0; len <= strlen(texts[i]); len++) {
			uint8_t *exact = test_malloc(len + 1);
			uint8_t *at = exact + 1; /* the end is the end of the block */
			memcpy(at, texts[i], len);
			struct json_doc *doc;
			tn_error err = { 0 };
			bool whole = len == strlen(texts[i]) || (i == 0 && len == 1);
			assert_int_equal(json_parse(&doc, (tn_view){ at, len }, &opt, &err), whole ? TN_OK : TN_E_CORRUPT);
			json_free(doc);
			test_free(exact);
		}
	}
}

static tn_view nested(char *text, unsigned depth, const char *open, const char *close)
{
	size_t len = 0;
	for (unsigned i = 0; i < depth; i++)
		len += strlen(strcpy(text + len, open));
	text[len++] = '1';
	for (unsigned i = 0; i < depth; i++)
		len += strlen(strcpy(text + len, close));
	return (tn_view){ (const uint8_t *)text, len };
}

static void depth_is_bounded(void **state)
{
	(void)state;
	static const struct { unsigned limit, allowed; } cases[] = { { 0, 128 }, { 1, 1 }, { 3, 3 }, { 200, 200 } };
	char text[4096];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct json_options opt = { .origin = 50, .max_depth = cases[i].limit, .what = "test" };
		const unsigned most = cases[i].allowed;
		tn_error err = { 0 };
		struct json_doc *doc;
		assert_int_equal(json_parse(&doc, nested(text, most, "[", "]"), &opt, &err), TN_OK);
		json_free(doc);
		assert_int_equal(json_parse(&doc, nested(text, most, "{\"[\\\"{\":", "}"), &opt, &err), TN_OK);
		json_free(doc);
		assert_refused(nested(text, most + 1, "[", "]"), TN_E_LIMIT, most, &opt);
		assert_refused(nested(text, most + 1, "{\"[\\\"{\":", "}"), TN_E_LIMIT, UINT64_C(8) * most, &opt);
	}
	const struct json_options two = { .max_depth = 2, .what = "test" };
	assert_refused(VIEW("[[1],{\"a\":2},[[3]]]"), TN_E_LIMIT, 14, &two);
	struct json_doc *doc = parse(tn_text("[[[]],[[]],{\"a\":[]},[],[[1]]]")); /* breadth is not depth */
	json_free(doc);
}

/* A document of brackets alone must cost no stack. */
static void a_million_brackets_are_survived(void **state)
{
	(void)state;
	enum { DEEP = 1000000 };
	char *text = test_malloc(2 * DEEP);
	memset(text, '[', DEEP);
	memset(text + DEEP, ']', DEEP);
	const struct json_options opt = { .what = "test" };
	assert_refused((tn_view){ (uint8_t *)text, 2 * DEEP }, TN_E_LIMIT, 128, &opt);
	assert_refused((tn_view){ (uint8_t *)text, DEEP }, TN_E_CORRUPT, DEEP, &opt);
	test_free(text);
}

static void the_budget_is_a_limit(void **state)
{
	(void)state;
	char text[2001];
	memset(text, ' ', sizeof text);
	text[0] = '[';
	for (size_t i = 1; i < 2000; i++)
		text[i] = i % 2 == 1 ? '1' : ',';
	text[2000] = ']';
	tn_view v = { (const uint8_t *)text, 2001 };
	static const uint64_t budgets[] = { 1, 100, 2000, 10000 };
	for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
		const struct json_options opt = { .budget = budgets[i], .what = "test" };
		assert_refused(v, TN_E_LIMIT, TN_NO_OFFSET, &opt);
	}
	const struct json_options opt = { .budget = 100000, .what = "test" };
	struct json_doc *doc;
	tn_error err = { 0 };
	assert_int_equal(json_parse(&doc, v, &opt, &err), TN_OK);
	assert_int_equal(json_count(json_root(doc)), 1000);
	json_free(doc);
}

static void freeing_nothing_is_allowed(void **state)
{
	(void)state;
	json_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_keep_their_kind),
		cmocka_unit_test(words),
		cmocka_unit_test(strings_are_unescaped),
		cmocka_unit_test(members_come_in_the_order_of_the_text),
		cmocka_unit_test(arrays_have_no_keys),
		cmocka_unit_test(faults_are_refused_where_they_stand),
		cmocka_unit_test(messages_are_lower_case_and_say_what_was_read),
		cmocka_unit_test(the_text_needs_no_terminator),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(a_million_brackets_are_survived),
		cmocka_unit_test(the_budget_is_a_limit),
		cmocka_unit_test(freeing_nothing_is_allowed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
