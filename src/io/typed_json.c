/* typed_json.c - see typed_json.h for the grammar. */
#include "io/typed_json.h"

#include "base/bytes.h"
#include "base/utf8.h"
#include "io/members.h"

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

/* A number where JSON can spell it, else its bits as text. */
static void put_bits(struct buf *out, uint64_t bits)
{
	if (isfinite(f64_of(bits)))
		json_put_real(out, f64_of(bits));
	else
		buf_printf(out, "\"%016llx\"", (unsigned long long)bits);
}

static void put_float(struct buf *out, const struct tn_meta *node)
{
	if (node->width == 64 && isfinite(f64_of(node->as.f_bits))) {
		put_bits(out, node->as.f_bits);
		return;
	}
	put_number_tag(out, 'f', "float", node->width);
	put_bits(out, node->as.f_bits);
	buf_byte(out, '}');
}

static void put_bare(struct buf *out, const struct tn_meta *item)
{
	switch ((tn_meta_type)item->type) {
	case TN_META_UINT:  json_put_uint(out, item->as.u); break;
	case TN_META_INT:   json_put_int(out, item->as.i); break;
	case TN_META_FLOAT: put_bits(out, item->as.f_bits); break;
	case TN_META_BOOL:  buf_text(out, item->as.b ? "true" : "false"); break;
	default:            put_string(out, item->as.s); break;
	}
}

/* Whether items of the type need no tag, so that an array of them is one as JSON has it. */
static bool stands_bare(tn_meta_type kind, unsigned width)
{
	return kind == TN_META_BOOL || kind == TN_META_STRING || (kind == TN_META_UINT && width == 64);
}

static void put_uniform(struct buf *out, const struct tn_meta *node, tn_meta_type kind, unsigned width)
{
	tn_meta_iter it = tn_meta_items(node);
	const char *comma = "";
	buf_text(out, "{\"$array\":\"");
	if (kind == TN_META_BOOL || kind == TN_META_STRING)
		buf_text(out, kind == TN_META_BOOL ? "bool" : "string");
	else
		buf_printf(out, "%c%u", kind == TN_META_UINT ? 'u' : kind == TN_META_INT ? 'i' : 'f', width);
	buf_text(out, "\",\"v\":[");
	for (const tn_meta *item; (item = tn_meta_next(&it)) != NULL; comma = ",") {
		buf_text(out, comma);
		put_bare(out, item);
	}
	buf_text(out, "]}");
}

