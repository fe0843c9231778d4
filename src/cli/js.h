/* js.h - printing JSON: keys in the order of the calls, lists one item a line. */
#ifndef CLI_JS_H
#define CLI_JS_H

#include "cli/text.h"
#include <stdio.h>

enum json_style {
	JSON_LINES,   /* each item on a line of its own */
	JSON_ONE_LINE /* so is everything inside */
};
enum { JSON_DEPTH = 192 }; /* metadata of all formats nests less */

struct json {
	FILE    *to;
	unsigned depth;
	bool     keyed;            /* a key waits for its value */
	bool     some[JSON_DEPTH]; /* the container has items */
	bool     lines[JSON_DEPTH];
	char     closer[JSON_DEPTH];
};

void js_begin(struct json *j, FILE *to);
void js_end(struct json *j);
/* The key of the next value; returns j, so that js_uint(js_at(j, "size"), n) reads as one. */
struct json *js_at(struct json *j, const char *key);
struct json *js_at_view(struct json *j, tn_view key);
void js_open(struct json *j, char opener, enum json_style style); /* '{' or '[' */
void js_close(struct json *j);
void js_null(struct json *j);
void js_bool(struct json *j, bool v);
void js_uint(struct json *j, uint64_t v);
void js_int(struct json *j, int64_t v);
/* A number or a word (true, false) as text; what is no finite number becomes a string: "NaN",
 * "-Infinity". */
void js_number(struct json *j, const struct text *t);
void js_f64(struct json *j, double v);
void js_f32(struct json *j, float v);
/* A byte that belongs to no UTF-8 sequence becomes the four letters \xNN. */
void js_string(struct json *j, tn_view v);
/* Bytes as hex digits. */
void js_hex(struct json *j, tn_view v);

#endif
