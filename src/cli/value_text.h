/* value_text.h - single elements of a tensor as numbers to read. */
#ifndef CLI_VALUE_TEXT_H
#define CLI_VALUE_TEXT_H

#include "cli/js.h"

/* Bytes of one element, where elements are whole bytes that stand alone; 0 for packed and block
 * types. */
size_t      value_size(tn_dtype dtype);
/* What numpy calls the type in a file: "<f4"; NULL where it has none. */
const char *value_npy(tn_dtype dtype);
/* The element at p, as tn_read gives it; value_size(dtype) must not be 0. */
void        value_text(struct text *t, tn_dtype dtype, const uint8_t *p);
void        value_json(struct json *j, tn_dtype dtype, const uint8_t *p);
/* Elements from the order of this host to little-endian, or back. */
void        value_swap(tn_dtype dtype, uint8_t *p, size_t n);

#endif
