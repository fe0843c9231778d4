/* series.h - names of numbered files: STEM-00001-of-00003.EXT. */
#ifndef API_SERIES_H
#define API_SERIES_H

#include "base/arena.h"

struct series {
	tn_view  stem, ext;  /* ext with its dot */
	uint64_t k, n;       /* as the name has them */
	unsigned width;      /* digits of n */
};

/* False when the name is no such one. */
bool series_parse(tn_view name, struct series *out);
/* Whether two names belong to one series. */
bool series_same(const struct series *a, const struct series *b);
/* The name of number k; NULL when memory is out. */
const char *series_name(const struct series *s, uint64_t k, struct arena *mem);

#endif
