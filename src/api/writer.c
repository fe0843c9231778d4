/* writer.c - a model that the caller puts together, tensor by tensor. put.c fills its metadata. */
#include "api/writer.h"

#include "api/call.h"
#include "api/file.h"
#include "api/save.h"
#include "base/mem.h"
#include "base/num.h"

#include <string.h>

static const tn_write_options defaults;

tn_code tn_writer_new(tn_writer **out, const char *format, const tn_write_options *options, tn_error *err)
{
	CALL_BEGIN(err);
	*out = NULL;
	const struct format *fmt = format != NULL ? format_named(format) : NULL;
	if (fmt == NULL)
		return err_set(err, TN_E_NOTFOUND, TN_NO_OFFSET, "there is no format '%s'", ESC(tn_text(format)));
	if (fmt->plan == NULL)
		return err_set(err, TN_E_UNSUPPORTED, TN_NO_OFFSET, "%s cannot be written", fmt->name);
	tn_writer *w = mem_alloc(sizeof *w);
	if (w == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	memset(w, 0, sizeof *w);
	w->format = fmt;
	w->options = options != NULL ? *options : defaults;
	arena_init(&w->mem, limit_or(w->options.max_memory, DEFAULT_MEMORY));
	report_init(&w->report);
	if (!model_init(&w->model, &w->mem)) {
		arena_err(&w->mem, err, "the model");
		tn_writer_free(w);
		return err->code;
	}
	*out = w;
	return TN_OK;
}

void tn_writer_free(tn_writer *w)
{
	if (w == NULL)
		return;
	report_fini(&w->report);
	arena_fini(&w->mem);
	mem_free(w->tensors);
	mem_free(w->sources);
	mem_free(w);
}

const tn_report *tn_writer_report(const tn_writer *w) { return &w->report; }
tn_meta *tn_writer_metadata(tn_writer *w) { return w->model.metadata; }

/* Those of an open file belong to it, and to several of its tensors perhaps: a copy is what may be changed. */
static bool own_extras(tn_writer *w, size_t i)
{
	struct tensor *t = &w->tensors[i];
	if (w->origin == NULL || i >= w->origin->model.n || t->extras == NULL ||
	    t->extras != w->origin->model.tensors[i].extras)
		return true;
	struct tn_meta *copy = meta_clone(&w->mem, t->extras, false);
	if (copy == NULL)
		return false;
	writer_set_depth(copy, 0);
	t->extras = copy;
	return true;
}

tn_meta *tn_writer_extras(tn_writer *w, size_t i)
{
	return i < w->model.n && own_extras(w, i) ? tensor_extras(&w->mem, &w->tensors[i]) : NULL;
}

/* ---- Adding ---- */

/* Makes room in the lists and in the name index, which finds a repeated name in constant time. */
bool writer_grow(tn_writer *w, uint64_t cap)
{
	uint64_t other;
	struct tensor *tensors = mem_realloc(w->tensors, (size_t)cap * sizeof *tensors);
	if (tensors == NULL)
		return false;
	w->tensors = w->model.tensors = tensors;
	struct source *sources = mem_realloc(w->sources, (size_t)cap * sizeof *sources);
	if (sources == NULL)
		return false;
	w->sources = sources;
	if (!strmap_init(&w->names, &w->mem, cap))
		return false;
	for (uint64_t i = 0; i < w->model.n; i++)
		strmap_add(&w->names, model_name_at, &w->model, i, &other);
	w->cap = cap;
	return true;
}

static tn_code check_length(tn_dtype dtype, uint32_t rank, const uint64_t *shape, tn_view name, uint64_t *nbytes,
                            tn_error *err)
{
	tn_error why = { .code = TN_OK };
	uint64_t computed;
	tn_code code = dtype_bytes(dtype, BLOCK_ROWS, rank, shape, &computed, &why);
	if (code == TN_E_UNSUPPORTED) /* only the caller knows */
		return TN_OK;
	if (code != TN_OK)
		return err_set(err, code, TN_NO_OFFSET, "tensor '%s': %s", ESC(name), why.msg);
	if (*nbytes != 0 && *nbytes != computed)
		return err_set(err, TN_E_CORRUPT, TN_NO_OFFSET, "tensor '%s': %llu bytes declared, its shape needs %llu", ESC(name),
		               (unsigned long long)*nbytes, (unsigned long long)computed);
	*nbytes = computed;
	return TN_OK;
}

static tn_code unusable(tn_view name, const char *why, tn_error *err)
{
	return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "tensor '%s': %s", ESC(name), why);
}

static tn_code memory_source(tn_view name, const tn_source *from, struct source *s, tn_error *err)
{
	if (from->memory.len != s->len)
		return err_set(err, TN_E_CORRUPT, TN_NO_OFFSET, "tensor '%s': %zu bytes given, its shape needs %llu", ESC(name),
		               from->memory.len, (unsigned long long)s->len);
	s->kind = SOURCE_MEMORY;
	s->memory = from->memory;
	return TN_OK;
}

