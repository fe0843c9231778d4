/* front.c - the fixed parts of an archive: its header and its page table, read and laid out. */
#include "format/thin/layout.h"

#include "base/utf8.h"

#include <inttypes.h>

/* ---- Header ---- */

static bool fail(struct parse_job *job, tn_code code, uint64_t offset, const char *why)
{
	err_set(job->err, code, offset, THIN ": %s", why);
	return false;
}

static bool check_fixed(struct parse_job *job, const uint8_t *p)
{
	if (memcmp(p, THIN_MAGIC, 8) != 0) {
		err_set(job->err, TN_E_UNSUPPORTED, 0, THIN ": starts with '%s', only 'THINv0' is known", ESC(((tn_view){ p, 8 })));
		return false;
	}
	if (le32(p + 8) != THIN_HEADER) {
		err_set(job->err, TN_E_CORRUPT, 8, THIN ": header length is %" PRIu32 ", not %d", le32(p + 8), THIN_HEADER);
		return false;
	}
	if (le32(p + 12) != 0) {
		err_set(job->err, TN_E_UNSUPPORTED, 12, THIN ": version %" PRIu32 ", only 0 is known", le32(p + 12));
		return false;
	}
	return true;
}

static bool is_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != 0)
			return false;
	return true;
}

/* Both ranges are measured before anything is read or taken for them. */
static bool check_ranges(struct parse_job *job, const struct thin_header *h)
{
	uint64_t end;
	if (!add_u64(h->manifest_off, h->manifest_len, &end))
		return fail(job, TN_E_CORRUPT, 16, "the manifest's place overflows 64 bits");
	if (end > job->size) {
		err_set(job->err, TN_E_TRUNCATED, job->size, THIN ": the manifest ends at byte %" PRIu64 ", the file has %" PRIu64,
		        end, job->size);
		return false;
	}
	if (h->table_off > job->size)
		return fail(job, TN_E_TRUNCATED, 32, "the page table starts after the end of the file");
	if (h->page_count > (job->size - h->table_off) / (THIN_RECORD + 1)) {
		err_set(job->err, TN_E_CORRUPT, 40, THIN ": page count is %" PRIu64 ", the file has no room for so many records",
		        h->page_count);
		return false;
	}
	uint64_t least = max_u64(end, h->table_off + h->page_count * (THIN_RECORD + 1));
	uint64_t limit = limit_or(job->limits->max_header, UINT64_MAX);
	if (least > limit) {
		err_set(job->err, TN_E_LIMIT, TN_NO_OFFSET, THIN ": header, manifest and page table take %" PRIu64 " bytes or more, "
		        "the limit is %" PRIu64, least, limit);
		return false;
	}
	return job_has(job, end, THIN ": manifest");
}

bool thin_read_header(struct parse_job *job, struct thin_header *h)
{
	if (!job_has(job, THIN_HEADER, THIN ": header"))
		return false;
	const uint8_t *p = job->file.ptr;
	if (!check_fixed(job, p))
		return false;
	*h = (struct thin_header){
		.manifest_off = le64(p + 16), .manifest_len = le64(p + 24), .table_off = le64(p + 32),
		.page_count = le64(p + 40), .data_off = le64(p + 48), .hash_is_zero = is_zero(p + 56, 32),
	};
	return check_ranges(job, h);
}

void thin_put_header(uint8_t to[THIN_HEADER], const struct thin_header *h)
{
	memset(to, 0, THIN_HEADER);
	memcpy(to, THIN_MAGIC, 8);
	put_le32(to + 8, THIN_HEADER);
	put_le64(to + 16, h->manifest_off);
	put_le64(to + 24, h->manifest_len);
	put_le64(to + 32, h->table_off);
	put_le64(to + 40, h->page_count);
	put_le64(to + 48, h->data_off);
}

/* ---- Page table ---- */

/* Where the table's length is not known yet, each request is for twice of what there was, so that there are few. */
static bool has_to(struct parse_job *job, uint64_t end)
{
	uint64_t more = job->file.len <= job->size / 2 ? 2 * job->file.len : job->size;
	if (end <= job->file.len)
		return true;
	return job_has(job, end <= job->size ? max_u64(end, more) : end, THIN ": page table");
}

/* The header says where the table ends, and is believed as far as a table of so many records could reach. */
static bool has_table(struct parse_job *job, const struct thin_header *h)
{
	uint64_t most = h->page_count <= UINT32_MAX ? h->page_count * (THIN_RECORD + THIN_ID_MAX) : UINT64_MAX / 2;
	if (h->data_off < h->table_off || h->data_off - h->table_off > most || h->data_off > job->size)
		return has_to(job, h->table_off);
	return job_has(job, h->data_off, THIN ": page table");
}

