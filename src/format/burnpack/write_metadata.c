/* write_metadata.c - a model's metadata as burnpack's two maps: strings, and numbers and booleans of 64 bits.
 *
 * What is of another type is written as people read it, as a string, and its true value goes into the envelope; so
 * does the exact width of a number, and the order of keys, because the maps are always sorted. */
#include "format/burnpack/write.h"

#include "base/utf8.h"
#include "codec/cbor.h"

#include <stdlib.h>

/* ---- Collecting ---- */

static bool is_scalar(const struct tn_meta *node)
{
	return node->type == TN_META_INT || node->type == TN_META_UINT || node->type == TN_META_FLOAT ||
	       node->type == TN_META_BOOL;
}

static bool is_text(const struct tn_meta *node) { return node->type == TN_META_STRING && utf8_ok(node->as.s); }

static tn_code collect(struct writing *w, const struct tn_meta *node)
{
	struct plan_job *job = w->job;
	struct entry e = { .key = node->key, .node = node };
	if (!utf8_ok(node->key)) {
		job_lossy(job, NO_TENSOR, "burnpack: metadata '%s': a key that is not UTF-8 cannot be held", ESC(node->key));
		return TN_OK;
	}
	if (is_scalar(node)) {
		w->scalars.list[w->scalars.n++] = e;
		return TN_OK;
	}
	e.text = envelope_plain(job->mem, node);
	if (e.text.ptr == NULL)
		return arena_err(job->mem, job->err, "burnpack: metadata");
	w->strings.list[w->strings.n++] = e;
	return TN_OK;
}

/* Scalars that have the name of a string stand here in the model; NULL where there are none. What came out of an
 * envelope may be anything but a map. */
static const struct tn_meta *native_scalars(const struct model *m)
{
	const struct tn_meta *map = tn_meta_find(meta_find(m->native, VIEW("burnpack")), VIEW("scalars"));
	return tn_meta_kind(map) == TN_META_MAP ? map : NULL;
}

static tn_code collect_all(struct writing *w)
{
	struct plan_job *job = w->job;
	const struct tn_meta *root = job->model->metadata, *more = native_scalars(job->model);
	uint64_t n = tn_meta_count(root), n_more = tn_meta_count(more);
	w->strings.list = arena_raw(job->mem, n + 1, sizeof(struct entry)); /* one for the envelope */
	if (w->strings.list == NULL ||
	    (w->scalars.list = arena_raw(job->mem, n + n_more, sizeof(struct entry))) == NULL)
		return arena_err(job->mem, job->err, "burnpack: metadata");
	for (const struct tn_meta *node = root->as.kids.first; node != NULL; node = node->next)
		if (collect(w, node) != TN_OK)
			return job->err->code;
	for (const struct tn_meta *node = more != NULL ? more->as.kids.first : NULL; node != NULL; node = node->next)
		if (is_scalar(node) && utf8_ok(node->key))
			w->scalars.list[w->scalars.n++] = (struct entry){ .key = node->key, .node = node };
	return TN_OK;
}

/* ---- Order ---- */

static int by_key(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int d = view_cmp(x->key, y->key);
	return d != 0 ? d : (x->place > y->place) - (x->place < y->place);
}

/* Of two of one name the later one is kept, as upstream does in silence. */
static void sort_entries(struct writing *w, struct entry_list *l)
{
	uint64_t kept = 0;
	for (uint64_t i = 0; i < l->n; i++)
		l->list[i].place = i;
	qsort(l->list, (size_t)l->n, sizeof *l->list, by_key);
	for (uint64_t i = 0; i < l->n; i++) {
		if (kept == 0 || !view_eq(l->list[kept - 1].key, l->list[i].key)) {
			l->list[kept++] = l->list[i];
			continue;
		}
		l->list[kept - 1] = l->list[i];
		job_lossy(w->job, NO_TENSOR, "burnpack: metadata '%s' stands there twice, the first is left out",
		          ESC(l->list[i].key));
	}
	l->n = kept;
}

