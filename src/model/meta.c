/* meta.c - building and comparing metadata trees. meta_get.c reads them. */
#include "model/meta.h"

#include <string.h>

struct tn_meta *meta_new(struct arena *a, tn_meta_type type)
{
	struct tn_meta *node = ARENA_NEW(a, 1, struct tn_meta);
	if (node != NULL)
		node->type = (uint8_t)type;
	return node;
}

struct tn_meta *meta_append(struct tn_meta *to, tn_view key, struct tn_meta *node)
{
	if (node == NULL || to == NULL)
		return NULL;
	node->key = key;
	node->next = NULL;
	if (to->as.kids.last != NULL)
		to->as.kids.last->next = node;
	else
		to->as.kids.first = node;
	to->as.kids.last = node;
	to->as.kids.n++;
	return node;
}

/* The link that points at the node of that key; NULL when there is none. */
static struct tn_meta **link_to(struct tn_meta *map, tn_view key)
{
	for (struct tn_meta **at = &map->as.kids.first; *at != NULL; at = &(*at)->next)
		if (view_eq((*at)->key, key))
			return at;
	return NULL;
}

struct tn_meta *meta_find(const struct tn_meta *map, tn_view key)
{
	if (map == NULL || map->type != TN_META_MAP)
		return NULL;
	for (struct tn_meta *node = map->as.kids.first; node != NULL; node = node->next)
		if (view_eq(node->key, key))
			return node;
	return NULL;
}

struct tn_meta *meta_set(struct tn_meta *map, tn_view key, struct tn_meta *node)
{
	struct tn_meta **at = link_to(map, key);
	if (at == NULL || node == NULL)
		return meta_append(map, key, node);
	node->key = key;
	node->next = (*at)->next;
	if (map->as.kids.last == *at)
		map->as.kids.last = node;
	*at = node;
	return node;
}

void meta_become(struct tn_meta *node, const struct tn_meta *value)
{
	struct tn_meta *next = node->next;
	tn_view key = node->key;
	*node = *value;
	node->next = next;
	node->key = key;
}

bool meta_remove(struct tn_meta *map, tn_view key)
{
	struct tn_meta *before = NULL;
	for (struct tn_meta *node = map->as.kids.first; node != NULL; before = node, node = node->next) {
		if (!view_eq(node->key, key))
			continue;
		if (before != NULL)
			before->next = node->next;
		else
			map->as.kids.first = node->next;
		if (map->as.kids.last == node)
			map->as.kids.last = before;
		map->as.kids.n--;
		return true;
	}
	return false;
}

/* ---- Makers ---- */

static struct tn_meta *add(struct arena *a, struct tn_meta *to, tn_view key, tn_meta_type type)
{
	return meta_append(to, key, meta_new(a, type));
}

struct tn_meta *meta_add_string(struct arena *a, struct tn_meta *to, tn_view key, tn_view v)
{
	struct tn_meta *node = add(a, to, key, TN_META_STRING);
	if (node != NULL)
		node->as.s = v;
	return node;
}

struct tn_meta *meta_add_bytes(struct arena *a, struct tn_meta *to, tn_view key, tn_view v)
{
	struct tn_meta *node = add(a, to, key, TN_META_BYTES);
	if (node != NULL)
		node->as.s = v;
	return node;
}

struct tn_meta *meta_add_uint(struct arena *a, struct tn_meta *to, tn_view key, uint64_t v, unsigned width)
{
	struct tn_meta *node = add(a, to, key, TN_META_UINT);
	if (node != NULL) {
		node->as.u = v;
		node->width = (uint8_t)width;
	}
	return node;
}

struct tn_meta *meta_add_int(struct arena *a, struct tn_meta *to, tn_view key, int64_t v, unsigned width)
{
	struct tn_meta *node = add(a, to, key, TN_META_INT);
	if (node != NULL) {
		node->as.i = v;
		node->width = (uint8_t)width;
	}
	return node;
}

struct tn_meta *meta_add_float(struct arena *a, struct tn_meta *to, tn_view key, uint64_t bits, unsigned width)
{
	struct tn_meta *node = add(a, to, key, TN_META_FLOAT);
	if (node != NULL) {
		node->as.f_bits = bits;
		node->width = (uint8_t)width;
	}
	return node;
}

struct tn_meta *meta_add_bool(struct arena *a, struct tn_meta *to, tn_view key, bool v)
{
	struct tn_meta *node = add(a, to, key, TN_META_BOOL);
	if (node != NULL)
		node->as.b = v;
	return node;
}

