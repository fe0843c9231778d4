/* walk.c - the decoder's habits, one function for each kind of value. */
#include "format/burnpack/walk.h"

#include "base/utf8.h"
#include "format/burnpack/layout.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- Failure ---- */

/* The first error counts, so a message is made only when there is none yet. */
bool walk_fail(struct walk *w, tn_code code, uint64_t offset, const char *fmt, ...)
{
	char why[200];
	va_list args;
	va_start(args, fmt);
	vsnprintf(why, sizeof why, fmt, args);
	va_end(args);
	if (w->in_tensor)
		err_set(w->c.err, code, offset, "burnpack: tensor '%s': %s", ESC(w->tensor), why);
	else
		err_set(w->c.err, code, offset, "burnpack: %s", why);
	w->c.end = w->c.p;
	return false;
}

bool walk_no_memory(struct walk *w, const char *what)
{
	arena_err(w->mem, w->c.err, what);
	w->c.end = w->c.p;
	return false;
}

static const char *kind_name(enum cbor_kind kind)
{
	switch (kind) {
	case CBOR_UINT:        return "an unsigned integer";
	case CBOR_NEGINT:      return "a negative integer";
	case CBOR_BYTES:       case CBOR_BYTES_START: return "a byte string";
	case CBOR_TEXT:        return "a text";
	case CBOR_TEXT_START:  return "a text in pieces";
	case CBOR_ARRAY:       case CBOR_ARRAY_START: return "an array";
	case CBOR_MAP:         case CBOR_MAP_START: return "a map";
	case CBOR_TAG:         return "a tag";
	case CBOR_FALSE:       case CBOR_TRUE: return "a boolean";
	case CBOR_NULL:        return "null";
	case CBOR_UNDEFINED:   return "undefined";
	case CBOR_SIMPLE:      return "a simple value";
	case CBOR_FLOAT:       return "a float";
	case CBOR_BREAK:       return "a break";
	}
	return "something else";
}

static bool unexpected(struct walk *w, const struct cbor_item *it, const char *what, const char *wanted)
{
	return walk_fail(w, TN_E_CORRUPT, it->offset, "%s is %s, not %s", what, kind_name(it->kind), wanted);
}

/* ---- Values ---- */

bool walk_value(struct walk *w, struct cbor_item *out)
{
	w->tag = NO_TAG;
	while (cbor_next(&w->c, out)) {
		if (out->kind != CBOR_TAG)
			return true;
		w->tag = out->value;
	}
	return false;
}

static bool utf8_or_fail(struct walk *w, const struct cbor_item *it, const char *what)
{
	return utf8_ok(it->bytes) || walk_fail(w, TN_E_CORRUPT, it->offset, "%s is not UTF-8", what);
}

/* The pieces of an indefinite string, up to its break, joined. Each piece must be of the kind given. */
static bool join(struct walk *w, enum cbor_kind kind, tn_view *out, const char *what)
{
	struct buf b;
	struct cbor_item it;
	buf_init(&b, w->mem->budget);
	while (cbor_next(&w->c, &it) && it.kind != CBOR_BREAK) {
		if (it.kind != kind)
			unexpected(w, &it, what, "made of definite pieces");
		else if (kind != CBOR_TEXT || utf8_or_fail(w, &it, what))
			buf_view(&b, it.bytes);
	}
	if (!walk_ok(w)) {
		buf_fini(&b);
		return false;
	}
	*out = buf_done(&b, w->mem);
	return out->ptr != NULL || walk_no_memory(w, "burnpack: a text in pieces");
}

bool walk_text(struct walk *w, tn_view *out, const char *what)
{
	struct cbor_item it;
	if (!walk_value(w, &it))
		return false;
	if (it.kind == CBOR_TEXT_START)
		return join(w, CBOR_TEXT, out, what);
	if (it.kind != CBOR_TEXT)
		return unexpected(w, &it, what, "a text");
	*out = it.bytes;
	return utf8_or_fail(w, &it, what);
}

/* ---- Integers ---- */

enum { TAG_BIG = 2, TAG_BIG_NEGATIVE = 3 };

/* Big-endian bytes; leading zeros are free. */
static bool big_value(struct walk *w, const struct cbor_item *it, uint64_t *out, const char *what)
{
	tn_view v = it->bytes;
	if (it->kind == CBOR_BYTES_START && !join(w, CBOR_BYTES, &v, what))
		return false;
	uint64_t n = 0;
	for (size_t i = 0; i < v.len; i++) {
		if (n >> 56 != 0)
			return walk_fail(w, TN_E_CORRUPT, it->offset, "%s exceeds 64 bits", what);
		n = n << 8 | v.ptr[i];
	}
	*out = n;
	return true;
}

/* An integer as its magnitude and whether it stands for -1 - magnitude. */
static bool integer(struct walk *w, uint64_t *out, bool *negative, uint64_t *offset, const char *what)
{
	struct cbor_item it;
	if (!walk_value(w, &it))
		return false;
	*offset = it.offset;
	bool tagged = w->tag == TAG_BIG || w->tag == TAG_BIG_NEGATIVE;
	if (tagged && (it.kind == CBOR_BYTES || it.kind == CBOR_BYTES_START)) {
		*negative = w->tag == TAG_BIG_NEGATIVE;
		return big_value(w, &it, out, what);
	}
	if (it.kind != CBOR_UINT && it.kind != CBOR_NEGINT)
		return unexpected(w, &it, what, "an integer");
	*negative = it.kind == CBOR_NEGINT;
	*out = it.value;
	return true;
}

