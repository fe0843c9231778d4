/* out.c - an output file that appears whole or not at all.
 *
 * Everything goes into a new file beside the target; only when that is complete and on the disk does it
 * take the target's name, in one step. Whoever looks, at any moment and after any crash, finds the old file
 * or the new one. What a crash leaves is a file that ends in .tmp. Errors name the target, not the temporary
 * file: that is the name the user knows. */
#define _GNU_SOURCE 1
#define _FILE_OFFSET_BITS 64
#include "sys/out.h"

#include "base/mem.h"
#include "base/num.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == 8, "file offsets have 64 bits");

enum {
	WRITE_MAX  = 1 << 30, /* some systems refuse or cut a count of 2 GiB */
	LINKS_MAX  = 40,      /* as many as Linux follows */
	TEMP_TRIES = 10000,
	TEMP_ROOM  = 40,      /* ".PID-COUNTER.tmp" and a terminator */
	TEMPS_MAX  = 1024
};

static const struct sys_out CLOSED = { .fd = -1, .place = -1 };

/* ---- The temporary files that are open now ---- */

/* The one global of the library: a signal handler gets no argument that could lead it to the files that are
 * to go. Pointers are taken and left atomically, so the handler needs no lock. More outputs at once than
 * there are places work as well, but a signal leaves their files behind. */
static _Atomic(char *) open_temps[TEMPS_MAX];

static void temp_enlist(struct sys_out *o, char *temp)
{
	o->temp = temp;
	for (int i = 0; i < TEMPS_MAX; i++) {
		char *none = NULL;
		if (atomic_compare_exchange_strong(&open_temps[i], &none, temp)) {
			o->place = i;
			return;
		}
	}
}

/* Ends the life of the name. A handler in another thread may have taken it and be reading it just now:
 * then it stays in memory, for the process is about to end. */
static void temp_forget(struct sys_out *o)
{
	char *mine = o->temp;
	if (o->place < 0 || atomic_compare_exchange_strong(&open_temps[o->place], &mine, NULL))
		mem_free(o->temp);
	o->temp = NULL;
	o->place = -1;
}

void sys_out_abandon_all(void)
{
	for (int i = 0; i < TEMPS_MAX; i++) {
		char *temp = atomic_exchange(&open_temps[i], NULL);
		if (temp != NULL)
			unlink(temp);
	}
}

/* ---- Names ---- */

static tn_view text_of(const char *text)
{
	return (tn_view){ (const uint8_t *)text, strlen(text) };
}

/* Bytes of path up to and with the last slash. */
static size_t folder_len(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

/* The first n bytes of folder, then name; NULL when memory is out. */
static char *join(const char *folder, size_t n, const char *name)
{
	size_t len = strlen(name);
	char *path = mem_alloc(n + len + 1);
	if (path != NULL) {
		copy_bytes(path, folder, n);
		memcpy(path + n, name, len + 1);
	}
	return path;
}

static tn_code no_memory(tn_error *err)
{
	return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "no memory for the name of the output");
}

/* Follows path while it is a symbolic link, also to a file that is not there yet. */
static tn_code follow(char **out, const char *path, tn_error *err)
{
	char to[PATH_MAX];
	char *at = join("", 0, path);
	for (int hops = 0; at != NULL; hops++) {
		ssize_t n = readlink(at, to, sizeof to - 1);
		if (n < 0 || hops == LINKS_MAX) {
			*out = at;
			return n < 0 ? TN_OK : err_sys(err, ELOOP, "readlink", path);
		}
		to[n] = '\0';
		char *next = join(at, to[0] == '/' ? 0 : folder_len(at), to);
		mem_free(at);
		at = next;
	}
	return no_memory(err);
}

/* ---- Opening ---- */

static int open_retry(const char *path, int flags, mode_t mode)
{
	int fd;
	do
		fd = open(path, flags | O_WRONLY | O_CLOEXEC, mode);
	while (fd < 0 && errno == EINTR);
	return fd;
}

