/* image.c - a file that is compressed as a whole, as realizar reads it: behind the header, which
 * stands as it is, come
 *
 *	flag 0x0001   u32 length, one lz4 block
 *	flag 0x0002   zstd frames
 *
 * and all offsets are those of the file before compression. It is decoded into memory, and weights
 * do not shrink much: unless the caller names a limit of memory, one that grows beyond all measure
 * is refused long before the budget is spent. So is one whose metadata or index do: a byte of them
 * takes forty in memory. */
#include "format/apr/read.h"

#include "base/buf.h"
#include "codec/lz4.h"
#include "codec/zstd.h"

enum {
	MOST_LZ4 = 255, /* no block of lz4 holds more than this many times its length */
	GROWTH   = 64,  /* of what is larger than this: */
	SMALL    = 64 << 20,
	HEAD_GROWTH = 3, /* likewise of metadata and index */
	HEAD_SMALL  = 3 << 20
};

/* Bytes that an image may have. */
static uint64_t image_limit(const struct parse_job *job)
{
	uint64_t grown, budget = job->mem->budget;
	if (job->limits->max_memory != 0 || !mul_u64(job->size, GROWTH, &grown))
		return budget;
	return min_u64(budget, max_u64(grown, SMALL));
}

static bool too_large(struct apr_reading *r, uint64_t limit)
{
	return apr_fail(r, TN_E_LIMIT, APR_HEADER,
	                "decompressed the file takes more than %llu bytes, the limit%s",
	                (unsigned long long)limit, r->job->limits->max_memory != 0 ? "" : " unless one of memory is given");
}

static bool lz4_image(struct apr_reading *r, tn_view packed)
{
	struct parse_job *job = r->job;
	uint32_t n = packed.len >= 4 ? le32(packed.ptr) : 0;
	if (n == 0 || n / MOST_LZ4 > packed.len - 4)
		return false;
	if (n > image_limit(job))
		return too_large(r, image_limit(job));
	uint8_t *image = arena_raw(job->mem, (uint64_t)APR_HEADER + n, 1);
	if (image == NULL)
		return job->mem->over ? too_large(r, job->mem->budget)
		                      : apr_no_memory(r, "apr: decompressed file");
	memcpy(image, job->file.ptr, APR_HEADER);
	job->image = (tn_view){ image, (size_t)APR_HEADER + n };
	return lz4_unpack(packed.ptr + 4, packed.len - 4, image + APR_HEADER, n);
}

static bool zstd_image(struct apr_reading *r, tn_view packed)
{
	struct parse_job *job = r->job;
	struct buf b;
	uint64_t limit = min_u64(image_limit(job), job->mem->budget / 2); /* once more for the copy into the arena */
	buf_init(&b, limit);
	buf_put(&b, job->file.ptr, APR_HEADER);
	bool ok = zstd_unpack_all(packed, &b);
	if (ok) {
		job->image = buf_done(&b, job->mem);
		return job->image.ptr != NULL || apr_no_memory(r, "apr: decompressed file");
	}
	bool over = b.over, failed = b.failed;
	buf_fini(&b);
	if (over)
		return too_large(r, limit);
	return failed ? apr_no_memory(r, "apr: decompressed file") : false;
}

/* The model that was begun on the compressed bytes is forgotten. */
static bool begin_again(struct apr_reading *r)
{
	struct parse_job *job = r->job;
	const char *version = job->model->version;
	if (!model_init(job->model, job->mem))
		return apr_no_memory(r, "apr: model");
	job->model->version = version;
	report_fini(job->report);
	report_init(job->report);
	*r = (struct apr_reading){ .job = job, .h = r->h, .odd = APR_ODD_IMAGE, .packed = job->size };
	return true;
}

/* Of the index counts what each tensor has at least: longer names and shapes take hardly more than
 * their own length. */
bool apr_image_head_fits(struct apr_reading *r)
{
	uint64_t head = r->h.metadata_len + (uint64_t)APR_ENTRY * r->h.count, limit;
	if (r->job->limits->max_memory != 0 || !mul_u64(r->packed, HEAD_GROWTH, &limit))
		return true;
	limit = max_u64(limit, HEAD_SMALL);
	return head <= limit ||
	       apr_fail(r, TN_E_LIMIT, 20,
	                "decompressed, the metadata and index take %llu bytes or more, the limit is "
	                "%llu unless one of memory is given",
	                (unsigned long long)head, (unsigned long long)limit);
}

bool apr_read_image(struct apr_reading *r)
{
	struct parse_job *job = r->job;
	if (!job_has(job, job->size, "apr: compressed file"))
		return false;
	tn_view packed = { job->file.ptr + APR_HEADER, job->file.len - APR_HEADER };
	bool ok = r->h.flags & APR_LZ4 ? lz4_image(r, packed) : zstd_image(r, packed);
	if (!ok)
		job->image = (tn_view){ NULL, 0 };
	return ok && begin_again(r);
}
