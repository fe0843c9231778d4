/* write.c - a model into an archive: pages, the manifest's other members, the order of the bytes, the envelope. */
#include "format/thin/write.h"

#include <stdlib.h>

bool write_no_memory(struct writing *w)
{
	arena_err(w->job->mem, w->job->err, THIN ": pages");
	return false;
}

const struct tn_meta *write_native(const struct writing *w, const char *key, tn_meta_type type)
{
	const struct tn_meta *n = w->native != NULL ? tn_meta_find(w->native, tn_text(key)) : NULL;
	return n != NULL && n->type == type ? n : NULL;
}

/* ---- Blobs ---- */

static struct piece piece_of(const struct writing *w, uint64_t i)
{
	const struct tensor *t = &w->m->tensors[i];
	return (struct piece){ .source = i, .len = t->nbytes, .page = w->tensors[i].page, .known = t->digest };
}

static uint64_t page_named(const struct writing *w, tn_view id)
{
	uint64_t i = 0;
	strmap_find(&w->page_ids, write_page_id, w->man.pages, id, &i);
	return i;
}

static bool add_blob(struct writing *w, uint64_t page, const uint64_t *tensors, uint64_t n)
{
	struct piece *pieces = arena_raw(w->job->mem, n, sizeof *pieces);
	if (pieces == NULL)
		return write_no_memory(w);
	for (uint64_t k = 0; k < n; k++)
		pieces[k] = piece_of(w, tensors[k]);
	w->blobs[w->n_blobs++] = (struct blob){ .page = page, .pieces = pieces, .n = n };
	return true;
}

/* In the order of the tensors; a fused page stands where its first slice does. */
static bool list_blobs(struct writing *w)
{
	w->blobs = arena_raw(w->job->mem, w->m->n, sizeof *w->blobs);
	if (w->blobs == NULL)
		return write_no_memory(w);
	for (uint64_t i = 0; i < w->m->n; i++) {
		const struct written *t = &w->tensors[i];
		const struct fused *f = t->there && t->fused != UINT64_MAX ? &w->fused[t->fused] : NULL;
		if (!t->there || t->alias || (f != NULL && f->tensors[0] != i))
			continue;
		bool ok = f != NULL ? add_blob(w, page_named(w, f->page.id), f->tensors, f->n) : add_blob(w, t->page, &i, 1);
		if (!ok)
			return false;
	}
	return true;
}

/* ---- The page table's order, where it is another ---- */

static bool order_table(struct writing *w)
{
	const struct tn_meta *list = write_native(w, NATIVE_TABLE, TN_META_ARRAY);
	if (list == NULL || list->is_raw)
		return true;
	uint64_t *blob_of = arena_raw(w->job->mem, w->man.n_pages, sizeof *blob_of), n = 0, page;
	w->table = arena_raw(w->job->mem, w->n_blobs, sizeof *w->table);
	if (blob_of == NULL || w->table == NULL)
		return write_no_memory(w);
	for (uint64_t i = 0; i < w->man.n_pages; i++)
		blob_of[i] = UINT64_MAX;
	for (uint64_t i = 0; i < w->n_blobs; i++)
		blob_of[w->blobs[i].page] = i;
	for (const struct tn_meta *x = list->as.kids.first; x != NULL; x = x->next) {
		if (x->type != TN_META_STRING || !strmap_find(&w->page_ids, write_page_id, w->man.pages, x->as.s, &page) ||
		    blob_of[page] == UINT64_MAX)
			continue;
		w->table[n++] = blob_of[page];
		blob_of[page] = UINT64_MAX;
	}
	for (uint64_t i = 0; i < w->n_blobs; i++)
		if (blob_of[w->blobs[i].page] != UINT64_MAX)
			w->table[n++] = i;
	return true;
}

/* ---- The order in which reading gives the tensors ---- */

struct place {
	uint64_t blob, off, size, page, tensor;
};

