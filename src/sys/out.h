/* out.h - an output file that appears whole or not at all.
 *
 * Written beside the target under NAME.PID-COUNTER.tmp, created exclusively; commit syncs it, gives it the
 * target's permissions, renames it over the target and syncs the folder. A symbolic link is followed, so the
 * file it names is replaced and the link stays. A device, FIFO or socket is written directly. */
#ifndef SYS_OUT_H
#define SYS_OUT_H

#include "sys/file.h"

struct sys_out {
	int   fd;
	char *target;   /* resolved */
	char *temp;     /* what a failure removes; NULL where a file, device or pipe that was there is written directly */
	int   place;    /* of temp among those that sys_out_abandon_all removes; -1: none */
	bool  direct;   /* a device or pipe, or in place: no rename */
	bool  seekable; /* patches are possible */
	bool  sync;
	bool  keeps;    /* a failure leaves temp for the next run */
};

/* in_place: truncate and write the target itself; a failure leaves it empty, or absent if it was. Where the target is one of the n inputs (by device and
 * inode) in_place is refused with USAGE; a rename never is. size is what will be written: too little free space is an IO
 * error (ENOSPC) before the first byte. */
tn_code sys_out_open(struct sys_out *o, const char *path, bool in_place, bool sync, uint64_t size,
                     const struct sys_file *const *inputs, size_t n, tn_error *err);
/* Goes on with what an earlier run has left beside the target as .NAME.partial, or begins it: *have bytes of it are to stay,
 * of which there are none (0) when it is shorter. Neither a failure nor sys_out_abandon_all removes it. IO while
 * another process writes to it. */
tn_code sys_out_resume(struct sys_out *o, const char *path, bool sync, uint64_t size, uint64_t *have, tn_error *err);
/* Waits for the disk to have what was written so far. */
tn_code sys_out_sync(const struct sys_out *o, tn_error *err);
tn_code sys_out_write(struct sys_out *o, const void *p, size_t n, tn_error *err);
tn_code sys_out_patch(struct sys_out *o, uint64_t off, const void *p, size_t n, tn_error *err);
/* Moves n bytes inside the kernel; *moved says how many went (0 where the system cannot: not a failure). */
tn_code sys_out_copy(struct sys_out *o, const struct sys_file *from, uint64_t off, uint64_t n, uint64_t *moved,
                     tn_error *err);
/* Everything that commit does but the renaming: for several files that are to appear together. Nothing is to be written
 * any more. */
tn_code sys_out_close(struct sys_out *o, tn_error *err);
/* Always ends the output, also when it fails. Where err holds a failure already it only abandons. Should the
 * sync of the folder fail at the very end, that is an error although the new file is in its place. */
tn_code sys_out_commit(struct sys_out *o, tn_error *err);
void    sys_out_abandon(struct sys_out *o);                /* removes what was written; harmless after commit */
/* Safe in a signal handler: removes every temporary file that is open now. */
void    sys_out_abandon_all(void);

#endif
