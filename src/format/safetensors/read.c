/* read.c - a safetensors header into a model.
 *
 * Everything that the format demands is checked here, in the order of the reference implementation: length of the
 * header, its text, its members, then that the tensors cover the data exactly. Whether the file is long enough for
 * them and whether names repeat are laws of every format, see model/check.h. Forms that only some readers accept are
 * tolerated and reported. */
#include "format/safetensors/layout.h"

#include "base/bytes.h"
#include "base/num.h"
#include "codec/json.h"
#include "format/safetensors/raw.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct reading {
	struct parse_job *job;
	tn_view       header;   /* N bytes */
	tn_view       text;     /* of these, those before NUL bytes that are to be mended */
	struct tensor *tensors; /* n filled so far, room for cap */
	uint64_t      n, cap;
	uint64_t      member;   /* of the root object: the one being read */
	struct raw    raw;      /* follows it in the text where that is needed */
	bool          has_metadata;
	bool          unordered; /* entries do not stand in the order of their data */
};

/* Where the root member that is being read starts in the file. */
static uint64_t member_offset(struct reading *r)
{
	if (!raw_seek(&r->raw, r->member))
		return HEADER_AT;
	return HEADER_AT + (uint64_t)(r->raw.key.ptr - r->header.ptr);
}

static void note(struct reading *r, tn_severity severity, tn_code code, uint64_t offset, tn_view tensor,
                 const char *text)
{
	report_add(r->job->report, severity, code, offset, tensor, SAFETENSORS ": %s", text);
}

static bool no_memory(struct reading *r)
{
	arena_err(r->job->mem, r->job->err, SAFETENSORS ": tensor table");
	return false;
}

/* A fault of a tensor, by default at the entry that is being read. */
static bool fail(struct reading *r, tn_view name, tn_code code, const char *fmt, ...) PRINTF_LIKE(4, 5);
static bool fail(struct reading *r, tn_view name, tn_code code, const char *fmt, ...)
{
	char why[160];
	va_list args;
	va_start(args, fmt);
	vsnprintf(why, sizeof why, fmt, args);
	va_end(args);
	err_set(r->job->err, code, member_offset(r), SAFETENSORS ": tensor '%s': %s", ESC(name), why);
	return false;
}

static const char *kind_name(const struct json_val *v)
{
	static const char *const names[] = {
		[JSON_NULL] = "null", [JSON_BOOL] = "a boolean", [JSON_UINT] = "a number", [JSON_INT] = "a negative number",
		[JSON_REAL] = "a number with a fraction, exponent, sign or more than 64 bits", [JSON_STRING] = "a string",
		[JSON_ARRAY] = "an array", [JSON_OBJECT] = "an object",
	};
	return names[json_type(v)];
}

/* ---- An entry ---- */

enum member { DTYPE = 1, SHAPE = 2, OFFSETS = 4, ALL_MEMBERS = 7, UNKNOWN = 0 };
static const char *const member_names[] = { [DTYPE] = "dtype", [SHAPE] = "shape", [OFFSETS] = "data_offsets" };

static enum member member_of(tn_view key)
{
	switch (key.len) {
	case 5:  return view_is(key, "dtype") ? DTYPE : view_is(key, "shape") ? SHAPE : UNKNOWN;
	case 12: return view_is(key, "data_offsets") ? OFFSETS : UNKNOWN;
	default: return UNKNOWN;
	}
}

/* The map "safetensors" of the tensor's extras; NULL when memory is out. */
static struct tn_meta *own_extras(struct reading *r, struct tensor *t)
{
	struct tn_meta *extras = tensor_extras(r->job->mem, t);
	return extras != NULL ? meta_map_at(r->job->mem, extras, VIEW(SAFETENSORS)) : NULL;
}

/* A dtype that is not known is carried as it is, so that the others of the file can be had. */
static bool unknown_dtype(struct reading *r, struct tensor *t, tn_view text)
{
	t->dtype = TN_OPAQUE;
	t->dtype_text = arena_copy(r->job->mem, text);
	struct tn_meta *own = own_extras(r, t);
	if (t->dtype_text.ptr == NULL || own == NULL ||
	    meta_add_string(r->job->mem, own, VIEW(EXTRA_DTYPE), t->dtype_text) == NULL)
		return no_memory(r);
	report_add(r->job->report, TN_WARNING, TN_E_UNSUPPORTED, TN_NO_OFFSET, t->name,
	           SAFETENSORS ": dtype '%s' is not known: its size is not checked, other readers refuse the file",
	           ESC(text));
	return true;
}

