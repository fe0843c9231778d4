/* put.c - filling the metadata of a writer. */
#include "api/call.h"
#include "api/writer.h"
#include "base/bytes.h"

tn_code writer_put(tn_writer *w, tn_meta *to, tn_view key, struct tn_meta *node, tn_error *err)
{
	if (to == NULL || (to->type != TN_META_MAP && to->type != TN_META_ARRAY) || to->is_raw)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "a value can only be put into a map or an array");
	if (node == NULL)
		return arena_err(&w->mem, err, "metadata");
	if (to->type == TN_META_ARRAY) {
		meta_append(to, (tn_view){ NULL, 0 }, node);
		return TN_OK;
	}
	tn_view copy = arena_copy(&w->mem, key);
	if (copy.ptr == NULL)
		return arena_err(&w->mem, err, "metadata");
	meta_set(to, copy, node);
	return TN_OK;
}

static tn_code put_text(tn_writer *w, tn_meta *to, tn_view key, tn_view value, tn_meta_type type, tn_error *err)
{
	struct tn_meta *node = meta_new(&w->mem, type);
	if (node != NULL && (node->as.s = arena_copy(&w->mem, value)).ptr == NULL)
		node = NULL;
	return writer_put(w, to, key, node, err);
}

tn_code tn_put_string(tn_writer *w, tn_meta *to, tn_view key, tn_view value, tn_error *err)
{
	CALL_BEGIN(err);
	return put_text(w, to, key, value, TN_META_STRING, err);
}

tn_code tn_put_bytes(tn_writer *w, tn_meta *to, tn_view key, tn_view value, tn_error *err)
{
	CALL_BEGIN(err);
	return put_text(w, to, key, value, TN_META_BYTES, err);
}

static bool width_ok(unsigned width, tn_error *err)
{
	if (width == 0 || width == 8 || width == 16 || width == 32 || width == 64)
		return true;
	err_set(err, TN_E_USAGE, TN_NO_OFFSET, "a number has 8, 16, 32 or 64 bits, or 0 for unknown, not %u", width);
	return false;
}

tn_code tn_put_uint(tn_writer *w, tn_meta *to, tn_view key, uint64_t value, unsigned width, tn_error *err)
{
	CALL_BEGIN(err);
	if (!width_ok(width, err))
		return err->code;
	if (width != 0 && width < 64 && value >> width != 0)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "%llu does not fit %u bits", (unsigned long long)value, width);
	struct tn_meta *node = meta_new(&w->mem, TN_META_UINT);
	if (node != NULL) {
		node->as.u = value;
		node->width = (uint8_t)width;
	}
	return writer_put(w, to, key, node, err);
}

tn_code tn_put_int(tn_writer *w, tn_meta *to, tn_view key, int64_t value, unsigned width, tn_error *err)
{
	CALL_BEGIN(err);
	if (!width_ok(width, err))
		return err->code;
	int64_t limit = width == 0 || width == 64 ? INT64_MAX : (INT64_C(1) << (width - 1)) - 1;
	if (value > limit || value < -limit - 1)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "%lld does not fit %u bits", (long long)value, width);
	struct tn_meta *node = meta_new(&w->mem, TN_META_INT);
	if (node != NULL) {
		node->as.i = value;
		node->width = (uint8_t)width;
	}
	return writer_put(w, to, key, node, err);
}

static tn_code put_float(tn_writer *w, tn_meta *to, tn_view key, double value, unsigned width, tn_error *err)
{
	struct tn_meta *node = meta_new(&w->mem, TN_META_FLOAT);
	if (node != NULL) {
		node->as.f_bits = f64_bits(value);
		node->width = (uint8_t)width;
	}
	return writer_put(w, to, key, node, err);
}

tn_code tn_put_f32(tn_writer *w, tn_meta *to, tn_view key, float value, tn_error *err)
{
	CALL_BEGIN(err);
	return put_float(w, to, key, (double)value, 32, err);
}

tn_code tn_put_f64(tn_writer *w, tn_meta *to, tn_view key, double value, tn_error *err)
{
	CALL_BEGIN(err);
	return put_float(w, to, key, value, 64, err);
}

tn_code tn_put_bool(tn_writer *w, tn_meta *to, tn_view key, bool value, tn_error *err)
{
	CALL_BEGIN(err);
	struct tn_meta *node = meta_new(&w->mem, TN_META_BOOL);
	if (node != NULL)
		node->as.b = value;
	return writer_put(w, to, key, node, err);
}

tn_code tn_put_null(tn_writer *w, tn_meta *to, tn_view key, tn_error *err)
{
	CALL_BEGIN(err);
	return writer_put(w, to, key, meta_new(&w->mem, TN_META_NULL), err);
}

bool writer_set_depth(struct tn_meta *node, unsigned depth)
{
	if ((node->type != TN_META_ARRAY && node->type != TN_META_MAP) || node->is_raw)
		return true;
	bool fits = depth <= META_DEPTH;
	node->depth = (uint8_t)(fits ? depth : META_DEPTH);
	for (struct tn_meta *kid = node->as.kids.first; kid != NULL; kid = kid->next)
		fits = writer_set_depth(kid, depth + 1) && fits;
	return fits;
}

static tn_code put_container(tn_writer *w, tn_meta *to, tn_view key, tn_meta_type type, tn_meta **out, tn_error *err)
{
	if (to != NULL && to->depth == META_DEPTH)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "metadata nests deeper than %d", META_DEPTH);
	struct tn_meta *node = meta_new(&w->mem, type);
	if (writer_put(w, to, key, node, err) != TN_OK)
		return err->code;
	node->depth = (uint8_t)(to->depth + 1);
	*out = node;
	return TN_OK;
}

tn_code tn_put_map(tn_writer *w, tn_meta *to, tn_view key, tn_meta **out, tn_error *err)
{
	CALL_BEGIN(err);
	return put_container(w, to, key, TN_META_MAP, out, err);
}

tn_code tn_put_array(tn_writer *w, tn_meta *to, tn_view key, tn_meta **out, tn_error *err)
{
	CALL_BEGIN(err);
	return put_container(w, to, key, TN_META_ARRAY, out, err);
}

tn_code tn_remove(tn_writer *w, tn_meta *map, tn_view key, tn_error *err)
{
	CALL_BEGIN(err);
	(void)w;
	if (map == NULL || map->type != TN_META_MAP)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "a key can only be taken out of a map");
	if (meta_remove(map, key))
		return TN_OK;
	return err_set(err, TN_E_NOTFOUND, TN_NO_OFFSET, "there is no metadata key '%s'", ESC(key));
}
