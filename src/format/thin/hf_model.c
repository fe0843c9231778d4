/* hf_model.c - the manifest's model: what config.json says under its many names, and what the shapes of the tensors say
 * where it says nothing.
 *
 * The members are added in the order of the schema, in which the archive shows them. */
#include "format/thin/hf.h"

#include "format/thin/manifest.h"

#include <inttypes.h>
#include <math.h>

/* ---- Adding members ---- */

static bool add(struct hf *h, const char *name, struct tn_meta v)
{
	struct tn_meta *node = meta_new(h->job->mem, (tn_meta_type)v.type);
	if (node == NULL)
		return hf_no_memory(h);
	*node = v;
	meta_append(h->job->out->metadata, tn_text(name), node);
	return true;
}

static bool add_text(struct hf *h, const char *name, tn_view v)
{
	return add(h, name, (struct tn_meta){ .type = TN_META_STRING, .as.s = v });
}

static bool add_word(struct hf *h, const char *name, const char *v) { return add_text(h, name, tn_text(v)); }

static bool add_number(struct hf *h, const char *name, uint64_t v)
{
	const struct field *f = model_field(tn_text(name));
	uint8_t width = f->type == FIELD_U32 ? 32 : 64;
	return add(h, name, (struct tn_meta){ .type = TN_META_UINT, .width = width, .as.u = v });
}

static bool add_real(struct hf *h, const char *name, double v)
{
	return add(h, name, (struct tn_meta){ .type = TN_META_FLOAT, .width = 64, .as.f_bits = f64_bits(v) });
}

static bool add_bool(struct hf *h, const char *name, bool v)
{
	return add(h, name, (struct tn_meta){ .type = TN_META_BOOL, .as.b = v });
}

/* ---- Members that are taken over, where they are of that type ---- */

static bool take_uint(struct hf *h, const char *name, const char *from)
{
	uint64_t v;
	return !hf_uint(h, from, &v) || add_number(h, name, v);
}

static bool take_real(struct hf *h, const char *name, const char *from)
{
	double v;
	return !hf_real(h->config, from, &v) || add_real(h, name, v);
}

static bool take_bool(struct hf *h, const char *name, const char *from)
{
	bool v;
	return !hf_bool(h->config, from, &v) || add_bool(h, name, v);
}

static bool take_string(struct hf *h, const char *name, const char *from)
{
	tn_view v;
	return !hf_string(h->config, from, &v) || add_text(h, name, v);
}

static bool take_json(struct hf *h, const char *name, const struct tn_meta *v)
{
	return v == NULL || add(h, name, *v);
}

/* ---- Lists ---- */

static struct tn_meta *new_list(struct hf *h)
{
	struct tn_meta *list = meta_new(h->job->mem, TN_META_ARRAY);
	if (list == NULL)
		hf_no_memory(h);
	return list;
}

static bool push(struct hf *h, struct tn_meta *list, tn_view word)
{
	return meta_add_string(h->job->mem, list, VIEW(""), word) != NULL || hf_no_memory(h);
}

