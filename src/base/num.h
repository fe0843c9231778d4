/* num.h - arithmetic on numbers that came from a file.
 *
 * Nothing else in the tree adds or multiplies such numbers. Every function here says false instead
 * of wrapping around. */
#ifndef BASE_NUM_H
#define BASE_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
	if (a > UINT64_MAX - b)
		return false;
	*out = a + b;
	return true;
}

static inline bool mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
#if defined(__GNUC__)
	unsigned long long product;
	bool fits = !__builtin_mul_overflow(a, b, &product); /* without the division below */
	if (fits)
		*out = product;
	return fits;
#else
	if (b != 0 && a > UINT64_MAX / b)
		return false;
	*out = a * b;
	return true;
#endif
}

/* True when [off, off+len) lies inside [0, total): the one range test. */
static inline bool span_fits(uint64_t off, uint64_t len, uint64_t total)
{
	return off <= total && len <= total - off;
}

static inline bool size_from_u64(uint64_t v, size_t *out)
{
	if (v > SIZE_MAX)
		return false;
	*out = (size_t)v;
	return true;
}

static inline bool is_power_of_two(uint64_t v) { return v != 0 && (v & (v - 1)) == 0; }

/* Bytes from off to the next multiple of align, a power of two. */
static inline uint64_t pad_to(uint64_t off, uint64_t align) { return (0 - off) & (align - 1); }

/* The next multiple of align, a power of two, at or after off. */
static inline bool align_up(uint64_t off, uint64_t align, uint64_t *out)
{
	return add_u64(off, pad_to(off, align), out);
}

static inline uint64_t min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

#endif
