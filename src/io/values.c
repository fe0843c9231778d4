/* values.c - the elements of a stored tensor as f32.
 *
 * Blocks that lie in a line, whole over each row or not, are one line of blocks here: element i is
 * in block i/elems either way. Tensors of apr_q8 have their scale in front; those of qfloat are
 * read in the runs of value/qfloat.h, their bytes and scales through two windows, so that runs of a
 * few numbers do not become a system call each. */
#include "io/values.h"

#include "base/bytes.h"
#include "base/num.h"
#include "codec/crc32.h"
#include "io/qfloat_scheme.h"

/* ---- Opening ---- */

static tn_code check_length(const struct tensor *t, tn_error *err)
{
	tn_error why = { .code = TN_OK };
	uint64_t want;
	if (dtype_bytes(t->dtype, BLOCK_FLAT, t->rank, t->shape, &want, &why) != TN_OK)
		return err_set(err, why.code, t->offset, "tensor '%s': %s", ESC(t->name), why.msg);
	if (want == t->nbytes)
		return TN_OK;
	return err_set(err, TN_E_CORRUPT, t->offset,
	               "tensor '%s' has %llu bytes, its shape takes %llu", ESC(t->name),
	               (unsigned long long)t->nbytes, (unsigned long long)want);
}

static tn_code open_apr_q8(struct values *v, tn_error *err)
{
	uint8_t scale[4] = { 0 };
	if (check_length(v->tensor, err) == TN_OK && v->elements != 0)
		tensor_read(v->from, v->tensor, 0, scale, sizeof scale, err);
	v->scale = f32_of(le32(scale));
	return err->code;
}

static tn_code open_qfloat(struct values *v, tn_error *err)
{
	uint8_t scale[4];
	if (qfloat_scheme(v->tensor, &v->qfloat, err) != TN_OK || v->elements == 0)
		return err->code;
	unsigned bytes = v->qfloat.block != QF_NONE ? qfloat_scale_bytes(v->qfloat.tensor) : 0;
	v->scale = 1;
	if (bytes != 0 &&
	    tensor_read(v->from, v->tensor, v->qfloat.global_at, scale, bytes, err) == TN_OK)
		v->scale = qfloat_scale_value(v->qfloat.tensor, scale);
	return err->code;
}

tn_code values_open(struct values *v, const struct reader *from, const struct tensor *t,
                    tn_error *err)
{
	v->from = from;
	v->tensor = t;
	v->codec = value_codec(t->dtype);
	v->hash = NULL;
	v->crc = NULL;
	v->raw_at = v->scales_at = (struct window){ 0, 0 };
	if (!shape_elements(t->rank, t->shape, &v->elements))
		return err_set(err, TN_E_LIMIT, t->offset, "tensor '%s': shape overflows 64 bits",
		               ESC(t->name));
	if (t->enc == ENC_NONE && t->nbytes != 0) /* of none it depends on the shape, as ever */
		return tensor_read(from, t, 0, NULL, 0, err);
	if (v->codec != NULL)
		return check_length(t, err);
	if (t->dtype == TN_APR_Q8)
		return open_apr_q8(v, err);
	if (t->dtype == TN_QFLOAT)
		return open_qfloat(v, err);
	return err_set(err, TN_E_UNSUPPORTED, t->offset, "tensor '%s': %s cannot be decoded to f32",
	               ESC(t->name),
	               t->dtype == TN_OPAQUE ? ESC(t->dtype_text) : dtype_info(t->dtype)->name);
}

/* ---- Showing what is read ---- */

static void show(const struct values *v, const uint8_t *p, size_t n)
{
	if (v->hash != NULL)
		b3_update(v->hash, p, n);
	if (v->crc != NULL)
		*v->crc = crc32_update(*v->crc, p, n);
}

bool values_watch(struct values *v, struct b3 *hash, uint32_t *crc, tn_error *err)
{
	uint8_t scale[4];
	if (v->tensor->dtype == TN_QFLOAT)
		return false;
	v->hash = hash;
	v->crc = crc;
	if (v->tensor->dtype == TN_APR_Q8 && v->elements != 0 &&
	    tensor_read(v->from, v->tensor, 0, scale, sizeof scale, err) == TN_OK)
		show(v, scale, sizeof scale);
	return true;
}

