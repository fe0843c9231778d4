/* dtype.c - the codes of element types. */
#include "format/apr/layout.h"

#define VIEW_OF(text) { (const uint8_t *)(text), sizeof(text) - 1 }

/* Codes from 128 are APR's own; 8 and 9 stood for them in old files. */
static const struct apr_dtype codes[] = {
	{ 0, TN_F32, VIEW_OF("F32") },
	{ 1, TN_F16, VIEW_OF("F16") },
	{ 3, TN_F64, VIEW_OF("F64") },
	{ 4, TN_I32, VIEW_OF("I32") },
	{ 5, TN_I64, VIEW_OF("I64") },
	{ 6, TN_I8, VIEW_OF("I8") },
	{ 7, TN_U8, VIEW_OF("U8") },
	{ 12, TN_Q4_K, VIEW_OF("Q4_K") },
	{ 14, TN_Q6_K, VIEW_OF("Q6_K") },
	{ 30, TN_BF16, VIEW_OF("BF16") },
	{ 128, TN_APR_Q4, VIEW_OF("APR_Q4") },
	{ 129, TN_APR_Q8, VIEW_OF("APR_Q8") },
	{ 8, TN_APR_Q4, VIEW_OF("APR_Q4") },
	{ 9, TN_APR_Q8, VIEW_OF("APR_Q8") },
};
enum { CODES = sizeof codes / sizeof *codes };

/* What realizar copies from GGUF files under ggml's own numbers. */
static const struct apr_dtype ggml[] = {
	{ 2, TN_Q4_0, VIEW_OF("Q4_0") },
	{ 3, TN_Q4_1, VIEW_OF("Q4_1") },
	{ 6, TN_Q5_0, VIEW_OF("Q5_0") },
	{ 7, TN_Q5_1, VIEW_OF("Q5_1") },
	{ 8, TN_Q8_0, VIEW_OF("Q8_0") },
	{ 13, TN_Q5_K, VIEW_OF("Q5_K") },
};
enum { GGML = sizeof ggml / sizeof *ggml };

const struct apr_dtype *apr_dtype_coded(uint8_t code)
{
	for (int i = 0; i < CODES; i++)
		if (codes[i].code == code)
			return &codes[i];
	return NULL;
}

const struct apr_dtype *apr_dtype_of(tn_dtype d)
{
	for (int i = 0; i < CODES; i++)
		if (codes[i].dtype == d)
			return &codes[i];
	return NULL;
}

const struct apr_dtype *apr_dtype_ggml(uint8_t code)
{
	for (int i = 0; i < GGML; i++)
		if (ggml[i].code == code)
			return &ggml[i];
	return NULL;
}

/* Some producers pad each row of a matrix to whole blocks. */
static bool padded_rows(tn_dtype d, uint32_t rank, const uint64_t *shape, uint64_t size)
{
	return (d == TN_Q4_K || d == TN_Q6_K) && dtype_takes_padded(d, rank, shape, size);
}

bool apr_dtype_fits(tn_dtype d, uint32_t rank, const uint64_t *shape, uint64_t size)
{
	return dtype_takes(d, BLOCK_FLAT, rank, shape, size) || padded_rows(d, rank, shape, size);
}