static bool parse_dtype(struct reading *r, struct tensor *t, const struct json_val *v)
{
	if (json_type(v) != JSON_STRING)
		return fail(r, t->name, TN_E_CORRUPT, "dtype is %s, not a string", kind_name(v));
	tn_view text = json_string(v);
	unsigned i = safetensors_dtype_named(text);
	if (i < SAFETENSORS_DTYPES) {
		t->dtype = safetensors_dtypes[i].dtype;
		t->dtype_text = tn_text(safetensors_dtypes[i].name);
		return true;
	}
	i = safetensors_dtype_like(text);
	if (i < SAFETENSORS_DTYPES)
		return fail(r, t->name, TN_E_CORRUPT, "dtype '%s' must be spelled '%s'", ESC(text), safetensors_dtypes[i].name);
	if (text.len == 0)
		return fail(r, t->name, TN_E_CORRUPT, "dtype is empty");
	return unknown_dtype(r, t, text);
}

/* Readers that multiply from the left overflow before they come to the zero. */
static void note_zero_product(struct reading *r, const struct tensor *t, const uint64_t *shape)
{
	uint64_t product = 1;
	bool zero = false, over = false;
	for (uint32_t i = 0; i < t->rank; i++) {
		zero = zero || shape[i] == 0;
		over = over || (shape[i] != 0 && !mul_u64(product, shape[i], &product));
	}
	if (zero && over)
		note(r, TN_NOTE, TN_OK, TN_NO_OFFSET, t->name,
		     "the other dimensions beside 0 overflow 64 bits: some readers refuse that");
}

static bool parse_shape(struct reading *r, struct tensor *t, const struct json_val *v)
{
	if (json_type(v) != JSON_ARRAY)
		return fail(r, t->name, TN_E_CORRUPT, "shape is %s, not an array", kind_name(v));
	size_t rank = json_count(v);
	if (rank > UINT32_MAX)
		return fail(r, t->name, TN_E_LIMIT, "%zu dimensions", rank);
	uint64_t *shape = arena_raw(r->job->mem, rank, sizeof *shape);
	if (shape == NULL)
		return no_memory(r);
	uint64_t *at = shape;
	for (struct json_iter it = json_items(v); json_next(&it); ) {
		if (json_type(it.val) != JSON_UINT)
			return fail(r, t->name, TN_E_CORRUPT, "shape holds %s, not an unsigned integer", kind_name(it.val));
		*at++ = json_uint(it.val);
	}
	t->rank = (uint32_t)rank;
	t->shape = shape;
	note_zero_product(r, t, shape);
	return true;
}

static bool parse_offsets(struct reading *r, struct tensor *t, const struct json_val *v)
{
	if (json_type(v) != JSON_ARRAY || json_count(v) != 2)
		return fail(r, t->name, TN_E_CORRUPT, "data_offsets must be an array of two numbers");
	uint64_t at[2], *next = at;
	for (struct json_iter it = json_items(v); json_next(&it); ) {
		if (json_type(it.val) != JSON_UINT)
			return fail(r, t->name, TN_E_CORRUPT, "data_offsets holds %s, not an unsigned integer", kind_name(it.val));
		*next++ = json_uint(it.val);
	}
	if (at[1] < at[0])
		return fail(r, t->name, TN_E_CORRUPT, "data_offsets end before they begin");
	uint64_t end;
	if (!add_u64(r->job->model->data_at, at[1], &end))
		return fail(r, t->name, TN_E_CORRUPT, "data_offsets overflow 64 bits");
	t->stored = at[1] - at[0];
	t->offset = end - t->stored;
	return true;
}

static bool parse_member(struct reading *r, struct tensor *t, enum member kind, const struct json_val *v)
{
	switch (kind) {
	case DTYPE:   return parse_dtype(r, t, v);
	case SHAPE:   return parse_shape(r, t, v);
	case OFFSETS: return parse_offsets(r, t, v);
	default:      return true;
	}
}

