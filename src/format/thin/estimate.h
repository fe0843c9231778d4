/* estimate.h - what the files that reckon with an archive's execution tape share.
 *
 * All sums saturate: a manifest may say anything. Keys and their order are upstream's. */
#ifndef FORMAT_THIN_ESTIMATE_H
#define FORMAT_THIN_ESTIMATE_H

#include "format/thin/archive.h"

#define NO_RECORD UINT64_MAX

struct estimate {
	struct estimate_job   *job;
	struct thin_front      front;
	const struct manifest *m;
	uint64_t              *record;    /* [n_pages] a page's record, or NO_RECORD: slices have none */
	uint64_t              *uses;      /* [n_pages] how often the tape refers to a page */
	uint64_t               layers, kv_heads, head_dim;
	bool                   ok;        /* false: memory is out */
};

static inline uint64_t plus(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }
static inline uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t product;
	return mul_u64(a, b, &product) ? product : UINT64_MAX;
}
static inline uint64_t less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

static inline bool has_layer(const struct page *p) { return (p->has & PAGE_LAYER) != 0; }
bool     is_parent(const struct page *p);  /* fused_physical: its bytes are counted as those of its slices */
bool     is_global(const struct page *p);  /* of no layer, or embedding or head */
/* The page that a stage refers to; false when there is none. */
bool     stage_page(const struct estimate *e, const struct stage *s, uint64_t k, uint64_t *page);
/* Bytes in the file: 0 without a record. */
uint64_t stored_bytes(const struct estimate *e, uint64_t page);
uint64_t raw_bytes(const struct estimate *e, uint64_t page);

/* ---- The result; text is borrowed. A NULL map is passed through ---- */
struct tn_meta *put_map(struct estimate *e, struct tn_meta *to, const char *key);
struct tn_meta *put_array(struct estimate *e, struct tn_meta *to, const char *key);
void put_uint(struct estimate *e, struct tn_meta *to, const char *key, uint64_t v);
void put_real(struct estimate *e, struct tn_meta *to, const char *key, double v);
void put_view(struct estimate *e, struct tn_meta *to, const char *key, tn_view v);
void put_text(struct estimate *e, struct tn_meta *to, const char *key, const char *v); /* NULL: null */
void put_said(struct estimate *e, struct tn_meta *array, const char *said); /* what arena_printf made */
/* Memory for n items; NULL, and not ok, when there is none. */
void *estimate_room(struct estimate *e, uint64_t n, size_t size);

/* ---- plan_memory.c: what is resident ---- */
struct memory {
	const tn_plan_options *options;
	double   element;    /* bytes of a value in the kv cache */
	bool    *resident;   /* [n_pages] */
	uint64_t usable, scratch, weights, unique, physical, kv, metadata, total;
	bool     fits;
};
/* False: memory is out, or the options cannot be meant. */
bool memory_plan(struct estimate *e, const tn_plan_options *options, struct memory *out);
void memory_put(struct estimate *e, const struct memory *m, struct tn_meta *to);
void memory_suggest(struct estimate *e, const struct memory *m, struct tn_meta *to);
static inline uint64_t memory_streamed(const struct memory *m) { return less(m->unique, m->weights); }
static inline const char *memory_status(const struct memory *m) { return m->fits ? "OK" : "NOT_ENOUGH_VRAM"; }

/* ---- plan_stats.c: pages by size and by what they are ---- */
enum { LARGEST = 128, SHORT_LIST = 16 };
/* The pages that are no parents, the largest first: *n of them. */
const uint64_t *pages_by_size(struct estimate *e, uint64_t *n);
void put_page(struct estimate *e, struct tn_meta *array, uint64_t page);
void put_layers(struct estimate *e, struct tn_meta *to, const char *key);
void put_ops(struct estimate *e, struct tn_meta *to, const char *key, uint64_t most);
bool is_every_page_used(const struct estimate *e);

void plan_load(struct estimate *e);
void plan_profile(struct estimate *e);
void plan_stats(struct estimate *e);

#endif
