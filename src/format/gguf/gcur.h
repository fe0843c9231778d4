/* gcur.h - a cursor over a GGUF header in the file's own byte order and width of lengths.
 *
 * The header does not say how long it is. Where only the file's first bytes are at hand, a step
 * past them asks for more, and the whole is walked anew; a step past the end of the file is a
 * failure for good. */
#ifndef FORMAT_GGUF_GCUR_H
#define FORMAT_GGUF_GCUR_H

#include "codec/cur.h"
#include "format/format.h"

struct gcur {
	struct cur        c;
	struct parse_job *job;
	bool              big;    /* big-endian */
	bool              narrow; /* version 1: lengths, counts and dims of 4 bytes */
};

struct gcur gcur_over(struct parse_job *job, const char *what);

static inline bool     gcur_ok(const struct gcur *w) { return cur_ok(&w->c); }
static inline uint64_t gcur_at(const struct gcur *w) { return cur_offset(&w->c); }
static inline unsigned gcur_length_size(const struct gcur *w) { return w->narrow ? 4 : 8; }

/* The next n bytes; NULL after a failure. */
const uint8_t *gcur_take(struct gcur *w, uint64_t n);
/* A number of 8, 16, 32 or 64 bits. */
uint64_t gcur_number(struct gcur *w, unsigned width);
uint32_t gcur_u32(struct gcur *w);
uint64_t gcur_u64(struct gcur *w);
uint64_t gcur_length(struct gcur *w);
tn_view  gcur_string(struct gcur *w);
/* A count of items of at least min bytes each, believed only when the rest of the file could hold
 * them. */
uint64_t gcur_count(struct gcur *w, uint64_t n, uint64_t min);

#endif
