/* test_value_blocks.c - block types of which tests/values has no vector, against formulas for a
 * single element; those that choose from grids, every row of them.
 *
 * The formulas take the layouts at their word, bit by bit and slowly; they are no loops over planes
 * and groups. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "codec/blake3.h"
#include "value/value.h"

#include <cmocka.h>

static double f16(const uint8_t *p)
{
	unsigned h = le16(p), exponent = h >> 10 & 31, fraction = h & 1023;
	double size =
	        exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, (int)exponent - 25);
	return h & 0x8000 ? -size : size;
}

static unsigned nibble(const uint8_t *qs, size_t j, bool high)
{
	return high ? qs[j] >> 4 : qs[j] & 15u;
}

/* ---- One element of each ---- */

static double q4_1(const uint8_t *b, size_t i)
{
	return (double)(float)((double)nibble(b + 4, i % 16, i >= 16) * f16(b) + f16(b + 2));
}

static double q3_k(const uint8_t *b, size_t i)
{
	const uint8_t *hmask = b, *qs = b + 32, *scales = b + 96;
	size_t half = i / 128, plane = i % 128 / 32, byte = i % 32,
	       group = 8 * half + 2 * plane + byte / 16;
	int low = (int)(group < 8 ? scales[group % 8] & 15 : scales[group % 8] >> 4);
	int top = scales[8 + group % 4] >> (2 * (group / 4)) & 3;
	int q = (qs[32 * half + byte] >> (2 * plane) & 3) -
	        (hmask[byte] >> (4 * half + plane) & 1 ? 0 : 4);
	return f16(b + 108) * (low + 16 * top - 32) * q;
}

