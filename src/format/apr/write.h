/* write.h - what the two parts of the writer share. */
#ifndef APR_WRITE_H
#define APR_WRITE_H

#include "format/apr/fields.h"
#include "format/apr/layout.h"

/* A tensor that will be in the file. */
struct apr_placed {
	const struct tensor *t;
	uint64_t             i;      /* in the model */
	uint8_t              code;
	uint32_t             rank;   /* as it stands in the index */
	const uint64_t      *shape;
	uint64_t             offset; /* in the data */
	const struct packing *packing; /* NULL: stored as it is */
	bool                 no_text; /* the name is no UTF-8 */
};

struct apr_writing {
	struct plan_job    *job;
	struct envelope     env;
	struct apr_placed  *tensors; /* in the order of their data */
	struct apr_placed **index;   /* by name */
	uint64_t            n;
	uint64_t            n_packed;
};

/* Prints the metadata, the envelope among it. Comes last: what else needs the envelope must have
 * said so. */
tn_code apr_print_metadata(struct apr_writing *w, struct buf *out);

#endif
