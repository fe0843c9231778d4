/* write.c - a model into the spans of a safetensors file, byte for byte as the reference writes it: tensors sorted by
 * dtype, widest first, then by name; the header without white space, padded with spaces.
 *
 * What safetensors has no place for goes into the envelope; the metadata of a new file is sorted, where the
 * reference's order is random; a rewrite keeps its order. */
#include "format/safetensors/layout.h"

#include "base/bytes.h"
#include "base/num.h"
#include "base/utf8.h"
#include "codec/json.h"

#include <inttypes.h>
#include <stdlib.h>

/* A tensor as it will stand in the header. */
struct entry {
	tn_view         name;
	unsigned        order; /* of its dtype */
	uint32_t        rank;
	tn_view         dtype;
	const uint64_t *shape;
	uint64_t        nbytes;
	uint64_t        tensor; /* index in the model */
};

struct pair {
	tn_view key, value;
};

struct writing {
	struct plan_job *job;
	const struct model *m;
	struct envelope env;
	struct entry *entries;
	uint64_t      n;
	struct pair  *pairs;
	uint64_t      n_pairs;
	bool          has_format;
};

static bool refuse(struct writing *w, tn_code code, const struct tensor *t, const char *why)
{
	err_set(w->job->err, code, TN_NO_OFFSET, SAFETENSORS ": tensor '%s': %s", ESC(t->name), why);
	return false;
}

static bool no_memory(struct writing *w, const char *what)
{
	arena_err(w->job->mem, w->job->err, what);
	return false;
}

/* ---- Tensors ---- */

/* Why the format cannot hold a name; NULL when it can. Readers accept some of these, but such a file would be read
 * by few, and one of a tensor __metadata__ by none. */
static const char *bad_name(tn_view name)
{
	if (view_is(name, METADATA_KEY))
		return "this name is reserved for the metadata";
	if (name.len == 0)
		return "a tensor must have a name";
	if (memchr(name.ptr, 0, name.len) != NULL)
		return "a name must not hold a NUL";
	return utf8_ok(name) ? NULL : "a name must be UTF-8";
}

static bool check_names(struct writing *w)
{
	struct strmap names;
	uint64_t other;
	if (!strmap_init(&names, w->job->mem, w->m->n))
		return no_memory(w, SAFETENSORS ": names");
	for (uint64_t i = 0; i < w->m->n; i++)
		if (!strmap_add(&names, model_name_at, w->m, i, &other))
			return refuse(w, TN_E_USAGE, &w->m->tensors[i], "two tensors have this name");
	return true;
}

/* The dtype that stands in for one of the same layout that safetensors lacks. */
static tn_dtype carrier_of(tn_dtype d)
{
	switch (d) {
	case TN_FLEX32:   return TN_F32;
	case TN_BOOL_U8:  return TN_BOOL;
	case TN_BOOL_U32: return TN_U32;
	default:          return d;
	}
}

static bool plain_entry(struct writing *w, uint64_t i, tn_dtype held)
{
	const struct tensor *t = &w->m->tensors[i];
	unsigned order = safetensors_dtype_of(held);
	tn_error *err = w->job->err;
	uint64_t nbytes = 0;
	if (dtype_bytes(held, BLOCK_FLAT, t->rank, t->shape, &nbytes, err) != TN_OK) {
		err_prefix(err, SAFETENSORS ": tensor '%s'", ESC(t->name));
		return false;
	}
	if (nbytes != t->nbytes)
		return refuse(w, TN_E_CORRUPT, t, "its shape and its bytes differ in size");
	if (held != t->dtype)
		envelope_tensor(&w->env, i, ENV_DTYPE);
	w->entries[w->n++] = (struct entry){
		t->name, order, t->rank, tn_text(safetensors_dtypes[order].name), t->shape, nbytes, i
	};
	return true;
}

/* What a reader would not take for a dtype that it knows: the word may have come out of an envelope. */
static bool is_unknown_dtype(tn_view word)
{
	return word.len != 0 && utf8_ok(word) && safetensors_dtype_named(word) == SAFETENSORS_DTYPES &&
	       safetensors_dtype_like(word) == SAFETENSORS_DTYPES;
}

/* A dtype that was not known when the file was read goes back as it came, after all others. */
static void unknown_entry(struct writing *w, uint64_t i, tn_view dtype)
{
	const struct tensor *t = &w->m->tensors[i];
	w->entries[w->n++] = (struct entry){ t->name, SAFETENSORS_DTYPES, t->rank, dtype, t->shape, t->nbytes, i };
}