bool walk_uint(struct walk *w, uint64_t *out, const char *what)
{
	bool negative;
	uint64_t offset;
	if (!integer(w, out, &negative, &offset, what))
		return false;
	return !negative || walk_fail(w, TN_E_CORRUPT, offset, "%s is negative", what);
}

bool walk_int(struct walk *w, int64_t *out, const char *what)
{
	bool negative;
	uint64_t n, offset;
	if (!integer(w, &n, &negative, &offset, what))
		return false;
	if (n > INT64_MAX)
		return walk_fail(w, TN_E_CORRUPT, offset, "%s exceeds 64 signed bits", what);
	*out = negative ? -1 - (int64_t)n : (int64_t)n;
	return true;
}

/* ---- Containers ---- */

/* Counts the items up to the break on a copy of the cursor; per is 2 for the pairs of a map. */
static bool count_ahead(struct walk *w, unsigned depth, unsigned per, uint64_t *out, const char *what)
{
	struct cur ahead = w->c;
	struct cbor_item it;
	uint64_t items = 0;
	while (cbor_next(&ahead, &it) && it.kind != CBOR_BREAK && cbor_skip(&ahead, &it, PACK_NESTING - depth - 1))
		items++;
	if (!cur_ok(&ahead))
		w->c.end = w->c.p;
	else if (items % per != 0)
		return walk_fail(w, TN_E_CORRUPT, it.offset, "%s ends after a key", what);
	*out = items / per;
	return walk_ok(w);
}

static bool enter(struct walk *w, const struct cbor_item *it, bool map, unsigned depth, struct walk_items *out,
                  const char *what)
{
	unsigned per = map ? 2 : 1;
	out->open = it->kind == (map ? CBOR_MAP_START : CBOR_ARRAY_START);
	if (out->open)
		return count_ahead(w, depth, per, &out->n, what);
	if (it->kind != (map ? CBOR_MAP : CBOR_ARRAY))
		return unexpected(w, it, what, map ? "a map" : "an array");
	out->n = cur_count(&w->c, it->value, per);
	return walk_ok(w);
}

bool walk_enter_map(struct walk *w, unsigned depth, struct walk_items *out, const char *what)
{
	struct cbor_item it;
	return walk_value(w, &it) && enter(w, &it, true, depth, out, what);
}

bool walk_leave(struct walk *w, const struct walk_items *items)
{
	struct cbor_item it;
	if (!items->open)
		return walk_ok(w);
	/* counted ahead, so this is the break */
	return cbor_next(&w->c, &it);
}

bool walk_numbers(struct walk *w, unsigned depth, struct walk_numbers *out, const char *what)
{
	struct cbor_item it;
	if (!walk_value(w, &it))
		return false;
	out->in_bytes = it.kind == CBOR_BYTES;
	if (!out->in_bytes)
		return enter(w, &it, false, depth, &out->items, what);
	out->bytes = it.bytes;
	out->items = (struct walk_items){ it.bytes.len, false };
	return true;
}

bool walk_number(struct walk *w, struct walk_numbers *row, uint64_t *out, const char *what)
{
	if (!row->in_bytes)
		return walk_uint(w, out, what);
	*out = *row->bytes.ptr++;
	return true;
}

/* ---- Structs and variants ---- */

bool walk_key(struct walk *w, tn_view *out)
{
	struct cbor_item it;
	if (!walk_value(w, &it))
		return false;
	if (it.kind != CBOR_TEXT && it.kind != CBOR_BYTES)
		return unexpected(w, &it, "a member's name", "a text in one piece");
	if (it.bytes.len > PACK_KEY_MAX)
		return walk_fail(w, TN_E_CORRUPT, it.offset, "a member's name has %zu bytes, at most %d", it.bytes.len,
		                 PACK_KEY_MAX);
	*out = it.bytes;
	return true;
}

bool walk_variant(struct walk *w, tn_view *name, bool *payload, const char *what)
{
	struct cbor_item it;
	if (!walk_value(w, &it))
		return false;
	*payload = it.kind == CBOR_MAP && it.value == 1;
	if (*payload)
		return walk_key(w, name) && (utf8_ok(*name) || walk_fail(w, TN_E_CORRUPT, it.offset, "%s is not UTF-8", what));
	if (it.kind != CBOR_TEXT)
		return unexpected(w, &it, what, "a text or a definite map of one");
	if (it.bytes.len > PACK_KEY_MAX)
		return walk_fail(w, TN_E_CORRUPT, it.offset, "%s has %zu bytes, at most %d", what, it.bytes.len, PACK_KEY_MAX);
	*name = it.bytes;
	return utf8_or_fail(w, &it, what);
}

bool walk_unknown(struct walk *w, tn_view key, unsigned depth, tn_view *bytes)
{
	struct cbor_item it;
	const uint8_t *from = w->c.p;
	if (!utf8_ok(key))
		return walk_fail(w, TN_E_CORRUPT, cur_offset(&w->c), "a member's name is not UTF-8");
	if (!cbor_next(&w->c, &it))
		return false;
	if (it.kind == CBOR_BREAK)
		return unexpected(w, &it, "a member's value", "a value");
	if (!cbor_skip(&w->c, &it, PACK_NESTING - depth))
		return false;
	*bytes = (tn_view){ from, (size_t)(w->c.p - from) };
	return true;
}
