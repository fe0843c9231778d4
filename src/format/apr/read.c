/* read.c - from a file's first bytes to a model: the header, where the sections lie, and what can
 * be said of the end of the file. read_metadata.c and read_index.c read the sections.
 *
 * Sections may stand in any order, as upstream's reader has it, but must not overlap. */
#include "format/apr/read.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- Words ---- */

bool apr_fail(struct apr_reading *r, tn_code code, uint64_t offset, const char *fmt, ...)
{
	char why[200];
	va_list args;
	va_start(args, fmt);
	vsnprintf(why, sizeof why, fmt, args);
	va_end(args);
	err_set(r->job->err, code, offset, "apr: %s", why);
	return false;
}

bool apr_no_memory(struct apr_reading *r, const char *what)
{
	arena_err(r->job->mem, r->job->err, what);
	return false;
}

void apr_tell(struct apr_reading *r, tn_severity severity, tn_code code, uint64_t offset,
              const char *fmt, ...)
{
	char text[200];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	report_add(r->job->report, severity, code, offset, NO_TENSOR, "apr: %s", text);
}

struct tn_meta *apr_reading_native(struct apr_reading *r)
{
	return model_native(r->job->mem, r->job->model, "apr");
}

/* ---- The header ---- */

static void take_header(const uint8_t *p, struct apr_header *h)
{
	h->major        = p[4];
	h->minor        = p[5];
	h->flags        = le16(p + 6);
	h->count        = le32(p + 8);
	h->metadata_at  = le64(p + 12);
	h->metadata_len = le32(p + 20);
	h->index_at     = le64(p + 24);
	h->data_at      = le64(p + 32);
	h->crc          = le32(p + 40);
	memcpy(h->reserved, p + APR_RESERVED_AT, APR_RESERVED);
}

static bool check_crc(struct apr_reading *r)
{
	uint32_t crc = apr_header_crc(r->job->file.ptr);
	if (crc == r->h.crc)
		return true;
	if (!apr_relative_older(r->job))
		apr_fail(r, TN_E_CHECKSUM, 40,
		         "header checksum is %08lx, its bytes give %08lx",
		         (unsigned long)r->h.crc, (unsigned long)crc);
	return false;
}

static bool check_flags(struct apr_reading *r)
{
	if (r->h.flags & APR_COLUMN_MAJOR)
		return apr_fail(r, TN_E_UNSUPPORTED, 6,
		                "flag 0x0800: the tensors are column-major, which no reader takes "
		                "(LAYOUT-002)");
	if (r->h.flags & APR_ENCRYPTED)
		return apr_fail(
		        r, TN_E_UNSUPPORTED, 6,
			"flag 0x0004: the data is encrypted, in a way that is defined nowhere");
	return true;
}

static bool keep_reserved(struct tn_meta *own, const struct apr_header *h, struct arena *mem)
{
	tn_view bytes = arena_copy(mem, (tn_view){ h->reserved, APR_RESERVED });
	return bytes.ptr != NULL && meta_add_bytes(mem, own, VIEW(APR_NATIVE_RESERVED), bytes) != NULL;
}

/* What the model has no name for is kept, so that a rewrite restores it. */
static bool keep_header(struct apr_reading *r)
{
	const struct apr_header *h = &r->h;
	static const uint8_t zeros[APR_RESERVED];
	struct arena *mem = r->job->mem;
	unsigned flags = h->flags;
	if (r->odd & (APR_ODD_BLOCKS | APR_ODD_IMAGE))
		flags &= ~(unsigned)(APR_LZ4 | APR_ZSTD); /* no part of the model */
	bool version = h->major != APR_MAJOR || h->minor != APR_MINOR,
	     reserved = memcmp(h->reserved, zeros, APR_RESERVED) != 0;
	if (flags == APR_ROW_MAJOR && !version && !reserved)
		return true;
	struct tn_meta *own = apr_reading_native(r);
	bool ok = own != NULL;
	if (ok && flags != APR_ROW_MAJOR)
		ok = meta_add_uint(mem, own, VIEW(APR_NATIVE_FLAGS), flags, 16) != NULL;
	if (ok && version)
		ok = meta_add_uint(mem, own, VIEW(APR_NATIVE_VERSION),
		                   (uint64_t)h->major << 8 | h->minor, 16) != NULL;
	if (ok && reserved)
		ok = keep_reserved(own, h, mem);
	return ok || apr_no_memory(r, "apr: header");
}

