/* test_thin_hf_pages.c - what the names of tensors say of their pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "format/thin/hf.h"

#include <cmocka.h>

#define L "model.layers.3."

static const struct {
	const char *name, *op;
} roles[] = {
	{ "model.embed_tokens.weight", "embed_tokens" },
	{ "model.norm.weight", "final_norm" },
	{ "model.norm.bias", "unknown" },
	{ "lm_head.weight", "lm_head" },
	{ "lm_head.bias", "unknown" },
	{ L "input_layernorm.weight", "input_layernorm" },
	{ L "input_layernorm.bias", "input_layernorm" },
	{ L "ln_1.weight", "input_layernorm" },
	{ L "self_attn.qkv_proj.weight", "attn_qkv_proj" },
	{ L "attn.c_attn.weight", "attn_qkv_proj" },
	{ L "self_attn.q_proj.weight", "attn_q_proj" },
	{ L "self_attn.k_proj.qweight", "attn_k_proj" },
	{ L "self_attn.v_proj.bias", "attn_v_proj" },
	{ L "self_attn.o_proj.g_idx", "attn_o_proj" },
	{ L "attn.c_proj.weight", "attn_o_proj" },
	{ L "self_attn.q_norm.weight", "attn_q_norm" },
	{ L "self_attn.k_norm.weight", "attn_k_norm" },
	{ L "self_attn.k_norm.bias", "unknown" },
	{ L "post_attention_layernorm.weight", "post_attention_layernorm" },
	{ L "ln_2.bias", "post_attention_layernorm" },
	{ L "pre_feedforward_layernorm.weight", "pre_feedforward_layernorm" },
	{ L "post_feedforward_layernorm.weight", "post_feedforward_layernorm" },
	{ "model.embed_tokens_per_layer.weight", "per_layer_token_embeddings" },
	{ "model.per_layer_model_projection.weight", "per_layer_model_projection" },
	{ "model.per_layer_projection_norm.weight", "per_layer_projection_norm" },
	{ L "per_layer_input_gate.weight", "per_layer_input_gate" },
	{ L "per_layer_projection.weight", "per_layer_projection" },
	{ L "post_per_layer_input_norm.weight", "post_per_layer_input_norm" },
	{ L "layer_scalar", "layer_scalar" },
	{ L "linear_attn.in_proj_qkv.weight", "linear_attn_input_projection" },
	{ L "linear_attn.conv1d.weight", "linear_attn_depthwise_conv" },
	{ L "linear_attn.A_log", "linear_attn_recurrence_parameters" },
	{ L "linear_attn.dt_bias", "linear_attn_recurrence_parameters" },
	{ L "linear_attn.norm.weight", "linear_attn_gated_norm" },
	{ L "linear_attn.out_proj.weight", "linear_attn_output_projection" },
	{ L "self_attn.sinks", "attention_sinks" },
	{ L "mlp.router.weight", "moe_router" },
	{ L "block_sparse_moe.gate.weight", "moe_router" },
	{ L "mlp.gate.weight", "unknown" },
	{ L "mlp.experts.gate_up_proj_blocks", "moe_gate_up" },
	{ L "block_sparse_moe.experts.0.w1.weight", "moe_gate_up" },
	{ L "block_sparse_moe.experts.0.w3.weight", "moe_gate_up" },
	{ L "block_sparse_moe.experts.0.w2.weight", "moe_down" },
	{ L "mlp.experts.down_proj", "moe_down" },
	{ L "mlp.experts.0.gate_proj.weight", "unknown" },
	{ L "mlp.gate_up_proj.weight", "mlp_gate_up_proj" },
	{ L "mlp.gate_proj.weight", "mlp_gate_proj" },
	{ L "mlp.up_proj.weight", "mlp_up_proj" },
	{ L "mlp.down_proj.weight_scale", "mlp_down_proj" },
	{ "self_attn.rotary_emb.inv_freq", "unknown" },
	{ "", "unknown" },
};

static void ops(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
		assert_string_equal(hf_op(tn_text(roles[i].name)), roles[i].op);
}

static void kinds(void **state)
{
	(void)state;
	assert_string_equal(hf_kind(VIEW("model.embed_tokens.weight")), "embedding");
	assert_string_equal(hf_kind(VIEW("lm_head.weight")), "lm_head");
	assert_string_equal(hf_kind(VIEW("lm_head.weight.x")), "weight");
	assert_string_equal(hf_kind(VIEW(L "mlp.up_proj.weight")), "weight");
}

static void layouts(void **state)
{
	(void)state;
	assert_string_equal(hf_layout(VIEW(L "mlp.experts.down_proj_blocks")), "mxfp4_group32_packed");
	assert_string_equal(hf_layout(VIEW(L "mlp.experts.down_proj_scales")), "mxfp8_e8m0_scales");
	assert_string_equal(hf_layout(VIEW(L "mlp.experts.down_proj_bias")), "expert_major_contiguous");
	assert_string_equal(hf_layout(VIEW(L "block_sparse_moe.experts.0.w1.weight")), "expert_major_contiguous");
	assert_string_equal(hf_layout(VIEW(L "mlp.up_proj.scales")), "row_major_contiguous");
}

static void layers(void **state)
{
	static const struct {
		const char *name;
		bool        has;
		uint64_t    layer;
	} cases[] = {
		{ "model.layers.0.x", true, 0 },          { "model.layers.17.x", true, 17 },
		{ "model.layers.007.x", true, 7 },        { "model.layers.+7.x", true, 7 },
		{ "model.layers.4294967295.x", true, UINT32_MAX }, { "model.layers.4294967296.x", false, 0 },
		{ "model.layers.99999999999999999999.x", false, 0 }, { "model.layers.-1.x", false, 0 },
		{ "model.layers..x", false, 0 },          { "model.layers.+.x", false, 0 },
		{ "model.layers.7", false, 0 },           { "model.layers.7a.x", false, 0 },
		{ "model.layers.", false, 0 },            { "a.model.layers.7.x", false, 0 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t layer = 99;
		assert_int_equal(hf_layer(tn_text(cases[i].name), &layer), cases[i].has);
		assert_int_equal(layer, cases[i].has ? cases[i].layer : 99);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ops),
		cmocka_unit_test(kinds),
		cmocka_unit_test(layouts),
		cmocka_unit_test(layers),
	};
	return cmocka_run_group_tests_name("thin_hf_pages", tests, NULL, NULL);
}
