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

/* qsort is not stable, so ties are broken by the place of the element: pointers into the original array. */
static int compare_data(const void *a, const void *b)
{
	const struct tensor *const *x = a, *const *y = b;
	int d = by_data(*x, *y);
	return d != 0 ? d : (*x > *y) - (*x < *y);
}

static int compare_name(const void *a, const void *b)
{
	const struct tensor *const *x = a, *const *y = b;
	int d = by_name(*x, *y);
	return d != 0 ? d : (*x > *y) - (*x < *y);
}

static bool in_order(const struct tensor *t, uint64_t n, int (*cmp)(const struct tensor *, const struct tensor *))
{
	for (uint64_t i = 1; i < n; i++)
		if (cmp(&t[i - 1], &t[i]) > 0)
			return false;
	return true;
}

/* Moves t[order[i]] to t[i] by following cycles; order is used up. */
static void permute(struct tensor *t, const struct tensor **order, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		struct tensor first = t[i];
		uint64_t at = i;
		while (order[at] != NULL) {
			uint64_t from = (uint64_t)(order[at] - t);
			order[at] = NULL;
			t[at] = from == i ? first : t[from];
			at = from;
		}
	}
}

static bool sort(struct arena *a, struct tensor *t, uint64_t n, int (*cmp)(const struct tensor *, const struct tensor *),
                 int (*compare)(const void *, const void *))
{
	if (in_order(t, n, cmp))
		return true;
	const struct tensor **order = arena_raw(a, n, sizeof *order);
	if (order == NULL)
		return false;
	for (uint64_t i = 0; i < n; i++)
		order[i] = &t[i];
	qsort(order, (size_t)n, sizeof *order, compare);
	permute(t, order, n);
	return true;
}

bool model_sort_by_data(struct arena *a, struct tensor *t, uint64_t n)
{
	return sort(a, t, n, by_data, compare_data);
}

bool model_sort_by_name(struct arena *a, struct tensor *t, uint64_t n)
{
	return sort(a, t, n, by_name, compare_name);
}
