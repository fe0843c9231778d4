/* file.h - an input file: mapped, or read by position. With out.h the only place that talks to the system. */
#ifndef SYS_FILE_H
#define SYS_FILE_H

#include "base/err.h"

struct sys_file {
	int      fd;        /* -1 when closed */
	int      direct_fd; /* the same file without the page cache; -1 when not asked for or not to be had */
	uint64_t size;
	uint64_t dev, ino;  /* who it is */
	int64_t  changed;   /* when its bytes last changed, in nanoseconds since 1970: as the file says, which can be set */
	int64_t  touched;   /* when anything of it last did: as the system says */
	tn_view  map;       /* ptr is NULL when not mapped */
};

/* Opens a regular file read-only. A directory, FIFO, socket or device is refused in words (USAGE), never
 * waited for. An empty file is not mapped and not an error. */
tn_code sys_file_open(struct sys_file *f, const char *path, tn_io io, tn_error *err);
/* Harmless on a closed one. Size and identity can be asked for afterwards. */
void    sys_file_close(struct sys_file *f);
/* Exactly n bytes at off: TRUNCATED when the file ends before (it may have shrunk), IO when the system fails.
 * Any thread. direct asks for the way past the page cache. */
tn_code sys_file_read(const struct sys_file *f, uint64_t off, void *buf, size_t n, bool direct, tn_error *err);
bool    sys_file_exists(const char *path);
/* Which file a path leads to; false where there is none. It is not opened: f has dev and ino only. */
bool    sys_file_identify(struct sys_file *f, const char *path);
static inline bool sys_file_same(const struct sys_file *a, const struct sys_file *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}
/* Gives back the memory of the map's pages that lie wholly in [off, off+n); they are read again when touched. */
void    sys_file_forget(const struct sys_file *f, uint64_t off, uint64_t n);
/* Tells the system that [off, off+n) will be read soon in order. */
void    sys_file_will_read(const struct sys_file *f, uint64_t off, uint64_t n);
/* Drops the whole pages in [off, off+n) from the system's cache of the file, unless others use them. */
void    sys_file_evict(const struct sys_file *f, uint64_t off, uint64_t n);

#endif
