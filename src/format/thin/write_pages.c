/* write_pages.c - the pages of an archive from the tensors of a model, and their orders. */
#include "format/thin/write.h"

#include "base/utf8.h"

#include <stdlib.h>

/* ---- Extras ---- */

enum extra_type { EXTRA_IS_STRING, EXTRA_IS_UINT, EXTRA_IS_TRUE };
static const struct extra {
	const char     *key;
	enum extra_type type;
	uint64_t        max;
} extras[] = {
	{ EXTRA_KIND, EXTRA_IS_STRING, 0 }, { EXTRA_LAYER, EXTRA_IS_UINT, UINT32_MAX }, { EXTRA_OP, EXTRA_IS_STRING, 0 },
	{ EXTRA_DTYPE, EXTRA_IS_STRING, 0 }, { EXTRA_LAYOUT, EXTRA_IS_STRING, 0 },
	{ EXTRA_EXPERIMENTAL, EXTRA_IS_TRUE, 0 }, { EXTRA_FUSED_TO, EXTRA_IS_STRING, 0 },
	{ EXTRA_FUSED_OFFSET, EXTRA_IS_UINT, UINT64_MAX }, { EXTRA_SCHEME, EXTRA_IS_STRING, 0 },
	{ EXTRA_BITS, EXTRA_IS_UINT, UINT8_MAX }, { EXTRA_GROUP, EXTRA_IS_UINT, UINT64_MAX },
	{ EXTRA_SCALES, EXTRA_IS_STRING, 0 },
};

static bool is_of(const struct extra *e, const struct tn_meta *x)
{
	switch (e->type) {
	case EXTRA_IS_STRING: return x->type == TN_META_STRING && utf8_ok(x->as.s);
	case EXTRA_IS_UINT:   return x->type == TN_META_UINT && x->as.u <= e->max;
	case EXTRA_IS_TRUE:   return x->type == TN_META_BOOL && x->as.b;
	}
	return false;
}

static bool has_place(const struct tn_meta *x)
{
	for (size_t i = 0; i < sizeof extras / sizeof *extras; i++)
		if (view_is(x->key, extras[i].key))
			return is_of(&extras[i], x);
	return false;
}

static void set_number(struct page *p, uint64_t *to, uint32_t bit, uint64_t v)
{
	*to = v;
	p->has |= bit;
}

static void set_extra(struct page *p, const struct tn_meta *x)
{
	if (view_is(x->key, EXTRA_KIND))              p->kind = x->as.s;
	else if (view_is(x->key, EXTRA_LAYER))        set_number(p, &p->layer, PAGE_LAYER, x->as.u);
	else if (view_is(x->key, EXTRA_OP))           p->op = x->as.s;
	else if (view_is(x->key, EXTRA_DTYPE))        p->dtype = x->as.s;
	else if (view_is(x->key, EXTRA_LAYOUT))       p->layout = x->as.s;
	else if (view_is(x->key, EXTRA_EXPERIMENTAL)) p->experimental = true;
	else if (view_is(x->key, EXTRA_FUSED_TO))     p->fused_to = x->as.s;
	else if (view_is(x->key, EXTRA_FUSED_OFFSET)) set_number(p, &p->fused_offset, PAGE_FUSED_OFFSET, x->as.u);
	else if (view_is(x->key, EXTRA_SCHEME))       p->scheme = x->as.s;
	else if (view_is(x->key, EXTRA_BITS))         set_number(p, &p->bits, PAGE_BITS, x->as.u);
	else if (view_is(x->key, EXTRA_GROUP))        set_number(p, &p->group, PAGE_GROUP, x->as.u);
	else if (view_is(x->key, EXTRA_SCALES))       p->scale_page = x->as.s;
}

static void put_extras(struct page *p, const struct tn_meta *map)
{
	if (map == NULL || map->type != TN_META_MAP)
		return;
	for (const struct tn_meta *x = map->as.kids.first; x != NULL; x = x->next)
		if (has_place(x))
			set_extra(p, x);
}

static struct page plain_page(tn_view id)
{
	return (struct page){
		.id = id, .kind = VIEW(PLAIN_KIND), .op = VIEW(PLAIN_OP), .layout = VIEW(PLAIN_LAYOUT),
		.checksum = unknown_checksum,
	};
}

/* ---- Fused pages ---- */

static tn_view fused_id(const void *list, uint64_t i) { return ((const struct fused *)list)[i].page.id; }

