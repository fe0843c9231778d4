/* read_index.c - the tensor index: names, types and extents.
 *
 * Codes of realizar's converter mean other types than upstream's reader takes them for. Where
 * the length of a tensor is what one of the two takes and not the other, the type is certain;
 * where it is neither's, the file is refused. */
#include "format/apr/read.h"

#include "base/utf8.h"
#include "codec/cur.h"

/* ---- Types ---- */

static bool is_whole_blocks(tn_dtype d, uint32_t rank, const uint64_t *shape)
{
	uint64_t n;
	return shape_elements(rank, shape, &n) && n != 0 && n % dtype_info(d)->block_elems == 0;
}

/* The code is none, or that of a type that takes another length. */
static bool unknown_dtype(struct apr_reading *r, const struct tensor *t, const struct apr_dtype *is,
                          uint8_t code, uint64_t at)
{
	tn_error why = { .code = TN_OK };
	uint64_t bytes = 0;
	if (is == NULL)
		return apr_fail(r, TN_E_CORRUPT, at, "tensor '%s': dtype code %u is not known%s",
		                ESC(t->name), code,
		                code == 2 ? " (bf16 in very old files)" : "");
	if (dtype_bytes(is->dtype, BLOCK_FLAT, t->rank, t->shape, &bytes, &why) != TN_OK)
		return apr_fail(r, TN_E_CORRUPT, at, "tensor '%s': %s", ESC(t->name), why.msg);
	return apr_fail(r, TN_E_CORRUPT, at, "tensor '%s': %s, as %.*s its shape takes %llu",
	                ESC(t->name), N_BYTES(t->stored), VIEW_ARG(is->text),
	                (unsigned long long)bytes);
}

/* A tensor of ours that is stored in blocks: what its shape takes must be covered by a table of
 * the file. */
static bool read_packed(struct apr_reading *r, struct tensor *t, const struct apr_dtype *is,
                        uint64_t at)
{
	tn_error why = { .code = TN_OK };
	t->dtype = is->dtype;
	t->dtype_text = is->text;
	t->enc = ENC_BLOCKS;
	r->n_packed++;
	if (dtype_bytes(t->dtype, BLOCK_FLAT, t->rank, t->shape, &t->nbytes, &why) != TN_OK)
		return apr_fail(r, TN_E_CORRUPT, at, "tensor '%s': %s", ESC(t->name), why.msg);
	return blocks_fit(t->nbytes, t->stored) ||
	       apr_fail(r, TN_E_CORRUPT, at,
	                "tensor '%s': %llu bytes cannot hold the block table of %llu", ESC(t->name),
	                (unsigned long long)t->stored, (unsigned long long)t->nbytes);
}

static bool read_dtype(struct apr_reading *r, struct tensor *t, uint8_t code, uint64_t at)
{
	if ((r->h.flags & (APR_LZ4 | APR_ZSTD)) != 0 && (code & APR_PACKED) != 0 &&
	    apr_dtype_coded(code ^ APR_PACKED) != NULL)
		return read_packed(r, t, apr_dtype_coded(code ^ APR_PACKED), at);
	const struct apr_dtype *is = apr_dtype_coded(code);
	t->nbytes = t->stored;
	if (is == NULL || !apr_dtype_fits(is->dtype, t->rank, t->shape, t->stored)) {
		const struct apr_dtype *ggml = apr_dtype_ggml(code);
		if (ggml == NULL || !is_whole_blocks(ggml->dtype, t->rank, t->shape) ||
		    !apr_dtype_fits(ggml->dtype, t->rank, t->shape, t->stored))
			return unknown_dtype(r, t, is, code, at);
		is = ggml;
		r->odd |= APR_ODD_GGML;
		r->n_ggml++;
	} else if (code == 8 || code == 9) {
		r->odd |= APR_ODD_CODES;
		r->n_old_codes++;
	}
	t->dtype = is->dtype;
	t->dtype_text = is->text;
	return true;
}

/* ---- Entries ---- */

static bool read_shape(struct apr_reading *r, const uint8_t *dims, struct tensor *t)
{
	uint64_t *shape = arena_raw(r->job->mem, t->rank, sizeof *shape);
	if (shape == NULL)
		return apr_no_memory(r, "apr: tensor index");
	for (uint32_t d = 0; d < t->rank; d++)
		shape[d] = le64(dims + 8 * (size_t)d);
	t->shape = shape;
	return true;
}

