/* shards.c - APR over several files, and the manifest that lists them.
 *
 * A shard is a file like any other, with the flag SHARDED and this in its metadata:
 *
 *	"sharding":{"shard_count":3,"shard_index":0,"total_size":bytes of all tensors,"pattern":null}
 *
 * The manifest, unlike the index of safetensors, gives tensors to numbers:
 *
 *	{"version":"2.0","shard_count":1,"total_size":452,"tensor_count":1,
 *	 "shards":[{"filename":"model-00001-of-00001.apr","index":0,"size":452,"tensors":["a"]}],
 *	 "weight_map":{"a":0}}
 *
 * Its sizes are those of files.
 */
#include "format/apr/layout.h"

#define SHARDING "sharding"

/* ---- The place of a shard ---- */

static bool is_sharded(const struct model *m, uint16_t *flags)
{
	return tn_meta_u16(apr_native(m, APR_NATIVE_FLAGS), flags) && (*flags & APR_SHARDED) != 0;
}

static bool place(const struct model *m, struct shard_place *out)
{
	const struct tn_meta *sharding = meta_find(m->metadata, VIEW(SHARDING));
	uint16_t flags;
	out->tensors = UINT64_MAX;
	return is_sharded(m, &flags) && sharding != NULL && sharding->type == TN_META_MAP &&
	       tn_meta_u64(meta_find(sharding, VIEW("shard_count")), &out->n) && out->n != 0 &&
	       tn_meta_u64(meta_find(sharding, VIEW("shard_index")), &out->k);
}

/* A file that has nothing of its own has no native subtree. */
static void make_whole(struct model *m)
{
	struct tn_meta *own = meta_find(m->native, VIEW("apr")), *flags = own != NULL ? meta_find(own, VIEW(APR_NATIVE_FLAGS)) : NULL;
	meta_remove(m->metadata, VIEW(SHARDING));
	if (flags == NULL || flags->type != TN_META_UINT)
		return;
	flags->as.u &= ~(uint64_t)APR_SHARDED;
	if (flags->as.u == APR_ROW_MAJOR)
		meta_remove(own, VIEW(APR_NATIVE_FLAGS));
	if (own->as.kids.first == NULL)
		meta_remove(m->native, VIEW("apr"));
}

/* ---- Marking one ---- */

/* Lists and objects stand in the first shard alone: a vocabulary is not repeated. */
static struct tn_meta *small_values(struct shard_job *job)
{
	struct tn_meta *map = meta_new(job->mem, TN_META_MAP);
	for (const struct tn_meta *x = job->model->metadata->as.kids.first; map != NULL && x != NULL; x = x->next)
		if (x->type != TN_META_ARRAY && x->type != TN_META_MAP && meta_append(map, x->key, meta_clone(job->mem, x, false)) == NULL)
			return NULL;
	return map;
}

static bool mark_flags(struct shard_job *job)
{
	struct model *m = job->model;
	uint16_t flags;
	if (!tn_meta_u16(apr_native(m, APR_NATIVE_FLAGS), &flags))
		flags = APR_ROW_MAJOR;
	struct tn_meta *own = meta_map_at(job->mem, m->native, VIEW("apr")), *node = meta_new(job->mem, TN_META_UINT);
	if (own == NULL || node == NULL)
		return false;
	node->width = 16;
	node->as.u = flags | APR_SHARDED;
	meta_set(own, VIEW(APR_NATIVE_FLAGS), node);
	return true;
}

static bool mark_metadata(struct shard_job *job)
{
	struct tn_meta *map = meta_new(job->mem, TN_META_MAP);
	if (map == NULL)
		return false;
	meta_set(job->model->metadata, VIEW(SHARDING), map);
	return meta_add_uint(job->mem, map, VIEW("shard_count"), job->place.n, 64) != NULL &&
	       meta_add_uint(job->mem, map, VIEW("shard_index"), job->place.k, 64) != NULL &&
	       meta_add_uint(job->mem, map, VIEW("total_size"), job->data, 64) != NULL; /* no pattern is written as null */
}

