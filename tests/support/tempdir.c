/* tempdir.c - a folder of its own for each test that writes. */
#define _POSIX_C_SOURCE 200809L
#include "support/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *tempdir_new(void)
{
	const char *base = getenv("TMPDIR");
	bool given = base != NULL && base[0] != '\0';
	char *path = files_join(given ? base : "/tmp", "tenon-test-XXXXXX");
	if (mkdtemp(path) == NULL) {
		fprintf(stderr, "test set-up: %s: %s\n", path, strerror(errno));
		exit(99);
	}
	return path;
}

static bool is_entry(const struct dirent *e)
{
	return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

size_t tempdir_count(const char *path)
{
	size_t n = 0;
	DIR *dir = opendir(path);
	for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL; )
		n += is_entry(e);
	if (dir != NULL)
		closedir(dir);
	return n;
}

static void empty(const char *path)
{
	DIR *dir = opendir(path);
	for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL; ) {
		if (!is_entry(e))
			continue;
		char *entry = files_join(path, e->d_name);
		struct stat st;
		if (lstat(entry, &st) == 0 && S_ISDIR(st.st_mode)) {
			empty(entry);
			rmdir(entry);
		} else {
			unlink(entry);
		}
		free(entry);
	}
	if (dir != NULL)
		closedir(dir);
}

void tempdir_remove(char *path)
{
	empty(path);
	rmdir(path);
	free(path);
}

int tempdir_enter(void **state)
{
	*state = tempdir_new();
	return chdir(*state);
}

int tempdir_leave(void **state)
{
	int left = chdir("/");
	tempdir_remove(*state);
	return left;
}
