/* dtype.c - the table of element types, and the size of a tensor.
 *
 * Sizes follow safetensors for plain types, ggml for its blocks, APR for its own two. The product of
 * dimensions and size is taken here and nowhere else. */
#include "model/dtype.h"

#include "base/num.h"

#include <string.h>

#define PLAIN(id, text, nbits, unit) \
	[id] = { .name = text, .class = DTYPE_PLAIN, .bits = nbits, .swap = unit }
#define BLOCK(id, text, elems, bytes) \
	[id] = { .name = text, .class = DTYPE_BLOCK, .block_elems = elems, .block_bytes = bytes }

static const struct dtype_info table[TN_DTYPES] = {
	[TN_OPAQUE] = { .name = "opaque", .class = DTYPE_OPAQUE },
	PLAIN(TN_BOOL, "bool", 8, 1), PLAIN(TN_BOOL_U8, "bool_u8", 8, 1), PLAIN(TN_BOOL_U32, "bool_u32", 32, 4),
	PLAIN(TN_U8, "u8", 8, 1), PLAIN(TN_U16, "u16", 16, 2), PLAIN(TN_U32, "u32", 32, 4), PLAIN(TN_U64, "u64", 64, 8),
	PLAIN(TN_I8, "i8", 8, 1), PLAIN(TN_I16, "i16", 16, 2), PLAIN(TN_I32, "i32", 32, 4), PLAIN(TN_I64, "i64", 64, 8),
	PLAIN(TN_F16, "f16", 16, 2), PLAIN(TN_BF16, "bf16", 16, 2), PLAIN(TN_F32, "f32", 32, 4),
	PLAIN(TN_FLEX32, "flex32", 32, 4), PLAIN(TN_F64, "f64", 64, 8), PLAIN(TN_C64, "c64", 64, 4),
	PLAIN(TN_F8_E4M3, "f8_e4m3", 8, 1), PLAIN(TN_F8_E5M2, "f8_e5m2", 8, 1), PLAIN(TN_F8_E8M0, "f8_e8m0", 8, 1),
	PLAIN(TN_F8_E4M3FNUZ, "f8_e4m3fnuz", 8, 1), PLAIN(TN_F8_E5M2FNUZ, "f8_e5m2fnuz", 8, 1),
	PLAIN(TN_F6_E2M3, "f6_e2m3", 6, 1), PLAIN(TN_F6_E3M2, "f6_e3m2", 6, 1), PLAIN(TN_F4, "f4", 4, 1),
	[TN_QFLOAT] = { .name = "qfloat", .class = DTYPE_SPECIAL },
	BLOCK(TN_APR_Q4, "apr_q4", 32, 18),
	[TN_APR_Q8] = { .name = "apr_q8", .class = DTYPE_SPECIAL },
	BLOCK(TN_Q4_0, "q4_0", 32, 18), BLOCK(TN_Q4_1, "q4_1", 32, 20), BLOCK(TN_Q5_0, "q5_0", 32, 22),
	BLOCK(TN_Q5_1, "q5_1", 32, 24), BLOCK(TN_Q8_0, "q8_0", 32, 34), BLOCK(TN_Q8_1, "q8_1", 32, 36),
	BLOCK(TN_Q2_K, "q2_k", 256, 84), BLOCK(TN_Q3_K, "q3_k", 256, 110), BLOCK(TN_Q4_K, "q4_k", 256, 144),
	BLOCK(TN_Q5_K, "q5_k", 256, 176), BLOCK(TN_Q6_K, "q6_k", 256, 210), BLOCK(TN_Q8_K, "q8_k", 256, 292),
	BLOCK(TN_IQ2_XXS, "iq2_xxs", 256, 66), BLOCK(TN_IQ2_XS, "iq2_xs", 256, 74),
	BLOCK(TN_IQ3_XXS, "iq3_xxs", 256, 98), BLOCK(TN_IQ1_S, "iq1_s", 256, 50), BLOCK(TN_IQ4_NL, "iq4_nl", 32, 18),
	BLOCK(TN_IQ3_S, "iq3_s", 256, 110), BLOCK(TN_IQ2_S, "iq2_s", 256, 82), BLOCK(TN_IQ4_XS, "iq4_xs", 256, 136),
	BLOCK(TN_IQ1_M, "iq1_m", 256, 56), BLOCK(TN_TQ1_0, "tq1_0", 256, 54), BLOCK(TN_TQ2_0, "tq2_0", 256, 66),
	BLOCK(TN_MXFP4, "mxfp4", 32, 17), BLOCK(TN_NVFP4, "nvfp4", 64, 36), BLOCK(TN_Q1_0, "q1_0", 128, 18),
	BLOCK(TN_Q2_0, "q2_0", 64, 18),
};

const struct dtype_info *dtype_info(tn_dtype d)
{
	unsigned i = (unsigned)d;
	return &table[i < TN_DTYPES ? i : TN_OPAQUE];
}

static inline bool elements_of(uint32_t rank, const uint64_t *shape, uint64_t *out)
{
	/* a zero anywhere makes the product 0, whatever would have overflowed on the way */
	uint64_t n = 1;
	bool fits = true, empty = false;
	for (uint32_t i = 0; i < rank; i++) {
		fits = fits && mul_u64(n, shape[i], &n);
		empty = empty || shape[i] == 0;
	}
	*out = empty ? 0 : n;
	return fits || empty;
}

