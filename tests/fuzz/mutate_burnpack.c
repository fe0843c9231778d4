/* mutate_burnpack.c - a head with the length of the metadata, these in CBOR, and data. */
#include "fuzz/mutate.h"

#include "codec/cbor.h"
#include "format/burnpack/layout.h"

enum { LENGTH_AT = 6, DEPTH = 5 };

static bool is(tn_view file)
{
	return file.len > PACK_HEADER && memcmp(file.ptr, PACK_MAGIC, 4) == 0;
}

static void value(struct layout *l, struct cur *c, unsigned depth);

/* The items of an array, or the pairs of a map, as records. Only heads of one byte can be counted up. */
static void items(struct layout *l, struct cur *c, const struct cbor_item *head, unsigned each, unsigned depth)
{
	size_t at = (size_t)head->offset;
	if (head->value < 24)
		layout_ref(l, REF_COUNT, at, 0, 0);
	for (uint64_t i = 0; i < head->value && cur_ok(c); i++) {
		size_t from = (size_t)cur_offset(c);
		for (unsigned k = 0; k < each; k++)
			value(l, c, depth + 1);
		if (cur_ok(c))
			layout_part(l, PART_RECORD, from, (size_t)cur_offset(c) - from, at);
	}
}

static void value(struct layout *l, struct cur *c, unsigned depth)
{
	struct cbor_item item;
	if (!cbor_next(c, &item))
		return;
	size_t at = (size_t)item.offset, end = (size_t)cur_offset(c);
	switch (item.kind) {
	case CBOR_ARRAY:
	case CBOR_MAP:
		if (depth < DEPTH)
			items(l, c, &item, item.kind == CBOR_MAP ? 2 : 1, depth);
		else
			cbor_skip(c, &item, 100);
		break;
	case CBOR_TEXT:
	case CBOR_BYTES:
		layout_part(l, PART_TEXT, end - item.bytes.len, item.bytes.len, 0);
		if (item.bytes.len < 24)
			layout_ref(l, REF_LENGTH, at, 0, at + 1);
		break;
	default:
		layout_part(l, PART_NUMBER, end - at > 1 ? at + 1 : at, end - at > 1 ? end - at - 1 : 1, 0);
		if (item.kind == CBOR_TAG || item.kind >= CBOR_BREAK)
			cbor_skip(c, &item, 100);
	}
}

static bool lay_out(struct layout *l, tn_view file)
{
	tn_error err = { .code = TN_OK };
	uint64_t n = le32(file.ptr + LENGTH_AT);
	layout_part(l, PART_NUMBER, 4, 2, 0);
	layout_part(l, PART_NUMBER, LENGTH_AT, 4, 0);
	layout_ref(l, REF_LENGTH, LENGTH_AT, 4, PACK_HEADER);
	if (!span_fits(PACK_HEADER, n, file.len))
		return true;
	struct cur c = cur_over((tn_view){ file.ptr + PACK_HEADER, (size_t)n }, PACK_HEADER, "fuzz", &err);
	value(l, &c, 0);
	l->head_end = PACK_HEADER + (size_t)n;
	l->data_at = l->head_end + (size_t)pad_to(l->head_end, PACK_ALIGN);
	l->align = l->data_at <= file.len ? PACK_ALIGN : 0;
	return true;
}

const struct mutated_format mutated_burnpack = { is, lay_out, NULL };
