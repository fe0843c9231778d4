/* test_burnpack_scheme.c - lengths of quantised payloads, and the forms that a scheme takes. */
#include "unit/burnpack.h"

static const struct scheme q8s_native = { .value = VALUE_Q8S, .size = { 1, 1, 1, 1, 1 } };

static struct scheme with_block(struct scheme s, enum scheme_scale scale, unsigned rank, const uint8_t *size)
{
	s.block = scale;
	s.rank = (uint8_t)rank;
	copy_bytes(s.size, size, rank);
	return s;
}

static struct scheme of(enum scheme_value value, enum scheme_store store)
{
	struct scheme s = q8s_native;
	s.value = value;
	s.store = store;
	return s;
}

/* ---- Lengths ---- */

/* The numbers are upstream's own. */
static void lengths_of_upstream(void **state)
{
	(void)state;
	static const uint64_t s3x3[] = { 3, 3 }, s32x32[] = { 32, 32 }, s2x5x9[] = { 2, 5, 9 }, s4x8[] = { 4, 8 }, s8[] = { 8 },
		s512[] = { 512, 512 };
	struct scheme nvfp4ish = with_block(q8s_native, SCALE_UE4M3, 1, (const uint8_t[]){ 4 });
	nvfp4ish.tensor = SCALE_F32;
	const struct { struct scheme s; uint32_t rank; const uint64_t *shape; uint64_t bytes; } cases[] = {
		{ q8s_native, 2, s3x3, 13 },
		{ of(VALUE_Q4S, STORE_NATIVE), 2, s32x32, 1028 },
		{ of(VALUE_Q4S, STORE_PACKED_U32), 2, s3x3, 16 },
		{ of(VALUE_Q4S, STORE_PACKED_U32), 3, s2x5x9, 84 },
		{ of(VALUE_Q4S, STORE_PACKED_U32), 2, s4x8, 20 },
		{ nvfp4ish, 1, s8, 8 + 2 + 4 },
		{ of(VALUE_Q8F, STORE_PACKED_U32), 2, s512, 262148 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t bytes = 0;
		assert_true(scheme_bytes(&cases[i].s, cases[i].rank, cases[i].shape, &bytes));
		assert_int_equal(bytes, cases[i].bytes);
	}
}

static uint64_t values(struct scheme s, uint64_t packed_dim, uint32_t rank, const uint64_t *shape)
{
	uint64_t bytes = UINT64_MAX;
	s.packed_dim = packed_dim;
	assert_true(scheme_value_bytes(&s, rank, shape, &bytes));
	return bytes;
}

static void packs_line_by_line(void **state)
{
	(void)state;
	static const uint64_t s3x9[] = { 3, 9 }, s0x9[] = { 0, 9 };
	struct scheme q4 = of(VALUE_Q4F, STORE_PACKED_U32), q2 = of(VALUE_Q2S, STORE_PACKED_U32);
	struct scheme e2m1 = of(VALUE_E2M1, STORE_PACKED_NATIVE), pn8 = of(VALUE_Q8F, STORE_PACKED_NATIVE);
	assert_int_equal(values(q4, 0, 2, s3x9), 3 * 2 * 4);
	assert_int_equal(values(q4, 1, 2, s3x9), 1 * 9 * 4);
	assert_int_equal(values(q2, 0, 2, s3x9), 3 * 1 * 4);
	assert_int_equal(values(e2m1, 0, 2, s3x9), 3 * 5);
	assert_int_equal(values(pn8, 7, 2, s3x9), 27); /* one value in each element: nothing is packed */
	assert_int_equal(values(q4, 0, 2, s0x9), 0);
	assert_int_equal(values(q4, 0, 0, NULL), 4);
	assert_int_equal(values(of(VALUE_Q2F, STORE_NATIVE), 0, 2, s3x9), 27);
}

static void packed_dimension_must_exist(void **state)
{
	(void)state;
	static const uint64_t s3x9[] = { 3, 9 };
	uint64_t bytes;
	struct scheme s = of(VALUE_Q4F, STORE_PACKED_U32);
	s.packed_dim = 2;
	assert_false(scheme_packs(&s, 2));
	assert_false(scheme_value_bytes(&s, 2, s3x9, &bytes));
	assert_true(scheme_packs(&s, 0));
	s.store = STORE_NATIVE;
	assert_true(scheme_packs(&s, 2));
}

static uint64_t scales(struct scheme s, uint32_t rank, const uint64_t *shape)
{
	uint64_t n = UINT64_MAX;
	assert_true(scheme_scale_count(&s, rank, shape, &n));
	return n;
}

static void counts_scales(void **state)
{
	(void)state;
	static const uint64_t s4x10[] = { 4, 10 }, s4x0[] = { 4, 0 }, s6[] = { 6 };
	static const uint8_t b4[] = { 4 }, b2x5[] = { 2, 5 };
	assert_int_equal(scales(q8s_native, 2, s4x10), 1);
	assert_int_equal(scales(with_block(q8s_native, SCALE_F32, 1, b4), 2, s4x10), 4 * 3);
	assert_int_equal(scales(with_block(q8s_native, SCALE_F32, 2, b2x5), 2, s4x10), 2 * 2);
	assert_int_equal(scales(with_block(q8s_native, SCALE_F32, 0, NULL), 2, s4x10), 40);
	assert_int_equal(scales(with_block(q8s_native, SCALE_F32, 1, b4), 2, s4x0), 0);
	/* more extents than dimensions: the first count */
	assert_int_equal(scales(with_block(q8s_native, SCALE_F32, 2, b2x5), 1, s6), 3);
	struct scheme runs = with_block(q8s_native, SCALE_F32, 1, b4);
	runs.layout = LAYOUT_RUNS;
	assert_int_equal(scales(runs, 2, s4x10), 10);
}

static void overflow_is_noticed(void **state)
{
	(void)state;
	static const uint64_t wide[] = { UINT64_C(1) << 40, UINT64_C(1) << 40 }, just[] = { UINT64_MAX };
	uint64_t bytes;
	assert_false(scheme_bytes(&q8s_native, 2, wide, &bytes));
	assert_false(scheme_bytes(&q8s_native, 1, just, &bytes)); /* the scale is too much */
}

static void fits_empty_with_or_without_scale(void **state)
{
	(void)state;
	static const uint64_t empty[] = { 0, 4 }, four[] = { 4 };
	assert_true(scheme_fits(&q8s_native, 2, empty, 0));
	assert_true(scheme_fits(&q8s_native, 2, empty, 4));
	assert_false(scheme_fits(&q8s_native, 2, empty, 3));
	assert_true(scheme_fits(&q8s_native, 1, four, 8));
	assert_false(scheme_fits(&q8s_native, 1, four, 7));
}

static void knows_when_runs_are_rectangles(void **state)
{
	(void)state;
	static const uint64_t s4x8[] = { 4, 8 };
	static const struct { uint8_t rank, size[2]; bool agree; } cases[] = {
		{ 1, { 4 }, true }, { 1, { 8 }, true }, { 1, { 3 }, false }, { 2, { 2, 8 }, true }, { 2, { 3, 8 }, false },
		{ 2, { 2, 4 }, false }, { 2, { 4, 8 }, true }, { 0, { 0 }, true },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct scheme s = with_block(q8s_native, SCALE_F32, cases[i].rank, cases[i].size);
		assert_int_equal(scheme_runs_agree(&s, 2, s4x8), cases[i].agree);
	}
}

static void strips_leading_ones(void **state)
{
	(void)state;
	struct scheme s = with_block(q8s_native, SCALE_F32, 3, (const uint8_t[]){ 1, 1, 32 });
	scheme_strip(&s);
	assert_int_equal(s.rank, 1);
	assert_int_equal(s.size[0], 32);
	assert_int_equal(s.size[1], 1);
	s = with_block(q8s_native, SCALE_F32, 2, (const uint8_t[]){ 1, 1 });
	scheme_strip(&s);
	assert_int_equal(s.rank, 0);
}

/* ---- Forms ---- */

static void has_words(void **state)
{
	(void)state;
	struct scheme block = with_block(of(VALUE_Q4F, STORE_PACKED_U32), SCALE_F16, 2, (const uint8_t[]){ 2, 32 });
	struct scheme two = with_block(of(VALUE_E2M1, STORE_PACKED_NATIVE), SCALE_UE4M3, 1, (const uint8_t[]){ 16 });
	struct scheme lookup = q8s_native, old = q8s_native;
	two.tensor = SCALE_F32;
	lookup.mode = MODE_LOOKUP;
	old.layout = LAYOUT_RUNS;
	const struct { struct scheme s; const char *text; } cases[] = {
		{ q8s_native, "QFloat(Q8S, Native)" },
		{ block, "QFloat(Q4F, PackedU32(0), block [2,32] F16)" },
		{ two, "QFloat(E2M1, PackedNative(0), block [16] UE4M3, tensor F32)" },
		{ lookup, "QFloat(Q8S, Native, Lookup)" },
		{ old, "QFloat(Q8S, Native, runs)" },
		{ with_block(q8s_native, SCALE_BF16, 0, NULL), "QFloat(Q8S, Native, block [] BF16)" },
	};
	struct arena mem;
	arena_init(&mem, 0);
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_string_equal((const char *)scheme_text(&cases[i].s, &mem).ptr, cases[i].text);
	arena_fini(&mem);
}

static void comes_back_from_metadata(void **state)
{
	(void)state;
	struct scheme in = with_block(of(VALUE_E5M2, STORE_PACKED_U32), SCALE_UE8M0, 3, (const uint8_t[]){ 2, 1, 255 }), out;
	in.tensor = SCALE_BF16;
	in.mode = MODE_LOOKUP;
	in.packed_dim = 300;
	in.layout = LAYOUT_UNCERTAIN;
	struct arena mem;
	arena_init(&mem, 0);
	struct tn_meta *extras = meta_new(&mem, TN_META_MAP);
	assert_true(scheme_to_meta(&in, &mem, extras));
	assert_null(scheme_from_meta(meta_find(extras, VIEW("qfloat")), &out));
	assert_int_equal(out.value, in.value);
	assert_int_equal(out.store, in.store);
	assert_int_equal(out.mode, in.mode);
	assert_int_equal(out.tensor, in.tensor);
	assert_int_equal(out.block, in.block);
	assert_int_equal(out.packed_dim, in.packed_dim);
	assert_int_equal(out.layout, in.layout);
	assert_int_equal(out.rank, 3);
	assert_memory_equal(out.size, in.size, SCHEME_DIMS);
	arena_fini(&mem);
}

static void refuses_metadata_that_is_no_scheme(void **state)
{
	(void)state;
	static const struct { const char *key, *value, *words; } cases[] = {
		{ "value", "Q9", "value" }, { "store", "U32", "store" }, { "mode", "Affine", "mode" }, { "tensor", "F64", "tensor" },
		{ "layout", "odd", "layout" }, { "packed_dim", "0", "packed_dim" }, { "block", "F32", "block" },
	};
	struct scheme out;
	struct arena mem;
	arena_init(&mem, 0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct tn_meta *extras = meta_new(&mem, TN_META_MAP);
		assert_true(scheme_to_meta(&q8s_native, &mem, extras));
		struct tn_meta *scheme = meta_find(extras, VIEW("qfloat")), *bad = meta_new(&mem, TN_META_STRING);
		bad->as.s = tn_text(cases[i].value);
		meta_set(scheme, tn_text(cases[i].key), bad);
		const char *why = scheme_from_meta(scheme, &out);
		assert_non_null(why);
		assert_non_null(strstr(why, cases[i].words));
	}
	arena_fini(&mem);
}

static void is_written_as_upstream_writes_it(void **state)
{
	(void)state;
	struct scheme s = with_block(of(VALUE_Q4F, STORE_PACKED_U32), SCALE_F16, 2, (const uint8_t[]){ 2, 32 });
	static const char bytes[] =
		"\xa1\x66QFloat\xa5\x65value\x63Q4F\x65store\xa1\x69PackedU32\x00\x64mode\x69Symmetric\x66tensor\xf6"
		"\x65" "block\xa2\x64size\xa2\x67storage\x85\x02\x18\x20\x01\x01\x01\x63len\x02\x65" "dtype\x63" "F16";
	struct buf out;
	buf_init(&out, 0);
	scheme_put(&s, &out);
	assert_int_equal(out.len, sizeof bytes - 1);
	assert_memory_equal(out.ptr, bytes, out.len);
	buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths_of_upstream),
		cmocka_unit_test(packs_line_by_line),
		cmocka_unit_test(packed_dimension_must_exist),
		cmocka_unit_test(counts_scales),
		cmocka_unit_test(overflow_is_noticed),
		cmocka_unit_test(fits_empty_with_or_without_scale),
		cmocka_unit_test(knows_when_runs_are_rectangles),
		cmocka_unit_test(strips_leading_ones),
		cmocka_unit_test(has_words),
		cmocka_unit_test(comes_back_from_metadata),
		cmocka_unit_test(refuses_metadata_that_is_no_scheme),
		cmocka_unit_test(is_written_as_upstream_writes_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
