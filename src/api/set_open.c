/* set_open.c - the files of a set, each opened and parsed by itself. They share one limit of memory. */
#include "api/set.h"

#include "api/call.h"
#include "base/num.h"

#include <string.h>

const char *part_name(const struct part *p)
{
	const char *slash = p->actual != NULL ? strrchr(p->actual, '/') : NULL;
	return slash != NULL ? slash + 1 : p->actual != NULL ? p->actual : "";
}

/* What the earlier parts have left of the memory. */
static tn_code remaining(const tn_file *f, uint64_t total, uint64_t *out, tn_error *err)
{
	for (size_t i = 0; i < f->n_parts; i++)
		total -= min_u64(total, f->parts[i].mem.used);
	*out = total;
	if (total == 0)
		err_set(err, TN_E_LIMIT, TN_NO_OFFSET, "the files of the set take more memory than the limit allows");
	return err->code;
}

/* The next part; on failure the parts before it stay as they are. */
static tn_code open_part(tn_file *f, struct set *s, uint64_t i, tn_error *err)
{
	tn_open_options opt = *s->opt;
	struct part *p = &f->parts[f->n_parts];
	const char *path;
	if (remaining(f, limit_or(opt.limits.max_memory, DEFAULT_MEMORY), &opt.limits.max_memory, err) != TN_OK ||
	    set_path(s, i, &path, err) != TN_OK)
		return err->code;
	part_init(p, opt.limits.max_memory);
	p->shard = i;
	p->first = f->n_parts != 0 ? &f->parts[0] : NULL;
	tn_code code = part_open(p, path, &opt, err);
	if (code == TN_OK && s->format != NULL && p->format != s->format)
		code = err_set(err, TN_E_CORRUPT, TN_NO_OFFSET, "it is %s, the set is %s", p->format->name, s->format->name);
	if (code != TN_OK) {
		part_close(p);
		err_prefix(err, "%s", ESC(tn_text(s->files[i])));
		return code;
	}
	f->n_parts++;
	return TN_OK;
}

/* ---- Numbers ---- */

enum { GAPS = 100 }; /* named one by one */

/* Which of the first numbers the files have: with so few files a gap is among these. */
static void numbers(const struct set *s, uint64_t n, uint8_t *seen)
{
	struct series series;
	for (uint64_t i = 0; i < s->n; i++)
		if (series_parse(tn_text(s->files[i]), &series) && series_same(&series, &s->series) && series.k < n)
			seen[series.k] = 1;
}

tn_code set_gaps(const struct set *s, struct tn_report *lenient, tn_error *err)
{
	uint64_t n = min_u64(s->series.n, s->n + GAPS), gaps = 0;
	uint8_t *seen = arena_new(s->mem, n + 1, 1);
	if (seen == NULL)
		return arena_err(s->mem, err, "the numbers of the files");
	numbers(s, n + 1, seen);
	uint64_t first = s->from_zero || seen[0] != 0 ? 0 : 1; /* some count from 0 */
	for (uint64_t k = first; k < first + n && gaps < GAPS; k++) {
		if (seen[k] != 0)
			continue;
		const char *name = series_name(&s->series, k, s->mem), *path = name != NULL ? set_join(s, name) : NULL;
		if (path == NULL)
			return arena_err(s->mem, err, "a path");
		if (s->index != NULL && sys_file_exists(path))
			continue; /* a file that the index does not name, which is another matter */
		gaps++;
		if (lenient == NULL)
			return err_set(err, TN_E_TRUNCATED, TN_NO_OFFSET, "the file '%s' is missing", ESC(tn_text(name)));
		report_add(lenient, TN_ERROR, TN_E_TRUNCATED, TN_NO_OFFSET, NO_TENSOR, "the file '%s' is missing", ESC(tn_text(name)));
	}
	return TN_OK;
}

/* ---- The set ---- */

tn_code set_open(tn_file *f, struct set *s, struct tn_report *lenient, tn_error *err)
{
	if (s->index == NULL && s->series.n != 0 && set_gaps(s, lenient, err) != TN_OK)
		return err->code;
	f->n_parts = 0;
	f->parts = s->n == 1 ? &f->first : arena_new(&f->mem, s->n, sizeof *f->parts);
	if (f->parts == NULL)
		return arena_err(&f->mem, err, "the files of the set");
	for (uint64_t i = 0; i < s->n; i++) {
		tn_code code = open_part(f, s, i, err);
		if (code == TN_OK)
			continue;
		if (lenient == NULL || code == TN_E_NOMEM)
			return code;
		report_add(lenient, TN_ERROR, code, err->offset, NO_TENSOR, "%s", err->msg);
		err_clear(err);
	}
	return TN_OK;
}
