/* test_thin_hf.c - checkpoints as the converter sees them: configs, names, numbers, tapes, memory plans. Whole families are
 * in tests/golden/checkpoints.c; here are the turns that they do not take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/thin/hf.h"

#include <cmocka.h>

enum { MOST = 128, H = 8, WIDE = 16 };

static struct arena     mem;
static struct tn_report report;
static struct model     in, out;
static struct tensor    tensors[MOST];
static uint64_t         shapes[MOST][2], content[MOST];
static const uint64_t  *from;
static tn_error         err;
static tn_digest        tokenizer, tokenizer_config;
static struct buf       printed;

static int set_up(void **state)
{
	(void)state;
	arena_init(&mem, 0);
	report_init(&report);
	buf_init(&printed, 0);
	memset(&in, 0, sizeof in);
	model_init(&in, &mem);
	in.tensors = tensors;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	buf_fini(&printed);
	report_fini(&report);
	arena_fini(&mem);
	return 0;
}

/* ---- Making checkpoints ---- */

/* A bf16 tensor; b of 0: of one dimension. */
static void add(const char *name, uint64_t a, uint64_t b)
{
	uint64_t i = in.n++;
	assert_true(i < MOST);
	shapes[i][0] = a;
	shapes[i][1] = b;
	content[i] = i;
	tensors[i] = (struct tensor){
		.name = arena_copy(&mem, tn_text(name)), .dtype = TN_BF16, .rank = b != 0 ? 2 : 1, .shape = shapes[i],
		.nbytes = 2 * a * (b != 0 ? b : 1),
	};
}

static void add_in(const char *prefix, const char *name, uint64_t a, uint64_t b)
{
	char text[160];
	snprintf(text, sizeof text, "%s%s", prefix, name);
	add(text, a, b);
}

static void add_norms(const char *layer)
{
	add_in(layer, "input_layernorm.weight", H, 0);
	add_in(layer, "post_attention_layernorm.weight", H, 0);
}

static void add_attention(const char *layer)
{
	add_in(layer, "self_attn.q_proj.weight", H, H);
	add_in(layer, "self_attn.k_proj.weight", H / 2, H);
	add_in(layer, "self_attn.v_proj.weight", H / 2, H);
	add_in(layer, "self_attn.o_proj.weight", H, H);
}

static void add_mlp(const char *layer)
{
	add_in(layer, "mlp.gate_proj.weight", WIDE, H);
	add_in(layer, "mlp.up_proj.weight", WIDE, H);
	add_in(layer, "mlp.down_proj.weight", H, WIDE);
}

static void add_layer(const char *layer)
{
	add_norms(layer);
	add_attention(layer);
	add_mlp(layer);
}

static void add_ends(void)
{
	add("model.embed_tokens.weight", 32, H);
	add("model.norm.weight", H, 0);
	add("lm_head.weight", 32, H);
}

static void small_decoder(void)
{
	add_ends();
	add_layer("model.layers.0.");
}

/* The numbers of small_decoder, ready for more members. */
#define NUMBERS "\"hidden_size\":8,\"num_attention_heads\":4,\"num_key_value_heads\":2,\"num_hidden_layers\":1"

/* ---- Running ---- */

static tn_code digests(void *ctx, const uint64_t *which, uint64_t n, tn_digest *to, tn_error *e)
{
	(void)ctx;
	(void)e;
	for (uint64_t i = 0; i < n; i++) {
		memset(&to[i], 0, sizeof to[i]);
		to[i].bytes[0] = (uint8_t)content[which[i]];
	}
	return TN_OK;
}

static const char *run_format; /* whose own subtree is known to hold nothing of the user's */

static tn_code run_as(const char *config, const char *arch, bool with_tokenizer)
{
	struct checkpoint_job job = {
		.config = tn_text(config), .no_tokenizer = !with_tokenizer, .arch = arch, .model = &in, .own = run_format, .digest = digests,
		.mem = &mem, .out = &out, .report = &report, .err = &err,
		.tokenizer = with_tokenizer ? &tokenizer : NULL, .tokenizer_config = with_tokenizer ? &tokenizer_config : NULL,
	};
	err_clear(&err);
	tn_code code = thin_checkpoint(&job);
	from = job.from;
	return code;
}

static void run(const char *config)
{
	if (run_as(config, NULL, false) != TN_OK)
		fail_msg("%s", err.msg);
}

static void refuses(const char *config, tn_code code, const char *why)
{
	assert_int_equal(run_as(config, NULL, false), code);
	if (strstr(err.msg, why) == NULL)
		fail_msg("'%s' is not in: %s", why, err.msg);
}

/* ---- Looking at the result ---- */

