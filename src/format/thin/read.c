/* read.c - an archive into a model: a tensor for each page that holds or shares bytes.
 *
 * The manifest's fields become metadata; what a tensor has no name for becomes its extras; tape, memory plan and
 * orders go into the native subtree, as far as they are not what the writer would make of the model anyway. A page
 * whose bytes cannot be told is kept without any, so that the rest of the file can be had and verify can go on. */
#include "format/thin/read.h"

#include <stdlib.h>

bool thin_read_no_memory(struct opening *o)
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
		thin_read_no_memory(o);
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
		.dtype_text = thin_spelled_plainly(p, d) && d != TN_OPAQUE ? tn_text(dtype_info(d)->name) : p->dtype,
	};
	o->n++;
	return thin_set_extras(o, t, p) ? t : NULL;
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
		return thin_read_no_memory(o);
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
	return true;
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
		return thin_read_no_memory(o);
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
		return thin_read_no_memory(o);
	for (uint64_t i = 0; i < o->n; i++)
		if (o->tensors[i].enc == ENC_NONE)
			o->tensors[i].offset = table_end;
	m->tensors = o->tensors;
	m->n = o->n;
	return model_sort_by_data(m->tensors, m->n) || thin_read_no_memory(o);
}

tn_code thin_parse(struct parse_job *job)
{
	struct opening o = { .job = job };
	job->check.max_tensors = limit_or(job->limits->max_tensors, UINT64_MAX);
	job->check.max_tensor_bytes = limit_or(job->limits->max_tensor_bytes, UINT64_MAX);
	bool ok = thin_read_header(job, &o.h) && thin_read_table(job, &o.h, &o.table) && read_manifest(&o) &&
	          settle_parents(&o) && set_model(&o) && thin_set_native(&o);
	return ok ? TN_OK : job->err->code;
}
