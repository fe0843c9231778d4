/* legacy.c - ggml's blocks of 32: q4_0 q4_1 q5_0 q5_1 q8_0 q8_1.
 *
 *	q4_0  d | qs[16]             (q-8)d      q4_1  d | m | qs[16]          qd + m
 *	q5_0  d | qh[4] | qs[16]     (q-16)d     q5_1  d | m | qh[4] | qs[16]  qd + m
 *	q8_0  d | q[32]              qd          q8_1  d | s | q[32]           qd
 *
 * d, m and s are f16; s is d times the sum of q. Low nibbles are the first 16 elements, high ones the
 * last; bit i of qh is the fifth of element i. Quantisers divide by d before it is rounded to f16, by
 * multiplying with its inverse. */
#include "value/codec.h"

#include <float.h>

enum { BLOCK = 32, HALF = 16 };

/* ---- Nibbles ---- */

static void split_nibbles(const uint8_t *restrict qs, uint8_t *restrict q)
{
	for (size_t j = 0; j < HALF; j++) {
		q[j] = qs[j] & 15;
		q[j + HALF] = qs[j] >> 4;
	}
}

static void join_nibbles(const uint8_t *restrict q, uint8_t *restrict qs)
{
	for (size_t j = 0; j < HALF; j++)
		qs[j] = (uint8_t)((q[j] & 15) | (q[j + HALF] & 15) << 4);
}

/* Eight elements at once, one in each byte of a number. */
#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Of eight copies of a byte of qh each element keeps its own bit, which the sum carries to the top of its byte. */
static void add_fifth_bits(const uint8_t *restrict qh, uint8_t *restrict q)
{
	for (size_t j = 0; j < BLOCK; j += 8) {
		uint64_t own = EACH(qh[j / 8]) & UINT64_C(0x8040201008040201);
		store64(q + j, load64(q + j) | ((own + EACH(0x7f)) >> 3 & EACH(0x10)));
	}
}

/* The product gathers the bits of eight bytes in the top one, in their order. */
static void put_fifth_bits(const uint8_t *restrict q, uint8_t *restrict qh)
{
	for (size_t j = 0; j < BLOCK; j += 8)
		qh[j / 8] = (uint8_t)((load64(q + j) >> 4 & EACH(1)) * UINT64_C(0x0102040810204080) >> 56);
}

/* ---- Values ---- */

static void from_middle(const uint8_t *restrict q, int middle, float d, float *restrict out)
{
	for (size_t j = 0; j < BLOCK; j++)
		out[j] = (float)(q[j] - middle) * d;
}

static void from_least(const uint8_t *restrict q, float d, float m, float *restrict out)
{
	for (size_t j = 0; j < BLOCK; j++) {
		float product = (float)q[j] * d;
		out[j] = product + m;
	}
}

/* By itself, so that no vector has to hold numbers of both widths. */
static void narrow_codes(const int *restrict code, uint8_t top, uint8_t *restrict q)
{
	for (size_t j = 0; j < BLOCK; j++)
		q[j] = (uint8_t)code[j];
	for (size_t j = 0; j < BLOCK; j++)
		q[j] = q[j] < top ? q[j] : top;
}

/* Makes codes 0..top of a block, the extreme value -middle times d; id is the inverse of d. */
static void to_middle(const float *restrict in, float middle, float d, float id, uint8_t *restrict q)
{
	int code[BLOCK];
	if (abs_f32(d) <= FLT_MAX && abs_f32(id) <= FLT_MAX)
		for (size_t j = 0; j < BLOCK; j++) { /* from -middle to middle, but for the last bit */
			float scaled = in[j] == in[j] ? in[j] * id : 0;
			code[j] = (int)(scaled + (middle + 0.5f));
		}
	else
		for (size_t j = 0; j < BLOCK; j++) {
			float scaled = clamp_f32(in[j] * id, -middle, middle);
			code[j] = (int)(scaled + (middle + 0.5f));
		}
	narrow_codes(code, (uint8_t)(2 * middle - 1), q);
}

/* The other one where this one is NaN. */
static inline float larger(float v, float other) { return v > other ? v : other; }
static inline float smaller(float v, float other) { return v < other ? v : other; }

/* What block_extreme finds, by comparisons of floats that pass over NaN: halves of a block with each other, then of halves,
 * in loops that compilers make vectors of. */
