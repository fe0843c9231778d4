/* test_swap.c - where the numbers of each type lie, by types that are told in full, and that
 * turning twice is nothing. */
#include "model/swap.h"

#include "base/view.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static void plain_types_turn_by_element(void **state)
{
	(void)state;
	uint8_t bytes[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	swap_units(TN_U8, bytes, 8);
	assert_memory_equal(bytes, "\1\2\3\4\5\6\7\10", 8);
	swap_units(TN_BF16, bytes, 8);
	assert_memory_equal(bytes, "\2\1\4\3\6\5\10\7", 8);
	swap_units(TN_F32, bytes, 8);
	assert_memory_equal(bytes, "\3\4\1\2\7\10\5\6", 8);
	swap_units(TN_I64, bytes, 8);
	assert_memory_equal(bytes, "\6\5\10\7\2\1\4\3", 8);
	swap_units(TN_C64, bytes, 8); /* two f32 */
	assert_memory_equal(bytes, "\7\10\5\6\3\4\1\2", 8);
}

/* For each type the bytes that move, as pairs (offset, width). */
struct layout {
	tn_dtype dtype;
	uint16_t moves[40][2]; /* ended by a width of 0 */
};
static const struct layout layouts[] = {
	{ TN_Q4_0, { { 0, 2 } } },
	{ TN_Q4_1, { { 0, 2 }, { 2, 2 } } },
	{ TN_Q5_0, { { 0, 2 } } },
	{ TN_Q5_1, { { 0, 2 }, { 2, 2 } } },
	{ TN_Q8_0, { { 0, 2 } } },
	{ TN_Q8_1, { { 0, 2 }, { 2, 2 } } },
	{ TN_Q2_K, { { 80, 2 }, { 82, 2 } } },
	{ TN_Q3_K, { { 108, 2 } } },
	{ TN_Q4_K, { { 0, 2 }, { 2, 2 } } },
	{ TN_Q5_K, { { 0, 2 }, { 2, 2 } } },
	{ TN_Q6_K, { { 208, 2 } } },
	{ TN_Q8_K, { { 0, 4 }, { 260, 2 }, { 262, 2 }, { 264, 2 }, { 266, 2 }, { 268, 2 }, { 270,
		2 }, { 272, 2 }, { 274, 2 },
	             { 276, 2 }, { 278, 2 }, { 280, 2 }, { 282, 2 }, { 284, 2 }, { 286, 2 },
	             { 288, 2 }, { 290, 2 } } },
	{ TN_IQ3_XXS, { { 0, 2 } } },
	{ TN_IQ1_S, { { 0, 2 }, { 34, 2 }, { 36, 2 }, { 38, 2 }, { 40, 2 }, { 42, 2 }, { 44, 2 },
		{ 46, 2 }, { 48, 2 } } },
	{ TN_IQ1_M, { { 48, 2 }, { 50, 2 }, { 52, 2 }, { 54, 2 } } },
	{ TN_IQ4_NL, { { 0, 2 } } },
	{ TN_IQ4_XS, { { 0, 2 }, { 2, 2 } } },
	{ TN_TQ1_0, { { 52, 2 } } },
	{ TN_TQ2_0, { { 64, 2 } } },
	{ TN_MXFP4, { { 0, 0 } } },
	{ TN_NVFP4, { { 0, 0 } } },
	{ TN_Q1_0, { { 0, 2 } } },
	{ TN_Q2_0, { { 0, 2 } } },
};

static void blocks_turn_their_numbers_alone(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++) {
		uint8_t got[2 * SWAP_UNIT_MAX], want[2 * SWAP_UNIT_MAX];
		size_t size = dtype_info(layouts[k].dtype)->block_bytes;
		for (size_t i = 0; i < 2 * size; i++)
			got[i] = want[i] = (uint8_t)(i * 7 + 1);
		for (size_t block = 0; block < 2; block++) {
			for (size_t m = 0; layouts[k].moves[m][1] != 0; m++) {
				uint8_t *at = want + block * size + layouts[k].moves[m][0];
				for (size_t low = 0, high = layouts[k].moves[m][1] - 1u; low < high;
				     low++, high--) {
					uint8_t byte = at[low];
					at[low] = at[high];
					at[high] = byte;
				}
			}
		}
		swap_units(layouts[k].dtype, got, 2 * size);
		if (memcmp(got, want, 2 * size) != 0)
			fail_msg("%s", dtype_info(layouts[k].dtype)->name);
	}
}

static void twice_is_nothing(void **state)
{
	(void)state;
	for (int d = 0; d < TN_DTYPES; d++) {
		uint8_t bytes[SWAP_UNIT_MAX], before[SWAP_UNIT_MAX];
		size_t unit = swap_unit((tn_dtype)d);
		assert_in_range(unit, dtype_info((tn_dtype)d)->class == DTYPE_PLAIN, SWAP_UNIT_MAX);
		size_t n = unit > 1 ? unit : 16;
		for (size_t i = 0; i < n; i++)
			before[i] = bytes[i] = (uint8_t)(i + 1);
		swap_units((tn_dtype)d, bytes, n);
		assert_int_equal(memcmp(bytes, before, n) != 0, unit > 1);
		swap_units((tn_dtype)d, bytes, n);
		assert_memory_equal(bytes, before, n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_types_turn_by_element),
		cmocka_unit_test(blocks_turn_their_numbers_alone),
		cmocka_unit_test(twice_is_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
