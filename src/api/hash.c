/* hash.c - content digests: the same for the same tensors in whatever container they lie. */
#include "api/call.h"
#include "api/file.h"
#include "base/buf.h"
#include "base/mem.h"
#include "io/hash.h"

#include <stdlib.h>

void tn_digest_text(const tn_digest *digest, char out[2 * TN_DIGEST_LEN + 1])
{
	static const char hex[] = "0123456789abcdef";
	for (size_t i = 0; i < TN_DIGEST_LEN; i++) {
		out[2 * i] = hex[digest->bytes[i] >> 4];
		out[2 * i + 1] = hex[digest->bytes[i] & 15];
	}
	out[2 * (size_t)TN_DIGEST_LEN] = '\0';
}

tn_code tn_hash_tensor(const tn_file *f, size_t i, tn_digest *out, tn_error *err)
{
	CALL_BEGIN(err);
	if (i >= f->model.n)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "tensor %zu of %llu", i, (unsigned long long)f->model.n);
	const struct tensor *t = &f->model.tensors[i];
	return hash_tensor(reader_of(f, t), t, out, err);
}

/* ---- The total ---- */

static void put_line(struct buf *line, const struct tensor *t, const tn_digest *digest)
{
	char hex[2 * TN_DIGEST_LEN + 1];
	tn_digest_text(digest, hex);
	line->len = 0;
	buf_printf(line, "%s %s [", hex, dtype_info(t->dtype)->name);
	for (uint32_t d = 0; d < t->rank; d++)
		buf_printf(line, d == 0 ? "%llu" : ",%llu", (unsigned long long)t->shape[d]);
	buf_text(line, "] ");
	buf_view(line, t->name);
	buf_byte(line, '\n');
}

static int by_name(const void *a, const void *b)
{
	const struct tensor *const *x = a, *const *y = b;
	return view_cmp((*x)->name, (*y)->name);
}

static tn_code total_of(const tn_file *f, const tn_digest *digests, tn_digest *total, tn_error *err)
{
	uint64_t n = f->model.n;
	const struct tensor **sorted = mem_alloc((size_t)n * sizeof *sorted);
	if (sorted == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	for (uint64_t i = 0; i < n; i++)
		sorted[i] = &f->model.tensors[i];
	if (n > 1)
		qsort(sorted, (size_t)n, sizeof *sorted, by_name);
	struct b3 h;
	struct buf line;
	b3_init(&h);
	buf_init(&line, 0);
	for (uint64_t i = 0; i < n && !line.failed; i++) {
		put_line(&line, sorted[i], &digests[sorted[i] - f->model.tensors]);
		b3_update(&h, line.ptr, line.len);
	}
	b3_final(&h, total);
	if (line.failed)
		err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	buf_fini(&line);
	mem_free(sorted);
	return err->code;
}

/* All digests, in the order of the file. */
static tn_code hash_all(const tn_file *f, const tn_work *work, tn_digest *digests, tn_error *err)
{
	uint64_t n = f->model.n;
	struct hash_item *items = mem_alloc((size_t)n * sizeof *items);
	if (items == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	for (uint64_t i = 0; i < n; i++)
		items[i] = (struct hash_item){ .from = reader_of(f, &f->model.tensors[i]), .tensor = &f->model.tensors[i] };
	if (hash_items(items, n, work, false, err) == TN_OK)
		for (uint64_t i = 0; i < n; i++)
			digests[i] = items[i].digest;
	mem_free(items);
	return err->code;
}

tn_code tn_hash(const tn_file *f, const tn_work *work, tn_digest *tensors, tn_digest *total, tn_error *err)
{
	CALL_BEGIN(err);
	tn_digest *digests = tensors != NULL ? tensors : mem_alloc((size_t)f->model.n * sizeof *digests);
	if (digests == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	if (hash_all(f, work, digests, err) == TN_OK)
		total_of(f, digests, total, err);
	if (digests != tensors)
		mem_free(digests);
	return err->code;
}
