/* stamp.c - an APR file again, with a word on where it comes from in its metadata. */
#include "api/call.h"
#include "api/file.h"
#include "api/save.h"
#include "base/mem.h"
#include "base/spdx.h"
#include "codec/crc32.h"
#include "format/apr/layout.h"

/* ---- What to stamp ---- */

tn_code tn_spdx_check(const char *text, tn_error *err)
{
	CALL_BEGIN(err);
	tn_view bad;
	if (spdx_ok(tn_text(text), &bad))
		return TN_OK;
	if (bad.len == 0)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET,
		               "'%s' is no SPDX expression: it ends early", ESC(tn_text(text)));
	return err_set(err, TN_E_USAGE, TN_NO_OFFSET,
	               "'%s' is no SPDX expression: '%s' is not known there", ESC(tn_text(text)),
	               ESC(bad));
}

static tn_code check_stamp(const tn_apr_stamp *s, tn_error *err)
{
	bool any = s->license != NULL || s->data_license != NULL || s->data_source != NULL ||
	           s->hf_architecture != NULL || s->hf_model_type != NULL ||
	           s->architecture != NULL || s->vocabulary != NULL || s->merges != NULL ||
	           s->tokenizer_model_type != NULL;
	if (!any)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET,
		               "the stamp has no field that is set: nothing would change");
	const char *licences[] = { s->license, s->data_license };
	for (size_t i = 0; i < 2; i++)
		if (licences[i] != NULL && *licences[i] != '\0' &&
		    tn_spdx_check(licences[i], err) != TN_OK)
			return err->code;
	return TN_OK;
}

/* ---- The model ---- */

struct stamping {
	const tn_file      *f;
	const tn_apr_stamp *stamp;
	struct arena        mem;
	struct model        model;
	struct source      *sources;
	struct footers     *footers; /* that they are held to */
	struct source       data;    /* of all tensors in one piece */
	tn_error           *err;
};

static bool set_node(struct stamping *st, tn_view key, struct tn_meta *node)
{
	return node != NULL && meta_set(st->model.metadata, key, node) != NULL;
}

static bool set_text(struct stamping *st, const char *key, const char *text)
{
	struct tn_meta *node = meta_new(&st->mem, TN_META_STRING);
	if (text == NULL)
		return true;
	if (node != NULL)
		node->as.s = tn_text(text);
	return set_node(st, tn_text(key), node);
}

static bool set_list(struct stamping *st, tn_view key, const tn_view *list, size_t n)
{
	struct tn_meta *node = meta_new(&st->mem, TN_META_ARRAY);
	if (n == 0)
		return true;
	for (size_t i = 0; node != NULL && i < n; i++)
		if (meta_add_string(&st->mem, node, (tn_view){ NULL, 0 }, list[i]) == NULL)
			return false;
	return set_node(st, key, node);
}

static bool set_count(struct stamping *st, tn_view key, size_t n)
{
	struct tn_meta *node = meta_new(&st->mem, TN_META_UINT);
	if (n == 0)
		return true;
	if (node != NULL) {
		node->as.u = n;
		node->width = 64;
	}
	return set_node(st, key, node);
}

static bool set_metadata(struct stamping *st)
{
	const tn_apr_stamp *s = st->stamp;
	return set_text(st, "license", s->license) && set_text(st, "data_source", s->data_source) &&
	       set_text(st, "data_license", s->data_license) &&
	       set_text(st, "hf_architecture", s->hf_architecture) &&
	       set_text(st, "hf_model_type", s->hf_model_type) &&
	       set_text(st, "architecture", s->architecture) &&
	       set_list(st, VIEW("tokenizer.vocabulary"), s->vocabulary, s->n_vocabulary) &&
	       set_count(st, VIEW("tokenizer.vocab_size"), s->n_vocabulary) &&
	       set_list(st, VIEW("tokenizer.merges"), s->merges, s->n_merges) &&
	       set_text(st, "tokenizer.model_type", s->tokenizer_model_type);
}

