/* split.c - one model into several files.
 *
 * Every shard is planned before the first is written, so that a loss, a name that is taken or a full disk is found while
 * there is nothing to undo. A plan is not kept, since all together may take many times the memory of the model: each shard is planned
 * again when it is written. All are written under temporary names and take their own one after the other, the index
 * last: whoever finds an index finds all that it names. */
#include "api/call.h"
#include "api/cut.h"
#include "api/loss.h"
#include "api/save.h"
#include "api/set.h"
#include "base/mem.h"
#include "base/num.h"

#include <stdlib.h>
#include <string.h>

struct shard {
	uint64_t              first, n; /* tensors of the model */
	const struct packing *packed;   /* what compression makes of them; NULL: nothing */
	const char           *path;
	struct sys_out        out;
	bool                  written;
	tn_view              *tensors;  /* what the plan writes */
	uint64_t              n_tensors, data;
};

/* The plan of one shard. */
struct shard_plan {
	struct arena     mem;    /* of its model */
	struct model     model;
	struct tn_report said;   /* of making it that */
	struct tn_report report; /* of planning it */
	tn_write_options options;
	struct save      save;
};

struct tn_shards {
	struct arena     mem;
	struct tn_report report;
	tn_shard        *list;
	size_t           n;
	const char      *index;
};

struct split {
	const tn_file          *f;
	const struct format    *format;
	const tn_split_options *opt;
	const char             *folder, *stem;
	tn_shards              *out;
	struct source          *sources;
	struct footers         *footers;
	struct shard           *shards;
	uint64_t                n;
	tn_write_options        write;
	uint64_t                data;         /* bytes of all tensors */
	uint64_t                done, total;  /* bytes, for progress */
	tn_view                 index;
	const char             *index_path;
	tn_error               *err;
};

static tn_code no_memory(struct split *s) { return arena_err(&s->out->mem, s->err, "the shards"); }

/* ---- Names ---- */

static bool stem_ok(const char *stem)
{
	struct series ignored;
	char name[300];
	size_t n = strlen(stem);
	if (set_name_fault(tn_text(stem)) != NULL || stem[0] == '.' || n > 200)
		return false;
	memcpy(name, stem, n);
	memcpy(name + n, ".x", 3);
	return !series_parse(tn_text(name), &ignored); /* loaders would take the wrong numbers */
}

static const char *extension(const struct split *s)
{
	return arena_printf(&s->out->mem, "%.*s", (int)strcspn(s->format->exts, ","), s->format->exts);
}

static tn_code name_shards(struct split *s)
{
	struct arena *mem = &s->out->mem;
	const char *ext = extension(s), *slash = s->folder[strlen(s->folder) - 1] == '/' ? "" : "/";
	if (ext == NULL)
		return no_memory(s);
	for (uint64_t k = 0; k < s->n; k++) {
		tn_shard *shard = &s->out->list[k];
		shard->name = s->n == 1 ? arena_printf(mem, "%s.%s", s->stem, ext)
		            : arena_printf(mem, "%s-%05llu-of-%05llu.%s", s->stem, (unsigned long long)k + s->format->shards->first,
		                           (unsigned long long)s->n, ext);
		s->shards[k].path = shard->name != NULL ? arena_printf(mem, "%s%s%s", s->folder, slash, shard->name) : NULL;
		if (s->shards[k].path == NULL)
			return no_memory(s);
	}
	if (s->n == 1 || s->format->shards->index_suffix == NULL)
		return TN_OK;
	s->out->index = arena_printf(mem, "%s%s", s->stem, s->format->shards->index_suffix);
	s->index_path = s->out->index != NULL ? arena_printf(mem, "%s%s%s", s->folder, slash, s->out->index) : NULL;
	return s->index_path != NULL ? TN_OK : no_memory(s);
}

static bool is_taken(const struct split *s, const char *name)
{
	struct series series;
	tn_view v = tn_text(name);
	if (series_parse(v, &series) && view_is(series.stem, s->stem) && format_for_extension((const char *)series.ext.ptr) == s->format)
		return true;
	return (s->n == 1 && strcmp(name, s->out->list[0].name) == 0) || (s->out->index != NULL && strcmp(name, s->out->index) == 0);
}

