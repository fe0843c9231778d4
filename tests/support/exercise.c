/* exercise.c - does everything that can be done with an open file, and holds it to the promises of
 * tenon.h. */
#include "support/exercise.h"

#include "base/num.h"
#include "base/view.h"
#include "model/dtype.h"

#include <stdlib.h>

static uint64_t walk(const tn_meta *node, unsigned depth)
{
	uint64_t sum = 0;
	tn_view s;
	if (tn_meta_bytes(node, &s))
		for (size_t i = 0; i < s.len; i++)
			sum += s.ptr[i];
	tn_meta_iter it = tn_meta_items(node);
	for (const tn_meta *item; depth < 1000 && (item = tn_meta_next(&it)) != NULL; )
		sum += 1 + tn_meta_key(item).len + walk(item, depth + 1);
	return sum;
}

/* The bytes in place and those that are read must be the same. What is stored encoded may be
 * damaged where its extent is not, which is told only by reading it. */
static const char *read_tensor(const tn_file *file, size_t i, const tn_tensor *t, bool *whole)
{
	tn_error err;
	tn_view in_place;
	uint8_t some[8]; /* whole elements of any type */
	if (t->stored == 0 && t->nbytes != 0) /* named by the file, but without bytes */
		return tn_read(file, i, 0, some, (size_t)min_u64(t->nbytes, sizeof some), &err) == TN_E_CORRUPT ? NULL : "a tensor has bytes from nowhere";
	uint8_t *copy = malloc(t->nbytes != 0 ? (size_t)t->nbytes : 1);
	if (copy == NULL)
		return "no memory for a tensor";
	const char *broken = NULL;
	*whole = tn_read(file, i, 0, copy, (size_t)t->nbytes, &err) == TN_OK;
	if (!*whole)
		/* what is stored encoded may be damaged where its extent is not */
		broken = (err.code == TN_E_CORRUPT || err.code == TN_E_UNSUPPORTED) && tn_bytes(file, i, &in_place, NULL) != TN_OK
			? NULL : "a tensor inside the file cannot be read";
	else if (tn_bytes(file, i, &in_place, &err) == TN_OK &&
	         !view_eq(in_place, (tn_view){ copy, (size_t)t->nbytes }))
		broken = "bytes in place differ from those read";
	else if (tn_read(file, i, t->nbytes, copy, 1, &err) == TN_OK)
		broken = "a read past the end of a tensor succeeds";
	free(copy);
	return broken;
}

/* What has not arrived is never read, not even the part that has. */
static const char *check_missing(const tn_file *file, size_t i, const tn_tensor *t)
{
	tn_error err;
	tn_view in_place;
	uint8_t byte;
	if (t->offset <= tn_file_size(file) && t->stored <= tn_file_size(file) - t->offset)
		return "a tensor inside the file is said to be missing";
	if (tn_read(file, i, 0, &byte, 0, &err) != TN_E_TRUNCATED)
		return "a missing tensor can be read";
	return tn_bytes(file, i, &in_place, &err) != TN_E_TRUNCATED
	               ? "a missing tensor can be borrowed"
		       : NULL;
}

/* What can be decoded at all can be decoded at both ends, and no further. */
static const char *read_values(const tn_file *file, size_t i, const tn_tensor *t)
{
	enum { SOME = 1000 };
	float out[SOME];
	uint64_t n;
	tn_error err;
	if (tn_read_f32(file, i, 0, NULL, 0, &err) != TN_OK)
		return NULL;
	if (!shape_elements(t->rank, t->shape, &n))
		return "a tensor of too many elements is decoded";
	size_t some = (size_t)min_u64(n, SOME);
	if (tn_read_f32(file, i, 0, out, some, &err) != TN_OK ||
	    tn_read_f32(file, i, n - some, out, some, &err) != TN_OK)
		return "a tensor that can be decoded is not";
	if (tn_read_f32(file, i, n, out, 1, &err) == TN_OK)
		return "an element past the end of a tensor is decoded";
	return NULL;
}

static const char *check_tensor(const tn_file *file, size_t i)
{
	tn_tensor t = tn_tensor_at(file, i);
	uint64_t size = tn_file_size(file);
	size_t found;
	tn_error err;
	if (t.missing)
		return check_missing(file, i, &t);
	if (t.stored != 0 && (t.offset > size || t.stored > size - t.offset))
		return "a tensor lies outside the file";
	if (tn_tensor_find(file, t.name, &found, &err) != TN_OK || found != i)
		return "a tensor is not found by its name";
	uint64_t sum = 0;
	for (uint32_t k = 0; k < t.rank; k++)
		sum += t.shape[k];
	if (t.extras != NULL)
		sum += walk(t.extras, 0);
	(void)sum;
	bool whole = false;
	const char *broken = read_tensor(file, i, &t, &whole);
	return broken != NULL || !whole ? broken : read_values(file, i, &t);
}

