/* tape.c - from the names on an execution tape to tensors.
 *
 * A page that is the sum of its slices is no tensor of the model, but the tape of an archive may name it: then its slices
 * are used, one after the other. That makes many steps of a few bytes, so there is a limit to it. */
#include "api/tape.h"

#include "base/num.h"

enum { SLICE_STEPS_MAX = 1 << 20 };

/* A page that is the sum of slices[first] and those behind. */
struct fused {
	tn_view  id;
	uint64_t size;  /* 0: not stated */
	size_t   first, n;
	bool     whole; /* they are all there, end to end */
};

struct tape {
	const tn_file *f;
	struct arena  *mem;
	tn_error      *err;
	struct fused  *fused;
	size_t         n_fused;
	struct strmap  ids;     /* over fused */
	size_t        *slices;  /* tensors */
	size_t         tensor;  /* what a name that is a tensor's stands for */
	tn_step       *steps;   /* NULL while they are counted */
	size_t         n, of_slices;
};

static tn_code no_memory(struct tape *t)
{
	return arena_err(t->mem, t->err, "the steps of the tape");
}

static const tn_meta *list_in(const tn_file *f, const char *key)
{
	const tn_meta *list = tn_meta_find(tn_meta_find(f->model.native, VIEW("thin")), tn_text(key));
	return list != NULL && tn_meta_kind(list) == TN_META_ARRAY ? list : NULL;
}

/* ---- Fused pages ---- */

static tn_view fused_id(const void *fused, uint64_t i) { return ((const struct fused *)fused)[i].id; }

static tn_code list_pages(struct tape *t)
{
	const tn_meta *list = list_in(t->f, "fused");
	uint64_t n = list != NULL ? tn_meta_count(list) : 0, other;
	t->fused = ARENA_NEW(t->mem, n, struct fused);
	if (t->fused == NULL || !strmap_init(&t->ids, t->mem, n))
		return no_memory(t);
	if (list == NULL)
		return TN_OK;
	tn_meta_iter it = tn_meta_items(list);
	for (const tn_meta *page; (page = tn_meta_next(&it)) != NULL; ) {
		struct fused *f = &t->fused[t->n_fused];
		tn_meta_u64(tn_meta_find(page, VIEW("size")), &f->size);
		if (tn_meta_string(tn_meta_find(page, VIEW("id")), &f->id) &&
		    strmap_add(&t->ids, fused_id, t->fused, t->n_fused, &other))
			t->n_fused++;
	}
	return TN_OK;
}

/* The fused page that the tensor is a slice of; NULL when there is none. */
static struct fused *parent_of(const struct tape *t, uint64_t tensor)
{
	tn_view id;
	uint64_t i;
	if (!tn_meta_string(tn_meta_find(t->f->model.tensors[tensor].extras, VIEW("fused_to")), &id) ||
	    !strmap_find(&t->ids, fused_id, t->fused, id, &i))
		return NULL;
	return &t->fused[i];
}

/* Tensors stand in the order of their data, and so do slices. */
static void judge(const struct tape *t, struct fused *f)
{
	uint64_t at = 0, off;
	f->whole = f->n != 0;
	for (size_t i = 0; f->whole && i < f->n; i++) {
		const struct tensor *slice = &t->f->model.tensors[t->slices[f->first + i]];
		f->whole = tn_meta_u64(tn_meta_find(slice->extras, VIEW("fused_offset")), &off) && off == at &&
		           add_u64(at, slice->nbytes, &at);
	}
	f->whole = f->whole && (f->size == 0 || f->size == at);
}

