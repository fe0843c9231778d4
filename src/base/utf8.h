/* utf8.h - well-formed UTF-8 as Unicode defines it: no overlong forms, no surrogates. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "tenon.h"

/* The offset of the first byte that starts no well-formed sequence, or v.len. */
size_t utf8_span(tn_view v);
static inline bool utf8_ok(tn_view v) { return utf8_span(v) == v.len; }
/* Decodes one character; returns its length in bytes (1 to 4), 0 when malformed or n is 0. */
size_t utf8_decode(const uint8_t *p, size_t n, uint32_t *out);
/* By characters, where what is malformed counts as U+FFFD, once for as much of a character as there is: the order of what
 * decoders that replace it make of two texts. */
int    utf8_cmp_replaced(tn_view a, tn_view b);
/* Writes a character (a scalar value) as 1 to 4 bytes; returns how many. */
size_t utf8_encode(uint32_t c, uint8_t out[4]);

#endif
