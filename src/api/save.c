/* save.c - plan, open the output, stream, seal, commit; or leave nothing behind. */
#include "api/save.h"

#include "api/call.h"
#include "api/inputs.h"
#include "api/loss.h"
#include "api/path.h"
#include "io/tensor_read.h"
#include "sys/cpu.h"

/* ---- Planning ---- */

/* A tensor that its file names and has no bytes of is no reason to ask the system for as much room as the file says that it
 * takes: reading none of it says what is wrong. */
static tn_code refuse_absent(const struct save *s)
{
	for (uint64_t i = 0; i < s->plan.n; i++) {
		const struct source *from = span_is_tensor(&s->plan.spans[i]) ? &s->sources[s->plan.spans[i].tensor] : NULL;
		if (from != NULL && from->kind == SOURCE_TENSOR && from->tensor->enc == ENC_NONE &&
		    tensor_read(from->from, from->tensor, 0, NULL, 0, s->err) != TN_OK)
			return s->err->code;
	}
	return TN_OK;
}

/* What the option asks for, as far as the machine has it. */
static unsigned threads_of(const tn_write_options *opt)
{
	return opt->work.threads != 0 ? opt->work.threads : sys_cpu_count();
}

static tn_code plan_once(struct save *s)
{
	const tn_write_options *opt = s->options;
	plan_init(&s->plan, &s->mem);
	s->plan.threads = threads_of(opt);
	report_fini(s->report);
	report_init(s->report);
	if (s->origin != NULL && !s->told)
		loss_of_opening(s->origin, opt->allow_loss, s->report);
	s->job = (struct plan_job){
		.model = s->model, .rewrite = s->rewrite, .converted = s->converted,
		.bare = s->rewrite && s->origin != NULL && s->origin->bare,
		.allow_loss = opt->allow_loss, .carry = opt->carry, .recarry = s->recarry, .no_envelope = opt->no_envelope,
		.keep_unknown = opt->keep_unknown, .endian = opt->endian, .align = opt->align,
		.slack = opt->slack, .fit = s->fit, .compress = opt->compress, .sources = s->sources, .packed = s->packed,
		.mem = &s->mem, .plan = &s->plan, .report = s->report, .err = s->err,
	};
	if (opt->endian == TN_ENDIAN_BIG && (s->format->caps & CAP_BIG_ENDIAN) == 0)
		return err_set(s->err, TN_E_USAGE, TN_NO_OFFSET, "%s has no big-endian files", s->format->name);
	if (opt->slack != 0 && (s->format->caps & CAP_SLACK) == 0)
		report_add(s->report, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR, "%s: the format has no room to leave", s->format->name);
	if (s->format->plan(&s->job) != TN_OK || plan_ok(&s->plan, s->err) != TN_OK)
		return s->err->code;
	if (s->report->failed)
		return err_set(s->err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for findings");
	return loss_refuse(s->report, s->err) == TN_OK ? refuse_absent(s) : s->err->code;
}

static unsigned element_width(tn_dtype d)
{
	const struct dtype_info *info = dtype_info(d);
	bool planes = info->class == DTYPE_PLAIN && (info->bits == 16 || info->bits == 32 || info->bits == 64);
	return planes ? info->bits / 8u : 0;
}

/* What compression makes of each tensor. */
static tn_code measure(struct save *s)
{
	const struct model *m = s->model;
	struct arena *mem = s->keep != NULL ? s->keep : &s->mem;
	enum block_codec codec = s->options->compress == TN_COMPRESS_LZ4 ? BLOCKS_LZ4 : BLOCKS_ZSTD;
	struct packing *packed = ARENA_NEW(mem, m->n, struct packing);
	if (packed == NULL)
		return arena_err(mem, s->err, "the tensor table");
	for (uint64_t i = 0; i < m->n; i++) {
		if (!source_repeats(&s->sources[i]))
			continue;
		if (blocks_measure(&s->sources[i], codec, element_width(m->tensors[i].dtype), threads_of(s->options), mem,
		                   &packed[i], s->err) != TN_OK) {
			err_prefix(s->err, "tensor '%s'", ESC(m->tensors[i].name));
			return s->err->code;
		}
	}
	s->packed = packed;
	return TN_OK;
}

/* Losses are found before the work of compressing begins. */
tn_code save_begin(struct save *s)
{
	arena_init(&s->mem, limit_or(s->options->max_memory, DEFAULT_MEMORY));
	plan_init(&s->plan, &s->mem);
	if (s->options->compress != TN_COMPRESS_NONE && (s->format->caps & CAP_BLOCKS) == 0)
		return err_set(s->err, TN_E_USAGE, TN_NO_OFFSET, "%s cannot hold compressed tensors", s->format->name);
	if (plan_once(s) != TN_OK || s->options->compress == TN_COMPRESS_NONE || s->packed != NULL)
		return s->err->code;
	return measure(s) == TN_OK ? plan_once(s) : s->err->code;
}

void save_end(struct save *s) { arena_fini(&s->mem); }

/* ---- Writing ---- */

static void stream(const struct plan_out *o, struct sink *out)
{
	out->progress = o->options->work.progress;
	out->progress_ctx = o->options->work.ctx;
	out->total = o->plan->size;
	if (plan_run(o->plan, o->sources, o->tensors, out) == TN_OK && o->seal != NULL)
		o->seal(o->ctx, out);
	sink_flush(out);
}

static tn_code plan_write(const struct plan_out *o, const char *path, uint64_t room, struct sys_out *out)
{
	const tn_write_options *opt = o->options;
	struct inputs in = { NULL, 0 }; /* that could be lost */
	struct sink sink;
	if ((o->origin != NULL && inputs_spare_set(o->origin, path, o->err) != TN_OK) ||
	    (opt->in_place && inputs_find(&in, o->plan, o->sources, o->origin, o->mem, o->err) != TN_OK) ||
	    sys_out_open(out, path, opt->in_place, !opt->no_sync, room, in.files, in.n, o->err) != TN_OK)
		return o->err->code;
	if (sink_init(&sink, out, o->err) == TN_OK) {
		stream(o, &sink);
		sink_fini(&sink);
	}
	if (o->err->code != TN_OK)
		sys_out_abandon(out);
	return o->err->code;
}

tn_code plan_to_path(const struct plan_out *o, const char *path)
{
	struct sys_out out;
	tn_code code = plan_write(o, path, o->plan->size, &out);
	return code == TN_OK ? sys_out_commit(&out, o->err) : code;
}

/* What is wrong with what was read is known now. */
static tn_code seal(void *ctx, struct sink *out)
{
	struct save *s = ctx;
	if (footers_check(s->footers, s->options->allow_loss, &s->mem, s->report, s->err) != TN_OK || s->format->seal == NULL)
		return s->err->code;
	return s->format->seal(&s->job, out);
}

static struct plan_out plan_of(struct save *s)
{
	return (struct plan_out){
		.plan = &s->plan, .sources = s->sources, .origin = s->origin, .tensors = s->model->tensors,
		.options = s->options, .seal = seal, .ctx = s, .mem = &s->mem, .err = s->err,
	};
}

void save_stream(struct save *s, struct sink *out)
{
	struct plan_out plan = plan_of(s);
	stream(&plan, out);
}

tn_code save_write(struct save *s, const char *path, uint64_t room, struct sys_out *out)
{
	struct plan_out plan = plan_of(s);
	return plan_write(&plan, path, room, out);
}

tn_code save_to_path(struct save *s, const char *path)
{
	struct plan_out out = plan_of(s);
	if (!s->options->exact_path && (path = path_with_extension(&s->mem, s->format, path)) == NULL)
		return arena_err(&s->mem, s->err, "a path");
	return plan_to_path(&out, path);
}

tn_code save_to_memory(struct save *s, void *buf, uint64_t cap)
{
	struct plan_out out = plan_of(s);
	struct sink sink;
	if (s->plan.size > cap)
		return err_set(s->err, TN_E_USAGE, TN_NO_OFFSET, "the buffer has %llu bytes, the file takes %llu",
		               (unsigned long long)cap, (unsigned long long)s->plan.size);
	sink_init_memory(&sink, buf, cap, s->err);
	stream(&out, &sink);
	sink_fini(&sink);
	return s->err->code;
}
