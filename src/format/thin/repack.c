/* repack.c - the orders of an archive's pages, and the fusing of those that are used together. */
#include "format/thin/archive.h"

#include "base/numtext.h"

#include <stdio.h>
#include <stdlib.h>

struct repacking {
	const struct thin_front *f;
	struct repacked *out;
	struct arena    *mem;
	tn_error        *err;
	bool            *placed;   /* [n_pages] its bytes are in the list, or it never has any */
	uint64_t        *parent;   /* [n_pages] the page that it becomes a slice of; UINT64_MAX: none */
	uint64_t       **members;  /* [n_pages] of a page that was made here: 2 or 3 pages; else NULL */
	uint64_t        *n_members;
	uint64_t         cap;      /* pages that there may be */
};

static bool no_memory(struct repacking *r)
{
	arena_err(r->mem, r->err, THIN ": pages");
	return false;
}

static struct page *pages_of(struct repacking *r) { return r->out->m.pages; }

/* ---- Order ---- */

static bool piece_of(struct repacking *r, uint64_t page, struct piece *out)
{
	uint64_t record = 0;
	if (!thin_record_find(&r->f->table, pages_of(r)[page].id, &record))
		return false;
	struct thin_record rec = thin_record_at(&r->f->table, record);
	*out = (struct piece){ .source = record, .len = pages_of(r)[page].size, .page = page, .known = rec.digest };
	return true;
}

/* The page's bytes come next, unless they were placed already. False when memory is out. */
static bool place(struct repacking *r, uint64_t page)
{
	if (r->parent[page] != UINT64_MAX)
		page = r->parent[page];
	if (r->placed[page])
		return true;
	r->placed[page] = true;
	uint64_t n = r->members[page] != NULL ? r->n_members[page] : 1;
	struct piece *pieces = arena_raw(r->mem, n, sizeof *pieces);
	if (pieces == NULL)
		return no_memory(r);
	if (r->members[page] == NULL && !piece_of(r, page, &pieces[0]))
		return true; /* a slice that was one before */
	for (uint64_t k = 0; r->members[page] != NULL && k < n; k++)
		piece_of(r, r->members[page][k], &pieces[k]);
	r->out->blobs[r->out->n++] = (struct blob){ .page = page, .pieces = pieces, .n = n };
	return true;
}

static bool place_tape(struct repacking *r)
{
	const struct manifest *m = &r->out->m;
	uint64_t page;
	for (uint64_t i = 0; i < m->n_stages; i++)
		for (uint64_t k = 0; k < m->tape[i].n_refs; k++)
			if (thin_page_find(r->f, m->tape[i].refs[k], &page) && !place(r, page))
				return false;
	return true;
}

static bool is_hot(const struct page *p)
{
	return (p->has & PAGE_LAYER) == 0 || view_is(p->kind, "embedding") || view_is(p->kind, "lm_head");
}

static bool place_pages(struct repacking *r, bool only_hot)
{
	for (uint64_t i = 0; i < r->out->m.n_pages; i++)
		if ((!only_hot || is_hot(&pages_of(r)[i])) && !place(r, i))
			return false;
	return true;
}

/* ---- Fusing ---- */

struct group {
	const char *op;
	const char *middle; /* of the members' ids */
	const char *names[3];
	uint64_t    n;
};
static const struct group groups[] = {
	{ "attn_qkv", "self_attn", { "q_proj", "k_proj", "v_proj" }, 3 },
	{ "mlp_gate_up", "mlp", { "gate_proj", "up_proj" }, 2 },
};

/* False when one of them is missing: then there is nothing to fuse. */
static bool find_members(struct repacking *r, const struct group *g, uint64_t layer, uint64_t members[3])
{
	char layer_text[NUMTEXT], id[128];
	u64_text(layer, layer_text);
	for (uint64_t k = 0; k < g->n; k++) {
		snprintf(id, sizeof id, "model.layers.%s.%s.%s.weight", layer_text, g->middle, g->names[k]);
		if (!thin_page_find(r->f, tn_text(id), &members[k]))
			return false;
	}
	return true;
}

static bool fits_first(struct repacking *r, const struct page *first, const struct page *p)
{
	uint64_t record;
	const char *why = p->rank != 2 ? "does not have 2 dimensions"
	                : p->shape[1] != first->shape[1] ? "has rows of another length than the others"
	                : !view_eq(p->dtype, first->dtype) ? "has another dtype than the others"
	                : p->fused_to.ptr != NULL || !thin_record_find(&r->f->table, p->id, &record) ? "is fused already" : NULL;
	if (why != NULL)
		err_set(r->err, TN_E_UNSUPPORTED, TN_NO_OFFSET, THIN ": page '%s' cannot be fused: it %s", ESC(p->id), why);
	return why == NULL;
}

