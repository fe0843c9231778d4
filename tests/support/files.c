/* files.c - whole files and folder listings for tests. */
#define _POSIX_C_SOURCE 200809L
#include "support/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static _Noreturn void give_up(const char *what, const char *path)
{
	fprintf(stderr, "test set-up: %s %s: %s\n", what, path, strerror(errno));
	exit(99);
}

static void *need(void *p)
{
	if (p == NULL)
		give_up("memory for", "a test");
	return p;
}

tn_view files_load(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	if (f == NULL || stat(path, &st) != 0)
		give_up("open", path);
	size_t n = (size_t)st.st_size;
	uint8_t *bytes = need(malloc(n != 0 ? n : 1));
	if (fread(bytes, 1, n, f) != n)
		give_up("read", path);
	fclose(f);
	return (tn_view){ bytes, n };
}

bool files_exist(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0;
}

void files_store(const char *path, tn_view bytes)
{
	FILE *f = fopen(path, "wb");
	if (f == NULL || (bytes.len != 0 && fwrite(bytes.ptr, 1, bytes.len, f) != bytes.len) ||
	    fclose(f) != 0)
		give_up("write", path);
}

bool files_equal(const char *path, tn_view bytes)
{
	tn_view got = files_load(path);
	bool same =
		got.len == bytes.len && (got.len == 0 || memcmp(got.ptr, bytes.ptr, got.len) == 0);
	free((void *)got.ptr);
	return same;
}

char *files_join(const char *folder, const char *name)
{
	size_t a = strlen(folder), b = strlen(name);
	char *path = need(malloc(a + b + 2));
	memcpy(path, folder, a);
	path[a] = '/';
	memcpy(path + a + 1, name, b + 1);
	return path;
}

static bool ends_in(const char *text, const char *suffix)
{
	size_t n = strlen(text), m = strlen(suffix);
	return n >= m && strcmp(text + n - m, suffix) == 0;
}

static void list_add(struct file_list *list, char *path)
{
	if (list->n == list->cap) {
		list->cap = list->cap != 0 ? 2 * list->cap : 64;
		list->paths = need(realloc(list->paths, list->cap * sizeof *list->paths));
	}
	list->paths[list->n++] = path;
}

static void collect(struct file_list *list, const char *folder, const char *suffix)
{
	DIR *dir = opendir(folder);
	if (dir == NULL)
		give_up("open folder", folder);
	for (struct dirent *e; (e = readdir(dir)) != NULL; ) {
		if (e->d_name[0] == '.')
			continue;
		char *path = files_join(folder, e->d_name);
		struct stat st;
		if (stat(path, &st) != 0)
			give_up("stat", path);
		if (S_ISREG(st.st_mode) && ends_in(path, suffix)) {
			list_add(list, path);
			continue;
		}
		if (S_ISDIR(st.st_mode))
			collect(list, path, suffix);
		free(path);
	}
	closedir(dir);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct file_list files_below(const char *folder, const char *suffix)
{
	struct file_list list = { 0 };
	collect(&list, folder, suffix);
	if (list.n != 0)
		qsort(list.paths, list.n, sizeof *list.paths, by_path);
	return list;
}

void files_free(struct file_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->paths[i]);
	free(list->paths);
	*list = (struct file_list){ 0 };
}
