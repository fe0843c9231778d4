/* crowds.c - checkpoints in which there is very much of everything: names are found by hash, also those that are asked for
 * again for each tensor. Found by a walk, they would take minutes; a process that works longer than the hostile files of
 * the zoo may (zoo.c) is ended. */
#include "limits/put.h"
#include "support/api_kit.h"
#include "support/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <cmocka.h>

enum { HANG = 20 /* seconds of a processor */, KEYS = 300000, LAYERS = 4000, TENSORS_OF_LAYER = 9 };

/* ---- The weights: bytes of zero, one for all tensors ---- */

static void tensor(struct buf *b, const char *name, unsigned *n)
{
	buf_printf(b, "%s\"%s\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%u,%u]}", b->len > 8 + 1 ? "," : "", name, *n, *n + 1);
	++*n;
}

static void layer(struct buf *b, unsigned i, unsigned *n)
{
	static const char *const names[TENSORS_OF_LAYER] = {
		"input_layernorm.weight", "self_attn.q_proj.qweight", "self_attn.k_proj.qweight", "self_attn.v_proj.qweight",
		"self_attn.o_proj.qweight", "post_attention_layernorm.weight", "mlp.gate_proj.qweight", "mlp.up_proj.qweight",
		"mlp.down_proj.qweight",
	};
	for (size_t k = 0; k < TENSORS_OF_LAYER; k++) {
		char name[80];
		snprintf(name, sizeof name, "model.layers.%u.%s", i, names[k]);
		tensor(b, name, n);
	}
}

static void put_weights(struct buf *b, unsigned layers, unsigned keys)
{
	unsigned n = 0;
	buf_u64(b, 0);
	buf_text(b, "{");
	tensor(b, "model.embed_tokens.weight", &n);
	for (unsigned i = 0; i < layers; i++)
		layer(b, i, &n);
	buf_text(b, ",\"__metadata__\":{\"format\":\"pt\"");
	for (unsigned i = 0; i < keys; i++)
		buf_printf(b, ",\"%x\":\"\"", i);
	buf_text(b, "}}");
	put_le64(b->ptr, b->len - 8);
	buf_fill(b, 0, n);
}

/* ---- The config ---- */

static void put_members(struct buf *b, unsigned keys)
{
	for (unsigned i = 0; i < keys; i++)
		buf_printf(b, "\"%x\":0,", i);
}

static void put_config(struct buf *b, unsigned layers, unsigned keys)
{
	buf_text(b, "{");
	put_members(b, keys);
	buf_text(b, "\"quantization_config\":{");
	put_members(b, keys);
	buf_printf(b, "\"bits\":4,\"quant_method\":\"gptq\"},\"model_type\":\"llama\",\"architectures\":[\"LlamaForCausalLM\"],"
	           "\"num_hidden_layers\":%u,\"hidden_size\":1,\"num_attention_heads\":1,\"vocab_size\":1,"
	           "\"intermediate_size\":1,\"rms_norm_eps\":1e-5}", layers);
}

/* ---- Both ---- */

static void convert(unsigned layers, unsigned keys, unsigned members)
{
	const tn_convert_options how = { .format = "thin", .dry_run = true, .no_tokenizer = true };
	tn_converted done = { 0 };
	tn_file *f;
	struct buf weights, config;
	buf_init(&weights, 0);
	buf_init(&config, 0);
	put_weights(&weights, layers, keys);
	put_config(&config, layers, members);
	assert_false(weights.failed || config.failed);
	files_store("model.safetensors", buf_bytes(&weights));
	files_store("config.json", buf_bytes(&config));
	buf_fini(&weights);
	buf_fini(&config);

	assert_int_equal(tn_open(&f, "model.safetensors", NULL, NULL), TN_OK);
	assert_int_equal(tn_meta_count(tn_metadata(f)), 1 + keys);
	assert_int_equal(tn_convert(f, "model.thin", &how, &done, NULL), TN_OK);
	assert_int_equal(done.tensors, 1 + layers * TENSORS_OF_LAYER);
	tn_report_free(done.report);
	tn_close(f);
}

static void many_keys_of_the_metadata(void **state)
{
	(void)state;
	convert(1, KEYS, 0);
}

static void many_members_of_the_config_for_many_layers(void **state)
{
	(void)state;
	convert(LAYERS, 0, KEYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(many_keys_of_the_metadata, tempdir_enter, tempdir_leave),
		cmocka_unit_test_setup_teardown(many_members_of_the_config_for_many_layers, tempdir_enter, tempdir_leave),
	};
	const struct rlimit cap = { HANG, HANG + 1 };
	setrlimit(RLIMIT_CPU, &cap);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
