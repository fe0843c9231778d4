/* arena.c - objects are cut from blocks that double in size from 16 KiB to 1 MiB; an object that
 * would waste much of a block gets one of its own. The budget is charged for what is handed out,
 * rounded up to the alignment, not for the blocks. */
#include "base/arena.h"
#include "base/mem.h"
#include "base/num.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { BLOCK_MIN = 16 << 10, BLOCK_MAX = 1 << 20 };

#ifdef TENON_ARENA_DEBUG

struct arena_block {
	struct arena_block *next;
	size_t n;
	void *objects[62];
};

static void block_free(struct arena_block *b)
{
	while (b->n != 0)
		mem_free(b->objects[--b->n]);
	mem_free(b);
}

/* The newest block, with room for one more object in its list; NULL when there is no memory for it. */
static struct arena_block *block_with_room(struct arena *a)
{
	struct arena_block *b = a->head;
	if (b != NULL && b->n < sizeof b->objects / sizeof b->objects[0])
		return b;
	b = mem_alloc(sizeof *b);
	if (b == NULL)
		return NULL;
	b->next = a->head;
	b->n = 0;
	a->head = b;
	return b;
}

/* The object has an allocation to itself: nothing of ours stands at its edges. */
static void *cut(struct arena *a, size_t size)
{
	struct arena_block *b = block_with_room(a);
	void *object = b != NULL ? mem_alloc(size) : NULL;
	if (object != NULL)
		b->objects[b->n++] = object;
	return object;
}

static bool adopt(struct arena *a, void *p)
{
	struct arena_block *b = block_with_room(a);
	if (b != NULL)
		b->objects[b->n++] = p;
	return b != NULL;
}

#else

struct arena_block {
	struct arena_block *next;
	size_t room;
	void  *adopted; /* memory that another one allocated; NULL: none */
	_Alignas(ARENA_ALIGN) uint8_t bytes[];
};

static void block_free(struct arena_block *b)
{
	mem_free(b->adopted);
	mem_free(b);
}

static struct arena_block *block_new(size_t room)
{
	if (room > SIZE_MAX - sizeof(struct arena_block))
		return NULL;
	struct arena_block *b = mem_alloc(sizeof *b + room);
	if (b != NULL) {
		b->room = room;
		b->adopted = NULL;
	}
	return b;
}

/* Puts a block for one object alone behind the newest one, whose free room stays in use. */
static struct arena_block *block_alone(struct arena *a, size_t room)
{
	struct arena_block *b = block_new(room);
	if (b == NULL)
		return NULL;
	struct arena_block **at = a->head != NULL ? &a->head->next : &a->head;
	b->next = *at;
	*at = b;
	return b;
}

static void *cut_alone(struct arena *a, size_t size)
{
	struct arena_block *b = block_alone(a, size);
	return b != NULL ? b->bytes : NULL;
}

static bool adopt(struct arena *a, void *p)
{
	struct arena_block *b = block_alone(a, 0);
	if (b != NULL)
		b->adopted = p;
	return b != NULL;
}

/* Twice the newest block, whatever an object's own block may have measured. */
static size_t next_room(const struct arena *a)
{
	size_t last = a->head != NULL ? a->head->room : 0;
	return last < BLOCK_MIN ? BLOCK_MIN : last > BLOCK_MAX / 2 ? BLOCK_MAX : 2 * last;
}

static bool next_block(struct arena *a)
{
	struct arena_block *b = block_new(next_room(a));
	if (b == NULL)
		return false;
	b->next = a->head;
	a->head = b;
	a->at = b->bytes;
	a->end = b->bytes + b->room;
	return true;
}

static void *cut(struct arena *a, size_t size)
{
	if (size > SIZE_MAX - ARENA_ALIGN)
		return NULL;
	size += (size_t)pad_to(size, ARENA_ALIGN);
	if (a->at == NULL || size > (size_t)(a->end - a->at)) {
		if (size >= BLOCK_MIN / 2)
			return cut_alone(a, size);
		if (!next_block(a))
			return NULL;
	}
	uint8_t *p = a->at;
	a->at += size;
	return p;
}

#endif

void arena_init(struct arena *a, uint64_t budget)
{
	*a = (struct arena){ .budget = budget };
}

void arena_fini(struct arena *a)
{
	for (struct arena_block *b = a->head, *next; b != NULL; b = next) {
		next = b->next;
		block_free(b);
	}
	*a = (struct arena){ .budget = a->budget };
}

/* Charges n items; false when the budget, or what a size can name, does not allow them. */
static bool charge(struct arena *a, uint64_t n, size_t size, size_t *bytes)
{
	uint64_t want, used;
	bool fits = mul_u64(n, size, &want) && align_up(max_u64(want, 1), ARENA_ALIGN, &used) &&
	            add_u64(a->used, used, &used) && (a->budget == 0 || used <= a->budget);
	a->over = a->over || (!fits && a->budget != 0); /* it stays said: whoever looks may look later */
	if (!fits || !size_from_u64(max_u64(want, 1), bytes))
		return false;
	a->used = used;
	return true;
}

void *arena_raw_slow(struct arena *a, uint64_t n, size_t size)
{
	size_t bytes;
	return charge(a, n, size, &bytes) ? cut(a, bytes) : NULL;
}

bool arena_adopt(struct arena *a, void *p, size_t n)
{
	size_t bytes;
	return charge(a, n, 1, &bytes) && adopt(a, p);
}

void *arena_new(struct arena *a, uint64_t n, size_t size)
{
	void *p = arena_raw(a, n, size);
	if (p != NULL)
		memset(p, 0, (size_t)n * size);
	return p;
}

tn_view arena_copy(struct arena *a, tn_view v)
{
	uint64_t size;
	uint8_t *p = add_u64(v.len, 1, &size) ? arena_raw(a, size, 1) : NULL;
	if (p == NULL)
		return (tn_view){ NULL, 0 };
	copy_bytes(p, v.ptr, v.len);
	p[v.len] = 0;
	return (tn_view){ p, v.len };
}

const char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list args, again;
	va_start(args, fmt);
	va_copy(again, args);
	int n = vsnprintf(NULL, 0, fmt, args);
	char *text = n >= 0 ? arena_raw(a, (uint64_t)n + 1, 1) : NULL;
	if (text != NULL)
		vsnprintf(text, (size_t)n + 1, fmt, again);
	va_end(again);
	va_end(args);
	return text;
}

tn_code arena_err(const struct arena *a, tn_error *err, const char *what)
{
	if (a->over)
		return err_set(err, TN_E_LIMIT, TN_NO_OFFSET,
		               "%s: exceeds the memory limit of %" PRIu64 " bytes", what, a->budget);
	return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "%s: out of memory", what);
}
