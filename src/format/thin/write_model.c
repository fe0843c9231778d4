/* write_model.c - the manifest's members besides its pages: from the metadata and the native subtree, or what can be
 * said of a model of which nothing is known. */
#include "format/thin/write.h"

#include "base/utf8.h"
#include "io/json_tree.h"

#include <inttypes.h>
#include <math.h>

/* ---- Which values a field holds ---- */

static bool is_text(const struct tn_meta *n) { return n->type == TN_META_STRING && utf8_ok(n->as.s); }

static bool is_list_of(const struct tn_meta *list, tn_meta_type type)
{
	tn_meta_iter it = tn_meta_items(list);
	uint64_t n = 0;
	if (list->type != TN_META_ARRAY)
		return false;
	for (const tn_meta *x; (x = tn_meta_next(&it)) != NULL; n++)
		if (x->type != type || (type == TN_META_STRING && !utf8_ok(x->as.s)))
			return false;
	return n != 0;
}

static bool is_json(const struct tn_meta *node);

/* Printed and read again it is the same: keys ascend, since upstream sorts them. */
static bool is_json_container(const struct tn_meta *node)
{
	tn_view last = { NULL, 0 };
	if (node->is_raw)
		return false;
	for (const struct tn_meta *x = node->as.kids.first; x != NULL; x = x->next) {
		bool ascends = last.ptr == NULL || view_cmp(last, x->key) < 0;
		if (node->type == TN_META_MAP && (!ascends || !utf8_ok(x->key)))
			return false;
		if (!is_json(x))
			return false;
		last = x->key;
	}
	return true;
}

static bool is_json(const struct tn_meta *node)
{
	bool container = node->type == TN_META_ARRAY || node->type == TN_META_MAP;
	return container ? is_json_container(node) : json_tree_keeps(node);
}

/* Containers that one stands in, which count for what reading it allows. */
enum { IN_MODEL = 2 /* the manifest's object, and the model's */, IN_STAGE = 3 /* that, the tape and the stage */ };

static bool is_json_in(unsigned outer, const struct tn_meta *node)
{
	return is_json(node) && json_tree_within(node, META_DEPTH - outer);
}

static bool field_holds(const struct field *f, const struct tn_meta *n)
{
	switch (f->type) {
	case FIELD_STRING:  return is_text(n);
	case FIELD_U64:     return n->type == TN_META_UINT;
	case FIELD_U32:     return n->type == TN_META_UINT && n->as.u <= UINT32_MAX;
	case FIELD_F64:     return n->type == TN_META_FLOAT && isfinite(f64_of(n->as.f_bits));
	case FIELD_BOOL:    return n->type == TN_META_BOOL;
	case FIELD_JSON:    return n->type != TN_META_NULL && is_json_in(IN_MODEL, n);
	case FIELD_STRINGS: return is_list_of(n, TN_META_STRING);
	case FIELD_BOOLS:   return is_list_of(n, TN_META_BOOL);
	}
	return false;
}

/* Bits that reading the field gives it. */
static unsigned field_width(const struct field *f)
{
	return f->type == FIELD_U32 ? 32 : f->type == FIELD_U64 || f->type == FIELD_F64 ? 64 : 0;
}

/* ---- Known fields ---- */

static struct tn_meta *add_field(struct writing *w, const char *name, const struct tn_meta *value)
{
	struct tn_meta *copy = meta_new(w->job->mem, TN_META_NULL);
	if (copy == NULL) {
		write_no_memory(w);
		return NULL;
	}
	*copy = *value;
	copy->next = NULL;
	return meta_append(w->man.model, tn_text(name), copy);
}

/* What the validator asks of the shape of a model: such fields are taken all together or not at all. */
static bool is_judged(const struct field *f)
{
	return f->required || strcmp(f->name, "head_dim") == 0;
}

static uint64_t number_in(const struct tn_meta *map, const char *name, uint64_t absent)
{
	const struct tn_meta *n = meta_find(map, tn_text(name));
	return n != NULL && n->type == TN_META_UINT ? n->as.u : absent;
}

