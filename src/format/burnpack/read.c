/* read.c - from a file's first bytes to a model: the header, the root of the metadata, and the checks that need
 * both.
 *
 *	root  { tensors: { name: descriptor }, metadata: { text: text }, scalars: { text: scalar } }
 *
 * Members may come in any order; what is unknown is kept as it stands. */
#include "format/burnpack/read.h"

/* ---- The root ---- */

bool pack_read_unknown(struct reading *r, struct tn_meta *map, tn_view key, unsigned depth)
{
	tn_view bytes;
	r->n_unknown++;
	if (!walk_unknown(&r->w, key, depth, &bytes))
		return false;
	return meta_add_bytes(r->job->mem, map, key, bytes) != NULL || walk_no_memory(&r->w, "burnpack: unknown members");
}

static bool read_root(struct reading *r)
{
	static const char *const names[] = { "tensors", "metadata", "scalars" };
	static bool (*const readers[])(struct reading *) = { pack_read_tensors, pack_read_metadata, pack_read_scalars };
	struct walk_items items;
	unsigned seen = 0;
	tn_view key;
	if (!walk_enter_map(&r->w, 0, &items, "the metadata"))
		return false;
	for (uint64_t i = 0; i < items.n && walk_key(&r->w, &key); i++) {
		int at = pack_index(names, 3, key);
		if (at < 0)
			pack_read_unknown(r, r->unknown, key, IN_ROOT);
		else if (seen & 1u << at)
			walk_fail(&r->w, TN_E_CORRUPT, cur_offset(&r->w.c), "member '%s' appears twice", names[at]);
		else if (readers[at](r))
			seen |= 1u << at;
	}
	if (!walk_leave(&r->w, &items))
		return false;
	return (seen & 1) || walk_fail(&r->w, TN_E_CORRUPT, PACK_HEADER, "member 'tensors' is missing");
}

/* ---- The model ---- */

static bool fill_unknown(struct reading *r)
{
	if (tn_meta_count(r->unknown) == 0)
		return true;
	struct tn_meta *native = model_native(r->job->mem, r->job->model, "burnpack");
	if (native == NULL)
		return walk_no_memory(&r->w, "burnpack: unknown members");
	meta_append(native, VIEW("unknown"), r->unknown);
	return true;
}

static void fill_regions(struct model *m, uint64_t metadata, uint64_t base, uint64_t size)
{
	uint64_t after = PACK_HEADER + metadata;
	model_region(m, TN_REGION_HEADER, 0, PACK_HEADER, "header");
	model_region(m, TN_REGION_INDEX, PACK_HEADER, metadata, "index");
	model_region(m, TN_REGION_PADDING, after, min_u64(base, size) - after, "padding");
}

/* Offsets count from the base; sums that overflow are the last thing that can be wrong with them. */
static tn_code fill_tensors(struct reading *r, uint64_t metadata)
{
	struct parse_job *job = r->job;
	struct model *m = job->model;
	struct legacy_base base = { .after = PACK_HEADER + metadata, .modern = r->modern };
	m->tensors = r->tensors;
	m->n = r->n;
	if (!model_sort_by_data(m->tensors, m->n))
		return arena_err(job->mem, job->err, "burnpack: order of tensors");
	if (legacy_find_base(job, &base) != TN_OK)
		return job->err->code;
	for (uint64_t i = 0; i < m->n; i++)
		if (!add_u64(m->tensors[i].offset, base.base, &m->tensors[i].offset))
			return err_set(job->err, TN_E_CORRUPT, PACK_HEADER, "burnpack: tensor '%s': its offset overflows 64 bits",
			               ESC(m->tensors[i].name));
	r->old |= base.old ? OLD_UNALIGNED : 0;
	m->data_at = base.base;
	m->data_align = base.old ? 1 : PACK_ALIGN;
	fill_regions(m, metadata, base.base, job->size);
	return TN_OK;
}

