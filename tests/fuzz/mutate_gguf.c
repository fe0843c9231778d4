/* mutate_gguf.c - counts, pairs, infos, data; little-endian files of version 2 and 3. */
#include "fuzz/mutate.h"

#include "codec/cur.h"
#include "format/gguf/layout.h"

enum { TENSORS_AT = 8, PAIRS_AT = 16, HEAD = 24 };

static bool is(tn_view file)
{
	return file.len >= HEAD && memcmp(file.ptr, GGUF_MAGIC, 4) == 0;
}

static size_t place(const struct cur *c) { return (size_t)cur_offset(c); }

static tn_view string(struct layout *l, struct cur *c)
{
	size_t at = place(c);
	uint64_t n = cur_u64(c);
	const uint8_t *p = cur_take(c, n);
	if (p == NULL)
		return (tn_view){ NULL, 0 };
	layout_ref(l, REF_LENGTH, at, 8, at + 8);
	layout_part(l, PART_NUMBER, at, 8, 0);
	layout_part(l, PART_TEXT, at + 8, (size_t)n, 0);
	return (tn_view){ p, (size_t)n };
}

static void value(struct layout *l, struct cur *c, uint32_t type, unsigned depth)
{
	size_t at = place(c);
	if (type == VALUE_STRING) {
		string(l, c);
	} else if (type == VALUE_ARRAY && depth < 3) {
		uint32_t item = cur_u32(c);
		size_t count = place(c);
		uint64_t n = cur_u64(c);
		layout_part(l, PART_NUMBER, at, 4, 0);
		layout_part(l, PART_NUMBER, count, 8, 0);
		layout_ref(l, REF_COUNT, count, 8, 0);
		for (uint64_t i = 0; i < n && i < 64 && cur_ok(c); i++) {
			size_t from = place(c);
			value(l, c, item, depth + 1);
			if (cur_ok(c))
				layout_part(l, PART_RECORD, from, place(c) - from, count);
		}
		if (n > 64) /* what follows cannot be found */
			cur_fail(c, TN_E_LIMIT, "long");
	} else if (type < GGUF_VALUES && gguf_values[type].width != 0) {
		size_t n = gguf_values[type].width / 8u;
		if (cur_take(c, n) != NULL && depth == 0)
			layout_part(l, PART_NUMBER, at, n, 0);
	} else {
		cur_fail(c, TN_E_CORRUPT, "type");
	}
}

static void pair(struct layout *l, struct cur *c)
{
	size_t from = place(c);
	tn_view key = string(l, c);
	size_t type = place(c), align;
	uint32_t t = cur_u32(c);
	align = place(c);
	value(l, c, t, 0);
	if (!cur_ok(c))
		return;
	layout_part(l, PART_NUMBER, type, 4, 0);
	layout_part(l, PART_RECORD, from, place(c) - from, PAIRS_AT);
	if (view_eq(key, VIEW(ALIGNMENT_KEY)) && t == VALUE_U32)
		l->align = le32(c->base + align);
}

static void info(struct layout *l, struct cur *c)
{
	size_t from = place(c);
	string(l, c);
	size_t dims = place(c);
	uint32_t n = cur_u32(c);
	layout_part(l, PART_NUMBER, dims, 4, 0);
	for (uint32_t i = 0; i <= n && i < 8 && cur_ok(c); i++) {
		size_t at = place(c);
		if (i < n)
			cur_u64(c);
		else
			cur_u32(c);
		layout_part(l, PART_NUMBER, at, i < n ? 8 : 4, 0);
	}
	size_t offset = place(c);
	cur_u64(c);
	if (!cur_ok(c))
		return;
	layout_part(l, PART_NUMBER, offset, 8, 0);
	layout_part(l, PART_RECORD, from, place(c) - from, TENSORS_AT);
}

static bool lay_out(struct layout *l, tn_view file)
{
	tn_error err = { .code = TN_OK };
	struct cur c = cur_over(file, 0, "fuzz", &err);
	uint32_t version = le32(file.ptr + 4);
	uint64_t tensors = le64(file.ptr + TENSORS_AT), pairs = le64(file.ptr + PAIRS_AT);
	if (version < 2 || version > GGUF_VERSION)
		return false;
	cur_take(&c, HEAD);
	l->align = GGUF_ALIGN;
	layout_part(l, PART_NUMBER, TENSORS_AT, 8, 0);
	layout_part(l, PART_NUMBER, PAIRS_AT, 8, 0);
	layout_ref(l, REF_COUNT, TENSORS_AT, 8, 0);
	layout_ref(l, REF_COUNT, PAIRS_AT, 8, 0);
	for (uint64_t i = 0; i < pairs && cur_ok(&c); i++)
		pair(l, &c);
	for (uint64_t i = 0; i < tensors && cur_ok(&c); i++)
		info(l, &c);
	l->head_end = place(&c);
	l->data_at = is_power_of_two(l->align) ? l->head_end + (size_t)pad_to(l->head_end, l->align) : 0;
	if (!cur_ok(&c) || l->data_at == 0 || l->data_at > file.len)
		l->align = 0;
	return true;
}

const struct mutated_format mutated_gguf = { is, lay_out, NULL };
