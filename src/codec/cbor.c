/* cbor.c - CBOR items through libcbor's streaming decoder.
 *
 * Tags and major type 7 are read here: the library refuses tags 5 to 20 and simple values that it has
 * no name for, and its floats pass through the processor, which loses the payload of a NaN. So are the
 * counts of arrays and maps, which it cuts to a size_t, and a string's length is looked at before. */
#include "codec/cbor.h"
#include <cbor.h>

enum { MAJOR_BYTES = 2, MAJOR_TEXT, MAJOR_ARRAY, MAJOR_MAP, MAJOR_TAG, MAJOR_SIMPLE };
enum { INFO_1 = 24, INFO_2, INFO_4, INFO_8, INFO_RESERVED, INFO_OPEN = 31 };

/* ---- What libcbor reports ---- */

static void item_is(void *item, enum cbor_kind kind, uint64_t value)
{
	struct cbor_item *out = item;
	out->kind = kind;
	out->value = value;
}

static void string_is(void *item, enum cbor_kind kind, cbor_data p, size_t n)
{
	item_is(item, kind, 0);
	((struct cbor_item *)item)->bytes = (tn_view){ p, n };
}

static void on_uint8(void *item, uint8_t v) { item_is(item, CBOR_UINT, v); }
static void on_uint16(void *item, uint16_t v) { item_is(item, CBOR_UINT, v); }
static void on_uint32(void *item, uint32_t v) { item_is(item, CBOR_UINT, v); }
static void on_uint64(void *item, uint64_t v) { item_is(item, CBOR_UINT, v); }
static void on_negint8(void *item, uint8_t v) { item_is(item, CBOR_NEGINT, v); }
static void on_negint16(void *item, uint16_t v) { item_is(item, CBOR_NEGINT, v); }
static void on_negint32(void *item, uint32_t v) { item_is(item, CBOR_NEGINT, v); }
static void on_negint64(void *item, uint64_t v) { item_is(item, CBOR_NEGINT, v); }
static void on_bytes(void *item, cbor_data p, size_t n) { string_is(item, CBOR_BYTES, p, n); }
static void on_bytes_start(void *item) { item_is(item, CBOR_BYTES_START, 0); }
static void on_text(void *item, cbor_data p, size_t n) { string_is(item, CBOR_TEXT, p, n); }
static void on_text_start(void *item) { item_is(item, CBOR_TEXT_START, 0); }
static void on_array_start(void *item) { item_is(item, CBOR_ARRAY_START, 0); }
static void on_map_start(void *item) { item_is(item, CBOR_MAP_START, 0); }

/* What is read here never reaches the library, so its callbacks are never called. */
static const struct cbor_callbacks callbacks = {
	.uint8 = on_uint8, .uint16 = on_uint16, .uint32 = on_uint32, .uint64 = on_uint64,
	.negint8 = on_negint8, .negint16 = on_negint16, .negint32 = on_negint32, .negint64 = on_negint64,
	.byte_string = on_bytes, .byte_string_start = on_bytes_start,
	.string = on_text, .string_start = on_text_start,
	.indef_array_start = on_array_start, .indef_map_start = on_map_start,
};

/* ---- What is read here ---- */

/* Widening keeps sign, payload and the signalling bit: bits move, nothing is computed, except that a
 * subnormal of the narrow type is an ordinary number in the wide one. */
static uint64_t widen(uint64_t sign, uint64_t exp, uint64_t frac, unsigned exp_bits, unsigned frac_bits)
{
	const uint64_t exp_max = (UINT64_C(1) << exp_bits) - 1;
	const uint64_t rebias = 1023 - (exp_max >> 1);
	if (exp == exp_max) {
		exp = 0x7ff;
	} else if (exp != 0) {
		exp += rebias;
	} else if (frac != 0) {
		exp = rebias + 1;
		for (; (frac >> frac_bits) == 0; exp--)
			frac <<= 1;
		frac &= (UINT64_C(1) << frac_bits) - 1;
	}
	return sign << 63 | exp << 52 | frac << (52 - frac_bits);
}

static uint64_t widen_f16(uint16_t v) { return widen(v >> 15, v >> 10 & 0x1f, v & 0x3ff, 5, 10); }
static uint64_t widen_f32(uint32_t v) { return widen(v >> 31, v >> 23 & 0xff, v & 0x7fffff, 8, 23); }

static bool read_float(struct cur *c, unsigned info, struct cbor_item *out)
{
	const uint8_t *p = cur_take(c, 1 + (UINT64_C(1) << (info - INFO_1)));
	if (p == NULL)
		return false;
	out->kind = CBOR_FLOAT;
	out->bits = info == INFO_2 ? widen_f16(be16(p + 1)) :
	            info == INFO_4 ? widen_f32(be32(p + 1)) : be64(p + 1);
	return true;
}

static bool read_simple_byte(struct cur *c, struct cbor_item *out)
{
	if (cur_left(c) > 1 && c->p[1] < 32) {
		cur_fail(c, TN_E_CORRUPT, "simple value below 32 in two bytes");
		return false;
	}
	const uint8_t *p = cur_take(c, 2);
	if (p == NULL)
		return false;
	item_is(out, CBOR_SIMPLE, p[1]);
	return true;
}

static bool read_simple(struct cur *c, unsigned info, struct cbor_item *out)
{
	if (info == INFO_1)
		return read_simple_byte(c, out);
	if (info >= INFO_2 && info <= INFO_8)
		return read_float(c, info, out);
	cur_take(c, 1);
	switch (info) {
	case 20:        item_is(out, CBOR_FALSE, 0);     break;
	case 21:        item_is(out, CBOR_TRUE, 0);      break;
	case 22:        item_is(out, CBOR_NULL, 0);      break;
	case 23:        item_is(out, CBOR_UNDEFINED, 0); break;
	case INFO_OPEN: item_is(out, CBOR_BREAK, 0);     break;
	default:        item_is(out, CBOR_SIMPLE, info); break;
	}
	return true;
}

