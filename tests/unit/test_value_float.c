/* test_value_float.c - floats of 4 to 64 bits and integers: every code against a formula that
 * shares nothing with the bit tricks, every rounding at its neighbours' middle. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "value/value.h"

#include <cmocka.h>

enum specials { IEEE, ONE_NAN_EACH, NONE, FNUZ };

static const struct type {
	tn_dtype dtype;
	int      bits, exponent, mantissa, bias;
	enum specials specials;
} types[] = {
	{ TN_F16, 16, 5, 10, 15, IEEE },
	{ TN_BF16, 16, 8, 7, 127, IEEE },
	{ TN_F8_E4M3, 8, 4, 3, 7, ONE_NAN_EACH },
	{ TN_F8_E5M2, 8, 5, 2, 15, IEEE },
	{ TN_F8_E4M3FNUZ, 8, 4, 3, 8, FNUZ },
	{ TN_F8_E5M2FNUZ, 8, 5, 2, 16, FNUZ },
	{ TN_F6_E2M3, 6, 2, 3, 1, NONE },
	{ TN_F6_E3M2, 6, 3, 2, 3, NONE },
	{ TN_F4, 4, 2, 1, 1, NONE },
};
enum { TYPES = sizeof types / sizeof *types };

static double formula(const struct type *t, unsigned code)
{
	unsigned ones = (1u << t->exponent) - 1, mask = (1u << t->mantissa) - 1;
	unsigned exponent = code >> t->mantissa & ones, fraction = code & mask;
	bool negative = code >> (t->bits - 1) & 1;
	double size;
	if ((t->specials == FNUZ && negative && exponent == 0 && fraction == 0) ||
	    (t->specials == ONE_NAN_EACH && exponent == ones && fraction == mask) ||
	    (t->specials == IEEE && exponent == ones && fraction != 0))
		return (double)NAN;
	if (t->specials == IEEE && exponent == ones)
		size = (double)INFINITY;
	else if (exponent == 0)
		size = ldexp((double)fraction, 1 - t->bias - t->mantissa);
	else
		size = ldexp((double)(fraction + mask + 1), (int)exponent - t->bias - t->mantissa);
	return negative ? -size : size;
}

/* One code; of a packed type it stands in the first element. */
static float decode(const struct type *t, unsigned code)
{
	const struct value_codec *c = value_codec(t->dtype);
	uint8_t in[3] = { (uint8_t)code, (uint8_t)(code >> 8), 0 };
	float out[4];
	c->decode(in, out, c->elems);
	return out[0];
}

static unsigned encode(const struct type *t, float v)
{
	uint8_t out[2] = { 0, 0 };
	value_codec(t->dtype)->encode(&v, out, 1);
	return t->bits == 16 ? le16(out) : out[0];
}

static void every_code(void **state)
{
	(void)state;
	for (const struct type *t = types; t < types + TYPES; t++)
		for (unsigned code = 0; code < 1u << t->bits; code++) {
			double want = formula(t, code);
			float got = decode(t, code);
			if (isnan(want) ? !isnan(got) : f64_bits((double)got) != f64_bits(want))
				fail_msg("%s %x: %a, not %a", tn_dtype_name(t->dtype), code,
				         (double)got, want);
		}
}

/* NaN aside, whose payload f16, bf16 and e5m2 keep as well but for the quiet bit. */
static void every_code_comes_back(void **state)
{
	(void)state;
	for (const struct type *t = types; t < types + TYPES; t++) {
		if (value_codec(t->dtype)->encode == NULL)
			continue;
		for (unsigned code = 0; code < 1u << t->bits; code++) {
			float v = decode(t, code);
			unsigned quiet =
			        isnan(v) && t->specials == IEEE ? 1u << (t->mantissa - 1) : 0;
			if (encode(t, v) != (code | quiet))
				fail_msg("%s %x came back as %x", tn_dtype_name(t->dtype), code,
				         encode(t, v));
		}
	}
}

