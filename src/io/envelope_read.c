/* envelope_read.c - making a model what it was before it was written into a poorer container.
 *
 * The text comes from a file, so it is as hostile as the rest: each part is checked against what the
 * container itself says and skipped, with a warning, where the two do not agree. */
#include "io/envelope.h"

#include "base/num.h"
#include "io/json_tree.h"
#include "io/typed_json.h"
#include "model/check.h"

#include <string.h>

/* Everything is looked up by hash: a hostile header may hold as many keys as it has bytes. */
struct apply {
	struct model     *m;
	struct arena     *mem;
	struct tn_report *r;
	struct strmap     tensors;  /* made when first needed */
	bool             *told;     /* which tensors were spoken of; NULL until tensors is made */
	struct tn_meta  **nodes;    /* the root metadata as the container shows it */
	uint64_t          n_nodes;
	struct strmap     keys;     /* over nodes */
	uint64_t          more;     /* nodes that the envelope may add */
	bool              nomem;
};

/* Subtrees of formats: more than there can be formats are noise. */
enum { MAX_NATIVE = 64 };

/* A container may take two levels in typed JSON; the members around a value take a few more. */
enum { VERSION = 1, MAX_DEPTH = 2 * META_DEEPEST + 8 };

static void stale(struct apply *ap, tn_view tensor, const char *what, tn_view key)
{
	report_add(ap->r, TN_WARNING, TN_E_CORRUPT, TN_NO_OFFSET, tensor, "envelope: %s '%s' does not fit the file and is ignored",
	           what, ESC(key));
}

static struct tn_meta *typed(struct apply *ap, const struct json_val *v)
{
	bool nomem;
	struct tn_meta *node = typed_json_get(ap->mem, v, &nomem);
	ap->nomem = ap->nomem || nomem;
	return node;
}

/* ---- Metadata ---- */

static tn_view key_at(const void *nodes, uint64_t i)
{
	return ((struct tn_meta *const *)nodes)[i]->key;
}

/* With room for as many more as the envelope may bring. */
static bool index_metadata(struct apply *ap, uint64_t more)
{
	const struct tn_meta *root = ap->m->metadata;
	uint64_t n = 0, other;
	ap->nodes = arena_raw(ap->mem, root->as.kids.n + more, sizeof(struct tn_meta *));
	if (ap->nodes == NULL || !strmap_init(&ap->keys, ap->mem, root->as.kids.n + more))
		return false;
	for (struct tn_meta *node = root->as.kids.first; node != NULL; node = node->next, n++) {
		ap->nodes[n] = node;
		strmap_add(&ap->keys, key_at, ap->nodes, n, &other);
	}
	ap->n_nodes = n;
	return true;
}

static bool is_shown(const struct apply *ap, tn_view key)
{
	uint64_t i;
	return strmap_find(&ap->keys, key_at, ap->nodes, key, &i);
}

/* Where the node of that key is, once: a long value compared over and over would cost the square of its length. */
static bool find_once(const struct apply *ap, tn_view key, bool *told, uint64_t *at)
{
	if (!strmap_find(&ap->keys, key_at, ap->nodes, key, at) || told[*at])
		return false;
	told[*at] = true;
	return true;
}

static bool same_scalar(const struct tn_meta *a, const struct tn_meta *b)
{
	switch ((tn_meta_type)a->type) {
	case TN_META_BOOL:  return a->as.b == b->as.b;
	case TN_META_INT:   return a->as.i == b->as.i;
	case TN_META_UINT:  return a->as.u == b->as.u;
	case TN_META_FLOAT: return a->as.f_bits == b->as.f_bits;
	default:            return false;
	}
}

static bool same_json(struct apply *ap, const struct tn_meta *a, const struct tn_meta *b)
{
	struct buf x, y;
	buf_init(&x, ap->mem->budget);
	buf_init(&y, ap->mem->budget);
	json_tree_put(&x, a);
	json_tree_put(&y, b);
	bool same = view_eq(buf_bytes(&x), buf_bytes(&y));
	ap->nomem = ap->nomem || x.failed || y.failed;
	buf_fini(&x);
	buf_fini(&y);
	return same;
}

