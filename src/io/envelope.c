/* envelope.c - collecting and printing what a target has no place for. envelope_read.c is its twin. */
#include "io/envelope.h"

#include "base/bytes.h"
#include "base/numtext.h"
#include "base/utf8.h"
#include "io/typed_json.h"

#include <math.h>
#include <string.h>

void envelope_init(struct envelope *e, struct arena *mem, const struct model *m)
{
	*e = (struct envelope){ .mem = mem, .model = m };
}

/* ---- Collecting ---- */

static void no_memory(struct envelope *e)
{
	e->over = e->failed ? e->over : e->mem->over;
	e->failed = true;
}

static void push(struct envelope *e, const struct tn_meta ***list, uint64_t *n, uint64_t *cap, const struct tn_meta *node)
{
	if (*n == *cap) {
		uint64_t more = *cap != 0 ? 2 * *cap : 16;
		const struct tn_meta **grown = arena_raw(e->mem, more, sizeof *grown);
		if (grown == NULL) {
			no_memory(e);
			return;
		}
		copy_bytes(grown, *list, (size_t)*n * sizeof *grown);
		*list = grown;
		*cap = more;
	}
	(*list)[(*n)++] = node;
}

void envelope_value(struct envelope *e, const struct tn_meta *node)
{
	push(e, &e->values, &e->n_values, &e->cap_values, node);
}

void envelope_hidden(struct envelope *e, const struct tn_meta *node)
{
	push(e, &e->hidden, &e->n_hidden, &e->cap_hidden, node);
}

void envelope_hide_shown(struct envelope *e, const struct tn_meta *node)
{
	uint64_t kept = 0;
	for (uint64_t i = 0; i < e->n_values; i++)
		if (e->values[i] != node)
			e->values[kept++] = e->values[i];
	e->n_values = kept;
	e->keep_metadata_order = true;
	envelope_hidden(e, node);
}

void envelope_derived(struct envelope *e, const struct tn_meta *node)
{
	push(e, &e->derived, &e->n_derived, &e->cap_derived, node);
}

void envelope_native(struct envelope *e, const struct tn_meta *subtree)
{
	push(e, &e->native, &e->n_native, &e->cap_native, subtree);
}

void envelope_tensor(struct envelope *e, uint64_t i, unsigned bits)
{
	if (e->bits == NULL)
		e->bits = ARENA_NEW(e->mem, e->model->n, uint8_t);
	if (e->bits == NULL)
		no_memory(e);
	else
		e->bits[i] |= (uint8_t)bits;
}

bool envelope_empty(const struct envelope *e)
{
	return e->n_values == 0 && e->n_hidden == 0 && e->n_derived == 0 && e->n_native == 0 && e->bits == NULL &&
	       e->order == NULL &&
	       !e->keep_metadata_order && !e->failed;
}

/* ---- Printing ---- */

static void member(struct buf *out, const char *name)
{
	buf_printf(out, ",\"%s\":", name);
}

static void put_nodes(struct buf *out, const char *name, const struct tn_meta *const *list, uint64_t n)
{
	if (n == 0)
		return;
	member(out, name);
	for (uint64_t i = 0; i < n; i++) {
		buf_byte(out, i == 0 ? '{' : ',');
		json_put_lossy(out, list[i]->key);
		buf_byte(out, ':');
		typed_json_put(out, list[i]);
	}
	buf_byte(out, '}');
}

static void put_metadata_order(struct buf *out, const struct envelope *e)
{
	if (!e->keep_metadata_order)
		return;
	const char *comma = "";
	member(out, "metadata_order");
	buf_byte(out, '[');
	for (const struct tn_meta *node = e->model->metadata->as.kids.first; node != NULL; node = node->next, comma = ",") {
		buf_text(out, comma);
		json_put_lossy(out, node->key);
	}
	buf_byte(out, ']');
}

static void put_order(struct buf *out, const struct envelope *e)
{
	if (e->order == NULL)
		return;
	member(out, "order");
	for (uint64_t i = 0; i < e->model->n; i++) {
		buf_byte(out, i == 0 ? '[' : ',');
		json_put_uint(out, e->order[i]);
	}
	buf_byte(out, ']');
}

static void put_shape(struct buf *out, const struct tensor *t)
{
	buf_text(out, "\"shape\":[");
	for (uint32_t d = 0; d < t->rank; d++) {
		if (d != 0)
			buf_byte(out, ',');
		json_put_uint(out, t->shape[d]);
	}
	buf_byte(out, ']');
}

static void put_dtype(struct buf *out, const struct tensor *t)
{
	buf_printf(out, "\"dtype\":\"%s\"", dtype_info(t->dtype)->name);
	if (t->dtype != TN_OPAQUE)
		return;
	buf_text(out, ",\"dtype_text\":");
	json_put_lossy(out, t->dtype_text);
}

