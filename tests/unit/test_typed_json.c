/* test_typed_json.c - metadata as JSON that loses nothing: each spelling, what is no spelling, and random trees. */
#include "io/typed_json.h"

#include "base/bytes.h"

#include "support/fault_mem.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static tn_view print(struct arena *a, const struct tn_meta *node)
{
	struct buf b;
	buf_init(&b, 0);
	typed_json_put(&b, node);
	return buf_done(&b, a);
}

/* NULL where the text spells no node. */
static struct tn_meta *read(struct arena *a, tn_view text)
{
	const struct json_options opt = { .max_depth = 250, .what = "test" };
	struct json_doc *doc;
	tn_error err = { .code = TN_OK };
	bool nomem;
	if (json_parse(&doc, text, &opt, &err) != TN_OK)
		fail_msg("%.*s: %s", VIEW_ARG(text), err.msg);
	struct tn_meta *node = typed_json_get(a, json_root(doc), &nomem);
	assert_false(nomem);
	json_free(doc);
	return node;
}

/* ---- Spellings ---- */

struct spelling {
	const char    *text;
	struct tn_meta node;
};
#define UINT(v, w)  { .type = TN_META_UINT, .width = w, .as.u = v }
#define INT(v, w)   { .type = TN_META_INT, .width = w, .as.i = v }
#define FLOAT(v, w) { .type = TN_META_FLOAT, .width = w, .as.f_bits = v }

static const struct spelling spellings[] = {
	{ "null", { .type = TN_META_NULL } },
	{ "true", { .type = TN_META_BOOL, .as.b = true } },
	{ "false", { .type = TN_META_BOOL } },
	{ "0", UINT(0, 64) },
	{ "18446744073709551615", UINT(UINT64_MAX, 64) },
	{ "{\"$u8\":255}", UINT(255, 8) },
	{ "{\"$u16\":65535}", UINT(65535, 16) },
	{ "{\"$u32\":4294967295}", UINT(UINT32_MAX, 32) },
	{ "{\"$uint\":18446744073709551615}", UINT(UINT64_MAX, 0) },
	{ "-1", INT(-1, 64) },
	{ "-9223372036854775808", INT(INT64_MIN, 64) },
	{ "{\"$i64\":0}", INT(0, 64) },
	{ "{\"$i64\":9223372036854775807}", INT(INT64_MAX, 64) },
	{ "{\"$i8\":-128}", INT(-128, 8) },
	{ "{\"$i8\":127}", INT(127, 8) },
	{ "{\"$i16\":-32768}", INT(INT16_MIN, 16) },
	{ "{\"$i32\":2147483647}", INT(INT32_MAX, 32) },
	{ "{\"$int\":-5}", INT(-5, 0) },
	{ "0.5", FLOAT(UINT64_C(0x3fe0000000000000), 64) },
	{ "1.0", FLOAT(UINT64_C(0x3ff0000000000000), 64) },
	{ "-0.0", FLOAT(UINT64_C(1) << 63, 64) },
	{ "0.1", FLOAT(UINT64_C(0x3fb999999999999a), 64) },
	{ "5e-324", FLOAT(1, 64) },
	{ "{\"$f32\":0.5}", FLOAT(UINT64_C(0x3fe0000000000000), 32) },
	{ "{\"$f32\":0.10000000149011612}", FLOAT(UINT64_C(0x3fb99999a0000000), 32) },
	{ "{\"$float\":2.5}", FLOAT(UINT64_C(0x4004000000000000), 0) },
	{ "{\"$f64\":\"7ff8000000000001\"}", FLOAT(UINT64_C(0x7ff8000000000001), 64) },
	{ "{\"$f64\":\"fff0000000000000\"}", FLOAT(UINT64_C(0xfff0000000000000), 64) },
	{ "{\"$f32\":\"7ff8000020000000\"}", FLOAT(UINT64_C(0x7ff8000020000000), 32) },
	{ "{\"$f32\":\"7ff0000000000000\"}", FLOAT(UINT64_C(0x7ff0000000000000), 32) },
	{ "{\"$float\":\"7ff8000000000000\"}", FLOAT(UINT64_C(0x7ff8000000000000), 0) },
	{ "\"\"", { .type = TN_META_STRING, .as.s = { (const uint8_t *)"", 0 } } },
	{ "\"a\\\"\\n\xc3\xa9\"", { .type = TN_META_STRING, .as.s = { (const uint8_t *)"a\"\n\xc3\xa9", 5 } } },
	{ "{\"$string\":\"61ff\"}", { .type = TN_META_STRING, .as.s = { (const uint8_t *)"a\xff", 2 } } },
	{ "{\"$bytes\":\"\"}", { .type = TN_META_BYTES, .as.s = { (const uint8_t *)"", 0 } } },
	{ "{\"$bytes\":\"00ff\"}", { .type = TN_META_BYTES, .as.s = { (const uint8_t *)"\x00\xff", 2 } } },
	{ "[]", { .type = TN_META_ARRAY } },
	{ "{}", { .type = TN_META_MAP } },
};

