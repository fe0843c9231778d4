/* fields.c - the typed fields of the metadata: reading, checking, printing. See fields.h. */
#include "format/apr/fields.h"

#include "base/bytes.h"
#include "base/numtext.h"
#include "base/utf8.h"
#include "io/json_tree.h"

#include <float.h>
#include <math.h>

/* ---- The tables ---- */

#define PLAIN(name, kind, absent) { name, kind, absent, NULL, 0, 0 }
#define OBJECT(name, parts, least) \
	{ name, APR_OBJECT, APR_SKIP, parts, sizeof parts / sizeof *parts, least }

static const struct apr_field tokens[] = {
	PLAIN("bos_token", APR_TEXT, APR_NULL),
	PLAIN("eos_token", APR_TEXT, APR_NULL),
	PLAIN("unk_token", APR_TEXT, APR_NULL),
	PLAIN("pad_token", APR_TEXT, APR_NULL),
	PLAIN("im_start_token", APR_TEXT, APR_NULL),
	PLAIN("im_end_token", APR_TEXT, APR_NULL),
};
static const struct apr_field quantization[] = {
	PLAIN("quant_type", APR_TEXT, APR_NEEDED),
	PLAIN("bits", APR_U8, APR_NEEDED),
	PLAIN("block_size", APR_U64, APR_NULL),
	PLAIN("symmetric", APR_BOOL, APR_NEEDED),
};
static const struct apr_field sharding[] = {
	PLAIN("shard_count", APR_U64, APR_NEEDED),
	PLAIN("shard_index", APR_U64, APR_NEEDED),
	PLAIN("total_size", APR_U64, APR_NEEDED),
	PLAIN("pattern", APR_TEXT, APR_NULL),
};

const struct apr_field apr_fields[APR_FIELDS] = {
	PLAIN("model_type", APR_TEXT, APR_EMPTY),
	PLAIN("name", APR_TEXT, APR_SKIP),
	PLAIN("description", APR_TEXT, APR_SKIP),
	PLAIN("author", APR_TEXT, APR_SKIP),
	PLAIN("license", APR_TEXT, APR_NULL),
	PLAIN("data_source", APR_TEXT, APR_NULL),
	PLAIN("data_license", APR_TEXT, APR_NULL),
	PLAIN("version", APR_TEXT, APR_SKIP),
	PLAIN("source", APR_TEXT, APR_SKIP),
	PLAIN("original_format", APR_TEXT, APR_SKIP),
	PLAIN("created_at", APR_TEXT, APR_SKIP),
	PLAIN("total_size", APR_U64, APR_ZERO),
	PLAIN("param_count", APR_U64, APR_ZERO),
	OBJECT("quantization", quantization, 4),
	OBJECT("sharding", sharding, 4),
	PLAIN("chat_template", APR_TEXT, APR_SKIP),
	PLAIN("chat_format", APR_TEXT, APR_SKIP),
	OBJECT("special_tokens", tokens, 0),
	PLAIN("architecture", APR_TEXT, APR_SKIP),
	PLAIN("hf_architecture", APR_TEXT, APR_SKIP),
	PLAIN("hf_model_type", APR_TEXT, APR_SKIP),
	PLAIN("hidden_size", APR_U64, APR_SKIP),
	PLAIN("num_layers", APR_U64, APR_SKIP),
	PLAIN("num_heads", APR_U64, APR_SKIP),
	PLAIN("num_kv_heads", APR_U64, APR_SKIP),
	PLAIN("vocab_size", APR_U64, APR_SKIP),
	PLAIN("intermediate_size", APR_U64, APR_SKIP),
	PLAIN("max_position_embeddings", APR_U64, APR_SKIP),
	PLAIN("rope_theta", APR_F32, APR_SKIP),
	PLAIN("rope_type", APR_U32, APR_SKIP),
	PLAIN("rms_norm_eps", APR_F32, APR_SKIP),
	PLAIN("head_dim", APR_U64, APR_SKIP),
	PLAIN("num_experts", APR_U64, APR_SKIP),
	PLAIN("num_experts_per_tok", APR_U64, APR_SKIP),
	PLAIN("moe_intermediate_size", APR_U64, APR_SKIP),
};

