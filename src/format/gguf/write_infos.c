/* write_infos.c - a model's tensors as GGUF's infos, in the model's order, each behind the one
 * before it.
 *
 * Shapes keep their rank, from 0 to 4, as gguf-py has it: leading dimensions of 1 are not dropped.
 * More of them than GGUF holds are dropped, and come back from the envelope. Types that GGUF lacks
 * stand in one of the same bytes and meaning where there is one, and as i8 where they are to be
 * carried. */
#include "format/gguf/write.h"

#include "base/num.h"
#include "model/swap.h"

#include <stdio.h>
#include <string.h>

/* ---- Types ---- */

/* The type that holds the same values in the same bytes, where GGUF lacks the type itself. */
static tn_dtype stand_in(tn_dtype d)
{
	switch (d) {
	case TN_FLEX32:   return TN_F32;
	case TN_BOOL:
	case TN_BOOL_U8:  return TN_I8;
	case TN_BOOL_U32: return TN_I32;
	default:          return d;
	}
}

/* The number that the tensor had when it was read, of a type that is not live. What has bytes and no elements would lose
 * them: the reader gives such a shape none. */
static bool kept_type(const struct tensor *t, uint32_t *id)
{
	return t->dtype == TN_OPAQUE && tn_meta_u32(gguf_own(t->extras, EXTRA_TYPE), id) &&
	       !gguf_type_is_live(*id) && (t->nbytes == 0 || !shape_is_empty(t->rank, t->shape));
}

/* ---- Shapes ---- */

/* In place of a shape that GGUF cannot hold: without leading dimensions of 1, which change
 * nothing. */
static bool drop_leading_ones(const struct tensor *t, struct placed *p)
{
	p->rank = t->rank;
	p->shape = t->shape;
	while (p->rank > GGUF_DIMS && p->shape[0] == 1) {
		p->rank--;
		p->shape++;
	}
	for (uint32_t d = 0; d < p->rank; d++)
		if (p->shape[d] > INT64_MAX)
			return false;
	return p->rank <= GGUF_DIMS;
}

/* Rows stay rows; all other dimensions are one. */
static tn_code flatten(struct writing *w, const struct tensor *t, struct placed *p)
{
	uint64_t *shape = arena_raw(w->job->mem, 2, sizeof *shape);
	if (shape == NULL)
		return arena_err(w->job->mem, w->job->err, GGUF ": tensor table");
	shape[0] = 1;
	shape[1] = t->nbytes != 0 ? t->shape[t->rank - 1] : 0;
	for (uint32_t d = 0; d + 1 < t->rank && t->nbytes != 0; d++)
		shape[0] *= t->shape[d]; /* the product with the row has been taken: it fits */
	p->rank = 2;
	p->shape = shape;
	return TN_OK;
}

/* ---- What becomes of a tensor ---- */

static bool lossy(struct writing *w, const struct tensor *t, const char *why)
{
	job_lossy(w->job, t->name, GGUF ": tensor '%s': %s", ESC(t->name), why);
	return false;
}

static bool name_fits(struct writing *w, const struct tensor *t)
{
	if (t->name.len > GGUF_NAME_MAX)
		return lossy(w, t, "the name has more than 63 bytes");
	if (t->name.len != 0 && memchr(t->name.ptr, 0, t->name.len) != NULL)
		return lossy(w, t, "the name holds a NUL");
	return true;
}

/* Whether the rows fill blocks, as ggml asks for, and the bytes are those of the shape. */
static bool rows_fit(const struct tensor *t, tn_dtype held)
{
	const struct dtype_info *info = dtype_info(held);
	if (info->class == DTYPE_BLOCK && t->rank != 0 &&
	    t->shape[t->rank - 1] % info->block_elems != 0)
		return false;
	return dtype_takes(held, BLOCK_ROWS, t->rank, t->shape, t->nbytes);
}

static bool carry_bytes(struct writing *w, const struct tensor *t, struct placed *p)
{
	if (!job_carries(w->job, t)) {
		char why[96];
		snprintf(why, sizeof why, "there is no dtype %s; --carry keeps its bytes as i8",
		         dtype_info(t->dtype)->name);
		return lossy(w, t, gguf_type_of(t->dtype) == GGUF_TYPES ? why
		                 : "its rows fill no whole blocks; --carry keeps its bytes as i8");
	}
	envelope_tensor(&w->env, p->i, ENV_DTYPE | ENV_SHAPE);
	p->type = gguf_type_of(TN_I8);
	p->rank = 1;
	p->shape = &t->nbytes;
	return true;
}

