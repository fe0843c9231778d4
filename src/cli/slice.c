/* slice.c - a part of a tensor, "0:4,:,-1", and its bytes as a few contiguous runs. */
#include "cli/slice.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20 }; /* a multiple of every element size */

/* ---- Parsing ---- */

/* A number, counted from the end when negative; false when it lies outside 0..limit. */
static bool parse_bound(const char **p, uint64_t limit, uint64_t *out)
{
	bool negative = **p == '-';
	const char *digits = *p + negative;
	uint64_t v = 0;
	for (*p = digits; **p >= '0' && **p <= '9'; (*p)++) {
		if (v > UINT64_MAX / 10 - 1)
			return false;
		v = v * 10 + (uint64_t)(**p - '0');
	}
	if (*p == digits || v > limit)
		return false;
	*out = negative ? limit - v : v;
	return true;
}

static bool is_end(char c)
{
	return c == ',' || c == '\0';
}

/* "2", "1:3", ":3", "1:", ":" at *p for dimension d. */
static bool parse_dimension(struct slice *s, uint32_t d, const char **p)
{
	uint64_t size = s->shape[d], start = 0, stop = size;
	if (**p != ':' && !parse_bound(p, size, &start))
		return false;
	bool single = is_end(**p);
	if (single) {
		if (start >= size)
			return false;
		stop = start + 1;
	} else if (*(*p)++ != ':' || (!is_end(**p) && !parse_bound(p, size, &stop))) {
		return false;
	}
	if (!is_end(**p) || start > stop)
		return false;
	s->start[d] = start;
	s->count[d] = stop - start;
	if (!single)
		s->out_shape[s->out_rank++] = stop - start;
	return true;
}

static bool parse_all(struct slice *s, const char *text, struct text *complaint)
{
	uint32_t d = 0;
	const char *p = text != NULL ? text : "";
	for (; *p != '\0'; d++) {
		const char *from = p;
		if (d == s->rank) {
			text_fmt(complaint, "slice: more parts than the %" PRIu32 " of the shape",
			         s->rank);
			return false;
		}
		if (!parse_dimension(s, d, &p)) {
			text_fmt(complaint,
			         "slice: '%.*s' does not fit dimension %" PRIu32 " of %" PRIu64,
			         (int)strcspn(from, ","), from, d, s->shape[d]);
			return false;
		}
		if (*p == ',')
			p++;
	}
	for (; d < s->rank; d++) {
		s->count[d] = s->shape[d];
		s->out_shape[s->out_rank++] = s->shape[d];
	}
	return true;
}

bool slice_parse(struct slice *s, const char *text, uint32_t rank, const uint64_t *shape,
                 size_t unit, struct text *complaint)
{
	*s = (struct slice){ .rank = rank, .unit = unit, .elements = 1 };
	if (rank > SLICE_RANK) {
		text_fmt(complaint, "slice: %" PRIu32 " dimensions, at most %d", rank, SLICE_RANK);
		return false;
	}
	for (uint32_t d = 0; d < rank; d++)
		s->shape[d] = shape[d];
	if (!parse_all(s, text, complaint))
		return false;
	/* a 0 anywhere makes it 0, however large the others are */
	for (uint32_t d = 0; d < rank; d++)
		if (s->count[d] == 0)
			s->elements = 0;
	for (uint32_t d = 0; d < rank && s->elements > 0; d++)
		s->elements *= s->count[d]; /* at most the elements of the tensor */
	return true;
}

/* ---- Reading ---- */

struct reading {
	const tn_file *file;
	size_t         tensor;
	bool           decoded;
	uint8_t       *piece;
	slice_fn       take;
	void          *ctx;
};

static tn_code read_piece(const struct reading *r, uint64_t offset, size_t n, tn_error *err)
{
	if (r->decoded)
		return tn_read_f32(r->file, r->tensor, offset / sizeof(float),
		                   (float *)(void *)r->piece, n / sizeof(float), err);
	return tn_read(r->file, r->tensor, offset, r->piece, n, err);
}

static tn_code read_run(const struct reading *r, uint64_t offset, uint64_t len, tn_error *err)
{
	while (len > 0) {
		size_t n = len < PIECE ? (size_t)len : PIECE;
		tn_code code = read_piece(r, offset, n, err);
		if (code == TN_OK)
			code = r->take(r->ctx, r->piece, n, err);
		if (code != TN_OK)
			return code;
		offset += n;
		len -= n;
	}
	return TN_OK;
}

/* The next index over the first n dimensions of the slice; false after the last. */
static bool advance(const struct slice *s, uint64_t *index, uint32_t n)
{
	while (n-- > 0) {
		if (++index[n] < s->count[n])
			return true;
		index[n] = 0;
	}
	return false;
}

tn_code slice_read(const struct slice *s, const tn_file *file, size_t i, slice_fn take, void *ctx,
                   tn_error *err)
{
	uint64_t stride[SLICE_RANK + 1] = { 0 }, index[SLICE_RANK] = { 0 };
	uint32_t cut = s->rank; /* dimensions from here on are taken whole: each run spans them */
	if (s->elements == 0)
		return TN_OK;
	stride[s->rank] = s->unit;
	for (uint32_t d = s->rank; d-- > 0; )
		stride[d] = stride[d + 1] * s->shape[d];
	while (cut > 0 && s->count[cut - 1] == s->shape[cut - 1])
		cut--;
	uint32_t outer = cut > 0 ? cut - 1 : 0;
	uint64_t run = cut > 0 ? s->count[outer] * stride[cut] : stride[0];
	struct reading r = { file, i, s->decoded, grab(PIECE), take, ctx };
	tn_code code;
	do {
		uint64_t offset = cut > 0 ? s->start[outer] * stride[cut] : 0;
		for (uint32_t d = 0; d < outer; d++)
			offset += (s->start[d] + index[d]) * stride[d + 1];
		code = read_run(&r, offset, run, err);
	} while (code == TN_OK && advance(s, index, outer));
	free(r.piece);
	return code;
}
