/* write.c - from a model to the spans of a file, byte for byte as upstream's writers lay them out.
 *
 * The data stands in the order of the model, the index is sorted by name: given the tensors by
 * name this is the file of upstream's in-memory writer, else that of its streaming one. What
 * upstream damages without a word is refused. write_metadata.c prints the metadata. */
#include "format/apr/write.h"

#include "base/utf8.h"

#include <stdlib.h>

/* ---- What becomes of a tensor ---- */

/* The dtype that stands in for one of the same layout that APR lacks. */
static tn_dtype carrier_of(tn_dtype d)
{
	switch (d) {
	case TN_FLEX32:  return TN_F32;
	case TN_BOOL:
	case TN_BOOL_U8: return TN_U8;
	default:         return d;
	}
}

/* False with a loss reported: it is left out. A name that the index of a file had fits there again. */
static bool can_be_named(struct apr_writing *w, const struct tensor *t)
{
	if (job_had(w->job, t))
		return true;
	if (t->name.len > APR_NAME_MAX) {
		job_lossy(w->job, t->name, "apr: tensor '%s': a name of %zu bytes, at most %d",
		          ESC(t->name), t->name.len, APR_NAME_MAX);
		return false;
	}
	if (!utf8_ok(t->name)) {
		job_lossy(w->job, t->name,
		          "apr: tensor '%s': a name that is no UTF-8 cannot be held", ESC(t->name));
		return false;
	}
	return true;
}

static bool check_size(struct apr_writing *w, const struct tensor *t)
{
	tn_error why = { .code = TN_OK };
	uint64_t want = 0;
	if (t->dtype == TN_OPAQUE || t->dtype == TN_QFLOAT ||
	    apr_dtype_fits(t->dtype, t->rank, t->shape, t->nbytes))
		return true;
	if (dtype_bytes(t->dtype, BLOCK_FLAT, t->rank, t->shape, &want, &why) != TN_OK)
		err_set(w->job->err, why.code, TN_NO_OFFSET, "apr: tensor '%s': %s", ESC(t->name),
		        why.msg);
	else
		err_set(w->job->err, TN_E_CORRUPT, TN_NO_OFFSET,
			"apr: tensor '%s': %llu bytes, its shape takes %llu", ESC(t->name),
		        (unsigned long long)t->nbytes, (unsigned long long)want);
	return false;
}

/* Rows that are padded have no size that a reader could tell from the shape: they stay as they
 * are. */
static void pack(struct apr_writing *w, struct apr_placed *p)
{
	if (w->job->packed == NULL || w->job->packed[p->i].lengths == NULL)
		return;
	if (!dtype_takes(apr_dtype_coded(p->code)->dtype, BLOCK_FLAT, p->rank, p->shape, p->t->nbytes))
		return;
	p->packing = &w->job->packed[p->i];
	p->code |= APR_PACKED;
	w->n_packed++;
}

static uint64_t stored(const struct apr_placed *p)
{
	return p->packing != NULL ? p->packing->stored : p->t->nbytes;
}

static void place(struct apr_writing *w, uint64_t i, tn_dtype as, uint32_t rank,
                  const uint64_t *shape)
{
	w->tensors[w->n++] = (struct apr_placed){
		.t = &w->job->model->tensors[i],
		.i = i,
		.code = apr_dtype_of(as)->code,
		.rank = rank,
		.shape = shape,
		.no_text = !utf8_ok(w->job->model->tensors[i].name),
	};
	if (w->job->model->tensors[i].extras != NULL)
		envelope_tensor(&w->env, i, ENV_EXTRAS);
	pack(w, &w->tensors[w->n - 1]);
}

/* Its bytes as u8, what they are in the envelope. */
static void carry(struct apr_writing *w, uint64_t i)
{
	envelope_tensor(&w->env, i, ENV_DTYPE | ENV_SHAPE);
	place(w, i, TN_U8, 1, &w->job->model->tensors[i].nbytes);
}

static bool choose(struct apr_writing *w, uint64_t i)
{
	struct plan_job *job = w->job;
	const struct tensor *t = &job->model->tensors[i];
	tn_dtype as = carrier_of(t->dtype);
	if (!check_size(w, t))
		return false;
	if (!can_be_named(w, t))
		return true;
	bool has_code = apr_dtype_of(as) != NULL,
	     has_rank = t->rank <= APR_RANK_MAX || job_had(job, t);
	if (has_code && has_rank) {
		if (as != t->dtype)
			envelope_tensor(&w->env, i, ENV_DTYPE);
		place(w, i, as, t->rank, t->shape);
	} else if (job_carries(job, t)) {
		carry(w, i);
	} else if (!has_code) {
		job_lossy(job, t->name,
		          "apr: tensor '%s': there is no dtype %s; --carry keeps its bytes as u8",
		          ESC(t->name),
		          t->dtype == TN_OPAQUE ? ESC(t->dtype_text) : dtype_info(t->dtype)->name);
	} else {
		job_lossy(job, t->name,
		          "apr: tensor '%s': %u dimensions, at most %d; --carry keeps its bytes as "
		          "u8",
		          ESC(t->name), t->rank, APR_RANK_MAX);
	}
	return true;
}