/* The file's plain text decides whether the typed value is still the one that was written; where the container has
 * values of its own and lacks widths or kinds only, it is the number, or the JSON that both are written as. */
static bool still_says(struct apply *ap, const struct tn_meta *shown, const struct tn_meta *value)
{
	if (shown->type != TN_META_STRING)
		return (shown->type == value->type && same_scalar(shown, value)) || same_json(ap, shown, value);
	tn_view text = envelope_plain(ap->mem, value);
	ap->nomem = ap->nomem || text.ptr == NULL;
	return text.ptr != NULL && view_eq(text, shown->as.s);
}

static void changed(struct apply *ap, tn_view key)
{
	report_add(ap->r, TN_WARNING, TN_E_CORRUPT, TN_NO_OFFSET, NO_TENSOR,
	           "envelope: metadata '%s' was changed after it was written; the change counts", ESC(key));
}

static void restore_value(struct apply *ap, tn_view key, const struct json_val *v, bool *told)
{
	uint64_t at;
	struct tn_meta *value = typed(ap, v);
	if (ap->nomem)
		return;
	if (!find_once(ap, key, told, &at) || value == NULL)
		stale(ap, NO_TENSOR, "metadata", key);
	else if (still_says(ap, ap->nodes[at], value))
		meta_become(ap->nodes[at], value);
	else if (!ap->nomem)
		changed(ap, key);
}

static void restore_values(struct apply *ap, const struct json_val *v)
{
	struct json_iter it = json_items(v);
	bool *told = ARENA_NEW(ap->mem, ap->n_nodes, bool);
	ap->nomem = told == NULL;
	while (!ap->nomem && json_next(&it))
		restore_value(ap, it.key, it.val, told);
}

/* Leaves out the nodes that are gone, and indexes the rest anew. */
static void drop_nodes(struct apply *ap, const bool *gone, uint64_t more)
{
	struct tn_meta *root = ap->m->metadata;
	root->as.kids.first = root->as.kids.last = NULL;
	root->as.kids.n = 0;
	for (uint64_t i = 0; i < ap->n_nodes; i++)
		if (!gone[i])
			meta_append(root, ap->nodes[i]->key, ap->nodes[i]);
	ap->nomem = ap->nomem || !index_metadata(ap, more);
}

/* Values that were put there for the container's sake only. */
static void restore_derived(struct apply *ap, const struct json_val *v)
{
	struct json_iter it = json_items(v);
	uint64_t i;
	bool *gone = ARENA_NEW(ap->mem, ap->n_nodes, bool);
	bool *told = gone != NULL ? ARENA_NEW(ap->mem, ap->n_nodes, bool) : NULL;
	ap->nomem = told == NULL;
	while (!ap->nomem && json_next(&it)) {
		struct tn_meta *value = typed(ap, it.val);
		if (ap->nomem || !find_once(ap, it.key, told, &i) || value == NULL)
			continue;
		gone[i] = still_says(ap, ap->nodes[i], value);
		if (!gone[i] && !ap->nomem)
			changed(ap, it.key);
	}
	if (!ap->nomem)
		drop_nodes(ap, gone, ap->more);
}

/* Values that the container had no place for. What it shows all the same counts more. */
static void restore_hidden(struct apply *ap, const struct json_val *v)
{
	struct json_iter it = json_items(v);
	uint64_t other;
	while (!ap->nomem && json_next(&it)) {
		struct tn_meta *value = typed(ap, it.val);
		tn_view key = arena_copy(ap->mem, it.key);
		ap->nomem = ap->nomem || key.ptr == NULL;
		if (ap->nomem)
			return;
		if (value == NULL || is_shown(ap, key)) {
			stale(ap, NO_TENSOR, "metadata", key);
			continue;
		}
		ap->nodes[ap->n_nodes] = meta_append(ap->m->metadata, key, value);
		strmap_add(&ap->keys, key_at, ap->nodes, ap->n_nodes++, &other);
	}
}

