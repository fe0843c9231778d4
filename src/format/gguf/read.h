/* read.h - what the parts of the GGUF reader share. */
#ifndef FORMAT_GGUF_READ_H
#define FORMAT_GGUF_READ_H

#include "format/gguf/layout.h"
#include "format/gguf/gcur.h"

struct reading {
	struct parse_job *job;
	struct gcur       c;
	uint64_t          n_pairs, n_infos;
	uint64_t          pairs_end, infos_end;
	uint64_t          align;
	bool              own_align; /* the file itself says it */
};

/* Records what is tolerated, at that place of the file. */
void gguf_note(struct reading *r, tn_severity severity, tn_code code, uint64_t offset,
               tn_view tensor, const char *fmt, ...)
	PRINTF_LIKE(6, 7);
bool gguf_no_memory(struct reading *r, const char *what);

/* The pairs into the model's metadata; the cursor stands behind them. */
bool gguf_read_pairs(struct reading *r);
/* What is odd about the pairs that make the file a shard (shards.c). */
void gguf_note_place(struct reading *r);
/* The alignment of a shard that does not say it, once its infos have been read: offsets count from the data still. */
bool gguf_settle_alignment(struct reading *r, const struct tensor *t, uint64_t n);
/* The infos into the model's tensors, sizes and places included. */
bool gguf_read_infos(struct reading *r);

#endif