/* Keeps the text of members that are not known, for a rewrite that is asked to. */
static bool keep_unknown(struct reading *r, struct tensor *t, const struct json_val *entry)
{
	struct arena *mem = r->job->mem;
	struct tn_meta *own = own_extras(r, t);
	uint64_t offset = member_offset(r);
	if (own == NULL)
		return no_memory(r);
	struct raw raw = raw_members(r->raw.value);
	for (struct json_iter it = json_items(entry); json_next(&it) && raw_next(&raw); ) {
		if (member_of(it.key) != UNKNOWN)
			continue;
		tn_view key = arena_copy(mem, it.key), text = raw_minify(mem, raw.value);
		if (key.ptr == NULL || text.ptr == NULL || meta_add_string(mem, own, key, text) == NULL)
			return no_memory(r);
		report_add(r->job->report, TN_WARNING, TN_E_UNSUPPORTED, offset, t->name,
		           SAFETENSORS ": member '%s' is not known: a rewrite drops it unless told to keep it", ESC(it.key));
	}
	return true;
}

static void check_name(struct reading *r, const struct tensor *t)
{
	if (t->name.len == 0)
		note(r, TN_WARNING, TN_E_CORRUPT, TN_NO_OFFSET, t->name, "a tensor has no name: it cannot be written again");
	else if (memchr(t->name.ptr, 0, t->name.len) != NULL)
		note(r, TN_WARNING, TN_E_CORRUPT, TN_NO_OFFSET, t->name, "the name holds a NUL: it cannot be written again");
}

static bool follows(const struct tensor *a, const struct tensor *b)
{
	return b->offset > a->offset || (b->offset == a->offset && b->stored >= a->stored);
}

static bool parse_entry(struct reading *r, tn_view name, const struct json_val *v)
{
	if (json_type(v) != JSON_OBJECT)
		return fail(r, name, TN_E_CORRUPT, "its entry is %s, not an object", kind_name(v));
	if (r->n == r->cap)
		return fail(r, name, TN_E_CORRUPT, "its entry is too short to be one");
	struct tensor *t = &r->tensors[r->n];
	unsigned seen = 0;
	bool unknown = false;
	t->name = arena_copy(r->job->mem, name);
	if (t->name.ptr == NULL)
		return no_memory(r);
	for (struct json_iter it = json_items(v); json_next(&it); ) {
		enum member kind = member_of(it.key);
		if ((seen & kind) != 0)
			return fail(r, name, TN_E_CORRUPT, "%s is there twice", member_names[kind]);
		if (!parse_member(r, t, kind, it.val))
			return false;
		seen |= kind;
		unknown = unknown || kind == UNKNOWN;
	}
	if (seen != ALL_MEMBERS)
		return fail(r, name, TN_E_CORRUPT, "%s is missing",
		            member_names[(seen & DTYPE) == 0 ? DTYPE : (seen & SHAPE) == 0 ? SHAPE : OFFSETS]);
	check_name(r, t);
	r->unordered = r->unordered || (r->n != 0 && !follows(t - 1, t));
	r->n++;
	return !unknown || keep_unknown(r, t, v);
}

/* ---- Metadata ---- */

static tn_view metadata_key_at(const void *nodes, uint64_t i)
{
	struct tn_meta *const *node = nodes;
	return node[i]->key;
}

static bool metadata_fault(struct reading *r, const char *why)
{
	err_set(r->job->err, TN_E_CORRUPT, member_offset(r), SAFETENSORS ": " METADATA_KEY " %s", why);
	return false;
}

static bool pair_fault(struct reading *r, tn_view key, const char *is, const char *what)
{
	err_set(r->job->err, TN_E_CORRUPT, member_offset(r), SAFETENSORS ": " METADATA_KEY " '%s' is %s%s", ESC(key), is,
	        what);
	return false;
}

static bool parse_pair(struct reading *r, tn_view key, const struct json_val *v, struct tn_meta **out)
{
	struct arena *mem = r->job->mem;
	if (json_type(v) != JSON_STRING)
		return pair_fault(r, key, kind_name(v), ", not a string");
	tn_view own_key = arena_copy(mem, key), text = arena_copy(mem, json_string(v));
	*out = NULL;
	if (own_key.ptr != NULL && text.ptr != NULL)
		*out = meta_add_string(mem, r->job->model->metadata, own_key, text);
	return *out != NULL || no_memory(r);
}

