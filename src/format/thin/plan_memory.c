/* plan_memory.c - what of a model stays on a device, what is left for context, and whether it fits.
 *
 *	resident   weight, embedding and lm_head pages of a fitting layout, as far as the residency keeps them
 *	weights    their bytes, equal pages (size and checksum) once
 *	kv cache   recent tokens in 2 bytes a value, older ones in the codec's
 *	metadata   a record for each page, and the names on the tape
 *
 * Upstream counts a page only when its layout is "generic" or the backend's own name, so that an archive of its
 * converter is never resident for any real backend. Here a backend left out stands for every layout. */
#include "format/thin/estimate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- Options ---- */

static bool refuse(struct estimate *e, const char *what, const char *word)
{
	err_set(e->job->err, TN_E_USAGE, TN_NO_OFFSET, THIN ": %s '%s' is not known", what, ESC(tn_text(word)));
	return false;
}

static const struct codec {
	const char *name;
	double      element;
} codecs[] = {
	{ "fp16", 2 }, { "bf16", 2 }, { "fp8", 1 }, { "q8", 1 }, { "q6", 0.75 }, { "q5", 0.625 }, { "q4", 0.5 },
	{ "q3", 0.375 }, { "q2", 0.25 },
};

static bool read_options(struct estimate *e, const tn_plan_options *opt, struct memory *m)
{
	static const char *const residencies[] = {
		"all", "stream", "offload-last-n", "offload-first-n", "offload-middle-out",
	};
	size_t c = 0, r = 0;
	while (c < sizeof codecs / sizeof *codecs && strcmp(codecs[c].name, opt->kv_dtype) != 0)
		c++;
	while (r < sizeof residencies / sizeof *residencies && strcmp(residencies[r], opt->residency) != 0)
		r++;
	if (c == sizeof codecs / sizeof *codecs)
		return refuse(e, "kv dtype", opt->kv_dtype);
	if (r == sizeof residencies / sizeof *residencies)
		return refuse(e, "weight residency", opt->residency);
	m->element = codecs[c].element;
	return true;
}

/* ---- Residency ---- */

static bool is_weight(const struct page *p)
{
	return view_is(p->kind, "weight") || view_is(p->kind, "embedding") || view_is(p->kind, "lm_head");
}

static bool fits_layout(const struct page *p, const char *backend)
{
	return backend == NULL || view_is(p->layout, "generic") || view_is(p->layout, backend);
}

/* How many layers are nearer to the middle than this one; of two as near, the lower one is. */
static uint64_t nearer_the_middle(uint64_t layer, uint64_t layers)
{
	uint64_t mirror = layers - 1 - layer;
	return layer > mirror ? layer - mirror : less(mirror, layer + 1);
}

static bool keeps_layer(const struct estimate *e, const tn_plan_options *opt, uint64_t layer)
{
	uint64_t n = opt->offload_layers;
	if (strcmp(opt->residency, "offload-last-n") == 0)
		return layer < less(e->layers, n);
	if (strcmp(opt->residency, "offload-first-n") == 0)
		return layer >= n;
	if (strcmp(opt->residency, "offload-middle-out") == 0)
		return layer >= e->layers || nearer_the_middle(layer, e->layers) >= n;
	return strcmp(opt->residency, "all") == 0;
}

static bool is_resident(const struct estimate *e, const tn_plan_options *opt, const struct page *p)
{
	return is_weight(p) && fits_layout(p, opt->backend) && (!has_layer(p) || keeps_layer(e, opt, p->layer));
}

/* ---- Bytes ---- */

static int by_content(const void *a, const void *b)
{
	const struct page *x = *(const struct page *const *)a, *y = *(const struct page *const *)b;
	return x->size != y->size ? (x->size < y->size ? -1 : 1) : view_cmp(x->checksum, y->checksum);
}

/* The bytes of n pages, equal ones once. */
static uint64_t unique_bytes(const struct page **pages, uint64_t n)
{
	uint64_t sum = 0;
	if (n != 0)
		qsort(pages, (size_t)n, sizeof *pages, by_content);
	for (uint64_t i = 0; i < n; i++)
		if (i == 0 || by_content(&pages[i - 1], &pages[i]) != 0)
			sum = plus(sum, pages[i]->size);
	return sum;
}

static void sum_weights(struct estimate *e, struct memory *m, const struct page **list)
{
	uint64_t all = 0, kept = 0;
	for (uint64_t i = 0; i < e->m->n_pages; i++) {
		const struct page *p = &e->m->pages[i];
		m->resident[i] = is_resident(e, m->options, p);
		if (m->resident[i])
			list[kept++] = p;
	}
	m->weights = unique_bytes(list, kept);
	for (uint64_t i = 0; i < e->m->n_pages; i++) {
		if (!is_weight(&e->m->pages[i]))
			continue;
		list[all++] = &e->m->pages[i];
		m->physical = plus(m->physical, e->m->pages[i].size);
	}
	m->unique = unique_bytes(list, all);
}

static uint64_t whole_bytes(double v)
{
	return v < 18446744073709551616.0 ? (uint64_t)v : UINT64_MAX;
}

static uint64_t kv_bytes(const struct estimate *e, const struct memory *m, uint64_t ctx)
{
	double values = 2.0 * (double)e->layers * (double)e->kv_heads * (double)e->head_dim;
	uint64_t recent = min_u64(ctx, e->m->plan.recent_tokens);
	double bytes = values * (double)recent * 2.0 + values * (double)(ctx - recent) * m->element;
	return whole_bytes(ceil(bytes * (double)m->options->batch));
}

