/* mutate_apr.c - a header with a CRC, JSON, an index of entries, data, and a CRC over all. */
#include "fuzz/mutate.h"

#include "codec/crc32.h"
#include "format/apr/layout.h"

static bool is(tn_view file)
{
	return file.len >= APR_HEADER && memcmp(file.ptr, APR_MAGIC, 4) == 0;
}

static bool has_footer(tn_view file)
{
	return file.len >= APR_HEADER + APR_FOOTER &&
	       le32(file.ptr + file.len - APR_FOOTER) == crc32_update(0, file.ptr, file.len - APR_FOOTER);
}

/* One entry of the index; where the next one begins, 0 where this one does not fit. */
static size_t entry(struct layout *l, tn_view file, size_t at, uint64_t data_at)
{
	size_t n = at + 2 <= file.len ? le16(file.ptr + at) : 0, name = at + 2, type = name + n;
	if (!span_fits(name, n + 2, file.len))
		return 0;
	size_t dims = type + 2, rank = file.ptr[type + 1], offset = dims + 8 * rank;
	if (!span_fits(offset, 16, file.len))
		return 0;
	layout_ref(l, REF_LENGTH, at, 2, name);
	layout_ref(l, REF_OFFSET, offset, 8, (size_t)data_at);
	layout_part(l, PART_RECORD, at, offset + 16 - at, 8);
	layout_part(l, PART_TEXT, name, n, 0);
	layout_part(l, PART_NUMBER, type, 1, 0);
	for (size_t i = 0; i < rank; i++)
		layout_part(l, PART_NUMBER, dims + 8 * i, 8, 0);
	layout_part(l, PART_NUMBER, offset, 8, 0);
	layout_part(l, PART_NUMBER, offset + 8, 8, 0);
	return offset + 16;
}

static bool lay_out(struct layout *l, tn_view file)
{
	static const uint8_t fields[][2] = { { 6, 2 }, { 8, 4 }, { 12, 8 }, { 20, 4 }, { 24, 8 }, { 32, 8 } };
	uint64_t metadata = le64(file.ptr + 12), length = le32(file.ptr + 20), index = le64(file.ptr + 24);
	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
		layout_part(l, PART_NUMBER, fields[i][0], fields[i][1], 0);
	layout_ref(l, REF_COUNT, 8, 4, 0);
	layout_ref(l, REF_OFFSET, 12, 8, 0);
	layout_ref(l, REF_OFFSET, 24, 8, 0);
	layout_ref(l, REF_OFFSET, 32, 8, 0);
	if (span_fits(metadata, length, file.len)) {
		layout_ref(l, REF_LENGTH, 20, 4, (size_t)metadata);
		layout_json(l, file, (size_t)metadata, (size_t)length);
	}
	size_t at = index < file.len ? (size_t)index : 0;
	for (uint32_t i = 0; i < le32(file.ptr + 8) && at != 0 && i < 32; i++)
		at = entry(l, file, at, le64(file.ptr + 32));
	l->footer = has_footer(file);
	return true;
}

static void seal(const struct layout *l, uint8_t *data, size_t size)
{
	put_le32(data + 40, apr_header_crc(data));
	if (l->footer && size >= APR_HEADER + APR_FOOTER)
		put_le32(data + size - APR_FOOTER, crc32_update(0, data, size - APR_FOOTER));
}

const struct mutated_format mutated_apr = { is, lay_out, seal };
