/* manifest_read.c - a manifest's text into its types. One function per object of the schema. */
#include "format/thin/manifest.h"

#include "base/bytes.h"
#include "format/thin/layout.h"

#define FIELD(text, kind) { .name = text, .type = FIELD_##kind }
#define NEEDED(text, kind) { .name = text, .type = FIELD_##kind, .required = true }

const struct field model_fields[MODEL_FIELDS] = {
	NEEDED("arch", STRING), FIELD("model_type", STRING), FIELD("raw_arch", STRING), NEEDED("hidden_size", U64),
	NEEDED("layers", U32), NEEDED("heads", U32), NEEDED("kv_heads", U32), FIELD("head_dim", U64),
	NEEDED("dtype", STRING), FIELD("intermediate_size", U64), FIELD("rms_norm_eps", F64), FIELD("norm_kind", STRING),
	FIELD("norm_eps", F64), FIELD("rope_theta", F64), FIELD("partial_rotary_factor", F64), FIELD("rope_scaling", JSON),
	FIELD("source_dtype", STRING), FIELD("vocab_size", U64), FIELD("tie_word_embeddings", BOOL),
	FIELD("activation", STRING), FIELD("qkv_bias", BOOL), FIELD("attention_bias", BOOL),
	FIELD("tensor_naming_scheme", STRING), FIELD("attention_variants", STRINGS),
	FIELD("supported_precision_modes", STRINGS), FIELD("no_rope_layers", BOOLS), FIELD("no_rope_layer_interval", U64),
	FIELD("sliding_window", U64), FIELD("use_sliding_window", BOOL), FIELD("max_position_embeddings", U64),
	FIELD("original_max_position_embeddings", U64), FIELD("rope_variant", STRING), FIELD("architecture_family", STRING),
	FIELD("attention_kind", STRING), FIELD("mlp_kind", STRING), FIELD("layer_types", STRINGS),
	FIELD("linear_conv_kernel_dim", U64), FIELD("linear_key_head_dim", U64), FIELD("linear_value_head_dim", U64),
	FIELD("linear_num_key_heads", U64), FIELD("linear_num_value_heads", U64), FIELD("attention_output_gate", BOOL),
	FIELD("global_head_dim", U64), FIELD("num_global_key_value_heads", U64), FIELD("num_kv_shared_layers", U64),
	FIELD("hidden_size_per_layer_input", U64), FIELD("vocab_size_per_layer_input", U64),
	FIELD("use_double_wide_mlp", BOOL), FIELD("attention_sinks", BOOL), FIELD("num_local_experts", U64),
	FIELD("num_experts_per_token", U64), FIELD("norm_topk_prob", BOOL), FIELD("swiglu_alpha", F64),
	FIELD("swiglu_limit", F64), FIELD("norm_weight_offset", F64), FIELD("embedding_scale", F64),
	FIELD("query_pre_attn_scalar", F64), FIELD("attention_logit_softcap", F64), FIELD("final_logit_softcap", F64),
	FIELD("rope_parameters", JSON), FIELD("quantization_config", JSON), FIELD("required_operators", STRINGS),
	FIELD("tokenizer_json_hash", STRING), FIELD("tokenizer_config_json_hash", STRING),
};

const struct field *model_field(tn_view name)
{
	for (size_t i = 0; i < MODEL_FIELDS; i++)
		if (view_is(name, model_fields[i].name))
			return &model_fields[i];
	return NULL;
}

struct reading {
	struct text     t;
	struct manifest *m;
	const struct manifest_options *opt;
	uint64_t        cap_stages, cap_pages;
	tn_view        *refs;      /* of the stage being read */
	uint64_t        cap_refs;
	uint64_t       *shape;     /* of the page being read */
	uint64_t        cap_shape;
};

/* Members that were there, by number; a known one twice, or a needed one never, is a fault. */
static bool see(struct text *t, uint64_t *seen, unsigned i, tn_view key)
{
	if ((*seen & UINT64_C(1) << i) != 0)
		return text_fail(t, TN_E_CORRUPT, "'%s' is there twice", ESC(key));
	*seen |= UINT64_C(1) << i;
	return true;
}

