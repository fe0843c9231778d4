/* put_text.c - metadata values spelled as text, as people type them.
 *
 * A value is turned into the JSON that spells it with its type (docs/envelope.md), and read from
 * there: so there is one reader of numbers, with one idea of what fits. */
#include "api/call.h"
#include "api/writer.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/numtext.h"
#include "io/typed_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const number_types[] = {
	"u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64", "uint", "int", "float"
};

static bool is_number_type(const char *type)
{
	for (size_t i = 0; i < sizeof number_types / sizeof *number_types; i++)
		if (strcmp(type, number_types[i]) == 0)
			return true;
	return false;
}

/* ---- Values that are JSON ---- */

/* NULL where the text spells no value; err then says so, or what else went wrong. */
static struct tn_meta *read_json(tn_writer *w, tn_view text, tn_error *err)
{
	const struct json_options opt = {
		.max_depth = META_DEPTH, .budget = w->mem.budget, .what = "value",
	};
	struct json_doc *doc;
	tn_error why = { .code = TN_OK };
	bool nomem = false;
	tn_code code = json_parse(&doc, text, &opt, &why);
	struct tn_meta *node = code == TN_OK ? typed_json_get(&w->mem, json_root(doc), &nomem)
	                     : NULL;
	if (code == TN_E_NOMEM || code == TN_E_LIMIT)
		err_set(err, code, TN_NO_OFFSET, "%s", why.msg);
	else if (nomem)
		arena_err(&w->mem, err, "metadata");
	json_free(doc);
	return node;
}

/* head, text and tail in one, to be read as JSON. */
static struct tn_meta *read_wrapped(tn_writer *w, const char *head, tn_view text, const char *tail,
                                    tn_error *err)
{
	struct buf b;
	buf_init(&b, w->mem.budget);
	buf_text(&b, head);
	buf_view(&b, text);
	buf_text(&b, tail);
	struct tn_meta *node = b.failed ? NULL : read_json(w, buf_bytes(&b), err);
	if (b.failed) {
		w->mem.over = b.over;
		arena_err(&w->mem, err, "metadata");
	}
	buf_fini(&b);
	return node;
}

static struct tn_meta *read_array(tn_writer *w, const char *type, size_t len, tn_view text,
                                  tn_error *err)
{
	char head[48];
	snprintf(head, sizeof head, "{\"$array\":\"%.*s\",\"v\":", (int)len, type);
	struct tn_meta *node = read_wrapped(w, head, text, "}", err);
	return node != NULL && node->type == TN_META_ARRAY ? node : NULL;
}

/* ---- Numbers ---- */

/* As people write them, and as the command prints them. */
static bool special_float(tn_view text, uint64_t *bits)
{
	bool nan = view_is(text, "nan") || view_is(text, "NaN");
	bool inf = view_is(text, "inf") || view_is(text, "Infinity"), minus = view_is(text, "-inf") || view_is(text, "-Infinity");
	*bits = f64_bits(nan ? (double)NAN : minus ? -(double)INFINITY : (double)INFINITY);
	return nan || inf || minus;
}

static bool all_digits(tn_view text)
{
	size_t i = text.len != 0 && text.ptr[0] == '-';
	bool any = i < text.len;
	for (; i < text.len; i++)
		any = any && text.ptr[i] >= '0' && text.ptr[i] <= '9';
	return any;
}

static struct tn_meta *read_number(tn_writer *w, const char *type, tn_view text, tn_error *err)
{
	char head[32];
	uint64_t bits;
	bool real = type[0] == 'f';
	if (real && special_float(text, &bits)) {
		struct tn_meta *node = meta_new(&w->mem, TN_META_FLOAT);
		if (node == NULL) {
			arena_err(&w->mem, err, "metadata");
			return NULL;
		}
		node->width = type[1] == '3' ? 32 : type[1] == '6' ? 64 : 0;
		node->as.f_bits = bits;
		return node;
	}
	if (!real && !all_digits(text))
		return NULL;
	snprintf(head, sizeof head, "{\"$%s\":", type);
	return read_wrapped(w, head, text, "}", err);
}

/* ---- By type ---- */

static struct tn_meta *read_bool(tn_writer *w, tn_view text, tn_error *err)
{
	return view_is(text, "true") || view_is(text, "false") ? read_json(w, text, err) : NULL;
}

static struct tn_meta *read_text(tn_writer *w, const char *type, tn_view text, tn_error *err)
{
	size_t len = strlen(type);
	bool array = len > 2 && strcmp(type + len - 2, "[]") == 0;
	if (array)
		return read_array(w, type, len - 2, text, err);
	if (is_number_type(type))
		return read_number(w, type, text, err);
	if (strcmp(type, "bool") == 0)
		return read_bool(w, text, err);
	if (strcmp(type, "null") == 0)
		return read_json(w, VIEW("null"), err);
	if (strcmp(type, "bytes") == 0)
		return read_wrapped(w, "{\"$bytes\":\"", text, "\"}", err);
	return read_json(w, text, err);
}

static bool known_type(const char *type)
{
	static const char *const others[] = {
		"string", "bool", "bytes", "null", "json", "string[]", "bool[]",
	};
	char item[8] = "";
	size_t len = strlen(type);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strcmp(type, others[i]) == 0)
			return true;
	if (len > 2 && len < sizeof item + 2 && strcmp(type + len - 2, "[]") == 0)
		memcpy(item, type, len - 2);
	return is_number_type(item[0] != '\0' ? item : type);
}

tn_code tn_put_text(tn_writer *w, tn_meta *to, tn_view key, const char *type, tn_view text,
                    tn_error *err)
{
	CALL_BEGIN(err);
	if (type == NULL || !known_type(type))
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "there is no type '%s'",
		               ESC(tn_text(type)));
	if (strcmp(type, "string") == 0)
		return tn_put_string(w, to, key, text, err);
	struct tn_meta *node = read_text(w, type, text, err);
	if (node == NULL)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "'%s' is no value of type %s",
		               ESC(text), type);
	if (to != NULL && !writer_set_depth(node, to->depth + 1u))
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "metadata nests deeper than %d",
		               META_DEPTH);
	return writer_put(w, to, key, node, err);
}
