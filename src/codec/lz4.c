/* lz4.c - LZ4 blocks through liblz4, which counts in int. */
#include "codec/lz4.h"

#include <limits.h>
#include <lz4.h>

size_t lz4_pack(const void *from, size_t n, void *to, size_t cap)
{
	if (n > LZ4_MAX_INPUT_SIZE)
		return 0;
	int got = LZ4_compress_default(from, to, (int)n, cap > INT_MAX ? INT_MAX : (int)cap);
	return got > 0 ? (size_t)got : 0;
}

bool lz4_unpack(const void *from, size_t n, void *to, size_t len)
{
	if (n > INT_MAX || len > INT_MAX)
		return false;
	return LZ4_decompress_safe(from, to, (int)n, (int)len) == (int)len;
}
