/* plan_profile.c - six ways to run an archive on a device, the one to take, and which pages to keep, stream or
 * offload. */
#include "format/thin/estimate.h"

#include <inttypes.h>

enum { OFFLOAD_LIST = 32 };

/* ---- Candidates ---- */

static const struct way {
	const char *name, *kv_dtype, *residency;
	uint64_t    part; /* of the layers that is offloaded: a quarter, a half */
} ways[] = {
	{ "all_weights_kv_q4", "q4", "all", 0 },
	{ "all_weights_kv_q2", "q2", "all", 0 },
	{ "offload_middle_quarter_kv_q4", "q4", "offload-middle-out", 4 },
	{ "offload_middle_half_kv_q4", "q4", "offload-middle-out", 2 },
	{ "stream_weights_kv_q4", "q4", "stream", 0 },
	{ "stream_weights_kv_q2", "q2", "stream", 0 },
};
enum { WAYS = sizeof ways / sizeof *ways };

struct profile {
	tn_plan_options options[WAYS];
	struct memory   memory[WAYS];
	size_t          chosen;
};

static bool try_ways(struct estimate *e, struct profile *p)
{
	for (size_t i = 0; i < WAYS; i++) {
		tn_plan_options *opt = &p->options[i];
		*opt = *e->job->options;
		opt->kv_dtype = ways[i].kv_dtype;
		opt->residency = ways[i].residency;
		opt->offload_layers = ways[i].part != 0 ? max_u64(1, e->layers / ways[i].part) : 0;
		opt->gpu_fraction = 1;
		if (!memory_plan(e, opt, &p->memory[i]))
			return false;
	}
	return true;
}

/* The first that fits, else the smallest. */
static size_t choose(const struct profile *p)
{
	size_t smallest = 0;
	for (size_t i = 0; i < WAYS; i++) {
		if (p->memory[i].fits)
			return i;
		if (p->memory[i].total < p->memory[smallest].total)
			smallest = i;
	}
	return smallest;
}

static void put_candidate(struct estimate *e, struct tn_meta *array, const struct profile *p, size_t i)
{
	const struct memory *m = &p->memory[i];
	struct tn_meta *map = put_map(e, array, NULL);
	put_text(e, map, "name", ways[i].name);
	put_text(e, map, "status", memory_status(m));
	put_uint(e, map, "total_bytes", m->total);
	put_uint(e, map, "usable_vram_bytes", m->usable);
	put_uint(e, map, "resident_weight_bytes", m->weights);
	put_uint(e, map, "streamed_weight_bytes", memory_streamed(m));
	put_uint(e, map, "kv_cache_bytes", m->kv);
	put_uint(e, map, "scratch_bytes", m->scratch);
	put_uint(e, map, "metadata_bytes", m->metadata);
	put_text(e, map, "kv_dtype", m->options->kv_dtype);
	put_text(e, map, "weight_residency", m->options->residency);
	put_uint(e, map, "offload_layers", m->options->offload_layers);
	memory_suggest(e, m, map);
}

/* ---- Pages ---- */

static void put_hot(struct estimate *e)
{
	struct tn_meta *list = put_array(e, e->job->out, "always_hot_pages");
	for (uint64_t i = 0; e->ok && i < e->m->n_pages; i++)
		if (is_global(&e->m->pages[i]))
			put_view(e, list, NULL, e->m->pages[i].id);
}

/* Pages of layers, in the order in which the tape comes to them. */
static void put_streamable(struct estimate *e)
{
	struct tn_meta *list = put_array(e, e->job->out, "streamable_pages");
	bool *seen = estimate_room(e, e->m->n_pages, sizeof *seen);
	for (uint64_t i = 0; e->ok && i < e->m->n_stages; i++) {
		const struct stage *s = &e->m->tape[i];
		uint64_t page;
		for (uint64_t k = 0; e->ok && k < s->n_refs; k++) {
			if (!stage_page(e, s, k, &page) || seen[page] || !has_layer(&e->m->pages[page]))
				continue;
			seen[page] = true;
			put_view(e, list, NULL, e->m->pages[page].id);
		}
	}
}

