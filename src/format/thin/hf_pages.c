/* hf_pages.c - what the name of a tensor says of its page: kind, layer, role, layout, and how it is quantised. */
#include "format/thin/hf.h"

/* ---- Roles ---- */

enum test { IS, HAS, ENDS };

/* The first that fits counts. */
static const struct role {
	enum test   test;
	const char *text, *also; /* also: must be there as well */
	const char *op;
} roles[] = {
	{ IS,   "model.embed_tokens.weight", NULL, "embed_tokens" },
	{ IS,   "model.norm.weight", NULL, "final_norm" },
	{ IS,   "lm_head.weight", NULL, "lm_head" },
	{ HAS,  "input_layernorm.", NULL, "input_layernorm" },
	{ HAS,  ".ln_1.", NULL, "input_layernorm" },
	{ HAS,  "self_attn.qkv_proj.", NULL, "attn_qkv_proj" },
	{ HAS,  ".attn.c_attn.", NULL, "attn_qkv_proj" },
	{ HAS,  "self_attn.q_proj.", NULL, "attn_q_proj" },
	{ HAS,  "self_attn.k_proj.", NULL, "attn_k_proj" },
	{ HAS,  "self_attn.v_proj.", NULL, "attn_v_proj" },
	{ HAS,  "self_attn.o_proj.", NULL, "attn_o_proj" },
	{ HAS,  ".attn.c_proj.", NULL, "attn_o_proj" },
	{ ENDS, "q_norm.weight", NULL, "attn_q_norm" },
	{ ENDS, "k_norm.weight", NULL, "attn_k_norm" },
	{ HAS,  "post_attention_layernorm.", NULL, "post_attention_layernorm" },
	{ HAS,  ".ln_2.", NULL, "post_attention_layernorm" },
	{ ENDS, "pre_feedforward_layernorm.weight", NULL, "pre_feedforward_layernorm" },
	{ ENDS, "post_feedforward_layernorm.weight", NULL, "post_feedforward_layernorm" },
	{ IS,   "model.embed_tokens_per_layer.weight", NULL, "per_layer_token_embeddings" },
	{ IS,   "model.per_layer_model_projection.weight", NULL, "per_layer_model_projection" },
	{ IS,   "model.per_layer_projection_norm.weight", NULL, "per_layer_projection_norm" },
	{ ENDS, "per_layer_input_gate.weight", NULL, "per_layer_input_gate" },
	{ ENDS, "per_layer_projection.weight", NULL, "per_layer_projection" },
	{ ENDS, "post_per_layer_input_norm.weight", NULL, "post_per_layer_input_norm" },
	{ ENDS, "layer_scalar", NULL, "layer_scalar" },
	{ HAS,  ".linear_attn.in_proj_", NULL, "linear_attn_input_projection" },
	{ ENDS, ".linear_attn.conv1d.weight", NULL, "linear_attn_depthwise_conv" },
	{ ENDS, ".linear_attn.A_log", NULL, "linear_attn_recurrence_parameters" },
	{ ENDS, ".linear_attn.dt_bias", NULL, "linear_attn_recurrence_parameters" },
	{ ENDS, ".linear_attn.norm.weight", NULL, "linear_attn_gated_norm" },
	{ ENDS, ".linear_attn.out_proj.weight", NULL, "linear_attn_output_projection" },
	{ ENDS, "self_attn.sinks", NULL, "attention_sinks" },
	{ HAS,  "mlp.router.", NULL, "moe_router" },
	{ HAS,  "block_sparse_moe.gate.", NULL, "moe_router" },
	{ HAS,  ".mlp.experts.gate_up_proj", NULL, "moe_gate_up" },
	{ HAS,  ".block_sparse_moe.experts.", ".w1.", "moe_gate_up" },
	{ HAS,  ".block_sparse_moe.experts.", ".w3.", "moe_gate_up" },
	{ HAS,  ".mlp.experts.down_proj", NULL, "moe_down" },
	{ HAS,  ".block_sparse_moe.experts.", ".w2.", "moe_down" },
	{ HAS,  "mlp.gate_up_proj.", NULL, "mlp_gate_up_proj" },
	{ HAS,  "mlp.gate_proj.", NULL, "mlp_gate_proj" },
	{ HAS,  "mlp.up_proj.", NULL, "mlp_up_proj" },
	{ HAS,  "mlp.down_proj.", NULL, "mlp_down_proj" },
};

static bool plays(const struct role *r, tn_view name)
{
	switch (r->test) {
	case IS:   return view_is(name, r->text);
	case HAS:  return hf_has(name, r->text) && (r->also == NULL || hf_has(name, r->also));
	case ENDS: return hf_ends(name, r->text);
	}
	return false;
}

const char *hf_op(tn_view name)
{
	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
		if (plays(&roles[i], name))
			return roles[i].op;
	return PLAIN_OP;
}

const char *hf_kind(tn_view name)
{
	if (view_is(name, "model.embed_tokens.weight"))
		return "embedding";
	return view_is(name, "lm_head.weight") ? "lm_head" : PLAIN_KIND;
}