static const char *text_of(void)
{
	buf_byte(&printed, 0);
	assert_false(printed.failed);
	printed.len = 0;
	return (const char *)printed.ptr;
}

static void print(const struct tn_meta *n)
{
	switch ((tn_meta_type)n->type) {
	case TN_META_UINT:   buf_printf(&printed, "%llu", (unsigned long long)n->as.u); break;
	case TN_META_FLOAT:  buf_printf(&printed, "%g", f64_of(n->as.f_bits)); break;
	case TN_META_BOOL:   buf_text(&printed, n->as.b ? "true" : "false"); break;
	case TN_META_STRING: buf_view(&printed, n->as.s); break;
	default:
		for (const struct tn_meta *k = n->as.kids.first; k != NULL; k = k->next) {
			buf_text(&printed, k != n->as.kids.first ? " " : "");
			if (n->type == TN_META_MAP) {
				buf_view(&printed, k->key);
				buf_byte(&printed, '=');
			}
			print(k);
		}
	}
}

/* Of the manifest's model; "-" where it is absent. */
static const char *field(const char *name)
{
	const struct tn_meta *n = meta_find(out.metadata, tn_text(name));
	if (n == NULL)
		return "-";
	print(n);
	return text_of();
}

static const struct tn_meta *native(const char *name)
{
	const struct tn_meta *n = meta_find(meta_find(out.native, VIEW("thin")), tn_text(name));
	assert_non_null(n);
	return n;
}

static const char *plan_text(void)
{
	print(native(NATIVE_PLAN));
	return text_of();
}

/* "operator{params} ref ref" with the start of names in the layers cut off; "-" where there is no such stage. */
static const char *stage(const char *name)
{
	const struct tn_meta *s = native(NATIVE_TAPE)->as.kids.first;
	while (s != NULL && !view_is(meta_find(s, VIEW("stage"))->as.s, name))
		s = s->next;
	if (s == NULL)
		return "-";
	print(meta_find(s, VIEW("operator")));
	const struct tn_meta *params = meta_find(s, VIEW("operator_params"));
	if (params != NULL) {
		buf_byte(&printed, '{');
		print(params);
		buf_byte(&printed, '}');
	}
	for (const struct tn_meta *r = meta_find(s, VIEW("page_refs"))->as.kids.first; r != NULL; r = r->next) {
		tn_view id = r->as.s;
		bool in_layer = view_starts(id, "model.layers.0.");
		buf_byte(&printed, ' ');
		buf_view(&printed, in_layer ? (tn_view){ id.ptr + 15, id.len - 15 } : id);
	}
	return text_of();
}

static const char *stages(void)
{
	for (const struct tn_meta *s = native(NATIVE_TAPE)->as.kids.first; s != NULL; s = s->next) {
		buf_view(&printed, meta_find(s, VIEW("stage"))->as.s);
		buf_byte(&printed, ' ');
	}
	return text_of();
}

static const char *names(void)
{
	for (uint64_t i = 0; i < out.n; i++) {
		buf_view(&printed, out.tensors[i].name);
		buf_byte(&printed, ' ');
	}
	return text_of();
}

static const char *extras(const char *name)
{
	for (uint64_t i = 0; i < out.n; i++)
		if (view_is(out.tensors[i].name, name)) {
			print(out.tensors[i].extras);
			return text_of();
		}
	return "-";
}

static bool says(const char *text)
{
	for (size_t i = 0; i < report.n; i++)
		if (strstr(report.list[i].text, text) != NULL)
			return true;
	return false;
}

/* ---- Tapes ---- */

static void smallest_tape(void **state)
{
	(void)state;
	small_decoder();
	run("{" NUMBERS "}");
	assert_string_equal(stages(), "embed layer_0_input_norm layer_0_attn_qkv layer_0_rope layer_0_attention layer_0_attn_out "
	                              "layer_0_post_attn_norm layer_0_mlp_gate_up layer_0_mlp_down final_norm lm_head ");
	assert_string_equal(stage("embed"), "embedding model.embed_tokens.weight");
	assert_string_equal(stage("layer_0_input_norm"), "rms_norm input_layernorm.weight");
	assert_string_equal(stage("layer_0_rope"), "rope");
	assert_string_equal(stage("layer_0_attention"), "gqa_attention{causal=true head_dim=2 heads=4 kv_heads=2}");
	assert_string_equal(field("head_dim"), "-");
	assert_string_equal(field("norm_kind"), "-");
	assert_string_equal(field("dtype"), "unknown");
	/* data in the order of the tape */
	assert_true(view_is(out.tensors[0].name, "model.embed_tokens.weight"));
	assert_true(view_is(out.tensors[1].name, "model.layers.0.input_layernorm.weight"));
	assert_true(view_is(out.tensors[out.n - 1].name, "lm_head.weight"));
	assert_int_equal(from[0], 0);
	assert_int_equal(from[1], 3);
}

