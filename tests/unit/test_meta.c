/* test_meta.c - building, changing, copying and comparing metadata trees. */
#include "model/meta.h"

#include "base/bytes.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static int set_up(void **state)
{
	static struct arena a;
	arena_init(&a, 0);
	*state = &a;
	return 0;
}

static int tear_down(void **state)
{
	arena_fini(*state);
	return 0;
}

/* The keys of a map in their order: "a b c". */
static const char *keys_of(struct arena *a, const struct tn_meta *map)
{
	const char *text = "";
	uint64_t n = 0;
	tn_meta_iter it = tn_meta_items(map);
	for (const tn_meta *item; (item = tn_meta_next(&it)) != NULL; n++)
		text = arena_printf(a, "%s%s%.*s", text, n != 0 ? " " : "", VIEW_ARG(item->key));
	assert_int_equal(n, tn_meta_count(map));
	return text;
}

static void maps_keep_their_order(void **state)
{
	struct arena *a = *state;
	struct tn_meta *map = meta_new(a, TN_META_MAP);
	assert_int_equal(tn_meta_count(map), 0);
	meta_add_uint(a, map, VIEW("z"), 1, 8);
	meta_add_null(a, map, VIEW("a"));
	meta_add_string(a, map, VIEW(""), VIEW("text"));
	meta_add_map(a, map, VIEW("m"));
	assert_string_equal(keys_of(a, map), "z a  m");
	assert_int_equal(tn_meta_kind(tn_meta_find(map, VIEW("a"))), TN_META_NULL);
	assert_int_equal(tn_meta_width(tn_meta_find(map, VIEW("z"))), 8);
	assert_true(view_is(tn_meta_find(map, VIEW(""))->as.s, "text"));
	assert_null(tn_meta_find(map, VIEW("Z")));
	assert_null(tn_meta_find(NULL, VIEW("z")));
	assert_null(tn_meta_find(tn_meta_find(map, VIEW("z")), VIEW("z")));
	assert_null(tn_meta_find(meta_new(a, TN_META_ARRAY), VIEW("")));
}

static void setting_replaces_in_place(void **state)
{
	struct arena *a = *state;
	static const char *const keys[] = { "a", "b", "c" };
	for (size_t k = 0; k < 3; k++) {
		struct tn_meta *map = meta_new(a, TN_META_MAP);
		for (size_t i = 0; i < 3; i++)
			meta_add_uint(a, map, tn_text(keys[i]), i, 64);
		struct tn_meta *node = meta_new(a, TN_META_BOOL);
		assert_ptr_equal(meta_set(map, tn_text(keys[k]), node), node);
		assert_string_equal(keys_of(a, map), "a b c");
		assert_ptr_equal(meta_find(map, tn_text(keys[k])), node);
		meta_add_null(a, map, VIEW("d")); /* the end is still the end */
		assert_string_equal(keys_of(a, map), "a b c d");
		meta_set(map, VIEW("e"), meta_new(a, TN_META_NULL));
		assert_string_equal(keys_of(a, map), "a b c d e");
		assert_null(meta_set(map, VIEW("a"), NULL));
		assert_string_equal(keys_of(a, map), "a b c d e");
	}
}

static void removing_unlinks(void **state)
{
	struct arena *a = *state;
	static const struct { const char *key, *left, *more; } cases[] = {
		{ "a", "b c", "b c x" }, { "b", "a c", "a c x" }, { "c", "a b", "a b x" }, { "d", "a b c", "a b c x" }
	};
	for (size_t i = 0; i < 4; i++) {
		struct tn_meta *map = meta_new(a, TN_META_MAP);
		meta_add_null(a, map, VIEW("a"));
		meta_add_null(a, map, VIEW("b"));
		meta_add_null(a, map, VIEW("c"));
		assert_int_equal(meta_remove(map, tn_text(cases[i].key)), i < 3);
		assert_string_equal(keys_of(a, map), cases[i].left);
		meta_add_null(a, map, VIEW("x"));
		assert_string_equal(keys_of(a, map), cases[i].more);
	}
	struct tn_meta *map = meta_new(a, TN_META_MAP);
	meta_add_null(a, map, VIEW("only"));
	assert_true(meta_remove(map, VIEW("only")));
	assert_int_equal(tn_meta_count(map), 0);
	meta_add_null(a, map, VIEW("next"));
	assert_string_equal(keys_of(a, map), "next");
}

static void a_map_is_made_once(void **state)
{
	struct arena *a = *state;
	struct tn_meta *root = meta_new(a, TN_META_MAP);
	struct tn_meta *map = meta_map_at(a, root, VIEW("burnpack"));
	assert_ptr_equal(meta_map_at(a, root, VIEW("burnpack")), map);
	assert_int_equal(tn_meta_count(root), 1);
	assert_int_equal(map->type, TN_META_MAP);
}

static struct tn_meta *tree(struct arena *a, const char *text)
{
	static const uint8_t numbers[] = { 1, 0, 2, 0 };
	struct tn_meta *root = meta_new(a, TN_META_MAP);
	struct tn_meta *list = meta_add_array(a, root, VIEW("list"));
	meta_add_string(a, list, VIEW(""), tn_text(text));
	meta_add_bytes(a, list, VIEW(""), VIEW("\x00\xff"));
	meta_add_int(a, list, VIEW(""), -3, 16);
	struct tn_meta *map = meta_add_map(a, list, VIEW(""));
	meta_add_float(a, map, VIEW("nan"), UINT64_C(0x7ff8000000000001), 64);
	meta_add_bool(a, map, VIEW("yes"), true);
	struct tn_meta *raw = meta_add_array(a, root, VIEW("raw"));
	raw->is_raw = true;
	raw->as.packed.raw = ARENA_NEW(a, 1, struct meta_raw);
	*raw->as.packed.raw = (struct meta_raw){ numbers, sizeof numbers, TN_META_UINT, 16, false };
	raw->as.packed.n = 2;
	return root;
}

