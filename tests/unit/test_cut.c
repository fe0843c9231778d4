/* test_cut.c - where a row of tensors is cut. */
#include "api/cut.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { N = 8 };

/* Cuts tensors of these sizes and compares the starts, which UINT64_MAX ends. */
static void expect(const uint64_t *sizes, uint64_t n, struct cut_rule rule, const uint64_t *starts)
{
	struct tensor t[N] = { { .nbytes = 0 } };
	uint64_t got[N + 1], shards;
	for (uint64_t i = 0; i < n; i++)
		t[i].nbytes = sizes[i];
	shards = cut_shards(t, n, rule, got);
	for (uint64_t k = 0; k < shards; k++)
		assert_int_equal(got[k], starts[k]);
	assert_true(starts[shards] == UINT64_MAX);
}
#define SIZES(...) (const uint64_t[]){ __VA_ARGS__ }, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8
#define STARTS(...) (const uint64_t[]){ __VA_ARGS__, UINT64_MAX }

static void greedy(void **state)
{
	(void)state;
	expect(SIZES(4, 4, 4, 4), (struct cut_rule){ .max_bytes = 8 }, STARTS(0, 2));
	expect(SIZES(4, 4, 4, 4), (struct cut_rule){ .max_bytes = 7 }, STARTS(0, 1, 2, 3));
	expect(SIZES(4, 4, 4, 4), (struct cut_rule){ .max_bytes = 9 }, STARTS(0, 2));
	expect(SIZES(4, 4, 4, 4), (struct cut_rule){ .max_tensors = 3 }, STARTS(0, 3));
	expect(SIZES(4, 4, 4, 4), (struct cut_rule){ .max_bytes = 12, .max_tensors = 2 }, STARTS(0, 2));
	expect(SIZES(4, 4), (struct cut_rule){ .max_bytes = 0 }, STARTS(0));
	expect(SIZES(0, 0, 8, 0), (struct cut_rule){ .max_bytes = 8 }, STARTS(0));
}

static void larger_than_the_limit_is_alone(void **state)
{
	(void)state;
	expect(SIZES(9, 1, 1), (struct cut_rule){ .max_bytes = 4 }, STARTS(0, 1));
	expect(SIZES(1, 9, 1), (struct cut_rule){ .max_bytes = 4 }, STARTS(0, 1, 2));
	expect(SIZES(1, 1, 9), (struct cut_rule){ .max_bytes = 4 }, STARTS(0, 2));
	/* an empty one does not join it: the sum is past the limit already */
	expect(SIZES(9, 0), (struct cut_rule){ .max_bytes = 4 }, STARTS(0, 1));
}

static void even(void **state)
{
	(void)state;
	/* greedy: 6 and 1; even: 4 and 3 */
	expect(SIZES(1, 1, 1, 1, 1, 1, 1), (struct cut_rule){ .max_bytes = 6 }, STARTS(0, 6));
	expect(SIZES(1, 1, 1, 1, 1, 1, 1), (struct cut_rule){ .max_bytes = 6, .even = true }, STARTS(0, 4));
	expect(SIZES(5, 1, 1, 1, 5), (struct cut_rule){ .max_bytes = 9, .even = true }, STARTS(0, 3));
	expect(SIZES(1, 1, 1, 1, 1), (struct cut_rule){ .max_tensors = 4, .even = true }, STARTS(0, 3));
	expect(SIZES(9, 1, 1, 1, 1), (struct cut_rule){ .max_bytes = 3, .even = true }, STARTS(0, 1, 3));
}

static void no_tensors_and_no_overflow(void **state)
{
	uint64_t starts[1];
	(void)state;
	assert_int_equal(cut_shards(NULL, 0, (struct cut_rule){ .even = true }, starts), 1);
	assert_int_equal(starts[0], 0);
	expect(SIZES(UINT64_MAX, UINT64_MAX, 1), (struct cut_rule){ .max_bytes = 0 }, STARTS(0, 1, 2));
	expect(SIZES(UINT64_MAX, 1), (struct cut_rule){ .max_bytes = UINT64_MAX, .even = true }, STARTS(0, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(greedy),
		cmocka_unit_test(larger_than_the_limit_is_alone),
		cmocka_unit_test(even),
		cmocka_unit_test(no_tensors_and_no_overflow),
	};
	return cmocka_run_group_tests_name("cut", tests, NULL, NULL);
}
