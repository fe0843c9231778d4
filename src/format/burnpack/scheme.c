/* scheme.c - quantisation schemes: their names, their lengths, their forms as text, metadata and CBOR. */
#include "format/burnpack/scheme.h"

#include "base/num.h"
#include "codec/cbor.h"
#include "format/burnpack/layout.h"
#include "format/burnpack/unknown.h"

const char *const scheme_values[VALUES] = { "Q8F", "E5M2", "E4M3", "Q4F", "E2M1", "Q2F", "Q8S", "Q4S", "Q2S" };
const char *const scheme_stores[STORES] = { "Native", "PackedNative", "PackedU32" };
const char *const scheme_modes[MODES]   = { "Symmetric", "Lookup" };
const char *const scheme_scales[SCALES] = { "", "F32", "F16", "BF16", "UE8M0", "UE4M3" };

static const char *const layouts[] = { "", "runs", "uncertain" };
static const uint8_t value_bits[VALUES] = { 8, 8, 8, 4, 4, 2, 8, 4, 2 };
static const uint8_t scale_bytes[SCALES] = { 0, 4, 2, 2, 1, 1 };

/* ---- Lengths ---- */

void scheme_strip(struct scheme *s)
{
	while (s->rank != 0 && s->size[0] == 1) {
		memmove(s->size, s->size + 1, SCHEME_DIMS - 1);
		s->size[SCHEME_DIMS - 1] = 1;
		s->rank--;
	}
}

/* Bits of one element of the store. */
static unsigned store_bits(const struct scheme *s)
{
	unsigned bits = value_bits[s->value];
	if (s->store == STORE_PACKED_U32)
		return 32;
	return s->store == STORE_PACKED_NATIVE && s->value == VALUE_E2M1 ? 2 * bits : bits;
}

static unsigned values_in_store(const struct scheme *s) { return store_bits(s) / value_bits[s->value]; }

static uint64_t ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

/* Values are packed line by line: the packed dimension shrinks, the others stay. */
static bool is_packed(const struct scheme *s, uint32_t rank)
{
	return s->store != STORE_NATIVE && values_in_store(s) > 1 && rank > 0;
}

bool scheme_packs(const struct scheme *s, uint32_t rank)
{
	return !is_packed(s, rank) || s->packed_dim < rank;
}

bool scheme_value_bytes(const struct scheme *s, uint32_t rank, const uint64_t *shape, uint64_t *out)
{
	uint64_t n, per = values_in_store(s), unit = (store_bits(s) + 7) / 8;
	if (!shape_elements(rank, shape, &n) || !scheme_packs(s, rank))
		return false;
	if (!is_packed(s, rank) || n == 0)
		return mul_u64(ceil_div(n, per), unit, out);
	uint64_t dim = shape[rank - s->packed_dim - 1];
	/* n is a multiple of dim, and what is left over each line is padded */
	return mul_u64(n / dim, ceil_div(dim, per), &n) && mul_u64(n, unit, out);
}

/* The extent of a block along dimension d. Extents count from the innermost dimension; one with too many
 * gives its first, as upstream does. */
static uint64_t block_extent(const struct scheme *s, uint32_t rank, uint32_t d)
{
	uint64_t missing = rank > s->rank ? rank - s->rank : 0;
	return d < missing ? 1 : s->size[d - missing];
}

bool scheme_scale_count(const struct scheme *s, uint32_t rank, const uint64_t *shape, uint64_t *out)
{
	uint64_t n = 1, elements, run = 1;
	*out = 1;
	if (s->block == SCALE_NONE)
		return true;
	if (!shape_elements(rank, shape, &elements))
		return false;
	for (uint32_t d = 0; d < rank; d++)
		if (elements != 0 && !mul_u64(n, ceil_div(shape[d], block_extent(s, rank, d)), &n))
			return false;
	for (unsigned i = 0; i < s->rank; i++)
		run *= s->size[i];
	*out = elements == 0 ? 0 : s->layout == LAYOUT_RUNS ? elements / run : n;
	return true;
}