/* What is there already is never written over: half of an old set beside half of a new one is no model. */
static tn_code check_folder(struct split *s)
{
	struct sys_names names;
	if (!sys_file_exists(s->folder))
		return TN_OK;
	if (sys_folder_list(s->folder, &s->out->mem, &names, s->err) != TN_OK)
		return s->err->code;
	for (size_t i = 0; i < names.n; i++)
		if (is_taken(s, names.list[i]))
			return err_set(s->err, TN_E_USAGE, TN_NO_OFFSET, "the folder holds '%s' already", ESC(tn_text(names.list[i])));
	return TN_OK;
}

/* ---- Planning ---- */

static tn_code cut_model(struct split *s)
{
	const struct model *m = &s->f->model;
	struct arena *mem = &s->out->mem;
	struct cut_rule rule = { s->opt->max_size, s->opt->max_tensors, s->opt->even };
	if (rule.max_bytes == 0 && rule.max_tensors == 0)
		rule.max_bytes = UINT64_C(5000000000);
	uint64_t *starts = arena_raw(mem, m->n + 1, sizeof *starts);
	s->sources = arena_raw(mem, m->n, sizeof *s->sources);
	if (starts == NULL || s->sources == NULL)
		return no_memory(s);
	s->n = cut_shards(m->tensors, m->n, rule, starts);
	if (s->n > SHARDS_MAX)
		return err_set(s->err, TN_E_LIMIT, TN_NO_OFFSET, "this takes %llu shards, names have room for %d",
		               (unsigned long long)s->n, SHARDS_MAX);
	s->shards = arena_new(mem, s->n, sizeof *s->shards);
	s->out->list = arena_new(mem, s->n, sizeof *s->out->list);
	if (s->shards == NULL || s->out->list == NULL)
		return no_memory(s);
	for (uint64_t i = 0; i < m->n; i++) {
		s->sources[i] = source_of(s->f, &m->tensors[i]);
		if (m->tensors[i].missing)
			return err_set(s->err, TN_E_TRUNCATED, m->tensors[i].offset, "tensor '%s' has not arrived whole", ESC(m->tensors[i].name));
		if (!add_u64(s->data, m->tensors[i].nbytes, &s->data))
			return err_set(s->err, TN_E_LIMIT, TN_NO_OFFSET, "the tensors take more than 2^64 bytes");
	}
	if (footers_watch(s->f, s->sources, m->n, mem, &s->footers, s->err) != TN_OK)
		return s->err->code;
	for (uint64_t k = 0; k < s->n; k++) {
		uint64_t end = k + 1 < s->n ? starts[k + 1] : m->n;
		s->shards[k].first = starts[k];
		s->shards[k].n = end - starts[k];
	}
	return TN_OK;
}

/* Names and bytes of what the plan has of the shard's tensors: a loss that is allowed leaves some out. */
static tn_code list_written(struct split *s, uint64_t k, const struct shard_plan *p)
{
	struct shard *shard = &s->shards[k];
	const struct plan *plan = &p->save.plan;
	shard->packed = p->save.packed;
	shard->tensors = arena_raw(&s->out->mem, shard->n, sizeof *shard->tensors);
	if (shard->tensors == NULL)
		return no_memory(s);
	for (uint64_t i = 0; i < plan->n; i++) {
		if (!span_is_tensor(&plan->spans[i]))
			continue;
		const struct tensor *t = &p->model.tensors[plan->spans[i].tensor];
		shard->tensors[shard->n_tensors++] = t->name;
		shard->data += t->nbytes; /* the sum of all was taken when the model was cut */
	}
	s->out->list[k].size = plan->size;
	s->out->list[k].tensors = shard->n_tensors;
	s->total += plan->size;
	return TN_OK;
}

