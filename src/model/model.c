/* model.c - making a model, and putting its tensors in order. */
#include "model/model.h"

#include "base/num.h"

#include <stdlib.h>

bool model_init(struct model *m, struct arena *a)
{
	*m = (struct model){ .version = "", .dialect = "", .data_align = 1 };
	m->metadata = meta_new(a, TN_META_MAP);
	m->native = meta_new(a, TN_META_MAP);
	return m->metadata != NULL && m->native != NULL;
}

void model_region(struct model *m, tn_region_kind kind, uint64_t offset, uint64_t len, const char *label)
{
	if (len != 0 && m->n_regions < MODEL_REGIONS)
		m->regions[m->n_regions++] = (struct region){ offset, len, kind, label };
}

struct tn_meta *tensor_extras(struct arena *a, struct tensor *t)
{
	if (t->extras == NULL)
		t->extras = meta_new(a, TN_META_MAP);
	return t->extras;
}

struct tn_meta *model_native(struct arena *a, struct model *m, const char *format)
{
	return meta_map_at(a, m->native, tn_text(format));
}

/* ---- Order ---- */

static int by_data(const struct tensor *x, const struct tensor *y)
{
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (x->stored > y->stored) - (x->stored < y->stored);
}

static int by_name(const struct tensor *x, const struct tensor *y) { return view_cmp(x->name, y->name); }

static bool in_order(const struct tensor *t, uint64_t n,
                     int (*cmp)(const struct tensor *, const struct tensor *))
{
	for (uint64_t i = 1; i < n; i++)
		if (cmp(&t[i - 1], &t[i]) > 0)
			return false;
	return true;
}

/* A tensor and what it is sorted by first. The tensors themselves are large, and stay where they are
 * until their order is known. */
struct sort_key {
	uint64_t             offset;
	const struct tensor *t;
};

/* qsort is not stable, so ties are broken by the place of the tensor. */
static int by_place(const struct sort_key *x, const struct sort_key *y)
{
	return (x->t > y->t) - (x->t < y->t);
}

static int compare_data(const void *a, const void *b)
{
	const struct sort_key *x = a, *y = b;
	int d = by_data(x->t, y->t);
	return d != 0 ? d : by_place(x, y);
}

static int compare_name(const void *a, const void *b)
{
	const struct sort_key *x = a, *y = b;
	int d = by_name(x->t, y->t);
	return d != 0 ? d : by_place(x, y);
}

enum { DIGIT = 11, DIGITS = 1 << DIGIT };

/* One pass of a sort by digits: from into to, by the digit of the offset that starts at shift. */
static void scatter(const struct sort_key *from, struct sort_key *to, uint64_t n, unsigned shift)
{
	uint64_t starts[DIGITS + 1] = { 0 };
	for (uint64_t i = 0; i < n; i++)
		starts[(from[i].offset >> shift & (DIGITS - 1)) + 1]++;
	for (unsigned d = 1; d < DIGITS; d++)
		starts[d] += starts[d - 1];
	for (uint64_t i = 0; i < n; i++)
		to[starts[from[i].offset >> shift & (DIGITS - 1)]++] = from[i];
}

/* By offset, as many digits as the largest has, low ones first; then those of one offset among
 * themselves. Two arrays take turns: the one that holds the result. */
static struct sort_key *sort_by_offset(struct sort_key *keys, struct sort_key *spare, uint64_t n)
{
	uint64_t all = 0;
	for (uint64_t i = 0; i < n; i++)
		all |= keys[i].offset;
	for (unsigned shift = 0; shift < 64 && all >> shift != 0; shift += DIGIT) {
		scatter(keys, spare, n, shift);
		struct sort_key *done = spare;
		spare = keys;
		keys = done;
	}
	for (uint64_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && keys[end].offset == keys[i].offset; end++)
			;
		if (end - i > 1)
			qsort(keys + i, (size_t)(end - i), sizeof *keys, compare_data);
	}
	return keys;
}

static void prefetch(const void *p)
{
#if defined(__GNUC__)
	__builtin_prefetch(p);
	__builtin_prefetch((const char *)p + 64);
#else
	(void)p;
#endif
}

/* The tensors in the order of their keys, NULL when memory is out; where[i], if there is such a list,
 * is where tensor i went. */
static struct tensor *gather(struct arena *a, const struct tensor *t, uint64_t n,
                             const struct sort_key *keys, uint32_t *where)
{
	enum { AHEAD = 8 };
	struct tensor *sorted = arena_raw(a, n, sizeof *sorted);
	for (uint64_t i = 0; sorted != NULL && i < n; i++) {
		if (i + AHEAD < n)
			prefetch(keys[i + AHEAD].t);
		sorted[i] = *keys[i].t;
		if (where != NULL)
			where[keys[i].t - t] = (uint32_t)i;
	}
	return sorted;
}

static struct sort_key *make_keys(struct arena *a, const struct tensor *t, uint64_t n)
{
	struct sort_key *keys = arena_raw(a, n, sizeof *keys);
	for (uint64_t i = 0; keys != NULL && i < n; i++)
		keys[i] = (struct sort_key){ t[i].offset, &t[i] };
	return keys;
}

static struct tensor *sort_by_data(struct arena *a, struct tensor *t, uint64_t n, uint32_t *where)
{
	if (in_order(t, n, by_data))
		return t;
	struct sort_key *keys = make_keys(a, t, n);
	struct sort_key *spare = keys != NULL ? arena_raw(a, n, sizeof *spare) : NULL;
	return spare != NULL ? gather(a, t, n, sort_by_offset(keys, spare, n), where) : NULL;
}

/* In place of what there was. */
static bool put_back(struct tensor *t, const struct tensor *sorted, uint64_t n)
{
	if (sorted != NULL && sorted != t)
		copy_bytes(t, sorted, (size_t)n * sizeof *t);
	return sorted != NULL || n == 0;
}

bool model_sort_by_data(struct arena *a, struct tensor *t, uint64_t n)
{
	return put_back(t, sort_by_data(a, t, n, NULL), n);
}

bool model_sort_named_by_data(struct arena *a, struct model *m)
{
	uint32_t *where = m->n <= UINT32_MAX ? arena_raw(a, m->n, sizeof *where) : NULL;
	if (where == NULL)
		return false;
	for (uint64_t i = 0; i < m->n; i++)
		where[i] = (uint32_t)i;
	m->by_name = where;
	m->tensors = sort_by_data(a, m->tensors, m->n, where);
	return m->tensors != NULL || m->n == 0;
}

bool model_sort_by_name(struct arena *a, struct tensor *t, uint64_t n)
{
	if (in_order(t, n, by_name))
		return true;
	struct sort_key *keys = make_keys(a, t, n);
	if (keys == NULL)
		return false;
	qsort(keys, (size_t)n, sizeof *keys, compare_name);
	return put_back(t, gather(a, t, n, keys, NULL), n);
}