static void carried_entry(struct writing *w, uint64_t i)
{
	const struct tensor *t = &w->m->tensors[i];
	envelope_tensor(&w->env, i, ENV_DTYPE | ENV_SHAPE);
	w->entries[w->n++] = (struct entry){
		t->name, safetensors_dtype_of(TN_U8), 1, VIEW("U8"), &t->nbytes, t->nbytes, i
	};
}

/* Our own subtree is no extra to others: it goes back into the entry, or nowhere. */
static bool has_extras(const struct tensor *t)
{
	if (t->extras == NULL)
		return false;
	const struct tn_meta *x = t->extras->as.kids.first;
	while (x != NULL && view_is(x->key, SAFETENSORS))
		x = x->next;
	return x != NULL;
}

static bool add_entry(struct writing *w, uint64_t i)
{
	const struct tensor *t = &w->m->tensors[i];
	tn_dtype held = carrier_of(t->dtype);
	const struct tn_meta *unknown = t->dtype == TN_OPAQUE ? safetensors_own(t->extras, EXTRA_DTYPE) : NULL;
	const char *why = bad_name(t->name);
	if (why != NULL) {
		job_lossy(w->job, t->name, SAFETENSORS ": tensor '%s': %s", ESC(t->name), why);
		return true;
	}
	if (safetensors_dtype_of(held) < SAFETENSORS_DTYPES) {
		if (!plain_entry(w, i, held))
			return false;
	} else if (unknown != NULL && unknown->type == TN_META_STRING && is_unknown_dtype(unknown->as.s)) {
		unknown_entry(w, i, unknown->as.s);
	} else if (job_carries(w->job, t)) {
		carried_entry(w, i);
	} else {
		job_lossy(w->job, t->name, SAFETENSORS ": tensor '%s': there is no dtype %s; --carry keeps its bytes as u8",
		          ESC(t->name), dtype_info(t->dtype)->name);
		return true;
	}
	if (has_extras(t))
		envelope_tensor(&w->env, i, ENV_EXTRAS);
	return true;
}

static int by_dtype_and_name(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return view_cmp(x->name, y->name);
}

/* A rewrite has the order of its format; any other model gets its own back from the envelope. */
static bool keep_order(struct writing *w)
{
	uint64_t k = 0;
	while (k < w->n && w->entries[k].tensor == k)
		k++;
	if (w->job->rewrite || w->n != w->m->n || k == w->n)
		return true;
	uint64_t *order = arena_raw(w->job->mem, w->n, sizeof *order);
	if (order == NULL)
		return no_memory(w, SAFETENSORS ": order of tensors");
	for (k = 0; k < w->n; k++)
		order[k] = w->entries[k].tensor;
	w->env.order = order;
	return true;
}

static bool list_entries(struct writing *w)
{
	w->entries = ARENA_NEW(w->job->mem, w->m->n, struct entry);
	if (w->entries == NULL)
		return no_memory(w, SAFETENSORS ": tensor table");
	for (uint64_t i = 0; i < w->m->n; i++)
		if (!add_entry(w, i))
			return false;
	if (w->n != 0)
		qsort(w->entries, (size_t)w->n, sizeof *w->entries, by_dtype_and_name);
	return keep_order(w);
}

/* ---- Metadata ---- */

static void add_pair(struct writing *w, tn_view key, tn_view value)
{
	w->pairs[w->n_pairs++] = (struct pair){ key, value };
}

static bool add_node(struct writing *w, const struct tn_meta *node)
{
	if (!utf8_ok(node->key)) {
		job_lossy(w->job, NO_TENSOR, SAFETENSORS ": metadata key '%s' is no UTF-8", ESC(node->key));
		return true;
	}
	tn_view plain = envelope_plain(w->job->mem, node);
	if (plain.ptr == NULL)
		return no_memory(w, SAFETENSORS ": metadata");
	if (node->type != TN_META_STRING || !view_eq(plain, node->as.s))
		envelope_value(&w->env, node);
	w->has_format = w->has_format || view_is(node->key, "format");
	add_pair(w, node->key, plain);
	return true;
}

static int by_key(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	return view_cmp(x->key, y->key);
}

static bool is_sorted(const struct writing *w)
{
	for (uint64_t i = 1; i < w->n_pairs; i++)
		if (by_key(&w->pairs[i - 1], &w->pairs[i]) > 0)
			return false;
	return true;
}

/* What the reference writes is what is written here: the key is the caller's to give. */
static void note_format(struct writing *w)
{
	if (w->job->converted && !w->has_format && (w->n != 0 || w->n_pairs != 0))
		report_add(w->job->report, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR,
		           SAFETENSORS ": metadata has no 'format', without which transformers refuses a file: set format=pt for it");
}

