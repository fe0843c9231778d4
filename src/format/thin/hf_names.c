/* hf_names.c - the names that an archive gives to the tensors of a checkpoint: those of the decoder layers that
 * upstream's runtime knows, whatever library wrote them. */
#include "format/thin/hf.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- Text ---- */

bool hf_has(tn_view name, const char *part)
{
	size_t n = strlen(part);
	for (size_t i = 0; i + n <= name.len; i++)
		if (memcmp(name.ptr + i, part, n) == 0)
			return true;
	return false;
}

bool hf_ends(tn_view name, const char *end)
{
	size_t n = strlen(end);
	return name.len >= n && memcmp(name.ptr + name.len - n, end, n) == 0;
}

bool hf_number(tn_view text, uint64_t *out)
{
	size_t i = text.len != 0 && text.ptr[0] == '+';
	uint64_t v = 0;
	if (i == text.len)
		return false;
	for (; i < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9')
			return false;
		v = v * 10 + text.ptr[i] - '0';
		if (v > UINT32_MAX)
			return false;
	}
	*out = v;
	return true;
}

static tn_view after(tn_view v, size_t n) { return (tn_view){ v.ptr + n, v.len - n }; }

/* What follows the prefix; false, and *rest is untouched, where it does not stand there. */
static bool strip(tn_view name, const char *prefix, tn_view *rest)
{
	if (!view_starts(name, prefix))
		return false;
	*rest = after(name, strlen(prefix));
	return true;
}

/* At the first dot: false where there is none. */
static bool cut(tn_view v, tn_view *head, tn_view *tail)
{
	const uint8_t *dot = v.len != 0 ? memchr(v.ptr, '.', v.len) : NULL;
	if (dot == NULL)
		return false;
	*head = (tn_view){ v.ptr, (size_t)(dot - v.ptr) };
	*tail = after(v, head->len + 1);
	return true;
}

/* One after the other; ptr is NULL when memory is out. */
static tn_view join(struct hf *h, tn_view a, tn_view b, tn_view c)
{
	uint8_t *to = arena_raw(h->job->mem, (uint64_t)a.len + b.len + c.len, 1);
	if (to == NULL) {
		hf_no_memory(h);
		return (tn_view){ NULL, 0 };
	}
	copy_bytes(to, a.ptr, a.len);
	copy_bytes(to + a.len, b.ptr, b.len);
	copy_bytes(to + a.len + b.len, c.ptr, c.len);
	return (tn_view){ to, a.len + b.len + c.len };
}

/* Whether "part" stands in the text; *at is where it begins. */
static bool find_part(tn_view v, tn_view part, size_t *at)
{
	for (*at = 0; *at + part.len <= v.len; ++*at)
		if (memcmp(v.ptr + *at, part.ptr, part.len) == 0)
			return true;
	return false;
}

/* Every "from" becomes "to". They are counted first: a name may be a mebibyte of them. */
static tn_view replace(struct hf *h, tn_view v, tn_view from, tn_view to)
{
	size_t at;
	uint64_t n = 0;
	for (tn_view rest = v; find_part(rest, from, &at); rest = after(rest, at + from.len))
		n++;
	if (n == 0 || v.ptr == NULL)
		return v;
	uint64_t len = v.len - n * from.len + n * to.len; /* of the same order as the name */
	uint8_t *out = arena_raw(h->job->mem, len, 1), *p = out;
	if (out == NULL) {
		hf_no_memory(h);
		return (tn_view){ NULL, 0 };
	}
	for (; find_part(v, from, &at); v = after(v, at + from.len), p += at + to.len) {
		copy_bytes(p, v.ptr, at);
		copy_bytes(p + at, to.ptr, to.len);
	}
	copy_bytes(p, v.ptr, v.len);
	return (tn_view){ out, (size_t)len };
}

/* ---- The text tensors of a model of several kinds ---- */

/* How many of the dropped layers stand before this one; *is: it is one of them. */
static uint64_t dropped_before(const struct hf *h, uint64_t layer, bool *is)
{
	uint64_t low = 0, high = h->n_dropped;
	while (low < high) {
		uint64_t mid = low + (high - low) / 2;
		if (h->dropped[mid] < layer)
			low = mid + 1;
		else
			high = mid;
	}
	*is = low < h->n_dropped && h->dropped[low] == layer;
	return low;
}

/* Gives the layer its number among those that stay; ptr is NULL where it does not stay, or memory is out. */
static tn_view renumber(struct hf *h, tn_view name)
{
	tn_view rest, head, tail;
	uint64_t layer;
	bool dropped;
	if (!strip(name, "model.layers.", &rest) || !cut(rest, &head, &tail) || !hf_number(head, &layer))
		return name;
	uint64_t before = dropped_before(h, layer, &dropped);
	if (dropped)
		return (tn_view){ NULL, 0 };
	const char *start = arena_printf(h->job->mem, "model.layers.%" PRIu64 ".", layer - before);
	if (start == NULL) {
		hf_no_memory(h);
		return (tn_view){ NULL, 0 };
	}
	return join(h, tn_text(start), tail, VIEW(""));
}