static bool is_sound(const struct tn_meta *metadata)
{
	static const char *const strings[] = { "arch", "dtype" };
	uint64_t heads = number_in(metadata, "heads", 1), kv = number_in(metadata, "kv_heads", heads);
	uint64_t hidden = number_in(metadata, "hidden_size", heads), dim = number_in(metadata, "head_dim", 0);
	for (size_t i = 0; i < 2; i++) {
		const struct tn_meta *n = meta_find(metadata, tn_text(strings[i]));
		if (n != NULL && is_text(n) && is_blank(n->as.s))
			return false;
	}
	bool has_dim = meta_find(metadata, VIEW("head_dim")) != NULL;
	return heads != 0 && kv != 0 && kv <= heads && hidden != 0 && number_in(metadata, "layers", 1) != 0 &&
	       (has_dim ? dim != 0 : hidden % heads == 0);
}

/* In the order of the schema, in which reading them gives them back. */
static bool known_fields(struct writing *w)
{
	bool trust = w->job->rewrite || is_sound(w->m->metadata);
	for (size_t i = 0; i < MODEL_FIELDS; i++) {
		const struct field *f = &model_fields[i];
		const struct tn_meta *n = meta_find(w->m->metadata, tn_text(f->name));
		if (n == NULL || !field_holds(f, n) || (!trust && is_judged(f)))
			continue;
		if (add_field(w, f->name, n) == NULL)
			return false;
		if (f->type != FIELD_JSON && field_width(f) != n->width) /* free-form values are read as they are printed */
			envelope_value(&w->env, n);
	}
	return true;
}

/* ---- What must be there and is not known ---- */

/* The type that most bytes have. */
static tn_view main_dtype(const struct model *m)
{
	uint64_t bytes[TN_DTYPES] = { 0 };
	size_t most = 0;
	for (uint64_t i = 0; i < m->n; i++)
		if (!add_u64(bytes[m->tensors[i].dtype], m->tensors[i].nbytes, &bytes[m->tensors[i].dtype]))
			bytes[m->tensors[i].dtype] = UINT64_MAX;
	for (size_t d = 1; d < TN_DTYPES; d++)
		if (bytes[d] > bytes[most])
			most = d;
	return tn_text(dtype_info((tn_dtype)most)->name);
}

/* One more than the highest layer of a page. */
static uint64_t layers_of_pages(const struct manifest *man)
{
	uint64_t layers = 1;
	for (uint64_t i = 0; i < man->n_pages; i++)
		if ((man->pages[i].has & PAGE_LAYER) != 0 && man->pages[i].layer < UINT32_MAX)
			layers = max_u64(layers, man->pages[i].layer + 1);
	return layers;
}

static struct tn_meta placeholder(const struct writing *w, const struct field *f)
{
	struct tn_meta v = { .type = TN_META_UINT, .width = (uint8_t)field_width(f), .as.u = 1 };
	uint64_t heads = number_in(w->man.model, "heads", 1);
	if (f->type == FIELD_STRING) {
		v.type = TN_META_STRING;
		v.as.s = strcmp(f->name, "arch") == 0 ? VIEW(PLAIN_ARCH) : main_dtype(w->m);
	} else if (strcmp(f->name, "layers") == 0) {
		v.as.u = layers_of_pages(&w->man);
	} else if (strcmp(f->name, "heads") != 0) {
		v.as.u = heads; /* as many for keys and values, and one number each */
	}
	return v;
}

static bool missing_fields(struct writing *w)
{
	struct buf names;
	buf_init(&names, w->job->mem->budget);
	for (size_t i = 0; i < MODEL_FIELDS; i++) {
		const struct field *f = &model_fields[i];
		if (!f->required || meta_find(w->man.model, tn_text(f->name)) != NULL)
			continue;
		struct tn_meta value = placeholder(w, f), *node = add_field(w, f->name, &value);
		if (node == NULL) {
			buf_fini(&names);
			return false;
		}
		envelope_derived(&w->env, node);
		buf_printf(&names, "%s%s", names.len != 0 ? ", " : "", f->name);
	}
	if (names.len != 0 && !names.failed)
		report_add(w->job->report, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR,
		           THIN ": the manifest's model gets placeholders where nothing is known: %.*s", VIEW_ARG(buf_bytes(&names)));
	buf_fini(&names);
	return true;
}