/* Refuses before the first byte what could not be finished. reclaimed: bytes that will be free by then. */
static tn_code check_space(int fd, uint64_t size, uint64_t reclaimed, const char *path, tn_error *err)
{
	struct statvfs fs;
	uint64_t room, unit;
	if (size == 0 || fstatvfs(fd, &fs) != 0 || fs.f_blocks == 0)
		return TN_OK; /* not asked for, or a file system without a size: the writes will tell */
	unit = fs.f_frsize;
	if (!mul_u64(fs.f_bavail, unit, &room) || !add_u64(room, reclaimed, &room) || size <= room)
		return TN_OK;
	char what[80];
	snprintf(what, sizeof what, "save %llu bytes (%llu free) as",
	         (unsigned long long)size, (unsigned long long)room);
	return err_sys(err, ENOSPC, what, path);
}

/* Creates a file beside the target that nobody else has; fd and temp are set then. An existing target's
 * permissions bound the new file's from the start, so that a secret is never readable while it is written. */
/* A signal between the creation of a file and its enlisting would leave it behind: it waits until both are
 * done. */
static void create_enlisted(struct sys_out *o, char *temp, char *suffix, mode_t mode)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	for (int i = 0; i < TEMP_TRIES && o->fd < 0; i++) {
		snprintf(suffix, TEMP_ROOM, ".%ld-%d.tmp", (long)getpid(), i);
		o->fd = open_retry(temp, O_CREAT | O_EXCL, mode);
		if (o->fd < 0 && errno != EEXIST)
			break;
	}
	int sys = errno;
	if (o->fd >= 0)
		temp_enlist(o, temp);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = sys;
}

static tn_code create_temp(struct sys_out *o, mode_t mode, tn_error *err)
{
	size_t folder = folder_len(o->target), base = strlen(o->target + folder), cap;
	if (base > NAME_MAX - TEMP_ROOM) { /* cut between characters: some file systems insist on UTF-8 */
		base = NAME_MAX - TEMP_ROOM;
		while (base > 1 && (o->target[folder + base] & 0xC0) == 0x80)
			base--;
	}
	cap = base + TEMP_ROOM;
	char *temp = mem_alloc(folder + cap);
	if (temp == NULL)
		return no_memory(err);
	memcpy(temp, o->target, folder + base);
	create_enlisted(o, temp, temp + folder + base, mode);
	if (o->fd < 0) {
		int sys = errno;
		mem_free(temp);
		return err_sys(err, sys, "create", o->target);
	}
	return TN_OK;
}

static tn_code open_beside(struct sys_out *o, const struct stat *old, uint64_t size, tn_error *err)
{
	o->seekable = true;
	tn_code code = create_temp(o, old != NULL ? old->st_mode & 0777 : 0666, err);
	return code == TN_OK ? check_space(o->fd, size, 0, o->target, err) : code;
}

/* A device, FIFO or socket: opened by the name given, for /dev/stdout leads nowhere that has another name. */
static tn_code open_special(struct sys_out *o, const char *path, const struct stat *st, tn_error *err)
{
	o->direct = true;
	o->seekable = S_ISBLK(st->st_mode);
	o->fd = open_retry(path, 0, 0);
	return o->fd >= 0 ? TN_OK : err_sys(err, errno, "open", path);
}

/* In place, and nothing is there: the file is removed on failure as a temporary one would be. */
static tn_code create_in_place(struct sys_out *o, uint64_t size, tn_error *err)
{
	char *name = join("", 0, o->target);
	if (name == NULL)
		return no_memory(err);
	o->fd = open_retry(name, O_CREAT | O_EXCL, 0666);
	if (o->fd < 0) {
		int sys = errno;
		mem_free(name);
		return err_sys(err, sys, "create", o->target);
	}
	temp_enlist(o, name);
	return check_space(o->fd, size, 0, o->target, err);
}

static tn_code check_inputs(const struct stat *st, const struct sys_file *const *inputs, size_t n,
                            const char *path, tn_error *err)
{
	for (size_t i = 0; i < n; i++)
		if (inputs[i]->dev == st->st_dev && inputs[i]->ino == st->st_ino)
			return err_set(err, TN_E_USAGE, TN_NO_OFFSET,
			               "%s: output is also an input; it cannot be written in place", ESC(text_of(path)));
	return TN_OK;
}

