/* layout.c - the facts of the safetensors layout that reader and writer share, and the format's entry in the table. */
#include "format/safetensors/layout.h"

#include "base/bytes.h"
#include "base/num.h"

const struct safetensors_dtype safetensors_dtypes[SAFETENSORS_DTYPES] = {
	{ "U64", TN_U64 },
	{ "I64", TN_I64 },
	{ "F64", TN_F64 },
	{ "C64", TN_C64 },
	{ "F32", TN_F32 },
	{ "U32", TN_U32 },
	{ "I32", TN_I32 },
	{ "BF16", TN_BF16 },
	{ "F16", TN_F16 },
	{ "U16", TN_U16 },
	{ "I16", TN_I16 },
	{ "F8_E5M2FNUZ", TN_F8_E5M2FNUZ },
	{ "F8_E4M3FNUZ", TN_F8_E4M3FNUZ },
	{ "F8_E8M0", TN_F8_E8M0 },
	{ "F8_E4M3", TN_F8_E4M3 },
	{ "F8_E5M2", TN_F8_E5M2 },
	{ "I8", TN_I8 },
	{ "U8", TN_U8 },
	{ "F6_E3M2", TN_F6_E3M2 },
	{ "F6_E2M3", TN_F6_E2M3 },
	{ "F4", TN_F4 },
	{ "BOOL", TN_BOOL },
};

unsigned safetensors_dtype_named(tn_view name)
{
	unsigned i = 0;
	while (i < SAFETENSORS_DTYPES && !view_is(name, safetensors_dtypes[i].name))
		i++;
	return i;
}

unsigned safetensors_dtype_like(tn_view name)
{
	char upper[16];
	if (name.len > sizeof upper)
		return SAFETENSORS_DTYPES;
	for (size_t i = 0; i < name.len; i++) {
		uint8_t c = name.ptr[i];
		upper[i] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
	}
	return safetensors_dtype_named((tn_view){ (const uint8_t *)upper, name.len });
}

unsigned safetensors_dtype_of(tn_dtype d)
{
	unsigned i = 0;
	while (i < SAFETENSORS_DTYPES && safetensors_dtypes[i].dtype != d)
		i++;
	return i;
}

bool safetensors_align_ok(uint64_t align)
{
	return align == DATA_ALIGN || align == 64 || align == 256 || align == 4096;
}

uint64_t safetensors_padding(uint64_t text_len, uint64_t align)
{
	return pad_to(HEADER_AT + text_len, align);
}

const struct tn_meta *safetensors_own(const struct tn_meta *map, const char *key)
{
	const struct tn_meta *own = map != NULL ? meta_find(map, VIEW(SAFETENSORS)) : NULL;
	if (own == NULL || own->type != TN_META_MAP)
		return NULL;
	return meta_find(own, tn_text(key));
}

bool safetensors_flag(const struct model *m, const char *key)
{
	const struct tn_meta *flag = safetensors_own(m->native, key);
	return flag != NULL && flag->type == TN_META_BOOL && flag->as.b;
}

static size_t past_space(tn_view v, size_t i)
{
	while (i < v.len && (v.ptr[i] == ' ' || v.ptr[i] == '\t' || v.ptr[i] == '\n' || v.ptr[i] == '\r'))
		i++;
	return i;
}

/* There is no magic. What can be seen is a length that is small for 64 bits and a brace after it; a quote or
 * the other brace after that one makes it firmer, a file too short for its header weaker. */
static int probe(tn_view head, uint64_t file_size)
{
	if (head.len <= HEADER_AT)
		return 0;
	uint64_t n = le64(head.ptr);
	bool bom = head.len >= HEADER_AT + 3 && memcmp(head.ptr + HEADER_AT, "\xEF\xBB\xBF", 3) == 0;
	size_t at = past_space(head, bom ? HEADER_AT + 3 : HEADER_AT);
	if (n == 0 || at == head.len || head.ptr[at] != '{')
		return 0;
	at = past_space(head, at + 1);
	bool firm = at < head.len && (head.ptr[at] == '"' || head.ptr[at] == '}');
	bool whole = span_fits(HEADER_AT, n, file_size);
	if (n > HEADER_MAX || !whole)
		return firm && (n <= HEADER_MAX || whole) ? 8 : 0;
	return firm ? 20 : 12;
}

const struct format format_safetensors = {
	.name = SAFETENSORS,
	.exts = "safetensors",
	.caps = CAP_META_STRINGS | CAP_SLACK | CAP_CHECKPOINT,
	.envelope_key = ENVELOPE_KEY,
	.probe = probe,
	.parse = safetensors_parse,
	.verify = safetensors_verify,
	.plan = safetensors_plan,
	.shards = &safetensors_shards,
};
