/* json.c - JSON through yyjson, which no other file sees.
 *
 * A document of yyjson is one flat array of 16-byte values and one copy of the text with its strings
 * unescaped in place. struct json_val is never defined: a pointer to one is a pointer to yyjson's value. */
#include "base/mem.h"
#include "base/num.h"
#include "codec/json.h"
#include <yyjson.h>

enum { DEFAULT_DEPTH = 128 };

struct json_doc {
	yyjson_doc *doc;
	uint64_t    used, budget;
	bool        over; /* the budget said no, not the machine */
};

static yyjson_val *val_of(const struct json_val *v) { return (yyjson_val *)(uintptr_t)v; }
static const struct json_val *of_val(const void *v) { return v; }

/* ---- Memory: yyjson takes the text's copy and the values, and grows the latter ---- */

static bool charge(struct json_doc *d, uint64_t n)
{
	uint64_t used;
	if (!add_u64(d->used, n, &used) || (d->budget != 0 && used > d->budget)) {
		d->over = d->budget != 0;
		return false;
	}
	d->used = used;
	return true;
}

static void *take(void *ctx, size_t n)
{
	return charge(ctx, n) ? mem_alloc(n) : NULL;
}

static void *retake(void *ctx, void *p, size_t old, size_t n)
{
	return n <= old || charge(ctx, n - old) ? mem_realloc(p, n) : NULL;
}

static void give_back(void *ctx, void *p)
{
	(void)ctx;
	mem_free(p);
}

/* ---- Depth: yyjson does not recurse and knows no limit, but who walks the document does ---- */

static bool nests_within(yyjson_val *v, unsigned depth)
{
	if (!unsafe_yyjson_is_ctn(v))
		return true;
	if (depth == 0)
		return false;
	yyjson_val *end = unsafe_yyjson_get_next(v);
	/* keys are values too, between the others */
	for (v = unsafe_yyjson_get_first(v); v < end; v = unsafe_yyjson_get_next(v))
		if (unsafe_yyjson_is_ctn(v) && !nests_within(v, depth - 1))
			return false;
	return true;
}

/* Where the bracket stands that opens one container too many, in text known to be JSON. */
static uint64_t too_deep_at(tn_view text, unsigned depth)
{
	bool in_string = false;
	unsigned open = 0;
	size_t i = 0;
	for (; i < text.len; i++) {
		uint8_t c = text.ptr[i];
		if (in_string && c == '\\')
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string && (c == '[' || c == '{') && open++ == depth)
			break;
		else if (!in_string && (c == ']' || c == '}'))
			open--;
	}
	return i;
}

/* ---- Parsing ---- */

static char lower(char c) { return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c); }

static tn_code parse_failed(const struct json_doc *d, const yyjson_read_err *why,
                            const struct json_options *opt, tn_error *err)
{
	char text[128];
	size_t n = 0;
	if (why->code == YYJSON_READ_ERROR_MEMORY_ALLOCATION && d->over)
		return err_set(err, TN_E_LIMIT, opt->origin, "%s: json exceeds the memory limit", opt->what);
	if (why->code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "%s: out of memory", opt->what);
	for (; why->msg[n] != '\0' && n + 1 < sizeof text; n++)
		text[n] = lower(why->msg[n]);
	text[n] = '\0';
	return err_set(err, TN_E_CORRUPT, opt->origin + why->pos, "%s: %s", opt->what, text);
}

static tn_code parse_into(struct json_doc *d, tn_view text, const struct json_options *opt,
                          tn_error *err)
{
	const yyjson_alc alc = { take, retake, give_back, d };
	const unsigned depth = opt->max_depth != 0 ? opt->max_depth : DEFAULT_DEPTH;
	yyjson_read_err why;
	char *in = text.len != 0 ? (char *)(uintptr_t)text.ptr : (char[1]){ 0 };
	/* without YYJSON_READ_INSITU the text is copied, never written to */
	d->doc = yyjson_read_opts(in, text.len, YYJSON_READ_NOFLAG, &alc, &why);
	if (d->doc == NULL)
		return parse_failed(d, &why, opt, err);
	if (!nests_within(yyjson_doc_get_root(d->doc), depth))
		return err_set(err, TN_E_LIMIT, opt->origin + too_deep_at(text, depth),
		               "%s: nested deeper than %u", opt->what, depth);
	return TN_OK;
}

