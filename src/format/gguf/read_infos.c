/* read_infos.c - the tensor infos of a GGUF file into the tensors of a model.
 *
 * The reader takes any order, gaps, and types that it does not know; llama.cpp wants the tensors
 * one after the other, and what it would refuse is reported. Whether the data is there, overlaps or
 * is named twice is for the common checks. */
#include "format/gguf/read.h"

#include "model/swap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool fail(struct reading *r, tn_code code, uint64_t offset, tn_view name, const char *why)
{
	err_set(r->job->err, code, offset, GGUF ": tensor '%s': %s", ESC(name), why);
	return false;
}

/* ---- One info ---- */

static void note_name(struct reading *r, uint64_t at, tn_view name)
{
	if (name.len > GGUF_NAME_MAX)
		gguf_note(r, TN_WARNING, TN_E_CORRUPT, at, name,
		          "the name has %zu bytes: llama.cpp reads up to %d", name.len,
		          GGUF_NAME_MAX);
	if (name.len != 0 && memchr(name.ptr, 0, name.len) != NULL)
		gguf_note(r, TN_WARNING, TN_E_CORRUPT, at, name,
		          "the name holds a NUL, where llama.cpp ends it");
}

/* Dims stand innermost first, shapes outermost first. */
static bool read_shape(struct reading *r, struct tensor *t)
{
	uint64_t at = gcur_at(&r->c);
	uint32_t n = gcur_u32(&r->c);
	unsigned width = 8 * gcur_length_size(&r->c);
	t->rank = (uint32_t)gcur_count(&r->c, n, width / 8);
	uint64_t *shape = gcur_ok(&r->c) ? arena_raw(r->job->mem, t->rank, sizeof *shape) : NULL;
	if (shape == NULL)
		return gcur_ok(&r->c) ? gguf_no_memory(r, GGUF ": tensor table") : false;
	bool huge = false;
	for (uint32_t d = t->rank; d-- > 0; ) {
		shape[d] = gcur_number(&r->c, width);
		huge = huge || shape[d] > INT64_MAX;
	}
	t->shape = shape;
	if (t->rank > GGUF_DIMS)
		gguf_note(r, TN_WARNING, TN_E_UNSUPPORTED, at, t->name,
		          "%" PRIu32 " dimensions: llama.cpp reads up to %d", t->rank,
		          GGUF_DIMS);
	if (huge)
		gguf_note(r, TN_WARNING, TN_E_CORRUPT, at, t->name,
		          "a dimension is over 2^63-1: llama.cpp refuses the file");
	return gcur_ok(&r->c);
}

/* A type that has no size here is carried as it is; its number stays with the tensor, so that it
 * can be written. */
static bool unknown_type(struct reading *r, struct tensor *t, uint64_t at, uint32_t id)
{
	struct arena *mem = r->job->mem;
	struct tn_meta *extras = tensor_extras(mem, t);
	struct tn_meta *own = extras != NULL ? meta_map_at(mem, extras, VIEW(GGUF)) : NULL;
	const char *name = gguf_type_name(mem, id);
	if (own == NULL || name == NULL || meta_add_uint(mem, own, VIEW(EXTRA_TYPE), id,
	                                                 32) == NULL)
		return gguf_no_memory(r, GGUF ": tensor table");
	t->dtype = TN_OPAQUE;
	t->dtype_text = tn_text(name);
	if (id < GGUF_TYPES)
		gguf_note(r, TN_WARNING, TN_E_UNSUPPORTED, at, t->name,
		          "the type %s was removed: llama.cpp refuses the file", name);
	else
		gguf_note(r, TN_WARNING, TN_E_UNSUPPORTED, at, t->name,
		          shape_is_empty(t->rank, t->shape) ? "%s is not known" : "%s is not known: its size is taken from what follows", name);
	return true;
}

static bool read_type(struct reading *r, struct tensor *t)
{
	uint64_t at = gcur_at(&r->c);
	uint32_t id = gcur_u32(&r->c);
	if (!gcur_ok(&r->c))
		return false;
	if (!gguf_type_is_live(id))
		return unknown_type(r, t, at, id);
	t->dtype = gguf_types[id].dtype;
	t->dtype_text = tn_text(gguf_types[id].name);
	t->enc = r->c.big && swap_unit(t->dtype) > 1 ? ENC_BIG_ENDIAN : ENC_RAW;
	return true;
}

