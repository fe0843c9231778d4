/* convert.c - an open file into another, through the model and a plan. */
#include "api/call.h"
#include "api/checkpoint.h"
#include "api/inputs.h"
#include "api/path.h"
#include "api/resume.h"
#include "api/save.h"
#include "api/set.h"
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

static tn_code select_tensors(const tn_file *f, const tn_convert_options *opt, struct arena *a, struct selection *out,
                              tn_error *err)
{
	struct tensor *t = arena_raw(a, f->model.n, sizeof *t);
	const struct tensor **stored = arena_raw(a, f->model.n, sizeof *stored);
	struct source *s = arena_raw(a, f->model.n, sizeof *s);
	uint64_t n = 0;
	if (t == NULL || stored == NULL || s == NULL)
		return arena_err(a, err, "the tensor list");
	for (uint64_t i = 0; i < f->model.n; i++) {
		if (!keeps(opt, f, (size_t)i))
			continue;
		if (f->model.tensors[i].missing)
			return err_set(err, TN_E_TRUNCATED, TN_NO_OFFSET, "tensor '%s' has not arrived whole",
			               ESC(f->model.tensors[i].name));
		t[n] = f->model.tensors[i];
		stored[n] = &f->model.tensors[i];
		s[n++] = source_of(f, &f->model.tensors[i]);
	}
	*out = (struct selection){ .model = f->model, .sources = s, .stored = stored };
	out->model.tensors = t;
	out->model.n = n;
	return TN_OK;
}

static tn_code cast_tensors(const tn_convert_options *opt, struct arena *a, struct selection *s, struct tn_report *report,
                            tn_error *err)
{
	struct cast_rules rules = { opt->dtype, opt->quantize };
	if (cast_check(&rules, err) != TN_OK)
		return err->code;
	for (uint64_t i = 0; i < s->model.n; i++) {
		struct tensor *t = &s->model.tensors[i];
		tn_dtype to = cast_target(&rules, t);
		if (to != t->dtype && cast_tensor(t, &s->sources[i], to, a, report, err) != TN_OK)
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

static tn_code write_out(struct save *s, const char *path, const tn_convert_options *opt, tn_converted *out)
{
	if (save_begin(s) == TN_OK) {
		out->size = s->plan.size;
		out->tensors = s->model->n;
		if (!opt->dry_run && opt->resume)
			save_resumable(s, path);
		else if (!opt->dry_run)
			save_to_path(s, path);
	}
	save_end(s);
	return s->err->code;
}

/* Where the digests of a checkpoint are kept while the conversion is not finished; NULL in *out: nowhere. */
static tn_code plan_file(const struct format *format, const char *path, const tn_convert_options *opt, struct arena *mem,
                         const char **out, tn_error *err)
{
	*out = NULL;
	if (!opt->resume || opt->dry_run)
		return TN_OK;
	if (opt->write.in_place)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "a file that is written in place cannot be resumed");
	return resume_plan_path(format, path, &opt->write, mem, out, err);
}

/* What is to be written. *config is the config.json that it follows, or NULL. */
static tn_code choose(const tn_file *f, const struct format *format, const char *path, const tn_convert_options *opt,
                      struct arena *mem, struct selection *s, const char **config, struct tn_report *said,
                      struct tn_report *report, tn_error *err)
{
	const char *digests;
	if (plan_file(format, path, opt, mem, &digests, err) != TN_OK ||
	    checkpoint_config(f, format, opt, mem, config, err) != TN_OK || select_tensors(f, opt, mem, s, err) != TN_OK ||
	    footers_watch(f, s->sources, s->model.n, mem, &s->footers, err) != TN_OK || cast_tensors(opt, mem, s, report, err) != TN_OK)
		return err->code;
	if (*config != NULL && checkpoint_apply(f, format, opt, *config, digests, mem, s, said, err) != TN_OK)
		return err->code;
	if (said->failed)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for findings");
	return set_metadata(opt, mem, &s->model, err);
}

static tn_code convert(const tn_file *f, const struct format *format, const char *path, const tn_convert_options *opt,
                       tn_converted *out, tn_error *err)
{
	struct selection chosen;
	struct tn_report said; /* before the plan, which begins its own */
	struct arena mem;
	const char *config;
	arena_init(&mem, limit_or(opt->write.max_memory, DEFAULT_MEMORY));
	report_init(&said);
	if (inputs_spare_set(f, path, err) == TN_OK &&
	    choose(f, format, path, opt, &mem, &chosen, &config, &said, out->report, err) == TN_OK) {
		bool same = format == f->format && config == NULL, cast = opt->dtype != TN_OPAQUE || opt->quantize != TN_OPAQUE;
		tn_write_options write = opt->write;
		/* what it holds was carried into it before, unless it is new */
		write.carry = write.carry || (same && f->enveloped && !cast);
		struct save s = {
			.format = format, .model = &chosen.model, .sources = chosen.sources, .origin = f, .options = &write,
			.footers = chosen.footers, .rewrite = same && !f->enveloped, .converted = !same || f->enveloped, .report = out->report,
			.err = err,
		};
		set_tell_shard(format, &chosen.model, path, &said);
		write_out(&s, path, opt, out);
	}
	report_copy(&said, out->report);
	report_fini(out->report);
	*out->report = said;
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
