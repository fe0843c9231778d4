/* blake3.h - BLAKE3 in 32 bytes, by the official C implementation. */
#ifndef CODEC_BLAKE3_H
#define CODEC_BLAKE3_H

#include "base/err.h"

/* Opaque storage, so that only blake3.c sees the library's header. */
struct b3 { _Alignas(16) uint8_t state[1920]; };

void b3_init(struct b3 *h);
void b3_update(struct b3 *h, const void *p, size_t n);
void b3_final(const struct b3 *h, tn_digest *out);
tn_digest b3_of(tn_view v);
/* CHECKSUM unless bytes have the digest that is stated of them. */
tn_code digest_hold(const tn_digest *is, const tn_digest *stated, tn_error *err);

#endif