static int named(const struct apr_field *list, unsigned n, tn_view key)
{
	for (unsigned i = 0; i < n; i++)
		if (view_is(key, list[i].name))
			return (int)i;
	return -1;
}

int apr_field_named(tn_view key) { return named(apr_fields, APR_FIELDS, key); }

/* ---- Reading ---- */

static const char *read_uint(struct tn_meta *node, unsigned width)
{
	if (node->type != TN_META_UINT)
		return "is no unsigned integer";
	if (width < 64 && node->as.u >> width != 0)
		return width == 8 ? "is larger than 255" : "is larger than 4294967295";
	node->width = (uint8_t)width;
	return NULL;
}

/* A double that is what the shortest spelling of some f32 reads as. */
static bool is_f32(double v)
{
	return isfinite(v) && fabs(v) <= (double)FLT_MAX &&
	       fpclassify(f32_decimal((float)v) - v) == FP_ZERO;
}

static const char *read_f32(struct tn_meta *node)
{
	if (node->type == TN_META_UINT || node->type == TN_META_INT)
		return NULL;
	if (node->type != TN_META_FLOAT)
		return "is no number";
	double v = f64_of(node->as.f_bits);
	if (is_f32(v)) {
		node->as.f_bits = f64_bits((double)(float)v);
		node->width = 32;
	}
	return NULL;
}

/* An object may be written as an array of its parts in their order. */
static const char *name_items(const struct apr_field *f, struct tn_meta *node)
{
	uint64_t n = tn_meta_count(node);
	if (n > f->n_parts || n < f->least)
		return "is an array of another length than it has parts";
	node->type = TN_META_MAP;
	unsigned i = 0;
	for (struct tn_meta *kid = node->as.kids.first; kid != NULL; kid = kid->next)
		kid->key = tn_text(f->parts[i++].name);
	return NULL;
}

static const char *read_part(const struct apr_field *f, struct tn_meta *object,
                             struct tn_meta *sorted, struct arena *a)
{
	struct tn_meta *part = meta_find(object, tn_text(f->name));
	bool absent = part == NULL || (part->type == TN_META_NULL && f->absent == APR_NULL);
	const char *why = absent ? NULL : apr_field_read(f, part, a);
	if (part == NULL)
		return f->absent == APR_NEEDED ? "lacks a part that it must have" : NULL;
	tn_view key = part->key;
	meta_remove(object, key);
	if (!absent && why == NULL)
		meta_append(sorted, key, part);
	return why != NULL ? "has a part of another type" : NULL;
}

/* The parts in their order, then whatever else is there. */
static const char *read_object(const struct apr_field *f, struct tn_meta *node, struct arena *a)
{
	const char *why = node->type == TN_META_ARRAY ? name_items(f, node) : NULL;
	if (why != NULL)
		return why;
	if (node->type != TN_META_MAP)
		return "is no object";
	struct tn_meta sorted = { .type = TN_META_MAP };
	for (unsigned i = 0; i < f->n_parts; i++)
		if ((why = read_part(&f->parts[i], node, &sorted, a)) != NULL)
			return why;
	for (struct tn_meta *kid = node->as.kids.first, *next; kid != NULL; kid = next) {
		next = kid->next;
		meta_append(&sorted, kid->key, kid);
	}
	node->as = sorted.as;
	return NULL;
}

const char *apr_field_read(const struct apr_field *f, struct tn_meta *node, struct arena *a)
{
	switch (f->kind) {
	case APR_TEXT:   return node->type == TN_META_STRING ? NULL : "is no string";
	case APR_BOOL:   return node->type == TN_META_BOOL ? NULL : "is no boolean";
	case APR_U8:     return read_uint(node, 8);
	case APR_U32:    return read_uint(node, 32);
	case APR_U64:    return read_uint(node, 64);
	case APR_F32:    return read_f32(node);
	case APR_OBJECT: return read_object(f, node, a);
	}
	return NULL;
}

bool apr_field_is_default(const struct apr_field *f, const struct tn_meta *node)
{
	return (f->absent == APR_EMPTY && node->type == TN_META_STRING && node->as.s.len == 0) ||
	       (f->absent == APR_ZERO && node->type == TN_META_UINT && node->as.u == 0);
}