/* The file is emptied when nothing speaks against it any more; o->fd is set from then on. */
static tn_code empty_in_place(struct sys_out *o, uint64_t size, const struct sys_file *const *inputs,
                              size_t n, tn_error *err)
{
	struct stat st;
	int fd = open_retry(o->target, 0, 0);
	if (fd < 0)
		return err_sys(err, errno, "open", o->target);
	tn_code code = TN_OK;
	if (fstat(fd, &st) != 0)
		code = err_sys(err, errno, "stat", o->target);
	if (code == TN_OK)
		code = check_inputs(&st, inputs, n, o->target, err);
	if (code == TN_OK)
		code = check_space(fd, size, (uint64_t)st.st_blocks * 512, o->target, err);
	if (code == TN_OK && ftruncate(fd, 0) != 0)
		code = err_sys(err, errno, "ftruncate", o->target);
	if (code != TN_OK)
		close(fd);
	else
		o->fd = fd;
	return code;
}

static tn_code open_target(struct sys_out *o, const char *path, bool in_place, uint64_t size,
                           const struct sys_file *const *inputs, size_t n, tn_error *err)
{
	struct stat st;
	bool there = stat(path, &st) == 0;
	if (!there && errno != ENOENT)
		return err_sys(err, errno, "stat", path);
	if (there && S_ISDIR(st.st_mode))
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "%s: is a directory", ESC(text_of(path)));
	if (there && !S_ISREG(st.st_mode))
		return open_special(o, path, &st, err);
	if (o->target[folder_len(o->target)] == '\0')
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "'%s': no file name", ESC(text_of(path)));
	if (!in_place)
		return open_beside(o, there ? &st : NULL, size, err);
	o->direct = o->seekable = true;
	return there ? empty_in_place(o, size, inputs, n, err) : create_in_place(o, size, err);
}

tn_code sys_out_open(struct sys_out *o, const char *path, bool in_place, bool sync, uint64_t size,
                     const struct sys_file *const *inputs, size_t n, tn_error *err)
{
	*o = CLOSED;
	o->sync = sync;
	tn_code code = follow(&o->target, path, err);
	if (code == TN_OK)
		code = open_target(o, path, in_place, size, inputs, n, err);
	if (code != TN_OK)
		sys_out_abandon(o);
	return code;
}

/* ---- Going on ---- */

/* FOLDER/.NAME.partial */
static char *partial_name(const char *target)
{
	size_t folder = folder_len(target), n = strlen(target) + sizeof "..partial";
	char *name = mem_alloc(n);
	if (name != NULL)
		snprintf(name, n, "%.*s.%s.partial", (int)folder, target, target + folder);
	return name;
}

/* Two runs must not write to one file, and the lock holds until it is renamed; and one that another run has just finished is not a partial file any more. */
static tn_code lock_partial(const struct sys_out *o, tn_error *err)
{
	struct stat named, opened;
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	if (fcntl(o->fd, F_OFD_SETLK, &whole) != 0)
		return err_sys(err, errno, "lock the unfinished file of", o->target);
	if (lstat(o->temp, &named) != 0 || fstat(o->fd, &opened) != 0)
		return err_sys(err, errno, "stat the unfinished file of", o->target);
	if (named.st_dev != opened.st_dev || named.st_ino != opened.st_ino || !S_ISREG(opened.st_mode))
		return err_sys(err, EBUSY, "take the unfinished file of", o->target);
	return TN_OK;
}

static tn_code take_partial(struct sys_out *o, uint64_t size, uint64_t *have, tn_error *err)
{
	struct stat st;
	if (fstat(o->fd, &st) != 0)
		return err_sys(err, errno, "stat", o->target);
	if ((uint64_t)st.st_size < *have)
		*have = 0;
	if (check_space(o->fd, size, (uint64_t)st.st_blocks * 512, o->target, err) != TN_OK)
		return err->code;
	if (ftruncate(o->fd, (off_t)*have) != 0)
		return err_sys(err, errno, "ftruncate", o->target);
	return lseek(o->fd, (off_t)*have, SEEK_SET) >= 0 ? TN_OK : err_sys(err, errno, "lseek", o->target);
}

/* It may have the permissions of a target that is not to be written to, from its beginning or from its end, when the run
 * before this one was killed. */
static bool make_writable(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool done = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && fchmod(fd, (st.st_mode & 0777) | S_IWUSR) == 0;
	if (fd >= 0)
		close(fd);
	return done;
}

