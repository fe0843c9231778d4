/* members.c - see members.h. */
#include "io/members.h"

static tn_view key_at(const void *nodes, uint64_t i)
{
	return ((struct tn_meta *const *)nodes)[i]->key;
}

bool members_init(struct members *m, struct arena *mem, size_t n)
{
	*m = (struct members){ .nodes = arena_raw(mem, n, sizeof *m->nodes), .indexed = n > MEMBERS_FEW };
	return m->nodes != NULL && (!m->indexed || strmap_init(&m->keys, mem, n));
}

static bool find(const struct members *m, tn_view key, uint64_t *at)
{
	for (uint64_t i = 0; i < m->n; i++) {
		if (view_eq(m->nodes[i]->key, key)) {
			*at = i;
			return true;
		}
	}
	return false;
}

bool members_add(struct members *m, struct tn_meta *node, uint64_t *at)
{
	m->nodes[m->n] = node; /* the index looks at it there */
	if (m->indexed ? !strmap_add(&m->keys, key_at, m->nodes, m->n, at) : find(m, node->key, at))
		return false;
	m->n++;
	return true;
}
