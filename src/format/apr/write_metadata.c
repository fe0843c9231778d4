/* write_metadata.c - a model's metadata as APR's: the typed fields in their order, then all else
 * under keys of its own, sorted unless the file had them in another order before.
 *
 * A value under a typed field's name that upstream would not read there is hidden in the
 * envelope; a custom value that JSON cannot spell stands there as near as it comes, and its
 * exact form in the envelope. */
#include "format/apr/write.h"

#include "base/utf8.h"
#include "io/json_tree.h"

#include <stdlib.h>

struct metadata {
	struct apr_writing    *w;
	const struct tn_meta  *fields[APR_FIELDS];
	bool                   inexact[APR_FIELDS]; /* read back it is another node */
	bool                   nulls[APR_FIELDS]; /* spelled out though there is no value */
	const struct tn_meta **custom;
	uint64_t               n, n_hidden;
	struct tn_meta         envelope;          /* in place of a node of the model */
};

static tn_code no_memory(struct metadata *m)
{
	return arena_err(m->w->job->mem, m->w->job->err, "apr: metadata");
}

/* ---- Collecting ---- */

static void collect_field(struct metadata *m, const struct tn_meta *node, int at)
{
	bool keeps;
	if (!apr_field_takes(&apr_fields[at], node, &keeps)) {
		envelope_hidden(&m->w->env, node);
		m->n_hidden++;
		if (!apr_field_is_default(&apr_fields[at], node))
			report_add(m->w->job->report, TN_WARNING, TN_E_UNSUPPORTED, TN_NO_OFFSET,
			           NO_TENSOR,
			           "apr: metadata '%s' is not of the type that this field has: "
			           "only the envelope holds it",
			           apr_fields[at].name);
		return;
	}
	m->fields[at] = node;
	m->inexact[at] = !keeps;
}

static tn_code collect(struct metadata *m, const struct tn_meta *node)
{
	struct plan_job *job = m->w->job;
	if (!utf8_ok(node->key)) {
		job_lossy(job, NO_TENSOR, "apr: metadata key '%s' is no UTF-8", ESC(node->key));
		return TN_OK;
	}
	if (!json_tree_within(node, APR_NESTING - 1))
		return err_set(job->err, TN_E_LIMIT, TN_NO_OFFSET,
		               "apr: metadata '%s' is nested deeper than %d", ESC(node->key),
		               APR_NESTING);
	int at = apr_field_named(node->key);
	if (at >= 0) {
		collect_field(m, node, at);
		return TN_OK;
	}
	m->custom[m->n++] = node;
	return TN_OK;
}

static void collect_nulls(struct metadata *m)
{
	const struct tn_meta *list = apr_native(m->w->job->model, APR_NATIVE_NULLS);
	tn_meta_iter it = tn_meta_items(list);
	tn_view name;
	for (const tn_meta *item;
	     tn_meta_kind(list) == TN_META_ARRAY && (item = tn_meta_next(&it)) != NULL;) {
		int at = tn_meta_string(item, &name) ? apr_field_named(name) : -1;
		if (at >= 0)
			m->nulls[at] = apr_fields[at].absent == APR_SKIP;
	}
}

static tn_code collect_all(struct metadata *m)
{
	const struct tn_meta *root = m->w->job->model->metadata;
	enum { OWN = 2 }; /* the envelope, and a word on compression */
	m->custom = arena_raw(m->w->job->mem, tn_meta_count(root) + OWN, sizeof *m->custom);
	if (m->custom == NULL)
		return no_memory(m);
	for (const struct tn_meta *node = root->as.kids.first; node != NULL; node = node->next)
		if (collect(m, node) != TN_OK)
			return m->w->job->err->code;
	for (const struct tn_meta *sub = m->w->job->model->native->as.kids.first; sub != NULL;
	     sub = sub->next)
		if (!view_is(sub->key, "apr"))
			envelope_native(&m->w->env, sub);
	collect_nulls(m);
	return TN_OK;
}

/* ---- Order ---- */

static int by_key(const void *a, const void *b)
{
	const struct tn_meta *const *x = a, *const *y = b;
	return view_cmp((*x)->key, (*y)->key);
}

static bool keeps_keys(const struct metadata *m)
{
	const struct tn_meta *unsorted = apr_native(m->w->job->model, APR_NATIVE_UNSORTED);
	return unsorted != NULL && unsorted->type == TN_META_BOOL && unsorted->as.b;
}

/* Read back, fields come first, then the others, then what was hidden. Is that the order of the
 * model? */