bool write_is_fused(const struct writing *w, tn_view id)
{
	uint64_t k;
	return strmap_find(&w->fused_ids, fused_id, w->fused, id, &k) && w->fused[k].complete;
}

/* What native says of a fused page; its size and slices come from the tensors. */
static bool fused_page(struct writing *w, const struct tn_meta *from, struct fused *f)
{
	struct page *p = &f->page;
	const struct tn_meta *id = meta_find(from, VIEW("id")), *shape = meta_find(from, VIEW("shape"));
	const struct tn_meta *size = meta_find(from, VIEW(FUSED_SIZE));
	if (id == NULL || id->type != TN_META_STRING || shape == NULL || shape->type != TN_META_ARRAY || shape->is_raw)
		return false;
	*p = plain_page(id->as.s);
	p->dtype = VIEW("u8");
	put_extras(p, from);
	uint64_t *dims = arena_raw(w->job->mem, shape->as.kids.n, sizeof *dims), n = 0;
	if (dims == NULL)
		return write_no_memory(w);
	for (const struct tn_meta *d = shape->as.kids.first; d != NULL; d = d->next)
		dims[n++] = d->type == TN_META_UINT ? d->as.u : 0;
	p->shape = dims;
	p->rank = (uint32_t)n;
	f->size = size != NULL && size->type == TN_META_UINT ? size->as.u : 0;
	p->fused_to = (tn_view){ NULL, 0 };
	p->has &= ~(uint32_t)PAGE_FUSED_OFFSET;
	return id_fault(p->id) == NULL && p->id.len <= THIN_ID_MAX;
}

static bool list_fused(struct writing *w)
{
	const struct tn_meta *list = write_native(w, NATIVE_FUSED, TN_META_ARRAY);
	uint64_t n = list != NULL && !list->is_raw ? list->as.kids.n : 0, other;
	w->fused = ARENA_NEW(w->job->mem, n, struct fused);
	if (w->fused == NULL || !strmap_init(&w->fused_ids, w->job->mem, n))
		return write_no_memory(w);
	for (const struct tn_meta *x = n != 0 ? list->as.kids.first : NULL; x != NULL; x = x->next) {
		struct fused *f = &w->fused[w->n_fused];
		if (x->type == TN_META_MAP && fused_page(w, x, f) &&
		    strmap_add(&w->fused_ids, fused_id, w->fused, w->n_fused, &other))
			w->n_fused++;
	}
	return w->job->err->code == TN_OK;
}

/* ---- Tensors ---- */

static void lossy(struct writing *w, const struct tensor *t, const char *why)
{
	job_lossy(w->job, t->name, THIN ": tensor '%s': %s", ESC(t->name), why);
}

/* Words that people's tools know stand in for types that only some formats have. */
static tn_dtype carrier_of(tn_dtype d)
{
	switch (d) {
	case TN_FLEX32:   return TN_F32;
	case TN_BOOL_U8:  return TN_BOOL;
	case TN_BOOL_U32: return TN_U32;
	default:          return d;
	}
}

static bool reads_as(const struct page *p, tn_dtype d)
{
	return utf8_ok(p->dtype) && !is_blank(p->dtype) && thin_dtype(p->dtype, p->rank, p->shape, p->size) == d;
}

/* The page's word for the type; false where there is none that would be read as it. */
static bool set_dtype(struct writing *w, uint64_t i, struct page *p)
{
	const struct tensor *t = &w->m->tensors[i];
	/* an envelope tells of a carrier or of a shape, not of both: a scalar's type is called by its own name */
	tn_dtype held = t->rank == 0 ? t->dtype : carrier_of(t->dtype);
	if (t->dtype == TN_OPAQUE)
		p->dtype = t->dtype_text;
	else if (p->dtype.ptr == NULL || !reads_as(p, t->dtype))
		p->dtype = tn_text(dtype_info(held)->name);
	else
		held = t->dtype;
	if (!reads_as(p, held))
		return false;
	if (held != t->dtype)
		envelope_tensor(&w->env, i, ENV_DTYPE);
	return true;
}

