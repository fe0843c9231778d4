/* claim.h - the first of several threads that meet a failure keeps it.
 *
 * This takes an atomic flag and no lock: the locks that compilers make for OpenMP's critical sections are common symbols,
 * which a static library with hidden names cannot hold. */
#ifndef BASE_CLAIM_H
#define BASE_CLAIM_H

#include <stdbool.h>

/* True for one caller; claimed is 0 before. What that one writes can be read when the parallel region is over. */
static inline bool claim(int *claimed)
{
	int before;
#pragma omp atomic capture
	{
		before = *claimed;
		*claimed = 1;
	}
	return before == 0;
}

#endif
