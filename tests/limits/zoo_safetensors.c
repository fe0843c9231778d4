/* zoo_safetensors.c - hostile headers, envelopes in them, and indices. */
#include "limits/zoo.h"

enum { TAIL = 300 };

static void begin(struct buf *b)
{
	buf_u64(b, 0);
	buf_byte(b, '{');
}

/* Ends the header, whose length is written where it belongs. */
static void end(struct buf *b)
{
	buf_byte(b, '}');
	put_le64(b->ptr, b->len - 8);
}

/* ---- Tensors ---- */

static void empty_tensor(struct buf *b, unsigned i)
{
	buf_printf(b, "%s\"%x\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}", i != 0 ? "," : "", i);
}

static void tensors(struct buf *b)
{
	begin(b);
	zoo_fill(b, empty_tensor, TAIL);
	end(b);
}

/* Names that are a path of many parts, for what draws trees. */
static void path_tensor(struct buf *b, unsigned i)
{
	buf_printf(b, "%s\"", i != 0 ? "," : "");
	for (unsigned k = 0; k < 16; k++)
		buf_printf(b, "%x.", (i >> k) % 3);
	buf_printf(b, "%x\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}", i);
}

static void paths(struct buf *b)
{
	begin(b);
	zoo_fill(b, path_tensor, TAIL);
	end(b);
}

enum { REVERSED = 15000 };
static void reversed(struct buf *b)
{
	begin(b);
	for (unsigned i = REVERSED; i-- > 0; )
		buf_printf(b, "\"%x\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%u,%u]}%s", i, i, i + 1, i != 0 ? "," : "");
	end(b);
	buf_fill(b, 1, REVERSED);
}

static void same_tensor(struct buf *b, unsigned i)
{
	buf_printf(b, "%s\"a\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}", i != 0 ? "," : "");
}

static void one_name(struct buf *b)
{
	begin(b);
	zoo_fill(b, same_tensor, TAIL);
	end(b);
}

static void huge_shape(struct buf *b, unsigned i)
{
	buf_printf(b, "%s\"%x\":{\"dtype\":\"F64\",\"shape\":[0,4294967295,4294967295],\"data_offsets\":[0,0]}", i != 0 ? "," : "", i);
}

static void huge_shapes(struct buf *b)
{
	begin(b);
	zoo_fill(b, huge_shape, TAIL);
	end(b);
}

static void odd_dtype(struct buf *b, unsigned i)
{
	buf_printf(b, "%s\"%x\":{\"dtype\":\"\\u001b%x\",\"shape\":[],\"data_offsets\":[0,0],\"more\":[{}]}", i != 0 ? "," : "", i, i);
}

static void odd_dtypes(struct buf *b)
{
	begin(b);
	zoo_fill(b, odd_dtype, TAIL);
	end(b);
}

static void long_shape(struct buf *b)
{
	begin(b);
	buf_text(b, "\"a\":{\"dtype\":\"U8\",\"shape\":[1");
	zoo_repeat(b, ",1", TAIL);
	buf_text(b, "],\"data_offsets\":[0,1]}");
	end(b);
	buf_byte(b, 1);
}

static void long_name(struct buf *b)
{
	begin(b);
	buf_byte(b, '"');
	zoo_repeat(b, "\\u001b.", TAIL);
	buf_text(b, "\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}");
	end(b);
	buf_byte(b, 1);
}

static void bools(struct buf *b)
{
	enum { N = ZOO_SIZE - TAIL };
	begin(b);
	buf_printf(b, "\"a\":{\"dtype\":\"BOOL\",\"shape\":[%d],\"data_offsets\":[0,%d]}", N, N);
	end(b);
	buf_fill(b, 2, N);
}

/* ---- JSON ---- */

static void all_of(struct buf *b, const char *before, const char *text)
{
	begin(b);
	buf_text(b, before);
	zoo_repeat(b, text, TAIL);
	end(b);
}

