/* verify.c - everything that is wrong with an archive that opens: the rules of its manifest, its header, its page table
 * against the manifest, the places of the pages, and with deep the checksums of their bytes; then what upstream lets
 * pass and a reader might stumble over. Nothing stops at the first fault. */
#include "format/thin/archive.h"
#include "io/hash.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct checking {
	struct verify_job *job;
	struct thin_front  f;
	uint64_t           compressed; /* pages */
};

static bool no_memory(struct checking *c)
{
	arena_err(c->job->mem, c->job->err, THIN ": verification");
	return false;
}

static void say(struct checking *c, tn_severity severity, tn_code code, uint64_t offset, tn_view page, const char *fmt, ...)
	PRINTF_LIKE(6, 7);
static void say(struct checking *c, tn_severity severity, tn_code code, uint64_t offset, tn_view page, const char *fmt, ...)
{
	char text[240];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	report_add(c->job->report, severity, code, offset, page, THIN ": %s", text);
}
#define WRONG(c, offset, page, ...) say((c), TN_ERROR, TN_E_CORRUPT, (offset), (page), __VA_ARGS__)

static const struct page *page_named(const struct checking *c, tn_view id)
{
	uint64_t i;
	return thin_page_find(&c->f, id, &i) ? &c->f.m.pages[i] : NULL;
}

/* ---- Header ---- */

static void check_header(struct checking *c)
{
	const struct thin_header *h = &c->f.h;
	uint64_t table_end = c->f.table.off + c->f.table.bytes.len;
	if (h->manifest_off != THIN_HEADER)
		WRONG(c, 16, NO_TENSOR, "the manifest starts at %" PRIu64 ", not at %d", h->manifest_off, THIN_HEADER);
	if (h->manifest_off + h->manifest_len != h->table_off)
		WRONG(c, 32, NO_TENSOR, "the page table starts at %" PRIu64 ", not where the manifest ends, at %" PRIu64,
		      h->table_off, h->manifest_off + h->manifest_len);
	if (table_end != h->data_off)
		WRONG(c, 48, NO_TENSOR, "the data is said to start at %" PRIu64 ", the page table ends at %" PRIu64, h->data_off,
		      table_end);
	if (h->data_off > c->job->file->size)
		WRONG(c, 48, NO_TENSOR, "the data starts after the end of the file");
	if (!h->hash_is_zero)
		WRONG(c, 56, NO_TENSOR, "the archive hash is reserved and must be zero");
}

/* ---- Table against manifest ---- */

static bool same_digest(const tn_digest *digest, tn_view text)
{
	char hex[THIN_HEX + 1];
	tn_digest_text(digest, hex);
	return view_is(text, hex);
}

static uint64_t place_of(const struct checking *c, uint64_t record)
{
	return c->f.table.off + (uint64_t)(c->f.table.at[record] - c->f.table.bytes.ptr);
}

static void check_record(struct checking *c, uint64_t i)
{
	struct thin_record r = thin_record_at(&c->f.table, i);
	const struct page *p = page_named(c, r.id);
	uint64_t at = place_of(c, i), first;
	if (thin_record_find(&c->f.table, r.id, &first) && first != i)
		WRONG(c, at, r.id, "two records are for page '%s'", ESC(r.id));
	if (p == NULL)
		WRONG(c, at, r.id, "a record is for '%s', which is no page of the manifest", ESC(r.id));
	else if (p->fused_to.ptr != NULL)
		WRONG(c, at, r.id, "a record is for '%s', which is a slice of another page", ESC(r.id));
	if (r.flags == THIN_FLAG_ZSTD)
		c->compressed++;
	else if (r.flags != 0)
		WRONG(c, at, r.id, "its flags are 0x%" PRIx32 ", only 1 (zstd) is known", r.flags);
	else if (r.stored != r.raw)
		WRONG(c, at, r.id, "%" PRIu64 " bytes are stored of %" PRIu64 ", and it is not compressed", r.stored, r.raw);
	uint64_t size = r.flags == THIN_FLAG_ZSTD ? r.raw : r.stored;
	if (p != NULL && size != p->size)
		WRONG(c, at, r.id, "the page table gives it %" PRIu64 " bytes, the manifest %" PRIu64, size, p->size);
	if (p != NULL && !same_digest(r.digest, p->checksum))
		say(c, TN_ERROR, TN_E_CHECKSUM, at, r.id, "the page table and the manifest give it different checksums");
}

