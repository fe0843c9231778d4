/* typed_json.c - see typed_json.h for the grammar. */
#include "io/typed_json.h"

#include "base/bytes.h"
#include "base/utf8.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Printing ---- */

static void put_hex(struct buf *out, tn_view v)
{
	buf_byte(out, '"');
	for (size_t i = 0; i < v.len; i++)
		buf_printf(out, "%02x", v.ptr[i]);
	buf_byte(out, '"');
}

static void put_tagged_hex(struct buf *out, const char *tag, tn_view v)
{
	buf_printf(out, "{\"%s\":", tag);
	put_hex(out, v);
	buf_byte(out, '}');
}

static void put_string(struct buf *out, tn_view v)
{
	if (utf8_ok(v))
		json_put_string(out, v);
	else
		put_tagged_hex(out, "$string", v);
}

static void put_number_tag(struct buf *out, char letter, const char *unknown, unsigned width)
{
	if (width != 0)
		buf_printf(out, "{\"$%c%u\":", letter, width);
	else
		buf_printf(out, "{\"$%s\":", unknown);
}

static void put_uint(struct buf *out, const struct tn_meta *node)
{
	if (node->width == 64) {
		json_put_uint(out, node->as.u);
		return;
	}
	put_number_tag(out, 'u', "uint", node->width);
	json_put_uint(out, node->as.u);
	buf_byte(out, '}');
}

static void put_int(struct buf *out, const struct tn_meta *node)
{
	if (node->width == 64 && node->as.i < 0) {
		json_put_int(out, node->as.i);
		return;
	}
	put_number_tag(out, 'i', "int", node->width);
	json_put_int(out, node->as.i);
	buf_byte(out, '}');
}

static void put_float(struct buf *out, const struct tn_meta *node)
{
	double v = f64_of(node->as.f_bits);
	bool finite = isfinite(v);
	if (node->width == 64 && finite) {
		json_put_real(out, v);
		return;
	}
	put_number_tag(out, 'f', "float", node->width);
	if (finite)
		json_put_real(out, v);
	else
		buf_printf(out, "\"%016llx\"", (unsigned long long)node->as.f_bits);
	buf_byte(out, '}');
}

static void put_array(struct buf *out, const struct tn_meta *node)
{
	tn_meta_iter it = tn_meta_items(node);
	const char *comma = "";
	buf_byte(out, '[');
	for (const tn_meta *item; (item = tn_meta_next(&it)) != NULL; comma = ",") {
		buf_text(out, comma);
		typed_json_put(out, item);
	}
	buf_byte(out, ']');
}

static void put_map(struct buf *out, const struct tn_meta *node)
{
	const struct tn_meta *first = node->as.kids.first;
	bool wrap = first != NULL && view_starts(first->key, "$");
	const char *comma = "";
	buf_text(out, wrap ? "{\"$map\":{" : "{");
	for (const struct tn_meta *item = first; item != NULL; item = item->next, comma = ",") {
		buf_text(out, comma);
		json_put_lossy(out, item->key);
		buf_byte(out, ':');
		typed_json_put(out, item);
	}
	buf_text(out, wrap ? "}}" : "}");
}

void typed_json_put(struct buf *out, const struct tn_meta *node)
{
	switch ((tn_meta_type)node->type) {
	case TN_META_NULL:   buf_text(out, "null"); break;
	case TN_META_BOOL:   buf_text(out, node->as.b ? "true" : "false"); break;
	case TN_META_UINT:   put_uint(out, node); break;
	case TN_META_INT:    put_int(out, node); break;
	case TN_META_FLOAT:  put_float(out, node); break;
	case TN_META_STRING: put_string(out, node->as.s); break;
	case TN_META_BYTES:  put_tagged_hex(out, "$bytes", node->as.s); break;
	case TN_META_ARRAY:  put_array(out, node); break;
	case TN_META_MAP:    put_map(out, node); break;
	}
}

/* ---- Reading ---- */

struct reading {
	struct arena *a;
	bool          nomem;
};

