/* file.c - an input file, mapped or read by position.
 *
 * Files are opened without waiting (O_NONBLOCK), so that a FIFO is refused rather than waited for. A map
 * is shared and read-only: it costs no memory of its own and no swap. Reads by position loop over
 * interruptions and short counts, so that a caller gets all of what it asked for or an error. */
#define _GNU_SOURCE 1
#define _FILE_OFFSET_BITS 64
#include "sys/file.h"

#include "base/mem.h"
#include "base/num.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == 8, "file offsets have 64 bits");

enum {
	READ_MAX     = 1 << 30, /* some systems refuse or cut a count of 2 GiB */
	DIRECT_ALIGN = 4096,    /* no device in use asks for more */
	DIRECT_ROOM  = 1 << 20,
	AHEAD_MAX    = 64 << 20 /* enough to keep a disk busy, too little to push everything else out */
};

static const struct sys_file CLOSED = { .fd = -1, .direct_fd = -1 };

/* ---- Opening ---- */

static const char *kind_of(mode_t mode)
{
	if (S_ISDIR(mode))
		return "is a directory";
	if (S_ISFIFO(mode))
		return "is a FIFO";
	if (S_ISSOCK(mode))
		return "is a socket";
	return "is a device";
}

static tn_code refuse(mode_t mode, tn_error *err)
{
	return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "%s, not a file", kind_of(mode));
}