/* Listed keys first, in their order; whatever the list does not name follows as it stood. */
static void restore_metadata_order(struct apply *ap, const struct json_val *v)
{
	struct tn_meta *root = ap->m->metadata;
	uint64_t at;
	bool *placed = ARENA_NEW(ap->mem, ap->n_nodes, bool);
	if (placed == NULL) {
		ap->nomem = true;
		return;
	}
	root->as.kids.first = root->as.kids.last = NULL;
	root->as.kids.n = 0;
	struct json_iter it = json_items(v);
	while (json_next(&it)) {
		if (json_type(it.val) != JSON_STRING || !strmap_find(&ap->keys, key_at, ap->nodes, json_string(it.val), &at))
			continue;
		if (!placed[at])
			meta_append(root, ap->nodes[at]->key, ap->nodes[at]);
		placed[at] = true;
	}
	for (uint64_t i = 0; i < ap->n_nodes; i++)
		if (!placed[i])
			meta_append(root, ap->nodes[i]->key, ap->nodes[i]);
}

/* ---- Tensors ---- */

static bool index_tensors(struct apply *ap)
{
	uint64_t other;
	if (ap->told != NULL)
		return true;
	if (!strmap_init(&ap->tensors, ap->mem, ap->m->n))
		return false;
	for (uint64_t i = 0; i < ap->m->n; i++)
		strmap_add(&ap->tensors, model_name_at, ap->m, i, &other);
	return (ap->told = ARENA_NEW(ap->mem, ap->m->n, bool)) != NULL;
}

/* The tensor of that name, once: extras merged over and over would cost the square of their number. */
static struct tensor *tensor_named(struct apply *ap, tn_view name)
{
	uint64_t i;
	if (!index_tensors(ap)) {
		ap->nomem = true;
		return NULL;
	}
	if (!strmap_find(&ap->tensors, model_name_at, ap->m, name, &i) || ap->told[i])
		return NULL;
	ap->told[i] = true;
	return &ap->m->tensors[i];
}

static bool read_shape(struct apply *ap, const struct json_val *v, struct tensor *t)
{
	size_t rank = json_count(v), i = 0;
	if (json_type(v) != JSON_ARRAY || rank > UINT32_MAX)
		return false;
	uint64_t *shape = arena_raw(ap->mem, rank, sizeof *shape);
	if (shape == NULL) {
		ap->nomem = true;
		return false;
	}
	struct json_iter it = json_items(v);
	while (json_next(&it)) {
		if (json_type(it.val) != JSON_UINT)
			return false;
		shape[i++] = json_uint(it.val);
	}
	t->rank = (uint32_t)rank;
	t->shape = shape;
	return true;
}

static bool read_dtype(const struct json_val *v, tn_dtype *out)
{
	char name[16];
	if (json_type(v) != JSON_STRING || json_string(v).len >= sizeof name)
		return false;
	copy_bytes(name, json_string(v).ptr, json_string(v).len);
	name[json_string(v).len] = '\0';
	return strlen(name) == json_string(v).len && tn_dtype_named(name, out);
}

/* The types that may stand in for one that the container lacks: elements of as many bytes. */
static bool is_carrier(tn_dtype held, tn_dtype meant)
{
	return (meant == TN_FLEX32 && held == TN_F32) ||
	       (meant == TN_BOOL_U8 && (held == TN_BOOL || held == TN_U8)) || (meant == TN_BOOL && held == TN_U8) ||
	       (meant == TN_BOOL_U32 && held == TN_U32) ||
	       ((meant == TN_BOOL || meant == TN_BOOL_U8) && held == TN_I8) || (meant == TN_BOOL_U32 && held == TN_I32);
}

static bool same_shape(const struct tensor *a, const struct tensor *b)
{
	return a->rank == b->rank &&
	       (a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0);
}

/* Whether the bytes that are there can be what the envelope says. */
static bool agrees(const struct tensor *held, const struct tensor *meant)
{
	bool alike = held->dtype == meant->dtype || is_carrier(held->dtype, meant->dtype);
	bool bytes_only = held->dtype == TN_U8 || held->dtype == TN_I8;
	if (alike && same_shape(held, meant))
		return true;
	if (!alike && !bytes_only)
		return false;
	if (meant->dtype == TN_QFLOAT || meant->dtype == TN_OPAQUE)
		return bytes_only;
	return dtype_takes(meant->dtype, BLOCK_ROWS, meant->rank, meant->shape, held->nbytes) ||
	       dtype_takes(meant->dtype, BLOCK_FLAT, meant->rank, meant->shape, held->nbytes) ||
	       dtype_takes_padded(meant->dtype, meant->rank, meant->shape, held->nbytes);
}