/* ---- Metadata that is no field ---- */

/* Whether reading gives the keys in the model's order: fields in that of the schema, then what the envelope holds. */
static bool keeps_key_order(const struct writing *w)
{
	const struct field *last = NULL;
	bool other = false;
	for (const struct tn_meta *n = w->m->metadata->as.kids.first; n != NULL; n = n->next) {
		const struct field *f = model_field(n->key);
		if (f == NULL || meta_find(w->man.model, n->key) == NULL || !field_holds(f, n)) {
			other = true;
			continue;
		}
		if (other || (last != NULL && f < last))
			return false;
		last = f;
	}
	return true;
}

static bool is_shown(const struct writing *w, const struct tn_meta *n, bool trust)
{
	const struct field *f = model_field(n->key);
	return f != NULL && field_holds(f, n) && (trust || !is_judged(f)) && meta_find(w->man.model, n->key) != NULL;
}

static void other_metadata(struct writing *w)
{
	bool trust = w->job->rewrite || is_sound(w->m->metadata);
	for (const struct tn_meta *n = w->m->metadata->as.kids.first; n != NULL; n = n->next) {
		bool is_namesake = view_is(n->key, THIN_ENVELOPE_KEY); /* the text of an envelope that was not applied */
		if (is_namesake && is_text(n))
			w->man.envelope = n->as.s;
		if (!is_namesake && !is_shown(w, n, trust))
			envelope_hidden(&w->env, n);
	}
	w->env.keep_metadata_order = !w->job->rewrite && !keeps_key_order(w);
	for (const struct tn_meta *n = w->m->native->as.kids.first; n != NULL; n = n->next)
		if (!view_is(n->key, THIN))
			envelope_native(&w->env, n);
}

bool write_model(struct writing *w)
{
	w->man.format = VIEW("thintensor");
	w->man.model = meta_new(w->job->mem, TN_META_MAP);
	if (w->man.model == NULL)
		return write_no_memory(w);
	if (!known_fields(w) || !missing_fields(w))
		return false;
	other_metadata(w);
	return true;
}

/* ---- Tape ---- */

static bool stage_refs(struct writing *w, const struct tn_meta *list, struct stage *s)
{
	uint64_t left_out = 0, i;
	tn_view *refs = arena_raw(w->job->mem, list->as.kids.n, sizeof *refs);
	if (refs == NULL)
		return write_no_memory(w);
	for (const struct tn_meta *x = list->as.kids.first; x != NULL; x = x->next) {
		if (x->type == TN_META_STRING && strmap_find(&w->page_ids, write_page_id, w->man.pages, x->as.s, &i))
			refs[s->n_refs++] = x->as.s;
		else
			left_out++;
	}
	s->refs = refs;
	if (left_out != 0)
		report_add(w->job->report, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR,
		           THIN ": stage '%s' loses %" PRIu64 " of its pages, which are not there any more", ESC(s->name), left_out);
	return true;
}

static bool native_stage(struct writing *w, const struct tn_meta *from, struct stage *s)
{
	const struct tn_meta *name = tn_meta_find(from, VIEW("stage")), *op = tn_meta_find(from, VIEW("operator"));
	const struct tn_meta *params = tn_meta_find(from, VIEW("operator_params"));
	const struct tn_meta *refs = tn_meta_find(from, VIEW("page_refs"));
	*s = (struct stage){ .operator = VIEW("") };
	if (name == NULL || !is_text(name) || (op != NULL && !is_text(op)) || refs == NULL || refs->type != TN_META_ARRAY ||
	    refs->is_raw || (params != NULL && (params->type != TN_META_MAP || !is_json_in(IN_STAGE, params))))
		return false;
	s->name = name->as.s;
	if (op != NULL)
		s->operator = op->as.s;
	if (params != NULL && params->as.kids.n != 0)
		s->params = (struct tn_meta *)(uintptr_t)params; /* only printed */
	return stage_refs(w, refs, s);
}

