/* test_dtype.c - the element types and the size of a tensor, against numbers worked out by hand. */
#include "model/dtype.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

/* Bytes of 2 rows of 256 elements. */
static const struct { tn_dtype dtype; const char *name; uint64_t bytes; } sizes[] = {
	{ TN_BOOL, "bool", 512 }, { TN_BOOL_U8, "bool_u8", 512 }, { TN_BOOL_U32, "bool_u32", 2048 },
	{ TN_U8, "u8", 512 }, { TN_U16, "u16", 1024 }, { TN_U32, "u32", 2048 }, { TN_U64, "u64", 4096 },
	{ TN_I8, "i8", 512 }, { TN_I16, "i16", 1024 }, { TN_I32, "i32", 2048 }, { TN_I64, "i64", 4096 },
	{ TN_F16, "f16", 1024 }, { TN_BF16, "bf16", 1024 }, { TN_F32, "f32", 2048 }, { TN_FLEX32, "flex32", 2048 },
	{ TN_F64, "f64", 4096 }, { TN_C64, "c64", 4096 },
	{ TN_F8_E4M3, "f8_e4m3", 512 }, { TN_F8_E5M2, "f8_e5m2", 512 }, { TN_F8_E8M0, "f8_e8m0", 512 },
	{ TN_F8_E4M3FNUZ, "f8_e4m3fnuz", 512 }, { TN_F8_E5M2FNUZ, "f8_e5m2fnuz", 512 },
	{ TN_F6_E2M3, "f6_e2m3", 384 }, { TN_F6_E3M2, "f6_e3m2", 384 }, { TN_F4, "f4", 256 },
	{ TN_APR_Q4, "apr_q4", 288 }, { TN_APR_Q8, "apr_q8", 516 },
	{ TN_Q4_0, "q4_0", 288 }, { TN_Q4_1, "q4_1", 320 }, { TN_Q5_0, "q5_0", 352 }, { TN_Q5_1, "q5_1", 384 },
	{ TN_Q8_0, "q8_0", 544 }, { TN_Q8_1, "q8_1", 576 },
	{ TN_Q2_K, "q2_k", 168 }, { TN_Q3_K, "q3_k", 220 }, { TN_Q4_K, "q4_k", 288 }, { TN_Q5_K, "q5_k", 352 },
	{ TN_Q6_K, "q6_k", 420 }, { TN_Q8_K, "q8_k", 584 },
	{ TN_IQ2_XXS, "iq2_xxs", 132 }, { TN_IQ2_XS, "iq2_xs", 148 }, { TN_IQ3_XXS, "iq3_xxs", 196 },
	{ TN_IQ1_S, "iq1_s", 100 }, { TN_IQ4_NL, "iq4_nl", 288 }, { TN_IQ3_S, "iq3_s", 220 }, { TN_IQ2_S, "iq2_s", 164 },
	{ TN_IQ4_XS, "iq4_xs", 272 }, { TN_IQ1_M, "iq1_m", 112 }, { TN_TQ1_0, "tq1_0", 108 }, { TN_TQ2_0, "tq2_0", 132 },
	{ TN_MXFP4, "mxfp4", 272 }, { TN_NVFP4, "nvfp4", 288 }, { TN_Q1_0, "q1_0", 72 }, { TN_Q2_0, "q2_0", 144 },
};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void every_type_has_its_size(void **state)
{
	(void)state;
	const uint64_t shape[] = { 2, 256 };
	assert_int_equal(SIZES + 2, TN_DTYPES); /* all but opaque and qfloat */
	for (size_t i = 0; i < SIZES; i++) {
		uint64_t bytes = 99;
		assert_int_equal(tn_dtype_bytes(sizes[i].dtype, 2, shape, &bytes, NULL), TN_OK);
		assert_int_equal(bytes, sizes[i].bytes);
		assert_int_equal(dtype_bytes(sizes[i].dtype, BLOCK_FLAT, 2, shape, &bytes, NULL), TN_OK);
		assert_int_equal(bytes, sizes[i].bytes);
	}
}

static void names_go_both_ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < SIZES; i++)
		assert_string_equal(tn_dtype_name(sizes[i].dtype), sizes[i].name);
	assert_string_equal(tn_dtype_name(TN_QFLOAT), "qfloat");
	assert_string_equal(tn_dtype_name(TN_OPAQUE), "opaque");
	assert_string_equal(tn_dtype_name(TN_DTYPES), "opaque");
	assert_string_equal(tn_dtype_name((tn_dtype)-1), "opaque");
	for (int d = 0; d < TN_DTYPES; d++) {
		tn_dtype back = TN_DTYPES;
		assert_true(tn_dtype_named(tn_dtype_name((tn_dtype)d), &back));
		assert_int_equal(back, d);
	}
}

static void other_names_are_none(void **state)
{
	(void)state;
	static const char *const names[] = { "", "F32", "f3", "f32 ", "float", "q4_K" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		tn_dtype d = TN_C64;
		assert_false(tn_dtype_named(names[i], &d));
		assert_int_equal(d, TN_C64);
	}
}

#define P(n) (UINT64_C(1) << (n))

