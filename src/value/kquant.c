/* kquant.c - ggml's blocks of 256 with scales inside: q2_k q3_k q4_k q5_k q6_k, which are only
 * read, and q8_k.
 *
 *	q2_k  scales[16] | qs[64] | d | dmin            16 groups of 16: nibbles of scale and minimum
 *	q3_k  hmask[32] | qs[64] | scales[12] | d       16 groups of 16, scales of six bits less 32
 *	q4_k  d | dmin | scales[12] | qs[128]           8 groups of 32, six bits of scale and minimum
 *	q5_k  d | dmin | scales[12] | qh[32] | qs[128]  the same and a fifth bit
 *	q6_k  ql[128] | qh[64] | scales[16] | d         16 groups of 16, signed scales
 *	q8_k  d as f32 | q[256] | sums of 16 as i16     what ggml computes with
 *
 * A value is d * scale * q - dmin * minimum; every product of these is exact in f32. */
#include "value/codec.h"

/* ---- q2_k, q3_k: codes of two bits, four planes over 32 bytes, twice ---- */

/* The byte and the shift of element i. */
static inline size_t   plane_byte(size_t i) { return i / 128 * 32 + i % 32; }
static inline unsigned plane_shift(size_t i) { return (unsigned)(i % 128 / 32 * 2); }

static void q2_k_block(const uint8_t *restrict in, float *restrict out)
{
	float d = get_f16(in + 80), dmin = get_f16(in + 82);
	for (size_t g = 0; g < SUPER / 16; g++) {
		float scale = d * (float)(in[g] & 15), least = dmin * (float)(in[g] >> 4);
		const uint8_t *qs = in + 16 + plane_byte(16 * g);
		for (size_t j = 0; j < 16; j++) {
			float product = scale * (float)(qs[j] >> plane_shift(16 * g) & 3);
			out[16 * g + j] = product - least;
		}
	}
}

/* Four bits of scale j in the first 8 bytes, two in the last 4. */
static int q3_k_scale(const uint8_t *s, unsigned j)
{
	int low = s[j % 8] >> j / 8 * 4 & 15, high = s[8 + j % 4] >> j / 4 * 2 & 3;
	return (low | high << 4) - 32;
}

static void q3_k_block(const uint8_t *restrict in, float *restrict out)
{
	float d = get_f16(in + 108);
	for (unsigned g = 0; g < SUPER / 16; g++) {
		float scale = d * (float)q3_k_scale(in + 96, g);
		const uint8_t *qs = in + 32 + plane_byte(16 * g), *high = in + 16 * g % 32;
		for (size_t j = 0; j < 16; j++) {
			int q = (qs[j] >> plane_shift(16 * g) & 3) - (high[j] >> g / 2 & 1 ? 0 : 4);
			out[16 * g + j] = scale * (float)q;
		}
	}
}

/* ---- q4_k, q5_k ---- */

static inline int six_bit_scale(const uint8_t *s, size_t g)
{
	return g < 4 ? s[g] & 63 : (s[g + 4] & 15) | s[g - 4] >> 6 << 4;
}

static inline int six_bit_least(const uint8_t *s, size_t g)
{
	return g < 4 ? s[g + 4] & 63 : s[g + 4] >> 4 | s[g] >> 6 << 4;
}

static void q4_k_block(const uint8_t *restrict in, float *restrict out)
{
	float d = get_f16(in), dmin = get_f16(in + 2);
	for (size_t g = 0; g < SUPER / 32; g++) {
		float scale = d * (float)six_bit_scale(in + 4, g),
		      least = dmin * (float)six_bit_least(in + 4, g);
		const uint8_t *qs = in + 16 + g / 2 * 32;
		uint8_t q[32];
		for (size_t j = 0; j < 32; j++)
			q[j] = g % 2 == 0 ? qs[j] & 15 : qs[j] >> 4;
		for (size_t j = 0; j < 32; j++) {
			float product = scale * (float)q[j];
			out[32 * g + j] = product - least;
		}
	}
}

