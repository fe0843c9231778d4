/* test_cbor.c - CBOR items read one by one, whole values skipped, and the bytes that are written. */
#include "base/bytes.h"
#include "codec/cbor.h"
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#define BYTES(literal) { (const uint8_t *)(literal), sizeof(literal) - 1 }

/* ---- Items ---- */

static void heads(void **state)
{
	(void)state;
	static const struct { tn_view in; enum cbor_kind kind; uint64_t value; } cases[] = {
		{ BYTES("\x00"), CBOR_UINT, 0 },
		{ BYTES("\x17"), CBOR_UINT, 23 },
		{ BYTES("\x18\x18"), CBOR_UINT, 24 },
		{ BYTES("\x18\x05"), CBOR_UINT, 5 }, /* longer than need be is allowed */
		{ BYTES("\x19\x01\x02"), CBOR_UINT, 0x102 },
		{ BYTES("\x1a\x01\x02\x03\x04"), CBOR_UINT, 0x1020304 },
		{ BYTES("\x1b\xff\xff\xff\xff\xff\xff\xff\xff"), CBOR_UINT, UINT64_MAX },
		{ BYTES("\x20"), CBOR_NEGINT, 0 },
		{ BYTES("\x38\x63"), CBOR_NEGINT, 99 },
		{ BYTES("\x39\x03\xe7"), CBOR_NEGINT, 999 },
		{ BYTES("\x3a\x01\x02\x03\x04"), CBOR_NEGINT, 0x1020304 },
		{ BYTES("\x3b\xff\xff\xff\xff\xff\xff\xff\xff"), CBOR_NEGINT, UINT64_MAX },
		{ BYTES("\x5f"), CBOR_BYTES_START, 0 },
		{ BYTES("\x7f"), CBOR_TEXT_START, 0 },
		{ BYTES("\x80"), CBOR_ARRAY, 0 },
		{ BYTES("\x97"), CBOR_ARRAY, 23 },
		{ BYTES("\x98\x64"), CBOR_ARRAY, 100 },
		{ BYTES("\x9b\xff\xff\xff\xff\xff\xff\xff\xff"), CBOR_ARRAY, UINT64_MAX },
		{ BYTES("\x9f"), CBOR_ARRAY_START, 0 },
		{ BYTES("\xa0"), CBOR_MAP, 0 },
		{ BYTES("\xb9\x01\x00"), CBOR_MAP, 256 },
		{ BYTES("\xba\x00\x01\x00\x00"), CBOR_MAP, 65536 },
		{ BYTES("\xbf"), CBOR_MAP_START, 0 },
		{ BYTES("\xc0"), CBOR_TAG, 0 },
		{ BYTES("\xc6"), CBOR_TAG, 6 },
		{ BYTES("\xd7"), CBOR_TAG, 23 },
		{ BYTES("\xd8\x20"), CBOR_TAG, 32 },
		{ BYTES("\xd9\xd9\xf7"), CBOR_TAG, 55799 },
		{ BYTES("\xda\x01\x02\x03\x04"), CBOR_TAG, 0x1020304 },
		{ BYTES("\xdb\xff\xff\xff\xff\xff\xff\xff\xff"), CBOR_TAG, UINT64_MAX },
		{ BYTES("\xe0"), CBOR_SIMPLE, 0 },
		{ BYTES("\xf3"), CBOR_SIMPLE, 19 },
		{ BYTES("\xf4"), CBOR_FALSE, 0 },
		{ BYTES("\xf5"), CBOR_TRUE, 0 },
		{ BYTES("\xf6"), CBOR_NULL, 0 },
		{ BYTES("\xf7"), CBOR_UNDEFINED, 0 },
		{ BYTES("\xf8\x20"), CBOR_SIMPLE, 32 },
		{ BYTES("\xf8\xff"), CBOR_SIMPLE, 255 },
		{ BYTES("\xff"), CBOR_BREAK, 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		tn_error err = { 0 };
		struct cbor_item item;
		struct cur c = cur_over(cases[i].in, 100, "test", &err);
		if (!cbor_next(&c, &item))
			fail_msg("case %u: %s", (unsigned)i, err.msg);
		assert_int_equal(item.kind, cases[i].kind);
		assert_true(item.value == cases[i].value);
		assert_int_equal(item.offset, 100);
		assert_int_equal(cur_left(&c), 0);
		for (size_t len = 0; len < cases[i].in.len; len++) { /* every prefix ends early */
			tn_error cut = { 0 };
			c = cur_over((tn_view){ cases[i].in.ptr, len }, 100, "test", &cut);
			assert_false(cbor_next(&c, &item));
			assert_int_equal(cut.code, TN_E_TRUNCATED);
			assert_int_equal(cut.offset, 100);
		}
	}
}

static void strings_stay_in_place(void **state)
{
	(void)state;
	static const struct { tn_view in; enum cbor_kind kind; size_t from, len; } cases[] = {
		{ BYTES("\x40"), CBOR_BYTES, 1, 0 },
		{ BYTES("\x43\x00\x01\x02"), CBOR_BYTES, 1, 3 },
		{ BYTES("\x60"), CBOR_TEXT, 1, 0 },
		{ BYTES("\x64name"), CBOR_TEXT, 1, 4 },
		{ BYTES("\x62\xff\xfe"), CBOR_TEXT, 1, 2 }, /* UTF-8 is the caller's affair */
		{ BYTES("\x78\x02" "ab"), CBOR_TEXT, 2, 2 },
		{ BYTES("\x79\x00\x02" "ab"), CBOR_TEXT, 3, 2 },
		{ BYTES("\x7a\x00\x00\x00\x02" "ab"), CBOR_TEXT, 5, 2 },
		{ BYTES("\x5b\x00\x00\x00\x00\x00\x00\x00\x02" "ab"), CBOR_BYTES, 9, 2 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		tn_error err = { 0 };
		struct cbor_item item;
		struct cur c = cur_over(cases[i].in, 0, "test", &err);
		assert_true(cbor_next(&c, &item));
		assert_int_equal(item.kind, cases[i].kind);
		assert_ptr_equal(item.bytes.ptr, cases[i].in.ptr + cases[i].from);
		assert_int_equal(item.bytes.len, cases[i].len);
		assert_int_equal(cur_left(&c), 0);
		c = cur_over((tn_view){ cases[i].in.ptr, cases[i].in.len - 1 }, 0, "test", &err);
		assert_false(cbor_next(&c, &item));
		assert_int_equal(err.code, TN_E_TRUNCATED);
	}
}

static void lengths_near_the_top_do_not_wrap(void **state)
{
	(void)state;
	static const tn_view cases[] = {
		BYTES("\x5b\xff\xff\xff\xff\xff\xff\xff\xff" "ab"), BYTES("\x7b\xff\xff\xff\xff\xff\xff\xff\xf7" "ab"),
		BYTES("\x5b\x00\x00\x00\x01\x00\x00\x00\x02" "ab"), BYTES("\x7b\x00\x00\x00\x01\x00\x00\x00\x02" "ab"),
		BYTES("\x7b\x7f\xff\xff\xff\xff\xff\xff\xff" "ab"), BYTES("\x5a\xff\xff\xff\xff" "ab"),
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		tn_error err = { 0 };
		struct cbor_item item;
		struct cur c = cur_over(cases[i], 0, "test", &err);
		assert_false(cbor_next(&c, &item));
		assert_int_equal(err.code, TN_E_TRUNCATED);
		assert_string_equal(err.msg, "test: ends early");
	}
}

static void reserved_heads_are_corrupt(void **state)
{
	(void)state;
	for (unsigned head = 0; head < 256; head++) {
		unsigned major = head >> 5, info = head & 31;
		bool open = major >= 2 && major != 6;
		if (info < 28 || (info == 31 && open))
			continue;
		uint8_t bytes[16] = { (uint8_t)head };
		tn_error err = { 0 };
		struct cbor_item item;
		struct cur c = cur_over((tn_view){ bytes, sizeof bytes }, 7, "test", &err);
		assert_false(cbor_next(&c, &item));
		assert_int_equal(err.code, TN_E_CORRUPT);
		assert_int_equal(err.offset, 7);
		assert_int_equal(cur_left(&c), 0);
	}
	for (unsigned value = 0; value < 32; value++) {
		const uint8_t bytes[] = { 0xf8, (uint8_t)value };
		tn_error err = { 0 };
		struct cbor_item item;
		struct cur c = cur_over((tn_view){ bytes, sizeof bytes }, 0, "test", &err);
		assert_false(cbor_next(&c, &item));
		assert_int_equal(err.code, TN_E_CORRUPT);
	}
}

/* ---- Floats ---- */

static uint64_t read_float(tn_view in)
{
	tn_error err = { 0 };
	struct cbor_item item;
	struct cur c = cur_over(in, 0, "test", &err);
	assert_true(cbor_next(&c, &item));
	assert_int_equal(item.kind, CBOR_FLOAT);
	assert_int_equal(cur_left(&c), 0);
	return item.bits;
}

/* With both directions: what is shortest is also what gets written. */
static void floats(void **state)
{
	(void)state;
	static const struct { tn_view bytes; uint64_t bits; bool shortest; } cases[] = {
		{ BYTES("\xf9\x00\x00"), 0, true },
		{ BYTES("\xf9\x80\x00"), 0x8000000000000000, true },
		{ BYTES("\xf9\x3c\x00"), 0x3ff0000000000000, true },
		{ BYTES("\xf9\xc4\x00"), 0xc010000000000000, true },                  /* -4 */
		{ BYTES("\xf9\x7b\xff"), 0x40effc0000000000, true },                  /* 65504 */
		{ BYTES("\xf9\x04\x00"), 0x3f10000000000000, true },                  /* 2^-14, least normal f16 */
		{ BYTES("\xf9\x03\xff"), 0x3f0ff80000000000, true },                  /* greatest subnormal f16 */
		{ BYTES("\xf9\x00\x01"), 0x3e70000000000000, true },                  /* 2^-24 */
		{ BYTES("\xf9\x7c\x00"), 0x7ff0000000000000, true },
		{ BYTES("\xf9\xfc\x00"), 0xfff0000000000000, true },
		{ BYTES("\xf9\x7e\x00"), 0x7ff8000000000000, true },
		{ BYTES("\xf9\xfe\x00"), 0xfff8000000000000, true },
		{ BYTES("\xf9\x7e\x01"), 0x7ff8040000000000, false },                 /* a NaN with a payload */
		{ BYTES("\xf9\x7d\x00"), 0x7ff4000000000000, false },                 /* a signalling NaN */
		{ BYTES("\xf9\xfc\x01"), 0xfff0040000000000, false },
		{ BYTES("\xfa\x47\xc3\x50\x00"), 0x40f86a0000000000, true },          /* 100000 */
		{ BYTES("\xfa\x47\x80\x00\x00"), 0x40f0000000000000, true },          /* 65536, past f16 */
		{ BYTES("\xfa\x33\x00\x00\x00"), 0x3e60000000000000, true },          /* 2^-25, below f16 */
		{ BYTES("\xfa\x3f\x80\x20\x00"), 0x3ff0040000000000, false },         /* f16 would do */
		{ BYTES("\xfa\x3f\x80\x10\x00"), 0x3ff0020000000000, true },
		{ BYTES("\xfa\x7f\x7f\xff\xff"), 0x47efffffe0000000, true },
		{ BYTES("\xfa\x00\x00\x00\x01"), 0x36a0000000000000, true },          /* 2^-149 */
		{ BYTES("\xfa\x00\x7f\xff\xff"), 0x380fffffc0000000, true },
		{ BYTES("\xfa\x80\x80\x00\x00"), 0xb810000000000000, true },          /* -2^-126 */
		{ BYTES("\xfa\x7f\x80\x00\x00"), 0x7ff0000000000000, false },
		{ BYTES("\xfa\x7f\x80\x00\x01"), 0x7ff0000020000000, false },
		{ BYTES("\xfa\xff\xc0\x00\x01"), 0xfff8000020000000, false },
		{ BYTES("\xfb\x3f\xb9\x99\x99\x99\x99\x99\x9a"), 0x3fb999999999999a, true },
		{ BYTES("\xfa\x33\xc0\x00\x00"), 0x3e78000000000000, true },          /* between two subnormals of f16 */
		{ BYTES("\xfb\x3e\x70\x00\x00\x00\x00\x00\x01"), 0x3e70000000000001, true },
		{ BYTES("\xfb\x36\x90\x00\x00\x00\x00\x00\x00"), 0x3690000000000000, true }, /* 2^-150, below f32 */
		{ BYTES("\xfb\x47\xf0\x00\x00\x00\x00\x00\x00"), 0x47f0000000000000, true }, /* 2^128, past f32 */
		{ BYTES("\xfb\x00\x00\x00\x00\x00\x00\x00\x01"), 1, true },
		{ BYTES("\xfb\x7f\xf8\x04\x00\x00\x00\x00\x00"), 0x7ff8040000000000, true },
		{ BYTES("\xfb\x7f\xf4\x00\x00\x00\x00\x00\x00"), 0x7ff4000000000000, true },
		{ BYTES("\xfb\x7f\xf0\x00\x00\x00\x00\x00\x01"), 0x7ff0000000000001, true },
		{ BYTES("\xfb\xff\xf8\x00\x00\x00\x00\x00\x01"), 0xfff8000000000001, true },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t bits = read_float(cases[i].bytes);
		if (bits != cases[i].bits)
			fail_msg("case %u gives %llx", (unsigned)i, (unsigned long long)bits);
		struct buf b;
		buf_init(&b, 0);
		cbor_put_float(&b, bits);
		if (view_eq(buf_bytes(&b), cases[i].bytes) != cases[i].shortest)
			fail_msg("case %u is written with head %x", (unsigned)i, b.ptr[0]);
		assert_true(read_float(buf_bytes(&b)) == bits);
		buf_fini(&b);
	}
}

/* Half floats are few enough to try them all: against arithmetic, and there and back. */
static void every_half_float(void **state)
{
	(void)state;
	for (unsigned half = 0; half < 0x10000; half++) {
		const uint8_t bytes[] = { 0xf9, (uint8_t)(half >> 8), (uint8_t)half };
		const uint64_t bits = read_float((tn_view){ bytes, 3 });
		const unsigned exp = half >> 10 & 31, frac = half & 0x3ff;
		if (exp == 31) {
			assert_true(bits == ((uint64_t)(half >> 15) << 63 | 0x7ffu * (UINT64_C(1) << 52) | (uint64_t)frac << 42));
			continue;
		}
		double v = exp == 0 ? frac * 0x1p-24 : (frac + 1024.0) * f64_of((uint64_t)(exp + 998) << 52);
		if (bits != (f64_bits(v) | (uint64_t)(half >> 15) << 63))
			fail_msg("%x", half);
		struct buf b;
		buf_init(&b, 0);
		cbor_put_float(&b, bits);
		assert_true(view_eq(buf_bytes(&b), (tn_view){ bytes, 3 }));
		buf_fini(&b);
	}
}

static void single_floats_widen_as_the_processor_does(void **state)
{
	(void)state;
	for (uint64_t step = 0; step < 0x100000000; step += 65521) {
		const uint32_t single = (uint32_t)step;
		uint8_t bytes[5] = { 0xfa };
		put_be32(bytes + 1, single);
		float v = f32_of(single);
		if (v < 0 || v >= 0)
			assert_true(read_float((tn_view){ bytes, 5 }) == f64_bits((double)v));
	}
}

/* ---- Skipping ---- */

static void values_are_skipped_whole(void **state)
{
	(void)state;
	static const struct { tn_view in; unsigned depth; } cases[] = { /* depth: the least that will do */
		{ BYTES("\x00"), 0 },
		{ BYTES("\x3b\xff\xff\xff\xff\xff\xff\xff\xff"), 0 },
		{ BYTES("\x63" "abc"), 0 },
		{ BYTES("\xfb\x00\x00\x00\x00\x00\x00\x00\x00"), 0 },
		{ BYTES("\xf8\x64"), 0 },
		{ BYTES("\x5f\x41\x00\x42\x01\x02\xff"), 0 },
		{ BYTES("\x7f\xff"), 0 },
		{ BYTES("\x80"), 1 },
		{ BYTES("\xa0"), 1 },
		{ BYTES("\x9f\xff"), 1 },
		{ BYTES("\xbf\xff"), 1 },
		{ BYTES("\x83\x01\x61" "a\xf6"), 1 },
		{ BYTES("\xa2\x61" "a\x01\x61" "b\x02"), 1 },
		{ BYTES("\xbf\x61" "a\x01\x61" "b\x02\xff"), 1 },
		{ BYTES("\x82\x80\x81\x00"), 2 },
		{ BYTES("\x9f\x9f\xff\xbf\x00\x9f\xff\xff\x7f\x61" "a\xff\xff"), 3 },
		{ BYTES("\xc0\x00"), 1 },
		{ BYTES("\xc6\xd8\x20\x81\xf5"), 3 },
		{ BYTES("\xa1\x82\x01\x02\xa1\x80\x80"), 3 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const tn_view in = cases[i].in;
		for (size_t len = 0; len <= in.len; len++) {
			tn_error err = { 0 };
			struct cbor_item item;
			struct cur c = cur_over((tn_view){ in.ptr, len }, 0, "test", &err);
			bool ok = cbor_next(&c, &item) && cbor_skip(&c, &item, cases[i].depth);
			if (ok != (len == in.len) || err.code != (ok ? TN_OK : TN_E_TRUNCATED) || cur_left(&c) != 0)
				fail_msg("case %u, %u bytes: %s", (unsigned)i, (unsigned)len, err.msg);
		}
		if (cases[i].depth == 0)
			continue;
		tn_error err = { 0 };
		struct cbor_item item;
		struct cur c = cur_over(in, 0, "test", &err);
		assert_true(cbor_next(&c, &item));
		assert_false(cbor_skip(&c, &item, cases[i].depth - 1));
		assert_int_equal(err.code, TN_E_CORRUPT);
		assert_string_equal(err.msg, "test: nested too deep");
	}
}

static void what_follows_a_value_is_left(void **state)
{
	(void)state;
	tn_error err = { 0 };
	struct cbor_item item;
	struct cur c = cur_over(VIEW("\x82\x01\xa1\x02\x03\x07"), 0, "test", &err);
	assert_true(cbor_next(&c, &item));
	assert_true(cbor_skip(&c, &item, 8));
	assert_int_equal(cur_left(&c), 1);
	assert_true(cbor_next(&c, &item));
	assert_int_equal(item.value, 7);
	assert_int_equal(item.offset, 5);
}

static void malformed_values_are_corrupt(void **state)
{
	(void)state;
	static const struct { tn_view in; uint64_t at; } cases[] = {
		{ BYTES("\xff"), 1 },                           /* a break alone */
		{ BYTES("\x81\xff"), 2 },                       /* a break in a definite array */
		{ BYTES("\xa1\x00\xff"), 3 },
		{ BYTES("\xbf\x00\xff"), 3 },                   /* a key without its value */
		{ BYTES("\xbf\x00\x01\x02\xff"), 5 },
		{ BYTES("\xc0\xff"), 2 },                       /* a tag on a break */
		{ BYTES("\x5f\x61" "a\xff"), 3 },               /* text within bytes */
		{ BYTES("\x7f\x41" "a\xff"), 3 },
		{ BYTES("\x5f\x5f\x41" "a\xff\xff"), 2 },       /* chunks in chunks */
		{ BYTES("\x7f\x00\xff"), 2 },
		{ BYTES("\x9f\x1c\xff"), 1 },
		{ BYTES("\x81\xf8\x1f"), 1 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		tn_error err = { 0 };
		struct cbor_item item;
		struct cur c = cur_over(cases[i].in, 0, "test", &err);
		assert_true(cbor_next(&c, &item));
		assert_false(cbor_skip(&c, &item, 16));
		assert_int_equal(err.code, TN_E_CORRUPT);
		assert_int_equal(err.offset, cases[i].at);
		assert_int_equal(cur_left(&c), 0);
	}
}

static void hostile_counts_and_nests_end_soon(void **state)
{
	(void)state;
	static const tn_view counts[] = {
		BYTES("\x9b\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00"), BYTES("\xbb\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00"),
		BYTES("\xbb\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00"), BYTES("\x9b\x00\x00\x00\x01\x00\x00\x00\x01\x00"),
		BYTES("\xbb\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00"),
	};
	struct cbor_item item;
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		tn_error err = { 0 };
		struct cur c = cur_over(counts[i], 0, "test", &err);
		assert_true(cbor_next(&c, &item));
		assert_false(cbor_skip(&c, &item, 4));
		assert_int_equal(err.code, TN_E_TRUNCATED);
	}
	static const uint8_t heads[] = { 0x81, 0x9f, 0xc1, 0xbf };
	static uint8_t deep[100000];
	for (size_t i = 0; i < sizeof heads; i++) {
		memset(deep, heads[i], sizeof deep);
		tn_error err = { 0 };
		struct cur c = cur_over((tn_view){ deep, sizeof deep }, 0, "test", &err);
		assert_true(cbor_next(&c, &item));
		assert_false(cbor_skip(&c, &item, 128));
		assert_int_equal(err.code, TN_E_CORRUPT);
		assert_int_equal(err.offset, 129);
	}
}

/* ---- Encoding ---- */

static void assert_written(struct buf *b, tn_view bytes)
{
	assert_false(b->failed);
	assert_int_equal(b->len, bytes.len);
	assert_memory_equal(b->ptr, bytes.ptr, bytes.len);
	buf_fini(b);
}

static void integers_take_the_shortest_head(void **state)
{
	(void)state;
	static const struct { int64_t v; tn_view bytes; } cases[] = {
		{ 0, BYTES("\x00") }, { 23, BYTES("\x17") }, { 24, BYTES("\x18\x18") },
		{ 255, BYTES("\x18\xff") },
		{ 256, BYTES("\x19\x01\x00") }, { 65535, BYTES("\x19\xff\xff") },
		{ 65536, BYTES("\x1a\x00\x01\x00\x00") },
		{ 4294967295, BYTES("\x1a\xff\xff\xff\xff") },
		{ 4294967296, BYTES("\x1b\x00\x00\x00\x01\x00\x00\x00\x00") },
		{ INT64_MAX, BYTES("\x1b\x7f\xff\xff\xff\xff\xff\xff\xff") },
		{ -1, BYTES("\x20") }, { -24, BYTES("\x37") }, { -25, BYTES("\x38\x18") },
		{ -256, BYTES("\x38\xff") },
		{ -257, BYTES("\x39\x01\x00") }, { -65537, BYTES("\x3a\x00\x01\x00\x00") },
		{ INT64_MIN, BYTES("\x3b\x7f\xff\xff\xff\xff\xff\xff\xff") },
	};
	struct buf b;
	buf_init(&b, 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		cbor_put_int(&b, cases[i].v);
		assert_written(&b, cases[i].bytes);
		if (cases[i].v < 0)
			continue;
		cbor_put_uint(&b, (uint64_t)cases[i].v);
		assert_written(&b, cases[i].bytes);
	}
	cbor_put_uint(&b, UINT64_MAX);
	assert_written(&b, VIEW("\x1b\xff\xff\xff\xff\xff\xff\xff\xff"));
}

static void everything_else_is_written(void **state)
{
	(void)state;
	struct buf b;
	buf_init(&b, 0);
	cbor_put_map(&b, 3);
	cbor_put_text(&b, VIEW("name"));
	cbor_put_text(&b, (tn_view){ NULL, 0 });
	cbor_put_text(&b, VIEW("a text of twenty-four ch"));
	cbor_put_array(&b, 24);
	cbor_put_array(&b, 0);
	cbor_put_map(&b, 65536);
	cbor_put_bool(&b, true);
	cbor_put_bool(&b, false);
	cbor_put_null(&b);
	assert_written(&b, VIEW("\xa3\x64name\x60\x78\x18" "a text of twenty-four ch\x98\x18\x80\xba\x00\x01\x00\x00\xf5\xf4\xf6"));
}

static void a_full_buffer_fails(void **state)
{
	(void)state;
	for (uint64_t budget = 1; budget < 20; budget++) {
		struct buf b;
		buf_init(&b, budget);
		cbor_put_text(&b, VIEW("a text of twenty-four ch"));
		cbor_put_uint(&b, 1);
		cbor_put_float(&b, 0x3fb999999999999a);
		assert_true(b.failed);
		assert_true(b.len <= budget);
		buf_fini(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads),
		cmocka_unit_test(strings_stay_in_place),
		cmocka_unit_test(lengths_near_the_top_do_not_wrap),
		cmocka_unit_test(reserved_heads_are_corrupt),
		cmocka_unit_test(floats),
		cmocka_unit_test(every_half_float),
		cmocka_unit_test(single_floats_widen_as_the_processor_does),
		cmocka_unit_test(values_are_skipped_whole),
		cmocka_unit_test(what_follows_a_value_is_left),
		cmocka_unit_test(malformed_values_are_corrupt),
		cmocka_unit_test(hostile_counts_and_nests_end_soon),
		cmocka_unit_test(integers_take_the_shortest_head),
		cmocka_unit_test(everything_else_is_written),
		cmocka_unit_test(a_full_buffer_fails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