/* Between each two neighbours: the middle goes to the even one, an ulp beside it to the nearer. */
static void every_middle(void **state)
{
	(void)state;
	for (const struct type *t = types; t < types + TYPES; t++) {
		if (value_codec(t->dtype)->encode == NULL)
			continue;
		for (unsigned code = 0; code < (1u << (t->bits - 1)) - 1; code++) {
			double low = formula(t, code), high = formula(t, code + 1);
			if (!isfinite(low))
				break;
			if (!isfinite(
			            high)) /* the step that the next finite number would be away */
				high = low + (low - formula(t, code - 1));
			float middle =
			        (float)((low + high) / 2); /* exact: at most 11 bits and one more */
			unsigned even = code % 2 == 0 ? code : code + 1, sign = 1u << (t->bits - 1);
			assert_int_equal(encode(t, middle), even);
			assert_int_equal(encode(t, nextafterf(middle, 0)), code);
			assert_int_equal(encode(t, nextafterf(middle, INFINITY)), code + 1);
			assert_int_equal(encode(t, -nextafterf(middle, INFINITY)),
			                 (code + 1) | sign);
		}
	}
}

static void too_large(void **state)
{
	const struct { int type; unsigned plus, minus; } over[] = {
		{ 0, 0x7c00, 0xfc00 }, { 2, 0x7f, 0xff }, { 3, 0x7c, 0xfc }, { 4, 0x80, 0x80 }, { 5, 0x80, 0x80 }
	};
	(void)state;
	for (size_t i = 0; i < sizeof over / sizeof *over; i++)
		for (float v = 1e6f; v < INFINITY; v *= 1e6f) {
			assert_int_equal(encode(&types[over[i].type], v), over[i].plus);
			assert_int_equal(encode(&types[over[i].type], -v), over[i].minus);
			assert_int_equal(encode(&types[over[i].type], INFINITY), over[i].plus);
		}
	assert_int_equal(encode(&types[1], 3.4e38f), 0x7f80);
	assert_int_equal(encode(&types[4], -1e-9f), 0); /* there is no -0 */
	assert_int_equal(encode(&types[4], NAN), 0x80);
}

static void e8m0(void **state)
{
	(void)state;
	for (unsigned code = 0; code < 256; code++) {
		uint8_t in = (uint8_t)code;
		float out;
		value_codec(TN_F8_E8M0)->decode(&in, &out, 1);
		if (code == 255)
			assert_true(isnan(out));
		else
			assert_true(f32_bits(out) == f32_bits(ldexpf(1, (int)code - 127)));
	}
}

/* All positions of packed elements. */
static void packing(void **state)
{
	const uint8_t f6[3] = { 0x41, 0x30, 0x10 }; /* codes 1, 1, 3, 4 from the lowest bit on */
	const uint8_t f4[2] = { 0x21, 0x87 };
	float out[4];
	(void)state;
	value_codec(TN_F6_E2M3)->decode(f6, out, 4);
	const float want6[4] = { 0.125f, 0.125f, 0.375f, 0.5f };
	assert_memory_equal(out, want6, sizeof out);
	value_codec(TN_F4)->decode(f4, out, 4);
	const float want4[4] = { 0.5f, 1, 6, -0.0f };
	assert_memory_equal(out, want4, sizeof out);
}

/* ---- Wide types ---- */

static float one(tn_dtype d, uint64_t bits)
{
	uint8_t in[8];
	float out;
	put_le64(in, bits);
	value_codec(d)->decode(in, &out, 1);
	return out;
}

