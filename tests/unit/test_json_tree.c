/* test_json_tree.c - trees from JSON and to it, and what survives. */
#include "io/json_tree.h"

#include "base/bytes.h"

#include <stdio.h>
#include <string.h>

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static struct arena mem;

static int set_up(void **state)
{
	(void)state;
	arena_init(&mem, 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_fini(&mem);
	return 0;
}

static struct tn_meta *parse(const char *text, uint64_t *repeated)
{
	const struct json_options opt = { .what = "test" };
	struct json_tree t = { .mem = &mem };
	struct json_doc *doc;
	tn_error err = { .code = TN_OK };
	assert_int_equal(json_parse(&doc, tn_text(text), &opt, &err), TN_OK);
	struct tn_meta *node = json_tree_get(&t, json_root(doc));
	json_free(doc);
	assert_non_null(node);
	if (repeated != NULL)
		*repeated = t.repeated;
	return node;
}

static const char *text_of(const struct tn_meta *node)
{
	struct buf b;
	buf_init(&b, 0);
	json_tree_put(&b, node);
	buf_byte(&b, 0);
	return (const char *)buf_done(&b, &mem).ptr;
}

static void json_comes_back(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"null",
		"true",
		"false",
		"0",
		"18446744073709551615",
		"-9223372036854775808",
		"-0.0",
		"0.1",
		"1e-6",
		"1e+16",
		"5e-324",
		"1.7976931348623157e+308",
		"\"\"",
		"\"a\\\"b\\n\\u0001\xc3\xa9\"",
		"[]",
		"{}",
		"[1,[2,[]],{}]",
		"{\"b\":1,\"a\":{\"c\":null},\"\":[true]}",
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct tn_meta *node = parse(texts[i], NULL);
		assert_string_equal(text_of(node), texts[i]);
		assert_true(json_tree_keeps(node));
		assert_true(meta_equal(node, parse(text_of(node), NULL)));
	}
}

static void the_last_of_a_key_counts(void **state)
{
	(void)state;
	uint64_t repeated;
	assert_string_equal(text_of(parse("{\"a\":1,\"b\":2,\"a\":3}", &repeated)),
	                    "{\"a\":3,\"b\":2}");
	assert_int_equal(repeated, 1);
	/* and in an object of more keys than are compared by pairs */
	char text[2000] = "{";
	for (int i = 0; i < 40; i++)
		sprintf(text + strlen(text), "\"k%d\":%d,", i % 30, i);
	strcpy(text + strlen(text) - 1, "}");
	struct tn_meta *node = parse(text, &repeated);
	assert_int_equal(repeated, 10);
	assert_int_equal(tn_meta_count(node), 30);
	uint64_t v;
	assert_true(tn_meta_u64(node->as.kids.first, &v));
	assert_int_equal(v, 30);
}

/* What JSON lacks: printed as near as it comes, and the text is a fixed point. */
static void what_json_lacks(void **state)
{
	(void)state;
	struct tn_meta *m = meta_new(&mem, TN_META_MAP);
	meta_add_uint(&mem, m, VIEW("u8"), 7, 8);
	meta_add_int(&mem, m, VIEW("i"), 7, 64);
	meta_add_float(&mem, m, VIEW("f32"), f64_bits((double)0.1f), 32);
	meta_add_float(&mem, m, VIEW("small"), f64_bits((double)1e-6f), 32);
	meta_add_float(&mem, m, VIEW("nan"), UINT64_C(0x7ff8000000000001), 64);
	meta_add_float(&mem, m, VIEW("inf"), UINT64_C(0x7ff0000000000000), 32);
	meta_add_bytes(&mem, m, VIEW("bytes"), VIEW("\x00\xff"));
	meta_add_string(&mem, m, VIEW("text"), VIEW("a\xff"));
	for (const struct tn_meta *kid = m->as.kids.first; kid != NULL; kid = kid->next)
		assert_false(json_tree_keeps(kid));
	const char *text = text_of(m);
	assert_string_equal(text, "{\"u8\":7,\"i\":7,\"f32\":0.1,\"small\":1e-6,\"nan\":null,"
	                          "\"inf\":null,\"bytes\":\"00ff\","
	                          "\"text\":\"a\\\\xff\"}");
	assert_string_equal(text_of(parse(text, NULL)), text);
	assert_false(json_tree_keeps(m));
}

static void two_of_a_key_do_not_survive(void **state)
{
	(void)state;
	struct tn_meta *m = meta_new(&mem, TN_META_MAP);
	meta_add_null(&mem, m, VIEW("a"));
	meta_add_bool(&mem, m, VIEW("a"), true);
	assert_false(json_tree_keeps(m));
	struct tn_meta *n = meta_new(&mem, TN_META_MAP);
	meta_add_null(&mem, n, VIEW("\xff"));
	assert_false(json_tree_keeps(n));
}

static void depth(void **state)
{
	(void)state;
	assert_true(json_tree_within(parse("1", NULL), 0));
	assert_false(json_tree_within(parse("[]", NULL), 0));
	assert_true(json_tree_within(parse("[{\"a\":[1]},2]", NULL), 3));
	assert_false(json_tree_within(parse("[{\"a\":[1]},2]", NULL), 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_comes_back),
		cmocka_unit_test(the_last_of_a_key_counts),
		cmocka_unit_test(what_json_lacks),
		cmocka_unit_test(two_of_a_key_do_not_survive),
		cmocka_unit_test(depth),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