static void put_tensor(struct buf *out, const struct tensor *t, unsigned bits)
{
	json_put_lossy(out, t->name);
	buf_text(out, ":{");
	if (bits & ENV_DTYPE)
		put_dtype(out, t);
	if (bits & ENV_SHAPE) {
		if (bits & ENV_DTYPE)
			buf_byte(out, ',');
		put_shape(out, t);
	}
	if (bits & ENV_EXTRAS) {
		buf_text(out, bits & (ENV_DTYPE | ENV_SHAPE) ? ",\"extras\":" : "\"extras\":");
		typed_json_put(out, t->extras);
	}
	buf_byte(out, '}');
}

static void put_tensors(struct buf *out, const struct envelope *e)
{
	if (e->bits == NULL)
		return;
	char sep = '{';
	member(out, "tensors");
	for (uint64_t i = 0; i < e->model->n; i++) {
		if (e->bits[i] == 0)
			continue;
		buf_byte(out, (uint8_t)sep);
		put_tensor(out, &e->model->tensors[i], e->bits[i]);
		sep = ',';
	}
	buf_byte(out, '}');
}

tn_code envelope_print(const struct envelope *e, tn_view *out, tn_error *err)
{
	struct buf b;
	buf_init(&b, e->mem->budget);
	buf_text(&b, "{\"tenon\":1");
	put_nodes(&b, "derived", e->derived, e->n_derived);
	put_nodes(&b, "metadata", e->values, e->n_values);
	put_nodes(&b, "hidden", e->hidden, e->n_hidden);
	put_metadata_order(&b, e);
	put_order(&b, e);
	put_tensors(&b, e);
	put_nodes(&b, "native", e->native, e->n_native);
	buf_byte(&b, '}');
	if (e->failed) {
		b.failed = true;
		b.over = e->over;
	}
	tn_view text = buf_done(&b, e->mem);
	if (text.ptr == NULL)
		return arena_err(e->mem, err, "the envelope");
	*out = text;
	return TN_OK;
}

/* ---- Losses ---- */

struct losses {
	const char       *target, *why; /* why: empty, or what ends the sentence */
	tn_severity       severity;
	struct tn_report *r;
};

static void node_lost(const struct losses *l, const struct tn_meta *node, const char *what)
{
	report_add(l->r, l->severity, TN_E_LOSSY, TN_NO_OFFSET, NO_TENSOR, "%s: metadata '%s' %s%s", l->target, ESC(node->key),
	           what, l->why);
}

static void native_lost(const struct losses *l, const struct tn_meta *subtree)
{
	report_add(l->r, l->severity, TN_E_LOSSY, TN_NO_OFFSET, NO_TENSOR, "%s: what %s alone knows has no place%s", l->target,
	           ESC(subtree->key), l->why);
}

static void tensor_lost(const struct losses *l, const struct tensor *t, unsigned bits)
{
	if (bits & ENV_DTYPE)
		report_add(l->r, l->severity, TN_E_LOSSY, TN_NO_OFFSET, t->name, "%s: the dtype %s of this tensor has no place%s",
		           l->target, dtype_info(t->dtype)->name, l->why);
	if (bits & ENV_SHAPE)
		report_add(l->r, l->severity, TN_E_LOSSY, TN_NO_OFFSET, t->name, "%s: the shape of this tensor has no place%s",
		           l->target, l->why);
	if (!(bits & ENV_EXTRAS))
		return;
	for (const struct tn_meta *x = t->extras->as.kids.first; x != NULL; x = x->next)
		report_add(l->r, l->severity, TN_E_LOSSY, TN_NO_OFFSET, t->name, "%s: '%s' of this tensor has no place%s", l->target,
		           ESC(x->key), l->why);
}

static const char to_text[] = "becomes plain text", no_place[] = "has no place";

void envelope_report_lost(const struct envelope *e, const char *target, tn_severity severity, struct tn_report *r)
{
	const struct losses l = { target, "", severity, r };
	for (uint64_t i = 0; i < e->n_values; i++)
		node_lost(&l, e->values[i], to_text);
	for (uint64_t i = 0; i < e->n_hidden; i++)
		node_lost(&l, e->hidden[i], no_place);
	if (e->keep_metadata_order)
		report_add(r, severity, TN_E_LOSSY, TN_NO_OFFSET, NO_TENSOR, "%s: the order of metadata keys has no place", target);
	if (e->order != NULL)
		report_add(r, severity, TN_E_LOSSY, TN_NO_OFFSET, NO_TENSOR, "%s: the order of tensors has no place", target);
	for (uint64_t i = 0; e->bits != NULL && i < e->model->n; i++)
		tensor_lost(&l, &e->model->tensors[i], e->bits[i]);
	for (uint64_t i = 0; i < e->n_native; i++)
		native_lost(&l, e->native[i]);
}

/* ---- What JSON cannot name ---- */

