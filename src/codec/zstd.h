/* zstd.h - zstd frames, by libzstd. */
#ifndef CODEC_ZSTD_H
#define CODEC_ZSTD_H

#include "base/buf.h"

/* What a thread keeps between calls. */
struct zstd;
struct zstd *zstd_new(void); /* NULL when memory is out */
void         zstd_free(struct zstd *z);

/* The frame of n bytes in to; 0 when it takes more than cap, or memory is out. */
size_t zstd_pack(struct zstd *z, const void *from, size_t n, void *to, size_t cap);
/* Whether the n bytes are a frame of exactly len bytes; these are then in to. */
bool   zstd_unpack(struct zstd *z, const void *from, size_t n, void *to, size_t len);
/* Appends what the frames hold, whatever their size, within the buffer's budget: out->failed
 * past it or when memory is out. False when they are no frames, or end early. */
bool   zstd_unpack_all(tn_view from, struct buf *out);

#endif
