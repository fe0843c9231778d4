/* meta_index.c - see meta_index.h. */
#include "model/meta_index.h"

static tn_view key_at(const void *nodes, uint64_t i) { return ((struct tn_meta *const *)nodes)[i]->key; }

/* The node counts only where its key is new. */
static void add(struct meta_index *ix, struct tn_meta *node)
{
	uint64_t other;
	ix->nodes[ix->n] = node;
	ix->n += strmap_add(&ix->keys, key_at, ix->nodes, ix->n, &other);
}

bool meta_index_init(struct meta_index *ix, struct arena *a, struct tn_meta *map, uint64_t more)
{
	uint64_t most = map->as.kids.n + more; /* both are of things in memory */
	*ix = (struct meta_index){ .map = map, .nodes = arena_raw(a, most, sizeof *ix->nodes) };
	if (ix->nodes == NULL || !strmap_init(&ix->keys, a, most))
		return false;
	for (struct tn_meta *node = map->as.kids.first; node != NULL; node = node->next)
		add(ix, node);
	return true;
}

struct tn_meta *meta_index_find(const struct meta_index *ix, tn_view key)
{
	uint64_t i;
	return strmap_find(&ix->keys, key_at, ix->nodes, key, &i) ? ix->nodes[i] : NULL;
}

void meta_index_set(struct meta_index *ix, tn_view key, struct tn_meta *node)
{
	struct tn_meta *there = meta_index_find(ix, key);
	if (there != NULL)
		meta_become(there, node); /* it stays, so that nobody has to know which one is before it */
	else
		add(ix, meta_append(ix->map, key, node));
}
