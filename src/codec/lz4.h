/* lz4.h - LZ4 blocks, by liblz4. */
#ifndef CODEC_LZ4_H
#define CODEC_LZ4_H

#include <stdbool.h>
#include <stddef.h>

/* The block of n bytes in to; 0 when it takes more than cap. */
size_t lz4_pack(const void *from, size_t n, void *to, size_t cap);
/* Whether the n bytes are a block of exactly len bytes; these are then in to. */
bool   lz4_unpack(const void *from, size_t n, void *to, size_t len);

#endif
