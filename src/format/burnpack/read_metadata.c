/* read_metadata.c - the two maps that people fill.
 *
 *	metadata  { text: text }
 *	scalars   { text: { Int | UInt | Float | Bool: value } } */
#include "format/burnpack/read.h"

/* ---- Entries ---- */

static tn_view entry_key(const void *nodes, uint64_t i) { return ((struct tn_meta *const *)nodes)[i]->key; }

static bool entries_init(struct reading *r, struct entries *e, uint64_t n)
{
	e->nodes = arena_raw(r->job->mem, n, sizeof(struct tn_meta *));
	return (e->nodes != NULL && strmap_init(&e->keys, r->job->mem, n)) || walk_no_memory(&r->w, "burnpack: metadata");
}

/* Of two entries of one name the later one counts, in the place of the first. */
static bool entries_add(struct reading *r, struct entries *e, tn_view key, struct tn_meta *node)
{
	uint64_t other;
	if (node == NULL)
		return walk_no_memory(&r->w, "burnpack: metadata");
	node->key = key;
	e->nodes[e->n] = node;
	if (strmap_add(&e->keys, entry_key, e->nodes, e->n, &other)) {
		e->n++;
		return true;
	}
	e->nodes[other] = node;
	report_add(r->job->report, TN_WARNING, TN_E_CORRUPT, cur_offset(&r->w.c), NO_TENSOR,
	           "burnpack: '%s' appears twice, the last one counts", ESC(key));
	return true;
}

/* ---- Strings ---- */

bool pack_read_metadata(struct reading *r)
{
	struct walk_items items;
	tn_view key, value;
	if (!walk_enter_map(&r->w, IN_ROOT, &items, "'metadata'") || !entries_init(r, &r->metadata, items.n))
		return false;
	for (uint64_t i = 0; i < items.n && walk_text(&r->w, &key, "a metadata key"); i++) {
		if (!walk_text(&r->w, &value, "a metadata value"))
			return false;
		struct tn_meta *node = meta_new(r->job->mem, TN_META_STRING);
		if (!entries_add(r, &r->metadata, key, node))
			return false;
		node->as.s = value;
	}
	return walk_leave(&r->w, &items);
}

/* ---- Scalars ---- */

enum scalar { SCALAR_INT, SCALAR_UINT, SCALAR_FLOAT, SCALAR_BOOL, SCALARS };

static bool scalar_value(struct reading *r, enum scalar kind, struct tn_meta *node)
{
	struct cbor_item it;
	node->width = kind == SCALAR_BOOL ? 0 : 64;
	if (kind == SCALAR_INT)
		return walk_int(&r->w, &node->as.i, "a scalar");
	if (kind == SCALAR_UINT)
		return walk_uint(&r->w, &node->as.u, "a scalar");
	if (!walk_value(&r->w, &it))
		return false;
	node->as.f_bits = it.bits;
	if (kind == SCALAR_FLOAT)
		return it.kind == CBOR_FLOAT || walk_fail(&r->w, TN_E_CORRUPT, it.offset, "a float scalar is no float");
	node->as.b = it.kind == CBOR_TRUE;
	return it.kind == CBOR_TRUE || it.kind == CBOR_FALSE ||
	       walk_fail(&r->w, TN_E_CORRUPT, it.offset, "a bool scalar is no bool");
}

static struct tn_meta *read_scalar(struct reading *r)
{
	static const char *const variants[SCALARS] = { "Int", "UInt", "Float", "Bool" };
	static const tn_meta_type types[SCALARS] = { TN_META_INT, TN_META_UINT, TN_META_FLOAT, TN_META_BOOL };
	tn_view name;
	bool payload;
	uint64_t offset = cur_offset(&r->w.c);
	if (!walk_variant(&r->w, &name, &payload, "a scalar"))
		return NULL;
	int i = pack_index(variants, SCALARS, name);
	if (i < 0 || !payload) {
		walk_fail(&r->w, TN_E_CORRUPT, offset, "a scalar is '%s', not Int, UInt, Float or Bool with a value", ESC(name));
		return NULL;
	}
	struct tn_meta *node = meta_new(r->job->mem, types[i]);
	if (node == NULL)
		walk_no_memory(&r->w, "burnpack: scalars");
	return node != NULL && scalar_value(r, (enum scalar)i, node) ? node : NULL;
}

bool pack_read_scalars(struct reading *r)
{
	struct walk_items items;
	tn_view key;
	if (!walk_enter_map(&r->w, IN_ROOT, &items, "'scalars'") || !entries_init(r, &r->scalars, items.n))
		return false;
	for (uint64_t i = 0; i < items.n && walk_text(&r->w, &key, "a scalar's name"); i++) {
		struct tn_meta *node = read_scalar(r);
		if (node == NULL || !entries_add(r, &r->scalars, key, node))
			return false;
	}
	r->modern = true;
	return walk_leave(&r->w, &items);
}

/* ---- Into the model ---- */

bool pack_fill_metadata(struct reading *r)
{
	struct arena *mem = r->job->mem;
	struct model *m = r->job->model;
	struct entries *strings = &r->metadata, *scalars = &r->scalars;
	for (uint64_t i = 0; i < strings->n; i++)
		meta_append(m->metadata, strings->nodes[i]->key, strings->nodes[i]);
	for (uint64_t i = 0; i < scalars->n; i++) {
		struct tn_meta *to = m->metadata, *node = scalars->nodes[i];
		uint64_t other;
		if (strings->n != 0 && strmap_find(&strings->keys, entry_key, strings->nodes, node->key, &other)) {
			struct tn_meta *native = model_native(mem, m, "burnpack");
			to = native != NULL ? meta_map_at(mem, native, VIEW("scalars")) : NULL;
		}
		if (to == NULL)
			return walk_no_memory(&r->w, "burnpack: scalars");
		meta_append(to, node->key, node);
	}
	return true;
}
