/* qfloat.h - the numbers of burnpack's quantised tensors, given their scheme.
 *
 *	payload = values | scales | the tensor's scale
 *
 * The scales are those of blocks, or the one of the tensor; the last part is there only when blocks
 * and tensor both have scales. A number is scale * q, or (tensor's scale * block's scale) * q. Its
 * place follows from its coordinates: values are packed along one dimension, line by line, and blocks
 * are rectangles. Along the innermost dimension both change slowly, so a tensor is read in runs:
 * numbers of one row that share a scale and stand one behind the other. */
#ifndef VALUE_QFLOAT_H
#define VALUE_QFLOAT_H

#include "tenon.h"

enum { QFLOAT_DIMS = 5 };
enum qfloat_value { QF_Q8, QF_Q4, QF_Q2, QF_E5M2, QF_E4M3, QF_E2M1 };
enum qfloat_store { QF_NATIVE, QF_PACKED_NATIVE, QF_PACKED_U32 };
enum qfloat_scale { QF_NONE, QF_F32, QF_F16, QF_BF16, QF_UE8M0, QF_UE4M3 };

struct qfloat {
	enum qfloat_value value;
	enum qfloat_store store;
	uint64_t          packed_dim;         /* of a packed store, from the innermost */
	enum qfloat_scale tensor, block;      /* QF_NONE: absent; neither is one f32 for all */
	unsigned          n_size;
	uint8_t           size[QFLOAT_DIMS];  /* extents of a block, right-aligned; at least 1 */
	bool              runs;               /* old files: a block is a run of elements */
	uint32_t          rank;
	const uint64_t   *shape;              /* no dimension is 0 */
	/* filled in by qfloat_lay */
	uint64_t          elements, scales_at, n_scales, global_at;
};

/* Finds where the parts of the payload stand. False when they do not fill exactly nbytes. */
bool qfloat_lay(struct qfloat *q, uint64_t nbytes);

struct qfloat_run {
	size_t   n;         /* numbers */
	uint64_t at;        /* where their bytes start in the payload, ... */
	size_t   bytes;     /* ... and how many they are */
	unsigned field;     /* which value of the first storage unit is the first */
	bool     across;    /* values are packed along another dimension: one of each unit */
	uint64_t scale_at;  /* where the scale stands */
};
/* The run that starts at an element, of at most max numbers. */
void  qfloat_run(const struct qfloat *q, uint64_t first, size_t max, struct qfloat_run *out);
/* Its numbers, from its bytes. */
void qfloat_decode(const struct qfloat *q, const struct qfloat_run *run, const uint8_t *in,
                   float scale, float *out);
unsigned qfloat_scale_bytes(enum qfloat_scale s);
float    qfloat_scale_value(enum qfloat_scale s, const uint8_t *p);
/* What each number's scale is: that of the blocks where there are any. */
static inline enum qfloat_scale qfloat_scale_type(const struct qfloat *q)
{
	return q->block != QF_NONE ? q->block : q->tensor != QF_NONE ? q->tensor : QF_F32;
}

#endif
