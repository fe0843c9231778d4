/* hextext.c - binary test files as annotated text.
 *
 *	# comment
 *	00000000: 4e 52 55 42                 | magic
 *	00000004: "text \x00" 00 x 236        | a text, then 236 zeros
 *
 * Two passes over the text, the first only counts: the result is then a malloc of exactly that
 * length. */
#include "support/hextext.h"

#include "support/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	const uint8_t *p, *end;  /* what is left of the text */
	uint8_t       *out;      /* NULL in the first pass */
	size_t         n;        /* bytes so far */
	size_t         last;     /* how long the last item was, 0 when there is none to repeat */
	size_t         line;
	const char    *why;      /* the first fault */
};

static int hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Two hex digits at p, or -1. */
static int hex_pair(const uint8_t *p, const uint8_t *end)
{
	if (end - p < 2 || hex_digit(p[0]) < 0 || hex_digit(p[1]) < 0)
		return -1;
	return hex_digit(p[0]) << 4 | hex_digit(p[1]);
}

static void put(struct reader *r, uint8_t c)
{
	if (r->out != NULL)
		r->out[r->n] = c;
	r->n++;
	r->last++;
}

static bool fail(struct reader *r, const char *why)
{
	r->why = why;
	return false;
}

/* The character behind a backslash. */
static bool escaped(struct reader *r)
{
	if (r->p < r->end && (*r->p == '\\' || *r->p == '"' || *r->p == '\'')) {
		put(r, *r->p++);
		return true;
	}
	int pair = r->p < r->end && *r->p == 'x' ? hex_pair(r->p + 1, r->end) : -1;
	if (pair < 0)
		return fail(r, "unknown escape");
	put(r, (uint8_t)pair);
	r->p += 3;
	return true;
}

static bool quoted(struct reader *r)
{
	uint8_t quote = *r->p++;
	while (r->p < r->end && *r->p != quote) {
		uint8_t c = *r->p++;
		if (c != '\\')
			put(r, c);
		else if (!escaped(r))
			return false;
	}
	if (r->p == r->end)
		return fail(r, "text without an end");
	r->p++;
	return true;
}

/* "x COUNT": the last item that many times in all. */
static bool repeated(struct reader *r)
{
	size_t count = 0, item = r->last;
	for (r->p++; r->p < r->end && *r->p == ' '; r->p++)
		;
	while (r->p < r->end && *r->p >= '0' && *r->p <= '9' && count < 100000000)
		count = count * 10 + (size_t)(*r->p++ - '0');
	if (item == 0 || count == 0)
		return fail(r, "nothing to repeat");
	if (r->out != NULL)
		for (size_t i = 1; i < count; i++)
			memcpy(r->out + r->n + (i - 1) * item, r->out + r->n - item, item);
	r->n += item * (count - 1);
	r->last = 0;
	return true;
}

static bool item(struct reader *r)
{
	if (*r->p == 'x')
		return repeated(r);
	r->last = 0;
	if (*r->p == '"' || *r->p == '\'')
		return quoted(r);
	int pair = hex_pair(r->p, r->end);
	if (pair < 0)
		return fail(r, "no item");
	put(r, (uint8_t)pair);
	r->p += 2;
	return true;
}

/* "OFFSET:" at the start of a line, when there is one. */
static bool offset(struct reader *r)
{
	const uint8_t *p = r->p;
	size_t at = 0;
	for (; p < r->end && hex_digit(*p) >= 0; p++)
		at = at << 4 | (size_t)hex_digit(*p);
	if (p == r->end || *p != ':')
		return true;
	if (at != r->n)
		return fail(r, "offset is not where the line stands");
	r->p = p + 1;
	return true;
}

static bool line(struct reader *r, const uint8_t *end)
{
	const uint8_t *rest = r->end;
	r->end = end;
	r->last = 0;
	bool ok = r->p == end || *r->p == '#' || offset(r);
	while (ok && r->p < end && *r->p != '|' && *r->p != '#') {
		if (*r->p == ' ' || *r->p == '\t')
			r->p++;
		else
			ok = item(r);
	}
	r->p = end;
	r->end = rest;
	return ok;
}

static bool pass(struct reader *r, tn_view text)
{
	r->p = text.ptr;
	r->end = text.ptr + text.len;
	r->n = 0;
	for (r->line = 1; r->p < r->end; r->line++) {
		const uint8_t *end = memchr(r->p, '\n', (size_t)(r->end - r->p));
		if (!line(r, end != NULL ? end : r->end))
			return false;
		if (r->p < r->end)
			r->p++;
	}
	return true;
}

uint8_t *hextext_parse(tn_view text, size_t *len, const char **why, size_t *at)
{
	struct reader r = { 0 };
	bool ok = text.len == 0 || pass(&r, text);
	*why = r.why;
	*at = r.line;
	*len = ok ? r.n : 0;
	if (!ok)
		return NULL;
	uint8_t *out = malloc(r.n != 0 ? r.n : 1);
	if (out == NULL) {
		*why = "out of memory";
		return NULL;
	}
	r.out = out;
	if (text.len != 0)
		pass(&r, text);
	return out;
}

uint8_t *hextext_load(const char *path, size_t *len)
{
	size_t n = strlen(path), at;
	tn_view text = files_load(path);
	if (n < 4 || strcmp(path + n - 4, ".hex") != 0) {
		*len = text.len;
		return (uint8_t *)text.ptr;
	}
	const char *why;
	uint8_t *out = hextext_parse(text, len, &why, &at);
	if (out == NULL) {
		fprintf(stderr, "%s:%zu: %s\n", path, at, why);
		exit(99);
	}
	free((void *)text.ptr);
	return out;
}
