/* swap.c - where the numbers of each type lie, and turning them. */
#include "model/swap.h"

/* Numbers of the same width in a row. */
struct run {
	uint16_t offset, count;
	uint8_t  width;
};
enum { RUNS = 2 };
struct runs {
	struct run run[RUNS];
};

/* Of the block types that have any. */
static const struct runs blocks[TN_DTYPES] = {
	[TN_Q4_0]    = { { { 0, 1, 2 } } },                   /* d */
	[TN_Q4_1]    = { { { 0, 2, 2 } } },                   /* d, m */
	[TN_Q5_0]    = { { { 0, 1, 2 } } },                   /* d */
	[TN_Q5_1]    = { { { 0, 2, 2 } } },                   /* d, m */
	[TN_Q8_0]    = { { { 0, 1, 2 } } },                   /* d */
	[TN_Q8_1]    = { { { 0, 2, 2 } } },                   /* d, s */
	[TN_Q2_K]    = { { { 80, 2, 2 } } },                  /* d, dmin */
	[TN_Q3_K]    = { { { 108, 1, 2 } } },                 /* d */
	[TN_Q4_K]    = { { { 0, 2, 2 } } },                   /* d, dmin */
	[TN_Q5_K]    = { { { 0, 2, 2 } } },                   /* d, dmin */
	[TN_Q6_K]    = { { { 208, 1, 2 } } },                 /* d */
	[TN_Q8_K]    = { { { 0, 1, 4 }, { 260, 16, 2 } } },   /* d in f32; bsums */
	[TN_IQ2_XXS] = { { { 0, 33, 2 } } },                  /* d, qs in u16 */
	[TN_IQ2_XS]  = { { { 0, 33, 2 } } },                  /* d, qs in u16 */
	[TN_IQ3_XXS] = { { { 0, 1, 2 } } },                   /* d */
	[TN_IQ1_S]   = { { { 0, 1, 2 }, { 34, 8, 2 } } },     /* d; qh in u16 */
	[TN_IQ4_NL]  = { { { 0, 1, 2 } } },                   /* d */
	[TN_IQ3_S]   = { { { 0, 1, 2 } } },                   /* d */
	[TN_IQ2_S]   = { { { 0, 1, 2 } } },                   /* d */
	[TN_IQ4_XS]  = { { { 0, 2, 2 } } },                   /* d, scales_h */
	[TN_IQ1_M]   = { { { 48, 4, 2 } } },                  /* scales, read as u16 */
	[TN_TQ1_0]   = { { { 52, 1, 2 } } },                  /* d */
	[TN_TQ2_0]   = { { { 64, 1, 2 } } },                  /* d */
	[TN_Q1_0]    = { { { 0, 1, 2 } } },                   /* d */
	[TN_Q2_0]    = { { { 0, 1, 2 } } },                   /* d */
};

size_t swap_unit(tn_dtype d)
{
	const struct dtype_info *info = dtype_info(d);
	if (info->class == DTYPE_PLAIN)
		return info->swap;
	return info->class == DTYPE_BLOCK && blocks[d].run[0].count != 0 ? info->block_bytes : 1;
}

static void turn(uint8_t *p, size_t n, size_t width)
{
	for (const uint8_t *end = p + n; p < end; p += width) {
		for (size_t low = 0, high = width - 1; low < high; low++, high--) {
			uint8_t byte = p[low];
			p[low] = p[high];
			p[high] = byte;
		}
	}
}

static void turn_blocks(const struct runs *where, uint8_t *p, size_t n, size_t unit)
{
	for (const uint8_t *end = p + n; p < end; p += unit) {
		for (size_t i = 0; i < RUNS && where->run[i].count != 0; i++) {
			const struct run *r = &where->run[i];
			turn(p + r->offset, (size_t)r->count * r->width, r->width);
		}
	}
}

/* Loops of their own for the common widths: the compiler makes vector code of them. */
void swap_units(tn_dtype d, uint8_t *p, size_t n)
{
	size_t unit = swap_unit(d);
	if (dtype_info(d)->class == DTYPE_BLOCK) {
		if (unit > 1)
			turn_blocks(&blocks[d], p, n, unit);
		return;
	}
	switch (unit) {
	case 2: turn(p, n, 2); break;
	case 4: turn(p, n, 4); break;
	case 8: turn(p, n, 8); break;
	}
}