static void each_spelling_goes_both_ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
		const struct spelling *s = &spellings[i];
		struct arena a;
		arena_init(&a, 0);
		tn_view text = print(&a, &s->node);
		if (!view_is(text, s->text))
			fail_msg("'%.*s', not '%s'", VIEW_ARG(text), s->text);
		struct tn_meta *node = read(&a, tn_text(s->text));
		if (node == NULL || !meta_equal(node, &s->node))
			fail_msg("'%s' reads as something else", s->text);
		arena_fini(&a);
	}
}

static void other_spellings_are_read_too(void **state)
{
	(void)state;
	static const struct spelling others[] = {
		{ "{\"$u64\":7}", UINT(7, 64) }, { "{\"$i64\":-7}", INT(-7, 64) },
		{ "{\"$f64\":0.5}", FLOAT(UINT64_C(0x3fe0000000000000), 64) },
		{ "{\"$f32\":1}", FLOAT(UINT64_C(0x3ff0000000000000), 32) },
		{ "{\"$float\":-2}", FLOAT(UINT64_C(0xc000000000000000), 0) },
		{ "{\"$f32\":0.1}", FLOAT(UINT64_C(0x3fb99999a0000000), 32) }, /* the float nearest to it */
		{ "{\"$f64\":\"3fe0000000000000\"}", FLOAT(UINT64_C(0x3fe0000000000000), 64) },
		{ "{\"$string\":\"61\"}", { .type = TN_META_STRING, .as.s = { (const uint8_t *)"a", 1 } } },
		{ "{\"$map\":{}}", { .type = TN_META_MAP } },
	};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		struct arena a;
		arena_init(&a, 0);
		struct tn_meta *node = read(&a, tn_text(others[i].text));
		if (node == NULL || !meta_equal(node, &others[i].node))
			fail_msg("'%s' reads as something else", others[i].text);
		arena_fini(&a);
	}
}

