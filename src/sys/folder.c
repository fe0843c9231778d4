/* folder.c - folders: what is in one, where a path really leads, and making a new one. */
#define _GNU_SOURCE 1
#define _FILE_OFFSET_BITS 64
#include "sys/folder.h"

#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

bool sys_is_folder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ---- Listing ---- */

struct listing {
	struct arena *mem;
	const char  **list;
	size_t        n, cap;
};

/* The list grows by doubling: what is left behind in the arena is less than what is kept. */
static bool add(struct listing *l, const char *name)
{
	if (l->n == l->cap) {
		size_t cap = l->cap != 0 ? 2 * l->cap : 64;
		const char **list = arena_raw(l->mem, cap, sizeof *list);
		if (list == NULL)
			return false;
		copy_bytes(list, l->list, l->n * sizeof *list);
		l->list = list;
		l->cap = cap;
	}
	tn_view copy = arena_copy(l->mem, tn_text(name));
	l->list[l->n++] = (const char *)copy.ptr;
	return copy.ptr != NULL;
}

static bool wanted(int folder, const char *name)
{
	struct stat st;
	if (name[0] == '.')
		return false;
	return fstatat(folder, name, &st, 0) != 0 || !S_ISDIR(st.st_mode);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static tn_code read_names(DIR *dir, const char *path, struct listing *l, tn_error *err)
{
	for (;;) {
		errno = 0;
		struct dirent *e = readdir(dir);
		if (e == NULL)
			return errno != 0 ? err_sys(err, errno, "read", path) : TN_OK;
		if (wanted(dirfd(dir), e->d_name) && !add(l, e->d_name))
			return arena_err(l->mem, err, "the list of files");
	}
}

tn_code sys_folder_list(const char *path, struct arena *mem, struct sys_names *out, tn_error *err)
{
	struct listing l = { .mem = mem };
	DIR *dir = opendir(path);
	if (dir == NULL)
		return err_sys(err, errno, "open", path);
	tn_code code = read_names(dir, path, &l, err);
	closedir(dir);
	if (code != TN_OK)
		return code;
	if (l.n > 1)
		qsort(l.list, l.n, sizeof *l.list, by_name);
	*out = (struct sys_names){ l.list, l.n };
	return TN_OK;
}

/* ---- Where a path leads ---- */

tn_code sys_real_path(const char *path, struct arena *mem, const char **out, tn_error *err)
{
	char *real = realpath(path, NULL);
	*out = NULL;
	if (real == NULL)
		return errno != ENOMEM ? TN_OK : err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for a path");
	tn_view copy = arena_copy(mem, tn_text(real));
	free(real);
	*out = (const char *)copy.ptr;
	return copy.ptr != NULL ? TN_OK : arena_err(mem, err, "a path");
}

/* ---- Making and removing ---- */

/* What stands before the last name of a path, in memory of its own; NULL when there is none. */
static char *path_above(const char *path)
{
	size_t n = strlen(path);
	while (n > 1 && path[n - 1] == '/')
		n--;
	while (n > 0 && path[n - 1] != '/')
		n--;
	char *above = mem_alloc(n + 2);
	if (above == NULL)
		return NULL;
	memcpy(above, path, n);
	memcpy(above + n, n == 0 ? "." : "", n == 0 ? 2 : 1);
	return above;
}

/* As after a rename: what may not be read cannot be synced, and not all file systems sync folders. */
static tn_code sync_folder(const char *path, tn_error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), failed;
	if (fd < 0)
		return TN_OK;
	do
		failed = fsync(fd);
	while (failed != 0 && errno == EINTR);
	bool pointless = errno == EINVAL || errno == ENOTSUP || errno == EROFS || errno == ENOSYS;
	if (failed != 0 && !pointless)
		err_sys(err, errno, "fsync", path);
	if (close(fd) != 0 && err->code == TN_OK)
		err_sys(err, errno, "close", path);
	return err->code;
}

/* The name of a new folder stands in the one above it. */
static tn_code sync_above(const char *path, tn_error *err)
{
	char *above = path_above(path);
	if (above == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for a path");
	sync_folder(above, err);
	mem_free(above);
	return err->code;
}

tn_code sys_folder_make(const char *path, bool sync, bool *made, tn_error *err)
{
	*made = mkdir(path, 0777) == 0;
	int sys = errno;
	/* of one that is there, some systems say first that this is no place to make any */
	if (!*made)
		return sys_is_folder(path) ? TN_OK : err_sys(err, sys, "make the folder", path);
	if (sync && sync_above(path, err) != TN_OK) {
		sys_folder_remove(path);
		*made = false;
	}
	return err->code;
}

tn_code sys_folder_make_all(const char *path, bool sync, tn_error *err)
{
	bool made;
	size_t n = strlen(path);
	char *part = mem_alloc(n + 1);
	if (part == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for a path");
	memcpy(part, path, n + 1);
	for (size_t i = 1; i < n && err->code == TN_OK; i++) {
		if (path[i] != '/')
			continue;
		part[i] = '\0';
		sys_folder_make(part, sync, &made, err);
		part[i] = '/';
	}
	mem_free(part);
	return err->code == TN_OK ? sys_folder_make(path, sync, &made, err) : err->code;
}

void sys_folder_remove(const char *path)
{
	if (rmdir(path) != 0)
		errno = 0; /* somebody put something there: it stays */
}

void sys_file_remove(const char *path)
{
	if (unlink(path) != 0)
		errno = 0;
}