static void joined_projections(void **state)
{
	(void)state;
	add_ends();
	add_norms("model.layers.0.");
	add("model.layers.0.input_layernorm.bias", H, 0);
	add("model.layers.0.self_attn.qkv_proj.weight", 2 * H, H);
	add("model.layers.0.self_attn.qkv_proj.bias", 2 * H, 0);
	add("model.layers.0.self_attn.o_proj.weight_packed", H, H);
	add("model.layers.0.self_attn.o_proj.input_scale", 1, 0);
	add("model.layers.0.self_attn.o_proj.weight_scale", 1, 0);
	add("model.layers.0.self_attn.o_proj.bias", H, 0);
	add("model.layers.0.mlp.gate_up_proj.weight", 2 * WIDE, H);
	add("model.layers.0.mlp.gate_up_proj.bias", 2 * WIDE, 0);
	add("model.layers.0.mlp.down_proj.weight", H, WIDE);
	run("{" NUMBERS ",\"layer_norm_epsilon\":0.5}");
	assert_string_equal(stage("layer_0_input_norm"), "layer_norm{eps=0.5} input_layernorm.weight input_layernorm.bias");
	assert_string_equal(stage("layer_0_attn_qkv"), "qkv_projection self_attn.qkv_proj.weight self_attn.qkv_proj.bias");
	assert_string_equal(stage("layer_0_attn_out"), "o_projection self_attn.o_proj.weight_packed self_attn.o_proj.weight_scale "
	                                               "self_attn.o_proj.input_scale self_attn.o_proj.bias");
	assert_string_equal(stage("layer_0_mlp_gate_up"), "gated_activation mlp.gate_up_proj.weight mlp.gate_up_proj.bias");
	assert_string_equal(field("intermediate_size"), "16");
	assert_string_equal(field("norm_kind"), "layer_norm");
	assert_true(strncmp(field("required_operators"), "embedding layer_norm qkv_projection", 35) == 0);
}

static void windows_and_shared_keys(void **state)
{
	(void)state;
	small_decoder();
	add("model.layers.1.self_attn.q_proj.weight", H, H);
	add("model.layers.1.self_attn.o_proj.weight", H, H);
	add_norms("model.layers.1.");
	add_mlp("model.layers.1.");
	run("{\"hidden_size\":8,\"num_attention_heads\":2,\"num_hidden_layers\":2,\"num_kv_shared_layers\":1,\"head_dim\":4,"
	    "\"sliding_window\":7,\"layer_types\":[\"sliding_attention\",3]}");
	assert_string_equal(stage("layer_0_attention"), "mqa_attention{causal=true head_dim=4 heads=2 kv_heads=1 window=7}");
	assert_string_equal(stage("layer_1_attn_qkv"), "qkv_projection model.layers.1.self_attn.q_proj.weight");
	assert_string_equal(field("layer_types"), "sliding_attention");
	assert_string_equal(field("attention_variants"), "causal_kv current_only_smoke sliding_causal_kv");
	assert_true(says("num_key_value_heads: 1 by the shape"));
	assert_true(says("without q_norm, which is optional: 2"));
	assert_true(says("without k_norm, which is optional: 1"));
	assert_non_null(strstr(field("required_operators"), "per_layer_embeddings variable_head_dim_attention"));
}

static void linear_layers(void **state)
{
	static const char *const parts[] = {
		"in_proj_qkv.weight", "in_proj_z.weight", "in_proj_a.weight", "in_proj_b.weight", "conv1d.weight", "dt_bias", "A_log",
		"norm.weight",
	};
	static const char config[] = "{" NUMBERS ",\"layer_types\":[\"linear_attention\"],\"linear_num_key_heads\":2}";
	(void)state;
	add_ends();
	add_norms("model.layers.0.");
	add_mlp("model.layers.0.");
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		add_in("model.layers.0.linear_attn.", parts[i], H, 0);
	refuses(config, TN_E_UNSUPPORTED, "no tensor 'model.layers.0.linear_attn.out_proj.weight'");
	add("model.layers.0.linear_attn.out_proj.weight", H, H);
	run(config);
	assert_string_equal(stages(), "embed layer_0_input_norm layer_0_linear_attention layer_0_post_attn_norm layer_0_mlp_gate_up "
	                              "layer_0_mlp_down final_norm lm_head ");
	assert_string_equal(field("architecture_family"), "hybrid_decoder");
	assert_string_equal(field("linear_num_key_heads"), "2");
	assert_non_null(strstr(field("required_operators"), "lm_head gated_delta_net depthwise_causal_conv1d"));
	assert_false(says("q_norm"));
}

