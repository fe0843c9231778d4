/* scheme_read.c - one function for each production of a quantisation scheme.
 *
 *	current  { value, store, mode, tensor: null | scale, block: null | { size, dtype: scale } }
 *	old      { value, param: scale, store, level: "Tensor" | { Block: size } | { BlockTensor: { block: size,
 *	           global: scale } }, mode }
 *	size     { storage: [5 extents], len }
 *
 * Members may come in any order and unknown ones are kept as they stand; both generations in one scheme are refused. */
#include "format/burnpack/scheme_read.h"

/* ---- Names ---- */

/* A variant without payload, as its index in list; null too where it may be missing: that is index 0. */
static bool read_name(struct walk *w, const char *const *list, int n, int *out, const char *what)
{
	tn_view name;
	bool payload;
	uint64_t offset = cur_offset(&w->c);
	if (!walk_variant(w, &name, &payload, what))
		return false;
	*out = pack_index(list, n, name);
	if (payload || *out < 0)
		return walk_fail(w, TN_E_CORRUPT, offset, "%s '%s' is unknown", what, ESC(name));
	return true;
}

static bool read_scale(struct walk *w, enum scheme_scale *out, const char *what)
{
	int i = 0;
	uint64_t offset = cur_offset(&w->c);
	if (!read_name(w, scheme_scales, SCALES, &i, what))
		return false;
	*out = (enum scheme_scale)i;
	return i != SCALE_NONE || walk_fail(w, TN_E_CORRUPT, offset, "%s is empty", what);
}

/* Null and undefined both stand for absent; a tag may stand in front. */
static bool is_absent(struct walk *w)
{
	struct cur ahead = w->c;
	struct cbor_item it;
	while (cbor_next(&ahead, &it) && it.kind == CBOR_TAG)
		;
	if (it.kind != CBOR_NULL && it.kind != CBOR_UNDEFINED)
		return false;
	w->c = ahead;
	return true;
}

static bool read_value(struct walk *w, struct scheme_in *in)
{
	int i = 0;
	bool ok = read_name(w, scheme_values, VALUES, &i, "quantised type");
	in->s.value = (enum scheme_value)i;
	return ok;
}

static bool read_mode(struct walk *w, struct scheme_in *in)
{
	int i = 0;
	bool ok = read_name(w, scheme_modes, MODES, &i, "quantisation mode");
	in->s.mode = (enum scheme_mode)i;
	return ok;
}

static bool read_store(struct walk *w, struct scheme_in *in)
{
	tn_view name;
	bool payload;
	uint64_t offset = cur_offset(&w->c);
	if (!walk_variant(w, &name, &payload, "store"))
		return false;
	int i = pack_index(scheme_stores, STORES, name);
	in->store_u32 = !payload && view_is(name, "U32");
	if (in->store_u32)
		i = STORE_PACKED_U32;
	else if (i < 0 || payload != (i != STORE_NATIVE))
		return walk_fail(w, TN_E_CORRUPT, offset, "store '%s' %s", ESC(name), i < 0 ? "is unknown" : "has the wrong form");
	in->s.store = (enum scheme_store)i;
	return !payload || walk_uint(w, &in->s.packed_dim, "the packed dimension");
}

static bool keep_unknown(struct walk *w, tn_view key, unsigned depth, struct tn_meta **map)
{
	tn_view bytes;
	if (!walk_unknown(w, key, depth, &bytes))
		return false;
	if (*map == NULL && (*map = meta_new(w->mem, TN_META_MAP)) == NULL)
		return walk_no_memory(w, "burnpack: scheme");
	return meta_add_bytes(w->mem, *map, key, bytes) != NULL || walk_no_memory(w, "burnpack: scheme");
}

/* ---- Blocks ---- */