static void check_table(struct checking *c)
{
	uint64_t i;
	for (i = 0; i < c->f.table.n; i++)
		check_record(c, i);
	if (c->compressed != 0)
		say(c, TN_WARNING, TN_E_UNSUPPORTED, TN_NO_OFFSET, NO_TENSOR,
		    "compressed pages, which upstream's readers refuse: %" PRIu64, c->compressed);
	for (uint64_t k = 0; k < c->f.m.n_pages; k++) {
		const struct page *p = &c->f.m.pages[k];
		if (p->fused_to.ptr == NULL && !thin_record_find(&c->f.table, p->id, &i))
			WRONG(c, TN_NO_OFFSET, p->id, "page '%s' has no record in the page table", ESC(p->id));
	}
}

/* ---- Places ---- */

struct extent {
	uint64_t offset, end, record;
};

static int by_offset(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (x->record > y->record) - (x->record < y->record);
}

/* Adds the extent to the list unless it overflows. */
static bool check_place(struct checking *c, uint64_t i, struct extent *out)
{
	struct thin_record r = thin_record_at(&c->f.table, i);
	uint64_t at = place_of(c, i), end;
	if (r.stored == 0)
		WRONG(c, at, r.id, "it has no bytes");
	if (r.offset < c->f.h.data_off)
		WRONG(c, at, r.id, "its bytes start at %" PRIu64 ", before the data at %" PRIu64, r.offset, c->f.h.data_off);
	if (!add_u64(r.offset, r.stored, &end)) {
		WRONG(c, at, r.id, "its place overflows 64 bits");
		return false;
	}
	if (end > c->job->file->size)
		WRONG(c, at, r.id, "its bytes end at %" PRIu64 ", the file at %" PRIu64, end, c->job->file->size);
	*out = (struct extent){ r.offset, end, i };
	return true;
}

static bool check_places(struct checking *c)
{
	struct extent *list = arena_raw(c->job->mem, c->f.table.n, sizeof *list);
	uint64_t n = 0;
	if (list == NULL)
		return no_memory(c);
	for (uint64_t i = 0; i < c->f.table.n; i++)
		n += check_place(c, i, &list[n]);
	if (n != 0)
		qsort(list, (size_t)n, sizeof *list, by_offset);
	for (uint64_t i = 1; i < n; i++)
		if (list[i - 1].end > list[i].offset)
			WRONG(c, list[i].offset, thin_record_at(&c->f.table, list[i].record).id, "its bytes overlap those of '%s'",
			      ESC(thin_record_at(&c->f.table, list[i - 1].record).id));
	return true;
}

/* ---- What upstream lets pass ---- */

/* Upstream ties the size to nothing; its Python loader refuses a page where the two differ. */
static void look_at_size(struct checking *c, const struct page *p)
{
	tn_dtype d = thin_dtype_word(p->dtype);
	uint64_t bytes = 0;
	if (d == TN_OPAQUE || d == TN_QFLOAT || thin_dtype(p->dtype, p->rank, p->shape, p->size) == d)
		return;
	if (!dtype_size(d, BLOCK_FLAT, p->rank, p->shape, &bytes))
		return; /* the shape is at fault, and was found to be */
	say(c, TN_WARNING, TN_E_CORRUPT, TN_NO_OFFSET, p->id, "it has %" PRIu64 " bytes, its shape and dtype take %" PRIu64, p->size,
	    bytes);
}

static void look_at_page(struct checking *c, const struct page *p)
{
	look_at_size(c, p);
	if (p->fused_to.ptr != NULL && (p->has & PAGE_FUSED_OFFSET) == 0)
		say(c, TN_NOTE, TN_OK, TN_NO_OFFSET, p->id, "it has no fused_offset, which upstream's Python reader asks for");
	if (p->scale_page.ptr != NULL && page_named(c, p->scale_page) == NULL)
		say(c, TN_WARNING, TN_E_CORRUPT, TN_NO_OFFSET, p->id, "scale_page names '%s', which is no page", ESC(p->scale_page));
}

