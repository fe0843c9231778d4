/* shards.c - safetensors over several files: the index, which is a text of its own, and what a shard repeats.
 *
 *	{"metadata":{"total_size":bytes of all tensors,...},"weight_map":{tensor:file,...}}
 *
 * Shards know nothing of each other. The index alone says which file owns a name: a copy in another file does not count. */
#include "format/safetensors/layout.h"

#include "base/mem.h"
#include "base/num.h"
#include "io/typed_json.h"
#include "model/meta_index.h"

#include <stdlib.h>

#define WEIGHT_MAP "weight_map"
#define TOTAL_SIZE "total_size"

/* ---- Reading ---- */

static bool is_index(const struct json_val *root)
{
	if (json_type(root) != JSON_OBJECT)
		return false;
	const struct json_val *map = json_find(root, WEIGHT_MAP);
	if (map == NULL || json_type(map) != JSON_OBJECT)
		return false;
	struct json_iter it = json_items(map);
	return !json_next(&it) || json_type(it.val) == JSON_STRING;
}

static tn_code fault(struct index_job *job, tn_view tensor, const char *why)
{
	return err_set(job->err, TN_E_CORRUPT, TN_NO_OFFSET, SAFETENSORS ": index: '%s' %s", ESC(tensor), why);
}

static tn_view file_at(const void *files, uint64_t i) { return ((const tn_view *)files)[i]; }
static tn_view owner_at(const void *owners, uint64_t i) { return ((const struct shard_owner *)owners)[i].tensor; }

static int by_bytes(const void *a, const void *b) { return view_cmp(*(const tn_view *)a, *(const tn_view *)b); }

/* Files sorted by name, which for numbered ones is the order of the model, each once. */
static tn_code list_files(struct index_job *job, const struct json_val *map, struct strmap *names)
{
	struct shard_index *ix = job->index;
	uint64_t n = json_count(map), other;
	ix->files = arena_raw(job->mem, n, sizeof *ix->files);
	if (ix->files == NULL || !strmap_init(names, job->mem, n))
		return arena_err(job->mem, job->err, SAFETENSORS ": index");
	for (struct json_iter it = json_items(map); json_next(&it); ) {
		if (json_type(it.val) != JSON_STRING)
			return fault(job, it.key, "is given no file name");
		tn_view name = json_string(it.val);
		if (strmap_find(names, file_at, ix->files, name, &other))
			continue;
		ix->files[ix->n_files] = arena_copy(job->mem, name);
		if (ix->files[ix->n_files].ptr == NULL)
			return arena_err(job->mem, job->err, SAFETENSORS ": index");
		strmap_add(names, file_at, ix->files, ix->n_files++, &other);
	}
	if (ix->n_files != 0)
		qsort(ix->files, (size_t)ix->n_files, sizeof *ix->files, by_bytes);
	return TN_OK;
}

static tn_code list_owners(struct index_job *job, const struct json_val *map)
{
	struct shard_index *ix = job->index;
	struct strmap files, owned;
	uint64_t n = json_count(map), other;
	if (list_files(job, map, &files) != TN_OK)
		return job->err->code;
	ix->owners = arena_raw(job->mem, n, sizeof *ix->owners);
	/* the files have been sorted since: found anew */
	if (ix->owners == NULL || !strmap_init(&files, job->mem, ix->n_files) || !strmap_init(&owned, job->mem, n))
		return arena_err(job->mem, job->err, SAFETENSORS ": index");
	for (uint64_t i = 0; i < ix->n_files; i++)
		strmap_add(&files, file_at, ix->files, i, &other);
	for (struct json_iter it = json_items(map); json_next(&it); ) {
		struct shard_owner *o = &ix->owners[ix->n_owners];
		o->tensor = arena_copy(job->mem, it.key);
		if (o->tensor.ptr == NULL)
			return arena_err(job->mem, job->err, SAFETENSORS ": index");
		strmap_find(&files, file_at, ix->files, json_string(it.val), &o->file);
		if (!strmap_add(&owned, owner_at, ix->owners, ix->n_owners, &other))
			return fault(job, it.key, "is there twice");
		ix->n_owners++;
	}
	return TN_OK;
}

/* False when memory is out. What spells no value is passed over. */
static bool keep_member(struct index_job *job, struct meta_index *kept, const struct json_iter *member)
{
	bool nomem = false;
	struct tn_meta *node = typed_json_get(job->mem, member->val, &nomem);
	if (node == NULL)
		return !nomem;
	tn_view key = arena_copy(job->mem, member->key);
	if (key.ptr == NULL)
		return false;
	meta_index_set(kept, key, node);
	return true;
}

/* What the index says of the set beside total_size, which is computed. */
static tn_code keep_metadata(struct index_job *job, const struct json_val *from)
{
	struct shard_index *ix = job->index;
	struct tn_meta *map = meta_new(job->mem, TN_META_MAP);
	struct meta_index kept;
	if (map == NULL || !meta_index_init(&kept, job->mem, map, json_count(from)))
		return arena_err(job->mem, job->err, SAFETENSORS ": index");
	for (struct json_iter it = json_items(from); json_next(&it); ) {
		if (view_is(it.key, TOTAL_SIZE) && json_type(it.val) == JSON_UINT) {
			ix->has_total = true;
			ix->total = json_uint(it.val);
		} else if (!keep_member(job, &kept, &it)) {
			return arena_err(job->mem, job->err, SAFETENSORS ": index");
		}
	}
	ix->metadata = kept.n != 0 ? map : NULL;
	return TN_OK;
}