unsigned scheme_scale_bytes(const struct scheme *s)
{
	enum scheme_scale scale = s->block != SCALE_NONE ? s->block : s->tensor;
	return scale_bytes[scale != SCALE_NONE ? scale : SCALE_F32];
}

unsigned scheme_global_bytes(const struct scheme *s)
{
	return s->block != SCALE_NONE ? scale_bytes[s->tensor] : 0;
}

bool scheme_bytes(const struct scheme *s, uint32_t rank, const uint64_t *shape, uint64_t *out)
{
	uint64_t values, scales;
	return scheme_value_bytes(s, rank, shape, &values) && scheme_scale_count(s, rank, shape, &scales) &&
	       mul_u64(scales, scheme_scale_bytes(s), &scales) && add_u64(values, scales, &scales) &&
	       add_u64(scales, scheme_global_bytes(s), out);
}

static bool has_length(struct scheme s, enum scheme_layout layout, uint32_t rank, const uint64_t *shape, uint64_t len)
{
	uint64_t want;
	s.layout = layout;
	return scheme_bytes(&s, rank, shape, &want) && want == len;
}

bool scheme_fits(const struct scheme *s, uint32_t rank, const uint64_t *shape, uint64_t len)
{
	uint64_t elements;
	if (len == 0 && shape_elements(rank, shape, &elements) && elements == 0)
		return true;
	return has_length(*s, s->layout, rank, shape, len) ||
	       (s->layout == LAYOUT_UNCERTAIN && has_length(*s, LAYOUT_RUNS, rank, shape, len));
}

/* A rectangle is a run when it is whole in the inner dimensions, one thick in the outer ones, and divides
 * the one between. */
bool scheme_runs_agree(const struct scheme *s, uint32_t rank, const uint64_t *shape)
{
	uint32_t d = rank;
	while (d > 0 && block_extent(s, rank, d - 1) == shape[d - 1])
		d--;
	if (d == 0)
		return true;
	if (shape[d - 1] % block_extent(s, rank, d - 1) != 0)
		return false;
	for (d--; d > 0; d--)
		if (block_extent(s, rank, d - 1) != 1)
			return false;
	return true;
}

/* ---- Text ---- */

tn_view scheme_text(const struct scheme *s, struct arena *a)
{
	struct buf b;
	buf_init(&b, a->budget);
	buf_printf(&b, "QFloat(%s, %s", scheme_values[s->value], scheme_stores[s->store]);
	if (s->store != STORE_NATIVE)
		buf_printf(&b, "(%llu)", (unsigned long long)s->packed_dim);
	if (s->mode != MODE_SYMMETRIC)
		buf_printf(&b, ", %s", scheme_modes[s->mode]);
	if (s->block != SCALE_NONE) {
		for (unsigned i = 0; i < s->rank; i++)
			buf_printf(&b, i == 0 ? ", block [%u" : ",%u", s->size[i]);
		buf_printf(&b, s->rank == 0 ? ", block [] %s" : "] %s", scheme_scales[s->block]);
	}
	if (s->tensor != SCALE_NONE)
		buf_printf(&b, ", tensor %s", scheme_scales[s->tensor]);
	if (s->layout != LAYOUT_RECTANGLES)
		buf_printf(&b, ", %s", layouts[s->layout]);
	buf_byte(&b, ')');
	return buf_done(&b, a);
}

/* ---- Metadata ---- */

static bool add_name(struct arena *a, struct tn_meta *to, tn_view key, const char *name)
{
	return *name == '\0' ? meta_add_null(a, to, key) != NULL : meta_add_string(a, to, key, tn_text(name)) != NULL;
}

static bool add_unknown(const struct scheme *s, enum scheme_part part, struct arena *a, struct tn_meta *to, tn_view key)
{
	return s->unknown[part] == NULL || meta_append(to, key, meta_clone(a, s->unknown[part], false)) != NULL;
}

