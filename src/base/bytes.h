/* bytes.h - loads and stores at any alignment and on any host. Nobody casts a byte pointer. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint16_t le16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t le32(const uint8_t *p) { return le16(p) | (uint32_t)le16(p + 2) << 16; }
static inline uint64_t le64(const uint8_t *p) { return le32(p) | (uint64_t)le32(p + 4) << 32; }

static inline uint16_t be16(const uint8_t *p) { return (uint16_t)(p[0] << 8 | p[1]); }
static inline uint32_t be32(const uint8_t *p) { return (uint32_t)be16(p) << 16 | be16(p + 2); }
static inline uint64_t be64(const uint8_t *p) { return (uint64_t)be32(p) << 32 | be32(p + 4); }

static inline void put_le16(uint8_t *p, uint16_t v) { p[0] = (uint8_t)v, p[1] = (uint8_t)(v >> 8); }
static inline void put_le32(uint8_t *p, uint32_t v) { put_le16(p, (uint16_t)v), put_le16(p + 2, (uint16_t)(v >> 16)); }
static inline void put_le64(uint8_t *p, uint64_t v) { put_le32(p, (uint32_t)v), put_le32(p + 4, (uint32_t)(v >> 32)); }

static inline void put_be16(uint8_t *p, uint16_t v) { p[0] = (uint8_t)(v >> 8), p[1] = (uint8_t)v; }
static inline void put_be32(uint8_t *p, uint32_t v) { put_be16(p, (uint16_t)(v >> 16)), put_be16(p + 2, (uint16_t)v); }
static inline void put_be64(uint8_t *p, uint64_t v) { put_be32(p, (uint32_t)(v >> 32)), put_be32(p + 4, (uint32_t)v); }

static inline uint32_t f32_bits(float f) { uint32_t u; memcpy(&u, &f, sizeof u); return u; }
static inline uint64_t f64_bits(double f) { uint64_t u; memcpy(&u, &f, sizeof u); return u; }
static inline float    f32_of(uint32_t u) { float f; memcpy(&f, &u, sizeof f); return f; }
static inline double   f64_of(uint64_t u) { double f; memcpy(&f, &u, sizeof f); return f; }

/* An f32 as the double of the same value, and back; the payload of a NaN is kept, which a
 * conversion need not do. */
static inline uint64_t f32_widen(uint32_t u)
{
	if ((u & 0x7f800000) != 0x7f800000)
		return f64_bits((double)f32_of(u));
	return (uint64_t)(u >> 31) << 63 | UINT64_C(0x7ff) << 52 | (uint64_t)(u & 0x7fffff) << 29;
}
static inline uint32_t f32_narrow(uint64_t u)
{
	const uint64_t payload = (UINT64_C(1) << 52) - 1;
	if ((u >> 52 & 0x7ff) != 0x7ff || (u & payload) == 0)
		return f32_bits((float)f64_of(u));
	uint32_t kept = (uint32_t)((u & payload) >> 29);
	return (uint32_t)(u >> 63) << 31 | 0x7f800000 | (kept != 0 ? kept : 0x400000);
}

static inline int host_is_big_endian(void)
{
	const uint16_t one = 1;
	uint8_t first;
	memcpy(&first, &one, 1);
	return first == 0;
}

#endif