static uint64_t metadata_bytes(const struct estimate *e)
{
	uint64_t sum = 0;
	for (uint64_t i = 0; i < e->m->n_pages; i++)
		sum = plus(sum, THIN_RECORD + e->m->pages[i].id.len);
	for (uint64_t i = 0; i < e->m->n_stages; i++) {
		const struct stage *s = &e->m->tape[i];
		sum = plus(sum, s->name.len);
		for (uint64_t k = 0; k < s->n_refs; k++)
			sum = plus(sum, s->refs[k].len);
	}
	return sum;
}

bool memory_plan(struct estimate *e, const tn_plan_options *opt, struct memory *m)
{
	*m = (struct memory){ .options = opt };
	if (!read_options(e, opt, m))
		return false;
	const struct page **list = estimate_room(e, e->m->n_pages, sizeof *list);
	m->resident = estimate_room(e, e->m->n_pages, sizeof *m->resident);
	if (!e->ok)
		return false;
	sum_weights(e, m, list);
	m->usable = whole_bytes(floor((double)opt->vram * fmax(opt->gpu_fraction, 0.05)));
	m->scratch = times(e->m->plan.scratch, opt->batch);
	m->kv = kv_bytes(e, m, opt->ctx);
	m->metadata = metadata_bytes(e);
	m->total = plus(plus(m->weights, m->scratch), plus(m->kv, m->metadata));
	m->fits = m->total <= m->usable;
	return true;
}

/* ---- Suggestions ---- */

/* The longest context whose cache has that many bytes, of those shorter than the one that was asked for. */
static uint64_t longest_context(const struct estimate *e, const struct memory *m, uint64_t bytes)
{
	uint64_t low = 0, high = m->options->ctx;
	while (high - low > 1) {
		uint64_t mid = low + (high - low) / 2;
		if (kv_bytes(e, m, mid) <= bytes)
			low = mid;
		else
			high = mid;
	}
	return low;
}

static void suggest_context(struct estimate *e, const struct memory *m, struct tn_meta *list)
{
	uint64_t rest = plus(plus(m->weights, m->scratch), m->metadata);
	if (m->usable > rest && kv_bytes(e, m, m->options->ctx) > m->usable - rest)
		put_said(e, list, arena_printf(e->job->mem, "lower context to %" PRIu64, longest_context(e, m, m->usable - rest)));
}

/* Of those that could be resident, the last of the largest ones. */
static const struct page *largest_page(const struct estimate *e)
{
	const struct page *best = NULL;
	for (uint64_t i = 0; i < e->m->n_pages; i++) {
		const struct page *p = &e->m->pages[i];
		if (is_weight(p) && (best == NULL || p->size >= best->size))
			best = p;
	}
	return best;
}

static void suggest_offload(struct estimate *e, const struct memory *m, struct tn_meta *list)
{
	struct arena *mem = e->job->mem;
	const struct page *largest = largest_page(e);
	if (e->layers > 1 && strcmp(m->options->residency, "all") == 0) {
		put_text(e, list, NULL, "use weight residency stream");
		put_said(e, list, arena_printf(mem, "use weight residency offload-last-n with --offload-layers %" PRIu64,
		                               max_u64(1, e->layers / 4)));
	} else if (e->layers > 1) {
		put_said(e, list, arena_printf(mem, "offload layers %" PRIu64 "..%" PRIu64, e->layers / 2, e->layers - 1));
	} else if (largest != NULL) {
		put_said(e, list, arena_printf(mem, "offload page %.*s", VIEW_ARG(largest->id)));
	}
}

void memory_suggest(struct estimate *e, const struct memory *m, struct tn_meta *to)
{
	struct tn_meta *list = put_array(e, to, "suggestions");
	if (m->fits)
		return;
	suggest_context(e, m, list);
	if (m->options->batch > 1)
		put_text(e, list, NULL, "reduce batch size");
	if (m->element > 0.5)
		put_text(e, list, NULL, "enable kv codec q4");
	else if (m->element > 0.25)
		put_text(e, list, NULL, "try kv codec q2 for maximum context length");
	suggest_offload(e, m, list);
}

/* ---- The whole ---- */

void memory_put(struct estimate *e, const struct memory *m, struct tn_meta *to)
{
	const tn_plan_options *opt = m->options;
	put_text(e, to, "backend", opt->backend);
	put_uint(e, to, "vram_bytes", opt->vram);
	put_uint(e, to, "usable_vram_bytes", m->usable);
	put_uint(e, to, "ctx_tokens", opt->ctx);
	put_uint(e, to, "batch_size", opt->batch);
	put_text(e, to, "kv_dtype", opt->kv_dtype);
	put_text(e, to, "weight_residency", opt->residency);
	put_uint(e, to, "offload_layers", opt->offload_layers);
	struct tn_meta *resident = put_array(e, to, "resident");
	for (uint64_t i = 0; e->ok && i < e->m->n_pages; i++)
		if (m->resident[i])
			put_view(e, resident, NULL, e->m->pages[i].id);
	struct tn_meta *policy = put_map(e, to, "kv_policy");
	put_uint(e, policy, "recent_tokens_high_precision", e->m->plan.recent_tokens);
	put_text(e, policy, "old_tokens_codec", opt->kv_dtype);
	put_uint(e, to, "scratch_bytes", m->scratch);
	put_uint(e, to, "weights_bytes", m->weights);
	put_uint(e, to, "total_weight_bytes", m->unique);
	put_uint(e, to, "physical_weight_bytes", m->physical);
	put_uint(e, to, "shared_weight_savings_bytes", less(m->physical, m->unique));
	put_uint(e, to, "streamed_weight_bytes", memory_streamed(m));
	put_uint(e, to, "kv_cache_bytes", m->kv);
	put_uint(e, to, "metadata_bytes", m->metadata);
	put_uint(e, to, "total_bytes", m->total);
	put_text(e, to, "status", memory_status(m));
	memory_suggest(e, m, to);
}
