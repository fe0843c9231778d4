/* test_arena.c - room, alignment, zeroing and the budget. */
#include "base/arena.h"
#include "base/mem.h"
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static void objects_are_aligned_zeroed_and_apart(void **state)
{
	(void)state;
	static const size_t sizes[] = { 1, 15, 16, 17, 100, 4000, 9000, 20000, 70000, 3, 2000000, 5 };
	enum { ROUNDS = 20, KINDS = sizeof sizes / sizeof *sizes };
	uint8_t *objects[ROUNDS * KINDS];
	struct arena a;
	arena_init(&a, 0);
	for (size_t i = 0; i < ROUNDS * KINDS; i++) {
		size_t size = sizes[i % KINDS];
		objects[i] = arena_new(&a, size, 1);
		assert_non_null(objects[i]);
		assert_int_equal((uintptr_t)objects[i] % 16, 0);
		assert_int_equal(objects[i][0], 0);
		assert_int_equal(objects[i][size - 1], 0);
		memset(objects[i], (int)i, size);
	}
	for (size_t i = 0; i < ROUNDS * KINDS; i++) {
		assert_int_equal(objects[i][0], (uint8_t)i);
		assert_int_equal(objects[i][sizes[i % KINDS] - 1], (uint8_t)i);
	}
	arena_fini(&a);
}

static void an_empty_request_is_no_failure(void **state)
{
	(void)state;
	struct arena a;
	arena_init(&a, 0);
	assert_non_null(ARENA_NEW(&a, 0, uint64_t));
	assert_non_null(arena_raw(&a, 0, 1));
	arena_fini(&a);
}

static void what_is_adopted_is_charged_and_dies_with_the_rest(void **state)
{
	(void)state;
	struct arena a;
	void *first = mem_alloc(100), *second = mem_alloc(1000);
	arena_init(&a, 1024);
	assert_true(arena_adopt(&a, first, 100));
	assert_in_range(a.used, 100, 112);
	assert_non_null(arena_new(&a, 8, 1));
	assert_false(arena_adopt(&a, second, 1000));
	assert_true(a.over);
	mem_free(second);
	arena_fini(&a); /* a sanitizer tells of the first, were it left */
	assert_int_equal(a.used, 0);
}

static void the_budget_is_a_limit(void **state)
{
	(void)state;
	struct arena a;
	tn_error err = { 0 };
	arena_init(&a, 1024);
	assert_non_null(arena_new(&a, 1000, 1));
	assert_in_range(a.used, 1000, 1024);
	assert_null(arena_new(&a, 1000, 1));
	assert_true(a.over);
	assert_in_range(a.used, 1000, 1024);
	assert_int_equal(arena_err(&a, &err, "tensor table"), TN_E_LIMIT);
	assert_string_equal(err.msg, "tensor table: exceeds the memory limit of 1024 bytes");
	assert_non_null(arena_new(&a, 8, 1)); /* what is left may still be had */
	assert_true(a.over); /* whoever looks may look later */
	arena_fini(&a);
}

static void a_product_that_overflows_is_refused(void **state)
{
	(void)state;
	struct arena a;
	tn_error err = { 0 };
	arena_init(&a, 0);
	assert_null(arena_new(&a, UINT64_MAX, 2));
	assert_null(arena_raw(&a, UINT64_MAX / 8, 16));
	assert_null(arena_raw(&a, UINT64_MAX, 1));
	assert_int_equal(a.used, 0);
	assert_int_equal(arena_err(&a, &err, "names"), TN_E_NOMEM);
	assert_string_equal(err.msg, "names: out of memory");
	arena_fini(&a);

	arena_init(&a, 1 << 20);
	err_clear(&err);
	assert_null(arena_new(&a, UINT64_MAX / 2, 8));
	assert_int_equal(arena_err(&a, &err, "names"), TN_E_LIMIT);
	arena_fini(&a);
}

static void a_machine_without_memory_is_no_limit(void **state)
{
	(void)state;
	struct arena a;
	tn_error err = { 0 };
	arena_init(&a, 0);
	assert_null(arena_raw(&a, SIZE_MAX / 2, 1));
	arena_fini(&a);
	assert_null(arena_new(&a, SIZE_MAX / 32, 16));
	assert_int_equal(arena_err(&a, &err, "names"), TN_E_NOMEM);
	assert_non_null(arena_new(&a, 16, 1));
	arena_fini(&a);
}

static void copies_are_terminated(void **state)
{
	(void)state;
	struct arena a;
	arena_init(&a, 256);
	tn_view v = arena_copy(&a, (tn_view){ (const uint8_t *)"a\0b", 3 });
	assert_int_equal(v.len, 3);
	assert_memory_equal(v.ptr, "a\0b", 4);
	v = arena_copy(&a, (tn_view){ NULL, 0 });
	assert_int_equal(v.len, 0);
	assert_string_equal((const char *)v.ptr, "");
	static const uint8_t much[300];
	assert_null(arena_copy(&a, (tn_view){ much, sizeof much }).ptr);
	arena_fini(&a);
}

static void printing(void **state)
{
	(void)state;
	struct arena a;
	arena_init(&a, 64);
	assert_string_equal(arena_printf(&a, "%s-%d", "x", 42), "x-42");
	assert_string_equal(arena_printf(&a, "%s", ""), "");
	assert_null(arena_printf(&a, "%100d", 1));
	assert_true(a.over);
	arena_fini(&a);
}

static void an_arena_can_be_used_again(void **state)
{
	(void)state;
	struct arena a;
	arena_init(&a, 4096);
	for (int round = 0; round < 3; round++) {
		assert_non_null(arena_new(&a, 4000, 1));
		arena_fini(&a);
		assert_int_equal(a.used, 0);
		assert_int_equal(a.budget, 4096);
	}
	arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_are_aligned_zeroed_and_apart),
		cmocka_unit_test(an_empty_request_is_no_failure),
		cmocka_unit_test(what_is_adopted_is_charged_and_dies_with_the_rest),
		cmocka_unit_test(the_budget_is_a_limit),
		cmocka_unit_test(a_product_that_overflows_is_refused),
		cmocka_unit_test(a_machine_without_memory_is_no_limit),
		cmocka_unit_test(copies_are_terminated),
		cmocka_unit_test(printing),
		cmocka_unit_test(an_arena_can_be_used_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
