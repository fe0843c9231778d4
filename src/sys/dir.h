/* dir.h - folders: what stands in one, and making one. */
#ifndef SYS_DIR_H
#define SYS_DIR_H

#include "base/err.h"

enum sys_kind { SYS_NOTHING, SYS_FILE, SYS_FOLDER, SYS_LINK, SYS_OTHER };

/* What a path names, without following a link that it is itself. */
enum sys_kind sys_kind_of(const char *path);
/* Makes the folder, and those above it that are missing. One that is there is no failure. */
tn_code sys_make_folder(const char *path, tn_error *err);
/* Calls visit for each regular file in the folder and below, in no order; links are passed over, but path itself may be
 * one, or a file. A visit that fails, by err, ends the walk. Folders nest at most 100 deep: LIMIT. */
typedef void (*sys_visit_fn)(void *ctx, const char *path, tn_error *err);
tn_code sys_walk(const char *path, sys_visit_fn visit, void *ctx, tn_error *err);

#endif
