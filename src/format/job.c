/* job.c - what every format's parse and plan ask for in the same words. */
#include "format/format.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

bool job_has(struct parse_job *job, uint64_t n, const char *what)
{
	if (n <= job->file.len)
		return true;
	bool more = n <= job->size;
	job->need = more ? n : 0;
	if (more)
		err_set(job->err, TN_E_TRUNCATED, job->file.len, "%s: first %" PRIu64 " bytes wanted", what, n);
	else
		err_set(job->err, TN_E_TRUNCATED, job->size, "%s: ends at byte %" PRIu64 ", the file has %" PRIu64,
		        what, n, job->size);
	return false;
}

void job_lossy(struct plan_job *job, tn_view tensor, const char *fmt, ...)
{
	char text[512];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	report_add(job->report, job->allow_loss ? TN_WARNING : TN_ERROR, TN_E_LOSSY, TN_NO_OFFSET, tensor, "%s", text);
}

bool job_hide(struct plan_job *job, struct envelope *e, tn_view key)
{
	const struct tn_meta *node = meta_find(job->model->metadata, key);
	if (node != NULL)
		envelope_hide_shown(e, node);
	return node != NULL;
}

bool job_hide_namesake(struct plan_job *job, struct envelope *e, tn_view key)
{
	tn_view text;
	if (envelope_empty(e) && tn_meta_string(meta_find(job->model->metadata, key), &text) &&
	    (job->bare || !envelope_is(text, job->mem->budget)))
		return false;
	return job_hide(job, e, key);
}

tn_code job_envelope(struct plan_job *job, struct envelope *e, const char *target, tn_view *text)
{
	tn_severity severity = job->allow_loss ? TN_WARNING : TN_ERROR;
	*text = (tn_view){ NULL, 0 };
	if (!job->no_envelope)
		envelope_drop_unnamed(e, target, severity, job->report);
	if (envelope_empty(e))
		return TN_OK;
	if (!job->no_envelope)
		return envelope_print(e, text, job->err);
	envelope_report_lost(e, target, severity, job->report);
	return e->failed ? arena_err(job->mem, job->err, "the envelope") : TN_OK;
}

void job_mended(struct parse_job *job, uint64_t offset, const char *fmt, ...)
{
	char text[512];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	report_add(job->mended, TN_NOTE, TN_OK, offset, NO_TENSOR, "%s", text);
}