static bool only_own_native(struct shard_job *job)
{
	struct tn_meta *own = meta_find(job->model->native, VIEW("apr")), *native = meta_new(job->mem, TN_META_MAP);
	job->model->native = native;
	return native != NULL && (own == NULL || meta_append(native, VIEW("apr"), own) != NULL);
}

static tn_code make_shard(struct shard_job *job)
{
	struct model *m = job->model;
	m->metadata = job->place.k == 0 ? meta_clone(job->mem, m->metadata, false) : small_values(job);
	m->native = meta_clone(job->mem, m->native, false);
	bool ok = m->metadata != NULL && m->native != NULL && (job->place.k == 0 || only_own_native(job));
	if (!ok || !mark_flags(job) || !mark_metadata(job))
		return arena_err(job->mem, job->err, "apr: shard");
	return TN_OK;
}

/* ---- Reading a manifest ---- */

static bool is_index(const struct json_val *root)
{
	if (json_type(root) != JSON_OBJECT)
		return false;
	const struct json_val *shards = json_find(root, "shards"), *map = json_find(root, "weight_map");
	return shards != NULL && json_type(shards) == JSON_ARRAY && map != NULL && json_type(map) == JSON_OBJECT &&
	       json_find(root, "shard_count") != NULL;
}

static tn_code fault(struct index_job *job, const char *why)
{
	return err_set(job->err, TN_E_CORRUPT, TN_NO_OFFSET, "apr: manifest: %s", why);
}

static const struct json_val *typed(const struct json_val *object, const char *name, enum json_type type)
{
	const struct json_val *v = json_type(object) == JSON_OBJECT ? json_find(object, name) : NULL;
	return v != NULL && json_type(v) == type ? v : NULL;
}

static tn_code read_files(struct index_job *job)
{
	const struct json_val *shards = json_find(job->root, "shards"), *count = typed(job->root, "shard_count", JSON_UINT);
	struct shard_index *ix = job->index;
	ix->n_files = json_count(shards);
	ix->files = ARENA_NEW(job->mem, ix->n_files, tn_view);
	ix->sizes = ARENA_NEW(job->mem, ix->n_files, uint64_t);
	if (ix->files == NULL || ix->sizes == NULL)
		return arena_err(job->mem, job->err, "apr: manifest");
	if (count == NULL || json_uint(count) != ix->n_files)
		return err_set(job->err, TN_E_CORRUPT, TN_NO_OFFSET, "apr: manifest: shard_count is not the number of shards listed, %llu",
		               (unsigned long long)ix->n_files);
	for (struct json_iter it = json_items(shards); json_next(&it); ) {
		const struct json_val *name = typed(it.val, "filename", JSON_STRING), *index = typed(it.val, "index", JSON_UINT);
		const struct json_val *size = typed(it.val, "size", JSON_UINT);
		if (name == NULL || size == NULL || index == NULL || json_uint(index) >= ix->n_files)
			return fault(job, "a shard has no filename, no size, or no index below shard_count");
		ix->sizes[json_uint(index)] = json_uint(size);
		tn_view *file = &ix->files[json_uint(index)];
		if (file->ptr != NULL)
			return err_set(job->err, TN_E_CORRUPT, TN_NO_OFFSET, "apr: manifest: two shards have the index %llu",
			               (unsigned long long)json_uint(index));
		if ((*file = arena_copy(job->mem, json_string(name))).ptr == NULL)
			return arena_err(job->mem, job->err, "apr: manifest");
	}
	return TN_OK;
}

static tn_view owner_at(const void *owners, uint64_t i) { return ((const struct shard_owner *)owners)[i].tensor; }