static bool push_words(struct hf *h, struct tn_meta *list, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!push(h, list, tn_text(words[i])))
			return false;
	return true;
}
#define PUSH(h, list, ...)                                         \
	push_words((h), (list), (const char *const[]){ __VA_ARGS__ }, \
	           sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

/* A list without items is left out. */
static bool add_list(struct hf *h, const char *name, const struct tn_meta *list)
{
	return list->as.kids.n == 0 || add(h, name, *list);
}

/* ---- Architecture ---- */

static bool is_model(const struct hf *h, const char *type)
{
	tn_view v;
	return hf_string(h->config, "model_type", &v) && view_is(v, type);
}

static bool raw_arch(const struct hf *h, tn_view *out)
{
	const struct tn_meta *list = hf_array(h->config, "architectures");
	return list != NULL && tn_meta_string(list->as.kids.first, out);
}

static bool lower(struct hf *h, tn_view text, tn_view *out)
{
	*out = arena_copy(h->job->mem, text);
	uint8_t *p = (uint8_t *)(uintptr_t)out->ptr;
	if (p == NULL)
		return hf_no_memory(h);
	for (size_t i = 0; i < out->len; i++)
		if (p[i] >= 'A' && p[i] <= 'Z')
			p[i] = (uint8_t)(p[i] + ('a' - 'A'));
	return true;
}

/* Families go by one name each. */
static bool arch_of(struct hf *h, tn_view *out)
{
	tn_view raw;
	if (h->job->arch != NULL) {
		*out = tn_text(h->job->arch);
		return true;
	}
	if (!raw_arch(h, &raw)) {
		*out = VIEW(PLAIN_ARCH);
		hf_warn(h, "config.json names no architecture: it is called '" PLAIN_ARCH "'");
		return true;
	}
	if (!lower(h, raw, out))
		return false;
	if (hf_has(*out, "qwen3_5") || hf_has(*out, "qwen3.5"))
		*out = VIEW("qwen3_5");
	else if (hf_has(*out, "qwen"))
		*out = VIEW("qwen");
	else if (hf_has(*out, "llama"))
		*out = VIEW("llama");
	return true;
}

/* ---- Numbers that shapes can tell as well ---- */

static bool dimension(const struct hf *h, const char *name, uint32_t dim, uint64_t *out)
{
	const struct hf_tensor *t = hf_find(h, name);
	if (t == NULL || dim >= t->tensor->rank)
		return false;
	*out = t->tensor->shape[dim];
	return true;
}

static bool find_hidden(struct hf *h)
{
	const struct hf_tensor *embedding = hf_find(h, "model.embed_tokens.weight");
	if (hf_uint(h, "hidden_size n_embd d_model", &h->hidden))
		return true;
	if (embedding != NULL && embedding->tensor->rank != 0)
		h->hidden = embedding->tensor->shape[embedding->tensor->rank - 1];
	else if (!dimension(h, "model.layers.0.self_attn.q_proj.weight", 1, &h->hidden))
		return hf_fail(h, "config.json does not say hidden_size, nor does the shape of a tensor");
	hf_warn(h, "config.json does not say hidden_size: %" PRIu64 " by the shape of a tensor", h->hidden);
	return true;
}

/* More heads than fit 32 bits are none that are stated. */
static bool stated_heads(const struct hf *h, const char *names, uint64_t *out)
{
	return hf_uint(h, names, out) && *out <= UINT32_MAX;
}

static bool find_heads(struct hf *h)
{
	if (!stated_heads(h, "num_attention_heads n_head num_heads", &h->heads)) {
		if (h->head_dim == 0 || h->hidden % h->head_dim != 0)
			return hf_fail(h, "config.json does not say how many heads there are (num_attention_heads)");
		h->heads = h->hidden / h->head_dim;
		hf_warn(h, "config.json does not say num_attention_heads: %" PRIu64 " by hidden_size and head_dim", h->heads);
	}
	return h->heads != 0 || hf_fail(h, "config.json says that there are 0 heads");
}

static void find_kv_heads(struct hf *h)
{
	uint64_t rows;
	if (stated_heads(h, "num_key_value_heads num_kv_heads n_head_kv", &h->kv_heads))
		return;
	h->kv_heads = h->heads;
	if (h->head_dim == 0 || !dimension(h, "model.layers.0.self_attn.k_proj.weight", 0, &rows) ||
	    rows % h->head_dim != 0 || rows / h->head_dim > UINT32_MAX)
		return;
	h->kv_heads = rows / h->head_dim;
	if (h->kv_heads != h->heads)
		hf_warn(h, "config.json does not say num_key_value_heads: %" PRIu64 " by the shape of the first k_proj",
		        h->kv_heads);
}

/* What upstream's validator asks of these. */
static bool judge_numbers(struct hf *h)
{
	bool has_dim = hf_uint(h, "head_dim", &h->head_dim);
	if (h->layers == 0)
		return hf_fail(h, "it has no layer");
	if (h->layers > h->n) /* each has a norm of its own: lists with an item for each are paid for */
		return hf_fail(h, "config.json says %" PRIu64 " layers, there are no more than %" PRIu64 " tensors", h->layers, h->n);
	if (has_dim && h->head_dim == 0)
		return hf_fail(h, "config.json says head_dim 0");
	if (!find_hidden(h) || !find_heads(h))
		return false;
	find_kv_heads(h);
	if (h->hidden == 0)
		return hf_fail(h, "config.json says hidden_size 0");
	if (h->kv_heads == 0 || h->kv_heads > h->heads || h->heads > UINT32_MAX)
		return hf_fail(h, "%" PRIu64 " heads with %" PRIu64 " for keys and values", h->heads, h->kv_heads);
	if (!has_dim && h->hidden % h->heads != 0)
		return hf_fail(h, "%" PRIu64 " heads do not divide hidden_size %" PRIu64 ", and head_dim is not stated", h->heads,
		               h->hidden);
	return true;
}

static bool find_intermediate(const struct hf *h, uint64_t *out)
{
	static const struct { const char *name; uint32_t dim; unsigned joined; } shapes[] = {
		{ "model.layers.0.mlp.gate_proj.weight", 0, 1 },
		{ "model.layers.0.mlp.gate_up_proj.weight", 0, 2 },
		{ "model.layers.0.mlp.experts.gate_up_proj_blocks", 1, 2 },
		{ "model.layers.0.mlp.experts.0.gate_proj.weight", 0, 1 },
		{ "model.layers.0.block_sparse_moe.experts.0.w1.weight", 0, 1 },
	};
	if (hf_uint(h, "intermediate_size ffn_dim ffn_hidden_size n_inner d_ff moe_intermediate_size "
	               "expert_intermediate_size", out))
		return true;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (dimension(h, shapes[i].name, shapes[i].dim, out) && *out % shapes[i].joined == 0) {
			*out /= shapes[i].joined;
			return true;
		}
	return false;
}

/* ---- Norms and positions ---- */

static bool add_norms(struct hf *h)
{
	double rms, layer;
	bool is_short = tn_meta_find(h->config, VIEW("layer_norm_eps")) != NULL;
	const char *layer_key = is_short ? "layer_norm_eps" : "layer_norm_epsilon";
	bool has_rms = hf_real(h->config, "rms_norm_eps", &rms), has_layer = hf_real(h->config, layer_key, &layer);
	bool olmoe = is_model(h, "olmoe");
	if (!has_rms)
		rms = 1e-5; /* of olmoe, which may leave it out */
	h->norm = has_layer && !has_rms ? "layer_norm" : "rms_norm";
	h->has_eps = has_rms || has_layer || olmoe;
	h->eps = has_layer && !has_rms ? layer : rms;
	if (!h->has_eps)
		return true;
	return ((!has_rms && !olmoe) || add_real(h, "rms_norm_eps", rms)) &&
	       add_word(h, "norm_kind", olmoe ? "rms_norm" : h->norm) && add_real(h, "norm_eps", h->eps);
}

/* At the top, or among the parameters of the rotation. */
static bool add_rope_number(struct hf *h, const char *name)
{
	const struct tn_meta *inner = tn_meta_find(h->config, VIEW("rope_parameters"));
	double v;
	if (!hf_real(h->config, name, &v) && (inner == NULL || !hf_real(inner, name, &v)))
		return true;
	return add_real(h, name, v);
}

static bool add_rope_variant(struct hf *h)
{
	const struct tn_meta *scaling = hf_value(h, "rope_scaling");
	tn_view v;
	if (scaling == NULL)
		return true;
	const char *key = tn_meta_find(scaling, VIEW("rope_type")) != NULL ? "rope_type" : "type";
	return !hf_string(scaling, key, &v) || add_text(h, "rope_variant", v);
}

static const struct tn_meta *rope_parameters(const struct hf *h)
{
	bool there = tn_meta_find(h->config, VIEW("rope_parameters")) != NULL;
	return hf_value(h, there ? "rope_parameters" : "rope_scaling");
}

/* ---- Attention ---- */

static bool is_tied(const struct hf *h)
{
	bool tied;
	if (hf_bool(h->config, "tie_word_embeddings", &tied))
		return tied;
	return is_model(h, "gemma") || is_model(h, "gemma2");
}

static bool add_variants(struct hf *h)
{
	struct tn_meta *list = new_list(h);
	bool uses = true;
	if (list == NULL || !PUSH(h, list, "causal_kv", "current_only_smoke"))
		return false;
	hf_bool(h->config, "use_sliding_window", &uses);
	bool slides = h->n_types != 0 || (uses && hf_uint(h, "sliding_window", &(uint64_t){ 0 }));
	return (!slides || PUSH(h, list, "sliding_causal_kv")) && add_list(h, "attention_variants", list);
}

static bool add_precisions(struct hf *h)
{
	struct tn_meta *list = new_list(h);
	const struct tn_meta *quant = hf_value(h, "quantization_config");
	tn_view method;
	if (list == NULL)
		return false;
	if (quant != NULL && hf_string(quant, "quant_method", &method)) {
		const tn_view native = VIEW("native_");
		uint8_t *text = arena_raw(h->job->mem, native.len + (uint64_t)method.len, 1);
		if (text == NULL)
			return hf_no_memory(h);
		copy_bytes(text, native.ptr, native.len);
		copy_bytes(text + native.len, method.ptr, method.len);
		if (!push(h, list, (tn_view){ text, native.len + method.len }))
			return false;
	}
	return PUSH(h, list, "bf16", "head8") && (h->moe || PUSH(h, list, "down_fp8", "gate_up_fp8", "mlp_fp8")) &&
	       add_list(h, "supported_precision_modes", list);
}

/* Truth values, or natural numbers in their place. */
static bool add_no_rope(struct hf *h)
{
	const struct tn_meta *from = hf_array(h->config, "no_rope_layers");
	struct tn_meta *list = new_list(h);
	if (list == NULL)
		return false;
	for (const struct tn_meta *v = from != NULL ? from->as.kids.first : NULL; v != NULL; v = v->next) {
		if (v->type != TN_META_BOOL && v->type != TN_META_UINT)
			continue;
		if (meta_add_bool(h->job->mem, list, VIEW(""), v->type == TN_META_BOOL ? v->as.b : v->as.u != 0) == NULL)
			return hf_no_memory(h);
	}
	return add_list(h, "no_rope_layers", list);
}

static bool add_layer_types(struct hf *h)
{
	struct tn_meta *list = new_list(h);
	bool alternates = hf_array(h->config, "layer_types") == NULL && is_model(h, "gemma2");
	if (list == NULL)
		return false;
	for (uint64_t i = 0; i < h->n_types; i++)
		if (h->types[i].ptr != NULL && !push(h, list, h->types[i]))
			return false;
	for (uint64_t i = 0; alternates && i < h->layers; i++)
		if (!push(h, list, i % 2 == 0 ? VIEW("sliding_attention") : VIEW("full_attention")))
			return false;
	return add_list(h, "layer_types", list);
}

static bool has_linear_layer(const struct hf *h)
{
	for (uint64_t i = 0; i < h->n_types; i++)
		if (view_is(h->types[i], "linear_attention"))
			return true;
	return false;
}

static const char *family(const struct hf *h)
{
	if (has_linear_layer(h))
		return "hybrid_decoder";
	return h->moe ? "decoder_moe" : "decoder_dense";
}

/* ---- What some tensor's name shows ---- */

static bool any_has(const struct hf *h, const char *part)
{
	for (uint64_t i = 0; i < h->n; i++)
		if (hf_has(h->tensors[i].name, part))
			return true;
	return false;
}

static bool any_ends(const struct hf *h, const char *end)
{
	for (uint64_t i = 0; i < h->n; i++)
		if (hf_ends(h->tensors[i].name, end))
			return true;
	return false;
}

static void find_experts(struct hf *h)
{
	h->moe = hf_uint(h, "num_local_experts num_experts n_routed_experts", &h->experts) || any_has(h, ".mlp.experts.") ||
	         any_has(h, ".block_sparse_moe.experts.");
}

static bool is_above_zero(const struct hf *h, const char *name)
{
	uint64_t v;
	return hf_uint(h, name, &v) && v > 0;
}

/* ---- Operators that a reader must have ---- */

static bool push_operators(struct hf *h, struct tn_meta *list, bool sinks)
{
	bool per_layer = is_above_zero(h, "hidden_size_per_layer_input") || is_above_zero(h, "vocab_size_per_layer_input") ||
	                 is_above_zero(h, "num_kv_shared_layers") || is_above_zero(h, "global_head_dim");
	bool four_norms = any_ends(h, "pre_feedforward_layernorm.weight") && any_ends(h, "post_feedforward_layernorm.weight");
	const char *attention = hf_attention(h->heads, h->kv_heads);
	if (!PUSH(h, list, "embedding", h->norm, "qkv_projection", "rope", attention, "o_projection", "lm_head"))
		return false;
	if (has_linear_layer(h) &&
	    !PUSH(h, list, "gated_delta_net", "depthwise_causal_conv1d", "recurrent_state_cache", "gated_full_attention"))
		return false;
	if (per_layer && !PUSH(h, list, "per_layer_embeddings", "variable_head_dim_attention", "shared_kv_attention",
	                       "post_attention_norm", "post_feedforward_norm"))
		return false;
	if (four_norms && !PUSH(h, list, "post_attention_norm", "post_feedforward_norm"))
		return false;
	if (sinks && !PUSH(h, list, "attention_sinks"))
		return false;
	return h->moe ? PUSH(h, list, "topk_router", "sparse_experts", "expert_weighted_sum")
	              : PUSH(h, list, "gated_activation", "down_projection");
}

static bool add_operators(struct hf *h, bool sinks)
{
	struct tn_meta *list = new_list(h);
	return list != NULL && push_operators(h, list, sinks) && add_list(h, "required_operators", list);
}

/* ---- The members, in the order of the schema ---- */

static bool add_shape(struct hf *h)
{
	tn_view arch, raw, dtype;
	uint64_t intermediate;
	if (!arch_of(h, &arch) || !judge_numbers(h))
		return false;
	bool has_dtype = hf_string(h->config, "torch_dtype dtype", &dtype);
	if (is_blank(arch) || (has_dtype && is_blank(dtype)))
		return hf_fail(h, "the name of its %s is empty", is_blank(arch) ? "architecture" : "dtype");
	return add_text(h, "arch", arch) && take_string(h, "model_type", "model_type") &&
	       (!raw_arch(h, &raw) || add_text(h, "raw_arch", raw)) && add_number(h, "hidden_size", h->hidden) &&
	       add_number(h, "layers", h->layers) && add_number(h, "heads", h->heads) &&
	       add_number(h, "kv_heads", h->kv_heads) && (h->head_dim == 0 || add_number(h, "head_dim", h->head_dim)) &&
	       add_text(h, "dtype", has_dtype ? dtype : VIEW("unknown")) &&
	       (!find_intermediate(h, &intermediate) || add_number(h, "intermediate_size", intermediate)) && add_norms(h) &&
	       add_rope_number(h, "rope_theta") && add_rope_number(h, "partial_rotary_factor") &&
	       take_json(h, "rope_scaling", hf_value(h, "rope_scaling")) &&
	       (!has_dtype || add_text(h, "source_dtype", dtype)) &&
	       take_uint(h, "vocab_size", "vocab_size n_vocab padded_vocab_size") &&
	       add_bool(h, "tie_word_embeddings", is_tied(h)) && take_string(h, "activation", "hidden_act hidden_activation");
}

const char *hf_attention(uint64_t heads, uint64_t kv_heads)
{
	if (kv_heads == heads)
		return "mha_attention";
	return kv_heads == 1 ? "mqa_attention" : "gqa_attention";
}

static bool add_attention(struct hf *h)
{
	const char *bias = tn_meta_find(h->config, VIEW("qkv_bias")) != NULL ? "qkv_bias" : "attention_bias";
	const tn_view kind = { (const uint8_t *)hf_attention(h->heads, h->kv_heads), 3 };
	return take_bool(h, "qkv_bias", bias) && take_bool(h, "attention_bias", "attention_bias") &&
	       add_word(h, "tensor_naming_scheme", "hf_decoder_layers") && add_variants(h) && add_precisions(h) &&
	       add_no_rope(h) && take_uint(h, "no_rope_layer_interval", "no_rope_layer_interval") &&
	       take_uint(h, "sliding_window", "sliding_window") && take_bool(h, "use_sliding_window", "use_sliding_window") &&
	       take_uint(h, "max_position_embeddings", "max_position_embeddings n_positions max_seq_len seq_length") &&
	       take_uint(h, "original_max_position_embeddings", "original_max_position_embeddings") && add_rope_variant(h) &&
	       add_word(h, "architecture_family", family(h)) && add_text(h, "attention_kind", kind) &&
	       add_word(h, "mlp_kind", h->moe ? "sparse_moe" : "gated_dense") && add_layer_types(h);
}

static bool take_uints(struct hf *h, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!take_uint(h, names[i], names[i]))
			return false;
	return true;
}