static void joined_experts(void **state)
{
	(void)state;
	add_ends();
	add_norms("model.layers.0.");
	add_attention("model.layers.0.");
	add("model.layers.0.mlp.router.weight", 2, H);
	add("model.layers.0.mlp.router.bias", 2, 0);
	add("model.layers.0.mlp.experts.gate_up_proj", 2, H);
	add("model.layers.0.mlp.experts.gate_up_proj_bias", 2, 0);
	add("model.layers.0.mlp.experts.down_proj_blocks", 2, H);
	add("model.layers.0.mlp.experts.down_proj_scales", 2, 0);
	run("{" NUMBERS "}");
	assert_string_equal(stage("layer_0_moe_router"), "topk_router mlp.router.weight mlp.router.bias");
	assert_string_equal(stage("layer_0_moe_gate_up"), "sparse_experts mlp.experts.gate_up_proj mlp.experts.gate_up_proj_bias");
	assert_string_equal(stage("layer_0_moe_down"), "sparse_experts mlp.experts.down_proj_blocks mlp.experts.down_proj_scales");
	assert_string_equal(field("mlp_kind"), "sparse_moe");
	assert_string_equal(field("num_local_experts"), "-");
	assert_string_equal(field("supported_precision_modes"), "bf16 head8");
	assert_string_equal(extras("model.layers.0.mlp.experts.down_proj_blocks"),
	                    "kind=weight op=moe_down backend_layout=mxfp4_group32_packed layer=0 quant_scheme=mxfp4 bits_per_weight=4 "
	                    "quant_group_size=32 scale_page=model.layers.0.mlp.experts.down_proj_scales");
}

static void router_alone(void **state)
{
	(void)state;
	small_decoder();
	add("model.layers.0.mlp.gate.weight", 2, H);
	refuses("{" NUMBERS "}", TN_E_UNSUPPORTED, "layer 0 has a router and no experts");
	add("model.layers.0.mlp.experts.1.up_proj.weight", 2, H);
	add("model.layers.0.mlp.experts.0.up_proj.weight", 2, H);
	run("{" NUMBERS ",\"num_experts\":0}");
	assert_string_equal(stage("layer_0_moe_experts"),
	                    "sparse_experts mlp.experts.0.up_proj.weight mlp.experts.1.up_proj.weight");
	assert_string_equal(field("num_local_experts"), "0");
	/* the dense MLP beside the experts is in no stage, and nobody wonders */
	assert_string_equal(stage("layer_0_mlp_down"), "-");
	assert_false(says("has no place"));
}

static void inputs_of_each_layer(void **state)
{
	(void)state;
	small_decoder();
	add("model.embed_tokens_per_layer.weight", 2, H);
	add("model.per_layer_model_projection.weight", 2, H);
	add("model.layers.0.per_layer_input_gate.weight", 2, H);
	add("model.layers.0.per_layer_projection.weight", 2, H);
	add("model.layers.0.layer_scalar", 1, 0);
	run("{" NUMBERS "}");
	assert_string_equal(stage("per_layer_inputs"), "-");
	assert_string_equal(stage("layer_0_per_layer_input"), "-");
	add("model.per_layer_projection_norm.weight", H, 0);
	add("model.layers.0.post_per_layer_input_norm.weight", H, 0);
	add("model.layers.0.post_feedforward_layernorm.weight", H, 0);
	run("{" NUMBERS ",\"model_type\":\"gemma4_text\",\"rms_norm_eps\":1}");
	assert_string_equal(stage("per_layer_inputs"), "per_layer_embeddings model.embed_tokens_per_layer.weight "
	                                               "model.per_layer_model_projection.weight model.per_layer_projection_norm.weight");
	assert_string_equal(stage("layer_0_per_layer_input"), "per_layer_embeddings per_layer_input_gate.weight "
	                                                      "per_layer_projection.weight post_per_layer_input_norm.weight layer_scalar");
	assert_string_equal(stage("layer_0_post_feedforward_norm"), "rms_norm{eps=1} post_feedforward_layernorm.weight");
	assert_string_equal(field("embedding_scale"), "2.82843");
	assert_string_equal(field("norm_weight_offset"), "-");
}

/* ---- Names ---- */

