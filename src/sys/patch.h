/* patch.h - changing bytes of a file that is there. */
#ifndef SYS_PATCH_H
#define SYS_PATCH_H

#include "sys/file.h"

/* Writes n bytes at off, inside the file, over the bytes old, as one piece where the system takes it so, and with
 * sync waits for the disk. The file must still be the one that was opened as file, and as long: else USAGE, and
 * nothing is written. A write that stops half-way is taken back. */
tn_code sys_patch(const char *path, const struct sys_file *file, uint64_t off, const void *p,
                  const void *old, size_t n, bool sync, tn_error *err);

#endif
