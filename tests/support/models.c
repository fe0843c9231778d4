/* models.c - models that are hard on formats: every dtype, scalars, empty tensors, odd names,
 * metadata of every kind, extras. */
#include "support/models.h"

#include "base/bytes.h"
#include "base/view.h"

#include <stdio.h>
#include <stdlib.h>

/* Bytes for any tensor here: never all zero, and different at each offset. */
enum { POOL = 1 << 16 };
static uint8_t pool[POOL];

static _Noreturn void give_up(const char *what, const char *why)
{
	fprintf(stderr, "test set-up: %s: %s\n", what, why);
	exit(99);
}

#define MUST(call) \
	do { \
		tn_error err_; \
		if ((call) != TN_OK) \
			give_up(#call, err_.msg); \
	} while (0)

static tn_source from_pool(uint64_t nbytes, uint64_t seed)
{
	if (pool[1] == 0)
		for (uint32_t i = 0, x = 1; i < POOL; i++, x = x * 1664525 + 1013904223)
			pool[i] = (uint8_t)(x >> 24);
	size_t at = (size_t)(seed % 1000) * 8;
	if (nbytes > POOL - at)
		give_up("a test's tensor", "larger than the pool");
	return (tn_source){ .kind = TN_SOURCE_MEMORY, .memory = { pool + at, (size_t)nbytes } };
}

static bool is_bool(tn_dtype d)
{
	return d == TN_BOOL || d == TN_BOOL_U8 || d == TN_BOOL_U32;
}

/* Bools must be 0 or 1, or the file would rightly be complained about. */
static const uint8_t one_zero[16] = { 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0 };

static void add(tn_writer *w, tn_view name, tn_dtype dtype, uint32_t rank, const uint64_t *shape)
{
	uint64_t nbytes, seed = name.len;
	for (size_t i = 0; i < name.len; i++)
		seed = seed * 31 + name.ptr[i];
	MUST(tn_dtype_bytes(dtype, rank, shape, &nbytes, &err_));
	tn_source source = from_pool(nbytes, seed);
	if (is_bool(dtype) && nbytes > sizeof one_zero)
		give_up("a test's bools", "too many");
	if (is_bool(dtype))
		source.memory.ptr = one_zero;
	MUST(tn_writer_add(w, name, dtype, rank, shape, nbytes, &source, &err_));
}

static void add_text(tn_writer *w, const char *name, tn_dtype dtype, uint32_t rank,
                     const uint64_t *shape)
{
	add(w, tn_text(name), dtype, rank, shape);
}

/* ---- Tensors ---- */

static void fill_nothing(tn_writer *w)
{
	(void)w;
}

/* Every dtype whose size follows from its shape; the names run against the dtypes' order. */
static void fill_dtypes(tn_writer *w)
{
	const uint64_t block[] = { 2, 256 }, few[] = { 2, 2 };
	for (int d = TN_OPAQUE + 1; d < TN_DTYPES; d++) {
		uint64_t nbytes;
		bool bools = is_bool((tn_dtype)d);
		if (tn_dtype_bytes((tn_dtype)d, 2, bools ? few : block, &nbytes, NULL) != TN_OK)
			continue;
		char name[64];
		snprintf(name, sizeof name, "%03d.%s", 200 - d, tn_dtype_name((tn_dtype)d));
		add_text(w, name, (tn_dtype)d, 2, bools ? few : block);
	}
}

static void fill_shapes(tn_writer *w)
{
	static const uint64_t ones[16] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	static const uint64_t zero[] = { 0 }, inner[] = { 3, 0, 2 }, outer[] = { 0, 7 };
	static const uint64_t huge[] = { 0, UINT64_MAX, 2 };
	static const uint64_t line[] = { 5 }, cube[] = { 2, 3, 4 };
	add_text(w, "z.empty", TN_F32, 1, zero);
	add_text(w, "scalar", TN_F32, 0, NULL);
	add_text(w, "a.empty", TN_U8, 3, inner);
	add_text(w, "scalar.byte", TN_I8, 0, NULL);
	add_text(w, "m.empty", TN_F64, 2, outer);
	add_text(w, "huge.empty", TN_F32, 3, huge);
	add_text(w, "line", TN_U8, 1, line);
	add_text(w, "rank16", TN_BF16, 16, ones);
	add_text(w, "cube", TN_I64, 3, cube);
	add_text(w, "last.empty", TN_BOOL, 1, zero);
}

/* Types that another stands in for, in shapes that a format may lack as well. */
static void fill_carriers(tn_writer *w)
{
	static const uint64_t shape[] = { 1, 1, 2, 1, 2, 1, 1, 1, 1 };
	static const tn_dtype types[] = { TN_FLEX32, TN_BOOL, TN_BOOL_U8, TN_BOOL_U32 };
	static const uint32_t ranks[] = { 0, 5, 9 };
	char name[64];
	for (size_t d = 0; d < sizeof types / sizeof *types; d++) {
		for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++) {
			snprintf(name, sizeof name, "%s.%u", tn_dtype_name(types[d]), ranks[r]);
			add_text(w, name, types[d], ranks[r], shape);
		}
	}
}

