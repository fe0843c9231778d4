/* footer.c - a file against its footer, put together from the CRCs of what passed. See footer.h. */
#include "api/footer.h"

#include "base/bytes.h"
#include "base/num.h"
#include "codec/crc32.h"

#include <inttypes.h>
#include <stdlib.h>

/* The bytes of a tensor where they lie, and what is seen of them. */
struct stretch {
	const struct part *part;
	uint64_t           at, len;
	struct source_seen seen;
};

struct footers {
	struct stretch *list;
	uint64_t        n;
};

enum { FOOTER = 4 };

static const struct region *footer_of(const struct part *p)
{
	for (unsigned i = 0; i < p->model.n_regions; i++)
		if (p->model.regions[i].kind == TN_REGION_FOOTER)
			return &p->model.regions[i];
	return NULL;
}

/* ---- Watching ---- */

static bool any_footer(const tn_file *f)
{
	for (size_t i = 0; i < f->n_parts; i++)
		if (footer_of(&f->parts[i]) != NULL)
			return true;
	return false;
}

tn_code footers_watch(const tn_file *f, struct source *sources, uint64_t n, struct arena *mem, struct footers **out,
                      tn_error *err)
{
	*out = NULL;
	if (!any_footer(f))
		return TN_OK;
	struct footers *w = ARENA_NEW(mem, 1, struct footers);
	struct stretch *list = ARENA_NEW(mem, n, struct stretch);
	if (w == NULL || list == NULL)
		return arena_err(mem, err, "the list of tensors");
	*w = (struct footers){ .list = list };
	for (uint64_t i = 0; i < n; i++) {
		if (sources[i].kind != SOURCE_RANGE)
			continue;
		struct stretch *s = &list[w->n++];
		*s = (struct stretch){ .part = &f->parts[sources[i].tensor->part], .at = sources[i].offset, .len = sources[i].len };
		sources[i].seen = &s->seen;
	}
	*out = w;
	return TN_OK;
}

/* ---- Judging ---- */

static int by_place(const void *a, const void *b)
{
	const struct stretch *x = *(const struct stretch *const *)a, *y = *(const struct stretch *const *)b;
	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->len > y->len) - (x->len < y->len);
}

/* Has every byte of every tensor been seen? Formats with a footer have no tensors that overlap. */
static bool saw_all(const struct part *p, const struct stretch **list, uint64_t n)
{
	uint64_t seen = 0, stored = 0;
	for (uint64_t i = 0; i < n; i++) {
		if (!list[i]->seen.whole)
			return false;
		seen += i != 0 && list[i]->at == list[i - 1]->at && list[i]->len == list[i - 1]->len ? 0 : list[i]->len;
	}
	for (uint64_t i = 0; i < p->model.n; i++)
		stored += p->model.tensors[i].stored; /* ranges of one file */
	return seen == stored;
}

/* What is no tensor is read now. */
static tn_code add_gap(const struct part *p, uint64_t from, uint64_t to, uint32_t *crc, tn_error *err)
{
	uint8_t piece[4096];
	for (uint64_t at = from, n; at < to; at += n) {
		n = min_u64(to - at, sizeof piece);
		if (reader_read(&p->reader, at, piece, (size_t)n, err) != TN_OK)
			return err->code;
		*crc = crc32_update(*crc, piece, (size_t)n);
	}
	return TN_OK;
}

static tn_code crc_of(const struct part *p, const struct stretch **list, uint64_t n, uint64_t end, uint32_t *crc, tn_error *err)
{
	uint64_t at = 0;
	*crc = 0;
	for (uint64_t i = 0; i < n; i++) {
		const struct stretch *s = list[i];
		if (s->at < at || s->len == 0) /* the same again, or nothing */
			continue;
		if (add_gap(p, at, s->at, crc, err) != TN_OK)
			return err->code;
		*crc = crc32_concat(*crc, s->seen.crc, s->len);
		at = s->at + s->len;
	}
	return add_gap(p, at, end, crc, err);
}

static tn_code differs(const struct region *footer, const struct part *p, uint32_t is, uint32_t says, bool tolerate,
                       struct tn_report *report, tn_error *err)
{
	static const char text[] = "%s: the footer is %08" PRIx32 ", the bytes before it give %08" PRIx32;
	if (!tolerate)
		return err_set(err, TN_E_CHECKSUM, footer->offset, text, p->format->name, says, is);
	report_add(report, TN_WARNING, TN_E_CHECKSUM, footer->offset, NO_TENSOR, text, p->format->name, says, is);
	return TN_OK;
}

/* One file, by the n stretches of it in their order. */
static tn_code judge(const struct stretch **list, uint64_t n, bool tolerate, struct tn_report *report, tn_error *err)
{
	const struct part *p = list[0]->part;
	const struct region *footer = footer_of(p);
	uint8_t field[FOOTER];
	uint32_t crc;
	if (footer == NULL || !saw_all(p, list, n))
		return TN_OK;
	if (crc_of(p, list, n, footer->offset, &crc, err) != TN_OK ||
	    reader_read(&p->reader, footer->offset, field, sizeof field, err) != TN_OK)
		return err->code;
	return crc == le32(field) ? TN_OK : differs(footer, p, crc, le32(field), tolerate, report, err);
}

tn_code footers_check(const struct footers *w, bool tolerate, struct arena *mem, struct tn_report *report, tn_error *err)
{
	if (w == NULL || w->n == 0)
		return TN_OK;
	const struct stretch **list = arena_raw(mem, w->n, sizeof *list);
	if (list == NULL)
		return arena_err(mem, err, "the list of tensors");
	for (uint64_t i = 0; i < w->n; i++)
		list[i] = &w->list[i];
	qsort(list, (size_t)w->n, sizeof *list, by_place);
	for (uint64_t i = 0, end; i < w->n && err->code == TN_OK; i = end) {
		for (end = i + 1; end < w->n && list[end]->part == list[i]->part; )
			end++;
		judge(list + i, end - i, tolerate, report, err);
	}
	return err->code;
}