static void q5_k_block(const uint8_t *restrict in, float *restrict out)
{
	float d = get_f16(in), dmin = get_f16(in + 2);
	for (size_t g = 0; g < SUPER / 32; g++) {
		float scale = d * (float)six_bit_scale(in + 4, g),
		      least = dmin * (float)six_bit_least(in + 4, g);
		const uint8_t *qh = in + 16, *qs = in + 48 + g / 2 * 32;
		for (size_t j = 0; j < 32; j++) {
			int q = (qs[j] >> g % 2 * 4 & 15) | (qh[j] >> g & 1) << 4;
			float product = scale * (float)q;
			out[32 * g + j] = product - least;
		}
	}
}

/* ---- q6_k ---- */

/* Per 128: low nibbles of two runs of 32 bytes, then their high ones; two more bits of each in qh.
 */
static void q6_k_block(const uint8_t *restrict in, float *restrict out)
{
	float d = get_f16(in + 208);
	for (size_t g = 0; g < SUPER / 16; g++) {
		size_t half = g / 8, part = g % 8 / 2, at = g % 2 * 16;
		const uint8_t *ql = in + 64 * half + 32 * (part & 1) + at,
		              *qh = in + 128 + 32 * half + at;
		float scale = d * (float)(int8_t)in[192 + g];
		for (size_t j = 0; j < 16; j++) {
			int q = (ql[j] >> part / 2 * 4 & 15) | (qh[j] >> 2 * part & 3) << 4;
			out[16 * g + j] = scale * (float)(q - 32);
		}
	}
}

SUPER_DECODER(q2_k, 84)
SUPER_DECODER(q3_k, 110)
SUPER_DECODER(q4_k, 144)
SUPER_DECODER(q5_k, 176)
SUPER_DECODER(q6_k, 210)

void value_tame(tn_dtype type, uint8_t *blocks, size_t n)
{
	size_t bytes = type == TN_Q4_K ? 144 : 210, first = type == TN_Q4_K ? 0 : 208;
	if (type != TN_Q4_K && type != TN_Q6_K)
		return;
	for (size_t i = 0; i < n; i++)
		for (size_t at = first; at < (type == TN_Q4_K ? 4 : 210); at += 2) {
			uint8_t *scale = blocks + i * bytes + at;
			if ((load16(scale) & 0x7c00) == 0x7c00)
				store16(scale, 0);
		}
}

/* ---- q8_k ---- */

static void decode_q8_k(const uint8_t *restrict in, float *restrict out, size_t n)
{
	for (; n > 0; n -= SUPER, in += 292, out += SUPER) {
		float d = f32_of(load32(in));
		for (size_t j = 0; j < SUPER; j++)
			out[j] = d * (float)(int8_t)in[4 + j];
	}
}

/* Nearest, ties to even; of magnitudes below 2^22. */
static int round_even(float v)
{
	const float ulp_is_one = 0x1.8p23f;
	float sum = v + ulp_is_one;
	return (int)(sum - ulp_is_one);
}

static void q8_k_sums(uint8_t *block)
{
	for (size_t g = 0; g < SUPER / 16; g++) {
		int sum = 0;
		for (size_t j = 0; j < 16; j++)
			sum += (int8_t)block[4 + 16 * g + j];
		store16(block + 4 + SUPER + 2 * g, (uint16_t)sum);
	}
}

/* The value of largest magnitude becomes -127. */
static void encode_q8_k(const float *restrict in, uint8_t *restrict out, size_t n)
{
	for (; n > 0; n -= SUPER, in += SUPER, out += 292) {
		float extreme = block_extreme(in, SUPER), scale = extreme != 0 ? -127 / extreme : 0;
		store32(out, f32_bits(inverse(scale)));
		for (size_t j = 0; j < SUPER; j++) {
			float q = in[j] * scale;
			out[4 + j] = (uint8_t)round_even(clamp_f32(q, -127, 127));
		}
		q8_k_sums(out);
	}
}

const struct value_codec codec_q8_k = { SUPER, 292, decode_q8_k, encode_q8_k };
