/* write_pairs.c - a model's metadata as GGUF's pairs, in the model's order.
 *
 * Numbers, booleans, strings and arrays of these have types of their own. What GGUF lacks (null,
 * byte strings, maps, mixed and nested arrays) is written as people read it, as a string, and comes
 * back from the envelope; so does what the pair does not tell, that a number had no width. */
#include "format/gguf/write.h"

#include "base/bytes.h"
#include "base/num.h"

void gout_number(struct gout *o, uint64_t v, unsigned width)
{
	uint8_t bytes[8];
	if (o->big)
		put_be64(bytes, v << (64 - width));
	else
		put_le64(bytes, v);
	buf_put(&o->b, bytes, width / 8);
}

void gout_string(struct gout *o, tn_view v)
{
	gout_number(o, v.len, 64);
	buf_view(&o->b, v);
}

/* ---- Which type a value gets ---- */

/* A number of unknown width gets the type that llama.cpp asks for most, where it fits. */
static enum gguf_value number_type(const struct tn_meta *node)
{
	unsigned width = node->width;
	if (width == 0 && node->type == TN_META_UINT)
		width = node->as.u <= UINT32_MAX ? 32 : 64;
	if (width == 0 && node->type == TN_META_INT)
		width = node->as.i >= INT32_MIN && node->as.i <= INT32_MAX ? 32 : 64;
	return gguf_value_of((tn_meta_type)node->type, width != 0 ? width : 64);
}

/* GGUF_VALUES: it has none. */
static enum gguf_value value_type(const struct tn_meta *node)
{
	tn_meta_type kind;
	unsigned width;
	switch ((tn_meta_type)node->type) {
	case TN_META_BOOL:   return VALUE_BOOL;
	case TN_META_STRING: return VALUE_STRING;
	case TN_META_INT:
	case TN_META_UINT:
	case TN_META_FLOAT:  return number_type(node);
	case TN_META_ARRAY:  return meta_uniform(node, &kind, &width) ? VALUE_ARRAY : GGUF_VALUES;
	default:             return GGUF_VALUES;
	}
}

/* ---- Collecting ---- */

static bool too_large(const struct tn_meta *node)
{
	return (node->type == TN_META_STRING && node->as.s.len > GGUF_STRING_MAX) ||
	       tn_meta_count(node) > GGUF_ARRAY_MAX;
}

/* The alignment stands there as a u32, whatever integer the model has of it. */
static bool is_retyped(const struct writing *w, const struct tn_meta *node)
{
	uint64_t v;
	bool is_u32 = node->type == TN_META_UINT && node->width == 32;
	return view_is(node->key, ALIGNMENT_KEY) && !is_u32 && node->type != TN_META_FLOAT && tn_meta_u64(node, &v) &&
	       v == w->align;
}

/* A value of people's own under the name that room for edits has: it would be taken for that room, or stand beside it. */
static bool is_like_slack(const struct writing *w, const struct tn_meta *node)
{
	return view_is(node->key, SLACK_KEY) &&
	       (!w->job->rewrite || node->type == TN_META_ARRAY || w->job->slack != 0 || w->job->fit != 0 ||
	        gguf_own(w->m->native, NATIVE_SLACK) != NULL);
}

static tn_code add_node(struct writing *w, const struct tn_meta *node)
{
	struct pair p = { .key = node->key, .node = node };
	enum gguf_value type = value_type(node);
	bool is_number = node->type == TN_META_UINT || node->type == TN_META_INT ||
	                 node->type == TN_META_FLOAT;
	if (node->key.len == 0 || node->key.len > GGUF_KEY_MAX || is_like_slack(w, node)) {
		envelope_hidden(&w->env, node);
		w->env.keep_metadata_order = true;
		return TN_OK;
	}
	if (too_large(node)) {
		job_lossy(w->job, NO_TENSOR, GGUF ": metadata '%s' is larger than readers accept",
		          ESC(node->key));
		return TN_OK;
	}
	if (type == GGUF_VALUES || (is_number && node->width == 0) || is_retyped(w, node))
		envelope_value(&w->env, node);
	if (type == GGUF_VALUES) {
		p.node = NULL;
		p.text = envelope_plain(w->job->mem, node);
		if (p.text.ptr == NULL)
			return arena_err(w->job->mem, w->job->err, GGUF ": metadata");
	}
	w->pairs[w->n_pairs++] = p;
	return TN_OK;
}

static tn_view pair_key_at(const void *pairs, uint64_t i)
{
	const struct pair *p = pairs;
	return p[i].key;
}

/* Of two of one name the later one is kept: readers refuse both. */
static tn_code drop_repeated(struct writing *w)
{
	struct strmap keys;
	uint64_t n = 0, other;
	if (!strmap_init(&keys, w->job->mem, w->n_pairs))
		return arena_err(w->job->mem, w->job->err, GGUF ": metadata");
	for (uint64_t i = 0; i < w->n_pairs; i++) {
		w->pairs[n] = w->pairs[i];
		if (strmap_add(&keys, pair_key_at, w->pairs, n, &other)) {
			n++;
			continue;
		}
		job_lossy(w->job, NO_TENSOR,
		          GGUF ": metadata '%s' stands there twice, the first is left out",
		          ESC(w->pairs[n].key));
		w->pairs[other] = w->pairs[n];
	}
	w->n_pairs = n;
	return TN_OK;
}