static void tell_header(struct apr_reading *r)
{
	const struct apr_header *h = &r->h;
	if (h->major != APR_MAJOR || h->minor != APR_MINOR)
		apr_tell(r, TN_WARNING, TN_E_UNSUPPORTED, 4,
		         "version %u.%u, read as %d.%d as other readers do", h->major, h->minor,
		         APR_MAJOR, APR_MINOR);
	if (h->flags & APR_SIGNED)
		apr_tell(r, TN_NOTE, TN_OK, 6,
		         "flag 0x0008: the file is said to be signed; no signature is defined");
	if (h->flags & APR_UNDEFINED)
		apr_tell(r, TN_NOTE, TN_OK, 6, "flags 0x%04x have no meaning and are kept",
		         h->flags & APR_UNDEFINED);
}

static bool read_header(struct apr_reading *r)
{
	struct parse_job *job = r->job;
	if (apr_relative(job))
		return false;
	if (!job_has(job, APR_HEADER, "apr: header"))
		return false;
	if (memcmp(job->file.ptr, APR_MAGIC, 4) != 0)
		return apr_fail(r, TN_E_FORMAT, 0, "starts with '%s', not with 'APR\\x00'",
		                ESC(((tn_view){ job->file.ptr, 4 })));
	take_header(job->file.ptr, &r->h);
	if (!check_crc(r) || !check_flags(r))
		return false;
	job->model->version = arena_printf(job->mem, "%u.%u", r->h.major, r->h.minor);
	return job->model->version != NULL || apr_no_memory(r, "apr: header");
}

/* ---- The sections ---- */

static bool check_sections(struct apr_reading *r)
{
	const struct apr_header *h = &r->h;
	uint64_t size = r->job->size,
	         limit = limit_or(r->job->limits->max_header, APR_METADATA_MAX);
	if (!add_u64(h->metadata_at, h->metadata_len, &r->metadata_end))
		return apr_fail(r, TN_E_CORRUPT, 12,
		                "offset and length of the metadata overflow 64 bits");
	if (h->metadata_len > limit)
		return apr_fail(r, TN_E_LIMIT, 20, "%lu bytes of metadata, the limit is %llu",
		                (unsigned long)h->metadata_len, (unsigned long long)limit);
	if ((r->odd & APR_ODD_IMAGE) != 0 && !apr_image_head_fits(r))
		return false;
	if (r->metadata_end > size)
		return apr_fail(r, TN_E_TRUNCATED, size,
		                "the metadata ends at byte %llu, the file has %llu",
		                (unsigned long long)r->metadata_end, (unsigned long long)size);
	if (h->metadata_len != 0 && h->metadata_at < APR_HEADER)
		return apr_fail(r, TN_E_CORRUPT, 12, "the metadata overlaps the header");
	if (h->count == 0)
		return true;
	if (h->index_at > size)
		return apr_fail(r, TN_E_TRUNCATED, size,
		                "the tensor index starts at byte %llu, the file has %llu",
		                (unsigned long long)h->index_at, (unsigned long long)size);
	if (h->index_at < APR_HEADER)
		return apr_fail(r, TN_E_CORRUPT, 24, "the tensor index overlaps the header");
	if (h->count > (size - h->index_at) / APR_ENTRY)
		return apr_fail(r, TN_E_TRUNCATED, 8,
		                "%lu tensors cannot be indexed by the %llu bytes that follow",
		                (unsigned long)h->count, (unsigned long long)(size - h->index_at));
	return true;
}

static bool overlaps(uint64_t a, uint64_t a_end, uint64_t b, uint64_t b_end)
{
	return a < b_end && b < a_end;
}

/* Tensors are in the order of their data; those without bytes lie nowhere. */
static bool check_apart(struct apr_reading *r)
{
	const struct apr_header *h = &r->h;
	const struct model *m = r->job->model;
	if (overlaps(h->metadata_at, r->metadata_end, h->index_at, r->index_end))
		return apr_fail(r, TN_E_CORRUPT, 24, "the tensor index overlaps the metadata");
	if (h->data_at >= max_u64(APR_HEADER, max_u64(r->metadata_end, r->index_end)))
		return true; /* offsets count from there */
	for (uint64_t i = 0; i < m->n; i++) {
		const struct tensor *t = &m->tensors[i];
		uint64_t end;
		/* an extent that overflows is left to the common laws */
		if (t->stored == 0 || !add_u64(t->offset, t->stored, &end))
			continue;
		if (overlaps(0, APR_HEADER, t->offset, end) ||
		    overlaps(h->metadata_at, r->metadata_end, t->offset, end) ||
		    overlaps(h->index_at, r->index_end, t->offset, end))
			return apr_fail(
			        r, TN_E_CORRUPT, t->offset,
				"tensor '%s' overlaps the header, the metadata or the index",
			        ESC(t->name));
	}
	return true;
}

