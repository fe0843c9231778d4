/* small.c - floats of 8, 6 and 4 bits.
 *
 *	            sign-exponent-mantissa  bias  all ones in the exponent
 *	f8_e4m3     1-4-3                      7  numbers; 0x7f and 0xff are NaN
 *	f8_e5m2     1-5-2                     15  infinities and NaN
 *	f8_e4m3fnuz 1-4-3                      8  numbers; 0x80 is NaN, and there is no -0
 *	f8_e5m2fnuz 1-5-2                     16  numbers; likewise
 *	f8_e8m0     0-8-0                    127  0xff is NaN: powers of two
 *	f6_e2m3     1-2-3                      1  numbers
 *	f6_e3m2     1-3-2                      3  numbers
 *	f4          1-2-1                      1  numbers
 *
 * The first four are also made: rounded to the nearest, ties to even; what is too large becomes
 * infinity where there is one, else NaN. */
#include "value/codec.h"

/* ---- 8 bits ---- */

static uint32_t e5m2_bits(uint8_t c)
{
	uint32_t sign = (uint32_t)(c & 0x80) << 24, mag = c & 0x7fu;
	return sign | (mag >= 0x7c ? mag << 21 | 0x7f800000 : widen_code(mag, 2, 15));
}

static uint32_t fnuz_bits(uint8_t c, unsigned mant, int bias)
{
	uint32_t sign = (uint32_t)(c & 0x80) << 24;
	return c == 0x80 ? 0x7fc00000 : sign | widen_code(c & 0x7fu, mant, bias);
}

static uint32_t e4m3fnuz_bits(uint8_t c) { return fnuz_bits(c, 3, 8); }
static uint32_t e5m2fnuz_bits(uint8_t c) { return fnuz_bits(c, 2, 16); }

static uint8_t e4m3_code(uint32_t u)
{
	return (uint8_t)((u >> 24 & 0x80) |
	                 narrow_code(u & 0x7fffffff, (struct narrow){ 3, 7, 0x7e, 0x7f, 0x7f }));
}

static uint8_t e5m2_code(uint32_t u)
{
	struct narrow to = { 2, 15, 0x7b, 0x7c, 0x7e | (u >> 21 & 3) };
	return (uint8_t)((u >> 24 & 0x80) | narrow_code(u & 0x7fffffff, to));
}

/* NaN stands where -0 would, whatever its sign. */
static uint8_t fnuz_code(uint32_t u, unsigned mant, int bias)
{
	uint32_t code =
	        narrow_code(u & 0x7fffffff, (struct narrow){ mant, bias, 0x7f, 0x80, 0x80 });
	return (uint8_t)(code == 0 ? 0 : code | (u >> 24 & 0x80));
}

static uint8_t e4m3fnuz_code(uint32_t u) { return fnuz_code(u, 3, 8); }
static uint8_t e5m2fnuz_code(uint32_t u) { return fnuz_code(u, 2, 16); }

#define DECODE8(type)                                                                             \
	static void decode_##type(const uint8_t *restrict in, float *restrict out, size_t n)      \
	{                                                                                         \
		for (size_t i = 0; i < n; i++) {                                                  \
			uint32_t bits = type##_bits(in[i]);                                       \
			memcpy(out + i, &bits, sizeof bits);                                      \
		}                                                                                 \
	}

#define CODEC8(type)                                                                              \
	DECODE8(type)                                                                             \
	static void encode_##type(const float *restrict in, uint8_t *restrict out, size_t n)      \
	{                                                                                         \
		for (size_t i = 0; i < n; i++)                                                    \
			out[i] = type##_code(f32_bits(in[i]));                                    \
	}                                                                                         \
	const struct value_codec codec_f8_##type = { 1, 1, decode_##type, encode_##type };

CODEC8(e4m3)
CODEC8(e5m2)
CODEC8(e4m3fnuz)
CODEC8(e5m2fnuz)

DECODE8(e8m0)
const struct value_codec codec_f8_e8m0 = { 1, 1, decode_e8m0, NULL };

/* ---- 6 bits: four elements in three bytes, the first in the lowest bits ---- */

static float f6_value(uint32_t code, unsigned mant, int bias)
{
	return f32_of((code & 0x20) << 26 | widen_code(code & 0x1f, mant, bias));
}

static void decode_f6(const uint8_t *restrict in, float *restrict out, size_t n, unsigned mant,
                      int bias)
{
	for (size_t i = 0; i < n; i += 4, in += 3) {
		uint32_t packed = in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16;
		for (unsigned k = 0; k < 4; k++)
			out[i + k] = f6_value(packed >> 6 * k & 0x3f, mant, bias);
	}
}

#define CODEC6(type, mant, bias)                                                                  \
	static void decode_##type(const uint8_t *restrict in, float *restrict out, size_t n)      \
	{                                                                                         \
		decode_f6(in, out, n, mant, bias);                                                \
	}                                                                                         \
	const struct value_codec codec_f6_##type = { 4, 3, decode_##type, NULL };

CODEC6(e2m3, 3, 1)
CODEC6(e3m2, 2, 3)

/* ---- 4 bits: two elements a byte, the first in the low nibble ---- */

static float f4_value(uint32_t code)
{
	return f32_of((code & 8) << 28 | widen_code(code & 7, 1, 1));
}

static void decode_f4(const uint8_t *restrict in, float *restrict out, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		out[2 * i] = f4_value(in[i] & 15u);
		out[2 * i + 1] = f4_value(in[i] >> 4);
	}
}

const struct value_codec codec_f4 = { 2, 1, decode_f4, NULL };
