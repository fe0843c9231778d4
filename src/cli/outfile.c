/* outfile.c - an output file that appears whole or not at all; or standard output. */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE 1 /* mkstemps */
#include "cli/outfile.h"
#include "cli/signals.h"
#include "cli/text.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a kill leaves behind is told by it. */
static const char SUFFIX[] = ".tmp";

/* The mode of the file that is replaced, or what the umask leaves. */
static mode_t mode_for(const char *path)
{
	struct stat st;
	if (stat(path, &st) == 0)
		return st.st_mode & 0777;
	mode_t mask = umask(0);
	umask(mask);
	return 0666 & ~mask;
}

static bool open_temp(struct outfile *o)
{
	struct text name = { 0 };
	text_fmt(&name, "%s.XXXXXX%s", o->path, SUFFIX);
	o->temp = name.p;
	signals_hold();
	int fd = mkstemps(o->temp, sizeof SUFFIX - 1);
	if (fd >= 0)
		signals_temp(o->temp);
	signals_release();
	if (fd < 0) {
		free(o->temp);
		o->temp = NULL;
		return false;
	}
	o->to = fchmod(fd, mode_for(o->path)) == 0 ? fdopen(fd, "wb") : NULL;
	if (o->to == NULL)
		close(fd);
	return o->to != NULL;
}

bool outfile_open(struct outfile *o, const char *path)
{
	struct stat st;
	*o = (struct outfile){ 0 };
	if (path == NULL || strcmp(path, "-") == 0) {
		o->to = stdout;
		return true;
	}
	bool exists = stat(path, &st) == 0;
	if (!exists && errno != ENOENT)
		return false;
	if (exists && S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return false;
	}
	if (exists && !S_ISREG(st.st_mode))
		return (o->to = fopen(path, "wb")) != NULL;
	/* a link stays, the file that it names is replaced */
	o->path = exists ? realpath(path, NULL) : NULL;
	if (o->path == NULL) {
		o->path = grab(strlen(path) + 1);
		memcpy(o->path, path, strlen(path) + 1);
	}
	if (open_temp(o))
		return true;
	int sys = errno;
	outfile_abandon(o);
	errno = sys;
	return false;
}

static void forget(struct outfile *o)
{
	signals_temp(NULL);
	free(o->path);
	free(o->temp);
	*o = (struct outfile){ 0 };
}

bool outfile_commit(struct outfile *o)
{
	if (o->to == stdout)
		return true; /* checked when the program ends */
	bool good = fflush(o->to) == 0 && !ferror(o->to);
	if (good && o->temp != NULL)
		good = fsync(fileno(o->to)) == 0;
	good = fclose(o->to) == 0 && good;
	o->to = NULL;
	if (good && o->temp != NULL)
		good = rename(o->temp, o->path) == 0;
	int sys = errno;
	if (!good)
		outfile_abandon(o);
	else
		forget(o);
	errno = sys;
	return good;
}

void outfile_abandon(struct outfile *o)
{
	if (o->to != NULL && o->to != stdout)
		fclose(o->to);
	if (o->temp != NULL)
		unlink(o->temp);
	forget(o);
}
