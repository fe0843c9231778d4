/* patch.c - see patch.h. No other code writes into a file that was there before. */
#define _GNU_SOURCE 1
#define _FILE_OFFSET_BITS 64
#include "sys/patch.h"

#include "base/num.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static tn_code changed(const char *path, tn_error *err)
{
	return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "%s: is no longer the file that was opened",
	               ESC(tn_text(path)));
}

static tn_code check_identity(int fd, const char *path, const struct sys_file *file, uint64_t off,
                              size_t n, tn_error *err)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return err_sys(err, errno, "fstat", path);
	bool same = (uint64_t)st.st_dev == file->dev && (uint64_t)st.st_ino == file->ino &&
	            (uint64_t)st.st_size == file->size;
	return same && span_fits(off, n, file->size) ? TN_OK : changed(path, err);
}

/* *put counts what was written. */
static tn_code write_all(int fd, const char *path, uint64_t off, const uint8_t *p, size_t n, size_t *put,
                         tn_error *err)
{
	for (*put = 0; *put < n; ) {
		ssize_t got = pwrite(fd, p + *put, n - *put, (off_t)(off + *put));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return err_sys(err, got < 0 ? errno : EIO, "pwrite", path);
		*put += (size_t)got;
	}
	return TN_OK;
}

/* A disk that takes a part and no more: the old bytes go back over it, so that the file is what it was. */
static void take_back(int fd, const char *path, uint64_t off, const uint8_t *old, size_t n, tn_error *err)
{
	tn_error again = { .code = TN_OK };
	size_t put;
	if (n != 0 && write_all(fd, path, off, old, n, &put, &again) != TN_OK)
		err_prefix(err, "half of a change could not be taken back, the file is damaged");
}

static tn_code flush(int fd, const char *path, tn_error *err)
{
	int failed;
	do
		failed = fsync(fd);
	while (failed != 0 && errno == EINTR);
	return failed != 0 ? err_sys(err, errno, "fsync", path) : TN_OK;
}

tn_code sys_patch(const char *path, const struct sys_file *file, uint64_t off, const void *p,
                  const void *old, size_t n, bool sync, tn_error *err)
{
	size_t put;
	int fd;
	do
		fd = open(path, O_WRONLY | O_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return err_sys(err, errno, "open", path);
	tn_code code = check_identity(fd, path, file, off, n, err);
	if (code == TN_OK && (code = write_all(fd, path, off, p, n, &put, err)) != TN_OK)
		take_back(fd, path, off, old, put, err);
	if (code == TN_OK && sync)
		code = flush(fd, path, err);
	if (close(fd) != 0 && code == TN_OK)
		code = err_sys(err, errno, "close", path);
	return code;
}
