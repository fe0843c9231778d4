/* model.c - making a model, and putting its tensors in order. */
#include "model/model.h"

#include "base/mem.h"
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

/* By offset, the bits in which any two differ, low ones first; then those of one offset among
 * themselves. Two arrays take turns: the one that holds the result. */
static struct sort_key *sort_by_offset(struct sort_key *keys, struct sort_key *spare, uint64_t n)
{
	uint64_t differ = 0;
	unsigned shift = 0;
	for (uint64_t i = 1; i < n; i++)
		differ |= keys[i].offset ^ keys[0].offset;
	while (differ != 0 && (differ >> shift & 1) == 0) /* offsets are aligned */
		shift++;
	for (; shift < 64 && differ >> shift != 0; shift += DIGIT) {
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

/* Moves tensor from[i] to place i for all i, along the cycles of the order: there is no second array of
 * them, for which pages would have to be had. An entry that is done says its own place. */
static void put_in_order(struct tensor *t, uint32_t n, uint32_t *from)
{
	for (uint32_t i = 0; i < n; i++) {
		if (from[i] == i)
			continue;
		struct tensor first = t[i];
		uint32_t hole = i;
		for (uint32_t next = from[i]; next != i; next = from[hole]) {
			t[hole] = t[next];
			from[hole] = hole;
			hole = next;
		}
		t[hole] = first;
		from[hole] = hole;
	}
}

/* What a sort needs and gives back: the keys, and as many again for its passes. */
struct sort {
	uint32_t         n;
	struct sort_key *keys, *spare;
};

static bool sort_begin(struct sort *s, const struct tensor *t, uint64_t n)
{
	uint64_t bytes;
	size_t size;
	if (n > UINT32_MAX || !mul_u64(n, 2 * sizeof *s->keys, &bytes) || !size_from_u64(bytes, &size))
		return false;
	struct sort_key *keys = mem_alloc(size);
	if (keys == NULL)
		return false;
	*s = (struct sort){ (uint32_t)n, keys, keys + n };
	for (uint32_t i = 0; i < s->n; i++)
		keys[i] = (struct sort_key){ t[i].offset, &t[i] };
	return true;
}

/* The keys are sorted, and in the first or the second half; the other one has room for a list of places,
 * which is smaller than the keys and so stays near. */
static void sort_end(struct sort *s, struct tensor *t, struct sort_key *sorted, uint32_t *where)
{
	uint32_t *from = (uint32_t *)(sorted == s->keys ? s->spare : s->keys);
	for (uint32_t i = 0; i < s->n; i++) {
		from[i] = (uint32_t)(sorted[i].t - t);
		if (where != NULL)
			where[from[i]] = i;
	}
	put_in_order(t, s->n, from);
	mem_free(s->keys);
}

/* where[i], if there is such a list, becomes the place to which tensor i went. */
static bool sort_by_data(struct tensor *t, uint64_t n, uint32_t *where)
{
	struct sort s;
	if (in_order(t, n, by_data))
		return true;
	if (!sort_begin(&s, t, n))
		return false;
	sort_end(&s, t, sort_by_offset(s.keys, s.spare, n), where);
	return true;
}

bool model_sort_by_data(struct tensor *t, uint64_t n) { return sort_by_data(t, n, NULL); }

bool model_sort_named_by_data(struct arena *a, struct model *m)
{
	uint32_t *where = m->n <= UINT32_MAX ? arena_raw(a, m->n, sizeof *where) : NULL;
	if (where == NULL)
		return false;
	for (uint64_t i = 0; i < m->n; i++)
		where[i] = (uint32_t)i;
	m->by_name = where;
	return sort_by_data(m->tensors, m->n, where);
}

bool model_sort_by_name(struct tensor *t, uint64_t n)
{
	struct sort s;
	if (in_order(t, n, by_name))
		return true;
	if (!sort_begin(&s, t, n))
		return false;
	qsort(s.keys, s.n, sizeof *s.keys, compare_name);
	sort_end(&s, t, s.keys, NULL);
	return true;
}
