/* hf.c - a checkpoint into the model that an archive of it would be read as. */
#include "format/thin/hf.h"

#include <stdarg.h>
#include <stdio.h>

bool hf_no_memory(struct hf *h)
{
	arena_err(h->job->mem, h->job->err, THIN ": checkpoint");
	return false;
}

bool hf_fail(struct hf *h, const char *fmt, ...)
{
	char why[200];
	va_list args;
	va_start(args, fmt);
	vsnprintf(why, sizeof why, fmt, args);
	va_end(args);
	err_set(h->job->err, TN_E_UNSUPPORTED, TN_NO_OFFSET, THIN ": checkpoint: %s", why);
	return false;
}

void hf_warn(struct hf *h, const char *fmt, ...)
{
	char what[200];
	va_list args;
	va_start(args, fmt);
	vsnprintf(what, sizeof what, fmt, args);
	va_end(args);
	report_add(h->job->report, TN_WARNING, TN_OK, TN_NO_OFFSET, NO_TENSOR, THIN ": checkpoint: %s", what);
}

/* ---- The tensors in the order of their data ---- */

/* First as the tape names them, then the others by name. */
static bool order_tensors(struct hf *h)
{
	struct tensor *out = arena_raw(h->job->mem, h->n, sizeof *out);
	uint64_t *from = arena_raw(h->job->mem, h->n, sizeof *from), other = h->n_placed;
	if (out == NULL || from == NULL)
		return hf_no_memory(h);
	for (uint64_t i = 0; i < h->n; i++) {
		uint64_t at = h->tensors[i].place != UINT64_MAX ? h->tensors[i].place : other++;
		from[at] = h->tensors[i].from;
		if (!hf_page(h, &h->tensors[i], &out[at]))
			return false;
	}
	h->job->out->tensors = out;
	h->job->out->n = h->n;
	h->job->from = from;
	return true;
}

/* ---- What the checkpoint's own metadata says ---- */

/* Every checkpoint says which library wrote it. Anything else is the user's, and travels on. */
static bool keep_metadata(struct hf *h)
{
	const struct tn_meta *from = h->job->model->metadata;
	struct meta_index to;
	if (!meta_index_init(&to, h->job->mem, h->job->out->metadata, tn_meta_count(from)))
		return hf_no_memory(h);
	for (const struct tn_meta *n = from->as.kids.first; n != NULL; n = n->next) {
		if (view_is(n->key, "format") || meta_index_find(&to, n->key) != NULL)
			continue;
		struct tn_meta *copy = meta_clone(h->job->mem, n, false);
		if (copy == NULL)
			return hf_no_memory(h);
		meta_index_set(&to, n->key, copy);
	}
	return true;
}

static void ask_for_tokenizer(struct hf *h)
{
	if (h->job->tokenizer == NULL && !h->job->no_tokenizer)
		hf_warn(h, "there is no tokenizer.json: the archive has no digest of it");
}

tn_code thin_checkpoint(struct checkpoint_job *job)
{
	struct hf h = { .job = job };
	if (!model_init(job->out, job->mem) || (h.native = model_native(job->mem, job->out, THIN)) == NULL)
		return arena_err(job->mem, job->err, THIN ": checkpoint");
	if (meta_add_string(job->mem, h.native, VIEW(NATIVE_PAGES), VIEW(NATIVE_BY_ID)) == NULL)
		return arena_err(job->mem, job->err, THIN ": checkpoint");
	bool ok = hf_read_config(&h) && hf_name_tensors(&h) && hf_describe_model(&h) && hf_lay_tape(&h) &&
	          order_tensors(&h) && keep_metadata(&h);
	if (!ok)
		return job->err->code;
	ask_for_tokenizer(&h);
	return hf_plan_memory(&h) ? TN_OK : job->err->code;
}