static void note_index(struct writing *w)
{
	if (safetensors_own(w->m->native, SHARDS_INDEX) != NULL)
		report_add(w->job->report, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR,
		           SAFETENSORS ": what the index said of the set has no place in one file");
}

/* Whether the keys stand as the model has them: in a rewrite, and in a file that had them so before it was
 * another format's. */
static bool keeps_keys(const struct writing *w)
{
	return w->job->rewrite || safetensors_flag(w->m, NATIVE_KEEP_ORDER);
}

static bool list_metadata(struct writing *w)
{
	enum { OWN = 1 }; /* the envelope */
	const struct tn_meta *root = w->m->metadata;
	w->pairs = ARENA_NEW(w->job->mem, root->as.kids.n + OWN, struct pair);
	if (w->pairs == NULL)
		return no_memory(w, SAFETENSORS ": metadata");
	for (const struct tn_meta *node = root->as.kids.first; node != NULL; node = node->next)
		if (!add_node(w, node))
			return false;
	w->env.keep_metadata_order = !keeps_keys(w) && !is_sorted(w);
	note_format(w);
	note_index(w);
	for (const struct tn_meta *native = w->m->native->as.kids.first; native != NULL; native = native->next)
		if (!view_is(native->key, SAFETENSORS))
			envelope_native(&w->env, native);
	return true;
}

static void drop_pair(struct writing *w, tn_view key)
{
	for (uint64_t i = 0; i < w->n_pairs; i++) {
		if (!view_eq(w->pairs[i].key, key))
			continue;
		memmove(&w->pairs[i], &w->pairs[i + 1], (size_t)(w->n_pairs - i - 1) * sizeof *w->pairs);
		w->n_pairs--;
		return;
	}
}

static bool add_envelope(struct writing *w)
{
	tn_view text;
	if (job_hide_namesake(w->job, &w->env, VIEW(ENVELOPE_KEY)))
		drop_pair(w, VIEW(ENVELOPE_KEY));
	if (job_envelope(w->job, &w->env, SAFETENSORS, &text) != TN_OK)
		return false;
	if (text.len == 0)
		return true;
	add_pair(w, VIEW(ENVELOPE_KEY), text);
	return true;
}

/* In a rewrite the envelope stands where a sorted file has it, and last in one that is not sorted. */
static bool finish_metadata(struct writing *w)
{
	bool sort = !keeps_keys(w) || is_sorted(w);
	if (!add_envelope(w))
		return false;
	if (sort && w->n_pairs != 0)
		qsort(w->pairs, (size_t)w->n_pairs, sizeof *w->pairs, by_key);
	return true;
}

/* ---- Header ---- */

static void put_metadata(const struct writing *w, struct buf *out)
{
	if (w->n_pairs == 0 && !safetensors_flag(w->m, NATIVE_EMPTY_MAP))
		return;
	buf_text(out, "\"" METADATA_KEY "\":{");
	for (uint64_t i = 0; i < w->n_pairs; i++) {
		if (i != 0)
			buf_byte(out, ',');
		json_put_string(out, w->pairs[i].key);
		buf_byte(out, ':');
		json_put_string(out, w->pairs[i].value);
	}
	buf_byte(out, '}');
	if (w->n != 0)
		buf_byte(out, ',');
}

/* The text may have come out of an envelope, so it is not put into a header unseen. */
static bool is_json(const struct writing *w, tn_view text)
{
	const struct json_options opt = { .max_depth = HEADER_DEPTH - ENTRY_DEPTH, .what = SAFETENSORS ": member" };
	struct json_doc *doc;
	tn_error err = { .code = TN_OK };
	if (json_parse(&doc, text, &opt, &err) == TN_E_NOMEM)
		*w->job->err = err;
	json_free(doc);
	return err.code == TN_OK;
}

static bool is_known_member(tn_view key)
{
	return view_is(key, "dtype") || view_is(key, "shape") || view_is(key, "data_offsets");
}

static void put_unknown(const struct writing *w, const struct tensor *t, struct buf *out)
{
	const struct tn_meta *own = t->extras != NULL ? meta_find(t->extras, VIEW(SAFETENSORS)) : NULL;
	if (own == NULL || own->type != TN_META_MAP)
		return;
	for (const struct tn_meta *x = own->as.kids.first; x != NULL; x = x->next) {
		if (is_known_member(x->key))
			continue;
		if (w->job->keep_unknown && x->type == TN_META_STRING && utf8_ok(x->key) && is_json(w, x->as.s)) {
			buf_byte(out, ',');
			json_put_string(out, x->key);
			buf_byte(out, ':');
			buf_view(out, x->as.s);
		} else {
			report_add(w->job->report, TN_WARNING, TN_E_UNSUPPORTED, TN_NO_OFFSET, t->name,
			           SAFETENSORS ": member '%s' is dropped", ESC(x->key));
		}
	}
}