static tn_code list_slices(struct tape *t)
{
	const struct model *m = &t->f->model;
	struct fused *parent;
	if (list_pages(t) != TN_OK || t->n_fused == 0)
		return t->err->code;
	for (uint64_t i = 0; i < m->n; i++)
		if ((parent = parent_of(t, i)) != NULL)
			parent->n++;
	for (size_t k = 1; k < t->n_fused; k++)
		t->fused[k].first = t->fused[k - 1].first + t->fused[k - 1].n;
	t->slices = arena_raw(t->mem, m->n, sizeof *t->slices);
	if (t->slices == NULL)
		return no_memory(t);
	for (size_t k = 0; k < t->n_fused; k++)
		t->fused[k].n = 0;
	for (uint64_t i = 0; i < m->n; i++)
		if ((parent = parent_of(t, i)) != NULL)
			t->slices[parent->first + parent->n++] = (size_t)i;
	for (size_t k = 0; k < t->n_fused; k++)
		judge(t, &t->fused[k]);
	return TN_OK;
}

/* ---- Names ---- */

/* The tensors that a name stands for; how many there are. 0: it stands for none. */
static size_t resolve(struct tape *t, tn_view name, const size_t **out)
{
	uint64_t i;
	if (strmap_find(&t->f->names, model_name_at, &t->f->model, name, &i)) {
		t->tensor = (size_t)i;
		*out = &t->tensor;
		return 1;
	}
	if (!strmap_find(&t->ids, fused_id, t->fused, name, &i) || !t->fused[i].whole)
		return 0;
	*out = &t->slices[t->fused[i].first];
	t->of_slices += t->fused[i].n;
	return t->fused[i].n;
}

static void add_step(struct tape *t, tn_view stage, tn_view op, size_t tensor)
{
	if (t->steps != NULL)
		t->steps[t->n] = (tn_step){ .stage = stage, .op = op, .tensor = tensor, .nbytes = t->f->model.tensors[tensor].nbytes };
	t->n++;
}

static tn_code add_stage(struct tape *t, const tn_meta *stage)
{
	tn_view name = { 0 }, op = { 0 }, ref;
	tn_meta_string(tn_meta_find(stage, VIEW("stage")), &name);
	tn_meta_string(tn_meta_find(stage, VIEW("operator")), &op);
	tn_meta_iter it = tn_meta_items(tn_meta_find(stage, VIEW("page_refs")));
	for (const tn_meta *item; (item = tn_meta_next(&it)) != NULL; ) {
		const size_t *tensors;
		if (!tn_meta_string(item, &ref))
			ref = (tn_view){ 0 };
		size_t n = resolve(t, ref, &tensors);
		if (n == 0)
			return err_set(t->err, TN_E_UNSUPPORTED, TN_NO_OFFSET, "stage '%s' uses '%s', which is no tensor of the file",
			               ESC(name), ESC(ref));
		if (t->of_slices > SLICE_STEPS_MAX)
			return err_set(t->err, TN_E_LIMIT, TN_NO_OFFSET, "stage '%s' uses '%s': the tape has more than %d slices of "
			               "fused pages", ESC(name), ESC(ref), SLICE_STEPS_MAX);
		for (size_t i = 0; i < n; i++)
			add_step(t, name, op, tensors[i]);
	}
	return TN_OK;
}

/* Once to count the steps, and once to list them. */
static tn_code go_through(struct tape *t, const tn_meta *tape)
{
	t->n = t->of_slices = 0;
	for (size_t i = 0; tape == NULL && i < t->f->model.n; i++)
		add_step(t, VIEW("model"), VIEW(""), i);
	if (tape == NULL)
		return TN_OK;
	tn_meta_iter it = tn_meta_items(tape);
	for (const tn_meta *stage; (stage = tn_meta_next(&it)) != NULL; )
		if (add_stage(t, stage) != TN_OK)
			return t->err->code;
	return TN_OK;
}

tn_code tape_steps(const tn_file *f, struct arena *mem, tn_step **steps, size_t *n, tn_error *err)
{
	struct tape t = { .f = f, .mem = mem, .err = err };
	const tn_meta *tape = list_in(f, "execution_tape");
	if (list_slices(&t) != TN_OK || go_through(&t, tape) != TN_OK)
		return err->code;
	t.steps = arena_raw(mem, t.n, sizeof *t.steps);
	if (t.steps == NULL)
		return no_memory(&t);
	*steps = t.steps;
	*n = t.n;
	return go_through(&t, tape);
}
