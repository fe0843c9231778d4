/* update.c - a writer that begins as an open file, and putting it back over that file.
 *
 * Whether a change of metadata can be made in place is read off the plan, whatever the format: it
 * can when the plan has every tensor where it lies already, and nothing before or between them but
 * bytes known now. Then only the head is written, from the first byte that differs to the last. */
#include "api/call.h"
#include "api/path.h"
#include "api/writer.h"
#include "base/num.h"
#include "sys/patch.h"

#include <string.h>

/* ---- A writer of an open file ---- */

static bool copy_model(tn_writer *w, const tn_file *f)
{
	uint64_t n = f->model.n, other;
	struct tensor *tensors = w->tensors;
	w->model = f->model;
	w->model.tensors = tensors;
	w->model.n = 0;
	w->model.metadata = meta_clone(&w->mem, f->model.metadata, false);
	if (w->model.metadata == NULL || !writer_grow(w, n + 1))
		return false;
	writer_set_depth(w->model.metadata, 0); /* a reader's limit is no lower than a writer's */
	for (uint64_t i = 0; i < n; i++) {
		w->tensors[i] = f->model.tensors[i];
		w->sources[i] = source_of(f, &f->model.tensors[i]);
		strmap_add(&w->names, model_name_at, &w->model, i, &other);
		w->model.n++;
	}
	return true;
}

tn_code tn_writer_of(tn_writer **out, const tn_file *f, const tn_write_options *options,
                     tn_error *err)
{
	CALL_BEGIN(err);
	tn_writer *w;
	if (tn_writer_new(out, f->format->name, options, err) != TN_OK)
		return err->code;
	w = *out;
	w->origin = f;
	if (!copy_model(w, f))
		arena_err(&w->mem, err, "the model");
	else if (footers_watch(f, w->sources, w->model.n, &w->mem, &w->footers, err) == TN_OK &&
	         (w->options.compress != TN_COMPRESS_NONE ||
	          file_compression(f, &w->options.compress, err) == TN_OK))
		return TN_OK;
	tn_writer_free(w);
	*out = NULL;
	return err->code;
}

/* ---- In place ---- */

/* Whether the span's tensor is there already, in the form that it is to have. */
static bool is_there(const struct save *s, const struct span *span)
{
	const struct source *from = &s->sources[span->tensor];
	bool same_form = from->kind == SOURCE_RANGE ? !span->big
	               : from->kind == SOURCE_TENSOR && from->tensor->enc == ENC_BIG_ENDIAN &&
	               span->big;
	return same_form && from->offset == span->off && from->len == span->len;
}

/* The spans before the first tensor are the head; *len is its length. */
static bool keeps_data(const struct save *s, uint64_t file_size, uint64_t *len)
{
	bool in_head = true;
	*len = 0;
	if (s->plan.size != file_size || s->format->seal != NULL)
		return false;
	for (uint64_t i = 0; i < s->plan.n; i++) {
		const struct span *span = &s->plan.spans[i];
		in_head = in_head && !span_is_tensor(span);
		if (span->kind == SPAN_CRC || span->kind == SPAN_BLOCKS || (span->kind == SPAN_BYTES && !in_head) ||
		    (span->kind == SPAN_TENSOR && !is_there(s, span)))
			return false;
		*len = in_head ? span->off + span->len : *len;
	}
	return true;
}

static void print_head(const struct plan *plan, uint64_t len, uint8_t *head)
{
	for (uint64_t i = 0; i < plan->n && plan->spans[i].off < len; i++) {
		const struct span *span = &plan->spans[i];
		if (span->kind == SPAN_BYTES)
			copy_bytes(head + span->off, span->bytes, (size_t)span->len);
		else
			memset(head + span->off, 0, (size_t)span->len);
	}
}

static tn_code patch(struct save *s, const struct part *file, uint64_t len)
{
	uint8_t *new = arena_raw(&s->mem, len, 1), *old = arena_raw(&s->mem, len, 1);
	size_t first = 0, end = (size_t)len;
	if (new == NULL || old == NULL)
		return arena_err(&s->mem, s->err, "the header");
	print_head(&s->plan, len, new);
	if (reader_read(&file->reader, 0, old, end, s->err) != TN_OK)
		return s->err->code;
	while (first < end && new[first] == old[first])
		first++;
	while (end > first && new[end - 1] == old[end - 1])
		end--;
	if (first == end)
		return TN_OK;
	return sys_patch(file->actual, &file->file, first, new + first, old + first, end - first,
	                 !s->options->no_sync, s->err);
}

/* *patched stays false where the change does not fit. */
static tn_code try_patch(tn_writer *w, bool *patched, tn_error *err)
{
	const struct part *file = &w->origin->parts[0];
	struct save s = writer_save(w, err);
	uint64_t len;
	s.fit = w->origin->model.data_at;
	if (save_begin(&s) == TN_OK && keeps_data(&s, file->reader.size, &len) &&
	    patch(&s, file, len) == TN_OK)
		*patched = true;
	save_end(&s);
	return err->code;
}

static tn_code rewrite(tn_writer *w, tn_error *err)
{
	struct save s = writer_save(w, err);
	tn_write_options exact = w->options;
	exact.exact_path = true;
	s.options = &exact;
	if (save_begin(&s) == TN_OK)
		save_to_path(&s, w->origin->parts[0].actual);
	save_end(&s);
	return err->code;
}

tn_code tn_writer_update(tn_writer *w, bool in_place, bool *patched, tn_error *err)
{
	CALL_BEGIN(err);
	bool done = false;
	if (w->origin == NULL)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET,
		               "the writer was not made from a file");
	if (w->origin->n_parts != 1 || w->origin->parts[0].actual == NULL)
		return err_set(err, TN_E_UNSUPPORTED, TN_NO_OFFSET,
		               "only a model in one file can be updated");
	if (in_place && try_patch(w, &done, err) != TN_OK)
		return err->code;
	if (!done && rewrite(w, err) != TN_OK)
		return err->code;
	if (patched != NULL)
		*patched = done;
	return TN_OK;
}
