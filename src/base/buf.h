/* buf.h - a byte buffer that grows while something is printed into it. Errors stick: test failed
 * (or take buf_done) once at the end. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/arena.h"

struct buf {
	uint8_t *ptr;
	size_t   len, cap;
	bool     failed; /* out of memory, or past the budget; contents are then incomplete */
	bool     over;   /* the budget said no, not the machine */
	uint64_t budget; /* 0: none */
};

void buf_init(struct buf *b, uint64_t budget);
void buf_fini(struct buf *b);
void buf_put(struct buf *b, const void *p, size_t n);
void buf_byte(struct buf *b, uint8_t c);
void buf_text(struct buf *b, const char *text);
void buf_view(struct buf *b, tn_view v);
void buf_fill(struct buf *b, uint8_t c, size_t n);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Makes room for n more bytes and returns where they go; commit with b->len += n. NULL on failure. */
uint8_t *buf_room(struct buf *b, size_t n);
static inline tn_view buf_bytes(const struct buf *b) { return (tn_view){ b->ptr, b->len }; }
/* Hands the contents to an arena, with a terminator after them, and empties the buffer: what is long is moved, not copied.
 * ptr is NULL on failure, which arena_err then tells. */
tn_view buf_done(struct buf *b, struct arena *a);

#endif
