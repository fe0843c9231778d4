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

enum { ENV_DTYPE = 1, ENV_SHAPE = 2, ENV_EXTRAS = 4 };

struct envelope {
	struct arena         *mem;
	const struct model   *model;
	const struct tn_meta **values;  /* metadata nodes of the model whose type the target lacks */
	uint64_t              n_values, cap_values;
	const struct tn_meta **hidden;  /* metadata nodes that the target cannot show under their key at all */
	uint64_t              n_hidden, cap_hidden;
	const struct tn_meta **derived; /* metadata that the target demands and the model has not */
	uint64_t              n_derived, cap_derived;
	const struct tn_meta **native;  /* subtrees of other formats */
	uint64_t              n_native, cap_native;
	bool                  keep_metadata_order; /* reading the target back gives the keys in another order */
	uint8_t              *bits;     /* [model->n] ENV_* of tensor i; NULL while all are 0 */
	const uint64_t       *order;    /* [model->n] the target's tensor k is the model's tensor order[k]; NULL: the same
	                                   order. Only complete permutations: none when tensors are left out. */
	bool                  failed;   /* out of memory */
	bool                  over;     /* the first time because of the arena's budget */
};

void envelope_init(struct envelope *e, struct arena *mem, const struct model *m);
/* A metadata node of the model whose type the target lacks. Its plain form (envelope_plain) must stand in
 * the target under the node's key: the value comes back only while that text is unchanged. */
void envelope_value(struct envelope *e, const struct tn_meta *node);
/* A metadata node of the model that the target has no place for: nothing stands there under its key. It comes back
 * unless the target then shows that key. */
void envelope_hidden(struct envelope *e, const struct tn_meta *node);
/* Likewise, for a node that may have been shown until now; its place among the keys is kept. */
void envelope_hide_shown(struct envelope *e, const struct tn_meta *node);
/* A metadata node that is in the target for the target's sake only: reading it back, it goes while it still says that. */
void envelope_derived(struct envelope *e, const struct tn_meta *node);
/* What the target lacks of tensor i: ENV_* bits. ENV_DTYPE alone: the target holds the dtype's carrier (f32 for
 * flex32; bool, u8 or i8 for bool_u8; u32 or i32 for bool_u32) in the same shape. ENV_SHAPE alone: the dtype is the
 * same, in another shape of as many bytes. ENV_DTYPE|ENV_SHAPE: u8 or i8 of shape [nbytes], or the carrier in another
 * shape of as many bytes. */
void envelope_tensor(struct envelope *e, uint64_t i, unsigned bits);
void envelope_native(struct envelope *e, const struct tn_meta *subtree);
bool envelope_empty(const struct envelope *e);
/* One line of JSON in the envelope's arena; NOMEM or LIMIT on failure. */
tn_code envelope_print(const struct envelope *e, tn_view *out, tn_error *err);
/* Takes out whatever has a key or belongs to a tensor whose name is no UTF-8: the envelope is JSON, and reading it back
 * nothing would be found under what that makes of it. Each is reported as envelope_report_lost does. Before printing. */
void envelope_drop_unnamed(struct envelope *e, const char *target, tn_severity severity, struct tn_report *r);
/* Reports each thing in the envelope as lost: LOSSY findings of the given severity. */
void envelope_report_lost(const struct envelope *e, const char *target, tn_severity severity, struct tn_report *r);

/* The plain string that people read for a value: numbers and bools in full, strings as they are, containers as
 * JSON. ptr is NULL when memory is out. */
tn_view envelope_plain(struct arena *a, const struct tn_meta *node);

/* ---- Reading ---- */

/* Whether a reader would take the text for an envelope and apply it; true also where there was no memory to tell. */
bool envelope_is(tn_view text, uint64_t budget);
/* Applies the text, which stands under that key, to a model as its container shows it: takes the key out, restores metadata types
 * and order, restores dtypes, shapes and extras where they agree with the stored bytes, the order of tensors, and native
 * subtrees. Anything stale or malformed is skipped with a warning; only NOMEM and LIMIT fail. *applied is false when the
 * text is no envelope at all (then nothing was changed). */
tn_code envelope_apply(struct model *m, tn_view key, tn_view text, struct arena *mem, struct tn_report *r, bool *applied,
                       tn_error *err);

#endif
