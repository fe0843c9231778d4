/* json_tree.c - metadata trees from JSON and to JSON. See json_tree.h. */
#include "io/json_tree.h"

#include "base/bytes.h"
#include "base/numtext.h"
#include "base/utf8.h"
#include "io/members.h"

#include <math.h>

/* ---- Reading ---- */

bool json_tree_fill(struct json_tree *t, const struct json_val *object, struct tn_meta *map)
{
	struct members m;
	uint64_t at;
	if (!members_init(&m, t->mem, json_count(object)))
		return false;
	for (struct json_iter it = json_items(object); json_next(&it); ) {
		struct tn_meta *node = json_tree_get(t, it.val);
		if (node == NULL || (node->key = arena_copy(t->mem, it.key)).ptr == NULL)
			return false;
		if (members_add(&m, node, &at))
			continue;
		if (t->repeated++ == 0)
			t->key = node->key;
		m.nodes[at] = node;
	}
	for (uint64_t i = 0; i < m.n; i++)
		meta_append(map, m.nodes[i]->key, m.nodes[i]);
	return true;
}

static bool fill_array(struct json_tree *t, const struct json_val *v, struct tn_meta *array)
{
	for (struct json_iter it = json_items(v); json_next(&it); ) {
		struct tn_meta *item = json_tree_get(t, it.val);
		if (item == NULL)
			return false;
		meta_append(array, (tn_view){ NULL, 0 }, item);
	}
	return true;
}

static bool fill(struct json_tree *t, const struct json_val *v, struct tn_meta *node)
{
	switch (json_type(v)) {
	case JSON_NULL:
		return true;
	case JSON_BOOL:
		node->as.b = json_bool(v);
		return true;
	case JSON_UINT:
		node->as.u = json_uint(v);
		node->width = 64;
		return true;
	case JSON_INT:
		node->as.i = json_int(v);
		node->width = 64;
		return true;
	case JSON_REAL:
		node->as.f_bits = f64_bits(json_real(v));
		node->width = 64;
		return true;
	case JSON_STRING:
		node->as.s = arena_copy(t->mem, json_string(v));
		return node->as.s.ptr != NULL;
	case JSON_ARRAY:
		return fill_array(t, v, node);
	case JSON_OBJECT:
		return json_tree_fill(t, v, node);
	}
	return false;
}

struct tn_meta *json_tree_get(struct json_tree *t, const struct json_val *v)
{
	static const tn_meta_type types[] = {
	        [JSON_NULL] = TN_META_NULL,   [JSON_BOOL] = TN_META_BOOL,
	        [JSON_UINT] = TN_META_UINT,   [JSON_INT] = TN_META_INT,
	        [JSON_REAL] = TN_META_FLOAT,  [JSON_STRING] = TN_META_STRING,
	        [JSON_ARRAY] = TN_META_ARRAY, [JSON_OBJECT] = TN_META_MAP,
	};
	struct tn_meta *node = meta_new(t->mem, types[json_type(v)]);
	return node != NULL && fill(t, v, node) ? node : NULL;
}

/* ---- Printing ---- */

static void put_float(struct buf *out, const struct tn_meta *node)
{
	double v = f64_of(node->as.f_bits);
	json_put_real(out, node->width == 32 && isfinite(v) ? f32_decimal((float)v) : v);
}

static void put_hex(struct buf *out, tn_view v)
{
	buf_byte(out, '"');
	for (size_t i = 0; i < v.len; i++)
		buf_printf(out, "%02x", v.ptr[i]);
	buf_byte(out, '"');
}

static void put_items(struct buf *out, const struct tn_meta *node)
{
	bool map = node->type == TN_META_MAP;
	tn_meta_iter it = tn_meta_items(node);
	const char *comma = "";
	buf_byte(out, map ? '{' : '[');
	for (const tn_meta *item; (item = tn_meta_next(&it)) != NULL; comma = ",") {
		buf_text(out, comma);
		if (map) {
			json_put_lossy(out, item->key);
			buf_byte(out, ':');
		}
		json_tree_put(out, item);
	}
	buf_byte(out, map ? '}' : ']');
}

void json_tree_put(struct buf *out, const struct tn_meta *node)
{
	switch ((tn_meta_type)node->type) {
	case TN_META_NULL:   buf_text(out, "null"); break;
	case TN_META_BOOL:   buf_text(out, node->as.b ? "true" : "false"); break;
	case TN_META_INT:    json_put_int(out, node->as.i); break;
	case TN_META_UINT:   json_put_uint(out, node->as.u); break;
	case TN_META_FLOAT:  put_float(out, node); break;
	case TN_META_STRING: json_put_lossy(out, node->as.s); break;
	case TN_META_BYTES:  put_hex(out, node->as.s); break;
	case TN_META_ARRAY:
	case TN_META_MAP:    put_items(out, node); break;
	}
}

/* ---- What survives ---- */

static bool keys_differ(const struct tn_meta *map)
{
	for (const struct tn_meta *x = map->as.kids.first; x != NULL; x = x->next)
		if (meta_find(map, x->key) != x)
			return false;
	return true;
}

static bool items_keep(const struct tn_meta *node)
{
	tn_meta_iter it = tn_meta_items(node);
	if (node->is_raw && it.left == 0)
		return false; /* an empty array of a type */
	for (const tn_meta *item; (item = tn_meta_next(&it)) != NULL; )
		if (!utf8_ok(item->key) || !json_tree_keeps(item))
			return false;
	/* the square of few; a larger map is taken to have been checked by whoever made it */
	return node->type != TN_META_MAP || tn_meta_count(node) > MEMBERS_FEW || keys_differ(node);
}

bool json_tree_keeps(const struct tn_meta *node)
{
	switch ((tn_meta_type)node->type) {
	case TN_META_NULL:
	case TN_META_BOOL:   return true;
	case TN_META_INT:    return node->width == 64 && node->as.i < 0;
	case TN_META_UINT:   return node->width == 64;
	case TN_META_FLOAT:  return node->width == 64 && isfinite(f64_of(node->as.f_bits));
	case TN_META_STRING: return utf8_ok(node->as.s);
	case TN_META_BYTES:  return false;
	case TN_META_ARRAY:
	case TN_META_MAP:    return items_keep(node);
	}
	return false;
}

bool json_tree_within(const struct tn_meta *node, unsigned depth)
{
	if (node->type != TN_META_ARRAY && node->type != TN_META_MAP)
		return true;
	if (depth == 0)
		return false;
	if (node->is_raw)
		return true;
	for (const struct tn_meta *kid = node->as.kids.first; kid != NULL; kid = kid->next)
		if (!json_tree_within(kid, depth - 1))
			return false;
	return true;
}