/* Padding and footer: files without one or the other are read everywhere, and may have been cut. */
static void read_end(struct apr_reading *r)
{
	struct model *m = r->job->model;
	uint64_t size = r->job->size;
	uint64_t sections = max_u64(r->metadata_end, r->index_end);
	uint64_t end = max_u64(max_u64(r->h.data_at, sections), r->padded_end);
	uint64_t last = max_u64(max_u64(sections, min_u64(r->h.data_at, size)), r->data_end);
	if (last > size)
		return; /* more than padding is missing: the common laws say what */
	if (last < min_u64(end, size))
		model_region(m, TN_REGION_PADDING, last, min_u64(end, size) - last, "padding");
	if (size < end) {
		apr_tell(r, TN_WARNING, TN_E_TRUNCATED, size,
		         "the padding at the end is cut off, and with it the footer");
	} else if (size == end) {
		r->odd |= APR_ODD_FOOTER;
		apr_tell(r, TN_NOTE, TN_OK, size, "there is no footer to check the data by");
	} else if (size - end < APR_FOOTER) {
		apr_tell(r, TN_WARNING, TN_E_TRUNCATED, size, "the footer is cut off");
	} else if (size - end == APR_FOOTER) {
		model_region(m, TN_REGION_FOOTER, end, APR_FOOTER, "footer");
	}
}

static void fill_regions(struct apr_reading *r)
{
	const struct apr_header *h = &r->h;
	struct model *m = r->job->model;
	m->data_at = h->data_at;
	m->data_align = APR_ALIGN;
	model_region(m, TN_REGION_HEADER, 0, APR_HEADER, "header");
	model_region(m, TN_REGION_INDEX, h->metadata_at, h->metadata_len, "metadata");
	model_region(m, TN_REGION_INDEX, h->index_at,
	             r->index_end > h->index_at ? r->index_end - h->index_at : 0, "index");
	uint64_t before = max_u64(r->metadata_end, r->index_end),
	         data = min_u64(h->data_at, r->job->size);
	if (before > data || data - before >= APR_ALIGN)
		return; /* sections in an order of their own */
	if (r->metadata_end < h->index_at && r->index_end == before &&
	    h->index_at - r->metadata_end < APR_ALIGN)
		model_region(m, TN_REGION_PADDING, r->metadata_end, h->index_at - r->metadata_end,
		             "padding");
	model_region(m, TN_REGION_PADDING, before, data - before, "padding");
}

/* ---- The dialect ---- */

static bool name_dialect(struct apr_reading *r)
{
	static const struct { unsigned bit; const char *name;
	} words[] = {
		{ APR_ODD_IMAGE, "realizar, compressed" },
		{ APR_ODD_BLOCKS, "compressed blocks" },
		{ APR_ODD_GGML, "realizar" },
		{ APR_ODD_NULLS, "explicit nulls" },
		{ APR_ODD_CODES, "old dtype codes" },
		{ APR_ODD_METADATA, "no metadata" },
		{ APR_ODD_FOOTER, "no footer" },
		{ APR_ODD_RAW, "compression flag without compression" },
	};
	const char *text = "";
	for (size_t i = 0; i < sizeof words / sizeof *words && text != NULL; i++)
		if (r->odd & words[i].bit)
			text = arena_printf(r->job->mem, "%s%s%s", text, *text != '\0' ? ", " : "",
			                    words[i].name);
	r->job->model->dialect = text;
	return text != NULL || apr_no_memory(r, "apr: dialect");
}