/* A socket cannot be opened at all: the system's words for it ("no such device or address") mislead. */
static tn_code open_failed(int sys, const char *path, tn_error *err)
{
	struct stat st;
	if (sys == ENXIO && stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return refuse(st.st_mode, err);
	return err_sys(err, sys, "open", NULL);
}

static int open_retry(const char *path, int flags)
{
	int fd;
	do
		fd = open(path, flags | O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	while (fd < 0 && errno == EINTR);
	return fd;
}

/* Where a page fault is a round trip, or may never be answered: reading by position is faster there and
 * fails with an error instead of a signal. */
static bool far_away(int fd)
{
	static const uint32_t far[] = {
		0x00006969, /* NFS */       0x0000517B, /* SMB */      0xFF534D42, /* CIFS */
		0xFE534D42, /* SMB 2 */     0x65735546, /* FUSE */     0x01021997, /* 9p */
		0x5346414F, /* AFS */       0x6B414653, /* AFS */      0x73757245, /* Coda */
		0x00C36400, /* Ceph */      0x0BD00BD0, /* Lustre */   0x47504653, /* GPFS */
		0x19830326, /* BeeGFS */    0x786F4256, /* VirtualBox */ 0xBACBACBC, /* VMware */
	};
	struct statfs fs;
	if (fstatfs(fd, &fs) != 0)
		return false;
	for (size_t i = 0; i < sizeof far / sizeof far[0]; i++)
		if ((uint32_t)fs.f_type == far[i])
			return true;
	return false;
}

/* False, with errno set, when the system cannot. */
static bool map_whole(struct sys_file *f)
{
	size_t n;
	if (!size_from_u64(f->size, &n)) {
		errno = EOVERFLOW;
		return false;
	}
	void *p = mmap(NULL, n, PROT_READ, MAP_SHARED, f->fd, 0);
	if (p == MAP_FAILED && errno == ENODEV) /* file systems without shared maps have private ones */
		p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, f->fd, 0);
	if (p == MAP_FAILED)
		return false;
	f->map = (tn_view){ p, n };
	return true;
}

/* A second descriptor past the page cache; -1 where it is refused, or where path names another file by
 * now. */
static int open_direct(const struct sys_file *f, const char *path)
{
	struct stat st;
	int fd = open_retry(path, O_DIRECT);
	if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_dev != f->dev || st.st_ino != f->ino)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static int64_t nanoseconds(struct timespec t) { return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec; }

static tn_code set_up(struct sys_file *f, const char *path, tn_io io, tn_error *err)
{
	struct stat st;
	if (fstat(f->fd, &st) != 0)
		return err_sys(err, errno, "stat", NULL);
	if (!S_ISREG(st.st_mode))
		return refuse(st.st_mode, err);
	f->size = (uint64_t)st.st_size;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->changed = nanoseconds(st.st_mtim);
	f->touched = nanoseconds(st.st_ctim);
	if (io == TN_IO_DIRECT)
		f->direct_fd = open_direct(f, path);
	bool map = io == TN_IO_MMAP || (io == TN_IO_AUTO && !far_away(f->fd));
	if (map && f->size != 0 && !map_whole(f) && io == TN_IO_MMAP)
		return err_sys(err, errno, "map", NULL);
	return TN_OK;
}

tn_code sys_file_open(struct sys_file *f, const char *path, tn_io io, tn_error *err)
{
	*f = CLOSED;
	f->fd = open_retry(path, 0);
	if (f->fd < 0)
		return open_failed(errno, path, err);
	tn_code code = set_up(f, path, io, err);
	if (code != TN_OK)
		sys_file_close(f);
	return code;
}

void sys_file_close(struct sys_file *f)
{
	if (f->map.ptr != NULL)
		munmap((void *)(uintptr_t)f->map.ptr, f->map.len);
	if (f->direct_fd >= 0)
		close(f->direct_fd);
	if (f->fd >= 0)
		close(f->fd);
	f->fd = f->direct_fd = -1;
	f->map = (tn_view){ NULL, 0 };
}

bool sys_file_exists(const char *path)
{
	struct stat st;
	/* what cannot be looked at is there as far as we know: opening it says why it cannot be had */
	return stat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

bool sys_file_identify(struct sys_file *f, const char *path)
{
	struct stat st;
	*f = CLOSED;
	if (stat(path, &st) != 0)
		return false;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	return true;
}

/* ---- Reading ---- */

static ssize_t read_at(int fd, void *buf, size_t n, uint64_t off)
{
	ssize_t got;
	do
		got = pread(fd, buf, n < READ_MAX ? n : READ_MAX, (off_t)off);
	while (got < 0 && errno == EINTR);
	return got;
}

/* Reads what it can past the page cache, in whole blocks through a buffer of its own; the count may be
 * short for any reason, and the caller gets the rest in the plain way, which knows the errors. */
static size_t read_direct(int fd, uint64_t off, uint8_t *buf, size_t n)
{
	uint8_t *room = mem_alloc(DIRECT_ROOM + DIRECT_ALIGN);
	if (room == NULL)
		return 0;
	uint8_t *block = room + pad_to((uintptr_t)room, DIRECT_ALIGN);
	size_t done = 0;
	while (done < n) {
		uint64_t at = off + done;
		size_t skip = (size_t)(at % DIRECT_ALIGN);
		size_t want = (size_t)min_u64(n - done, DIRECT_ROOM - skip);
		size_t whole = skip + want + (size_t)pad_to(skip + want, DIRECT_ALIGN);
		ssize_t got = read_at(fd, block, whole, at - skip);
		if (got < 0 || (size_t)got <= skip)
			break;
		size_t fresh = (size_t)min_u64((size_t)got - skip, want);
		memcpy(buf + done, block + skip, fresh);
		done += fresh;
	}
	mem_free(room);
	return done;
}

static tn_code ended(uint64_t at, tn_error *err)
{
	return err_set(err, TN_E_TRUNCATED, at, "file ended at byte %llu while reading; did it shrink",
	               (unsigned long long)at);
}

tn_code sys_file_read(const struct sys_file *f, uint64_t off, void *buf, size_t n, bool direct, tn_error *err)
{
	if (!span_fits(off, n, f->size))
		return ended(f->size, err);
	uint8_t *to = buf;
	size_t done = direct && f->direct_fd >= 0 ? read_direct(f->direct_fd, off, to, n) : 0;
	while (done < n) {
		ssize_t got = read_at(f->fd, to + done, n - done, off + done);
		if (got < 0)
			return err_sys(err, errno, "read", NULL);
		if (got == 0)
			return ended(off + done, err);
		done += (size_t)got;
	}
	return TN_OK;
}

void sys_file_forget(const struct sys_file *f, uint64_t off, uint64_t n)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), from, to;
	if (f->map.ptr == NULL || !span_fits(off, n, f->map.len) || !align_up(off, page, &from))
		return;
	to = (off + n) / page * page;
	if (from < to)
		madvise((void *)(uintptr_t)(f->map.ptr + from), (size_t)(to - from), MADV_DONTNEED);
}

void sys_file_will_read(const struct sys_file *f, uint64_t off, uint64_t n)
{
	if (f->direct_fd >= 0 || !span_fits(off, n, f->size))
		return;
	n = min_u64(n, AHEAD_MAX);
	if (f->map.ptr == NULL) {
		posix_fadvise(f->fd, (off_t)off, (off_t)n, POSIX_FADV_WILLNEED);
		return;
	}
	/* the map begins on a page, and 64 KiB are whole pages everywhere */
	size_t head = (size_t)(off % (64 << 10));
	madvise((void *)(uintptr_t)(f->map.ptr + off - head), (size_t)n + head, MADV_WILLNEED);
}

/* What a map shows stays in the cache, so that goes first. */
void sys_file_evict(const struct sys_file *f, uint64_t off, uint64_t n)
{
	if (n == 0 || !span_fits(off, n, f->size))
		return;
	sys_file_forget(f, off, n);
	posix_fadvise(f->fd, (off_t)off, (off_t)n, POSIX_FADV_DONTNEED);
}
