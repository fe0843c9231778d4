/* plan_load.c - what is read from an archive while its tape is played: once for what is resident, for each token for
 * the rest, in which order and in how many requests.
 *
 * Records stand for places in the file: two in a row are read in one go. A slice has no record, so it counts as no
 * bytes and takes no part in the order, as upstream has it. */
#include "format/thin/estimate.h"

#include <stdlib.h>

/* Reads that run on from record to record. */
struct groups {
	uint64_t n, requests, most_pages, most_bytes;
	uint64_t pages, bytes, last; /* of the one that is open */
	uint64_t prefetch;
};

static void group_end(struct groups *g)
{
	if (g->pages == 0)
		return;
	g->n++;
	g->requests = plus(g->requests, (g->pages - 1) / g->prefetch + 1);
	g->most_pages = max_u64(g->most_pages, g->pages);
	g->most_bytes = max_u64(g->most_bytes, g->bytes);
	g->pages = g->bytes = 0;
}

static void group_add(struct groups *g, uint64_t record, uint64_t bytes)
{
	if (g->pages != 0 && record != g->last + 1)
		group_end(g);
	g->pages++;
	g->bytes = plus(g->bytes, bytes);
	g->last = record;
}

struct load {
	struct memory memory;
	struct groups resident, stream;
	uint64_t      n_resident, n_evicted, initial, streamed;
	uint64_t      refs, sequential, jumps, backward; /* of pages with a record, and from one to the next */
	uint64_t      last;    /* record, or NO_RECORD */
	uint64_t     *window;  /* bytes of the latest streamed pages, as many as one prefetch takes */
	uint64_t      in_window, next, staged, staging;
	uint64_t     *evicted; /* pages, in the order of their first mention */
	bool         *seen;
};

static void load_resident(struct estimate *e, struct load *l)
{
	bool *there = estimate_room(e, e->front.table.n, sizeof *there);
	for (uint64_t i = 0; e->ok && i < e->m->n_pages; i++) {
		l->n_resident += l->memory.resident[i];
		if (l->memory.resident[i] && e->record[i] != NO_RECORD)
			there[e->record[i]] = true;
	}
	for (uint64_t k = 0; e->ok && k < e->front.table.n; k++) {
		if (!there[k])
			continue;
		uint64_t bytes = thin_record_at(&e->front.table, k).stored;
		l->initial = plus(l->initial, bytes);
		group_add(&l->resident, k, bytes);
	}
	group_end(&l->resident);
}

static void step(struct load *l, uint64_t record)
{
	if (record == NO_RECORD)
		return;
	l->refs++;
	if (l->last != NO_RECORD && record == l->last + 1)
		l->sequential++;
	else if (l->last != NO_RECORD)
		l->jumps++;
	l->backward += l->last != NO_RECORD && record < l->last;
	l->last = record;
}

/* The bytes that are under way at a time are those of one prefetch. */
static void stage_bytes(struct load *l, uint64_t bytes)
{
	uint64_t most = l->stream.prefetch;
	if (l->in_window == most)
		l->staged = less(l->staged, l->window[l->next]);
	else
		l->in_window++;
	l->window[l->next] = bytes;
	l->next = (l->next + 1) % most;
	l->staged = plus(l->staged, bytes);
	l->staging = max_u64(l->staging, l->staged);
}

static void stream_page(struct estimate *e, struct load *l, uint64_t page)
{
	uint64_t bytes = stored_bytes(e, page);
	l->streamed = plus(l->streamed, bytes);
	if (!l->seen[page])
		l->evicted[l->n_evicted++] = page;
	l->seen[page] = true;
	if (e->record[page] == NO_RECORD)
		return;
	stage_bytes(l, bytes);
	group_add(&l->stream, e->record[page], bytes);
}

static void load_stage(struct estimate *e, struct load *l, const struct stage *s, struct tn_meta *loads)
{
	uint64_t page, resident = 0, streamed = 0, raw = 0, bytes = 0;
	for (uint64_t k = 0; k < s->n_refs; k++) {
		if (!stage_page(e, s, k, &page))
			continue;
		raw = plus(raw, raw_bytes(e, page));
		step(l, e->record[page]);
		if (l->memory.resident[page]) {
			resident++;
			continue;
		}
		streamed++;
		bytes = plus(bytes, stored_bytes(e, page));
		stream_page(e, l, page);
	}
	struct tn_meta *map = put_map(e, loads, NULL);
	put_view(e, map, "stage", s->name);
	put_uint(e, map, "page_refs", s->n_refs);
	put_uint(e, map, "resident_refs", resident);
	put_uint(e, map, "streamed_refs", streamed);
	put_uint(e, map, "raw_bytes", raw);
	put_uint(e, map, "streamed_bytes", bytes);
}

