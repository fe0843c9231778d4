/* read.c - an archive into a model: a tensor for each page that holds or shares bytes.
 *
 * The manifest's fields become metadata; what a tensor has no name for becomes its extras; tape, memory plan and
 * orders go into the native subtree, as far as they are not what the writer would make of the model anyway. A page
 * whose bytes cannot be told is kept without any, so that the rest of the file can be had and verify can go on. */
#include "format/thin/layout.h"
#include "format/thin/manifest.h"

#include <inttypes.h>
#include <stdlib.h>

/* A slice of a page that has a record. */
struct part {
	uint64_t record, off, size, tensor;
};

/* A page of kind fused_physical. */
struct parent {
	struct page page;
	uint64_t    record;
	bool        whole; /* the sum of its slices: no tensor of its own */
};

/* Extras that were made before, by what they hold. */
enum { CACHED = 256 };
struct cached {
	struct page     page;
	struct tn_meta *extras;
};

struct opening {
	struct parse_job  *job;
	struct thin_header h;
	struct thin_table  table;
	struct manifest    m;
	struct tensor *tensors;
	uint64_t       n, cap;
	tn_view       *ids;      /* of all pages, in the manifest's order */
	uint64_t       n_ids, cap_ids;
	struct part   *parts;
	uint64_t       n_parts, cap_parts;
	struct parent *parents;
	uint64_t       n_parents, cap_parents;
	struct cached *cache;    /* [CACHED] */
	uint64_t       physical; /* bytes of all pages that are no slices */
	uint64_t       last;     /* record that was found last */
	uint64_t       passed;   /* of the file: read, and given back */
};

static bool no_memory(struct opening *o)
{
	arena_err(o->job->mem, o->job->err, THIN ": pages");
	return false;
}

/* The list with room for one more; NULL when memory is out. */
static void *room(struct opening *o, void *list, uint64_t n, uint64_t *cap, size_t size)
{
	if (n < *cap)
		return list;
	uint64_t more = *cap != 0 ? 2 * *cap : 16;
	void *grown = arena_raw(o->job->mem, more, size);
	if (grown == NULL) {
		no_memory(o);
		return NULL;
	}
	copy_bytes(grown, list, (size_t)n * size);
	*cap = more;
	return grown;
}

static void note(struct opening *o, tn_view page, tn_code code, const char *why)
{
	report_add(o->job->report, TN_WARNING, code, TN_NO_OFFSET, page, THIN ": page '%s': %s", ESC(page), why);
}

/* ---- Extras ---- */

static bool is_spelled_plainly(const struct page *p, tn_dtype d)
{
	return d == TN_OPAQUE || view_is(p->dtype, dtype_info(d)->name);
}

static bool is_plain(const struct page *p, bool plainly)
{
	return plainly && p->has == 0 && !p->experimental && p->fused_to.ptr == NULL && p->scheme.ptr == NULL &&
	       p->scale_page.ptr == NULL && view_is(p->kind, PLAIN_KIND) && view_is(p->op, PLAIN_OP) &&
	       view_is(p->layout, PLAIN_LAYOUT);
}

struct filling {
	struct arena   *mem;
	struct tn_meta *map;
	bool            ok;
};

static void fill_string(struct filling *f, const char *key, tn_view v)
{
	f->ok = f->ok && (v.ptr == NULL || meta_add_string(f->mem, f->map, tn_text(key), v) != NULL);
}

static void fill_uint(struct filling *f, const char *key, bool there, uint64_t v, unsigned width)
{
	f->ok = f->ok && (!there || meta_add_uint(f->mem, f->map, tn_text(key), v, width) != NULL);
}

static void fill_true(struct filling *f, const char *key, bool v)
{
	f->ok = f->ok && (!v || meta_add_bool(f->mem, f->map, tn_text(key), true) != NULL);
}

/* What a page says that a tensor does not. */
static void fill_page(struct filling *f, const struct page *p, bool plainly)
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
static bool set_extras(struct opening *o, struct tensor *t, const struct page *p)
{
	bool plainly = is_spelled_plainly(p, t->dtype), slice = p->fused_to.ptr != NULL;
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
		return no_memory(o);
	fill_page(&f, p, plainly);
	t->extras = f.map;
	if (!slice && !opaque)
		*c = (struct cached){ *p, f.map };
	return f.ok || no_memory(o);
}

