/* tensor_read.h - the logical bytes of a stored tensor, decoded where they are stored encoded. */
#ifndef IO_TENSOR_READ_H
#define IO_TENSOR_READ_H

#include "io/source.h"

/* Whether the stored bytes are the logical ones, so that they can be lent or moved as they are. */
static inline bool tensor_is_plain(const struct tensor *t) { return t->enc == ENC_RAW; }

/* n logical bytes from off, which must lie inside the tensor. Any thread. */
tn_code tensor_read(const struct reader *r, const struct tensor *t, uint64_t off, void *buf, size_t n, tn_error *err);

#endif
