/* losses.c - what a cast did not keep, by comparing its values before and after. */
#include "value/codec.h"

enum { INF = 0x7f800000, SIZE = 0x7fffffff, CHUNK = 4096 };

/* Counts fit 32 bits in a chunk, which lets a compiler make vectors of all of it. */
static void count_specials(struct value_losses *l, const float *before, const float *after,
                           size_t n)
{
	int32_t range = 0, nan = 0;
	for (size_t i = 0; i < n; i++) {
		int32_t x = (int32_t)f32_bits(before[i]), y = (int32_t)f32_bits(after[i]);
		int32_t size = x & SIZE;
		range += ((size < INF) & ((y & SIZE) >= INF)) | ((size == INF) & (y != x));
		nan += (size > INF) & (y != x);
	}
	l->range += (uint64_t)range;
	l->nan += (uint64_t)nan;
}

static int32_t nonzero(const float *x, size_t n)
{
	int32_t count = 0;
	for (size_t i = 0; i < n; i++)
		count += (f32_bits(x[i]) & SIZE) != 0;
	return count;
}

static void count_vanished(struct value_losses *l, const float *before, const float *after,
                           size_t n, size_t elems)
{
	for (size_t at = 0; at < n; at += elems) {
		size_t used = n - at < elems ? n - at : elems;
		if (nonzero(after + at, used) == 0)
			l->vanished += (uint64_t)nonzero(before + at, used);
	}
}

static void count_single(struct value_losses *l, const float *before, const float *after, size_t n)
{
	int32_t count = 0;
	for (size_t i = 0; i < n; i++)
		count += (f32_bits(before[i]) & SIZE) != 0 && (f32_bits(after[i]) & SIZE) == 0;
	l->vanished += (uint64_t)count;
}

void value_compare(const float *before, const float *after, size_t n, size_t elems,
                   struct value_losses *l)
{
	for (size_t at = 0; at < n; at += CHUNK) {
		size_t some = n - at < CHUNK ? n - at : CHUNK;
		count_specials(l, before + at, after + at, some);
		if (elems == 1)
			count_single(l, before + at, after + at, some);
	}
	if (elems > 1)
		count_vanished(l, before, after, n, elems);
}
