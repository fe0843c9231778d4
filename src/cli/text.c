/* text.c - growing text, and file bytes, sizes and shapes made fit to be read. */
#include "cli/text.h"
#include "cli/out.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *grab(size_t n)
{
	return grab_again(NULL, n);
}

void *grab_again(void *p, size_t n)
{
	void *q = realloc(p, n > 0 ? n : 1);
	if (q == NULL)
		out_die("out of memory");
	return q;
}

void text_free(struct text *t)
{
	free(t->p);
	*t = (struct text){ 0 };
}

const char *text_is(const struct text *t)
{
	return t->p != NULL ? t->p : "";
}

tn_view text_view(const struct text *t)
{
	return (tn_view){ (const uint8_t *)text_is(t), t->n };
}

void text_add(struct text *t, const void *p, size_t n)
{
	if (n >= SIZE_MAX / 2 - t->n)
		out_die("out of memory");
	if (t->n + n + 1 > t->cap) {
		t->cap = (t->n + n + 1) * 2;
		t->p = grab_again(t->p, t->cap);
	}
	if (n > 0)
		memcpy(t->p + t->n, p, n);
	t->n += n;
	t->p[t->n] = '\0';
}

void text_str(struct text *t, const char *s)
{
	text_add(t, s, strlen(s));
}