/* An item that is its head alone: a tag, or how many members follow. */
static bool read_head(struct cur *c, enum cbor_kind kind, unsigned info, struct cbor_item *out)
{
	if (info < INFO_1) {
		cur_take(c, 1);
		item_is(out, kind, info);
		return true;
	}
	const uint8_t *p = cur_take(c, 1 + (UINT64_C(1) << (info - INFO_1)));
	if (p == NULL)
		return false;
	item_is(out, kind, info == INFO_1 ? p[1] : info == INFO_2 ? be16(p + 1) :
	                   info == INFO_4 ? be32(p + 1) : be64(p + 1));
	return true;
}

/* Whether a length stands here that is more than all there is, in 8 bytes, of which the library keeps a size_t. */
static bool is_longer_than_input(const struct cur *c)
{
	unsigned major = c->p[0] >> 5;
	return (major == MAJOR_BYTES || major == MAJOR_TEXT) && (c->p[0] & 31) == INFO_8 && cur_left(c) > 8 &&
	       be64(c->p + 1) > cur_left(c);
}

static bool read_other(struct cur *c, struct cbor_item *out)
{
	struct cbor_decoder_result r = { .status = CBOR_DECODER_NEDATA };
	if (!is_longer_than_input(c))
		r = cbor_stream_decode(c->p, cur_left(c), &callbacks, out);
	if (r.status == CBOR_DECODER_FINISHED) {
		cur_take(c, r.read);
		return true;
	}
	if (r.status == CBOR_DECODER_NEDATA)
		cur_fail(c, TN_E_TRUNCATED, "ends early");
	else
		cur_fail(c, TN_E_CORRUPT, "malformed cbor item");
	return false;
}

bool cbor_next(struct cur *c, struct cbor_item *out)
{
	*out = (struct cbor_item){ .offset = cur_offset(c) };
	if (cur_left(c) == 0) {
		cur_fail(c, TN_E_TRUNCATED, "ends early");
		return false;
	}
	unsigned major = c->p[0] >> 5;
	unsigned info = c->p[0] & 31;
	bool open_allowed = major >= 2 && major != MAJOR_TAG;
	if ((info >= INFO_RESERVED && info < INFO_OPEN) || (info == INFO_OPEN && !open_allowed)) {
		cur_fail(c, TN_E_CORRUPT, "reserved additional information in a cbor item");
		return false;
	}
	switch (major) {
	case MAJOR_ARRAY:  return info == INFO_OPEN ? read_other(c, out) : read_head(c, CBOR_ARRAY, info, out);
	case MAJOR_MAP:    return info == INFO_OPEN ? read_other(c, out) : read_head(c, CBOR_MAP, info, out);
	case MAJOR_TAG:    return read_head(c, CBOR_TAG, info, out);
	case MAJOR_SIMPLE: return read_simple(c, info, out);
	default:           return read_other(c, out);
	}
}

/* ---- Skipping ---- */

static bool skip_next(struct cur *c, unsigned depth)
{
	struct cbor_item item;
	return cbor_next(c, &item) && cbor_skip(c, &item, depth);
}

/* n members of per items each: a map's are pairs. */
static bool skip_items(struct cur *c, uint64_t n, unsigned per, unsigned depth)
{
	for (; n != 0; n--)
		for (unsigned i = 0; i < per; i++)
			if (!skip_next(c, depth))
				return false;
	return true;
}

/* Members up to a break, which may not stand inside one. */
static bool skip_open(struct cur *c, unsigned per, unsigned depth)
{
	struct cbor_item item;
	while (cbor_next(c, &item)) {
		if (item.kind == CBOR_BREAK)
			return true;
		if (!cbor_skip(c, &item, depth) || !skip_items(c, 1, per - 1, depth))
			return false;
	}
	return false;
}

static bool skip_chunks(struct cur *c, enum cbor_kind kind)
{
	struct cbor_item item;
	while (cbor_next(c, &item)) {
		if (item.kind == CBOR_BREAK)
			return true;
		if (item.kind != kind) {
			cur_fail(c, TN_E_CORRUPT, "chunk of another type in a cbor string");
			return false;
		}
	}
	return false;
}

static bool nests(enum cbor_kind kind)
{
	return kind == CBOR_TAG || kind == CBOR_ARRAY || kind == CBOR_MAP || kind == CBOR_ARRAY_START ||
	       kind == CBOR_MAP_START;
}

bool cbor_skip(struct cur *c, const struct cbor_item *first, unsigned depth)
{
	if (depth == 0 && nests(first->kind)) {
		cur_fail(c, TN_E_CORRUPT, "nested too deep");
		return false;
	}
	switch (first->kind) {
	case CBOR_BYTES_START: return skip_chunks(c, CBOR_BYTES);
	case CBOR_TEXT_START:  return skip_chunks(c, CBOR_TEXT);
	case CBOR_ARRAY:       return skip_items(c, first->value, 1, depth - 1);
	case CBOR_MAP:         return skip_items(c, first->value, 2, depth - 1);
	case CBOR_ARRAY_START: return skip_open(c, 1, depth - 1);
	case CBOR_MAP_START:   return skip_open(c, 2, depth - 1);
	case CBOR_TAG:         return skip_next(c, depth - 1);
	case CBOR_BREAK:
		cur_fail(c, TN_E_CORRUPT, "misplaced break in cbor");
		return false;
	default:
		return true;
	}
}