static double q5_k(const uint8_t *b, size_t i)
{
	const uint8_t *s = b + 4, *qh = b + 16, *qs = b + 48;
	size_t j = i / 32, k = i / 64;
	int scale = j < 4 ? s[j] & 63 : (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
	int least = j < 4 ? s[j + 4] & 63 : s[j + 4] >> 4 | (s[j] >> 6) << 4;
	int fifth = qh[i % 32] >> (2 * k + j % 2) & 1;
	double q = (double)nibble(qs + 32 * k, i % 32, j % 2 == 1) + 16 * fifth;
	return (double)(float)(f16(b) * scale * q - f16(b + 2) * least);
}

static double iq4_xs(const uint8_t *b, size_t i)
{
	const int table[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
		                1,    13,   25,  38,  53,  69,  89,  113 };
	size_t group = i / 32;
	int scale = (int)(nibble(b + 4, group / 2, group % 2 == 1) +
	                  16u * (le16(b + 2) >> (2 * group) & 3)) -
	            32;
	return f16(b) * scale * table[nibble(b + 8 + 16 * group, i % 16, i % 32 >= 16)];
}

static double tq1_0(const uint8_t *b, size_t i)
{
	unsigned power = 1, byte;
	size_t k = i < 160 ? i / 32 : i < 240 ? (i - 160) / 16 : (i - 240) / 4;
	byte = i < 160 ? b[i % 32] : i < 240 ? b[32 + i % 16] : b[48 + i % 4];
	while (k-- > 0)
		power *= 3;
	return ((int)((byte * power % 256 * 3) >> 8) - 1) * f16(b + 52);
}

static double ue4m3(unsigned c)
{
	if ((c & 0xff) == 0x7f)
		return 0;
	c &= 0x7f;
	return c < 8 ? ldexp(c, -9) : ldexp(8 + c % 8, (int)(c / 8) - 10);
}

static const double e2m1[16] = { 0, .5, 1, 1.5, 2, 3, 4, 6, -0.0, -.5, -1, -1.5, -2, -3, -4, -6 };

static double nvfp4(const uint8_t *b, size_t i)
{
	return ue4m3(b[i / 16]) * e2m1[nibble(b + 4 + 8 * (i / 16), i % 8, i % 16 >= 8)];
}

static double q2_0(const uint8_t *b, size_t i)
{
	return ((b[2 + i / 4] >> 2 * (i % 4) & 3) - 1) * f16(b);
}

static const struct kind {
	tn_dtype dtype;
	double (*element)(const uint8_t *block, size_t i);
	size_t   d[2];  /* where f16 stand: kept finite, so that the formulas stay simple */
} kinds[] = {
	{ TN_Q4_1, q4_1, { 0, 2 } },     { TN_Q3_K, q3_k, { 108, 108 } },
	{ TN_Q5_K, q5_k, { 0, 2 } },     { TN_IQ4_XS, iq4_xs, { 0, 0 } },
	{ TN_TQ1_0, tq1_0, { 52, 52 } }, { TN_Q2_0, q2_0, { 0, 0 } },
	{ TN_NVFP4, nvfp4, { 4, 4 } },
};

static uint32_t noise(void)
{
	static uint32_t x = 7;
	x = x * 1664525 + 1013904223;
	return x >> 8;
}

static void decoded_as_written(void **state)
{
	uint8_t block[300];
	float out[VALUE_BLOCK];
	(void)state;
	for (const struct kind *k = kinds; k < kinds + sizeof kinds / sizeof *kinds; k++) {
		const struct value_codec *c = value_codec(k->dtype);
		for (int round = 0; round < 200; round++) {
			for (size_t i = 0; i < c->bytes; i++)
				block[i] = (uint8_t)noise();
			block[k->d[0] + 1] &= 0xbf;
			block[k->d[1] + 1] &= 0xbf;
			c->decode(block, out, c->elems);
			for (size_t i = 0; i < c->elems; i++)
				if (fabs((double)out[i] - k->element(block, i)) > 0)
					fail_msg("%s element %zu: %a, not %a",
					         tn_dtype_name(k->dtype), i, (double)out[i],
					         k->element(block, i));
		}
	}
}

/* ---- Grids ---- */

/* What ggml decodes of GRID_BLOCKS blocks of noise, in which each row of a grid is more than once. */
static const struct grid {
	tn_dtype    dtype;
	size_t      d; /* where the upper byte of an f16 is, which is kept finite */
	const char *digest;
} grids[] = {
	{ TN_IQ1_S, 1, "b4aef3f1edcfdd4fb3c972c32ce45366197511230ff4663ff8186c9af937b2f9" },
	{ TN_IQ1_M, 55, "cb8253d2a69b983dd8fc40f23ab41c1e9239121ac58e6d71a3564aca79058ae5" },
	{ TN_IQ2_XXS, 1, "c1eff2004e6af4098a389af3957fcf3c746f747394db7aca620c31d52531e84c" },
	{ TN_IQ2_XS, 1, "4c2590ad457acd7186e8e2cd8cbc133118ec3edc89d0e035bc66c6c240cb7435" },
	{ TN_IQ2_S, 1, "a3998e2cf4ed87c0e6e45a06cff7116c0643f6d4d198798e5afd01c9ba702e87" },
	{ TN_IQ3_XXS, 1, "de01e3c4a2b61787c1ec7b7082301b6e588476c9c33e1bd91886437e606e14b0" },
	{ TN_IQ3_S, 1, "f11685d3589c8b4d1018fe56c32e74bc9d8e24092a00fe58a543621a375f9d54" },
};
enum { GRID_BLOCKS = 1024 };

static tn_digest digest_of_noise(const struct grid *g)
{
	const struct value_codec *c = value_codec(g->dtype);
	uint32_t x = 1;
	uint8_t block[300], bytes[4 * VALUE_BLOCK];
	float out[VALUE_BLOCK];
	struct b3 hash;
	tn_digest digest;
	b3_init(&hash);
	for (size_t n = 0; n < GRID_BLOCKS; n++) {
		for (size_t i = 0; i < c->bytes; i++) {
			x = x * 1664525 + 1013904223;
			block[i] = (uint8_t)(x >> 24);
		}
		block[g->d] &= 0xbf;
		c->decode(block, out, VALUE_BLOCK);
		for (size_t i = 0; i < VALUE_BLOCK; i++)
			put_le32(bytes + 4 * i, f32_bits(out[i]));
		b3_update(&hash, bytes, sizeof bytes);
	}
	b3_final(&hash, &digest);
	return digest;
}

static void every_row_of_grids(void **state)
{
	(void)state;
	for (const struct grid *g = grids; g < grids + sizeof grids / sizeof *grids; g++) {
		tn_digest digest = digest_of_noise(g);
		char hex[2 * TN_DIGEST_LEN + 1];
		tn_digest_text(&digest, hex);
		if (strcmp(hex, g->digest) != 0)
			fail_msg("%s: other values than those of ggml", tn_dtype_name(g->dtype));
	}
}

/* Bytes 0x7f, 0x80, 0xff and 0 as scales. */
static void nvfp4_scales(void **state)
{
	uint8_t block[36] = { 0x7f, 0x80, 0xff, 0x00 };
	float out[64];
	(void)state;
	memset(block + 4, 0x22, 32);
	value_codec(TN_NVFP4)->decode(block, out, 64);
	for (size_t i = 0; i < 64; i++)
		assert_true(fabsf(out[i] - (i / 16 == 2 ? 480.0f : 0)) < 1e-9f);
}

/* ---- Encoding: what is made is the nearest that there is ---- */

static void fill(float *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = (float)((int)noise() - (1 << 23)) * ldexpf(1, -20 - (int)(noise() % 6));
}

/* No code of the block that was made would be nearer to its value, but for the rounding of d to
 * f16. */
static void nearest(tn_dtype d, double slack)
{
	const struct value_codec *c = value_codec(d);
	float x[VALUE_BLOCK], y[VALUE_BLOCK];
	uint8_t block[300];
	for (int round = 0; round < 200; round++) {
		double max = 0;
		fill(x, c->elems);
		c->encode(x, block, c->elems);
		c->decode(block, y, c->elems);
		for (size_t i = 0; i < c->elems; i++)
			max = fmax(max, fabs((double)x[i]));
		for (size_t i = 0; i < c->elems; i++) {
			double best = (double)INFINITY, error = fabs((double)x[i] - (double)y[i]);
			/* every code that could be nearer is that of some element, or not needed */
			for (size_t k = 0; k < c->elems; k++)
				best = fmin(best, fabs((double)x[i] - (double)y[k]));
			if (error > best + slack * max)
				fail_msg("%s element %zu: %g became %g", tn_dtype_name(d), i,
				         (double)x[i], (double)y[i]);
		}
	}
}

static void few_codes_are_nearest(void **state)
{
	(void)state;
	nearest(TN_Q4_1, 1e-3);
	nearest(TN_Q2_0, 1e-3);
	nearest(TN_TQ1_0, 1e-3);
}

/* A group of nvfp4 by search: the scale nearest to a sixth of the largest, ties up, but what is
 * below the first normal number stays below it, and what comes to 256 is 448; the code nearest, the
 * first on a tie. */
static void nvfp4_by_search(const float *x, uint8_t *scale, uint8_t codes[16])
{
	float max = 0;
	for (size_t i = 0; i < 16; i++)
		max = fmaxf(max, fabsf(x[i]));
	double want = (double)(max / 6), found = (double)INFINITY;
	for (unsigned c = 0; c < (want < ldexp(1, -6) ? 8 : 0x7f); c++)
		if (fabs(ue4m3(c) - want) <= found)
			found = fabs(ue4m3(c) - want), *scale = (uint8_t)c;
	if (*scale >= 0x78)
		*scale = 0x7e;
	for (size_t i = 0; i < 16; i++) {
		found = (double)INFINITY;
		for (unsigned c = 0; c < 16; c++)
			if (fabs(ue4m3(*scale) * e2m1[c] - (double)x[i]) < found)
				found = fabs(ue4m3(*scale) * e2m1[c] - (double)x[i]),
				codes[i] = (uint8_t)c;
	}
}

static void nvfp4_made_by_search(void **state)
{
	float x[64];
	uint8_t block[36], scale = 0, codes[16];
	(void)state;
	for (int round = 0; round < 500; round++) {
		fill(x, 64);
		for (size_t i = 0; i < 64; i++)
			x[i] *= ldexpf(1, 12 - round % 26);
		value_codec(TN_NVFP4)->encode(x, block, 64);
		for (size_t g = 0; g < 4; g++) {
			nvfp4_by_search(x + 16 * g, &scale, codes);
			assert_int_equal(block[g], scale);
			for (size_t i = 0; i < 16; i++)
				assert_int_equal(nibble(block + 4 + 8 * g, i % 8, i >= 8),
				                 codes[i]);
		}
	}
}

/* The logarithm of a number just below a power of two, rounded to f32, may be that power. */
static void mxfp4_scale(void **state)
{
	float x[32] = { 0 };
	uint8_t block[17];
	(void)state;
	for (int k = -100; k < 120; k++)
		for (uint32_t below = 0; below < 100; below++) {
			x[5] = f32_of(f32_bits(ldexpf(1, k)) - below);
			value_codec(TN_MXFP4)->encode(x, block, 32);
			float log = (float)log2((double)x[5]);
			assert_int_equal(block[0], (int)floorf(log) - 2 + 127);
		}
}

/* tq1_0 holds five digits of base three in a byte: all 243 come back. */
static void all_digits(void **state)
{
	float x[VALUE_BLOCK], y[VALUE_BLOCK];
	uint8_t block[54];
	(void)state;
	for (unsigned v = 0; v < 243; v++) {
		for (size_t i = 0; i < VALUE_BLOCK; i++) {
			unsigned digits = v;
			for (size_t k = i < 240 ? i / 16 % 5 : (i - 240) / 4; k-- > 0; )
				digits /= 3;
			x[i] = (float)digits - 3 * (float)(digits / 3) - 1;
		}
		x[255] = 1; /* so that d is 1 */
		value_codec(TN_TQ1_0)->encode(x, block, VALUE_BLOCK);
		value_codec(TN_TQ1_0)->decode(block, y, VALUE_BLOCK);
		for (size_t i = 0; i < VALUE_BLOCK; i++)
			assert_true(fabsf(x[i] - y[i]) < 1e-9f);
	}
}

/* ggml's scale of a block of zeros is 0 / -8, whatever sign the zeros have. */
static void zeros_of_either_sign(void **state)
{
	const tn_dtype some[] = { TN_Q4_0, TN_Q5_0 };
	float x[32];
	uint8_t block[40];
	(void)state;
	for (size_t k = 0; k < 4; k++) {
		for (size_t i = 0; i < 32; i++)
			x[i] = k % 2 != 0 ? -0.0f : 0.0f;
		value_codec(some[k / 2])->encode(x, block, 32);
		assert_int_equal(block[0] | block[1] << 8, 0x8000);
	}
}

/* Numbers that are none do not reach into their neighbours' codes where the type has a choice. */
static void not_a_number(void **state)
{
	float x[32], y[32];
	uint8_t block[40];
	const tn_dtype some[] = { TN_Q4_0, TN_Q5_0, TN_Q8_0, TN_Q8_1, TN_APR_Q4, TN_MXFP4 };
	(void)state;
	for (size_t k = 0; k < sizeof some / sizeof *some; k++) {
		const struct value_codec *c = value_codec(some[k]);
		for (size_t i = 0; i < 32; i++)
			x[i] = (float)i;
		x[3] = NAN;
		c->encode(x, block, 32);
		c->decode(block, y, 32);
		assert_true(fabsf(y[3]) < 1e-9f);
		assert_true(fabsf(y[31] - 31) < 7.1f && fabsf(y[4] - 4) < 2.6f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decoded_as_written),
		cmocka_unit_test(every_row_of_grids),
		cmocka_unit_test(nvfp4_scales),
		cmocka_unit_test(few_codes_are_nearest),
		cmocka_unit_test(nvfp4_made_by_search),
		cmocka_unit_test(mxfp4_scale),
		cmocka_unit_test(all_digits),
		cmocka_unit_test(zeros_of_either_sign),
		cmocka_unit_test(not_a_number),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
