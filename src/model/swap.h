/* swap.h - turning the byte order of tensor data.
 *
 * In a plain type each element is one number. A block type holds numbers of more than one byte here
 * and there, as the C structs of ggml declare them; its packed bits are bytes and stay where they
 * are. Turning twice changes nothing. */
#ifndef MODEL_SWAP_H
#define MODEL_SWAP_H

#include "model/dtype.h"

enum { SWAP_UNIT_MAX = 512 }; /* no unit is larger */

/* Bytes of the smallest run that can be turned by itself: an element or a block; 1 where no byte
 * moves. */
size_t swap_unit(tn_dtype d);
/* Turns n bytes, whole units, in place. */
void   swap_units(tn_dtype d, uint8_t *p, size_t n);

#endif
