/* verify.c - all findings about a file that opens: those of opening, the common laws', the format's own. */
#include "api/call.h"
#include "api/set.h"
#include "base/mem.h"

/* A part's own model has its tensors in the order of their data, which an envelope may have changed in the whole. */
static tn_code check_part(const struct part *p, const tn_verify_options *opt, struct tn_report *r, struct arena *mem,
                          tn_error *err)
{
	struct verify_job job = {
		.file = &p->reader, .model = &p->model, .deep = opt->deep, .work = &opt->work, .report = r, .mem = mem, .err = err,
	};
	model_lint(&p->model, p->format->name, p->reader.size, r);
	return p->format->verify != NULL ? p->format->verify(&job) : TN_OK;
}

static tn_code check_named(const tn_file *f, size_t i, const tn_verify_options *opt, struct tn_report *r, struct arena *mem,
                           tn_error *err)
{
	struct tn_report own;
	report_init(&own);
	check_part(&f->parts[i], opt, &own, mem, err);
	report_copy_as(r, &own, part_name(&f->parts[i]));
	report_fini(&own);
	return err->code;
}

tn_code verify_file(const tn_file *f, const tn_verify_options *opt, struct tn_report *r, struct arena *mem, tn_error *err)
{
	report_copy(r, &f->report);
	for (size_t i = 0; i < f->n_parts; i++) {
		tn_code code = f->n_parts == 1 ? check_part(&f->parts[i], opt, r, mem, err) : check_named(f, i, opt, r, mem, err);
		if (code != TN_OK)
			return code;
	}
	return r->failed ? err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for findings") : TN_OK;
}

tn_code tn_verify(const tn_file *f, const tn_verify_options *opt, tn_report **out, tn_error *err)
{
	static const tn_verify_options defaults;
	CALL_BEGIN(err);
	*out = NULL;
	struct tn_report *r = mem_alloc(sizeof *r);
	if (r == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	struct arena mem;
	report_init(r);
	arena_init(&mem, f->mem.budget);
	tn_code code = verify_file(f, opt != NULL ? opt : &defaults, r, &mem, err);
	arena_fini(&mem);
	if (code == TN_OK)
		*out = r;
	else
		tn_report_free(r);
	return code;
}