static void what_spells_nothing_is_refused(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"{\"$u8\":256}", "{\"$u8\":-1}", "{\"$u8\":\"1\"}", "{\"$u8\":1.0}", "{\"$u8\":null}", "{\"$u32\":4294967296}",
		"{\"$uint\":-1}", "{\"$i8\":128}", "{\"$i8\":-129}", "{\"$i16\":32768}", "{\"$i32\":-2147483649}",
		"{\"$i64\":9223372036854775808}", "{\"$int\":0.5}", "{\"$i8\":true}",
		"{\"$f32\":1e300}", "{\"$f32\":-3.5e38}", "{\"$f32\":\"7ff8000000000001\"}", "{\"$f64\":\"7ff8\"}",
		"{\"$f64\":\"7FF8000000000000\"}", "{\"$f64\":\"7ff800000000000g\"}", "{\"$f64\":\"7ff80000000000000\"}",
		"{\"$array\":\"u8\"}", "{\"$array\":\"u8\",\"v\":[256]}", "{\"$array\":\"u8\",\"v\":[1.0]}",
		"{\"$array\":\"u8\",\"v\":[1],\"w\":1}", "{\"$array\":\"u8\",\"w\":[1]}", "{\"$array\":\"u8\",\"v\":1}",
		"{\"$array\":\"u7\",\"v\":[]}", "{\"$array\":\"f16\",\"v\":[]}", "{\"$array\":7,\"v\":[]}", "{\"$array\":\"uint\",\"v\":[]}",
		"{\"$array\":\"u8\\u0000\",\"v\":[]}", "{\"$array\":\"map\",\"v\":[]}", "{\"v\":[],\"$array\":\"u8\",\"$u8\":{\"$u8\":-1}}",
		"{\"$array\":\"i8\",\"v\":[128]}", "{\"$array\":\"f32\",\"v\":[1e39]}", "{\"$array\":\"bool\",\"v\":[1]}",
		"{\"$array\":\"string\",\"v\":[7]}", "{\"$array\":\"string\",\"v\":[{\"$bytes\":\"00\"}]}",
		"{\"$f8\":0.5}", "{\"$f16\":0.5}", "{\"$float\":[]}",
		"{\"$bytes\":\"0\"}", "{\"$bytes\":\"0g\"}", "{\"$bytes\":\"AA\"}", "{\"$bytes\":7}", "{\"$string\":\"x\"}",
		"{\"$string\":{}}", "{\"$map\":[]}", "{\"$map\":7}",
		"{\"$\":1}", "{\"$u\":1}", "{\"$u7\":1}", "{\"$u128\":1}", "{\"$x8\":1}", "{\"$unknown\":1}", "{\"$u8 \":1}",
		"{\"$u8\":1,\"more\":2}", "{\"$map\":{},\"$map\":{}}", "{\"$bytes\":\"\",\"a\":1}",
		"[1,{\"$u8\":256}]", "{\"a\":{\"$u8\":256}}", "{\"a\":[[{\"b\":{\"$bytes\":\"0\"}}]]}",
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct arena a;
		arena_init(&a, 0);
		if (read(&a, tn_text(texts[i])) != NULL)
			fail_msg("'%s' is taken", texts[i]);
		arena_fini(&a);
	}
	assert_int_equal(fault_mem.alive, 0);
}

static void maps_with_dollar_keys_are_wrapped(void **state)
{
	(void)state;
	struct arena a;
	arena_init(&a, 0);
	struct tn_meta *map = meta_new(&a, TN_META_MAP);
	meta_add_uint(&a, map, VIEW("$u8"), 1, 64);
	meta_add_map(&a, map, VIEW("$"));
	tn_view text = print(&a, map);
	assert_true(view_is(text, "{\"$map\":{\"$u8\":1,\"$\":{}}}"));
	assert_true(meta_equal(read(&a, text), map));
	struct tn_meta *later = meta_new(&a, TN_META_MAP); /* only the first key decides */
	meta_add_null(&a, later, VIEW("a"));
	meta_add_null(&a, later, VIEW("$map"));
	text = print(&a, later);
	assert_true(view_is(text, "{\"a\":null,\"$map\":null}"));
	assert_true(meta_equal(read(&a, text), later));
	arena_fini(&a);
}

/* Among a few members, and among as many as are looked up in an index. */
static void the_first_of_two_values_under_a_key_counts(void **state)
{
	(void)state;
	enum { MANY = 40 };
	struct arena a;
	struct buf b;
	arena_init(&a, 0);
	assert_true(view_is(print(&a, read(&a, VIEW("{\"a\":1,\"b\":{\"c\":2,\"c\":3},\"a\":4}"))), "{\"a\":1,\"b\":{\"c\":2}}"));
	buf_init(&b, 0);
	for (unsigned i = 0; i < 2 * MANY; i++)
		buf_printf(&b, "%c\"%u\":%u", i != 0 ? ',' : '{', i % MANY, i);
	buf_byte(&b, '}');
	const struct tn_meta *map = read(&a, buf_bytes(&b));
	assert_int_equal(tn_meta_count(map), MANY);
	assert_int_equal(meta_find(map, VIEW("7"))->as.u, 7);
	buf_fini(&b);
	arena_fini(&a);
}

