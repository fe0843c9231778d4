/* hf_plan.c - the memory plan: how much a reader needs, where equal tensors are held once. All sums saturate. */
#include "format/thin/hf.h"

#include <stdlib.h>

static uint64_t add(uint64_t a, uint64_t b)
{
	uint64_t sum;
	return add_u64(a, b, &sum) ? sum : UINT64_MAX;
}

static uint64_t mul(uint64_t a, uint64_t b)
{
	uint64_t product;
	return mul_u64(a, b, &product) ? product : UINT64_MAX;
}

/* ---- Equal tensors ---- */

struct content {
	uint64_t         size, tensor;
	const tn_digest *digest;
};

static int by_content(const void *a, const void *b)
{
	const struct content *x = a, *y = b;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	int d = memcmp(x->digest->bytes, y->digest->bytes, TN_DIGEST_LEN);
	return d != 0 ? d : (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

/* The first tensor of equal content for each; NULL on failure. */
static uint64_t *same_as(struct hf *h)
{
	struct arena *mem = h->job->mem;
	uint64_t *from = arena_raw(mem, h->n, sizeof *from), *same = arena_raw(mem, h->n, sizeof *same);
	tn_digest *digests = arena_raw(mem, h->n, sizeof *digests);
	struct content *list = arena_raw(mem, h->n, sizeof *list);
	if (from == NULL || same == NULL || digests == NULL || list == NULL) {
		hf_no_memory(h);
		return NULL;
	}
	for (uint64_t i = 0; i < h->n; i++)
		from[i] = h->tensors[i].from;
	if (h->job->digest(h->job->ctx, from, h->n, digests, h->job->err) != TN_OK)
		return NULL;
	for (uint64_t i = 0; i < h->n; i++)
		list[i] = (struct content){ h->tensors[i].tensor->nbytes, i, &digests[i] };
	qsort(list, (size_t)h->n, sizeof *list, by_content);
	for (uint64_t i = 0; i < h->n; i++) {
		bool again = i != 0 && list[i].size == list[i - 1].size &&
		             memcmp(list[i].digest->bytes, list[i - 1].digest->bytes, TN_DIGEST_LEN) == 0;
		same[list[i].tensor] = again ? same[list[i - 1].tensor] : list[i].tensor;
	}
	return same;
}

/* ---- Sums over sets of tensors ---- */

/* Bytes of tensor i, unless one like it was counted in this round before. */
static uint64_t count(const struct hf *h, const uint64_t *same, uint64_t *seen, uint64_t round, uint64_t i)
{
	if (seen[same[i]] == round)
		return 0;
	seen[same[i]] = round;
	return h->tensors[i].tensor->nbytes;
}

struct sums {
	uint64_t all, globals, stage; /* stage: the largest, of tensors that belong to a layer */
};

static bool sum_up(struct hf *h, struct sums *out)
{
	uint64_t *same = same_as(h), *seen = same != NULL ? ARENA_NEW(h->job->mem, h->n, uint64_t) : NULL, round = 1, layer;
	if (seen == NULL)
		return h->job->err->code == TN_OK && hf_no_memory(h);
	for (uint64_t i = 0; i < h->n; i++)
		out->all = add(out->all, count(h, same, seen, round, i));
	round++;
	for (uint64_t i = 0; i < h->n; i++)
		if (!hf_layer(h->tensors[i].name, &layer))
			out->globals = add(out->globals, count(h, same, seen, round, i));
	for (uint64_t s = 0; s < h->n_stages; s++) {
		uint64_t sum = 0;
		round++;
		for (uint64_t k = 0; k < h->stages[s].n; k++) {
			uint64_t i = h->refs[h->stages[s].first + k];
			if (hf_layer(h->tensors[i].name, &layer))
				sum = add(sum, count(h, same, seen, round, i));
		}
		out->stage = max_u64(out->stage, sum);
	}
	return true;
}

/* ---- Scratch ---- */

static uint64_t number(const struct hf *h, const char *names, uint64_t absent)
{
	uint64_t v;
	return hf_uint(h, names, &v) ? v : absent;
}

/* What a linear layer keeps from token to token. */
static uint64_t linear_state(const struct hf *h)
{
	uint64_t n = 0, c = number(h, "linear_conv_kernel_dim", 0);
	uint64_t kh = number(h, "linear_num_key_heads", 0), vh = number(h, "linear_num_value_heads", 0);
	uint64_t kd = number(h, "linear_key_head_dim", 0), vd = number(h, "linear_value_head_dim", 0);
	for (uint64_t i = 0; i < h->n_types; i++)
		n += view_is(h->types[i], "linear_attention");
	uint64_t window = add(mul(mul(2, kh), kd), mul(vh, vd));
	return add(mul(mul(mul(n, window), c), 2), mul(mul(mul(mul(n, vh), kd), vd), 4));
}

/* Only what the config says itself counts here, not what shapes told of heads. */
static uint64_t scratch_bytes(const struct hf *h)
{
	const uint64_t least = UINT64_C(64) << 20, step = UINT64_C(2) << 20;
	const struct tn_meta *inner = tn_meta_find(h->job->out->metadata, VIEW("intermediate_size"));
	bool told = tn_meta_kind(inner) == TN_META_UINT; /* the checkpoint's own metadata may have anything of that name */
	uint64_t hidden = h->hidden, wide = told ? inner->as.u : mul(4, hidden);
	uint64_t heads = max_u64(1, number(h, "num_attention_heads n_head num_heads", 1));
	uint64_t kv = max_u64(1, number(h, "num_key_value_heads num_kv_heads n_head_kv", heads));
	uint64_t dim = number(h, "head_dim", max_u64(1, hidden / heads));
	uint64_t top = number(h, "num_experts_per_token experts_per_token num_experts_per_tok num_selected_experts", 1);
	uint64_t attn = add(add(hidden, mul(mul(2, kv), dim)), mul(3, hidden));
	uint64_t dense = add(mul(3, wide), mul(2, hidden));
	uint64_t sparse = add(add(mul(max_u64(1, top), add(mul(3, wide), hidden)), mul(2, hidden)), h->experts);
	uint64_t mlp = h->experts > 0 ? sparse : dense;
	uint64_t bytes = max_u64(least, add(mul(2, max_u64(attn, mlp)), linear_state(h))), up;
	return align_up(bytes, step, &up) ? up : UINT64_MAX / step * step;
}

bool hf_plan_memory(struct hf *h)
{
	struct arena *mem = h->job->mem;
	struct sums sums = { 0 };
	if (!sum_up(h, &sums))
		return false;
	uint64_t scratch = scratch_bytes(h), recommended = add(sums.all, scratch);
	uint64_t least = min_u64(add(add(sums.globals, sums.stage), scratch), recommended);
	struct tn_meta *plan = meta_add_map(mem, h->native, VIEW(NATIVE_PLAN)), *kv;
	if (plan == NULL || meta_add_uint(mem, plan, VIEW("scratch_bytes"), scratch, 64) == NULL ||
	    meta_add_uint(mem, plan, VIEW("min_vram_bytes"), least, 64) == NULL ||
	    meta_add_uint(mem, plan, VIEW("recommended_vram_bytes"), recommended, 64) == NULL ||
	    (kv = meta_add_map(mem, plan, VIEW("kv_cache"))) == NULL ||
	    meta_add_string(mem, kv, VIEW("policy"), VIEW(PLAIN_POLICY)) == NULL ||
	    meta_add_uint(mem, kv, VIEW("recent_tokens_high_precision"), PLAIN_RECENT, 64) == NULL ||
	    meta_add_string(mem, kv, VIEW("old_tokens_codec"), VIEW(PLAIN_CODEC)) == NULL)
		return hf_no_memory(h);
	return true;
}
