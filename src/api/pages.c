/* pages.c - a file's tensors in the order of its execution tape, in a fixed budget of memory.
 *
 * The tape is played round and round, once for each token, so it is known when a page will be wanted again. To make
 * room the page goes whose next use is farthest off: the best choice there is, where dropping the page that was not
 * used for longest would drop each page just before its turn. */
#include "api/call.h"
#include "api/tape.h"
#include "base/mem.h"
#include "base/num.h"
#include "codec/blake3.h"

#include <string.h>

enum {
	DEFAULT_BUDGET = 256 << 20,
	PAGE_ALIGN     = 64,
	PAGE_EXTRA     = 128 /* what a buffer takes beside its bytes, at most */
};

enum trust {
	TRUST_NONE, /* not looked at yet */
	TRUST_GOOD, /* has the digest that the file states, or the file states none */
	TRUST_BAD
};

#define ABSENT SIZE_MAX

/* A tensor, as far as the tape uses it. */
struct held {
	tn_buffer  bytes;
	uint64_t   users; /* uses that have not ended */
	size_t     last;  /* the step that used it last */
	size_t     place; /* in tn_pages.resident; ABSENT when it is not in memory */
	enum trust trust;
};

struct tn_pages {
	struct arena    mem;
	const tn_file  *file;
	uint64_t        budget;
	tn_step        *steps;
	size_t         *next;     /* [n] the step after this one that uses the same page, round the end of the tape */
	size_t          n;
	struct held    *held;     /* [tensors] */
	size_t         *resident; /* tensors in memory, in no order */
	size_t          n_resident;
	tn_buffer       spare;    /* of the page that was dropped last, for the next one: its memory is mapped already */
	tn_pages_counts counts;
};

/* ---- The tape ---- */

static tn_code read_tape(struct tn_pages *p, tn_error *err)
{
	if (tape_steps(p->file, &p->mem, &p->steps, &p->n, err) != TN_OK)
		return err->code;
	p->next = arena_raw(&p->mem, p->n, sizeof *p->next);
	p->held = ARENA_NEW(&p->mem, p->file->model.n, struct held);
	p->resident = arena_raw(&p->mem, p->file->model.n, sizeof *p->resident);
	if (p->next == NULL || p->held == NULL || p->resident == NULL)
		return arena_err(&p->mem, err, "the steps of the tape");
	for (size_t i = 0; i < p->file->model.n; i++)
		p->held[i].place = ABSENT;
	return TN_OK;
}

/* From the end backwards twice, so that the last use of a page knows its first. */
static void link_uses(struct tn_pages *p)
{
	for (size_t i = 0; i < p->n; i++)
		p->held[p->steps[i].tensor].last = i; /* for now: its last use in the tape */
	for (size_t i = p->n; i-- > 0; ) {
		struct held *h = &p->held[p->steps[i].tensor];
		p->next[i] = h->last;
		h->last = i;
	}
	/* h->last is the first use now, which is what the last one goes on to */
	for (size_t i = 0; i < p->n; i++)
		if (p->next[i] == i)
			p->next[i] = p->held[p->steps[i].tensor].last;
}

/* ---- Room ---- */

static uint64_t cost_of(uint64_t nbytes)
{
	uint64_t cost;
	return align_up(nbytes, PAGE_ALIGN, &cost) && add_u64(cost, PAGE_EXTRA, &cost) ? cost : UINT64_MAX;
}

static void drop(struct tn_pages *p, size_t tensor)
{
	struct held *h = &p->held[tensor];
	size_t last = p->resident[--p->n_resident];
	tn_buffer_fini(&p->spare);
	p->spare = h->bytes;
	p->counts.held -= cost_of(p->file->model.tensors[tensor].nbytes);
	p->resident[h->place] = last;
	p->held[last].place = h->place;
	h->place = ABSENT;
}

/* Steps from this one to the next that uses the page, round the end of the tape. */
static size_t distance(const struct tn_pages *p, size_t tensor, size_t step)
{
	size_t at = p->next[p->held[tensor].last];
	return at > step ? at - step : at + p->n - step;
}

/* The page that is wanted last of all; ABSENT when all are in use. */
static size_t least_wanted(const struct tn_pages *p, size_t step)
{
	size_t best = ABSENT, far = 0;
	for (size_t i = 0; i < p->n_resident; i++) {
		size_t tensor = p->resident[i], d = distance(p, tensor, step);
		if (p->held[tensor].users == 0 && (best == ABSENT || d > far)) {
			best = tensor;
			far = d;
		}
	}
	return best;
}

static tn_code make_room(struct tn_pages *p, size_t step, uint64_t cost, tn_error *err)
{
	while (cost > p->budget - p->counts.held) {
		size_t tensor = cost <= p->budget ? least_wanted(p, step) : ABSENT;
		if (tensor == ABSENT)
			return err_set(err, TN_E_LIMIT, TN_NO_OFFSET,
			               "page '%s' takes %llu bytes, the budget is %llu, and %llu of it are in use",
			               ESC(p->file->model.tensors[p->steps[step].tensor].name), (unsigned long long)cost,
			               (unsigned long long)p->budget, (unsigned long long)p->counts.held);
		drop(p, tensor);
	}
	return TN_OK;
}

/* ---- Reading ---- */

static tn_code distrust(const struct tensor *t, tn_error *err)
{
	return err_set(err, TN_E_CHECKSUM, t->offset, "page '%s' does not have the checksum that the file states",
	               ESC(t->name));
}

