/* write.c - from a model to the spans of a file, byte for byte as upstream's writer lays them out.
 *
 * Tensors stand in the order given, each at a multiple of 256 from the base; the maps of the metadata are sorted by
 * name. What burnpack has no place for is collected into an envelope, which travels as a metadata string.
 * write_metadata.c prepares the two maps that people fill. */
#include "format/burnpack/write.h"

#include "base/utf8.h"
#include "codec/cbor.h"
#include "format/burnpack/unknown.h"

#include <stdlib.h>

/* ---- What becomes of a tensor ---- */

/* The CBOR of a dtype that was not known when the tensor was read from a pack; ptr is NULL when it was not. */
static tn_view own_dtype(const struct tensor *t)
{
	const struct tn_meta *cbor = tn_meta_find(tn_meta_find(t->extras, VIEW(PACK)), VIEW(EXTRA_DTYPE));
	return tn_meta_kind(cbor) == TN_META_BYTES ? cbor->as.s : (tn_view){ NULL, 0 };
}

/* False: it cannot be held as it is. *err says so when the model itself is at fault. */
static bool holds_qfloat(struct writing *w, const struct tensor *t)
{
	struct plan_job *job = w->job;
	const struct tn_meta *qfloat = tn_meta_find(t->extras, VIEW("qfloat"));
	struct scheme s;
	const char *why = qfloat != NULL ? scheme_from_meta(qfloat, &s) : "is missing";
	if (why == NULL && !scheme_packs(&s, t->rank))
		why = "packs a dimension that the tensor does not have";
	if (why != NULL) {
		err_set(job->err, TN_E_USAGE, TN_NO_OFFSET, "burnpack: tensor '%s': qfloat: %s", ESC(t->name), why);
		return false;
	}
	if (s.layout == LAYOUT_RECTANGLES && !scheme_fits(&s, t->rank, t->shape, t->nbytes))
		report_add(job->report, TN_WARNING, TN_E_CORRUPT, TN_NO_OFFSET, t->name,
		           "burnpack: the payload has %llu bytes, its scheme asks for another number",
		           (unsigned long long)t->nbytes);
	/* the current members claim rectangles: an old file of another layout must not be given them */
	return s.layout == LAYOUT_RECTANGLES;
}

static bool holds_dtype(struct writing *w, const struct tensor *t)
{
	if (t->dtype == TN_QFLOAT)
		return holds_qfloat(w, t);
	if (t->dtype == TN_OPAQUE) /* what a reader of packs did not know goes back as it came */
		return unknown_is_dtype(own_dtype(t), w->job->mem);
	return t->dtype == TN_BOOL || t->dtype == TN_BOOL_U8 || t->dtype == TN_BOOL_U32 || pack_dtype_name(t->dtype) != NULL;
}

static tn_code check_length(struct writing *w, const struct tensor *t)
{
	tn_error why = { .code = TN_OK };
	uint64_t want;
	if (t->dtype == TN_QFLOAT || t->dtype == TN_OPAQUE)
		return TN_OK;
	if (dtype_bytes(t->dtype, BLOCK_FLAT, t->rank, t->shape, &want, &why) != TN_OK)
		return err_set(w->job->err, why.code, TN_NO_OFFSET, "burnpack: tensor '%s': %s", ESC(t->name), why.msg);
	if (want == t->nbytes || dtype_takes_padded(t->dtype, t->rank, t->shape, t->nbytes))
		return TN_OK;
	return err_set(w->job->err, TN_E_CORRUPT, TN_NO_OFFSET, "burnpack: tensor '%s': %llu bytes, its shape takes %llu",
	               ESC(t->name), (unsigned long long)t->nbytes, (unsigned long long)want);
}

/* param_id and the type have a place of their own; members that a reader did not know stay only on request. */
static bool extra_has_place(const struct tn_meta *x, const struct tensor *t, bool carried)
{
	if (view_is(x->key, "param_id"))
		return x->type == TN_META_UINT && x->width == 64;
	if (view_is(x->key, "qfloat"))
		return !carried && t->dtype == TN_QFLOAT;
	if (view_is(x->key, PACK))
		return !carried && x->type == TN_META_MAP;
	return view_is(x->key, "unknown") && x->type == TN_META_MAP;
}