/* Values can be spelled whatever they are, keys only where they are UTF-8. */
static bool can_be_named(const struct tn_meta *node)
{
	if (!utf8_ok(node->key))
		return false;
	tn_meta_iter it = tn_meta_items(node);
	for (const tn_meta *item; (item = tn_meta_next(&it)) != NULL; )
		if (!can_be_named(item))
			return false;
	return true;
}

static void drop_nodes(const struct losses *l, const struct tn_meta **list, uint64_t *n, const char *what)
{
	uint64_t kept = 0;
	for (uint64_t i = 0; i < *n; i++) {
		if (can_be_named(list[i]))
			list[kept++] = list[i];
		else if (what != NULL)
			node_lost(l, list[i], what);
		else
			native_lost(l, list[i]);
	}
	*n = kept;
}

static void drop_tensors(const struct losses *l, struct envelope *e)
{
	bool any = false;
	for (uint64_t i = 0; i < e->model->n; i++) {
		const struct tensor *t = &e->model->tensors[i];
		unsigned lost = !utf8_ok(t->name) ? e->bits[i] : e->bits[i] & ENV_EXTRAS && !can_be_named(t->extras) ? ENV_EXTRAS : 0;
		tensor_lost(l, t, lost);
		e->bits[i] &= (uint8_t)~lost;
		any = any || e->bits[i] != 0;
	}
	if (!any)
		e->bits = NULL;
}

void envelope_drop_unnamed(struct envelope *e, const char *target, tn_severity severity, struct tn_report *r)
{
	const struct losses l = { target, ": a name that is no UTF-8 cannot stand in the envelope", severity, r };
	drop_nodes(&l, e->values, &e->n_values, to_text);
	drop_nodes(&l, e->hidden, &e->n_hidden, no_place);
	drop_nodes(&l, e->derived, &e->n_derived, to_text);
	drop_nodes(&l, e->native, &e->n_native, NULL);
	if (e->bits != NULL)
		drop_tensors(&l, e);
}

/* ---- Plain forms ---- */

static void plain_real(struct buf *out, const struct tn_meta *node)
{
	char text[NUMTEXT];
	double v = f64_of(node->as.f_bits);
	if (isfinite(v))
		buf_put(out, text, node->width == 32 ? f32_text((float)v, text) : f64_text(v, text));
	else
		buf_text(out, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
}

static void plain(struct buf *out, const struct tn_meta *node, bool nested);

static void plain_items(struct buf *out, const struct tn_meta *node)
{
	bool map = node->type == TN_META_MAP;
	tn_meta_iter it = tn_meta_items(node);
	const char *comma = "";
	buf_byte(out, map ? '{' : '[');
	for (const tn_meta *item; (item = tn_meta_next(&it)) != NULL; comma = ",") {
		buf_text(out, comma);
		if (map) {
			json_put_lossy(out, item->key);
			buf_byte(out, ':');
		}
		plain(out, item, true);
	}
	buf_byte(out, map ? '}' : ']');
}

/* Text that is no UTF-8 is shown as json_put_lossy shows it, without the quotes. */
static void plain_text(struct buf *out, tn_view v, bool nested)
{
	if (nested) {
		json_put_lossy(out, v);
		return;
	}
	for (size_t at = 0; at < v.len; ) {
		size_t good = utf8_span((tn_view){ v.ptr + at, v.len - at });
		buf_put(out, v.ptr + at, good);
		at += good;
		if (at < v.len)
			buf_printf(out, "\\x%02x", v.ptr[at++]);
	}
}

static void plain_bytes(struct buf *out, tn_view v, bool nested)
{
	if (nested)
		buf_byte(out, '"');
	for (size_t i = 0; i < v.len; i++)
		buf_printf(out, "%02x", v.ptr[i]);
	if (nested)
		buf_byte(out, '"');
}

static void plain(struct buf *out, const struct tn_meta *node, bool nested)
{
	switch ((tn_meta_type)node->type) {
	case TN_META_NULL:   buf_text(out, "null"); break;
	case TN_META_BOOL:   buf_text(out, node->as.b ? "true" : "false"); break;
	case TN_META_INT:    json_put_int(out, node->as.i); break;
	case TN_META_UINT:   json_put_uint(out, node->as.u); break;
	case TN_META_FLOAT:  plain_real(out, node); break;
	case TN_META_STRING: plain_text(out, node->as.s, nested); break;
	case TN_META_BYTES:  plain_bytes(out, node->as.s, nested); break;
	case TN_META_ARRAY:
	case TN_META_MAP:    plain_items(out, node); break;
	}
}

tn_view envelope_plain(struct arena *a, const struct tn_meta *node)
{
	if (node->type == TN_META_STRING && utf8_ok(node->as.s))
		return node->as.s.ptr != NULL ? node->as.s : VIEW("");
	struct buf b;
	buf_init(&b, a->budget);
	plain(&b, node, false);
	return buf_done(&b, a);
}