/* The list with room for one more: another one when it had none. NULL when memory is out. */
static void *room(struct text *t, void *list, uint64_t n, uint64_t *cap, size_t size)
{
	if (n < *cap)
		return list;
	uint64_t more = *cap != 0 ? 2 * *cap : 16;
	void *grown = arena_raw(t->mem, more, size);
	if (grown == NULL) {
		text_no_memory(t);
		return NULL;
	}
	copy_bytes(grown, list, (size_t)n * size);
	*cap = more;
	return grown;
}

/* ---- Model ---- */

static struct tn_meta *new_node(struct text *t, tn_meta_type type, unsigned width)
{
	struct tn_meta *node = meta_new(t->mem, type);
	if (node == NULL)
		text_no_memory(t);
	else
		node->width = (uint8_t)width;
	return node;
}

static struct tn_meta *string_list(struct text *t, const char *what)
{
	tn_view v;
	struct tn_meta *list = text_array(t, what) ? new_node(t, TN_META_ARRAY, 0) : NULL;
	for (bool first = true; list != NULL && text_item(t, &first); )
		if (!text_string(t, what, &v) || meta_add_string(t->mem, list, (tn_view){ NULL, 0 }, v) == NULL)
			return text_ok(t) ? (text_no_memory(t), NULL) : NULL;
	return text_ok(t) ? list : NULL;
}

static struct tn_meta *bool_list(struct text *t, const char *what)
{
	bool v;
	struct tn_meta *list = text_array(t, what) ? new_node(t, TN_META_ARRAY, 0) : NULL;
	for (bool first = true; list != NULL && text_item(t, &first); )
		if (!text_bool(t, what, &v) || meta_add_bool(t->mem, list, (tn_view){ NULL, 0 }, v) == NULL)
			return text_ok(t) ? (text_no_memory(t), NULL) : NULL;
	return text_ok(t) ? list : NULL;
}

static struct tn_meta *number_field(struct text *t, const struct field *f)
{
	uint64_t u;
	double v;
	struct tn_meta *node = NULL;
	if (f->type == FIELD_F64) {
		if (text_real(t, f->name, &v) && (node = new_node(t, TN_META_FLOAT, 64)) != NULL)
			node->as.f_bits = f64_bits(v);
		return node;
	}
	unsigned width = f->type == FIELD_U32 ? 32 : 64;
	if (text_uint(t, f->name, UINT64_MAX >> (64 - width), &u) && (node = new_node(t, TN_META_UINT, width)) != NULL)
		node->as.u = u;
	return node;
}

static struct tn_meta *field_value(struct text *t, const struct field *f)
{
	struct tn_meta *node = NULL;
	tn_view v;
	bool b;
	switch (f->type) {
	case FIELD_JSON:    return text_tree(t);
	case FIELD_STRINGS: return string_list(t, f->name);
	case FIELD_BOOLS:   return bool_list(t, f->name);
	case FIELD_STRING:
		if (text_string(t, f->name, &v) && (node = new_node(t, TN_META_STRING, 0)) != NULL)
			node->as.s = v;
		return node;
	case FIELD_BOOL:
		if (text_bool(t, f->name, &b) && (node = new_node(t, TN_META_BOOL, 0)) != NULL)
			node->as.b = b;
		return node;
	default:
		return number_field(t, f);
	}
}

static bool is_list(const struct field *f) { return f->type == FIELD_STRINGS || f->type == FIELD_BOOLS; }

static bool read_field(struct reading *r, const struct field *f, tn_view key)
{
	if (!f->required && !is_list(f) && text_null(&r->t))
		return true;
	struct tn_meta *node = field_value(&r->t, f);
	if (node == NULL)
		return false;
	if (!is_list(f) || node->as.kids.n != 0)
		meta_append(r->m->model, key, node);
	return true;
}

/* The members under the schema's order, whatever the text's was. */
static void order_fields(struct tn_meta *model)
{
	struct tn_meta *nodes[MODEL_FIELDS] = { NULL }, *next;
	for (struct tn_meta *node = model->as.kids.first; node != NULL; node = next) {
		next = node->next;
		nodes[model_field(node->key) - model_fields] = node;
	}
	model->as.kids.first = model->as.kids.last = NULL;
	model->as.kids.n = 0;
	for (size_t i = 0; i < MODEL_FIELDS; i++)
		if (nodes[i] != NULL)
			meta_append(model, tn_text(model_fields[i].name), nodes[i]);
}