static void a_copy_is_equal_and_apart(void **state)
{
	struct arena *a = *state;
	struct arena own;
	char text[] = "text";
	arena_init(&own, 0);
	struct tn_meta *root = tree(a, text);
	struct tn_meta *borrowed = meta_clone(a, root, false), *copied = meta_clone(&own, root, true);
	assert_true(meta_equal(root, borrowed));
	assert_true(meta_equal(root, copied));
	meta_add_null(a, borrowed, VIEW("more"));
	assert_int_equal(tn_meta_count(root), 2);
	assert_false(meta_equal(root, borrowed));
	text[0] = 'n'; /* seen by those that borrowed it */
	assert_false(meta_equal(root, copied));
	assert_true(view_is(meta_find(borrowed, VIEW("list"))->as.kids.first->as.s, "next"));
	assert_true(view_is(meta_find(copied, VIEW("list"))->as.kids.first->as.s, "text"));
	arena_fini(&own);
}

/* A raw array is equal to one of nodes that says the same. */
static void raw_and_linked_arrays_compare(void **state)
{
	struct arena *a = *state;
	struct tn_meta *raw = meta_find(tree(a, ""), VIEW("raw")), *list = meta_new(a, TN_META_ARRAY);
	meta_add_uint(a, list, VIEW(""), 1, 16);
	assert_false(meta_equal(raw, list));
	struct tn_meta *last = meta_add_uint(a, list, VIEW(""), 2, 16);
	assert_true(meta_equal(raw, list));
	assert_true(meta_equal(list, raw));
	last->width = 32;
	assert_false(meta_equal(raw, list));
	last->width = 16;
	last->as.u = 3;
	assert_false(meta_equal(raw, list));
}

static void what_differs_is_not_equal(void **state)
{
	struct arena *a = *state;
	struct tn_meta *map = meta_new(a, TN_META_MAP);
	struct tn_meta *nodes[] = {
		meta_add_null(a, map, VIEW("k")), meta_add_bool(a, map, VIEW("k"), false), meta_add_bool(a, map, VIEW("k"), true),
		meta_add_uint(a, map, VIEW("k"), 0, 0), meta_add_uint(a, map, VIEW("k"), 0, 8), meta_add_uint(a, map, VIEW("k"), 1, 8),
		meta_add_int(a, map, VIEW("k"), 0, 8), meta_add_int(a, map, VIEW("k"), -1, 8),
		meta_add_float(a, map, VIEW("k"), 0, 64), meta_add_float(a, map, VIEW("k"), UINT64_C(1) << 63, 64),
		meta_add_float(a, map, VIEW("k"), UINT64_C(0x7ff8000000000000), 64),
		meta_add_float(a, map, VIEW("k"), UINT64_C(0x7ff8000000000001), 64),
		meta_add_string(a, map, VIEW("k"), VIEW("")), meta_add_string(a, map, VIEW("k"), VIEW("x")),
		meta_add_bytes(a, map, VIEW("k"), VIEW("x")), meta_add_array(a, map, VIEW("k")), meta_add_map(a, map, VIEW("k")),
	};
	const size_t n = sizeof nodes / sizeof *nodes;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++)
			assert_int_equal(meta_equal(nodes[i], nodes[k]), i == k);
}

static void keys_and_their_order_count(void **state)
{
	struct arena *a = *state;
	struct tn_meta *ab = meta_new(a, TN_META_MAP), *ba = meta_new(a, TN_META_MAP), *ac = meta_new(a, TN_META_MAP);
	meta_add_null(a, ab, VIEW("a"));
	meta_add_null(a, ab, VIEW("b"));
	meta_add_null(a, ba, VIEW("b"));
	meta_add_null(a, ba, VIEW("a"));
	meta_add_null(a, ac, VIEW("a"));
	meta_add_null(a, ac, VIEW("c"));
	assert_true(meta_equal(ab, ab));
	assert_false(meta_equal(ab, ba));
	assert_false(meta_equal(ab, ac));
}

/* A spent budget gives NULL all the way up, and the container stays as it was. */
static void memory_may_run_out(void **state)
{
	(void)state;
	for (uint64_t budget = 16; ; budget += 16) {
		struct arena a;
		arena_init(&a, budget);
		struct tn_meta *map = meta_new(&a, TN_META_MAP);
		uint64_t n = 0;
		for (unsigned i = 0; map != NULL && i < 3; i++)
			n += meta_add_uint(&a, map, VIEW("k"), i, 64) != NULL;
		assert_int_equal(tn_meta_count(map), n);
		assert_int_equal(a.over, map == NULL || n < 3);
		arena_fini(&a);
		if (n == 3)
			break;
	}
	struct arena big, small;
	arena_init(&big, 0);
	struct tn_meta *root = tree(&big, "text");
	for (uint64_t budget = 16; ; budget += 16) {
		arena_init(&small, budget);
		struct tn_meta *copy = meta_clone(&small, root, true);
		assert_int_equal(copy == NULL, small.over);
		arena_fini(&small);
		if (copy != NULL)
			break;
	}
	arena_fini(&big);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(maps_keep_their_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(setting_replaces_in_place, set_up, tear_down),
		cmocka_unit_test_setup_teardown(removing_unlinks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_map_is_made_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_copy_is_equal_and_apart, set_up, tear_down),
		cmocka_unit_test_setup_teardown(raw_and_linked_arrays_compare, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_differs_is_not_equal, set_up, tear_down),
		cmocka_unit_test_setup_teardown(keys_and_their_order_count, set_up, tear_down),
		cmocka_unit_test(memory_may_run_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
