/* path.c - what follows the dot of a path, and adding it where a format does. */
#include "api/path.h"

#include <string.h>

const char *path_extension(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	if (dot == NULL || dot == name || strcmp(name, "..") == 0)
		return NULL;
	return dot + 1;
}

const char *path_with_extension(struct arena *a, const struct format *f, const char *path)
{
	if (!f->adds_extension || path_extension(path) != NULL)
		return path;
	return arena_printf(a, "%s.%.*s", path, (int)strcspn(f->exts, ","), f->exts);
}