tn_code json_parse(struct json_doc **out, tn_view text, const struct json_options *opt, tn_error *err)
{
	*out = NULL;
	struct json_doc *d = mem_alloc(sizeof *d);
	if (d == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "%s: out of memory", opt->what);
	*d = (struct json_doc){ .budget = opt->budget };
	tn_code code = parse_into(d, text, opt, err);
	if (code != TN_OK) {
		json_free(d);
		return code;
	}
	*out = d;
	return TN_OK;
}

void json_free(struct json_doc *doc)
{
	if (doc == NULL)
		return;
	yyjson_doc_free(doc->doc);
	mem_free(doc);
}

const struct json_val *json_root(const struct json_doc *doc)
{
	return of_val(yyjson_doc_get_root(doc->doc));
}

/* ---- Values ---- */

/* yyjson calls "-0" a negative integer of value 0, which no other text becomes. */
static bool is_minus_zero(const struct json_val *v)
{
	return yyjson_is_sint(val_of(v)) && yyjson_get_sint(val_of(v)) == 0;
}

enum json_type json_type(const struct json_val *v)
{
	switch (yyjson_get_tag(val_of(v)) & YYJSON_TAG_MASK) {
	case YYJSON_TYPE_BOOL | YYJSON_SUBTYPE_FALSE:
	case YYJSON_TYPE_BOOL | YYJSON_SUBTYPE_TRUE: return JSON_BOOL;
	case YYJSON_TYPE_NUM | YYJSON_SUBTYPE_UINT:  return JSON_UINT;
	case YYJSON_TYPE_NUM | YYJSON_SUBTYPE_SINT:  return is_minus_zero(v) ? JSON_REAL : JSON_INT;
	case YYJSON_TYPE_NUM | YYJSON_SUBTYPE_REAL:  return JSON_REAL;
	case YYJSON_TYPE_ARR:                        return JSON_ARRAY;
	case YYJSON_TYPE_OBJ:                        return JSON_OBJECT;
	default: /* strings have subtypes of their own */
		return yyjson_is_str(val_of(v)) ? JSON_STRING : JSON_NULL;
	}
}

bool json_bool(const struct json_val *v) { return yyjson_get_bool(val_of(v)); }
uint64_t json_uint(const struct json_val *v) { return yyjson_get_uint(val_of(v)); }
int64_t json_int(const struct json_val *v) { return yyjson_get_sint(val_of(v)); }

double json_real(const struct json_val *v)
{
	return is_minus_zero(v) ? -0.0 : yyjson_get_real(val_of(v));
}

static tn_view string_of(yyjson_val *v)
{
	return (tn_view){ (const uint8_t *)unsafe_yyjson_get_str(v), unsafe_yyjson_get_len(v) };
}

tn_view json_string(const struct json_val *v)
{
	return yyjson_is_str(val_of(v)) ? string_of(val_of(v)) : (tn_view){ NULL, 0 };
}

size_t json_count(const struct json_val *v)
{
	return yyjson_is_ctn(val_of(v)) ? unsafe_yyjson_get_len(val_of(v)) : 0;
}

struct json_iter json_items(const struct json_val *v)
{
	size_t left = json_count(v);
	return (struct json_iter){
		.next = left != 0 ? unsafe_yyjson_get_first(val_of(v)) : NULL,
		.left = left,
		.object = yyjson_is_obj(val_of(v)),
	};
}

bool json_next(struct json_iter *it)
{
	if (it->left == 0)
		return false;
	it->left--;
	yyjson_val *v = val_of(it->next);
	if (it->object)
		it->key = string_of(v++); /* the member's value stands right behind its key */
	it->val = of_val(v);
	it->next = unsafe_yyjson_get_next(v);
	return true;
}

const struct json_val *json_find(const struct json_val *object, const char *name)
{
	return of_val(yyjson_obj_get(val_of(object), name));
}