static void fill_names(tn_writer *w)
{
	static const char *const names[] = {
		"b", "a", "a.b", "a/b", "a\\b", "a b", " ", ".", "..", "\"", "'", "a10", "a9", "A",
		"~", "\x7f", "tab\t", "line\n", "\x01\x1f", "\xc3\xa9", "e\xcc\x81", "\xe2\x80\xa8",
		"\xe6\xa8\xa1\xe5\x9e\x8b", "\xf0\x9f\xa6\x99", "\xef\xbf\xbf", "\xef\xbb\xbf",
		"__metadata_", "metadata", "tensors", "tenon.meta", "{}", "null", "0"
	};
	const uint64_t shape[] = { 3 };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		add_text(w, names[i], i % 3 == 0 ? TN_F32 : i % 3 == 1 ? TN_U8 : TN_F64, 1, shape);
}

static void fill_long_name(tn_writer *w)
{
	static char longest[5000];
	const uint64_t shape[] = { 3 };
	memset(longest, 'n', sizeof longest);
	add_text(w, "short", TN_F32, 1, shape);
	add(w, (tn_view){ (const uint8_t *)longest, sizeof longest }, TN_U8, 1, shape);
}

/* ---- Extras ---- */

static void put_scheme(tn_writer *w, tn_meta *extras, bool blocks)
{
	tn_meta *q, *block, *size;
	MUST(tn_put_map(w, extras, tn_text("qfloat"), &q, &err_));
	MUST(tn_put_string(w, q, tn_text("value"), tn_text("Q8S"), &err_));
	MUST(tn_put_string(w, q, tn_text("store"), tn_text("Native"), &err_));
	MUST(tn_put_string(w, q, tn_text("mode"), tn_text("Symmetric"), &err_));
	if (!blocks) {
		MUST(tn_put_null(w, q, tn_text("tensor"), &err_));
		MUST(tn_put_null(w, q, tn_text("block"), &err_));
		return;
	}
	MUST(tn_put_string(w, q, tn_text("tensor"), tn_text("F32"), &err_));
	MUST(tn_put_map(w, q, tn_text("block"), &block, &err_));
	MUST(tn_put_array(w, block, tn_text("size"), &size, &err_));
	MUST(tn_put_uint(w, size, tn_text(""), 4, 8, &err_));
	MUST(tn_put_string(w, block, tn_text("dtype"), tn_text("UE4M3"), &err_));
}

/* Comes first in a model: extras are found by the index of their tensor. */
static void fill_extras(tn_writer *w)
{
	static const uint64_t ids[] = { 0, 23, 24, 256, 65536, UINT64_MAX };
	const uint64_t shape[] = { 8 };
	char name[16];
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		snprintf(name, sizeof name, "p%zu", i);
		add_text(w, name, TN_F32, 1, shape);
		MUST(tn_put_uint(w, tn_writer_extras(w, i), tn_text("param_id"), ids[i], 64,
		                 &err_));
	}
	tn_source plain = from_pool(8 + 4, 1), blocks = from_pool(8 + 2 + 4, 2);
	MUST(tn_writer_add(w, tn_text("q"), TN_QFLOAT, 1, shape, 12, &plain, &err_));
	MUST(tn_put_uint(w, tn_writer_extras(w, 6), tn_text("param_id"), 7, 64, &err_));
	put_scheme(w, tn_writer_extras(w, 6), false);
	MUST(tn_writer_add(w, tn_text("a.q"), TN_QFLOAT, 1, shape, 14, &blocks, &err_));
	put_scheme(w, tn_writer_extras(w, 7), true);
}

