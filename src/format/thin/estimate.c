/* estimate.c - reckoning with an archive's execution tape: what its parts share, and which of them is asked for. */
#include "format/thin/estimate.h"

bool is_parent(const struct page *p) { return view_is(p->kind, "fused_physical"); }

bool is_global(const struct page *p)
{
	return !has_layer(p) || view_is(p->kind, "embedding") || view_is(p->kind, "lm_head");
}

bool stage_page(const struct estimate *e, const struct stage *s, uint64_t k, uint64_t *page)
{
	return thin_page_find(&e->front, s->refs[k], page);
}

uint64_t stored_bytes(const struct estimate *e, uint64_t page)
{
	uint64_t record = e->record[page];
	return record != NO_RECORD ? thin_record_at(&e->front.table, record).stored : 0;
}

uint64_t raw_bytes(const struct estimate *e, uint64_t page)
{
	uint64_t record = e->record[page];
	return record != NO_RECORD ? thin_record_at(&e->front.table, record).raw : 0;
}

/* ---- The result ---- */

static void check(struct estimate *e, const void *made) { e->ok = e->ok && made != NULL; }

struct tn_meta *put_map(struct estimate *e, struct tn_meta *to, const char *key)
{
	struct tn_meta *map = to != NULL ? meta_add_map(e->job->mem, to, tn_text(key)) : NULL;
	check(e, map);
	return map;
}

struct tn_meta *put_array(struct estimate *e, struct tn_meta *to, const char *key)
{
	struct tn_meta *array = to != NULL ? meta_add_array(e->job->mem, to, tn_text(key)) : NULL;
	check(e, array);
	return array;
}

void put_uint(struct estimate *e, struct tn_meta *to, const char *key, uint64_t v)
{
	check(e, to != NULL ? meta_add_uint(e->job->mem, to, tn_text(key), v, 64) : NULL);
}

void put_real(struct estimate *e, struct tn_meta *to, const char *key, double v)
{
	check(e, to != NULL ? meta_add_float(e->job->mem, to, tn_text(key), f64_bits(v), 64) : NULL);
}

void put_view(struct estimate *e, struct tn_meta *to, const char *key, tn_view v)
{
	check(e, to != NULL ? meta_add_string(e->job->mem, to, tn_text(key), v) : NULL);
}

void put_text(struct estimate *e, struct tn_meta *to, const char *key, const char *v)
{
	if (v != NULL)
		put_view(e, to, key, tn_text(v));
	else
		check(e, to != NULL ? meta_add_null(e->job->mem, to, tn_text(key)) : NULL);
}

void put_said(struct estimate *e, struct tn_meta *array, const char *said)
{
	check(e, said);
	if (e->ok)
		put_text(e, array, NULL, said);
}

void *estimate_room(struct estimate *e, uint64_t n, size_t size)
{
	void *room = arena_new(e->job->mem, n, size);
	check(e, room);
	return room;
}

/* ---- The whole ---- */

static uint64_t model_uint(const struct estimate *e, const char *key)
{
	uint64_t v;
	return tn_meta_u64(meta_find(e->m->model, tn_text(key)), &v) ? v : 0;
}

static void read_model(struct estimate *e)
{
	uint64_t heads = model_uint(e, "heads");
	e->layers = model_uint(e, "layers");
	e->kv_heads = model_uint(e, "kv_heads");
	e->head_dim = model_uint(e, "head_dim");
	if (e->head_dim == 0 && heads != 0)
		e->head_dim = model_uint(e, "hidden_size") / heads;
}

static void count_uses(struct estimate *e)
{
	for (uint64_t i = 0; i < e->m->n_stages; i++) {
		const struct stage *s = &e->m->tape[i];
		uint64_t page;
		for (uint64_t k = 0; k < s->n_refs; k++)
			if (stage_page(e, s, k, &page))
				e->uses[page]++;
	}
}

static bool open_archive(struct estimate *e)
{
	struct estimate_job *job = e->job;
	if (thin_load(&e->front, job->file, job->model, job->mem, job->err) != TN_OK)
		return false;
	e->m = &e->front.m;
	e->record = estimate_room(e, e->m->n_pages, sizeof *e->record);
	e->uses = estimate_room(e, e->m->n_pages, sizeof *e->uses);
	if (!e->ok)
		return false;
	for (uint64_t i = 0; i < e->m->n_pages; i++)
		if (!thin_record_find(&e->front.table, e->m->pages[i].id, &e->record[i]))
			e->record[i] = NO_RECORD;
	count_uses(e);
	read_model(e);
	return true;
}

static void plan(struct estimate *e)
{
	struct memory m;
	if (memory_plan(e, e->job->options, &m))
		memory_put(e, &m, e->job->out);
}

tn_code thin_estimate(struct estimate_job *job)
{
	struct estimate e = { .job = job, .ok = true };
	if (open_archive(&e)) {
		switch (job->kind) {
		case TN_ESTIMATE_PLAN:    plan(&e); break;
		case TN_ESTIMATE_LOAD:    plan_load(&e); break;
		case TN_ESTIMATE_PROFILE: plan_profile(&e); break;
		case TN_ESTIMATE_STATS:   plan_stats(&e); break;
		}
	}
	return e.ok ? job->err->code : arena_err(job->mem, job->err, THIN ": estimate");
}