static uint64_t unknown_in_scheme(const struct tensor *t)
{
	struct scheme s;
	scheme_from_meta(tn_meta_find(t->extras, VIEW("qfloat")), &s);
	return scheme_unknown(&s);
}

static void look_at_extras(struct writing *w, uint64_t i, bool carried)
{
	const struct tensor *t = &w->job->model->tensors[i];
	bool all = true;
	if (t->extras == NULL)
		return;
	for (const struct tn_meta *x = t->extras->as.kids.first; x != NULL; x = x->next)
		all = all && extra_has_place(x, t, carried);
	if (!all)
		envelope_tensor(&w->env, i, ENV_EXTRAS);
	w->n_unknown += tn_meta_count(tn_meta_find(t->extras, VIEW("unknown")));
	if (t->dtype == TN_QFLOAT && !carried)
		w->n_unknown += unknown_in_scheme(t);
}

static void not_held(struct writing *w, const struct tensor *t)
{
	if (t->dtype == TN_QFLOAT)
		job_lossy(w->job, t->name, "burnpack: there is no scheme of this kind; --carry keeps its bytes as u8");
	else
		job_lossy(w->job, t->name, "burnpack: there is no dtype %s; --carry keeps its bytes as u8",
		          t->dtype == TN_OPAQUE ? ESC(t->dtype_text) : dtype_info(t->dtype)->name);
}

static tn_code choose(struct writing *w, uint64_t i)
{
	struct plan_job *job = w->job;
	const struct tensor *t = &job->model->tensors[i];
	bool held = holds_dtype(w, t);
	if (job->err->code != TN_OK || check_length(w, t) != TN_OK)
		return job->err->code;
	if (!utf8_ok(t->name)) {
		job_lossy(job, t->name, "burnpack: a name that is not UTF-8 cannot be held");
		return TN_OK;
	}
	if (!held && !job_carries(job, t)) {
		not_held(w, t);
		return TN_OK;
	}
	if (!held)
		envelope_tensor(&w->env, i, ENV_DTYPE | ENV_SHAPE);
	look_at_extras(w, i, !held);
	w->tensors[w->n++] = (struct placed){ .t = t, .i = i, .carried = !held };
	return TN_OK;
}

static int by_name(const void *a, const void *b)
{
	const struct placed *const *x = a, *const *y = b;
	return view_cmp((*x)->t->name, (*y)->t->name);
}

static bool is_sorted(const struct writing *w)
{
	for (uint64_t k = 1; k < w->n; k++)
		if (view_cmp(w->index[k - 1]->t->name, w->index[k]->t->name) > 0)
			return false;
	return true;
}

static tn_code choose_tensors(struct writing *w)
{
	struct plan_job *job = w->job;
	const struct model *m = job->model;
	w->tensors = ARENA_NEW(job->mem, m->n, struct placed);
	if (w->tensors == NULL || (w->index = arena_raw(job->mem, m->n, sizeof *w->index)) == NULL)
		return arena_err(job->mem, job->err, "burnpack: tensor table");
	for (uint64_t i = 0; i < m->n; i++)
		if (choose(w, i) != TN_OK)
			return job->err->code;
	for (uint64_t k = 0; k < w->n; k++)
		w->index[k] = &w->tensors[k];
	if (!is_sorted(w))
		qsort(w->index, (size_t)w->n, sizeof *w->index, by_name);
	for (uint64_t k = 1; k < w->n; k++)
		if (view_eq(w->index[k - 1]->t->name, w->index[k]->t->name))
			return err_set(job->err, TN_E_CORRUPT, TN_NO_OFFSET, "burnpack: two tensors are called '%s'",
			               ESC(w->index[k]->t->name));
	return TN_OK;
}

/* Offsets count from the base, so they do not depend on the length of the metadata. */
static tn_code place_tensors(struct writing *w)
{
	uint64_t at = 0;
	for (uint64_t k = 0; k < w->n; k++) {
		struct placed *p = &w->tensors[k];
		if (!align_up(at, PACK_ALIGN, &p->start) || !add_u64(p->start, p->t->nbytes, &p->end))
			return err_set(w->job->err, TN_E_LIMIT, TN_NO_OFFSET, "burnpack: tensor '%s': offsets overflow 64 bits",
			               ESC(p->t->name));
		at = p->end;
	}
	return TN_OK;
}

