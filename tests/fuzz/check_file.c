/* check_file.c - the promises of tenon.h for a file that opens: every tensor can be read, in place and by copy to the same
 * bytes, the map covers the file, verifying and hashing end, a tape can be estimated and played. */
#include "fuzz/check_file.h"

static uint64_t walk(const tn_meta *node)
{
	tn_view s;
	uint64_t sum = tn_meta_width(node) + tn_meta_key(node).len;
	if (tn_meta_bytes(node, &s) && s.len != 0)
		sum += s.ptr[0] + s.ptr[s.len - 1];
	tn_meta_iter it = tn_meta_items(node);
	for (const tn_meta *item; (item = tn_meta_next(&it)) != NULL; )
		sum += walk(item);
	return sum;
}

void check_tree(const tn_meta *node)
{
	volatile uint64_t used = walk(node);
	(void)used;
}

/* What is stored encoded may be damaged where its extent is not. */
static void read_tensor(const tn_file *file, size_t i)
{
	tn_tensor t = tn_tensor_at(file, i);
	size_t found;
	tn_view in_place;
	tn_buffer copy = { 0 };
	uint8_t some[8]; /* whole elements of any type */
	float first;
	require(tn_tensor_find(file, t.name, &found, NULL) == TN_OK && found == i, "a tensor is found by its name");
	if (t.extras != NULL)
		check_tree(t.extras);
	if (t.stored == 0 && t.nbytes != 0) { /* named by the file, but without bytes */
		size_t n = t.nbytes < sizeof some ? (size_t)t.nbytes : sizeof some;
		require(tn_read(file, i, 0, some, n, NULL) == TN_E_CORRUPT, "bytes from nowhere");
		return;
	}
	bool plain = tn_bytes(file, i, &in_place, NULL) == TN_OK;
	tn_code code = tn_read_buffer(file, i, &copy, NULL);
	require(code == TN_OK || (!plain && (code == TN_E_CORRUPT || code == TN_E_UNSUPPORTED)),
	        "a tensor of a file that opens can be read");
	require(copy.len == t.nbytes, "as many bytes as it says");
	if (plain && copy.len != 0)
		require(memcmp(in_place.ptr, copy.ptr, copy.len) == 0, "the same bytes in place");
	tn_buffer_fini(&copy);
	code = tn_read_f32(file, i, 0, &first, 1, NULL);
	require(code != TN_E_NOMEM && code != TN_E_IO && code != TN_E_NOTFOUND, "a number, or a reason that is the file's");
}

static void check_map(const tn_file *file)
{
	tn_map *map;
	size_t part = 0;
	uint64_t at = 0, size = 0;
	require(tn_map_new(&map, file, NULL) == TN_OK, "an open file can be mapped out");
	for (size_t i = 0; i < tn_map_count(map); i++) {
		tn_region r = tn_map_at(map, i);
		for (; part < r.part; part++, at = 0)
			require(at == tn_file_part_at(file, part).size, "regions cover a file");
		require(r.part == part && r.offset == at, "regions join");
		at += r.len;
		size += r.len;
	}
	require(size == tn_file_size(file), "regions cover the file");
	tn_map_free(map);
}

static void check_verify(const tn_file *file)
{
	const tn_verify_options deep = { .deep = true, .work.threads = 1 };
	tn_report *report;
	require(tn_verify(file, &deep, &report, NULL) == TN_OK, "an open file can be verified");
	for (size_t i = 0; i < tn_report_count(report); i++)
		require(tn_report_at(report, i).text[0] != '\0', "a finding says something");
	tn_report_free(report);
}