static bool set_type(struct writing *w, uint64_t i, struct page *p)
{
	static const uint64_t one[] = { 1 };
	const struct tensor *t = &w->m->tensors[i];
	bool scalar = t->rank == 0;
	p->size = t->nbytes;
	p->rank = scalar ? 1 : t->rank;
	p->shape = scalar ? one : t->shape;
	bool sized = t->dtype == TN_OPAQUE || t->dtype == TN_QFLOAT; /* by no shape */
	bool padded = !sized && !dtype_takes(t->dtype, BLOCK_FLAT, t->rank, t->shape, t->nbytes);
	bool held = !padded && !(scalar && sized) && set_dtype(w, i, p);
	if (held && scalar)
		envelope_tensor(&w->env, i, ENV_SHAPE);
	if (held)
		return true;
	if (!job_carries(w->job, t) && !job_had(w->job, t)) {
		lossy(w, t, padded ? "its rows are padded; --carry keeps its bytes as u8"
		            : "its dtype cannot be held; --carry keeps its bytes as u8");
		return false;
	}
	envelope_tensor(&w->env, i, ENV_DTYPE | ENV_SHAPE);
	p->dtype = VIEW("u8");
	p->rank = 1;
	p->shape = &t->nbytes;
	return true;
}

/* Why no page can hold it, or NULL. */
static const char *tensor_fault(const struct tensor *t)
{
	if (!utf8_ok(t->name))
		return "its name is not UTF-8";
	if (t->name.len > THIN_ID_MAX)
		return "its name has more than 4096 bytes";
	if (id_fault(t->name) != NULL)
		return "its name is blank, or holds white space or a slash";
	return t->nbytes == 0 ? "it is empty" : NULL;
}

static bool check_size(struct writing *w, const struct tensor *t)
{
	if (t->dtype == TN_OPAQUE || t->dtype == TN_QFLOAT ||
	    dtype_takes(t->dtype, BLOCK_FLAT, t->rank, t->shape, t->nbytes) ||
	    dtype_takes_padded(t->dtype, t->rank, t->shape, t->nbytes))
		return true;
	err_set(w->job->err, TN_E_CORRUPT, TN_NO_OFFSET, THIN ": tensor '%s': its shape and its bytes differ in size",
	        ESC(t->name));
	return false;
}

/* Known already, or to be filled in when the bytes have passed. */
static bool set_checksum(struct writing *w, const tn_digest *digest, struct page *p)
{
	char hex[THIN_HEX + 1];
	if (digest == NULL)
		return true;
	tn_digest_text(digest, hex);
	p->checksum = arena_copy(w->job->mem, tn_text(hex));
	return p->checksum.ptr != NULL || write_no_memory(w);
}

static void look_at_extras(struct writing *w, uint64_t i)
{
	const struct tensor *t = &w->m->tensors[i];
	for (const struct tn_meta *x = t->extras != NULL ? t->extras->as.kids.first : NULL; x != NULL; x = x->next)
		if (!has_place(x)) {
			envelope_tensor(&w->env, i, ENV_EXTRAS);
			return;
		}
}

static bool add_page(struct writing *w, uint64_t i)
{
	const struct tensor *t = &w->m->tensors[i];
	const char *fault = tensor_fault(t);
	struct page *p = &w->man.pages[w->man.n_pages];
	if (fault != NULL) {
		lossy(w, t, fault);
		return true;
	}
	if (!check_size(w, t))
		return false;
	*p = plain_page(t->name);
	put_extras(p, t->extras);
	if (!set_type(w, i, p))
		return w->job->err->code == TN_OK;
	look_at_extras(w, i);
	w->tensors[i] = (struct written){ .there = true, .page = w->man.n_pages++, .fused = UINT64_MAX };
	return p->fused_to.ptr != NULL || set_checksum(w, t->digest, p);
}

/* ---- Slices ---- */

static void unfuse(struct page *p)
{
	p->fused_to = (tn_view){ NULL, 0 };
	p->has &= ~(uint32_t)PAGE_FUSED_OFFSET;
	p->fused_offset = 0;
}

/* Hands each slice to its fused page; the tensors stand in the order of their data. */
static bool hand_out_slices(struct writing *w)
{
	uint64_t at;
	for (int pass = 0; pass < 2; pass++) {
		for (uint64_t i = 0; i < w->m->n; i++) {
			struct written *t = &w->tensors[i];
			struct page *p = &w->man.pages[t->page];
			if (!t->there || p->fused_to.ptr == NULL ||
			    !strmap_find(&w->fused_ids, fused_id, w->fused, p->fused_to, &at))
				continue;
			if (pass == 1)
				w->fused[at].tensors[w->fused[at].n] = i;
			w->fused[at].n++;
		}
		for (uint64_t k = 0; pass == 0 && k < w->n_fused; k++) {
			w->fused[k].tensors = arena_raw(w->job->mem, w->fused[k].n, sizeof *w->fused[k].tensors);
			if (w->fused[k].tensors == NULL)
				return write_no_memory(w);
			w->fused[k].n = 0;
		}
	}
	return true;
}