/* ---- Metadata ---- */

static void fill_strings(tn_writer *w)
{
	static const char *const pairs[][2] = {
		{ "producer", "tenon's tests" },
		{ "format", "pt" },
		{ "a", "1" },
		{ "", "empty key" },
		{ "empty", "" },
		{ "json", "{\"a\":[1,2]}" },
		{ "quote\"\\", "\"\\\b\f\n\r\t\x01\x7f" },
		{ "\xd0\xba\xd0\xbb\xd1\x8e\xd1\x87",
		  "\xe6\xa8\xa1\xe5\x9e\x8b \xf0\x9f\xa6\x99 \xe2\x80\xa8" },
		{ "Z", "true" }
	};
	const uint64_t shape[] = { 2 };
	add_text(w, "t", TN_F32, 1, shape);
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		MUST(tn_put_string(w, tn_writer_metadata(w), tn_text(pairs[i][0]),
		                   tn_text(pairs[i][1]), &err_));
	MUST(tn_put_string(w, tn_writer_metadata(w), VIEW("nul"), VIEW("a\0b"), &err_));
	MUST(tn_put_string(w, tn_writer_metadata(w), VIEW("key\0nul"), VIEW("x"), &err_));
}

static void put_numbers(tn_writer *w, tn_meta *to)
{
	static const unsigned widths[] = { 8, 16, 32, 64 };
	char key[32];
	for (size_t i = 0; i < 4; i++) {
		snprintf(key, sizeof key, "u%u", widths[i]);
		MUST(tn_put_uint(w, to, tn_text(key), UINT64_MAX >> (64 - widths[i]), widths[i],
		                 &err_));
		snprintf(key, sizeof key, "i%u", widths[i]);
		MUST(tn_put_int(w, to, tn_text(key), INT64_MIN / (INT64_C(1) << (64 - widths[i])),
		                widths[i], &err_));
		snprintf(key, sizeof key, "positive.i%u", widths[i]);
		MUST(tn_put_int(w, to, tn_text(key), 7, widths[i], &err_));
	}
}

static void put_reals(tn_writer *w, tn_meta *to)
{
	static const uint64_t doubles[] = {
		0, UINT64_C(0x8000000000000000), /* -0 */
		1, UINT64_C(0x000fffffffffffff), UINT64_C(0x7fefffffffffffff), /* least, largest */
		UINT64_C(0x7ff0000000000000), UINT64_C(0xfff0000000000000), /* infinities */
		UINT64_C(0x7ff8000000000000), UINT64_C(0xfff8000000000000), /* NaNs, and with payload */
		UINT64_C(0x7ff8000000000001), UINT64_C(0xffffffffffffffff),
		UINT64_C(0x3ff0000000000000), UINT64_C(0x3fb999999999999a), /* 1, 0.1, 1e16, 1e-9 */
		UINT64_C(0x4341c37937e08000), UINT64_C(0x3e112e0be826d695)
	};
	static const uint32_t floats[] = {
		0, 0x80000000, 0x3dcccccd, 1, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
		0xffc00001
	};
	char key[32];
	for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++) {
		snprintf(key, sizeof key, "f64.%zu", i);
		MUST(tn_put_f64(w, to, tn_text(key), f64_of(doubles[i]), &err_));
	}
	for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
		snprintf(key, sizeof key, "f32.%zu", i);
		MUST(tn_put_f32(w, to, tn_text(key), f32_of(floats[i]), &err_));
	}
}

static void put_others(tn_writer *w, tn_meta *to)
{
	tn_meta *inner;
	MUST(tn_put_null(w, to, tn_text("null"), &err_));
	MUST(tn_put_bool(w, to, tn_text("true"), true, &err_));
	MUST(tn_put_bool(w, to, tn_text("false"), false, &err_));
	MUST(tn_put_bytes(w, to, tn_text("bytes"), VIEW("\x00\xff\xfe text"), &err_));
	MUST(tn_put_bytes(w, to, tn_text("no bytes"), (tn_view){ NULL, 0 }, &err_));
	MUST(tn_put_string(w, to, tn_text("text"), tn_text("plain"), &err_));
	MUST(tn_put_map(w, to, tn_text("empty map"), &inner, &err_));
	MUST(tn_put_array(w, to, tn_text("empty array"), &inner, &err_));
}

