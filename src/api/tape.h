/* tape.h - a file's execution tape as steps, each the use of a tensor. */
#ifndef API_TAPE_H
#define API_TAPE_H

#include "api/file.h"

/* The tape as native has it, or the one of a file that has none: one stage, and all tensors in it. A fused page is its
 * slices, in order. UNSUPPORTED when a stage uses what is neither, LIMIT when fused pages make it too long. */
tn_code tape_steps(const tn_file *f, struct arena *mem, tn_step **steps, size_t *n, tn_error *err);

#endif