static void other_libraries(void **state)
{
	(void)state;
	add("transformer.wte.weight", 32, H);
	add("transformer.ln_f.weight", H, 0);
	add("output.weight", 32, H);
	add("transformer.h.0.ln_1.weight", H, 0);
	add("model.decoder.layers.0.ln_2.weight", H, 0);
	add("transformer.h.0.attn.c_attn.weight", 2 * H, H);
	add("transformer.h.0.attn.c_proj.weight", H, H);
	add("transformer.h.0.mlp.gate_proj.weight", WIDE, H);
	add("transformer.h.0.mlp.up_proj.weight", WIDE, H);
	add("transformer.h.0.mlp.down_proj.weight", H, WIDE);
	add("transformer.h.", 1, 0);
	run("{" NUMBERS "}");
	assert_string_equal(names(), "model.embed_tokens.weight model.layers.0.input_layernorm.weight "
	                             "model.layers.0.self_attn.qkv_proj.weight model.layers.0.self_attn.o_proj.weight "
	                             "model.layers.0.post_attention_layernorm.weight model.layers.0.mlp.gate_proj.weight "
	                             "model.layers.0.mlp.up_proj.weight model.layers.0.mlp.down_proj.weight model.norm.weight "
	                             "lm_head.weight transformer.h. ");
	assert_true(says("tensor 'transformer.h.' has no place on the tape"));
	add("lm_head.weight", 32, H);
	refuses("{" NUMBERS "}", TN_E_UNSUPPORTED, "two tensors would be called 'lm_head.weight'");
}

static void text_of_a_larger_model(void **state)
{
	(void)state;
	add("language_model.model.embed_tokens.weight", 32, H);
	add("model.language_model.norm.weight", H, 0);
	add_layer("language_model.model.layers.00.");
	add_layer("model.language_model.layers.1."); /* dropped */
	add_norms("language_model.layers.+2.");
	add("language_model.layers.2.self_attn.q_proj.weight", H, H);
	add("language_model.layers.2.self_attn.k_proj.weight", H / 2, H);
	add("language_model.layers.2.self_attn.o_proj.weight", H, H);
	add("language_model.layers.2.router.proj.weight", 2, H);
	add("language_model.layers.2.experts.gate_up_proj", 2, H);
	add("language_model.layers.2.experts.down_proj", 2, H);
	add("language_model.layers.2.cross_attn.q_proj.weight", H, H);
	add("language_model.layers.2.cross_attn_mlp_gate", 1, 0);
	add("vision.weight", 3, 0);
	add("lm_head.weight", 32, H);
	run("{\"model_type\":\"outer\",\"tie_word_embeddings\":true,\"quantization_config\":{},\"text_config\":{\"model_type\":\"inner\","
	    "\"hidden_size\":8,\"num_attention_heads\":4,\"num_hidden_layers\":3,\"cross_attention_layers\":[1,1,-1,\"2\"]}}");
	assert_string_equal(field("layers"), "2");
	assert_string_equal(field("model_type"), "outer");
	assert_string_equal(field("tie_word_embeddings"), "true");
	assert_string_equal(field("quantization_config"), "-");
	assert_true(says("no part of the text model: 12"));
	assert_string_equal(stage("layer_1_attn_qkv"),
	                    "qkv_projection model.layers.1.self_attn.q_proj.weight model.layers.1.self_attn.k_proj.weight "
	                    "model.layers.1.self_attn.v_proj.weight");
	assert_string_equal(stage("layer_1_moe_gate_up"), "sparse_experts model.layers.1.mlp.experts.gate_up_proj");
	assert_string_equal(stage("layer_1_moe_router"), "topk_router model.layers.1.mlp.router.weight");
	for (uint64_t i = 1; i < out.n; i++) /* values that are the keys */
		if (view_is(out.tensors[i].name, "model.layers.1.self_attn.v_proj.weight"))
			assert_int_equal(from[i], from[i - 1]);
}

/* Where the text model is not inside another one, no layer is left out. */
static void layers_of_no_text_config(void **state)
{
	(void)state;
	add("language_model.model.embed_tokens.weight", 32, H);
	add_layer("language_model.model.layers.0.");
	run("{" NUMBERS ",\"text_config\":null,\"cross_attention_layers\":[0]}");
	assert_string_equal(field("layers"), "1");
	assert_int_equal(out.n, 10);
}

static void empty_text_config(void **state)
{
	(void)state;
	small_decoder();
	refuses("{" NUMBERS ",\"text_config\":null}", TN_E_UNSUPPORTED, "no tensor 'model.embed_tokens.weight'");
	in.n = 1;
	refuses("{" NUMBERS ",\"text_config\":7}", TN_E_UNSUPPORTED, "none of its tensors belongs to a text model");
	in.n = 0;
	refuses("{" NUMBERS "}", TN_E_UNSUPPORTED, "it has no tensor");
}

/* ---- The model ---- */

