/* host.h - numbers of this host as bytes of a file, and back. Files are little-endian, and so is what a writer is given;
 * tn_read gives the order of the host. On a little-endian host nothing here moves a byte. */
#ifndef SUPPORT_HOST_H
#define SUPPORT_HOST_H

#include "base/bytes.h"
#include "tenon.h"

/* Elements of that type as a file has them: p itself, or a copy that lives until the program ends. */
const void *host_to_file(tn_dtype dtype, const void *p, size_t n);
/* Where byte number at of a row of numbers, as a file has them, lies on this host. */
uint64_t    host_at(size_t width, uint64_t at);
/* The bytes of a tensor as the file has them decoded, in a malloc: read, and held against those in place wherever they
 * are lent. Ends the program when they differ or cannot be read. */
tn_view     host_file_bytes(const tn_file *file, size_t i);

#endif
