/* read_tensors.c - the index: one descriptor for each tensor.
 *
 *	descriptor  { dtype, shape: [dims], data_offsets: [start, end], param_id: null | unsigned }
 *	dtype       "F32" | ... | { Bool: "Native" | "U8" | "U32" } | { QFloat: scheme } | "Bool" (before 0.21)
 *
 * The tensors of a file are many and alike, so reading one allocates only what it keeps: names are views of the
 * file, shapes stand in a common pool. */
#include "format/burnpack/read.h"

/* A tensor needs at least {"":{"dtype":"","shape":[],"data_offsets":[0,0]}}: so much each must pay. */
enum { TENSOR_MIN = 32, POOL = 8192 };

/* What a descriptor says, until all of it is there. */
struct descriptor {
	struct tensor   *t;
	struct scheme_in scheme;
	uint64_t         start, end;
	uint64_t         offset;  /* in the file, of the descriptor */
};

/* ---- Element types ---- */

static void set_dtype(struct tensor *t, tn_dtype dtype, tn_view text)
{
	t->dtype = dtype;
	t->dtype_text = text;
}

static bool read_bool(struct reading *r, struct tensor *t)
{
	static const char *const stores[] = { "Native", "U8", "U32" };
	static const struct { tn_dtype dtype; const char *text; } types[] = {
		{ TN_BOOL, "Bool(Native)" }, { TN_BOOL_U8, "Bool(U8)" }, { TN_BOOL_U32, "Bool(U32)" },
	};
	tn_view name;
	bool payload;
	uint64_t offset = cur_offset(&r->w.c);
	if (!walk_variant(&r->w, &name, &payload, "the store of bool"))
		return false;
	int i = pack_index(stores, 3, name);
	if (i < 0 || payload)
		return walk_fail(&r->w, TN_E_CORRUPT, offset, "the store of bool is '%s', not Native, U8 or U32", ESC(name));
	set_dtype(t, types[i].dtype, tn_text(types[i].text));
	r->modern = true;
	return true;
}

/* Its CBOR stays with the tensor, so that it can be written again. */
static bool keep_dtype(struct reading *r, struct tensor *t, const uint8_t *from)
{
	struct arena *mem = r->job->mem;
	struct tn_meta *extras = tensor_extras(mem, t);
	struct tn_meta *own = extras != NULL ? meta_map_at(mem, extras, VIEW(PACK)) : NULL;
	tn_view cbor = { from, (size_t)(r->w.c.p - from) };
	return (own != NULL && meta_add_bytes(mem, own, VIEW(EXTRA_DTYPE), cbor) != NULL) ||
	       walk_no_memory(&r->w, "burnpack: dtypes");
}

/* A type that later versions may have: its bytes can still be listed and copied. */
static bool unknown_dtype(struct reading *r, struct tensor *t, tn_view name, bool payload, const uint8_t *from,
                          uint64_t offset)
{
	const char *meant = pack_dtype_meant(name);
	tn_view skipped;
	if (meant != NULL && !view_is(name, meant))
		return walk_fail(&r->w, TN_E_CORRUPT, offset, "dtype '%s' is unknown; '%s' would be written with these capitals",
		                 ESC(name), meant);
	report_add(r->job->report, TN_WARNING, TN_E_UNSUPPORTED, offset, t->name, "burnpack: dtype '%s' is unknown", ESC(name));
	set_dtype(t, TN_OPAQUE, name);
	return (!payload || walk_unknown(&r->w, name, IN_TENSOR + 1, &skipped)) && keep_dtype(r, t, from);
}

static bool read_dtype(struct reading *r, struct descriptor *d)
{
	struct tensor *t = d->t;
	tn_view name;
	bool payload;
	const uint8_t *from = r->w.c.p;
	uint64_t offset = cur_offset(&r->w.c);
	if (!walk_variant(&r->w, &name, &payload, "the dtype"))
		return false;
	set_dtype(t, view_is(name, "F32") ? TN_F32 : pack_dtype_named(name), name);
	if (t->dtype != TN_OPAQUE)
		return !payload || walk_fail(&r->w, TN_E_CORRUPT, offset, "dtype '%s' has a payload", ESC(name));
	if (view_is(name, "Bool")) {
		if (payload)
			return read_bool(r, t);
		r->old |= OLD_BOOL;
		t->dtype = TN_BOOL;
		return true;
	}
	if (!view_is(name, "QFloat"))
		return unknown_dtype(r, t, name, payload, from, offset);
	t->dtype = TN_QFLOAT;
	return payload ? scheme_read(&r->w, IN_TENSOR + 1, &d->scheme)
	               : walk_fail(&r->w, TN_E_CORRUPT, offset, "dtype 'QFloat' has no scheme");
}

/* ---- Descriptors ---- */

