/* json.h - printing JSON: keys in the order of the calls, lists one item a line. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

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

void json_begin(struct json *j, FILE *to);
void json_end(struct json *j);
/* The key of the next value; returns j, so that json_uint(json_at(j, "size"), n) reads as one. */
struct json *json_at(struct json *j, const char *key);
struct json *json_at_view(struct json *j, tn_view key);
void json_open(struct json *j, char opener, enum json_style style); /* '{' or '[' */
void json_close(struct json *j);
void json_null(struct json *j);
void json_bool(struct json *j, bool v);
void json_uint(struct json *j, uint64_t v);
void json_int(struct json *j, int64_t v);
/* A number or a word (true, false) as text; what is no finite number becomes a string: "NaN",
 * "-Infinity". */
void json_number(struct json *j, const struct text *t);
void json_f64(struct json *j, double v);
void json_f32(struct json *j, float v);
/* A byte that belongs to no UTF-8 sequence becomes the four letters \xNN. */
void json_string(struct json *j, tn_view v);
/* Bytes as hex digits. */
void json_hex(struct json *j, tn_view v);

#endif
