/* check.c - the laws that hold for every format: limits, extents, sizes, names, overlap. A format checks
 * what only it can know and leaves the rest to this page. */
#include "model/check.h"

#include "base/num.h"

#include <stdlib.h>

tn_view model_name_at(const void *model, uint64_t i)
{
	const struct model *m = model;
	return m->tensors[i].name;
}

bool model_find(const struct model *m, const struct strmap *names, tn_view name, uint64_t *out)
{
	if (m->by_name == NULL)
		return strmap_find(names, model_name_at, m, name, out);
	uint64_t low = 0, high = m->n;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		int d = view_cmp(name, m->tensors[m->by_name[middle]].name);
		if (d == 0) {
			*out = m->by_name[middle];
			return true;
		}
		if (d < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

struct check {
	const struct model *m;
	const char         *format;
	uint64_t            file_size;
	tn_error           *err;
};

static tn_code check_count(const struct check *c, const struct check_limits *lim)
{
	if (c->m->n <= lim->max_tensors)
		return TN_OK;
	return err_set(c->err, TN_E_LIMIT, TN_NO_OFFSET, "%s: %llu tensors, the limit is %llu", c->format,
	               (unsigned long long)c->m->n, (unsigned long long)lim->max_tensors);
}

static tn_code check_sizes(const struct check *c, const struct check_limits *lim)
{
	for (uint64_t i = 0; i < c->m->n; i++) {
		const struct tensor *t = &c->m->tensors[i];
		if (t->nbytes > lim->max_tensor_bytes)
			return err_set(c->err, TN_E_LIMIT, t->offset, "%s: tensor '%s': %llu bytes, the limit is %llu", c->format,
			               ESC(t->name), (unsigned long long)t->nbytes, (unsigned long long)lim->max_tensor_bytes);
		if (t->enc == ENC_RAW && t->stored != t->nbytes)
			return err_set(c->err, TN_E_CORRUPT, t->offset, "%s: tensor '%s': %llu bytes stored, its shape needs %llu",
			               c->format, ESC(t->name), (unsigned long long)t->stored, (unsigned long long)t->nbytes);
	}
	return TN_OK;
}

/* The shortfall is what a user can act on: how many bytes did not arrive, and what they held. */
static tn_code short_file(const struct check *c, uint64_t first, uint64_t end, struct tn_report *partial)
{
	uint64_t whole = 0;
	tn_error why = { .code = TN_OK };
	for (uint64_t i = 0; i < c->m->n; i++) {
		struct tensor *t = &c->m->tensors[i];
		t->missing = !span_fits(t->offset, t->stored, c->file_size);
		whole += !t->missing;
	}
	err_set(&why, TN_E_TRUNCATED, c->file_size,
	        "%s: file is short by %s: has %llu, needs %llu; first tensor not whole is '%s', %llu of %llu "
	        "tensors are whole", c->format, N_BYTES(end - c->file_size),
	        (unsigned long long)c->file_size, (unsigned long long)end, ESC(c->m->tensors[first].name),
	        (unsigned long long)whole, (unsigned long long)c->m->n);
	if (partial == NULL)
		return err_set(c->err, why.code, why.offset, "%s", why.msg);
	report_add(partial, TN_WARNING, why.code, why.offset, NO_TENSOR, "%s", why.msg);
	return TN_OK;
}

static tn_code check_extents(const struct check *c, struct tn_report *partial)
{
	uint64_t furthest = 0, first = UINT64_MAX;
	for (uint64_t i = 0; i < c->m->n; i++) {
		const struct tensor *t = &c->m->tensors[i];
		uint64_t end;
		if (!add_u64(t->offset, t->stored, &end))
			return err_set(c->err, TN_E_CORRUPT, TN_NO_OFFSET, "%s: tensor '%s': its extent overflows 64 bits", c->format,
			               ESC(t->name));
		if (end > c->file_size && first == UINT64_MAX)
			first = i;
		furthest = max_u64(furthest, end);
	}
	return first == UINT64_MAX ? TN_OK : short_file(c, first, furthest, partial);
}

/* Tensors stand in data order, so only neighbours that have bytes can overlap first. */
static tn_code check_overlap(const struct check *c)
{
	const struct tensor *last = NULL;
	for (uint64_t i = 0; i < c->m->n; i++) {
		const struct tensor *t = &c->m->tensors[i];
		if (t->stored == 0 || t->slice == SLICE_ALIAS)
			continue;
		if (last != NULL && t->offset < last->offset + last->stored)
			return err_set(c->err, TN_E_CORRUPT, t->offset, "%s: tensor '%s' overlaps '%s'", c->format, ESC(t->name),
			               ESC(last->name));
		last = t;
	}
	return TN_OK;
}

static tn_code two_of_a_name(const struct check *c, const struct tensor *t)
{
	return err_set(c->err, TN_E_CORRUPT, t->offset, "%s: two tensors are called '%s'", c->format,
	               ESC(t->name));
}

static tn_code check_names(const struct check *c, struct arena *a, struct strmap *names)
{
	*names = (struct strmap){ .count = 0 };
	if (c->m->by_name != NULL)
		return TN_OK; /* they are in strict order, so they differ */
	if (!strmap_init(names, a, c->m->n))
		return arena_err(a, c->err, "the name index");
	for (uint64_t i = 0; i < c->m->n; i++) {
		uint64_t other;
		if (!strmap_add(names, model_name_at, c->m, i, &other))
			return two_of_a_name(c, &c->m->tensors[i]);
	}
	return TN_OK;
}

/* Sizes, extents and overlap in one walk over the tensors, which are many; what is wrong is told by
 * the functions above. */
static bool all_well(const struct check *c, const struct check_limits *lim)
{
	uint64_t last = 0;
	for (uint64_t i = 0; i < c->m->n; i++) {
		const struct tensor *t = &c->m->tensors[i];
		if (t->nbytes > lim->max_tensor_bytes || (t->enc == ENC_RAW && t->stored != t->nbytes))
			return false;
		if (!span_fits(t->offset, t->stored, c->file_size))
			return false;
		if (t->stored == 0)
			continue;
		if (t->offset < last)
			return false;
		last = t->offset + t->stored;
	}
	return true;
}

tn_code model_check(const struct model *m, const char *format, uint64_t file_size, const struct check_limits *lim,
                    struct arena *a, struct strmap *names, tn_error *err)
{
	struct check c = { m, format, file_size, err };
	tn_code code = check_count(&c, lim);
	if (code == TN_OK) code = check_names(&c, a, names);
	if (code != TN_OK || all_well(&c, lim))
		return code;
	code = check_sizes(&c, lim);
	if (code == TN_OK) code = check_extents(&c, lim->partial);
	if (code == TN_OK) code = check_overlap(&c);
	return code;
}

/* ---- Findings ---- */

/* Where the bytes that the format itself claims end, after the tensors as far as they reach. */
static uint64_t claimed_after(const struct model *m, uint64_t at)
{
	for (bool moved = true; moved; ) {
		moved = false;
		for (unsigned i = 0; i < m->n_regions; i++) {
			const struct region *r = &m->regions[i];
			if (r->offset <= at && r->offset + r->len > at) {
				at = r->offset + r->len;
				moved = true;
			}
		}
	}
	return at;
}

static uint64_t furthest(const struct model *m)
{
	uint64_t end = 0;
	for (unsigned i = 0; i < m->n_regions; i++)
		end = max_u64(end, m->regions[i].offset + m->regions[i].len);
	return end;
}

static void lint_gap(const struct model *m, const char *format, const struct tensor *t, uint64_t at, struct tn_report *r)
{
	uint64_t from = claimed_after(m, at);
	/* padding up to the alignment is what the writer puts there */
	if (from >= t->offset || t->offset - from < m->data_align)
		return;
	report_add(r, TN_WARNING, TN_E_CORRUPT, from, t->name, "%s: %s before this tensor belong to nothing", format,
	           N_BYTES(t->offset - from));
}

static void lint_alignment(const struct model *m, const char *format, const struct tensor *t, struct tn_report *r)
{
	if (t->stored == 0 || t->slice != SLICE_NONE || (t->offset - m->data_at) % m->data_align == 0)
		return;
	report_add(r, TN_WARNING, TN_E_CORRUPT, t->offset, t->name, "%s: the data does not start at a multiple of %llu", format,
	           (unsigned long long)m->data_align);
}

void model_lint(const struct model *m, const char *format, uint64_t file_size, struct tn_report *r)
{
	uint64_t at = m->data_at;
	for (uint64_t i = 0; i < m->n; i++) {
		const struct tensor *t = &m->tensors[i];
		lint_gap(m, format, t, at, r);
		lint_alignment(m, format, t, r);
		at = max_u64(at, t->offset + t->stored);
	}
	uint64_t end = claimed_after(m, max_u64(at, furthest(m)));
	if (end < file_size)
		report_add(r, TN_WARNING, TN_E_CORRUPT, end, NO_TENSOR, "%s: %s after the end of the model", format,
		           N_BYTES(file_size - end));
}
