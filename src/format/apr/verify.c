/* verify.c - what can be said of a file that opens, beyond the common laws: zeros where zeros
 * belong and, with the data at hand, the footer. */
#include "format/apr/layout.h"

#include "codec/crc32.h"

#include <inttypes.h>

enum { PIECE = 1 << 20 };

static const struct region *footer_of(const struct model *m)
{
	for (unsigned i = 0; i < m->n_regions; i++)
		if (m->regions[i].kind == TN_REGION_FOOTER)
			return &m->regions[i];
	return NULL;
}

/* Adds [from, to) of the file to the CRC. */
static tn_code add_bytes(struct verify_job *job, uint8_t *piece, uint64_t from, uint64_t to, uint32_t *crc)
{
	for (uint64_t at = from, n; at < to; at += n) {
		n = min_u64(PIECE, to - at);
		if (reader_read(job->file, at, piece, (size_t)n, job->err) != TN_OK)
			return job->err->code;
		*crc = crc32_update(*crc, piece, (size_t)n);
	}
	return TN_OK;
}

static tn_code read_field(struct verify_job *job, uint64_t at, uint32_t *out)
{
	uint8_t field[APR_FOOTER];
	if (reader_read(job->file, at, field, sizeof field, job->err) == TN_OK)
		*out = le32(field);
	return job->err->code;
}

static tn_code check_footer(struct verify_job *job, uint8_t *piece, uint64_t at)
{
	uint32_t crc = 0, field;
	if (add_bytes(job, piece, 0, at, &crc) != TN_OK || read_field(job, at, &field) != TN_OK)
		return job->err->code;
	if (field != crc)
		report_add(job->report, TN_ERROR, TN_E_CHECKSUM, at, NO_TENSOR,
		           "apr: the footer is %08" PRIx32 ", the bytes before it give %08" PRIx32,
		           field, crc);
	return TN_OK;
}

/* Where the index leaves more than a footer at the end, either bytes were added behind it or damage
 * has made the index claim less: the footer stands where the data ends, or the file. */
static tn_code seek_footer(struct verify_job *job, uint8_t *piece, uint64_t end)
{
	uint64_t last = job->file->size - APR_FOOTER;
	uint32_t crc = 0, field;
	if (add_bytes(job, piece, 0, end, &crc) != TN_OK || read_field(job, end, &field) != TN_OK)
		return job->err->code;
	if (field == crc)
		return TN_OK;
	if (add_bytes(job, piece, end, last, &crc) != TN_OK || read_field(job, last, &field) != TN_OK)
		return job->err->code;
	if (field != crc && field != 0) /* 0: the file ends in padding */
		report_add(job->report, TN_ERROR, TN_E_CHECKSUM, end, NO_TENSOR,
		           "apr: there is no footer where the data ends, nor at the end of the file");
	return TN_OK;
}

/* Where all ends that header and index claim; tensors without bytes lie nowhere. */
static uint64_t claimed_end(const struct model *m)
{
	uint64_t end = 0;
	for (unsigned i = 0; i < m->n_regions; i++)
		end = max_u64(end, m->regions[i].offset + m->regions[i].len);
	for (uint64_t i = 0; i < m->n; i++)
		if (m->tensors[i].stored != 0)
			end = max_u64(end, m->tensors[i].offset + m->tensors[i].stored);
	return end;
}

static tn_code verify_footer(struct verify_job *job)
{
	const struct region *footer = footer_of(job->model);
	uint64_t end = claimed_end(job->model);
	uint8_t *piece = arena_raw(job->mem, min_u64(PIECE, job->file->size), 1);
	if (piece == NULL)
		return arena_err(job->mem, job->err, "apr: buffer");
	if (footer != NULL)
		return check_footer(job, piece, footer->offset);
	return end < job->file->size && job->file->size - end > APR_FOOTER ? seek_footer(job, piece, end) : TN_OK;
}

/* Less than the alignment: more would be a gap. */
static tn_code verify_zeros(struct verify_job *job, uint64_t from, uint64_t to)
{
	uint8_t bytes[APR_ALIGN];
	if (from >= to || to - from >= APR_ALIGN)
		return TN_OK;
	size_t len = (size_t)(to - from), i = 0;
	if (reader_read(job->file, from, bytes, len, job->err) != TN_OK)
		return job->err->code;
	while (i < len && bytes[i] == 0)
		i++;
	if (i < len)
		report_add(job->report, TN_NOTE, TN_OK, from + i, NO_TENSOR,
		           "apr: the padding holds something else than zeros");
	return TN_OK;
}

static tn_code verify_padding(struct verify_job *job)
{
	const struct model *m = job->model;
	for (unsigned i = 0; i < m->n_regions; i++) {
		const struct region *r = &m->regions[i];
		if (r->kind == TN_REGION_PADDING &&
		    verify_zeros(job, r->offset, r->offset + r->len) != TN_OK)
			return job->err->code;
	}
	for (uint64_t i = 1; i < m->n; i++)
		if (verify_zeros(job, m->tensors[i - 1].offset + m->tensors[i - 1].stored,
		                 m->tensors[i].offset) != TN_OK)
			return job->err->code;
	return TN_OK;
}

/* Every block of every compressed tensor; what does not decode is told and passed over. */
static tn_code verify_blocks(struct verify_job *job)
{
	enum { BLOCKS = 64 * BLOCK_SIZE };
	const struct model *m = job->model;
	uint8_t *piece = NULL;
	for (uint64_t i = 0; i < m->n; i++) {
		const struct tensor *t = &m->tensors[i];
		tn_error why = { .code = TN_OK, .offset = TN_NO_OFFSET };
		if (t->enc != ENC_BLOCKS)
			continue;
		if (piece == NULL && (piece = arena_raw(job->mem, BLOCKS, 1)) == NULL)
			return arena_err(job->mem, job->err, "apr: buffer");
		blocks_check(job->file, t, &why);
		for (uint64_t at = 0, n; at < t->nbytes && why.code == TN_OK; at += n) {
			n = min_u64(BLOCKS, t->nbytes - at);
			blocks_read(job->file, t, at, piece, (size_t)n, &why);
		}
		if (why.code == TN_E_NOMEM || why.code == TN_E_IO)
			return err_set(job->err, why.code, why.offset, "%s", why.msg);
		if (why.code != TN_OK)
			report_add(job->report, TN_ERROR, why.code, why.offset, t->name, "apr: %s",
			           why.msg);
	}
	return TN_OK;
}

tn_code apr_verify(struct verify_job *job)
{
	if (!job->deep)
		return TN_OK;
	if (verify_blocks(job) != TN_OK)
		return job->err->code;
	return verify_padding(job) == TN_OK ? verify_footer(job) : job->err->code;
}
