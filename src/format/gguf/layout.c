/* layout.c - the numbers of GGUF: value types, tensor types; and the format's entry in the
 * table. */
#include "format/gguf/layout.h"

#include "base/bytes.h"
#include "base/num.h"

const struct gguf_value_type gguf_values[GGUF_VALUES] = {
	[VALUE_U8]     = { "u8", TN_META_UINT, 8 },
	[VALUE_I8]     = { "i8", TN_META_INT, 8 },
	[VALUE_U16]    = { "u16", TN_META_UINT, 16 },
	[VALUE_I16]    = { "i16", TN_META_INT, 16 },
	[VALUE_U32]    = { "u32", TN_META_UINT, 32 },
	[VALUE_I32]    = { "i32", TN_META_INT, 32 },
	[VALUE_F32]    = { "f32", TN_META_FLOAT, 32 },
	[VALUE_BOOL]   = { "bool", TN_META_BOOL, 8 },
	[VALUE_STRING] = { "string", TN_META_STRING, 0 },
	[VALUE_ARRAY]  = { "array", TN_META_ARRAY, 0 },
	[VALUE_U64]    = { "u64", TN_META_UINT, 64 },
	[VALUE_I64]    = { "i64", TN_META_INT, 64 },
	[VALUE_F64]    = { "f64", TN_META_FLOAT, 64 },
};

const struct gguf_type gguf_types[GGUF_TYPES] = {
	[0] = { "F32", TN_F32 },
	[1] = { "F16", TN_F16 },
	[2] = { "Q4_0", TN_Q4_0 },
	[3] = { "Q4_1", TN_Q4_1 },
	[4] = { "Q4_2", TN_OPAQUE },
	[5] = { "Q4_3", TN_OPAQUE },
	[6] = { "Q5_0", TN_Q5_0 },
	[7] = { "Q5_1", TN_Q5_1 },
	[8] = { "Q8_0", TN_Q8_0 },
	[9] = { "Q8_1", TN_Q8_1 },
	[10] = { "Q2_K", TN_Q2_K },
	[11] = { "Q3_K", TN_Q3_K },
	[12] = { "Q4_K", TN_Q4_K },
	[13] = { "Q5_K", TN_Q5_K },
	[14] = { "Q6_K", TN_Q6_K },
	[15] = { "Q8_K", TN_Q8_K },
	[16] = { "IQ2_XXS", TN_IQ2_XXS },
	[17] = { "IQ2_XS", TN_IQ2_XS },
	[18] = { "IQ3_XXS", TN_IQ3_XXS },
	[19] = { "IQ1_S", TN_IQ1_S },
	[20] = { "IQ4_NL", TN_IQ4_NL },
	[21] = { "IQ3_S", TN_IQ3_S },
	[22] = { "IQ2_S", TN_IQ2_S },
	[23] = { "IQ4_XS", TN_IQ4_XS },
	[24] = { "I8", TN_I8 },
	[25] = { "I16", TN_I16 },
	[26] = { "I32", TN_I32 },
	[27] = { "I64", TN_I64 },
	[28] = { "F64", TN_F64 },
	[29] = { "IQ1_M", TN_IQ1_M },
	[30] = { "BF16", TN_BF16 },
	[31] = { "Q4_0_4_4", TN_OPAQUE },
	[32] = { "Q4_0_4_8", TN_OPAQUE },
	[33] = { "Q4_0_8_8", TN_OPAQUE },
	[34] = { "TQ1_0", TN_TQ1_0 },
	[35] = { "TQ2_0", TN_TQ2_0 },
	[36] = { "IQ4_NL_4_4", TN_OPAQUE },
	[37] = { "IQ4_NL_4_8", TN_OPAQUE },
	[38] = { "IQ4_NL_8_8", TN_OPAQUE },
	[39] = { "MXFP4", TN_MXFP4 },
	[40] = { "NVFP4", TN_NVFP4 },
	[41] = { "Q1_0", TN_Q1_0 },
	[42] = { "Q2_0", TN_Q2_0 },
};

enum gguf_value gguf_value_of(tn_meta_type kind, unsigned width)
{
	unsigned i = 0;
	while (i < GGUF_VALUES && (gguf_values[i].kind != kind || gguf_values[i].width != width))
		i++;
	return (enum gguf_value)i;
}

uint32_t gguf_type_of(tn_dtype d)
{
	uint32_t id = 0;
	while (id < GGUF_TYPES && (gguf_types[id].dtype != d || d == TN_OPAQUE))
		id++;
	return id;
}

bool gguf_type_is_live(uint32_t id)
{
	return id < GGUF_TYPES && gguf_types[id].dtype != TN_OPAQUE;
}

const char *gguf_type_name(struct arena *a, uint32_t id)
{
	return id < GGUF_TYPES ? gguf_types[id].name : arena_printf(a, "type %u", id);
}

bool gguf_align_ok(uint64_t align)
{
	return is_power_of_two(align) && align <= GGUF_ALIGN_MAX;
}

const struct tn_meta *gguf_own(const struct tn_meta *map, const char *key)
{
	return tn_meta_find(tn_meta_find(map, VIEW(GGUF)), tn_text(key));
}

bool gguf_flag(const struct model *m, const char *key)
{
	bool on;
	return tn_meta_bool(gguf_own(m->native, key), &on) && on;
}

/* The magic is 32 bits of evidence; a version that is known, in either order, 32 more. */
static int probe(tn_view head, uint64_t file_size)
{
	(void)file_size;
	if (!view_starts(head, GGUF_MAGIC) && !view_starts(head, GGUF_MAGIC_TURNED))
		return 0;
	if (head.len < 8)
		return 32;
	uint32_t little = le32(head.ptr + 4), big = be32(head.ptr + 4);
	bool known = (little != 0 && little <= GGUF_VERSION) || (big != 0 && big <= GGUF_VERSION);
	return known ? 64 : 32;
}

const struct format format_gguf = {
	.name = GGUF,
	.exts = "gguf",
	.caps = CAP_META_TREE | CAP_BIG_ENDIAN | CAP_SLACK,
	.envelope_key = ENVELOPE_KEY,
	.probe = probe,
	.parse = gguf_parse,
	.verify = gguf_verify,
	.plan = gguf_plan,
	.shards = &gguf_shards,
};
