/* manifest_print.c - a manifest's text, byte for byte as upstream prints it: two spaces a level, every item on a line
 * of its own. */
#include "format/thin/manifest.h"

#include "base/bytes.h"
#include "codec/json.h"
#include "format/thin/layout.h"

struct print {
	struct buf *out;
	unsigned    level;
	bool        first; /* of its container */
};

static void line(struct print *p)
{
	buf_byte(p->out, '\n');
	buf_fill(p->out, ' ', (size_t)p->level * 2);
}

static void item(struct print *p)
{
	if (!p->first)
		buf_byte(p->out, ',');
	p->first = false;
	line(p);
}

static void open_with(struct print *p, char c)
{
	buf_byte(p->out, (uint8_t)c);
	p->level++;
	p->first = true;
}

static void close_with(struct print *p, char c)
{
	p->level--;
	if (!p->first)
		line(p);
	buf_byte(p->out, (uint8_t)c);
	p->first = false;
}

static void key(struct print *p, tn_view k)
{
	item(p);
	json_put_string(p->out, k);
	buf_text(p->out, ": ");
}

static void put_string(struct print *p, const char *k, tn_view v)
{
	key(p, tn_text(k));
	json_put_string(p->out, v);
}

static void put_optional(struct print *p, const char *k, tn_view v)
{
	if (v.ptr != NULL)
		put_string(p, k, v);
}

static void put_uint(struct print *p, const char *k, uint64_t v)
{
	key(p, tn_text(k));
	json_put_uint(p->out, v);
}

/* ---- Values of any kind ---- */

static void put_tree(struct print *p, const struct tn_meta *node)
{
	bool map = node->type == TN_META_MAP;
	switch ((tn_meta_type)node->type) {
	case TN_META_NULL:   buf_text(p->out, "null"); return;
	case TN_META_BOOL:   buf_text(p->out, node->as.b ? "true" : "false"); return;
	case TN_META_INT:    json_put_int(p->out, node->as.i); return;
	case TN_META_UINT:   json_put_uint(p->out, node->as.u); return;
	case TN_META_FLOAT:  json_put_real(p->out, f64_of(node->as.f_bits)); return;
	case TN_META_STRING:
	case TN_META_BYTES:  json_put_string(p->out, node->as.s); return;
	case TN_META_ARRAY:
	case TN_META_MAP:    break;
	}
	open_with(p, map ? '{' : '[');
	tn_meta_iter it = tn_meta_items(node);
	for (const tn_meta *kid; (kid = tn_meta_next(&it)) != NULL; ) {
		if (map)
			key(p, kid->key);
		else
			item(p);
		put_tree(p, kid);
	}
	close_with(p, map ? '}' : ']');
}

/* ---- The parts ---- */

static void put_model(struct print *p, const struct tn_meta *model)
{
	key(p, VIEW("model"));
	open_with(p, '{');
	for (size_t i = 0; i < MODEL_FIELDS; i++) {
		tn_view name = tn_text(model_fields[i].name);
		const struct tn_meta *node = meta_find(model, name);
		if (node == NULL)
			continue;
		key(p, name);
		put_tree(p, node);
	}
	close_with(p, '}');
}

static void put_stage(struct print *p, const struct stage *s)
{
	item(p);
	open_with(p, '{');
	put_string(p, "stage", s->name);
	if (s->operator.len != 0)
		put_string(p, "operator", s->operator);
	if (s->params != NULL) {
		key(p, VIEW("operator_params"));
		put_tree(p, s->params);
	}
	key(p, VIEW("page_refs"));
	open_with(p, '[');
	for (uint64_t i = 0; i < s->n_refs; i++) {
		item(p);
		json_put_string(p->out, s->refs[i]);
	}
	close_with(p, ']');
	close_with(p, '}');
}

static void put_shape(struct print *p, const struct page *page)
{
	key(p, VIEW("shape"));
	open_with(p, '[');
	for (uint32_t i = 0; i < page->rank; i++) {
		item(p);
		json_put_uint(p->out, page->shape[i]);
	}
	close_with(p, ']');
}

/* Returns where the checksum's digits went. */
static uint64_t put_page(struct print *p, const struct page *page)
{
	item(p);
	open_with(p, '{');
	put_string(p, "id", page->id);
	put_string(p, "kind", page->kind);
	if ((page->has & PAGE_LAYER) != 0)
		put_uint(p, "layer", page->layer);
	put_string(p, "op", page->op);
	put_string(p, "dtype", page->dtype);
	put_shape(p, page);
	put_string(p, "backend_layout", page->layout);
	put_uint(p, "size", page->size);
	put_string(p, "checksum", page->checksum);
	uint64_t at = p->out->len - 1 - page->checksum.len; /* digits are never escaped */
	key(p, VIEW("experimental"));
	buf_text(p->out, page->experimental ? "true" : "false");
	put_optional(p, "fused_to", page->fused_to);
	if ((page->has & PAGE_FUSED_OFFSET) != 0)
		put_uint(p, "fused_offset", page->fused_offset);
	put_optional(p, "quant_scheme", page->scheme);
	if ((page->has & PAGE_BITS) != 0)
		put_uint(p, "bits_per_weight", page->bits);
	if ((page->has & PAGE_GROUP) != 0)
		put_uint(p, "quant_group_size", page->group);
	put_optional(p, "scale_page", page->scale_page);
	close_with(p, '}');
	return at;
}

static void put_memory_plan(struct print *p, const struct memory_plan *plan)
{
	key(p, VIEW("memory_plan"));
	open_with(p, '{');
	put_uint(p, "scratch_bytes", plan->scratch);
	put_uint(p, "min_vram_bytes", plan->min_vram);
	put_uint(p, "recommended_vram_bytes", plan->recommended_vram);
	key(p, VIEW("kv_cache"));
	open_with(p, '{');
	put_string(p, "policy", plan->policy);
	put_uint(p, "recent_tokens_high_precision", plan->recent_tokens);
	put_string(p, "old_tokens_codec", plan->codec);
	close_with(p, '}');
	close_with(p, '}');
}

void manifest_print(struct buf *out, const struct manifest *m, uint64_t *at)
{
	struct print p = { .out = out };
	open_with(&p, '{');
	put_string(&p, "format", m->format);
	put_uint(&p, "version", m->version);
	put_model(&p, m->model);
	key(&p, VIEW("execution_tape"));
	open_with(&p, '[');
	for (uint64_t i = 0; i < m->n_stages; i++)
		put_stage(&p, &m->tape[i]);
	close_with(&p, ']');
	key(&p, VIEW("pages"));
	open_with(&p, '[');
	for (uint64_t i = 0; i < m->n_pages; i++) {
		uint64_t digits = put_page(&p, &m->pages[i]);
		if (at != NULL)
			at[i] = digits;
	}
	close_with(&p, ']');
	put_memory_plan(&p, &m->plan);
	put_optional(&p, THIN_ENVELOPE_KEY, m->envelope);
	close_with(&p, '}');
}
