/* read.h - what the parts of the reader share. */
#ifndef APR_READ_H
#define APR_READ_H

#include "format/apr/layout.h"

/* What a file has that today's writer would not give it: each is a word of the dialect. */
enum apr_odd {
	APR_ODD_NULLS     = 1,  /* every field spelled out */
	APR_ODD_CODES     = 2,  /* dtype codes 8 and 9 */
	APR_ODD_GGML      = 4,  /* ggml's codes: realizar's converter */
	APR_ODD_METADATA  = 8,  /* none at all */
	APR_ODD_FOOTER    = 16, /* none */
	APR_ODD_RAW       = 32, /* a flag says compressed, the data is not */
	APR_ODD_BLOCKS    = 64, /* tensors in blocks: ours */
	APR_ODD_IMAGE     = 128 /* all behind the header in one compressed piece: realizar's */
};

struct apr_reading {
	struct parse_job *job;
	struct apr_header h;
	uint64_t          metadata_end, index_end; /* 64 and 0 where there is none */
	unsigned          odd;
	uint64_t          packed;     /* of an image: bytes of the file that it was decompressed from */
	bool              has_metadata;
	uint64_t          data_end;   /* of the last byte of a tensor */
	uint64_t          padded_end; /* likewise with its padding, UINT64_MAX past 64 bits */
	bool              named;      /* the index is in strict order, byte for byte */
	uint64_t          n_ggml, n_old_codes, n_packed;
};

/* Records a failure at offset; returns false. */
bool apr_fail(struct apr_reading *r, tn_code code, uint64_t offset, const char *fmt, ...)
        PRINTF_LIKE(4, 5);
bool apr_no_memory(struct apr_reading *r, const char *what);
/* A finding about the whole file. */
void apr_tell(struct apr_reading *r, tn_severity severity, tn_code code, uint64_t offset,
              const char *fmt, ...) PRINTF_LIKE(5, 6);
/* The native subtree; NULL when memory is out. */
struct tn_meta *apr_reading_native(struct apr_reading *r);

/* The file that a compressed one is a wrapper of, in job->image; false when it is none. */
bool apr_read_image(struct apr_reading *r);
/* Whether metadata and index of an image are not too large to become a model. */
bool apr_image_head_fits(struct apr_reading *r);

bool apr_read_metadata(struct apr_reading *r, tn_view text);
/* Reads the index, sets index_end. */
bool apr_read_index(struct apr_reading *r);

#endif