/* ---- Where everything stands ---- */

/* Upstream compares names after U+FFFD has taken the place of what is no UTF-8. Of all others that
 * order is the one of their bytes. */
static int by_name(const void *a, const void *b)
{
	const struct apr_placed *const *x = a, *const *y = b;
	int order = (*x)->no_text || (*y)->no_text ? utf8_cmp_replaced((*x)->t->name, (*y)->t->name) : 0;
	return order != 0 ? order : view_cmp((*x)->t->name, (*y)->t->name);
}

static bool choose_all(struct apr_writing *w)
{
	struct plan_job *job = w->job;
	uint64_t n = job->model->n;
	w->tensors = ARENA_NEW(job->mem, n, struct apr_placed);
	w->index = arena_raw(job->mem, n, sizeof *w->index);
	if (w->tensors == NULL || w->index == NULL) {
		arena_err(job->mem, job->err, "apr: tensor table");
		return false;
	}
	for (uint64_t i = 0; i < n; i++)
		if (!choose(w, i))
			return false;
	for (uint64_t k = 0; k < w->n; k++)
		w->index[k] = &w->tensors[k];
	if (w->n > 1)
		qsort(w->index, (size_t)w->n, sizeof *w->index, by_name);
	for (uint64_t k = 1; k < w->n; k++) {
		if (view_eq(w->index[k - 1]->t->name, w->index[k]->t->name)) {
			err_set(job->err, TN_E_CORRUPT, TN_NO_OFFSET,
				"apr: two tensors are called '%s'", ESC(w->index[k]->t->name));
			return false;
		}
	}
	return true;
}

static bool place_all(struct apr_writing *w)
{
	uint64_t at = 0;
	for (uint64_t k = 0; k < w->n; k++) {
		struct apr_placed *p = &w->tensors[k];
		p->offset = at;
		if (!add_u64(at, stored(p), &at) || !align_up(at, APR_ALIGN, &at)) {
			err_set(w->job->err, TN_E_LIMIT, TN_NO_OFFSET,
				"apr: tensor '%s': offsets overflow 64 bits", ESC(p->t->name));
			return false;
		}
	}
	return true;
}

static int by_place(const void *a, const void *b)
{
	const struct apr_placed *const *x = a, *const *y = b;
	if ((*x)->offset != (*y)->offset)
		return (*x)->offset < (*y)->offset ? -1 : 1;
	uint64_t m = stored(*x), n = stored(*y);
	return m != n ? (m < n ? -1 : 1) : by_name(a, b);
}

/* Empty tensors that follow one another have one offset, and a reader finds those by name. The
 * order that another format gave them goes into the envelope. */
static bool keep_order(struct apr_writing *w)
{
	struct plan_job *job = w->job;
	uint64_t n = w->n;
	bool moved = false;
	if (!job->converted || n != job->model->n || n == 0)
		return true;
	struct apr_placed **read = arena_raw(job->mem, n, sizeof *read);
	uint64_t *order = read != NULL ? arena_raw(job->mem, n, sizeof *order) : NULL;
	if (order == NULL) {
		arena_err(job->mem, job->err, "apr: order of tensors");
		return false;
	}
	for (uint64_t k = 0; k < n; k++)
		read[k] = &w->tensors[k];
	qsort(read, (size_t)n, sizeof *read, by_place);
	for (uint64_t k = 0; k < n; k++) {
		order[k] = read[k]->i;
		moved = moved || order[k] != k;
	}
	w->env.order = moved ? order : NULL;
	return true;
}

/* ---- The bytes ---- */

static void put_u64(struct buf *out, uint64_t v)
{
	uint8_t bytes[8];
	put_le64(bytes, v);
	buf_put(out, bytes, sizeof bytes);
}

static void put_entry(struct buf *out, const struct apr_placed *p)
{
	uint8_t n[2], type[2] = { p->code, (uint8_t)p->rank };
	put_le16(n, (uint16_t)p->t->name.len);
	buf_put(out, n, sizeof n);
	buf_view(out, p->t->name);
	buf_put(out, type, sizeof type);
	for (uint32_t d = 0; d < p->rank; d++)
		put_u64(out, p->shape[d]);
	put_u64(out, p->offset);
	put_u64(out, stored(p));
}