static tn_code read_index(struct index_job *job)
{
	const struct json_val *metadata = json_find(job->root, "metadata");
	tn_code code = list_owners(job, json_find(job->root, WEIGHT_MAP));
	if (code == TN_OK && metadata != NULL && json_type(metadata) == JSON_OBJECT)
		code = keep_metadata(job, metadata);
	return code;
}

/* ---- Writing ---- */

/* What the index says is not said in a shard. */
static bool without_index(struct shard_job *job)
{
	if (safetensors_own(job->model->native, SHARDS_INDEX) == NULL)
		return true;
	job->model->native = meta_clone(job->mem, job->model->native, false);
	if (job->model->native == NULL)
		return false;
	meta_remove(meta_find(job->model->native, VIEW(SAFETENSORS)), VIEW(SHARDS_INDEX));
	return true;
}

/* Plain strings are repeated in each shard, as is the form of the header; the rest stands in the first alone. */
static bool only_repeated(struct shard_job *job)
{
	struct model *m = job->model;
	struct tn_meta *metadata = meta_new(job->mem, TN_META_MAP), *native = meta_new(job->mem, TN_META_MAP);
	bool ok = metadata != NULL && native != NULL;
	for (const struct tn_meta *x = m->metadata->as.kids.first; ok && x != NULL; x = x->next)
		if (x->type == TN_META_STRING)
			ok = meta_append(metadata, x->key, meta_clone(job->mem, x, false)) != NULL;
	const struct tn_meta *own = meta_find(m->native, VIEW(SAFETENSORS));
	if (ok && own != NULL)
		ok = meta_append(native, VIEW(SAFETENSORS), meta_clone(job->mem, own, false)) != NULL;
	m->metadata = metadata;
	m->native = native;
	return ok;
}

static tn_code make_shard(struct shard_job *job)
{
	bool ok = without_index(job) && (job->place.k == 0 || only_repeated(job));
	return ok ? TN_OK : arena_err(job->mem, job->err, SAFETENSORS ": shard");
}

struct line {
	tn_view     key;
	const char *file;            /* of a tensor */
	const struct tn_meta *value; /* of the set; NULL: total_size */
};

static int by_key(const void *a, const void *b)
{
	return view_cmp(((const struct line *)a)->key, ((const struct line *)b)->key);
}

static void put_lines(struct buf *out, struct line *lines, size_t n, uint64_t total)
{
	if (n > 1)
		qsort(lines, n, sizeof *lines, by_key);
	for (size_t i = 0; i < n; i++) {
		buf_text(out, i == 0 ? "\n    " : ",\n    ");
		json_put_string(out, lines[i].key);
		buf_text(out, ": ");
		if (lines[i].file != NULL)
			json_put_string(out, tn_text(lines[i].file));
		else if (lines[i].value != NULL)
			typed_json_put(out, lines[i].value);
		else
			json_put_uint(out, total);
	}
	buf_text(out, n == 0 ? "}" : "\n  }");
}

static size_t set_lines(struct line *lines, const struct tn_meta *more)
{
	size_t n = 0;
	lines[n++] = (struct line){ .key = VIEW(TOTAL_SIZE) };
	if (more == NULL || more->type != TN_META_MAP)
		return n;
	for (const struct tn_meta *x = more->as.kids.first; x != NULL; x = x->next)
		if (!view_is(x->key, TOTAL_SIZE))
			lines[n++] = (struct line){ .key = x->key, .value = x };
	return n;
}

/* As the hub's writer prints it: two spaces a level, keys sorted, a line feed at the end. */
static void print_index(struct buf *out, const struct shard_done *list, uint64_t n, const struct model *whole)
{
	const struct tn_meta *more = safetensors_own(whole->native, SHARDS_INDEX);
	uint64_t total = 0, most = 1 + tn_meta_count(more);
	for (uint64_t i = 0; i < n; i++) {
		if (!add_u64(total, list[i].data, &total))
			total = UINT64_MAX;
		most += list[i].n;
	}
	struct line *lines = mem_alloc((size_t)most * sizeof *lines);
	if (lines == NULL) {
		out->failed = true;
		return;
	}
	buf_text(out, "{\n  \"metadata\": {");
	put_lines(out, lines, set_lines(lines, more), total);
	buf_text(out, ",\n  \"" WEIGHT_MAP "\": {");
	size_t k = 0;
	for (uint64_t i = 0; i < n; i++)
		for (uint64_t t = 0; t < list[i].n; t++)
			lines[k++] = (struct line){ .key = list[i].tensors[t], .file = list[i].name };
	put_lines(out, lines, k, 0);
	buf_text(out, "\n}\n");
	mem_free(lines);
}

const struct shard_rules safetensors_shards = {
	.index_suffix = ".safetensors.index.json",
	.first = 1,
	.is_index = is_index,
	.read_index = read_index,
	.make_shard = make_shard,
	.print_index = print_index,
};