static void deep_arrays(struct buf *b) { all_of(b, "\"a\":", "["); }
static void deep_objects(struct buf *b) { all_of(b, "\"a\":", "{\"a\":"); }
static void spaces(struct buf *b) { all_of(b, "", " "); }
static void open_string(struct buf *b) { all_of(b, "\"", "\\\""); }
static void empty_objects(struct buf *b) { all_of(b, "\"a\":{\"dtype\":[{}", ",{}"); }

static void digits_as(struct buf *b, const char *before, const char *after)
{
	begin(b);
	buf_text(b, before);
	zoo_repeat(b, "9", TAIL);
	buf_text(b, after);
	end(b);
}

static void integer_digits(struct buf *b) { digits_as(b, "\"a\":{\"dtype\":\"U8\",\"shape\":[", "],\"data_offsets\":[0,0]}"); }
static void real_digits(struct buf *b) { digits_as(b, "\"a\":{\"dtype\":\"U8\",\"shape\":[0.", "],\"data_offsets\":[0,0]}"); }
static void exponent_digits(struct buf *b) { digits_as(b, "\"a\":{\"dtype\":\"U8\",\"shape\":[1e-", "],\"data_offsets\":[0,0]}"); }

static void small_real(struct buf *b, unsigned i)
{
	buf_printf(b, "%s7.%u450580596923828125e-%u", i != 0 ? "," : "", i, 300 + i % 24);
}

static void reals(struct buf *b)
{
	begin(b);
	buf_text(b, "\"a\":{\"dtype\":\"U8\",\"shape\":[");
	zoo_fill(b, small_real, TAIL);
	buf_text(b, "],\"data_offsets\":[0,0]}");
	end(b);
}

/* ---- Metadata ---- */

static void metadata(struct buf *b, zoo_part part)
{
	begin(b);
	buf_text(b, "\"__metadata__\":{");
	zoo_fill(b, part, TAIL);
	buf_byte(b, '}');
	end(b);
}

static void empty_pair(struct buf *b, unsigned i) { buf_printf(b, "%s\"%x\":\"\"", i != 0 ? "," : "", i); }
static void same_pair(struct buf *b, unsigned i) { buf_printf(b, "%s\"a\":\"%x\"", i != 0 ? "," : "", i); }
static void escaped_pair(struct buf *b, unsigned i) { buf_printf(b, "%s\"%x\":\"\\u202e\\u001b\"", i != 0 ? "," : "", i); }

static void keys(struct buf *b) { metadata(b, empty_pair); }
static void one_key(struct buf *b) { metadata(b, same_pair); }
static void escapes(struct buf *b) { metadata(b, escaped_pair); }

static void long_value(struct buf *b)
{
	begin(b);
	buf_text(b, "\"__metadata__\":{\"a\":\"");
	zoo_repeat(b, "\\u202e\\u001b\\n", TAIL);
	buf_text(b, "\"}");
	end(b);
}

/* ---- Envelopes: JSON in a string of JSON ---- */

static void envelope(struct buf *b, const char *before, zoo_part part, const char *after)
{
	begin(b);
	buf_text(b, "\"__metadata__\":{\"a\":\"1\",\"tenon.meta\":\"{\\\"tenon\\\":1,");
	buf_text(b, before);
	zoo_fill(b, part, TAIL);
	buf_text(b, after);
	buf_text(b, "}\"},\"t\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}");
	end(b);
	buf_byte(b, 1);
}

static void quoted_pair(struct buf *b, unsigned i) { buf_printf(b, "%s\\\"%x\\\":0", i != 0 ? "," : "", i); }
static void quoted_map(struct buf *b, unsigned i) { buf_printf(b, "%s\\\"%x\\\":{}", i != 0 ? "," : "", i); }
static void quoted_same(struct buf *b, unsigned i) { buf_printf(b, "%s\\\"t\\\":{\\\"extras\\\":{\\\"%x\\\":1}}", i != 0 ? "," : "", i); }
static void quoted_text(struct buf *b, unsigned i) { buf_printf(b, "%s\\\"%x\\\"", i != 0 ? "," : "", i); }
static void number(struct buf *b, unsigned i) { buf_printf(b, "%s%u", i != 0 ? "," : "", i); }
static void typed_item(struct buf *b, unsigned i) { buf_printf(b, "%s{\\\"$u16\\\":%u}", i != 0 ? "," : "", i % 65536); }
static void opened(struct buf *b, unsigned i) { (void)i, buf_byte(b, '['); }
static void opened_map(struct buf *b, unsigned i) { (void)i, buf_text(b, "{\\\"$map\\\":"); }