/* Its name can be foreseen: what somebody else put there is neither followed nor waited for. */
static int open_unfinished(const char *path, mode_t mode)
{
	int fd = open_retry(path, O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode);
	return fd < 0 && errno == EACCES && make_writable(path) ? open_retry(path, O_NOFOLLOW | O_NONBLOCK, 0) : fd;
}

static tn_code open_partial(struct sys_out *o, const char *path, uint64_t size, uint64_t *have, tn_error *err)
{
	struct stat st;
	bool there = stat(path, &st) == 0;
	if (!there && errno != ENOENT)
		return err_sys(err, errno, "stat", path);
	if ((there && !S_ISREG(st.st_mode)) || o->target[folder_len(o->target)] == '\0')
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "'%s': no regular file", ESC(text_of(path)));
	o->temp = partial_name(o->target);
	if (o->temp == NULL)
		return no_memory(err);
	o->fd = open_unfinished(o->temp, there ? st.st_mode & 0777 : 0666);
	if (o->fd < 0)
		return err_sys(err, errno, "create", o->target);
	return lock_partial(o, err) == TN_OK ? take_partial(o, size, have, err) : err->code;
}

tn_code sys_out_resume(struct sys_out *o, const char *path, bool sync, uint64_t size, uint64_t *have, tn_error *err)
{
	*o = CLOSED;
	o->sync = sync;
	o->seekable = o->keeps = true;
	tn_code code = follow(&o->target, path, err);
	if (code == TN_OK)
		code = open_partial(o, path, size, have, err);
	if (code != TN_OK)
		sys_out_abandon(o);
	return code;
}

/* ---- Writing ---- */

tn_code sys_out_write(struct sys_out *o, const void *p, size_t n, tn_error *err)
{
	const uint8_t *from = p;
	while (n != 0) {
		ssize_t put = write(o->fd, from, n < WRITE_MAX ? n : WRITE_MAX);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return err_sys(err, put < 0 ? errno : EIO, "write", o->target);
		from += put;
		n -= (size_t)put;
	}
	return TN_OK;
}

tn_code sys_out_patch(struct sys_out *o, uint64_t off, const void *p, size_t n, tn_error *err)
{
	if (!o->seekable)
		return err_set(err, TN_E_USAGE, off, "%s: cannot go back in it, as this format needs",
		               ESC(text_of(o->target)));
	const uint8_t *from = p;
	while (n != 0) {
		ssize_t put = pwrite(o->fd, from, n < WRITE_MAX ? n : WRITE_MAX, (off_t)off);
		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return err_sys(err, put < 0 ? errno : EIO, "pwrite", o->target);
		from += put;
		off += (uint64_t)put;
		n -= (size_t)put;
	}
	return TN_OK;
}

/* What copy_file_range says when these two files, or this kernel or its sandbox, are not for it. */
static bool not_for_us(int sys)
{
	return sys == EXDEV || sys == EINVAL || sys == ENOSYS || sys == EOPNOTSUPP || sys == ETXTBSY
	    || sys == EPERM || sys == EBADF;
}

tn_code sys_out_copy(struct sys_out *o, const struct sys_file *from, uint64_t off, uint64_t n,
                     uint64_t *moved, tn_error *err)
{
	for (*moved = 0; *moved < n; ) {
		off_t at = (off_t)(off + *moved);
		size_t piece = (size_t)min_u64(n - *moved, WRITE_MAX);
		ssize_t got = copy_file_range(from->fd, &at, o->fd, NULL, piece, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && !not_for_us(errno))
			return err_sys(err, errno, "copy_file_range", o->target);
		if (got <= 0) /* 0: the end of the file, or of what the kernel knows of it. Reading will tell */
			break;
		*moved += (uint64_t)got;
	}
	return TN_OK;
}

/* ---- Ending ---- */

/* The new file becomes what the old one was to others. The owner is kept where the system allows it: mostly
 * only root may give files away. The permissions must be kept. */
