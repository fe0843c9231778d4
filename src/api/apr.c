/* apr.c - the typed fields of APR's metadata as a struct, from a file and into a writer. */
#include "api/call.h"
#include "api/file.h"
#include "api/writer.h"
#include "format/apr/fields.h"
#include "format/apr/layout.h"

_Static_assert((int)TN_APR_FIELDS == (int)APR_FIELDS, "the public list is that of the format");

/* Where in the struct each field that is no object stands; its type follows from its kind. */
#define AT(member) offsetof(tn_apr, member)
static const size_t places[TN_APR_FIELDS] = {
	[TN_APR_MODEL_TYPE] = AT(model_type), [TN_APR_NAME] = AT(name),
	[TN_APR_DESCRIPTION] = AT(description), [TN_APR_AUTHOR] = AT(author),
	[TN_APR_LICENSE] = AT(license), [TN_APR_DATA_SOURCE] = AT(data_source),
	[TN_APR_DATA_LICENSE] = AT(data_license), [TN_APR_VERSION] = AT(version),
	[TN_APR_SOURCE] = AT(source), [TN_APR_ORIGINAL_FORMAT] = AT(original_format),
	[TN_APR_CREATED_AT] = AT(created_at), [TN_APR_TOTAL_SIZE] = AT(total_size),
	[TN_APR_PARAM_COUNT] = AT(param_count), [TN_APR_CHAT_TEMPLATE] = AT(chat_template),
	[TN_APR_CHAT_FORMAT] = AT(chat_format), [TN_APR_ARCHITECTURE] = AT(architecture),
	[TN_APR_HF_ARCHITECTURE] = AT(hf_architecture), [TN_APR_HF_MODEL_TYPE] = AT(hf_model_type),
	[TN_APR_HIDDEN_SIZE] = AT(hidden_size), [TN_APR_NUM_LAYERS] = AT(num_layers),
	[TN_APR_NUM_HEADS] = AT(num_heads), [TN_APR_NUM_KV_HEADS] = AT(num_kv_heads),
	[TN_APR_VOCAB_SIZE] = AT(vocab_size), [TN_APR_INTERMEDIATE_SIZE] = AT(intermediate_size),
	[TN_APR_MAX_POSITION_EMBEDDINGS] = AT(max_position_embeddings),
	[TN_APR_ROPE_THETA] = AT(rope_theta), [TN_APR_ROPE_TYPE] = AT(rope_type),
	[TN_APR_RMS_NORM_EPS] = AT(rms_norm_eps), [TN_APR_HEAD_DIM] = AT(head_dim),
	[TN_APR_NUM_EXPERTS] = AT(num_experts),
	[TN_APR_NUM_EXPERTS_PER_TOK] = AT(num_experts_per_tok),
	[TN_APR_MOE_INTERMEDIATE_SIZE] = AT(moe_intermediate_size),
};

struct token {
	const char *name;
	size_t      at;
};
static const struct token tokens[] = {
	{ "bos_token", AT(special_tokens.bos) },   { "eos_token", AT(special_tokens.eos) },
	{ "unk_token", AT(special_tokens.unk) },   { "pad_token", AT(special_tokens.pad) },
	{ "im_start_token", AT(special_tokens.im_start) },
	{ "im_end_token", AT(special_tokens.im_end) },
};
enum { TOKENS = sizeof tokens / sizeof *tokens };

static void *member(tn_apr *a, size_t at) { return (char *)a + at; }
static const void *member_of(const tn_apr *a, size_t at) { return (const char *)a + at; }

/* ---- Reading ---- */

static const tn_meta *part(const tn_meta *map, const char *name)
{
	return tn_meta_find(map, tn_text(name));
}

static void read_tokens(const tn_meta *map, tn_apr *out)
{
	for (size_t i = 0; i < TOKENS; i++)
		tn_meta_string(part(map, tokens[i].name), member(out, tokens[i].at));
}

static bool read_quantization(const tn_meta *map, tn_apr *out)
{
	out->quantization.has_block_size =
	        tn_meta_u64(part(map, "block_size"), &out->quantization.block_size);
	return tn_meta_string(part(map, "quant_type"), &out->quantization.quant_type) &&
	       tn_meta_u8(part(map, "bits"), &out->quantization.bits) &&
	       tn_meta_bool(part(map, "symmetric"), &out->quantization.symmetric);
}

static bool read_sharding(const tn_meta *map, tn_apr *out)
{
	tn_meta_string(part(map, "pattern"), &out->sharding.pattern);
	return tn_meta_u64(part(map, "shard_count"), &out->sharding.shard_count) &&
	       tn_meta_u64(part(map, "shard_index"), &out->sharding.shard_index) &&
	       tn_meta_u64(part(map, "total_size"), &out->sharding.total_size);
}

static bool read_object(const tn_meta *node, int field, tn_apr *out)
{
	if (tn_meta_kind(node) != TN_META_MAP)
		return false;
	if (field == TN_APR_QUANTIZATION)
		return read_quantization(node, out);
	if (field == TN_APR_SHARDING)
		return read_sharding(node, out);
	read_tokens(node, out);
	return true;
}

/* Any number, rounded to the nearest f32 where it has one. */
static bool read_f32(const tn_meta *node, float *out)
{
	double v;
	uint64_t u;
	if (tn_meta_f32(node, out))
		return true;
	if (!tn_meta_f64(node, &v)) {
		if (!tn_meta_u64(node, &u))
			return false;
		v = (double)u;
	}
	if (v > 3.40282346638528859812e+38 || v < -3.40282346638528859812e+38)
		return false;
	*out = (float)v;
	return true;
}

