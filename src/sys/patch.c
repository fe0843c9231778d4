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

static tn_code write_all(int fd, const char *path, uint64_t off, const uint8_t *p, size_t n,
                         tn_error *err)
{
	while (n != 0) {
		ssize_t put = pwrite(fd, p, n, (off_t)off);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return err_sys(err, put < 0 ? errno : EIO, "pwrite", path);
		p += put;
		off += (uint64_t)put;
		n -= (size_t)put;
	}
	return TN_OK;
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
                  size_t n, bool sync,
                  tn_error *err)
{
	int fd;
	do
		fd = open(path, O_WRONLY | O_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return err_sys(err, errno, "open", path);
	tn_code code = check_identity(fd, path, file, off, n, err);
	if (code == TN_OK)
		code = write_all(fd, path, off, p, n, err);
	if (code == TN_OK && sync)
		code = flush(fd, path, err);
	if (close(fd) != 0 && code == TN_OK)
		code = err_sys(err, errno, "close", path);
	return code;
}