static tn_code tensor_source(tn_view name, const tn_source *from, struct source *s, tn_error *err)
{
	if (from->file == NULL || from->tensor >= from->file->model.n)
		return unusable(name, "its source is no tensor of an open file", err);
	const struct tensor *t = &from->file->model.tensors[from->tensor];
	if (t->nbytes != s->len)
		return unusable(name, "its source has another length", err);
	*s = source_of(from->file, t);
	return TN_OK;
}

static tn_code path_source(tn_writer *w, tn_view name, const tn_source *from, struct source *s, tn_error *err)
{
	if (from->path == NULL)
		return unusable(name, "its source has no path", err);
	s->path = (const char *)arena_copy(&w->mem, tn_text(from->path)).ptr;
	if (s->path == NULL)
		return arena_err(&w->mem, err, "a path");
	s->kind = SOURCE_PATH;
	s->offset = from->offset;
	return TN_OK;
}

static tn_code make_source(tn_writer *w, tn_view name, const tn_source *from, struct source *s, tn_error *err)
{
	switch (from->kind) {
	case TN_SOURCE_MEMORY:
		return memory_source(name, from, s, err);
	case TN_SOURCE_TENSOR:
		return tensor_source(name, from, s, err);
	case TN_SOURCE_FILE:
		return path_source(w, name, from, s, err);
	case TN_SOURCE_CALLBACK:
		if (from->produce == NULL)
			return unusable(name, "its source has no function", err);
		s->kind = SOURCE_CALLBACK;
		s->produce = from->produce;
		s->ctx = from->ctx;
		return TN_OK;
	}
	return unusable(name, "its source is of no known kind", err);
}

static tn_code make_tensor(tn_writer *w, tn_view name, tn_dtype dtype, uint32_t rank, const uint64_t *shape,
                           uint64_t nbytes, struct tensor *t, tn_error *err)
{
	uint64_t *dims = arena_raw(&w->mem, rank, sizeof *dims);
	tn_view copy = dims != NULL ? arena_copy(&w->mem, name) : (tn_view){ NULL, 0 };
	if (copy.ptr == NULL)
		return arena_err(&w->mem, err, "a tensor");
	copy_bytes(dims, shape, rank * sizeof *dims);
	*t = (struct tensor){
		.name = copy, .dtype = dtype, .dtype_text = tn_text(dtype_info(dtype)->name), .rank = rank, .shape = dims,
		.nbytes = nbytes, .stored = nbytes, .added = true,
	};
	return TN_OK;
}

tn_code tn_writer_add(tn_writer *w, tn_view name, tn_dtype dtype, uint32_t rank, const uint64_t *shape,
                      uint64_t nbytes, const tn_source *source, tn_error *err)
{
	CALL_BEGIN(err);
	uint64_t other;
	if ((unsigned)dtype >= TN_DTYPES || dtype == TN_OPAQUE)
		return unusable(name, "it has no dtype that can be written", err);
	if (source == NULL || (rank != 0 && shape == NULL))
		return unusable(name, "it has no source or no shape", err);
	if (check_length(dtype, rank, shape, name, &nbytes, err) != TN_OK)
		return err->code;
	if (w->model.n == w->cap && !writer_grow(w, w->cap != 0 ? 2 * w->cap : 64))
		return arena_err(&w->mem, err, "the tensor list");
	struct tensor *t = &w->tensors[w->model.n];
	struct source *s = &w->sources[w->model.n];
	*s = (struct source){ .len = nbytes };
	if (make_source(w, name, source, s, err) != TN_OK ||
	    make_tensor(w, name, dtype, rank, shape, nbytes, t, err) != TN_OK)
		return err->code;
	if (!strmap_add(&w->names, model_name_at, &w->model, w->model.n, &other))
		return unusable(name, "a tensor of that name was added before", err);
	w->model.n++;
	return TN_OK;
}

/* ---- Saving ---- */

struct save writer_save(tn_writer *w, tn_error *err)
{
	bool enveloped = w->origin != NULL && w->origin->enveloped;
	return (struct save){
		.format = w->format, .model = &w->model, .sources = w->sources, .origin = w->origin, .options = &w->options,
		.footers = w->footers, .report = &w->report, .rewrite = w->origin != NULL && !enveloped, .converted = enveloped,
		.recarry = enveloped, /* what was carried into the file stays in it */
		.err = err,
	};
}

tn_code tn_writer_size(tn_writer *w, uint64_t *out, tn_error *err)
{
	CALL_BEGIN(err);
	struct save s = writer_save(w, err);
	if (save_begin(&s) == TN_OK)
		*out = s.plan.size;
	save_end(&s);
	return err->code;
}

tn_code tn_writer_save(tn_writer *w, const char *path, tn_error *err)
{
	CALL_BEGIN(err);
	if (path == NULL)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "no path given");
	struct save s = writer_save(w, err);
	if (save_begin(&s) == TN_OK)
		save_to_path(&s, path);
	save_end(&s);
	return err->code;
}

tn_code tn_writer_save_memory(tn_writer *w, void *buf, size_t cap, size_t *len, tn_error *err)
{
	CALL_BEGIN(err);
	struct save s = writer_save(w, err);
	if (save_begin(&s) == TN_OK && save_to_memory(&s, buf, cap) == TN_OK)
		*len = (size_t)s.plan.size;
	save_end(&s);
	return err->code;
}

void tn_abandon_all(void) { sys_out_abandon_all(); }
