/* sums.h - a file against what else is known of its content: the name of its blob in a model cache, a checksum file or a
 * Git LFS pointer beside it. */
#ifndef API_SUMS_H
#define API_SUMS_H

#include "api/part.h"
#include "sys/folder.h"

/* Reads the whole file when there is something to compare it with. beside: the names in its folder. Findings go to r;
 * fails only where the check itself cannot go on. */
tn_code sums_check(const struct part *p, const struct sys_names *beside, const tn_work *work, struct tn_report *r,
                   struct arena *mem, tn_error *err);

#endif
