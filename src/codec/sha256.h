/* sha256.h - SHA-256, by Nettle: what model hubs and checksum files name a file's content by. */
#ifndef CODEC_SHA256_H
#define CODEC_SHA256_H

#include "tenon.h"

enum { SHA256_LEN = 32, SHA256_HEX = 64 };

/* Opaque storage, so that only sha256.c sees the library's header. */
struct s256 { _Alignas(16) uint8_t state[128]; };

void s256_init(struct s256 *h);
void s256_update(struct s256 *h, const void *p, size_t n);
void s256_final(struct s256 *h, uint8_t out[SHA256_LEN]);
/* 64 hex digits, of either case, at the start of text; false when there are none. */
bool sha256_parse(tn_view text, uint8_t out[SHA256_LEN]);
/* 64 lower-case digits and a terminator. */
void sha256_text(const uint8_t digest[SHA256_LEN], char out[SHA256_HEX + 1]);

#endif