/* The alignment that the file is laid out with replaces the model's own pair, in its place. */
static void set_alignment(struct writing *w)
{
	uint64_t i = 0;
	if (w->align_node == NULL)
		return;
	while (i < w->n_pairs && !view_is(w->pairs[i].key, ALIGNMENT_KEY))
		i++;
	w->pairs[i] = (struct pair){ .key = VIEW(ALIGNMENT_KEY), .node = w->align_node };
	w->n_pairs = i == w->n_pairs ? i + 1 : w->n_pairs;
}

tn_code gguf_collect_pairs(struct writing *w)
{
	enum { OWN = 2 }; /* the alignment and the envelope */
	const struct tn_meta *root = w->m->metadata;
	w->pairs = arena_raw(w->job->mem, root->as.kids.n + OWN, sizeof *w->pairs);
	if (w->pairs == NULL)
		return arena_err(w->job->mem, w->job->err, GGUF ": metadata");
	for (const struct tn_meta *node = root->as.kids.first; node != NULL; node = node->next)
		if (add_node(w, node) != TN_OK)
			return w->job->err->code;
	for (const struct tn_meta *native = w->m->native->as.kids.first; native != NULL;
	     native = native->next)
		if (!view_is(native->key, GGUF))
			envelope_native(&w->env, native);
	if (drop_repeated(w) != TN_OK)
		return w->job->err->code;
	set_alignment(w);
	return TN_OK;
}

/* ---- The envelope ---- */

static void drop_pair(struct writing *w, tn_view key)
{
	for (uint64_t i = 0; i < w->n_pairs; i++) {
		if (!view_eq(w->pairs[i].key, key))
			continue;
		w->n_pairs--;
		for (; i < w->n_pairs; i++)
			w->pairs[i] = w->pairs[i + 1];
	}
}

tn_code gguf_add_envelope(struct writing *w)
{
	tn_view text;
	if (job_hide_namesake(w->job, &w->env, VIEW(ENVELOPE_KEY)))
		drop_pair(w, VIEW(ENVELOPE_KEY));
	if (job_envelope(w->job, &w->env, GGUF, &text) != TN_OK)
		return w->job->err->code;
	if (text.len == 0)
		return TN_OK;
	w->pairs[w->n_pairs++] = (struct pair){ .key = VIEW(ENVELOPE_KEY), .text = text };
	return TN_OK;
}

/* ---- Printing ---- */

static void put_scalar(struct gout *o, const struct tn_meta *node, enum gguf_value type)
{
	unsigned width = gguf_values[type].width;
	uint64_t mask = width < 64 ? (UINT64_C(1) << width) - 1 : UINT64_MAX;
	switch ((tn_meta_type)node->type) {
	case TN_META_BOOL:  gout_number(o, node->as.b, width); break;
	case TN_META_INT:   gout_number(o, (uint64_t)node->as.i & mask, width); break;
	case TN_META_UINT:  gout_number(o, node->as.u, width); break;
	case TN_META_FLOAT: gout_number(o, width == 32 ? f32_narrow(node->as.f_bits)
	                                : node->as.f_bits, width); break;
	default:            gout_string(o, node->as.s); break;
	}
}

/* Items that are in the form of the file already; booleans are not, they may be any byte. */
static bool is_verbatim(const struct gout *o, const struct meta_raw *raw)
{
	if (raw->kind == TN_META_BOOL || (raw->kind == TN_META_STRING && raw->width != 64))
		return false;
	return raw->big_endian == o->big || (raw->width == 8 && raw->kind != TN_META_STRING);
}

static void put_array(struct gout *o, const struct tn_meta *node)
{
	tn_meta_type kind = TN_META_STRING;
	unsigned width = 0;
	meta_uniform(node, &kind, &width);
	enum gguf_value type = gguf_value_of(kind, kind == TN_META_BOOL ? 8 : width);
	gout_number(o, type, 32);
	gout_number(o, tn_meta_count(node), 64);
	if (node->is_raw && is_verbatim(o, node->as.packed.raw)) {
		buf_put(&o->b, node->as.packed.raw->bytes, (size_t)node->as.packed.raw->len);
		return;
	}
	tn_meta_iter it = tn_meta_items(node);
	for (const tn_meta *item; (item = tn_meta_next(&it)) != NULL; )
		put_scalar(o, item, type);
}

static void put_pair(struct gout *o, const struct pair *p)
{
	enum gguf_value type = p->node != NULL ? value_type(p->node) : VALUE_STRING;
	gout_string(o, p->key);
	gout_number(o, type, 32);
	if (p->node == NULL)
		gout_string(o, p->text);
	else if (type == VALUE_ARRAY)
		put_array(o, p->node);
	else
		put_scalar(o, p->node, type);
}

void gguf_put_pairs(const struct writing *w, struct gout *o)
{
	for (uint64_t i = 0; i < w->n_pairs; i++)
		put_pair(o, &w->pairs[i]);
}
