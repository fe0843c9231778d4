/* read_pairs.c - the pairs of a GGUF file into the metadata of a model.
 *
 * A number is a node of its width. An array of numbers or strings stays where it lies in the file:
 * it is stepped over here, so that whoever walks it later needs no check, and decoded when somebody
 * asks. What llama.cpp would refuse and is readable all the same is reported. */
#include "format/gguf/read.h"

#include <inttypes.h>

static bool corrupt(struct reading *r, uint64_t offset, tn_view key, const char *why)
{
	err_set(r->job->err, TN_E_CORRUPT, offset, GGUF ": metadata '%s' %s", ESC(key), why);
	return false;
}

static struct tn_meta *read_value(struct reading *r, tn_view key, uint32_t type, unsigned depth);

/* ---- Scalars ---- */

static struct tn_meta *new_node(struct reading *r, tn_meta_type type)
{
	struct tn_meta *node = meta_new(r->job->mem, type);
	if (node == NULL)
		gguf_no_memory(r, GGUF ": metadata");
	return node;
}

static int64_t sign_extend(uint64_t v, unsigned width)
{
	uint64_t sign = UINT64_C(1) << (width - 1);
	return (int64_t)((v ^ sign) - sign);
}

static void note_bool(struct reading *r, uint64_t offset, tn_view key, uint64_t v)
{
	if (v > 1)
		gguf_note(r, TN_WARNING, TN_E_CORRUPT, offset, NO_TENSOR,
		          "the boolean of metadata '%s' is %u, neither 0 nor 1",
		          ESC(key), (unsigned)v);
}

static struct tn_meta *read_scalar(struct reading *r, tn_view key,
                                   const struct gguf_value_type *type)
{
	uint64_t at = gcur_at(&r->c), v = gcur_number(&r->c, type->width);
	struct tn_meta *node = new_node(r, type->kind);
	if (node == NULL || !gcur_ok(&r->c))
		return NULL;
	node->width = type->width;
	switch (type->kind) {
	case TN_META_BOOL:
		node->width = 0;
		node->as.b = v != 0;
		note_bool(r, at, key, v);
		break;
	case TN_META_INT:   node->as.i = sign_extend(v, type->width); break;
	case TN_META_FLOAT: node->as.f_bits = type->width == 32 ? f32_widen((uint32_t)v) : v; break;
	default:            node->as.u = v; break;
	}
	return node;
}

static void note_long(struct reading *r, uint64_t offset, tn_view key, const char *what, uint64_t n,
                      uint64_t most)
{
	if (n > most)
		gguf_note(r, TN_WARNING, TN_E_LIMIT, offset, NO_TENSOR,
		          "metadata '%s' has %s of %" PRIu64 ": llama.cpp reads up "
		          "to %" PRIu64, ESC(key), what, n, most);
}

static struct tn_meta *read_string(struct reading *r, tn_view key)
{
	uint64_t at = gcur_at(&r->c);
	tn_view text = gcur_string(&r->c);
	struct tn_meta *node = new_node(r, TN_META_STRING);
	if (node == NULL || !gcur_ok(&r->c))
		return NULL;
	node->as.s = text;
	note_long(r, at, key, "a string", text.len, GGUF_STRING_MAX);
	return node;
}

/* ---- Arrays ---- */

static struct tn_meta *read_nested(struct reading *r, tn_view key, uint64_t n, unsigned depth)
{
	struct tn_meta *array = new_node(r, TN_META_ARRAY);
	n = gcur_count(&r->c, n, 4 + gcur_length_size(&r->c));
	for (uint64_t i = 0; i < n && gcur_ok(&r->c) && array != NULL; i++) {
		struct tn_meta *item = read_value(r, key, VALUE_ARRAY, depth + 1);
		array = item != NULL ? array : NULL;
		meta_append(array, NO_TENSOR, item);
	}
	return gcur_ok(&r->c) ? array : NULL;
}

static void step_over(struct reading *r, const struct gguf_value_type *type, uint64_t n)
{
	if (type->kind != TN_META_STRING) {
		gcur_take(&r->c, gcur_count(&r->c, n, type->width / 8) * (type->width / 8));
		return;
	}
	n = gcur_count(&r->c, n, gcur_length_size(&r->c));
	for (uint64_t i = 0; i < n && gcur_ok(&r->c); i++)
		gcur_string(&r->c);
}

