/* nibble_table.c - blocks whose nibbles are looked up: iq4_nl iq4_xs mxfp4 nvfp4.
 *
 *	iq4_nl  d | qs[16]                    32 elements, nibbles as in q4_0
 *	iq4_xs  d | high | low[4] | qs[128]   8 groups of 32, each as in q4_0
 *	mxfp4   e8m0 scale | qs[16]           32 elements, nibbles as in q4_0
 *	nvfp4   four e4m3 scales | qs[32]     four groups of 16, low nibbles are the first eight
 *
 * Scale i of iq4_xs is nibble i of low and bits 2i of the u16 high, less 32. The fours are f4 of twice
 * their value, so that all are whole, and their scales are halved for it. */
#include "value/codec.h"

#include <float.h>

/* What a byte of two nibbles says: the low one's value in the low half of a number, the high one's in the high half. A row has
 * one high nibble. */
#define PAIR(low, high)            (int16_t)((high) * 256 + ((low) & 255))
#define ROW(values, high)          values(PAIR, high)
#define ROWS(values, a, b, c, d)   ROW(values, a), ROW(values, b), ROW(values, c), ROW(values, d)

/* Steps that are narrow around zero, where weights are dense. */
#define UNEVEN(pair, h) \
	pair(-127, h), pair(-104, h), pair(-83, h), pair(-65, h), pair(-49, h), pair(-35, h), pair(-22, h), pair(-10, h), \
	pair(1, h), pair(13, h), pair(25, h), pair(38, h), pair(53, h), pair(69, h), pair(89, h), pair(113, h)
#define DOUBLED(pair, h) \
	pair(0, h), pair(1, h), pair(2, h), pair(3, h), pair(4, h), pair(6, h), pair(8, h), pair(12, h), \
	pair(0, h), pair(-1, h), pair(-2, h), pair(-3, h), pair(-4, h), pair(-6, h), pair(-8, h), pair(-12, h)

static const int16_t uneven[256] = {
	ROWS(UNEVEN, -127, -104, -83, -65), ROWS(UNEVEN, -49, -35, -22, -10),
	ROWS(UNEVEN, 1, 13, 25, 38), ROWS(UNEVEN, 53, 69, 89, 113)
};
static const int16_t doubled[256] = {
	ROWS(DOUBLED, 0, 1, 2, 3), ROWS(DOUBLED, 4, 6, 8, 12),
	ROWS(DOUBLED, 0, -1, -2, -3), ROWS(DOUBLED, -4, -6, -8, -12)
};

/* n bytes of nibbles, at most 16: the low ones, then the high ones. All are looked up before vectors do the rest. */
static inline void look_up(const uint8_t *restrict qs, size_t n, const int16_t *table, float scale,
                           float *restrict out)
{
	int16_t pairs[16];
	for (size_t j = 0; j < n; j++)
		pairs[j] = table[qs[j]];
	for (size_t j = 0; j < n; j++) {
		out[j] = scale * (float)(int8_t)pairs[j];
		out[j + n] = scale * (float)(pairs[j] >> 8);
	}
}

static void decode_iq4_nl(const uint8_t *restrict in, float *restrict out, size_t n)
{
	for (; n > 0; n -= 32, in += 18, out += 32)
		look_up(in + 2, 16, uneven, get_f16(in), out);
}

static void decode_iq4_xs(const uint8_t *restrict in, float *restrict out, size_t n)
{
	for (; n > 0; n -= 256, in += 136, out += 256) {
		float d = get_f16(in);
		unsigned high = load16(in + 2);
		for (unsigned g = 0; g < 8; g++) {
			int low = in[4 + g / 2] >> g % 2 * 4 & 15;
			int scale = low | (int)(high >> 2 * g & 3) << 4;
			look_up(in + 8 + 16 * g, 16, uneven, d * (float)(scale - 32), out + 32 * g);
		}
	}
}

const struct value_codec codec_iq4_nl = { 32, 18, decode_iq4_nl, NULL };
const struct value_codec codec_iq4_xs = { 256, 136, decode_iq4_xs, NULL };

/* ---- The nearest of the doubled fours ---- */

/* How many of the middles between neighbours lie below v / scale: a tie goes to the smaller. */
static inline unsigned nearest_four(float v, float scale)
{
	float a = abs_f32(v);
	int code = (a > 0.5f * scale) + (a > 1.5f * scale) + (a > 2.5f * scale) +
	           (a > 3.5f * scale) + (a > 5 * scale) + (a > 7 * scale) + (a > 10 * scale);
	return (unsigned)(code != 0 && v < 0 ? code + 8 : code);
}

