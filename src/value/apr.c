/* apr.c - the two quantised types of APR.
 *
 *	apr_q4  of 32 elements    f16 scale | 16 bytes: element 2j is the low nibble of byte j
 *	apr_q8  of a whole tensor f32 scale | a signed byte an element
 *
 * A scale that readers of apr_q4 would not use (subnormal, infinite or NaN) makes its block zeros. */
#include "value/codec.h"

enum { Q4 = 32, Q4_BYTES = 18 };

/* The smallest scale that counts. */
static const float Q4_LEAST = 6.1e-5f;

static float q4_scale(const uint8_t *p)
{
	float s = get_f16(p), size = abs_f32(s);
	return size >= Q4_LEAST && size <= 65504 ? s : 0;
}

static void decode_apr_q4(const uint8_t *restrict in, float *restrict out, size_t n)
{
	for (size_t at = 0; at < n; at += Q4, in += Q4_BYTES) {
		float s = q4_scale(in);
		for (size_t j = 0; j < Q4 / 2; j++) {
			out[at + 2 * j] = (float)((in[2 + j] & 15) - 8) * s;
			out[at + 2 * j + 1] = (float)((in[2 + j] >> 4) - 8) * s;
		}
	}
}

/* The division is by the scale before it is rounded to f16. Nibbles past the last element stay 0.
 */
static void encode_apr_q4(const float *restrict in, uint8_t *restrict out, size_t n)
{
	for (size_t at = 0; at < n; at += Q4, out += Q4_BYTES) {
		size_t used = n - at < Q4 ? n - at : Q4;
		float max = block_max(in + at, used), scale = max != 0 ? max / 7 : 1;
		memset(out, 0, Q4_BYTES);
		put_f16(out, scale);
		for (size_t i = 0; i < used; i++) {
			float q = in[at + i] / scale;
			unsigned nibble = (unsigned)(round_away(clamp_f32(q, -8, 7)) + 8);
			out[2 + i / 2] |= (uint8_t)(nibble << i % 2 * 4);
		}
	}
}

const struct value_codec codec_apr_q4 = { Q4, Q4_BYTES, decode_apr_q4, encode_apr_q4 };

float apr_q8_max(float m, const float *in, size_t n)
{
	float max = block_max(in, n);
	return max > m ? max : m;
}

float apr_q8_scale(float max) { return max != 0 ? max / 127 : 1; }

void apr_q8_encode(float scale, const float *restrict in, uint8_t *restrict out, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		float q = in[i] / scale;
		out[i] = (uint8_t)round_away(clamp_f32(q, -127, 127));
	}
}

void apr_q8_decode(float scale, const uint8_t *restrict in, float *restrict out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (float)(int8_t)in[i] * scale;
}
