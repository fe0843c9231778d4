/* text.c - reading JSON as upstream's parser (serde_json) reads it. See text.h. */
#include "format/thin/text.h"

#include "base/buf.h"
#include "base/bytes.h"
#include "base/utf8.h"
#include "codec/json.h"
#include "format/thin/layout.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH_MAX = 127 }; /* containers open at once */

struct text text_over(tn_view v, uint64_t origin, struct arena *mem, tn_error *err)
{
	const uint8_t *p = v.ptr != NULL ? v.ptr : (const uint8_t *)"";
	return (struct text){ .base = p, .p = p, .end = p + v.len, .origin = origin, .what = "manifest", .mem = mem, .err = err };
}

bool text_fail(struct text *t, tn_code code, const char *fmt, ...)
{
	char why[160];
	va_list args;
	va_start(args, fmt);
	vsnprintf(why, sizeof why, fmt, args);
	va_end(args);
	err_set(t->err, code, t->origin + (uint64_t)(t->p - t->base), THIN ": %s: %s", t->what, why);
	t->end = t->p;
	return false;
}

bool text_no_memory(struct text *t)
{
	arena_err(t->mem, t->err, THIN ": manifest");
	t->end = t->p;
	return false;
}

/* ---- Characters ---- */

/* The next one that is no white space, not taken; 0 at the end (a NUL is no JSON either). */
static uint8_t peek(struct text *t)
{
	while (t->p < t->end && (*t->p == ' ' || *t->p == '\n' || *t->p == '\r' || *t->p == '\t'))
		t->p++;
	return t->p < t->end ? *t->p : 0;
}

static bool unexpected(struct text *t, const char *wanted)
{
	if (!text_ok(t))
		return false;
	if (t->p == t->end)
		return text_fail(t, TN_E_CORRUPT, "ends where %s should stand", wanted);
	return text_fail(t, TN_E_CORRUPT, "'%s' where %s should stand", ESC(((tn_view){ t->p, 1 })), wanted);
}

static bool take(struct text *t, uint8_t c, const char *wanted)
{
	if (peek(t) != c || t->p == t->end)
		return unexpected(t, wanted);
	t->p++;
	return true;
}

static bool take_word(struct text *t, const char *word)
{
	size_t n = strlen(word);
	if ((size_t)(t->end - t->p) < n || memcmp(t->p, word, n) != 0)
		return false;
	t->p += n;
	return true;
}

/* ---- Containers ---- */

static bool open_container(struct text *t, uint8_t c, const char *what)
{
	if (!take(t, c, what))
		return false;
	if (t->depth == DEPTH_MAX)
		return text_fail(t, TN_E_CORRUPT, "nested deeper than %d", DEPTH_MAX);
	t->depth++;
	return true;
}

/* Whether another item follows. */
static bool more(struct text *t, bool *first, uint8_t closer, const char *wanted)
{
	if (!text_ok(t))
		return false;
	if (peek(t) == closer && t->p < t->end) {
		t->p++;
		t->depth--;
		return false;
	}
	if (!*first && !take(t, ',', wanted))
		return false;
	*first = false;
	return true;
}

bool text_object(struct text *t, const char *what) { return open_container(t, '{', what); }
bool text_array(struct text *t, const char *what) { return open_container(t, '[', what); }

bool text_member(struct text *t, bool *first, tn_view *key)
{
	return more(t, first, '}', "a comma or the object's end") && text_string(t, "a key", key) &&
	       take(t, ':', "a colon");
}

bool text_item(struct text *t, bool *first) { return more(t, first, ']', "a comma or the array's end"); }

bool text_end(struct text *t)
{
	if (!text_ok(t))
		return false;
	peek(t);
	return t->p == t->end || text_fail(t, TN_E_CORRUPT, "more text follows its end");
}

/* ---- Strings ---- */

