/* map.c - who owns each byte of a file. */
#include "api/call.h"
#include "api/file.h"
#include "base/mem.h"
#include "base/num.h"

#include <stdlib.h>

struct tn_map {
	tn_region *list;
	size_t     n;
};

/* A claim on bytes before gaps are known. */
static int by_offset(const void *a, const void *b)
{
	const tn_region *x = a, *y = b;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	if (x->len != y->len)
		return x->len < y->len ? -1 : 1; /* an empty tensor before the one that starts where it stands */
	return (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

static size_t collect(const struct model *m, tn_region *list)
{
	size_t n = 0;
	for (unsigned i = 0; i < m->n_regions; i++)
		list[n++] = (tn_region){ m->regions[i].offset, m->regions[i].len, m->regions[i].kind, SIZE_MAX,
		                         m->regions[i].label };
	for (uint64_t i = 0; i < m->n; i++)
		list[n++] = (tn_region){ m->tensors[i].offset, m->tensors[i].stored, TN_REGION_TENSOR, (size_t)i, "tensor" };
	qsort(list, n, sizeof *list, by_offset);
	return n;
}

/* Unclaimed bytes up to a tensor are the writer's padding when they are fewer than its alignment. */
static tn_region unclaimed(const struct model *m, uint64_t at, uint64_t to, bool last)
{
	if (last)
		return (tn_region){ at, to - at, TN_REGION_TRAILING, SIZE_MAX, "trailing" };
	if (to - at < m->data_align && at >= m->data_at)
		return (tn_region){ at, to - at, TN_REGION_PADDING, SIZE_MAX, "padding" };
	return (tn_region){ at, to - at, TN_REGION_GAP, SIZE_MAX, "gap" };
}

/* Turns sorted claims into regions without holes; out has room for one hole before each and one at the end. */
static size_t fill_holes(const struct model *m, const tn_region *claims, size_t n, uint64_t size, tn_region *out)
{
	uint64_t at = 0;
	size_t k = 0;
	for (size_t i = 0; i < n; i++) {
		tn_region r = claims[i];
		if (r.len == 0)
			r.offset = max_u64(r.offset, at); /* an empty tensor inside another stands behind it */
		if (r.offset > at)
			out[k++] = unclaimed(m, at, r.offset, false);
		if (r.offset < at) { /* bytes that others have as well */
			uint64_t end = r.offset + r.len;
			r.offset = at;
			r.len = end > at ? end - at : 0;
		}
		out[k++] = r;
		at = max_u64(at, r.offset + r.len);
	}
	if (at < size)
		out[k++] = unclaimed(m, at, size, true);
	return k;
}

static tn_map *build(const tn_file *f)
{
	size_t most = (size_t)f->model.n + f->model.n_regions;
	tn_map *map = mem_alloc(sizeof *map);
	tn_region *claims = mem_alloc((most + 1) * sizeof *claims);
	tn_region *list = mem_alloc((2 * most + 1) * sizeof *list);
	if (map != NULL && claims != NULL && list != NULL) {
		size_t n = collect(&f->model, claims);
		*map = (tn_map){ list, fill_holes(&f->model, claims, n, f->first.reader.size, list) };
		mem_free(claims);
		return map;
	}
	mem_free(map);
	mem_free(claims);
	mem_free(list);
	return NULL;
}

tn_code tn_map_new(tn_map **out, const tn_file *f, tn_error *err)
{
	CALL_BEGIN(err);
	*out = build(f);
	return *out != NULL ? TN_OK : err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
}

size_t tn_map_count(const tn_map *map) { return map->n; }

tn_region tn_map_at(const tn_map *map, size_t i)
{
	return i < map->n ? map->list[i] : (tn_region){ .tensor = SIZE_MAX, .label = "" };
}

void tn_map_free(tn_map *map)
{
	if (map == NULL)
		return;
	mem_free(map->list);
	mem_free(map);
}