static bool read_model(struct reading *r)
{
	struct text *t = &r->t;
	uint64_t seen = 0;
	tn_view key;
	if (!text_object(t, "model's object") || (r->m->model = new_node(t, TN_META_MAP, 0)) == NULL)
		return false;
	for (bool first = true; text_member(t, &first, &key); ) {
		const struct field *f = model_field(key);
		if (f == NULL)
			text_skip(t);
		else if (!see(t, &seen, (unsigned)(f - model_fields), key) || !read_field(r, f, key))
			return false;
	}
	for (size_t i = 0; text_ok(t) && i < MODEL_FIELDS; i++)
		if (model_fields[i].required && (seen & UINT64_C(1) << i) == 0)
			return text_fail(t, TN_E_CORRUPT, "model has no '%s'", model_fields[i].name);
	if (text_ok(t))
		order_fields(r->m->model);
	return text_ok(t);
}

/* ---- Members of the other objects ---- */

/* Numbers the key among names, which NULL ends. -1: unknown. */
static int number_of(tn_view key, const char *const *names)
{
	for (int i = 0; names[i] != NULL; i++)
		if (view_is(key, names[i]))
			return i;
	return -1;
}

/* Whether all members that needed has bits for were seen. */
static bool complete(struct text *t, uint64_t seen, uint64_t needed, const char *const *names, const char *what)
{
	for (unsigned i = 0; text_ok(t) && names[i] != NULL; i++)
		if ((needed & ~seen & UINT64_C(1) << i) != 0)
			return text_fail(t, TN_E_CORRUPT, "%s has no '%s'", what, names[i]);
	return text_ok(t);
}

static bool optional_string(struct text *t, const char *what, tn_view *out)
{
	return text_null(t) || text_string(t, what, out);
}

static bool optional_uint(struct text *t, const char *what, uint64_t max, uint32_t bit, uint32_t *has, uint64_t *out)
{
	if (text_null(t))
		return true;
	*has |= bit;
	return text_uint(t, what, max, out);
}

/* ---- Tape ---- */

static bool read_refs(struct reading *r, struct stage *s)
{
	struct text *t = &r->t;
	if (!text_array(t, "page_refs"))
		return false;
	for (bool first = true; text_item(t, &first); s->n_refs++) {
		r->refs = room(t, r->refs, s->n_refs, &r->cap_refs, sizeof *r->refs);
		if (r->refs == NULL || !text_string(t, "a page_ref", &r->refs[s->n_refs]))
			return false;
	}
	tn_view *refs = text_ok(t) ? arena_raw(t->mem, s->n_refs, sizeof *refs) : NULL;
	if (refs == NULL)
		return text_ok(t) && text_no_memory(t);
	copy_bytes(refs, r->refs, (size_t)s->n_refs * sizeof *refs);
	s->refs = refs;
	return true;
}

static bool read_params(struct text *t, struct stage *s)
{
	struct tn_meta *params = text_tree(t);
	if (params != NULL && params->type != TN_META_MAP)
		return text_fail(t, TN_E_CORRUPT, "operator_params is no object");
	s->params = params != NULL && params->as.kids.n != 0 ? params : NULL;
	return params != NULL;
}

static bool read_stage(struct reading *r)
{
	static const char *const names[] = { "stage", "operator", "operator_params", "page_refs", NULL };
	struct text *t = &r->t;
	uint64_t seen = 0;
	tn_view key;
	r->m->tape = room(t, r->m->tape, r->m->n_stages, &r->cap_stages, sizeof *r->m->tape);
	if (r->m->tape == NULL || !text_object(t, "a stage"))
		return false;
	struct stage *s = &r->m->tape[r->m->n_stages++];
	*s = (struct stage){ .operator = VIEW("") };
	for (bool first = true; text_member(t, &first, &key); ) {
		int i = number_of(key, names);
		if (i >= 0 && !see(t, &seen, (unsigned)i, key))
			return false;
		switch (i) {
		case 0:  text_string(t, "stage", &s->name); break;
		case 1:  text_string(t, "operator", &s->operator); break;
		case 2:  read_params(t, s); break;
		case 3:  read_refs(r, s); break;
		default: text_skip(t); break;
		}
	}
	return complete(t, seen, 1, names, "a stage");
}

