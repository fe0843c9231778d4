/* test_apr.c - APR through tenon.h: files from scratch, what is refused, typed fields, stamps. */
#include "support/dump.h"
#include "support/files.h"
#include "support/hextext.h"
#include "support/host.h"

#include "base/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define CORPUS TENON_TEST_DATA "/golden/apr/"

static tn_error err;
#define OK(call) \
	do { \
		if ((call) != TN_OK) \
			fail_msg("%s", err.msg); \
	} while (0)

static tn_writer *new_writer(const tn_write_options *options)
{
	tn_writer *w;
	OK(tn_writer_new(&w, "apr", options, &err));
	return w;
}

static void add(tn_writer *w, const char *name, tn_dtype dtype, uint32_t rank,
                const uint64_t *shape, const void *bytes, size_t n)
{
	tn_source s = { .kind = TN_SOURCE_MEMORY, .memory = { host_to_file(dtype, bytes, n), n } };
	OK(tn_writer_add(w, tn_text(name), dtype, rank, shape, n, &s, &err));
}

/* Saves and frees the writer; the bytes in a malloc. */
static tn_view save(tn_writer *w)
{
	uint64_t size;
	size_t len;
	OK(tn_writer_size(w, &size, &err));
	uint8_t *bytes = malloc((size_t)size);
	assert_non_null(bytes);
	OK(tn_writer_save_memory(w, bytes, (size_t)size, &len, &err));
	tn_writer_free(w);
	return (tn_view){ bytes, len };
}

static tn_file *open_view(tn_view v)
{
	tn_file *f;
	OK(tn_open_memory(&f, v, NULL, &err));
	return f;
}

static void expect_file(tn_view got, const char *name)
{
	char path[256];
	size_t len;
	snprintf(path, sizeof path, CORPUS "%s.hex", name);
	uint8_t *want = hextext_load(path, &len);
	assert_int_equal(got.len, len);
	assert_memory_equal(got.ptr, want, len);
	free(want);
	free((void *)got.ptr);
}

/* ---- Files from scratch, byte for byte those of apr-format ---- */

static void put_model_type(tn_writer *w, const char *type, uint64_t params)
{
	tn_apr a = { .given = TN_APR_GIVEN(TN_APR_MODEL_TYPE), .model_type = tn_text(type) };
	if (params != 0)
		a.given |= TN_APR_GIVEN(TN_APR_PARAM_COUNT);
	a.param_count = params;
	OK(tn_apr_put(w, &a, &err));
}

static void empty(void **state)
{
	(void)state;
	tn_writer *w = new_writer(NULL);
	put_model_type(w, "empty_model", 0);
	expect_file(save(w), "good-0_empty");
	expect_file(save(new_writer(NULL)), "good-32_default_metadata");
}

static void one_tensor(void **state)
{
	(void)state;
	static const float values[] = { 1, -2, 0.5f, 3.25f };
	tn_writer *w = new_writer(NULL);
	put_model_type(w, "demo", 4);
	add(w, "w", TN_F32, 2, (const uint64_t[]){ 2, 2 }, values, sizeof values);
	expect_file(save(w), "good-0_f32_2x2");
}

/* Data in the order of adding: by name that is the in-memory writer's file, else the streaming
 * one's. */
static void the_order_of_data(void **state)
{
	(void)state;
	static const uint16_t h[] = { 0x3c00, 0xc100, 0xdc00 };
	static const uint8_t q[] = { 0, 0, 0x80, 0x3f, 0x7f, 0xc0, 0x01, 0x00 };
	static const uint64_t three[] = { 3 }, square[] = { 2, 2 };
	for (int streamed = 0; streamed < 2; streamed++) {
		tn_writer *w = new_writer(NULL);
		tn_apr a = { .given = TN_APR_GIVEN(TN_APR_NAME), .name = tn_text("two") };
		put_model_type(w, "demo", 7);
		OK(tn_apr_put(w, &a, &err));
		if (streamed)
			add(w, "q", TN_APR_Q8, 2, square, q, sizeof q);
		add(w, "h", TN_F16, 1, three, h, sizeof h);
		if (!streamed)
			add(w, "q", TN_APR_Q8, 2, square, q, sizeof q);
		expect_file(save(w),
		            streamed ? "good-0_f16_and_aprq8_streamed" : "good-0_f16_and_aprq8");
	}
}