static bool read_storage(struct walk *w, unsigned depth, struct scheme *s)
{
	struct walk_numbers row;
	uint64_t n, offset = cur_offset(&w->c);
	if (!walk_numbers(w, depth, &row, "storage"))
		return false;
	if (row.items.open)
		return walk_fail(w, TN_E_CORRUPT, offset, "storage has no definite length");
	if (row.items.n != SCHEME_DIMS)
		return walk_fail(w, TN_E_CORRUPT, offset, "storage has %llu extents, not 5", (unsigned long long)row.items.n);
	for (unsigned i = 0; i < SCHEME_DIMS; i++) {
		if (!walk_number(w, &row, &n, "a block's extent"))
			return false;
		if (n > UINT8_MAX)
			return walk_fail(w, TN_E_CORRUPT, offset, "a block's extent is %llu, at most 255", (unsigned long long)n);
		s->size[i] = (uint8_t)n;
	}
	return walk_leave(w, &row.items);
}

/* Extents in use must be at least 1: upstream divides by them. */
static bool check_size(struct walk *w, uint64_t offset, uint64_t len, struct scheme_in *in)
{
	if (len > SCHEME_DIMS)
		return walk_fail(w, TN_E_CORRUPT, offset, "a block has %llu dimensions, at most 5", (unsigned long long)len);
	in->s.rank = in->raw_rank = (uint8_t)len;
	for (unsigned i = 0; i < SCHEME_DIMS; i++) {
		if (i >= len)
			in->s.size[i] = 1;
		else if (in->s.size[i] == 0)
			return walk_fail(w, TN_E_CORRUPT, offset, "a block's extent is 0");
	}
	scheme_strip(&in->s);
	return true;
}

static bool twice(struct walk *w, tn_view key)
{
	return walk_fail(w, TN_E_CORRUPT, cur_offset(&w->c), "member '%s' appears twice", ESC(key));
}

static bool missing(struct walk *w, const char *name)
{
	return walk_fail(w, TN_E_CORRUPT, cur_offset(&w->c), "member '%s' is missing", name);
}

static bool read_size(struct walk *w, unsigned depth, struct scheme_in *in)
{
	struct walk_items items;
	bool has_storage = false, has_len = false;
	uint64_t len = 0, offset = cur_offset(&w->c);
	struct tn_meta *unknown = NULL;
	tn_view key;
	if (!walk_enter_map(w, depth, &items, "a block's size"))
		return false;
	for (uint64_t i = 0; i < items.n && walk_key(w, &key); i++) {
		bool *seen = view_is(key, "storage") ? &has_storage : view_is(key, "len") ? &has_len : NULL;
		if (seen != NULL && *seen)
			return twice(w, key);
		if (seen == NULL)
			keep_unknown(w, key, depth + 1, &unknown);
		else if (seen == &has_storage)
			*seen = read_storage(w, depth + 1, &in->s);
		else
			*seen = walk_uint(w, &len, "len");
	}
	if (!walk_leave(w, &items))
		return false;
	if (!has_storage || !has_len)
		return missing(w, has_storage ? "len" : "storage");
	in->s.unknown[PART_SIZE] = unknown;
	return check_size(w, offset, len, in);
}

/* A map of a size and a scale type: the current block, and the payload of the old BlockTensor. */
static bool read_sized(struct walk *w, unsigned depth, struct scheme_in *in, const char *size_key, const char *scale_key,
                       enum scheme_scale *scale)
{
	struct walk_items items;
	bool has_size = false, has_scale = false;
	struct tn_meta *unknown = NULL;
	tn_view key;
	if (!walk_enter_map(w, depth, &items, "block"))
		return false;
	for (uint64_t i = 0; i < items.n && walk_key(w, &key); i++) {
		bool *seen = view_is(key, size_key) ? &has_size : view_is(key, scale_key) ? &has_scale : NULL;
		if (seen != NULL && *seen)
			return twice(w, key);
		if (seen == NULL)
			keep_unknown(w, key, depth + 1, &unknown);
		else if (seen == &has_size)
			*seen = read_size(w, depth + 1, in);
		else
			*seen = read_scale(w, scale, "scale type");
	}
	if (!walk_leave(w, &items))
		return false;
	in->s.unknown[PART_BLOCK] = unknown;
	return (has_size && has_scale) || missing(w, has_size ? scale_key : size_key);
}