/* ---- Tensors ---- */

static struct tensor *new_tensor(struct opening *o, const struct page *p, tn_view id)
{
	o->tensors = room(o, o->tensors, o->n, &o->cap, sizeof *o->tensors);
	if (o->tensors == NULL)
		return NULL;
	struct tensor *t = &o->tensors[o->n];
	tn_dtype d = thin_dtype(p->dtype, p->rank, p->shape, p->size);
	*t = (struct tensor){
		.name = id, .dtype = d, .enc = ENC_NONE, .rank = p->rank, .shape = p->shape, .nbytes = p->size,
		.dtype_text = is_spelled_plainly(p, d) && d != TN_OPAQUE ? tn_text(dtype_info(d)->name) : p->dtype,
	};
	o->n++;
	return set_extras(o, t, p) ? t : NULL;
}

/* What is wrong with a record for its page, and the code for it; NULL: nothing. */
static const char *record_fault(const struct page *p, const struct thin_record *r, tn_code *code)
{
	*code = TN_E_CORRUPT;
	if (r->flags == THIN_FLAG_ZSTD)
		return r->raw != p->size || r->raw / THIN_RATIO_MAX > r->stored
		       ? "it is compressed and cannot have the size that is stated" : NULL;
	if (r->flags == 0)
		return r->stored != p->size ? "the page table and the manifest give it different sizes" : NULL;
	*code = TN_E_UNSUPPORTED;
	return "its flags say that its bytes are stored in a way that is not known";
}

/* The bytes of a record, where it agrees with its page. */
static void set_bytes(struct opening *o, struct tensor *t, const struct page *p, const struct thin_record *r)
{
	tn_code code;
	const char *fault = record_fault(p, r, &code);
	if (fault != NULL) {
		note(o, t->name, code, fault);
		return;
	}
	t->enc = r->flags == THIN_FLAG_ZSTD ? ENC_ZSTD : ENC_RAW;
	t->offset = r->offset;
	t->stored = r->stored;
	t->digest = r->digest;
	if (t->enc == ENC_ZSTD)
		o->job->model->dialect = "zstd pages";
}

static bool add_physical(struct opening *o, const struct page *p, uint64_t record)
{
	struct thin_record r = thin_record_at(&o->table, record);
	struct tensor *t = new_tensor(o, p, r.id);
	if (t != NULL)
		set_bytes(o, t, p, &r);
	return t != NULL;
}

/* Whether the slice lies in the record's bytes, and these somewhere. */
static bool slice_fits(const struct thin_record *r, const struct page *p)
{
	uint64_t end;
	return r->flags == 0 && add_u64(r->offset, r->stored, &end) && span_fits(p->fused_offset, p->size, r->stored);
}

/* A slice's digest stands in the manifest only. */
static bool set_slice_digest(struct opening *o, struct tensor *t, const struct page *p)
{
	tn_digest *digest = ARENA_NEW(o->job->mem, 1, tn_digest);
	if (digest == NULL)
		return no_memory(o);
	if (thin_hex_digest(p->checksum, digest))
		t->digest = digest;
	return true;
}

static bool add_slice(struct opening *o, const struct page *p)
{
	uint64_t record;
	bool found = thin_record_find(&o->table, p->fused_to, &record);
	struct thin_record r = { 0 };
	struct tensor *t = new_tensor(o, p, p->id);
	if (t == NULL)
		return false;
	if (found)
		r = thin_record_at(&o->table, record);
	if (!found || !slice_fits(&r, p)) {
		note(o, t->name, TN_E_CORRUPT, "the page that it is a slice of has no such bytes");
		return true;
	}
	o->parts = room(o, o->parts, o->n_parts, &o->cap_parts, sizeof *o->parts);
	if (o->parts == NULL)
		return false;
	o->parts[o->n_parts++] = (struct part){ record, p->fused_offset, p->size, o->n - 1 };
	t->enc = ENC_RAW;
	t->slice = SLICE_ALIAS;
	t->offset = r.offset + p->fused_offset;
	t->stored = p->size;
	return set_slice_digest(o, t, p);
}