static struct tn_meta *get(struct reading *in, const struct json_val *v);

static struct tn_meta *made(struct reading *in, tn_meta_type type, unsigned width)
{
	struct tn_meta *node = meta_new(in->a, type);
	if (node == NULL)
		in->nomem = true;
	else
		node->width = (uint8_t)width;
	return node;
}

static tn_view kept(struct reading *in, tn_view v)
{
	tn_view copy = arena_copy(in->a, v);
	if (copy.ptr == NULL)
		in->nomem = true;
	return copy;
}

static int hex_digit(uint8_t c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool unhex(tn_view text, uint8_t *out)
{
	if (text.len % 2 != 0)
		return false;
	for (size_t i = 0; i < text.len; i += 2) {
		int high = hex_digit(text.ptr[i]), low = hex_digit(text.ptr[i + 1]);
		if (high < 0 || low < 0)
			return false;
		out[i / 2] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static struct tn_meta *get_hex(struct reading *in, const struct json_val *v, tn_meta_type type)
{
	if (json_type(v) != JSON_STRING)
		return NULL;
	tn_view text = json_string(v);
	uint8_t *bytes = arena_raw(in->a, text.len / 2 + 1, 1);
	struct tn_meta *node = bytes != NULL ? made(in, type, 0) : NULL;
	if (node == NULL) {
		in->nomem = true;
		return NULL;
	}
	node->as.s = (tn_view){ bytes, text.len / 2 };
	return unhex(text, bytes) ? node : NULL;
}

static struct tn_meta *get_uint(struct reading *in, const struct json_val *v, unsigned width)
{
	if (json_type(v) != JSON_UINT || (width != 0 && width < 64 && json_uint(v) >> width != 0))
		return NULL;
	struct tn_meta *node = made(in, TN_META_UINT, width);
	if (node != NULL)
		node->as.u = json_uint(v);
	return node;
}

static bool int_fits(int64_t v, unsigned width)
{
	int64_t limit = width == 0 || width == 64 ? INT64_MAX : (INT64_C(1) << (width - 1)) - 1;
	return v <= limit && v >= -limit - 1;
}

static struct tn_meta *get_int(struct reading *in, const struct json_val *v, unsigned width)
{
	bool positive = json_type(v) == JSON_UINT && json_uint(v) <= INT64_MAX;
	if (!positive && json_type(v) != JSON_INT)
		return NULL;
	if (!int_fits(json_int(v), width))
		return NULL;
	struct tn_meta *node = made(in, TN_META_INT, width);
	if (node != NULL)
		node->as.i = json_int(v);
	return node;
}

static bool float_bits(const struct json_val *v, uint64_t *out)
{
	if (json_type(v) == JSON_REAL) {
		*out = f64_bits(json_real(v));
		return true;
	}
	uint8_t bytes[8];
	if (json_type(v) != JSON_STRING || json_string(v).len != 16 || !unhex(json_string(v), bytes))
		return false;
	*out = be64(bytes);
	return true;
}

/* A float of 32 bits is kept widened. A spelling that stands for no such float, like 0.1, is rounded to one. */
static bool narrow(uint64_t *bits)
{
	double v = f64_of(*bits);
	if (isnan(v))
		return (*bits & ((UINT64_C(1) << 29) - 1)) == 0;
	if (isfinite(v) && fabs(v) > (double)FLT_MAX)
		return false;
	*bits = f64_bits((double)(float)v);
	return true;
}

static struct tn_meta *get_float(struct reading *in, const struct json_val *v, unsigned width)
{
	uint64_t bits;
	if (!float_bits(v, &bits) || (width == 32 && !narrow(&bits)))
		return NULL;
	struct tn_meta *node = made(in, TN_META_FLOAT, width);
	if (node != NULL)
		node->as.f_bits = bits;
	return node;
}

static struct tn_meta *get_map(struct reading *in, const struct json_val *v)
{
	struct tn_meta *map = made(in, TN_META_MAP, 0);
	struct json_iter it = json_items(v);
	while (map != NULL && json_next(&it)) {
		/* nothing is asked of the arena after it refused: it remembers why for the last request only */
		struct tn_meta *item = get(in, it.val);
		tn_view key = item != NULL ? kept(in, it.key) : (tn_view){ NULL, 0 };
		if (key.ptr == NULL)
			return NULL;
		meta_append(map, key, item);
	}
	return map;
}

/* "$u8" and its kin: kind letter, then one of the four widths. */
static bool number_tag(tn_view tag, char *letter, unsigned *width)
{
	static const struct { const char *digits; unsigned width; } widths[] = {
		{ "8", 8 }, { "16", 16 }, { "32", 32 }, { "64", 64 }
	};
	if (tag.len < 3)
		return false;
	tn_view digits = { tag.ptr + 2, tag.len - 2 };
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
		if (view_is(digits, widths[i].digits)) {
			*letter = (char)tag.ptr[1];
			*width = widths[i].width;
			return true;
		}
	}
	return false;
}

static struct tn_meta *get_tagged(struct reading *in, tn_view tag, const struct json_val *v)
{
	char letter;
	unsigned width;
	if (view_is(tag, "$map"))
		return json_type(v) == JSON_OBJECT ? get_map(in, v) : NULL;
	if (view_is(tag, "$bytes"))
		return get_hex(in, v, TN_META_BYTES);
	if (view_is(tag, "$string"))
		return get_hex(in, v, TN_META_STRING);
	if (view_is(tag, "$uint"))
		return get_uint(in, v, 0);
	if (view_is(tag, "$int"))
		return get_int(in, v, 0);
	if (view_is(tag, "$float"))
		return get_float(in, v, 0);
	if (!number_tag(tag, &letter, &width))
		return NULL;
	return letter == 'u' ? get_uint(in, v, width)
	     : letter == 'i' ? get_int(in, v, width)
	     : letter == 'f' && width >= 32 ? get_float(in, v, width) : NULL;
}

static struct tn_meta *get_object(struct reading *in, const struct json_val *v)
{
	struct json_iter it = json_items(v);
	if (json_next(&it) && view_starts(it.key, "$"))
		return json_count(v) == 1 ? get_tagged(in, it.key, it.val) : NULL;
	return get_map(in, v);
}

static struct tn_meta *get_array(struct reading *in, const struct json_val *v)
{
	struct tn_meta *array = made(in, TN_META_ARRAY, 0);
	struct json_iter it = json_items(v);
	while (array != NULL && json_next(&it)) {
		struct tn_meta *item = get(in, it.val);
		if (item == NULL)
			return NULL;
		meta_append(array, (tn_view){ NULL, 0 }, item);
	}
	return array;
}

/* Recursion is bounded by the depth that the JSON reader allows. */
static struct tn_meta *get(struct reading *in, const struct json_val *v)
{
	struct tn_meta *node;
	switch (json_type(v)) {
	case JSON_NULL:
		return made(in, TN_META_NULL, 0);
	case JSON_BOOL:
		if ((node = made(in, TN_META_BOOL, 0)) != NULL)
			node->as.b = json_bool(v);
		return node;
	case JSON_UINT:
		return get_uint(in, v, 64);
	case JSON_INT:
		return get_int(in, v, 64);
	case JSON_REAL:
		return get_float(in, v, 64);
	case JSON_STRING:
		if ((node = made(in, TN_META_STRING, 0)) != NULL && (node->as.s = kept(in, json_string(v))).ptr == NULL)
			return NULL;
		return node;
	case JSON_ARRAY:
		return get_array(in, v);
	case JSON_OBJECT:
		return get_object(in, v);
	}
	return NULL;
}

struct tn_meta *typed_json_get(struct arena *a, const struct json_val *v, bool *nomem)
{
	struct reading in = { .a = a };
	struct tn_meta *node = get(&in, v);
	*nomem = in.nomem;
	return in.nomem ? NULL : node;
}
