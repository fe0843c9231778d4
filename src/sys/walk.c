/* walk.c - all files below a folder. */
#define _GNU_SOURCE 1
#define _FILE_OFFSET_BITS 64
#include "sys/walk.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 100 };

static enum sys_kind kind_of(mode_t mode)
{
	return S_ISREG(mode) ? SYS_FILE : S_ISDIR(mode) ? SYS_FOLDER : S_ISLNK(mode) ? SYS_LINK : SYS_OTHER;
}

enum sys_kind sys_kind_of(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0 ? kind_of(st.st_mode) : SYS_NOTHING;
}

struct walk {
	sys_visit_fn visit;
	void        *ctx;
	tn_error    *err;
};

static void walk_folder(const struct walk *w, const char *path, unsigned depth);

static void walk_entry(const struct walk *w, const char *path, unsigned depth)
{
	enum sys_kind kind = sys_kind_of(path);
	if (kind == SYS_FILE)
		w->visit(w->ctx, path, w->err);
	else if (kind == SYS_FOLDER)
		walk_folder(w, path, depth + 1);
}

static void walk_name(const struct walk *w, const char *folder, const char *name, unsigned depth)
{
	size_t n = strlen(folder), len = strlen(name);
	char *path = mem_alloc(n + len + 2);
	if (path == NULL) {
		err_set(w->err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for a path");
		return;
	}
	memcpy(path, folder, n);
	path[n] = '/';
	memcpy(path + n + 1, name, len + 1);
	walk_entry(w, path, depth);
	mem_free(path);
}

static void walk_folder(const struct walk *w, const char *path, unsigned depth)
{
	if (depth > DEPTH_MAX) {
		err_set(w->err, TN_E_LIMIT, TN_NO_OFFSET, "folders nest deeper than %d", DEPTH_MAX);
		return;
	}
	DIR *dir = opendir(path);
	if (dir == NULL) {
		err_sys(w->err, errno, "open", path);
		return;
	}
	while (w->err->code == TN_OK) {
		errno = 0;
		struct dirent *entry = readdir(dir);
		if (entry == NULL && errno != 0)
			err_sys(w->err, errno, "read", path);
		if (entry == NULL)
			break;
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			walk_name(w, path, entry->d_name, depth);
	}
	closedir(dir);
}

tn_code sys_walk(const char *path, sys_visit_fn visit, void *ctx, tn_error *err)
{
	const struct walk w = { visit, ctx, err };
	struct stat st;
	if (stat(path, &st) != 0)
		return err_sys(err, errno, "open", path);
	if (S_ISDIR(st.st_mode))
		walk_folder(&w, path, 1);
	else if (S_ISREG(st.st_mode))
		visit(ctx, path, err);
	return err->code;
}
