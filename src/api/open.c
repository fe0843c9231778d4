/* open.c - from a path or bytes to an open file: find the bytes, detect, parse, check, restore. */
#include "api/call.h"
#include "api/file.h"
#include "api/path.h"
#include "base/mem.h"
#include "base/num.h"

#include <string.h>

enum {
	FIRST_READ = 64 * 1024 /* most headers of small models; longer ones say how long they are */
};

static const tn_open_options defaults;

static tn_file *new_file(const tn_open_options *opt)
{
	tn_file *f = mem_alloc(sizeof *f);
	if (f == NULL)
		return NULL;
	memset(f, 0, sizeof *f);
	f->file.fd = f->file.direct_fd = -1;
	arena_init(&f->mem, limit_or(opt->limits.max_memory, DEFAULT_MEMORY));
	report_init(&f->report);
	return f;
}

void tn_close(tn_file *f)
{
	if (f == NULL)
		return;
	report_fini(&f->report);
	arena_fini(&f->mem);
	mem_free(f->head);
	sys_file_close(&f->file);
	mem_free(f);
}

/* ---- The first bytes ---- */

/* Where there is no map: reads the first n bytes anew. What was parsed from shorter ones is forgotten. */
static tn_code read_head(tn_file *f, uint64_t n, tn_view *out, tn_error *err)
{
	if (n > f->mem.budget)
		return err_set(err, TN_E_LIMIT, TN_NO_OFFSET, "header and index take %llu bytes, the memory limit is %llu",
		               (unsigned long long)n, (unsigned long long)f->mem.budget);
	mem_free(f->head);
	f->head = mem_alloc((size_t)n);
	if (f->head == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for the first %llu bytes", (unsigned long long)n);
	*out = (tn_view){ f->head, (size_t)n };
	return reader_read(&f->reader, 0, f->head, (size_t)n, err);
}

static tn_code first_bytes(tn_file *f, tn_view *out, tn_error *err)
{
	if (f->reader.map.ptr != NULL || f->reader.size == 0) {
		*out = f->reader.map;
		return TN_OK;
	}
	return read_head(f, min_u64(f->reader.size, FIRST_READ), out, err);
}

/* ---- Format and model ---- */

static tn_code choose_format(tn_file *f, tn_view head, const char *path, const tn_open_options *opt, tn_error *err)
{
	if (opt->format == NULL)
		f->format = format_detect(head, f->reader.size, path, err);
	else if ((f->format = format_named(opt->format)) == NULL)
		err_set(err, TN_E_NOTFOUND, TN_NO_OFFSET, "there is no format '%s'", ESC(tn_text(opt->format)));
	return f->format != NULL ? TN_OK : err->code;
}

static tn_code parse_once(tn_file *f, tn_view head, const tn_open_options *opt, struct parse_job *job, tn_error *err)
{
	if (!model_init(&f->model, &f->mem))
		return arena_err(&f->mem, err, "the model");
	*job = (struct parse_job){
		.file = head, .size = f->reader.size, .in_memory = f->reader.file == NULL, .limits = &opt->limits,
		.mem = &f->mem, .model = &f->model, .report = &f->report,
		.check = { UINT64_MAX, UINT64_MAX }, .err = err,
	};
	return f->format->parse(job);
}

/* Parses; where more of the file is asked for than was read, reads that much and begins again. */
static tn_code parse(tn_file *f, tn_view head, const tn_open_options *opt, struct parse_job *job, tn_error *err)
{
	for (;;) {
		tn_code code = parse_once(f, head, opt, job, err);
		bool more = code == TN_E_TRUNCATED && job->need > head.len && job->need <= f->reader.size;
		if (!more)
			return code;
		uint64_t budget = f->mem.budget;
		arena_fini(&f->mem);
		arena_init(&f->mem, budget);
		report_fini(&f->report);
		report_init(&f->report);
		err_clear(err);
		if (read_head(f, job->need, &head, err) != TN_OK)
			return err->code;
	}
}

static tn_code index_names(tn_file *f, tn_error *err)
{
	uint64_t other;
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
	if (!f->enveloped)
		return TN_OK;
	meta_remove(f->model.metadata, key);
	return index_names(f, err);
}

static tn_code build(tn_file *f, const char *path, const tn_open_options *opt, tn_error *err)
{
	struct parse_job job;
	tn_view head;
	tn_code code = first_bytes(f, &head, err);
	if (code == TN_OK)
		code = choose_format(f, head, path, opt, err);
	if (code == TN_OK)
		code = parse(f, head, opt, &job, err);
	if (code == TN_OK)
		code = model_check(&f->model, f->format->name, f->reader.size, &job.check, &f->mem, &f->names, err);
	if (code == TN_OK && !opt->ignore_envelope)
		code = restore(f, err);
	if (code == TN_OK && f->report.failed)
		code = err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for findings");
	return code;
}

/* Hands the file over, or takes it down. */
static tn_code finish(tn_file *f, tn_code code, tn_file **out)
{
	if (code == TN_OK)
		*out = f;
	else
		tn_close(f);
	return code;
}

/* ---- Entry points ---- */

/* "model" where only "model.bpk" exists. */
static tn_code resolve(tn_file *f, const char **path, tn_error *err)
{
	if (path_extension(*path) != NULL || sys_file_exists(*path))
		return TN_OK;
	for (size_t i = 0; i < format_count; i++) {
		const char *longer = path_with_extension(&f->mem, formats[i], *path);
		if (longer == NULL)
			return arena_err(&f->mem, err, "a path");
		if (longer != *path && sys_file_exists(longer)) {
			*path = longer;
			return TN_OK;
		}
	}
	return TN_OK;
}

static tn_code open_path(tn_file *f, const char *path, const tn_open_options *opt, tn_error *err)
{
	if (resolve(f, &path, err) != TN_OK || sys_file_open(&f->file, path, opt->io, err) != TN_OK)
		return err->code;
	f->reader = (struct reader){ .map = f->file.map, .file = &f->file, .size = f->file.size };
	return build(f, path, opt, err);
}

tn_code tn_open(tn_file **out, const char *path, const tn_open_options *opt, tn_error *err)
{
	CALL_BEGIN(err);
	*out = NULL;
	if (path == NULL)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "no path given");
	if (opt == NULL)
		opt = &defaults;
	tn_file *f = new_file(opt);
	if (f == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	return finish(f, open_path(f, path, opt, err), out);
}

tn_code tn_open_memory(tn_file **out, tn_view bytes, const tn_open_options *opt, tn_error *err)
{
	CALL_BEGIN(err);
	*out = NULL;
	if (opt == NULL)
		opt = &defaults;
	tn_file *f = new_file(opt);
	if (f == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	f->reader = (struct reader){ .map = bytes, .size = bytes.len };
	return finish(f, build(f, NULL, opt, err), out);
}
