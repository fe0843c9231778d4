/* cur.h - a bounded cursor over untrusted bytes.
 *
 * A read returns a value and moves on. One that does not fit returns zero, records the first failure
 * with its file offset, and empties the cursor, so that every later read fails too. Parsers therefore
 * read like the format's own table, and ask cur_ok() in three places: after a record, in a loop's
 * condition, and before an allocation. */
#ifndef CODEC_CUR_H
#define CODEC_CUR_H

#include "base/bytes.h"
#include "base/err.h"
#include "base/num.h"

struct cur {
	const uint8_t *base, *p, *end;
	uint64_t       origin; /* file offset of base */
	const char    *what;   /* leads every message: "gguf: tensor table" */
	tn_error      *err;    /* never NULL */
};

static inline struct cur cur_over(tn_view v, uint64_t origin, const char *what, tn_error *err)
{
	/* an empty view may have no address: give it one, so that pointers can be compared */
	const uint8_t *p = v.ptr != NULL ? v.ptr : (const uint8_t *)"";
	return (struct cur){ p, p, p + v.len, origin, what, err };
}

static inline bool     cur_ok(const struct cur *c) { return c->err->code == TN_OK; }
static inline size_t   cur_left(const struct cur *c) { return (size_t)(c->end - c->p); }
static inline uint64_t cur_offset(const struct cur *c) { return c->origin + (uint64_t)(c->p - c->base); }

/* Records why and poisons the cursor. */
static inline void cur_fail(struct cur *c, tn_code code, const char *why)
{
	err_set(c->err, code, cur_offset(c), "%s: %s", c->what, why);
	c->end = c->p;
}

/* The only place that tests and moves. */
static inline const uint8_t *cur_take(struct cur *c, uint64_t n)
{
	if (n > cur_left(c)) {
		cur_fail(c, TN_E_TRUNCATED, "ends early");
		return NULL;
	}
	const uint8_t *p = c->p;
	c->p += (size_t)n;
	return p;
}

static inline uint8_t  cur_u8 (struct cur *c) { const uint8_t *p = cur_take(c, 1); return p != NULL ? *p : 0; }
static inline uint16_t cur_u16(struct cur *c) { const uint8_t *p = cur_take(c, 2); return p != NULL ? le16(p) : 0; }
static inline uint32_t cur_u32(struct cur *c) { const uint8_t *p = cur_take(c, 4); return p != NULL ? le32(p) : 0; }
static inline uint64_t cur_u64(struct cur *c) { const uint8_t *p = cur_take(c, 8); return p != NULL ? le64(p) : 0; }

static inline tn_view cur_view(struct cur *c, uint64_t n)
{
	const uint8_t *p = cur_take(c, n);
	return p != NULL ? (tn_view){ p, (size_t)n } : (tn_view){ NULL, 0 };
}

/* A count of items that take at least min bytes each, believed only when the bytes that remain could
 * hold them: no loop and no allocation outgrows the input by more than a constant factor. */
static inline uint64_t cur_count(struct cur *c, uint64_t n, uint64_t min)
{
	if (n > cur_left(c) / min) {
		cur_fail(c, TN_E_TRUNCATED, "count exceeds the bytes that follow");
		return 0;
	}
	return n;
}

#endif