static void architectures(void **state)
{
	static const struct { const char *raw, *arch; } cases[] = {
		{ "LlamaForCausalLM", "llama" }, { "Qwen3_5ForCausalLM", "qwen3_5" }, { "Qwen3.5X", "qwen3_5" },
		{ "Qwen2MoeForCausalLM", "qwen" }, { "MistralForCausalLM", "mistralforcausallm" },
	};
	char config[256];
	(void)state;
	small_decoder();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		snprintf(config, sizeof config, "{" NUMBERS ",\"architectures\":[\"%s\"]}", cases[i].raw);
		run(config);
		assert_string_equal(field("arch"), cases[i].arch);
		assert_string_equal(field("raw_arch"), cases[i].raw);
	}
	assert_false(says("names no architecture"));
	run("{" NUMBERS ",\"architectures\":[3]}");
	assert_string_equal(field("arch"), "unknown");
	assert_true(says("names no architecture"));
	assert_int_equal(run_as("{" NUMBERS "}", "Mine", true), TN_OK);
	assert_string_equal(field("arch"), "Mine");
	assert_int_equal(strlen(field("tokenizer_json_hash")), 64);
	assert_int_equal(strlen(field("tokenizer_config_json_hash")), 64);
}

static void numbers_from_shapes(void **state)
{
	(void)state;
	small_decoder();
	run("{\"num_layers\":1,\"head_dim\":2,\"num_attention_heads\":\"4\",\"hidden_size\":8.0}");
	assert_string_equal(field("hidden_size"), "8");
	assert_string_equal(field("heads"), "4");
	assert_string_equal(field("kv_heads"), "2");
	assert_string_equal(field("intermediate_size"), "16");
	assert_true(says("hidden_size: 8 by the shape"));
	assert_true(says("num_attention_heads: 4"));
	assert_true(says("num_key_value_heads: 2"));
}

static void kinds_of_values(void **state)
{
	(void)state;
	small_decoder();
	run("{" NUMBERS ",\"torch_dtype\":3,\"dtype\":\"half\",\"n_embd\":9,\"vocab_size\":null,\"n_vocab\":32,\"rope_theta\":\"x\","
	    "\"rope_parameters\":{\"rope_theta\":10000},\"rope_scaling\":{\"rope_type\":1,\"type\":\"linear\"},\"qkv_bias\":null,"
	    "\"attention_bias\":true,\"no_rope_layers\":[1,0,true,-1,\"x\"],\"quantization_config\":{\"quant_method\":\"fp8\"},"
	    "\"model_type\":\"olmoe\",\"use_sliding_window\":false,\"sliding_window\":4}");
	assert_string_equal(field("dtype"), "half");
	assert_string_equal(field("vocab_size"), "32");
	assert_string_equal(field("rope_theta"), "10000");
	assert_string_equal(field("rope_variant"), "-");
	assert_string_equal(field("rope_parameters"), "rope_theta=10000");
	assert_string_equal(field("rope_scaling"), "rope_type=1 type=linear");
	assert_string_equal(field("qkv_bias"), "-");
	assert_string_equal(field("attention_bias"), "true");
	assert_string_equal(field("no_rope_layers"), "true false true");
	assert_string_equal(field("supported_precision_modes"), "native_fp8 bf16 head8 down_fp8 gate_up_fp8 mlp_fp8");
	assert_string_equal(field("attention_variants"), "causal_kv current_only_smoke");
	assert_string_equal(field("rms_norm_eps"), "1e-05");
	assert_string_equal(stage("final_norm"), "rms_norm{eps=1e-05} model.norm.weight");
	run("{" NUMBERS ",\"rope_parameters\":null,\"rope_scaling\":{},\"model_type\":\"olmoe\",\"layer_norm_eps\":2,\"layer_norm_epsilon\":3}");
	assert_string_equal(field("rope_parameters"), "-");
	assert_string_equal(field("norm_eps"), "2");
	assert_string_equal(stage("final_norm"), "layer_norm{eps=2} model.norm.weight");
	assert_string_equal(field("norm_kind"), "rms_norm");
}

static void quantised_tensors(void **state)
{
	(void)state;
	small_decoder();
	add("model.layers.0.x.qweight", 2, 2);
	add("model.layers.0.x.weight_scale", 2, 2);
	add("model.layers.0.x.packed", 2, 2);
	tensors[in.n - 1].dtype = tensors[in.n - 2].dtype = TN_I8;
	run("{" NUMBERS ",\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":256,\"num_bits\":4,\"block_size\":16}}");
	assert_string_equal(extras("model.layers.0.x.qweight"), "kind=weight op=unknown backend_layout=row_major_contiguous "
	                                                        "layer=0 quant_scheme=gptq quant_group_size=16");
	assert_non_null(strstr(extras("model.layers.0.x.packed"), "quant_scheme=gptq"));
	assert_null(strstr(extras("model.layers.0.x.weight_scale"), "quant"));
}

