/* hf_tape.c - the execution tape: the stages of a decoder, and the tensors that each one reads. */
#include "format/thin/hf.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum {
	PART_ROOM = 96,  /* a name inside a layer */
	NAME_ROOM = 160 /* with the layer before it, or a stage's */
};

/* ---- Growing lists ---- */

static void *grown(struct hf *h, void *list, uint64_t n, uint64_t *cap, size_t size)
{
	uint64_t more = *cap != 0 ? *cap * 2 : 256;
	void *to = arena_raw(h->job->mem, more, size);
	if (to == NULL) {
		hf_no_memory(h);
		return NULL;
	}
	copy_bytes(to, list, (size_t)n * size);
	*cap = more;
	return to;
}

/* A new stage, to which references are then added. name is a format for the number of the layer. */
static bool stage(struct hf *h, const char *operator, const char *name, ...) PRINTF_LIKE(3, 4);
static bool stage(struct hf *h, const char *operator, const char *name, ...)
{
	char text[NAME_ROOM];
	va_list args;
	va_start(args, name);
	vsnprintf(text, sizeof text, name, args);
	va_end(args);
	if (h->n_stages == h->cap_stages) {
		h->stages = grown(h, h->stages, h->n_stages, &h->cap_stages, sizeof *h->stages);
		if (h->stages == NULL)
			return false;
	}
	const char *copy = arena_printf(h->job->mem, "%s", text);
	if (copy == NULL)
		return hf_no_memory(h);
	h->stages[h->n_stages++] = (struct hf_stage){ .name = copy, .operator = operator, .first = h->n_refs };
	return true;
}

static bool refer(struct hf *h, const struct hf_tensor *t)
{
	uint64_t i = (uint64_t)(t - h->tensors);
	if (h->n_refs == h->cap_refs) {
		h->refs = grown(h, h->refs, h->n_refs, &h->cap_refs, sizeof *h->refs);
		if (h->refs == NULL)
			return false;
	}
	h->refs[h->n_refs++] = i;
	h->stages[h->n_stages - 1].n++;
	if (h->tensors[i].place == UINT64_MAX)
		h->tensors[i].place = h->n_placed++;
	return true;
}

/* ---- Tensors of a layer ---- */

static const char *in_layer(uint64_t layer, const char *name, char text[NAME_ROOM])
{
	snprintf(text, NAME_ROOM, "model.layers.%" PRIu64 ".%s", layer, name);
	return text;
}

static const struct hf_tensor *find(const struct hf *h, uint64_t layer, const char *name)
{
	char text[NAME_ROOM];
	return hf_find(h, in_layer(layer, name, text));
}

/* Those that are there. */
static bool refer_some(struct hf *h, uint64_t layer, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct hf_tensor *t = find(h, layer, names[i]);
		if (t != NULL && !refer(h, t))
			return false;
	}
	return true;
}
#define SOME(h, layer, ...)                                         \
	refer_some((h), (layer), (const char *const[]){ __VA_ARGS__ }, \
	           sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static bool refer_needed(struct hf *h, uint64_t layer, const char *name)
{
	char text[NAME_ROOM];
	const struct hf_tensor *t = hf_find(h, in_layer(layer, name, text));
	return t != NULL ? refer(h, t) : hf_fail(h, "there is no tensor '%s'", text);
}

/* A projection: its weight, or what it is packed into with all that belongs to that. */
static bool refer_group(struct hf *h, uint64_t layer, const char *name)
{
	static const char *const packed[] = { "qweight", "weight_packed", "weight_blocks" };
	static const char *const with[] = { "scales", "qzeros", "g_idx", "weight_scale", "weight_zero_point", "input_scale" };
	char text[PART_ROOM];
	snprintf(text, sizeof text, "%s.weight", name);
	const struct hf_tensor *t = find(h, layer, text);
	if (t != NULL)
		return refer(h, t);
	for (size_t i = 0; t == NULL && i < 3; i++) {
		snprintf(text, sizeof text, "%s.%s", name, packed[i]);
		t = find(h, layer, text);
	}
	if (t == NULL)
		return hf_fail(h, "layer %" PRIu64 " has no '%s.weight', and nothing that it is packed into: this is no "
		               "decoder with a gated MLP", layer, name);
	if (!refer(h, t))
		return false;
	for (size_t i = 0; i < sizeof with / sizeof *with; i++) {
		snprintf(text, sizeof text, "%s.%s", name, with[i]);
		t = find(h, layer, text);
		if (t != NULL && !refer(h, t))
			return false;
	}
	return true;
}

static bool has_group(const struct hf *h, uint64_t layer, const char *name)
{
	static const char *const forms[] = { "weight", "qweight", "weight_packed", "weight_blocks" };
	char text[PART_ROOM];
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		snprintf(text, sizeof text, "%s.%s", name, forms[i]);
		if (find(h, layer, text) != NULL)
			return true;
	}
	return false;
}

