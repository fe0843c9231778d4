/* meta_get.c - reading metadata: the public getters, and the iterator that decodes raw arrays an item at a
 * time. */
#include "base/bytes.h"
#include "base/num.h"
#include "model/meta.h"

#include <math.h>
#include <string.h>

tn_meta_type tn_meta_kind(const tn_meta *node)
{
	return node != NULL ? (tn_meta_type)node->type : TN_META_NULL;
}

unsigned tn_meta_width(const tn_meta *node) { return node != NULL ? node->width : 0; }

tn_view tn_meta_key(const tn_meta *node) { return node != NULL ? node->key : (tn_view){ NULL, 0 }; }

uint64_t tn_meta_count(const tn_meta *node)
{
	if (node == NULL || (node->type != TN_META_ARRAY && node->type != TN_META_MAP))
		return 0;
	return node->is_raw ? node->as.packed.n : node->as.kids.n;
}

const tn_meta *tn_meta_find(const tn_meta *map, tn_view key) { return meta_find(map, key); }

/* ---- The iterator ---- */

tn_meta_iter tn_meta_items(const tn_meta *node)
{
	tn_meta_iter it = { .node = node, .left = tn_meta_count(node) };
	if (it.left != 0)
		it.at = node->is_raw ? (const void *)node->as.packed.raw->bytes : (const void *)node->as.kids.first;
	return it;
}

static uint64_t raw_number(const struct meta_raw *raw, const uint8_t *p)
{
	bool be = raw->big_endian;
	switch (raw->width) {
	case 8:  return *p;
	case 16: return be ? be16(p) : le16(p);
	case 32: return be ? be32(p) : le32(p);
	default: return be ? be64(p) : le64(p);
	}
}

static int64_t sign_extend(uint64_t v, unsigned width)
{
	uint64_t sign = UINT64_C(1) << (width - 1);
	return (int64_t)((v ^ sign) - sign);
}

static void set_number(struct tn_meta *node, const struct meta_raw *raw, uint64_t v)
{
	node->width = raw->width;
	switch ((tn_meta_type)raw->kind) {
	case TN_META_BOOL:  node->as.b = v != 0; node->width = 0; break;
	case TN_META_INT:   node->as.i = sign_extend(v, raw->width); break;
	case TN_META_FLOAT: node->as.f_bits = raw->width == 32 ? f32_widen((uint32_t)v) : v; break;
	default:            node->as.u = v; break;
	}
}

/* Whoever made the raw array has walked it once, and lengths lay inside it then. But the bytes may be those of a file that
 * another process changes: what does not fit is cut, and nothing outside the array is touched. */
static const tn_meta *next_raw(tn_meta_iter *it)
{
	_Static_assert(sizeof(struct tn_meta) <= sizeof it->scratch, "an item fits the iterator");
	const struct meta_raw *raw = it->node->as.packed.raw;
	const uint8_t *p = it->at, *end = raw->bytes + raw->len;
	struct tn_meta item = { .type = raw->kind };
	bool whole = (size_t)(end - p) >= raw->width / 8u;
	uint64_t head = whole ? raw_number(raw, p) : 0;
	p = whole ? p + raw->width / 8 : end;
	if (raw->kind == TN_META_STRING) {
		item.as.s = (tn_view){ p, (size_t)min_u64(head, (uint64_t)(end - p)) };
		p += item.as.s.len;
	} else {
		set_number(&item, raw, head);
	}
	it->at = p;
	memcpy(it->scratch, &item, sizeof item);
	return (const tn_meta *)(const void *)it->scratch;
}

const tn_meta *tn_meta_next(tn_meta_iter *it)
{
	if (it->left == 0)
		return NULL;
	it->left--;
	if (it->node->is_raw)
		return next_raw(it);
	const tn_meta *item = it->at;
	it->at = item->next;
	return item;
}

/* ---- Typed getters ---- */

/* A float that is a whole number in [low, high), as the caller wants to read it. */
static bool whole(double f, double low, double high) { return f >= low && f < high && f == floor(f); }

