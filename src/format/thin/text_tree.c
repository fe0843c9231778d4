/* text_tree.c - any value of a text as a tree. */
#include "format/thin/text_part.h"

#include "base/bytes.h"

#include <stdlib.h>

struct keyed {
	struct tn_meta *node;
	uint64_t        at;
};

static int by_key(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;
	int d = view_cmp(x->node->key, y->node->key);
	return d != 0 ? d : (x->at > y->at) - (x->at < y->at);
}

static bool is_sorted(const struct tn_meta *map)
{
	for (const struct tn_meta *n = map->as.kids.first; n != NULL && n->next != NULL; n = n->next)
		if (view_cmp(n->key, n->next->key) >= 0)
			return false;
	return true;
}

/* Upstream keeps such values in sorted maps. */
static bool sort_map(struct text *t, struct tn_meta *map)
{
	uint64_t n = map->as.kids.n, i = 0;
	if (is_sorted(map))
		return true;
	struct keyed *list = arena_raw(t->mem, n, sizeof *list);
	if (list == NULL)
		return text_no_memory(t);
	for (struct tn_meta *node = map->as.kids.first; node != NULL; node = node->next, i++)
		list[i] = (struct keyed){ node, i };
	qsort(list, (size_t)n, sizeof *list, by_key);
	map->as.kids.first = map->as.kids.last = NULL;
	map->as.kids.n = 0;
	for (i = 0; i < n; i++)
		if (i + 1 == n || !view_eq(list[i].node->key, list[i + 1].node->key))
			meta_append(map, list[i].node->key, list[i].node);
	return true;
}

static struct tn_meta *node(struct text *t, tn_meta_type type)
{
	struct tn_meta *n = meta_new(t->mem, type);
	if (n == NULL)
		text_no_memory(t);
	return n;
}

/* Walks of a tree recurse: it may be less deep than a text that is passed over. */
static bool deep_enough(struct text *t)
{
	return t->depth < META_DEPTH || text_fail(t, TN_E_LIMIT, "a value stands in more than %d containers", META_DEPTH);
}

static struct tn_meta *map_tree(struct text *t)
{
	struct tn_meta *map = deep_enough(t) && text_object(t, "an object") ? node(t, TN_META_MAP) : NULL;
	tn_view key;
	for (bool first = true; map != NULL && text_member(t, &first, &key); ) {
		struct tn_meta *kid = text_tree(t);
		if (kid == NULL)
			return NULL;
		meta_append(map, key, kid);
	}
	return map != NULL && text_ok(t) && sort_map(t, map) ? map : NULL;
}

static struct tn_meta *array_tree(struct text *t)
{
	struct tn_meta *array = deep_enough(t) && text_array(t, "an array") ? node(t, TN_META_ARRAY) : NULL;
	for (bool first = true; array != NULL && text_item(t, &first); ) {
		struct tn_meta *kid = text_tree(t);
		if (kid == NULL)
			return NULL;
		meta_append(array, (tn_view){ NULL, 0 }, kid);
	}
	return text_ok(t) ? array : NULL;
}

static struct tn_meta *number_tree(struct text *t)
{
	static const tn_meta_type types[] = {
		[NUMBER_UINT] = TN_META_UINT, [NUMBER_INT] = TN_META_INT, [NUMBER_REAL] = TN_META_FLOAT
	};
	struct number n = { 0 };
	struct tn_meta *to = text_number(t, "a value", &n) ? node(t, types[n.kind]) : NULL;
	if (to == NULL)
		return NULL;
	to->width = 64;
	if (n.kind == NUMBER_UINT)
		to->as.u = n.u;
	else if (n.kind == NUMBER_INT)
		to->as.i = n.i;
	else
		to->as.f_bits = f64_bits(n.f);
	return to;
}

static struct tn_meta *string_tree(struct text *t)
{
	tn_view v;
	struct tn_meta *to = text_string(t, "a string", &v) ? node(t, TN_META_STRING) : NULL;
	if (to != NULL)
		to->as.s = v;
	return to;
}

static struct tn_meta *bool_tree(struct text *t)
{
	bool v;
	struct tn_meta *to = text_bool(t, "a value", &v) ? node(t, TN_META_BOOL) : NULL;
	if (to != NULL)
		to->as.b = v;
	return to;
}

struct tn_meta *text_tree(struct text *t)
{
	switch (text_peek(t)) {
	case '{': return map_tree(t);
	case '[': return array_tree(t);
	case '"': return string_tree(t);
	case 't':
	case 'f': return bool_tree(t);
	case 'n': return text_null(t) ? node(t, TN_META_NULL) : (text_unexpected(t, "a value"), NULL);
	default:  return number_tree(t);
	}
}