/* What the container shows itself, a key or two, counts more. Its map may be other tensors' too: a new one is made. */
static void merge_extras(struct apply *ap, struct tensor *t, const struct json_val *v)
{
	struct tn_meta *from = typed(ap, v);
	if (from == NULL || from->type != TN_META_MAP) {
		if (!ap->nomem)
			stale(ap, t->name, "the extras of", t->name);
		return;
	}
	struct tn_meta *to = t->extras != NULL ? meta_clone(ap->mem, t->extras, false) : meta_new(ap->mem, TN_META_MAP);
	if (to == NULL) {
		ap->nomem = true;
		return;
	}
	for (struct tn_meta *own = to->as.kids.first; own != NULL; own = own->next)
		meta_remove(from, own->key);
	for (struct tn_meta *x = from->as.kids.first, *next; x != NULL; x = next) {
		next = x->next;
		meta_append(to, x->key, x);
	}
	t->extras = to;
}

static void restore_tensor(struct apply *ap, tn_view name, const struct json_val *v)
{
	struct tensor *t = tensor_named(ap, name);
	if (t == NULL || json_type(v) != JSON_OBJECT) {
		if (!ap->nomem)
			stale(ap, NO_TENSOR, "tensor", name);
		return;
	}
	const struct json_val *dtype = json_find(v, "dtype"), *shape = json_find(v, "shape");
	const struct json_val *text = json_find(v, "dtype_text"), *extras = json_find(v, "extras");
	struct tensor meant = *t;
	bool sound = (dtype == NULL || read_dtype(dtype, &meant.dtype)) && (shape == NULL || read_shape(ap, shape, &meant));
	if (ap->nomem)
		return;
	if (!sound || !agrees(t, &meant)) {
		stale(ap, t->name, "the type of", name);
		return;
	}
	if (dtype != NULL)
		meant.dtype_text = tn_text(dtype_info(meant.dtype)->name);
	if (text != NULL && json_type(text) == JSON_STRING && meant.dtype == TN_OPAQUE) {
		meant.dtype_text = arena_copy(ap->mem, json_string(text));
		ap->nomem = ap->nomem || meant.dtype_text.ptr == NULL;
	}
	*t = meant;
	if (extras != NULL)
		merge_extras(ap, t, extras);
}

static void restore_tensors(struct apply *ap, const struct json_val *v)
{
	struct json_iter it = json_items(v);
	while (!ap->nomem && json_next(&it))
		restore_tensor(ap, it.key, it.val);
}

/* Tensor k of the file was tensor order[k]. */
static void restore_order(struct apply *ap, const struct json_val *v)
{
	uint64_t n = ap->m->n, k = 0;
	if (json_count(v) != n) {
		stale(ap, NO_TENSOR, "the order of", VIEW("tensors"));
		return;
	}
	struct tensor *sorted = arena_raw(ap->mem, n, sizeof *sorted);
	bool *taken = sorted != NULL ? ARENA_NEW(ap->mem, n, bool) : NULL;
	if (taken == NULL) {
		ap->nomem = true;
		return;
	}
	struct json_iter it = json_items(v);
	while (json_next(&it)) {
		if (json_type(it.val) != JSON_UINT || json_uint(it.val) >= n || taken[json_uint(it.val)]) {
			stale(ap, NO_TENSOR, "the order of", VIEW("tensors"));
			return;
		}
		taken[json_uint(it.val)] = true;
		sorted[json_uint(it.val)] = ap->m->tensors[k++];
	}
	ap->m->tensors = sorted;
}

/* ---- The whole ---- */

