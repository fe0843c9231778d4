/* few_bits.c - ggml's blocks of one and two bits, and of three states.
 *
 *	q1_0   d | 16 bytes          128 bits: d or -d
 *	q2_0   d | 16 bytes          64 codes of two bits: (q-1)d
 *	tq2_0  qs[64] | d            256 codes of two bits, four planes over 32 bytes, twice: (q-1)d
 *	tq1_0  qs[48] | qh[4] | d    256 digits of base three, five a byte: (digit-1)d
 *
 * A byte of tq1_0 holds v = the digits as a number of base three, the first the highest, as
 * ceil(256 v / 243): the fraction v/243 in eight bits, from which digit after digit is taken by
 * multiplying with three. Five planes lie over the first 32 bytes, five over the next 16, four over
 * the last 4. */
#include "value/codec.h"

/* ---- q1_0, q2_0 ---- */

static void decode_q1_0(const uint8_t *restrict in, float *restrict out, size_t n)
{
	for (; n > 0; n -= 128, in += 18, out += 128) {
		uint32_t d = f16_bits(load16(in)), sign = 0x80000000;
		for (size_t j = 0; j < 128; j += 8)
			for (size_t k = 0; k < 8; k++)
				out[j + k] = f32_of(d ^ (in[2 + j / 8] & 1u << k ? 0 : sign));
	}
}

/* d is the mean magnitude, summed in order. */
static void encode_q1_0(const float *restrict in, uint8_t *restrict out, size_t n)
{
	for (; n > 0; n -= 128, in += 128, out += 18) {
		float sum = 0;
		memset(out, 0, 18);
		for (size_t j = 0; j < 128; j++) {
			sum += abs_f32(in[j]);
			out[2 + j / 8] |= (uint8_t)((in[j] >= 0) << j % 8);
		}
		put_f16(out, sum / 128);
	}
}

/* 0, 1, 2 for the nearest of -d, 0, d; a fourth code, which stands for 2d, is never made. */
static inline unsigned three_state(float v, float id)
{
	float scaled = v * id;
	return (unsigned)(round_away(clamp_f32(scaled, -1, 1)) + 1);
}

static void decode_q2_0(const uint8_t *restrict in, float *restrict out, size_t n)
{
	for (; n > 0; n -= 64, in += 18, out += 64) {
		float d = get_f16(in);
		for (size_t j = 0; j < 64; j++)
			out[j] = (float)((in[2 + j / 4] >> j % 4 * 2 & 3) - 1) * d;
	}
}

static void encode_q2_0(const float *restrict in, uint8_t *restrict out, size_t n)
{
	for (; n > 0; n -= 64, in += 64, out += 18) {
		float d = block_max(in, 64), id = inverse(d);
		memset(out, 0, 18);
		put_f16(out, d);
		for (size_t j = 0; j < 64; j++)
			out[2 + j / 4] |= (uint8_t)(three_state(in[j], id) << j % 4 * 2);
	}
}

/* ---- tq2_0 ---- */

static void decode_tq2_0(const uint8_t *restrict in, float *restrict out, size_t n)
{
	for (; n > 0; n -= SUPER, in += 66, out += SUPER) {
		float d = get_f16(in + 64);
		for (size_t g = 0; g < SUPER / 32; g++)
			for (size_t j = 0; j < 32; j++)
				out[32 * g + j] =
				        (float)((in[g / 4 * 32 + j] >> g % 4 * 2 & 3) - 1) * d;
	}
}

static void encode_tq2_0(const float *restrict in, uint8_t *restrict out, size_t n)
{
	for (; n > 0; n -= SUPER, in += SUPER, out += 66) {
		float d = block_max(in, SUPER), id = inverse(d);
		memset(out, 0, 64);
		put_f16(out + 64, d);
		for (size_t g = 0; g < SUPER / 32; g++)
			for (size_t j = 0; j < 32; j++)
				out[g / 4 * 32 + j] |=
				        (uint8_t)(three_state(in[32 * g + j], id) << g % 4 * 2);
	}
}

/* ---- tq1_0 ---- */

/* The three runs of bytes, and how many planes lie over each. */
static const struct run {
	uint8_t at, bytes, planes;
} tq1_0_runs[3] = { { 0, 32, 5 }, { 32, 16, 5 }, { 48, 4, 4 } };
static const uint8_t powers[5] = { 1, 3, 9, 27, 81 };

static void decode_tq1_0(const uint8_t *restrict in, float *restrict out, size_t n)
{
	for (; n > 0; n -= SUPER, in += 54) {
		float d = get_f16(in + 52);
		for (const struct run *r = tq1_0_runs; r < tq1_0_runs + 3; r++)
			for (unsigned plane = 0; plane < r->planes; plane++)
				for (size_t j = 0; j < r->bytes; j++) {
					unsigned fraction = in[r->at + j] * powers[plane] & 0xffu;
					*out++ = (float)((int)(fraction * 3 >> 8) - 1) * d;
				}
	}
}

static uint8_t tq1_0_byte(const float *in, const struct run *r, float id)
{
	unsigned v = 0;
	for (unsigned plane = 0; plane < r->planes; plane++)
		v += three_state(in[plane * r->bytes], id) * powers[4 - plane];
	return (uint8_t)((v * 256 + 242) / 243);
}

static void encode_tq1_0(const float *restrict in, uint8_t *restrict out, size_t n)
{
	for (; n > 0; n -= SUPER, out += 54) {
		float d = block_max(in, SUPER), id = inverse(d);
		put_f16(out + 52, d);
		for (const struct run *r = tq1_0_runs; r < tq1_0_runs + 3; r++) {
			for (size_t j = 0; j < r->bytes; j++)
				out[r->at + j] = tq1_0_byte(in + j, r, id);
			in += (size_t)r->planes * r->bytes;
		}
	}
}

const struct value_codec codec_q1_0 = { 128, 18, decode_q1_0, encode_q1_0 };
const struct value_codec codec_q2_0 = { 64, 18, decode_q2_0, encode_q2_0 };
const struct value_codec codec_tq1_0 = { SUPER, 54, decode_tq1_0, encode_tq1_0 };
const struct value_codec codec_tq2_0 = { SUPER, 66, decode_tq2_0, encode_tq2_0 };
