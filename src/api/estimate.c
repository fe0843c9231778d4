/* estimate.c - estimates from an execution tape: options made whole, and a home for the result. */
#include "api/call.h"
#include "api/file.h"
#include "base/mem.h"

#include <ctype.h>
#include <string.h>

struct tn_estimate {
	struct arena    mem;
	struct tn_meta *values;
	tn_plan_options options;
};

static tn_code refuse(tn_error *err, const char *what)
{
	return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "%s", what);
}

/* The result speaks of the options, so it has copies of their words. */
static const char *keep(struct arena *mem, const char *given, const char *otherwise)
{
	return given == NULL ? otherwise : (const char *)arena_copy(mem, tn_text(given)).ptr;
}

/* The codec may be spelled in capitals; it is told in small letters. */
static const char *keep_lower(struct arena *mem, const char *given, const char *otherwise)
{
	tn_view copy = arena_copy(mem, tn_text(given != NULL ? given : otherwise));
	char *p = (char *)(uintptr_t)copy.ptr;
	for (size_t i = 0; p != NULL && i < copy.len; i++)
		p[i] = (char)tolower((unsigned char)p[i]);
	return p;
}

static tn_code fill_options(struct tn_estimate *e, const tn_plan_options *given, tn_error *err)
{
	tn_plan_options *o = &e->options;
	*o = *given;
	o->ctx = limit_or(o->ctx, 4096);
	o->batch = limit_or(o->batch, 1);
	o->prefetch_pages = limit_or(o->prefetch_pages, 4);
	if (!(o->gpu_fraction >= 0 && o->gpu_fraction <= 1))
		return refuse(err, "the gpu fraction is over 0, and 1 at most");
	if (o->gpu_fraction <= 0)
		o->gpu_fraction = 1;
	o->backend = keep(&e->mem, given->backend, NULL);
	o->kv_dtype = keep_lower(&e->mem, given->kv_dtype, "q4");
	o->residency = keep(&e->mem, given->residency, "all");
	if ((given->backend != NULL && o->backend == NULL) || o->kv_dtype == NULL || o->residency == NULL)
		return arena_err(&e->mem, err, "estimate");
	return TN_OK;
}

static tn_code run(struct tn_estimate *e, const tn_file *f, tn_estimate_kind kind, const tn_plan_options *given,
                   tn_error *err)
{
	const struct part *p = &f->parts[0];
	if (f->n_parts != 1 || p->format->estimate == NULL)
		return err_set(err, TN_E_UNSUPPORTED, TN_NO_OFFSET, "%s files have no execution tape to plan with",
		               f->format->name);
	if (kind < TN_ESTIMATE_PLAN || kind > TN_ESTIMATE_STATS)
		return refuse(err, "no such estimate");
	if (fill_options(e, given, err) != TN_OK)
		return err->code;
	e->values = meta_new(&e->mem, TN_META_MAP);
	if (e->values == NULL)
		return arena_err(&e->mem, err, "estimate");
	struct estimate_job job = {
		.file = &p->reader, .model = &p->model, .kind = kind, .options = &e->options, .mem = &e->mem, .out = e->values,
		.err = err,
	};
	return p->format->estimate(&job);
}

tn_code tn_estimate_new(tn_estimate **out, const tn_file *f, tn_estimate_kind kind, const tn_plan_options *options,
                        tn_error *err)
{
	static const tn_plan_options defaults;
	CALL_BEGIN(err);
	*out = NULL;
	struct tn_estimate *e = mem_alloc(sizeof *e);
	if (e == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	memset(e, 0, sizeof *e);
	arena_init(&e->mem, f->mem.budget);
	tn_code code = run(e, f, kind, options != NULL ? options : &defaults, err);
	if (code == TN_OK)
		*out = e;
	else
		tn_estimate_free(e);
	return code;
}

const tn_meta *tn_estimate_values(const tn_estimate *e) { return e->values; }

void tn_estimate_free(tn_estimate *e)
{
	if (e == NULL)
		return;
	arena_fini(&e->mem);
	mem_free(e);
}