/* Empty tensors that follow one another have one offset, and a reader finds those by name. The order that
 * another format gave them goes into the envelope. */
static tn_code keep_order(struct writing *w)
{
	struct plan_job *job = w->job;
	uint64_t n = w->n, end;
	bool moved = false;
	if (!job->converted || n != job->model->n)
		return TN_OK;
	struct placed **read = arena_raw(job->mem, n, sizeof *read);
	uint64_t *order = read != NULL ? arena_raw(job->mem, n, sizeof *order) : NULL;
	if (order == NULL)
		return arena_err(job->mem, job->err, "burnpack: order of tensors");
	for (uint64_t k = 0; k < n; k++)
		read[k] = &w->tensors[k];
	for (uint64_t k = 0; k < n; k = end) {
		for (end = k + 1; end < n && read[end]->end == read[k]->start; end++)
			;
		qsort(read + k, (size_t)(end - k), sizeof *read, by_name);
	}
	for (uint64_t k = 0; k < n; k++) {
		order[k] = read[k]->i;
		moved = moved || order[k] != k;
	}
	w->env.order = moved ? order : NULL;
	return TN_OK;
}

/* ---- CBOR ---- */

static void put_dtype(const struct writing *w, const struct placed *p, struct buf *out)
{
	const struct tensor *t = p->t;
	struct scheme s;
	if (!p->carried && t->dtype == TN_QFLOAT) {
		scheme_from_meta(tn_meta_find(t->extras, VIEW("qfloat")), &s);
		if (!w->job->keep_unknown)
			memset(s.unknown, 0, sizeof s.unknown);
		scheme_put(&s, out);
		return;
	}
	if (!p->carried && t->dtype == TN_OPAQUE) {
		buf_view(out, own_dtype(t));
		return;
	}
	const char *name = p->carried ? "U8" : pack_dtype_name(t->dtype);
	if (name == NULL) {
		cbor_put_map(out, 1);
		cbor_put_text(out, VIEW("Bool"));
		name = t->dtype == TN_BOOL ? "Native" : t->dtype == TN_BOOL_U8 ? "U8" : "U32";
	}
	cbor_put_text(out, tn_text(name));
}

static void put_shape(const struct placed *p, struct buf *out)
{
	if (p->carried) {
		cbor_put_array(out, 1);
		cbor_put_uint(out, p->t->nbytes);
		return;
	}
	cbor_put_array(out, p->t->rank);
	for (uint32_t d = 0; d < p->t->rank; d++)
		cbor_put_uint(out, p->t->shape[d]);
}

static const struct tn_meta *unknown_in(const struct writing *w, const struct tn_meta *map)
{
	return w->job->keep_unknown ? tn_meta_find(map, VIEW("unknown")) : NULL;
}

static void put_tensor(const struct writing *w, const struct placed *p, struct buf *out)
{
	const struct tn_meta *id = tn_meta_find(p->t->extras, VIEW("param_id"));
	const struct tn_meta *unknown = unknown_in(w, p->t->extras);
	uint64_t param_id;
	bool has_id = tn_meta_u64(id, &param_id);
	cbor_put_text(out, p->t->name);
	cbor_put_map(out, (has_id ? 4u : 3u) + unknown_count(unknown, UNKNOWN_IN_TENSOR));
	cbor_put_text(out, VIEW("dtype"));
	put_dtype(w, p, out);
	cbor_put_text(out, VIEW("shape"));
	put_shape(p, out);
	cbor_put_text(out, VIEW("data_offsets"));
	cbor_put_array(out, 2);
	cbor_put_uint(out, p->start);
	cbor_put_uint(out, p->end);
	if (has_id) {
		cbor_put_text(out, VIEW("param_id"));
		cbor_put_uint(out, param_id);
	}
	unknown_put(unknown, UNKNOWN_IN_TENSOR, out);
}

