/* exercise.h - does everything that can be done with bytes that may be a model file. */
#ifndef SUPPORT_EXERCISE_H
#define SUPPORT_EXERCISE_H

#include "tenon.h"

/* Walks an open file: every tensor is looked up, borrowed and read, the metadata is walked, the
 * file mapped out and verified. Returns NULL, or what broke a promise of tenon.h, for whatever
 * bytes the file has. */
const char *exercise(const tn_file *file);

#endif
