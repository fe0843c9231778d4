/* buf.c - a growing byte buffer. Capacity doubles, so that n bytes cost O(n) in whatever pieces. */
#include "base/buf.h"
#include "base/mem.h"
#include <stdarg.h>
#include <stdio.h>

enum { FIRST_CAP = 256, MOVED = 64 << 10 /* from here on a copy is dearer than an allocation of its own */ };

void buf_init(struct buf *b, uint64_t budget)
{
	*b = (struct buf){ .budget = budget };
}

void buf_fini(struct buf *b)
{
	mem_free(b->ptr);
	buf_init(b, b->budget);
}

static bool grow(struct buf *b, size_t need)
{
	size_t cap = b->cap > SIZE_MAX / 2 ? SIZE_MAX : 2 * b->cap;
	if (cap < need)
		cap = need;
	if (cap < FIRST_CAP)
		cap = FIRST_CAP;
	if (b->budget != 0 && cap > b->budget)
		cap = need; /* the budget counts what is held: do not overshoot */
	uint8_t *p = mem_realloc(b->ptr, cap);
	if (p == NULL)
		return false;
	b->ptr = p;
	b->cap = cap;
	return true;
}

uint8_t *buf_room(struct buf *b, size_t n)
{
	if (b->failed)
		return NULL;
	if (b->ptr != NULL && n <= b->cap - b->len)
		return b->ptr + b->len;
	b->over = n > SIZE_MAX - b->len || (b->budget != 0 && b->len + n > b->budget);
	if (b->over || !grow(b, b->len + n)) {
		b->failed = true;
		return NULL;
	}
	return b->ptr + b->len;
}

void buf_put(struct buf *b, const void *p, size_t n)
{
	uint8_t *to = buf_room(b, n);
	if (to == NULL)
		return;
	copy_bytes(to, p, n);
	b->len += n;
}

void buf_byte(struct buf *b, uint8_t c) { buf_put(b, &c, 1); }
void buf_text(struct buf *b, const char *text) { buf_put(b, text, strlen(text)); }
void buf_view(struct buf *b, tn_view v) { buf_put(b, v.ptr, v.len); }

void buf_fill(struct buf *b, uint8_t c, size_t n)
{
	uint8_t *to = buf_room(b, n);
	if (to == NULL)
		return;
	memset(to, c, n);
	b->len += n;
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list args, again;
	va_start(args, fmt);
	va_copy(again, args);
	int n = vsnprintf(NULL, 0, fmt, args);
	uint8_t *to = n >= 0 ? buf_room(b, (size_t)n + 1) : NULL; /* vsnprintf adds a terminator */
	if (to != NULL) {
		vsnprintf((char *)to, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	} else {
		b->failed = true;
	}
	va_end(again);
	va_end(args);
}

/* The arena's budget counts what it gets, not what the buffer had room for. */
static tn_view move(struct buf *b, struct arena *a)
{
	tn_view v = { NULL, 0 };
	buf_byte(b, '\0');
	if (b->failed) {
		a->over = b->over;
		return v;
	}
	uint8_t *p = mem_realloc(b->ptr, b->len);
	if (p != NULL)
		b->ptr = p;
	if (arena_adopt(a, b->ptr, b->len)) {
		v = (tn_view){ b->ptr, b->len - 1 };
		b->ptr = NULL;
	}
	return v;
}

tn_view buf_done(struct buf *b, struct arena *a)
{
	tn_view v = { NULL, 0 };
	if (b->failed)
		a->over = b->over;
	else
		v = b->len < MOVED ? arena_copy(a, buf_bytes(b)) : move(b, a);
	buf_fini(b);
	return v;
}
