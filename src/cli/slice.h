/* slice.h - a part of a tensor, "0:4,:,-1", and its bytes as a few contiguous runs. */
#ifndef CLI_SLICE_H
#define CLI_SLICE_H

#include "cli/text.h"

enum { SLICE_RANK = 32 };

struct slice {
	uint32_t rank;
	uint64_t start[SLICE_RANK], count[SLICE_RANK], shape[SLICE_RANK];
	uint32_t out_rank;              /* a single index takes its dimension away */
	uint64_t out_shape[SLICE_RANK];
	uint64_t elements;
	size_t   unit;                  /* bytes of an element */
	bool     decoded;               /* elements are read as f32; not set by parsing */
};

/* text NULL is the whole tensor. False with a complaint when the text cannot be meant for this
 * shape. */
bool slice_parse(struct slice *s, const char *text, uint32_t rank, const uint64_t *shape,
                 size_t unit, struct text *complaint);

/* Takes a piece of whole elements, as tn_read or, where they are decoded, tn_read_f32 gives them, in row-major order; may change the bytes. */
typedef tn_code (*slice_fn)(void *ctx, uint8_t *bytes, size_t n, tn_error *err);
/* Reads the slice of tensor i in pieces, never the whole where a part is asked for. */
tn_code slice_read(const struct slice *s, const tn_file *file, size_t i, slice_fn take, void *ctx,
                   tn_error *err);

#endif