static bool read_entry(struct apr_reading *r, struct cur *c, struct tensor *t)
{
	uint64_t at = cur_offset(c);
	*t = (struct tensor){ .rank = 0 };
	t->name           = cur_view(c, cur_u16(c));
	uint8_t code      = cur_u8(c);
	t->rank           = cur_u8(c);
	tn_view numbers   = cur_view(c, 8 * ((uint64_t)t->rank + 2)); /* dimensions, offset, size */
	if (!cur_ok(c) || !read_shape(r, numbers.ptr, t))
		return false;
	uint64_t offset   = le64(numbers.ptr + 8 * (size_t)t->rank);
	t->stored         = le64(numbers.ptr + 8 * (size_t)t->rank + 8);
	if (!add_u64(r->h.data_at, offset, &t->offset))
		return apr_fail(r, TN_E_CORRUPT, at, "tensor '%s': its extent overflows 64 bits",
		                ESC(t->name));
	return read_dtype(r, t, code, at);
}

/* What no writer of today gives an entry, and readers differ about. */
static void tell_entry(struct apr_reading *r, const struct tensor *t, uint64_t at)
{
	struct tn_report *report = r->job->report;
	if (!utf8_ok(t->name))
		report_add(report, TN_WARNING, TN_E_CORRUPT, at, t->name,
		           "apr: the name is no UTF-8: upstream's writer cuts names at "
		           "%d bytes, wherever that falls",
		           APR_NAME_MAX);
	if (t->name.len > APR_NAME_MAX)
		report_add(report, TN_WARNING, TN_E_CORRUPT, at, t->name,
		           "apr: a name of %zu bytes: upstream's writer cuts it at %d", t->name.len,
		           APR_NAME_MAX);
	if (t->rank > APR_RANK_MAX)
		report_add(report, TN_WARNING, TN_E_CORRUPT, at, t->name,
		           "apr: %u dimensions: upstream's writer drops those after "
		           "the %dth",
		           t->rank, APR_RANK_MAX);
}

/* Upstream compares names after it has put something else for bytes that are no UTF-8, so of
 * these nothing is asked. */
static bool check_order(struct apr_reading *r, const struct tensor *t, uint64_t at)
{
	int d = view_cmp(t[-1].name, t->name);
	r->named = r->named && d < 0;
	if (d < 0 || (d > 0 && (!utf8_ok(t[-1].name) || !utf8_ok(t->name))))
		return true;
	if (d == 0)
		return apr_fail(r, TN_E_CORRUPT, at, "two tensors are called '%s'", ESC(t->name));
	return apr_fail(r, TN_E_CORRUPT, at, "the tensor index is not sorted: '%s' follows '%s'",
	                ESC(t->name), ESC(t[-1].name));
}

/* Where the file ends by this tensor's account; one without bytes has none. An overflow is told by the
 * common laws. */
static void note_end(struct apr_reading *r, const struct tensor *t)
{
	uint64_t padded, end;
	if (t->stored == 0)
		return;
	if (!align_up(t->stored, APR_ALIGN, &padded) || !add_u64(t->offset, padded, &padded))
		padded = UINT64_MAX;
	r->padded_end = max_u64(r->padded_end, padded);
	if (add_u64(t->offset, t->stored, &end))
		r->data_end = max_u64(r->data_end, end);
}

static bool read_entries(struct apr_reading *r, struct cur *c, struct tensor *tensors)
{
	r->named = true;
	for (uint64_t i = 0; i < r->h.count; i++) {
		uint64_t at = cur_offset(c);
		if (!read_entry(r, c, &tensors[i]) || (i != 0 && !check_order(r, &tensors[i], at)))
			return false;
		note_end(r, &tensors[i]);
		tell_entry(r, &tensors[i], at);
	}
	return true;
}

/* The first bytes did not reach to the end of the index: twice as many may. */
static bool want_more(struct apr_reading *r)
{
	struct parse_job *job = r->job;
	if (job->err->code != TN_E_TRUNCATED || job->file.len == job->size)
		return false;
	uint64_t twice;
	job->need = mul_u64(job->file.len, 2, &twice) ? min_u64(twice, job->size) : job->size;
	return false;
}

bool apr_read_index(struct apr_reading *r)
{
	struct parse_job *job = r->job;
	struct model *m = job->model;
	if (r->h.count == 0)
		return true;
	m->tensors = arena_raw(job->mem, r->h.count, sizeof *m->tensors);
	if (m->tensors == NULL)
		return apr_no_memory(r, "apr: tensor index");
	size_t from = (size_t)min_u64(r->h.index_at, job->file.len);
	struct cur c = cur_over((tn_view){ job->file.ptr + from, job->file.len - from }, from,
	                        "apr: tensor index", job->err);
	if (!read_entries(r, &c, m->tensors))
		return want_more(r);
	m->n = r->h.count;
	r->index_end = cur_offset(&c);
	return true;
}