/* ggml asks for whole blocks also where there is no row. */
static void note_empty_rows(struct reading *r, const struct tensor *t, uint64_t at)
{
	const struct dtype_info *info = dtype_info(t->dtype);
	if (info->class == DTYPE_BLOCK && t->nbytes == 0 && t->rank != 0 &&
	    t->shape[t->rank - 1] % info->block_elems != 0)
		gguf_note(r, TN_WARNING, TN_E_CORRUPT, at, t->name,
		          "its rows, of which there are none, fill no whole blocks: "
		          "llama.cpp refuses the file");
}

static bool no_size(struct reading *r, const struct tensor *t, uint64_t at)
{
	tn_error why = { .code = TN_OK };
	uint64_t bytes;
	tn_code code = dtype_bytes(t->dtype, BLOCK_ROWS, t->rank, t->shape, &bytes, &why);
	return fail(r, code, at, t->name, why.msg);
}

static bool read_size(struct reading *r, struct tensor *t, uint64_t at)
{
	tn_error *err = r->job->err;
	if (t->dtype == TN_OPAQUE)
		return true;
	if (!dtype_size(t->dtype, BLOCK_ROWS, t->rank, t->shape, &t->nbytes))
		return no_size(r, t, at);
	t->stored = t->nbytes;
	note_empty_rows(r, t, at);
	return err->code == TN_OK;
}

/* The offset stays as it is written until it is known where the data start. */
static bool read_info(struct reading *r, struct tensor *t)
{
	uint64_t at = gcur_at(&r->c);
	t->name = gcur_string(&r->c);
	if (!gcur_ok(&r->c))
		return false;
	note_name(r, at, t->name);
	if (!read_shape(r, t) || !read_type(r, t))
		return false;
	t->offset = gcur_u64(&r->c);
	return gcur_ok(&r->c) && read_size(r, t, at);
}

/* ---- Where the data lies ---- */

