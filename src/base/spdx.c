/* spdx.c - licence expressions. See spdx.h.
 *
 *	expression  term { (AND | OR) term }
 *	term        ( expression )  |  licence [ WITH exception ]
 *	licence     identifier [+]  |  [DocumentRef-name:]LicenseRef-name */
#include "base/spdx.h"

enum { NESTING = 32 };

struct words {
	tn_view rest;
	tn_view word; /* the one that is looked at; empty at the end */
};

static uint8_t lower(uint8_t c) { return c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c; }

static bool is_space(uint8_t c) { return c == ' ' || c == '\t'; }

static bool is_bracket(uint8_t c) { return c == '(' || c == ')'; }

static void next(struct words *w)
{
	tn_view v = w->rest;
	size_t from = 0, to;
	while (from < v.len && is_space(v.ptr[from]))
		from++;
	to = from;
	if (to < v.len && is_bracket(v.ptr[to]))
		to++;
	else
		while (to < v.len && !is_space(v.ptr[to]) && !is_bracket(v.ptr[to]))
			to++;
	w->word = (tn_view){ v.ptr + from, to - from };
	w->rest = (tn_view){ v.ptr + to, v.len - to };
}

/* ---- Identifiers ---- */

static int compare(tn_view a, const char *b)
{
	size_t i = 0;
	while (i < a.len && b[i] != '\0' && lower(a.ptr[i]) == lower((uint8_t)b[i]))
		i++;
	int x = i < a.len ? lower(a.ptr[i]) : -1, y = b[i] != '\0' ? lower((uint8_t)b[i]) : -1;
	return x - y;
}

static bool listed(tn_view word, const char *const *list, size_t n)
{
	size_t low = 0;
	while (low < n) {
		size_t middle = low + (n - low) / 2;
		int d = compare(word, list[middle]);
		if (d == 0)
			return true;
		if (d < 0)
			n = middle;
		else
			low = middle + 1;
	}
	return false;
}

/* A name of one's own: letters, digits, dots and hyphens. */
static bool is_own(tn_view word, const char *prefix)
{
	size_t n = strlen(prefix);
	if (word.len <= n || !view_starts(word, prefix))
		return false;
	for (size_t i = n; i < word.len; i++) {
		uint8_t c = lower(word.ptr[i]);
		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '.' && c != '-')
			return false;
	}
	return true;
}

static bool is_reference(tn_view word)
{
	const uint8_t *colon = word.len != 0 ? memchr(word.ptr, ':', word.len) : NULL;
	if (colon == NULL)
		return is_own(word, "LicenseRef-");
	size_t n = (size_t)(colon - word.ptr);
	return is_own((tn_view){ word.ptr, n }, "DocumentRef-") &&
	       is_own((tn_view){ colon + 1, word.len - n - 1 }, "LicenseRef-");
}

static bool is_licence(tn_view word)
{
	if (listed(word, spdx_licences, SPDX_LICENCES) || is_reference(word))
		return true;
	if (word.len < 2 || word.ptr[word.len - 1] != '+')
		return false;
	return listed((tn_view){ word.ptr, word.len - 1 }, spdx_licences, SPDX_LICENCES);
}

/* Operators are written in capitals or in small letters, not in both. */
static bool is_operator(tn_view word, const char *upper, const char *small)
{
	return view_is(word, upper) || view_is(word, small);
}

/* ---- Expressions ---- */

static bool expression(struct words *w, unsigned depth);

static bool term(struct words *w, unsigned depth)
{
	if (view_is(w->word, "(")) {
		next(w);
		if (depth == 0 || !expression(w, depth - 1) || !view_is(w->word, ")"))
			return false;
		next(w);
		return true;
	}
	if (!is_licence(w->word))
		return false;
	next(w);
	if (!is_operator(w->word, "WITH", "with"))
		return true;
	next(w);
	if (!listed(w->word, spdx_exceptions, SPDX_EXCEPTIONS))
		return false;
	next(w);
	return true;
}

static bool expression(struct words *w, unsigned depth)
{
	while (term(w, depth)) {
		if (!is_operator(w->word, "AND", "and") && !is_operator(w->word, "OR", "or"))
			return true;
		next(w);
	}
	return false;
}

bool spdx_ok(tn_view text, tn_view *bad)
{
	struct words w = { .rest = text };
	next(&w);
	bool ok = expression(&w, NESTING) && w.word.len == 0;
	*bad = w.word;
	return ok;
}