/* ---- Blocks ---- */

/* From element skip of the first block at hand. */
static void decode(const struct values *v, size_t skip, float *out, size_t n)
{
	const struct value_codec *c = v->codec;
	const uint8_t *in = v->raw;
	if (skip != 0) {
		float block[VALUE_BLOCK];
		size_t head = (size_t)min_u64(c->elems - skip, n);
		c->decode(in, block, c->elems);
		memcpy(out, block + skip, head * sizeof *out);
		in += c->bytes;
		out += head;
		n -= head;
	}
	value_decode(c, in, out, n);
}

static tn_code read_blocks(struct values *v, uint64_t first, float *out, size_t n, tn_error *err)
{
	const struct value_codec *c = v->codec;
	while (n > 0) {
		size_t skip = (size_t)(first % c->elems),
		       room = sizeof v->raw / c->bytes * c->elems - skip;
		size_t take = (size_t)min_u64(n, room),
		       blocks = (skip + take + c->elems - 1) / c->elems;
		if (tensor_read(v->from, v->tensor, first / c->elems * c->bytes, v->raw,
		                blocks * c->bytes, err) != TN_OK)
			return err->code;
		show(v, v->raw, blocks * c->bytes);
		if (v->tensor->finite_scales)
			value_tame(v->tensor->dtype, v->raw, blocks);
		decode(v, skip, out, take);
		first += take;
		out += take;
		n -= take;
	}
	return TN_OK;
}

static tn_code read_apr_q8(struct values *v, uint64_t first, float *out, size_t n, tn_error *err)
{
	while (n > 0) {
		size_t take = (size_t)min_u64(n, sizeof v->raw);
		if (tensor_read(v->from, v->tensor, 4 + first, v->raw, take, err) != TN_OK)
			return err->code;
		show(v, v->raw, take);
		apr_q8_decode(v->scale, v->raw, out, take);
		first += take;
		out += take;
		n -= take;
	}
	return TN_OK;
}

/* ---- QFloat ---- */

/* n bytes of the tensor from off, at most cap; NULL when they cannot be read. */
static const uint8_t *look(struct values *v, struct window *w, uint8_t *bytes, size_t cap,
                           uint64_t off, size_t n, tn_error *err)
{
	if (off < w->at || !span_fits(off - w->at, n, w->len)) {
		w->at = off;
		w->len = (size_t)min_u64(cap, v->tensor->nbytes - off);
		if (tensor_read(v->from, v->tensor, off, bytes, w->len, err) != TN_OK) {
			w->len = 0;
			return NULL;
		}
	}
	return bytes + (off - w->at);
}

static tn_code read_qfloat(struct values *v, uint64_t first, float *out, size_t n, tn_error *err)
{
	const struct qfloat *q = &v->qfloat;
	enum qfloat_scale type = qfloat_scale_type(q);
	while (n > 0) {
		struct qfloat_run run;
		qfloat_run(q, first, (size_t)min_u64(n, sizeof v->raw / 8), &run);
		const uint8_t *scale = look(v, &v->scales_at, v->scales, sizeof v->scales,
		                            run.scale_at, qfloat_scale_bytes(type), err);
		const uint8_t *in = scale != NULL ? look(v, &v->raw_at, v->raw, sizeof v->raw,
		                                         run.at, run.bytes, err)
		                                  : NULL;
		if (in == NULL)
			return err->code;
		qfloat_decode(q, &run, in, v->scale * qfloat_scale_value(type, scale), out);
		first += run.n;
		out += run.n;
		n -= run.n;
	}
	return TN_OK;
}

tn_code values_read(struct values *v, uint64_t first, float *out, size_t n, tn_error *err)
{
	if (v->codec != NULL)
		return read_blocks(v, first, out, n, err);
	return v->tensor->dtype == TN_APR_Q8 ? read_apr_q8(v, first, out, n, err)
	                                     : read_qfloat(v, first, out, n, err);
}
