/* write.c - a model into the spans of a GGUF file of version 3, byte for byte as gguf-py and ggml
 * write the same content.
 *
 * A file that was read in big-endian order, or that ended with its last pair, is written so
 * again. */
#include "format/gguf/write.h"

#include "base/num.h"

/* ---- Alignment ---- */

static tn_code keep_alignment(struct writing *w, uint64_t align)
{
	struct tn_meta *node = meta_new(w->job->mem, TN_META_UINT);
	if (node == NULL)
		return arena_err(w->job->mem, w->job->err, GGUF ": metadata");
	node->width = 32;
	node->as.u = align;
	w->align = align;
	w->align_node = node;
	return TN_OK;
}

/* What was asked for, else what the model says, else 32, which needs no pair. */
static tn_code choose_alignment(struct writing *w)
{
	const struct tn_meta *own = meta_find(w->m->metadata, VIEW(ALIGNMENT_KEY));
	uint64_t align = w->job->align;
	w->align = GGUF_ALIGN;
	if (align != 0 && !gguf_align_ok(align))
		return err_set(w->job->err, TN_E_USAGE, TN_NO_OFFSET,
		               GGUF ": alignment %llu is no power of two up to %d",
		               (unsigned long long)align, GGUF_ALIGN_MAX);
	if (align != 0)
		return align == GGUF_ALIGN && own == NULL ? TN_OK : keep_alignment(w, align);
	if (own == NULL)
		return TN_OK;
	if (tn_meta_u64(own, &align) && own->type != TN_META_FLOAT && gguf_align_ok(align))
		return keep_alignment(w, align);
	job_lossy(w->job, NO_TENSOR,
	          GGUF ": metadata '" ALIGNMENT_KEY "' is no power of two up to %d",
	          GGUF_ALIGN_MAX);
	return keep_alignment(w, GGUF_ALIGN);
}

/* ---- What readers expect ---- */

static void note(struct writing *w, const char *text)
{
	report_add(w->job->report, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR, GGUF ": %s", text);
}

static void note_missing(struct writing *w)
{
	bool quantised = false;
	for (uint64_t i = 0; i < w->m->n; i++)
		quantised = quantised || dtype_info(w->m->tensors[i].dtype)->class == DTYPE_BLOCK;
	if (w->job->rewrite)
		return;
	if (meta_find(w->m->metadata, VIEW("general.architecture")) == NULL)
		note(w,
		     "metadata has no 'general.architecture', without which llama.cpp does not "
		     "run a model");
	if (quantised && meta_find(w->m->metadata, VIEW("general.quantization_version")) == NULL)
		note(w,
		     "metadata has no 'general.quantization_version', which the format asks for "
		     "with quantised tensors");
}

/* ---- Slack ---- */

static uint64_t slack_pair_size(void) { return 8 + sizeof SLACK_KEY - 1 + 4 + 4 + 8; }

/* A pair that holds nothing makes up for what an edit takes away or needs, so that the data stay
 * where they are. */
static void fit(struct writing *w, uint64_t head)
{
	uint64_t want = w->job->fit, whole = head + slack_pair_size(), end;
	if (w->has_slack && add_u64(whole, w->slack, &end) && align_up(end, w->align, &end) &&
	    end == want)
		return;
	w->has_slack = (!align_up(head, w->align, &end) || end != want) && whole <= want;
	w->slack = w->has_slack ? want - whole : 0;
}

static void choose_slack(struct writing *w, uint64_t head)
{
	w->has_slack = w->job->slack != 0 || tn_meta_u64(gguf_own(w->m->native, NATIVE_SLACK),
	                                                 &w->slack);
	if (w->job->slack != 0)
		w->slack = w->job->slack;
	w->slack = min_u64(w->slack, GGUF_ARRAY_MAX);
	if (w->job->fit != 0)
		fit(w, head);
}

static void put_slack(const struct writing *w, struct gout *o)
{
	gout_string(o, VIEW(SLACK_KEY));
	gout_number(o, VALUE_ARRAY, 32);
	gout_number(o, VALUE_U8, 32);
	gout_number(o, w->slack, 64);
	buf_fill(&o->b, 0, (size_t)w->slack);
}

/* ---- The file ---- */

static void put_head(const struct writing *w, struct gout *o)
{
	o->b.len = 0;
	buf_text(&o->b, GGUF_MAGIC);
	gout_number(o, GGUF_VERSION, 32);
	gout_number(o, w->n, 64);
	gout_number(o, w->n_pairs + w->has_slack, 64);
	gguf_put_pairs(w, o);
	if (w->has_slack)
		put_slack(w, o);
	gguf_put_infos(w, o);
}

static tn_code print_head(struct writing *w, tn_view *head)
{
	struct gout o = { .big = w->big };
	buf_init(&o.b, w->job->mem->budget);
	put_head(w, &o);
	choose_slack(w, o.b.len);
	if (w->has_slack)
		put_head(w, &o);
	*head = buf_done(&o.b, w->job->mem);
	return head->ptr != NULL ? TN_OK : arena_err(w->job->mem, w->job->err, GGUF ": header");
}

/* How long a tensor of an unknown type is, only the next one that begins behind it or the end of the file says, unless it has
 * no elements: padding would become its own, and from one without bytes the next one would not be told apart. */
static bool keeps_length(const struct writing *w, const struct tensor *t)
{
	return shape_is_empty(t->rank, t->shape) || (t->nbytes != 0 && pad_to(t->nbytes, w->align) == 0);
}

/* Behind the last one, where it is of an unknown type, there can be no padding. */
static void pad_tensor(const struct writing *w, uint64_t k)
{
	const struct tensor *t = &w->m->tensors[w->tensors[k].i];
	bool last = k + 1 == w->n, unknown = w->tensors[k].unknown;
	if (unknown && !last && !keeps_length(w, t))
		job_lossy(w->job, t->name, GGUF ": a tensor of an unknown type becomes longer by its padding, or by the next one");
	if (!unknown || !last)
		plan_align(w->job->plan, w->align);
}

static void list_spans(const struct writing *w, tn_view head)
{
	struct plan *plan = w->job->plan;
	plan_bytes(plan, head);
	if (w->n == 0 && gguf_flag(w->m, NATIVE_UNPADDED))
		return;
	plan_align(plan, w->align);
	for (uint64_t k = 0; k < w->n; k++) {
		const struct placed *p = &w->tensors[k];
		uint64_t nbytes = w->m->tensors[p->i].nbytes;
		if (p->swap)
			plan_tensor_big_endian(plan, p->i, nbytes);
		else
			plan_tensor(plan, p->i, nbytes);
		pad_tensor(w, k);
	}
}

tn_code gguf_plan(struct plan_job *job)
{
	struct writing w = { .job = job, .m = job->model };
	tn_view head;
	w.big = job->endian == TN_ENDIAN_KEEP ? gguf_flag(w.m, NATIVE_BIG_ENDIAN)
	                                      : job->endian == TN_ENDIAN_BIG;
	envelope_init(&w.env, job->mem, job->model);
	if (choose_alignment(&w) != TN_OK || gguf_choose_tensors(&w) != TN_OK ||
	    gguf_collect_pairs(&w) != TN_OK ||
	    gguf_add_envelope(&w) != TN_OK || print_head(&w, &head) != TN_OK)
		return job->err->code;
	note_missing(&w);
	list_spans(&w, head);
	return plan_ok(job->plan, job->err);
}
