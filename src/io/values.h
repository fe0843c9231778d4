/* values.h - the elements of a stored tensor as f32, whatever its type: piece by piece, in any
 * order. */
#ifndef IO_VALUES_H
#define IO_VALUES_H

#include "codec/blake3.h"
#include "io/tensor_read.h"
#include "value/qfloat.h"
#include "value/value.h"

enum { VALUES_RAW = 16384, VALUES_SCALES = 1024 };

/* Bytes of the tensor that are at hand. */
struct window {
	uint64_t at;
	size_t   len;
};

/* One reader's place to work in; another thread takes another one. */
struct values {
	const struct reader      *from;
	const struct tensor      *tensor;
	uint64_t                  elements;
	const struct value_codec *codec;  /* NULL: apr_q8, qfloat */
	float                     scale;  /* apr_q8: of all; qfloat: beside those of blocks, or 1 */
	struct qfloat             qfloat;
	struct b3                *hash;   /* take the stored bytes as they are read; NULL: off. See values_watch */
	uint32_t                 *crc;
	struct window             raw_at, scales_at;
	uint8_t                   raw[VALUES_RAW], scales[VALUES_SCALES];
};

/* UNSUPPORTED where the type is not decoded; CORRUPT where the bytes are not those of the shape.
 * Reads a scale at most. */
tn_code values_open(struct values *v, const struct reader *from, const struct tensor *t,
                    tn_error *err);
/* From now on what is read is shown to a BLAKE3 and a CRC-32, of which one may be NULL: reading all elements in order
 * shows them all bytes in order. False where that cannot be: of qfloat. */
bool    values_watch(struct values *v, struct b3 *hash, uint32_t *crc, tn_error *err);
/* n elements from first, which must lie inside the tensor. */
tn_code values_read(struct values *v, uint64_t first, float *out, size_t n, tn_error *err);

#endif
