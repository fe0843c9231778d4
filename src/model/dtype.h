/* dtype.h - the table of element types, and the one product of shape and size in the tree. */
#ifndef MODEL_DTYPE_H
#define MODEL_DTYPE_H

#include "base/err.h"

enum dtype_class {
	DTYPE_OPAQUE,  /* size not known from the shape */
	DTYPE_PLAIN,   /* bits an element, packed where they are no whole bytes */
	DTYPE_BLOCK,   /* block_bytes for block_elems elements */
	DTYPE_SPECIAL  /* apr_q8: a scale in front; qfloat: a scheme */
};

struct dtype_info {
	const char      *name;
	enum dtype_class class;
	uint16_t         bits;        /* PLAIN */
	uint16_t         block_elems; /* BLOCK */
	uint16_t         block_bytes; /* BLOCK */
	uint8_t          swap;        /* bytes of the unit that a big-endian host swaps; 1 none, 0 not decidable here */
};

const struct dtype_info *dtype_info(tn_dtype d); /* of a value out of range: that of TN_OPAQUE */

/* How blocks lie over a shape. */
enum block_rule {
	BLOCK_ROWS, /* ggml: each innermost row fills whole blocks, else CORRUPT; apr_q4 never has rows */
	BLOCK_FLAT  /* APR: the elements in a line, the last block partly used */
};

/* Elements of a shape: the product, 0 as soon as one dimension is 0 whatever the others are, 1 for rank 0. */
bool shape_elements(uint32_t rank, const uint64_t *shape, uint64_t *out);
/* Some dimension is 0: there are no elements, and no bytes, whatever their type. */
bool shape_is_empty(uint32_t rank, const uint64_t *shape);
/* Bytes of a tensor. LIMIT: over 64 bits. CORRUPT: the elements fill no whole bytes or blocks.
 * UNSUPPORTED: the size does not follow from the shape. The messages carry no prefix: "shape overflows 64 bits". */
tn_code dtype_bytes(tn_dtype d, enum block_rule rule, uint32_t rank, const uint64_t *shape, uint64_t *out,
                    tn_error *err);
/* Likewise, without a word why not, and so without the cost of one: readers ask it of every tensor. */
bool dtype_size(tn_dtype d, enum block_rule rule, uint32_t rank, const uint64_t *shape, uint64_t *out);
/* Whether it is this many bytes that the shape takes. */
bool dtype_takes(tn_dtype d, enum block_rule rule, uint32_t rank, const uint64_t *shape, uint64_t nbytes);
/* Likewise where each innermost row, of two dimensions and more, is padded to whole blocks. */
bool dtype_takes_padded(tn_dtype d, uint32_t rank, const uint64_t *shape, uint64_t nbytes);

#endif
