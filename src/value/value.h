/* value.h - numbers to and from the bytes of each element type.
 *
 * A codec knows runs of whole blocks; a plain type is a block of one element (two of f4, four of
 * f6). Bytes are little-endian on every host, floats are the host's. docs/values.md says by which
 * rules each type is read and made. Types that need more than their blocks have functions of their
 * own: apr_q8 below, qfloat in qfloat.h. */
#ifndef VALUE_VALUE_H
#define VALUE_VALUE_H

#include "tenon.h"

enum { VALUE_BLOCK = 256 }; /* elements of the largest block; every other size divides it */

struct value_codec {
	uint16_t elems, bytes; /* of a block */
	/* n elements that fill whole blocks; apr_q4 alone takes a last block that is partly used */
	void (*decode)(const uint8_t *restrict in, float *restrict out, size_t n);
	/* The same the other way; NULL: only decoded. */
	void (*encode)(const float *restrict in, uint8_t *restrict out, size_t n);
};

/* NULL: not decoded, or not by blocks alone (apr_q8, qfloat). */
const struct value_codec *value_codec(tn_dtype d);
/* n elements from the start of a block; of the last block only as many as are wanted. */
void value_decode(const struct value_codec *c, const uint8_t *in, float *out, size_t n);

/* Decodes f64 so that a second rounding, to a type with at most 22 bits of mantissa, gives what one
 * rounding would have given: what does not fit into f32 is kept as an odd last bit. Finite numbers
 * stay finite. */
extern const struct value_codec value_f64_to_odd;

/* Blocks of q4_k or q6_k, changed so that scales which are no finite numbers are 0: APR's reading
 * of them. Does nothing to other types. */
void value_tame(tn_dtype d, uint8_t *blocks, size_t n_blocks);

/* Values that did not survive: finite ones that are no more, or infinities; NaNs that are none or
 * another; and values other than 0 of blocks of elems that are all 0 now. */
struct value_losses { uint64_t range, nan, vanished; };
/* Adds those of n values, before and after, that start at the start of a block. n is below 2^31. */
void value_compare(const float *before, const float *after, size_t n, size_t elems,
                   struct value_losses *losses);

/* ---- apr_q8: one scale for the whole tensor ---- */

/* The largest magnitude of m and the n values; NaN is passed over. Start with 0. */
float apr_q8_max(float m, const float *in, size_t n);
float apr_q8_scale(float max);
void  apr_q8_encode(float scale, const float *restrict in, uint8_t *restrict out, size_t n);
void  apr_q8_decode(float scale, const uint8_t *restrict in, float *restrict out, size_t n);

#endif
