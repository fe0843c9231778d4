/* put.h - little-endian numbers into a buffer. */
#ifndef LIMITS_PUT_H
#define LIMITS_PUT_H

#include "base/buf.h"
#include "base/bytes.h"

static inline void buf_u16(struct buf *b, uint16_t v)
{
	uint8_t p[2];
	put_le16(p, v);
	buf_put(b, p, sizeof p);
}

static inline void buf_u32(struct buf *b, uint32_t v)
{
	uint8_t p[4];
	put_le32(p, v);
	buf_put(b, p, sizeof p);
}

static inline void buf_u64(struct buf *b, uint64_t v)
{
	uint8_t p[8];
	put_le64(p, v);
	buf_put(b, p, sizeof p);
}

#endif
