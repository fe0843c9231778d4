/* qfloat_scheme.c - the map "qfloat" of a tensor's extras (docs/formats/burnpack.md), as far as its
 * numbers depend on it. */
#include "io/qfloat_scheme.h"

struct name { const char *text; int means; };

static const struct name values[] = {
	{ "Q8F", QF_Q8 }, { "Q8S", QF_Q8 }, { "Q4F", QF_Q4 }, { "Q4S", QF_Q4 },
	{ "Q2F", QF_Q2 }, { "Q2S", QF_Q2 }, { "E5M2", QF_E5M2 }, { "E4M3", QF_E4M3 }, { "E2M1", QF_E2M1 },
	{ NULL, 0 }
};
static const struct name stores[] = {
	{ "Native", QF_NATIVE }, { "PackedNative", QF_PACKED_NATIVE },
	{ "PackedU32", QF_PACKED_U32 }, { NULL, 0 }
};
static const struct name scales[] = {
	{ "F32", QF_F32 }, { "F16", QF_F16 }, { "BF16", QF_BF16 },
	{ "UE8M0", QF_UE8M0 }, { "UE4M3", QF_UE4M3 }, { NULL, 0 }
};
static const struct name modes[] = { { "Symmetric", 0 }, { NULL, 0 } };
static const struct name layouts[] = { { "runs", true }, { NULL, 0 } };

static bool absent(const struct tn_meta *node)
{
	return node == NULL || tn_meta_kind(node) == TN_META_NULL;
}

/* What the member's text means; one that is absent leaves *out as it is, which is wrong unless it
 * may be. */
static bool member(const struct tn_meta *map, const char *key, const struct name *names,
                   bool may_miss, int *out)
{
	const struct tn_meta *node = tn_meta_find(map, tn_text(key));
	tn_view text;
	if (absent(node))
		return may_miss;
	if (!tn_meta_string(node, &text))
		return false;
	while (names->text != NULL && !view_is(text, names->text))
		names++;
	*out = names->means;
	return names->text != NULL;
}

static bool block(const struct tn_meta *map, struct qfloat *q)
{
	const struct tn_meta *size = tn_meta_find(map, VIEW("size")), *item;
	int scale = QF_NONE;
	if (!member(map, "dtype", scales, false, &scale) || tn_meta_kind(size) != TN_META_ARRAY ||
	    tn_meta_count(size) > QFLOAT_DIMS)
		return false;
	q->block = (enum qfloat_scale)scale;
	tn_meta_iter it = tn_meta_items(size);
	while ((item = tn_meta_next(&it)) != NULL)
		if (!tn_meta_u8(item, &q->size[q->n_size]) || q->size[q->n_size++] == 0)
			return false;
	return true;
}

/* NULL, or why no number can be read. */
static const char *scheme(const struct tn_meta *map, struct qfloat *q)
{
	const struct tn_meta *dim = tn_meta_find(map, VIEW("packed_dim")),
	                     *blocks = tn_meta_find(map, VIEW("block"));
	int value = 0, store = 0, tensor = QF_NONE, runs = false, mode = 0;
	if (!member(map, "mode", modes, true, &mode))
		return "its values are looked up in a table that does not travel with it";
	if (!member(map, "layout", layouts, true, &runs))
		return "it cannot be told how the blocks of this old file lie";
	if (!member(map, "value", values, false, &value) ||
	    !member(map, "store", stores, false, &store) ||
	    !member(map, "tensor", scales, true, &tensor) ||
	    (!absent(dim) && !tn_meta_u64(dim, &q->packed_dim)))
		return "its scheme is unknown";
	q->value = (enum qfloat_value)value;
	q->store = (enum qfloat_store)store;
	q->tensor = (enum qfloat_scale)tensor;
	q->runs = runs;
	return absent(blocks) || block(blocks, q) ? NULL : "its scheme is unknown";
}

tn_code qfloat_scheme(const struct tensor *t, struct qfloat *out, tn_error *err)
{
	uint64_t elements = 0;
	*out = (struct qfloat){ .rank = t->rank, .shape = t->shape };
	const char *why =
	        scheme(t->extras != NULL ? meta_find(t->extras, VIEW("qfloat")) : NULL, out);
	if (why == NULL && shape_elements(t->rank, t->shape, &elements) && elements != 0 &&
	    !qfloat_lay(out, t->nbytes))
		why = "its payload is not of the length that its scheme asks for";
	if (why == NULL)
		return TN_OK;
	return err_set(err, TN_E_UNSUPPORTED, t->offset, "tensor '%s' cannot be decoded: %s",
	               ESC(t->name), why);
}
