/* crc32.c - CRC-32 through libdeflate, and its algebra.
 *
 * A CRC is a polynomial over the field of two elements, modulo one of degree 32; the highest bit
 * of the number is the coefficient of x^0. A byte that follows multiplies what was there before
 * by x^8. */
#include "codec/crc32.h"
#include <libdeflate.h>

uint32_t crc32_update(uint32_t crc, const void *p, size_t n)
{
	/* libdeflate takes a NULL buffer as a request to start over */
	return n != 0 ? libdeflate_crc32(crc, p, n) : crc;
}

enum { DEGREE = 32 };
#define MODULUS UINT32_C(0xedb88320) /* without x^32 */
#define ONE     UINT32_C(0x80000000)
#define X_8     UINT32_C(0x00800000)

static uint32_t product(uint32_t a, uint32_t b)
{
	uint32_t sum = 0;
	for (unsigned power = 0; power < DEGREE; power++) {
		if (a & ONE >> power)
			sum ^= b;
		b = b >> 1 ^ (MODULUS & (0 - (b & 1)));
	}
	return sum;
}

/* What a CRC becomes when n bytes of zeros follow, start and end values aside. */
static uint32_t shifted(uint32_t crc, uint64_t n)
{
	for (uint32_t x = X_8; n != 0; n >>= 1, x = product(x, x))
		if (n & 1)
			crc = product(crc, x);
	return crc;
}

uint32_t crc32_concat(uint32_t a, uint32_t b, uint64_t b_len) { return shifted(a, b_len) ^ b; }

uint32_t crc32_tail(uint32_t whole, uint32_t before, uint64_t n)
{
	return whole ^ shifted(before, n);
}
