/* meta.c - metadata for people and for scripts. */
#include "cli/meta.h"
#include "cli/out.h"
#include <inttypes.h>

/* Items of a container that are worth showing on one line. */
enum { SHOWN = 8 };

static void json_real(struct json *j, const tn_meta *node)
{
	float f;
	double d = 0;
	if (tn_meta_width(node) == 32 && tn_meta_f32(node, &f)) {
		js_f32(j, f);
		return;
	}
	tn_meta_f64(node, &d);
	js_f64(j, d);
}

static void json_items(struct json *j, const tn_meta *node)
{
	bool map = tn_meta_kind(node) == TN_META_MAP;
	js_open(j, map ? '{' : '[', map ? JSON_LINES : JSON_ONE_LINE);
	tn_meta_iter it = tn_meta_items(node);
	for (const tn_meta *item; (item = tn_meta_next(&it)) != NULL; )
		meta_json(map ? js_at_view(j, tn_meta_key(item)) : j, item);
	js_close(j);
}

void meta_json(struct json *j, const tn_meta *node)
{
	bool b = false;
	int64_t i = 0;
	uint64_t u = 0;
	tn_view v = { 0 };
	switch (tn_meta_kind(node)) {
	case TN_META_NULL:   js_null(j); break;
	case TN_META_BOOL:   tn_meta_bool(node, &b), js_bool(j, b); break;
	case TN_META_INT:    tn_meta_i64(node, &i), js_int(j, i); break;
	case TN_META_UINT:   tn_meta_u64(node, &u), js_uint(j, u); break;
	case TN_META_FLOAT:  json_real(j, node); break;
	case TN_META_STRING: tn_meta_string(node, &v), js_string(j, v); break;
	case TN_META_BYTES:  tn_meta_bytes(node, &v), js_hex(j, v); break;
	case TN_META_ARRAY:
	case TN_META_MAP:    json_items(j, node); break;
	}
}

static void text_real(struct text *t, const tn_meta *node)
{
	float f;
	double d = 0;
	if (tn_meta_width(node) == 32 && tn_meta_f32(node, &f)) {
		text_f32(t, f);
		return;
	}
	tn_meta_f64(node, &d);
	text_f64(t, d);
}

static void text_hex(struct text *t, tn_view v, size_t columns)
{
	size_t fits = columns / 2;
	for (size_t i = 0; i < v.len && i < fits; i++)
		text_fmt(t, "%02x", v.ptr[i]);
	if (v.len > fits)
		text_str(t, "...");
}

static void text_string(struct text *t, tn_view v, size_t columns)
{
	text_str(t, "\"");
	text_clip(t, v, columns);
	text_str(t, "\"");
}

static void text_items(struct text *t, const tn_meta *node, size_t columns)
{
	bool map = tn_meta_kind(node) == TN_META_MAP;
	size_t start = t->n, n = 0;
	text_str(t, map ? "{" : "[");
	tn_meta_iter it = tn_meta_items(node);
	for (const tn_meta *item; (item = tn_meta_next(&it)) != NULL; n++) {
		if (n > 0)
			text_str(t, ", ");
		if (columns != SIZE_MAX && (n == SHOWN || t->n - start > columns)) {
			text_str(t, "...");
			break;
		}
		if (map) {
			text_escape(t, tn_meta_key(item));
			text_str(t, ": ");
		}
		meta_text(t, item, columns == SIZE_MAX ? columns : columns / 2);
	}
	text_str(t, map ? "}" : "]");
}

void meta_text(struct text *t, const tn_meta *node, size_t columns)
{
	bool b = false;
	int64_t i = 0;
	uint64_t u = 0;
	tn_view v = { 0 };
	switch (tn_meta_kind(node)) {
	case TN_META_NULL:   text_str(t, "null"); break;
	case TN_META_BOOL:   tn_meta_bool(node, &b), text_str(t, b ? "true" : "false"); break;
	case TN_META_INT:    tn_meta_i64(node, &i), text_fmt(t, "%" PRId64, i); break;
	case TN_META_UINT:   tn_meta_u64(node, &u), text_fmt(t, "%" PRIu64, u); break;
	case TN_META_FLOAT:  text_real(t, node); break;
	case TN_META_STRING: tn_meta_string(node, &v), text_string(t, v, columns); break;
	case TN_META_BYTES:  tn_meta_bytes(node, &v), text_hex(t, v, columns); break;
	case TN_META_ARRAY:
	case TN_META_MAP:    text_items(t, node, columns); break;
	}
}

void meta_type(struct text *t, const tn_meta *node)
{
	static const char *const kinds[] = {
		[TN_META_NULL] = "null",   [TN_META_BOOL] = "bool",     [TN_META_INT] = "int",
		[TN_META_UINT] = "uint",   [TN_META_FLOAT] = "float",   [TN_META_STRING] = "string",
		[TN_META_BYTES] = "bytes", [TN_META_ARRAY] = "array",   [TN_META_MAP] = "map",
	};
	tn_meta_type kind = tn_meta_kind(node);
	unsigned width = tn_meta_width(node);
	if (width > 0)
		text_fmt(t, "%c%u", kinds[kind][0], width);
	else
		text_str(t, kinds[kind]);
	if (kind == TN_META_ARRAY)
		text_fmt(t, " of %" PRIu64, tn_meta_count(node));
}

static void add_rows(struct table *rows, const tn_meta *map, unsigned depth, bool whole)
{
	tn_meta_iter it = tn_meta_items(map);
	for (const tn_meta *item; (item = tn_meta_next(&it)) != NULL; ) {
		bool deeper = tn_meta_kind(item) == TN_META_MAP && tn_meta_count(item) > 0;
		struct text *cell = table_cell(rows);
		text_fmt(cell, "%*s", (int)(2 * depth), "");
		text_clip(cell, tn_meta_key(item), whole ? SIZE_MAX : 48);
		meta_type(table_cell(rows), item);
		cell = table_cell(rows);
		if (deeper)
			add_rows(rows, item, depth + 1, whole);
		else
			meta_text(cell, item, whole ? SIZE_MAX : 60);
	}
}

void meta_print(const tn_meta *map, bool whole)
{
	static const struct column columns[] = {
		{ "KEY", false }, { "TYPE", false }, { "VALUE", false },
	};
	struct table rows;
	table_init(&rows, columns, 3);
	add_rows(&rows, map, 0, whole);
	table_print(&rows, "  ", false);
}