static bool read_field(const tn_meta *node, int field, tn_apr *out)
{
	void *to = member(out, places[field]);
	switch (apr_fields[field].kind) {
	case APR_TEXT:   return tn_meta_string(node, to);
	case APR_U64:    return tn_meta_u64(node, to);
	case APR_U32:    return tn_meta_u32(node, to);
	case APR_F32:    return read_f32(node, to);
	case APR_OBJECT: return read_object(node, field, out);
	default:         return false;
	}
}

void tn_apr_read(const tn_file *f, tn_apr *out)
{
	*out = (tn_apr){ .given = 0 };
	for (int i = 0; i < TN_APR_FIELDS; i++) {
		tn_apr before = *out;
		if (read_field(meta_find(f->model.metadata, tn_text(apr_fields[i].name)), i, out))
			out->given |= TN_APR_GIVEN(i);
		else
			*out = before;
	}
}

uint16_t tn_apr_flags(const tn_file *f)
{
	uint16_t flags;
	return tn_meta_u16(apr_native(&f->model, APR_NATIVE_FLAGS), &flags) ? flags : APR_ROW_MAJOR;
}

/* ---- Writing ---- */

static tn_code put_text(tn_writer *w, tn_meta *to, const char *name, tn_view v, tn_error *err)
{
	return v.ptr != NULL ? tn_put_string(w, to, tn_text(name), v, err) : TN_OK;
}

static tn_code put_u64(tn_writer *w, tn_meta *to, const char *name, uint64_t v, tn_error *err)
{
	return tn_put_uint(w, to, tn_text(name), v, 64, err);
}

static tn_code put_quantization(tn_writer *w, tn_meta *map, const tn_apr *a, tn_error *err)
{
	tn_code code =
	        tn_put_string(w, map, tn_text("quant_type"), a->quantization.quant_type, err);
	if (code == TN_OK)
		code = tn_put_uint(w, map, tn_text("bits"), a->quantization.bits, 8, err);
	if (code == TN_OK && a->quantization.has_block_size)
		code = put_u64(w, map, "block_size", a->quantization.block_size, err);
	if (code == TN_OK)
		code = tn_put_bool(w, map, tn_text("symmetric"), a->quantization.symmetric, err);
	return code;
}

static tn_code put_sharding(tn_writer *w, tn_meta *map, const tn_apr *a, tn_error *err)
{
	tn_code code = put_u64(w, map, "shard_count", a->sharding.shard_count, err);
	if (code == TN_OK)
		code = put_u64(w, map, "shard_index", a->sharding.shard_index, err);
	if (code == TN_OK)
		code = put_u64(w, map, "total_size", a->sharding.total_size, err);
	return code == TN_OK ? put_text(w, map, "pattern", a->sharding.pattern, err) : code;
}

static tn_code put_tokens(tn_writer *w, tn_meta *map, const tn_apr *a, tn_error *err)
{
	for (size_t i = 0; i < TOKENS; i++) {
		const tn_view *text = member_of(a, tokens[i].at);
		if (put_text(w, map, tokens[i].name, *text, err) != TN_OK)
			return err->code;
	}
	return TN_OK;
}

static tn_code put_object(tn_writer *w, const tn_apr *a, int field, tn_error *err)
{
	tn_meta *map;
	if (tn_put_map(w, w->model.metadata, tn_text(apr_fields[field].name), &map, err) != TN_OK)
		return err->code;
	return field == TN_APR_QUANTIZATION ? put_quantization(w, map, a, err)
	     : field == TN_APR_SHARDING ? put_sharding(w, map, a, err) : put_tokens(w, map, a, err);
}

static tn_code put_field(tn_writer *w, const tn_apr *a, int field, tn_error *err)
{
	const struct apr_field *f = &apr_fields[field];
	const void *from = member_of(a, places[field]);
	tn_meta *to = w->model.metadata;
	switch (f->kind) {
	case APR_TEXT:   return tn_put_string(w, to, tn_text(f->name), *(const tn_view *)from, err);
	case APR_U64:    return put_u64(w, to, f->name, *(const uint64_t *)from, err);
	case APR_U32:
		return tn_put_uint(w, to, tn_text(f->name), *(const uint32_t *)from, 32, err);
	case APR_F32:    return tn_put_f32(w, to, tn_text(f->name), *(const float *)from, err);
	case APR_OBJECT: return put_object(w, a, field, err);
	default:         return TN_OK;
	}
}

tn_code tn_apr_put(tn_writer *w, const tn_apr *fields, tn_error *err)
{
	CALL_BEGIN(err);
	for (int i = 0; i < TN_APR_FIELDS; i++)
		if ((fields->given & TN_APR_GIVEN(i)) != 0 && put_field(w, fields, i, err) != TN_OK)
			return err->code;
	return TN_OK;
}

tn_code tn_apr_set_flags(tn_writer *w, uint16_t flags, tn_error *err)
{
	CALL_BEGIN(err);
	if (flags & (APR_COLUMN_MAJOR | APR_ENCRYPTED | APR_LZ4 | APR_ZSTD))
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "apr: flags 0x%04x cannot be set",
		               flags);
	struct tn_meta *own = model_native(&w->mem, &w->model, "apr");
	struct tn_meta *node = own != NULL ? meta_new(&w->mem, TN_META_UINT) : NULL;
	if (node == NULL)
		return arena_err(&w->mem, err, "flags");
	node->as.u = flags | (unsigned)APR_ROW_MAJOR;
	node->width = 16;
	meta_set(own, VIEW(APR_NATIVE_FLAGS), node);
	return TN_OK;
}