static void integers(void **state)
{
	const struct { tn_dtype d; uint64_t bits; float want; } cases[] = {
		{ TN_BOOL, 0, 0 }, { TN_BOOL, 1, 1 }, { TN_BOOL_U8, 1, 1 }, { TN_BOOL_U32, 1, 1 }, { TN_BOOL_U32, 256, 1 },
		{ TN_U8, 0xff, 255 }, { TN_I8, 0xff, -1 }, { TN_I8, 0x80, -128 }, { TN_U16, 0xfffe, 65534 },
		{ TN_I16, 0xfffe, -2 }, { TN_U32, 0xffffffff, 4294967296.0f }, { TN_I32, 0x80000000, -2147483648.0f },
		{ TN_I32, 16777217, 16777216 }, { TN_I32, 16777219, 16777220 }, { TN_U64, UINT64_MAX, 18446744073709551616.0f },
		{ TN_I64, UINT64_MAX, -1 }, { TN_I64, (uint64_t)1 << 63, -9223372036854775808.0f },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (f32_bits(one(cases[i].d, cases[i].bits)) != f32_bits(cases[i].want))
			fail_msg("%s %llx: %g", tn_dtype_name(cases[i].d),
			         (unsigned long long)cases[i].bits,
			         (double)one(cases[i].d, cases[i].bits));
}

static void f32_keeps_every_bit(void **state)
{
	(void)state;
	for (uint32_t bits = 0; bits < 0xfffe0000; bits += 65521) {
		float v = one(TN_F32, bits), same = one(TN_FLEX32, bits);
		uint8_t back[4];
		assert_int_equal(f32_bits(v), bits);
		assert_int_equal(f32_bits(same), bits);
		value_codec(TN_F32)->encode(&v, back, 1);
		assert_int_equal(le32(back), bits);
	}
}

static void f64(void **state)
{
	uint8_t out[8];
	float third = 1.0f / 3;
	(void)state;
	assert_true(f32_bits(one(TN_F64, f64_bits(1.0 / 3))) == f32_bits(third));
	assert_true(isinf(one(TN_F64, f64_bits(1e300))));
	assert_true(isnan(one(TN_F64, f64_bits((double)NAN))));
	value_codec(TN_F64)->encode(&third, out, 1);
	assert_true(f64_of(le64(out)) == (double)third);
}

/* By way of an odd f32, f64 to f16 rounds once: just above a middle goes up, though f32 cannot tell
 * it from the middle. */
static void f64_rounds_once(void **state)
{
	const struct { double v; unsigned f16; } cases[] = {
		{ 1 + ldexp(1, -11), 0x3c00 }, { 1 + ldexp(1, -11) + ldexp(1, -50), 0x3c01 },
		{ 1 + ldexp(3, -11), 0x3c02 }, { 1 + ldexp(3, -11) - ldexp(1, -50), 0x3c01 },
		{ -1 - ldexp(1, -11) - ldexp(1, -50), 0xbc01 }, { 1, 0x3c00 }, { 1e-300, 0 }, { -1e-300, 0x8000 },
		{ 1e300, 0x7c00 }, { (double)INFINITY, 0x7c00 }, { 65519.999999999, 0x7bff }, { 65520, 0x7c00 },
		{ ldexp(1, -25), 0 }, { ldexp(1, -25) + ldexp(1, -70), 1 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint8_t in[8];
		float odd;
		put_le64(in, f64_bits(cases[i].v));
		value_f64_to_odd.decode(in, &odd, 1);
		assert_int_equal(isinf(odd), isinf(cases[i].v));
		if (encode(&types[0], odd) != cases[i].f16)
			fail_msg("%a: %04x, not %04x", cases[i].v, encode(&types[0], odd),
			         cases[i].f16);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code),
		cmocka_unit_test(every_code_comes_back),
		cmocka_unit_test(every_middle),
		cmocka_unit_test(too_large),
		cmocka_unit_test(e8m0),
		cmocka_unit_test(packing),
		cmocka_unit_test(integers),
		cmocka_unit_test(f32_keeps_every_bit),
		cmocka_unit_test(f64),
		cmocka_unit_test(f64_rounds_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