/* Whether the slices are all there and stand end to end: without the last one they do as well, but have another sum. */
static void judge_fused(struct writing *w, struct fused *f)
{
	uint64_t at = 0;
	f->complete = f->n != 0;
	for (uint64_t k = 0; f->complete && k < f->n; k++) {
		const struct page *p = &w->man.pages[w->tensors[f->tensors[k]].page];
		f->complete = p->fused_offset == at && add_u64(at, p->size, &at);
	}
	uint64_t elements;
	f->page.size = at;
	f->complete = f->complete && (f->size == 0 || f->size == at) && shape_elements(f->page.rank, f->page.shape, &elements);
}

/* The tensor with the bytes that the slice says are its own as well; NULL when there is none. */
static const struct tensor *alias_of(const struct writing *w, const struct strmap *names, const struct page *p)
{
	uint64_t i;
	if (!strmap_find(names, model_name_at, w->m, p->fused_to, &i) || !w->tensors[i].there)
		return NULL;
	const struct page *parent = &w->man.pages[w->tensors[i].page];
	bool fits = parent != p && parent->fused_to.ptr == NULL && view_is(parent->kind, "fused_physical") &&
	            span_fits(p->fused_offset, p->size, parent->size);
	return fits ? &w->m->tensors[i] : NULL;
}

static bool digest_of(struct writing *w, const struct tensor *t, uint64_t off, uint64_t len, tn_digest *out)
{
	bool known = false;
	const struct source *sources = w->job->sources;
	if (sources == NULL || source_digest(&sources[t - w->m->tensors], off, len, out, &known, w->job->err) == TN_OK)
		return known;
	err_prefix(w->job->err, "tensor '%s'", ESC(t->name));
	return false;
}

/* A slice of a page that is a tensor as well needs no bytes of its own. Only the bytes tell: since the file was read that
 * said so, either of the two may have become another. own: their digest. */
static bool is_alias(struct writing *w, const struct strmap *names, const struct tensor *t, const struct page *p,
                     tn_digest *own)
{
	const struct tensor *parent = alias_of(w, names, p);
	tn_digest theirs;
	if (parent == NULL || !digest_of(w, t, 0, p->size, own) ||
	    !digest_of(w, parent, p->fused_offset, p->size, &theirs))
		return false;
	if (t->digest != NULL && memcmp(own->bytes, t->digest->bytes, TN_DIGEST_LEN) != 0) {
		err_set(w->job->err, TN_E_CHECKSUM, TN_NO_OFFSET,
		        THIN ": page '%s': its bytes do not have the checksum that is stated", ESC(p->id));
		return false;
	}
	return memcmp(own->bytes, theirs.bytes, TN_DIGEST_LEN) == 0;
}

static void stand_alone(struct writing *w, struct page *p)
{
	report_add(w->job->report, TN_NOTE, TN_OK, TN_NO_OFFSET, p->id,
	           THIN ": page '%s' stands by itself now: what it was a slice of is not whole any more", ESC(p->id));
	unfuse(p);
}

static bool settle_slice(struct writing *w, const struct strmap *names, uint64_t i)
{
	struct written *t = &w->tensors[i];
	struct page *p = &w->man.pages[t->page];
	const tn_digest *known = w->m->tensors[i].digest;
	tn_digest own;
	uint64_t at;
	if (!t->there)
		return true;
	bool slice = p->fused_to.ptr != NULL;
	if (slice && strmap_find(&w->fused_ids, fused_id, w->fused, p->fused_to, &at) && w->fused[at].complete) {
		t->fused = at;
	} else if (slice && is_alias(w, names, &w->m->tensors[i], p, &own)) {
		t->alias = true;
		known = &own;
	} else if (slice && w->job->err->code == TN_OK) {
		stand_alone(w, p);
	}
	p->checksum = unknown_checksum;
	return w->job->err->code == TN_OK && set_checksum(w, known, p);
}

static bool settle_slices(struct writing *w)
{
	struct strmap names;
	uint64_t other;
	if (!strmap_init(&names, w->job->mem, w->m->n))
		return write_no_memory(w);
	for (uint64_t i = 0; i < w->m->n; i++)
		if (!strmap_add(&names, model_name_at, w->m, i, &other) || strmap_find(&w->fused_ids, fused_id, w->fused, w->m->tensors[i].name, &other)) {
			err_set(w->job->err, TN_E_USAGE, TN_NO_OFFSET, THIN ": two pages would be called '%s'",
			        ESC(w->m->tensors[i].name));
			return false;
		}
	if (!hand_out_slices(w))
		return false;
	for (uint64_t k = 0; k < w->n_fused; k++)
		judge_fused(w, &w->fused[k]);
	for (uint64_t i = 0; i < w->m->n; i++)
		if (!settle_slice(w, &names, i))
			return false;
	return true;
}

