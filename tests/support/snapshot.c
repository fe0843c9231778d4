/* snapshot.c - see snapshot.h. */
#define _POSIX_C_SOURCE 200809L
#include "support/snapshot.h"

#include "base/view.h"
#include "support/files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(99);
}

static void add(struct snapshot *s, char *path, tn_view bytes)
{
	s->paths = realloc(s->paths, (s->n + 1) * sizeof *s->paths);
	s->bytes = realloc(s->bytes, (s->n + 1) * sizeof *s->bytes);
	must(s->paths != NULL && s->bytes != NULL, "memory");
	size_t i = s->n++;
	for (; i > 0 && strcmp(s->paths[i - 1], path) > 0; i--) {
		s->paths[i] = s->paths[i - 1];
		s->bytes[i] = s->bytes[i - 1];
	}
	s->paths[i] = path;
	s->bytes[i] = bytes;
}

static void collect(struct snapshot *s, const char *folder)
{
	DIR *dir = opendir(folder);
	must(dir != NULL, folder);
	for (struct dirent *e; (e = readdir(dir)) != NULL; ) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		char *path = strcmp(folder, ".") == 0 ? strdup(e->d_name) : files_join(folder, e->d_name);
		struct stat st;
		must(path != NULL && lstat(path, &st) == 0, e->d_name);
		if (!S_ISDIR(st.st_mode)) {
			add(s, path, files_load(path));
			continue;
		}
		collect(s, path);
		add(s, files_join(path, ""), (tn_view){ NULL, 0 });
		free(path);
	}
	closedir(dir);
}

struct snapshot snapshot_take(void)
{
	struct snapshot s = { 0 };
	collect(&s, ".");
	return s;
}

static void drop(struct snapshot *s, size_t i)
{
	free(s->paths[i]);
	free((void *)(uintptr_t)s->bytes[i].ptr);
	s->n--;
	memmove(s->paths + i, s->paths + i + 1, (s->n - i) * sizeof *s->paths);
	memmove(s->bytes + i, s->bytes + i + 1, (s->n - i) * sizeof *s->bytes);
}

void snapshot_free(struct snapshot *s)
{
	while (s->n != 0)
		drop(s, s->n - 1);
	free(s->paths);
	free(s->bytes);
	*s = (struct snapshot){ 0 };
}

long snapshot_find(const struct snapshot *s, const char *path)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->paths[i], path) == 0)
			return (long)i;
	return -1;
}

static bool is_folder(const char *path) { return path[strlen(path) - 1] == '/'; }

void snapshot_restore(const struct snapshot *s)
{
	struct snapshot now = snapshot_take();
	for (size_t i = now.n; i-- > 0; ) /* folders come before what is in them */
		if (snapshot_find(s, now.paths[i]) < 0)
			must((is_folder(now.paths[i]) ? rmdir : unlink)(now.paths[i]) == 0, now.paths[i]);
	for (size_t i = 0; i < s->n; i++) {
		long at = snapshot_find(&now, s->paths[i]);
		if (at < 0 && is_folder(s->paths[i]))
			must(mkdir(s->paths[i], 0777) == 0, s->paths[i]);
		else if (!is_folder(s->paths[i]) && (at < 0 || !view_eq(now.bytes[at], s->bytes[i])))
			files_store(s->paths[i], s->bytes[i]);
	}
	snapshot_free(&now);
}

bool snapshot_equal(const struct snapshot *a, const struct snapshot *b)
{
	bool same = a->n == b->n;
	for (size_t i = 0; same && i < a->n; i++)
		same = strcmp(a->paths[i], b->paths[i]) == 0 && view_eq(a->bytes[i], b->bytes[i]);
	return same;
}

static bool ends_in(const char *text, const char *suffix)
{
	size_t n = strlen(text), m = strlen(suffix);
	return n >= m && strcmp(text + n - m, suffix) == 0;
}

size_t snapshot_drop_temps(struct snapshot *s, bool resumable)
{
	size_t before = s->n;
	for (size_t i = s->n; i-- > 0; )
		if (ends_in(s->paths[i], ".tmp") ||
		    (resumable && (ends_in(s->paths[i], ".partial") || ends_in(s->paths[i], ".conversion-plan.json") ||
		                   ends_in(s->paths[i], ".conversion-journal.json"))))
			drop(s, i);
	return before - s->n;
}