static void own_metadata(void **state)
{
	(void)state;
	small_decoder();
	meta_add_string(&mem, in.metadata, VIEW("format"), VIEW("pt"));
	meta_add_string(&mem, in.metadata, VIEW("author"), VIEW("me"));
	meta_add_string(&mem, in.metadata, VIEW("heads"), VIEW("many"));
	run("{" NUMBERS "}");
	assert_string_equal(field("format"), "-");
	assert_string_equal(field("author"), "me");
	assert_string_equal(field("heads"), "4");
}

/* ---- The memory plan ---- */

static void memory(void **state)
{
	/* globals 512 + 16 + 512; layer: norms 16 16, attention 128 64 64 128, mlp 256 256 256 */
	(void)state;
	small_decoder();
	run("{" NUMBERS "}");
	assert_string_equal(plan_text(), "scratch_bytes=67108864 min_vram_bytes=67110416 recommended_vram_bytes=67111088 "
	                                 "kv_cache=policy=paged recent_tokens_high_precision=256 old_tokens_codec=q4");
	content[2] = content[0]; /* the head is the embedding; gate and up are one */
	content[9] = content[10];
	run("{" NUMBERS "}");
	assert_string_equal(plan_text(), "scratch_bytes=67108864 min_vram_bytes=67109648 recommended_vram_bytes=67110320 "
	                                 "kv_cache=policy=paged recent_tokens_high_precision=256 old_tokens_codec=q4");
	run("{\"hidden_size\":18446744073709551600,\"num_attention_heads\":4,\"num_key_value_heads\":2,\"num_hidden_layers\":1}");
	assert_non_null(strstr(plan_text(), "scratch_bytes=18446744073707454464 "));
}

/* Whatever the checkpoint's own metadata have under the name of a number is not taken for one. */
static void memory_is_planned_by_the_config_alone(void **state)
{
	(void)state;
	add_ends();
	add_norms("model.layers.0.");
	add_attention("model.layers.0.");
	add("model.layers.0.mlp.router.weight", 2, H);
	add("model.layers.0.mlp.experts.gate_up_proj", 2, H); /* of these nobody tells how wide they are */
	add("model.layers.0.mlp.experts.down_proj", 2, H);
	meta_add_string(&mem, in.metadata, VIEW("intermediate_size"), VIEW("wide"));
	run("{" NUMBERS "}");
	assert_string_equal(field("intermediate_size"), "-");
	assert_string_equal(field(CHECKPOINT_KEY "intermediate_size"), "wide");
	assert_non_null(strstr(plan_text(), "scratch_bytes=67108864 "));
}

/* ---- Configs that describe no model ---- */

static void refusals(void **state)
{
	static const struct { const char *config; tn_code code; const char *why; } cases[] = {
		{ "", TN_E_CORRUPT, "config.json: " },
		{ "{", TN_E_CORRUPT, "config.json: " },
		{ "{} x", TN_E_CORRUPT, "config.json: " },
		{ "[]", TN_E_UNSUPPORTED, "config.json holds no object" },
		{ "{}", TN_E_UNSUPPORTED, "how many layers" },
		{ "{\"num_hidden_layers\":4294967296}", TN_E_UNSUPPORTED, "how many layers" },
		{ "{\"num_hidden_layers\":0}", TN_E_UNSUPPORTED, "it has no layer" },
		{ "{\"num_hidden_layers\":1,\"hidden_size\":8}", TN_E_UNSUPPORTED, "how many heads" },
		{ "{\"num_hidden_layers\":1,\"hidden_size\":0,\"num_attention_heads\":1}", TN_E_UNSUPPORTED, "hidden_size 0" },
		{ "{\"num_hidden_layers\":1,\"num_attention_heads\":0}", TN_E_UNSUPPORTED, "0 heads" },
		{ "{\"num_hidden_layers\":1,\"num_attention_heads\":2,\"head_dim\":0}", TN_E_UNSUPPORTED, "head_dim 0" },
		{ "{\"num_hidden_layers\":1,\"num_attention_heads\":3}", TN_E_UNSUPPORTED, "do not divide" },
		{ "{\"num_hidden_layers\":1,\"num_attention_heads\":2,\"num_key_value_heads\":4}", TN_E_UNSUPPORTED, "2 heads with 4" },
		{ "{\"num_hidden_layers\":1,\"num_attention_heads\":2,\"num_key_value_heads\":0}", TN_E_UNSUPPORTED, "2 heads with 0" },
		{ "{" NUMBERS ",\"torch_dtype\":\" \"}", TN_E_UNSUPPORTED, "dtype is empty" },
		{ "{" NUMBERS ",\"architectures\":[\"\"]}", TN_E_UNSUPPORTED, "architecture is empty" },
		{ "{\"hidden_size\":8,\"num_attention_heads\":4,\"num_hidden_layers\":2}", TN_E_UNSUPPORTED,
		  "no tensor 'model.layers.1.input_layernorm.weight'" },
	};
	(void)state;
	small_decoder();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		refuses(cases[i].config, cases[i].code, cases[i].why);
	in.n--; /* no down_proj */
	refuses("{" NUMBERS "}", TN_E_UNSUPPORTED, "layer 0 has no 'mlp.down_proj.weight'");
}