/* ---- Bytes ---- */

struct range {
	struct tensor tensor;
	tn_view       id;
	const tn_digest *want; /* of a record; NULL: hex */
	tn_view       hex;     /* of a slice */
};

static bool inside(const struct checking *c, const struct thin_record *r)
{
	return span_fits(r->offset, r->stored, c->job->file->size);
}

/* The bytes of records, then those of slices whose record is there. */
static uint64_t list_ranges(struct checking *c, struct range *list)
{
	uint64_t n = 0, i;
	for (i = 0; i < c->f.table.n; i++) {
		struct thin_record r = thin_record_at(&c->f.table, i);
		if (inside(c, &r))
			list[n++] = (struct range){ .tensor = thin_record_tensor(&r), .id = r.id, .want = r.digest };
	}
	for (uint64_t k = 0; k < c->f.m.n_pages; k++) {
		const struct page *p = &c->f.m.pages[k];
		if (p->fused_to.ptr == NULL || !thin_record_find(&c->f.table, p->fused_to, &i))
			continue;
		struct thin_record r = thin_record_at(&c->f.table, i);
		if (!inside(c, &r))
			WRONG(c, place_of(c, i), p->id, "the page that it is a slice of cannot be read");
		else if (r.flags != 0)
			WRONG(c, place_of(c, i), p->id, "the page that it is a slice of is compressed");
		else if (!span_fits(p->fused_offset, p->size, r.stored))
			WRONG(c, r.offset, p->id, "it does not lie inside the page that it is a slice of");
		else
			list[n++] = (struct range){
				.tensor = { .name = p->id, .offset = r.offset + p->fused_offset, .stored = p->size, .nbytes = p->size },
				.id = p->id, .hex = p->checksum,
			};
	}
	return n;
}

static void check_digest(struct checking *c, const struct range *r, const struct hash_item *got)
{
	if (got->code != TN_OK) {
		say(c, TN_ERROR, got->code, r->tensor.offset, r->id, "its bytes cannot be decoded");
		return;
	}
	bool same = r->want != NULL ? memcmp(r->want->bytes, got->digest.bytes, TN_DIGEST_LEN) == 0
	                            : same_digest(&got->digest, r->hex);
	if (!same)
		say(c, TN_ERROR, TN_E_CHECKSUM, r->tensor.offset, r->id, "its bytes do not have the checksum that is stated");
}

static bool check_bytes(struct checking *c)
{
	uint64_t most = c->f.table.n + c->f.m.n_pages;
	struct range *list = ARENA_NEW(c->job->mem, most, struct range);
	struct hash_item *items = ARENA_NEW(c->job->mem, most, struct hash_item);
	if (list == NULL || items == NULL)
		return no_memory(c);
	uint64_t n = list_ranges(c, list);
	for (uint64_t i = 0; i < n; i++)
		items[i] = (struct hash_item){ .from = c->job->file, .tensor = &list[i].tensor };
	if (hash_items(items, n, c->job->work, true, c->job->err) != TN_OK)
		return false;
	for (uint64_t i = 0; i < n; i++)
		check_digest(c, &list[i], &items[i]);
	return true;
}

tn_code thin_verify(struct verify_job *job)
{
	struct checking c = { .job = job };
	if (thin_load(&c.f, job->file, job->model, job->mem, job->err) != TN_OK)
		return job->err->code;
	if (!manifest_judge(&c.f.m, job->mem, job->report)) {
		no_memory(&c);
		return job->err->code;
	}
	check_header(&c);
	check_table(&c);
	if (!check_places(&c) || (job->deep && !check_bytes(&c)))
		return job->err->code;
	for (uint64_t i = 0; i < c.f.m.n_pages; i++)
		look_at_page(&c, &c.f.m.pages[i]);
	return TN_OK;
}
