/* zoo.h - hostile files of just under a mebibyte each, made to cost their reader as much as can be. */
#ifndef LIMITS_ZOO_H
#define LIMITS_ZOO_H

#include "limits/put.h"

#include <stdio.h>

enum { ZOO_SIZE = 1 << 20 }; /* no animal is larger */

struct animal {
	const char *name;
	void      (*make)(struct buf *b);
	const char *file; /* the name that it needs; NULL: any */
};

/* Lists that end with a name of NULL. */
extern const struct animal zoo_safetensors[], zoo_gguf[], zoo_burnpack[], zoo_apr[], zoo_thin[], zoo_sets[];
/* These have a config.json beside them. */
extern const struct animal zoo_checkpoints[];
extern const char zoo_config[];

/* ---- For those who make them ---- */

/* Calls part with 0, 1, 2 ... until another one would leave no room for so many more bytes; each writes at most 256. The
 * count is returned. */
typedef void (*zoo_part)(struct buf *b, unsigned i);
unsigned zoo_fill(struct buf *b, zoo_part part, size_t room);
/* The text over and over, until there is room for so many more bytes. */
unsigned zoo_repeat(struct buf *b, const char *text, size_t room);

#endif
