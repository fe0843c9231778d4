/* shards.c - GGUF over several files: three pairs that say which shard of how many a file is. The first shard has the
 * metadata, and may have no tensors; the others have these pairs alone.
 *
 *	split.no             u16  from 0
 *	split.count          u16
 *	split.tensors.count  i32  of all shards
 */
#include "format/gguf/read.h"

#define NUMBER_KEY  "split.no"
#define COUNT_KEY   "split.count"
#define TENSORS_KEY "split.tensors.count"

/* What a merging tool leaves behind, a count of 0 or 1, marks no shard. */
static bool is_counted(const struct model *m, uint64_t *n)
{
	return tn_meta_u64(meta_find(m->metadata, VIEW(COUNT_KEY)), n) && *n >= 2;
}

static bool place(const struct model *m, struct shard_place *out)
{
	if (!is_counted(m, &out->n) || !tn_meta_u64(meta_find(m->metadata, VIEW(NUMBER_KEY)), &out->k))
		return false;
	if (!tn_meta_u64(meta_find(m->metadata, VIEW(TENSORS_KEY)), &out->tensors))
		out->tensors = UINT64_MAX;
	return true;
}

void gguf_note_place(struct reading *r)
{
	struct shard_place ignored;
	uint64_t n;
	if (is_counted(r->job->model, &n) && !place(r->job->model, &ignored))
		gguf_note(r, TN_WARNING, TN_E_CORRUPT, TN_NO_OFFSET, NO_TENSOR,
		          "this is one of %llu shards, and no " NUMBER_KEY " says which: it is read as a model of its own, and llama.cpp "
		          "refuses it", (unsigned long long)n);
}

/* What a merging tool left behind is there no longer when the shards are merged. */
static void note_replaced(struct shard_job *job)
{
	uint64_t n;
	if (job->place.k == 0 && !is_counted(job->model, &n) && meta_find(job->model->metadata, VIEW(COUNT_KEY)) != NULL)
		report_add(job->report, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR,
		           GGUF ": the model's own 'split.*', by which it is a whole one, give way to those of the shards");
}

static void make_whole(struct model *m)
{
	meta_remove(m->metadata, VIEW(NUMBER_KEY));
	meta_remove(m->metadata, VIEW(COUNT_KEY));
	meta_remove(m->metadata, VIEW(TENSORS_KEY));
}

/* The byte order of the file and its like hold for every shard. */
static bool only_own_native(struct shard_job *job)
{
	const struct tn_meta *own = meta_find(job->model->native, VIEW(GGUF));
	struct tn_meta *native = meta_new(job->mem, TN_META_MAP);
	if (native != NULL && own != NULL && meta_append(native, VIEW(GGUF), meta_clone(job->mem, own, false)) == NULL)
		return false;
	job->model->native = native;
	return native != NULL;
}

static tn_code make_shard(struct shard_job *job)
{
	struct model *m = job->model;
	if (job->place.n > UINT16_MAX || job->place.tensors > INT32_MAX)
		return err_set(job->err, TN_E_LIMIT, TN_NO_OFFSET, GGUF ": %llu shards of %llu tensors in all, at most %d of %ld",
		               (unsigned long long)job->place.n, (unsigned long long)job->place.tensors, UINT16_MAX, (long)INT32_MAX);
	m->metadata = job->place.k == 0 ? meta_clone(job->mem, m->metadata, false) : meta_new(job->mem, TN_META_MAP);
	if (m->metadata == NULL || (job->place.k != 0 && !only_own_native(job)))
		return arena_err(job->mem, job->err, GGUF ": shard");
	note_replaced(job);
	make_whole(m); /* a shard may be split again */
	bool ok = meta_add_uint(job->mem, m->metadata, VIEW(NUMBER_KEY), job->place.k, 16) != NULL &&
	          meta_add_uint(job->mem, m->metadata, VIEW(COUNT_KEY), job->place.n, 16) != NULL &&
	          meta_add_int(job->mem, m->metadata, VIEW(TENSORS_KEY), (int64_t)job->place.tensors, 32) != NULL;
	return ok ? TN_OK : arena_err(job->mem, job->err, GGUF ": shard");
}

const struct shard_rules gguf_shards = {
	.first = 1,
	.any_stands_for_all = true,
	.place = place,
	.make_whole = make_whole,
	.make_shard = make_shard,
};
