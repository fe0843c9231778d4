/* dtype.c - what a page's own word for its type means. Upstream takes any word; these are the ones that its converter
 * writes and its loader knows, and Tenon's names for all others. */
#include "format/thin/layout.h"

static const struct {
	const char *word;
	tn_dtype    dtype;
} others[] = {
	{ "fp16", TN_F16 }, { "float16", TN_F16 }, { "half", TN_F16 }, { "bfloat16", TN_BF16 }, { "fp32", TN_F32 },
	{ "float32", TN_F32 }, { "float", TN_F32 }, { "fp64", TN_F64 }, { "float64", TN_F64 }, { "double", TN_F64 },
	{ "int64", TN_I64 }, { "int32", TN_I32 }, { "int16", TN_I16 }, { "int8", TN_I8 }, { "uint64", TN_U64 },
	{ "uint32", TN_U32 }, { "uint16", TN_U16 }, { "uint8", TN_U8 }, { "boolean", TN_BOOL },
	{ "float8_e4m3fn", TN_F8_E4M3 }, { "float8_e5m2", TN_F8_E5M2 },
};

/* In lower case and without "torch."; false when it is longer than any word here. */
static bool plain_word(tn_view text, char out[24])
{
	size_t n = 0;
	for (; n < text.len && n < 23; n++) {
		uint8_t c = text.ptr[n];
		out[n] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
	}
	out[n] = '\0';
	if (n < text.len || strlen(out) != n)
		return false;
	if (strncmp(out, "torch.", 6) == 0)
		memmove(out, out + 6, n - 6 + 1);
	return true;
}

tn_dtype thin_dtype_word(tn_view text)
{
	char word[24];
	tn_dtype d;
	if (!plain_word(text, word))
		return TN_OPAQUE;
	if (tn_dtype_named(word, &d))
		return d;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strcmp(word, others[i].word) == 0)
			return others[i].dtype;
	return TN_OPAQUE;
}

tn_dtype thin_dtype(tn_view text, uint32_t rank, const uint64_t *shape, uint64_t size)
{
	tn_dtype d = thin_dtype_word(text);
	return d == TN_QFLOAT || dtype_takes(d, BLOCK_FLAT, rank, shape, size) ? d : TN_OPAQUE;
}