static void report_tolerated(struct reading *r)
{
	struct tn_report *report = r->job->report;
	const struct model *m = r->job->model;
	if (*m->dialect != '\0')
		report_add(report, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR, "burnpack: an old file: %s", m->dialect);
	if (r->n_unknown != 0)
		report_add(report, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR, "burnpack: unknown members, not looked at: %llu",
		           (unsigned long long)r->n_unknown);
	if (r->unsorted)
		report_add(report, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR, "burnpack: the index is not sorted by name");
	if (cur_left(&r->w.c) != 0)
		report_add(report, TN_WARNING, TN_E_CORRUPT, cur_offset(&r->w.c), NO_TENSOR,
		           "burnpack: %zu bytes follow the cbor item inside the metadata", cur_left(&r->w.c));
}

static tn_code fill_model(struct reading *r, uint64_t metadata)
{
	struct model *m = r->job->model;
	if (!pack_fill_metadata(r) || !fill_unknown(r) || fill_tensors(r, metadata) != TN_OK)
		return r->job->err->code;
	m->dialect = legacy_dialect(r->old, r->job->mem);
	if (m->dialect == NULL)
		return arena_err(r->job->mem, r->job->err, "burnpack: dialect");
	report_tolerated(r);
	return TN_OK;
}

/* The metadata has the length that the header says; that its contents need more is a contradiction. */
static tn_code parse_metadata(struct parse_job *job, uint64_t metadata)
{
	tn_view bytes = { job->file.ptr + PACK_HEADER, (size_t)metadata };
	struct reading r = { .job = job, .unknown = meta_new(job->mem, TN_META_MAP) };
	r.w = (struct walk){ .c = cur_over(bytes, PACK_HEADER, "burnpack: metadata", job->err), .mem = job->mem };
	if (r.unknown == NULL)
		return arena_err(job->mem, job->err, "burnpack: metadata");
	if (read_root(&r))
		return fill_model(&r, metadata);
	if (job->err->code == TN_E_TRUNCATED)
		job->err->code = TN_E_CORRUPT;
	return job->err->code;
}

/* ---- The header ---- */

static tn_code check_size(struct parse_job *job)
{
	uint64_t limit = limit_or(job->limits->max_file_bytes, PACK_MAX_FILE_BYTES);
	if (job->in_memory || job->size <= limit)
		return TN_OK;
	return err_set(job->err, TN_E_LIMIT, TN_NO_OFFSET, "burnpack: %llu bytes, the limit is %llu",
	               (unsigned long long)job->size, (unsigned long long)limit);
}

static tn_code parse_header(struct parse_job *job, uint64_t *metadata)
{
	uint64_t limit = limit_or(job->limits->max_header, PACK_MAX_METADATA);
	if (!job_has(job, PACK_HEADER, "burnpack: header"))
		return job->err->code;
	struct cur c = cur_over(job->file, 0, "burnpack: header", job->err);
	tn_view magic    = cur_view(&c, 4);
	uint16_t version = cur_u16(&c);
	*metadata        = cur_u32(&c);
	if (!view_is(magic, PACK_MAGIC))
		return err_set(job->err, TN_E_FORMAT, 0, "burnpack: starts with '%s', not with '" PACK_MAGIC "'", ESC(magic));
	if (version > PACK_VERSION)
		return err_set(job->err, TN_E_UNSUPPORTED, 4, "burnpack: version %u, at most %d is known", version, PACK_VERSION);
	if (*metadata > limit)
		return err_set(job->err, TN_E_LIMIT, 6, "burnpack: %llu bytes of metadata, the limit is %llu",
		               (unsigned long long)*metadata, (unsigned long long)limit);
	job->model->version = version == 0 ? "0" : "1";
	return TN_OK;
}

tn_code pack_parse(struct parse_job *job)
{
	uint64_t metadata = 0;
	job->check.max_tensors      = limit_or(job->limits->max_tensors, PACK_MAX_TENSORS);
	job->check.max_tensor_bytes = limit_or(job->limits->max_tensor_bytes, PACK_MAX_TENSOR_BYTES);
	if (check_size(job) != TN_OK || parse_header(job, &metadata) != TN_OK)
		return job->err->code;
	if (!job_has(job, PACK_HEADER + metadata, "burnpack: metadata"))
		return job->err->code;
	return parse_metadata(job, metadata);
}
