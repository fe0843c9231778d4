/* fault_calls.h - system calls that fail, stop short or kill the process when a test says so.
 *
 * These are definitions: one file of a program includes this, and the program's own write, fsync, rename ...
 * stand in front of the C library's for all code linked into it. Not armed, each does what it always does. The
 * C library's own calls (stdio) do not come by here. */
#ifndef SUPPORT_FAULT_CALLS_H
#define SUPPORT_FAULT_CALLS_H

#ifdef _FEATURES_H
#  error "include this before any header of the system: the names of calls depend on the width of offsets"
#endif
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum fault_call {
	FAULT_PREAD, FAULT_WRITE, FAULT_PWRITE, FAULT_COPY, FAULT_FTRUNCATE, FAULT_FCHMOD, FAULT_FSYNC, FAULT_CLOSE,
	FAULT_RENAME, FAULT_OPEN, FAULT_UNLINK, FAULT_MKDIR, FAULT_RMDIR, FAULT_ANY
};

static struct {
	bool            armed;
	enum fault_call call;      /* which calls count */
	int             at;        /* the one that fails, from 1; 0: none */
	int             sys;       /* its errno; 0: the process dies instead, as by kill -9 */
	bool            forever;   /* and all calls of the kind after it */
	bool            shorten;   /* writes and copies of the kind do half of what they are asked */
	bool            interrupt; /* every other call of the kind ends with EINTR */
	int             seen;
} fault;

static inline void fault_arm(enum fault_call call, int at, int sys)
{
	memset(&fault, 0, sizeof fault);
	fault.armed = true;
	fault.call = call;
	fault.at = at;
	fault.sys = sys;
}

static inline void fault_disarm(void) { fault.armed = false; }

static inline bool fault_strikes(enum fault_call call)
{
	if (!fault.armed || (fault.call != FAULT_ANY && fault.call != call))
		return false;
	fault.seen++;
	if (fault.interrupt && fault.seen % 2 == 1) {
		errno = EINTR;
		return true;
	}
	if (fault.seen != fault.at && !(fault.forever && fault.at != 0 && fault.seen > fault.at))
		return false;
	if (fault.sys == 0)
		kill(getpid(), SIGKILL);
	errno = fault.sys;
	return true;
}

static inline size_t fault_cut(enum fault_call call, size_t n)
{
	return fault.armed && fault.shorten && fault.call == call && n > 1 ? n / 2 : n;
}

ssize_t write(int fd, const void *p, size_t n)
{
	return fault_strikes(FAULT_WRITE) ? -1 : syscall(SYS_write, fd, p, fault_cut(FAULT_WRITE, n));
}

/* These two by moving there and back: the calls take their offset differently on each kind of machine. */
ssize_t pread(int fd, void *p, size_t n, off_t off)
{
	off_t back = lseek(fd, 0, SEEK_CUR);
	if (fault_strikes(FAULT_PREAD) || lseek(fd, off, SEEK_SET) < 0)
		return -1;
	ssize_t got = syscall(SYS_read, fd, p, fault_cut(FAULT_PREAD, n));
	int sys = errno;
	lseek(fd, back, SEEK_SET);
	errno = sys;
	return got;
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t off)
{
	off_t back = lseek(fd, 0, SEEK_CUR);
	if (fault_strikes(FAULT_PWRITE) || lseek(fd, off, SEEK_SET) < 0)
		return -1;
	ssize_t put = syscall(SYS_write, fd, p, fault_cut(FAULT_PWRITE, n));
	int sys = errno;
	lseek(fd, back, SEEK_SET);
	errno = sys;
	return put;
}

ssize_t copy_file_range(int in, off_t *in_off, int out, off_t *out_off, size_t n, unsigned flags)
{
	if (fault_strikes(FAULT_COPY))
		return -1;
	return syscall(SYS_copy_file_range, in, in_off, out, out_off, fault_cut(FAULT_COPY, n), flags);
}

int ftruncate(int fd, off_t n)
{
	return fault_strikes(FAULT_FTRUNCATE) ? -1 : (int)syscall(SYS_ftruncate, fd, (long)n);
}

int fchmod(int fd, mode_t mode)
{
	return fault_strikes(FAULT_FCHMOD) ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

/* With FAULT_NO_DISK defined it counts, and waits for nothing: what it is worth in a crash of the system no test can tell. */
int fsync(int fd)
{
	if (fault_strikes(FAULT_FSYNC))
		return -1;
#ifdef FAULT_NO_DISK
	return fcntl(fd, F_GETFD) < 0 ? -1 : 0;
#else
	return (int)syscall(SYS_fsync, fd);
#endif
}

int rename(const char *from, const char *to)
{
	if (fault_strikes(FAULT_RENAME))
		return -1;
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int open(const char *path, int flags, ...)
{
	va_list args;
	va_start(args, flags);
	unsigned mode = flags & O_CREAT ? va_arg(args, unsigned) : 0;
	va_end(args);
	return fault_strikes(FAULT_OPEN) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int unlink(const char *path)
{
	return fault_strikes(FAULT_UNLINK) ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int mkdir(const char *path, mode_t mode)
{
	return fault_strikes(FAULT_MKDIR) ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int rmdir(const char *path)
{
	return fault_strikes(FAULT_RMDIR) ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}

/* The descriptor goes even where the call fails, as on Linux. */
int close(int fd)
{
	bool strikes = fault_strikes(FAULT_CLOSE);
	int sys = errno, closed = (int)syscall(SYS_close, fd);
	if (!strikes)
		return closed;
	errno = sys;
	return -1;
}

#endif
