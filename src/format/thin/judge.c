/* judge.c - the rules of a manifest: what upstream's validator checks, in its order, nothing left out after a first
 * fault. Where upstream lets something pass that cannot work, the rule says so. */
#include "format/thin/layout.h"
#include "format/thin/manifest.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct judging {
	const struct manifest *m;
	struct arena          *mem;
	struct tn_report      *r;
	struct strmap          ids;    /* the first page of each id */
	uint64_t              *latest; /* of the pages with the id of page i, where i is the first: the last one counts */
};

static void wrong(struct judging *j, tn_view page, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void wrong(struct judging *j, tn_view page, const char *fmt, ...)
{
	char text[240];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	report_add(j->r, TN_ERROR, TN_E_CORRUPT, TN_NO_OFFSET, page, THIN ": %s", text);
}

/* ---- Text ---- */

static bool is_space(uint32_t c)
{
	return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
	       (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

/* How many characters there are, and how many of them are white space. */
static void count_spaces(tn_view v, uint64_t *all, uint64_t *spaces)
{
	uint32_t c;
	size_t n;
	*all = *spaces = 0;
	for (size_t at = 0; at < v.len && (n = utf8_decode(v.ptr + at, v.len - at, &c)) != 0; at += n) {
		++*all;
		*spaces += is_space(c);
	}
}

bool is_blank(tn_view v)
{
	uint64_t all, spaces;
	count_spaces(v, &all, &spaces);
	return all == spaces;
}

static bool has_slash(tn_view v)
{
	return v.len != 0 && (memchr(v.ptr, '/', v.len) != NULL || memchr(v.ptr, '\\', v.len) != NULL);
}

static bool has_space(tn_view v)
{
	uint64_t all, spaces;
	count_spaces(v, &all, &spaces);
	return spaces != 0;
}

const char *id_fault(tn_view id)
{
	return is_blank(id) ? "is blank" : has_slash(id) ? "holds a slash" : has_space(id) ? "holds white space" : NULL;
}

static void judge_id(struct judging *j, tn_view page, const char *what, tn_view id)
{
	if (is_blank(id))
		wrong(j, page, "%s '%s' is blank", what, ESC(id));
	if (has_slash(id))
		wrong(j, page, "%s '%s' holds a slash", what, ESC(id));
	if (has_space(id))
		wrong(j, page, "%s '%s' holds white space", what, ESC(id));
}

/* ---- Model ---- */

static tn_view model_string(const struct manifest *m, const char *name)
{
	const struct tn_meta *node = meta_find(m->model, tn_text(name));
	return node != NULL && node->type == TN_META_STRING ? node->as.s : VIEW("");
}

static uint64_t model_uint(const struct manifest *m, const char *name)
{
	const struct tn_meta *node = meta_find(m->model, tn_text(name));
	return node != NULL && node->type == TN_META_UINT ? node->as.u : 0;
}

static void judge_model(struct judging *j)
{
	static const char *const strings[] = { "arch", "dtype" };
	static const char *const numbers[] = { "hidden_size", "layers", "heads", "kv_heads" };
	const struct manifest *m = j->m;
	uint64_t hidden = model_uint(m, "hidden_size"), heads = model_uint(m, "heads"), kv = model_uint(m, "kv_heads");
	bool has_head_dim = meta_find(m->model, VIEW("head_dim")) != NULL;
	for (size_t i = 0; i < 2; i++)
		if (is_blank(model_string(m, strings[i])))
			wrong(j, NO_TENSOR, "model.%s is blank", strings[i]);
	for (size_t i = 0; i < 4; i++)
		if (model_uint(m, numbers[i]) == 0)
			wrong(j, NO_TENSOR, "model.%s is 0", numbers[i]);
	if (kv > heads)
		wrong(j, NO_TENSOR, "model.kv_heads is %" PRIu64 ", more than the %" PRIu64 " heads", kv, heads);
	if (!has_head_dim && heads != 0 && hidden % heads != 0)
		wrong(j, NO_TENSOR, "model.hidden_size is %" PRIu64 ", no multiple of the %" PRIu64
		      " heads, and there is no head_dim", hidden, heads);
	if (has_head_dim && model_uint(m, "head_dim") == 0)
		wrong(j, NO_TENSOR, "model.head_dim is 0");
}

/* ---- Pages ---- */

static tn_view page_id_at(const void *pages, uint64_t i) { return ((const struct page *)pages)[i].id; }

static const struct page *page_named(const struct judging *j, tn_view id)
{
	uint64_t i;
	if (!strmap_find(&j->ids, page_id_at, j->m->pages, id, &i))
		return NULL;
	return &j->m->pages[j->latest[i]];
}

static void judge_shape(struct judging *j, const struct page *p)
{
	uint64_t product = 1;
	bool zero = false;
	if (p->rank == 0)
		wrong(j, p->id, "shape is empty");
	for (uint32_t i = 0; i < p->rank; i++)
		zero = zero || p->shape[i] == 0;
	if (zero)
		wrong(j, p->id, "shape holds a 0");
	for (uint32_t i = 0; i < p->rank; i++) {
		if (mul_u64(product, p->shape[i], &product))
			continue;
		wrong(j, p->id, "shape overflows 64 bits");
		return;
	}
}

static bool is_hex(tn_view v)
{
	for (size_t i = 0; i < v.len; i++)
		if (!((v.ptr[i] >= '0' && v.ptr[i] <= '9') || (v.ptr[i] >= 'a' && v.ptr[i] <= 'f')))
			return false;
	return v.len == THIN_HEX;
}

static bool is_kind(tn_view kind)
{
	return view_is(kind, "weight") || view_is(kind, "embedding") || view_is(kind, "lm_head") ||
	       view_is(kind, "fused_physical");
}

static void judge_page(struct judging *j, uint64_t i)
{
	const struct page *p = &j->m->pages[i];
	uint64_t other, layers = model_uint(j->m, "layers");
	judge_id(j, p->id, "id", p->id);
	if (is_blank(p->op))
		wrong(j, p->id, "op is blank");
	if (is_blank(p->dtype))
		wrong(j, p->id, "dtype is blank");
	if (is_blank(p->layout))
		wrong(j, p->id, "backend_layout is blank");
	if (!strmap_add(&j->ids, page_id_at, j->m->pages, i, &other)) {
		wrong(j, p->id, "two pages have the id '%s'", ESC(p->id));
		j->latest[other] = i;
	}
	if (!is_kind(p->kind) && !p->experimental)
		wrong(j, p->id, "kind '%s' is not known, and the page is not experimental", ESC(p->kind));
	if ((p->has & PAGE_LAYER) != 0 && p->layer >= layers)
		wrong(j, p->id, "layer is %" PRIu64 ", the model has %" PRIu64, p->layer, layers);
	judge_shape(j, p);
	if (p->size == 0)
		wrong(j, p->id, "size is 0");
	if (!is_hex(p->checksum))
		wrong(j, p->id, "checksum '%s' is not 64 lower-case hex digits", ESC(p->checksum));
}

static void judge_slice(struct judging *j, const struct page *p)
{
	const struct page *parent = page_named(j, p->fused_to);
	uint64_t end;
	if (parent == NULL) {
		wrong(j, p->id, "fused_to names '%s', which is no page", ESC(p->fused_to));
		return;
	}
	if (!view_is(parent->kind, "fused_physical"))
		wrong(j, p->id, "fused_to names '%s', whose kind is '%s' and not 'fused_physical'", ESC(p->fused_to),
		      ESC(parent->kind));
	if (!add_u64(p->fused_offset, p->size, &end) || end > parent->size)
		wrong(j, p->id, "%" PRIu64 " bytes from %" PRIu64 " do not lie in '%s', which has %" PRIu64, p->size,
		      p->fused_offset, ESC(p->fused_to), parent->size);
	if (parent->fused_to.ptr != NULL) /* upstream lets it pass, and no byte of it is ever checked */
		wrong(j, p->id, "fused_to names '%s', which is itself a slice", ESC(p->fused_to));
}

static bool judge_pages(struct judging *j)
{
	const struct manifest *m = j->m;
	if (m->n_pages == 0)
		wrong(j, NO_TENSOR, "there is no page");
	j->latest = arena_raw(j->mem, m->n_pages, sizeof *j->latest);
	if (j->latest == NULL || !strmap_init(&j->ids, j->mem, m->n_pages))
		return false;
	for (uint64_t i = 0; i < m->n_pages; i++) {
		j->latest[i] = i;
		judge_page(j, i);
	}
	for (uint64_t i = 0; i < m->n_pages; i++) {
		const struct page *p = &m->pages[i];
		if (p->fused_to.ptr != NULL)
			judge_slice(j, p);
		else if ((p->has & PAGE_FUSED_OFFSET) != 0)
			wrong(j, p->id, "fused_offset stands without fused_to");
	}
	return true;
}

/* ---- Tape ---- */

static bool is_operator(tn_view v)
{
	static const char *const known[] = {
		"embedding", "lm_head", "rms_norm", "layer_norm", "qkv_projection", "o_projection", "rope", "mha_attention",
		"mqa_attention", "gqa_attention", "attention_sinks", "per_layer_attention_window", "gated_activation",
		"down_projection", "topk_router", "sparse_experts", "expert_weighted_sum", "gated_delta_net",
		"depthwise_causal_conv1d", "recurrent_state_cache", "gated_full_attention", "per_layer_embeddings",
		"variable_head_dim_attention", "shared_kv_attention", "post_attention_norm", "post_feedforward_norm",
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (view_is(v, known[i]))
			return true;
	return false;
}

static void judge_operator(struct judging *j, const struct stage *s)
{
	if (s->operator.len == 0) {
		report_add(j->r, TN_WARNING, TN_E_CORRUPT, TN_NO_OFFSET, NO_TENSOR, THIN ": stage '%s' has no operator", ESC(s->name));
		return;
	}
	if (is_blank(s->operator))
		wrong(j, NO_TENSOR, "the operator of stage '%s' is blank", ESC(s->name));
	if (!is_operator(s->operator))
		wrong(j, NO_TENSOR, "stage '%s' asks for the operator '%s', which is not known", ESC(s->name), ESC(s->operator));
}

static tn_view stage_name_at(const void *tape, uint64_t i) { return ((const struct stage *)tape)[i].name; }

static bool judge_tape(struct judging *j)
{
	struct strmap names;
	uint64_t other;
	if (j->m->n_stages == 0)
		wrong(j, NO_TENSOR, "the execution tape is empty");
	if (!strmap_init(&names, j->mem, j->m->n_stages))
		return false;
	for (uint64_t i = 0; i < j->m->n_stages; i++) {
		const struct stage *s = &j->m->tape[i];
		judge_id(j, NO_TENSOR, "stage", s->name);
		judge_operator(j, s);
		if (!strmap_add(&names, stage_name_at, j->m->tape, i, &other))
			wrong(j, NO_TENSOR, "two stages are called '%s'", ESC(s->name));
		for (uint64_t k = 0; k < s->n_refs; k++)
			if (page_named(j, s->refs[k]) == NULL)
				wrong(j, NO_TENSOR, "stage '%s' refers to '%s', which is no page", ESC(s->name), ESC(s->refs[k]));
	}
	return true;
}

/* ---- The whole ---- */

static void judge_memory_plan(struct judging *j)
{
	const struct memory_plan *p = &j->m->plan;
	if (p->min_vram < p->scratch)
		wrong(j, NO_TENSOR, "memory_plan.min_vram_bytes is %" PRIu64 ", less than scratch_bytes, %" PRIu64, p->min_vram,
		      p->scratch);
	if (p->recommended_vram < p->min_vram)
		wrong(j, NO_TENSOR, "memory_plan.recommended_vram_bytes is %" PRIu64 ", less than min_vram_bytes, %" PRIu64,
		      p->recommended_vram, p->min_vram);
	if (is_blank(p->policy))
		wrong(j, NO_TENSOR, "memory_plan.kv_cache.policy is blank");
	if (is_blank(p->codec))
		wrong(j, NO_TENSOR, "memory_plan.kv_cache.old_tokens_codec is blank");
}

bool manifest_judge(const struct manifest *m, struct arena *mem, struct tn_report *r)
{
	struct judging j = { .m = m, .mem = mem, .r = r };
	if (!view_is(m->format, "thintensor"))
		wrong(&j, NO_TENSOR, "format is '%s', not 'thintensor'", ESC(m->format));
	if (m->version != 0)
		wrong(&j, NO_TENSOR, "version is %" PRIu64 ", not 0", m->version);
	judge_model(&j);
	if (!judge_pages(&j) || !judge_tape(&j))
		return false;
	judge_memory_plan(&j);
	return true;
}
