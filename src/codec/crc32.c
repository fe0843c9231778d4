/* crc32.c - CRC-32 through libdeflate. */
#include "codec/crc32.h"
#include <libdeflate.h>

uint32_t crc32_update(uint32_t crc, const void *p, size_t n)
{
	/* libdeflate takes a NULL buffer as a request to start over */
	return n != 0 ? libdeflate_crc32(crc, p, n) : crc;
}