/* What the lists of all shards have left of the memory is for one plan at a time. */
static tn_code shard_begin(struct split *s, uint64_t k, struct shard_plan *p)
{
	const struct shard *shard = &s->shards[k];
	const struct model *m = &s->f->model;
	const struct arena *all = &s->out->mem;
	bool same = s->format == s->f->format;
	arena_init(&p->mem, max_u64(all->budget - min_u64(all->budget, all->used), 1));
	report_init(&p->said);
	report_init(&p->report);
	p->model = *m;
	p->model.tensors = m->n != 0 ? m->tensors + shard->first : NULL;
	p->model.n = shard->n;
	p->options = s->write;
	p->save = (struct save){
		.format = s->format, .model = &p->model, .sources = s->sources + shard->first, .origin = s->f, .told = true,
		.options = &p->options, .rewrite = same && !s->f->enveloped, .converted = !same || s->f->enveloped,
		.keep = &s->out->mem, .packed = shard->packed, .report = &p->report, .err = s->err,
	};
	struct shard_job job = {
		.model = &p->model, .place = { k, s->n, m->n }, .data = s->data, .mem = &p->mem, .report = &p->said, .err = s->err,
	};
	if (s->n > 1 && s->format->shards->make_shard(&job) != TN_OK)
		return s->err->code;
	p->options.max_memory = max_u64(p->mem.budget - p->mem.used, 1);
	return save_begin(&p->save);
}

static void shard_end(struct shard_plan *p)
{
	save_end(&p->save);
	report_fini(&p->said);
	report_fini(&p->report);
	arena_fini(&p->mem);
}

static void tell(struct split *s, uint64_t k, const struct tn_report *r)
{
	if (s->n == 1)
		report_copy(&s->out->report, r);
	else
		report_copy_as(&s->out->report, r, s->out->list[k].name);
}

static tn_code plan_shard(struct split *s, uint64_t k)
{
	struct shard_plan p;
	tn_code code = shard_begin(s, k, &p);
	tell(s, k, &p.said);
	tell(s, k, &p.report);
	if (code != TN_OK)
		err_prefix(s->err, "%s", s->out->list[k].name);
	else
		list_written(s, k, &p);
	shard_end(&p);
	return s->err->code;
}

static tn_code print_index(struct split *s)
{
	struct shard_done *done = arena_raw(&s->out->mem, s->n, sizeof *done);
	struct buf text;
	if (s->out->index == NULL)
		return TN_OK;
	if (done == NULL)
		return no_memory(s);
	for (uint64_t k = 0; k < s->n; k++)
		done[k] = (struct shard_done){ s->out->list[k].name, s->out->list[k].size, s->shards[k].data, s->shards[k].tensors,
		                               s->shards[k].n_tensors };
	buf_init(&text, s->out->mem.budget);
	s->format->shards->print_index(&text, done, s->n, &s->f->model);
	s->index = buf_done(&text, &s->out->mem);
	return s->index.ptr != NULL ? TN_OK : no_memory(s);
}

