/* arena.h - memory that dies together. One arena per open file and one per save; nothing in it is
 * freed alone. A budget turns a hostile file into LIMIT instead of an exhausted machine. With
 * -DTENON_ARENA_DEBUG every object is a malloc of its own, so that sanitizers see each edge. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/err.h"

struct arena_block;
struct arena {
	struct arena_block *head;
	uint8_t *at, *end;   /* free room in the newest block */
	uint64_t used;       /* bytes handed out and reserved */
	uint64_t budget;     /* 0: none */
	bool     over;       /* the budget said no, not the machine */
};

void  arena_init(struct arena *a, uint64_t budget);
void  arena_fini(struct arena *a);
/* Zeroed room for n items; NULL when n * size overflows, the budget is spent or memory is. An n of 0
 * gives a pointer that must not be followed. */
void *arena_new(struct arena *a, uint64_t n, size_t size);
/* arena_raw where it is not simple: another block is needed, or the answer is no. */
void *arena_raw_slow(struct arena *a, uint64_t n, size_t size);

enum { ARENA_ALIGN = 16, ARENA_SMALL = 4096 };

/* The same, not zeroed. Inline, since readers ask for a few bytes a tensor, and most of the time they are
 * at hand. */
static inline void *arena_raw(struct arena *a, uint64_t n, size_t size)
{
#ifndef TENON_ARENA_DEBUG
	if (n != 0 && n <= ARENA_SMALL && size <= ARENA_SMALL) {
		size_t bytes = ((size_t)n * size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
		if (bytes <= (size_t)(a->end - a->at) && (a->budget == 0 || bytes <= a->budget - a->used)) {
			uint8_t *p = a->at;
			a->at += bytes;
			a->used += bytes;
			return p;
		}
	}
#endif
	return arena_raw_slow(a, n, size);
}

#define ARENA_NEW(a, n, T) ((T *)arena_new((a), (n), sizeof(T)))
/* Takes over n bytes from mem_alloc, which die with the rest. False, and they stay the caller's, where the budget or memory
 * says no. */
bool arena_adopt(struct arena *a, void *p, size_t n);
/* A copy of v with a terminator after it; ptr is NULL on failure. */
tn_view arena_copy(struct arena *a, tn_view v);
/* printf into the arena; NULL on failure. */
const char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Records NOMEM or, when the budget was the cause, LIMIT. what: "tensor table". */
tn_code arena_err(const struct arena *a, tn_error *err, const char *what);

#endif