static bool place(struct reading *r, struct tensor *t)
{
	if (add_u64(t->offset, r->job->model->data_at, &t->offset))
		return true;
	return fail(r, TN_E_CORRUPT, TN_NO_OFFSET, t->name, "its offset overflows 64 bits");
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* What has elements and no size of its own reaches to the next tensor that begins behind it, or to
 * the end of the file. */
static bool infer_sizes(struct reading *r, struct tensor *t, uint64_t n)
{
	uint64_t unknown = 0, *starts;
	for (uint64_t i = 0; i < n; i++)
		unknown += t[i].dtype == TN_OPAQUE;
	if (unknown == 0)
		return true;
	if ((starts = arena_raw(r->job->mem, n, sizeof *starts)) == NULL)
		return gguf_no_memory(r, GGUF ": tensor table");
	for (uint64_t i = 0; i < n; i++)
		starts[i] = t[i].offset;
	qsort(starts, (size_t)n, sizeof *starts, by_value);
	for (uint64_t i = 0; i < n; i++) {
		if (t[i].dtype != TN_OPAQUE || shape_is_empty(t[i].rank, t[i].shape))
			continue;
		uint64_t low = 0, high = n; /* of the first start behind this one */
		while (low < high) {
			uint64_t mid = low + (high - low) / 2;
			if (starts[mid] > t[i].offset)
				high = mid;
			else
				low = mid + 1;
		}
		uint64_t end = low < n ? starts[low] : max_u64(r->job->size, t[i].offset);
		t[i].nbytes = t[i].stored = end - t[i].offset;
	}
	return true;
}

/* gguf.cpp wants each tensor where the padded sizes before it add up to, in the order of the
 * infos. */
static void note_order(struct reading *r, const struct tensor *t, uint64_t n)
{
	uint64_t want = r->job->model->data_at;
	for (uint64_t i = 0; i < n; i++) {
		if (t[i].offset != want && r->job->mend) {
			job_mended(r->job, t[i].offset, GGUF ": tensor '%s' does not follow the one before it: moved there", ESC(t[i].name));
			return;
		}
		if (t[i].offset != want) {
			gguf_note(r, TN_WARNING, TN_E_CORRUPT, TN_NO_OFFSET, t[i].name,
			          "the data of this tensor is at %" PRIu64 ", not at %" PRIu64
			          " behind the one before it: llama.cpp refuses the file",
			          t[i].offset, want);
			return;
		}
		if (!add_u64(want, t[i].stored, &want) || !align_up(want, r->align, &want))
			return; /* past the end of any file: the common checks say so */
	}
}

/* Writers pad the last tensor too, and llama.cpp reads that padding. Behind one of an unknown type, which reaches to the
 * end of the file, ours puts none: it would become longer. */
static void note_end(struct reading *r, const struct tensor *t, uint64_t n)
{
	uint64_t end = 0, padded;
	bool sized = true;
	for (uint64_t i = 0; i < n; i++) {
		if (t[i].offset + t[i].stored <= end)
			continue;
		end = t[i].offset + t[i].stored;
		sized = t[i].dtype != TN_OPAQUE;
	}
	if (end > r->job->size || !align_up(end, r->align, &padded))
		return;
	if (padded > r->job->size && r->job->mend && sized)
		job_mended(r->job, r->job->size, GGUF ": %s of padding at the end are missing: added", N_BYTES(padded - r->job->size));
	else if (padded > r->job->size)
		gguf_note(r, TN_WARNING, TN_E_TRUNCATED, r->job->size, NO_TENSOR,
		          "the last %" PRIu64 " bytes of padding are missing: "
		          "llama.cpp does not load the file", padded - r->job->size);
	model_region(r->job->model, TN_REGION_PADDING, end, min_u64(padded, r->job->size) - end,
	             "padding");
}

static bool place_all(struct reading *r, struct tensor *t, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t end;
		if (!place(r, &t[i]))
			return false;
		if (!add_u64(t[i].offset, t[i].stored, &end))
			return fail(r, TN_E_CORRUPT, TN_NO_OFFSET, t[i].name,
			            "its extent overflows 64 bits");
	}
	return infer_sizes(r, t, n);
}

/* ---- All of them ---- */

/* gguf-py on a little-endian machine leaves these as they are, and the file does not tell. */
static void note_order_of_bytes(struct reading *r, const struct tensor *t, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		if (t[i].enc != ENC_BIG_ENDIAN || (dtype_info(t[i].dtype)->class != DTYPE_BLOCK &&
		                                   t[i].dtype != TN_BF16))
			continue;
		gguf_note(r, TN_WARNING, TN_E_UNSUPPORTED, TN_NO_OFFSET, t[i].name,
		          "%s is read as big-endian; files of gguf-py have "
		          "it little-endian all the same",
		          gguf_types[gguf_type_of(t[i].dtype)].name);
		return;
	}
}

static bool find_data(struct reading *r)
{
	struct model *m = r->job->model;
	r->infos_end = m->data_at = gcur_at(&r->c);
	m->data_align = r->align;
	if (r->n_infos == 0 || align_up(r->infos_end, r->align, &m->data_at))
		return true;
	err_set(r->job->err, TN_E_CORRUPT, r->infos_end,
	        GGUF ": the start of the data overflows 64 bits");
	return false;
}

bool gguf_read_infos(struct reading *r)
{
	struct model *m = r->job->model;
	struct tensor *t = ARENA_NEW(r->job->mem, r->n_infos, struct tensor);
	if (t == NULL)
		return gguf_no_memory(r, GGUF ": tensor table");
	r->c.c.what = GGUF ": tensor table";
	for (uint64_t i = 0; i < r->n_infos; i++)
		if (!read_info(r, &t[i]))
			return false;
	if (!gguf_settle_alignment(r, t, r->n_infos) || !find_data(r) || !place_all(r, t, r->n_infos))
		return false;
	note_order(r, t, r->n_infos);
	note_order_of_bytes(r, t, r->n_infos);
	if (r->n_infos != 0)
		note_end(r, t, r->n_infos);
	m->tensors = t;
	m->n = r->n_infos;
	return model_sort_by_data(t, m->n) || gguf_no_memory(r, GGUF ": tensor table");
}
