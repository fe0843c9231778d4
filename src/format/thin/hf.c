/* hf.c - a checkpoint into the model that an archive of it would be read as. */
#include "format/thin/hf.h"

#include "format/thin/manifest.h"

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

/* A name that nothing has yet; NULL when memory is out. */
static const char *name_aside(struct hf *h, const char *field)
{
	const char *name = arena_printf(h->job->mem, CHECKPOINT_KEY "%s", field);
	while (name != NULL && meta_find(h->job->model->metadata, tn_text(name)) != NULL)
		name = arena_printf(h->job->mem, CHECKPOINT_KEY "%s", name);
	return name;
}

/* Every checkpoint says which library wrote it. Anything else is the user's, and travels on; under another name where that
 * one is a field of the manifest's model, which the config fills. An archive that gets another config had these fields of
 * its own: what the config says is put in their place. */
static bool keep_metadata(struct hf *h)
{
	struct tn_meta *to = h->job->out->metadata;
	bool was_archive = meta_find(h->job->model->native, VIEW(THIN)) != NULL;
	for (const struct tn_meta *n = h->job->model->metadata->as.kids.first; n != NULL; n = n->next) {
		tn_view key = n->key;
		const struct field *field = model_field(key);
		if (view_is(key, "format") || (field != NULL && was_archive && meta_find(to, key) != NULL))
			continue;
		if (field != NULL && !was_archive) {
			const char *aside = name_aside(h, field->name);
			if (aside == NULL)
				return hf_no_memory(h);
			key = tn_text(aside);
			hf_warn(h, "an archive's '%s' is what the config says: that of the checkpoint is kept as '%s'", field->name, aside);
		}
		if (meta_append(to, key, meta_clone(h->job->mem, n, false)) == NULL)
			return hf_no_memory(h);
	}
	return true;
}

/* What an index says beside its total_size, but for the other sum that libraries write there. */
static bool keep_index(struct hf *h, const struct tn_meta *index)
{
	struct tn_meta *copy = meta_clone(h->job->mem, index, false);
	if (copy == NULL)
		return hf_no_memory(h);
	meta_remove(copy, VIEW("total_parameters"));
	if (copy->as.kids.n == 0)
		return true;
	struct tn_meta *to = model_native(h->job->mem, h->job->out, h->job->own);
	return (to != NULL && meta_append(to, VIEW(SHARDS_INDEX), copy) != NULL) || hf_no_memory(h);
}

/* What other formats the tensors have been in say of themselves; that they were an archive is over. */
static bool keep_native(struct hf *h)
{
	struct tn_meta *to = h->job->out->native;
	for (const struct tn_meta *n = h->job->model->native->as.kids.first; n != NULL; n = n->next) {
		if (view_is(n->key, THIN))
			continue;
		if (h->job->own != NULL && view_is(n->key, h->job->own)) {
			const struct tn_meta *index = tn_meta_find(n, VIEW(SHARDS_INDEX));
			if (index != NULL && index->type == TN_META_MAP && !keep_index(h, index))
				return false;
		} else if (meta_append(to, n->key, meta_clone(h->job->mem, n, false)) == NULL) {
			return hf_no_memory(h);
		}
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
	          order_tensors(&h) && keep_metadata(&h) && keep_native(&h);
	if (!ok)
		return job->err->code;
	ask_for_tokenizer(&h);
	return hf_plan_memory(&h) ? TN_OK : job->err->code;
}
