/* json.h - JSON: reading through yyjson, printing as serde_json does.
 *
 * The reader keeps the order of keys, sees repeated keys, tells integers from reals by their spelling,
 * and refuses what RFC 8259 refuses. Values live as long as their document. */
#ifndef CODEC_JSON_H
#define CODEC_JSON_H

#include "base/buf.h"

struct json_doc;   /* owns its memory, charged to no arena but bounded by budget */
struct json_val;   /* borrowed from the document */

enum json_type { JSON_NULL, JSON_BOOL, JSON_UINT, JSON_INT, JSON_REAL, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_options {
	uint64_t origin;    /* file offset of the text, for error offsets */
	unsigned max_depth; /* containers inside each other; 0: 128 */
	uint64_t budget;    /* memory for the document; 0: none */
	const char *what;   /* leads messages: "safetensors: header" */
};

/* Parses text. White space (20 09 0A 0D) may surround the value, nothing else may. Integers from -2^63 to
 * 2^64-1 are JSON_INT (negative) or JSON_UINT; any other number is JSON_REAL ("-0" is JSON_REAL too).
 * Fails with CORRUPT and the offset of the fault, LIMIT past depth or budget, or NOMEM. *out is NULL then. */
tn_code json_parse(struct json_doc **out, tn_view text, const struct json_options *opt, tn_error *err);
void    json_free(struct json_doc *doc);
const struct json_val *json_root(const struct json_doc *doc);

enum json_type json_type(const struct json_val *v);
bool     json_bool(const struct json_val *v);   /* of JSON_BOOL */
uint64_t json_uint(const struct json_val *v);   /* of JSON_UINT */
int64_t  json_int(const struct json_val *v);    /* of JSON_INT, or JSON_UINT up to 2^63-1 */
double   json_real(const struct json_val *v);   /* of JSON_REAL */
tn_view  json_string(const struct json_val *v); /* of JSON_STRING: unescaped UTF-8, may hold NUL; lives in the document */
size_t   json_count(const struct json_val *v);  /* items of an array, members of an object, else 0 */

/* Walks arrays and objects in the order of the text:
 *	struct json_iter it = json_items(v);
 *	while (json_next(&it)) use(it.key, it.val); */
struct json_iter {
	tn_view                key; /* of an object's member; empty in an array */
	const struct json_val *val;
	const void            *next;
	size_t                 left;
	bool                   object;
};
struct json_iter json_items(const struct json_val *v);
bool json_next(struct json_iter *it);
/* The first member of that name; NULL when there is none. Linear. */
const struct json_val *json_find(const struct json_val *object, const char *name);

/* ---- Printing ---- */

/* A string with quotes. Escapes: \" \\ \b \f \n \r \t, other bytes below 0x20 as \u00xx in lower case;
 * everything else raw (serde_json). v must be UTF-8. */
void json_put_string(struct buf *out, tn_view v);
/* The same, for bytes that may be no UTF-8: each offending byte becomes the text \xNN (escaped backslash). */
void json_put_lossy(struct buf *out, tn_view v);
void json_put_uint(struct buf *out, uint64_t v);
void json_put_int(struct buf *out, int64_t v);
/* The shortest text that reads back as the same double, as serde_json spells it; null when not finite. */
void json_put_real(struct buf *out, double v);

#endif