static void what_is_nested_too_deep_is_no_value(void **state)
{
	(void)state;
	static const struct { const char *open, *inner, *close; } ways[] = {
		{ "[", "[]", "]" }, { "{\"a\":", "{}", "}" }, { "[", "{\"$map\":{}}", "]" }, { "[", "{\"$array\":\"u8\",\"v\":[]}", "]" },
	};
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		for (unsigned depth = META_DEEPEST; depth <= META_DEEPEST + 1; depth++) {
			struct arena a;
			struct buf b;
			arena_init(&a, 0);
			buf_init(&b, 0);
			for (unsigned k = 1; k < depth; k++)
				buf_text(&b, ways[i].open);
			buf_text(&b, ways[i].inner);
			for (unsigned k = 1; k < depth; k++)
				buf_text(&b, ways[i].close);
			assert_int_equal(read(&a, buf_bytes(&b)) != NULL, depth == META_DEEPEST);
			buf_fini(&b);
			arena_fini(&a);
		}
	}
}

static void raw_arrays_are_printed_by_item(void **state)
{
	(void)state;
	struct arena a;
	struct meta_raw raw = { (const uint8_t[]){ 0xff, 0xff, 0x00, 0x01 }, 4, TN_META_INT, 16, true };
	struct tn_meta array = { .type = TN_META_ARRAY, .is_raw = true, .as.packed = { &raw, 2 } };
	arena_init(&a, 0);
	tn_view text = print(&a, &array);
	assert_true(view_is(text, "{\"$array\":\"i16\",\"v\":[-1,1]}"));
	assert_true(meta_equal(read(&a, text), &array));
	arena_fini(&a);
}

/* Arrays of one type, in the spelling that is printed and read into the same raw form. */
static void arrays_of_one_type_go_both_ways(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"{\"$array\":\"u8\",\"v\":[0,255]}", "{\"$array\":\"u16\",\"v\":[65535]}", "{\"$array\":\"u32\",\"v\":[4294967295]}",
		"{\"$array\":\"i8\",\"v\":[-128,127]}", "{\"$array\":\"i64\",\"v\":[-9223372036854775808,7]}",
		"{\"$array\":\"f32\",\"v\":[0.5,0.10000000149011612,\"7ff0000020000000\",\"fff0000000000000\"]}",
		"{\"$array\":\"f64\",\"v\":[0.1,\"7ff0000000000001\"]}",
		"{\"$array\":\"u64\",\"v\":[]}", "{\"$array\":\"bool\",\"v\":[]}", "{\"$array\":\"string\",\"v\":[]}",
		"[1,18446744073709551615]", "[true,false]", "[\"a\",\"\",{\"$string\":\"ff\"}]",
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct arena a;
		arena_init(&a, 0);
		struct tn_meta *node = read(&a, tn_text(texts[i]));
		if (node == NULL)
			fail_msg("'%s' is not read", texts[i]);
		tn_view again = print(&a, node);
		if (!view_is(again, texts[i]))
			fail_msg("'%.*s', not '%s'", VIEW_ARG(again), texts[i]);
		arena_fini(&a);
	}
}

/* ---- Random trees ---- */

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *seed >> 11 ^ *seed << 43;
}

static tn_view some_text(struct arena *a, uint64_t *seed, bool utf8)
{
	static const char *const pieces[] = { "a", "$", "\"", "\\", "\n", "\x01", "\xc3\xa9", "\xf0\x9f\xa6\x99", " ", "{" };
	const char *text = "";
	for (uint64_t n = next(seed) % 4; n != 0; n--)
		text = arena_printf(a, "%s%s", text, pieces[next(seed) % 10]);
	return tn_text(utf8 || next(seed) % 2 == 0 ? text : arena_printf(a, "%s\xff", text));
}

static uint64_t some_float(uint64_t *seed, unsigned width)
{
	uint64_t bits = next(seed);
	if (next(seed) % 4 == 0)
		bits |= UINT64_C(0x7ff0000000000000);
	if (width != 32)
		return bits;
	uint32_t narrow = (uint32_t)bits;
	if (next(seed) % 4 == 0)
		narrow |= 0x7f800000;
	if ((narrow & 0x7f800000) == 0x7f800000 && (narrow & 0x7fffff) != 0)
		narrow |= 0x400000; /* widening makes NaN quiet */
	return f64_bits((double)f32_of(narrow));
}

static struct tn_meta *some_node(struct arena *a, uint64_t *seed, unsigned depth);

