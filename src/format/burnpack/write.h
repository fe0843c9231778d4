/* write.h - what the two parts of the writer share. */
#ifndef BURNPACK_WRITE_H
#define BURNPACK_WRITE_H

#include "format/burnpack/layout.h"
#include "format/burnpack/scheme.h"

/* A tensor that will be in the file. */
struct placed {
	const struct tensor *t;
	uint64_t             i;          /* in the model */
	uint64_t             start, end; /* from the base */
	bool                 carried;    /* as U8, its dtype and shape in the envelope */
};

/* An entry of metadata or scalars. */
struct entry {
	tn_view               key;
	tn_view               text; /* of a string */
	const struct tn_meta *node; /* of a scalar */
	uint64_t              place; /* before sorting */
};
struct entry_list {
	struct entry *list;
	uint64_t      n;
};

struct writing {
	struct plan_job  *job;
	struct envelope   env;
	struct placed    *tensors;  /* in the order of their data */
	struct placed   **index;    /* the same by name */
	uint64_t          n;
	struct entry_list strings, scalars; /* by name */
	uint64_t          n_unknown; /* members of descriptors that a reader did not know */
};

/* Sorts the model's metadata into strings and scalars, and prints the envelope among the strings. Comes last: what
 * else needs the envelope must have said so. */
tn_code pack_collect_metadata(struct writing *w);
/* The members "metadata" and "scalars" of the root, each only where it has entries. */
void    pack_put_metadata(const struct writing *w, struct buf *out);

#endif