/* Read back, strings come first and then scalars, each by name. Is that the order of the model? */
static bool keeps_order(const struct model *m)
{
	const struct tn_meta *before = NULL;
	for (const struct tn_meta *node = m->metadata->as.kids.first; node != NULL; before = node, node = node->next) {
		if (before == NULL)
			continue;
		if (is_scalar(before) != is_scalar(node) ? is_scalar(before) : view_cmp(before->key, node->key) > 0)
			return false;
	}
	return true;
}

/* ---- The envelope ---- */

/* In the order of the file, so that a file that is written again has the same envelope. */
static void collect_values(struct writing *w)
{
	for (uint64_t i = 0; i < w->strings.n; i++)
		if (!is_text(w->strings.list[i].node))
			envelope_value(&w->env, w->strings.list[i].node);
	for (uint64_t i = 0; i < w->scalars.n; i++) {
		const struct tn_meta *node = w->scalars.list[i].node;
		if (node->type != TN_META_BOOL && node->width != 64)
			envelope_value(&w->env, node);
	}
}

static void collect_native(struct writing *w)
{
	for (const struct tn_meta *sub = w->job->model->native->as.kids.first; sub != NULL; sub = sub->next)
		if (!view_is(sub->key, "burnpack"))
			envelope_native(&w->env, sub);
}

static void drop_entry(struct entry_list *l, tn_view key)
{
	uint64_t kept = 0;
	for (uint64_t i = 0; i < l->n; i++)
		if (!view_eq(l->list[i].key, key))
			l->list[kept++] = l->list[i];
	l->n = kept;
}

static tn_code add_envelope(struct writing *w)
{
	struct plan_job *job = w->job;
	tn_view text;
	if (job_hide_namesake(job, &w->env, VIEW(ENVELOPE_KEY))) {
		drop_entry(&w->strings, VIEW(ENVELOPE_KEY));
		drop_entry(&w->scalars, VIEW(ENVELOPE_KEY));
	}
	if (job_envelope(job, &w->env, "burnpack", &text) != TN_OK)
		return job->err->code;
	if (text.len == 0)
		return TN_OK;
	w->strings.list[w->strings.n++] = (struct entry){ .key = VIEW(ENVELOPE_KEY), .text = text };
	return TN_OK;
}

tn_code pack_collect_metadata(struct writing *w)
{
	if (collect_all(w) != TN_OK)
		return w->job->err->code;
	sort_entries(w, &w->strings);
	sort_entries(w, &w->scalars);
	collect_values(w);
	collect_native(w);
	/* a model made for burnpack knows that its maps are sorted: for the order alone it gets no envelope */
	bool worth = w->job->converted || !envelope_empty(&w->env);
	w->env.keep_metadata_order = worth && !w->job->rewrite && !keeps_order(w->job->model);
	if (add_envelope(w) != TN_OK)
		return w->job->err->code;
	sort_entries(w, &w->strings);
	return TN_OK;
}

/* ---- CBOR ---- */

static void put_scalar(const struct tn_meta *node, struct buf *out)
{
	cbor_put_map(out, 1);
	switch ((tn_meta_type)node->type) {
	case TN_META_INT:
		cbor_put_text(out, VIEW("Int"));
		cbor_put_int(out, node->as.i);
		break;
	case TN_META_UINT:
		cbor_put_text(out, VIEW("UInt"));
		cbor_put_uint(out, node->as.u);
		break;
	case TN_META_FLOAT:
		cbor_put_text(out, VIEW("Float"));
		cbor_put_float(out, node->as.f_bits);
		break;
	default:
		cbor_put_text(out, VIEW("Bool"));
		cbor_put_bool(out, node->as.b);
		break;
	}
}

void pack_put_metadata(const struct writing *w, struct buf *out)
{
	if (w->strings.n != 0) {
		cbor_put_text(out, VIEW("metadata"));
		cbor_put_map(out, w->strings.n);
	}
	for (uint64_t i = 0; i < w->strings.n; i++) {
		cbor_put_text(out, w->strings.list[i].key);
		cbor_put_text(out, w->strings.list[i].text);
	}
	if (w->scalars.n != 0) {
		cbor_put_text(out, VIEW("scalars"));
		cbor_put_map(out, w->scalars.n);
	}
	for (uint64_t i = 0; i < w->scalars.n; i++) {
		cbor_put_text(out, w->scalars.list[i].key);
		put_scalar(w->scalars.list[i].node, out);
	}
}