static bool fused_page(struct repacking *r, const struct group *g, uint64_t layer, uint64_t size, struct page *out)
{
	uint64_t *shape = arena_raw(r->mem, 1, sizeof *shape);
	const char *id = arena_printf(r->mem, "layer_%llu_%s_fused", (unsigned long long)layer, g->op);
	if (shape == NULL || id == NULL)
		return no_memory(r);
	*shape = size;
	*out = (struct page){
		.id = tn_text(id), .kind = VIEW("fused_physical"), .op = tn_text(g->op), .dtype = VIEW("u8"),
		.layout = VIEW("row_concat_v1"), .checksum = unknown_checksum, .shape = shape, .rank = 1, .has = PAGE_LAYER,
		.layer = layer, .size = size,
	};
	return true;
}

static bool fuse(struct repacking *r, const struct group *g, uint64_t layer)
{
	struct manifest *m = &r->out->m;
	uint64_t members[3], size = 0, parent = m->n_pages;
	if (!find_members(r, g, layer, members))
		return true;
	for (uint64_t k = 0; k < g->n; k++) {
		struct page *p = &m->pages[members[k]];
		if (!fits_first(r, &m->pages[members[0]], p))
			return false;
		p->fused_offset = size;
		p->has |= PAGE_FUSED_OFFSET;
		r->parent[members[k]] = parent;
		size += p->size; /* extents of one file */
	}
	if (!fused_page(r, g, layer, size, &m->pages[parent]))
		return false;
	for (uint64_t k = 0; k < g->n; k++)
		m->pages[members[k]].fused_to = m->pages[parent].id;
	r->members[parent] = arena_raw(r->mem, g->n, sizeof *members);
	if (r->members[parent] == NULL)
		return no_memory(r);
	memcpy(r->members[parent], members, (size_t)g->n * sizeof *members);
	r->n_members[parent] = g->n;
	m->n_pages++;
	return true;
}

/* The layer in "model.layers.N."; false where the id names none. */
static bool layer_of(tn_view id, uint64_t *layer)
{
	static const char before[] = "model.layers.";
	if (!view_starts(id, before))
		return false;
	tn_view number = { id.ptr + strlen(before), id.len - strlen(before) };
	const uint8_t *dot = number.len != 0 ? memchr(number.ptr, '.', number.len) : NULL;
	if (dot != NULL)
		number.len = (size_t)(dot - number.ptr);
	return text_u64(number, layer);
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* The layers that pages are of, ascending: no other can have a group, however many the model claims. */
static bool list_layers(struct repacking *r, uint64_t **out, uint64_t *n)
{
	const struct manifest *m = &r->f->m;
	uint64_t *layers = arena_raw(r->mem, m->n_pages, sizeof *layers), all = 0;
	if (layers == NULL)
		return no_memory(r);
	for (uint64_t i = 0; i < m->n_pages; i++)
		all += layer_of(m->pages[i].id, &layers[all]);
	qsort(layers, (size_t)all, sizeof *layers, by_number);
	*n = 0;
	for (uint64_t i = 0; i < all; i++)
		if (i == 0 || layers[i] != layers[i - 1])
			layers[(*n)++] = layers[i];
	*out = layers;
	return true;
}

static bool fuse_layers(struct repacking *r)
{
	const struct tn_meta *claimed = meta_find(r->out->m.model, VIEW("layers"));
	uint64_t *layers, n, end = claimed != NULL && claimed->type == TN_META_UINT ? claimed->as.u : 0;
	if (!list_layers(r, &layers, &n))
		return false;
	for (uint64_t i = 0; i < n && layers[i] < end; i++)
		for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
			if (!fuse(r, &groups[g], layers[i]))
				return false;
	return true;
}

/* ---- The whole ---- */

/* Room for what fusing adds: a page for two or three. */
static bool copy_pages(struct repacking *r)
{
	struct manifest *m = &r->out->m;
	r->cap = m->n_pages + m->n_pages / 2;
	struct page *pages = arena_raw(r->mem, r->cap, sizeof *pages);
	r->placed = ARENA_NEW(r->mem, r->cap, bool);
	r->parent = arena_raw(r->mem, r->cap, sizeof *r->parent);
	r->members = ARENA_NEW(r->mem, r->cap, uint64_t *);
	r->n_members = ARENA_NEW(r->mem, r->cap, uint64_t);
	r->out->blobs = arena_raw(r->mem, r->cap, sizeof *r->out->blobs);
	if (pages == NULL || r->placed == NULL || r->parent == NULL || r->members == NULL || r->n_members == NULL ||
	    r->out->blobs == NULL)
		return no_memory(r);
	copy_bytes(pages, m->pages, (size_t)m->n_pages * sizeof *pages);
	m->pages = pages;
	for (uint64_t i = 0; i < r->cap; i++)
		r->parent[i] = UINT64_MAX;
	return true;
}

tn_code thin_repack(struct repacked *out, const struct thin_front *f, tn_thin_layout layout, struct arena *mem,
                    tn_error *err)
{
	struct repacking r = { .f = f, .out = out, .mem = mem, .err = err };
	*out = (struct repacked){ .m = f->m };
	bool ok = copy_pages(&r) && (layout != TN_THIN_FUSED || fuse_layers(&r)) &&
	          (layout != TN_THIN_HOT || place_pages(&r, true)) && place_tape(&r) && place_pages(&r, false);
	return ok ? TN_OK : err->code;
}
