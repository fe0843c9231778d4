/* archive.c - the spans of an archive, and the checksums that are known only when its bytes have passed. */
#include "format/thin/archive.h"

#define ZEROS16 "0000000000000000"
const tn_view unknown_checksum = { (const uint8_t *)ZEROS16 ZEROS16 ZEROS16 ZEROS16, THIN_HEX };

static bool no_memory(struct archive *a)
{
	arena_err(a->mem, a->err, THIN ": layout");
	return false;
}

/* ---- The front ---- */

static uint64_t table_size(const struct archive *a)
{
	uint64_t sum = 0;
	for (uint64_t i = 0; i < a->n; i++)
		sum += THIN_RECORD + a->m->pages[a->blobs[i].page].id.len;
	return sum;
}

static uint64_t stored_size(const struct archive *a, uint64_t i)
{
	return a->blobs[i].zstd != 0 ? a->blobs[i].zstd : a->m->pages[a->blobs[i].page].size;
}

/* Where each blob starts; false when the sum overflows. */
static bool place_blobs(const struct archive *a, uint64_t at, uint64_t *offsets)
{
	for (uint64_t i = 0; i < a->n; i++) {
		if (!align_up(at, a->align, &offsets[i]) || !add_u64(offsets[i], stored_size(a, i), &at)) {
			err_set(a->err, TN_E_LIMIT, TN_NO_OFFSET, THIN ": the pages take more than 2^64 bytes");
			return false;
		}
	}
	return true;
}

static void put_table(struct archive *a, uint8_t *to, const uint64_t *offsets)
{
	static const tn_digest zero;
	for (uint64_t k = 0; k < a->n; k++) {
		uint64_t i = a->table != NULL ? a->table[k] : k;
		const struct page *p = &a->m->pages[a->blobs[i].page];
		const tn_digest *known = a->blobs[i].n == 1 ? a->blobs[i].pieces[0].known : a->blobs[i].known;
		struct thin_record r = {
			.id = p->id, .offset = offsets[i], .stored = stored_size(a, i), .raw = p->size,
			.flags = a->blobs[i].zstd != 0 ? THIN_FLAG_ZSTD : 0, .digest = known != NULL ? known : &zero,
		};
		to += thin_put_record(to, &r);
		a->record_hash[i] = to - TN_DIGEST_LEN;
	}
}

/* The header and the table are filled in when the manifest's length is known. */
static bool print_front(struct archive *a)
{
	struct thin_header h = { .manifest_off = THIN_HEADER, .page_count = a->n };
	struct buf front;
	size_t table;
	uint64_t *offsets = arena_raw(a->mem, a->n, sizeof *offsets);
	if (offsets == NULL || !size_from_u64(table_size(a), &table))
		return no_memory(a);
	buf_init(&front, a->mem->budget);
	buf_fill(&front, 0, THIN_HEADER);
	manifest_print(&front, a->m, a->checksum_at);
	h.table_off = front.len;
	h.manifest_len = h.table_off - THIN_HEADER;
	buf_fill(&front, 0, table);
	h.data_off = a->front_len = front.len;
	a->front = (uint8_t *)(uintptr_t)buf_done(&front, a->mem).ptr;
	if (a->front == NULL)
		return no_memory(a);
	thin_put_header(a->front, &h);
	if (!place_blobs(a, h.data_off, offsets))
		return false;
	put_table(a, a->front + h.table_off, offsets);
	plan_bytes(a->plan, (tn_view){ a->front, (size_t)a->front_len });
	return true;
}

/* ---- Spans ---- */

static void list_blob(struct archive *a, uint64_t i)
{
	const struct blob *b = &a->blobs[i];
	if (a->align > 1)
		plan_align(a->plan, a->align);
	a->first_span[i] = a->plan->n;
	if (b->zstd != 0) {
		plan_tensor(a->plan, b->pieces[0].source, b->zstd);
		return;
	}
	if (b->n > 1)
		plan_group_begin(a->plan);
	for (uint64_t k = 0; k < b->n; k++)
		plan_tensor_digest(a->plan, b->pieces[k].source, b->pieces[k].len);
	if (b->n > 1)
		plan_group_end(a->plan);
}

tn_code archive_plan(struct archive *a)
{
	a->checksum_at = arena_raw(a->mem, a->m->n_pages, sizeof *a->checksum_at);
	a->record_hash = arena_raw(a->mem, a->n, sizeof *a->record_hash);
	a->first_span = arena_raw(a->mem, a->n, sizeof *a->first_span);
	if (a->checksum_at == NULL || a->record_hash == NULL || a->first_span == NULL)
		return no_memory(a), a->err->code;
	bool ok = print_front(a);
	for (uint64_t i = 0; ok && i < a->n; i++)
		list_blob(a, i);
	return ok ? plan_ok(a->plan, a->err) : a->err->code;
}

/* ---- Sealing ---- */

static bool changed(uint8_t *to, const void *from, size_t n)
{
	bool differs = memcmp(to, from, n) != 0;
	memcpy(to, from, n);
	return differs;
}

/* Puts a page's checksum into the manifest; true when it was another. */
static bool fill_manifest(struct archive *a, uint64_t page, const tn_digest *digest)
{
	char hex[THIN_HEX + 1];
	tn_digest_text(digest, hex);
	return changed(a->front + a->checksum_at[page], hex, THIN_HEX);
}

static void hold_to(struct archive *a, uint64_t page, const tn_digest *known, const tn_digest *got)
{
	if (known != NULL && memcmp(known->bytes, got->bytes, TN_DIGEST_LEN) != 0)
		err_set(a->err, TN_E_CHECKSUM, TN_NO_OFFSET, THIN ": page '%s': its bytes do not have the checksum that is stated",
		        ESC(a->m->pages[page].id));
}

static bool fill_blob(struct archive *a, uint64_t i)
{
	const struct blob *b = &a->blobs[i];
	const struct span *span = &a->plan->spans[a->first_span[i]];
	bool any = false;
	span += b->n > 1;
	for (uint64_t k = 0; k < b->n; k++, span++) {
		hold_to(a, b->pieces[k].page, b->pieces[k].known, &span->hash);
		any = fill_manifest(a, b->pieces[k].page, &span->hash) || any;
	}
	span -= b->n == 1; /* else the digest of the group stands behind the pieces */
	hold_to(a, b->page, b->known, &span->hash);
	any = fill_manifest(a, b->page, &span->hash) || any;
	return changed(a->record_hash[i], span->hash.bytes, TN_DIGEST_LEN) || any;
}

tn_code archive_seal(struct archive *a, struct sink *out)
{
	bool any = false;
	for (uint64_t i = 0; i < a->n; i++)
		any = (a->blobs[i].zstd == 0 && fill_blob(a, i)) || any;
	if (any && a->err->code == TN_OK)
		sink_patch(out, 0, a->front, (size_t)a->front_len);
	return a->err->code;
}