static bool add_block(const struct scheme *s, struct arena *a, struct tn_meta *map)
{
	if (s->block == SCALE_NONE)
		return meta_add_null(a, map, VIEW("block")) != NULL;
	struct tn_meta *block = meta_add_map(a, map, VIEW("block"));
	struct tn_meta *size = block != NULL ? meta_add_array(a, block, VIEW("size")) : NULL;
	bool ok = size != NULL;
	for (unsigned i = 0; i < s->rank && ok; i++)
		ok = meta_add_uint(a, size, NO_TENSOR, s->size[i], 8) != NULL;
	return ok && add_name(a, block, VIEW("dtype"), scheme_scales[s->block]) &&
	       add_unknown(s, PART_BLOCK, a, block, VIEW("unknown")) && add_unknown(s, PART_SIZE, a, block, VIEW("size_unknown"));
}

bool scheme_to_meta(const struct scheme *s, struct arena *a, struct tn_meta *extras)
{
	struct tn_meta *map = extras != NULL ? meta_add_map(a, extras, VIEW("qfloat")) : NULL;
	return map != NULL && add_name(a, map, VIEW("value"), scheme_values[s->value]) &&
	       add_name(a, map, VIEW("store"), scheme_stores[s->store]) &&
	       (s->store == STORE_NATIVE || meta_add_uint(a, map, VIEW("packed_dim"), s->packed_dim, 64) != NULL) &&
	       add_name(a, map, VIEW("mode"), scheme_modes[s->mode]) &&
	       add_name(a, map, VIEW("tensor"), scheme_scales[s->tensor]) && add_block(s, a, map) &&
	       (s->layout == LAYOUT_RECTANGLES || add_name(a, map, VIEW("layout"), layouts[s->layout])) &&
	       add_unknown(s, PART_SCHEME, a, map, VIEW("unknown"));
}

/* The index of a member's text in list; absent or null gives the first when that is allowed, else -1. */
static int member(const struct tn_meta *map, const char *key, const char *const *list, int n, bool may_miss)
{
	const struct tn_meta *node = tn_meta_find(map, tn_text(key));
	tn_view text;
	if (node == NULL || tn_meta_kind(node) == TN_META_NULL)
		return may_miss ? 0 : -1;
	return tn_meta_string(node, &text) ? pack_index(list, n, text) : -1;
}

static const struct tn_meta *map_in(const struct tn_meta *map, tn_view key)
{
	const struct tn_meta *found = tn_meta_find(map, key);
	return tn_meta_kind(found) == TN_META_MAP ? found : NULL;
}

static const char *block_from_meta(const struct tn_meta *block, struct scheme *out)
{
	const struct tn_meta *size = tn_meta_find(block, VIEW("size")), *item;
	int scale = member(block, "dtype", scheme_scales, SCALES, false);
	if (scale <= SCALE_NONE)
		return "block.dtype is no scale type";
	if (tn_meta_kind(size) != TN_META_ARRAY || tn_meta_count(size) > SCHEME_DIMS)
		return "block.size is no array of at most 5";
	out->block = (enum scheme_scale)scale;
	tn_meta_iter it = tn_meta_items(size);
	while ((item = tn_meta_next(&it)) != NULL)
		if (!tn_meta_u8(item, &out->size[out->rank]) || out->size[out->rank++] == 0)
			return "block.size holds something else than 1 to 255";
	scheme_strip(out);
	out->unknown[PART_BLOCK] = map_in(block, VIEW("unknown"));
	out->unknown[PART_SIZE] = map_in(block, VIEW("size_unknown"));
	return NULL;
}