static tn_code read_owners(struct index_job *job)
{
	const struct json_val *map = json_find(job->root, "weight_map");
	struct shard_index *ix = job->index;
	struct strmap owned;
	uint64_t other;
	ix->owners = arena_raw(job->mem, json_count(map), sizeof *ix->owners);
	if (ix->owners == NULL || !strmap_init(&owned, job->mem, json_count(map)))
		return arena_err(job->mem, job->err, "apr: manifest");
	for (struct json_iter it = json_items(map); json_next(&it); ) {
		struct shard_owner *o = &ix->owners[ix->n_owners];
		if (json_type(it.val) != JSON_UINT || json_uint(it.val) >= ix->n_files)
			return err_set(job->err, TN_E_CORRUPT, TN_NO_OFFSET, "apr: manifest: tensor '%s' is given to no shard", ESC(it.key));
		*o = (struct shard_owner){ arena_copy(job->mem, it.key), json_uint(it.val) };
		if (o->tensor.ptr == NULL)
			return arena_err(job->mem, job->err, "apr: manifest");
		if (!strmap_add(&owned, owner_at, ix->owners, ix->n_owners, &other))
			return err_set(job->err, TN_E_CORRUPT, TN_NO_OFFSET, "apr: manifest: tensor '%s' is there twice", ESC(it.key));
		ix->n_owners++;
	}
	return TN_OK;
}

static tn_code read_index(struct index_job *job)
{
	return read_files(job) == TN_OK ? read_owners(job) : job->err->code;
}

/* ---- Writing one ---- */

static void put_number(struct buf *out, const char *before, uint64_t v)
{
	buf_text(out, before);
	json_put_uint(out, v);
}

static void put_shard(struct buf *out, const struct shard_done *d, uint64_t index)
{
	buf_text(out, index == 0 ? "\n    {\n      \"filename\": " : ",\n    {\n      \"filename\": ");
	json_put_string(out, tn_text(d->name));
	put_number(out, ",\n      \"index\": ", index);
	put_number(out, ",\n      \"size\": ", d->size);
	buf_text(out, ",\n      \"tensors\": [");
	for (uint64_t t = 0; t < d->n; t++) {
		buf_text(out, t == 0 ? "\n        " : ",\n        ");
		json_put_lossy(out, d->tensors[t]);
	}
	buf_text(out, d->n == 0 ? "]\n    }" : "\n      ]\n    }");
}

/* Two spaces a level, as serde_json prints it; no line feed at the end. */
static void print_index(struct buf *out, const struct shard_done *list, uint64_t n, const struct model *whole)
{
	uint64_t total = 0, tensors = 0;
	const char *between = "\n    ";
	(void)whole;
	for (uint64_t i = 0; i < n; i++) {
		tensors += list[i].n;
		if (!add_u64(total, list[i].size, &total))
			total = UINT64_MAX;
	}
	put_number(out, "{\n  \"version\": \"2.0\",\n  \"shard_count\": ", n);
	put_number(out, ",\n  \"total_size\": ", total);
	put_number(out, ",\n  \"tensor_count\": ", tensors);
	buf_text(out, ",\n  \"shards\": [");
	for (uint64_t i = 0; i < n; i++)
		put_shard(out, &list[i], i);
	buf_text(out, n == 0 ? "],\n  \"weight_map\": {" : "\n  ],\n  \"weight_map\": {");
	for (uint64_t i = 0; i < n; i++) {
		for (uint64_t t = 0; t < list[i].n; t++, between = ",\n    ") {
			buf_text(out, between);
			json_put_lossy(out, list[i].tensors[t]);
			put_number(out, ": ", i);
		}
	}
	buf_text(out, tensors == 0 ? "}\n}" : "\n  }\n}");
}

const struct shard_rules apr_shards = {
	.index_suffix = ".apr.index.json",
	.first = 1,
	.any_stands_for_all = true,
	.is_index = is_index,
	.read_index = read_index,
	.place = place,
	.make_whole = make_whole,
	.make_shard = make_shard,
	.print_index = print_index,
};
