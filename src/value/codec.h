/* codec.h - what the files of this folder share: their codecs, and arithmetic that quantisers have
 * in common.
 *
 * Every step of a calculation is assigned to a float, so that it is rounded as one wherever it is
 * compiled. */
#ifndef VALUE_CODEC_H
#define VALUE_CODEC_H

#include "base/bytes.h"
#include "value/value.h"

extern const struct value_codec
	codec_bool, codec_bool_u32,
	codec_u8, codec_u16, codec_u32, codec_u64, codec_i8, codec_i16, codec_i32, codec_i64,
	codec_f16, codec_bf16, codec_f32, codec_f64,
	codec_f8_e4m3, codec_f8_e5m2, codec_f8_e8m0, codec_f8_e4m3fnuz, codec_f8_e5m2fnuz,
	codec_f6_e2m3, codec_f6_e3m2, codec_f4,
	codec_apr_q4,
	codec_q4_0, codec_q4_1, codec_q5_0, codec_q5_1, codec_q8_0, codec_q8_1,
	codec_q2_k, codec_q3_k, codec_q4_k, codec_q5_k, codec_q6_k, codec_q8_k,
	codec_iq1_s, codec_iq1_m, codec_iq2_xxs, codec_iq2_xs, codec_iq2_s,
	codec_iq3_xxs, codec_iq3_s,
	codec_iq4_nl, codec_iq4_xs,
	codec_tq1_0, codec_tq2_0, codec_q1_0, codec_q2_0, codec_mxfp4, codec_nvfp4;

enum { SUPER = 256 }; /* elements of most of ggml's blocks */

/* The codec of a type of such blocks that is only read, by a function for one block. */
#define SUPER_DECODER(type, bytes)                                                                \
	static void decode_##type(const uint8_t *restrict in, float *restrict out, size_t n)      \
	{                                                                                         \
		for (; n > 0; n -= SUPER, in += (bytes), out += SUPER)                            \
			type##_block(in, out);                                                    \
	}                                                                                         \
	const struct value_codec codec_##type = { SUPER, bytes, decode_##type, NULL };

/* ---- Loads that a compiler makes vectors of ---- */

static inline uint16_t load16(const uint8_t *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof v);
	return host_is_big_endian() ? le16(p) : v;
}

static inline uint32_t load32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return host_is_big_endian() ? le32(p) : v;
}

static inline uint64_t load64(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return host_is_big_endian() ? le64(p) : v;
}

static inline void store16(uint8_t *p, uint16_t v)
{
	if (host_is_big_endian())
		put_le16(p, v);
	else
		memcpy(p, &v, sizeof v);
}

static inline void store64(uint8_t *p, uint64_t v)
{
	if (host_is_big_endian())
		put_le64(p, v);
	else
		memcpy(p, &v, sizeof v);
}

static inline void store32(uint8_t *p, uint32_t v)
{
	if (host_is_big_endian())
		put_le32(p, v);
	else
		memcpy(p, &v, sizeof v);
}

/* ---- Narrow floats ---- */

/* How a float of mant bits after the point is made of an f32. */
struct narrow {
	unsigned mant;
	int      bias;
	uint32_t max;       /* the code of the largest finite number */
	uint32_t over, nan; /* the codes of what is larger, and of NaN */
};

/* The code, without a sign, of the magnitude mag (an f32's bits): nearest, ties to even. All three
 * ways are computed and one is chosen, so that a loop over it has no branches. */
static inline uint32_t narrow_code(uint32_t mag, struct narrow to)
{
	unsigned shift = 23 - to.mant;
	/* 2^(1-bias), the smallest normal number */
	uint32_t least = (uint32_t)(128 - to.bias) << 23;
	/* a number whose last bit weighs what the smallest of the target does: adding it rounds */
	uint32_t unit = least + (shift << 23);
	float sum = f32_of(mag) + f32_of(unit);
	uint32_t small = f32_bits(sum) - unit;
	uint32_t rounded = mag + (1u << (shift - 1)) - 1 + (mag >> shift & 1);
	uint32_t normal = (rounded - ((uint32_t)(127 - to.bias) << 23)) >> shift;
	uint32_t code = (int32_t)mag < (int32_t)least ? small : normal;
	code = (int32_t)code > (int32_t)to.max ? to.over : code;
	return (int32_t)mag > 0x7f800000 ? to.nan : code;
}