static struct tn_meta *read_flat(struct reading *r, tn_view key, const struct gguf_value_type *type,
                                 uint64_t n)
{
	struct tn_meta *array = new_node(r, TN_META_ARRAY);
	struct meta_raw *raw = ARENA_NEW(r->job->mem, 1, struct meta_raw);
	const uint8_t *start = r->c.c.p;
	uint64_t at = gcur_at(&r->c);
	if (raw == NULL)
		gguf_no_memory(r, GGUF ": metadata");
	step_over(r, type, n);
	if (!gcur_ok(&r->c))
		return NULL;
	note_long(r, at, key, "an array", n, GGUF_ARRAY_MAX);
	*raw = (struct meta_raw){
		.bytes = start, .len = gcur_at(&r->c) - at, .kind = (uint8_t)type->kind,
		.width = type->kind == TN_META_STRING ? (uint8_t)(8 * gcur_length_size(&r->c))
		       : type->width,
		.big_endian = r->c.big,
	};
	array->is_raw = true;
	array->as.packed.raw = raw;
	array->as.packed.n = n;
	return array;
}

static struct tn_meta *read_array(struct reading *r, tn_view key, unsigned depth)
{
	uint64_t at = gcur_at(&r->c);
	uint32_t type = gcur_u32(&r->c);
	uint64_t n = gcur_length(&r->c);
	if (!gcur_ok(&r->c))
		return NULL;
	if (depth == GGUF_NESTING) {
		err_set(r->job->err, TN_E_LIMIT, at,
		        GGUF ": metadata '%s' nests more than %d arrays", ESC(key), GGUF_NESTING);
		return NULL;
	}
	if (type >= GGUF_VALUES) {
		err_set(r->job->err, TN_E_CORRUPT, at,
		        GGUF ": metadata '%s' is an array of type %" PRIu32 ", which is not known",
		        ESC(key), type);
		return NULL;
	}
	if (type != VALUE_ARRAY)
		return read_flat(r, key, &gguf_values[type], n);
	if (depth == 0)
		gguf_note(r, TN_WARNING, TN_E_UNSUPPORTED, at, NO_TENSOR,
		          "metadata '%s' is an array of arrays: llama.cpp refuses "
		          "the file", ESC(key));
	return read_nested(r, key, n, depth);
}

/* ---- Pairs ---- */

/* depth counts the arrays around the value. NULL after a failure. */
static struct tn_meta *read_value(struct reading *r, tn_view key, uint32_t type, unsigned depth)
{
	switch (type) {
	case VALUE_STRING: return read_string(r, key);
	case VALUE_ARRAY:  return read_array(r, key, depth);
	default:           return read_scalar(r, key, &gguf_values[type]);
	}
}

static void note_key(struct reading *r, uint64_t at, tn_view key)
{
	if (key.len == 0)
		gguf_note(r, TN_WARNING, TN_E_CORRUPT, at, NO_TENSOR,
		          "a key is empty: llama.cpp refuses the file");
	else if (key.len > GGUF_KEY_MAX)
		gguf_note(r, TN_WARNING, TN_E_CORRUPT, at, NO_TENSOR,
		          "a key has %zu bytes, the format allows %d", key.len,
		          GGUF_KEY_MAX);
}

static struct tn_meta *read_pair(struct reading *r)
{
	uint64_t at = gcur_at(&r->c);
	tn_view key = gcur_string(&r->c);
	uint64_t type_at = gcur_at(&r->c);
	uint32_t type = gcur_u32(&r->c);
	if (!gcur_ok(&r->c))
		return NULL;
	if (type >= GGUF_VALUES) {
		err_set(r->job->err, TN_E_CORRUPT, type_at,
		        GGUF ": metadata '%s' is of type %" PRIu32 ", which is not known",
		        ESC(key), type);
		return NULL;
	}
	note_key(r, at, key);
	return meta_append(r->job->model->metadata, key, read_value(r, key, type, 0));
}

static tn_view key_at(const void *nodes, uint64_t i)
{
	return ((struct tn_meta *const *)nodes)[i]->key;
}

bool gguf_read_pairs(struct reading *r)
{
	struct arena *mem = r->job->mem;
	struct tn_meta **nodes = arena_raw(mem, r->n_pairs, sizeof *nodes);
	struct strmap keys;
	uint64_t other;
	if (nodes == NULL || !strmap_init(&keys, mem, r->n_pairs))
		return gguf_no_memory(r, GGUF ": metadata");
	r->c.c.what = GGUF ": metadata";
	for (uint64_t i = 0; i < r->n_pairs; i++) {
		uint64_t at = gcur_at(&r->c);
		if ((nodes[i] = read_pair(r)) == NULL)
			return false;
		if (!strmap_add(&keys, key_at, nodes, i, &other))
			return corrupt(r, at, nodes[i]->key, "is there twice");
	}
	r->pairs_end = gcur_at(&r->c);
	return true;
}
