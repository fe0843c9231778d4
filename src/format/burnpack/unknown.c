/* unknown.c - see unknown.h. */
#include "format/burnpack/unknown.h"

#include "base/utf8.h"
#include "format/burnpack/layout.h"
#include "format/burnpack/walk.h"

enum { NAMES = 8 };

/* The members that a place has, and the containers around the value of one. */
static const struct {
	unsigned    depth;
	const char *names[NAMES];
} places[] = {
	[UNKNOWN_IN_ROOT]   = { 1, { "tensors", "metadata", "scalars" } },
	[UNKNOWN_IN_TENSOR] = { 3, { "dtype", "shape", "data_offsets", "param_id" } },
	[UNKNOWN_IN_SCHEME] = { 5, { "value", "store", "mode", "tensor", "block", "param", "level" } },
	[UNKNOWN_IN_BLOCK]  = { 6, { "size", "dtype" } },
	[UNKNOWN_IN_SIZE]   = { 7, { "storage", "len" } },
};

static bool is_known(tn_view key, enum unknown_place place)
{
	const char *const *names = places[place].names;
	for (int i = 0; i < NAMES && names[i] != NULL; i++)
		if (view_is(key, names[i]))
			return true;
	return false;
}

/* One whole item, no deeper than readers go. */
static bool is_item(tn_view cbor, unsigned depth)
{
	tn_error ignored = { .code = TN_OK };
	struct cur c = cur_over(cbor, 0, "", &ignored);
	struct cbor_item first;
	return cbor_next(&c, &first) && first.kind != CBOR_BREAK && cbor_skip(&c, &first, PACK_NESTING - depth) &&
	       cur_left(&c) == 0;
}

static bool fits(const struct tn_meta *x, enum unknown_place place)
{
	return x->type == TN_META_BYTES && utf8_ok(x->key) && x->key.len <= PACK_KEY_MAX && !is_known(x->key, place) &&
	       is_item(x->as.s, places[place].depth);
}

/* The first that can be written, from x on; NULL when there is none. */
static const struct tn_meta *next_of(const struct tn_meta *x, enum unknown_place place)
{
	while (x != NULL && !fits(x, place))
		x = x->next;
	return x;
}

static const struct tn_meta *first_of(const struct tn_meta *map, enum unknown_place place)
{
	return tn_meta_kind(map) == TN_META_MAP ? next_of(map->as.kids.first, place) : NULL;
}

uint64_t unknown_count(const struct tn_meta *map, enum unknown_place place)
{
	uint64_t n = 0;
	for (const struct tn_meta *x = first_of(map, place); x != NULL; x = next_of(x->next, place))
		n++;
	return n;
}

void unknown_put(const struct tn_meta *map, enum unknown_place place, struct buf *out)
{
	for (const struct tn_meta *x = first_of(map, place); x != NULL; x = next_of(x->next, place)) {
		cbor_put_text(out, x->key);
		buf_view(out, x->as.s);
	}
}

bool unknown_is_dtype(tn_view cbor, struct arena *mem)
{
	tn_error ignored = { .code = TN_OK };
	struct walk w = { .c = cur_over(cbor, 0, "", &ignored), .mem = mem };
	tn_view name;
	bool payload;
	return is_item(cbor, places[UNKNOWN_IN_TENSOR].depth) && walk_variant(&w, &name, &payload, "") &&
	       pack_dtype_meant(name) == NULL;
}
