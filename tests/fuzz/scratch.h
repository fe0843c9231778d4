/* scratch.h - a folder for the files of one input, in memory where the system has such a place; used again and again and
 * gone with the program. */
#ifndef FUZZ_SCRATCH_H
#define FUZZ_SCRATCH_H

#include "fuzz/fuzz.h"

/* Empties it. */
void        scratch_clear(void);
/* The path of a file in it, of the folder itself for "". Until the next call. */
const char *scratch_path(const char *name);
void        scratch_write(const char *name, const void *p, size_t n);
bool        scratch_has(const char *path);

#endif