static void tell_odd(struct apr_reading *r)
{
	if (r->odd & APR_ODD_GGML)
		apr_tell(r, TN_NOTE, TN_OK, TN_NO_OFFSET,
		         "dtype codes of ggml, as realizar writes them, told by their sizes: %llu "
		         "of %llu "
		         "tensors",
		         (unsigned long long)r->n_ggml, (unsigned long long)r->job->model->n);
	if (r->odd & APR_ODD_CODES)
		apr_tell(r, TN_NOTE, TN_OK, TN_NO_OFFSET,
		         "the old dtype codes 8 and 9: %llu of %llu tensors",
		         (unsigned long long)r->n_old_codes, (unsigned long long)r->job->model->n);
	if (r->odd & APR_ODD_IMAGE)
		apr_tell(
		        r, TN_NOTE, TN_OK, TN_NO_OFFSET,
			"the file is compressed as a whole: offsets are those after decompression, "
			"which takes %llu bytes",
		        (unsigned long long)r->job->image.len);
	if (r->odd & APR_ODD_RAW)
		apr_tell(r, TN_NOTE, TN_OK, 6,
		         "the flags say that the data is compressed, and it is not");
}

/* ---- The file ---- */

/* Entries differ in length: how far the index reaches is only known once it is read. This is a
 * guess. */
static uint64_t first_wanted(const struct apr_reading *r)
{
	enum { USUAL_ENTRY = 128 };
	const struct apr_header *h = &r->h;
	if (h->count == 0)
		return r->metadata_end;
	/* index_at is inside the file, and count fits what follows it */
	uint64_t end = h->index_at + (uint64_t)USUAL_ENTRY * h->count;
	if (h->data_at > h->index_at)
		end = min_u64(end, h->data_at);
	return max_u64(r->metadata_end, min_u64(end, r->job->size));
}

static bool read_sections(struct apr_reading *r)
{
	struct parse_job *job = r->job;
	if (!check_sections(r) || !job_has(job, first_wanted(r), "apr: index"))
		return false;
	tn_view text = { job->file.ptr + (r->h.metadata_len != 0 ? r->h.metadata_at : 0),
	                r->h.metadata_len };
	if (!apr_read_metadata(r, text))
		return false;
	r->has_metadata = true;
	if (!apr_read_index(r))
		return false;
	if (r->named ? !model_sort_named_by_data(job->mem, job->model)
	             : !model_sort_by_data(job->model->tensors, job->model->n))
		return apr_no_memory(r, "apr: order of tensors");
	return check_apart(r);
}

/* Of a shard that does not say which it is, the others are not looked for. */
static void tell_place(struct apr_reading *r)
{
	struct shard_place place;
	if ((r->h.flags & APR_SHARDED) != 0 && !apr_shards.place(r->job->model, &place))
		apr_tell(r, TN_WARNING, TN_E_CORRUPT, 6,
		         "the flag SHARDED is set, and no 'sharding' in the metadata says which of how many shards "
		         "this is: it is read as a model of its own");
}

/* What is read stays in the model; the way in which it was stored does not. */
static bool finish(struct apr_reading *r)
{
	if (r->n_packed != 0)
		r->odd |= APR_ODD_BLOCKS;
	else if ((r->h.flags & (APR_LZ4 | APR_ZSTD)) != 0 && (r->odd & APR_ODD_IMAGE) == 0)
		r->odd |= APR_ODD_RAW;
	if (r->n_packed != 0)
		meta_remove(r->job->model->metadata, VIEW(APR_COMPRESSION_KEY));
	fill_regions(r);
	tell_header(r);
	read_end(r);
	tell_odd(r);
	if (!keep_header(r) || !name_dialect(r))
		return false;
	tell_place(r);
	return true;
}

/* Where a flag says compressed and there is no metadata to be read, the file may be compressed
 * as a whole. */
static bool read_file(struct apr_reading *r)
{
	struct parse_job *job = r->job;
	if (read_sections(r))
		return true;
	if ((r->h.flags & (APR_LZ4 | APR_ZSTD)) == 0 || r->has_metadata || job->need != 0 ||
	    job->err->code == TN_E_NOMEM)
		return false;
	tn_error why = *job->err;
	err_clear(job->err);
	if (!apr_read_image(r)) {
		if (job->err->code == TN_OK)
			apr_fail(r, why.code, why.offset,
			         "the metadata cannot be read, nor is the file compressed as a "
			         "whole (%s)",
			         why.msg);
		return false;
	}
	job->file = job->image;
	job->size = job->image.len;
	return read_sections(r);
}

tn_code apr_parse(struct parse_job *job)
{
	struct apr_reading r = { .job = job };
	job->check.max_tensors = limit_or(job->limits->max_tensors, UINT64_MAX);
	job->check.max_tensor_bytes = limit_or(job->limits->max_tensor_bytes, UINT64_MAX);
	if (read_header(&r) && read_file(&r))
		finish(&r);
	return job->err->code;
}