static uint64_t *take_dims(struct reading *r, uint64_t n)
{
	if (r->pool == NULL || n > r->pool_left) {
		uint64_t room = max_u64(n, POOL);
		r->pool = arena_raw(r->job->mem, room, sizeof *r->pool);
		if (r->pool == NULL) {
			r->pool_left = 0;
			walk_no_memory(&r->w, "burnpack: shapes");
			return NULL;
		}
		r->pool_left = room;
	}
	uint64_t *dims = r->pool;
	r->pool += n;
	r->pool_left -= n;
	return dims;
}

static bool read_shape(struct reading *r, struct tensor *t)
{
	struct walk_numbers row;
	if (!walk_numbers(&r->w, IN_TENSOR, &row, "the shape"))
		return false;
	uint64_t *dims = take_dims(r, row.items.n);
	if (dims == NULL)
		return false;
	for (uint64_t i = 0; i < row.items.n; i++)
		if (!walk_number(&r->w, &row, &dims[i], "a dimension"))
			return false;
	t->rank = (uint32_t)row.items.n; /* each took a byte of at most 4 GiB of metadata */
	t->shape = dims;
	return walk_leave(&r->w, &row.items);
}

static bool read_offsets(struct reading *r, struct descriptor *d)
{
	struct walk_numbers row;
	uint64_t offset = cur_offset(&r->w.c);
	if (!walk_numbers(&r->w, IN_TENSOR, &row, "data_offsets"))
		return false;
	if (row.items.open)
		return walk_fail(&r->w, TN_E_CORRUPT, offset, "data_offsets has no definite length");
	if (row.items.n != 2)
		return walk_fail(&r->w, TN_E_CORRUPT, offset, "data_offsets has %llu items, not 2",
		                 (unsigned long long)row.items.n);
	return walk_number(&r->w, &row, &d->start, "the start of the data") &&
	       walk_number(&r->w, &row, &d->end, "the end of the data") && walk_leave(&r->w, &row.items);
}

static bool add_extra(struct reading *r, struct tensor *t, tn_view key, uint64_t v)
{
	struct tn_meta *extras = tensor_extras(r->job->mem, t);
	if (extras == NULL || meta_add_uint(r->job->mem, extras, key, v, 64) == NULL)
		return walk_no_memory(&r->w, "burnpack: param_id");
	return true;
}

static bool read_param_id(struct reading *r, struct tensor *t)
{
	struct cur ahead = r->w.c;
	struct cbor_item it;
	uint64_t id;
	if (cbor_next(&ahead, &it) && (it.kind == CBOR_NULL || it.kind == CBOR_UNDEFINED)) {
		r->w.c = ahead;
		return true;
	}
	return walk_uint(&r->w, &id, "param_id") && add_extra(r, t, VIEW("param_id"), id);
}

static bool unknown_member(struct reading *r, struct tensor *t, tn_view key)
{
	struct tn_meta *extras = tensor_extras(r->job->mem, t);
	struct tn_meta *map = extras != NULL ? meta_map_at(r->job->mem, extras, VIEW("unknown")) : NULL;
	return map != NULL ? pack_read_unknown(r, map, key, IN_TENSOR) : walk_no_memory(&r->w, "burnpack: unknown members");
}

/* The length that shape and dtype give must be the length that is there. */
static bool check_length(struct reading *r, const struct descriptor *d)
{
	const struct tensor *t = d->t;
	tn_error why;
	uint64_t want;
	if (dtype_takes(t->dtype, BLOCK_FLAT, t->rank, t->shape, t->nbytes))
		return true;
	err_clear(&why);
	if (dtype_bytes(t->dtype, BLOCK_FLAT, t->rank, t->shape, &want, &why) != TN_OK)
		return walk_fail(&r->w, TN_E_CORRUPT, d->offset, "%s", why.msg);
	return walk_fail(&r->w, TN_E_CORRUPT, d->offset, "%s of its shape takes %llu bytes, data_offsets give %llu",
	                 dtype_info(t->dtype)->name, (unsigned long long)want, (unsigned long long)t->nbytes);
}

