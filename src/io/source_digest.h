/* source_digest.h - the BLAKE3 of some bytes of a source, before it is written anywhere. */
#ifndef IO_SOURCE_DIGEST_H
#define IO_SOURCE_DIGEST_H

#include "codec/blake3.h"
#include "io/source.h"

/* Of len bytes from off, which must lie inside the source. *known is false, and nothing was read, where they cannot be had
 * twice, or not without making all that stands before them. */
tn_code source_digest(const struct source *s, uint64_t off, uint64_t len, tn_digest *out, bool *known, tn_error *err);

#endif
