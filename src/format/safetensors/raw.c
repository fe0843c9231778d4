/* raw.c - walks the members of a JSON object as text. See raw.h. */
#include "format/safetensors/raw.h"

#include "base/view.h"

static bool is_space(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_space(struct raw *w)
{
	while (w->p < w->end && is_space(*w->p))
		w->p++;
}

static void skip_string(struct raw *w)
{
	w->p++; /* the opening quote */
	while (w->p < w->end && *w->p != '"')
		w->p += *w->p == '\\' && w->end - w->p > 1 ? 2 : 1;
	if (w->p < w->end)
		w->p++;
}

/* To the end of a value: where, outside of all it opened, a comma or a closing bracket stands. */
static void skip_value(struct raw *w)
{
	for (uint64_t depth = 0; w->p < w->end; ) {
		uint8_t c = *w->p;
		bool closes = c == '}' || c == ']';
		if (depth == 0 && (closes || c == ',' || is_space(c)))
			return;
		if (c == '"') {
			skip_string(w);
			continue;
		}
		if (c == '{' || c == '[')
			depth++;
		else if (closes)
			depth--;
		w->p++;
	}
}

static tn_view since(const struct raw *w, const uint8_t *from)
{
	return (tn_view){ from, (size_t)(w->p - from) };
}

struct raw raw_members(tn_view text)
{
	struct raw w = { .p = text.ptr, .end = text.ptr + text.len };
	skip_space(&w);
	if (w.p < w.end)
		w.p++; /* the opening brace */
	return w;
}

bool raw_next(struct raw *w)
{
	skip_space(w);
	if (w->p < w->end && *w->p == ',') {
		w->p++;
		skip_space(w);
	}
	if (w->p == w->end || *w->p != '"')
		return false;
	const uint8_t *from = w->p;
	skip_string(w);
	w->key = since(w, from);
	skip_space(w);
	if (w->p < w->end)
		w->p++; /* the colon */
	skip_space(w);
	from = w->p;
	skip_value(w);
	w->value = since(w, from);
	w->next++;
	return true;
}

bool raw_seek(struct raw *w, uint64_t i)
{
	while (w->next <= i)
		if (!raw_next(w))
			return false;
	return true;
}

tn_view raw_minify(struct arena *a, tn_view text)
{
	uint8_t *out = arena_raw(a, text.len, 1);
	if (out == NULL)
		return (tn_view){ NULL, 0 };
	struct raw w = { .p = text.ptr, .end = text.ptr + text.len };
	size_t n = 0;
	while (w.p < w.end) {
		const uint8_t *from = w.p;
		if (*w.p == '"')
			skip_string(&w);
		else
			w.p++;
		if (is_space(*from))
			continue;
		copy_bytes(out + n, from, (size_t)(w.p - from));
		n += (size_t)(w.p - from);
	}
	return (tn_view){ out, n };
}