static void fill_values(tn_writer *w)
{
	tn_meta *root = tn_writer_metadata(w), *at, *list;
	const uint64_t shape[] = { 2 };
	add_text(w, "t", TN_F32, 1, shape);
	put_others(w, root);
	put_numbers(w, root);
	put_reals(w, root);
	MUST(tn_put_array(w, root, tn_text("list"), &list, &err_));
	MUST(tn_put_uint(w, list, tn_text(""), 1, 8, &err_));
	MUST(tn_put_string(w, list, tn_text(""), tn_text("two"), &err_));
	MUST(tn_put_null(w, list, tn_text(""), &err_));
	at = root;
	for (unsigned depth = 0; depth < 20; depth++)
		MUST(tn_put_map(w, at, tn_text("deeper"), &at, &err_));
	put_others(w, at);
	put_numbers(w, at);
	put_reals(w, at);
}

/* Numbers whose keys and order a format may have to give up: scalars between strings. */
static void fill_mixed(tn_writer *w)
{
	tn_meta *root = tn_writer_metadata(w);
	MUST(tn_put_uint(w, root, tn_text("z.scalar"), 1, 64, &err_));
	MUST(tn_put_string(w, root, tn_text("y.string"), tn_text("1"), &err_));
	MUST(tn_put_f64(w, root, tn_text("x.scalar"), 0.5, &err_));
	MUST(tn_put_string(w, root, tn_text("a.string"), tn_text("0.5"), &err_));
	MUST(tn_put_bool(w, root, tn_text("b.scalar"), true, &err_));
	fill_extras(w);
	fill_shapes(w);
}

static void put_role(tn_writer *w, tn_meta *extras)
{
	MUST(tn_put_string(w, extras, tn_text("kind"), tn_text("weight"), &err_));
	MUST(tn_put_uint(w, extras, tn_text("layer"), 1, 32, &err_));
	MUST(tn_put_string(w, extras, tn_text("op"), tn_text("attn_q_proj"), &err_));
	MUST(tn_put_string(w, extras, tn_text("backend_layout"), tn_text("generic"), &err_));
}

/* A decoder as thin describes one: fields of the right types, of others, and some that are no fields. */
static void fill_decoder(tn_writer *w)
{
	static const char *const names[] = {
		"model.embed_tokens.weight", "model.layers.0.q.weight", "model.layers.0.k.weight",
		"model.layers.1.q.weight", "lm_head.weight"
	};
	const uint64_t shape[] = { 2, 4 }, scalar[] = { 1 };
	tn_meta *root = tn_writer_metadata(w), *scaling, *list;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		add_text(w, names[i], TN_BF16, 2, shape);
		if (i != 0)
			put_role(w, tn_writer_extras(w, i));
	}
	add_text(w, "scalar", TN_F32, 0, NULL);
	add_text(w, "one", TN_F32, 1, scalar);
	MUST(tn_put_string(w, root, tn_text("producer"), tn_text("tests"), &err_));
	MUST(tn_put_uint(w, root, tn_text("hidden_size"), 8, 64, &err_));
	MUST(tn_put_string(w, root, tn_text("arch"), tn_text("llama"), &err_));
	MUST(tn_put_uint(w, root, tn_text("heads"), 2, 16, &err_));
	MUST(tn_put_int(w, root, tn_text("vocab_size"), 7, 64, &err_));
	MUST(tn_put_string(w, root, tn_text("head_dim"), tn_text("4"), &err_));
	MUST(tn_put_f32(w, root, tn_text("norm_eps"), 1e-5f, &err_));
	MUST(tn_put_f64(w, root, tn_text("embedding_scale"), 3.7416573867739413, &err_));
	MUST(tn_put_bool(w, root, tn_text("qkv_bias"), true, &err_));
	MUST(tn_put_map(w, root, tn_text("rope_scaling"), &scaling, &err_));
	MUST(tn_put_f64(w, scaling, tn_text("factor"), 8, &err_));
	MUST(tn_put_uint(w, scaling, tn_text("high"), 4, 64, &err_));
	MUST(tn_put_map(w, root, tn_text("rope_parameters"), &scaling, &err_));
	MUST(tn_put_uint(w, scaling, tn_text("z"), 1, 64, &err_));
	MUST(tn_put_uint(w, scaling, tn_text("a"), 1, 64, &err_));
	MUST(tn_put_array(w, root, tn_text("layer_types"), &list, &err_));
	MUST(tn_put_string(w, list, tn_text(""), tn_text("full_attention"), &err_));
	MUST(tn_put_array(w, root, tn_text("attention_variants"), &list, &err_));
}

