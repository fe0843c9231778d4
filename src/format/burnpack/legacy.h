/* legacy.h - files of burn 0.19 to 0.22-pre, all of which say version 1 in their header. */
#ifndef BURNPACK_LEGACY_H
#define BURNPACK_LEGACY_H

#include "format/burnpack/layout.h"
#include "format/burnpack/scheme.h"

/* What makes a file an old one. */
enum {
	OLD_UNALIGNED = 1, /* 0.19: data right after the metadata, without padding */
	OLD_BOOL      = 2, /* before 0.21: dtype "Bool" */
	OLD_SCHEME    = 4, /* before 0.22: param and level in place of tensor and block */
	OLD_STORE     = 8, /* 0.19: store "U32" */
	OLD_SCALES    = 16 /* before 0.22: f32 scales whatever the scheme declares */
};
/* All that applies, joined with "; "; "" for none, NULL when memory is out. */
const char *legacy_dialect(unsigned old, struct arena *a);

enum old_level { LEVEL_TENSOR, LEVEL_BLOCK, LEVEL_BLOCK_TENSOR };

/* A scheme as it was read: of the current keys, or of the old ones. */
struct scheme_in {
	struct scheme     s;
	bool              old;       /* it has param and level */
	enum old_level    level;
	enum scheme_scale param, global;
	bool              store_u32;
	uint8_t           raw_rank;  /* of the block, before leading extents of 1 were dropped */
};

/* What is to be said about a scheme and its payload; TEXT_MAX bytes of room. NULL: nothing. */
enum { SCHEME_WORDS = 160 };
/* Gives an old scheme its current meaning, by its keys and by the length of the payload. Returns OLD_* bits;
 * words is "" unless something is doubtful. The shape must not overflow. */
unsigned legacy_scheme(struct scheme_in *in, uint32_t rank, const uint64_t *shape, uint64_t len,
                       char words[SCHEME_WORDS]);

/* Where the data starts. The tensors stand in data order, their offsets still relative. */
struct legacy_base {
	uint64_t after;   /* of the header and the metadata */
	bool     modern;  /* something in the metadata that files without padding never had */
	uint64_t base;    /* out */
	bool     old;     /* out: no padding */
};
/* UNSUPPORTED where the file can be read in two ways, TRUNCATED where in none or more bytes are wanted. */
tn_code legacy_find_base(struct parse_job *job, struct legacy_base *b);

#endif