static bool add_parent(struct opening *o, const struct page *p, uint64_t record)
{
	o->parents = room(o, o->parents, o->n_parents, &o->cap_parents, sizeof *o->parents);
	if (o->parents == NULL)
		return false;
	o->parents[o->n_parents++] = (struct parent){ .page = *p, .record = record };
	return true;
}

static bool add_lost(struct opening *o, const struct page *p)
{
	struct tensor *t = new_tensor(o, p, p->id);
	if (t != NULL)
		note(o, t->name, TN_E_CORRUPT, "it has no record in the page table");
	return t != NULL;
}

/* A ref is a page's id: the one in the page table is kept, so that the manifest's text need not be touched again. */
static void settle_refs(struct opening *o)
{
	uint64_t last = UINT64_MAX, record;
	for (uint64_t i = 0; i < o->m.n_stages; i++) {
		struct stage *s = &o->m.tape[i];
		for (uint64_t k = 0; k < s->n_refs; k++)
			if (thin_record_next(&o->table, s->refs[k], &last, &record))
				s->refs[k] = thin_record_at(&o->table, record).id;
	}
}

/* Most of a long manifest is its pages: what has been read of them need not stay in memory. */
static void give_back(struct opening *o, uint64_t at)
{
	enum { STEP = 2 << 20 };
	if (o->job->passed == NULL || at - o->passed < STEP)
		return;
	o->job->passed(o->job->passed_ctx, o->passed, at - o->passed);
	o->passed = at;
}

static bool take_page(void *ctx, const struct page *p, uint64_t at)
{
	struct opening *o = ctx;
	uint64_t record;
	bool found = thin_record_next(&o->table, p->id, &o->last, &record);
	if (o->n_ids == 0)
		settle_refs(o);
	give_back(o, at);
	o->ids = room(o, o->ids, o->n_ids, &o->cap_ids, sizeof *o->ids);
	if (o->ids == NULL)
		return false;
	o->ids[o->n_ids++] = found ? thin_record_at(&o->table, record).id : p->id;
	if (p->fused_to.ptr != NULL)
		return add_slice(o, p);
	if (!add_u64(o->physical, p->size, &o->physical))
		o->physical = UINT64_MAX;
	if (!found)
		return add_lost(o, p);
	return view_is(p->kind, "fused_physical") ? add_parent(o, p, record) : add_physical(o, p, record);
}

/* ---- Fused pages ---- */

static int by_place(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	if (x->record != y->record)
		return x->record < y->record ? -1 : 1;
	return x->off != y->off ? (x->off < y->off ? -1 : 1) : (x->size > y->size) - (x->size < y->size);
}

