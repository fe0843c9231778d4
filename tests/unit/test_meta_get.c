/* test_meta_get.c - the getters at the limits of their types, and the iterator over arrays that stay as a file has
 * them. */
#include "model/meta.h"

#include "base/bytes.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <float.h>
#include <math.h>

/* ---- Getters ---- */

enum { U8 = 1, U16 = 2, U32 = 4, U64 = 8, I8 = 16, I16 = 32, I32 = 64, I64 = 128, F32 = 256, F64 = 512 };
enum { ALL_U = U8 | U16 | U32 | U64, ALL_I = I8 | I16 | I32 | I64, FLOATS = F32 | F64, ALL = ALL_U | ALL_I | FLOATS };

static struct tn_meta uint_node(uint64_t v) { return (struct tn_meta){ .type = TN_META_UINT, .as.u = v }; }
static struct tn_meta int_node(int64_t v) { return (struct tn_meta){ .type = TN_META_INT, .as.i = v }; }
static struct tn_meta float_node(double v) { return (struct tn_meta){ .type = TN_META_FLOAT, .as.f_bits = f64_bits(v) }; }

static unsigned takers(const tn_meta *n)
{
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;
	int8_t i8;
	int16_t i16;
	int32_t i32;
	int64_t i64;
	float f32;
	double f64;
	return (tn_meta_u8(n, &u8) ? U8 : 0u) | (tn_meta_u16(n, &u16) ? U16 : 0u) | (tn_meta_u32(n, &u32) ? U32 : 0u) |
	       (tn_meta_u64(n, &u64) ? U64 : 0u) | (tn_meta_i8(n, &i8) ? I8 : 0u) | (tn_meta_i16(n, &i16) ? I16 : 0u) |
	       (tn_meta_i32(n, &i32) ? I32 : 0u) | (tn_meta_i64(n, &i64) ? I64 : 0u) | (tn_meta_f32(n, &f32) ? F32 : 0u) |
	       (tn_meta_f64(n, &f64) ? F64 : 0u);
}