/* False when there is none, or memory is out. */
static bool native_tape(struct writing *w)
{
	const struct tn_meta *tape = write_native(w, NATIVE_TAPE, TN_META_ARRAY);
	if (tape == NULL || tape->is_raw || (tape->as.kids.n == 0 && !w->job->rewrite))
		return false;
	w->man.tape = arena_raw(w->job->mem, tape->as.kids.n, sizeof *w->man.tape);
	if (w->man.tape == NULL)
		return write_no_memory(w);
	w->man.n_stages = 0;
	for (const struct tn_meta *x = tape->as.kids.first; x != NULL; x = x->next)
		if (!native_stage(w, x, &w->man.tape[w->man.n_stages++]))
			return false;
	return true;
}

/* One stage that names all pages. */
static bool plain_tape(struct writing *w)
{
	struct stage *s = ARENA_NEW(w->job->mem, 1, struct stage);
	tn_view *refs = arena_raw(w->job->mem, w->man.n_pages, sizeof *refs);
	if (s == NULL || refs == NULL)
		return write_no_memory(w);
	for (uint64_t i = 0; i < w->man.n_pages; i++)
		if (!write_is_fused(w, w->man.pages[i].id))
			refs[s->n_refs++] = w->man.pages[i].id;
	s->name = VIEW(PLAIN_STAGE);
	s->operator = VIEW("");
	s->refs = refs;
	w->man.tape = s;
	w->man.n_stages = 1;
	return true;
}

bool write_tape(struct writing *w)
{
	uint64_t other;
	if (!strmap_init(&w->page_ids, w->job->mem, w->man.n_pages))
		return write_no_memory(w);
	for (uint64_t i = 0; i < w->man.n_pages; i++)
		strmap_add(&w->page_ids, write_page_id, w->man.pages, i, &other);
	return native_tape(w) || (w->job->err->code == TN_OK && plain_tape(w));
}

/* ---- Memory plan ---- */

static uint64_t physical_bytes(const struct manifest *man)
{
	uint64_t sum = 0;
	for (uint64_t i = 0; i < man->n_pages; i++)
		if (man->pages[i].fused_to.ptr == NULL && !add_u64(sum, man->pages[i].size, &sum))
			return UINT64_MAX;
	return sum;
}

static void take_text(const struct tn_meta *map, const char *key, tn_view *to)
{
	const struct tn_meta *n = tn_meta_find(map, tn_text(key));
	if (n != NULL && is_text(n))
		*to = n->as.s;
}

bool write_memory_plan(struct writing *w)
{
	uint64_t bytes = physical_bytes(&w->man);
	struct memory_plan *p = &w->man.plan;
	*p = (struct memory_plan){
		.min_vram = bytes, .recommended_vram = bytes, .recent_tokens = PLAIN_RECENT, .policy = VIEW(PLAIN_POLICY),
		.codec = VIEW(PLAIN_CODEC),
	};
	const struct tn_meta *map = write_native(w, NATIVE_PLAN, TN_META_MAP);
	if (map == NULL)
		return true;
	const struct tn_meta *kv = tn_meta_find(map, VIEW("kv_cache"));
	p->scratch = number_in(map, "scratch_bytes", 0);
	p->min_vram = number_in(map, "min_vram_bytes", p->min_vram);
	p->recommended_vram = number_in(map, "recommended_vram_bytes", p->recommended_vram);
	if (kv != NULL && kv->type == TN_META_MAP) {
		p->recent_tokens = number_in(kv, "recent_tokens_high_precision", p->recent_tokens);
		take_text(kv, "policy", &p->policy);
		take_text(kv, "old_tokens_codec", &p->codec);
	}
	return true;
}
