/* test_num.c - arithmetic that says no instead of wrapping around. */
#include "base/num.h"
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#define TOP UINT64_MAX

static void sums(void **state)
{
	(void)state;
	static const struct { uint64_t a, b; bool ok; uint64_t sum; } cases[] = {
		{ 0, 0, true, 0 }, { 1, 2, true, 3 }, { TOP, 0, true, TOP }, { 0, TOP, true, TOP },
		{ TOP - 1, 1, true, TOP },
		{ TOP, 1, false, 0 }, { 1, TOP, false, 0 }, { TOP, TOP, false, 0 },
		{ UINT64_C(1) << 63, UINT64_C(1) << 63, false, 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t out = 77;
		assert_int_equal(add_u64(cases[i].a, cases[i].b, &out), cases[i].ok);
		assert_true(out == (cases[i].ok ? cases[i].sum : 77)); /* untouched on failure */
	}
}

static void products(void **state)
{
	(void)state;
	static const struct { uint64_t a, b; bool ok; uint64_t product; } cases[] = {
		{ 0, 0, true, 0 }, { TOP, 0, true, 0 }, { 0, TOP, true, 0 }, { TOP, 1, true, TOP },
		{ 1, TOP, true, TOP },
		{ 3, 5, true, 15 }, { UINT32_MAX, UINT32_MAX, true, 18446744065119617025u },
		{ TOP / 3, 3, true, TOP }, { TOP / 3 + 1, 3, false, 0 },
		{ UINT64_C(1) << 32, UINT64_C(1) << 32, false, 0 }, { TOP, 2, false, 0 }, { 2, TOP, false, 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t out = 77;
		assert_int_equal(mul_u64(cases[i].a, cases[i].b, &out), cases[i].ok);
		assert_true(out == (cases[i].ok ? cases[i].product : 77));
	}
}

static void spans(void **state)
{
	(void)state;
	static const struct { uint64_t off, len, total; bool fits; } cases[] = {
		{ 0, 0, 0, true }, { 0, 10, 10, true }, { 3, 7, 10, true }, { 10, 0, 10, true },
		{ 0, 11, 10, false }, { 4, 7, 10, false }, { 11, 0, 10, false }, { 10, 1, 10, false },
		{ TOP, 1, 10, false }, { 1, TOP, 10, false }, { TOP, TOP, TOP, false }, { 1, TOP, TOP, false },
		{ 0, TOP, TOP, true }, { TOP, 0, TOP, true },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(span_fits(cases[i].off, cases[i].len, cases[i].total), cases[i].fits);
}

static void alignment(void **state)
{
	(void)state;
	static const struct { uint64_t off, align; bool ok; uint64_t next; } cases[] = {
		{ 0, 8, true, 0 }, { 1, 8, true, 8 }, { 8, 8, true, 8 }, { 9, 8, true, 16 },
		{ 255, 256, true, 256 },
		{ 5, 1, true, 5 }, { TOP - 7, 8, true, TOP - 7 }, { TOP - 6, 8, false, 0 },
		{ TOP, 2, false, 0 },
		{ TOP, 1, true, TOP }, { 1, UINT64_C(1) << 63, true, UINT64_C(1) << 63 },
		{ (UINT64_C(1) << 63) + 1, UINT64_C(1) << 63, false, 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t out = 77;
		assert_int_equal(align_up(cases[i].off, cases[i].align, &out), cases[i].ok);
		assert_true(out == (cases[i].ok ? cases[i].next : 77));
	}
	assert_int_equal(pad_to(13, 16), 3);
	assert_int_equal(pad_to(16, 16), 0);
}

static void powers_of_two(void **state)
{
	(void)state;
	for (unsigned shift = 0; shift < 64; shift++)
		assert_true(is_power_of_two(UINT64_C(1) << shift));
	assert_false(is_power_of_two(0));
	assert_false(is_power_of_two(3));
	assert_false(is_power_of_two(TOP));
	assert_false(is_power_of_two((UINT64_C(1) << 63) + 1));
}

static void sizes_and_extremes(void **state)
{
	(void)state;
	size_t size = 0;
	assert_true(size_from_u64(SIZE_MAX, &size));
	assert_true(size == SIZE_MAX);
#if SIZE_MAX < UINT64_MAX
	assert_false(size_from_u64((uint64_t)SIZE_MAX + 1, &size));
#endif
	assert_int_equal(min_u64(3, 4), 3);
	assert_int_equal(min_u64(4, 3), 3);
	assert_int_equal(max_u64(3, 4), 4);
	assert_true(max_u64(TOP, 0) == TOP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums),
		cmocka_unit_test(products),
		cmocka_unit_test(spans),
		cmocka_unit_test(alignment),
		cmocka_unit_test(powers_of_two),
		cmocka_unit_test(sizes_and_extremes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