/* ---- Norms ---- */

/* To the stage that was added last. */
static struct tn_meta *params(struct hf *h)
{
	struct tn_meta *map = meta_new(h->job->mem, TN_META_MAP);
	if (map == NULL)
		hf_no_memory(h);
	h->stages[h->n_stages - 1].params = map;
	return map;
}

static bool add_eps(struct hf *h)
{
	if (!h->has_eps)
		return true;
	struct tn_meta *map = params(h);
	return map != NULL &&
	       (meta_add_float(h->job->mem, map, VIEW("eps"), f64_bits(h->eps), 64) != NULL || hf_no_memory(h));
}

static bool norm_stage(struct hf *h, uint64_t layer, const char *what, const char *weight, const char *bias)
{
	return stage(h, h->norm, "layer_%" PRIu64 "_%s", layer, what) && add_eps(h) && refer_needed(h, layer, weight) &&
	       (bias == NULL || SOME(h, layer, bias));
}

static bool optional_norm(struct hf *h, uint64_t layer, const char *what, const char *weight)
{
	return find(h, layer, weight) == NULL || norm_stage(h, layer, what, weight, NULL);
}

/* ---- Attention ---- */

static bool linear_attention(struct hf *h, uint64_t layer)
{
	static const char *const names[] = {
		"in_proj_qkv.weight", "in_proj_z.weight", "in_proj_a.weight", "in_proj_b.weight", "conv1d.weight", "dt_bias",
		"A_log", "norm.weight", "out_proj.weight",
	};
	char text[PART_ROOM];
	if (!stage(h, "gated_delta_net", "layer_%" PRIu64 "_linear_attention", layer))
		return false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(text, sizeof text, "linear_attn.%s", names[i]);
		if (!refer_needed(h, layer, text))
			return false;
	}
	return true;
}

static bool qkv(struct hf *h, uint64_t layer)
{
	bool joined = has_group(h, layer, "self_attn.qkv_proj");
	if (!stage(h, "qkv_projection", "layer_%" PRIu64 "_attn_qkv", layer) ||
	    !refer_group(h, layer, joined ? "self_attn.qkv_proj" : "self_attn.q_proj"))
		return false;
	if (!joined && !hf_shares_kv(h, layer) &&
	    (!refer_group(h, layer, "self_attn.k_proj") || !refer_group(h, layer, "self_attn.v_proj")))
		return false;
	return SOME(h, layer, "self_attn.qkv_proj.bias", "self_attn.q_proj.bias", "self_attn.k_proj.bias",
	            "self_attn.v_proj.bias", "self_attn.sinks", "self_attn.q_norm.weight", "self_attn.k_norm.weight");
}

static bool add_uint(struct hf *h, struct tn_meta *map, const char *key, uint64_t v)
{
	return meta_add_uint(h->job->mem, map, tn_text(key), v, 64) != NULL || hf_no_memory(h);
}