bool tn_meta_u64(const tn_meta *node, uint64_t *out)
{
	double f;
	switch (tn_meta_kind(node)) {
	case TN_META_UINT:
		*out = node->as.u;
		return true;
	case TN_META_INT:
		if (node->as.i < 0)
			return false;
		*out = (uint64_t)node->as.i;
		return true;
	case TN_META_FLOAT:
		f = f64_of(node->as.f_bits);
		if (!whole(f, 0, 18446744073709551616.0))
			return false;
		*out = (uint64_t)f;
		return true;
	default:
		return false;
	}
}

bool tn_meta_i64(const tn_meta *node, int64_t *out)
{
	double f;
	switch (tn_meta_kind(node)) {
	case TN_META_INT:
		*out = node->as.i;
		return true;
	case TN_META_UINT:
		if (node->as.u > INT64_MAX)
			return false;
		*out = (int64_t)node->as.u;
		return true;
	case TN_META_FLOAT:
		f = f64_of(node->as.f_bits);
		if (!whole(f, -9223372036854775808.0, 9223372036854775808.0))
			return false;
		*out = (int64_t)f;
		return true;
	default:
		return false;
	}
}

#define NARROW_GETTER(name, type, wide_type, wide, low, high) \
	bool name(const tn_meta *node, type *out)                  \
	{                                                           \
		wide_type v;                                             \
		if (!wide(node, &v) || v < (low) || v > (high))          \
			return false;                                         \
		*out = (type)v;                                          \
		return true;                                             \
	}
#define UNSIGNED_GETTER(bits)                                      \
	bool tn_meta_u##bits(const tn_meta *node, uint##bits##_t *out) \
	{                                                               \
		uint64_t v;                                                  \
		if (!tn_meta_u64(node, &v) || v > UINT##bits##_MAX)          \
			return false;                                             \
		*out = (uint##bits##_t)v;                                    \
		return true;                                                 \
	}
UNSIGNED_GETTER(8)
UNSIGNED_GETTER(16)
UNSIGNED_GETTER(32)
NARROW_GETTER(tn_meta_i8, int8_t, int64_t, tn_meta_i64, INT8_MIN, INT8_MAX)
NARROW_GETTER(tn_meta_i16, int16_t, int64_t, tn_meta_i64, INT16_MIN, INT16_MAX)
NARROW_GETTER(tn_meta_i32, int32_t, int64_t, tn_meta_i64, INT32_MIN, INT32_MAX)

/* An integer whose nearest double is itself. */
static bool exact_double(const tn_meta *node, double *out)
{
	if (node->type == TN_META_INT) {
		double f = (double)node->as.i;
		*out = f;
		return f < 9223372036854775808.0 && (int64_t)f == node->as.i;
	}
	double f = (double)node->as.u;
	*out = f;
	return f < 18446744073709551616.0 && (uint64_t)f == node->as.u;
}

bool tn_meta_f64(const tn_meta *node, double *out)
{
	double f;
	switch (tn_meta_kind(node)) {
	case TN_META_FLOAT:
		*out = f64_of(node->as.f_bits);
		return true;
	case TN_META_INT:
	case TN_META_UINT:
		if (!exact_double(node, &f))
			return false;
		*out = f;
		return true;
	default:
		return false;
	}
}

bool tn_meta_f32(const tn_meta *node, float *out)
{
	double f;
	if (!tn_meta_f64(node, &f))
		return false;
	/* a finite double past the range of float would become infinite: undefined to convert, and a loss */
	if (isfinite(f) && fabs(f) > 3.40282346638528859812e+38)
		return false;
	float narrow = (float)f;
	if (!isnan(f) && (double)narrow != f)
		return false;
	*out = narrow;
	return true;
}

bool tn_meta_bool(const tn_meta *node, bool *out)
{
	if (tn_meta_kind(node) != TN_META_BOOL)
		return false;
	*out = node->as.b;
	return true;
}

bool tn_meta_string(const tn_meta *node, tn_view *out)
{
	if (tn_meta_kind(node) != TN_META_STRING)
		return false;
	*out = node->as.s;
	return true;
}

bool tn_meta_bytes(const tn_meta *node, tn_view *out)
{
	if (tn_meta_kind(node) != TN_META_STRING && tn_meta_kind(node) != TN_META_BYTES)
		return false;
	*out = node->as.s;
	return true;
}
