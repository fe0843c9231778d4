/* npy.c - the head of a numpy file, version 1.0.
 *
 *   0  6  "\x93NUMPY"    6  2  version 1, 0    8  2  length of the text, little-endian
 *  10  -  a Python dict, then spaces and a newline so that the data starts at a multiple of 64 */
#include "cli/npy.h"
#include "cli/text.h"
#include <inttypes.h>

enum { LEAD = 10, ALIGN = 64 };

void npy_header(FILE *to, const char *descr, uint32_t rank, const uint64_t *shape)
{
	struct text t = { 0 };
	text_fmt(&t, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
	for (uint32_t d = 0; d < rank; d++)
		text_fmt(&t, "%s%" PRIu64, d > 0 ? ", " : "", shape[d]);
	text_str(&t, rank == 1 ? ",), }" : "), }");
	while ((LEAD + t.n + 1) % ALIGN != 0)
		text_str(&t, " ");
	text_str(&t, "\n");
	fwrite("\x93NUMPY\x01", 1, 7, to);
	fputc(0, to);
	fputc((int)(t.n & 0xff), to);
	fputc((int)(t.n >> 8), to);
	fwrite(t.p, 1, t.n, to);
	text_free(&t);
}