void text_fmt(struct text *t, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	char *room = grab((size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(room, (size_t)n + 1, fmt, ap);
	va_end(ap);
	text_add(t, room, (size_t)n);
	free(room);
}

/* ---- UTF-8 ---- */

size_t text_char(const uint8_t *p, size_t n, uint32_t *out)
{
	if (n == 0)
		return 0;
	size_t len = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0
		? 3 : p[0] < 0xf5 ? 4 : 0;
	if (len == 0 || len > n)
		return 0;
	uint32_t c = len == 1 ? p[0] : p[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3fu);
	}
	bool overlong = (len == 3 && c < 0x800) || (len == 4 && c < 0x10000);
	if (overlong || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*out = c;
	return len;
}

struct range { uint32_t first, last; };

static bool in_ranges(const struct range *r, size_t n, uint32_t c)
{
	for (size_t i = 0; i < n; i++)
		if (c >= r[i].first && c <= r[i].last)
			return true;
	return false;
}
#define IN(ranges, c) in_ranges((ranges), sizeof (ranges) / sizeof *(ranges), (c))

/* Combining marks; East Asian wide letters and emoji. Near enough for aligned columns. */
static const struct range combining[] = {
	{ 0x300, 0x36f }, { 0x483, 0x489 }, { 0x591, 0x5bd }, { 0x610, 0x61a }, { 0x64b, 0x65f },
	{ 0x1ab0, 0x1aff }, { 0x1dc0, 0x1dff }, { 0x20d0, 0x20ff }, { 0xfe00, 0xfe0f },
	{ 0xfe20, 0xfe2f },
};
static const struct range wide[] = {
	{ 0x1100, 0x115f }, { 0x2e80, 0x303e }, { 0x3041, 0xa4cf }, { 0xac00, 0xd7a3 },
	{ 0xf900, 0xfaff },
	{ 0xfe30, 0xfe6f }, { 0xff00, 0xff60 }, { 0xffe0, 0xffe6 }, { 0x1f300, 0x1f64f },
	{ 0x1f680, 0x1f6ff },
	{ 0x1f900, 0x1f9ff }, { 0x20000, 0x3fffd },
};
static const struct range unsafe[] = {
	{ 0x00, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x61c, 0x61c }, { 0x180e, 0x180e },
	{ 0x200b, 0x200f },
	{ 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb },
	{ 0xe0000, 0xe0fff },
};

bool text_unsafe(uint32_t c)
{
	return IN(unsafe, c);
}

static size_t char_columns(uint32_t c)
{
	if (c < 0x300)
		return 1;
	return IN(combining, c) ? 0 : IN(wide, c) ? 2 : 1;
}

size_t text_columns(const char *p, size_t n)
{
	size_t columns = 0;
	for (size_t i = 0, len; i < n; i += len) {
		uint32_t c = 0;
		len = text_char((const uint8_t *)p + i, n - i, &c);
		columns += len > 0 ? char_columns(c) : 1;
		if (len == 0)
			len = 1;
	}
	return columns;
}

/* ---- Bytes from files ---- */

/* One character or one bad byte, escaped; returns how many bytes it took. */
static size_t escape_one(struct text *t, const uint8_t *p, size_t n)
{
	static const char letters[] = "abtnvfr"; /* 0x07 to 0x0d */
	uint32_t c = 0;
	size_t len = text_char(p, n, &c);
	if (len == 0) {
		text_fmt(t, "\\x%02x", p[0]);
		return 1;
	}
	if (c == '\\')
		text_str(t, "\\\\");
	else if (c == '\t' || c == '\n' || c == '\r')
		text_fmt(t, "\\%c", letters[c - 7]);
	else if (c < 0x80 && text_unsafe(c))
		text_fmt(t, "\\x%02" PRIx32, c);
	else if (text_unsafe(c))
		text_fmt(t, "\\u{%" PRIx32 "}", c);
	else
		text_add(t, p, len);
	return len;
}

void text_escape(struct text *t, tn_view v)
{
	for (size_t i = 0; i < v.len; )
		i += escape_one(t, v.ptr + i, v.len - i);
}

void text_clip(struct text *t, tn_view v, size_t columns)
{
	size_t keep = t->n, width = 0;
	for (size_t i = 0; i < v.len; ) {
		size_t from = t->n;
		i += escape_one(t, v.ptr + i, v.len - i);
		width += text_columns(t->p + from, t->n - from);
		if (width + 3 <= columns)
			keep = t->n;
		/* the latter: marks that take no column */
		if (width > columns || t->n - keep > 4 * columns) {
			t->n = keep;
			text_str(t, "...");
			return;
		}
	}
}

/* ---- Numbers ---- */

void text_bytes(struct text *t, uint64_t bytes)
{
	static const char units[] = "KMGTPE";
	if (bytes < 1024) {
		text_fmt(t, "%" PRIu64 " B", bytes);
		return;
	}
	unsigned u = 0;
	double v = (double)bytes / 1024;
	while (v >= 1023.95) { /* 1023.96 KiB would be printed as 1024.0 KiB */
		v /= 1024;
		u++;
	}
	text_fmt(t, "%.1f %ciB", v, units[u]);
}

void text_count(struct text *t, uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof digits, "%" PRIu64, n);
	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			text_str(t, ",");
		text_add(t, &digits[i], 1);
	}
}

void text_exact_size(struct text *t, uint64_t bytes)
{
	text_bytes(t, bytes);
	if (bytes >= 1024) {
		text_str(t, " (");
		text_count(t, bytes);
		text_str(t, " bytes)");
	}
}

void text_plural(struct text *t, uint64_t n, const char *noun)
{
	text_count(t, n);
	text_fmt(t, " %s%s", noun, n == 1 ? "" : "s");
}

void text_shape(struct text *t, uint32_t rank, const uint64_t *shape)
{
	text_str(t, "[");
	for (uint32_t i = 0; i < rank; i++)
		text_fmt(t, "%s%" PRIu64, i > 0 ? ", " : "", shape[i]);
	text_str(t, "]");
}

void text_dtype(struct text *t, const tn_tensor *x)
{
	if (x->dtype == TN_OPAQUE && x->dtype_text.len > 0)
		text_clip(t, x->dtype_text, 24);
	else
		text_str(t, tn_dtype_name(x->dtype));
}

int view_cmp(tn_view a, tn_view b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int d = n > 0 ? memcmp(a.ptr, b.ptr, n) : 0;
	return d != 0 ? d : (a.len > b.len) - (a.len < b.len);
}

uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}
