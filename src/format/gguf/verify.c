/* verify.c - what is worth saying about a GGUF file that opens, beyond what opening said. */
#include "format/gguf/layout.h"

#include "base/num.h"
#include "base/utf8.h"

#include <inttypes.h>

static void note(struct verify_job *job, const char *text)
{
	report_add(job->report, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR, GGUF ": %s", text);
}

/* ---- Keys ---- */

static bool is_key_byte(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

/* The format asks for lower_snake.dotted keys, and no reader looks. */
static void check_key(struct verify_job *job, tn_view key)
{
	for (size_t i = 0; i < key.len; i++) {
		if (is_key_byte(key.ptr[i]))
			continue;
		report_add(job->report, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR,
		           GGUF ": the key '%s' is not made of a-z, 0-9, '_' "
		           "and '.'", ESC(key));
		return;
	}
}

/* ---- Values ---- */

struct faults {
	uint64_t at, n, first; /* items looked at, those at fault, the first of these */
};

static void count(struct faults *f, bool bad)
{
	if (bad && f->n++ == 0)
		f->first = f->at;
	f->at++;
}

static void check_strings(struct verify_job *job, const struct tn_meta *node)
{
	struct faults f = { 0 };
	tn_meta_iter it = tn_meta_items(node);
	for (const tn_meta *item; (item = tn_meta_next(&it)) != NULL; )
		count(&f, !utf8_ok(item->as.s));
	if (f.n != 0)
		report_add(job->report, TN_WARNING, TN_E_CORRUPT, TN_NO_OFFSET, NO_TENSOR,
		           GGUF ": metadata '%s': %" PRIu64 " of its "
		           "strings are no UTF-8, the first is item %" PRIu64, ESC(node->key), f.n,
		           f.first);
}

static void check_bools(struct verify_job *job, const struct tn_meta *node)
{
	struct faults f = { 0 };
	const struct meta_raw *raw = node->as.packed.raw;
	for (uint64_t i = 0; i < raw->len; i++)
		count(&f, raw->bytes[i] > 1);
	if (f.n != 0)
		report_add(job->report, TN_WARNING, TN_E_CORRUPT, TN_NO_OFFSET, NO_TENSOR,
		           GGUF ": metadata '%s': %" PRIu64 " of its "
		           "booleans are neither 0 nor 1, the first is item %" PRIu64,
		           ESC(node->key), f.n, f.first);
}

static void check_value(struct verify_job *job, const struct tn_meta *node)
{
	if (node->type == TN_META_STRING && !utf8_ok(node->as.s))
		report_add(job->report, TN_WARNING, TN_E_CORRUPT, TN_NO_OFFSET, NO_TENSOR,
		           GGUF ": metadata '%s' is no UTF-8",
		           ESC(node->key));
	if (node->type != TN_META_ARRAY || !node->is_raw)
		return;
	if (node->as.packed.raw->kind == TN_META_STRING)
		check_strings(job, node);
	if (node->as.packed.raw->kind == TN_META_BOOL)
		check_bools(job, node);
}

/* ---- The model ---- */

static bool is_quantised(const struct model *m)
{
	for (uint64_t i = 0; i < m->n; i++)
		if (dtype_info(m->tensors[i].dtype)->class == DTYPE_BLOCK)
			return true;
	return false;
}

static void check_required(struct verify_job *job)
{
	const struct model *m = job->model;
	uint64_t shard;
	if (tn_meta_u64(meta_find(m->metadata, VIEW("split.no")), &shard) && shard != 0)
		return; /* the first of the set has them */
	if (meta_find(m->metadata, VIEW("general.architecture")) == NULL)
		note(job,
		     "metadata has no 'general.architecture', without which llama.cpp does not "
		     "run a model");
	if (is_quantised(m) && meta_find(m->metadata, VIEW("general.quantization_version")) == NULL)
		note(job,
		     "metadata has no 'general.quantization_version', which the format asks for "
		     "with quantised tensors");
}

static void check_alignment(struct verify_job *job)
{
	if (job->model->data_align % 8 != 0)
		note(job, ALIGNMENT_KEY " is no multiple of 8, as the format asks for");
}

static void check_names(struct verify_job *job)
{
	for (uint64_t i = 0; i < job->model->n; i++) {
		const struct tensor *t = &job->model->tensors[i];
		if (!utf8_ok(t->name))
			report_add(job->report, TN_WARNING, TN_E_CORRUPT, TN_NO_OFFSET, t->name,
			           GGUF ": the name is no UTF-8");
	}
}

/* ---- Padding ---- */

static tn_code check_padding(struct verify_job *job, const struct region *r)
{
	uint8_t bytes[4096];
	for (uint64_t at = 0; at < r->len; at += sizeof bytes) {
		size_t n = (size_t)min_u64(sizeof bytes, r->len - at);
		if (reader_read(job->file, r->offset + at, bytes, n, job->err) != TN_OK)
			return job->err->code;
		for (size_t i = 0; i < n; i++) {
			if (bytes[i] == 0)
				continue;
			report_add(job->report, TN_NOTE, TN_OK, r->offset + at + i, NO_TENSOR,
			           GGUF ": the padding holds something else "
			           "than zeros");
			return TN_OK;
		}
	}
	return TN_OK;
}

static tn_code check_all_padding(struct verify_job *job)
{
	const struct model *m = job->model;
	uint64_t at = m->data_at;
	for (unsigned i = 0; i < m->n_regions; i++)
		if (m->regions[i].kind == TN_REGION_PADDING &&
		    check_padding(job, &m->regions[i]) != TN_OK)
			return job->err->code;
	for (uint64_t i = 0; i < m->n; i++) {
		const struct tensor *t = &m->tensors[i];
		/* more than the alignment is a gap, which is reported by itself */
		const struct region between = { .offset = at, .len = t->offset - at };
		if (t->offset > at && between.len < m->data_align &&
		    check_padding(job, &between) != TN_OK)
			return job->err->code;
		at = max_u64(at, t->offset + t->stored);
	}
	return TN_OK;
}

tn_code gguf_verify(struct verify_job *job)
{
	for (const struct tn_meta *node = job->model->metadata->as.kids.first; node != NULL;
	     node = node->next) {
		check_key(job, node->key);
		check_value(job, node);
	}
	check_required(job);
	check_alignment(job);
	check_names(job);
	return job->deep ? check_all_padding(job) : TN_OK;
}