static void unsigned_numbers(void **state)
{
	(void)state;
	static const struct { uint64_t v; unsigned takers; } cases[] = {
		{ 0, ALL }, { 127, ALL }, { 128, ALL & ~I8 }, { 255, ALL & ~I8 }, { 256, ALL & ~(I8 | U8) },
		{ 32767, ALL & ~(I8 | U8) }, { 32768, ALL & ~(I8 | U8 | I16) }, { 65535, ALL & ~(I8 | U8 | I16) },
		{ 65536, U32 | U64 | I32 | I64 | FLOATS }, { INT32_MAX, U32 | U64 | I32 | I64 | F64 },
		{ UINT64_C(1) << 31, U32 | U64 | I64 | FLOATS }, { UINT32_MAX, U32 | U64 | I64 | F64 },
		{ UINT64_C(1) << 32, U64 | I64 | FLOATS }, { 16777216, U32 | U64 | I32 | I64 | FLOATS },
		{ 16777217, U32 | U64 | I32 | I64 | F64 }, { UINT64_C(1) << 53, U64 | I64 | FLOATS },
		{ (UINT64_C(1) << 53) + 1, U64 | I64 }, { (UINT64_C(1) << 53) + 2, U64 | I64 | F64 }, { INT64_MAX, U64 | I64 },
		{ UINT64_C(1) << 63, U64 | FLOATS }, { UINT64_MAX, U64 }, { UINT64_MAX - 2047, U64 | F64 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tn_meta n = uint_node(cases[i].v);
		if (takers(&n) != cases[i].takers)
			fail_msg("%llu: %x, not %x", (unsigned long long)cases[i].v, takers(&n), cases[i].takers);
	}
}

static void signed_numbers(void **state)
{
	(void)state;
	static const struct { int64_t v; unsigned takers; } cases[] = {
		{ 0, ALL }, { 5, ALL }, { -1, ALL_I | FLOATS }, { -128, ALL_I | FLOATS }, { -129, I16 | I32 | I64 | FLOATS },
		{ INT16_MIN, I16 | I32 | I64 | FLOATS }, { INT16_MIN - 1, I32 | I64 | FLOATS }, { INT32_MIN, I32 | I64 | FLOATS },
		{ INT64_C(-2147483649), I64 | F64 }, { -16777217, I32 | I64 | F64 }, { INT64_MIN, I64 | FLOATS },
		{ INT64_MIN + 1, I64 }, { -(INT64_C(1) << 53) - 1, I64 }, { INT64_MAX, I64 | U64 }, { 128, ALL & ~I8 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tn_meta n = int_node(cases[i].v);
		if (takers(&n) != cases[i].takers)
			fail_msg("%lld: %x, not %x", (long long)cases[i].v, takers(&n), cases[i].takers);
	}
}

static void floats(void **state)
{
	(void)state;
	const struct { double v; unsigned takers; } cases[] = {
		{ 0.0, ALL }, { -0.0, ALL }, { 1.0, ALL }, { 255.0, ALL & ~I8 }, { -1.0, ALL_I | FLOATS }, { 0.5, FLOATS },
		{ 0.1, F64 }, { (double)0.1f, FLOATS }, { 1.0000000000000002, F64 }, { 9007199254740992.0, U64 | I64 | FLOATS },
		{ 9223372036854775808.0, U64 | FLOATS }, { 9223372036854774784.0, U64 | I64 | F64 },
		{ 18446744073709551616.0, FLOATS }, { 18446744073709549568.0, U64 | F64 }, { -9223372036854775808.0, I64 | FLOATS },
		{ -9223372036854777856.0, F64 }, { 1e300, F64 }, { -1e300, F64 }, { (double)FLT_MAX, FLOATS },
		{ (double)FLT_MAX * 1.0000001, F64 }, { 1e-320, F64 }, { (double)FLT_TRUE_MIN, FLOATS }, { 1e-46, F64 },
		{ (double)NAN, FLOATS }, { (double)INFINITY, FLOATS }, { -(double)INFINITY, FLOATS },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tn_meta n = float_node(cases[i].v);
		if (takers(&n) != cases[i].takers)
			fail_msg("%.17g: %x, not %x", cases[i].v, takers(&n), cases[i].takers);
	}
}

#define GIVES(getter, type, node, want) \
	do { \
		struct tn_meta node_ = node; \
		type got_; \
		assert_true(getter(&node_, &got_)); \
		assert_true(got_ == (want)); \
	} while (0)

static void values_come_out_whole(void **state)
{
	(void)state;
	GIVES(tn_meta_u8, uint8_t, int_node(200), 200);
	GIVES(tn_meta_u8, uint8_t, float_node(255.0), 255);
	GIVES(tn_meta_u64, uint64_t, float_node(-0.0), 0);
	GIVES(tn_meta_u64, uint64_t, uint_node(UINT64_MAX), UINT64_MAX);
	GIVES(tn_meta_u64, uint64_t, float_node(18446744073709549568.0), UINT64_MAX - 2047);
	GIVES(tn_meta_i8, int8_t, float_node(-128.0), -128);
	GIVES(tn_meta_i16, int16_t, uint_node(32767), 32767);
	GIVES(tn_meta_i64, int64_t, float_node(-9223372036854775808.0), INT64_MIN);
	GIVES(tn_meta_f32, float, uint_node(16777216), 16777216.0f);
	GIVES(tn_meta_f32, float, float_node(-(double)INFINITY), -INFINITY);
	GIVES(tn_meta_f64, double, uint_node((UINT64_C(1) << 53) + 2), 9007199254740994.0);
	GIVES(tn_meta_f64, double, int_node(INT64_MIN), -9223372036854775808.0);
	struct tn_meta n = float_node((double)NAN);
	double f;
	float g;
	assert_true(tn_meta_f64(&n, &f) && isnan(f));
	assert_true(tn_meta_f32(&n, &g) && isnan(g));
}

static void what_is_no_number_gives_none(void **state)
{
	(void)state;
	struct tn_meta nodes[] = {
		{ .type = TN_META_NULL }, { .type = TN_META_BOOL, .as.b = true }, { .type = TN_META_STRING, .as.s = VIEW("1") },
		{ .type = TN_META_BYTES, .as.s = VIEW("1") }, { .type = TN_META_ARRAY }, { .type = TN_META_MAP }
	};
	assert_int_equal(takers(NULL), 0);
	for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
		assert_int_equal(takers(&nodes[i]), 0);
}

static void bools_and_texts_are_strict(void **state)
{
	(void)state;
	struct tn_meta yes = { .type = TN_META_BOOL, .as.b = true }, one = uint_node(1);
	struct tn_meta text = { .type = TN_META_STRING, .as.s = VIEW("a\0b") }, raw = { .type = TN_META_BYTES, .as.s = VIEW("\xff") };
	bool b = false;
	tn_view v = VIEW("untouched");
	assert_true(tn_meta_bool(&yes, &b) && b);
	assert_false(tn_meta_bool(&one, &b));
	assert_false(tn_meta_bool(NULL, &b));
	assert_false(tn_meta_string(&raw, &v));
	assert_false(tn_meta_string(&yes, &v));
	assert_false(tn_meta_bytes(&one, &v));
	assert_false(tn_meta_string(NULL, &v) || tn_meta_bytes(NULL, &v));
	assert_true(view_is(v, "untouched"));
	assert_true(tn_meta_string(&text, &v));
	assert_int_equal(v.len, 3);
	assert_true(tn_meta_bytes(&text, &v));
	assert_int_equal(v.len, 3);
	assert_true(tn_meta_bytes(&raw, &v));
	assert_int_equal(v.ptr[0], 0xff);
}

static void no_node_is_nothing(void **state)
{
	(void)state;
	assert_int_equal(tn_meta_kind(NULL), TN_META_NULL);
	assert_int_equal(tn_meta_width(NULL), 0);
	assert_int_equal(tn_meta_count(NULL), 0);
	assert_int_equal(tn_meta_key(NULL).len, 0);
	tn_meta_iter it = tn_meta_items(NULL);
	assert_null(tn_meta_next(&it));
	struct tn_meta text = { .type = TN_META_STRING, .as.s = VIEW("abc") };
	assert_int_equal(tn_meta_count(&text), 0);
	it = tn_meta_items(&text);
	assert_null(tn_meta_next(&it));
}

/* ---- Raw arrays ---- */

static struct tn_meta raw_array(struct meta_raw *raw, uint64_t n)
{
	return (struct tn_meta){ .type = TN_META_ARRAY, .is_raw = true, .as.packed = { raw, n } };
}

/* Values that have each bit of each byte set somewhere; stored at an odd address. */
static const uint64_t values[] = {
	0, 1, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, UINT64_C(0x0123456789abcdef),
	INT64_MAX, UINT64_C(1) << 63, UINT64_MAX
};
enum { VALUES = sizeof values / sizeof *values };

static void store(uint8_t *p, uint64_t v, unsigned width, bool big_endian)
{
	for (unsigned i = 0; i < width / 8; i++)
		p[i] = (uint8_t)(v >> 8 * (big_endian ? width / 8 - 1 - i : i));
}

static void integers_of_every_width(void **state)
{
	(void)state;
	for (unsigned width = 8; width <= 64; width *= 2) {
		for (int big_endian = 0; big_endian < 2; big_endian++) {
			uint8_t bytes[1 + 8 * VALUES];
			uint64_t mask = UINT64_MAX >> (64 - width);
			for (size_t i = 0; i < VALUES; i++)
				store(bytes + 1 + i * width / 8, values[i], width, big_endian);
			struct meta_raw raw = { bytes + 1, VALUES * width / 8, TN_META_UINT, (uint8_t)width, big_endian };
			struct tn_meta array = raw_array(&raw, VALUES);
			assert_int_equal(tn_meta_count(&array), VALUES);
			tn_meta_iter it = tn_meta_items(&array);
			for (size_t i = 0; i < VALUES; i++) {
				const tn_meta *item = tn_meta_next(&it);
				assert_int_equal(item->type, TN_META_UINT);
				assert_int_equal(tn_meta_width(item), width);
				assert_true(item->as.u == (values[i] & mask));
				assert_int_equal(tn_meta_key(item).len, 0);
			}
			assert_null(tn_meta_next(&it));
			raw.kind = TN_META_INT;
			it = tn_meta_items(&array);
			for (size_t i = 0; i < VALUES; i++) {
				const tn_meta *item = tn_meta_next(&it);
				uint64_t low = values[i] & mask;
				bool negative = low >> (width - 1) != 0;
				assert_int_equal(item->type, TN_META_INT);
				assert_true((uint64_t)item->as.i == (negative ? low | ~mask : low));
			}
			assert_null(tn_meta_next(&it));
		}
	}
}

static void floats_and_bools_of_a_file(void **state)
{
	(void)state;
	for (int big_endian = 0; big_endian < 2; big_endian++) {
		uint8_t bytes[16];
		store(bytes, f32_bits(0.1f), 32, big_endian);
		store(bytes + 4, f32_bits(-INFINITY), 32, big_endian);
		struct meta_raw raw = { bytes, 8, TN_META_FLOAT, 32, big_endian };
		struct tn_meta array = raw_array(&raw, 2);
		tn_meta_iter it = tn_meta_items(&array);
		float f;
		assert_true(tn_meta_f32(tn_meta_next(&it), &f) && f == 0.1f);
		assert_true(tn_meta_f32(tn_meta_next(&it), &f) && f == -INFINITY);
		store(bytes, UINT64_C(0x7ff8000000000123), 64, big_endian);
		store(bytes + 8, f64_bits(0.1), 64, big_endian);
		raw.width = 64;
		raw.len = 16;
		it = tn_meta_items(&array);
		const tn_meta *item = tn_meta_next(&it);
		assert_true(item->as.f_bits == UINT64_C(0x7ff8000000000123));
		assert_int_equal(tn_meta_width(item), 64);
		assert_true(tn_meta_next(&it)->as.f_bits == f64_bits(0.1));
	}
	struct meta_raw raw = { (const uint8_t[]){ 0, 1, 2 }, 3, TN_META_BOOL, 8, false };
	struct tn_meta array = raw_array(&raw, 3);
	tn_meta_iter it = tn_meta_items(&array);
	for (unsigned i = 0; i < 3; i++) {
		const tn_meta *item = tn_meta_next(&it);
		bool b;
		assert_int_equal(tn_meta_width(item), 0);
		assert_true(tn_meta_bool(item, &b));
		assert_int_equal(b, i != 0);
	}
}

static void strings_of_a_file(void **state)
{
	(void)state;
	static const char *const texts[] = { "", "a", "longer text", "" };
	for (unsigned width = 32; width <= 64; width += 32) {
		for (int big_endian = 0; big_endian < 2; big_endian++) {
			uint8_t bytes[64];
			size_t len = 0;
			for (size_t i = 0; i < 4; i++) {
				store(bytes + len, strlen(texts[i]), width, big_endian);
				memcpy(bytes + len + width / 8, texts[i], strlen(texts[i]));
				len += width / 8 + strlen(texts[i]);
			}
			struct meta_raw raw = { bytes, len, TN_META_STRING, (uint8_t)width, big_endian };
			struct tn_meta array = raw_array(&raw, 4);
			tn_meta_iter it = tn_meta_items(&array);
			for (size_t i = 0; i < 4; i++) {
				tn_view v;
				assert_true(tn_meta_string(tn_meta_next(&it), &v));
				assert_true(view_is(v, texts[i]));
			}
			assert_null(tn_meta_next(&it));
			assert_null(tn_meta_next(&it));
		}
	}
}

static void an_empty_raw_array(void **state)
{
	(void)state;
	struct meta_raw raw = { NULL, 0, TN_META_UINT, 8, false };
	struct tn_meta array = raw_array(&raw, 0);
	tn_meta_iter it = tn_meta_items(&array);
	assert_null(tn_meta_next(&it));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unsigned_numbers),
		cmocka_unit_test(signed_numbers),
		cmocka_unit_test(floats),
		cmocka_unit_test(values_come_out_whole),
		cmocka_unit_test(what_is_no_number_gives_none),
		cmocka_unit_test(bools_and_texts_are_strict),
		cmocka_unit_test(no_node_is_nothing),
		cmocka_unit_test(integers_of_every_width),
		cmocka_unit_test(floats_and_bools_of_a_file),
		cmocka_unit_test(strings_of_a_file),
		cmocka_unit_test(an_empty_raw_array),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