/* Once for each page: its bytes cannot change while the file is open. */
static tn_code judge(struct tn_pages *p, struct held *h, const struct tensor *t, tn_error *err)
{
	if (h->trust != TRUST_NONE)
		return TN_OK;
	h->trust = TRUST_GOOD;
	if (t->digest == NULL)
		return TN_OK;
	p->counts.verified++;
	tn_digest digest = b3_of((tn_view){ h->bytes.ptr, h->bytes.len });
	if (memcmp(digest.bytes, t->digest->bytes, TN_DIGEST_LEN) == 0)
		return TN_OK;
	h->trust = TRUST_BAD;
	return distrust(t, err);
}

static tn_code fill(struct tn_pages *p, struct held *h, const struct tensor *t, tn_error *err)
{
	size_t len;
	if (!size_from_u64(t->nbytes, &len))
		return err_set(err, TN_E_LIMIT, t->offset, "page '%s' is larger than the address space", ESC(t->name));
	if (cost_of(p->spare.cap) != cost_of(len)) /* else the budget has no room for it beside the new one */
		tn_buffer_fini(&p->spare);
	h->bytes = p->spare;
	tn_buffer_init(&p->spare, PAGE_ALIGN);
	if (tn_buffer_resize(&h->bytes, len, err) != TN_OK)
		return err->code;
	p->counts.bytes_read += t->stored;
	if (tensor_read(reader_of(p->file, t), t, 0, h->bytes.ptr, len, err) != TN_OK)
		return err->code;
	return judge(p, h, t, err);
}

static tn_code load(struct tn_pages *p, size_t step, tn_error *err)
{
	size_t tensor = p->steps[step].tensor;
	struct held *h = &p->held[tensor];
	uint64_t cost = cost_of(p->steps[step].nbytes);
	if (make_room(p, step, cost, err) != TN_OK)
		return err->code;
	p->counts.faults++;
	if (fill(p, h, &p->file->model.tensors[tensor], err) != TN_OK) {
		tn_buffer_fini(&h->bytes);
		return err->code;
	}
	p->counts.held += cost;
	p->counts.peak = max_u64(p->counts.peak, p->counts.held);
	h->place = p->n_resident;
	p->resident[p->n_resident++] = tensor;
	return TN_OK;
}

/* ---- The calls ---- */

tn_code tn_pages_use(tn_pages *p, size_t step, tn_view *out, tn_error *err)
{
	CALL_BEGIN(err);
	if (step >= p->n)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "step %zu of %zu", step, p->n);
	size_t tensor = p->steps[step].tensor;
	struct held *h = &p->held[tensor];
	if (h->trust == TRUST_BAD)
		return distrust(&p->file->model.tensors[tensor], err);
	if (h->place != ABSENT)
		p->counts.hits++;
	else if (load(p, step, err) != TN_OK)
		return err->code;
	h->users++;
	h->last = step;
	*out = (tn_view){ h->bytes.ptr, h->bytes.len };
	return TN_OK;
}

void tn_pages_end(tn_pages *p, size_t step)
{
	if (step < p->n && p->held[p->steps[step].tensor].users != 0)
		p->held[p->steps[step].tensor].users--;
}

/* The file that has the tensor's bytes; NULL when they are in memory already. */
static const struct sys_file *file_of(const struct tn_pages *p, const struct tensor *t)
{
	return reader_of(p->file, t)->file;
}

void tn_pages_prefetch(tn_pages *p, size_t step, size_t n)
{
	uint64_t ahead = 0;
	for (size_t i = 0; step < p->n && i < n && i < p->n; i++) {
		size_t tensor = p->steps[step < p->n - i ? step + i : step - (p->n - i)].tensor;
		const struct tensor *t = &p->file->model.tensors[tensor];
		if (p->held[tensor].place != ABSENT || file_of(p, t) == NULL)
			continue;
		if (!add_u64(ahead, t->stored, &ahead) || ahead > p->budget)
			return;
		sys_file_will_read(file_of(p, t), t->offset, t->stored);
	}
}

void tn_pages_release(tn_pages *p, size_t step)
{
	if (step >= p->n)
		return;
	size_t tensor = p->steps[step].tensor;
	const struct tensor *t = &p->file->model.tensors[tensor];
	if (p->held[tensor].users != 0)
		return;
	if (p->held[tensor].place != ABSENT) {
		drop(p, tensor);
		tn_buffer_fini(&p->spare);
	}
	if (file_of(p, t) != NULL)
		sys_file_evict(file_of(p, t), t->offset, t->stored);
}

size_t tn_pages_count(const tn_pages *p) { return p->n; }

tn_step tn_pages_at(const tn_pages *p, size_t step)
{
	return step < p->n ? p->steps[step] : (tn_step){ .tensor = SIZE_MAX };
}

tn_pages_counts tn_pages_counted(const tn_pages *p) { return p->counts; }

tn_code tn_pages_open(tn_pages **out, const tn_file *f, const tn_pages_options *options, tn_error *err)
{
	CALL_BEGIN(err);
	*out = NULL;
	struct tn_pages *p = mem_alloc(sizeof *p);
	if (p == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	memset(p, 0, sizeof *p);
	arena_init(&p->mem, f->mem.budget);
	p->file = f;
	tn_buffer_init(&p->spare, PAGE_ALIGN);
	p->budget = limit_or(options != NULL ? options->budget : 0, DEFAULT_BUDGET);
	if (read_tape(p, err) != TN_OK) {
		tn_pages_close(p);
		return err->code;
	}
	link_uses(p);
	*out = p;
	return TN_OK;
}

void tn_pages_close(tn_pages *p)
{
	if (p == NULL)
		return;
	while (p->n_resident != 0)
		drop(p, p->resident[0]);
	tn_buffer_fini(&p->spare);
	arena_fini(&p->mem);
	mem_free(p);
}