/* Flags and reserved bytes stay; the file itself is one of today. */
static bool set_header(struct stamping *st)
{
	struct tn_meta *own = model_native(&st->mem, &st->model, "apr");
	struct tn_meta *flags = meta_new(&st->mem, TN_META_UINT);
	if (own == NULL || flags == NULL)
		return false;
	flags->as.u =
	        tn_apr_flags(st->f) | (unsigned)(st->stamp->n_vocabulary != 0 ? APR_HAS_VOCAB : 0);
	flags->width = 16;
	meta_set(own, VIEW(APR_NATIVE_FLAGS), flags);
	meta_remove(own, VIEW(APR_NATIVE_VERSION));
	meta_remove(own, VIEW(APR_NATIVE_NULLS));
	return true;
}

/* As upstream stamps: tensors in the order of their names. */
static bool take_tensors(struct stamping *st)
{
	const struct model *m = &st->f->model;
	struct tensor *t = arena_raw(&st->mem, m->n, sizeof *t);
	st->sources = arena_raw(&st->mem, m->n, sizeof *st->sources);
	if (t == NULL || st->sources == NULL)
		return false;
	copy_bytes(t, m->tensors, (size_t)m->n * sizeof *t);
	if (!model_sort_by_name(t, m->n))
		return false;
	for (uint64_t i = 0; i < m->n; i++)
		st->sources[i] = source_of(st->f, &t[i]);
	st->model.tensors = t;
	return true;
}

static tn_code make_model(struct stamping *st)
{
	for (uint64_t i = 0; i < st->f->model.n; i++)
		if (st->f->model.tensors[i].missing)
			return err_set(st->err, TN_E_TRUNCATED, TN_NO_OFFSET,
			               "tensor '%s' has not arrived whole",
			               ESC(st->f->model.tensors[i].name));
	st->model = st->f->model;
	st->model.metadata = meta_clone(&st->mem, st->f->model.metadata, false);
	st->model.native = meta_clone(&st->mem, st->f->model.native, false);
	bool ok = st->model.metadata != NULL && st->model.native != NULL && set_metadata(st) &&
	          set_header(st) && take_tensors(st);
	if (!ok)
		return arena_err(&st->mem, st->err, "the stamped model");
	return footers_watch(st->f, st->sources, st->model.n, &st->mem, &st->footers, st->err);
}

/* ---- Data that moves as it is ---- */

/* Where the footer stands, which must be the end; 0 where there is none. */
static uint64_t footer_at(const struct model *m)
{
	for (unsigned i = 0; i < m->n_regions; i++)
		if (m->regions[i].kind == TN_REGION_FOOTER)
			return m->regions[i].offset;
	return 0;
}

/* Does the plan put every tensor where the file has it, counted from the start of the data? */
static bool same_layout(const struct stamping *st, const struct save *s)
{
	const struct model *m = &st->model;
	uint64_t head = s->plan.spans[0].len, end = footer_at(&st->f->first.model);
	if (st->f->n_parts != 1 || m->n == 0 || end < m->data_at ||
	    s->plan.size - head != end - m->data_at + APR_FOOTER)
		return false;
	for (uint64_t k = 1; k < s->plan.n; k++) {
		const struct span *span = &s->plan.spans[k];
		if (!span_is_tensor(span))
			continue;
		const struct tensor *t = &m->tensors[span->tensor];
		if (span->kind == SPAN_BLOCKS || !tensor_is_plain(t) || span->len != t->stored ||
		    span->off - head != t->offset - m->data_at)
			return false;
	}
	return true;
}

