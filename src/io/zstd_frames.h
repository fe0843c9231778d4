/* zstd_frames.h - a tensor's bytes as zstd frames that can be read from anywhere.
 *
 * Frames of FRAME raw bytes each, one behind the other, and then the table of zstd's seekable format in a skippable
 * frame: any zstd decoder gives the bytes back, and one that knows the table reads a range by decoding the frames that
 * it touches. Frames without a table are read as one run. Each read decodes at least a frame, or the run: those of more
 * than ZSTD_RUN_MAX raw bytes are refused, so that reading in pieces costs no more than a few times the whole. */
#ifndef IO_ZSTD_FRAMES_H
#define IO_ZSTD_FRAMES_H

#include "io/source.h"

enum { ZSTD_FRAME = 256 * 1024, ZSTD_RUN_MAX = 4 << 20 };

/* n raw bytes from off of a tensor that is stored so. */
tn_code zstd_frames_read(const struct reader *r, const struct tensor *t, uint64_t off, void *buf, size_t n, tn_error *err);

/* How many bytes the logical bytes of a tensor take so. */
tn_code zstd_frames_size(const struct reader *r, const struct tensor *t, uint64_t *out, tn_error *err);
/* A source of these bytes; size is what zstd_frames_size said. ctx is to live until it was streamed. */
struct zstd_frames {
	const struct reader *from;
	const struct tensor *tensor;
};
struct source zstd_frames_source(struct zstd_frames *ctx, uint64_t size);

#endif