static bool is_projection(tn_view op, const char *of)
{
	return view_starts(op, of) && op.len >= 5 && memcmp(op.ptr + op.len - 5, "_proj", 5) == 0;
}

/* Roles whose work is a product with a large matrix, which a processor can do in place of the device. */
static bool can_offload(tn_view op)
{
	static const char *const others[] = {
		"moe_gate_up", "moe_down", "per_layer_projection", "per_layer_model_projection", "linear_attn_input_projection",
		"linear_attn_depthwise_conv", "linear_attn_output_projection",
	};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (view_is(op, others[i]))
			return true;
	return is_projection(op, "attn_") || is_projection(op, "mlp_");
}

static void put_largest(struct estimate *e)
{
	uint64_t n, taken = 0;
	const uint64_t *pages = pages_by_size(e, &n);
	struct tn_meta *offload = put_array(e, e->job->out, "cpu_offload_candidates");
	for (uint64_t i = 0; e->ok && i < min_u64(n, LARGEST) && taken < OFFLOAD_LIST; i++) {
		const struct page *p = &e->m->pages[pages[i]];
		if (!has_layer(p) || !can_offload(p->op))
			continue;
		put_page(e, offload, pages[i]);
		taken++;
	}
	struct tn_meta *largest = put_array(e, e->job->out, "biggest_memory_offenders");
	for (uint64_t i = 0; e->ok && i < min_u64(n, SHORT_LIST); i++)
		put_page(e, largest, pages[i]);
}

/* ---- The whole ---- */

static void put_notes(struct estimate *e, const struct memory *m)
{
	struct arena *mem = e->job->mem;
	struct tn_meta *notes = put_array(e, e->job->out, "notes");
	uint64_t saved = less(m->physical, m->unique), streamed = memory_streamed(m);
	if (saved != 0)
		put_said(e, notes, arena_printf(mem, "exact duplicate/shared tensors save %" PRIu64 " runtime bytes", saved));
	if (streamed != 0)
		put_said(e, notes, arena_printf(mem, "selected plan streams or offloads %" PRIu64 " weight bytes", streamed));
	if (!m->fits)
		put_text(e, notes, NULL, "no candidate fits the target VRAM budget");
	if (is_every_page_used(e))
		put_text(e, notes, NULL, "execution tape references every manifest page");
}

void plan_profile(struct estimate *e)
{
	struct profile p;
	struct tn_meta *out = e->job->out;
	if (!try_ways(e, &p))
		return;
	p.chosen = choose(&p);
	const struct memory *m = &p.memory[p.chosen];
	bool resident = strcmp(m->options->residency, "all") == 0 && memory_streamed(m) == 0;
	put_text(e, out, "backend", e->job->options->backend);
	put_uint(e, out, "target_vram_bytes", e->job->options->vram);
	put_uint(e, out, "ctx_tokens", e->job->options->ctx);
	put_uint(e, out, "batch_size", e->job->options->batch);
	put_text(e, out, "status", memory_status(m));
	put_text(e, out, "selected_candidate", ways[p.chosen].name);
	put_text(e, out, "recommended_layout", resident ? "execution_ordered_v1" : "hot_stream_v1");
	put_text(e, out, "kv_codec_recommendation", m->options->kv_dtype);
	put_hot(e);
	put_streamable(e);
	put_largest(e);
	put_layers(e, out, "per_layer");
	put_ops(e, out, "per_op", SHORT_LIST);
	struct tn_meta *candidates = put_array(e, out, "candidates");
	for (size_t i = 0; e->ok && i < WAYS; i++)
		put_candidate(e, candidates, &p, i);
	put_notes(e, m);
}