/* True in the high bit of each byte that is a quote, a backslash or below 0x20. */
static uint64_t special(uint64_t w)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), high = ones * 0x80;
	uint64_t quote = w ^ ones * '"', slash = w ^ ones * '\\';
	return (((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((w - ones * 0x20) & ~w)) & high;
}

/* To the next quote, backslash or control code, or the end. */
static const uint8_t *run_end(const uint8_t *p, const uint8_t *end)
{
	uint64_t w;
	for (; end - p >= 8; p += 8) {
		memcpy(&w, p, 8);
		if (special(w) != 0)
			break;
	}
	while (p < end && *p != '"' && *p != '\\' && *p >= 0x20)
		p++;
	return p;
}

static bool hex4(struct text *t, uint32_t *out)
{
	uint32_t v = 0;
	for (int i = 0; i < 4; i++, t->p++) {
		uint8_t c = t->p < t->end ? *t->p : 0;
		if (c >= '0' && c <= '9')
			v = v << 4 | (uint32_t)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			v = v << 4 | (uint32_t)((c | 0x20) - 'a' + 10);
		else
			return unexpected(t, "a hex digit");
	}
	*out = v;
	return true;
}

/* After "\u": a character, or two halves of one. lone: halves may stand alone. Returns it in *out. */
static bool unicode_escape(struct text *t, bool lone, uint32_t *out)
{
	uint32_t low;
	if (!hex4(t, out))
		return false;
	if (lone || *out < 0xd800 || *out > 0xdfff)
		return true;
	if (*out > 0xdbff || !take_word(t, "\\u"))
		return text_fail(t, TN_E_CORRUPT, "half of a surrogate pair stands alone");
	if (!hex4(t, &low))
		return false;
	if (low < 0xdc00 || low > 0xdfff)
		return text_fail(t, TN_E_CORRUPT, "half of a surrogate pair stands alone");
	*out = 0x10000 + ((*out - 0xd800) << 10) + (low - 0xdc00);
	return true;
}

/* After the backslash. */
static bool escape_char(struct text *t, bool lone, uint32_t *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	uint8_t c = t->p < t->end ? *t->p : 0;
	const char *at = c != 0 ? strchr(from, c) : NULL;
	if (c != 'u' && at == NULL)
		return unexpected(t, "an escape");
	t->p++;
	if (c == 'u')
		return unicode_escape(t, lone, out);
	*out = (uint8_t)to[at - from];
	return true;
}

static bool bad_string(struct text *t)
{
	return text_fail(t, TN_E_CORRUPT, t->p < t->end ? "a control code stands bare in a string" : "a string has no end");
}

/* The rest of a string that has escapes; start is after its opening quote. */
static bool unescape(struct text *t, const uint8_t *start, struct buf *b)
{
	for (const uint8_t *from = start; ; ) {
		uint32_t c = 0;
		t->p = run_end(t->p, t->end);
		buf_put(b, from, (size_t)(t->p - from));
		if (t->p == t->end || *t->p < 0x20)
			return bad_string(t);
		if (*t->p++ == '"')
			return true;
		if (!escape_char(t, false, &c))
			return false;
		uint8_t utf8[4];
		buf_put(b, utf8, utf8_encode(c, utf8));
		from = t->p;
	}
}

static bool escaped_string(struct text *t, const uint8_t *start, tn_view *out)
{
	struct buf b;
	buf_init(&b, t->mem->budget);
	bool ok = unescape(t, start, &b);
	if (ok && b.len == 0)
		buf_byte(&b, 0), b.len = 0;
	*out = buf_done(&b, t->mem);
	return ok && (out->ptr != NULL || text_no_memory(t));
}

bool text_string(struct text *t, const char *what, tn_view *out)
{
	if (!take(t, '"', what))
		return false;
	const uint8_t *start = t->p;
	t->p = run_end(t->p, t->end);
	*out = (tn_view){ start, (size_t)(t->p - start) };
	if (t->p == t->end || *t->p < 0x20)
		return bad_string(t);
	if (*t->p == '\\') {
		if (!escaped_string(t, start, out))
			return false;
	} else {
		t->p++;
	}
	return utf8_ok(*out) || text_fail(t, TN_E_CORRUPT, "a string is not UTF-8");
}

/* ---- Numbers ---- */

enum number_kind { NUMBER_UINT, NUMBER_INT, NUMBER_REAL };
struct number {
	enum number_kind kind;
	uint64_t         u;
	int64_t          i;
	double           f;
};

/* The digits as upstream's parser gathers them: sig * 10^e. */
struct digits {
	bool     negative, real; /* real: a fraction, an exponent, or too many digits */
	bool     cut;            /* digits were dropped */
	uint64_t sig;
	int64_t  e;
};

#define TEN(n) 1e##n##0, 1e##n##1, 1e##n##2, 1e##n##3, 1e##n##4, 1e##n##5, 1e##n##6, 1e##n##7, 1e##n##8, 1e##n##9
static const double power_of_10[] = {
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, TEN(1), TEN(2), TEN(3), TEN(4), TEN(5), TEN(6), TEN(7), TEN(8),
	TEN(9), TEN(10), TEN(11), TEN(12), TEN(13), TEN(14), TEN(15), TEN(16), TEN(17), TEN(18), TEN(19), TEN(20), TEN(21),
	TEN(22), TEN(23), TEN(24), TEN(25), TEN(26), TEN(27), TEN(28), TEN(29),
	1e300, 1e301, 1e302, 1e303, 1e304, 1e305, 1e306, 1e307, 1e308
};
enum { POWER_MAX = 308 };

static bool is_digit(const struct text *t) { return t->p < t->end && *t->p >= '0' && *t->p <= '9'; }

/* True when the digit went into sig. */
static bool push_digit(struct digits *d, uint8_t c)
{
	uint64_t digit = (uint64_t)(c - '0');
	if (d->cut || d->sig > (UINT64_MAX - digit) / 10) {
		d->cut = true;
		return false;
	}
	d->sig = d->sig * 10 + digit;
	return true;
}

static bool integer_part(struct text *t, struct digits *d)
{
	if (!is_digit(t))
		return unexpected(t, "a digit");
	if (*t->p == '0') {
		t->p++;
		return !is_digit(t) || text_fail(t, TN_E_CORRUPT, "a number starts with 0");
	}
	for (; is_digit(t); t->p++)
		d->e += !push_digit(d, *t->p);
	d->real = d->cut;
	return true;
}

static bool fraction(struct text *t, struct digits *d)
{
	d->real = true;
	d->cut = false; /* one more digit may fit where an integer's last did not */
	if (!is_digit(t))
		return unexpected(t, "a digit");
	for (; is_digit(t); t->p++)
		d->e -= push_digit(d, *t->p);
	return true;
}

/* Clamped to what 32 bits hold, as upstream does. *over: the written exponent itself needs more. */
static bool exponent(struct text *t, struct digits *d, bool *over, bool *negative)
{
	int64_t e = 0;
	d->real = true;
	*negative = t->p < t->end && *t->p == '-';
	if (*negative || (t->p < t->end && *t->p == '+'))
		t->p++;
	if (!is_digit(t))
		return unexpected(t, "a digit");
	for (; is_digit(t); t->p++) {
		*over = *over || e > (INT32_MAX - (*t->p - '0')) / 10;
		if (!*over)
			e = e * 10 + (*t->p - '0');
	}
	d->e += *negative ? -e : e;
	d->e = d->e < INT32_MIN ? INT32_MIN : d->e > INT32_MAX ? INT32_MAX : d->e;
	return true;
}

static bool too_large(struct text *t) { return text_fail(t, TN_E_CORRUPT, "a number is too large"); }

/* Upstream's arithmetic: one multiplication or division by a power of ten. */
static bool scale(struct text *t, const struct digits *d, double *out)
{
	double f = (double)d->sig;
	int64_t e = d->e;
	for (; e > POWER_MAX || e < -POWER_MAX; e += POWER_MAX) {
		if (d->sig == 0 || f < 5e-324)
			break;
		if (e > 0)
			return too_large(t);
		f /= power_of_10[POWER_MAX];
	}
	if (d->sig != 0 && e >= 0)
		f *= power_of_10[e];
	else if (d->sig != 0 && e >= -POWER_MAX)
		f /= power_of_10[-e];
	*out = f;
	return isfinite(f) || too_large(t);
}

/* The nearest double, for which the JSON library is asked: it depends on no locale. */
static bool nearest(struct text *t, const uint8_t *start, double *out)
{
	const struct json_options opt = { .what = THIN ": manifest" };
	struct json_doc *doc;
	tn_error why = { .code = TN_OK };
	if (json_parse(&doc, (tn_view){ start, (size_t)(t->p - start) }, &opt, &why) != TN_OK)
		return why.code == TN_E_NOMEM ? text_no_memory(t) : too_large(t);
	const struct json_val *v = json_root(doc);
	enum json_type type = json_type(v);
	*out = type == JSON_REAL ? json_real(v) : type == JSON_INT ? (double)json_int(v) : (double)json_uint(v);
	json_free(doc);
	return true;
}

/* Both arithmetics agree where every step is exact. */
static bool is_exact(const struct digits *d)
{
	return d->sig <= UINT64_C(1) << 53 && d->e >= -22 && d->e <= 22;
}

static bool real_value(struct text *t, const struct digits *d, const uint8_t *start, struct number *n)
{
	n->kind = NUMBER_REAL;
	if (t->exact && !is_exact(d))
		return nearest(t, start, &n->f);
	if (!scale(t, d, &n->f))
		return false;
	if (d->negative)
		n->f = -n->f;
	return true;
}

static bool number_value(struct text *t, const struct digits *d, const uint8_t *start, struct number *n)
{
	if (d->real || (d->negative && (d->sig == 0 || d->sig > (uint64_t)INT64_MAX + 1)))
		return real_value(t, d, start, n);
	n->kind = d->negative ? NUMBER_INT : NUMBER_UINT;
	n->u = d->sig;
	n->i = d->negative ? (int64_t)(0 - d->sig) : 0;
	return true;
}

static bool number(struct text *t, const char *what, struct number *n)
{
	struct digits d = { .negative = false };
	bool over = false, down = false;
	uint8_t c = peek(t);
	const uint8_t *start = t->p;
	if (c != '-' && !is_digit(t))
		return unexpected(t, what);
	if (c == '-') {
		d.negative = true;
		t->p++;
	}
	if (!integer_part(t, &d))
		return false;
	if (take_word(t, ".") && !fraction(t, &d))
		return false;
	if ((take_word(t, "e") || take_word(t, "E")) && !exponent(t, &d, &over, &down))
		return false;
	if (over && d.sig != 0 && !down)
		return too_large(t);
	if (over)
		d.sig = 0;
	return number_value(t, &d, start, n);
}

bool text_uint(struct text *t, const char *what, uint64_t max, uint64_t *out)
{
	struct number n = { 0 };
	if (!number(t, what, &n))
		return false;
	if (n.kind != NUMBER_UINT)
		return text_fail(t, TN_E_CORRUPT, "%s is not a whole number of at least 0", what);
	if (n.u > max)
		return text_fail(t, TN_E_CORRUPT, "%s is %" PRIu64 ", at most %" PRIu64 " is possible", what, n.u, max);
	*out = n.u;
	return true;
}

bool text_real(struct text *t, const char *what, double *out)
{
	struct number n = { 0 };
	if (!number(t, what, &n))
		return false;
	*out = n.kind == NUMBER_REAL ? n.f : n.kind == NUMBER_INT ? (double)n.i : (double)n.u;
	return true;
}

/* ---- Words ---- */

bool text_bool(struct text *t, const char *what, bool *out)
{
	peek(t);
	if (take_word(t, "true"))
		*out = true;
	else if (take_word(t, "false"))
		*out = false;
	else
		return unexpected(t, what);
	return true;
}

bool text_null(struct text *t)
{
	return peek(t) == 'n' && take_word(t, "null");
}

/* ---- Trees ---- */

struct keyed {
	struct tn_meta *node;
	uint64_t        at;
};

static int by_key(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;
	int d = view_cmp(x->node->key, y->node->key);
	return d != 0 ? d : (x->at > y->at) - (x->at < y->at);
}

static bool is_sorted(const struct tn_meta *map)
{
	for (const struct tn_meta *n = map->as.kids.first; n != NULL && n->next != NULL; n = n->next)
		if (view_cmp(n->key, n->next->key) >= 0)
			return false;
	return true;
}

/* Upstream keeps such values in sorted maps. */
static bool sort_map(struct text *t, struct tn_meta *map)
{
	uint64_t n = map->as.kids.n, i = 0;
	if (is_sorted(map))
		return true;
	struct keyed *list = arena_raw(t->mem, n, sizeof *list);
	if (list == NULL)
		return text_no_memory(t);
	for (struct tn_meta *node = map->as.kids.first; node != NULL; node = node->next, i++)
		list[i] = (struct keyed){ node, i };
	qsort(list, (size_t)n, sizeof *list, by_key);
	map->as.kids.first = map->as.kids.last = NULL;
	map->as.kids.n = 0;
	for (i = 0; i < n; i++)
		if (i + 1 == n || !view_eq(list[i].node->key, list[i + 1].node->key))
			meta_append(map, list[i].node->key, list[i].node);
	return true;
}

static struct tn_meta *node(struct text *t, tn_meta_type type)
{
	struct tn_meta *n = meta_new(t->mem, type);
	if (n == NULL)
		text_no_memory(t);
	return n;
}

/* Walks of a tree recurse: it may be less deep than a text that is passed over. */
static bool deep_enough(struct text *t)
{
	return t->depth < META_DEPTH || text_fail(t, TN_E_LIMIT, "a value stands in more than %d containers", META_DEPTH);
}

static struct tn_meta *map_tree(struct text *t)
{
	struct tn_meta *map = deep_enough(t) && text_object(t, "an object") ? node(t, TN_META_MAP) : NULL;
	tn_view key;
	for (bool first = true; map != NULL && text_member(t, &first, &key); ) {
		struct tn_meta *kid = text_tree(t);
		if (kid == NULL)
			return NULL;
		meta_append(map, key, kid);
	}
	return map != NULL && text_ok(t) && sort_map(t, map) ? map : NULL;
}

static struct tn_meta *array_tree(struct text *t)
{
	struct tn_meta *array = deep_enough(t) && text_array(t, "an array") ? node(t, TN_META_ARRAY) : NULL;
	for (bool first = true; array != NULL && text_item(t, &first); ) {
		struct tn_meta *kid = text_tree(t);
		if (kid == NULL)
			return NULL;
		meta_append(array, (tn_view){ NULL, 0 }, kid);
	}
	return text_ok(t) ? array : NULL;
}

static struct tn_meta *number_tree(struct text *t)
{
	static const tn_meta_type types[] = {
		[NUMBER_UINT] = TN_META_UINT, [NUMBER_INT] = TN_META_INT, [NUMBER_REAL] = TN_META_FLOAT
	};
	struct number n = { 0 };
	struct tn_meta *to = number(t, "a value", &n) ? node(t, types[n.kind]) : NULL;
	if (to == NULL)
		return NULL;
	to->width = 64;
	if (n.kind == NUMBER_UINT)
		to->as.u = n.u;
	else if (n.kind == NUMBER_INT)
		to->as.i = n.i;
	else
		to->as.f_bits = f64_bits(n.f);
	return to;
}

static struct tn_meta *string_tree(struct text *t)
{
	tn_view v;
	struct tn_meta *to = text_string(t, "a string", &v) ? node(t, TN_META_STRING) : NULL;
	if (to != NULL)
		to->as.s = v;
	return to;
}

static struct tn_meta *bool_tree(struct text *t)
{
	bool v;
	struct tn_meta *to = text_bool(t, "a value", &v) ? node(t, TN_META_BOOL) : NULL;
	if (to != NULL)
		to->as.b = v;
	return to;
}

struct tn_meta *text_tree(struct text *t)
{
	switch (peek(t)) {
	case '{': return map_tree(t);
	case '[': return array_tree(t);
	case '"': return string_tree(t);
	case 't':
	case 'f': return bool_tree(t);
	case 'n': return text_null(t) ? node(t, TN_META_NULL) : (unexpected(t, "a value"), NULL);
	default:  return number_tree(t);
	}
}

/* ---- Passing over ---- */

static bool skip_string(struct text *t)
{
	uint32_t c;
	t->p++;
	for (;;) {
		t->p = run_end(t->p, t->end);
		if (t->p == t->end || *t->p < 0x20)
			return bad_string(t);
		if (*t->p++ == '"')
			return true;
		if (!escape_char(t, true, &c))
			return false;
	}
}

/* The form is checked, the value is not. */
static bool skip_number(struct text *t)
{
	struct digits d = { .negative = false };
	bool over = false, down;
	take_word(t, "-");
	return integer_part(t, &d) && (!take_word(t, ".") || fraction(t, &d)) &&
	       (!(take_word(t, "e") || take_word(t, "E")) || exponent(t, &d, &over, &down));
}

static bool skip_scalar(struct text *t)
{
	uint8_t c = peek(t);
	if (c == '"')
		return skip_string(t);
	if (c == '-' || is_digit(t))
		return skip_number(t);
	return take_word(t, "true") || take_word(t, "false") || take_word(t, "null") || unexpected(t, "a value");
}

/* After an opening brace or comma in an object. */
static bool skip_key(struct text *t)
{
	return (peek(t) == '"' && t->p < t->end ? skip_string(t) : unexpected(t, "a key")) && take(t, ':', "a colon");
}

/* Where a value ended: closes what ends here, and stands before the next value; false when none is open any more. */
static bool skip_to_next(struct text *t, struct buf *open)
{
	while (open->len != 0) {
		uint8_t closer = open->ptr[open->len - 1];
		if (peek(t) == ',' && t->p < t->end) {
			t->p++;
			return closer == ']' || skip_key(t);
		}
		if (!take(t, closer, "a comma or the end of a value"))
			return false;
		open->len--;
	}
	return false;
}

/* Opens a container; true when its first value stands next. */
static bool skip_open(struct text *t, struct buf *open, uint8_t closer)
{
	t->p++;
	if (peek(t) == closer && t->p < t->end) {
		t->p++;
		return false;
	}
	buf_byte(open, closer);
	if (open->failed)
		return text_no_memory(t);
	return closer == ']' || skip_key(t);
}

void text_skip(struct text *t)
{
	struct buf open;
	buf_init(&open, t->mem->budget);
	do {
		bool before_value = true;
		for (uint8_t c = peek(t); before_value && (c == '{' || c == '['); c = peek(t))
			before_value = skip_open(t, &open, c == '{' ? '}' : ']');
		if (before_value)
			skip_scalar(t);
	} while (text_ok(t) && skip_to_next(t, &open));
	buf_fini(&open);
}
