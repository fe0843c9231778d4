/* open.c - from a path or bytes to an open file: its parts, and the model that was put into them. */
#include "api/call.h"
#include "api/set.h"
#include "base/mem.h"

#include <string.h>

static const tn_open_options defaults;

tn_file *file_new(const tn_open_options *opt)
{
	uint64_t budget = limit_or(opt->limits.max_memory, DEFAULT_MEMORY);
	tn_file *f = mem_alloc(sizeof *f);
	if (f == NULL)
		return NULL;
	memset(f, 0, sizeof *f);
	arena_init(&f->mem, budget);
	report_init(&f->report);
	f->parts = &f->first;
	f->n_parts = 1;
	f->bare = opt->ignore_envelope;
	part_init(&f->first, budget);
	return f;
}

void tn_close(tn_file *f)
{
	if (f == NULL)
		return;
	for (size_t i = 0; i < f->n_parts; i++)
		part_close(&f->parts[i]);
	report_fini(&f->report);
	arena_fini(&f->mem);
	mem_free(f);
}

/* ---- A set ---- */

static tn_code open_set(tn_file *f, struct set *s, tn_error *err)
{
	tn_code code = set_open(f, s, NULL, err);
	return code == TN_OK ? set_merge(f, s, s->opt, NULL, err) : code;
}

static tn_code open_single(tn_file *f, const char *path, const tn_open_options *opt, tn_error *err)
{
	tn_code code = part_open(&f->first, path, opt, err);
	return code == TN_OK ? set_merge(f, NULL, opt, NULL, err) : code;
}

static tn_code open_any(tn_file *f, struct set *s, const char *path, tn_error *err)
{
	bool is_set;
	if (set_find(s, path, &is_set, err) != TN_OK)
		return err->code;
	if (is_set)
		return open_set(f, s, err);
	if (part_open(&f->first, path, s->opt, err) != TN_OK || set_of_any(s, &f->first, &is_set, err) != TN_OK)
		return err->code;
	if (!is_set)
		return set_merge(f, NULL, s->opt, NULL, err);
	part_close(&f->first); /* opened again as one of them */
	part_init(&f->first, f->mem.budget);
	return open_set(f, s, err);
}

static tn_code open_path(tn_file *f, const char *path, const tn_open_options *opt, tn_error *err)
{
	struct tn_report said;
	if (opt->single)
		return open_single(f, path, opt, err);
	report_init(&said);
	struct set s = { .mem = &f->mem, .opt = opt, .report = &said };
	tn_code code = open_any(f, &s, path, err);
	report_fini(&said);
	return code;
}

/* path of NULL: the bytes. */
static tn_code open_either(tn_file **out, const char *path, tn_view bytes, const tn_open_options *opt, tn_error *err)
{
	tn_file *f = file_new(opt);
	if (f == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	tn_code code = path != NULL ? open_path(f, path, opt, err) : part_open_memory(&f->first, bytes, opt, err);
	if (code == TN_OK && path == NULL)
		code = set_merge(f, NULL, opt, NULL, err);
	if (code == TN_OK)
		*out = f;
	else
		tn_close(f);
	return code;
}

tn_code tn_open(tn_file **out, const char *path, const tn_open_options *opt, tn_error *err)
{
	CALL_BEGIN(err);
	*out = NULL;
	if (path == NULL)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "no path given");
	return open_either(out, path, (tn_view){ NULL, 0 }, opt != NULL ? opt : &defaults, err);
}

tn_code tn_open_memory(tn_file **out, tn_view bytes, const tn_open_options *opt, tn_error *err)
{
	CALL_BEGIN(err);
	*out = NULL;
	return open_either(out, NULL, bytes, opt != NULL ? opt : &defaults, err);
}
