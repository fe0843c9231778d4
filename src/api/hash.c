/* hash.c - content digests: the same for the same tensors in whatever container they lie.
 *
 * Files are read in pieces by position, never through the map, so that the memory of the process stays at
 * one buffer a thread. */
#include "api/call.h"
#include "api/file.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/num.h"
#include "io/tensor_read.h"
#include "sys/cpu.h"

#ifdef _OPENMP
#  include <omp.h>
#endif
#include <stdlib.h>

enum {
	PIECE = 256 * 1024, /* stays in the cache of a core while it is hashed */
	THREADS_MAX = 256
};

void tn_digest_text(const tn_digest *digest, char out[2 * TN_DIGEST_LEN + 1])
{
	static const char hex[] = "0123456789abcdef";
	for (size_t i = 0; i < TN_DIGEST_LEN; i++) {
		out[2 * i] = hex[digest->bytes[i] >> 4];
		out[2 * i + 1] = hex[digest->bytes[i] & 15];
	}
	out[2 * (size_t)TN_DIGEST_LEN] = '\0';
}

/* ---- One tensor ---- */

/* Progress of the whole: written by all threads, reported by the caller's. */
struct hash_job {
	const tn_file *f;
	const tn_work *work;
	tn_digest     *digests;
	uint64_t       done, total;
	int            stop;     /* another thread failed, or the caller said so */
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
#pragma omp critical(tenon_hash_error)
	err_set(&job->err, TN_E_USAGE, TN_NO_OFFSET, "stopped by the caller");
#pragma omp atomic write
	job->stop = 1;
}

static tn_code hash_tensor(struct hash_job *job, const struct tensor *t, uint8_t *piece, bool may_report, tn_digest *out,
                           tn_error *err)
{
	struct b3 h;
	b3_init(&h);
	for (uint64_t at = 0; at < t->nbytes && !stopped(job); ) {
		size_t n = (size_t)min_u64(PIECE, t->nbytes - at);
		if (tensor_read(reader_of(job->f, t), t, at, piece, n, err) != TN_OK)
			return err->code;
		b3_update(&h, piece, n);
		at += n;
		advance(job, n, may_report);
	}
	b3_final(&h, out);
	return TN_OK;
}

tn_code tn_hash_tensor(const tn_file *f, size_t i, tn_digest *out, tn_error *err)
{
	static const tn_work alone;
	CALL_BEGIN(err);
	if (i >= f->model.n)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "tensor %zu of %llu", i, (unsigned long long)f->model.n);
	struct hash_job job = { .f = f, .work = &alone };
	uint8_t *piece = mem_alloc(PIECE);
	if (piece == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	tn_code code = hash_tensor(&job, &f->model.tensors[i], piece, false, out, err);
	mem_free(piece);
	return code;
}

/* ---- All tensors, in parallel ---- */

static void fail(struct hash_job *job, const tn_error *why)
{
#pragma omp critical(tenon_hash_error)
	if (job->err.code == TN_OK)
		job->err = *why;
#pragma omp atomic write
	job->stop = 1;
}

static void hash_some(struct hash_job *job, uint64_t *next, bool may_report)
{
	tn_error err = { .code = TN_OK, .offset = TN_NO_OFFSET };
	uint8_t *piece = mem_alloc(PIECE);
	if (piece == NULL)
		err_set(&err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	while (err.code == TN_OK && !stopped(job)) {
		uint64_t i;
#pragma omp atomic capture
		i = (*next)++;
		if (i >= job->f->model.n)
			break;
		hash_tensor(job, &job->f->model.tensors[i], piece, may_report, &job->digests[i], &err);
	}
	if (err.code != TN_OK)
		fail(job, &err);
	mem_free(piece);
}

/* Reporting is the calling thread's, which OpenMP numbers 0; it joins last at the latest. */
static void hash_all(struct hash_job *job)
{
	uint64_t next = 0;
	unsigned threads = job->work->threads != 0 ? job->work->threads : sys_cpu_count();
	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	if (threads > job->f->model.n)
		threads = job->f->model.n > 1 ? (unsigned)job->f->model.n : 1;
	bool caller = true;
	(void)threads;
#pragma omp parallel num_threads((int)threads) firstprivate(caller)
	{
#ifdef _OPENMP
		caller = omp_get_thread_num() == 0;
#endif
		hash_some(job, &next, caller);
	}
}

/* ---- The total ---- */

static void put_line(struct buf *line, const struct tensor *t, const tn_digest *digest)
{
	char hex[2 * TN_DIGEST_LEN + 1];
	tn_digest_text(digest, hex);
	line->len = 0;
	buf_printf(line, "%s %s [", hex, dtype_info(t->dtype)->name);
	for (uint32_t d = 0; d < t->rank; d++)
		buf_printf(line, d == 0 ? "%llu" : ",%llu", (unsigned long long)t->shape[d]);
	buf_text(line, "] ");
	buf_view(line, t->name);
	buf_byte(line, '\n');
}

static int by_name(const void *a, const void *b)
{
	const struct tensor *const *x = a, *const *y = b;
	return view_cmp((*x)->name, (*y)->name);
}

static tn_code total_of(const tn_file *f, const tn_digest *digests, tn_digest *total, tn_error *err)
{
	uint64_t n = f->model.n;
	const struct tensor **sorted = mem_alloc((size_t)n * sizeof *sorted);
	if (sorted == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	for (uint64_t i = 0; i < n; i++)
		sorted[i] = &f->model.tensors[i];
	if (n > 1)
		qsort(sorted, (size_t)n, sizeof *sorted, by_name);
	struct b3 h;
	struct buf line;
	b3_init(&h);
	buf_init(&line, 0);
	for (uint64_t i = 0; i < n && !line.failed; i++) {
		put_line(&line, sorted[i], &digests[sorted[i] - f->model.tensors]);
		b3_update(&h, line.ptr, line.len);
	}
	b3_final(&h, total);
	if (line.failed)
		err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	buf_fini(&line);
	mem_free(sorted);
	return err->code;
}

static uint64_t bytes_in_all(const tn_file *f)
{
	uint64_t sum = 0;
	for (uint64_t i = 0; i < f->model.n; i++)
		sum += f->model.tensors[i].nbytes; /* extents lie inside the file and do not overlap */
	return sum;
}

tn_code tn_hash(const tn_file *f, const tn_work *work, tn_digest *tensors, tn_digest *total, tn_error *err)
{
	static const tn_work defaults;
	CALL_BEGIN(err);
	tn_digest *digests = tensors != NULL ? tensors : mem_alloc((size_t)f->model.n * sizeof *digests);
	if (digests == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	struct hash_job job = {
		.f = f, .work = work != NULL ? work : &defaults, .digests = digests, .total = bytes_in_all(f),
		.err = { .code = TN_OK, .offset = TN_NO_OFFSET },
	};
	hash_all(&job);
	*err = job.err;
	if (err->code == TN_OK)
		total_of(f, digests, total, err);
	if (digests != tensors)
		mem_free(digests);
	return err->code;
}
