/* plan_stats.c - an archive's pages by size, layer, role, kind, dtype and layout, and how its tape uses them.
 *
 * A fused page is counted as the slices that it is made of, but for the sums of the whole, which are those of the page
 * table. Lists go by bytes, the most first, then by name. */
#include "format/thin/estimate.h"

#include <stdlib.h>

/* ---- Pages by size ---- */

struct sized {
	uint64_t size, page;
	tn_view  id;
};

static int by_size(const void *a, const void *b)
{
	const struct sized *x = a, *y = b;
	return x->size != y->size ? (x->size > y->size ? -1 : 1) : view_cmp(x->id, y->id);
}

const uint64_t *pages_by_size(struct estimate *e, uint64_t *n)
{
	struct sized *list = estimate_room(e, e->m->n_pages, sizeof *list);
	uint64_t *pages = estimate_room(e, e->m->n_pages, sizeof *pages);
	*n = 0;
	if (!e->ok)
		return NULL;
	for (uint64_t i = 0; i < e->m->n_pages; i++)
		if (!is_parent(&e->m->pages[i]))
			list[(*n)++] = (struct sized){ e->m->pages[i].size, i, e->m->pages[i].id };
	if (*n != 0)
		qsort(list, (size_t)*n, sizeof *list, by_size);
	for (uint64_t i = 0; i < *n; i++)
		pages[i] = list[i].page;
	return pages;
}

/* A slice's bytes are stored, although not under its name. */
static uint64_t page_stored(const struct estimate *e, uint64_t page)
{
	return e->record[page] != NO_RECORD ? stored_bytes(e, page) : e->m->pages[page].size;
}

void put_page(struct estimate *e, struct tn_meta *array, uint64_t page)
{
	const struct page *p = &e->m->pages[page];
	struct tn_meta *map = put_map(e, array, NULL);
	put_view(e, map, "id", p->id);
	put_view(e, map, "kind", p->kind);
	if (has_layer(p))
		put_uint(e, map, "layer", p->layer);
	else
		put_text(e, map, "layer", NULL);
	put_view(e, map, "op", p->op);
	put_view(e, map, "dtype", p->dtype);
	put_view(e, map, "backend_layout", p->layout);
	put_uint(e, map, "raw_bytes", p->size);
	put_uint(e, map, "stored_bytes", page_stored(e, page));
	put_uint(e, map, "referenced_stages", e->uses[page]);
}

/* ---- Pages by what they are ---- */

struct bucket {
	tn_view  name;
	uint64_t layer;
	uint64_t pages, raw, stored;
};

static int by_name(const void *a, const void *b)
{
	const struct bucket *x = a, *y = b;
	return x->layer != y->layer ? (x->layer < y->layer ? -1 : 1) : view_cmp(x->name, y->name);
}

static int by_bytes(const void *a, const void *b)
{
	const struct bucket *x = a, *y = b;
	return x->raw != y->raw ? (x->raw > y->raw ? -1 : 1) : view_cmp(x->name, y->name);
}

/* Joins buckets of equal name and layer; returns how many are left. */
static uint64_t join(struct bucket *list, uint64_t n)
{
	uint64_t k = 0;
	if (n != 0)
		qsort(list, (size_t)n, sizeof *list, by_name);
	for (uint64_t i = 0; i < n; i++) {
		if (k == 0 || by_name(&list[k - 1], &list[i]) != 0) {
			list[k++] = list[i];
			continue;
		}
		list[k - 1].pages++;
		list[k - 1].raw = plus(list[k - 1].raw, list[i].raw);
		list[k - 1].stored = plus(list[k - 1].stored, list[i].stored);
	}
	return k;
}

static struct bucket bucket_of(const struct estimate *e, uint64_t page)
{
	return (struct bucket){ .pages = 1, .raw = e->m->pages[page].size, .stored = page_stored(e, page) };
}

static void put_bucket(struct estimate *e, struct tn_meta *map, const struct bucket *b)
{
	put_uint(e, map, "pages", b->pages);
	put_uint(e, map, "raw_bytes", b->raw);
	put_uint(e, map, "stored_bytes", b->stored);
}

