/* blake3.h - BLAKE3 in 32 bytes, by the official C implementation. */
#ifndef CODEC_BLAKE3_H
#define CODEC_BLAKE3_H

#include "tenon.h"

/* Opaque storage, so that only blake3.c sees the library's header. */
struct b3 { _Alignas(16) uint8_t state[1920]; };

void b3_init(struct b3 *h);
void b3_update(struct b3 *h, const void *p, size_t n);
void b3_final(const struct b3 *h, tn_digest *out);
tn_digest b3_of(tn_view v);

#endif