static void fill_everything(tn_writer *w)
{
	fill_extras(w);
	fill_shapes(w);
	fill_dtypes(w);
	put_others(w, tn_writer_metadata(w));
}

/* Names that formats need for themselves. */
static void put_namesakes(tn_writer *w, const char *text)
{
	const uint64_t few[] = { 3 };
	tn_meta *root = tn_writer_metadata(w), *room;
	MUST(tn_put_string(w, root, tn_text("tenon.meta"), tn_text(text), &err_));
	MUST(tn_put_string(w, root, tn_text("tenon"), tn_text(text), &err_));
	MUST(tn_put_string(w, root, tn_text("tenon.compression"), tn_text(text), &err_));
	MUST(tn_put_array(w, root, tn_text("tenon.slack"), &room, &err_));
	for (int i = 0; i < 3; i++)
		MUST(tn_put_uint(w, room, tn_text(""), 0, 8, &err_));
	add_text(w, "t", TN_I8, 1, few);
}

static void fill_namesakes(tn_writer *w) { put_namesakes(w, "mine"); }

/* What a reader would do as it is told by it. */
static void fill_false_envelopes(tn_writer *w)
{
	put_namesakes(w, "{\"tenon\":1,\"hidden\":{\"a\":\"b\"},\"tensors\":{\"t\":{\"dtype\":\"u8\"}}}");
}

const struct model_maker model_makers[] = {
	{ "nothing", fill_nothing },
	{ "dtypes",  fill_dtypes },
	{ "shapes",  fill_shapes },
	{ "carriers", fill_carriers },
	{ "names",   fill_names },
	{ "long name", fill_long_name },
	{ "extras",  fill_extras },
	{ "strings", fill_strings },
	{ "values",  fill_values },
	{ "namesakes", fill_namesakes },
	{ "false envelopes", fill_false_envelopes },
	{ "mixed",   fill_mixed },
	{ "decoder", fill_decoder },
	{ "everything", fill_everything },
};
const size_t model_maker_count = sizeof model_makers / sizeof *model_makers;

/* What a format cannot hold, whatever its envelope says. */
static const struct {
	void      (*fill)(tn_writer *);
	const char *format;
} misfits[] = {
	{ fill_long_name, "gguf" }, { fill_long_name, "apr" },
	/* no tensor at all, empty tensors, names with white space or slashes, and of more than 4096 bytes */
	{ fill_nothing, "thin" }, { fill_shapes, "thin" }, { fill_names, "thin" }, { fill_long_name, "thin" },
	{ fill_mixed, "thin" }, { fill_everything, "thin" },
};

bool models_fit(const struct model_maker *maker, const char *format)
{
	for (size_t i = 0; i < sizeof misfits / sizeof *misfits; i++)
		if (maker->fill == misfits[i].fill && strcmp(format, misfits[i].format) == 0)
			return false;
	return true;
}

/* ---- Saving ---- */

tn_view models_save(tn_writer *writer)
{
	uint64_t size;
	size_t len;
	MUST(tn_writer_size(writer, &size, &err_));
	uint8_t *bytes = malloc((size_t)size);
	if (bytes == NULL)
		give_up("a model", "out of memory");
	MUST(tn_writer_save_memory(writer, bytes, (size_t)size, &len, &err_));
	if (len != size)
		give_up("a model", "has another size than was planned");
	return (tn_view){ bytes, len };
}

tn_view models_make(const struct model_maker *maker, const char *format)
{
	tn_writer *writer;
	tn_write_options carry = { .carry = true, .no_sync = true };
	MUST(tn_writer_new(&writer, format, &carry, &err_));
	maker->fill(writer);
	tn_view bytes = models_save(writer);
	tn_writer_free(writer);
	return bytes;
}