static bool keeps_order(const struct metadata *m)
{
	const struct tn_meta *node = m->w->job->model->metadata->as.kids.first;
	for (unsigned i = 0; i < APR_FIELDS; i++) {
		if (m->fields[i] == NULL)
			continue;
		if (node != m->fields[i])
			return false;
		node = node->next;
	}
	for (uint64_t i = 0; i < m->n; i++, node = node->next)
		if (node != m->custom[i])
			return false;
	uint64_t left = 0;
	for (; node != NULL; node = node->next)
		left++;
	return left == m->n_hidden;
}

static void sort(struct metadata *m)
{
	if (!keeps_keys(m) && m->n > 1)
		qsort(m->custom, (size_t)m->n, sizeof *m->custom, by_key);
}

/* ---- The envelope ---- */

/* In the order of the file, so that a file that is written again has the same envelope. */
static void collect_values(struct metadata *m)
{
	for (unsigned i = 0; i < APR_FIELDS; i++)
		if (m->inexact[i])
			envelope_value(&m->w->env, m->fields[i]);
	for (uint64_t i = 0; i < m->n; i++)
		if (!json_tree_keeps(m->custom[i]))
			envelope_value(&m->w->env, m->custom[i]);
}

static void drop_custom(struct metadata *m, tn_view key)
{
	for (uint64_t i = 0; i < m->n; i++) {
		if (!view_eq(m->custom[i]->key, key))
			continue;
		for (m->n--; i < m->n; i++)
			m->custom[i] = m->custom[i + 1];
		return;
	}
}

static tn_code add_envelope(struct metadata *m)
{
	struct plan_job *job = m->w->job;
	tn_view text;
	if (m->w->n_packed != 0 && job_hide(job, &m->w->env, VIEW(APR_COMPRESSION_KEY)))
		drop_custom(m, VIEW(APR_COMPRESSION_KEY));
	if (job_hide_namesake(job, &m->w->env, VIEW(APR_ENVELOPE_KEY)))
		drop_custom(m, VIEW(APR_ENVELOPE_KEY));
	if (job_envelope(job, &m->w->env, "apr", &text) != TN_OK)
		return job->err->code;
	if (text.len == 0)
		return TN_OK;
	m->envelope = (struct tn_meta){ .type = TN_META_STRING, .key = VIEW(APR_ENVELOPE_KEY), .as.s = text };
	m->custom[m->n++] = &m->envelope;
	return TN_OK;
}

/* ---- Compression ---- */

static tn_code add_compression(struct metadata *m)
{
	enum { VERSION = 1 };
	struct arena *mem = m->w->job->mem;
	if (m->w->n_packed == 0)
		return TN_OK;
	tn_view codec = m->w->job->compress == TN_COMPRESS_LZ4 ? VIEW("lz4") : VIEW("zstd");
	struct tn_meta *map = meta_new(mem, TN_META_MAP);
	if (map == NULL || meta_add_uint(mem, map, VIEW("version"), VERSION, 64) == NULL ||
	    meta_add_string(mem, map, VIEW("codec"), codec) == NULL ||
	    meta_add_uint(mem, map, VIEW("block_size"), BLOCK_SIZE, 64) == NULL)
		return no_memory(m);
	map->key = VIEW(APR_COMPRESSION_KEY);
	m->custom[m->n++] = map;
	return TN_OK;
}

/* ---- Printing ---- */

static void put_key(struct buf *out, const char **comma, tn_view key)
{
	buf_text(out, *comma);
	json_put_string(out, key);
	buf_byte(out, ':');
	*comma = ",";
}

static void print(const struct metadata *m, struct buf *out)
{
	const char *comma = "{";
	for (unsigned i = 0; i < APR_FIELDS; i++) {
		const struct apr_field *f = &apr_fields[i];
		if (m->fields[i] == NULL && f->absent == APR_SKIP && !m->nulls[i])
			continue;
		put_key(out, &comma, tn_text(f->name));
		apr_field_put(out, f, m->fields[i]);
	}
	for (uint64_t i = 0; i < m->n; i++) {
		put_key(out, &comma, m->custom[i]->key);
		json_tree_put(out, m->custom[i]);
	}
	buf_byte(out, '}');
}

tn_code apr_print_metadata(struct apr_writing *w, struct buf *out)
{
	struct metadata m = { .w = w };
	if (collect_all(&m) != TN_OK)
		return w->job->err->code;
	sort(&m);
	collect_values(&m);
	/* a model made for APR knows that its keys are sorted: for the order alone it gets no
	 * envelope */
	bool worth = w->job->converted || !envelope_empty(&w->env);
	w->env.keep_metadata_order = worth && !w->job->rewrite && !keeps_order(&m);
	if (add_envelope(&m) != TN_OK || add_compression(&m) != TN_OK)
		return w->job->err->code;
	sort(&m);
	print(&m, out);
	return TN_OK;
}
