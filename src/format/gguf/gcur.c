/* gcur.c - see gcur.h. */
#include "format/gguf/gcur.h"

/* how many times more of the file is asked for, so that a header is walked a few times only */
enum { GROWTH = 4 };

struct gcur gcur_over(struct parse_job *job, const char *what)
{
	return (struct gcur){ .c = cur_over(job->file, 0, what, job->err), .job = job };
}

static uint64_t rest_of_file(const struct gcur *w) { return w->job->size - gcur_at(w); }

/* The bytes are in the file, but not at hand. */
static void ask_for_more(struct gcur *w, uint64_t n)
{
	struct parse_job *job = w->job;
	uint64_t had = job->file.len, more;
	if (!gcur_ok(w))
		return;
	job_has(job, gcur_at(w) + n, w->c.what);
	if (mul_u64(had, GROWTH, &more))
		job->need = max_u64(job->need, min_u64(more, job->size));
	w->c.end = w->c.p;
}

const uint8_t *gcur_take(struct gcur *w, uint64_t n)
{
	if (n > cur_left(&w->c) && n <= rest_of_file(w)) {
		ask_for_more(w, n);
		return NULL;
	}
	return cur_take(&w->c, n);
}

uint64_t gcur_number(struct gcur *w, unsigned width)
{
	const uint8_t *p = gcur_take(w, width / 8);
	if (p == NULL)
		return 0;
	switch (width) {
	case 8:  return *p;
	case 16: return w->big ? be16(p) : le16(p);
	case 32: return w->big ? be32(p) : le32(p);
	default: return w->big ? be64(p) : le64(p);
	}
}

uint32_t gcur_u32(struct gcur *w) { return (uint32_t)gcur_number(w, 32); }
uint64_t gcur_u64(struct gcur *w) { return gcur_number(w, 64); }
uint64_t gcur_length(struct gcur *w) { return gcur_number(w, w->narrow ? 32 : 64); }

tn_view gcur_string(struct gcur *w)
{
	uint64_t n = gcur_length(w);
	const uint8_t *p = gcur_take(w, n);
	return p != NULL ? (tn_view){ p, (size_t)n } : (tn_view){ NULL, 0 };
}

uint64_t gcur_count(struct gcur *w, uint64_t n, uint64_t min)
{
	if (n <= rest_of_file(w) / min)
		return n;
	cur_fail(&w->c, TN_E_TRUNCATED, "count exceeds the bytes that follow");
	return 0;
}