static tn_code keep_owner_and_mode(const struct sys_out *o, tn_error *err)
{
	struct stat old, now;
	if (stat(o->target, &old) != 0 || !S_ISREG(old.st_mode))
		return TN_OK;
	if (fstat(o->fd, &now) != 0)
		return err_sys(err, errno, "stat", o->target);
	if (old.st_uid != now.st_uid || old.st_gid != now.st_gid) {
		if (fchown(o->fd, old.st_uid, old.st_gid) != 0 && fchown(o->fd, (uid_t)-1, old.st_gid) != 0)
			errno = 0; /* it stays ours */
	}
	if (((old.st_mode ^ now.st_mode) & 0777) != 0 && fchmod(o->fd, old.st_mode & 0777) != 0)
		return err_sys(err, errno, "chmod", o->target);
	return TN_OK;
}

static int sync_retry(int fd)
{
	int failed;
	do
		failed = fsync(fd);
	while (failed != 0 && errno == EINTR);
	return failed;
}

/* What has no disk behind it cannot be synced, and need not be. */
static bool sync_pointless(int sys)
{
	return sys == EINVAL || sys == ENOTSUP || sys == EROFS || sys == ENOSYS;
}

static tn_code sync_file(const struct sys_out *o, tn_error *err)
{
	if (sync_retry(o->fd) == 0 || (o->direct && sync_pointless(errno)))
		return TN_OK;
	return err_sys(err, errno, "fsync", o->target);
}

tn_code sys_out_sync(const struct sys_out *o, tn_error *err)
{
	return o->sync ? sync_file(o, err) : TN_OK;
}

/* The rename itself must reach the disk. A folder that we may write but not read cannot be opened, and not
 * all file systems sync folders: neither is a reason to fail. No memory is asked for this late. */
static tn_code sync_folder(struct sys_out *o, tn_error *err)
{
	char *name = o->target + folder_len(o->target), first = *name;
	*name = '\0';
	int fd = open(name != o->target ? o->target : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*name = first;
	if (fd < 0)
		return TN_OK;
	tn_code code = TN_OK;
	if (sync_retry(fd) != 0 && !sync_pointless(errno))
		code = err_sys(err, errno, "fsync of the folder of", o->target);
	close(fd);
	return code;
}

/* What close says, where some network file systems report a failed write. A file that is kept stays open and with
 * that locked until it has its name, or another run could begin to write to it: a second descriptor is closed. */
static tn_code close_file(struct sys_out *o, tn_error *err)
{
	int fd = o->fd;
	if (!o->keeps)
		o->fd = -1; /* gone even where close fails */
	else if ((fd = fcntl(o->fd, F_DUPFD_CLOEXEC, 0)) < 0)
		return err_sys(err, errno, "close", o->target);
	return close(fd) == 0 ? TN_OK : err_sys(err, errno, "close", o->target);
}

/* The file's own part: attributes, data on the disk, and the last word of close. */
static tn_code finish_file(struct sys_out *o, tn_error *err)
{
	tn_code code = o->direct ? TN_OK : keep_owner_and_mode(o, err);
	if (code == TN_OK && o->sync)
		code = sync_file(o, err);
	return code == TN_OK ? close_file(o, err) : code;
}

tn_code sys_out_close(struct sys_out *o, tn_error *err)
{
	tn_code code = err != NULL ? err->code : TN_OK;
	return code == TN_OK && o->fd >= 0 ? finish_file(o, err) : code;
}

tn_code sys_out_commit(struct sys_out *o, tn_error *err)
{
	tn_code code = sys_out_close(o, err); /* what failed before must not take the target's name */
	if (code == TN_OK && !o->direct && rename(o->temp, o->target) != 0)
		code = err_sys(err, errno, "rename", o->target);
	if (code == TN_OK && o->temp != NULL) {
		temp_forget(o);
		if (o->sync)
			code = sync_folder(o, err);
	}
	sys_out_abandon(o);
	return code;
}

void sys_out_abandon(struct sys_out *o)
{
	if (o->fd >= 0) {
		/* in place: nothing is better than the beginning of a file */
		if (o->direct && o->seekable && ftruncate(o->fd, 0) != 0)
			errno = 0; /* a block device keeps its size */
		close(o->fd);
	}
	if (o->temp != NULL && !o->keeps)
		unlink(o->temp);
	temp_forget(o);
	mem_free(o->target);
	*o = CLOSED;
}
