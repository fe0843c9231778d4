/* planes.c - byte planes. The inner loops run over one plane, so that a compiler can unroll
 * them. */
#include "io/planes.h"

#include <string.h>

void planes_split(const uint8_t *from, size_t n, unsigned width, uint8_t *to)
{
	size_t elements = n / width;
	for (unsigned i = 0; i < width; i++)
		for (size_t k = 0; k < elements; k++)
			to[i * elements + k] = from[k * width + i];
	memcpy(to + elements * width, from + elements * width, n - elements * width);
}

void planes_join(const uint8_t *from, size_t n, unsigned width, uint8_t *to)
{
	size_t elements = n / width;
	for (unsigned i = 0; i < width; i++)
		for (size_t k = 0; k < elements; k++)
			to[k * width + i] = from[i * elements + k];
	memcpy(to + elements * width, from + elements * width, n - elements * width);
}
