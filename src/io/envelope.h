/* envelope.h - what a target has no place for, as one JSON object that travels in its metadata.
 *
 * docs/envelope.md is its specification. A format's plan collects what it cannot hold; reading the file
 * back, the format finds the text and the model becomes again what it was. The envelope is advice: where it
 * contradicts the container, the container wins, with a warning. */
#ifndef IO_ENVELOPE_H
#define IO_ENVELOPE_H

#include "base/buf.h"
#include "model/model.h"

#define ENVELOPE_KEY "tenon.meta"

/* ---- Writing: collect, then print ---- */

struct envelope {
	struct arena        *mem;
	const struct model  *model;
	struct tn_meta      *metadata;  /* typed values whose plain form is a string, or that have no plain form */
	struct tn_meta      *native;    /* subtrees of other formats */
	bool                 keep_metadata_order; /* the target sorts keys, the model's are not sorted */
	bool                *tensors;   /* [n] tensor i has something the target lacks */
	uint8_t             *bits;      /* [n] ENV_* of tensor i */
	const uint64_t      *order;     /* [n] target's tensor k is the model's tensor order[k]; NULL: the same order */
	const char         **added;     /* keys that the target's writer put there itself */
	unsigned             n_added;
	bool                 failed;    /* out of memory */
};
enum { ENV_DTYPE = 1, ENV_SHAPE = 2, ENV_EXTRAS = 4, ENV_NAME = 8 };

void envelope_init(struct envelope *e, struct arena *mem, const struct model *m);
/* The typed value of a metadata node of the model. */
void envelope_value(struct envelope *e, const struct tn_meta *node);
/* What the target lacks of tensor i: ENV_* bits. */
void envelope_tensor(struct envelope *e, uint64_t i, unsigned bits);
void envelope_native(struct envelope *e, const struct tn_meta *subtree);
void envelope_added(struct envelope *e, const char *key);
bool envelope_empty(const struct envelope *e);
/* One line of JSON in the envelope's arena; NOMEM or LIMIT on failure. target_names[k] as written. */
tn_code envelope_print(const struct envelope *e, tn_view *out, tn_error *err);
/* Reports everything in the envelope as lost, one LOSSY finding for each kind of thing. */
void envelope_report_lost(const struct envelope *e, const char *target, tn_severity severity, struct tn_report *r);

/* The plain string that people read for a value: numbers and bools in full, strings as they are, containers as
 * JSON. False when memory is out. */
bool envelope_plain(struct arena *a, const struct tn_meta *node, tn_view *out);

/* ---- Reading ---- */

/* Applies the text to a model as its container shows it: restores metadata types and order, removes what
 * the writer added, restores dtypes, shapes and extras where they agree with the stored bytes, the order of
 * tensors, and native subtrees. Anything stale or malformed is skipped with a warning; only NOMEM and
 * LIMIT fail. *applied is false when the text is no envelope at all (then nothing was changed). */
tn_code envelope_apply(struct model *m, tn_view text, struct arena *mem, struct tn_report *r, bool *applied,
                       tn_error *err);

#endif