static bool parse_pairs(struct reading *r, const struct json_val *v)
{
	struct tn_meta **nodes = ARENA_NEW(r->job->mem, json_count(v), struct tn_meta *);
	struct strmap keys;
	if (nodes == NULL || !strmap_init(&keys, r->job->mem, json_count(v)))
		return no_memory(r);
	uint64_t n = 0, other;
	for (struct json_iter it = json_items(v); json_next(&it); n++) {
		if (!parse_pair(r, it.key, it.val, &nodes[n]))
			return false;
		if (!strmap_add(&keys, metadata_key_at, nodes, n, &other))
			return pair_fault(r, it.key, "there twice", "");
	}
	return true;
}

static bool set_native(struct reading *r, tn_view key)
{
	struct tn_meta *native = model_native(r->job->mem, r->job->model, SAFETENSORS);
	return (native != NULL && meta_add_bool(r->job->mem, native, key, true) != NULL) || no_memory(r);
}

static bool keys_sorted(const struct tn_meta *map)
{
	const struct tn_meta *node = map->as.kids.first;
	for (; node != NULL && node->next != NULL; node = node->next)
		if (view_cmp(node->key, node->next->key) > 0)
			return false;
	return true;
}

static bool parse_metadata(struct reading *r, const struct json_val *v)
{
	if (r->has_metadata)
		return metadata_fault(r, "is there twice");
	r->has_metadata = true;
	if (r->member != 0)
		note(r, TN_NOTE, TN_OK, member_offset(r), NO_TENSOR, METADATA_KEY " does not stand first");
	if (json_type(v) == JSON_NULL) {
		note(r, TN_NOTE, TN_OK, member_offset(r), NO_TENSOR, METADATA_KEY " is null, which counts as none");
		return true;
	}
	if (json_type(v) != JSON_OBJECT)
		return metadata_fault(r, "is no object of strings");
	if (json_count(v) == 0)
		return set_native(r, VIEW(NATIVE_EMPTY_MAP));
	return parse_pairs(r, v) && (keys_sorted(r->job->model->metadata) || set_native(r, VIEW(NATIVE_KEEP_ORDER)));
}

/* ---- The header ---- */

static bool parse_root(struct reading *r, const struct json_val *root)
{
	if (json_type(root) != JSON_OBJECT) {
		err_set(r->job->err, TN_E_CORRUPT, HEADER_AT, SAFETENSORS ": header is %s, not an object", kind_name(root));
		return false;
	}
	/* an entry of fewer bytes is none, so that the table is paid for by the file */
	r->cap = min_u64(json_count(root), r->header.len / ENTRY_MIN);
	r->tensors = ARENA_NEW(r->job->mem, r->cap, struct tensor);
	if (r->tensors == NULL)
		return no_memory(r);
	for (struct json_iter it = json_items(root); json_next(&it); r->member++) {
		bool ok = view_is(it.key, METADATA_KEY) ? parse_metadata(r, it.val) : parse_entry(r, it.key, it.val);
		if (!ok)
			return false;
	}
	return true;
}

/* Two mistakes of writers that deserve better words than "unexpected character". */
static bool check_text(struct reading *r)
{
	tn_view h = r->header;
	if (h.len >= 3 && memcmp(h.ptr, "\xEF\xBB\xBF", 3) == 0) {
		err_set(r->job->err, TN_E_CORRUPT, HEADER_AT, SAFETENSORS ": header starts with a byte order mark");
		return false;
	}
	size_t end = h.len;
	while (end > 0 && h.ptr[end - 1] == 0)
		end--;
	r->text = (tn_view){ h.ptr, end };
	if (end == h.len)
		return true;
	if (r->job->mend) {
		job_mended(r->job, HEADER_AT + end, SAFETENSORS ": the header is padded with %zu NUL bytes: with spaces instead",
		           h.len - end);
		return true;
	}
	err_set(r->job->err, TN_E_CORRUPT, HEADER_AT + end,
	        SAFETENSORS ": header is padded with %zu NUL bytes, only spaces are allowed", h.len - end);
	return false;
}