static void put_root(const struct writing *w, struct buf *out)
{
	const struct tn_meta *native = meta_find(w->job->model->native, VIEW("burnpack"));
	const struct tn_meta *unknown = unknown_in(w, native);
	cbor_put_map(out, 1u + (w->strings.n != 0) + (w->scalars.n != 0) + unknown_count(unknown, UNKNOWN_IN_ROOT));
	cbor_put_text(out, VIEW("tensors"));
	cbor_put_map(out, w->n);
	for (uint64_t k = 0; k < w->n; k++)
		put_tensor(w, w->index[k], out);
	pack_put_metadata(w, out);
	unknown_put(unknown, UNKNOWN_IN_ROOT, out);
}

/* ---- The whole ---- */

static void note_unknown(const struct writing *w)
{
	const struct tn_meta *native = meta_find(w->job->model->native, VIEW("burnpack"));
	uint64_t n = w->n_unknown + tn_meta_count(tn_meta_find(native, VIEW("unknown")));
	if (n != 0 && !w->job->keep_unknown)
		report_add(w->job->report, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR,
		           "burnpack: unknown members, left out: %llu", (unsigned long long)n);
}

/* The writer enforces no limit of the reader, as upstream has it; but a file that few will open is worth a word. */
static void warn_of_limits(const struct writing *w, uint64_t metadata)
{
	struct tn_report *report = w->job->report;
	if (w->n > PACK_MAX_TENSORS)
		report_add(report, TN_WARNING, TN_E_LIMIT, TN_NO_OFFSET, NO_TENSOR, "burnpack: readers refuse more than %d tensors",
		           PACK_MAX_TENSORS);
	if (metadata > PACK_MAX_METADATA)
		report_add(report, TN_WARNING, TN_E_LIMIT, TN_NO_OFFSET, NO_TENSOR, "burnpack: readers refuse more than %d bytes "
		           "of metadata", PACK_MAX_METADATA);
	for (uint64_t k = 0; k < w->n; k++)
		if (w->tensors[k].t->nbytes > PACK_MAX_TENSOR_BYTES)
			report_add(report, TN_WARNING, TN_E_LIMIT, TN_NO_OFFSET, w->tensors[k].t->name,
			           "burnpack: readers refuse tensors of more than %llu bytes", (unsigned long long)PACK_MAX_TENSOR_BYTES);
	if (w->job->align != 0 && PACK_ALIGN % w->job->align != 0)
		report_add(report, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR, "burnpack: data is aligned to %d, as the format has it",
		           PACK_ALIGN);
}

static void list_spans(const struct writing *w, tn_view head)
{
	struct plan *plan = w->job->plan;
	plan_bytes(plan, head);
	plan_align(plan, PACK_ALIGN);
	for (uint64_t k = 0; k < w->n; k++) {
		plan_align(plan, PACK_ALIGN);
		plan_tensor(plan, w->tensors[k].i, w->tensors[k].t->nbytes);
	}
}

/* Header and metadata, in one piece. */
static tn_code print_head(struct writing *w, tn_view *out)
{
	struct plan_job *job = w->job;
	struct buf b;
	buf_init(&b, job->mem->budget);
	buf_text(&b, PACK_MAGIC);
	buf_fill(&b, 0, PACK_HEADER - 4);
	put_root(w, &b);
	uint64_t metadata = b.failed ? 0 : b.len - PACK_HEADER;
	if (metadata > UINT32_MAX) {
		buf_fini(&b);
		return err_set(job->err, TN_E_LIMIT, TN_NO_OFFSET, "burnpack: %llu bytes of metadata, at most 4 GiB - 1",
		               (unsigned long long)metadata);
	}
	if (!b.failed) {
		put_le16(b.ptr + 4, PACK_VERSION);
		put_le32(b.ptr + 6, (uint32_t)metadata);
	}
	*out = buf_done(&b, job->mem);
	warn_of_limits(w, metadata);
	return out->ptr != NULL ? TN_OK : arena_err(job->mem, job->err, "burnpack: metadata");
}

tn_code pack_plan(struct plan_job *job)
{
	struct writing w = { .job = job };
	tn_view head;
	envelope_init(&w.env, job->mem, job->model);
	if (choose_tensors(&w) != TN_OK || place_tensors(&w) != TN_OK || keep_order(&w) != TN_OK)
		return job->err->code;
	note_unknown(&w);
	if (pack_collect_metadata(&w) != TN_OK || print_head(&w, &head) != TN_OK)
		return job->err->code;
	list_spans(&w, head);
	return plan_ok(job->plan, job->err);
}