/* ---- The result ---- */

static int by_text(const void *a, const void *b) { return view_cmp(*(const tn_view *)a, *(const tn_view *)b); }

static void put_evicted(struct estimate *e, const struct load *l)
{
	struct tn_meta *list = put_array(e, e->job->out, "evicted_pages");
	tn_view *ids = estimate_room(e, l->n_evicted, sizeof *ids);
	for (uint64_t i = 0; e->ok && i < l->n_evicted; i++)
		ids[i] = e->m->pages[l->evicted[i]].id;
	if (e->ok && l->n_evicted != 0)
		qsort(ids, (size_t)l->n_evicted, sizeof *ids, by_text);
	for (uint64_t i = 0; e->ok && i < l->n_evicted; i++)
		put_view(e, list, NULL, ids[i]);
}

static void put_reads(struct estimate *e, const struct load *l)
{
	struct tn_meta *out = e->job->out;
	uint64_t ctx = l->memory.options->ctx, kv = ctx != 0 ? l->memory.kv / ctx : 0;
	put_uint(e, out, "initial_archive_read_bytes", l->initial);
	put_uint(e, out, "resident_read_groups", l->resident.n);
	put_uint(e, out, "resident_prefetch_io_ops_initial", l->resident.requests);
	put_uint(e, out, "max_resident_group_pages", l->resident.most_pages);
	put_uint(e, out, "max_resident_group_bytes", l->resident.most_bytes);
	put_uint(e, out, "streamed_weight_bytes_per_token", l->streamed);
	put_uint(e, out, "kv_write_bytes_per_token", kv);
	put_uint(e, out, "estimated_bytes_moved_per_token", plus(plus(l->streamed, kv), l->memory.scratch));
	put_uint(e, out, "peak_memory_bytes", l->memory.total);
	put_uint(e, out, "prefetch_pages", l->stream.prefetch);
	put_uint(e, out, "stream_read_groups", l->stream.n);
	put_uint(e, out, "prefetch_io_ops_per_token", l->stream.requests);
	put_uint(e, out, "max_stream_group_pages", l->stream.most_pages);
	put_uint(e, out, "max_stream_group_bytes", l->stream.most_bytes);
	put_uint(e, out, "recommended_staging_bytes", l->staging);
}

static void put_order(struct estimate *e, const struct load *l)
{
	struct tn_meta *out = e->job->out;
	uint64_t all = l->sequential + l->jumps;
	double ratio = all != 0 ? (double)l->sequential / (double)all : 1.0;
	put_uint(e, out, "execution_page_refs", l->refs);
	put_uint(e, out, "sequential_transitions", l->sequential);
	put_uint(e, out, "nonsequential_transitions", l->jumps);
	put_uint(e, out, "backward_jumps", l->backward);
	put_real(e, out, "sequential_read_ratio", ratio);
}

static bool begin(struct estimate *e, struct load *l)
{
	const tn_plan_options *opt = e->job->options;
	uint64_t prefetch = max_u64(1, opt->prefetch_pages), refs = 1;
	if (!memory_plan(e, opt, &l->memory))
		return false;
	for (uint64_t i = 0; i < e->m->n_stages; i++)
		refs = plus(refs, e->m->tape[i].n_refs);
	l->last = NO_RECORD;
	l->resident.prefetch = l->stream.prefetch = prefetch;
	l->window = estimate_room(e, min_u64(prefetch, refs), sizeof *l->window);
	l->seen = estimate_room(e, e->m->n_pages, sizeof *l->seen);
	l->evicted = estimate_room(e, e->m->n_pages, sizeof *l->evicted);
	return e->ok;
}

void plan_load(struct estimate *e)
{
	struct load l = { 0 };
	struct tn_meta *out = e->job->out, *loads = meta_new(e->job->mem, TN_META_ARRAY);
	if (!begin(e, &l))
		return;
	load_resident(e, &l);
	for (uint64_t i = 0; e->ok && i < e->m->n_stages; i++)
		load_stage(e, &l, &e->m->tape[i], loads);
	group_end(&l.stream);
	put_text(e, out, "backend", e->job->options->backend);
	put_uint(e, out, "ctx_tokens", e->job->options->ctx);
	put_uint(e, out, "batch_size", e->job->options->batch);
	memory_put(e, &l.memory, put_map(e, out, "plan"));
	put_uint(e, out, "stage_count", e->m->n_stages);
	put_uint(e, out, "resident_pages", l.n_resident);
	put_uint(e, out, "streamed_pages", l.n_evicted);
	put_evicted(e, &l);
	put_reads(e, &l);
	put_order(e, &l);
	if (e->ok)
		meta_append(out, VIEW("stage_loads"), loads);
}
