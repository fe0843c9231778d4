/* glob.h - names that match a pattern. */
#ifndef CLI_GLOB_H
#define CLI_GLOB_H

#include "cli/opt.h"

/* '*' any run of characters, dots and slashes too; '?' one; [a-z] and [!a-z] one of a set; '\'
 * quotes. */
bool glob_match(const char *pattern, tn_view name);
/* Whether one of the patterns matches; an empty list matches everything. */
bool glob_any(const struct opt_list *patterns, tn_view name);

#endif