static const struct {
	tn_dtype        dtype;
	enum block_rule rule;
	uint32_t        rank;
	uint64_t        shape[4];
	tn_code         code;
	uint64_t        bytes;
} shapes[] = {
	/* rank 0 is one element */
	{ TN_F32, BLOCK_ROWS, 0, { 0 }, TN_OK, 4 },
	{ TN_U8, BLOCK_FLAT, 0, { 0 }, TN_OK, 1 },
	{ TN_F4, BLOCK_ROWS, 0, { 0 }, TN_E_CORRUPT, 0 },
	{ TN_Q4_0, BLOCK_ROWS, 0, { 0 }, TN_E_CORRUPT, 0 },
	{ TN_APR_Q4, BLOCK_FLAT, 0, { 0 }, TN_OK, 18 },
	{ TN_APR_Q8, BLOCK_FLAT, 0, { 0 }, TN_OK, 5 },
	/* none at all, whatever the other dimensions are and wherever they stand */
	{ TN_F64, BLOCK_ROWS, 3, { 0, UINT64_MAX, UINT64_MAX }, TN_OK, 0 },
	{ TN_F64, BLOCK_ROWS, 3, { UINT64_MAX, 0, UINT64_MAX }, TN_OK, 0 },
	{ TN_F64, BLOCK_ROWS, 3, { UINT64_MAX, UINT64_MAX, 0 }, TN_OK, 0 },
	{ TN_Q4_K, BLOCK_ROWS, 2, { 0, 255 }, TN_OK, 0 },
	{ TN_Q4_K, BLOCK_ROWS, 2, { 255, 0 }, TN_OK, 0 },
	{ TN_F6_E2M3, BLOCK_ROWS, 1, { 0 }, TN_OK, 0 },
	{ TN_APR_Q8, BLOCK_FLAT, 2, { 4, 0 }, TN_OK, 0 },
	/* products that wrap around to something small */
	{ TN_U8, BLOCK_ROWS, 2, { P(32), P(32) }, TN_E_LIMIT, 0 },
	{ TN_U8, BLOCK_ROWS, 2, { P(62), 4 }, TN_E_LIMIT, 0 },
	{ TN_U8, BLOCK_ROWS, 3, { P(22), P(22), P(20) }, TN_E_LIMIT, 0 },
	{ TN_U8, BLOCK_ROWS, 3, { P(22), P(22), P(22) }, TN_E_LIMIT, 0 },
	{ TN_U8, BLOCK_ROWS, 4, { P(61), 2, 2, 2 }, TN_E_LIMIT, 0 },
	{ TN_U16, BLOCK_ROWS, 1, { P(63) }, TN_E_LIMIT, 0 },
	{ TN_F32, BLOCK_ROWS, 2, { P(62), 1 }, TN_E_LIMIT, 0 },
	{ TN_F64, BLOCK_ROWS, 1, { P(61) }, TN_E_LIMIT, 0 },
	{ TN_Q8_0, BLOCK_FLAT, 1, { UINT64_MAX }, TN_E_LIMIT, 0 },
	{ TN_APR_Q8, BLOCK_FLAT, 1, { UINT64_MAX - 3 }, TN_E_LIMIT, 0 },
	/* the largest that fit */
	{ TN_U8, BLOCK_ROWS, 1, { UINT64_MAX }, TN_OK, UINT64_MAX },
	{ TN_U8, BLOCK_ROWS, 2, { P(62), 2 }, TN_OK, P(63) },
	{ TN_F64, BLOCK_ROWS, 1, { P(61) - 1 }, TN_OK, UINT64_MAX - 7 },
	{ TN_F4, BLOCK_ROWS, 1, { UINT64_MAX - 1 }, TN_OK, P(63) - 1 },
	{ TN_APR_Q8, BLOCK_FLAT, 1, { UINT64_MAX - 4 }, TN_OK, UINT64_MAX },
	{ TN_Q4_0, BLOCK_FLAT, 1, { UINT64_MAX }, TN_OK, P(59) * 18 },
	/* elements that fill no whole bytes */
	{ TN_F4, BLOCK_ROWS, 2, { 3, 3 }, TN_E_CORRUPT, 0 },
	{ TN_F4, BLOCK_ROWS, 2, { 3, 2 }, TN_OK, 3 },
	{ TN_F4, BLOCK_ROWS, 1, { UINT64_MAX }, TN_E_CORRUPT, 0 },
	{ TN_F6_E2M3, BLOCK_ROWS, 1, { 3 }, TN_E_CORRUPT, 0 },
	{ TN_F6_E3M2, BLOCK_ROWS, 1, { 4 }, TN_OK, 3 },
	{ TN_F6_E3M2, BLOCK_ROWS, 1, { 12 }, TN_OK, 9 },
	/* blocks by rows, and in a line */
	{ TN_Q4_0, BLOCK_ROWS, 2, { 2, 16 }, TN_E_CORRUPT, 0 },
	{ TN_Q4_0, BLOCK_FLAT, 2, { 2, 16 }, TN_OK, 18 },
	{ TN_Q4_0, BLOCK_ROWS, 2, { 32, 2 }, TN_E_CORRUPT, 0 },
	{ TN_Q4_0, BLOCK_ROWS, 2, { 3, 64 }, TN_OK, 108 },
	{ TN_APR_Q4, BLOCK_FLAT, 1, { 33 }, TN_OK, 36 },
	{ TN_Q6_K, BLOCK_ROWS, 1, { 257 }, TN_E_CORRUPT, 0 },
	/* one scale, then bytes */
	{ TN_APR_Q8, BLOCK_ROWS, 2, { 2, 5 }, TN_OK, 14 },
	/* not told by the shape */
	{ TN_QFLOAT, BLOCK_ROWS, 1, { 4 }, TN_E_UNSUPPORTED, 0 },
	{ TN_OPAQUE, BLOCK_FLAT, 1, { 4 }, TN_E_UNSUPPORTED, 0 },
	{ TN_QFLOAT, BLOCK_ROWS, 1, { 0 }, TN_E_UNSUPPORTED, 0 },
};

