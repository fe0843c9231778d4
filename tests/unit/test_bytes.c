/* test_bytes.c - floats widened and narrowed by their bits. */
#include "base/bytes.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static void widened_floats_come_back(void **state)
{
	(void)state;
	/* a prime: every exponent, many payloads */
	for (uint64_t u = 0; u <= UINT32_MAX; u += 65521)
		assert_int_equal(f32_narrow(f32_widen((uint32_t)u)), u);
	static const uint32_t edges[] = {
		0, 1, 0x80000000, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7f800001,
		0xffbfffff, 0x7fc00000,
	};
	for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
		assert_int_equal(f32_narrow(f32_widen(edges[i])), edges[i]);
}

static void values_are_those_of_the_conversion(void **state)
{
	(void)state;
	assert_true(f64_of(f32_widen(f32_bits(0.1f))) == (double)0.1f);
	assert_true(f32_widen(0x7f800000) == UINT64_C(0x7ff0000000000000));
	assert_int_equal(f32_narrow(f64_bits(0.1)), f32_bits(0.1f));
	/* a payload that has no room stays a NaN */
	assert_int_equal(f32_narrow(UINT64_C(0x7ff0000000000001)), 0x7fc00000);
	assert_int_equal(f32_narrow(UINT64_C(0xfff8000000000001)), 0xffc00000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(widened_floats_come_back),
		cmocka_unit_test(values_are_those_of_the_conversion),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
