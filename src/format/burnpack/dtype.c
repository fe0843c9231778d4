/* dtype.c - the names of element types in a burnpack file. */
#include "format/burnpack/layout.h"

static const struct { const char *name; tn_dtype dtype; } plain[] = {
	{ "F32", TN_F32 }, { "F16", TN_F16 }, { "BF16", TN_BF16 }, { "F64", TN_F64 }, { "Flex32", TN_FLEX32 },
	{ "I64", TN_I64 }, { "I32", TN_I32 }, { "I16", TN_I16 }, { "I8", TN_I8 },
	{ "U64", TN_U64 }, { "U32", TN_U32 }, { "U16", TN_U16 }, { "U8", TN_U8 },
};
enum { PLAIN = sizeof plain / sizeof *plain };

const char *pack_dtype_name(tn_dtype d)
{
	for (int i = 0; i < PLAIN; i++)
		if (plain[i].dtype == d)
			return plain[i].name;
	return NULL;
}

tn_dtype pack_dtype_named(tn_view name)
{
	for (int i = 0; i < PLAIN; i++)
		if (view_is(name, plain[i].name))
			return plain[i].dtype;
	return TN_OPAQUE;
}

static uint8_t lower(uint8_t c) { return c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c; }

static bool same_but_case(tn_view v, const char *name)
{
	if (v.len != strlen(name))
		return false;
	for (size_t i = 0; i < v.len; i++)
		if (lower(v.ptr[i]) != lower((uint8_t)name[i]))
			return false;
	return true;
}

const char *pack_dtype_meant(tn_view name)
{
	static const char *const others[] = { "Bool", "QFloat" };
	for (int i = 0; i < PLAIN; i++)
		if (same_but_case(name, plain[i].name))
			return plain[i].name;
	for (int i = 0; i < 2; i++)
		if (same_but_case(name, others[i]))
			return others[i];
	return NULL;
}

int pack_index(const char *const *list, int n, tn_view name)
{
	for (int i = 0; i < n; i++)
		if (view_is(name, list[i]))
			return i;
	return -1;
}
