/* test_meta_index.c - the members of a map by hash. */
#include "model/meta_index.h"

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

static struct tn_meta *number(struct arena *a, uint64_t v)
{
	struct tn_meta *node = meta_new(a, TN_META_UINT);
	node->as.u = v;
	return node;
}

static uint64_t value(const struct meta_index *ix, const char *key)
{
	const struct tn_meta *node = meta_index_find(ix, tn_text(key));
	assert_non_null(node);
	return node->as.u;
}

static void what_the_map_has_is_found(void **state)
{
	struct arena *a = *state;
	struct tn_meta *map = meta_new(a, TN_META_MAP);
	struct meta_index ix;
	meta_add_uint(a, map, VIEW("a"), 1, 64);
	meta_add_uint(a, map, VIEW("b"), 2, 64);
	meta_add_uint(a, map, VIEW("a"), 3, 64);
	assert_true(meta_index_init(&ix, a, map, 0));
	assert_int_equal(value(&ix, "a"), 1);
	assert_ptr_equal(meta_index_find(&ix, VIEW("b")), meta_find(map, VIEW("b")));
	assert_null(meta_index_find(&ix, VIEW("c")));
	assert_int_equal(tn_meta_count(map), 3);
}

static void an_empty_map_has_nothing(void **state)
{
	struct arena *a = *state;
	struct meta_index ix;
	assert_true(meta_index_init(&ix, a, meta_new(a, TN_META_MAP), 0));
	assert_null(meta_index_find(&ix, VIEW("")));
}

/* The later value stands where the earlier one did, as with meta_set. */
static void set_adds_or_replaces(void **state)
{
	struct arena *a = *state;
	struct tn_meta *map = meta_new(a, TN_META_MAP);
	struct meta_index ix;
	meta_add_uint(a, map, VIEW("a"), 1, 64);
	assert_true(meta_index_init(&ix, a, map, 2));
	meta_index_set(&ix, VIEW("b"), number(a, 2));
	meta_index_set(&ix, VIEW("a"), number(a, 3));
	meta_index_set(&ix, VIEW("c"), number(a, 4));
	meta_index_set(&ix, VIEW("c"), number(a, 5));
	assert_int_equal(tn_meta_count(map), 3);
	assert_int_equal(value(&ix, "a"), 3);
	assert_int_equal(value(&ix, "c"), 5);
	const struct tn_meta *node = map->as.kids.first;
	assert_true(view_is(node->key, "a") && node->as.u == 3);
	node = node->next;
	assert_true(view_is(node->key, "b") && node->as.u == 2);
	node = node->next;
	assert_true(view_is(node->key, "c") && node->as.u == 5);
	assert_null(node->next);
	assert_ptr_equal(map->as.kids.last, node);
}

static void no_memory_is_told(void **state)
{
	struct arena small;
	struct meta_index ix;
	struct tn_meta *map = meta_new(*state, TN_META_MAP);
	arena_init(&small, 64);
	assert_false(meta_index_init(&ix, &small, map, 1000));
	arena_fini(&small);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_the_map_has_is_found, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_empty_map_has_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(set_adds_or_replaces, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_memory_is_told, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