/* The config's own numbers of heads, however large, go before those of the model. */
static bool attention(struct hf *h, uint64_t layer)
{
	uint64_t heads = h->heads, kv_heads, window;
	hf_uint(h, "num_attention_heads n_head num_heads", &heads);
	if (!hf_uint(h, "num_key_value_heads num_kv_heads n_head_kv", &kv_heads))
		kv_heads = h->kv_heads != h->heads ? h->kv_heads : heads;
	if (!stage(h, hf_attention(heads, kv_heads), "layer_%" PRIu64 "_attention", layer))
		return false;
	struct tn_meta *map = params(h);
	if (map == NULL)
		return false;
	uint64_t dim = h->head_dim != 0 ? h->head_dim : max_u64(1, h->hidden / max_u64(1, heads));
	if (meta_add_bool(h->job->mem, map, VIEW("causal"), true) == NULL)
		return hf_no_memory(h);
	if (!add_uint(h, map, "head_dim", dim) || !add_uint(h, map, "heads", heads) || !add_uint(h, map, "kv_heads", kv_heads))
		return false;
	bool slides = hf_has(hf_layer_type(h, layer), "sliding") && hf_uint(h, "sliding_window", &window);
	return !slides || add_uint(h, map, "window", window);
}

static bool full_attention(struct hf *h, uint64_t layer)
{
	return qkv(h, layer) && stage(h, "rope", "layer_%" PRIu64 "_rope", layer) && attention(h, layer) &&
	       stage(h, "o_projection", "layer_%" PRIu64 "_attn_out", layer) && refer_group(h, layer, "self_attn.o_proj") &&
	       SOME(h, layer, "self_attn.o_proj.bias");
}

/* ---- MLP ---- */

static bool dense(struct hf *h, uint64_t layer)
{
	if (!stage(h, "gated_activation", "layer_%" PRIu64 "_mlp_gate_up", layer))
		return false;
	bool ok = has_group(h, layer, "mlp.gate_up_proj")
	        ? refer_group(h, layer, "mlp.gate_up_proj") && SOME(h, layer, "mlp.gate_up_proj.bias")
	        : refer_group(h, layer, "mlp.gate_proj") && refer_group(h, layer, "mlp.up_proj");
	return ok && stage(h, "down_projection", "layer_%" PRIu64 "_mlp_down", layer) && refer_group(h, layer, "mlp.down_proj");
}

/* The experts' joined matrix, as it is or in blocks. */
static const struct hf_tensor *joined_experts(const struct hf *h, uint64_t layer, const char *name)
{
	char text[PART_ROOM];
	snprintf(text, sizeof text, "mlp.experts.%s", name);
	const struct hf_tensor *t = find(h, layer, text);
	if (t != NULL)
		return t;
	snprintf(text, sizeof text, "mlp.experts.%s_blocks", name);
	return find(h, layer, text);
}

static bool refer_experts(struct hf *h, uint64_t layer, const char *name)
{
	char scales[PART_ROOM], bias[PART_ROOM];
	snprintf(scales, sizeof scales, "mlp.experts.%s_scales", name);
	snprintf(bias, sizeof bias, "mlp.experts.%s_bias", name);
	return refer(h, joined_experts(h, layer, name)) && SOME(h, layer, scales, bias);
}

