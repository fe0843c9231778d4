/* test_apr_shards.c - APR models in several files, and their manifest. */
#include "tenon.h"

#include "support/set_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "support/shard_kit.h"

#define SHARD(k) "model-0000" #k "-of-00002.apr"
#define MANIFEST "model.apr.index.json"

static char *folder;

static int set_up(void **state)
{
	(void)state;
	folder = tempdir_new();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	tempdir_remove(folder);
	return 0;
}

/* Tensors a to c, u8 [10], with scalars and a list as metadata. */
static tn_view whole(void)
{
	tn_writer *w = kit_writer("apr");
	tn_meta *m = tn_writer_metadata(w), *list;
	for (unsigned i = 0; i < 3; i++)
		kit_add(w, (char[2]){ (char)('a' + i), '\0' }, TN_U8, 1, (uint64_t[]){ 10 }, i);
	assert_int_equal(tn_put_string(w, m, tn_text("model_type"), tn_text("x"), NULL), TN_OK);
	assert_int_equal(tn_put_uint(w, m, tn_text("num_layers"), 3, 64, NULL), TN_OK);
	assert_int_equal(tn_put_array(w, m, tn_text("tokens"), &list, NULL), TN_OK);
	assert_int_equal(tn_put_string(w, list, tn_text(""), tn_text("t"), NULL), TN_OK);
	tn_view bytes = kit_save(w);
	tn_writer_free(w);
	return bytes;
}