/* ---- The manifest's order ---- */

tn_view write_page_id(const void *pages, uint64_t i) { return ((const struct page *)pages)[i].id; }

struct sorted {
	const struct page *page;
	uint64_t           at; /* the place it is to have; then the one it had */
};

static int by_id(const void *a, const void *b)
{
	return view_cmp(((const struct sorted *)a)->page->id, ((const struct sorted *)b)->page->id);
}

static int by_place(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;
	return (x->at > y->at) - (x->at < y->at);
}

/* Gives each page its place in the list that native has; those that it does not name follow. */
static bool places_from(struct writing *w, const struct tn_meta *list, struct sorted *order)
{
	const struct manifest *man = &w->man;
	struct strmap ids;
	uint64_t at = 0, i, other;
	if (!strmap_init(&ids, w->job->mem, man->n_pages))
		return write_no_memory(w);
	for (i = 0; i < man->n_pages; i++) {
		strmap_add(&ids, write_page_id, man->pages, i, &other);
		order[i].at = list->as.kids.n + i;
	}
	for (const struct tn_meta *x = list->as.kids.first; x != NULL; x = x->next, at++)
		if (x->type == TN_META_STRING && strmap_find(&ids, write_page_id, man->pages, x->as.s, &i) &&
		    order[i].at >= list->as.kids.n)
			order[i].at = at;
	return true;
}

/* Puts the pages into the manifest's order; the tensors' numbers follow. tensors: the pages that are some. */
static bool order_pages(struct writing *w, uint64_t tensors)
{
	const struct tn_meta *list = write_native(w, NATIVE_PAGES, TN_META_ARRAY);
	const struct tn_meta *word = write_native(w, NATIVE_PAGES, TN_META_STRING);
	struct manifest *man = &w->man;
	bool sorted = word != NULL && view_is(word->as.s, NATIVE_BY_ID), listed = list != NULL && !list->is_raw;
	if (!sorted && !listed)
		return true;
	struct sorted *order = arena_raw(w->job->mem, man->n_pages, sizeof *order);
	struct page *pages = arena_raw(w->job->mem, man->n_pages, sizeof *pages);
	uint64_t *place = arena_raw(w->job->mem, man->n_pages, sizeof *place);
	if (order == NULL || pages == NULL || place == NULL)
		return write_no_memory(w);
	for (uint64_t i = 0; i < man->n_pages; i++)
		order[i] = (struct sorted){ &man->pages[i], i };
	if (listed && !places_from(w, list, order))
		return false;
	qsort(order, (size_t)(listed ? man->n_pages : tensors), sizeof *order, listed ? by_place : by_id);
	for (uint64_t i = 0; i < man->n_pages; i++) {
		pages[i] = *order[i].page;
		place[order[i].page - man->pages] = i;
	}
	for (uint64_t i = 0; i < w->m->n; i++)
		w->tensors[i].page = place[w->tensors[i].page];
	man->pages = pages;
	return true;
}

bool write_pages(struct writing *w)
{
	const struct model *m = w->m;
	w->native = tn_meta_find(m->native, VIEW(THIN));
	w->tensors = ARENA_NEW(w->job->mem, m->n, struct written);
	if (w->tensors == NULL || !list_fused(w))
		return w->job->err->code == TN_OK && write_no_memory(w);
	w->man.pages = arena_raw(w->job->mem, m->n + w->n_fused, sizeof *w->man.pages);
	if (w->man.pages == NULL)
		return write_no_memory(w);
	for (uint64_t i = 0; i < m->n; i++)
		if (!add_page(w, i))
			return false;
	if (w->man.n_pages == 0) {
		job_lossy(w->job, NO_TENSOR, THIN ": an archive must have a page, and there is no tensor that it could hold");
		return true;
	}
	if (!settle_slices(w))
		return false;
	uint64_t tensors = w->man.n_pages;
	for (uint64_t k = 0; k < w->n_fused; k++)
		if (w->fused[k].complete)
			w->man.pages[w->man.n_pages++] = w->fused[k].page;
	return order_pages(w, tensors);
}