static void linear_regression(void **state)
{
	(void)state;
	static const float weights[] = { 1, 2, 0.5f, -0.5f, 4, -2, 0.25f, 8 }, bias[] = { 0.125f };
	tn_writer *w = new_writer(NULL);
	tn_apr a = {
		.given = TN_APR_GIVEN(TN_APR_NAME) | TN_APR_GIVEN(TN_APR_VERSION) |
		         TN_APR_GIVEN(TN_APR_CREATED_AT),
		.name = tn_text("golden-v2"),
		.version = tn_text("0.0.0-golden"),
		.created_at = tn_text("1700000000"),
	};
	put_model_type(w, "linear_regression", 8);
	OK(tn_apr_put(w, &a, &err));
	add(w, "bias", TN_F32, 1, (const uint64_t[]){ 1 }, bias, sizeof bias);
	add(w, "weights", TN_F32, 1, (const uint64_t[]){ 8 }, weights, sizeof weights);
	expect_file(save(w), "good-0_linear_regression");
}

/* ---- Refused where upstream damages ---- */

/* A writer with one u8 tensor of that name, dtype and rank; what becomes of it. */
static tn_code size_with(tn_view name, tn_dtype dtype, uint32_t rank,
                         const tn_write_options *options)
{
	static const uint64_t ones[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	static const uint8_t bytes[16];
	tn_writer *w = new_writer(options);
	uint64_t size, n;
	OK(tn_dtype_bytes(dtype, rank, ones, &n, &err));
	tn_source s = { .kind = TN_SOURCE_MEMORY, .memory = { bytes, (size_t)n } };
	OK(tn_writer_add(w, name, dtype, rank, ones, n, &s, &err));
	tn_code code = tn_writer_size(w, &size, &err);
	tn_writer_free(w);
	return code;
}

static void damage_is_refused(void **state)
{
	(void)state;
	static const tn_write_options carry = { .carry = true };
	char name[257];
	memset(name, 'n', sizeof name);
	tn_view n256 = { (const uint8_t *)name, 256 }, n257 = { (const uint8_t *)name, 257 };
	assert_int_equal(size_with(n256, TN_U8, 8, NULL), TN_OK);
	assert_int_equal(size_with(n257, TN_U8, 8, NULL), TN_E_LOSSY);
	assert_non_null(strstr(err.msg, "a name of 257 bytes, at most 256"));
	assert_int_equal(size_with(n257, TN_U8, 8, &carry), TN_E_LOSSY);
	assert_int_equal(size_with(VIEW("w"), TN_U8, 9, NULL), TN_E_LOSSY);
	assert_non_null(strstr(err.msg, "9 dimensions, at most 8"));
	assert_int_equal(size_with(VIEW("w"), TN_U8, 9, &carry), TN_OK);
	assert_int_equal(size_with(VIEW("a\xff"), TN_U8, 1, NULL), TN_E_LOSSY);
	assert_int_equal(size_with(VIEW("w"), TN_I16, 1, NULL), TN_E_LOSSY);
	assert_non_null(strstr(err.msg, "there is no dtype i16"));
	assert_int_equal(size_with(VIEW("w"), TN_I16, 1, &carry), TN_OK);
	assert_int_equal(size_with(VIEW(""), TN_U8, 0, NULL), TN_OK);
}

static void two_of_a_name(void **state)
{
	(void)state;
	tn_writer *w = new_writer(NULL);
	tn_source s = { .kind = TN_SOURCE_MEMORY, .memory = VIEW("x") };
	OK(tn_writer_add(w, VIEW("a"), TN_U8, 0, NULL, 1, &s, &err));
	assert_int_equal(tn_writer_add(w, VIEW("a"), TN_U8, 0, NULL, 1, &s, &err), TN_E_USAGE);
	tn_writer_free(w);
}

static void too_much_metadata(void **state)
{
	(void)state;
	enum { MOST = 16 << 20 };
	uint8_t *text = malloc(MOST);
	assert_non_null(text);
	memset(text, 'x', MOST);
	tn_writer *w = new_writer(NULL);
	size_t around = strlen(
		"{\"model_type\":\"\",\"license\":null,\"data_source\":null,\"data_license\":null,"
		"\"total_size\":0,\"param_count\":0,\"k\":\"\"}");
	uint64_t size;
	OK(tn_put_string(w, tn_writer_metadata(w), VIEW("k"), (tn_view){ text, MOST - around },
	                 &err));
	OK(tn_writer_size(w, &size, &err));
	OK(tn_put_string(w, tn_writer_metadata(w), VIEW("k"), (tn_view){ text, MOST - around + 1 },
	                 &err));
	assert_int_equal(tn_writer_size(w, &size, &err), TN_E_LIMIT);
	tn_writer_free(w);
	free(text);
}

static void custom_keys_are_sorted(void **state)
{
	(void)state;
	tn_writer *w = new_writer(NULL);
	tn_meta *root = tn_writer_metadata(w);
	OK(tn_put_uint(w, root, VIEW("zeta"), 1, 64, &err));
	OK(tn_put_bool(w, root, VIEW("name "), true, &err));
	OK(tn_put_string(w, root, VIEW("name"), VIEW("n"), &err));
	OK(tn_put_null(w, root, VIEW("alpha"), &err));
	tn_view v = save(w);
	const char *want =
		"{\"model_type\":\"\",\"name\":\"n\",\"license\":null,\"data_source\":null,\"data_"
		"license\":null,"
		"\"total_size\":0,\"param_count\":0,\"alpha\":null,\"name \":true,\"zeta\":1}";
	assert_memory_equal(v.ptr + 64, want, strlen(want));
	free((void *)v.ptr);
}

/* ---- Typed fields ---- */

static tn_apr every_field(void)
{
	tn_apr a = {
		.given = TN_APR_GIVEN(TN_APR_FIELDS) - 1,
		.model_type = tn_text("m"),
		.name = tn_text("n"),
		.description = tn_text("d"),
		.author = tn_text("a"),
		.license = tn_text("MIT"),
		.data_source = tn_text("s"),
		.data_license = tn_text("CC0-1.0"),
		.version = tn_text("1"),
		.source = tn_text("hf://x"),
		.original_format = tn_text("gguf"),
		.created_at = tn_text("now"),
		.total_size = 3,
		.param_count = UINT64_MAX,
		.chat_template = tn_text("{{}}"),
		.chat_format = tn_text("chatml"),
		.architecture = tn_text("llama"),
		.hf_architecture = tn_text("L"),
		.hf_model_type = tn_text("l"),
		.hidden_size = 1,
		.num_layers = 2,
		.num_heads = 3,
		.num_kv_heads = 4,
		.vocab_size = 5,
		.intermediate_size = 6,
		.max_position_embeddings = 7,
		.rope_theta = 10000,
		.rope_type = 2,
		.rms_norm_eps = 1e-5f,
		.head_dim = 8,
		.num_experts = 9,
		.num_experts_per_tok = 10,
		.moe_intermediate_size = 11,
	};
	a.quantization.quant_type = tn_text("int8");
	a.quantization.bits = 8;
	a.quantization.symmetric = a.quantization.has_block_size = true;
	a.quantization.block_size = 32;
	a.sharding.shard_count = 4;
	a.sharding.shard_index = 2;
	a.sharding.pattern = tn_text("m-{}.apr");
	a.special_tokens.bos = tn_text("<s>");
	a.special_tokens.im_end = tn_text("");
	return a;
}

/* Copies the views out of the way, so that two structs can be compared by their texts. */
static char *shown(const tn_apr *a)
{
	char *text = malloc(4000);
	assert_non_null(text);
#define T(v) VIEW_ARG(a->v), a->v.ptr != NULL
	snprintf(text, 4000,
	         "%llx %.*s %.*s%d %.*s%d %.*s%d %.*s%d %.*s%d %llu %llu %.*s %u %d %d %llu %llu "
	         "%llu %.*s%d %.*s%d %.*s%d "
	         "%.*s%d %.*s %llu %llu %a %u %a %llu %llu",
	         (unsigned long long)a->given, VIEW_ARG(a->model_type), T(name), T(license),
	         T(data_source), T(created_at), T(original_format),
	         (unsigned long long)a->total_size, (unsigned long long)a->param_count,
	         VIEW_ARG(a->quantization.quant_type), a->quantization.bits,
	         a->quantization.symmetric, a->quantization.has_block_size,
	         (unsigned long long)a->quantization.block_size,
	         (unsigned long long)a->sharding.shard_count,
	         (unsigned long long)a->sharding.shard_index, T(sharding.pattern),
	         T(special_tokens.bos), T(special_tokens.eos), T(special_tokens.im_end),
	         VIEW_ARG(a->chat_format), (unsigned long long)a->hidden_size,
	         (unsigned long long)a->max_position_embeddings, (double)a->rope_theta,
	         a->rope_type, (double)a->rms_norm_eps, (unsigned long long)a->head_dim,
	         (unsigned long long)a->moe_intermediate_size);
#undef T
	return text;
}

static void fields_come_back(void **state)
{
	(void)state;
	tn_apr in = every_field(), out;
	tn_writer *w = new_writer(NULL);
	OK(tn_apr_put(w, &in, &err));
	tn_view v = save(w);
	tn_file *f = open_view(v);
	tn_apr_read(f, &out);
	char *x = shown(&in), *y = shown(&out);
	assert_string_equal(y, x);
	free(x);
	free(y);
	assert_int_equal(tn_report_count(tn_warnings(f)), 0);
	tn_close(f);
	free((void *)v.ptr);
}

static void absent_fields(void **state)
{
	(void)state;
	tn_view v = save(new_writer(NULL));
	tn_file *f = open_view(v);
	tn_apr out;
	tn_apr_read(f, &out);
	assert_true(out.given == 0);
	assert_null(out.license.ptr);
	assert_int_equal(tn_meta_count(tn_metadata(f)), 0);
	assert_int_equal(tn_apr_flags(f), TN_APR_ROW_MAJOR);
	tn_close(f);
	free((void *)v.ptr);
}

/* A field of a type that it cannot have is hidden from APR's readers, and comes back all the
 * same. */
static void fields_of_other_types(void **state)
{
	(void)state;
	tn_writer *w = new_writer(NULL);
	tn_meta *root = tn_writer_metadata(w), *list;
	OK(tn_put_string(w, root, VIEW("hidden_size"), VIEW("64"), &err));
	OK(tn_put_array(w, root, VIEW("license"), &list, &err));
	OK(tn_put_string(w, root, VIEW("model_type"), VIEW(""), &err));
	OK(tn_put_f64(w, root, VIEW("rope_theta"), 0.5, &err));
	OK(tn_put_uint(w, root, VIEW("vocab_size"), 7, 16, &err));
	uint64_t size;
	OK(tn_writer_size(w, &size, &err));
	assert_int_equal(tn_report_of(tn_writer_report(w), TN_WARNING), 2);
	tn_view v = save(w);
	tn_file *f = open_view(v), *bare;
	tn_open_options container = { .ignore_envelope = true };
	char *text = dump_meta(tn_metadata(f), true);
	assert_string_equal(
	        text,
		"\"hidden_size\" string \"64\"\n\"license\" array\n\"model_type\" string \"\"\n"
		"\"rope_theta\" float64 3fe0000000000000\n\"vocab_size\" uint16 7\n");
	free(text);
	OK(tn_open_memory(&bare, v, &container, &err));
	tn_apr out;
	tn_apr_read(bare, &out);
	assert_true(out.given ==
	            (TN_APR_GIVEN(TN_APR_ROPE_THETA) | TN_APR_GIVEN(TN_APR_VOCAB_SIZE)));
	tn_close(bare);
	tn_close(f);
	free((void *)v.ptr);
}

static void flags(void **state)
{
	(void)state;
	tn_writer *w = new_writer(NULL);
	OK(tn_apr_set_flags(w, TN_APR_HAS_VOCAB | TN_APR_STREAMING | 0x8000, &err));
	assert_int_equal(tn_apr_set_flags(w, TN_APR_COLUMN_MAJOR, &err), TN_E_USAGE);
	assert_int_equal(tn_apr_set_flags(w, TN_APR_ENCRYPTED, &err), TN_E_USAGE);
	assert_int_equal(tn_apr_set_flags(w, TN_APR_LZ4, &err), TN_E_USAGE);
	tn_view v = save(w);
	assert_int_equal(v.ptr[6] | v.ptr[7] << 8, 0x8700);
	tn_file *f = open_view(v);
	assert_int_equal(tn_apr_flags(f), 0x8700);
	tn_close(f);
	free((void *)v.ptr);
}

/* ---- Stamps ---- */

static tn_view stamped(tn_view v, const tn_apr_stamp *stamp)
{
	char *folder = tempdir_new(), *path = files_join(folder, "out.apr"),
	     *in = files_join(folder, "in.apr");
	tn_write_options quick = { .no_sync = true };
	tn_converted done;
	tn_file *f;
	files_store(in, v);
	OK(tn_open(&f, in, NULL, &err));
	OK(tn_apr_stamp_file(f, path, stamp, &quick, &done, &err));
	tn_close(f);
	tn_view out = files_load(path);
	assert_int_equal(done.size, out.len);
	tn_report_free(done.report);
	tempdir_remove(folder);
	free(path);
	free(in);
	return out;
}

static tn_view golden(const char *name)
{
	char path[256];
	tn_view v;
	snprintf(path, sizeof path, CORPUS "%s.hex", name);
	v.ptr = hextext_load(path, &v.len);
	return v;
}

static const tn_apr_stamp teacher = {
        .license = "Apache-2.0",
        .data_source = "teacher-only",
        .data_license = "",
        .hf_architecture = "Qwen2ForCausalLM",
        .hf_model_type = "qwen2",
        .architecture = "qwen2",
};

/* Streamed data is put in order, as upstream's stamp puts it; a second stamp of the same finds
 * it so. */
static void as_upstream_stamps(void **state)
{
	(void)state;
	tn_view before = golden("good-18_stamp_before"), after = stamped(before, &teacher),
	        again = stamped(after, &teacher);
	assert_int_equal(again.len, after.len);
	assert_memory_equal(again.ptr, after.ptr, after.len);
	free((void *)again.ptr);
	free((void *)before.ptr);
	expect_file(after, "good-18_stamp_after");
}

static bool is_sound(tn_view v)
{
	tn_file *f = open_view(v);
	tn_report *report;
	tn_verify_options deep = { .deep = true };
	OK(tn_verify(f, &deep, &report, &err));
	bool sound = tn_report_of(report, TN_ERROR) == 0;
	tn_report_free(report);
	tn_close(f);
	return sound;
}

/* The data is not read, so a footer that was wrong stays wrong, and one that was right is right. */
static void the_footer_follows(void **state)
{
	(void)state;
	tn_view v = golden("good-04_tensors_300"), out = stamped(v, &teacher);
	assert_true(is_sound(out));
	free((void *)out.ptr);
	((uint8_t *)(uintptr_t)v.ptr)[v.len - 1000] ^= 1; /* in the data */
	out = stamped(v, &teacher);
	assert_false(is_sound(out));
	free((void *)out.ptr);
	free((void *)v.ptr);
	v = golden("good-no_footer");
	out = stamped(v, &teacher);
	assert_true(is_sound(out));
	assert_int_equal(out.len % 64, 4);
	free((void *)out.ptr);
	free((void *)v.ptr);
}

static void header_of_a_stamped_file(void **state)
{
	(void)state;
	tn_view v = golden("good-foreign_header"), words[] = { VIEW("<s>"), VIEW("b") };
	tn_apr_stamp vocabulary = {
		.vocabulary = words, .n_vocabulary = 2, .merges = words, .n_merges = 0 };
	tn_view out = stamped(v, &vocabulary);
	assert_int_equal(out.ptr[4] << 8 | out.ptr[5], 0x0200);
	assert_int_equal(out.ptr[6] | out.ptr[7] << 8,
	                 (v.ptr[6] | v.ptr[7] << 8) | TN_APR_HAS_VOCAB);
	assert_memory_equal(out.ptr + 44, v.ptr + 44, 20);
	tn_file *f = open_view(out);
	const tn_meta *list = tn_meta_find(tn_metadata(f), VIEW("tokenizer.vocabulary"));
	assert_int_equal(tn_meta_count(list), 2);
	assert_null(tn_meta_find(tn_metadata(f), VIEW("tokenizer.merges")));
	tn_close(f);
	free((void *)out.ptr);
	free((void *)v.ptr);
	v = golden("good-explicit_nulls"); /* nulls that say nothing go, as with upstream */
	tn_apr_stamp mit = { .license = "MIT" };
	out = stamped(v, &mit);
	assert_int_equal(out.len, 516);
	free((void *)out.ptr);
	free((void *)v.ptr);
}

static void stamps_that_are_none(void **state)
{
	(void)state;
	static const tn_apr_stamp nothing, bad = { .license = "Apache 2" },
	                                   worse = { .data_license = "MIT OR" };
	tn_view v = golden("good-ok");
	tn_file *f = open_view(v);
	assert_int_equal(tn_apr_stamp_file(f, "never.apr", &nothing, NULL, NULL, &err), TN_E_USAGE);
	assert_int_equal(tn_apr_stamp_file(f, "never.apr", &bad, NULL, NULL, &err), TN_E_USAGE);
	assert_int_equal(tn_apr_stamp_file(f, "never.apr", &worse, NULL, NULL, &err), TN_E_USAGE);
	assert_int_equal(tn_apr_stamp_file(f, NULL, &teacher, NULL, NULL, &err), TN_E_USAGE);
	assert_false(files_exist("never.apr"));
	OK(tn_spdx_check("MIT", &err));
	tn_close(f);
	free((void *)v.ptr);
}

/* ---- Compression ---- */

static void compressed(void **state)
{
	(void)state;
	enum { N = 100000 };
	static uint16_t values[N], part[1000];
	for (size_t i = 0; i < N; i++)
		values[i] = (uint16_t)(0x3c00 | i * 2654435761u >> 24);
	for (int c = TN_COMPRESS_LZ4; c <= TN_COMPRESS_ZSTD; c++) {
		tn_write_options how = { .compress = (tn_compress)c };
		tn_writer *w = new_writer(&how);
		add(w, "w", TN_BF16, 2, (const uint64_t[]){ 1000, 100 }, values, sizeof values);
		tn_view v = save(w), in_place;
		assert_true(v.len < sizeof values);
		tn_file *f = open_view(v);
		OK(tn_read(f, 0, 131000, part, sizeof part, &err));
		assert_memory_equal(part, (const uint8_t *)values + 131000, sizeof part);
		assert_int_equal(tn_bytes(f, 0, &in_place, &err), TN_E_UNSUPPORTED);
		assert_int_equal(tn_tensor_at(f, 0).nbytes, sizeof values);
		assert_true(tn_tensor_at(f, 0).stored < sizeof values);
		assert_int_equal(tn_apr_flags(f), TN_APR_ROW_MAJOR);
		assert_null(tn_meta_find(tn_metadata(f), VIEW("tenon.compression")));
		assert_true(is_sound(v));
		tn_close(f);
		free((void *)v.ptr);
	}
}

static tn_code give_zeros(void *ctx, tn_emit *emit, tn_error *why)
{
	static const uint8_t zeros[1000];
	(void)why;
	++*(int *)ctx;
	for (int i = 0; i < 100; i++)
		tn_emit_bytes(emit, zeros, sizeof zeros);
	return TN_OK;
}

/* Without a temporary file: not over a file that is read, and else as with one. */
static void stamps_in_place(void **state)
{
	(void)state;
	static const char *const names[] = { "good-04_tensors_300", "good-no_footer" };
	for (int i = 0; i < 2; i++) {
		char *folder = tempdir_new(), *in = files_join(folder, "in.apr"), *out = files_join(folder, "out.apr");
		tn_view before = golden(names[i]), want = stamped(before, &teacher);
		tn_write_options how = { .in_place = true, .no_sync = true };
		tn_file *f;
		files_store(in, before);
		OK(tn_open(&f, in, NULL, &err));
		assert_int_equal(tn_apr_stamp_file(f, in, &teacher, &how, NULL, &err), TN_E_USAGE);
		assert_true(files_equal(in, before));
		OK(tn_apr_stamp_file(f, out, &teacher, &how, NULL, &err));
		assert_true(files_equal(out, want));
		tn_close(f);
		tempdir_remove(folder);
		free(in), free(out);
		free((void *)before.ptr);
		free((void *)want.ptr);
	}
}

/* A file that was decompressed into memory is an input like any other. */
static void images_are_inputs(void **state)
{
	(void)state;
	char *folder = tempdir_new(), *path = files_join(folder, "image.apr");
	tn_view before = golden("good-image_zstd");
	tn_convert_options convert = { .format = "gguf", .write = { .in_place = true, .allow_loss = true } };
	tn_file *f;
	tn_writer *w;
	files_store(path, before);
	OK(tn_open(&f, path, NULL, &err));
	assert_int_equal(tn_convert(f, path, &convert, NULL, &err), TN_E_USAGE);
	assert_int_equal(tn_apr_stamp_file(f, path, &teacher, &convert.write, NULL, &err), TN_E_USAGE);
	w = new_writer(&convert.write);
	tn_tensor t = tn_tensor_at(f, 0);
	tn_source s = { .kind = TN_SOURCE_TENSOR, .file = f, .tensor = 0 };
	OK(tn_writer_add(w, t.name, t.dtype, t.rank, t.shape, t.nbytes, &s, &err));
	assert_int_equal(tn_writer_save(w, path, &err), TN_E_USAGE);
	assert_true(files_equal(path, before));
	tn_writer_free(w);
	tn_close(f);
	tempdir_remove(folder);
	free(path);
	free((void *)before.ptr);
}

/* A callback is called once, whatever becomes of its bytes. */
static void deferred_tensors_stay_as_they_are(void **state)
{
	(void)state;
	tn_write_options how = { .compress = TN_COMPRESS_LZ4 };
	tn_writer *w = new_writer(&how);
	int calls = 0;
	tn_source s = { .kind = TN_SOURCE_CALLBACK, .produce = give_zeros, .ctx = &calls };
	const uint64_t shape[] = { 100000 };
	OK(tn_writer_add(w, VIEW("z"), TN_U8, 1, shape, 100000, &s, &err));
	tn_view v = save(w);
	assert_int_equal(calls, 1);
	assert_true(v.len > 100000);
	free((void *)v.ptr);
}

/* A file that is compressed as a whole is decoded within the budget or not at all. */
static void within_the_limit(const char *path, uint64_t step)
{
	size_t len, fits = 0, over = 0;
	uint8_t *bytes = hextext_load(path, &len);
	assert_non_null(bytes);
	for (unsigned i = 1; i < 100; i++) {
		tn_open_options how = { .limits.max_memory = i * step };
		tn_file *f;
		if (tn_open_memory(&f, (tn_view){ bytes, len }, &how, &err) == TN_OK) {
			fits++;
			tn_close(f);
			continue;
		}
		assert_int_equal(err.code, TN_E_LIMIT);
		over += strstr(err.msg, "decompressed") != NULL;
	}
	assert_true(fits > 0);
	assert_true(over > 0);
	free(bytes);
}

static void decompression_has_a_limit(void **state)
{
	(void)state;
	within_the_limit(CORPUS "good-image_lz4.hex", 64);
	within_the_limit(CORPUS "good-image_zstd.hex", 8192);
}

/* Kept as bytes, only the envelope knows the type, and cannot name the tensor. */
static void types_under_odd_names(void **state)
{
	(void)state;
	tn_view v = golden("finding-name_no_utf8_q8_0");
	tn_convert_options how = { .format = "apr", .dry_run = true, .write.carry = true };
	tn_file *f = open_view(v);
	assert_int_equal(tn_convert(f, "x", &how, NULL, &err), TN_E_LOSSY);
	assert_non_null(strstr(err.msg, "the dtype q8_0 of this tensor has no place"));
	how.format = "gguf"; /* which has the type */
	assert_int_equal(tn_convert(f, "x", &how, NULL, &err), TN_OK);
	tn_close(f);
	free((void *)v.ptr);
}

/* Or upstream would take the index for one that is out of order. */
static void odd_names_keep_their_place(void **state)
{
	(void)state;
	tn_view v = golden("finding-name_no_utf8_order");
	tn_file *f = open_view(v);
	tn_writer *w;
	OK(tn_writer_of(&w, f, NULL, &err));
	expect_file(save(w), "finding-name_no_utf8_order");
	tn_close(f);
	free((void *)v.ptr);
}

/* Other formats hold such rows as bytes. */
static void padded_rows_come_back(void **state)
{
	(void)state;
	static const char *const others[] = { "gguf", "safetensors", "burnpack", "thin" };
	tn_view v = golden("good-q4k_padded_rows");
	tn_file *f = open_view(v), *there;
	tn_digest x, y;
	char *folder = tempdir_new(), *path = files_join(folder, "there");
	OK(tn_hash(f, NULL, NULL, &x, &err));
	for (int i = 0; i < 4; i++) {
		tn_convert_options how = { .format = others[i], .dry_run = true, .write = { .no_sync = true, .exact_path = true } };
		assert_int_equal(tn_convert(f, path, &how, NULL, &err), TN_E_LOSSY);
		assert_non_null(strstr(err.msg, "--carry keeps its bytes"));
		how.write.carry = true;
		how.dry_run = false;
		OK(tn_convert(f, path, &how, NULL, &err));
		OK(tn_open(&there, path, NULL, &err));
		assert_string_equal(tn_file_format(there), others[i]);
		OK(tn_hash(there, NULL, NULL, &y, &err));
		assert_memory_equal(&x, &y, sizeof x);
		tn_close(there);
	}
	tn_close(f);
	free(path);
	free((void *)v.ptr);
	tempdir_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty),
		cmocka_unit_test(one_tensor),
		cmocka_unit_test(the_order_of_data),
		cmocka_unit_test(linear_regression),
		cmocka_unit_test(damage_is_refused),
		cmocka_unit_test(two_of_a_name),
		cmocka_unit_test(too_much_metadata),
		cmocka_unit_test(custom_keys_are_sorted),
		cmocka_unit_test(fields_come_back),
		cmocka_unit_test(absent_fields),
		cmocka_unit_test(fields_of_other_types),
		cmocka_unit_test(flags),
		cmocka_unit_test(as_upstream_stamps),
		cmocka_unit_test(the_footer_follows),
		cmocka_unit_test(header_of_a_stamped_file),
		cmocka_unit_test(stamps_that_are_none),
		cmocka_unit_test(stamps_in_place),
		cmocka_unit_test(images_are_inputs),
		cmocka_unit_test(compressed),
		cmocka_unit_test(deferred_tensors_stay_as_they_are),
		cmocka_unit_test(decompression_has_a_limit),
		cmocka_unit_test(types_under_odd_names),
		cmocka_unit_test(odd_names_keep_their_place),
		cmocka_unit_test(padded_rows_come_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