bool shape_elements(uint32_t rank, const uint64_t *shape, uint64_t *out)
{
	uint64_t n;
	if (!elements_of(rank, shape, &n))
		return false;
	*out = n;
	return true;
}

bool shape_is_empty(uint32_t rank, const uint64_t *shape)
{
	for (uint32_t i = 0; i < rank; i++)
		if (shape[i] == 0)
			return true;
	return false;
}

/* Why a shape has no size. */
enum size_fault { SIZE_KNOWN, SIZE_FREE, SIZE_OVERFLOWS, SIZE_RAGGED };

/* Eight elements take as many bytes as one takes bits: counted so, no product is larger than the size. */
static enum size_fault plain_size(const struct dtype_info *info, uint64_t elements, uint64_t *out)
{
	uint64_t bytes, rest = elements % 8 * info->bits;
	if (rest % 8 != 0)
		return SIZE_RAGGED;
	return mul_u64(elements / 8, info->bits, &bytes) && add_u64(bytes, rest / 8, out) ? SIZE_KNOWN : SIZE_OVERFLOWS;
}

static uint64_t row_of(uint32_t rank, const uint64_t *shape) { return rank != 0 ? shape[rank - 1] : 1; }

static enum size_fault block_size(const struct dtype_info *info, enum block_rule rule, uint32_t rank,
                                  const uint64_t *shape, uint64_t elements, uint64_t *out)
{
	if (rule == BLOCK_ROWS && info != &table[TN_APR_Q4] && elements != 0 &&
	    row_of(rank, shape) % info->block_elems != 0)
		return SIZE_RAGGED;
	uint64_t blocks = elements / info->block_elems + (elements % info->block_elems != 0);
	return mul_u64(blocks, info->block_bytes, out) ? SIZE_KNOWN : SIZE_OVERFLOWS;
}

/* One f32 scale, then a byte for each element; nothing at all for no elements. */
static enum size_fault apr_q8_size(uint64_t elements, uint64_t *out)
{
	if (elements == 0)
		*out = 0;
	else if (!add_u64(elements, 4, out))
		return SIZE_OVERFLOWS;
	return SIZE_KNOWN;
}

static inline enum size_fault size_of(const struct dtype_info *info, enum block_rule rule, uint32_t rank,
                               const uint64_t *shape, uint64_t *out)
{
	uint64_t elements;
	if (info->class == DTYPE_OPAQUE || info == &table[TN_QFLOAT])
		return SIZE_FREE;
	if (!elements_of(rank, shape, &elements))
		return SIZE_OVERFLOWS;
	return info->class == DTYPE_PLAIN ? plain_size(info, elements, out)
	     : info->class == DTYPE_BLOCK ? block_size(info, rule, rank, shape, elements, out)
	                                  : apr_q8_size(elements, out);
}

static tn_code ragged(const struct dtype_info *info, uint32_t rank, const uint64_t *shape, tn_error *err)
{
	uint64_t elements = 0;
	if (info->class == DTYPE_BLOCK)
		return err_set(err, TN_E_CORRUPT, TN_NO_OFFSET, "rows of %llu elements fill no whole blocks of %u",
		               (unsigned long long)row_of(rank, shape), info->block_elems);
	shape_elements(rank, shape, &elements);
	return err_set(err, TN_E_CORRUPT, TN_NO_OFFSET, "%llu elements of %u bits fill no whole bytes",
	               (unsigned long long)elements, info->bits);
}

tn_code dtype_bytes(tn_dtype d, enum block_rule rule, uint32_t rank, const uint64_t *shape, uint64_t *out,
                    tn_error *err)
{
	const struct dtype_info *info = dtype_info(d);
	uint64_t n = 0;
	switch (size_of(info, rule, rank, shape, &n)) {
	case SIZE_FREE:
		return err_set(err, TN_E_UNSUPPORTED, TN_NO_OFFSET, "the size of %s does not follow from the shape", info->name);
	case SIZE_OVERFLOWS:
		return err_set(err, TN_E_LIMIT, TN_NO_OFFSET, "shape overflows 64 bits");
	case SIZE_RAGGED:
		return ragged(info, rank, shape, err);
	case SIZE_KNOWN:
		break;
	}
	*out = n;
	return TN_OK;
}

bool dtype_size(tn_dtype d, enum block_rule rule, uint32_t rank, const uint64_t *shape, uint64_t *out)
{
	return size_of(dtype_info(d), rule, rank, shape, out) == SIZE_KNOWN;
}

bool dtype_takes(tn_dtype d, enum block_rule rule, uint32_t rank, const uint64_t *shape, uint64_t nbytes)
{
	uint64_t n;
	return dtype_size(d, rule, rank, shape, &n) && n == nbytes;
}

bool dtype_takes_padded(tn_dtype d, uint32_t rank, const uint64_t *shape, uint64_t nbytes)
{
	uint64_t row, rows, n;
	return rank >= 2 && dtype_size(d, BLOCK_FLAT, 1, &shape[rank - 1], &row) && shape_elements(rank - 1, shape, &rows) &&
	       mul_u64(row, rows, &n) && n == nbytes;
}

bool tn_dtype_named(const char *name, tn_dtype *out)
{
	for (int d = 0; d < TN_DTYPES; d++) {
		if (strcmp(table[d].name, name) == 0) {
			*out = (tn_dtype)d;
			return true;
		}
	}
	return false;
}
