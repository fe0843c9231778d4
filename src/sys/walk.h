/* walk.h - all files below a folder. */
#ifndef SYS_WALK_H
#define SYS_WALK_H

#include "base/err.h"

enum sys_kind { SYS_NOTHING, SYS_FILE, SYS_FOLDER, SYS_LINK, SYS_OTHER };

/* What a path names, without following a link that it is itself. */
enum sys_kind sys_kind_of(const char *path);
/* Calls visit for each regular file in the folder and below, in no order; links are passed over, but path itself may be
 * one, or a file. A visit that fails, by err, ends the walk. Folders nest at most 100 deep: LIMIT. */
typedef void (*sys_visit_fn)(void *ctx, const char *path, tn_error *err);
tn_code sys_walk(const char *path, sys_visit_fn visit, void *ctx, tn_error *err);

#endif
