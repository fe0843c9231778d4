/* hf.h - a Hugging Face checkpoint as upstream's converter sees it.
 *
 * From the names of the tensors and the text of config.json it derives everything that an archive says beyond the
 * bytes: names, roles, layouts, the model's numbers, the execution tape and the memory plan. The result is a model with
 * the metadata, extras and native subtree that an archive of it would be read as, for the writer that there is. */
#ifndef FORMAT_THIN_HF_H
#define FORMAT_THIN_HF_H

#include "format/format.h"
#include "format/thin/layout.h"
#include "model/meta_index.h"

/* A tensor under the name that the archive gives it. */
struct hf_tensor {
	tn_view              name;
	const struct tensor *tensor;
	uint64_t             from;  /* its number in the checkpoint; a copy has that of another one */
	uint64_t             place; /* on the tape, by first mention; UINT64_MAX: nowhere */
};

struct hf_stage {
	const char     *name, *operator;
	struct tn_meta *params;     /* NULL: none */
	uint64_t        first, n;   /* in refs */
};

/* What the config says of all weights that are packed. */
struct hf_packing {
	tn_view  scheme;               /* ptr is NULL: nothing, as for the others */
	uint64_t bits, group;
	bool     has_bits, has_group;
};

struct hf {
	struct checkpoint_job *job;
	/* hf_config.c */
	const struct tn_meta  *config;     /* that of the text model */
	struct meta_index      members;    /* of config, which is asked for each layer */
	struct hf_packing      packing;
	bool                   multimodal; /* it stood inside another one */
	uint64_t              *dropped;    /* layers left out, ascending */
	uint64_t               n_dropped;
	uint64_t               layers;     /* of those that are left */
	const tn_view         *types;      /* of layers, as the config lists them; empty where it is no string */
	uint64_t               n_types;
	/* hf_names.c */
	struct hf_tensor      *tensors;    /* by name */
	uint64_t               n;
	struct strmap          names;
	uint64_t               excluded;
	/* hf_model.c */
	uint64_t               hidden, heads, kv_heads, head_dim; /* head_dim of 0: not stated */
	uint64_t               experts;    /* 0: none, or not stated */
	bool                   moe, has_eps;
	double                 eps;
	const char            *norm;       /* operator */
	/* hf_tape.c */
	struct hf_stage       *stages;
	uint64_t               n_stages, cap_stages;
	uint64_t              *refs;       /* tensors */
	uint64_t               n_refs, cap_refs;
	uint64_t               n_placed;
	struct tn_meta        *native;     /* the subtree "thin" */
};

/* Each of these is false when the job's error is filled in. They come in this order. */
bool hf_read_config(struct hf *h);
bool hf_name_tensors(struct hf *h);
bool hf_describe_model(struct hf *h);
bool hf_lay_tape(struct hf *h);
bool hf_plan_memory(struct hf *h);

/* The operator for attention with so many heads; the kind is what stands before its underscore. */
const char *hf_attention(uint64_t heads, uint64_t kv_heads);

bool hf_no_memory(struct hf *h);
/* The checkpoint is none that upstream's converter takes. */
bool hf_fail(struct hf *h, const char *fmt, ...) PRINTF_LIKE(2, 3);
void hf_warn(struct hf *h, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* ---- Looking things up (hf_config.c) ---- */

/* The first of some names, separated by spaces, whose value is an unsigned integer. */
bool hf_uint(const struct hf *h, const char *names, uint64_t *out);
bool hf_real(const struct tn_meta *map, const char *name, double *out);
bool hf_bool(const struct tn_meta *map, const char *name, bool *out);
/* The first that is a string. */
bool hf_string(const struct tn_meta *map, const char *names, tn_view *out);
/* Any value but null. */
const struct tn_meta *hf_value(const struct hf *h, const char *name);
/* An array; NULL for everything else. */
const struct tn_meta *hf_array(const struct tn_meta *map, const char *name);
/* The kind of layer that the config states, as "full_attention"; empty where it states none. */
tn_view hf_layer_type(const struct hf *h, uint64_t layer);
/* The last layers may share keys and values with earlier ones. */
bool hf_shares_kv(const struct hf *h, uint64_t layer);

/* ---- Names (hf_names.c) ---- */

bool hf_has(tn_view name, const char *part);
bool hf_ends(tn_view name, const char *end);
/* Digits up to 2^32-1, perhaps with a plus sign before them. */
bool hf_number(tn_view text, uint64_t *out);
/* The tensor of that name; NULL when there is none. */
const struct hf_tensor *hf_find(const struct hf *h, const char *name);

/* ---- Pages (hf_pages.c): pure functions of a name ---- */

const char *hf_kind(tn_view name);
const char *hf_op(tn_view name);
const char *hf_layout(tn_view name);
/* The layer in "model.layers.N." */
bool        hf_layer(tn_view name, uint64_t *out);
/* The tensor with the name and extras of its page. */
bool hf_page(struct hf *h, const struct hf_tensor *from, struct tensor *to);

#endif