static void envelope_metadata(struct buf *b) { envelope(b, "\\\"metadata\\\":{", quoted_pair, "}"); }
static void envelope_hidden(struct buf *b) { envelope(b, "\\\"hidden\\\":{", quoted_pair, "}"); }
static void envelope_derived(struct buf *b) { envelope(b, "\\\"derived\\\":{", quoted_pair, "}"); }
static void envelope_order_of_keys(struct buf *b) { envelope(b, "\\\"metadata_order\\\":[", quoted_text, "]"); }
static void envelope_tensors(struct buf *b) { envelope(b, "\\\"tensors\\\":{", quoted_map, "}"); }
static void envelope_one_tensor(struct buf *b) { envelope(b, "\\\"tensors\\\":{", quoted_same, "}"); }
static void envelope_order(struct buf *b) { envelope(b, "\\\"order\\\":[", number, "]"); }
static void envelope_natives(struct buf *b) { envelope(b, "\\\"native\\\":{", quoted_map, "}"); }
static void envelope_native(struct buf *b) { envelope(b, "\\\"native\\\":{\\\"gguf\\\":{", quoted_pair, "}}"); }
static void envelope_same_native(struct buf *b) { envelope(b, "\\\"native\\\":{\\\"gguf\\\":{\\\"a\\\":[", typed_item, "]}}"); }
static void envelope_deep(struct buf *b) { envelope(b, "\\\"native\\\":{\\\"gguf\\\":", opened, ""); }
static void envelope_deep_maps(struct buf *b) { envelope(b, "\\\"hidden\\\":{\\\"b\\\":", opened_map, ""); }

/* Keys of the container, each with a value of the envelope and a place in the order. */
static void keyed(struct buf *b, unsigned n, zoo_part part)
{
	for (unsigned i = 0; i < n; i++)
		part(b, i);
}

static void one_pair(struct buf *b, unsigned i) { buf_printf(b, "%s\"%x\":\"1\"", i != 0 ? "," : "", i); }
static void quoted_one(struct buf *b, unsigned i) { buf_printf(b, "%s\\\"%x\\\":1", i != 0 ? "," : "", i); }

static void envelope_in_full(struct buf *b)
{
	enum { N = 18000 };
	begin(b);
	buf_text(b, "\"__metadata__\":{");
	keyed(b, N, one_pair);
	buf_text(b, ",\"tenon.meta\":\"{\\\"tenon\\\":1,\\\"derived\\\":{");
	keyed(b, N / 2, quoted_one);
	buf_text(b, "},\\\"metadata\\\":{");
	keyed(b, N, quoted_one);
	buf_text(b, "},\\\"metadata_order\\\":[");
	keyed(b, N, quoted_text);
	buf_text(b, "]}\"}");
	end(b);
}

const struct animal zoo_safetensors[] = {
	{ "tensors", tensors, NULL }, { "paths", paths, NULL }, { "reversed", reversed, NULL }, { "one-name", one_name, NULL },
	{ "huge-shapes", huge_shapes, NULL }, { "odd-dtypes", odd_dtypes, NULL }, { "long-shape", long_shape, NULL },
	{ "long-name", long_name, NULL }, { "bools", bools, NULL },
	{ "deep-arrays", deep_arrays, NULL }, { "deep-objects", deep_objects, NULL }, { "spaces", spaces, NULL },
	{ "open-string", open_string, NULL }, { "empty-objects", empty_objects, NULL },
	{ "integer-digits", integer_digits, NULL }, { "real-digits", real_digits, NULL },
	{ "exponent-digits", exponent_digits, NULL }, { "reals", reals, NULL },
	{ "keys", keys, NULL }, { "one-key", one_key, NULL }, { "escapes", escapes, NULL }, { "long-value", long_value, NULL },
	{ "envelope-metadata", envelope_metadata, NULL }, { "envelope-hidden", envelope_hidden, NULL },
	{ "envelope-derived", envelope_derived, NULL }, { "envelope-order-of-keys", envelope_order_of_keys, NULL },
	{ "envelope-tensors", envelope_tensors, NULL }, { "envelope-one-tensor", envelope_one_tensor, NULL },
	{ "envelope-order", envelope_order, NULL }, { "envelope-natives", envelope_natives, NULL },
	{ "envelope-native", envelope_native, NULL }, { "envelope-typed", envelope_same_native, NULL },
	{ "envelope-deep", envelope_deep, NULL }, { "envelope-deep-maps", envelope_deep_maps, NULL },
	{ "envelope-in-full", envelope_in_full, NULL },
	{ NULL, NULL, NULL },
};

