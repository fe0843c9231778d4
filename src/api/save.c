/* save.c - plan, open the output, stream, seal, commit; or leave nothing behind. */
#include "api/save.h"

#include "api/call.h"
#include "api/path.h"

/* ---- Planning ---- */

static tn_code refuse_losses(struct save *s)
{
	if (s->report->of[TN_ERROR] == 0)
		return TN_OK;
	for (size_t i = 0; i < s->report->n; i++) {
		const tn_finding *f = &s->report->list[i];
		if (f->severity != TN_ERROR)
			continue;
		if (s->report->of[TN_ERROR] == 1)
			return err_set(s->err, TN_E_LOSSY, TN_NO_OFFSET, "%s", f->text);
		return err_set(s->err, TN_E_LOSSY, TN_NO_OFFSET, "%s (and %zu more losses)", f->text,
		               s->report->of[TN_ERROR] - 1);
	}
	return err_set(s->err, TN_E_LOSSY, TN_NO_OFFSET, "%zu losses", s->report->of[TN_ERROR]);
}

tn_code save_begin(struct save *s)
{
	const tn_write_options *opt = s->options;
	arena_init(&s->mem, limit_or(opt->max_memory, DEFAULT_MEMORY));
	plan_init(&s->plan, &s->mem);
	report_fini(s->report);
	report_init(s->report);
	s->job = (struct plan_job){
		.model = s->model, .rewrite = s->rewrite, .converted = s->converted,
		.allow_loss = opt->allow_loss, .carry = opt->carry, .no_envelope = opt->no_envelope,
		.keep_unknown = opt->keep_unknown, .align = opt->align,
		.mem = &s->mem, .plan = &s->plan, .report = s->report, .err = s->err,
	};
	if (s->format->plan(&s->job) != TN_OK || plan_ok(&s->plan, s->err) != TN_OK)
		return s->err->code;
	if (s->report->failed)
		return err_set(s->err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for findings");
	return refuse_losses(s);
}

void save_end(struct save *s) { arena_fini(&s->mem); }

/* ---- Writing ---- */

void save_stream(struct save *s, struct sink *out)
{
	out->progress = s->options->work.progress;
	out->progress_ctx = s->options->work.ctx;
	out->total = s->plan.size;
	if (plan_run(&s->plan, s->sources, s->model->tensors, out) == TN_OK && s->format->seal != NULL)
		s->format->seal(&s->job, out);
	sink_flush(out);
}

/* Files that tensors are read from, each once where it is used for tensors in a row. */
struct inputs {
	const struct sys_file **files;
	size_t                  n;
};

static void add_input(struct inputs *in, const struct sys_file *file)
{
	if (file != NULL && (in->n == 0 || in->files[in->n - 1] != file))
		in->files[in->n++] = file;
}

/* A path is looked up for its identity only: it is opened again when its bytes are wanted. */
static tn_code add_path(struct save *s, struct inputs *in, const char *path)
{
	struct sys_file *file = ARENA_NEW(&s->mem, 1, struct sys_file);
	if (file == NULL)
		return arena_err(&s->mem, s->err, "a path");
	if (sys_file_open(file, path, TN_IO_PREAD, s->err) != TN_OK) {
		err_prefix(s->err, "%s", ESC(tn_text(path)));
		return s->err->code;
	}
	sys_file_close(file);
	add_input(in, file);
	return TN_OK;
}

/* Only a target that is truncated can be an input that is lost. */
static tn_code find_inputs(struct save *s, struct inputs *in)
{
	if (!s->options->in_place)
		return TN_OK;
	in->files = arena_raw(&s->mem, s->model->n, sizeof *in->files);
	if (in->files == NULL)
		return arena_err(&s->mem, s->err, "the list of inputs");
	for (uint64_t i = 0; i < s->model->n; i++) {
		const struct source *from = &s->sources[i];
		if (from->from != NULL)
			add_input(in, from->from->file);
		else if (from->kind == SOURCE_PATH && add_path(s, in, from->path) != TN_OK)
			return s->err->code;
	}
	return TN_OK;
}

tn_code save_write(struct save *s, const char *path, uint64_t room, struct sys_out *out)
{
	const tn_write_options *opt = s->options;
	struct inputs in = { NULL, 0 };
	struct sink sink;
	if (find_inputs(s, &in) != TN_OK ||
	    sys_out_open(out, path, opt->in_place, !opt->no_sync, room, in.files, in.n, s->err) != TN_OK)
		return s->err->code;
	if (sink_init(&sink, out, s->err) == TN_OK) {
		save_stream(s, &sink);
		sink_fini(&sink);
	}
	if (s->err->code != TN_OK)
		sys_out_abandon(out);
	return s->err->code;
}

tn_code save_to_path(struct save *s, const char *path)
{
	struct sys_out out;
	if (!s->options->exact_path && (path = path_with_extension(&s->mem, s->format, path)) == NULL)
		return arena_err(&s->mem, s->err, "a path");
	tn_code code = save_write(s, path, s->plan.size, &out);
	return code == TN_OK ? sys_out_commit(&out, s->err) : code;
}

tn_code save_to_memory(struct save *s, void *buf, uint64_t cap)
{
	struct sink sink;
	if (s->plan.size > cap)
		return err_set(s->err, TN_E_USAGE, TN_NO_OFFSET, "the buffer has %llu bytes, the file takes %llu",
		               (unsigned long long)cap, (unsigned long long)s->plan.size);
	sink_init_memory(&sink, buf, cap, s->err);
	save_stream(s, &sink);
	sink_fini(&sink);
	return s->err->code;
}
