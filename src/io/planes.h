/* planes.h - the bytes of a run of elements sorted by their place in the element, and back. */
#ifndef IO_PLANES_H
#define IO_PLANES_H

#include <stddef.h>
#include <stdint.h>

/* n bytes in elements of width; what is left over at the end stays as it is. from and to must
 * not overlap. */
void planes_split(const uint8_t *from, size_t n, unsigned width, uint8_t *to);
void planes_join(const uint8_t *from, size_t n, unsigned width, uint8_t *to);

#endif