static bool read_tape(struct reading *r)
{
	if (!text_array(&r->t, "execution_tape"))
		return false;
	for (bool first = true; text_item(&r->t, &first); )
		if (!read_stage(r))
			return false;
	return text_ok(&r->t);
}

/* ---- Pages ---- */

static bool read_shape(struct reading *r, struct page *p)
{
	struct text *t = &r->t;
	uint64_t n = 0;
	if (!text_array(t, "shape"))
		return false;
	for (bool first = true; text_item(t, &first); n++) {
		r->shape = room(t, r->shape, n, &r->cap_shape, sizeof *r->shape);
		if (r->shape == NULL || !text_uint(t, "a dimension", UINT64_MAX, &r->shape[n]))
			return false;
	}
	uint64_t *shape = text_ok(t) ? arena_raw(t->mem, n, sizeof *shape) : NULL;
	if (shape == NULL)
		return text_ok(t) && text_no_memory(t);
	if (n > UINT32_MAX)
		return text_fail(t, TN_E_LIMIT, "a shape of 2^32 dimensions");
	copy_bytes(shape, r->shape, (size_t)n * sizeof *shape);
	p->shape = shape;
	p->rank = (uint32_t)n;
	return true;
}

static const char *const page_members[] = {
	"id", "kind", "layer", "op", "dtype", "shape", "backend_layout", "size", "checksum", "experimental", "fused_to",
	"fused_offset", "quant_scheme", "bits_per_weight", "quant_group_size", "scale_page", NULL
};
enum { PAGE_NEEDED = 1 << 0 | 1 << 1 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 };

static bool read_page_member(struct reading *r, struct page *p, int i)
{
	struct text *t = &r->t;
	switch (i) {
	case 0:  return text_string(t, "id", &p->id);
	case 1:  return text_string(t, "kind", &p->kind);
	case 2:  return optional_uint(t, "layer", UINT32_MAX, PAGE_LAYER, &p->has, &p->layer);
	case 3:  return text_string(t, "op", &p->op);
	case 4:  return text_string(t, "dtype", &p->dtype);
	case 5:  return read_shape(r, p);
	case 6:  return text_string(t, "backend_layout", &p->layout);
	case 7:  return text_uint(t, "size", UINT64_MAX, &p->size);
	case 8:  return text_string(t, "checksum", &p->checksum);
	case 9:  return text_bool(t, "experimental", &p->experimental);
	case 10: return optional_string(t, "fused_to", &p->fused_to);
	case 11: return optional_uint(t, "fused_offset", UINT64_MAX, PAGE_FUSED_OFFSET, &p->has, &p->fused_offset);
	case 12: return optional_string(t, "quant_scheme", &p->scheme);
	case 13: return optional_uint(t, "bits_per_weight", UINT8_MAX, PAGE_BITS, &p->has, &p->bits);
	case 14: return optional_uint(t, "quant_group_size", UINT64_MAX, PAGE_GROUP, &p->has, &p->group);
	case 15: return optional_string(t, "scale_page", &p->scale_page);
	default: text_skip(t); return text_ok(t);
	}
}

/* Members nearly always stand in the schema's order: the search starts after the last one. */
static int page_member(tn_view key, int last)
{
	for (int i = last + 1; page_members[i] != NULL && i <= last + 2; i++)
		if (view_is(key, page_members[i]))
			return i;
	return number_of(key, page_members);
}

static bool keep_page(struct reading *r, const struct page *p)
{
	if (r->opt->page != NULL)
		return r->opt->page(r->opt->ctx, p, r->opt->origin + (uint64_t)(r->t.p - r->t.base));
	r->m->pages = room(&r->t, r->m->pages, r->m->n_pages, &r->cap_pages, sizeof *r->m->pages);
	if (r->m->pages == NULL)
		return false;
	r->m->pages[r->m->n_pages++] = *p;
	return true;
}

static bool read_page(struct reading *r)
{
	struct text *t = &r->t;
	struct page p = { .has = 0 };
	uint64_t seen = 0;
	int i = -1;
	tn_view key;
	if (!text_object(t, "a page"))
		return false;
	for (bool first = true; text_member(t, &first, &key); ) {
		i = page_member(key, i < 0 ? -1 : i);
		if ((i >= 0 && !see(t, &seen, (unsigned)i, key)) || !read_page_member(r, &p, i))
			return false;
	}
	return complete(t, seen, PAGE_NEEDED, page_members, "a page") && keep_page(r, &p);
}

