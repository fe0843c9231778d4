/* plan.h - the layout of a file before it is written.
 *
 * A format lists its output as spans in file order. All lengths are known before the first byte, so a plan
 * gives the exact size; the run streams the spans and checks that each kept its promise. */
#ifndef IO_PLAN_H
#define IO_PLAN_H

#include "io/blocks.h"
#include "io/sink.h"

enum span_kind {
	SPAN_BYTES,  /* memory of the plan's arena */
	SPAN_ZERO,   /* padding */
	SPAN_TENSOR, /* source of tensor i */
	SPAN_BLOCKS, /* the same, compressed */
	SPAN_GROUP,  /* nothing: the start of a group of spans whose BLAKE3 is wanted as one */
	SPAN_DIGEST, /* nothing: its end */
	SPAN_CRC     /* 4 bytes: CRC-32, little-endian, of every byte before it */
};

struct span {
	enum span_kind kind;
	bool           digest; /* TENSOR: compute its BLAKE3 while streaming, for seal */
	bool           big;    /* TENSOR: in big-endian order */
	uint64_t       off, len;
	const uint8_t *bytes;  /* BYTES */
	uint64_t       tensor; /* TENSOR, BLOCKS */
	const struct packing *packing; /* BLOCKS */
	tn_digest      hash;   /* TENSOR with digest, and DIGEST: after the run */
};

/* All or part of the bytes of tensor span->tensor, in whatever form. */
static inline bool span_is_tensor(const struct span *span)
{
	return span->kind == SPAN_TENSOR || span->kind == SPAN_BLOCKS;
}

/* Going on where an earlier run of the same plan stopped. */
struct plan_resume {
	uint64_t               have; /* bytes that are there: up to the end of a span */
	const struct sys_file *file; /* where they can be read back */
	uint64_t               step; /* after so many new bytes, at the end of a span: */
	tn_code              (*mark)(void *ctx, uint64_t done, tn_error *err); /* all up to done is with the system */
	void                  *ctx;
};

struct plan {
	struct arena *mem;
	struct span  *spans;
	uint64_t      n, cap;
	uint64_t      size;     /* of the file so far */
	unsigned      threads;  /* for BLOCKS; 0: one */
	bool          has_crc;
	bool          failed;   /* memory, or a file of more than 2^63-1 bytes */
	bool          too_big;
	const struct plan_resume *resume; /* NULL: a run begins at the beginning */
};

void plan_init(struct plan *p, struct arena *mem);
void plan_bytes(struct plan *p, tn_view bytes);          /* borrowed until the run is over */
void plan_zero(struct plan *p, uint64_t n);
void plan_align(struct plan *p, uint64_t align);         /* zeros up to a multiple */
void plan_tensor(struct plan *p, uint64_t i, uint64_t len);
void plan_tensor_digest(struct plan *p, uint64_t i, uint64_t len);
void plan_tensor_big_endian(struct plan *p, uint64_t i, uint64_t len);
/* len is packing->stored. */
void plan_blocks(struct plan *p, uint64_t i, const struct packing *packing);
/* BLAKE3 of all between the two, for seal; groups do not nest. */
void plan_group_begin(struct plan *p);
void plan_group_end(struct plan *p);
void plan_crc(struct plan *p);
/* NOMEM, LIMIT or OK once all spans are listed. */
tn_code plan_ok(const struct plan *p, tn_error *err);
/* The end of the last span that ends at n or before. */
uint64_t plan_whole(const struct plan *p, uint64_t n);
/* Streams everything. sources[i] belongs to tensor i, names[i] leads its errors. */
tn_code plan_run(struct plan *p, const struct source *sources, const struct tensor *tensors, struct sink *out);

#endif
