/* mutate_thin.c - a header, a manifest in JSON, a table of records, and pages; each record has its page's BLAKE3, which
 * stands in the manifest too. */
#include "fuzz/mutate.h"

#include "codec/blake3.h"
#include "format/thin/layout.h"

static bool is(tn_view file)
{
	return file.len >= THIN_HEADER && memcmp(file.ptr, THIN_MAGIC, 8) == 0;
}

/* Where the record behind this one begins; 0 where it does not fit. */
static size_t next(tn_view file, size_t at)
{
	size_t n = at + 2 <= file.len ? le16(file.ptr + at) : 0;
	return span_fits(at, THIN_RECORD + n, file.len) ? at + THIN_RECORD + n : 0;
}

static void record(struct layout *l, size_t at, size_t end)
{
	size_t p = end - THIN_RECORD + 2; /* behind the id */
	layout_part(l, PART_RECORD, at, end - at, 40);
	layout_part(l, PART_TEXT, at + 2, p - at - 2, 0);
	layout_part(l, PART_NUMBER, p, 8, 0);
	layout_part(l, PART_NUMBER, p + 8, 8, 0);
	layout_part(l, PART_NUMBER, p + 16, 8, 0);
	layout_part(l, PART_NUMBER, p + 24, 4, 0);
	layout_ref(l, REF_LENGTH, at, 2, at + 2);
	layout_ref(l, REF_OFFSET, p, 8, 0);
}

static bool lay_out(struct layout *l, tn_view file)
{
	uint64_t manifest = le64(file.ptr + 16), length = le64(file.ptr + 24), table = le64(file.ptr + 32);
	for (size_t at = 8; at < 56; at += at < 16 ? 4 : 8)
		layout_part(l, PART_NUMBER, at, at < 16 ? 4 : 8, 0);
	layout_ref(l, REF_OFFSET, 32, 8, 0);
	layout_ref(l, REF_COUNT, 40, 8, 0);
	layout_ref(l, REF_OFFSET, 48, 8, 0);
	if (span_fits(manifest, length, file.len)) {
		layout_ref(l, REF_LENGTH, 24, 8, (size_t)manifest);
		layout_json(l, file, (size_t)manifest, (size_t)length);
	}
	size_t at = table < file.len ? (size_t)table : 0;
	for (uint64_t i = 0; i < le64(file.ptr + 40) && at != 0 && i < 32; i++) {
		size_t end = next(file, at);
		if (end != 0)
			record(l, at, end);
		at = end;
	}
	return true;
}

/* The old digest wherever the manifest has it in hex. */
static void restate(uint8_t *text, size_t n, const tn_digest *old, const tn_digest *new)
{
	char was[2 * TN_DIGEST_LEN + 1], is_now[2 * TN_DIGEST_LEN + 1];
	tn_digest_text(old, was);
	tn_digest_text(new, is_now);
	for (size_t i = 0; i + THIN_HEX <= n; i++)
		if (memcmp(text + i, was, THIN_HEX) == 0)
			memcpy(text + i, is_now, THIN_HEX);
}

static void seal(const struct layout *l, uint8_t *data, size_t size)
{
	(void)l;
	tn_view file = { data, size };
	uint64_t manifest = le64(data + 16), length = le64(data + 24), table = le64(data + 32);
	size_t at = table < size ? (size_t)table : 0, end;
	bool described = span_fits(manifest, length, size);
	for (uint64_t i = 0; i < le64(data + 40) && i < 32 && at != 0 && (end = next(file, at)) != 0; i++, at = end) {
		uint8_t *p = data + end - THIN_RECORD + 2;
		tn_digest old, new;
		if (!span_fits(le64(p), le64(p + 8), size) || le32(p + 24) != 0)
			continue;
		memcpy(old.bytes, p + 28, sizeof old.bytes);
		new = b3_of((tn_view){ data + le64(p), (size_t)le64(p + 8) });
		memcpy(p + 28, new.bytes, sizeof new.bytes);
		if (described)
			restate(data + manifest, (size_t)length, &old, &new);
	}
}

const struct mutated_format mutated_thin = { is, lay_out, seal };