static bool parse_header(struct reading *r)
{
	const struct json_options opt = {
		.origin = HEADER_AT,
		.max_depth = HEADER_DEPTH,
		.budget = limit_or(r->job->limits->max_memory, (uint64_t)1 << 30),
		.what = SAFETENSORS ": header",
	};
	struct json_doc *doc;
	if (!check_text(r) || json_parse(&doc, r->text, &opt, r->job->err) != TN_OK)
		return false;
	bool ok = parse_root(r, json_root(doc));
	json_free(doc);
	return ok;
}

/* ---- The form of the text ---- */

static size_t leading(tn_view v)
{
	size_t n = 0;
	while (n < v.len && v.ptr[n] != '{')
		n++;
	return n;
}

static size_t without_trailing(tn_view v)
{
	size_t n = v.len;
	while (n > 0 && v.ptr[n - 1] != '}')
		n--;
	return n;
}

/* More padding than the writer needs aligns the data section; the alignment is kept for a rewrite. */
static bool parse_padding(struct reading *r, size_t text_len)
{
	static const uint64_t aligns[] = { 64, 256, 4096 };
	uint64_t padding = r->header.len - text_len;
	if (padding == safetensors_padding(text_len, DATA_ALIGN))
		return true;
	for (size_t i = 0; i < sizeof aligns / sizeof *aligns; i++) {
		if (padding != safetensors_padding(text_len, aligns[i]))
			continue;
		struct tn_meta *native = model_native(r->job->mem, r->job->model, SAFETENSORS);
		if (native == NULL || meta_add_uint(r->job->mem, native, VIEW(NATIVE_ALIGN), aligns[i], 0) == NULL)
			return no_memory(r);
		return true;
	}
	bool aligned = r->job->model->data_at % DATA_ALIGN == 0;
	note(r, TN_NOTE, TN_OK, HEADER_AT + text_len, NO_TENSOR,
	     aligned ? "the header has more padding than it needs"
	             : "the header is not padded to a multiple of 8: the data is not aligned");
	return true;
}

static bool parse_form(struct reading *r)
{
	struct model *m = r->job->model;
	size_t lead = leading(r->header), text_len = without_trailing(r->header);
	if (lead != 0)
		note(r, TN_WARNING, TN_E_CORRUPT, HEADER_AT, NO_TENSOR,
		     "the header starts with white space: many readers refuse it");
	for (size_t i = text_len; i < r->header.len; i++) {
		if (r->header.ptr[i] == ' ')
			continue;
		note(r, TN_WARNING, TN_E_CORRUPT, HEADER_AT + i, NO_TENSOR,
		     "the header is padded with other white space than spaces: many readers refuse it");
		break;
	}
	if (r->unordered)
		note(r, TN_NOTE, TN_OK, HEADER_AT, NO_TENSOR,
		     "the header does not list the tensors in the order of their data");
	model_region(m, TN_REGION_HEADER, 0, HEADER_AT, "header");
	model_region(m, TN_REGION_INDEX, HEADER_AT, text_len, "index");
	if (text_len != r->header.len)
		model_region(m, TN_REGION_PADDING, HEADER_AT + text_len, r->header.len - text_len, "padding");
	return parse_padding(r, text_len);
}

/* ---- The data ---- */

/* Starts where the one before it ended: no hole, no overlap. */
static bool check_start(struct reading *r, uint64_t i, uint64_t at)
{
	const struct tensor *t = &r->tensors[i];
	if (t->offset > at)
		return fail(r, t->name, TN_E_CORRUPT, "%s before it belong to no tensor", N_BYTES(t->offset - at));
	if (t->offset == at)
		return true;
	if (view_eq(t->name, t[-1].name)) /* at is the start of the data for the first: it cannot be before that */
		return fail(r, t->name, TN_E_CORRUPT, "another tensor has this name");
	return fail(r, t->name, TN_E_CORRUPT, "starts %s before the end of '%s'", N_BYTES(at - t->offset), ESC(t[-1].name));
}