void put_layers(struct estimate *e, struct tn_meta *to, const char *key)
{
	struct tn_meta *array = put_array(e, to, key);
	struct bucket *list = estimate_room(e, e->m->n_pages, sizeof *list);
	uint64_t n = 0;
	for (uint64_t i = 0; e->ok && i < e->m->n_pages; i++) {
		const struct page *p = &e->m->pages[i];
		if (is_parent(p) || !has_layer(p))
			continue;
		list[n] = bucket_of(e, i);
		list[n++].layer = p->layer;
	}
	n = e->ok ? join(list, n) : 0;
	for (uint64_t i = 0; e->ok && i < n; i++) {
		struct tn_meta *map = put_map(e, array, NULL);
		put_uint(e, map, "layer", list[i].layer);
		put_bucket(e, map, &list[i]);
	}
}

static tn_view op_of(const struct page *p) { return p->op; }
static tn_view kind_of(const struct page *p) { return p->kind; }
static tn_view dtype_of(const struct page *p) { return p->dtype; }
static tn_view layout_of(const struct page *p) { return p->layout; }

static void put_names(struct estimate *e, struct tn_meta *to, const char *key, tn_view (*name)(const struct page *),
                      uint64_t most)
{
	struct tn_meta *array = put_array(e, to, key);
	struct bucket *list = estimate_room(e, e->m->n_pages, sizeof *list);
	uint64_t n = 0;
	for (uint64_t i = 0; e->ok && i < e->m->n_pages; i++) {
		if (is_parent(&e->m->pages[i]))
			continue;
		list[n] = bucket_of(e, i);
		list[n++].name = name(&e->m->pages[i]);
	}
	n = e->ok ? join(list, n) : 0;
	if (n != 0)
		qsort(list, (size_t)n, sizeof *list, by_bytes);
	for (uint64_t i = 0; e->ok && i < min_u64(n, most); i++) {
		struct tn_meta *map = put_map(e, array, NULL);
		put_view(e, map, "name", list[i].name);
		put_bucket(e, map, &list[i]);
	}
}

void put_ops(struct estimate *e, struct tn_meta *to, const char *key, uint64_t most)
{
	put_names(e, to, key, op_of, most);
}

/* ---- The tape ---- */

bool is_every_page_used(const struct estimate *e)
{
	for (uint64_t i = 0; i < e->m->n_pages; i++)
		if (e->uses[i] == 0)
			return false;
	return true;
}

static void put_counts(struct estimate *e, struct tn_meta *to)
{
	uint64_t refs = 0, used = 0, empty = 0;
	for (uint64_t i = 0; i < e->m->n_stages; i++) {
		refs = plus(refs, e->m->tape[i].n_refs);
		empty += e->m->tape[i].n_refs == 0;
	}
	for (uint64_t i = 0; i < e->m->n_pages; i++)
		used += e->uses[i] != 0;
	put_uint(e, to, "stage_count", e->m->n_stages);
	put_uint(e, to, "page_ref_count", refs);
	put_uint(e, to, "referenced_page_count", used);
	put_uint(e, to, "empty_stage_count", empty);
}

/* Pages that the tape refers to more than once, by their names. */
static void put_again(struct estimate *e, struct tn_meta *to)
{
	struct tn_meta *array = put_array(e, to, "duplicate_page_refs");
	struct bucket *list = estimate_room(e, e->m->n_pages, sizeof *list);
	uint64_t n = 0;
	for (uint64_t i = 0; e->ok && i < e->m->n_pages; i++)
		if (e->uses[i] > 1)
			list[n++] = (struct bucket){ .name = e->m->pages[i].id, .pages = e->uses[i] };
	if (n != 0)
		qsort(list, (size_t)n, sizeof *list, by_name);
	for (uint64_t i = 0; e->ok && i < n; i++) {
		struct tn_meta *map = put_map(e, array, NULL);
		put_view(e, map, "page_id", list[i].name);
		put_uint(e, map, "refs", list[i].pages);
	}
}

static void put_unused(struct estimate *e, struct tn_meta *to)
{
	struct tn_meta *array = put_array(e, to, "unreferenced_pages");
	for (uint64_t i = 0; e->ok && i < e->m->n_pages; i++)
		if (e->uses[i] == 0)
			put_view(e, array, NULL, e->m->pages[i].id);
}