/* Any length is allowed here, as upstream has it, but not in silence. */
static bool finish_scheme(struct reading *r, struct descriptor *d)
{
	struct tensor *t = d->t;
	char words[SCHEME_WORDS];
	uint64_t bytes;
	if (!scheme_packs(&d->scheme.s, t->rank))
		return walk_fail(&r->w, TN_E_CORRUPT, d->offset, "its values are packed along dimension %llu from the last of %u",
		                 (unsigned long long)d->scheme.s.packed_dim, t->rank);
	r->old |= legacy_scheme(&d->scheme, t->rank, t->shape, t->nbytes, words);
	if (!scheme_bytes(&d->scheme.s, t->rank, t->shape, &bytes))
		return walk_fail(&r->w, TN_E_CORRUPT, d->offset, "shape overflows 64 bits");
	if (words[0] != '\0')
		report_add(r->job->report, TN_WARNING, TN_E_CORRUPT, d->offset, t->name, "burnpack: %s", words);
	/* packed stores came after 0.19, the current members after 0.22-pre */
	r->modern = r->modern || !d->scheme.old || (d->scheme.s.store != STORE_NATIVE && !d->scheme.store_u32);
	r->n_unknown += scheme_unknown(&d->scheme.s);
	t->dtype_text = scheme_text(&d->scheme.s, r->job->mem);
	struct tn_meta *extras = tensor_extras(r->job->mem, t);
	return (t->dtype_text.ptr != NULL && scheme_to_meta(&d->scheme.s, r->job->mem, extras)) ||
	       walk_no_memory(&r->w, "burnpack: scheme");
}

static bool finish_tensor(struct reading *r, struct descriptor *d)
{
	struct tensor *t = d->t;
	if (d->end < d->start)
		return walk_fail(&r->w, TN_E_CORRUPT, d->offset, "its data ends before it starts");
	t->offset = d->start; /* from the base, which is not known yet */
	t->nbytes = t->stored = d->end - d->start;
	if (t->dtype == TN_QFLOAT)
		return finish_scheme(r, d);
	return t->dtype == TN_OPAQUE || check_length(r, d);
}

enum { DTYPE = 1, SHAPE = 2, OFFSETS = 4, PARAM_ID = 8, NEEDED = DTYPE | SHAPE | OFFSETS };

/* Spelled out, so that the lengths are known to the compiler: this runs four times for each tensor. */
static unsigned member_named(tn_view key)
{
	if (view_is(key, "dtype"))        return DTYPE;
	if (view_is(key, "shape"))        return SHAPE;
	if (view_is(key, "data_offsets")) return OFFSETS;
	if (view_is(key, "param_id"))     return PARAM_ID;
	return 0;
}

static bool read_member(struct reading *r, struct descriptor *d, unsigned member)
{
	switch (member) {
	case DTYPE:   return read_dtype(r, d);
	case SHAPE:   return read_shape(r, d->t);
	case OFFSETS: return read_offsets(r, d);
	default:      return read_param_id(r, d->t);
	}
}

static bool read_descriptor(struct reading *r, struct tensor *t)
{
	struct descriptor d = { .t = t, .offset = cur_offset(&r->w.c) };
	struct walk_items items;
	unsigned seen = 0;
	tn_view key;
	if (!walk_enter_map(&r->w, IN_MAP, &items, "the descriptor"))
		return false;
	for (uint64_t i = 0; i < items.n && walk_key(&r->w, &key); i++) {
		unsigned member = member_named(key);
		if (member == 0)
			unknown_member(r, t, key);
		else if (seen & member)
			walk_fail(&r->w, TN_E_CORRUPT, d.offset, "member '%s' appears twice", ESC(key));
		else if (read_member(r, &d, member))
			seen |= member;
	}
	if (!walk_leave(&r->w, &items))
		return false;
	if ((seen & NEEDED) != NEEDED)
		return walk_fail(&r->w, TN_E_CORRUPT, d.offset, "member '%s' is missing",
		                 !(seen & DTYPE) ? "dtype" : !(seen & SHAPE) ? "shape" : "data_offsets");
	return finish_tensor(r, &d);
}

bool pack_read_tensors(struct reading *r)
{
	struct walk *w = &r->w;
	struct walk_items items;
	uint64_t limit = r->job->check.max_tensors, offset = cur_offset(&w->c);
	if (!walk_enter_map(w, IN_ROOT, &items, "'tensors'"))
		return false;
	if (items.n > limit)
		return walk_fail(w, TN_E_LIMIT, offset, "%llu tensors, the limit is %llu", (unsigned long long)items.n,
		                 (unsigned long long)limit);
	/* no more than these can be whole, and the first that is not ends the loop */
	uint64_t room = min_u64(items.n, cur_left(&w->c) / TENSOR_MIN + 1);
	r->n = items.n;
	r->tensors = ARENA_NEW(r->job->mem, room, struct tensor);
	if (r->tensors == NULL)
		return walk_no_memory(w, "burnpack: tensor table");
	for (uint64_t i = 0; i < r->n && walk_text(w, &r->tensors[i].name, "a tensor's name"); i++) {
		w->tensor = r->tensors[i].name;
		w->in_tensor = true;
		r->unsorted = r->unsorted || (i > 0 && view_cmp(r->tensors[i - 1].name, w->tensor) > 0);
		read_descriptor(r, &r->tensors[i]);
		w->in_tensor = false;
	}
	return walk_leave(w, &items);
}
