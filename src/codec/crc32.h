/* crc32.h - CRC-32 as zlib and PNG have it, by libdeflate. */
#ifndef CODEC_CRC32_H
#define CODEC_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Start with crc 0 and feed pieces in order. */
uint32_t crc32_update(uint32_t crc, const void *p, size_t n);

/* CRC-32 is linear, so the CRC of a whole and those of its parts give each other without a look
 * at the bytes: of a followed by b, from both and the length of b; */
uint32_t crc32_concat(uint32_t a, uint32_t b, uint64_t b_len);
/* of the n bytes at the end of something, from its own and that of what stands before them. */
uint32_t crc32_tail(uint32_t whole, uint32_t before, uint64_t n);

#endif
