/* read_extras.c - what a page says that a tensor has no field for. */
#include "format/thin/read.h"

bool thin_spelled_plainly(const struct page *p, tn_dtype d)
{
	return d == TN_OPAQUE || view_is(p->dtype, dtype_info(d)->name);
}

static bool is_plain(const struct page *p, bool plainly)
{
	return plainly && p->has == 0 && !p->experimental && p->fused_to.ptr == NULL && p->scheme.ptr == NULL &&
	       p->scale_page.ptr == NULL && view_is(p->kind, PLAIN_KIND) && view_is(p->op, PLAIN_OP) &&
	       view_is(p->layout, PLAIN_LAYOUT);
}

void fill_string(struct filling *f, const char *key, tn_view v)
{
	f->ok = f->ok && (v.ptr == NULL || meta_add_string(f->mem, f->map, tn_text(key), v) != NULL);
}

void fill_uint(struct filling *f, const char *key, bool there, uint64_t v, unsigned width)
{
	f->ok = f->ok && (!there || meta_add_uint(f->mem, f->map, tn_text(key), v, width) != NULL);
}

static void fill_true(struct filling *f, const char *key, bool v)
{
	f->ok = f->ok && (!v || meta_add_bool(f->mem, f->map, tn_text(key), true) != NULL);
}

void fill_page(struct filling *f, const struct page *p, bool plainly)
{
	static const tn_view absent;
	fill_string(f, EXTRA_KIND, p->kind);
	fill_uint(f, EXTRA_LAYER, (p->has & PAGE_LAYER) != 0, p->layer, 32);
	fill_string(f, EXTRA_OP, p->op);
	fill_string(f, EXTRA_DTYPE, plainly ? absent : p->dtype);
	fill_string(f, EXTRA_LAYOUT, p->layout);
	fill_true(f, EXTRA_EXPERIMENTAL, p->experimental);
	fill_string(f, EXTRA_FUSED_TO, p->fused_to);
	fill_uint(f, EXTRA_FUSED_OFFSET, (p->has & PAGE_FUSED_OFFSET) != 0, p->fused_offset, 64);
	fill_string(f, EXTRA_SCHEME, p->scheme);
	fill_uint(f, EXTRA_BITS, (p->has & PAGE_BITS) != 0, p->bits, 8);
	fill_uint(f, EXTRA_GROUP, (p->has & PAGE_GROUP) != 0, p->group, 64);
	fill_string(f, EXTRA_SCALES, p->scale_page);
}

static uint64_t mix(uint64_t h, tn_view v)
{
	for (size_t i = 0; i < v.len; i++)
		h = (h ^ v.ptr[i]) * UINT64_C(0x100000001b3);
	return h;
}

static struct cached *cache_place(struct opening *o, const struct page *p)
{
	uint64_t h = mix(mix(mix(p->layer * 31 + p->has, p->op), p->dtype), p->layout);
	return &o->cache[(h ^ h >> 32) % CACHED];
}

static bool same_extras(const struct page *a, const struct page *b)
{
	return a->has == b->has && a->layer == b->layer && a->bits == b->bits && a->group == b->group &&
	       a->experimental == b->experimental && view_eq(a->kind, b->kind) && view_eq(a->op, b->op) &&
	       view_eq(a->dtype, b->dtype) && view_eq(a->layout, b->layout) && view_eq(a->scheme, b->scheme) &&
	       (a->scheme.ptr == NULL) == (b->scheme.ptr == NULL) && view_eq(a->scale_page, b->scale_page) &&
	       (a->scale_page.ptr == NULL) == (b->scale_page.ptr == NULL);
}

/* Many pages say the same: they share one map. Slices do not, for what is said of each is its own. */
bool thin_set_extras(struct opening *o, struct tensor *t, const struct page *p)
{
	bool plainly = thin_spelled_plainly(p, t->dtype), slice = p->fused_to.ptr != NULL;
	if (is_plain(p, plainly))
		return true;
	struct cached *c = cache_place(o, p);
	bool opaque = t->dtype == TN_OPAQUE; /* the same word may stand for a type in one page and for none in another */
	if (!slice && !opaque && c->extras != NULL && same_extras(&c->page, p)) {
		t->extras = c->extras;
		return true;
	}
	struct filling f = { o->job->mem, meta_new(o->job->mem, TN_META_MAP), true };
	if (f.map == NULL)
		return thin_read_no_memory(o);
	fill_page(&f, p, plainly);
	t->extras = f.map;
	if (!slice && !opaque)
		*c = (struct cached){ *p, f.map };
	return f.ok || thin_read_no_memory(o);
}
