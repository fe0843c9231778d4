/* fuzz_open.c - any bytes as a model file: opened by detection and as each format, listed, walked,
 * mapped out, verified deeply, read. Whatever the bytes are, the promises of tenon.h must hold. */
#include "tenon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "broken: %s\n", what);
		abort();
	}
}

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

static void read_tensor(const tn_file *file, size_t i)
{
	tn_tensor t = tn_tensor_at(file, i);
	size_t found;
	tn_view in_place;
	tn_buffer copy = { 0 };
	require(tn_tensor_find(file, t.name, &found, NULL) == TN_OK && found == i,
	        "a tensor is found by its name");
	if (t.extras != NULL)
		walk(t.extras);
	uint8_t some[8]; /* whole elements of any type */
	if (t.stored == 0 && t.nbytes != 0) { /* named by the file, but without bytes */
		require(tn_read(file, i, 0, some, t.nbytes < sizeof some ? (size_t)t.nbytes : sizeof some, NULL) == TN_E_CORRUPT, "bytes from nowhere");
		return;
	}
	/* what is stored encoded may be damaged where its extent is not */
	bool encoded = tn_bytes(file, i, &in_place, NULL) != TN_OK;
	tn_code code = tn_read_buffer(file, i, &copy, NULL);
	require(code == TN_OK || (encoded && (code == TN_E_CORRUPT || code == TN_E_UNSUPPORTED)),
	        "a tensor of a file that opens can be read");
	require(copy.len == t.nbytes, "as many bytes as it says");
	if (tn_bytes(file, i, &in_place, NULL) == TN_OK && copy.len != 0)
		require(memcmp(in_place.ptr, copy.ptr, copy.len) == 0, "the same bytes in place");
	tn_buffer_fini(&copy);
}

static void check_map(const tn_file *file)
{
	tn_map *map;
	uint64_t at = 0;
	require(tn_map_new(&map, file, NULL) == TN_OK, "an open file can be mapped out");
	for (size_t i = 0; i < tn_map_count(map); i++) {
		tn_region r = tn_map_at(map, i);
		require(r.offset == at, "regions join");
		at += r.len;
	}
	require(at == tn_file_size(file), "regions cover the file");
	tn_map_free(map);
}

static void check_verify(const tn_file *file)
{
	tn_verify_options deep = { .deep = true, .work.threads = 1 };
	tn_report *report;
	tn_digest total;
	require(tn_verify(file, &deep, &report, NULL) == TN_OK, "an open file can be verified");
	for (size_t i = 0; i < tn_report_count(report); i++)
		require(strlen(tn_report_at(report, i).text) > 0, "a finding says something");
	tn_report_free(report);
	bool whole = true;
	for (size_t i = 0; i < tn_tensor_count(file); i++)
		whole = whole && tn_hash_tensor(file, i, &total, NULL) == TN_OK;
	require((tn_hash(file, &deep.work, NULL, &total, NULL) == TN_OK) == whole,
	        "an open file can be hashed when all of its tensors can");
}

static void check_estimates(const tn_file *file)
{
	static const tn_plan_options options = {
		.vram = 1000, .ctx = 3, .residency = "offload-middle-out", .offload_layers = 1,
	};
	for (int kind = TN_ESTIMATE_PLAN; kind <= TN_ESTIMATE_STATS; kind++) {
		tn_estimate *e;
		tn_error err;
		tn_code code = tn_estimate_new(&e, file, (tn_estimate_kind)kind, &options, &err);
		require(code == TN_OK || code == TN_E_UNSUPPORTED || code == TN_E_LIMIT, "an open file can be estimated");
		if (code == TN_OK)
			walk(tn_estimate_values(e));
		tn_estimate_free(e);
	}
}

static void check_pages(const tn_file *file)
{
	const tn_pages_options options = { .budget = 4096 };
	tn_pages *pages;
	tn_view bytes;
	if (tn_pages_open(&pages, file, &options, NULL) != TN_OK)
		return;
	for (size_t i = 0; i < 2 * tn_pages_count(pages); i++) {
		size_t step = i % tn_pages_count(pages);
		tn_pages_prefetch(pages, step, 2);
		if (tn_pages_use(pages, step, &bytes, NULL) == TN_OK) {
			require(bytes.len == tn_pages_at(pages, step).nbytes, "a page has the length that was said");
			tn_pages_end(pages, step);
		}
		require(tn_pages_counted(pages).held <= options.budget, "the budget holds");
		if (i % 3 == 0)
			tn_pages_release(pages, step);
	}
	tn_pages_close(pages);
}

static void try_open(tn_view bytes, const tn_open_options *options)
{
	tn_file *file;
	tn_error err;
	if (tn_open_memory(&file, bytes, options, &err) != TN_OK) {
		require(file == NULL && err.msg[0] != '\0', "a refusal gives a reason and no file");
		return;
	}
	for (size_t i = 0; i < tn_tensor_count(file); i++)
		read_tensor(file, i);
	walk(tn_metadata(file));
	walk(tn_native(file));
	check_map(file);
	check_verify(file);
	check_estimates(file);
	check_pages(file);
	tn_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	tn_view bytes = { data, size };
	tn_open_options options = { .limits.max_memory = 64 << 20 };
	try_open(bytes, &options);
	for (size_t i = 0; i < tn_format_count(); i++) {
		options.format = tn_format_at(i).name;
		options.ignore_envelope = i % 2 == 0;
		try_open(bytes, &options);
	}
	return 0;
}