static void put_entry(const struct writing *w, const struct entry *e, uint64_t begin, struct buf *out)
{
	json_put_string(out, e->name);
	buf_text(out, ":{\"dtype\":");
	json_put_string(out, e->dtype);
	buf_text(out, ",\"shape\":[");
	for (uint32_t i = 0; i < e->rank; i++) {
		if (i != 0)
			buf_byte(out, ',');
		json_put_uint(out, e->shape[i]);
	}
	buf_text(out, "],\"data_offsets\":[");
	json_put_uint(out, begin);
	buf_byte(out, ',');
	json_put_uint(out, begin + e->nbytes);
	buf_byte(out, ']');
	put_unknown(w, &w->m->tensors[e->tensor], out);
	buf_byte(out, '}');
}

static bool put_text(struct writing *w, struct buf *out)
{
	uint64_t at = 0, end;
	buf_byte(out, '{');
	put_metadata(w, out);
	for (uint64_t i = 0; i < w->n && out->len <= HEADER_AT + HEADER_MAX; i++, at = end) {
		if (!add_u64(at, w->entries[i].nbytes, &end)) {
			err_set(w->job->err, TN_E_LIMIT, TN_NO_OFFSET, SAFETENSORS ": the data takes more than 2^64 bytes");
			return false;
		}
		if (i != 0)
			buf_byte(out, ',');
		put_entry(w, &w->entries[i], at, out);
	}
	buf_byte(out, '}');
	return w->job->err->code == TN_OK;
}

static uint64_t alignment(const struct writing *w)
{
	const struct tn_meta *own = safetensors_own(w->m->native, NATIVE_ALIGN);
	if (w->job->align != 0)
		return w->job->align;
	return own != NULL && own->type == TN_META_UINT && safetensors_align_ok(own->as.u) ? own->as.u : DATA_ALIGN;
}

/* After a text that ends at that byte of the file: as many as move no tensor, or the slack and what aligns the data. */
static size_t spaces(const struct writing *w, size_t at)
{
	const struct plan_job *job = w->job;
	if (job->fit >= at && job->fit <= HEADER_AT + HEADER_MAX)
		return (size_t)job->fit - at;
	uint64_t slack = min_u64(job->slack, HEADER_MAX);
	return (size_t)(slack + safetensors_padding(at - HEADER_AT + slack, alignment(w)));
}

/* Length, text and padding, the first span of the file. Where memory runs out, buf_done will say whether a limit was the reason. */
static bool put_header(struct writing *w, struct buf *out)
{
	buf_fill(out, 0, HEADER_AT);
	if (!put_text(w, out) && !out->failed)
		return false;
	buf_fill(out, ' ', spaces(w, out->len));
	if (out->failed)
		return true;
	if (out->len > HEADER_AT + HEADER_MAX) {
		err_set(w->job->err, TN_E_LIMIT, TN_NO_OFFSET,
		        SAFETENSORS ": the header takes more than the %d bytes that readers accept", HEADER_MAX);
		return false;
	}
	put_le64(out->ptr, out->len - HEADER_AT);
	return true;
}

static bool list_spans(struct writing *w)
{
	struct buf header;
	buf_init(&header, w->job->mem->budget);
	if (!put_header(w, &header)) {
		buf_fini(&header);
		return false;
	}
	tn_view bytes = buf_done(&header, w->job->mem);
	if (bytes.ptr == NULL)
		return no_memory(w, SAFETENSORS ": header");
	plan_bytes(w->job->plan, bytes);
	for (uint64_t i = 0; i < w->n; i++)
		plan_tensor(w->job->plan, w->entries[i].tensor, w->entries[i].nbytes);
	return plan_ok(w->job->plan, w->job->err) == TN_OK;
}

tn_code safetensors_plan(struct plan_job *job)
{
	struct writing w = { .job = job, .m = job->model };
	if (job->align != 0 && !safetensors_align_ok(job->align))
		return err_set(job->err, TN_E_USAGE, TN_NO_OFFSET, SAFETENSORS ": alignment %" PRIu64
		               " is none of 8, 64, 256 and 4096", job->align);
	envelope_init(&w.env, job->mem, job->model);
	bool ok = check_names(&w) && list_entries(&w) && list_metadata(&w) && finish_metadata(&w) && list_spans(&w);
	return ok ? TN_OK : job->err->code;
}