static bool check_size(struct reading *r, struct tensor *t)
{
	tn_error *err = r->job->err;
	t->nbytes = t->stored;
	if (t->dtype == TN_OPAQUE)
		return true;
	if (dtype_bytes(t->dtype, BLOCK_FLAT, t->rank, t->shape, &t->nbytes, err) != TN_OK) {
		err_prefix(err, SAFETENSORS ": tensor '%s'", ESC(t->name));
		return false;
	}
	if (t->nbytes != t->stored)
		return fail(r, t->name, TN_E_CORRUPT, "its shape takes %" PRIu64 " bytes, its data_offsets give %" PRIu64,
		            t->nbytes, t->stored);
	return true;
}

static bool sort_entries(struct reading *r)
{
	return !r->unordered || model_sort_by_data(r->tensors, r->n) || no_memory(r);
}

/* A file that is short is left to the common checks, which say what is missing. */
static bool check_cover(struct reading *r)
{
	uint64_t at = r->job->model->data_at;
	for (uint64_t i = 0; i < r->n; i++) {
		struct tensor *t = &r->tensors[i];
		if (!check_start(r, i, at) || !check_size(r, t)) {
			r->job->err->offset = t->offset; /* the data is at fault, not the text */
			return false;
		}
		at = t->offset + t->stored; /* known not to overflow since the entry was read */
	}
	if (at >= r->job->size)
		return true;
	if (r->job->mend) {
		job_mended(r->job, at, SAFETENSORS ": %s after the last tensor left out", N_BYTES(r->job->size - at));
		return true;
	}
	err_set(r->job->err, TN_E_CORRUPT, at, SAFETENSORS ": %s after the last tensor", N_BYTES(r->job->size - at));
	return false;
}

/* ---- The file ---- */

static bool header_length(struct parse_job *job, uint64_t *out)
{
	if (!job_has(job, HEADER_AT, SAFETENSORS ": header length"))
		return false;
	uint64_t n = le64(job->file.ptr), limit = limit_or(job->limits->max_header, HEADER_MAX), end;
	bool fits = span_fits(HEADER_AT, n, job->size);
	if (n == 0)
		err_set(job->err, TN_E_CORRUPT, 0, SAFETENSORS ": file starts with zero bytes; probably a failed transfer");
	else if (n > limit && !fits)
		err_set(job->err, TN_E_CORRUPT, 0, SAFETENSORS ": header length %" PRIu64 " is larger than the file (%" PRIu64
		        " bytes)", n, job->size);
	else if (n > limit)
		err_set(job->err, TN_E_LIMIT, 0, SAFETENSORS ": header of %" PRIu64 " bytes, the limit is %" PRIu64, n, limit);
	else if (!add_u64(HEADER_AT, n, &end))
		err_set(job->err, TN_E_CORRUPT, 0, SAFETENSORS ": header length %" PRIu64 " overflows", n);
	else if (job_has(job, end, SAFETENSORS ": header"))
		*out = n;
	return job->err->code == TN_OK;
}

/* Without this key transformers refuses the file; there is one value that it takes for tensors of PyTorch's. */
static bool mend_format(struct reading *r)
{
	struct tn_meta *metadata = r->job->model->metadata;
	if (!r->job->mend || r->n == 0 || meta_find(metadata, VIEW("format")) != NULL)
		return true;
	job_mended(r->job, HEADER_AT, SAFETENSORS ": metadata has no 'format': it is set to 'pt'");
	return meta_add_string(r->job->mem, metadata, VIEW("format"), VIEW("pt")) != NULL || no_memory(r);
}

tn_code safetensors_parse(struct parse_job *job)
{
	struct reading r = { .job = job };
	struct model *m = job->model;
	uint64_t n = 0;
	if (!header_length(job, &n))
		return job->err->code;
	r.header = (tn_view){ job->file.ptr + HEADER_AT, (size_t)n };
	r.raw = raw_members(r.header);
	m->version = "";
	m->dialect = "";
	m->data_at = HEADER_AT + n;
	m->data_align = 1;
	job->check.max_tensors = limit_or(job->limits->max_tensors, UINT64_MAX);
	job->check.max_tensor_bytes = limit_or(job->limits->max_tensor_bytes, UINT64_MAX);
	if (!parse_header(&r))
		return job->err->code;
	if (!sort_entries(&r) || !check_cover(&r) || !parse_form(&r) || !mend_format(&r))
		return job->err->code;
	m->tensors = r.tensors;
	m->n = r.n;
	return TN_OK;
}
