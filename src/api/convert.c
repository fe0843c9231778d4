/* convert.c - an open file into another, through the model and a plan. */
#include "api/call.h"
#include "api/file.h"
#include "api/path.h"
#include "api/save.h"
#include "base/mem.h"
#include "io/cast.h"

#include <string.h>

static const struct format *target_format(const tn_convert_options *opt, const char *path, tn_error *err)
{
	const struct format *f;
	const char *ext = path_extension(path);
	if (opt->format != NULL) {
		if ((f = format_named(opt->format)) == NULL)
			err_set(err, TN_E_NOTFOUND, TN_NO_OFFSET, "there is no format '%s'", ESC(tn_text(opt->format)));
	} else if (ext == NULL || (f = format_for_extension(ext)) == NULL) {
		err_set(err, TN_E_USAGE, TN_NO_OFFSET, "the name '%s' says no format: name one", ESC(tn_text(path)));
		return NULL;
	}
	if (f != NULL && f->plan == NULL) {
		err_set(err, TN_E_UNSUPPORTED, TN_NO_OFFSET, "%s cannot be written", f->name);
		return NULL;
	}
	return f;
}

/* ---- The model to write: a selection of the file's, with other metadata ---- */

static bool keeps(const tn_convert_options *opt, const tn_file *f, size_t i)
{
	if (opt->select == NULL)
		return true;
	tn_tensor t = tn_tensor_at(f, i);
	return opt->select(opt->select_ctx, &t);
}

static tn_code select_tensors(const tn_file *f, const tn_convert_options *opt, struct arena *a, struct model *m,
                              struct source **sources, tn_error *err)
{
	struct tensor *t = arena_raw(a, f->model.n, sizeof *t);
	struct source *s = t != NULL ? arena_raw(a, f->model.n, sizeof *s) : NULL;
	uint64_t n = 0;
	if (s == NULL)
		return arena_err(a, err, "the tensor list");
	for (uint64_t i = 0; i < f->model.n; i++) {
		if (!keeps(opt, f, (size_t)i))
			continue;
		t[n] = f->model.tensors[i];
		s[n++] = source_of(f, &f->model.tensors[i]);
	}
	m->tensors = t;
	m->n = n;
	*sources = s;
	return TN_OK;
}

static tn_code cast_tensors(const tn_convert_options *opt, struct arena *a, struct model *m, struct source *sources,
                            struct tn_report *report, tn_error *err)
{
	struct cast_rules rules = { opt->dtype, opt->quantize };
	if (cast_check(&rules, err) != TN_OK)
		return err->code;
	for (uint64_t i = 0; i < m->n; i++) {
		tn_dtype to = cast_target(&rules, &m->tensors[i]);
		if (to != m->tensors[i].dtype && cast_tensor(&m->tensors[i], &sources[i], to, a, report, err) != TN_OK)
			return err->code;
	}
	return TN_OK;
}

static tn_code set_metadata(const tn_convert_options *opt, struct arena *a, struct model *m, tn_error *err)
{
	if (opt->set == NULL || opt->set[0] == NULL)
		return TN_OK;
	m->metadata = meta_clone(a, m->metadata, false);
	for (const char *const *p = opt->set; m->metadata != NULL && p[0] != NULL && p[1] != NULL; p += 2) {
		struct tn_meta *node = meta_new(a, TN_META_STRING);
		if (node == NULL)
			return arena_err(a, err, "metadata");
		node->as.s = tn_text(p[1]);
		meta_set(m->metadata, tn_text(p[0]), node);
	}
	return m->metadata != NULL ? TN_OK : arena_err(a, err, "metadata");
}

/* ---- The conversion ---- */

static tn_code write_out(struct save *s, const char *path, bool dry_run, tn_converted *out)
{
	if (save_begin(s) == TN_OK) {
		out->size = s->plan.size;
		out->tensors = s->model->n;
		if (!dry_run)
			save_to_path(s, path);
	}
	save_end(s);
	return s->err->code;
}

/* A model of one file may take the place of that file; a file of a set is needed as long as the others are. */
static tn_code spare_set(const tn_file *f, const char *path, tn_error *err)
{
	struct sys_file target;
	tn_error absent = { .code = TN_OK };
	if (f->n_parts < 2 || sys_file_open(&target, path, TN_IO_PREAD, &absent) != TN_OK)
		return TN_OK;
	sys_file_close(&target);
	for (size_t i = 0; i < f->n_parts; i++)
		if (f->parts[i].file.dev == target.dev && f->parts[i].file.ino == target.ino)
			return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "%s: the output is a file of the set that is read", ESC(tn_text(path)));
	return TN_OK;
}

static tn_code convert(const tn_file *f, const struct format *format, const char *path, const tn_convert_options *opt,
                       tn_converted *out, tn_error *err)
{
	struct model model = f->model;
	struct source *sources = NULL;
	struct arena mem;
	arena_init(&mem, limit_or(opt->write.max_memory, DEFAULT_MEMORY));
	if (spare_set(f, path, err) == TN_OK && select_tensors(f, opt, &mem, &model, &sources, err) == TN_OK &&
	    cast_tensors(opt, &mem, &model, sources, out->report, err) == TN_OK &&
	    set_metadata(opt, &mem, &model, err) == TN_OK) {
		bool same = format == f->format, cast = opt->dtype != TN_OPAQUE || opt->quantize != TN_OPAQUE;
		tn_write_options write = opt->write;
		/* what it holds was carried into it before, unless it is new */
		write.carry = write.carry || (same && f->enveloped && !cast);
		struct save s = {
			.format = format, .model = &model, .sources = sources, .options = &write,
			.rewrite = same && !f->enveloped, .converted = !same || f->enveloped, .report = out->report,
			.err = err,
		};
		write_out(&s, path, opt->dry_run, out);
	}
	arena_fini(&mem);
	return err->code;
}

tn_code tn_convert(const tn_file *f, const char *path, const tn_convert_options *opt, tn_converted *out, tn_error *err)
{
	static const tn_convert_options defaults;
	CALL_BEGIN(err);
	tn_converted result = { .report = NULL };
	if (opt == NULL)
		opt = &defaults;
	if (path == NULL) {
		err_set(err, TN_E_USAGE, TN_NO_OFFSET, "no path given");
	} else {
		const struct format *format = target_format(opt, path, err);
		if (format != NULL && (result.report = mem_alloc(sizeof *result.report)) == NULL)
			err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
		if (result.report != NULL) {
			report_init(result.report);
			convert(f, format, path, opt, &result, err);
		}
	}
	if (out != NULL)
		*out = result;
	else
		tn_report_free(result.report);
	return err->code;
}
