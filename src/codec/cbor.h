/* cbor.h - CBOR (RFC 8949): one item at a time through libcbor's streaming decoder, and an encoder that
 * writes what ciborium writes: definite lengths, shortest heads, shortest floats. */
#ifndef CODEC_CBOR_H
#define CODEC_CBOR_H

#include "base/buf.h"
#include "codec/cur.h"

enum cbor_kind {
	CBOR_UINT, CBOR_NEGINT, /* value; the negative number is -1 - value */
	CBOR_BYTES, CBOR_TEXT,  /* a definite string, in place; text is not checked for UTF-8 here */
	CBOR_BYTES_START, CBOR_TEXT_START, /* an indefinite string: chunks and a CBOR_BREAK follow */
	CBOR_ARRAY, CBOR_MAP,   /* value: items or pairs that follow */
	CBOR_ARRAY_START, CBOR_MAP_START,  /* indefinite: until CBOR_BREAK */
	CBOR_TAG,               /* value: the tag's number; the tagged item follows */
	CBOR_FALSE, CBOR_TRUE, CBOR_NULL, CBOR_UNDEFINED,
	CBOR_SIMPLE,            /* value: another simple value */
	CBOR_FLOAT,             /* bits: the value widened to a double, payload and sign of a NaN kept */
	CBOR_BREAK
};

struct cbor_item {
	enum cbor_kind kind;
	uint64_t       value;
	uint64_t       bits;
	tn_view        bytes;
	uint64_t       offset; /* in the file, of the head */
};

/* The next item. False, with the cursor failed, when the bytes end early (TRUNCATED), or are no CBOR
 * (CORRUPT: reserved additional information). Counts are not believed here: a caller that allocates by one
 * passes it through cur_count, with at least 1 byte an item, 2 a pair. */
bool cbor_next(struct cur *c, struct cbor_item *out);
/* Steps over one whole value that starts with the item just read (first), nested at most depth containers and
 * tags deep (each counts one). False, with the cursor failed: CORRUPT "nested too deep" among others. */
bool cbor_skip(struct cur *c, const struct cbor_item *first, unsigned depth);

/* ---- Encoding ---- */
void cbor_put_uint(struct buf *out, uint64_t v);
void cbor_put_int(struct buf *out, int64_t v);
void cbor_put_text(struct buf *out, tn_view v);
void cbor_put_array(struct buf *out, uint64_t n);
void cbor_put_map(struct buf *out, uint64_t n);
void cbor_put_bool(struct buf *out, bool v);
void cbor_put_null(struct buf *out);
/* The shortest of f16, f32, f64 that widens back to exactly these 64 bits; a NaN other than 7ff8000000000000 and
 * fff8000000000000 stays f64. */
void cbor_put_float(struct buf *out, uint64_t bits);

#endif