static void check_hash(const tn_file *file)
{
	const tn_work one = { .threads = 1 };
	tn_digest total, single;
	size_t n = tn_tensor_count(file);
	tn_digest *all = calloc(n + 1, sizeof *all);
	bool whole = true;
	require(all != NULL, "memory");
	tn_code code = tn_hash(file, &one, all, &total, NULL);
	for (size_t i = 0; i < n; i++) {
		bool can = tn_hash_tensor(file, i, &single, NULL) == TN_OK;
		require(!can || code != TN_OK || memcmp(&single, &all[i], sizeof single) == 0, "one digest, alone and among all");
		whole = whole && can;
	}
	require((code == TN_OK) == whole, "a file can be hashed when all of its tensors can");
	free(all);
}

static void check_estimates(const tn_file *file)
{
	static const tn_plan_options options = {
		.vram = 1000, .ctx = 3, .residency = "offload-middle-out", .offload_layers = 1,
	};
	for (int kind = TN_ESTIMATE_PLAN; kind <= TN_ESTIMATE_STATS; kind++) {
		tn_estimate *e;
		tn_code code = tn_estimate_new(&e, file, (tn_estimate_kind)kind, &options, NULL);
		require(code == TN_OK || code == TN_E_UNSUPPORTED || code == TN_E_LIMIT, "an open file can be estimated");
		if (code == TN_OK)
			check_tree(tn_estimate_values(e));
		tn_estimate_free(e);
	}
}

/* Once through its tape; what the cache does is fuzz_pages.c's. */
static void check_pages(const tn_file *file)
{
	const tn_pages_options options = { .budget = 4096 };
	tn_pages *pages;
	tn_view bytes;
	if (tn_pages_open(&pages, file, &options, NULL) != TN_OK)
		return;
	for (size_t i = 0; i < tn_pages_count(pages); i++) {
		if (tn_pages_use(pages, i, &bytes, NULL) == TN_OK) {
			require(bytes.len == tn_pages_at(pages, i).nbytes, "a page has the length that was said");
			tn_pages_end(pages, i);
		}
		require(tn_pages_counted(pages).held <= options.budget, "the budget holds");
	}
	tn_pages_close(pages);
}

void check_file(const tn_file *file)
{
	for (size_t i = 0; i < tn_tensor_count(file); i++)
		read_tensor(file, i);
	check_tree(tn_metadata(file));
	check_tree(tn_native(file));
	check_map(file);
	check_verify(file);
	check_hash(file);
	if (strcmp(tn_file_format(file), "thin") == 0) {
		check_estimates(file);
		check_pages(file);
	}
}

/* ---- Comparing ---- */

static bool same_meta(const tn_meta *a, const tn_meta *b)
{
	tn_view x = { 0 }, y = { 0 };
	uint64_t p = 0, q = 0;
	double f = 0, g = 0;
	if (tn_meta_kind(a) != tn_meta_kind(b) || tn_meta_width(a) != tn_meta_width(b) ||
	    tn_meta_count(a) != tn_meta_count(b))
		return false;
	tn_meta_bytes(a, &x), tn_meta_bytes(b, &y);
	tn_meta_u64(a, &p), tn_meta_u64(b, &q);
	tn_meta_f64(a, &f), tn_meta_f64(b, &g);
	if (x.len != y.len || (x.len != 0 && memcmp(x.ptr, y.ptr, x.len) != 0) || p != q ||
	    memcmp(&f, &g, sizeof f) != 0)
		return false;
	tn_meta_iter i = tn_meta_items(a), j = tn_meta_items(b);
	for (const tn_meta *m, *n; (m = tn_meta_next(&i)) != NULL; ) {
		n = tn_meta_next(&j);
		if (n == NULL || !same_meta(m, n) || tn_meta_key(m).len != tn_meta_key(n).len)
			return false;
	}
	return true;
}

bool check_same_keys(const tn_meta *a, const tn_meta *b)
{
	tn_meta_iter it = tn_meta_items(a);
	for (const tn_meta *item; (item = tn_meta_next(&it)) != NULL; ) {
		const tn_meta *other = tn_meta_find(b, tn_meta_key(item));
		if (other == NULL || !same_meta(item, other))
			return false;
	}
	return tn_meta_count(a) == tn_meta_count(b);
}
