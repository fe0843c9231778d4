/* set_path.c - from the name that an index gives to a path that stays where it belongs.
 *
 * An index is a text that anybody may have written. What it names is a file beside it, or nothing. */
#include "api/set.h"

#include <string.h>

const char *set_name_fault(tn_view name)
{
	if (name.len == 0)
		return "is empty";
	if (memchr(name.ptr, 0, name.len) != NULL)
		return "holds a NUL";
	if (name.ptr[0] == '/' || name.ptr[0] == '\\')
		return "is an absolute path";
	if (name.len >= 2 && name.ptr[1] == ':')
		return "names a drive";
	if (view_is(name, ".") || view_is(name, "..") || view_starts(name, "../") || view_starts(name, "..\\"))
		return "leads out of the folder";
	if (memchr(name.ptr, '/', name.len) != NULL || memchr(name.ptr, '\\', name.len) != NULL)
		return "is a path, not the name of a file";
	return NULL;
}

const char *set_join(const struct set *s, const char *name)
{
	return arena_printf(s->mem, "%s%s", s->folder, name);
}

/* ---- Links ---- */

/* The path without its last component; the root stays. */
static tn_view parent_of(tn_view path)
{
	while (path.len > 1 && path.ptr[path.len - 1] != '/')
		path.len--;
	if (path.len > 1)
		path.len--;
	return path;
}

static tn_view last_of(tn_view path)
{
	size_t from = path.len;
	while (from > 0 && path.ptr[from - 1] != '/')
		from--;
	return (tn_view){ path.ptr + from, path.len - from };
}

/* .../models--x--y/snapshots/REVISION[/...] may lead to .../models--x--y/blobs. */
static bool same_repository(tn_view folder, tn_view blobs)
{
	tn_view repository = parent_of(blobs);
	if (!view_is(last_of(blobs), "blobs") || !view_starts(last_of(repository), "models--"))
		return false;
	static const char snapshots[] = "/snapshots/";
	if (folder.len < repository.len + sizeof snapshots || memcmp(folder.ptr, repository.ptr, repository.len) != 0)
		return false;
	return memcmp(folder.ptr + repository.len, snapshots, sizeof snapshots - 1) == 0;
}

static tn_code check_link(const struct set *s, const char *path, const char *name, tn_error *err)
{
	const char *real, *folder;
	if (sys_real_path(path, s->mem, &real, err) != TN_OK ||
	    sys_real_path(s->folder[0] != '\0' ? s->folder : ".", s->mem, &folder, err) != TN_OK)
		return err->code;
	tn_view in = parent_of(tn_text(real));
	if (real != NULL && folder != NULL && (view_eq(in, tn_text(folder)) || same_repository(tn_text(folder), in)))
		return TN_OK;
	return err_set(err, TN_E_CORRUPT, TN_NO_OFFSET, "'%s' is a link that leads out of the folder", ESC(tn_text(name)));
}

tn_code set_path(const struct set *s, uint64_t i, const char **out, tn_error *err)
{
	const char *name = s->files[i];
	const char *fault = s->index != NULL ? set_name_fault(s->says.files[i]) : NULL;
	if (fault != NULL)
		return err_set(err, TN_E_CORRUPT, TN_NO_OFFSET, "the index names a file '%s', which %s", ESC(s->says.files[i]), fault);
	const char *path = set_join(s, name);
	if (path == NULL)
		return arena_err(s->mem, err, "a path");
	if (!sys_file_exists(path))
		return err_set(err, TN_E_TRUNCATED, TN_NO_OFFSET, "the file '%s' is missing", ESC(tn_text(name)));
	*out = path;
	return check_link(s, path, name, err);
}
