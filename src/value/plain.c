/* plain.c - types of one number an element: integers, truth values, f16, bf16, f32, f64.
 *
 * Integers and f64 are rounded to the nearest f32. Nothing here is a float until it is known to be
 * one: bits are moved as integers, so that the payload of a NaN survives. */
#include "value/codec.h"

static void put_bits(float *out, uint32_t bits) { memcpy(out, &bits, sizeof bits); }

/* Defines a decoder that makes a float of each element. */
#define EACH(type, size, expression)                                                              \
	static void decode_##type(const uint8_t *restrict in, float *restrict out, size_t n)      \
	{                                                                                         \
		for (size_t i = 0; i < n; i++) {                                                  \
			const uint8_t *p = in + i * (size);                                       \
			out[i] = (float)(expression);                                             \
		}                                                                                 \
	}                                                                                         \
	const struct value_codec codec_##type = { 1, size, decode_##type, NULL };

EACH(bool, 1, *p != 0)
EACH(bool_u32, 4, load32(p) != 0)
EACH(u8, 1, *p)
EACH(u16, 2, load16(p))
EACH(u32, 4, load32(p))
EACH(u64, 8, load64(p))
EACH(i8, 1, (int8_t)*p)
EACH(i16, 2, (int16_t)load16(p))
EACH(i32, 4, (int32_t)load32(p))
EACH(i64, 8, (int64_t)load64(p))

/* ---- f16, bf16 ---- */

static void decode_f16(const uint8_t *restrict in, float *restrict out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put_bits(out + i, f16_bits(load16(in + 2 * i)));
}

static void encode_f16(const float *restrict in, uint8_t *restrict out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		store16(out + 2 * i, f16_code(f32_bits(in[i])));
}

const struct value_codec codec_f16 = { 1, 2, decode_f16, encode_f16 };

static void decode_bf16(const uint8_t *restrict in, float *restrict out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put_bits(out + i, (uint32_t)load16(in + 2 * i) << 16);
}

/* Nearest, ties to even; NaN keeps its top half and becomes quiet. */
static void encode_bf16(const float *restrict in, uint8_t *restrict out, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t u = f32_bits(in[i]);
		uint32_t nan = u >> 16 | 0x40, rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
		store16(out + 2 * i, (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? nan : rounded));
	}
}

const struct value_codec codec_bf16 = { 1, 2, decode_bf16, encode_bf16 };

/* ---- f32, f64 ---- */

static void decode_f32(const uint8_t *restrict in, float *restrict out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put_bits(out + i, load32(in + 4 * i));
}

static void encode_f32(const float *restrict in, uint8_t *restrict out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		store32(out + 4 * i, f32_bits(in[i]));
}

const struct value_codec codec_f32 = { 1, 4, decode_f32, encode_f32 };

static void decode_f64(const uint8_t *restrict in, float *restrict out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (float)f64_of(load64(in + 8 * i));
}

static void encode_f64(const float *restrict in, uint8_t *restrict out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		store64(out + 8 * i, f64_bits((double)in[i]));
}

const struct value_codec codec_f64 = { 1, 8, decode_f64, encode_f64 };

/* Of the two floats beside a number that is none, one has an odd last bit: that one. */
static void decode_f64_to_odd(const uint8_t *restrict in, float *restrict out, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double d = f64_of(load64(in + 8 * i));
		float f = (float)d;
		uint32_t u = f32_bits(f);
		double back = (double)f;
		if (d == d && back != d && (u & 1) == 0)
			u += (d < back) == (d < 0) ? 1 : UINT32_MAX; /* from zero, or to it */
		put_bits(out + i, u);
	}
}

const struct value_codec value_f64_to_odd = { 1, 8, decode_f64_to_odd, NULL };