static void no_memory(void **state)
{
	(void)state;
	small_decoder();
	for (uint64_t budget = 0; budget < 64 * 1024; budget += 512) {
		struct arena all = mem;
		arena_init(&mem, budget != 0 ? budget : 1);
		tn_code code = run_as("{" NUMBERS ",\"architectures\":[\"Llama\"],\"quantization_config\":{\"quant_method\":\"q\"}}", NULL, true);
		arena_fini(&mem);
		mem = all;
		if (code == TN_OK)
			return;
		assert_int_equal(code, TN_E_LIMIT);
	}
	fail_msg("never enough");
}

/* ---- What else the checkpoint says ---- */

static void metadata_under_a_name_of_the_manifests_is_kept_aside(void **state)
{
	(void)state;
	static const char *const said[][2] = {
		{ "format", "pt" }, { "layers", "twelve" }, { "arch", "mine" }, { "activation", "a note" }, { "checkpoint.arch", "there already" }, { "note", "kept" },
	};
	small_decoder();
	for (size_t i = 0; i < sizeof said / sizeof *said; i++)
		assert_non_null(meta_add_string(&mem, in.metadata, tn_text(said[i][0]), tn_text(said[i][1])));
	run("{" NUMBERS "}");
	assert_string_equal(field("format"), "-");
	assert_string_equal(field("layers"), "1");
	assert_string_equal(field("checkpoint.layers"), "twelve");
	assert_string_equal(field("arch"), "unknown");
	assert_string_equal(field("checkpoint.checkpoint.arch"), "mine");
	assert_string_equal(field("checkpoint.arch"), "there already");
	assert_string_equal(field("activation"), "-");
	assert_string_equal(field("checkpoint.activation"), "a note");
	assert_string_equal(field("note"), "kept");
	assert_true(says("an archive's 'layers' is what the config says: that of the checkpoint is kept as 'checkpoint.layers'"));
}

static void what_formats_say_of_themselves_is_kept(void **state)
{
	(void)state;
	struct tn_meta *index, *own, *other;
	small_decoder();
	assert_non_null(own = model_native(&mem, &in, "shards"));
	assert_non_null(meta_add_uint(&mem, own, VIEW("align"), 64, 64));
	assert_non_null(index = meta_add_map(&mem, own, VIEW(SHARDS_INDEX)));
	assert_non_null(meta_add_uint(&mem, index, VIEW("total_parameters"), 7, 64));
	assert_non_null(other = model_native(&mem, &in, "gguf"));
	assert_non_null(meta_add_bool(&mem, other, VIEW("big_endian"), true));
	run_format = "shards";
	run("{" NUMBERS "}");
	assert_null(meta_find(out.native, VIEW("shards")));
	assert_non_null(meta_find(meta_find(out.native, VIEW("gguf")), VIEW("big_endian")));

	assert_non_null(meta_add_string(&mem, index, VIEW("note"), VIEW("kept")));
	run("{" NUMBERS "}");
	run_format = NULL;
	own = meta_find(out.native, VIEW("shards"));
	assert_null(meta_find(own, VIEW("align")));
	index = meta_find(own, VIEW(SHARDS_INDEX));
	assert_null(meta_find(index, VIEW("total_parameters")));
	assert_true(view_is(meta_find(index, VIEW("note"))->as.s, "kept"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(smallest_tape), TEST(joined_projections), TEST(windows_and_shared_keys), TEST(linear_layers),
		TEST(joined_experts), TEST(router_alone), TEST(inputs_of_each_layer), TEST(other_libraries),
		TEST(text_of_a_larger_model), TEST(empty_text_config), TEST(layers_of_no_text_config),
		TEST(architectures), TEST(numbers_from_shapes),
		TEST(kinds_of_values), TEST(quantised_tensors), TEST(own_metadata),
		TEST(metadata_under_a_name_of_the_manifests_is_kept_aside), TEST(what_formats_say_of_themselves_is_kept),
		TEST(memory), TEST(memory_is_planned_by_the_config_alone), TEST(refusals), TEST(no_memory),
	};
	return cmocka_run_group_tests_name("thin_hf", tests, NULL, NULL);
}
