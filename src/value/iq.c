/* iq.c - ggml's blocks of 256 that choose rows of numbers from a grid. They are only read.
 *
 *	iq1_s    d | index[32] | bits as u16[8]
 *	iq1_m    index[32] | high[16] | scales as u16[4]
 *	iq2_xxs  d | 8 times: index[4] | bits as u32
 *	iq2_xs   d | index as u16[32] | scales[8]
 *	iq2_s    d | index[32] | signs[32] | high[8] | scales[8]
 *	iq3_xxs  d | index[64] | bits as u32[8]
 *	iq3_s    d | index[64] | high[8] | signs[32] | scales[4]
 *
 * Eight elements are a row of iq1 and iq2, two rows of iq3; in all fields the first elements have the
 * lowest bits. iq1 adds an eighth to each number of a row, or takes it away; rows of the others are
 * without signs. A value is d times an odd number of steps times its number, exact in f32. */
#include "value/codec.h"
#include "value/iq_grids.h"

/* ---- Eight numbers, each a byte of a u64 ---- */

#define EACH(byte) ((byte) * UINT64_C(0x0101010101010101))

/* Eight fields of as many bits, the first the lowest, each to a byte of its own: the upper four are
 * moved away from the lower, then of each four two, then of each two one. */
static inline uint64_t spread(uint64_t fields, unsigned bits)
{
	const uint64_t one = 1;
	uint64_t x = fields;
	x = (x | x << (32 - 4 * bits)) & ((one << 4 * bits) - 1) * 0x0000000100000001;
	x = (x | x << (16 - 2 * bits)) & ((one << 2 * bits) - 1) * 0x0001000100010001;
	return (x | x << (8 - bits)) & EACH((one << bits) - 1);
}

/* Those whose bit in signs is set become negative; none is 0, so that no byte carries. */
static inline uint64_t with_signs(uint64_t sizes, unsigned signs)
{
	uint64_t minus = spread(signs, 1);
	return (sizes ^ minus * 0xff) + minus;
}

/* Seven signs and the eighth, which makes their number even. */
static inline unsigned eight_signs(unsigned seven)
{
	unsigned odd = seven ^ seven >> 4;
	odd ^= odd >> 2;
	odd ^= odd >> 1;
	return seven | (odd & 1) << 7;
}

/* A block of which eight gives numbers 8i to 8i+7, and steps the scale of a group of 16. All numbers
 * are found before one is multiplied: of that a compiler makes vectors. */
static inline void decode_rows(const uint8_t *restrict in, float d, float *restrict out,
                               uint64_t (*eight)(const uint8_t *in, size_t i),
                               unsigned (*steps)(const uint8_t *in, size_t g))
{
	uint8_t numbers[SUPER];
	for (size_t i = 0; i < SUPER / 8; i++)
		store64(numbers + 8 * i, eight(in, i));
	for (size_t g = 0; g < SUPER / 16; g++) {
		float scale = d * (float)(2 * steps(in, g) + 1);
		for (size_t j = 0; j < 16; j++)
			out[16 * g + j] = scale * (float)(int8_t)numbers[16 * g + j];
	}
}

static inline unsigned nibble_at(const uint8_t *p, size_t i) { return (unsigned)p[i / 2] >> i % 2 * 4 & 15u; }
static inline unsigned u16_at(const uint8_t *p, size_t i) { return load16(p + 2 * i); }
static inline uint32_t u32_at(const uint8_t *p, size_t i) { return load32(p + 4 * i); }

/* ---- iq1: in eighths ---- */

/* 8 times -1, 0 or 1, and one up or down; with the top bit turned, so that no byte borrows. */
static inline uint64_t iq1_eight(unsigned index, bool down)
{
	uint64_t turned = spread(grid_iq1_s[index], 2) * 8 + EACH(down ? 119 : 121);
	return turned ^ EACH(128);
}

/* For 32 elements a u16 has four times three more bits of index, three of scale, and a bit for what
 * becomes of the eighth. */
static uint64_t iq1_s_eight(const uint8_t *in, size_t i)
{
	unsigned bits = u16_at(in + 34, i / 4);
	return iq1_eight(in[2 + i] | (bits >> i % 4 * 3 & 7) << 8, bits >> 15);
}

static unsigned iq1_s_steps(const uint8_t *in, size_t g)
{
	return u16_at(in + 34, g / 2) >> 12 & 7;
}

static void iq1_s_block(const uint8_t *restrict in, float *restrict out)
{
	decode_rows(in, get_f16(in) / 8, out, iq1_s_eight, iq1_s_steps);
}

/* A nibble of high has three more bits of index, and the one for the eighth. */
static uint64_t iq1_m_eight(const uint8_t *in, size_t i)
{
	unsigned high = nibble_at(in + 32, i);
	return iq1_eight(in[i] | (high & 7) << 8, high >> 3);
}

/* A u16 has four scales, each for 16 elements; above them is a nibble of d. */
static unsigned iq1_m_steps(const uint8_t *in, size_t g)
{
	return u16_at(in + 48, g / 4) >> g % 4 * 3 & 7;
}