/* ---- Current and old members ---- */

static bool read_tensor(struct walk *w, struct scheme_in *in)
{
	return is_absent(w) || read_scale(w, &in->s.tensor, "scale type");
}

static bool read_block(struct walk *w, unsigned depth, struct scheme_in *in)
{
	return is_absent(w) || read_sized(w, depth, in, "size", "dtype", &in->s.block);
}

static bool read_level(struct walk *w, unsigned depth, struct scheme_in *in)
{
	tn_view name;
	bool payload;
	uint64_t offset = cur_offset(&w->c);
	if (!walk_variant(w, &name, &payload, "level"))
		return false;
	if (!payload && view_is(name, "Tensor")) {
		in->level = LEVEL_TENSOR;
		return true;
	}
	if (payload && view_is(name, "Block")) {
		in->level = LEVEL_BLOCK;
		return read_size(w, depth + 1, in);
	}
	if (payload && view_is(name, "BlockTensor")) {
		in->level = LEVEL_BLOCK_TENSOR;
		return read_sized(w, depth + 1, in, "block", "global", &in->global);
	}
	return walk_fail(w, TN_E_CORRUPT, offset, "level '%s' is unknown", ESC(name));
}

enum member { VALUE = 1, STORE = 2, MODE = 4, TENSOR = 8, BLOCK = 16, PARAM = 32, LEVEL = 64 };
enum { NEEDED = VALUE | STORE | MODE, CURRENT = TENSOR | BLOCK, OLD = PARAM | LEVEL };
static const char *const members[] = { "value", "store", "mode", "tensor", "block", "param", "level" };

static bool read_member(struct walk *w, unsigned depth, enum member member, struct scheme_in *in)
{
	switch (member) {
	case VALUE:  return read_value(w, in);
	case STORE:  return read_store(w, in);
	case MODE:   return read_mode(w, in);
	case TENSOR: return read_tensor(w, in);
	case BLOCK:  return read_block(w, depth, in);
	case PARAM:  return read_scale(w, &in->param, "scale type");
	case LEVEL:  return read_level(w, depth, in);
	}
	return false;
}

static bool check_members(struct walk *w, unsigned seen, struct scheme_in *in)
{
	unsigned wanted = seen & OLD ? NEEDED | OLD : NEEDED;
	for (unsigned i = 0; i < sizeof members / sizeof *members; i++)
		if (wanted & ~seen & 1u << i)
			return missing(w, members[i]);
	in->old = (seen & OLD) != 0;
	if (in->old && (seen & CURRENT) != 0)
		return walk_fail(w, TN_E_UNSUPPORTED, cur_offset(&w->c), "its scheme has the members of two generations");
	if (in->store_u32 && !in->old)
		return walk_fail(w, TN_E_CORRUPT, cur_offset(&w->c), "store 'U32' is of an older generation than its scheme");
	return true;
}

bool scheme_read(struct walk *w, unsigned depth, struct scheme_in *out)
{
	struct walk_items items;
	unsigned seen = 0;
	struct tn_meta *unknown = NULL;
	tn_view key;
	*out = (struct scheme_in){ .s.size = { 1, 1, 1, 1, 1 } };
	if (!walk_enter_map(w, depth, &items, "the scheme"))
		return false;
	for (uint64_t i = 0; i < items.n && walk_key(w, &key); i++) {
		int at = pack_index(members, sizeof members / sizeof *members, key);
		if (at >= 0 && (seen & 1u << at) != 0)
			return twice(w, key);
		if (at < 0)
			keep_unknown(w, key, depth + 1, &unknown);
		else if (read_member(w, depth + 1, (enum member)(1u << at), out))
			seen |= 1u << at;
	}
	out->s.unknown[PART_SCHEME] = unknown;
	return walk_leave(w, &items) && check_members(w, seen, out);
}