/* ---- Indices ---- */

#define INDEX "model.safetensors.index.json"

static void weight_map(struct buf *b, zoo_part part)
{
	buf_text(b, "{\"metadata\":{\"total_size\":20},\"weight_map\":{");
	zoo_fill(b, part, TAIL);
	buf_text(b, "}}");
}

static void missing_file(struct buf *b, unsigned i) { buf_printf(b, "%s\"%x\":\"%x.safetensors\"", i != 0 ? "," : "", i, i); }
static void missing_tensor(struct buf *b, unsigned i) { buf_printf(b, "%s\"%x\":\"shard.safetensors\"", i != 0 ? "," : "", i); }
static void same_entry(struct buf *b, unsigned i) { buf_printf(b, "%s\"a\":\"shard.safetensors\"", i != 0 ? "," : ""); }
static void path_entry(struct buf *b, unsigned i) { buf_printf(b, "%s\"%x\":\"../%x/shard.safetensors\"", i != 0 ? "," : "", i, i); }

static void number_pair(struct buf *b, unsigned i) { buf_printf(b, "%s\"%x\":0", i != 0 ? "," : "", i); }

static void missing_files(struct buf *b) { weight_map(b, missing_file); }
static void missing_tensors(struct buf *b) { weight_map(b, missing_tensor); }
static void same_entries(struct buf *b) { weight_map(b, same_entry); }
static void path_entries(struct buf *b) { weight_map(b, path_entry); }

static void index_keys(struct buf *b)
{
	buf_text(b, "{\"weight_map\":{\"a\":\"shard.safetensors\"},\"metadata\":{");
	zoo_fill(b, number_pair, TAIL);
	buf_text(b, "}}");
}

static void index_depth(struct buf *b) { buf_text(b, "{\"weight_map\":{},\"a\":"), zoo_repeat(b, "[", 0); }
static void index_spaces(struct buf *b) { buf_text(b, "{\"weight_map\":{"), zoo_repeat(b, " ", 0); }

const struct animal zoo_sets[] = {
	{ "index-missing-files", missing_files, INDEX }, { "index-missing-tensors", missing_tensors, INDEX },
	{ "index-one-name", same_entries, INDEX }, { "index-paths", path_entries, INDEX },
	{ "index-keys", index_keys, INDEX }, { "index-depth", index_depth, INDEX }, { "index-spaces", index_spaces, INDEX },
	{ NULL, NULL, NULL },
};

/* ---- Checkpoints ---- */

const char zoo_config[] = "{\"text_config\":{\"model_type\":\"gemma2\",\"architectures\":[\"G\"],\"num_hidden_layers\":4294967295,"
                          "\"hidden_size\":4,\"num_attention_heads\":1}}";

static void text_tensor(struct buf *b, const char *parts, size_t room)
{
	begin(b);
	buf_text(b, "\"language_model.");
	zoo_repeat(b, parts, room);
	buf_text(b, "\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}");
	end(b);
	buf_byte(b, 1);
}

static void many_parts(struct buf *b) { text_tensor(b, ".experts.", TAIL); }
static void many_layers(struct buf *b) { text_tensor(b, "a", ZOO_SIZE - TAIL); }

const struct animal zoo_checkpoints[] = {
	{ "checkpoint-parts", many_parts, NULL }, { "checkpoint-layers", many_layers, NULL },
	{ NULL, NULL, NULL },
};
