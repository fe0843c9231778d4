/* open.c - from a path or bytes to an open file: its part, and the model that was put into it. */
#include "api/call.h"
#include "api/file.h"
#include "base/mem.h"

#include <string.h>

static const tn_open_options defaults;

static tn_file *new_file(const tn_open_options *opt)
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

/* Unless an envelope moved the tensors, the index is that of the only part. */
static tn_code index_names(tn_file *f, tn_error *err)
{
	uint64_t other;
	f->names = f->first.names;
	if (!f->enveloped)
		return TN_OK;
	f->model.by_name = NULL;
	if (!strmap_init(&f->names, &f->mem, f->model.n))
		return arena_err(&f->mem, err, "the name index");
	for (uint64_t i = 0; i < f->model.n; i++)
		strmap_add(&f->names, model_name_at, &f->model, i, &other);
	return TN_OK;
}

/* The envelope speaks only after the container has been found sound by itself. */
static tn_code restore(tn_file *f, tn_error *err)
{
	tn_view key = tn_text(f->format->envelope_key);
	const struct tn_meta *node = meta_find(f->model.metadata, key);
	tn_view text;
	if (key.len == 0 || !tn_meta_string(node, &text))
		return TN_OK;
	if (envelope_apply(&f->model, text, &f->mem, &f->report, &f->enveloped, err) != TN_OK)
		return err->code;
	if (f->enveloped)
		meta_remove(f->model.metadata, key);
	return TN_OK;
}

/* Takes the only part's model for the whole. */
static tn_code finish(tn_file *f, const tn_open_options *opt, tn_error *err)
{
	f->format = f->first.format;
	f->model = f->first.model;
	report_copy(&f->report, &f->first.report);
	if (!opt->ignore_envelope && restore(f, err) != TN_OK)
		return err->code;
	if (f->report.failed)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for findings");
	return index_names(f, err);
}

/* path of NULL: the bytes. */
static tn_code open_either(tn_file **out, const char *path, tn_view bytes, const tn_open_options *opt, tn_error *err)
{
	tn_file *f = new_file(opt);
	if (f == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	tn_code code = path != NULL ? part_open(&f->first, path, opt, err) : part_open_memory(&f->first, bytes, opt, err);
	if (code == TN_OK)
		code = finish(f, opt, err);
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