/* One record at off; its end in *end. */
static bool check_record(struct parse_job *job, uint64_t i, uint64_t off, uint64_t *end)
{
	if (!has_to(job, off + 2))
		return false;
	uint64_t n = le16(job->file.ptr + off);
	if (n == 0 || n > THIN_ID_MAX) {
		err_set(job->err, TN_E_CORRUPT, off, THIN ": record %" PRIu64 " of the page table: an id of %" PRIu64
		        " bytes, 1 to %d are possible", i, n, THIN_ID_MAX);
		return false;
	}
	*end = off + THIN_RECORD + n;
	if (!has_to(job, *end))
		return false;
	if (utf8_ok((tn_view){ job->file.ptr + off + 2, (size_t)n }))
		return true;
	err_set(job->err, TN_E_CORRUPT, off + 2, THIN ": record %" PRIu64 " of the page table: its id is not UTF-8", i);
	return false;
}

/* Its length follows from where the next record starts: the bytes may be those of a file that another process changes. */
static tn_view id_at(const void *table, uint64_t i)
{
	const uint8_t *const *at = ((const struct thin_table *)table)->at + i;
	return (tn_view){ at[0] + 2, (size_t)(at[1] - at[0]) - THIN_RECORD };
}

bool thin_read_table(struct parse_job *job, const struct thin_header *h, struct thin_table *t)
{
	uint64_t off = h->table_off, end = off, other;
	if (!has_table(job, h))
		return false;
	*t = (struct thin_table){ .off = off, .n = h->page_count };
	t->at = arena_raw(job->mem, t->n + 1, sizeof *t->at);
	if (t->at == NULL || !strmap_init(&t->ids, job->mem, t->n)) {
		arena_err(job->mem, job->err, THIN ": page table");
		return false;
	}
	for (uint64_t i = 0; i < t->n; i++, off = end) {
		if (!check_record(job, i, off, &end))
			return false;
		t->at[i] = job->file.ptr + off;
		t->at[i + 1] = job->file.ptr + end;
		t->twice += !strmap_add(&t->ids, id_at, t, i, &other);
	}
	t->bytes = (tn_view){ job->file.ptr + t->off, (size_t)(off - t->off) };
	return true;
}

struct thin_record thin_record_at(const struct thin_table *t, uint64_t i)
{
	tn_view id = id_at(t, i);
	const uint8_t *p = id.ptr + id.len;
	return (struct thin_record){
		.id = id, .offset = le64(p), .stored = le64(p + 8), .raw = le64(p + 16), .flags = le32(p + 24),
		.digest = (const tn_digest *)(p + 28),
	};
}

struct tensor thin_record_tensor(const struct thin_record *r)
{
	bool zstd = r->flags == THIN_FLAG_ZSTD && r->raw / THIN_RATIO_MAX <= r->stored;
	return (struct tensor){
		.name = r->id, .enc = zstd ? ENC_ZSTD : ENC_RAW, .offset = r->offset, .stored = r->stored,
		.nbytes = zstd ? r->raw : r->stored,
	};
}

bool thin_record_find(const struct thin_table *t, tn_view id, uint64_t *out)
{
	return strmap_find(&t->ids, id_at, t, id, out);
}

bool thin_record_next(const struct thin_table *t, tn_view id, uint64_t *last, uint64_t *out)
{
	uint64_t next = *last + 1;
	bool there = t->twice == 0 && next < t->n && view_eq(id_at(t, next), id);
	if (!there && !thin_record_find(t, id, &next))
		return false;
	*last = *out = next;
	return true;
}

size_t thin_put_record(uint8_t *to, const struct thin_record *r)
{
	put_le16(to, (uint16_t)r->id.len);
	memcpy(to + 2, r->id.ptr, r->id.len);
	uint8_t *p = to + 2 + r->id.len;
	put_le64(p, r->offset);
	put_le64(p + 8, r->stored);
	put_le64(p + 16, r->raw);
	put_le32(p + 24, r->flags);
	memcpy(p + 28, r->digest->bytes, TN_DIGEST_LEN);
	return THIN_RECORD + r->id.len;
}

bool thin_hex_digest(tn_view hex, tn_digest *out)
{
	for (size_t i = 0; i < THIN_HEX; i++) {
		uint8_t c = i < hex.len ? hex.ptr[i] : 0;
		uint8_t v = c >= '0' && c <= '9' ? (uint8_t)(c - '0') : c >= 'a' && c <= 'f' ? (uint8_t)(c - 'a' + 10) : 16;
		if (v == 16)
			return false;
		out->bytes[i / 2] = (uint8_t)(i % 2 == 0 ? v << 4 : out->bytes[i / 2] | v);
	}
	return hex.len == THIN_HEX;
}