const char *hf_layout(tn_view name)
{
	if (hf_ends(name, "_blocks"))
		return "mxfp4_group32_packed";
	if (hf_ends(name, "_scales"))
		return "mxfp8_e8m0_scales";
	if (hf_has(name, ".mlp.experts.") || hf_has(name, ".block_sparse_moe.experts."))
		return "expert_major_contiguous";
	return PLAIN_LAYOUT;
}

bool hf_layer(tn_view name, uint64_t *out)
{
	static const char start[] = "model.layers.";
	if (!view_starts(name, start))
		return false;
	const uint8_t *number = name.ptr + strlen(start), *end = name.ptr + name.len, *dot = number;
	while (dot < end && *dot != '.')
		dot++;
	return dot < end && hf_number((tn_view){ number, (size_t)(dot - number) }, out);
}

/* ---- Extras ---- */

static bool put(struct hf *h, struct tn_meta *map, const char *key, struct tn_meta v)
{
	struct tn_meta *node = meta_new(h->job->mem, (tn_meta_type)v.type);
	if (node == NULL)
		return hf_no_memory(h);
	*node = v;
	meta_set(map, tn_text(key), node);
	return true;
}

static bool put_text(struct hf *h, struct tn_meta *map, const char *key, tn_view text)
{
	return put(h, map, key, (struct tn_meta){ .type = TN_META_STRING, .as.s = text });
}

static bool put_number(struct hf *h, struct tn_meta *map, const char *key, uint64_t v, uint8_t width)
{
	return put(h, map, key, (struct tn_meta){ .type = TN_META_UINT, .width = width, .as.u = v });
}

/* ---- Quantisation ---- */

static bool is_scale(tn_view name)
{
	return hf_ends(name, "_scales") || hf_ends(name, ".scales") || hf_ends(name, "_scale") ||
	       hf_ends(name, ".weight_scale");
}

static bool is_packed(tn_view name, tn_dtype d)
{
	if (hf_ends(name, "_blocks") || hf_has(name, "qweight"))
		return true;
	return (d == TN_U8 || d == TN_I8 || d == TN_I32) && !is_scale(name);
}

/* "a.down_proj_blocks" has its scales in "a.down_proj_scales". */
static bool put_mxfp4(struct hf *h, tn_view name, struct tn_meta *map)
{
	static const char from[] = "_blocks", to[] = "_scales"; /* of one length */
	tn_view scales = arena_copy(h->job->mem, name);
	uint8_t *p = (uint8_t *)(uintptr_t)scales.ptr;
	if (p == NULL)
		return hf_no_memory(h);
	for (size_t i = 0; i + strlen(from) <= scales.len; i++)
		if (memcmp(p + i, from, strlen(from)) == 0)
			memcpy(p + i, to, strlen(to));
	return put_text(h, map, EXTRA_SCHEME, VIEW("mxfp4")) && put_number(h, map, EXTRA_BITS, 4, 8) &&
	       put_number(h, map, EXTRA_GROUP, 32, 64) && put_text(h, map, EXTRA_SCALES, scales);
}

static bool put_stated(struct hf *h, struct tn_meta *map)
{
	const struct hf_packing *p = &h->packing;
	return (p->scheme.ptr == NULL || put_text(h, map, EXTRA_SCHEME, p->scheme)) &&
	       (!p->has_bits || put_number(h, map, EXTRA_BITS, p->bits, 8)) &&
	       (!p->has_group || put_number(h, map, EXTRA_GROUP, p->group, 64));
}

/* ---- The page ---- */

/* What the tensor was in another archive is over. */
static struct tn_meta *new_extras(struct hf *h, const struct tensor *t)
{
	static const char *const stale[] = {
		EXTRA_DTYPE, EXTRA_EXPERIMENTAL, EXTRA_FUSED_TO, EXTRA_FUSED_OFFSET, EXTRA_LAYER, EXTRA_SCHEME,
		EXTRA_BITS, EXTRA_GROUP, EXTRA_SCALES,
	};
	struct tn_meta *map = t->extras != NULL ? meta_clone(h->job->mem, t->extras, false) : meta_new(h->job->mem, TN_META_MAP);
	for (size_t i = 0; map != NULL && i < sizeof stale / sizeof *stale; i++)
		meta_remove(map, tn_text(stale[i]));
	return map;
}

bool hf_page(struct hf *h, const struct hf_tensor *from, struct tensor *to)
{
	uint64_t layer;
	tn_view name = from->name;
	struct tn_meta *map = new_extras(h, from->tensor);
	if (map == NULL)
		return hf_no_memory(h);
	*to = *from->tensor;
	to->name = name;
	to->extras = map;
	to->slice = SLICE_NONE;
	if (!put_text(h, map, EXTRA_KIND, tn_text(hf_kind(name))) || !put_text(h, map, EXTRA_OP, tn_text(hf_op(name))) ||
	    !put_text(h, map, EXTRA_LAYOUT, tn_text(hf_layout(name))))
		return false;
	if (hf_layer(name, &layer) && !put_number(h, map, EXTRA_LAYER, layer, 32))
		return false;
	if (hf_ends(name, "_blocks"))
		return put_mxfp4(h, name, map);
	return !is_packed(name, from->tensor->dtype) || put_stated(h, map);
}
