/* series.c - names of numbered files: STEM-00001-of-00003.EXT. */
#include "api/series.h"

#include "base/numtext.h"

static bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

/* The run of digits that ends before *end, which moves to its start. */
static bool number_before(tn_view name, size_t *end, uint64_t *out)
{
	size_t to = *end, from = to;
	while (from > 0 && is_digit(name.ptr[from - 1]))
		from--;
	while (from + 1 < to && name.ptr[from] == '0')
		from++; /* text_u64 takes no surplus zeros */
	if (!text_u64((tn_view){ name.ptr + from, to - from }, out))
		return false;
	while (from > 0 && is_digit(name.ptr[from - 1]))
		from--;
	*end = from;
	return true;
}

static bool text_before(tn_view name, size_t *end, const char *text)
{
	size_t n = strlen(text);
	if (*end < n || memcmp(name.ptr + *end - n, text, n) != 0)
		return false;
	*end -= n;
	return true;
}

bool series_parse(tn_view name, struct series *out)
{
	size_t dot = name.len;
	while (dot > 0 && name.ptr[dot - 1] != '.')
		dot--;
	if (dot == 0)
		return false;
	size_t end = --dot;
	out->ext = (tn_view){ name.ptr + dot, name.len - dot };
	if (!number_before(name, &end, &out->n))
		return false;
	out->width = (unsigned)(dot - end);
	if (!text_before(name, &end, "-of-") || !number_before(name, &end, &out->k) || !text_before(name, &end, "-"))
		return false;
	out->stem = (tn_view){ name.ptr, end };
	return out->n != 0;
}

bool series_same(const struct series *a, const struct series *b)
{
	return a->n == b->n && view_eq(a->stem, b->stem) && view_eq(a->ext, b->ext);
}

const char *series_name(const struct series *s, uint64_t k, struct arena *mem)
{
	return arena_printf(mem, "%.*s-%0*llu-of-%0*llu%.*s", VIEW_ARG(s->stem), (int)s->width, (unsigned long long)k,
	                    (int)s->width, (unsigned long long)s->n, VIEW_ARG(s->ext));
}