static void put_array(struct buf *out, const struct tn_meta *node)
{
	tn_meta_type kind;
	unsigned width;
	if (meta_uniform(node, &kind, &width) && (tn_meta_count(node) == 0 || !stands_bare(kind, width))) {
		put_uniform(out, node, kind, width);
		return;
	}
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
	unsigned      depth; /* containers around what is being read */
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

static bool uint_ok(const struct json_val *v, unsigned width)
{
	return json_type(v) == JSON_UINT && (width == 0 || width >= 64 || json_uint(v) >> width == 0);
}

static struct tn_meta *get_uint(struct reading *in, const struct json_val *v, unsigned width)
{
	struct tn_meta *node = uint_ok(v, width) ? made(in, TN_META_UINT, width) : NULL;
	if (node != NULL)
		node->as.u = json_uint(v);
	return node;
}

static bool int_ok(const struct json_val *v, unsigned width)
{
	int64_t limit = width == 0 || width == 64 ? INT64_MAX : (INT64_C(1) << (width - 1)) - 1;
	bool positive = json_type(v) == JSON_UINT && json_uint(v) <= INT64_MAX;
	if (!positive && json_type(v) != JSON_INT)
		return false;
	return json_int(v) <= limit && json_int(v) >= -limit - 1;
}

static struct tn_meta *get_int(struct reading *in, const struct json_val *v, unsigned width)
{
	struct tn_meta *node = int_ok(v, width) ? made(in, TN_META_INT, width) : NULL;
	if (node != NULL)
		node->as.i = json_int(v);
	return node;
}

/* A whole number is a float where the tag says so. */
static bool float_bits(const struct json_val *v, uint64_t *out)
{
	switch (json_type(v)) {
	case JSON_REAL: *out = f64_bits(json_real(v)); return true;
	case JSON_UINT: *out = f64_bits((double)json_uint(v)); return true;
	case JSON_INT:  *out = f64_bits((double)json_int(v)); return true;
	default: break;
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

static bool float_ok(const struct json_val *v, unsigned width, uint64_t *bits)
{
	return float_bits(v, bits) && (width != 32 || narrow(bits));
}

static struct tn_meta *get_float(struct reading *in, const struct json_val *v, unsigned width)
{
	uint64_t bits;
	struct tn_meta *node = float_ok(v, width, &bits) ? made(in, TN_META_FLOAT, width) : NULL;
	if (node != NULL)
		node->as.f_bits = bits;
	return node;
}

/* A container, unless it stands in too many. */
static struct tn_meta *nested(struct reading *in, const struct json_val *v,
                              struct tn_meta *(*read)(struct reading *, const struct json_val *))
{
	if (in->depth == META_DEEPEST)
		return NULL;
	in->depth++;
	struct tn_meta *node = read(in, v);
	in->depth--;
	return node;
}

/* A key that stands there twice has its first value, as everywhere in an envelope. */
static struct tn_meta *get_map(struct reading *in, const struct json_val *v)
{
	struct tn_meta *map = made(in, TN_META_MAP, 0);
	struct json_iter it = json_items(v);
	struct members had;
	uint64_t other;
	if (map == NULL || !members_init(&had, in->a, json_count(v))) {
		in->nomem = true;
		return NULL;
	}
	while (json_next(&it)) {
		/* nothing is asked of the arena after it refused: it remembers why for the last request only */
		struct tn_meta *item = get(in, it.val);
		if (item == NULL || (item->key = kept(in, it.key)).ptr == NULL)
			return NULL;
		if (members_add(&had, item, &other))
			meta_append(map, item->key, item);
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
		return json_type(v) == JSON_OBJECT ? nested(in, v, get_map) : NULL;
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

/* ---- Arrays of one type: read into the form that files have them in ---- */

static void put_number(struct buf *out, uint64_t v, unsigned width)
{
	uint8_t bytes[8];
	put_le64(bytes, v);
	buf_put(out, bytes, width / 8);
}

/* One item. False when it is of another type. */
static bool pack_item(const struct meta_raw *raw, const struct json_val *v, struct buf *out)
{
	uint64_t bits;
	switch ((tn_meta_type)raw->kind) {
	case TN_META_BOOL:
		buf_byte(out, json_type(v) == JSON_BOOL && json_bool(v));
		return json_type(v) == JSON_BOOL;
	case TN_META_UINT:
		if (uint_ok(v, raw->width))
			put_number(out, json_uint(v), raw->width);
		return uint_ok(v, raw->width);
	case TN_META_INT:
		if (int_ok(v, raw->width))
			put_number(out, (uint64_t)json_int(v), raw->width);
		return int_ok(v, raw->width);
	case TN_META_FLOAT:
		if (!float_ok(v, raw->width, &bits))
			return false;
		put_number(out, raw->width == 32 ? f32_narrow(bits) : bits, raw->width);
		return true;
	default:
		return false;
	}
}

static void pack_text(tn_view text, struct buf *out)
{
	put_number(out, text.len, 64);
	buf_view(out, text);
}

/* A string, or the tagged hex of one that is no UTF-8. */
static bool pack_string(struct reading *in, const struct json_val *v, struct buf *out)
{
	if (json_type(v) == JSON_STRING) {
		pack_text(json_string(v), out);
		return true;
	}
	struct tn_meta *node = get(in, v);
	if (node == NULL || node->type != TN_META_STRING)
		return false;
	pack_text(node->as.s, out);
	return true;
}

static bool array_type(const struct json_val *v, struct meta_raw *raw)
{
	char letter, tag[8] = "$";
	unsigned width;
	if (json_type(v) != JSON_STRING || json_string(v).len > 6)
		return false;
	copy_bytes(tag + 1, json_string(v).ptr, json_string(v).len);
	if (strlen(tag + 1) != json_string(v).len)
		return false;
	*raw = (struct meta_raw){ .kind = TN_META_STRING, .width = 64 };
	if (strcmp(tag, "$string") == 0)
		return true;
	*raw = (struct meta_raw){ .kind = TN_META_BOOL, .width = 8 };
	if (strcmp(tag, "$bool") == 0)
		return true;
	if (!number_tag(tn_text(tag), &letter, &width) || (letter == 'f' && width < 32))
		return false;
	raw->width = (uint8_t)width;
	raw->kind = letter == 'u' ? TN_META_UINT : letter == 'i' ? TN_META_INT : TN_META_FLOAT;
	return letter == 'u' || letter == 'i' || letter == 'f';
}

static bool pack_items(struct reading *in, struct meta_raw *raw, const struct json_val *v)
{
	struct buf b;
	buf_init(&b, in->a->budget);
	struct json_iter it = json_items(v);
	bool ok = true;
	while (ok && json_next(&it))
		ok = raw->kind == TN_META_STRING ? pack_string(in, it.val, &b) : pack_item(raw, it.val, &b);
	raw->len = b.len;
	raw->bytes = buf_done(&b, in->a).ptr;
	in->nomem = in->nomem || raw->bytes == NULL;
	return ok && !in->nomem;
}

static struct tn_meta *get_uniform(struct reading *in, const struct json_val *object)
{
	const struct json_val *type = json_find(object, "$array"), *items = json_find(object, "v");
	struct meta_raw *raw = ARENA_NEW(in->a, 1, struct meta_raw);
	struct tn_meta *node = made(in, TN_META_ARRAY, 0);
	if (raw == NULL || node == NULL) {
		in->nomem = true;
		return NULL;
	}
	if (json_count(object) != 2 || items == NULL || json_type(items) != JSON_ARRAY || !array_type(type, raw) ||
	    !pack_items(in, raw, items))
		return NULL;
	node->is_raw = true;
	node->as.packed.raw = raw;
	node->as.packed.n = json_count(items);
	return node;
}

static struct tn_meta *get_object(struct reading *in, const struct json_val *v)
{
	struct json_iter it = json_items(v);
	if (json_next(&it) && view_is(it.key, "$array"))
		return nested(in, v, get_uniform);
	it = json_items(v);
	if (json_next(&it) && view_starts(it.key, "$"))
		return json_count(v) == 1 ? get_tagged(in, it.key, it.val) : NULL;
	return nested(in, v, get_map);
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
		return nested(in, v, get_array);
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