static void restore_native(struct apply *ap, const struct json_val *v)
{
	struct json_iter it = json_items(v);
	for (unsigned n = 0; n < MAX_NATIVE && !ap->nomem && json_next(&it); n++) {
		struct tn_meta *subtree = typed(ap, it.val);
		if (ap->nomem)
			return;
		tn_view key = arena_copy(ap->mem, it.key);
		if (key.ptr == NULL) {
			ap->nomem = true;
			return;
		}
		if (subtree == NULL || subtree->type != TN_META_MAP)
			stale(ap, NO_TENSOR, "native", key);
		else if (meta_find(ap->m->native, key) == NULL)
			meta_append(ap->m->native, key, subtree);
	}
}

/* The order matters: values are compared under the keys that are there, tensors are found by name before
 * they move. */
static void apply_members(struct apply *ap, const struct json_val *root)
{
	static const struct {
		const char *name;
		enum json_type type;
		void (*restore)(struct apply *, const struct json_val *);
	} members[] = {
		{ "derived", JSON_OBJECT, restore_derived },
		{ "metadata", JSON_OBJECT, restore_values },
		{ "hidden", JSON_OBJECT, restore_hidden },
		{ "metadata_order", JSON_ARRAY, restore_metadata_order },
		{ "tensors", JSON_OBJECT, restore_tensors },
		{ "order", JSON_ARRAY, restore_order },
		{ "native", JSON_OBJECT, restore_native },
	};
	for (size_t i = 0; i < sizeof members / sizeof *members && !ap->nomem; i++) {
		const struct json_val *v = json_find(root, members[i].name);
		if (v == NULL)
			continue;
		if (json_type(v) == members[i].type)
			members[i].restore(ap, v);
		else
			stale(ap, NO_TENSOR, "member", tn_text(members[i].name));
	}
}

static uint64_t hidden_count(const struct json_val *root)
{
	const struct json_val *hidden = json_find(root, "hidden");
	return hidden != NULL ? json_count(hidden) : 0;
}

static bool has_version(const struct json_val *root, uint64_t *out)
{
	const struct json_val *version = json_find(root, "tenon");
	if (json_type(root) != JSON_OBJECT || version == NULL || json_type(version) != JSON_UINT)
		return false;
	*out = json_uint(version);
	return true;
}

static bool is_envelope(struct apply *ap, const struct json_val *root)
{
	uint64_t version;
	if (!has_version(root, &version))
		return false;
	if (version == VERSION)
		return true;
	report_add(ap->r, TN_WARNING, TN_E_UNSUPPORTED, TN_NO_OFFSET, NO_TENSOR,
	           "envelope: version %llu is not known to this program and is left alone", (unsigned long long)version);
	return false;
}

static struct json_options how_to_parse(uint64_t budget)
{
	return (struct json_options){ .max_depth = MAX_DEPTH, .budget = budget, .what = "envelope" };
}

bool envelope_is(tn_view text, uint64_t budget)
{
	struct json_options opt = how_to_parse(budget);
	struct json_doc *doc;
	uint64_t version = 0;
	tn_code code = json_parse(&doc, text, &opt, NULL);
	bool is = code == TN_OK && has_version(json_root(doc), &version) && version == VERSION;
	json_free(doc);
	return is || code == TN_E_NOMEM || code == TN_E_LIMIT;
}

tn_code envelope_apply(struct model *m, tn_view key, tn_view text, struct arena *mem, struct tn_report *r, bool *applied,
                       tn_error *err)
{
	struct apply ap = { .m = m, .mem = mem, .r = r };
	struct json_options opt = how_to_parse(mem->budget);
	struct json_doc *doc;
	tn_error why = { .code = TN_OK };
	*applied = false;
	tn_code code = json_parse(&doc, text, &opt, &why);
	if (code == TN_E_NOMEM)
		return err_set(err, code, TN_NO_OFFSET, "%s", why.msg);
	if (code != TN_OK)
		report_add(r, TN_WARNING, code, TN_NO_OFFSET, NO_TENSOR, "%s: it is left alone", why.msg);
	if (code == TN_OK && is_envelope(&ap, json_root(doc))) {
		*applied = true;
		meta_remove(m->metadata, key);
		ap.more = hidden_count(json_root(doc));
		ap.nomem = !index_metadata(&ap, ap.more);
		apply_members(&ap, json_root(doc));
	}
	json_free(doc);
	return ap.nomem ? arena_err(mem, err, "the envelope") : TN_OK;
}