static void iq1_m_block(const uint8_t *restrict in, float *restrict out)
{
	unsigned d = 0;
	for (unsigned i = 0; i < 4; i++)
		d |= u16_at(in + 48, i) >> 12 << 4 * i;
	decode_rows(in, f16_value((uint16_t)d) / 8, out, iq1_m_eight, iq1_m_steps);
}

/* ---- iq2 ---- */

static inline uint64_t iq2_eight(unsigned row, unsigned signs)
{
	uint64_t codes = spread(row, 2), sizes = codes * 17 + EACH(8) + (codes >> 1 & EACH(1));
	return with_signs(sizes, signs);
}

/* For 32 elements a u32 has four times seven signs, then four bits of scale. */
static uint64_t iq2_xxs_eight(const uint8_t *in, size_t i)
{
	const uint8_t *index = in + 2 + i / 4 * 8;
	unsigned seven = u32_at(index, 1) >> i % 4 * 7 & 127;
	return iq2_eight(grid_iq2_xxs[index[i % 4]], eight_signs(seven));
}

static unsigned iq2_xxs_steps(const uint8_t *in, size_t g) { return in[9 + g / 2 * 8] >> 4; }

static void iq2_xxs_block(const uint8_t *restrict in, float *restrict out)
{
	decode_rows(in, get_f16(in) / 8, out, iq2_xxs_eight, iq2_xxs_steps);
}

/* An index has nine bits; above them are the seven signs. */
static uint64_t iq2_xs_eight(const uint8_t *in, size_t i)
{
	unsigned bits = u16_at(in + 2, i);
	return iq2_eight(grid_iq2_xs[bits & 511], eight_signs(bits >> 9));
}

static unsigned iq2_xs_steps(const uint8_t *in, size_t g) { return nibble_at(in + 66, g); }

static void iq2_xs_block(const uint8_t *restrict in, float *restrict out)
{
	decode_rows(in, get_f16(in) / 8, out, iq2_xs_eight, iq2_xs_steps);
}

/* Two more bits of index are in high. */
static uint64_t iq2_s_eight(const uint8_t *in, size_t i)
{
	unsigned index = in[2 + i] | ((unsigned)in[66 + i / 4] >> i % 4 * 2 & 3u) << 8;
	return iq2_eight(grid_iq2_s[index], in[34 + i]);
}

static unsigned iq2_s_steps(const uint8_t *in, size_t g) { return nibble_at(in + 74, g); }

static void iq2_s_block(const uint8_t *restrict in, float *restrict out)
{
	decode_rows(in, get_f16(in) / 8, out, iq2_s_eight, iq2_s_steps);
}

/* ---- iq3 ---- */

static inline uint64_t two_rows(const uint16_t *grid, unsigned first, unsigned second)
{
	return spread(grid[first] | (uint32_t)grid[second] << 16, 4);
}

/* The u32 is that of iq2_xxs. */
static uint64_t iq3_xxs_eight(const uint8_t *in, size_t i)
{
	uint64_t codes = two_rows(grid_iq3_xxs, in[2 + 2 * i], in[3 + 2 * i]);
	uint64_t sevens = (codes + EACH(1)) >> 3 & EACH(1);
	unsigned seven = u32_at(in + 66, i / 4) >> i % 4 * 7 & 127;
	return with_signs(codes * 8 + EACH(4) + sevens * 2, eight_signs(seven));
}

static unsigned iq3_xxs_steps(const uint8_t *in, size_t g) { return in[69 + g / 2 * 4] >> 4; }

static void iq3_xxs_block(const uint8_t *restrict in, float *restrict out)
{
	decode_rows(in, get_f16(in) / 4, out, iq3_xxs_eight, iq3_xxs_steps);
}

/* One more bit of index is in high. */
static unsigned iq3_s_index(const uint8_t *in, size_t i)
{
	return in[2 + i] | ((unsigned)in[66 + i / 8] >> i % 8 & 1u) << 8;
}

static uint64_t iq3_s_eight(const uint8_t *in, size_t i)
{
	uint64_t codes = two_rows(grid_iq3_s, iq3_s_index(in, 2 * i), iq3_s_index(in, 2 * i + 1));
	return with_signs(codes * 2 + EACH(1), in[74 + i]);
}

static unsigned iq3_s_steps(const uint8_t *in, size_t g) { return nibble_at(in + 106, g / 2); }

static void iq3_s_block(const uint8_t *restrict in, float *restrict out)
{
	decode_rows(in, get_f16(in), out, iq3_s_eight, iq3_s_steps);
}

SUPER_DECODER(iq1_s, 50)
SUPER_DECODER(iq1_m, 56)
SUPER_DECODER(iq2_xxs, 66)
SUPER_DECODER(iq2_xs, 74)
SUPER_DECODER(iq2_s, 82)
SUPER_DECODER(iq3_xxs, 98)
SUPER_DECODER(iq3_s, 110)