/* In the order of the names: every tensor that begins so. */
static bool refer_all(struct hf *h, const char *prefix)
{
	uint64_t low = 0, high = h->n;
	while (low < high) {
		uint64_t mid = low + (high - low) / 2;
		if (view_cmp(h->tensors[mid].name, tn_text(prefix)) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < h->n && view_starts(h->tensors[low].name, prefix); low++)
		if (!refer(h, &h->tensors[low]))
			return false;
	return true;
}

static bool single_experts(struct hf *h, uint64_t layer)
{
	char text[NAME_ROOM];
	if (!stage(h, "sparse_experts", "layer_%" PRIu64 "_moe_experts", layer) ||
	    !refer_all(h, in_layer(layer, "block_sparse_moe.", text)) || !refer_all(h, in_layer(layer, "mlp.experts.", text)))
		return false;
	return h->stages[h->n_stages - 1].n != 0 || hf_fail(h, "layer %" PRIu64 " has a router and no experts", layer);
}

static bool mlp(struct hf *h, uint64_t layer)
{
	static const char *const routers[] = { "mlp.router.weight", "block_sparse_moe.gate.weight", "mlp.gate.weight" };
	const struct hf_tensor *router = NULL;
	for (size_t i = 0; router == NULL && i < 3; i++)
		router = find(h, layer, routers[i]);
	if (router == NULL)
		return dense(h, layer);
	bool joined = joined_experts(h, layer, "gate_up_proj") != NULL && joined_experts(h, layer, "down_proj") != NULL;
	if (!stage(h, "topk_router", "layer_%" PRIu64 "_moe_router", layer) || !refer(h, router) ||
	    !SOME(h, layer, "mlp.router.bias"))
		return false;
	if (!joined)
		return single_experts(h, layer);
	return stage(h, "sparse_experts", "layer_%" PRIu64 "_moe_gate_up", layer) &&
	       refer_experts(h, layer, "gate_up_proj") && stage(h, "sparse_experts", "layer_%" PRIu64 "_moe_down", layer) &&
	       refer_experts(h, layer, "down_proj");
}

/* ---- Layers ---- */

static bool per_layer_input(struct hf *h, uint64_t layer)
{
	static const char *const names[] = {
		"per_layer_input_gate.weight", "per_layer_projection.weight", "post_per_layer_input_norm.weight",
	};
	for (size_t i = 0; i < 3; i++)
		if (find(h, layer, names[i]) == NULL)
			return true;
	return stage(h, "per_layer_embeddings", "layer_%" PRIu64 "_per_layer_input", layer) && refer_some(h, layer, names, 3) &&
	       SOME(h, layer, "layer_scalar");
}

static bool is_linear(const struct hf *h, uint64_t layer) { return view_is(hf_layer_type(h, layer), "linear_attention"); }

static bool one_layer(struct hf *h, uint64_t layer)
{
	return norm_stage(h, layer, "input_norm", "input_layernorm.weight", "input_layernorm.bias") &&
	       (is_linear(h, layer) ? linear_attention(h, layer) : full_attention(h, layer)) &&
	       norm_stage(h, layer, "post_attn_norm", "post_attention_layernorm.weight", "post_attention_layernorm.bias") &&
	       optional_norm(h, layer, "pre_feedforward_norm", "pre_feedforward_layernorm.weight") && mlp(h, layer) &&
	       optional_norm(h, layer, "post_feedforward_norm", "post_feedforward_layernorm.weight") &&
	       per_layer_input(h, layer);
}

/* ---- The ends of the model ---- */

static bool refer_global(struct hf *h, const char *name)
{
	const struct hf_tensor *t = hf_find(h, name);
	return t == NULL || refer(h, t);
}

static bool entrance(struct hf *h)
{
	static const char *const per_layer[] = {
		"model.embed_tokens_per_layer.weight", "model.per_layer_model_projection.weight",
		"model.per_layer_projection_norm.weight",
	};
	if (hf_find(h, "model.embed_tokens.weight") == NULL)
		return hf_fail(h, "there is no tensor 'model.embed_tokens.weight'");
	if (!stage(h, "embedding", "embed") || !refer_global(h, "model.embed_tokens.weight"))
		return false;
	for (size_t i = 0; i < 3; i++)
		if (hf_find(h, per_layer[i]) == NULL)
			return true;
	if (!stage(h, "per_layer_embeddings", "per_layer_inputs"))
		return false;
	for (size_t i = 0; i < 3; i++)
		if (!refer_global(h, per_layer[i]))
			return false;
	return true;
}

static bool exit_stages(struct hf *h)
{
	if (hf_find(h, "model.norm.weight") != NULL &&
	    !(stage(h, h->norm, "final_norm") && add_eps(h) && refer_global(h, "model.norm.weight") &&
	      refer_global(h, "model.norm.bias")))
		return false;
	return hf_find(h, "lm_head.weight") == NULL || (stage(h, "lm_head", "lm_head") && refer_global(h, "lm_head.weight"));
}

/* ---- What is worth knowing ---- */

static void count_norms(struct hf *h)
{
	uint64_t q = 0, k = 0;
	for (uint64_t i = 0; i < h->layers; i++) {
		if (is_linear(h, i))
			continue;
		q += find(h, i, "self_attn.q_norm.weight") == NULL;
		k += !hf_shares_kv(h, i) && find(h, i, "self_attn.k_norm.weight") == NULL;
	}
	if (q != 0)
		hf_warn(h, "layers without q_norm, which is optional: %" PRIu64, q);
	if (k != 0)
		hf_warn(h, "layers without k_norm, which is optional: %" PRIu64, k);
	if (hf_find(h, "lm_head.weight") == NULL)
		hf_warn(h, "there is no lm_head: the tape ends without one");
}

/* Names that nobody wonders about, in a layer that there is. */
static bool is_usual(const struct hf *h, tn_view name)
{
	static const char *const usual[] = {
		"input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
		"self_attn.q_norm", "self_attn.k_norm", "post_attention_layernorm", "pre_feedforward_layernorm",
		"post_feedforward_layernorm", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj",
	};
	char text[PART_ROOM], whole[NAME_ROOM];
	uint64_t layer;
	if (!hf_layer(name, &layer) || layer >= h->layers)
		return false;
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
		snprintf(text, sizeof text, "%s.weight", usual[i]);
		if (view_is(name, in_layer(layer, text, whole)))
			return true;
	}
	return false;
}