static void split(tn_view bytes)
{
	tn_file *f = kit_open(bytes);
	const tn_split_options how = { .max_tensors = 2, .write.no_sync = true };
	tn_shards *shards;
	tn_error err;
	if (tn_split(f, folder, &how, &shards, &err) != TN_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(tn_shards_count(shards), 2);
	assert_string_equal(tn_shards_index(shards), MANIFEST);
	tn_shards_free(shards);
	tn_close(f);
}

static void manifest_folder_and_shards_mean_the_same(void **state)
{
	static const char *const ways[] = { NULL, MANIFEST, SHARD(1), SHARD(2) };
	tn_view bytes = whole();
	(void)state;
	split(bytes);
	for (size_t i = 0; i < 4; i++) {
		tn_file *f = shard_kit_open(folder, ways[i], false);
		char *path = files_join(folder, "merged");
		const tn_convert_options how = { .format = "apr", .write = { .no_sync = true, .exact_path = true } };
		tn_error err;
		assert_int_equal(tn_report_count(tn_warnings(f)), 0);
		if (tn_convert(f, path, &how, NULL, &err) != TN_OK)
			fail_msg("%s", err.msg);
		assert_true(files_equal(path, bytes));
		free(path);
		tn_close(f);
	}
	free((void *)bytes.ptr);
}

static void what_is_written(void **state)
{
	static const char form[] =
		"{\n  \"version\": \"2.0\",\n  \"shard_count\": 2,\n  \"total_size\": %zu,\n  \"tensor_count\": 3,\n  \"shards\": [\n"
		"    {\n      \"filename\": \"" SHARD(1) "\",\n      \"index\": 0,\n      \"size\": %zu,\n      \"tensors\": [\n"
		"        \"a\",\n        \"b\"\n      ]\n    },\n"
		"    {\n      \"filename\": \"" SHARD(2) "\",\n      \"index\": 1,\n      \"size\": %zu,\n      \"tensors\": [\n"
		"        \"c\"\n      ]\n    }\n  ],\n"
		"  \"weight_map\": {\n    \"a\": 0,\n    \"b\": 0,\n    \"c\": 1\n  }\n}";
	tn_view bytes = whole();
	(void)state;
	split(bytes);
	char *path = files_join(folder, MANIFEST), *one = files_join(folder, SHARD(1)), *two = files_join(folder, SHARD(2));
	tn_view a = files_load(one), b = files_load(two);
	char manifest[1000];
	snprintf(manifest, sizeof manifest, form, a.len + b.len, a.len, b.len);
	assert_true(files_equal(path, tn_text(manifest)));
	free((void *)a.ptr), free((void *)b.ptr);
	free(one), free(two);
	for (unsigned k = 0; k < 2; k++) {
		tn_file *f = shard_kit_open(folder, k == 0 ? SHARD(1) : SHARD(2), true);
		const tn_meta *m = tn_metadata(f), *sharding = tn_meta_find(m, tn_text("sharding"));
		uint64_t v;
		assert_true(tn_meta_u64(tn_meta_find(sharding, tn_text("shard_count")), &v) && v == 2);
		assert_true(tn_meta_u64(tn_meta_find(sharding, tn_text("shard_index")), &v) && v == k);
		assert_true(tn_meta_u64(tn_meta_find(sharding, tn_text("total_size")), &v) && v == 30);
		assert_true((tn_apr_flags(f) & TN_APR_SHARDED) != 0);
		assert_true(tn_meta_u64(tn_meta_find(m, tn_text("num_layers")), &v) && v == 3);
		assert_true((tn_meta_find(m, tn_text("tokens")) != NULL) == (k == 0));
		tn_close(f);
	}
	tn_report *report;
	tn_error err;
	assert_int_equal(unlink(path), 0);
	if (tn_rebuild_index(folder, NULL, NULL, NULL, &report, &err) != TN_OK)
		fail_msg("%s", err.msg);
	assert_true(files_equal(path, tn_text(manifest)));
	tn_report_free(report);
	free(path);
	free((void *)bytes.ptr);
}

static void another_size_than_the_manifest_says(void **state)
{
	tn_view bytes = whole();
	(void)state;
	split(bytes);
	char *path = files_join(folder, MANIFEST);
	tn_view text = files_load(path);
	char *size = strstr((char *)text.ptr, "\"size\": ");
	size[8] = '9';
	files_store(path, text);
	tn_file *f = shard_kit_open(folder, MANIFEST, false);
	assert_true(set_kit_says(tn_warnings(f), TN_ERROR, SHARD(1) ": the index says that the file has 9"));
	tn_close(f);
	free((void *)text.ptr);
	free((void *)bytes.ptr);
	free(path);
}

static void missing_and_misplaced(void **state)
{
	tn_view bytes = whole();
	(void)state;
	split(bytes);
	char *one = files_join(folder, SHARD(1)), *two = files_join(folder, SHARD(2));
	tn_view first = files_load(one);
	assert_int_equal(unlink(two), 0);
	shard_kit_refused(folder, SHARD(1), TN_E_TRUNCATED, "'" SHARD(2) "' is missing");
	shard_kit_refused(folder, MANIFEST, TN_E_TRUNCATED, "'" SHARD(2) "' is missing");
	files_store(two, first);
	shard_kit_refused(folder, MANIFEST, TN_E_CORRUPT, SHARD(2) ": it says that it is shard 1 of 2, not 2 of 2");
	files_store(two, bytes);
	shard_kit_refused(folder, SHARD(1), TN_E_CORRUPT, SHARD(2) ": it is a whole model");
	free((void *)first.ptr);
	free((void *)bytes.ptr);
	free(one), free(two);
}

/* The flag without its field says that others are missing, and not which. */
static void flag_without_a_place(void **state)
{
	(void)state;
	for (int said = 0; said < 2; said++) {
		tn_writer *w = kit_writer("apr");
		const tn_apr fields = { .given = TN_APR_GIVEN(TN_APR_SHARDING), .sharding = { 2, 0, 10, { NULL, 0 } } };
		kit_add(w, "a", TN_U8, 1, (uint64_t[]){ 10 }, 0);
		assert_int_equal(tn_apr_set_flags(w, TN_APR_SHARDED, NULL), TN_OK);
		if (said != 0)
			assert_int_equal(tn_apr_put(w, &fields, NULL), TN_OK);
		tn_view bytes = kit_save(w);
		tn_file *f = kit_open(bytes);
		assert_int_equal(set_kit_says(tn_warnings(f), TN_WARNING, "the flag SHARDED is set, and no 'sharding'"), said == 0);
		tn_close(f);
		tn_writer_free(w);
		free((void *)bytes.ptr);
	}
}

static void shard_under_another_name(void **state)
{
	tn_view bytes = whole();
	(void)state;
	split(bytes);
	tn_file *f = shard_kit_open(folder, SHARD(2), true);
	char *path = files_join(folder, "one.apr");
	const tn_convert_options how = { .write.no_sync = true };
	tn_converted done;
	assert_int_equal(tn_convert(f, path, &how, &done, NULL), TN_OK);
	assert_true(set_kit_says(done.report, TN_WARNING, "says that it is shard 2 of 2"));
	tn_report_free(done.report);
	tn_close(f);
	free((void *)bytes.ptr);
	free(path);
}

#define ONE(index) "{\"filename\":\"x.apr\",\"index\":" index ",\"size\":1,\"tensors\":[]}"

static void bad_manifests(void **state)
{
	static const struct {
		const char *shards, *count, *map, *why;
	} cases[] = {
		{ ONE("0"), "2", "", "shard_count is not the number" }, { ONE("0"), "\"1\"", "", "shard_count is not the number" },
		{ ONE("1"), "1", "", "no index below shard_count" },    { "{\"index\":0}", "1", "", "has no filename" },
		{ "7", "1", "", "has no filename" },                    { ONE("0") "," ONE("0"), "2", "", "two shards have the index 0" },
		{ ONE("0"), "1", "\"a\":1", "tensor 'a' is given to no shard" },
		{ ONE("0"), "1", "\"a\":-1", "tensor 'a' is given to no shard" },
		{ ONE("0"), "1", "\"a\":0,\"a\":0", "tensor 'a' is there twice" },
		{ "{\"filename\":\"../x.apr\",\"index\":0,\"size\":1}", "1", "\"a\":0", "leads out of the folder" },
		{ ONE("0"), "1", "\"a\":0", "the file 'x.apr' is missing" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[400];
		snprintf(text, sizeof text, "{\"version\":\"2.0\",\"shard_count\":%s,\"shards\":[%s],\"weight_map\":{%s}}", cases[i].count,
		         cases[i].shards, cases[i].map);
		set_kit_text(folder, "manifest.json", text);
		shard_kit_refused(folder, "manifest.json", i + 1 < sizeof cases / sizeof *cases ? TN_E_CORRUPT : TN_E_TRUNCATED, cases[i].why);
	}
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(manifest_folder_and_shards_mean_the_same), CASE(what_is_written), CASE(missing_and_misplaced),
		CASE(another_size_than_the_manifest_says), CASE(bad_manifests),
		CASE(flag_without_a_place),                    CASE(shard_under_another_name),
	};
	return cmocka_run_group_tests_name("apr_shards", tests, NULL, NULL);
}
