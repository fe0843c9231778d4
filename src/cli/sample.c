/* sample.c - the values of the sample model: the same bytes on every machine.
 *
 * Each element follows from the tensor's name and its own index alone. Floats are put together from
 * bits, so no rounding of any compiler or library has a say; weights lie in (-1/8, 1/8), most of
 * them near zero. */
#include "cli/sample.h"
#include <string.h>

enum { PIECE = 1 << 14 }; /* bytes; whole elements of every type */

/* One of the finalisers of a 64-bit hash: all bits of the result depend on all bits of x. */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

static uint64_t seed_of(const char *name)
{
	uint64_t h = 0xcbf29ce484222325;
	for (; *name != '\0'; name++)
		h = (h ^ (uint8_t)*name) * 0x100000001b3;
	return h;
}

/* How many of the low n bits are zero before the first one: 0 in half of all cases. */
static unsigned zeros(unsigned bits, unsigned n)
{
	unsigned count = 0;
	while (count < n && (bits >> count & 1) == 0)
		count++;
	return count;
}

/* 16 random bits: a sign, a mantissa, and what is left decides how small the number is. */
static uint16_t weight_bf16(uint16_t r)
{
	unsigned exponent = 123 - zeros(r >> 7, 8);
	return (uint16_t)((r & 0x807fu) | exponent << 7);
}

static uint16_t weight_f16(uint16_t r)
{
	unsigned exponent = 11 - zeros(r >> 10, 5);
	return (uint16_t)((r & 0x83ffu) | exponent << 10);
}

/* Norms are a little above 1: 1 to 1 + 1/16. */
static uint32_t norm_f32(uint64_t r)
{
	return 0x3f800000u | (uint32_t)(r & 0x7ffff);
}

static void put_le(uint8_t *p, uint64_t v, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

/* Four elements of 16 bits from each 64 random ones. */
static void fill_16(uint8_t *p, uint64_t seed, uint64_t at, uint64_t n,
                    uint16_t (*weight)(uint16_t))
{
	for (uint64_t i = 0; i < n; i += 4) {
		uint64_t r = mix(seed + (at + i) / 4);
		for (unsigned k = 0; k < 4 && i + k < n; k++, r >>= 16)
			put_le(p + 2 * (i + k), weight((uint16_t)r), 2);
	}
}

static unsigned element_size(tn_dtype dtype)
{
	switch (dtype) {
	case TN_I64: return 8;
	case TN_F32: return 4;
	case TN_F16:
	case TN_BF16: return 2;
	default: return 1;
	}
}

/* The elements at .. at + n of the tensor; at is a multiple of 4. */
static void fill(uint8_t *p, const struct sample *s, uint64_t seed, uint64_t at, uint64_t n)
{
	unsigned size = element_size(s->dtype);
	if (size == 2) {
		fill_16(p, seed, at, n, s->dtype == TN_F16 ? weight_f16 : weight_bf16);
		return;
	}
	for (uint64_t i = 0; i < n; i++) {
		uint64_t r = mix(seed + at + i);
		switch (s->dtype) {
		case TN_F32:  r = norm_f32(r); break;
		case TN_I64:  r = at + i; break; /* positions */
		case TN_BOOL: r &= 1; break;
		default:      r &= 0xff; break;
		}
		put_le(p + i * size, r, size);
	}
}

tn_code sample_produce(void *ctx, tn_emit *emit, tn_error *err)
{
	static uint8_t piece[PIECE];
	const struct sample *s = ctx;
	uint64_t seed = seed_of(s->name), count = 1, step = PIECE / element_size(s->dtype);
	(void)err;
	for (uint32_t d = 0; d < s->rank; d++)
		count *= s->shape[d];
	for (uint64_t at = 0; at < count; at += step) {
		uint64_t n = count - at < step ? count - at : step;
		fill(piece, s, seed, at, n);
		tn_emit_bytes(emit, piece, (size_t)n * element_size(s->dtype));
	}
	return TN_OK;
}
