/* inputs.h - the files that a run reads, so that what it writes destroys none of them. */
#ifndef API_INPUTS_H
#define API_INPUTS_H

#include "api/file.h"
#include "io/plan.h"

struct inputs {
	const struct sys_file **files;
	size_t                  n;
};

/* Those of the plan's tensors, and all files of origin (or NULL), which the model is from, also where the plan takes no tensor
 * of it. Memory comes from the arena. */
tn_code inputs_find(struct inputs *in, const struct plan *plan, const struct source *sources, const tn_file *origin,
                    struct arena *mem, tn_error *err);
/* USAGE where the path leads to a file of a set, which is needed as long as the others are. A model of one file may give its
 * place to what is made of it. */
tn_code inputs_spare_set(const tn_file *f, const char *path, tn_error *err);

#endif