/* The same as ggml finds it, by differences: far beyond the largest four they are rounded, and a four that is infinite is
 * near to nothing. The first of the least counts. */
static unsigned least_difference(float v, float scale)
{
	static const float fours[] = { 0, 1, 2, 3, 4, 6, 8, 12 };
	float a = abs_f32(v), least = a;
	unsigned code = 0;
	for (unsigned k = 1; k < 8; k++) {
		float difference = abs_f32(fours[k] * scale - a);
		if (difference < least) {
			least = difference;
			code = k;
		}
	}
	return code != 0 && v < 0 ? code + 8 : code;
}

/* max: the largest magnitude of the 2n elements. */
static inline void find_fours(const float *restrict in, size_t n, float max, float scale, uint8_t *restrict qs)
{
	uint32_t codes[32];
	if (16 * scale <= FLT_MAX && max < 16 * scale)
		for (size_t j = 0; j < 2 * n; j++)
			codes[j] = nearest_four(in[j], scale);
	else
		for (size_t j = 0; j < 2 * n; j++)
			codes[j] = least_difference(in[j], scale);
	for (size_t j = 0; j < n; j++)
		qs[j] = (uint8_t)(codes[j] | codes[j + n] << 4);
}

/* ---- mxfp4 ---- */

static float half_e8m0(uint8_t e)
{
	return f32_of(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23);
}

static void decode_mxfp4(const uint8_t *restrict in, float *restrict out, size_t n)
{
	for (; n > 0; n -= 32, in += 17, out += 32)
		look_up(in + 1, 16, doubled, half_e8m0(in[0]), out);
}

/* floor(log2 v) with the logarithm rounded to f32, as ggml takes it: just below a power of two it
 * is rounded up to a whole number k when the steps missing are fewer than half an ulp of k. */
static int floor_log2(float v)
{
	uint32_t bits = f32_bits(v), missing = 0x800000 - (bits & 0x7fffff);
	int k = (int)(bits >> 23) - 127 + 1, size = k < 0 ? -k : k - 1, ulp = 1;
	while (size >= 2 * ulp)
		ulp *= 2;
	return size != 0 && (float)missing < (float)ulp * 0.69314718f ? k : k - 1;
}

static uint8_t mxfp4_scale(float max)
{
	int e = max > 0 ? floor_log2(max) - 2 + 127 : 0; /* at most 253 */
	return (uint8_t)(e < 0 ? 0 : e);
}

static void encode_mxfp4(const float *restrict in, uint8_t *restrict out, size_t n)
{
	for (; n > 0; n -= 32, in += 32, out += 17) {
		float max = block_max(in, 32);
		out[0] = mxfp4_scale(max);
		find_fours(in, 16, max, half_e8m0(out[0]), out + 1);
	}
}

const struct value_codec codec_mxfp4 = { 32, 17, decode_mxfp4, encode_mxfp4 };

/* ---- nvfp4 ---- */

/* Half of an e4m3 without sign; its NaN counts as nothing, but only without the unused bit. */
static float half_e4m3(uint8_t c)
{
	if (c == 0x7f)
		return 0;
	return 0.5f * f32_of(widen_code(c & 0x7f, 3, 7));
}

static void decode_nvfp4(const uint8_t *restrict in, float *restrict out, size_t n)
{
	for (; n > 0; n -= 64, in += 36, out += 64)
		for (size_t g = 0; g < 4; g++)
			look_up(in + 4 + 8 * g, 8, doubled, half_e4m3(in[g]), out + 16 * g);
}

/* Ties are rounded up, not to even. For ggml the numbers whose exponent is that of the NaN are all too large: what comes to
 * 256 and more becomes 448. */
static uint8_t e4m3_scale(float v)
{
	if (v < 0x1p-6f) {
		float steps = v * 512 + 0.5f;
		return (uint8_t)clamp_f32(steps, 0, 7);
	}
	uint32_t code = (f32_bits(v) - (120u << 23) + (1u << 19)) >> 20;
	return (uint8_t)(code < 0x78 ? code : 0x7e);
}

static void encode_nvfp4(const float *restrict in, uint8_t *restrict out, size_t n)
{
	for (; n > 0; n -= 64, in += 64, out += 36)
		for (size_t g = 0; g < 4; g++) {
			float max = block_max(in + 16 * g, 16);
			out[g] = e4m3_scale(max / 6);
			float scale = half_e4m3(out[g]);
			if (scale > 0)
				find_fours(in + 16 * g, 8, max, scale, out + 4 + 8 * g);
			else
				memset(out + 4 + 8 * g, 0, 8);
		}
}

const struct value_codec codec_nvfp4 = { 64, 36, decode_nvfp4, encode_nvfp4 };
