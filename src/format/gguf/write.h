/* write.h - what the parts of the GGUF writer share. */
#ifndef FORMAT_GGUF_WRITE_H
#define FORMAT_GGUF_WRITE_H

#include "base/buf.h"
#include "format/gguf/layout.h"

/* Numbers in the order of the file. */
struct gout {
	struct buf b;
	bool       big;
};
void gout_number(struct gout *o, uint64_t v, unsigned width);
void gout_string(struct gout *o, tn_view v);

/* A pair that will be in the file: the node as it is, or the text that people read in its place. */
struct pair {
	tn_view               key;
	const struct tn_meta *node; /* NULL: text */
	tn_view               text;
};

/* A tensor that will be in the file. */
struct placed {
	uint64_t        i;      /* in the model */
	uint32_t        type;
	uint32_t        rank;
	const uint64_t *shape;  /* outermost first */
	uint64_t        offset; /* in the data */
	bool            swap;   /* its numbers have to be turned */
	bool            unknown; /* of a type that is not known, copied as it is */
};

struct writing {
	struct plan_job    *job;
	const struct model *m;
	struct envelope     env;
	bool                big;
	uint64_t            align;
	bool                has_slack;
	uint64_t            slack; /* bytes of its pair's value */
	struct tn_meta     *align_node; /* the pair general.alignment, where there has to be one */
	struct pair        *pairs;
	uint64_t            n_pairs;
	struct placed      *tensors;
	uint64_t            n;
};

/* Lists the pairs, without the envelope. */
tn_code gguf_collect_pairs(struct writing *w);
/* Adds the envelope, when anything needs one: comes after all that may. */
tn_code gguf_add_envelope(struct writing *w);
/* Lists the tensors. */
tn_code gguf_choose_tensors(struct writing *w);

void gguf_put_pairs(const struct writing *w, struct gout *o);
void gguf_put_infos(const struct writing *w, struct gout *o);

#endif
