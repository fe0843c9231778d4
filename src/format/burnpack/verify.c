/* verify.c - what can be said of a file that opens: payloads against their schemes, and with the data at hand
 * booleans and padding. Alignment, gaps and trailing bytes are the core's. */
#include "format/burnpack/layout.h"
#include "format/burnpack/scheme.h"

enum { PIECE = 1 << 20 };

/* ---- Schemes ---- */

static void verify_scheme(struct verify_job *job, const struct tensor *t)
{
	struct scheme s;
	const char *why = scheme_from_meta(tn_meta_find(t->extras, VIEW("qfloat")), &s);
	if (why == NULL && !scheme_fits(&s, t->rank, t->shape, t->nbytes))
		why = "the payload has not the length that the scheme asks for";
	if (why != NULL)
		report_add(job->report, TN_ERROR, TN_E_CORRUPT, t->offset, t->name, "burnpack: %s", why);
}

/* ---- Booleans ---- */

struct bools {
	uint64_t first, n; /* of elements that are neither 0 nor 1 */
};

static void count_bools(struct bools *b, const uint8_t *p, size_t len, unsigned width, uint64_t at)
{
	for (size_t i = 0; i < len; i += width) {
		uint32_t v = width == 1 ? p[i] : le32(p + i);
		if (v <= 1)
			continue;
		if (b->n++ == 0)
			b->first = (at + i) / width;
	}
}

/* The format asks for 0 or 1 and upstream does not look, so such a file is read everywhere, in different ways. */
static tn_code verify_bools(struct verify_job *job, const struct tensor *t, uint8_t *piece)
{
	struct bools b = { 0, 0 };
	unsigned width = t->dtype == TN_BOOL_U32 ? 4 : 1;
	for (uint64_t at = 0; at < t->nbytes; at += PIECE) {
		size_t len = (size_t)min_u64(PIECE, t->nbytes - at);
		if (reader_read(job->file, t->offset + at, piece, len, job->err) != TN_OK)
			return job->err->code;
		count_bools(&b, piece, len, width, at);
	}
	if (b.n != 0)
		report_add(job->report, TN_WARNING, TN_E_CORRUPT, t->offset + b.first * width, t->name,
		           "burnpack: %llu of its booleans are neither 0 nor 1, the first is element %llu",
		           (unsigned long long)b.n, (unsigned long long)b.first);
	return TN_OK;
}

/* ---- Padding ---- */

/* Less than the alignment: more would be a gap. */
static tn_code verify_padding(struct verify_job *job, uint64_t from, uint64_t to)
{
	uint8_t bytes[PACK_ALIGN];
	if (from >= to || to - from >= PACK_ALIGN)
		return TN_OK;
	size_t len = (size_t)(to - from);
	if (reader_read(job->file, from, bytes, len, job->err) != TN_OK)
		return job->err->code;
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == 0)
			continue;
		report_add(job->report, TN_NOTE, TN_OK, from + i, NO_TENSOR, "burnpack: the padding holds something else than zeros");
		break;
	}
	return TN_OK;
}

static tn_code verify_all_padding(struct verify_job *job)
{
	const struct model *m = job->model;
	uint64_t at = m->data_at;
	for (unsigned i = 0; i < m->n_regions; i++) {
		const struct region *r = &m->regions[i];
		if (r->kind == TN_REGION_PADDING && verify_padding(job, r->offset, r->offset + r->len) != TN_OK)
			return job->err->code;
	}
	for (uint64_t i = 0; i < m->n; i++) {
		if (verify_padding(job, at, m->tensors[i].offset) != TN_OK)
			return job->err->code;
		at = max_u64(at, m->tensors[i].offset + m->tensors[i].stored);
	}
	return TN_OK;
}

/* ---- All of it ---- */

static bool is_bool(const struct tensor *t)
{
	return t->dtype == TN_BOOL || t->dtype == TN_BOOL_U8 || t->dtype == TN_BOOL_U32;
}

static tn_code verify_data(struct verify_job *job)
{
	const struct model *m = job->model;
	uint8_t *piece = NULL;
	for (uint64_t i = 0; i < m->n; i++) {
		if (!is_bool(&m->tensors[i]))
			continue;
		if (piece == NULL && (piece = arena_raw(job->mem, min_u64(PIECE, job->file->size), 1)) == NULL)
			return arena_err(job->mem, job->err, "burnpack: buffer");
		if (verify_bools(job, &m->tensors[i], piece) != TN_OK)
			return job->err->code;
	}
	return verify_all_padding(job);
}

tn_code pack_verify(struct verify_job *job)
{
	const struct model *m = job->model;
	for (uint64_t i = 0; i < m->n; i++)
		if (m->tensors[i].dtype == TN_QFLOAT)
			verify_scheme(job, &m->tensors[i]);
	return job->deep ? verify_data(job) : TN_OK;
}
