/* read.c - a GGUF file into a model: the header, then pairs, then infos; see layout.h for the
 * order. */
#include "format/gguf/read.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void gguf_note(struct reading *r, tn_severity severity, tn_code code, uint64_t offset,
               tn_view tensor, const char *fmt, ...)
{
	char text[240];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	report_add(r->job->report, severity, code, offset, tensor, GGUF ": %s", text);
}

bool gguf_no_memory(struct reading *r, const char *what)
{
	arena_err(r->job->mem, r->job->err, what);
	return false;
}

/* ---- The header ---- */

static bool fail(struct reading *r, tn_code code, uint64_t offset, const char *why)
{
	err_set(r->job->err, code, offset, GGUF ": %s", why);
	return false;
}

static bool keep_flag(struct reading *r, const char *key)
{
	struct tn_meta *native = model_native(r->job->mem, r->job->model, GGUF);
	return meta_add_bool(r->job->mem, native, tn_text(key), true) != NULL ||
		gguf_no_memory(r, GGUF ": model");
}

static bool read_magic(struct reading *r)
{
	const uint8_t *magic = gcur_take(&r->c, 4);
	if (magic == NULL)
		return false;
	tn_view v = { magic, 4 };
	if (view_is(v, GGUF_MAGIC_TURNED))
		gguf_note(r, TN_WARNING, TN_E_UNSUPPORTED, 0, NO_TENSOR,
		          "the magic is that of a fork, " GGUF_MAGIC_TURNED);
	else if (!view_is(v, GGUF_MAGIC))
		return fail(r, TN_E_CORRUPT, 0,
		            "the file does not start with the magic " GGUF_MAGIC);
	return true;
}

/* In the wrong order a small version is a large number whose low half is 0. */
static bool read_version(struct reading *r)
{
	static const char *const texts[] = { "0", "1", "2", "3" };
	uint64_t at = gcur_at(&r->c);
	uint32_t version = gcur_u32(&r->c);
	if (!gcur_ok(&r->c))
		return false;
	r->c.big = version != 0 && (version & 0xffff) == 0;
	if (r->c.big)
		version = be32(r->c.c.p - 4);
	if (version == 0 || version > GGUF_VERSION) {
		err_set(r->job->err, TN_E_UNSUPPORTED, at,
		        GGUF ": version %" PRIu32 " is not known, only 1 to %d are", version,
		        GGUF_VERSION);
		return false;
	}
	r->c.narrow = version == 1;
	r->job->model->version = texts[version];
	if (version == 1)
		gguf_note(r, TN_WARNING, TN_E_UNSUPPORTED, at, NO_TENSOR,
		          "version 1: llama.cpp reads it no longer");
	if (!r->c.big)
		return true;
	r->job->model->dialect = "big-endian";
	return keep_flag(r, NATIVE_BIG_ENDIAN);
}

/* The bytes of the shortest info and of the shortest pair. */
static bool read_counts(struct reading *r)
{
	unsigned length = gcur_length_size(&r->c);
	uint64_t infos = gcur_length(&r->c), pairs = gcur_length(&r->c);
	r->n_infos = gcur_count(&r->c, infos, length + 4 + 4 + 8);
	r->n_pairs = gcur_count(&r->c, pairs, length + 4 + 1);
	return gcur_ok(&r->c);
}

/* ---- Alignment ---- */

static bool read_alignment(struct reading *r)
{
	const struct tn_meta *node = meta_find(r->job->model->metadata, VIEW(ALIGNMENT_KEY));
	r->align = GGUF_ALIGN;
	r->own_align = node != NULL;
	if (node == NULL)
		return true;
	if (!tn_meta_u64(node, &r->align) || node->type == TN_META_FLOAT)
		return fail(r, TN_E_CORRUPT, TN_NO_OFFSET, ALIGNMENT_KEY " is no number of bytes");
	if (!gguf_align_ok(r->align)) {
		err_set(r->job->err, TN_E_CORRUPT, TN_NO_OFFSET,
		        GGUF ": " ALIGNMENT_KEY " is %" PRIu64 ", which is no power of two "
		        "up to %d", r->align, GGUF_ALIGN_MAX);
		return false;
	}
	if (node->type != TN_META_UINT || node->width != 32)
		gguf_note(r, TN_WARNING, TN_E_CORRUPT, TN_NO_OFFSET, NO_TENSOR,
		          ALIGNMENT_KEY " is not of type u32: llama.cpp refuses "
		          "the file");
	return true;
}

/* ---- Slack ---- */

/* What was left for edits is no metadata: it is taken out, and its size kept. */
static bool take_slack(struct reading *r)
{
	struct model *m = r->job->model;
	const struct tn_meta *last = m->metadata->as.kids.last;
	if (last == NULL || !view_is(last->key, SLACK_KEY) || !last->is_raw ||
	    last->as.packed.raw->kind != TN_META_UINT ||
	    last->as.packed.raw->width != 8)
		return true;
	struct tn_meta *native = model_native(r->job->mem, m, GGUF);
	if (meta_add_uint(r->job->mem, native, VIEW(NATIVE_SLACK), last->as.packed.n, 0) == NULL)
		return gguf_no_memory(r, GGUF ": model");
	meta_remove(m->metadata, VIEW(SLACK_KEY));
	return true;
}

/* ---- The whole ---- */

static bool keep_layout(struct reading *r)
{
	struct model *m = r->job->model;
	uint64_t head = 8 + 2 * (uint64_t)gcur_length_size(&r->c);
	uint64_t padding = pad_to(r->infos_end, r->align);
	model_region(m, TN_REGION_HEADER, 0, head, "header");
	model_region(m, TN_REGION_INDEX, head, r->pairs_end - head, "metadata");
	model_region(m, TN_REGION_INDEX, r->pairs_end, r->infos_end - r->pairs_end, "tensor table");
	model_region(m, TN_REGION_PADDING, r->infos_end,
	             min_u64(padding, r->job->size - r->infos_end), "padding");
	bool bare = r->n_infos == 0 && padding != 0 && r->infos_end == r->job->size;
	return !bare || keep_flag(r, NATIVE_UNPADDED);
}

static bool check_header_limit(struct reading *r)
{
	uint64_t limit = limit_or(r->job->limits->max_header, UINT64_MAX);
	if (r->infos_end <= limit)
		return true;
	err_set(r->job->err, TN_E_LIMIT, TN_NO_OFFSET,
	        GGUF ": header of %" PRIu64 " bytes, the limit is %" PRIu64,
	        r->infos_end, limit);
	return false;
}

tn_code gguf_parse(struct parse_job *job)
{
	struct reading r = { .job = job, .c = gcur_over(job, GGUF ": header") };
	job->check.max_tensors = limit_or(job->limits->max_tensors, UINT64_MAX);
	job->check.max_tensor_bytes = limit_or(job->limits->max_tensor_bytes, UINT64_MAX);
	bool ok = read_magic(&r) && read_version(&r) && read_counts(&r)
	       && gguf_read_pairs(&r)
	       && read_alignment(&r) && take_slack(&r)
	       && gguf_read_infos(&r)
	       && check_header_limit(&r) && keep_layout(&r);
	if (ok)
		gguf_note_place(&r);
	return ok ? TN_OK : job->err->code;
}