static void sizes_follow_from_shapes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		tn_error err = { .code = TN_OK };
		uint64_t bytes = 77;
		tn_code code = dtype_bytes(shapes[i].dtype, shapes[i].rule, shapes[i].rank, shapes[i].shape, &bytes, &err);
		if (code != shapes[i].code || bytes != (code == TN_OK ? shapes[i].bytes : 77))
			fail_msg("case %zu: code %s, %llu bytes: %s", i, tn_code_name(code), (unsigned long long)bytes, err.msg);
		assert_int_equal(err.code, code);
		assert_int_equal(dtype_takes(shapes[i].dtype, shapes[i].rule, shapes[i].rank, shapes[i].shape, shapes[i].bytes),
		                 code == TN_OK);
		assert_false(dtype_takes(shapes[i].dtype, shapes[i].rule, shapes[i].rank, shapes[i].shape, shapes[i].bytes + 1));
	}
}

static void the_message_says_what_does_not_fit(void **state)
{
	(void)state;
	tn_error err = { .code = TN_E_IO };
	uint64_t out;
	assert_int_equal(tn_dtype_bytes(TN_F4, 1, (uint64_t[]){ 3 }, &out, &err), TN_E_CORRUPT);
	assert_string_equal(err.msg, "3 elements of 4 bits fill no whole bytes");
	assert_int_equal(tn_dtype_bytes(TN_Q4_K, 2, (uint64_t[]){ 2, 100 }, &out, &err), TN_E_CORRUPT);
	assert_string_equal(err.msg, "rows of 100 elements fill no whole blocks of 256");
	assert_int_equal(tn_dtype_bytes(TN_U8, 2, (uint64_t[]){ P(32), P(32) }, &out, &err), TN_E_LIMIT);
	assert_string_equal(err.msg, "shape overflows 64 bits");
	assert_int_equal(tn_dtype_bytes(TN_U8, 1, (uint64_t[]){ 3 }, &out, &err), TN_OK);
	assert_int_equal(err.code, TN_OK);
}

static void a_dimension_of_0_makes_a_shape_empty(void **state)
{
	(void)state;
	assert_false(shape_is_empty(0, NULL));
	assert_false(shape_is_empty(2, (uint64_t[]){ P(32), P(32) }));
	assert_true(shape_is_empty(3, (uint64_t[]){ P(32), P(32), 0 }));
	assert_true(shape_is_empty(1, (uint64_t[]){ 0 }));
}

static void elements_are_the_product(void **state)
{
	(void)state;
	uint64_t n = 5;
	assert_true(shape_elements(0, NULL, &n));
	assert_int_equal(n, 1);
	assert_true(shape_elements(3, (uint64_t[]){ 2, 3, 5 }, &n));
	assert_int_equal(n, 30);
	assert_false(shape_elements(2, (uint64_t[]){ P(32), P(32) }, &n));
	assert_int_equal(n, 30);
	assert_true(shape_elements(3, (uint64_t[]){ P(32), P(32), 0 }, &n));
	assert_int_equal(n, 0);
}

/* A swap unit divides the element, and types that no host can use as they are have none. */
static void swap_units(void **state)
{
	(void)state;
	static const struct { tn_dtype dtype; unsigned unit; } units[] = {
		{ TN_U8, 1 }, { TN_BOOL, 1 }, { TN_BOOL_U32, 4 }, { TN_F16, 2 }, { TN_BF16, 2 }, { TN_F32, 4 }, { TN_F64, 8 },
		{ TN_C64, 4 }, { TN_F4, 1 }, { TN_Q4_0, 0 }, { TN_QFLOAT, 0 }, { TN_OPAQUE, 0 }
	};
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		assert_int_equal(dtype_info(units[i].dtype)->swap, units[i].unit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_has_its_size),
		cmocka_unit_test(names_go_both_ways),
		cmocka_unit_test(other_names_are_none),
		cmocka_unit_test(sizes_follow_from_shapes),
		cmocka_unit_test(the_message_says_what_does_not_fit),
		cmocka_unit_test(elements_are_the_product),
		cmocka_unit_test(a_dimension_of_0_makes_a_shape_empty),
		cmocka_unit_test(swap_units),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