/* ptr is NULL for what is no part of the text model, or when memory is out. */
static tn_view text_name(struct hf *h, tn_view name)
{
	static const tn_view none = { NULL, 0 };
	tn_view rest;
	if (view_is(name, "lm_head.weight"))
		return name;
	if (!strip(name, "model.language_model.", &rest) && !strip(name, "language_model.", &rest))
		return none;
	if (hf_has(rest, ".cross_attn.") || hf_has(rest, ".cross_attn_attn_gate") || hf_has(rest, ".cross_attn_mlp_gate"))
		return none;
	if (view_is(rest, "lm_head.weight"))
		return VIEW("lm_head.weight");
	if (!view_starts(rest, "model."))
		rest = join(h, VIEW("model."), rest, VIEW(""));
	rest = replace(h, rest, VIEW("model.language_model.layers."), VIEW("model.layers."));
	if (!hf_has(rest, ".mlp.experts.") && !hf_has(rest, ".block_sparse_moe.experts."))
		rest = replace(h, rest, VIEW(".experts."), VIEW(".mlp.experts."));
	rest = replace(h, rest, VIEW(".router.proj."), VIEW(".mlp.router."));
	return rest.ptr != NULL ? renumber(h, rest) : none;
}

/* ---- Other libraries' names ---- */

struct renaming { const char *from, *to; };

static const struct renaming whole[] = {
	{ "transformer.wte.weight", "model.embed_tokens.weight" },
	{ "model.decoder.embed_tokens.weight", "model.embed_tokens.weight" },
	{ "transformer.ln_f.weight", "model.norm.weight" },
	{ "model.decoder.final_layer_norm.weight", "model.norm.weight" },
	{ "output.weight", "lm_head.weight" },
};

static const struct renaming in_layer[] = {
	{ "ln_1.weight", "input_layernorm.weight" },
	{ "ln_1.bias", "input_layernorm.bias" },
	{ "ln_2.weight", "post_attention_layernorm.weight" },
	{ "ln_2.bias", "post_attention_layernorm.bias" },
	{ "attn.c_attn.weight", "self_attn.qkv_proj.weight" },
	{ "attn.c_attn.bias", "self_attn.qkv_proj.bias" },
	{ "attn.c_proj.weight", "self_attn.o_proj.weight" },
	{ "attn.c_proj.bias", "self_attn.o_proj.bias" },
};

static tn_view renamed(const struct renaming *list, size_t n, tn_view name)
{
	for (size_t i = 0; i < n; i++)
		if (view_is(name, list[i].from))
			return tn_text(list[i].to);
	return name;
}

static tn_view usual_name(struct hf *h, tn_view name)
{
	tn_view rest, head, tail;
	if (!strip(name, "transformer.h.", &rest) && !strip(name, "model.decoder.layers.", &rest))
		return renamed(whole, sizeof whole / sizeof *whole, name);
	if (!cut(rest, &head, &tail))
		return name;
	tail = renamed(in_layer, sizeof in_layer / sizeof *in_layer, tail);
	head = join(h, VIEW("model.layers."), head, VIEW("."));
	return head.ptr != NULL ? join(h, head, tail, VIEW("")) : head;
}

/* ---- All tensors ---- */

static tn_view name_at(const void *ctx, uint64_t i) { return ((const struct hf_tensor *)ctx)[i].name; }

const struct hf_tensor *hf_find(const struct hf *h, const char *name)
{
	uint64_t i;
	return strmap_find(&h->names, name_at, h->tensors, tn_text(name), &i) ? &h->tensors[i] : NULL;
}

static bool add_all(struct hf *h)
{
	const struct model *m = h->job->model;
	for (uint64_t i = 0; i < m->n; i++) {
		tn_view name = h->multimodal ? text_name(h, m->tensors[i].name) : m->tensors[i].name;
		if (name.ptr != NULL)
			name = usual_name(h, name);
		if (h->job->err->code != TN_OK)
			return false;
		if (name.ptr == NULL)
			h->excluded++;
		else
			h->tensors[h->n++] = (struct hf_tensor){ name, &m->tensors[i], i, UINT64_MAX };
	}
	return h->n != 0 || hf_fail(h, m->n != 0 ? "none of its tensors belongs to a text model" : "it has no tensor");
}

static bool index_names(struct hf *h, uint64_t room)
{
	uint64_t other;
	if (!strmap_init(&h->names, h->job->mem, room))
		return hf_no_memory(h);
	for (uint64_t i = 0; i < h->n; i++)
		if (!strmap_add(&h->names, name_at, h->tensors, i, &other))
			return hf_fail(h, "two tensors would be called '%s'", ESC(h->tensors[i].name));
	return true;
}

/* Where a text model has keys and no values, its keys are its values. */
static bool copy_keys(struct hf *h)
{
	static const char keys[] = "k_proj.weight";
	uint64_t n = h->n, i;
	for (uint64_t k = 0; k < n; k++) {
		tn_view name = h->tensors[k].name;
		if (!hf_ends(name, ".self_attn.k_proj.weight"))
			continue;
		name = join(h, (tn_view){ name.ptr, name.len - strlen(keys) }, VIEW("v_proj.weight"), VIEW(""));
		if (name.ptr == NULL)
			return false;
		if (strmap_find(&h->names, name_at, h->tensors, name, &i))
			continue;
		h->tensors[h->n] = h->tensors[k];
		h->tensors[h->n++].name = name;
	}
	return true;
}

static int by_name(const void *a, const void *b)
{
	const struct hf_tensor *x = a, *y = b;
	return view_cmp(x->name, y->name);
}

bool hf_name_tensors(struct hf *h)
{
	uint64_t most = h->job->model->n, room;
	if (!mul_u64(most, h->multimodal ? 2 : 1, &room))
		return hf_no_memory(h);
	h->tensors = arena_raw(h->job->mem, room, sizeof *h->tensors);
	if (h->tensors == NULL)
		return hf_no_memory(h);
	if (!add_all(h) || !index_names(h, room) || (h->multimodal && !copy_keys(h)))
		return false;
	if (h->excluded != 0)
		hf_warn(h, "tensors left out because they are no part of the text model: %" PRIu64, h->excluded);
	qsort(h->tensors, (size_t)h->n, sizeof *h->tensors, by_name);
	return index_names(h, room);
}