const char *scheme_from_meta(const struct tn_meta *qfloat, struct scheme *out)
{
	*out = (struct scheme){ .size = { 1, 1, 1, 1, 1 } };
	int value = member(qfloat, "value", scheme_values, VALUES, false);
	int store = member(qfloat, "store", scheme_stores, STORES, false);
	int mode = member(qfloat, "mode", scheme_modes, MODES, true);
	int tensor = member(qfloat, "tensor", scheme_scales, SCALES, true);
	int layout = member(qfloat, "layout", layouts, 3, true);
	const struct tn_meta *dim = tn_meta_find(qfloat, VIEW("packed_dim")), *block = tn_meta_find(qfloat, VIEW("block"));
	if (value < 0) return "value is no quantised type";
	if (store < 0) return "store is none of Native, PackedNative, PackedU32";
	if (mode < 0) return "mode is neither Symmetric nor Lookup";
	if (tensor < 0) return "tensor is no scale type";
	if (layout < 0) return "layout is neither runs nor uncertain";
	out->value = (enum scheme_value)value;
	out->store = (enum scheme_store)store;
	out->mode = (enum scheme_mode)mode;
	out->tensor = (enum scheme_scale)tensor;
	out->layout = (enum scheme_layout)layout;
	out->unknown[PART_SCHEME] = map_in(qfloat, VIEW("unknown"));
	if (dim != NULL && tn_meta_kind(dim) != TN_META_NULL && !tn_meta_u64(dim, &out->packed_dim))
		return "packed_dim is no unsigned integer";
	if (block == NULL || tn_meta_kind(block) == TN_META_NULL)
		return NULL;
	return block_from_meta(block, out);
}

uint64_t scheme_unknown(const struct scheme *s)
{
	uint64_t n = 0;
	for (int i = 0; i < SCHEME_PARTS; i++)
		n += tn_meta_count(s->unknown[i]);
	return n;
}

/* ---- CBOR ---- */

static const enum unknown_place places[SCHEME_PARTS] = {
	[PART_SCHEME] = UNKNOWN_IN_SCHEME, [PART_BLOCK] = UNKNOWN_IN_BLOCK, [PART_SIZE] = UNKNOWN_IN_SIZE
};

/* A map of so many members and those that are not known, which come last. */
static void put_map(const struct scheme *s, enum scheme_part part, uint64_t n, struct buf *out)
{
	cbor_put_map(out, n + unknown_count(s->unknown[part], places[part]));
}

static void put_unknown(const struct scheme *s, enum scheme_part part, struct buf *out)
{
	unknown_put(s->unknown[part], places[part], out);
}

static void put_store(const struct scheme *s, struct buf *out)
{
	if (s->store == STORE_NATIVE) {
		cbor_put_text(out, tn_text(scheme_stores[s->store]));
		return;
	}
	cbor_put_map(out, 1);
	cbor_put_text(out, tn_text(scheme_stores[s->store]));
	cbor_put_uint(out, s->packed_dim);
}

static void put_scale(enum scheme_scale scale, struct buf *out)
{
	if (scale == SCALE_NONE)
		cbor_put_null(out);
	else
		cbor_put_text(out, tn_text(scheme_scales[scale]));
}

/* Always five extents, the unused ones 1. */
static void put_block(const struct scheme *s, struct buf *out)
{
	if (s->block == SCALE_NONE) {
		cbor_put_null(out);
		return;
	}
	put_map(s, PART_BLOCK, 2, out);
	cbor_put_text(out, VIEW("size"));
	put_map(s, PART_SIZE, 2, out);
	cbor_put_text(out, VIEW("storage"));
	cbor_put_array(out, SCHEME_DIMS);
	for (unsigned i = 0; i < SCHEME_DIMS; i++)
		cbor_put_uint(out, i < s->rank ? s->size[i] : 1);
	cbor_put_text(out, VIEW("len"));
	cbor_put_uint(out, s->rank);
	put_unknown(s, PART_SIZE, out);
	cbor_put_text(out, VIEW("dtype"));
	put_scale(s->block, out);
	put_unknown(s, PART_BLOCK, out);
}

void scheme_put(const struct scheme *s, struct buf *out)
{
	cbor_put_map(out, 1);
	cbor_put_text(out, VIEW("QFloat"));
	put_map(s, PART_SCHEME, 5, out);
	cbor_put_text(out, VIEW("value"));
	cbor_put_text(out, tn_text(scheme_values[s->value]));
	cbor_put_text(out, VIEW("store"));
	put_store(s, out);
	cbor_put_text(out, VIEW("mode"));
	cbor_put_text(out, tn_text(scheme_modes[s->mode]));
	cbor_put_text(out, VIEW("tensor"));
	put_scale(s->tensor, out);
	cbor_put_text(out, VIEW("block"));
	put_block(s, out);
	put_unknown(s, PART_SCHEME, out);
}
