/* tensor_read.c - ranges of a tensor's logical bytes, decoded. */
#include "io/tensor_read.h"

#include "base/num.h"
#include "io/zstd_frames.h"
#include "model/swap.h"

struct range {
	const struct reader *r;
	const struct tensor *t;
	tn_error            *err;
};

/* Part of the unit that starts at off. */
static tn_code read_cut(const struct range *in, uint64_t off, size_t skip, uint8_t *to, size_t n)
{
	uint8_t unit[SWAP_UNIT_MAX];
	size_t size = swap_unit(in->t->dtype);
	if (reader_read(in->r, in->t->offset + off, unit, size, in->err) != TN_OK)
		return in->err->code;
	swap_units(in->t->dtype, unit, size);
	copy_bytes(to, unit + skip, n);
	return TN_OK;
}

/* A range may cut a number: the whole of its unit is read then. */
static tn_code read_big_endian(const struct range *in, uint64_t off, uint8_t *to, size_t n)
{
	size_t unit = swap_unit(in->t->dtype), skip = (size_t)(off % unit);
	if (skip != 0) {
		size_t first = (size_t)min_u64(n, unit - skip);
		if (read_cut(in, off - skip, skip, to, first) != TN_OK)
			return in->err->code;
		off += first, to += first, n -= first;
	}
	size_t whole = n - n % unit;
	if (reader_read(in->r, in->t->offset + off, to, whole, in->err) != TN_OK)
		return in->err->code;
	swap_units(in->t->dtype, to, whole);
	return whole == n ? TN_OK : read_cut(in, off + whole, 0, to + whole, n - whole);
}

tn_code tensor_read(const struct reader *r, const struct tensor *t, uint64_t off, void *buf,
                    size_t n, tn_error *err)
{
	const struct range in = { r, t, err };
	switch (t->enc) {
	case ENC_RAW:
		return reader_read(r, t->offset + off, buf, n, err);
	case ENC_BIG_ENDIAN:
		return read_big_endian(&in, off, buf, n);
	case ENC_ZSTD:
		return zstd_frames_read(r, t, off, buf, n, err);
	case ENC_NONE:
		return err_set(err, TN_E_CORRUPT, t->offset, "tensor '%s' has no bytes in this file that could be read", ESC(t->name));
	}
	return err_set(err, TN_E_UNSUPPORTED, t->offset,
	               "tensor '%s' is stored in an unknown encoding", ESC(t->name));
}
