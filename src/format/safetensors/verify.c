/* verify.c - what is worth saying about a safetensors file that opens.
 *
 * The header is read again, without the envelope, and compared with the one that the writer would give the same
 * file: every form that readers could differ about shows there. Then come habits of other readers, and the bytes of
 * boolean tensors. */
#include "format/safetensors/layout.h"

#include "base/num.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct checking {
	struct verify_job *job;
	tn_view      head;  /* length and header */
	struct model model; /* as the container shows it */
};

static void note(struct checking *c, uint64_t offset, tn_view tensor, const char *fmt, ...) PRINTF_LIKE(4, 5);
static void note(struct checking *c, uint64_t offset, tn_view tensor, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	char text[240];
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	report_add(c->job->report, TN_NOTE, TN_OK, offset, tensor, SAFETENSORS ": %s", text);
}

/* ---- The header again ---- */

static bool load_head(struct checking *c)
{
	const struct reader *file = c->job->file;
	uint64_t n = c->job->model->data_at;
	if (file->map.ptr != NULL) {
		c->head = (tn_view){ file->map.ptr, (size_t)n };
		return true;
	}
	uint8_t *bytes = arena_raw(c->job->mem, n, 1);
	if (bytes == NULL) {
		arena_err(c->job->mem, c->job->err, SAFETENSORS ": header");
		return false;
	}
	c->head = (tn_view){ bytes, (size_t)n };
	return reader_read(file, 0, bytes, c->head.len, c->job->err) == TN_OK;
}

/* It has been read before: what it tolerated is in the report already. */
static bool load_model(struct checking *c)
{
	struct tn_report said;
	const tn_limits limits = { .max_header = UINT64_MAX };
	struct parse_job parse = {
		.size = c->job->file->size, .limits = &limits, .mem = c->job->mem,
		.model = &c->model, .report = &said, .err = c->job->err,
	};
	if (!load_head(c))
		return false;
	if (!model_init(&c->model, c->job->mem)) {
		arena_err(c->job->mem, c->job->err, SAFETENSORS ": model");
		return false;
	}
	report_init(&said);
	parse.file = c->head;
	tn_code code = safetensors_parse(&parse);
	report_fini(&said);
	return code == TN_OK;
}

/* ---- Its form ---- */

static void compare_headers(struct checking *c, tn_view canonical)
{
	size_t at = HEADER_AT, n = c->head.len < canonical.len ? c->head.len : canonical.len;
	while (at < n && c->head.ptr[at] == canonical.ptr[at])
		at++;
	if (at < c->head.len || at < canonical.len)
		note(c, at, NO_TENSOR,
		     "from here on the header is not in the form that the writer gives it: a rewrite changes it");
}

static bool lint_form(struct checking *c)
{
	struct tn_report said;
	struct plan plan;
	tn_error err = { .code = TN_OK };
	struct plan_job job = {
		.model = &c->model, .rewrite = true, .bare = true, .carry = true, .keep_unknown = true, .mem = c->job->mem, .plan = &plan,
		.report = &said, .err = &err,
	};
	plan_init(&plan, c->job->mem);
	report_init(&said);
	tn_code code = safetensors_plan(&job);
	bool whole = said.of[TN_ERROR] == 0; /* names that cannot be written have been reported at opening */
	report_fini(&said);
	if (code == TN_OK && whole)
		compare_headers(c, (tn_view){ plan.spans[0].bytes, (size_t)plan.spans[0].len });
	if (code == TN_E_NOMEM || code == TN_E_LIMIT)
		*c->job->err = err;
	return c->job->err->code == TN_OK;
}

static void lint_size(struct checking *c)
{
	uint64_t n = c->head.len - HEADER_AT;
	if (n > HUB_MAX)
		note(c, 0, NO_TENSOR, "the header takes %" PRIu64 " bytes: the model hub's viewer reads up to %d", n, HUB_MAX);
}

static void lint_format(struct checking *c)
{
	if (c->model.n != 0 && meta_find(c->model.metadata, VIEW("format")) == NULL)
		note(c, HEADER_AT, NO_TENSOR, "metadata has no 'format': transformers refuses such files");
}

/* ---- The data ---- */

static void lint_alignment(struct checking *c)
{
	for (uint64_t i = 0; i < c->model.n; i++) {
		const struct tensor *t = &c->model.tensors[i];
		unsigned element = dtype_info(t->dtype)->bits / 8u;
		if (t->stored != 0 && element > 1 && t->offset % element != 0)
			note(c, t->offset, t->name, "the data does not start at a multiple of its %u-byte elements", element);
	}
}

static void count_bools(const uint8_t *p, size_t n, uint64_t at, uint64_t *bad, uint64_t *first)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] <= 1)
			continue;
		if (*bad == 0)
			*first = at + i;
		++*bad;
	}
}

enum { CHUNK = 1 << 16 };

static bool lint_bools(struct checking *c, const struct tensor *t, uint8_t *chunk)
{
	uint64_t bad = 0, first = 0;
	for (uint64_t at = 0; at < t->stored; at += CHUNK) {
		size_t n = (size_t)min_u64(CHUNK, t->stored - at);
		if (reader_read(c->job->file, t->offset + at, chunk, n, c->job->err) != TN_OK)
			return false;
		count_bools(chunk, n, at, &bad, &first);
	}
	if (bad != 0)
		report_add(c->job->report, TN_WARNING, TN_E_CORRUPT, t->offset + first, t->name,
		           SAFETENSORS ": %" PRIu64 " of its booleans are neither 0 nor 1, the first is element %" PRIu64, bad,
		           first);
	return true;
}

static bool lint_data(struct checking *c)
{
	uint8_t *chunk = NULL;
	for (uint64_t i = 0; c->job->deep && i < c->model.n; i++) {
		if (c->model.tensors[i].dtype != TN_BOOL)
			continue;
		if (chunk == NULL)
			chunk = arena_raw(c->job->mem, CHUNK, 1);
		if (chunk == NULL) {
			arena_err(c->job->mem, c->job->err, SAFETENSORS ": boolean tensors");
			return false;
		}
		if (!lint_bools(c, &c->model.tensors[i], chunk))
			return false;
	}
	return true;
}

tn_code safetensors_verify(struct verify_job *job)
{
	struct checking c = { .job = job };
	if (!load_model(&c))
		return job->err->code;
	lint_size(&c);
	lint_format(&c);
	lint_alignment(&c);
	return lint_form(&c) && lint_data(&c) ? TN_OK : job->err->code;
}
