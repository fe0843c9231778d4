/* source.h - where bytes come from: reading a file by ranges, and a tensor's bytes when writing. */
#ifndef IO_SOURCE_H
#define IO_SOURCE_H

#include "model/model.h"
#include "sys/file.h"

/* Random access to the file being read; what a format's verify uses. map.ptr is NULL when it is not mapped. */
struct reader {
	tn_view          map;   /* the whole file, mapped or in memory */
	struct sys_file *file;  /* NULL when in memory */
	uint64_t         size;
	struct sys_file *packed; /* that the bytes were decompressed from, into memory; NULL: none */
};
/* The file that the bytes are from, if there is one. */
static inline const struct sys_file *reader_file(const struct reader *r) { return r->file != NULL ? r->file : r->packed; }
/* Exactly n bytes at off; TRUNCATED past the end, IO when the system fails. */
tn_code reader_read(const struct reader *r, uint64_t off, void *buf, size_t n, tn_error *err);

/* What is seen of a tensor's stored bytes while they pass. */
struct source_seen {
	uint32_t crc;   /* CRC-32 */
	bool     whole; /* of all of them */
};

/* One tensor's bytes for a plan. */
enum source_kind { SOURCE_MEMORY, SOURCE_RANGE, SOURCE_TENSOR, SOURCE_PATH, SOURCE_CALLBACK };
struct source {
	enum source_kind     kind;
	uint64_t             len;     /* promised before a byte is asked for */
	struct source_seen  *seen;    /* made anew with each streaming; NULL: nobody asks */
	const tn_digest     *digest;  /* the BLAKE3 that its bytes must have; NULL: not known */
	tn_view              memory;  /* MEMORY */
	const struct reader *from;    /* RANGE, TENSOR: of a file that is open; CALLBACK: the one that it reads, or NULL */
	const struct tensor *tensor;  /* TENSOR: stored encoded, to be read decoded */
	uint64_t             offset;  /* RANGE, PATH */
	bool                 crc_known; /* RANGE: the CRC-32 of its bytes is crc, so that they need not be looked at */
	uint32_t             crc;
	const char          *path;    /* PATH */
	tn_produce_fn        produce; /* CALLBACK */
	bool                 again;   /* CALLBACK: it may be called more than once */
	void                *ctx;
};

struct sink;
/* Streams the whole source into the sink, through one I/O buffer at most. CORRUPT when it
 * yields more or less than it promised, CHECKSUM when its bytes have not its digest: where that is known the sink's
 * hash must be off. */
void source_stream(const struct source *s, struct sink *out);
/* Can it be streamed more than once? */
static inline bool source_repeats(const struct source *s) { return s->kind != SOURCE_CALLBACK || s->again; }

#endif