struct tn_meta *meta_add_null(struct arena *a, struct tn_meta *to, tn_view key)
{
	return add(a, to, key, TN_META_NULL);
}

struct tn_meta *meta_add_map(struct arena *a, struct tn_meta *to, tn_view key)
{
	return add(a, to, key, TN_META_MAP);
}

struct tn_meta *meta_add_array(struct arena *a, struct tn_meta *to, tn_view key)
{
	return add(a, to, key, TN_META_ARRAY);
}

struct tn_meta *meta_map_at(struct arena *a, struct tn_meta *map, tn_view key)
{
	struct tn_meta *found = meta_find(map, key);
	return found != NULL ? found : meta_add_map(a, map, key);
}

/* ---- Whole trees ---- */

static bool is_container(const struct tn_meta *node)
{
	return (node->type == TN_META_ARRAY || node->type == TN_META_MAP) && !node->is_raw;
}

static bool own_views(struct arena *a, struct tn_meta *node)
{
	if (node->key.len != 0 && (node->key = arena_copy(a, node->key)).ptr == NULL)
		return false;
	bool text = node->type == TN_META_STRING || node->type == TN_META_BYTES;
	return !text || (node->as.s = arena_copy(a, node->as.s)).ptr != NULL;
}

/* Recursion is bounded by the depth limits of whoever built the tree. */
struct tn_meta *meta_clone(struct arena *a, const struct tn_meta *node, bool own)
{
	struct tn_meta *copy = meta_new(a, (tn_meta_type)node->type);
	if (copy == NULL)
		return NULL;
	*copy = *node;
	copy->next = NULL;
	if (own && !own_views(a, copy))
		return NULL;
	if (!is_container(node))
		return copy;
	copy->as.kids.first = copy->as.kids.last = NULL;
	copy->as.kids.n = 0;
	for (const struct tn_meta *kid = node->as.kids.first; kid != NULL; kid = kid->next) {
		struct tn_meta *twin = meta_clone(a, kid, own);
		if (twin == NULL)
			return NULL;
		meta_append(copy, twin->key, twin);
	}
	return copy;
}

static bool has_known_type(const struct tn_meta *node)
{
	switch ((tn_meta_type)node->type) {
	case TN_META_BOOL:
	case TN_META_STRING: return true;
	case TN_META_INT:
	case TN_META_UINT:
	case TN_META_FLOAT:  return node->width != 0;
	default:             return false;
	}
}

bool meta_uniform(const struct tn_meta *array, tn_meta_type *kind, unsigned *width)
{
	if (array->type != TN_META_ARRAY)
		return false;
	if (array->is_raw) {
		const struct meta_raw *raw = array->as.packed.raw;
		*kind = (tn_meta_type)raw->kind;
		*width = raw->kind == TN_META_BOOL || raw->kind == TN_META_STRING ? 0 : raw->width;
		return true;
	}
	const struct tn_meta *first = array->as.kids.first;
	if (first == NULL || !has_known_type(first))
		return false;
	for (const struct tn_meta *kid = first; kid != NULL; kid = kid->next)
		if (kid->type != first->type || kid->width != first->width)
			return false;
	*kind = (tn_meta_type)first->type;
	*width = first->width;
	return true;
}

static bool equal_scalars(const struct tn_meta *a, const struct tn_meta *b)
{
	switch ((tn_meta_type)a->type) {
	case TN_META_NULL:   return true;
	case TN_META_BOOL:   return a->as.b == b->as.b;
	case TN_META_INT:    return a->as.i == b->as.i;
	case TN_META_UINT:   return a->as.u == b->as.u;
	case TN_META_FLOAT:  return a->as.f_bits == b->as.f_bits;
	case TN_META_STRING:
	case TN_META_BYTES:  return view_eq(a->as.s, b->as.s);
	case TN_META_ARRAY:
	case TN_META_MAP:    return tn_meta_count(a) == tn_meta_count(b);
	}
	return false;
}

bool meta_equal(const struct tn_meta *a, const struct tn_meta *b)
{
	if (a->type != b->type || a->width != b->width || !equal_scalars(a, b))
		return false;
	tn_meta_iter x = tn_meta_items(a), y = tn_meta_items(b);
	for (;;) {
		const tn_meta *p = tn_meta_next(&x), *q = tn_meta_next(&y);
		if (p == NULL || q == NULL)
			return p == q;
		if (!view_eq(p->key, q->key) || !meta_equal(p, q))
			return false;
	}
}