static tn_code head_crc(const struct reader *r, uint64_t n, uint32_t *crc, tn_error *err)
{
	uint8_t piece[4096];
	*crc = 0;
	for (uint64_t at = 0, len; at < n; at += len) {
		len = min_u64(n - at, sizeof piece);
		if (reader_read(r, at, piece, (size_t)len, err) != TN_OK)
			return err->code;
		*crc = crc32_update(*crc, piece, (size_t)len);
	}
	return TN_OK;
}

/* Header, metadata and index anew; the data in one piece, its CRC from the old footer. */
static tn_code move_data(struct stamping *st, struct save *s)
{
	const struct reader *r = &st->f->first.reader;
	uint64_t data = st->model.data_at, end = footer_at(&st->f->first.model);
	tn_view head = { s->plan.spans[0].bytes, (size_t)s->plan.spans[0].len };
	uint8_t footer[APR_FOOTER];
	uint32_t before;
	if (head_crc(r, data, &before, st->err) != TN_OK ||
	    reader_read(r, end, footer, sizeof footer, st->err) != TN_OK)
		return st->err->code;
	st->data = (struct source){
		.kind = SOURCE_RANGE, .len = end - data, .from = r, .offset = data,
		.crc_known = true, .crc = crc32_tail(le32(footer), before, end - data),
	};
	s->sources = &st->data;
	plan_init(&s->plan, &s->mem);
	plan_bytes(&s->plan, head);
	plan_tensor(&s->plan, 0, st->data.len);
	plan_crc(&s->plan);
	return plan_ok(&s->plan, st->err);
}

/* ---- The stamp ---- */

static tn_code write_stamped(struct stamping *st, const char *path, const tn_write_options *opt,
                             tn_converted *out)
{
	tn_write_options write = *opt;
	/* what it holds was carried into it before */
	write.carry = write.carry || st->f->enveloped;
	if (write.compress == TN_COMPRESS_NONE && file_compression(st->f, &write.compress, st->err) != TN_OK)
		return st->err->code;
	struct save s = {
		.format = st->f->format,
		.model = &st->model,
		.sources = st->sources,
		.origin = st->f,
		.options = &write,
		.footers = st->footers,
		.rewrite = !st->f->enveloped,
		.converted = st->f->enveloped,
		.report = out->report,
		.err = st->err,
	};
	if (save_begin(&s) == TN_OK && (!same_layout(st, &s) || move_data(st, &s) == TN_OK)) {
		out->size = s.plan.size;
		out->tensors = st->model.n;
		save_to_path(&s, path);
	}
	save_end(&s);
	return st->err->code;
}

static tn_code stamp_file(struct stamping *st, const char *path, const tn_write_options *opt,
                          tn_converted *out)
{
	arena_init(&st->mem, limit_or(opt->max_memory, DEFAULT_MEMORY));
	if (make_model(st) == TN_OK)
		write_stamped(st, path, opt, out);
	arena_fini(&st->mem);
	return st->err->code;
}

tn_code tn_apr_stamp_file(const tn_file *f, const char *path, const tn_apr_stamp *stamp,
                          const tn_write_options *opt, tn_converted *out, tn_error *err)
{
	static const tn_write_options defaults;
	CALL_BEGIN(err);
	tn_converted result = { .report = NULL };
	struct stamping st = { .f = f, .stamp = stamp, .err = err };
	if (path == NULL || stamp == NULL)
		err_set(err, TN_E_USAGE, TN_NO_OFFSET, "no path or no stamp given");
	else if (f->format != format_named("apr"))
		err_set(err, TN_E_USAGE, TN_NO_OFFSET,
			"only an apr file can be stamped, this is %s", f->format->name);
	else if (check_stamp(stamp, err) == TN_OK &&
	         (result.report = mem_alloc(sizeof *result.report)) == NULL)
		err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	if (result.report != NULL) {
		report_init(result.report);
		stamp_file(&st, path, opt != NULL ? opt : &defaults, &result);
	}
	if (out != NULL)
		*out = result;
	else
		tn_report_free(result.report);
	return err->code;
}
