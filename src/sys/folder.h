/* folder.h - folders: what is in one, where a path really leads, and making a new one. */
#ifndef SYS_FOLDER_H
#define SYS_FOLDER_H

#include "base/arena.h"

struct sys_names {
	const char **list; /* sorted bytewise */
	size_t       n;
};

/* Whether path is a folder, or a link to one. */
bool    sys_is_folder(const char *path);
/* The names of all that is no folder; a link that leads nowhere counts. Hidden files are left out. */
tn_code sys_folder_list(const char *path, struct arena *mem, struct sys_names *out, tn_error *err);
/* The path without links, "." and ".."; *out is NULL where it leads nowhere. Only memory is a failure. */
tn_code sys_real_path(const char *path, struct arena *mem, const char **out, tn_error *err);
/* Makes the folder unless it is there; *made says which. sync: the folder above holds it on the disk, or it goes again. */
tn_code sys_folder_make(const char *path, bool sync, bool *made, tn_error *err);
/* Likewise, and those above it that are missing. */
tn_code sys_folder_make_all(const char *path, bool sync, tn_error *err);
/* Removes an empty folder. */
void    sys_folder_remove(const char *path);
/* Removes a file; a failure has no consequence. */
void    sys_file_remove(const char *path);

#endif
