/* test_tensor_read.c - any range of a tensor in big-endian order reads as that range of the tensor
 * turned as a whole. */
#include "io/tensor_read.h"

#include "base/view.h"
#include "model/swap.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { LEAD = 5, MOST = 2 * 292 };

static void ranges_of(tn_dtype dtype)
{
	uint8_t file[LEAD + MOST], whole[MOST], part[MOST];
	size_t n = 2 * (swap_unit(dtype) > 1 ? swap_unit(dtype) : 8);
	struct reader r = { .map = { file, LEAD + n }, .size = LEAD + n };
	struct tensor t = { .name = VIEW("t"), .dtype = dtype, .enc = ENC_BIG_ENDIAN, .nbytes = n,
		.offset = LEAD, .stored = n };
	tn_error err = { .code = TN_OK };
	for (size_t i = 0; i < LEAD + n; i++)
		file[i] = (uint8_t)(i * 11 + 3);
	memcpy(whole, file + LEAD, n);
	swap_units(dtype, whole, n);
	for (size_t from = 0; from <= n; from++) {
		for (size_t to = from; to <= n; to++) {
			if (tensor_read(&r, &t, from, part, to - from, &err) != TN_OK)
				fail_msg("%s: %s", dtype_info(dtype)->name, err.msg);
			if (memcmp(part, whole + from, to - from) != 0)
				fail_msg("%s: %zu to %zu", dtype_info(dtype)->name, from, to);
		}
	}
}

static void every_range(void **state)
{
	(void)state;
	static const tn_dtype dtypes[] = { TN_F16, TN_F32, TN_F64, TN_Q4_0, TN_Q8_K, TN_Q6_K,
		TN_IQ1_M, TN_MXFP4 };
	for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
		ranges_of(dtypes[i]);
}

static void past_the_end_is_an_error(void **state)
{
	(void)state;
	uint8_t file[8] = { 0 }, part[8];
	struct reader r = { .map = { file, 6 }, .size = 6 };
	struct tensor t = { .dtype = TN_F32, .enc = ENC_BIG_ENDIAN, .nbytes = 8, .stored = 8 };
	static const struct { size_t from, n; } ranges[] = { { 0, 8 }, { 4, 4 }, { 5, 2 }, { 4, 1 },
		{ 2, 5 } };
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
		tn_error err = { .code = TN_OK };
		assert_int_equal(tensor_read(&r, &t, ranges[i].from, part, ranges[i].n, &err),
		                 TN_E_TRUNCATED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_range),
		cmocka_unit_test(past_the_end_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