/* ---- Checking ---- */

static bool takes_uint(const struct tn_meta *node, unsigned width, bool *keeps)
{
	uint64_t v;
	if ((node->type != TN_META_UINT && node->type != TN_META_INT) || !tn_meta_u64(node, &v))
		return false;
	*keeps = node->type == TN_META_UINT && node->width == width;
	return width == 64 || v >> width == 0;
}

static bool takes_f32(const struct tn_meta *node, bool *keeps)
{
	double v;
	if (node->type == TN_META_UINT || node->type == TN_META_INT) {
		*keeps = json_tree_keeps(node);
		return true;
	}
	if (node->type != TN_META_FLOAT || !isfinite(v = f64_of(node->as.f_bits)))
		return false;
	*keeps = node->width == 32 || (node->width == 64 && !is_f32(v));
	return true;
}

/* The parts must stand as the reader has them: in their order, before anything else. */
static bool takes_object(const struct apr_field *f, const struct tn_meta *node, bool *keeps)
{
	if (node->type != TN_META_MAP)
		return false;
	unsigned next = 0;
	bool others = false;
	*keeps = true;
	for (const struct tn_meta *kid = node->as.kids.first; kid != NULL; kid = kid->next) {
		int at = named(f->parts, f->n_parts, kid->key);
		bool kept = true;
		if (at < 0 && !utf8_ok(kid->key))
			return false;
		if (at >= 0 && (others || (unsigned)at < next ||
		                !apr_field_takes(&f->parts[at], kid, &kept)))
			return false;
		for (; at >= 0 && next < (unsigned)at; next++)
			if (f->parts[next].absent == APR_NEEDED)
				return false;
		others = others || at < 0;
		next = at < 0 ? next : (unsigned)at + 1;
		*keeps = *keeps && (at < 0 ? json_tree_keeps(kid) : kept);
	}
	for (; next < f->n_parts; next++)
		if (f->parts[next].absent == APR_NEEDED)
			return false;
	return true;
}

bool apr_field_takes(const struct apr_field *f, const struct tn_meta *node, bool *keeps)
{
	*keeps = true;
	if (apr_field_is_default(f, node))
		return false;
	switch (f->kind) {
	case APR_TEXT:   return node->type == TN_META_STRING && utf8_ok(node->as.s);
	case APR_BOOL:   return node->type == TN_META_BOOL;
	case APR_U8:     return takes_uint(node, 8, keeps);
	case APR_U32:    return takes_uint(node, 32, keeps);
	case APR_U64:    return takes_uint(node, 64, keeps);
	case APR_F32:    return takes_f32(node, keeps);
	case APR_OBJECT: return takes_object(f, node, keeps);
	}
	return false;
}

/* ---- Printing ---- */

static void put_object(struct buf *out, const struct apr_field *f, const struct tn_meta *node)
{
	const char *comma = "{";
	for (unsigned i = 0; i < f->n_parts; i++, comma = ",") {
		buf_printf(out, "%s\"%s\":", comma, f->parts[i].name);
		apr_field_put(out, &f->parts[i], meta_find(node, tn_text(f->parts[i].name)));
	}
	for (const struct tn_meta *kid = node->as.kids.first; kid != NULL; kid = kid->next) {
		if (named(f->parts, f->n_parts, kid->key) >= 0)
			continue;
		buf_byte(out, ',');
		json_put_string(out, kid->key);
		buf_byte(out, ':');
		json_tree_put(out, kid);
	}
	buf_byte(out, '}');
}

static const char *absent_text(enum apr_absent absent)
{
	return absent == APR_EMPTY ? "\"\"" : absent == APR_ZERO ? "0" : "null";
}

void apr_field_put(struct buf *out, const struct apr_field *f, const struct tn_meta *node)
{
	char text[NUMTEXT];
	if (node == NULL)
		buf_text(out, absent_text(f->absent));
	else if (f->kind == APR_F32 && node->type == TN_META_FLOAT && node->width == 32)
		buf_put(out, text, f32_text((float)f64_of(node->as.f_bits), text));
	else if (f->kind == APR_OBJECT)
		put_object(out, f, node);
	else
		json_tree_put(out, node);
}