static tn_code plan_all(struct split *s)
{
	if (cut_model(s) != TN_OK || name_shards(s) != TN_OK || check_folder(s) != TN_OK)
		return s->err->code;
	s->out->n = (size_t)s->n;
	loss_of_opening(s->f, s->write.allow_loss, &s->out->report);
	for (uint64_t k = 0; k < s->n; k++)
		if (plan_shard(s, k) != TN_OK)
			return s->err->code;
	if (s->out->report.failed)
		return err_set(s->err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for findings");
	return loss_refuse(&s->out->report, s->err) == TN_OK ? print_index(s) : s->err->code;
}

/* ---- Writing ---- */

/* Progress of one shard as that of all. */
static bool progress(void *ctx, uint64_t done, uint64_t total)
{
	struct split *s = ctx;
	(void)total;
	return s->opt->write.work.progress(s->opt->write.work.ctx, s->done + done, s->total);
}

static tn_code write_shard(struct split *s, uint64_t k)
{
	struct shard *shard = &s->shards[k];
	struct shard_plan p;
	if (shard_begin(s, k, &p) == TN_OK && save_write(&p.save, shard->path, s->total - s->done, &shard->out) == TN_OK) {
		shard->written = true;
		s->done += p.save.plan.size;
		sys_out_close(&shard->out, s->err);
	}
	shard_end(&p);
	return s->err->code;
}

tn_code set_write_text(const char *path, tn_view text, bool sync, tn_error *err)
{
	struct sys_out out;
	if (sys_out_open(&out, path, false, sync, text.len, NULL, 0, err) != TN_OK)
		return err->code;
	sys_out_write(&out, text.ptr, text.len, err);
	return sys_out_commit(&out, err);
}

/* On failure what has its name already goes again: none of it was there before. A failed commit may have got that far. */
static tn_code appear(struct split *s)
{
	uint64_t tried = 0;
	while (tried < s->n && s->err->code == TN_OK) {
		s->shards[tried].written = false;
		sys_out_commit(&s->shards[tried++].out, s->err);
	}
	bool all = s->err->code == TN_OK;
	if (all && s->index_path != NULL && set_write_text(s->index_path, s->index, !s->write.no_sync, s->err) != TN_OK)
		sys_file_remove(s->index_path);
	for (uint64_t k = 0; s->err->code != TN_OK && k < tried; k++)
		sys_file_remove(s->shards[k].path);
	return s->err->code;
}

static tn_code judge(struct split *s)
{
	return footers_check(s->footers, s->write.allow_loss, &s->out->mem, &s->out->report, s->err);
}

static tn_code write_all(struct split *s)
{
	bool made;
	if (sys_folder_make(s->folder, !s->write.no_sync, &made, s->err) != TN_OK)
		return s->err->code;
	for (uint64_t k = 0; k < s->n; k++)
		if (write_shard(s, k) != TN_OK)
			break;
	if (s->err->code == TN_OK && judge(s) == TN_OK)
		appear(s);
	for (uint64_t k = 0; k < s->n; k++)
		if (s->shards[k].written)
			sys_out_abandon(&s->shards[k].out);
	if (made && s->err->code != TN_OK)
		sys_folder_remove(s->folder);
	return s->err->code;
}

/* ---- The split ---- */

static tn_code choose_format(struct split *s)
{
	const char *name = s->opt->format;
	s->format = name != NULL ? format_named(name) : s->f->format;
	if (s->format == NULL)
		return err_set(s->err, TN_E_NOTFOUND, TN_NO_OFFSET, "there is no format '%s'", ESC(tn_text(name)));
	if (s->format->shards == NULL || s->format->shards->make_shard == NULL || s->format->plan == NULL)
		return err_set(s->err, TN_E_UNSUPPORTED, TN_NO_OFFSET, "%s has no shards: a model is one file", s->format->name);
	if (!stem_ok(s->stem))
		return err_set(s->err, TN_E_USAGE, TN_NO_OFFSET, "'%s' cannot begin the names of shards", ESC(tn_text(s->stem)));
	if (s->folder[0] == '\0' || s->opt->write.in_place)
		return err_set(s->err, TN_E_USAGE, TN_NO_OFFSET, "shards need a folder, and are never written in place");
	return TN_OK;
}

static tn_shards *new_shards(uint64_t budget)
{
	tn_shards *out = mem_alloc(sizeof *out);
	if (out == NULL)
		return NULL;
	*out = (tn_shards){ .n = 0 };
	arena_init(&out->mem, budget);
	report_init(&out->report);
	return out;
}

static tn_code run(struct split *s)
{
	s->write = s->opt->write;
	s->write.carry = s->write.carry || (s->format == s->f->format && s->f->enveloped);
	if (s->opt->write.work.progress != NULL)
		s->write.work = (tn_work){ s->opt->write.work.threads, progress, s };
	if (plan_all(s) == TN_OK && !s->opt->dry_run)
		write_all(s);
	return s->err->code;
}

tn_code tn_split(const tn_file *f, const char *folder, const tn_split_options *opt, tn_shards **out, tn_error *err)
{
	static const tn_split_options defaults;
	CALL_BEGIN(err);
	*out = NULL;
	if (opt == NULL)
		opt = &defaults;
	if (folder == NULL)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "no folder given");
	struct split s = {
		.f = f, .opt = opt, .folder = folder, .stem = opt->stem != NULL ? opt->stem : "model", .err = err,
	};
	if (choose_format(&s) != TN_OK)
		return err->code;
	s.out = *out = new_shards(limit_or(opt->write.max_memory, DEFAULT_MEMORY));
	if (s.out == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	return run(&s);
}

/* ---- What it did ---- */

size_t tn_shards_count(const tn_shards *shards) { return shards->n; }

tn_shard tn_shards_at(const tn_shards *shards, size_t i)
{
	return i < shards->n ? shards->list[i] : (tn_shard){ "", 0, 0 };
}

const char *tn_shards_index(const tn_shards *shards) { return shards->index; }
const tn_report *tn_shards_report(const tn_shards *shards) { return &shards->report; }

void tn_shards_free(tn_shards *shards)
{
	if (shards == NULL)
		return;
	report_fini(&shards->report);
	arena_fini(&shards->mem);
	mem_free(shards);
}