/* The first few by name: there may be one for each of many layers. */
static void list_unused(struct hf *h)
{
	enum { SHOWN = 8 };
	uint64_t n = 0;
	for (uint64_t i = 0; i < h->n; i++) {
		tn_view name = h->tensors[i].name;
		if (h->tensors[i].place != UINT64_MAX || is_usual(h, name))
			continue;
		if (n++ < SHOWN)
			report_add(h->job->report, TN_WARNING, TN_OK, TN_NO_OFFSET, name,
			           THIN ": checkpoint: tensor '%s' has no place on the tape", ESC(name));
	}
	if (n > SHOWN)
		hf_warn(h, "more tensors without a place on the tape: %" PRIu64, n - SHOWN);
}

/* ---- The tape as metadata ---- */

static bool put_stage(struct hf *h, struct tn_meta *tape, const struct hf_stage *s)
{
	struct arena *mem = h->job->mem;
	struct tn_meta *map = meta_add_map(mem, tape, VIEW("")), *refs;
	if (map == NULL || meta_add_string(mem, map, VIEW("stage"), tn_text(s->name)) == NULL ||
	    meta_add_string(mem, map, VIEW("operator"), tn_text(s->operator)) == NULL ||
	    (s->params != NULL && meta_append(map, VIEW("operator_params"), s->params) == NULL) ||
	    (refs = meta_add_array(mem, map, VIEW("page_refs"))) == NULL)
		return hf_no_memory(h);
	for (uint64_t i = 0; i < s->n; i++)
		if (meta_add_string(mem, refs, VIEW(""), h->tensors[h->refs[s->first + i]].name) == NULL)
			return hf_no_memory(h);
	return true;
}

bool hf_lay_tape(struct hf *h)
{
	if (!entrance(h))
		return false;
	for (uint64_t i = 0; i < h->layers; i++)
		if (!one_layer(h, i))
			return false;
	if (!exit_stages(h))
		return false;
	count_norms(h);
	list_unused(h);
	struct tn_meta *tape = meta_add_array(h->job->mem, h->native, VIEW(NATIVE_TAPE));
	if (tape == NULL)
		return hf_no_memory(h);
	for (uint64_t i = 0; i < h->n_stages; i++)
		if (!put_stage(h, tape, &h->stages[i]))
			return false;
	return true;
}