/* The first slice of that record, in the sorted list. */
static uint64_t first_part(const struct opening *o, uint64_t record)
{
	uint64_t low = 0, high = o->n_parts;
	while (low < high) {
		uint64_t mid = low + (high - low) / 2;
		if (o->parts[mid].record < record)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Whether a parent's slices stand end to end from its first byte to its last. Then nothing is lost when it is no
 * tensor of its own, and it can be put together again. */
static bool is_sum_of_parts(const struct opening *o, const struct parent *parent, uint64_t *from, uint64_t *to)
{
	struct thin_record r = thin_record_at(&o->table, parent->record);
	uint64_t at = 0, i = *from = *to = first_part(o, parent->record);
	for (; i < o->n_parts && o->parts[i].record == parent->record; i++) {
		if (o->parts[i].off != at || o->parts[i].size == 0)
			return false;
		at += o->parts[i].size;
	}
	*to = i;
	return at != 0 && at == r.stored && r.stored == parent->page.size;
}

static bool keep_checksum(struct opening *o, struct tensor *t)
{
	char hex[THIN_HEX + 1];
	if (t->digest == NULL || t->extras == NULL)
		return true;
	tn_digest_text(t->digest, hex);
	tn_view copy = arena_copy(o->job->mem, tn_text(hex));
	return (copy.ptr != NULL && meta_add_string(o->job->mem, t->extras, VIEW(EXTRA_CHECKSUM), copy) != NULL) ||
	       no_memory(o);
}

static bool settle_parents(struct opening *o)
{
	if (o->n_parts != 0)
		qsort(o->parts, (size_t)o->n_parts, sizeof *o->parts, by_place);
	for (uint64_t i = 0; i < o->n_parents; i++) {
		struct parent *p = &o->parents[i];
		uint64_t from, to;
		p->whole = is_sum_of_parts(o, p, &from, &to);
		if (!p->whole && !add_physical(o, &p->page, p->record))
			return false;
		for (uint64_t k = from; p->whole && k < to; k++)
			o->tensors[o->parts[k].tensor].slice = SLICE_PART;
	}
	for (uint64_t i = 0; i < o->n_parts; i++) {
		struct tensor *t = &o->tensors[o->parts[i].tensor];
		if (t->slice == SLICE_ALIAS && !keep_checksum(o, t))
			return false;
	}
	return true;
}

/* ---- Native ---- */

static struct tn_meta *native_of(struct opening *o)
{
	return model_native(o->job->mem, o->job->model, THIN);
}

static tn_view text_at(const void *views, uint64_t i) { return ((const tn_view *)views)[i]; }

static bool put_ids(struct opening *o, struct tn_meta *to, const char *key, tn_view (*id)(const void *, uint64_t),
                    const void *ctx, uint64_t n)
{
	struct arena *mem = o->job->mem;
	struct tn_meta *list = to != NULL ? meta_add_array(mem, to, tn_text(key)) : NULL;
	for (uint64_t i = 0; list != NULL && i < n; i++)
		if (meta_add_string(mem, list, (tn_view){ NULL, 0 }, id(ctx, i)) == NULL)
			list = NULL;
	return list != NULL || no_memory(o);
}

/* The pages that are sums of their slices. */
static bool put_fused(struct opening *o)
{
	struct arena *mem = o->job->mem;
	struct tn_meta *list = NULL;
	for (uint64_t i = 0; i < o->n_parents; i++) {
		const struct page *p = &o->parents[i].page;
		if (!o->parents[i].whole)
			continue;
		struct tn_meta *native = native_of(o);
		if (list == NULL && (native == NULL || (list = meta_add_array(mem, native, VIEW(NATIVE_FUSED))) == NULL))
			return no_memory(o);
		struct filling f = { mem, meta_add_map(mem, list, (tn_view){ NULL, 0 }), true };
		struct tn_meta *shape = NULL;
		if (f.map == NULL)
			return no_memory(o);
		fill_string(&f, "id", thin_record_at(&o->table, o->parents[i].record).id);
		fill_page(&f, p, false);
		f.ok = f.ok && (shape = meta_add_array(mem, f.map, VIEW("shape"))) != NULL;
		for (uint32_t d = 0; f.ok && d < p->rank; d++)
			f.ok = meta_add_uint(mem, shape, (tn_view){ NULL, 0 }, p->shape[d], 64) != NULL;
		if (!f.ok)
			return no_memory(o);
	}
	return true;
}

/* The ids in the order that the writer gives pages when nothing else is said: tensors, then fused pages. */
static bool expect_ids(struct opening *o, tn_view *ids)
{
	uint64_t n = 0;
	for (; n < o->n; n++)
		ids[n] = o->tensors[n].name;
	for (uint64_t i = 0; i < o->n_parents; i++)
		if (o->parents[i].whole)
			ids[n++] = thin_record_at(&o->table, o->parents[i].record).id;
	return n == o->n_ids;
}

static bool same_ids(const tn_view *a, const tn_view *b, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (!view_eq(a[i], b[i]))
			return false;
	return true;
}

/* The converter sorts its pages by id; fused ones stand behind them. */
static bool ids_ascend(const tn_view *ids, uint64_t n)
{
	for (uint64_t i = 1; i < n; i++)
		if (view_cmp(ids[i - 1], ids[i]) >= 0)
			return false;
	return true;
}

static bool put_page_order(struct opening *o)
{
	tn_view *expected = arena_raw(o->job->mem, o->n + o->n_parents, sizeof *expected);
	if (expected == NULL)
		return no_memory(o);
	bool all = expect_ids(o, expected);
	if (all && same_ids(o->ids, expected, o->n_ids))
		return true;
	struct tn_meta *native = native_of(o);
	if (native == NULL)
		return no_memory(o);
	if (all && ids_ascend(o->ids, o->n) && same_ids(o->ids + o->n, expected + o->n, o->n_ids - o->n))
		return meta_add_string(o->job->mem, native, VIEW(NATIVE_PAGES), VIEW(NATIVE_BY_ID)) != NULL || no_memory(o);
	return put_ids(o, native, NATIVE_PAGES, text_at, o->ids, o->n_ids);
}

static tn_view record_id(const void *table, uint64_t i) { return thin_record_at(table, i).id; }

static bool put_table_order(struct opening *o)
{
	for (uint64_t i = 1; i < o->table.n; i++)
		if (thin_record_at(&o->table, i).offset < thin_record_at(&o->table, i - 1).offset)
			return put_ids(o, native_of(o), NATIVE_TABLE, record_id, &o->table, o->table.n);
	return true;
}

/* The alignment that explains the gaps: the records in the order of their data, each as near as it may be. */
static uint64_t alignment(const struct opening *o, uint64_t table_end)
{
	for (uint64_t align = 1 << 30; align > 1; align /= 2) {
		uint64_t at = table_end, i = 0;
		for (; i < o->table.n; i++) {
			struct thin_record r = thin_record_at(&o->table, i);
			if (!align_up(at, align, &at) || at != r.offset || !add_u64(at, r.stored, &at))
				break;
		}
		if (i == o->table.n)
			return align;
	}
	return 1;
}

static bool put_alignment(struct opening *o, uint64_t table_end)
{
	uint64_t at = table_end;
	bool gaps = false;
	for (uint64_t i = 0; i < o->table.n; i++) {
		struct thin_record r = thin_record_at(&o->table, i);
		if (r.offset < at || !add_u64(r.offset, r.stored, &r.stored))
			return true;
		gaps = gaps || r.offset != at;
		at = r.stored;
	}
	uint64_t align = gaps ? alignment(o, table_end) : 1;
	if (align == 1)
		return true;
	o->job->model->data_align = align;
	if (o->table.n != 0)
		o->job->model->data_at = thin_record_at(&o->table, 0).offset;
	struct tn_meta *native = native_of(o);
	return (native != NULL && meta_add_uint(o->job->mem, native, VIEW(NATIVE_ALIGN), align, 64) != NULL) ||
	       no_memory(o);
}

/* ---- Tape and memory plan ---- */

static bool is_whole_parent(const struct opening *o, tn_view id, uint64_t *next)
{
	while (*next < o->n_parents && !o->parents[*next].whole)
		++*next;
	if (*next == o->n_parents || !view_eq(o->parents[*next].page.id, id))
		return false;
	++*next;
	return true;
}

/* One stage that names every page but the fused ones, in the manifest's order. */
static bool is_plain_tape(const struct opening *o)
{
	const struct stage *s = o->m.tape;
	uint64_t k = 0, next = 0;
	if (o->m.n_stages != 1 || !view_is(s->name, PLAIN_STAGE) || s->operator.len != 0 || s->params != NULL)
		return false;
	for (uint64_t i = 0; i < o->n_ids; i++) {
		if (is_whole_parent(o, o->ids[i], &next))
			continue;
		if (k == s->n_refs || !view_eq(s->refs[k], o->ids[i]))
			return false;
		k++;
	}
	return k == s->n_refs;
}

static bool put_stage(struct opening *o, struct tn_meta *tape, const struct stage *s)
{
	struct arena *mem = o->job->mem;
	struct filling f = { mem, meta_add_map(mem, tape, (tn_view){ NULL, 0 }), true };
	if (f.map == NULL)
		return no_memory(o);
	fill_string(&f, "stage", s->name);
	fill_string(&f, "operator", s->operator.len != 0 ? s->operator : (tn_view){ NULL, 0 });
	if (s->params != NULL)
		meta_append(f.map, VIEW("operator_params"), s->params);
	return f.ok ? put_ids(o, f.map, "page_refs", text_at, s->refs, s->n_refs) : no_memory(o);
}

static bool put_tape(struct opening *o)
{
	if (is_plain_tape(o))
		return true;
	struct tn_meta *native = native_of(o);
	struct tn_meta *tape = native != NULL ? meta_add_array(o->job->mem, native, VIEW(NATIVE_TAPE)) : NULL;
	if (tape == NULL)
		return no_memory(o);
	for (uint64_t i = 0; i < o->m.n_stages; i++)
		if (!put_stage(o, tape, &o->m.tape[i]))
			return false;
	return true;
}

static bool is_plain_plan(const struct opening *o)
{
	const struct memory_plan *p = &o->m.plan;
	return p->scratch == 0 && p->min_vram == o->physical && p->recommended_vram == o->physical &&
	       p->recent_tokens == PLAIN_RECENT && view_is(p->policy, PLAIN_POLICY) && view_is(p->codec, PLAIN_CODEC);
}

static bool put_plan(struct opening *o)
{
	const struct memory_plan *p = &o->m.plan;
	if (is_plain_plan(o))
		return true;
	struct arena *mem = o->job->mem;
	struct tn_meta *native = native_of(o);
	struct filling f = { mem, native != NULL ? meta_add_map(mem, native, VIEW(NATIVE_PLAN)) : NULL, true };
	if (f.map == NULL)
		return no_memory(o);
	fill_uint(&f, "scratch_bytes", true, p->scratch, 64);
	fill_uint(&f, "min_vram_bytes", true, p->min_vram, 64);
	fill_uint(&f, "recommended_vram_bytes", true, p->recommended_vram, 64);
	struct filling kv = { mem, f.ok ? meta_add_map(mem, f.map, VIEW("kv_cache")) : NULL, true };
	if (kv.map == NULL)
		return no_memory(o);
	fill_string(&kv, "policy", p->policy);
	fill_uint(&kv, "recent_tokens_high_precision", true, p->recent_tokens, 64);
	fill_string(&kv, "old_tokens_codec", p->codec);
	return kv.ok || no_memory(o);
}

/* ---- The whole ---- */

static bool read_manifest(struct opening *o)
{
	const struct manifest_options opt = { .origin = o->h.manifest_off, .exact = true, .page = take_page, .ctx = o };
	tn_view text = { o->job->file.ptr + o->h.manifest_off, (size_t)o->h.manifest_len };
	o->cache = ARENA_NEW(o->job->mem, CACHED, struct cached);
	o->cap = o->cap_ids = o->table.n;
	o->last = UINT64_MAX;
	o->passed = o->h.manifest_off;
	o->tensors = arena_raw(o->job->mem, o->cap, sizeof *o->tensors);
	o->ids = arena_raw(o->job->mem, o->cap_ids, sizeof *o->ids);
	if (o->cache == NULL || o->tensors == NULL || o->ids == NULL)
		return no_memory(o);
	return manifest_read(&o->m, text, &opt, o->job->mem, o->job->err) == TN_OK;
}

static bool set_model(struct opening *o)
{
	struct model *m = o->job->model;
	uint64_t table_end = o->table.off + o->table.bytes.len;
	m->version = "0";
	m->metadata = o->m.model;
	m->data_at = table_end;
	model_region(m, TN_REGION_HEADER, 0, THIN_HEADER, "header");
	model_region(m, TN_REGION_INDEX, o->h.manifest_off, o->h.manifest_len, "manifest");
	model_region(m, TN_REGION_INDEX, o->table.off, o->table.bytes.len, "page table");
	if (o->m.envelope.ptr != NULL &&
	    meta_add_string(o->job->mem, m->metadata, VIEW(THIN_ENVELOPE_KEY), o->m.envelope) == NULL)
		return no_memory(o);
	for (uint64_t i = 0; i < o->n; i++)
		if (o->tensors[i].enc == ENC_NONE)
			o->tensors[i].offset = table_end;
	m->tensors = o->tensors;
	m->n = o->n;
	return model_sort_by_data(m->tensors, m->n) || no_memory(o);
}

static bool set_native(struct opening *o)
{
	uint64_t table_end = o->table.off + o->table.bytes.len;
	return put_tape(o) && put_plan(o) && put_fused(o) && put_page_order(o) && put_table_order(o) &&
	       put_alignment(o, table_end);
}

tn_code thin_parse(struct parse_job *job)
{
	struct opening o = { .job = job };
	job->check.max_tensors = limit_or(job->limits->max_tensors, UINT64_MAX);
	job->check.max_tensor_bytes = limit_or(job->limits->max_tensor_bytes, UINT64_MAX);
	bool ok = thin_read_header(job, &o.h) && thin_read_table(job, &o.h, &o.table) && read_manifest(&o) &&
	          settle_parents(&o) && set_model(&o) && set_native(&o);
	return ok ? TN_OK : job->err->code;
}