static bool read_pages(struct reading *r)
{
	if (!text_array(&r->t, "pages"))
		return false;
	for (bool first = true; text_item(&r->t, &first); )
		if (!read_page(r))
			return false;
	return text_ok(&r->t);
}

/* ---- Memory plan ---- */

static bool read_kv_cache(struct text *t, struct memory_plan *p)
{
	static const char *const names[] = { "policy", "recent_tokens_high_precision", "old_tokens_codec", NULL };
	uint64_t seen = 0;
	tn_view key;
	if (!text_object(t, "kv_cache"))
		return false;
	for (bool first = true; text_member(t, &first, &key); ) {
		int i = number_of(key, names);
		if (i >= 0 && !see(t, &seen, (unsigned)i, key))
			return false;
		switch (i) {
		case 0:  text_string(t, names[0], &p->policy); break;
		case 1:  text_uint(t, names[1], UINT64_MAX, &p->recent_tokens); break;
		case 2:  text_string(t, names[2], &p->codec); break;
		default: text_skip(t); break;
		}
	}
	return complete(t, seen, 7, names, "kv_cache");
}

static bool read_memory_plan(struct text *t, struct memory_plan *p)
{
	static const char *const names[] = {
		"scratch_bytes", "min_vram_bytes", "recommended_vram_bytes", "kv_cache", NULL
	};
	uint64_t seen = 0;
	tn_view key;
	if (!text_object(t, "memory_plan"))
		return false;
	for (bool first = true; text_member(t, &first, &key); ) {
		int i = number_of(key, names);
		if (i >= 0 && !see(t, &seen, (unsigned)i, key))
			return false;
		switch (i) {
		case 0:  text_uint(t, names[0], UINT64_MAX, &p->scratch); break;
		case 1:  text_uint(t, names[1], UINT64_MAX, &p->min_vram); break;
		case 2:  text_uint(t, names[2], UINT64_MAX, &p->recommended_vram); break;
		case 3:  read_kv_cache(t, p); break;
		default: text_skip(t); break;
		}
	}
	return complete(t, seen, 15, names, "memory_plan");
}

/* ---- Root ---- */

/* Ours, and unknown to upstream: whatever is no string is passed over as upstream would. */
static void read_envelope(struct reading *r)
{
	struct text before = r->t;
	if (r->m->envelope.ptr == NULL && text_string(&r->t, "an envelope", &r->m->envelope))
		return;
	tn_code code = r->t.err->code;
	if (code == TN_E_NOMEM || code == TN_E_LIMIT)
		return;
	err_clear(r->t.err);
	r->t = before;
	text_skip(&r->t);
}

static bool read_root_member(struct reading *r, int i)
{
	struct text *t = &r->t;
	switch (i) {
	case 0:  return text_string(t, "format", &r->m->format);
	case 1:  return text_uint(t, "version", UINT32_MAX, &r->m->version);
	case 2:  return read_model(r);
	case 3:  return read_tape(r);
	case 4:  return read_pages(r);
	case 5:  return read_memory_plan(t, &r->m->plan);
	default: text_skip(t); return text_ok(t);
	}
}

static bool read_root(struct reading *r)
{
	static const char *const names[] = {
		"format", "version", "model", "execution_tape", "pages", "memory_plan", NULL
	};
	struct text *t = &r->t;
	uint64_t seen = 0;
	tn_view key;
	if (!text_object(t, "an object"))
		return false;
	for (bool first = true; text_member(t, &first, &key); ) {
		int i = number_of(key, names);
		if (i >= 0 && !see(t, &seen, (unsigned)i, key))
			return false;
		if (view_is(key, THIN_ENVELOPE_KEY))
			read_envelope(r);
		else if (!read_root_member(r, i))
			return false;
	}
	return complete(t, seen, 63, names, "the root object") && text_end(t);
}

tn_code manifest_read(struct manifest *m, tn_view text, const struct manifest_options *opt, struct arena *mem,
                      tn_error *err)
{
	struct reading r = { .t = text_over(text, opt->origin, mem, err), .m = m, .opt = opt };
	r.t.exact = opt->exact;
	*m = (struct manifest){ .version = 0 };
	read_root(&r);
	return err->code;
}
