/* crc32.h - CRC-32 as zlib and PNG have it, by libdeflate. */
#ifndef CODEC_CRC32_H
#define CODEC_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Start with crc 0 and feed pieces in order. */
uint32_t crc32_update(uint32_t crc, const void *p, size_t n);

#endif
