/* path.h - the extension rule of formats that add theirs to a path without one. */
#ifndef API_PATH_H
#define API_PATH_H

#include "format/format.h"

/* The text after the last dot of the last component; NULL when there is none. A leading dot is part of the
 * name: ".x3" has none; a trailing one counts: "x2." has an empty one (Rust's Path::extension). */
const char *path_extension(const char *path);
/* path with the format's extension when the format adds one and path has none; path itself otherwise. NULL when
 * the arena is full. */
const char *path_with_extension(struct arena *a, const struct format *f, const char *path);

#endif