static inline float extreme_of(const float *restrict in)
{
	float most[HALF], least[HALF];
	for (size_t j = 0; j < HALF; j++) {
		most[j] = larger(in[j + HALF], larger(in[j], 0));
		least[j] = smaller(in[j + HALF], smaller(in[j], 0));
	}
	for (size_t n = HALF / 2; n > 0; n /= 2)
		for (size_t j = 0; j < n; j++) {
			most[j] = larger(most[j], most[j + n]);
			least[j] = smaller(least[j], least[j + n]);
		}
	if (most[0] != -least[0])
		return most[0] > -least[0] ? most[0] : least[0];
	return block_extreme(in, BLOCK); /* of either sign: the first counts */
}

/* The scales of some blocks, together: those of one need not wait for those of another. */
struct scales {
	size_t n;
	float  d[16], id[16];
};

static void find_scales(const float *restrict in, size_t n, float middle, struct scales *s)
{
	enum { MOST = sizeof s->d / sizeof *s->d };
	s->n = n / BLOCK < MOST ? n / BLOCK : MOST;
	for (size_t k = 0; k < s->n; k++)
		s->d[k] = extreme_of(in + k * BLOCK) / -middle;
	for (size_t k = 0; k < s->n; k++)
		s->id[k] = inverse(s->d[k]);
}

/* Numbers in the order of floats, and back: -0 comes before +0, NaN of either sign is at an end. */
static inline int32_t rank_of(float v)
{
	int32_t bits = (int32_t)f32_bits(v);
	return bits ^ (int32_t)((uint32_t)(bits >> 31) >> 1);
}

static inline float of_rank(int32_t rank) { return f32_of((uint32_t)(rank ^ (int32_t)((uint32_t)(rank >> 31) >> 1))); }

/* The least and the greatest number of a block, as ggml finds them: NaN is passed over, and of zeros the first
 * counts. */
static void find_range_one_by_one(const float *in, float *min, float *max)
{
	*min = FLT_MAX;
	*max = -FLT_MAX;
	for (size_t j = 0; j < BLOCK; j++) {
		*min = in[j] < *min ? in[j] : *min;
		*max = in[j] > *max ? in[j] : *max;
	}
}

/* The same by ranks, of which compilers make vectors, where that makes no difference. */
static void find_range(const float *restrict in, float *min, float *max)
{
	int32_t least = INT32_MAX, most = INT32_MIN;
	for (size_t j = 0; j < BLOCK; j++) {
		int32_t rank = rank_of(in[j]);
		least = rank < least ? rank : least;
		most = rank > most ? rank : most;
	}
	*min = of_rank(least);
	*max = of_rank(most);
	if (*min == 0 || !(abs_f32(*min) <= FLT_MAX && abs_f32(*max) <= FLT_MAX))
		find_range_one_by_one(in, min, max);
}

/* Makes codes 0..top of what lies between the least and the greatest value of a block. */
static float to_least(const float *restrict in, float top, float *m, uint8_t *restrict q)
{
	float min, max;
	find_range(in, &min, &max);
	float range = max - min, d = range / top, id = inverse(d);
	int code[BLOCK];
	for (size_t j = 0; j < BLOCK; j++) {
		float above = in[j] - min;
		code[j] = (int)(clamp_f32(above * id, 0, top) + 0.5f);
	}
	narrow_codes(code, (uint8_t)top, q);
	*m = min;
	return d;
}

/* ---- q4_0, q4_1, q5_0, q5_1 ---- */

static void decode_q4_0(const uint8_t *restrict in, float *restrict out, size_t n)
{
	uint8_t q[BLOCK];
	for (; n > 0; n -= BLOCK, in += 18, out += BLOCK) {
		split_nibbles(in + 2, q);
		from_middle(q, 8, get_f16(in), out);
	}
}

static void encode_q4_0(const float *restrict in, uint8_t *restrict out, size_t n)
{
	struct scales s;
	uint8_t q[BLOCK];
	for (; n > 0; n -= s.n * BLOCK) {
		find_scales(in, n, 8, &s);
		for (size_t k = 0; k < s.n; k++, in += BLOCK, out += 18) {
			put_f16(out, s.d[k]);
			to_middle(in, 8, s.d[k], s.id[k], q);
			join_nibbles(q, out + 2);
		}
	}
}

static void decode_q4_1(const uint8_t *restrict in, float *restrict out, size_t n)
{
	uint8_t q[BLOCK];
	for (; n > 0; n -= BLOCK, in += 20, out += BLOCK) {
		split_nibbles(in + 4, q);
		from_least(q, get_f16(in), get_f16(in + 2), out);
	}
}

