/* scratch.c - the folder of scratch.h. */
#include "fuzz/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

static char folder[64];

static void empty(const char *path)
{
	DIR *d = opendir(path);
	for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL; ) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || unlinkat(dirfd(d), e->d_name, 0) == 0)
			continue;
		char below[320];
		snprintf(below, sizeof below, "%s/%s", path, e->d_name);
		empty(below);
		rmdir(below);
	}
	if (d != NULL)
		closedir(d);
}

static void leave(void)
{
	empty(folder);
	rmdir(folder);
}

static void enter(void)
{
	snprintf(folder, sizeof folder, "%s/tenon-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	require(mkdtemp(folder) != NULL, "a folder");
	atexit(leave);
}

void scratch_clear(void)
{
	if (folder[0] == '\0')
		enter();
	empty(folder);
}

const char *scratch_path(const char *name)
{
	static char path[160];
	snprintf(path, sizeof path, "%s%s%s", folder, name[0] != '\0' ? "/" : "", name);
	return path;
}

void scratch_write(const char *name, const void *p, size_t n)
{
	int fd = open(scratch_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	require(fd >= 0 && write(fd, p, n) == (ssize_t)n && close(fd) == 0, "a file");
}

bool scratch_has(const char *path) { return access(path, F_OK) == 0; }