static bool add_variations(struct hf *h)
{
	static const char *const linear[] = {
		"linear_conv_kernel_dim", "linear_key_head_dim", "linear_value_head_dim", "linear_num_key_heads",
		"linear_num_value_heads",
	}, *const per_layer[] = {
		"global_head_dim", "num_global_key_value_heads", "num_kv_shared_layers", "hidden_size_per_layer_input",
		"vocab_size_per_layer_input",
	};
	tn_view type = { NULL, 0 };
	hf_string(h->config, "model_type", &type);
	bool shifted = view_is(type, "gemma2") || view_is(type, "qwen3_5");
	bool scaled = view_is(type, "gemma2") || view_starts(type, "gemma4");
	bool sinks = any_ends(h, ".self_attn.sinks");
	return take_uints(h, linear, 5) && take_bool(h, "attention_output_gate", "attn_output_gate") &&
	       take_uints(h, per_layer, 5) && take_bool(h, "use_double_wide_mlp", "use_double_wide_mlp") &&
	       add_bool(h, "attention_sinks", sinks) &&
	       take_uint(h, "num_local_experts", "num_local_experts num_experts n_routed_experts") &&
	       take_uint(h, "num_experts_per_token",
	                 "num_experts_per_token experts_per_token num_experts_per_tok num_selected_experts") &&
	       take_bool(h, "norm_topk_prob", "norm_topk_prob") && take_real(h, "swiglu_alpha", "swiglu_alpha") &&
	       take_real(h, "swiglu_limit", "swiglu_limit") && (!shifted || add_real(h, "norm_weight_offset", 1.0)) &&
	       (!scaled || add_real(h, "embedding_scale", sqrt((double)h->hidden))) &&
	       take_real(h, "query_pre_attn_scalar", "query_pre_attn_scalar") &&
	       take_real(h, "attention_logit_softcap", "attn_logit_softcapping") &&
	       take_real(h, "final_logit_softcap", "final_logit_softcapping") &&
	       take_json(h, "rope_parameters", rope_parameters(h)) &&
	       take_json(h, "quantization_config", hf_value(h, "quantization_config")) && add_operators(h, sinks);
}

static bool add_digest(struct hf *h, const char *name, const tn_digest *digest)
{
	char hex[THIN_HEX + 1];
	if (digest == NULL || h->job->no_tokenizer)
		return true;
	tn_digest_text(digest, hex);
	tn_view text = arena_copy(h->job->mem, tn_text(hex));
	return text.ptr != NULL ? add_text(h, name, text) : hf_no_memory(h);
}

bool hf_describe_model(struct hf *h)
{
	find_experts(h);
	return add_shape(h) && add_attention(h) && add_variations(h) &&
	       add_digest(h, "tokenizer_json_hash", h->job->tokenizer) &&
	       add_digest(h, "tokenizer_config_json_hash", h->job->tokenizer_config);
}