static void encode_q4_1(const float *restrict in, uint8_t *restrict out, size_t n)
{
	uint8_t q[BLOCK];
	for (; n > 0; n -= BLOCK, in += BLOCK, out += 20) {
		float m;
		put_f16(out, to_least(in, 15, &m, q));
		put_f16(out + 2, m);
		join_nibbles(q, out + 4);
	}
}

static void decode_q5_0(const uint8_t *restrict in, float *restrict out, size_t n)
{
	uint8_t q[BLOCK];
	for (; n > 0; n -= BLOCK, in += 22, out += BLOCK) {
		split_nibbles(in + 6, q);
		add_fifth_bits(in + 2, q);
		from_middle(q, 16, get_f16(in), out);
	}
}

static void encode_q5_0(const float *restrict in, uint8_t *restrict out, size_t n)
{
	struct scales s;
	uint8_t q[BLOCK];
	for (; n > 0; n -= s.n * BLOCK) {
		find_scales(in, n, 16, &s);
		for (size_t k = 0; k < s.n; k++, in += BLOCK, out += 22) {
			put_f16(out, s.d[k]);
			to_middle(in, 16, s.d[k], s.id[k], q);
			put_fifth_bits(q, out + 2);
			join_nibbles(q, out + 6);
		}
	}
}

static void decode_q5_1(const uint8_t *restrict in, float *restrict out, size_t n)
{
	uint8_t q[BLOCK];
	for (; n > 0; n -= BLOCK, in += 24, out += BLOCK) {
		split_nibbles(in + 8, q);
		add_fifth_bits(in + 4, q);
		from_least(q, get_f16(in), get_f16(in + 2), out);
	}
}

static void encode_q5_1(const float *restrict in, uint8_t *restrict out, size_t n)
{
	uint8_t q[BLOCK];
	for (; n > 0; n -= BLOCK, in += BLOCK, out += 24) {
		float m;
		put_f16(out, to_least(in, 31, &m, q));
		put_f16(out + 2, m);
		put_fifth_bits(q, out + 4);
		join_nibbles(q, out + 8);
	}
}

const struct value_codec codec_q4_0 = { BLOCK, 18, decode_q4_0, encode_q4_0 };
const struct value_codec codec_q4_1 = { BLOCK, 20, decode_q4_1, encode_q4_1 };
const struct value_codec codec_q5_0 = { BLOCK, 22, decode_q5_0, encode_q5_0 };
const struct value_codec codec_q5_1 = { BLOCK, 24, decode_q5_1, encode_q5_1 };

/* ---- q8_0, q8_1 ---- */

static void from_bytes(const uint8_t *restrict q, float d, float *restrict out)
{
	for (size_t j = 0; j < BLOCK; j++)
		out[j] = (float)(int8_t)q[j] * d;
}

/* Returns d; the sum of the codes goes to *sum. */
static float to_bytes(const float *restrict in, uint8_t *restrict q, int *sum)
{
	float d = block_max(in, BLOCK) / 127, id = inverse(d);
	int total = 0;
	for (size_t j = 0; j < BLOCK; j++) {
		float scaled = in[j] * id;
		int code = round_away(clamp_f32(scaled, -127, 127));
		q[j] = (uint8_t)code;
		total += code;
	}
	*sum = total;
	return d;
}

static void decode_q8_0(const uint8_t *restrict in, float *restrict out, size_t n)
{
	for (; n > 0; n -= BLOCK, in += 34, out += BLOCK)
		from_bytes(in + 2, get_f16(in), out);
}

static void encode_q8_0(const float *restrict in, uint8_t *restrict out, size_t n)
{
	int sum;
	for (; n > 0; n -= BLOCK, in += BLOCK, out += 34)
		put_f16(out, to_bytes(in, out + 2, &sum));
}

static void decode_q8_1(const uint8_t *restrict in, float *restrict out, size_t n)
{
	for (; n > 0; n -= BLOCK, in += 36, out += BLOCK)
		from_bytes(in + 4, get_f16(in), out);
}

static void encode_q8_1(const float *restrict in, uint8_t *restrict out, size_t n)
{
	int sum;
	for (; n > 0; n -= BLOCK, in += BLOCK, out += 36) {
		float d = to_bytes(in, out + 4, &sum);
		put_f16(out, d);
		put_f16(out + 2, (float)sum * d);
	}
}

const struct value_codec codec_q8_0 = { BLOCK, 34, decode_q8_0, encode_q8_0 };
const struct value_codec codec_q8_1 = { BLOCK, 36, decode_q8_1, encode_q8_1 };
