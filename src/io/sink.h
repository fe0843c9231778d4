/* sink.h - the only way bytes leave. Errors stick: write all of it, then look once. */
#ifndef IO_SINK_H
#define IO_SINK_H

#include "codec/blake3.h"
#include "model/swap.h"
#include "sys/out.h"

enum { SINK_BUFFER = 1 << 20 };

/* Takes the bytes of a buffer that is full, or of the last one, which is shorter. */
typedef void (*sink_take_fn)(void *ctx, const uint8_t *p, size_t n);

struct sink {
	struct sys_out *out;      /* a file; NULL when writing to memory or to a function */
	sink_take_fn    take;     /* a function */
	void           *take_ctx;
	uint8_t  *memory;         /* the caller's, with room for cap bytes */
	uint64_t  cap;
	uint8_t  *buf;            /* of SINK_BUFFER bytes, or fewer where fewer will come */
	size_t    buf_len;        /* how many go at a time, in memory too */
	size_t    fill;
	uint64_t  at;             /* bytes accepted so far */
	bool      crc_on;         /* taps: each sees every byte while it is on */
	uint32_t  crc;
	uint32_t *stretch;        /* a second CRC-32, of one stretch; NULL: off */
	struct b3 *hash;          /* NULL: off */
	struct b3 *group;         /* a second one, over several stretches of the first; NULL: off */
	tn_dtype  swap;           /* see sink_swap_start; TN_OPAQUE: off */
	uint64_t  swap_from;      /* where it was started */
	tn_progress_fn progress;
	void     *progress_ctx;
	uint64_t  total, reported;
	tn_error *err;            /* never NULL */
};

/* Over an open output, or over memory. NOMEM leaves nothing behind. */
tn_code sink_init(struct sink *s, struct sys_out *out, tn_error *err);
/* About n bytes are handed to take in pieces of SINK_BUFFER; the last when the sink is flushed. */
tn_code sink_init_function(struct sink *s, uint64_t n, sink_take_fn take, void *ctx, tn_error *err);
void    sink_init_memory(struct sink *s, void *memory, uint64_t cap, tn_error *err);
void    sink_fini(struct sink *s);

static inline bool sink_ok(const struct sink *s) { return s->err->code == TN_OK; }
void sink_write(struct sink *s, const void *p, size_t n);
void sink_zero(struct sink *s, uint64_t n);
/* n bytes of an open file from off: inside the kernel when no tap is on and it can, else through the buffer. */
void sink_copy(struct sink *s, struct sys_file *from, uint64_t off, uint64_t n);
/* The same for bytes whose CRC-32 is known: a CRC tap takes it and does not stand in the kernel's way. */
void sink_copy_known(struct sink *s, struct sys_file *from, uint64_t off, uint64_t n, uint32_t crc);
/* Passes over n bytes that an earlier run has written here: they are read back from its file where a tap wants them. */
void    sink_replay(struct sink *s, const struct sys_file *from, uint64_t n);
/* Overwrites bytes that were written before; never extends. */
void sink_patch(struct sink *s, uint64_t off, const void *p, size_t n);
/* Hands the buffer to the system. */
void sink_flush(struct sink *s);

/* ---- Taps ---- */
void     sink_crc_start(struct sink *s);            /* CRC-32 of everything from here */
uint32_t sink_crc_value(const struct sink *s);
void     sink_stretch_start(struct sink *s, uint32_t *crc); /* likewise, to be read when it is stopped */
void     sink_stretch_stop(struct sink *s);
void     sink_hash_start(struct sink *s, struct b3 *h); /* BLAKE3 likewise, in the caller's storage */
void     sink_hash_stop(struct sink *s);
void     sink_group_start(struct sink *s, struct b3 *h);
void     sink_group_stop(struct sink *s);

/* From here to the stop the bytes are whole units of this type, and leave in big-endian order. A hash sees them as they
 * came; not to be used under a running CRC. */
void     sink_swap_start(struct sink *s, tn_dtype d);
void     sink_swap_stop(struct sink *s);

#endif
