/* read_native.c - what an archive holds beside a model: the orders of its pages, its tape, its memory plan, its
 * alignment; as far as they are not what the writer would make of the model anyway. */
#include "format/thin/read.h"

#include "base/num.h"

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
	return list != NULL || thin_read_no_memory(o);
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
			return thin_read_no_memory(o);
		struct filling f = { mem, meta_add_map(mem, list, (tn_view){ NULL, 0 }), true };
		struct tn_meta *shape = NULL;
		if (f.map == NULL)
			return thin_read_no_memory(o);
		fill_string(&f, "id", thin_record_at(&o->table, o->parents[i].record).id);
		fill_page(&f, p, false);
		fill_uint(&f, FUSED_SIZE, true, p->size, 64);
		f.ok = f.ok && (shape = meta_add_array(mem, f.map, VIEW("shape"))) != NULL;
		for (uint32_t d = 0; f.ok && d < p->rank; d++)
			f.ok = meta_add_uint(mem, shape, (tn_view){ NULL, 0 }, p->shape[d], 64) != NULL;
		if (!f.ok)
			return thin_read_no_memory(o);
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
		return thin_read_no_memory(o);
	bool all = expect_ids(o, expected);
	if (all && same_ids(o->ids, expected, o->n_ids))
		return true;
	struct tn_meta *native = native_of(o);
	if (native == NULL)
		return thin_read_no_memory(o);
	if (all && ids_ascend(o->ids, o->n) && same_ids(o->ids + o->n, expected + o->n, o->n_ids - o->n))
		return meta_add_string(o->job->mem, native, VIEW(NATIVE_PAGES), VIEW(NATIVE_BY_ID)) != NULL || thin_read_no_memory(o);
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
	       thin_read_no_memory(o);
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
		return thin_read_no_memory(o);
	fill_string(&f, "stage", s->name);
	fill_string(&f, "operator", s->operator.len != 0 ? s->operator : (tn_view){ NULL, 0 });
	if (s->params != NULL)
		meta_append(f.map, VIEW("operator_params"), s->params);
	return f.ok ? put_ids(o, f.map, "page_refs", text_at, s->refs, s->n_refs) : thin_read_no_memory(o);
}

static bool put_tape(struct opening *o)
{
	if (is_plain_tape(o))
		return true;
	struct tn_meta *native = native_of(o);
	struct tn_meta *tape = native != NULL ? meta_add_array(o->job->mem, native, VIEW(NATIVE_TAPE)) : NULL;
	if (tape == NULL)
		return thin_read_no_memory(o);
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
		return thin_read_no_memory(o);
	fill_uint(&f, "scratch_bytes", true, p->scratch, 64);
	fill_uint(&f, "min_vram_bytes", true, p->min_vram, 64);
	fill_uint(&f, "recommended_vram_bytes", true, p->recommended_vram, 64);
	struct filling kv = { mem, f.ok ? meta_add_map(mem, f.map, VIEW("kv_cache")) : NULL, true };
	if (kv.map == NULL)
		return thin_read_no_memory(o);
	fill_string(&kv, "policy", p->policy);
	fill_uint(&kv, "recent_tokens_high_precision", true, p->recent_tokens, 64);
	fill_string(&kv, "old_tokens_codec", p->codec);
	return kv.ok || thin_read_no_memory(o);
}

/* ---- All of it ---- */

bool thin_set_native(struct opening *o)
{
	uint64_t table_end = o->table.off + o->table.bytes.len;
	return put_tape(o) && put_plan(o) && put_fused(o) && put_page_order(o) && put_table_order(o) &&
	       put_alignment(o, table_end);
}
