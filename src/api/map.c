/* map.c - who owns each byte of a file, or of each file of a set. */
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

/* Tensors that an index gives to another file lie in this one all the same. */
static size_t collect_copies(const tn_file *f, size_t part, tn_region *list)
{
	const struct model *m = &f->parts[part].model;
	size_t n = 0;
	uint64_t i;
	for (uint64_t k = 0; k < m->n; k++)
		if (!strmap_find(&f->names, model_name_at, &f->model, m->tensors[k].name, &i) || f->model.tensors[i].part != part)
			list[n++] = (tn_region){ m->tensors[k].offset, m->tensors[k].stored, TN_REGION_GAP, SIZE_MAX, "copy", part };
	return n;
}

static size_t collect(const tn_file *f, size_t part, tn_region *list)
{
	const struct model *own = &f->parts[part].model, *m = &f->model;
	size_t n = 0, tensors = 0;
	for (unsigned i = 0; i < own->n_regions; i++)
		list[n++] = (tn_region){ own->regions[i].offset, own->regions[i].len, own->regions[i].kind, SIZE_MAX,
		                         own->regions[i].label, part };
	for (uint64_t i = 0; i < m->n; i++) {
		if (m->tensors[i].part != part)
			continue;
		list[n++] = (tn_region){ m->tensors[i].offset, m->tensors[i].stored, TN_REGION_TENSOR, (size_t)i, "tensor", part };
		tensors++;
	}
	if (tensors < own->n)
		n += collect_copies(f, part, list + n);
	qsort(list, n, sizeof *list, by_offset);
	return n;
}

/* Unclaimed bytes up to a tensor are the writer's padding when they are fewer than its alignment. */
static tn_region unclaimed(const struct model *m, uint64_t at, uint64_t to, bool last)
{
	if (last)
		return (tn_region){ at, to - at, TN_REGION_TRAILING, SIZE_MAX, "trailing", 0 };
	if (to - at < m->data_align && at >= m->data_at)
		return (tn_region){ at, to - at, TN_REGION_PADDING, SIZE_MAX, "padding", 0 };
	return (tn_region){ at, to - at, TN_REGION_GAP, SIZE_MAX, "gap", 0 };
}

/* Turns the sorted claims on a part into regions without holes; out has room for one hole before each and one at the
 * end. */
static size_t fill_holes(const struct part *p, size_t part, const tn_region *claims, size_t n, tn_region *out)
{
	uint64_t at = 0;
	size_t k = 0;
	for (size_t i = 0; i < n; i++) {
		tn_region r = claims[i];
		if (r.len == 0)
			r.offset = max_u64(r.offset, at); /* an empty tensor inside another stands behind it */
		if (r.offset > at)
			out[k++] = unclaimed(&p->model, at, r.offset, false);
		if (r.offset < at) { /* bytes that others have as well */
			uint64_t end = r.offset + r.len;
			r.offset = at;
			r.len = end > at ? end - at : 0;
		}
		out[k++] = r;
		at = max_u64(at, r.offset + r.len);
	}
	if (at < p->reader.size)
		out[k++] = unclaimed(&p->model, at, p->reader.size, true);
	for (size_t i = 0; i < k; i++)
		out[i].part = part;
	return k;
}

static size_t most_claims(const tn_file *f)
{
	size_t n = (size_t)f->model.n;
	for (size_t p = 0; p < f->n_parts; p++)
		n += (size_t)f->parts[p].model.n + f->parts[p].model.n_regions;
	return n;
}

static tn_map *build(const tn_file *f)
{
	size_t most = most_claims(f);
	tn_map *map = mem_alloc(sizeof *map);
	tn_region *claims = mem_alloc((most + 1) * sizeof *claims);
	tn_region *list = mem_alloc((2 * most + f->n_parts) * sizeof *list);
	if (map == NULL || claims == NULL || list == NULL) {
		mem_free(map);
		mem_free(claims);
		mem_free(list);
		return NULL;
	}
	*map = (tn_map){ list, 0 };
	for (size_t p = 0; p < f->n_parts; p++)
		map->n += fill_holes(&f->parts[p], p, claims, collect(f, p, claims), list + map->n);
	mem_free(claims);
	return map;
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