static struct tn_meta *some_items(struct arena *a, uint64_t *seed, unsigned depth, tn_meta_type type)
{
	struct tn_meta *node = meta_new(a, type);
	for (uint64_t n = next(seed) % 5; n != 0; n--) {
		struct tn_meta *item = some_node(a, seed, depth - 1);
		if (type == TN_META_MAP)
			meta_set(node, some_text(a, seed, true), item);
		else
			meta_append(node, (tn_view){ NULL, 0 }, item);
	}
	return node;
}

static struct tn_meta *some_node(struct arena *a, uint64_t *seed, unsigned depth)
{
	static const uint8_t widths[] = { 0, 8, 16, 32, 64 };
	unsigned type = (unsigned)(next(seed) % (depth != 0 ? 9 : 7)), w = (unsigned)(next(seed) % 5);
	if (type == TN_META_ARRAY || type == TN_META_MAP)
		return some_items(a, seed, depth, (tn_meta_type)type);
	struct tn_meta *node = meta_new(a, (tn_meta_type)type);
	unsigned shift = widths[w] == 0 ? 0 : 64 - widths[w];
	switch (type) {
	case TN_META_BOOL: node->as.b = next(seed) % 2 != 0; break;
	case TN_META_INT:
		node->width = widths[w];
		node->as.i = (int64_t)next(seed) / (INT64_C(1) << (shift == 0 ? 0 : shift));
		break;
	case TN_META_UINT:
		node->width = widths[w];
		node->as.u = next(seed) >> shift;
		break;
	case TN_META_FLOAT:
		node->width = w < 2 ? 0 : w < 4 ? 32 : 64;
		node->as.f_bits = some_float(seed, node->width);
		break;
	case TN_META_STRING: node->as.s = some_text(a, seed, false); break;
	case TN_META_BYTES: node->as.s = some_text(a, seed, false); break;
	default: break;
	}
	return node;
}

static void random_trees_come_back(void **state)
{
	(void)state;
	for (uint64_t start = 1; start <= 2000; start++) {
		struct arena a;
		uint64_t seed = start;
		arena_init(&a, 0);
		struct tn_meta *tree = some_node(&a, &seed, 5);
		tn_view text = print(&a, tree);
		struct tn_meta *back = read(&a, text);
		if (back == NULL || !meta_equal(tree, back))
			fail_msg("seed %llu: '%.*s'", (unsigned long long)start, VIEW_ARG(text));
		tn_view again = print(&a, back);
		assert_true(view_eq(text, again));
		arena_fini(&a);
	}
}

/* ---- Memory ---- */

static void memory_may_run_out(void **state)
{
	(void)state;
	const tn_view text = VIEW("{\"a\":[1,{\"$bytes\":\"00ff\"},\"text\",{\"$map\":{\"$b\":null}}],\"b\":{\"$f32\":0.5},"
	                          "\"c\":{\"$array\":\"u8\",\"v\":[1,2]}}");
	const struct json_options opt = { .what = "test" };
	struct json_doc *doc;
	tn_error err = { .code = TN_OK };
	assert_int_equal(json_parse(&doc, text, &opt, &err), TN_OK);
	for (uint64_t budget = 16; ; budget += 16) {
		struct arena a;
		bool nomem;
		arena_init(&a, budget);
		struct tn_meta *node = typed_json_get(&a, json_root(doc), &nomem);
		assert_int_equal(node == NULL, nomem);
		assert_int_equal(a.over, nomem);
		arena_fini(&a);
		if (node != NULL)
			break;
	}
	json_free(doc);
	assert_int_equal(fault_mem.alive, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_spelling_goes_both_ways),
		cmocka_unit_test(other_spellings_are_read_too),
		cmocka_unit_test(what_spells_nothing_is_refused),
		cmocka_unit_test(maps_with_dollar_keys_are_wrapped),
		cmocka_unit_test(the_first_of_two_values_under_a_key_counts),
		cmocka_unit_test(what_is_nested_too_deep_is_no_value),
		cmocka_unit_test(raw_arrays_are_printed_by_item),
		cmocka_unit_test(arrays_of_one_type_go_both_ways),
		cmocka_unit_test(random_trees_come_back),
		cmocka_unit_test(memory_may_run_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
