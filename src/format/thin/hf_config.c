/* hf_config.c - reading config.json, and looking things up in it as upstream does: by several names, by type. */
#include "format/thin/hf.h"

#include "format/thin/text.h"

#include <stdlib.h>

/* ---- Looking things up ---- */

/* The length of the first of some names; *names then stands at the next one. */
static tn_view next_name(const char **names)
{
	size_t n = strcspn(*names, " ");
	tn_view name = { (const uint8_t *)*names, n };
	*names += n + strspn(*names + n, " ");
	return name;
}

bool hf_uint(const struct hf *h, const char *names, uint64_t *out)
{
	while (*names != '\0') {
		const struct tn_meta *v = meta_index_find(&h->members, next_name(&names));
		if (v != NULL && v->type == TN_META_UINT) {
			*out = v->as.u;
			return true;
		}
	}
	return false;
}

bool hf_real(const struct tn_meta *map, const char *name, double *out)
{
	const struct tn_meta *v = tn_meta_find(map, tn_text(name));
	if (v == NULL)
		return false;
	switch ((tn_meta_type)v->type) {
	case TN_META_UINT:  *out = (double)v->as.u; return true;
	case TN_META_INT:   *out = (double)v->as.i; return true;
	case TN_META_FLOAT: *out = f64_of(v->as.f_bits); return true;
	default:            return false;
	}
}

bool hf_bool(const struct tn_meta *map, const char *name, bool *out)
{
	return tn_meta_bool(tn_meta_find(map, tn_text(name)), out);
}

bool hf_string(const struct tn_meta *map, const char *names, tn_view *out)
{
	while (*names != '\0')
		if (tn_meta_string(tn_meta_find(map, next_name(&names)), out))
			return true;
	return false;
}

const struct tn_meta *hf_value(const struct hf *h, const char *name)
{
	const struct tn_meta *v = meta_index_find(&h->members, tn_text(name));
	return v != NULL && v->type != TN_META_NULL ? v : NULL;
}

const struct tn_meta *hf_array(const struct tn_meta *map, const char *name)
{
	const struct tn_meta *v = tn_meta_find(map, tn_text(name));
	return v != NULL && v->type == TN_META_ARRAY ? v : NULL;
}

tn_view hf_layer_type(const struct hf *h, uint64_t layer)
{
	return layer < h->n_types ? h->types[layer] : (tn_view){ NULL, 0 };
}

bool hf_shares_kv(const struct hf *h, uint64_t layer)
{
	uint64_t shared = 0;
	hf_uint(h, "num_kv_shared_layers", &shared);
	return layer >= h->layers - min_u64(shared, h->layers);
}

/* ---- A text model inside another one ---- */

/* What the outer object says of the whole counts for the text as well. */
static struct tn_meta *text_config(struct hf *h, struct tn_meta *outer)
{
	static const char *const inherited[] = { "architectures", "tie_word_embeddings", "model_type" };
	const struct tn_meta *inner = meta_find(outer, VIEW("text_config"));
	h->multimodal = inner != NULL;
	if (inner == NULL || inner->type != TN_META_MAP)
		return outer;
	struct tn_meta *both = meta_clone(h->job->mem, inner, false);
	for (size_t i = 0; both != NULL && i < sizeof inherited / sizeof *inherited; i++) {
		const struct tn_meta *v = meta_find(outer, tn_text(inherited[i]));
		if (v != NULL && meta_set(both, tn_text(inherited[i]), meta_clone(h->job->mem, v, false)) == NULL)
			return NULL;
	}
	return both;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Layers that look at pictures have no place among those of the text. Only a text model inside another one has any. */
static bool drop_layers(struct hf *h)
{
	const struct tn_meta *list = hf_array(h->config, "cross_attention_layers");
	if (list == NULL || list->as.kids.n == 0)
		return true;
	h->dropped = arena_raw(h->job->mem, list->as.kids.n, sizeof *h->dropped);
	if (h->dropped == NULL)
		return hf_no_memory(h);
	uint64_t n = 0;
	for (const struct tn_meta *v = list->as.kids.first; v != NULL; v = v->next)
		if (v->type == TN_META_UINT && v->as.u <= UINT32_MAX)
			h->dropped[n++] = v->as.u;
	qsort(h->dropped, (size_t)n, sizeof *h->dropped, by_number);
	for (uint64_t i = 0; i < n; i++)
		if (i == 0 || h->dropped[i] != h->dropped[i - 1])
			h->dropped[h->n_dropped++] = h->dropped[i];
	return true;
}

/* ---- Weights that are packed ---- */

/* The first of the names that is there decides, also where it is no number that fits. */
static bool stated(const struct tn_meta *map, const char *const *names, size_t n, uint64_t max, uint64_t *out)
{
	for (size_t i = 0; i < n; i++) {
		const struct tn_meta *v = tn_meta_find(map, tn_text(names[i]));
		if (v == NULL)
			continue;
		*out = v->type == TN_META_UINT ? v->as.u : UINT64_MAX;
		return v->type == TN_META_UINT && v->as.u <= max;
	}
	return false;
}

static void read_packing(struct hf *h)
{
	static const char *const bits[] = { "bits", "weight_bits", "num_bits" }, *const group[] = { "group_size", "block_size" };
	const struct tn_meta *quant = tn_meta_find(h->config, VIEW("quantization_config"));
	struct hf_packing *p = &h->packing;
	hf_string(quant, "quant_method", &p->scheme);
	p->has_bits = stated(quant, bits, 3, UINT8_MAX, &p->bits);
	p->has_group = stated(quant, group, 2, UINT64_MAX, &p->group);
}

/* ---- The whole ---- */

static bool list_types(struct hf *h)
{
	const struct tn_meta *list = hf_array(h->config, "layer_types");
	uint64_t n = list != NULL ? list->as.kids.n : 0;
	tn_view *types = ARENA_NEW(h->job->mem, n, tn_view);
	if (types == NULL)
		return hf_no_memory(h);
	for (const struct tn_meta *v = n != 0 ? list->as.kids.first : NULL; v != NULL; v = v->next, h->n_types++)
		if (v->type == TN_META_STRING)
			types[h->n_types] = v->as.s;
	h->types = types;
	return true;
}

static bool count_layers(struct hf *h)
{
	uint64_t layers;
	if (!hf_uint(h, "num_hidden_layers n_layer num_layers", &layers) || layers > UINT32_MAX)
		return hf_fail(h, "config.json does not say how many layers there are (num_hidden_layers)");
	bool is_text = tn_meta_find(h->config, VIEW("num_hidden_layers")) != NULL; /* under another name they are not counted off */
	h->layers = layers - (is_text ? min_u64(layers, h->n_dropped) : 0);
	return true;
}

bool hf_read_config(struct hf *h)
{
	struct checkpoint_job *job = h->job;
	struct text t = text_over(job->config, 0, job->mem, job->err);
	t.what = "config.json";
	struct tn_meta *root = text_tree(&t), *config;
	if (root == NULL || !text_end(&t))
		return job->err->code == TN_OK && hf_no_memory(h);
	if (root->type != TN_META_MAP)
		return hf_fail(h, "config.json holds no object");
	config = text_config(h, root);
	if (config == NULL || !meta_index_init(&h->members, job->mem, config, 0))
		return hf_no_memory(h);
	h->config = config;
	read_packing(h);
	return list_types(h) && (h->config == root || drop_layers(h)) && count_layers(h);
}