static void pad(struct buf *out) { buf_fill(out, 0, (size_t)pad_to(out->len, APR_ALIGN)); }

/* What a file had beside tensors and metadata comes back, but no flag that would make readers
 * refuse this one. */
static void restore_header(const struct model *m, struct apr_header *h)
{
	const struct tn_meta *flags = apr_native(m, APR_NATIVE_FLAGS),
	                     *version = apr_native(m, APR_NATIVE_VERSION);
	const struct tn_meta *reserved = apr_native(m, APR_NATIVE_RESERVED);
	if (!tn_meta_u16(flags, &h->flags))
		h->flags = APR_ROW_MAJOR;
	h->flags &= (uint16_t)~(APR_COLUMN_MAJOR | APR_ENCRYPTED);
	h->flags |= APR_ROW_MAJOR;
	uint16_t v;
	if (!tn_meta_u16(version, &v))
		v = APR_MAJOR << 8 | APR_MINOR;
	h->major = (uint8_t)(v >> 8);
	h->minor = (uint8_t)v;
	if (reserved != NULL && reserved->type == TN_META_BYTES &&
	    reserved->as.s.len == APR_RESERVED)
		memcpy(h->reserved, reserved->as.s.ptr, APR_RESERVED);
}

/* Header, metadata and index, up to the data. */
static bool print_head(struct apr_writing *w, struct buf *out)
{
	struct plan_job *job = w->job;
	struct apr_header h = { .count = (uint32_t)w->n, .metadata_at = APR_HEADER };
	if (w->n > UINT32_MAX) {
		err_set(job->err, TN_E_LIMIT, TN_NO_OFFSET, "apr: %llu tensors, at most 2^32-1",
		        (unsigned long long)w->n);
		return false;
	}
	restore_header(job->model, &h);
	if (w->n_packed != 0) {
		h.flags &= (uint16_t)~(APR_LZ4 | APR_ZSTD);
		h.flags |= job->compress == TN_COMPRESS_LZ4 ? APR_LZ4 : APR_ZSTD;
	}
	buf_fill(out, 0, APR_HEADER);
	if (apr_print_metadata(w, out) != TN_OK)
		return false;
	uint64_t metadata = out->len - min_u64(out->len, APR_HEADER), limit = APR_METADATA_MAX;
	if (metadata > limit) {
		err_set(job->err, TN_E_LIMIT, TN_NO_OFFSET,
			"apr: %llu bytes of metadata, at most %llu", (unsigned long long)metadata,
		        (unsigned long long)limit);
		return false;
	}
	h.metadata_len = (uint32_t)metadata;
	pad(out);
	h.index_at = out->len;
	for (uint64_t k = 0; k < w->n; k++)
		put_entry(out, w->index[k]);
	pad(out);
	h.data_at = out->len;
	if (!out->failed)
		apr_header_put(&h, out->ptr);
	return true;
}

/* ---- The whole ---- */

static void note_align(const struct plan_job *job)
{
	if (job->align != 0 && APR_ALIGN % job->align != 0)
		report_add(job->report, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR,
		           "apr: data is aligned to %d, as the format has it", APR_ALIGN);
}

static void note_packing(const struct apr_writing *w)
{
	if (w->job->packed == NULL)
		return;
	report_add(w->job->report, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR,
	           "apr: compressed: %llu of %llu tensors; only this program reads these, all "
	           "others say that their dtype "
	           "is invalid",
	           (unsigned long long)w->n_packed, (unsigned long long)w->n);
}

static tn_code list_spans(struct apr_writing *w, tn_view head)
{
	struct plan *plan = w->job->plan;
	plan_bytes(plan, head);
	for (uint64_t k = 0; k < w->n; k++) {
		if (w->tensors[k].packing != NULL)
			plan_blocks(plan, w->tensors[k].i, w->tensors[k].packing);
		else
			plan_tensor(plan, w->tensors[k].i, w->tensors[k].t->nbytes);
		plan_align(plan, APR_ALIGN);
	}
	plan_crc(plan);
	return plan_ok(plan, w->job->err);
}

tn_code apr_plan(struct plan_job *job)
{
	struct apr_writing w = { .job = job };
	struct buf b;
	envelope_init(&w.env, job->mem, job->model);
	if (!choose_all(&w) || !place_all(&w) || !keep_order(&w))
		return job->err->code;
	note_align(job);
	note_packing(&w);
	buf_init(&b, job->mem->budget);
	if (!print_head(&w, &b)) {
		buf_fini(&b);
		return job->err->code;
	}
	tn_view head = buf_done(&b, job->mem);
	if (head.ptr == NULL)
		return arena_err(job->mem, job->err, "apr: metadata and index");
	return list_spans(&w, head);
}