static bool hold(struct writing *w, const struct tensor *t, struct placed *p, tn_dtype held)
{
	p->type = gguf_type_of(held);
	p->swap = w->big && swap_unit(held) > 1;
	if (!drop_leading_ones(t, p)) {
		if (!job_carries(w->job, t))
			return lossy(w, t, "the shape has more than 4 dimensions or one over "
			             "2^63-1; --carry keeps it in the envelope");
		if (flatten(w, t, p) != TN_OK)
			return false;
	}
	if (p->shape != t->shape)
		envelope_tensor(&w->env, p->i, ENV_SHAPE);
	if (held != t->dtype)
		envelope_tensor(&w->env, p->i, ENV_DTYPE);
	return true;
}

/* The bytes of an unknown type cannot be turned: they stay as they were read. */
static bool hold_unknown(struct writing *w, const struct tensor *t, struct placed *p)
{
	if (w->big != gguf_flag(w->m, NATIVE_BIG_ENDIAN))
		return lossy(w, t, "the byte order of a type that is not known cannot be changed");
	p->unknown = true;
	p->rank = t->rank;
	p->shape = t->shape;
	report_add(w->job->report, TN_WARNING, TN_E_UNSUPPORTED, TN_NO_OFFSET, t->name,
	           GGUF ": a type that is not known is "
	           "copied as it is");
	return true;
}

/* Our own part of the extras goes back to where it came from. */
static bool has_extras(const struct tensor *t)
{
	const struct tn_meta *x = t->extras != NULL ? t->extras->as.kids.first : NULL;
	while (x != NULL && view_is(x->key, GGUF))
		x = x->next;
	return x != NULL;
}

/* False: it is left out, or there is an error. */
static bool choose(struct writing *w, struct placed *p)
{
	const struct tensor *t = &w->m->tensors[p->i];
	tn_dtype held = stand_in(t->dtype);
	if (!name_fits(w, t))
		return false;
	bool ok = kept_type(t, &p->type) ? hold_unknown(w, t, p)
	        : gguf_type_of(held) < GGUF_TYPES && rows_fit(t, held) ? hold(w, t, p, held)
	        : carry_bytes(w, t, p);
	if (ok && has_extras(t))
		envelope_tensor(&w->env, p->i, ENV_EXTRAS);
	return ok;
}

/* ---- All of them ---- */

static tn_code check_names(struct writing *w)
{
	struct strmap names;
	uint64_t other;
	if (!strmap_init(&names, w->job->mem, w->m->n))
		return arena_err(w->job->mem, w->job->err, GGUF ": names");
	for (uint64_t i = 0; i < w->m->n; i++)
		if (!strmap_add(&names, model_name_at, w->m, i, &other))
			return err_set(w->job->err, TN_E_CORRUPT, TN_NO_OFFSET,
			               GGUF ": two tensors are called '%s'",
			               ESC(w->m->tensors[i].name));
	return TN_OK;
}

static tn_code place(struct writing *w)
{
	uint64_t at = 0;
	for (uint64_t k = 0; k < w->n; k++) {
		const struct tensor *t = &w->m->tensors[w->tensors[k].i];
		w->tensors[k].offset = at;
		if (!add_u64(at, t->nbytes, &at) || !align_up(at, w->align, &at))
			return err_set(w->job->err, TN_E_LIMIT, TN_NO_OFFSET,
			               GGUF ": tensor '%s': offsets overflow 64 bits",
			               ESC(t->name));
	}
	return TN_OK;
}

tn_code gguf_choose_tensors(struct writing *w)
{
	w->tensors = arena_raw(w->job->mem, w->m->n, sizeof *w->tensors);
	if (w->tensors == NULL)
		return arena_err(w->job->mem, w->job->err, GGUF ": tensor table");
	if (check_names(w) != TN_OK)
		return w->job->err->code;
	for (uint64_t i = 0; i < w->m->n; i++) {
		struct placed p = { .i = i };
		if (choose(w, &p))
			w->tensors[w->n++] = p;
		else if (w->job->err->code != TN_OK)
			return w->job->err->code;
	}
	return place(w);
}

void gguf_put_infos(const struct writing *w, struct gout *o)
{
	for (uint64_t k = 0; k < w->n; k++) {
		const struct placed *p = &w->tensors[k];
		gout_string(o, w->m->tensors[p->i].name);
		gout_number(o, p->rank, 32);
		for (uint32_t d = p->rank; d-- > 0; )
			gout_number(o, p->shape[d], 64);
		gout_number(o, p->type, 32);
		gout_number(o, p->offset, 64);
	}
}