/* Regions are sorted, and cover the file without a hole. */
static const char *check_map(const tn_file *file)
{
	tn_map *map;
	tn_error err;
	uint64_t at = 0;
	const char *broken = NULL;
	if (tn_map_new(&map, file, &err) != TN_OK)
		return "an open file cannot be mapped out";
	for (size_t i = 0; i < tn_map_count(map); i++) {
		tn_region r = tn_map_at(map, i);
		if (r.offset != at)
			broken = "the regions of a file leave a hole";
		at = r.offset + r.len;
	}
	if (at != tn_file_size(file))
		broken = "the regions of a file do not reach its end";
	tn_map_free(map);
	return broken;
}

static bool is_partial(const tn_file *file)
{
	size_t i = 0;
	while (i < tn_tensor_count(file) && !tn_tensor_at(file, i).missing)
		i++;
	return i < tn_tensor_count(file);
}

static const char *check_verify(const tn_file *file)
{
	tn_verify_options deep = { .deep = true, .work.threads = 1 };
	tn_report *report;
	tn_error err;
	if (tn_verify(file, &deep, &report, &err) != TN_OK)
		return "an open file cannot be verified";
	const char *broken = NULL;
	for (size_t i = 0; i < tn_report_count(report); i++) {
		tn_finding f = tn_report_at(report, i);
		if (f.text == NULL || f.text[0] == '\0' ||
		    (f.code == TN_OK && f.severity != TN_NOTE))
			broken = "a finding says nothing";
		if (f.offset != TN_NO_OFFSET && f.offset > tn_file_size(file) && !is_partial(file))
			broken = "a finding points outside the file";
	}
	tn_report_free(report);
	return broken;
}

/* Where a file can be estimated at all, every kind comes to an end; options are no part of what is hostile. */
static const char *check_estimates(const tn_file *file)
{
	static const tn_plan_options options = { .vram = 1000, .ctx = 3, .residency = "offload-middle-out", .offload_layers = 1 };
	for (int kind = TN_ESTIMATE_PLAN; kind <= TN_ESTIMATE_STATS; kind++) {
		tn_estimate *e;
		tn_error err;
		tn_code code = tn_estimate_new(&e, file, (tn_estimate_kind)kind, &options, &err);
		if (code == TN_OK)
			walk(tn_estimate_values(e), 0);
		else if (code != TN_E_UNSUPPORTED)
			return "an open file cannot be estimated";
		tn_estimate_free(e);
	}
	return NULL;
}

/* The bytes of each step are those of its tensor, and the budget holds. */
static const char *check_pages(const tn_file *file)
{
	const tn_pages_options options = { .budget = 4096 };
	tn_pages *pages;
	tn_error err;
	const char *broken = NULL;
	if (tn_pages_open(&pages, file, &options, &err) != TN_OK)
		return err.code == TN_E_UNSUPPORTED ? NULL : "the tape of an open file cannot be read";
	for (size_t i = 0; i < 2 * tn_pages_count(pages) && broken == NULL; i++) {
		size_t step = i % tn_pages_count(pages);
		tn_view bytes;
		tn_code code = tn_pages_use(pages, step, &bytes, &err);
		if (code == TN_OK && bytes.len != tn_tensor_at(file, tn_pages_at(pages, step).tensor).nbytes)
			broken = "a page is not as long as its tensor";
		if (code == TN_OK)
			tn_pages_end(pages, step);
		if (tn_pages_counted(pages).held > options.budget)
			broken = "the budget for pages does not hold";
	}
	tn_pages_close(pages);
	return broken;
}

/* All is done, whatever was found before. */
const char *exercise(const tn_file *file)
{
	const char *(*const checks[])(const tn_file *) = { check_map, check_estimates, check_pages, check_verify };
	const char *broken = NULL;
	for (size_t i = 0; i < tn_tensor_count(file); i++) {
		const char *why = check_tensor(file, i);
		broken = broken != NULL ? broken : why;
	}
	uint64_t sum =
		walk(tn_metadata(file), 0) + walk(tn_native(file), 0) + tn_file_parameters(file);
	(void)sum;
	for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
		const char *why = checks[i](file);
		broken = broken != NULL ? broken : why;
	}
	return broken;
}