/* The magnitude, as an f32's bits, of a code without sign; all exponents are those of numbers. No
 * way to it leads over subnormal f32, at which many processors stop and think. */
static inline uint32_t widen_code(uint32_t code, unsigned mant, int bias)
{
	uint32_t least = (uint32_t)(128 - bias) << 23; /* 2^(1-bias), the smallest normal number */
	uint32_t bits = (code << (23 - mant)) + ((uint32_t)(127 - bias) << 23);
	/* a subnormal one is read as if it had the leading 1 of the smallest normal one, which is then taken away */
	uint32_t small = (int32_t)bits < (int32_t)least ? UINT32_MAX : 0;
	float v = f32_of(bits + (small & 1u << 23)) - f32_of(small & least);
	return f32_bits(v);
}

static inline uint32_t f16_bits(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, mag = h & 0x7fffu;
	return sign | (mag >= 0x7c00 ? mag << 13 | 0x7f800000 : widen_code(mag, 10, 15));
}

static inline float f16_value(uint16_t h) { return f32_of(f16_bits(h)); }

/* NaN keeps its sign and the top of its payload, and becomes quiet. */
static inline uint16_t f16_code(uint32_t bits)
{
	uint32_t mag = bits & 0x7fffffff;
	struct narrow f16 = { 10, 15, 0x7bff, 0x7c00, 0x7e00 | (mag >> 13 & 0x3ff) };
	return (uint16_t)((bits >> 16 & 0x8000) | narrow_code(mag, f16));
}

/* The f16 that stands in a block. */
static inline float get_f16(const uint8_t *p) { return f16_value(load16(p)); }
static inline void  put_f16(uint8_t *p, float v) { store16(p, f16_code(f32_bits(v))); }

/* 1-4-3 with bias 7 and no infinity. */
static inline uint32_t e4m3_bits(uint8_t c)
{
	uint32_t sign = (uint32_t)(c & 0x80) << 24, mag = c & 0x7fu;
	return sign | (mag == 0x7f ? 0x7fc00000 : widen_code(mag, 3, 7));
}

/* 2^(c-127). */
static inline uint32_t e8m0_bits(uint8_t c)
{
	return c == 0xff ? 0x7fc00000 : c == 0 ? 0x00400000 : (uint32_t)c << 23;
}

/* ---- What quantisers have in common ---- */

static inline float abs_f32(float v) { return f32_of(f32_bits(v) & 0x7fffffff); }
static inline float inverse(float d) { return d != 0 ? 1 / d : 0; }

/* Kept between two numbers; NaN, which is the product of nothing and infinity as well, counts as 0.
 */
static inline float clamp_f32(float v, float lo, float hi)
{
	v = v == v ? v : 0;
	v = v < lo ? lo : v;
	return v > hi ? hi : v;
}

/* Nearest, ties away from zero; of magnitudes below 2^22. */
static inline int round_away(float v)
{
	int whole = (int)v;
	float rest = v - (float)whole;
	return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

/* Bits of the magnitude, as numbers in the same order. */
static inline int32_t size_bits(float v) { return (int32_t)(f32_bits(v) & 0x7fffffff); }

static inline bool is_nan_size(int32_t size) { return size > 0x7f800000; }

/* The largest magnitude; NaN counts as 0. It is looked for again where there is any. */
static inline float block_max(const float *in, size_t n)
{
	int32_t max = 0;
	for (size_t i = 0; i < n; i++) {
		int32_t size = size_bits(in[i]);
		max = size > max ? size : max;
	}
	if (!is_nan_size(max))
		return f32_of((uint32_t)max);
	max = 0;
	for (size_t i = 0; i < n; i++) {
		int32_t size = size_bits(in[i]);
		max = size > max && !is_nan_size(size) ? size : max;
	}
	return f32_of((uint32_t)max);
}

/* The value of largest magnitude, with its sign; of equal ones the first. Zeros of either sign are +0, as
 * for ggml, which takes only what is larger than that. */
static inline float block_extreme(const float *in, size_t n)
{
	float max = block_max(in, n);
	int plus = 0, minus = 0;
	if (max == 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		plus |= in[i] == max;
		minus |= in[i] == -max;
	}
	if (plus != minus)
		return plus ? max : -max;
	while (abs_f32(*in) != max)
		in++;
	return *in;
}

#endif