static void put_stage(struct estimate *e, struct tn_meta *array, const struct stage *s)
{
	uint64_t raw = 0, stored = 0, page;
	for (uint64_t k = 0; k < s->n_refs; k++) {
		if (!stage_page(e, s, k, &page))
			continue;
		raw = plus(raw, raw_bytes(e, page));
		stored = plus(stored, stored_bytes(e, page));
	}
	struct tn_meta *map = put_map(e, array, NULL);
	put_view(e, map, "stage", s->name);
	put_uint(e, map, "page_refs", s->n_refs);
	put_uint(e, map, "raw_bytes", raw);
	put_uint(e, map, "stored_bytes", stored);
}

static void put_execution(struct estimate *e)
{
	struct tn_meta *map = put_map(e, e->job->out, "execution");
	put_counts(e, map);
	put_unused(e, map);
	put_again(e, map);
	struct tn_meta *stages = put_array(e, map, "first_stages");
	for (uint64_t i = 0; e->ok && i < min_u64(e->m->n_stages, SHORT_LIST); i++)
		put_stage(e, stages, &e->m->tape[i]);
}

/* ---- The whole ---- */

static void put_archive(struct estimate *e)
{
	struct tn_meta *out = e->job->out;
	uint64_t pages = 0, raw = 0, stored = 0;
	for (uint64_t i = 0; i < e->m->n_pages; i++)
		pages += !is_parent(&e->m->pages[i]);
	for (uint64_t k = 0; k < e->front.table.n; k++) { /* slices may overlap, or leave bytes out */
		struct thin_record r = thin_record_at(&e->front.table, k);
		raw = plus(raw, r.raw);
		stored = plus(stored, r.stored);
	}
	put_uint(e, out, "archive_bytes", e->job->file->size);
	put_uint(e, out, "manifest_bytes", e->front.h.manifest_len);
	put_uint(e, out, "page_table_records", e->front.table.n);
	put_uint(e, out, "data_offset", e->front.h.data_off);
	put_uint(e, out, "page_count", pages);
	put_uint(e, out, "total_raw_bytes", raw);
	put_uint(e, out, "total_stored_bytes", stored);
}

static void put_model(struct estimate *e)
{
	static const char *const keys[] = {
		"arch", "raw_arch", "layers", "hidden_size", "heads", "kv_heads", "head_dim", "dtype", "source_dtype", "vocab_size",
		"tie_word_embeddings",
	};
	struct tn_meta *map = put_map(e, e->job->out, "model");
	for (size_t i = 0; e->ok && i < sizeof keys / sizeof *keys; i++) {
		const struct tn_meta *value = meta_find(e->m->model, tn_text(keys[i]));
		struct tn_meta *copy = value != NULL ? meta_clone(e->job->mem, value, false) : meta_new(e->job->mem, TN_META_NULL);
		e->ok = meta_append(map, tn_text(keys[i]), copy) != NULL;
	}
}

void plan_stats(struct estimate *e)
{
	struct tn_meta *out = e->job->out;
	uint64_t n;
	put_archive(e);
	put_model(e);
	struct tn_meta *largest = put_array(e, out, "largest_pages");
	const uint64_t *pages = pages_by_size(e, &n);
	for (uint64_t i = 0; e->ok && i < min_u64(n, LARGEST); i++)
		put_page(e, largest, pages[i]);
	put_layers(e, out, "per_layer");
	put_ops(e, out, "per_op", UINT64_MAX);
	put_names(e, out, "by_kind", kind_of, UINT64_MAX);
	put_names(e, out, "by_dtype", dtype_of, UINT64_MAX);
	put_names(e, out, "by_backend_layout", layout_of, UINT64_MAX);
	put_execution(e);
	struct tn_meta *unknown = put_array(e, out, "unknown_op_pages");
	for (uint64_t i = 0; e->ok && i < e->m->n_pages; i++)
		if (view_is(e->m->pages[i].op, "unknown") && !is_parent(&e->m->pages[i]))
			put_view(e, unknown, NULL, e->m->pages[i].id);
}
