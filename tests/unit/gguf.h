/* gguf.h - GGUF files put together by hand, field by field, for tests. */
#ifndef UNIT_GGUF_H
#define UNIT_GGUF_H

#include "base/buf.h"
#include "base/bytes.h"

struct made {
	struct buf b;
	bool       big;
};

static inline void made_number(struct made *m, uint64_t v, unsigned width)
{
	uint8_t bytes[8];
	if (m->big)
		put_be64(bytes, v << (64 - width));
	else
		put_le64(bytes, v);
	buf_put(&m->b, bytes, width / 8);
}

static inline void made_string(struct made *m, const char *text)
{
	made_number(m, strlen(text), 64);
	buf_text(&m->b, text);
}

static inline struct made made_head(uint64_t tensors, uint64_t pairs, bool big)
{
	struct made m = { .big = big };
	buf_init(&m.b, 0);
	buf_text(&m.b, "GGUF");
	made_number(&m, 3, 32);
	made_number(&m, tensors, 64);
	made_number(&m, pairs, 64);
	return m;
}

/* The key and type of a pair; its value is to follow. */
static inline void made_key(struct made *m, const char *key, unsigned type)
{
	made_string(m, key);
	made_number(m, type, 32);
}

static inline void made_info(struct made *m, const char *name, unsigned rank, const uint64_t *dims,
                             unsigned type,
                             uint64_t offset)
{
	made_string(m, name);
	made_number(m, rank, 32);
	for (unsigned d = 0; d < rank; d++)
		made_number(m, dims[d], 64);
	made_number(m, type, 32);
	made_number(m, offset, 64);
}

static inline void made_pad(struct made *m, size_t align)
{
	while (m->b.len % align != 0)
		buf_byte(&m->b, 0);
}

#endif
