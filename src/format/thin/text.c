/* text.c - reading JSON as upstream's parser (serde_json) reads it. See text.h. */
#include "format/thin/text_part.h"

#include "base/buf.h"
#include "base/utf8.h"
#include "format/thin/layout.h"

#include <stdarg.h>
#include <stdio.h>

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

uint8_t text_peek(struct text *t)
{
	while (t->p < t->end && (*t->p == ' ' || *t->p == '\n' || *t->p == '\r' || *t->p == '\t'))
		t->p++;
	return t->p < t->end ? *t->p : 0;
}

bool text_unexpected(struct text *t, const char *wanted)
{
	if (!text_ok(t))
		return false;
	if (t->p == t->end)
		return text_fail(t, TN_E_CORRUPT, "ends where %s should stand", wanted);
	return text_fail(t, TN_E_CORRUPT, "'%s' where %s should stand", ESC(((tn_view){ t->p, 1 })), wanted);
}

static bool text_take(struct text *t, uint8_t c, const char *wanted)
{
	if (text_peek(t) != c || t->p == t->end)
		return text_unexpected(t, wanted);
	t->p++;
	return true;
}

bool text_take_word(struct text *t, const char *word)
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
	if (!text_take(t, c, what))
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
	if (text_peek(t) == closer && t->p < t->end) {
		t->p++;
		t->depth--;
		return false;
	}
	if (!*first && !text_take(t, ',', wanted))
		return false;
	*first = false;
	return true;
}

bool text_object(struct text *t, const char *what) { return open_container(t, '{', what); }
bool text_array(struct text *t, const char *what) { return open_container(t, '[', what); }

bool text_member(struct text *t, bool *first, tn_view *key)
{
	return more(t, first, '}', "a comma or the object's end") && text_string(t, "a key", key) &&
	       text_take(t, ':', "a colon");
}

bool text_item(struct text *t, bool *first) { return more(t, first, ']', "a comma or the array's end"); }

bool text_end(struct text *t)
{
	if (!text_ok(t))
		return false;
	text_peek(t);
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
			return text_unexpected(t, "a hex digit");
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
	if (*out > 0xdbff || !text_take_word(t, "\\u"))
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
		return text_unexpected(t, "an escape");
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
	if (!text_take(t, '"', what))
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

/* ---- Words ---- */

bool text_bool(struct text *t, const char *what, bool *out)
{
	text_peek(t);
	if (text_take_word(t, "true"))
		*out = true;
	else if (text_take_word(t, "false"))
		*out = false;
	else
		return text_unexpected(t, what);
	return true;
}

bool text_null(struct text *t)
{
	return text_peek(t) == 'n' && text_take_word(t, "null");
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

static bool skip_scalar(struct text *t)
{
	uint8_t c = text_peek(t);
	if (c == '"')
		return skip_string(t);
	if (c == '-' || text_at_digit(t))
		return text_skip_number(t);
	return text_take_word(t, "true") || text_take_word(t, "false") || text_take_word(t, "null") || text_unexpected(t, "a value");
}

/* After an opening brace or comma in an object. */
static bool skip_key(struct text *t)
{
	return (text_peek(t) == '"' && t->p < t->end ? skip_string(t) : text_unexpected(t, "a key")) && text_take(t, ':', "a colon");
}

/* Where a value ended: closes what ends here, and stands before the next value; false when none is open any more. */
static bool skip_to_next(struct text *t, struct buf *open)
{
	while (open->len != 0) {
		uint8_t closer = open->ptr[open->len - 1];
		if (text_peek(t) == ',' && t->p < t->end) {
			t->p++;
			return closer == ']' || skip_key(t);
		}
		if (!text_take(t, closer, "a comma or the end of a value"))
			return false;
		open->len--;
	}
	return false;
}

/* Opens a container; true when its first value stands next. */
static bool skip_open(struct text *t, struct buf *open, uint8_t closer)
{
	t->p++;
	if (text_peek(t) == closer && t->p < t->end) {
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
		for (uint8_t c = text_peek(t); before_value && (c == '{' || c == '['); c = text_peek(t))
			before_value = skip_open(t, &open, c == '{' ? '}' : ']');
		if (before_value)
			skip_scalar(t);
	} while (text_ok(t) && skip_to_next(t, &open));
	buf_fini(&open);
}
