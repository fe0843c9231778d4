/* tensor.c - tensors of an open file: by index, by name, in place, and copied out. */
#include "api/call.h"
#include "api/file.h"
#include "base/bytes.h"
#include "base/num.h"
#include "io/blocks.h"
#include "io/values.h"

#include <string.h>

tn_code file_compression(const struct tn_file *f, tn_compress *out, tn_error *err)
{
	enum block_codec codec;
	*out = TN_COMPRESS_NONE;
	for (uint64_t i = 0; i < f->model.n; i++) {
		const struct tensor *t = &f->model.tensors[i];
		if (t->enc != ENC_BLOCKS)
			continue;
		if (blocks_codec(reader_of(f, t), t, &codec, err) == TN_OK)
			*out = codec == BLOCKS_LZ4 ? TN_COMPRESS_LZ4 : TN_COMPRESS_ZSTD;
		break;
	}
	return err->code;
}

size_t tn_tensor_count(const tn_file *f) { return (size_t)f->model.n; }

tn_tensor tn_tensor_at(const tn_file *f, size_t i)
{
	if (i >= f->model.n)
		return (tn_tensor){ .offset = TN_NO_OFFSET };
	const struct tensor *t = &f->model.tensors[i];
	return (tn_tensor){
		.name = t->name, .dtype = t->dtype, .dtype_text = t->dtype_text, .rank = t->rank, .shape = t->shape,
		.nbytes = t->nbytes, .part = t->part, .offset = t->offset, .stored = t->stored, .missing = t->missing,
		.extras = t->extras, .digest = t->digest,
	};
}

tn_code tn_tensor_find(const tn_file *f, tn_view name, size_t *out, tn_error *err)
{
	CALL_BEGIN(err);
	uint64_t i;
	if (!model_find(&f->model, &f->names, name, &i))
		return err_set(err, TN_E_NOTFOUND, TN_NO_OFFSET, "there is no tensor '%s'", ESC(name));
	*out = (size_t)i;
	return TN_OK;
}

static const struct tensor *tensor_at(const tn_file *f, size_t i, tn_error *err)
{
	if (i < f->model.n)
		return &f->model.tensors[i];
	err_set(err, TN_E_USAGE, TN_NO_OFFSET, "tensor %zu of %llu", i, (unsigned long long)f->model.n);
	return NULL;
}

static tn_code missing(const struct tensor *t, tn_error *err)
{
	return err_set(err, TN_E_TRUNCATED, t->offset, "tensor '%s' has not arrived whole", ESC(t->name));
}

/* Elements that a big-endian host has to swap to use. */
static bool needs_swap(const struct tensor *t)
{
	return host_is_big_endian() && dtype_info(t->dtype)->swap > 1;
}

tn_code tn_bytes(const tn_file *f, size_t i, tn_view *out, tn_error *err)
{
	CALL_BEGIN(err);
	const struct tensor *t = tensor_at(f, i, err);
	if (t == NULL)
		return err->code;
	const struct reader *r = reader_of(f, t);
	if (t->missing)
		return missing(t, err);
	if (!tensor_is_plain(t))
		return err_set(err, TN_E_UNSUPPORTED, t->offset, "tensor '%s' is stored encoded: read it instead", ESC(t->name));
	if (t->nbytes != 0 && r->map.ptr == NULL)
		return err_set(err, TN_E_UNSUPPORTED, t->offset, "the file is not mapped: read tensor '%s' instead", ESC(t->name));
	if (t->nbytes != 0 && needs_swap(t))
		return err_set(err, TN_E_UNSUPPORTED, t->offset, "tensor '%s' is little-endian: read it instead", ESC(t->name));
	*out = t->nbytes != 0 ? (tn_view){ r->map.ptr + t->offset, (size_t)t->nbytes } : (tn_view){ NULL, 0 };
	return TN_OK;
}

static void swap_elements(uint8_t *p, size_t len, size_t unit)
{
	for (size_t at = 0; at + unit <= len; at += unit) {
		for (size_t k = 0; k < unit / 2; k++) {
			uint8_t byte = p[at + k];
			p[at + k] = p[at + unit - 1 - k];
			p[at + unit - 1 - k] = byte;
		}
	}
}

tn_code tn_read(const tn_file *f, size_t i, uint64_t offset, void *buf, size_t len, tn_error *err)
{
	CALL_BEGIN(err);
	const struct tensor *t = tensor_at(f, i, err);
	if (t == NULL)
		return err->code;
	if (!span_fits(offset, len, t->nbytes))
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "%zu bytes from %llu of tensor '%s', which has %llu", len,
		               (unsigned long long)offset, ESC(t->name), (unsigned long long)t->nbytes);
	if (t->missing)
		return missing(t, err);
	size_t unit = dtype_info(t->dtype)->swap;
	if (needs_swap(t) && (offset % unit != 0 || len % unit != 0))
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "the range cuts an element of tensor '%s'", ESC(t->name));
	if (tensor_read(reader_of(f, t), t, offset, buf, len, err) != TN_OK)
		return err->code;
	if (needs_swap(t))
		swap_elements(buf, len, unit);
	return TN_OK;
}

tn_code tn_read_f32(const tn_file *f, size_t i, uint64_t first, float *out, size_t count, tn_error *err)
{
	CALL_BEGIN(err);
	struct values v;
	const struct tensor *t = tensor_at(f, i, err);
	if (t == NULL || values_open(&v, reader_of(f, t), t, err) != TN_OK)
		return err->code;
	if (!span_fits(first, count, v.elements))
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "%zu elements from %llu of tensor '%s', which has %llu", count,
		               (unsigned long long)first, ESC(t->name), (unsigned long long)v.elements);
	return values_read(&v, first, out, count, err);
}

tn_code tn_read_buffer(const tn_file *f, size_t i, tn_buffer *buffer, tn_error *err)
{
	CALL_BEGIN(err);
	const struct tensor *t = tensor_at(f, i, err);
	size_t len;
	if (t == NULL)
		return err->code;
	if (!size_from_u64(t->nbytes, &len))
		return err_set(err, TN_E_LIMIT, t->offset, "tensor '%s' is larger than the address space", ESC(t->name));
	if (tn_buffer_resize(buffer, len, err) != TN_OK)
		return err->code;
	return tn_read(f, i, 0, buffer->ptr, len, err);
}