static int by_place(const void *a, const void *b)
{
	const uint64_t *x = (const uint64_t *)a, *y = (const uint64_t *)b;
	for (int i = 0; i < 4; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

static void set_places(const struct writing *w, uint64_t *blob_of, struct place *places)
{
	for (uint64_t b = 0; b < w->n_blobs; b++) {
		blob_of[w->blobs[b].page] = b;
		for (uint64_t k = 0, off = 0; k < w->blobs[b].n; off += w->blobs[b].pieces[k++].len) {
			const struct piece *p = &w->blobs[b].pieces[k];
			places[p->source] = (struct place){ b, off, p->len, p->page, p->source };
		}
	}
	for (uint64_t i = 0; i < w->m->n; i++) {
		const struct page *p = &w->man.pages[w->tensors[i].page];
		if (w->tensors[i].alias)
			places[i] = (struct place){ blob_of[page_named(w, p->fused_to)], p->fused_offset, p->size, w->tensors[i].page, i };
	}
}

/* Slices may stand in another order than the model has them; the envelope tells then. */
static bool keep_order(struct writing *w)
{
	bool some = false, all = true;
	for (uint64_t i = 0; i < w->m->n; i++) {
		all = all && w->tensors[i].there;
		some = some || w->tensors[i].alias || w->tensors[i].fused != UINT64_MAX;
	}
	if (w->job->rewrite || !all || !some)
		return true;
	uint64_t *blob_of = ARENA_NEW(w->job->mem, w->man.n_pages, uint64_t);
	struct place *places = ARENA_NEW(w->job->mem, w->m->n, struct place);
	uint64_t *order = arena_raw(w->job->mem, w->m->n, sizeof *order);
	if (blob_of == NULL || places == NULL || order == NULL)
		return write_no_memory(w);
	set_places(w, blob_of, places);
	qsort(places, (size_t)w->m->n, sizeof *places, by_place);
	bool same = true;
	for (uint64_t i = 0; i < w->m->n; i++) {
		order[i] = places[i].tensor;
		same = same && order[i] == i;
	}
	w->env.order = same ? NULL : order;
	return true;
}

/* ---- The whole ---- */

static bool put_envelope(struct writing *w)
{
	tn_view text;
	if (job_hide_namesake(w->job, &w->env, VIEW(THIN_ENVELOPE_KEY)))
		w->man.envelope = (tn_view){ NULL, 0 };
	if (job_envelope(w->job, &w->env, THIN, &text) != TN_OK)
		return false;
	if (text.len != 0)
		w->man.envelope = text;
	return true;
}

/* Upstream's writer refuses what its validator does. */
static bool judge(struct writing *w)
{
	struct tn_report said;
	report_init(&said);
	bool ok = manifest_judge(&w->man, w->job->mem, &said) || write_no_memory(w);
	for (size_t i = 0; ok && i < said.n; i++) {
		if (said.list[i].severity != TN_ERROR)
			continue;
		err_set(w->job->err, TN_E_CORRUPT, TN_NO_OFFSET, "%s: no reader would take such a file", said.list[i].text);
		ok = false;
	}
	report_fini(&said);
	return ok;
}

static uint64_t alignment(const struct writing *w)
{
	const struct tn_meta *own = write_native(w, NATIVE_ALIGN, TN_META_UINT);
	if (w->job->align != 0)
		return w->job->align;
	return own != NULL && is_power_of_two(own->as.u) && own->as.u <= UINT64_C(1) << 30 ? own->as.u : 1;
}

static bool lay_out(struct writing *w)
{
	struct plan_job *job = w->job;
	struct archive *a = ARENA_NEW(job->mem, 1, struct archive);
	struct manifest *m = ARENA_NEW(job->mem, 1, struct manifest);
	if (a == NULL || m == NULL)
		return write_no_memory(w);
	*m = w->man;
	*a = (struct archive){
		.mem = job->mem, .plan = job->plan, .err = job->err, .m = m, .blobs = w->blobs, .n = w->n_blobs,
		.table = w->table, .align = alignment(w),
	};
	job->own = a;
	return archive_plan(a) == TN_OK;
}

tn_code thin_plan(struct plan_job *job)
{
	struct writing w = { .job = job, .m = job->model };
	if (job->align != 0 && (!is_power_of_two(job->align) || job->align > UINT64_C(1) << 30))
		return err_set(job->err, TN_E_USAGE, TN_NO_OFFSET, THIN ": alignment %llu is no power of two up to 2^30",
		               (unsigned long long)job->align);
	envelope_init(&w.env, job->mem, job->model);
	if (!write_pages(&w))
		return job->err->code;
	if (w.man.n_pages == 0) /* a loss that cannot be allowed: nothing would be left */
		return job->allow_loss ? err_set(job->err, TN_E_UNSUPPORTED, TN_NO_OFFSET, THIN ": no tensor is left to be written")
		                       : TN_OK;
	bool ok = write_model(&w) && write_tape(&w) && write_memory_plan(&w) && list_blobs(&w) && order_table(&w) &&
	          keep_order(&w) && put_envelope(&w) && judge(&w) && lay_out(&w);
	return ok ? TN_OK : job->err->code;
}

tn_code thin_seal(struct plan_job *job, struct sink *out)
{
	return archive_seal(job->own, out);
}
