/* hash.c - digests of tensors in parallel.
 *
 * Files are read in pieces by position, never through the map, so that the memory of the process stays at one buffer a
 * thread. */
#include "io/hash.h"

#include "base/claim.h"
#include "base/mem.h"
#include "base/num.h"
#include "sys/cpu.h"

#ifdef _OPENMP
#  include <omp.h>
#endif

enum {
	PIECE = 256 * 1024, /* stays in the cache of a core while it is hashed */
	THREADS_MAX = 256
};

/* Progress of the whole: written by all threads, reported by the caller's. */
struct hash_job {
	struct hash_item *items;
	uint64_t       n, next;
	const tn_work *work;
	bool           go_on;
	uint64_t       done, total;
	int            stop;     /* another thread failed, or the caller said so */
	int            failed;   /* who sets it first writes err */
	tn_error       err;
};

static bool stopped(struct hash_job *job)
{
	int stop;
#pragma omp atomic read
	stop = job->stop;
	return stop != 0;
}

static void advance(struct hash_job *job, uint64_t n, bool may_report)
{
	uint64_t done;
#pragma omp atomic capture
	done = job->done += n;
	if (!may_report || job->work->progress == NULL || job->work->progress(job->work->ctx, done, job->total))
		return;
	if (claim(&job->failed))
		err_set(&job->err, TN_E_USAGE, TN_NO_OFFSET, "stopped by the caller");
#pragma omp atomic write
	job->stop = 1;
}

static tn_code hash_one(struct hash_job *job, const struct reader *from, const struct tensor *t, uint8_t *piece,
                        bool may_report, tn_digest *out, tn_error *err)
{
	struct b3 h;
	b3_init(&h);
	for (uint64_t at = 0; at < t->nbytes && !stopped(job); ) {
		size_t n = (size_t)min_u64(PIECE, t->nbytes - at);
		if (tensor_read(from, t, at, piece, n, err) != TN_OK)
			return err->code;
		b3_update(&h, piece, n);
		at += n;
		advance(job, n, may_report);
	}
	b3_final(&h, out);
	return TN_OK;
}

tn_code hash_tensor(const struct reader *from, const struct tensor *t, tn_digest *out, tn_error *err)
{
	static const tn_work alone;
	struct hash_job job = { .work = &alone };
	uint8_t *piece = mem_alloc((size_t)min_u64(PIECE, t->nbytes));
	if (piece == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	tn_code code = hash_one(&job, from, t, piece, false, out, err);
	mem_free(piece);
	return code;
}

/* ---- Many ---- */

static void fail(struct hash_job *job, const tn_error *why)
{
	if (claim(&job->failed))
		job->err = *why;
#pragma omp atomic write
	job->stop = 1;
}

/* A fault of the file's contents says nothing about the other items. */
static bool is_local(tn_code code)
{
	return code == TN_E_CORRUPT || code == TN_E_UNSUPPORTED || code == TN_E_CHECKSUM || code == TN_E_LIMIT;
}

static void hash_item(struct hash_job *job, struct hash_item *item, uint8_t *piece, bool may_report, tn_error *err)
{
	item->code = hash_one(job, item->from, item->tensor, piece, may_report, &item->digest, err);
	if (job->go_on && is_local(item->code))
		err_clear(err);
}

static void hash_some(struct hash_job *job, bool may_report)
{
	tn_error err = { .code = TN_OK, .offset = TN_NO_OFFSET };
	uint8_t *piece = mem_alloc((size_t)min_u64(PIECE, job->total));
	if (piece == NULL)
		err_set(&err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	while (err.code == TN_OK && !stopped(job)) {
		uint64_t i;
#pragma omp atomic capture
		i = job->next++;
		if (i >= job->n)
			break;
		hash_item(job, &job->items[i], piece, may_report, &err);
	}
	if (err.code != TN_OK)
		fail(job, &err);
	mem_free(piece);
}

/* Reporting is the calling thread's, which OpenMP numbers 0; it joins last at the latest. */
static void hash_all(struct hash_job *job)
{
	unsigned threads = job->work->threads != 0 ? job->work->threads : sys_cpu_count();
	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	if (threads > job->n)
		threads = job->n > 1 ? (unsigned)job->n : 1;
	bool caller = true;
	(void)threads;
#pragma omp parallel num_threads((int)threads) firstprivate(caller)
	{
#ifdef _OPENMP
		caller = omp_get_thread_num() == 0;
#endif
		hash_some(job, caller);
	}
}

tn_code hash_items(struct hash_item *items, uint64_t n, const tn_work *work, bool go_on, tn_error *err)
{
	static const tn_work defaults;
	struct hash_job job = {
		.items = items, .n = n, .work = work != NULL ? work : &defaults, .go_on = go_on,
		.err = { .code = TN_OK, .offset = TN_NO_OFFSET },
	};
	for (uint64_t i = 0; i < n; i++)
		if (!add_u64(job.total, items[i].tensor->nbytes, &job.total))
			job.total = UINT64_MAX;
	hash_all(&job);
	if (job.err.code != TN_OK)
		*err = job.err;
	return job.err.code;
}
