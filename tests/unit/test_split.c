/* test_split.c - writing a model as several files, and back. */
#include "tenon.h"

#include "support/set_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char *folder, *out;

static int set_up(void **state)
{
	(void)state;
	folder = tempdir_new();
	out = files_join(folder, "out");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(out);
	tempdir_remove(folder);
	return 0;
}

static tn_split_options two_each(void) { return (tn_split_options){ .max_tensors = 2, .write.no_sync = true }; }

static tn_shards *split(tn_view bytes, tn_split_options how)
{
	tn_file *f = kit_open(bytes);
	tn_shards *shards;
	tn_error err;
	if (tn_split(f, out, &how, &shards, &err) != TN_OK)
		fail_msg("%s", err.msg);
	tn_close(f);
	return shards;
}

/* NULL where planning did not begin; to be freed. */
static tn_shards *refused(tn_view bytes, tn_split_options how, tn_code code, const char *text)
{
	tn_file *f = kit_open(bytes);
	tn_shards *shards;
	tn_error err;
	assert_int_equal(tn_split(f, out, &how, &shards, &err), code);
	if (strstr(err.msg, text) == NULL)
		fail_msg("'%s' is not in: %s", text, err.msg);
	tn_close(f);
	return shards;
}

static void expect_merged(const char *format, tn_view bytes)
{
	tn_file *f;
	tn_error err;
	char *path = files_join(folder, "merged");
	const tn_convert_options how = { .format = format, .write = { .no_sync = true, .exact_path = true } };
	if (tn_open(&f, out, NULL, &err) != TN_OK || tn_convert(f, path, &how, NULL, &err) != TN_OK)
		fail_msg("%s", err.msg);
	tn_close(f);
	assert_true(files_equal(path, bytes));
	free(path);
}

static void writes_shards_and_index(void **state)
{
	tn_view bytes = set_kit_single();
	(void)state;
	tn_shards *shards = split(bytes, two_each());
	assert_int_equal(tn_shards_count(shards), 3);
	assert_string_equal(tn_shards_index(shards), SET_INDEX);
	assert_int_equal(tn_report_count(tn_shards_report(shards)), 0);
	assert_int_equal(tempdir_count(out), 4);
	for (size_t i = 0; i < 3; i++) {
		tn_shard s = tn_shards_at(shards, i);
		char *path = files_join(out, s.name);
		tn_view expected = set_kit_file(i == 0 ? "ab" : i == 1 ? "cd" : "ef");
		assert_int_equal(s.size, expected.len);
		assert_int_equal(s.tensors, 2);
		assert_true(files_equal(path, expected));
		free((void *)expected.ptr);
		free(path);
	}
	assert_int_equal(tn_shards_at(shards, 3).size, 0);
	char *index = files_join(out, SET_INDEX);
	assert_true(files_equal(index, tn_text("{\n  \"metadata\": {\n    \"total_size\": 60\n  },\n  \"weight_map\": {\n"
	                                       "    \"a\": \"" SET_SHARD(1) "\",\n    \"b\": \"" SET_SHARD(1) "\",\n"
	                                       "    \"c\": \"" SET_SHARD(2) "\",\n    \"d\": \"" SET_SHARD(2) "\",\n"
	                                       "    \"e\": \"" SET_SHARD(3) "\",\n    \"f\": \"" SET_SHARD(3) "\"\n  }\n}\n")));
	free(index);
	tn_shards_free(shards);
	expect_merged("safetensors", bytes);
	free((void *)bytes.ptr);
}

static void one_shard_has_no_index(void **state)
{
	tn_view bytes = set_kit_single();
	(void)state;
	tn_shards *shards = split(bytes, (tn_split_options){ .stem = "m" });
	assert_int_equal(tn_shards_count(shards), 1);
	assert_null(tn_shards_index(shards));
	assert_string_equal(tn_shards_at(shards, 0).name, "m.safetensors");
	assert_int_equal(tempdir_count(out), 1);
	tn_shards_free(shards);
	expect_merged("safetensors", bytes);
	free((void *)bytes.ptr);
}

static void sizes(void **state)
{
	tn_view bytes = set_kit_single();
	(void)state;
	tn_shards *shards = split(bytes, (tn_split_options){ .max_size = 40, .dry_run = true });
	assert_int_equal(tn_shards_count(shards), 2);
	assert_int_equal(tn_shards_at(shards, 0).tensors, 4);
	tn_shards_free(shards);
	shards = split(bytes, (tn_split_options){ .max_size = 40, .even = true, .dry_run = true });
	assert_int_equal(tn_shards_at(shards, 0).tensors, 3);
	tn_shards_free(shards);
	assert_false(files_exist(out));
	free((void *)bytes.ptr);
}

/* Typed metadata, types that safetensors lacks and the order of a burnpack file travel in envelopes. */
static void from_another_format(void **state)
{
	(void)state;
	tn_writer *w = kit_writer("burnpack");
	kit_add(w, "z", TN_F32, 1, (uint64_t[]){ 3 }, 0);
	kit_add(w, "flag", TN_BOOL_U32, 1, (uint64_t[]){ 2 }, 1);
	kit_add(w, "a", TN_F16, 1, (uint64_t[]){ 3 }, 2);
	kit_add(w, "b", TN_FLEX32, 1, (uint64_t[]){ 3 }, 3);
	assert_int_equal(tn_put_uint(w, tn_writer_metadata(w), tn_text("n"), 7, 32, NULL), TN_OK);
	assert_int_equal(tn_put_string(w, tn_writer_metadata(w), tn_text("s"), tn_text("t"), NULL), TN_OK);
	tn_view bytes = kit_save(w);
	tn_writer_free(w);
	tn_split_options how = two_each();
	how.format = "safetensors";
	tn_shards *shards = split(bytes, how);
	assert_int_equal(tn_shards_count(shards), 2);
	tn_shards_free(shards);
	expect_merged("burnpack", bytes);
	free((void *)bytes.ptr);
}

static void what_the_index_said_is_said_again(void **state)
{
	(void)state;
	set_kit_store(folder);
	set_kit_text(folder, SET_INDEX, "{\"metadata\":{\"total_parameters\":60,\"a\":[1,{\"b\":null}],\"total_size\":60},\"weight_map\":{"
	                                "\"a\":\"" SET_SHARD(1) "\"}}");
	tn_file *f;
	tn_shards *shards;
	assert_int_equal(tn_open(&f, folder, NULL, NULL), TN_OK);
	const tn_split_options how = { .max_tensors = 1, .write.no_sync = true };
	assert_int_equal(tn_split(f, out, &how, &shards, NULL), TN_OK);
	assert_int_equal(tn_report_count(tn_shards_report(shards)), 2); /* what opening said */
	assert_true(set_kit_says(tn_shards_report(shards), TN_WARNING, "tensors that are not in the index: 1"));
	assert_true(set_kit_says(tn_shards_report(shards), TN_WARNING, "the index says that the tensors take 60 bytes in all"));
	tn_shards_free(shards);
	tn_converted done;
	char *one = files_join(folder, "one.safetensors");
	assert_int_equal(tn_convert(f, one, NULL, &done, NULL), TN_OK);
	assert_true(set_kit_says(done.report, TN_NOTE, "what the index said of the set has no place in one file"));
	tn_report_free(done.report);
	free(one);
	tn_close(f);
	char *index = files_join(out, SET_INDEX);
	tn_view text = files_load(index);
	static const char expected[] = "{\n  \"metadata\": {\n    \"a\": [1,{\"b\":null}],\n    \"total_parameters\": 60,\n"
	                               "    \"total_size\": 20\n  },\n";
	assert_memory_equal(text.ptr, expected, sizeof expected - 1);
	free((void *)text.ptr);
	free(index);
}

static void merging_spares_the_shards(void **state)
{
	tn_view bytes = set_kit_single();
	tn_file *f;
	tn_error err;
	(void)state;
	tn_shards_free(split(bytes, two_each()));
	char *path = files_join(out, SET_SHARD(2)), *link = files_join(folder, "link.safetensors");
	tn_view before = files_load(path);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(tn_open(&f, out, NULL, NULL), TN_OK);
	assert_int_equal(tn_convert(f, path, NULL, NULL, &err), TN_E_USAGE);
	assert_non_null(strstr(err.msg, "the output is a file of the set"));
	assert_int_equal(tn_convert(f, link, NULL, NULL, &err), TN_E_USAGE);
	tn_writer *w;
	assert_int_equal(tn_writer_of(&w, f, NULL, &err), TN_OK);
	assert_int_equal(tn_writer_save(w, path, &err), TN_E_USAGE);
	tn_writer_free(w);
	tn_close(f);
	assert_true(files_equal(path, before));
	free((void *)before.ptr);
	free((void *)bytes.ptr);
	free(path), free(link);
}

static void refusals(void **state)
{
	tn_view bytes = set_kit_single(), pack = kit_file("burnpack");
	static const char *const stems[] = { "", "a/b", "..", ".x", "m-00001-of-00002", "/x", "C:" };
	(void)state;
	for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
		assert_null(refused(bytes, (tn_split_options){ .stem = stems[i] }, TN_E_USAGE, "cannot begin the names"));
	assert_null(refused(bytes, (tn_split_options){ .format = "none" }, TN_E_NOTFOUND, "no format 'none'"));
	assert_null(refused(pack, two_each(), TN_E_UNSUPPORTED, "burnpack has no shards"));
	assert_null(refused(bytes, (tn_split_options){ .write.in_place = true }, TN_E_USAGE, "in place"));
	assert_false(files_exist(out));
	tn_file *f = kit_open(bytes);
	tn_shards *shards;
	assert_int_equal(tn_split(f, NULL, NULL, &shards, NULL), TN_E_USAGE);
	assert_int_equal(tn_split(f, "", NULL, &shards, NULL), TN_E_USAGE);
	assert_null(shards);
	tn_close(f);
	free((void *)bytes.ptr);
	free((void *)pack.ptr);
}

static void what_is_there_stays(void **state)
{
	static const char *const taken[] = { SET_SHARD(2), "model-00001-of-00017.safetensors", SET_INDEX };
	tn_view bytes = set_kit_single();
	(void)state;
	assert_int_equal(mkdir(out, 0777), 0);
	set_kit_text(out, "other.safetensors", "x");
	for (size_t i = 0; i < 3; i++) {
		set_kit_text(out, taken[i], "old");
		tn_shards_free(refused(bytes, two_each(), TN_E_USAGE, taken[i]));
		char *path = files_join(out, taken[i]);
		assert_true(files_equal(path, tn_text("old")));
		free(path);
		set_kit_remove(out, taken[i]);
	}
	assert_int_equal(tempdir_count(out), 1);
	set_kit_text(out, "model.safetensors", "old");
	tn_shards_free(refused(bytes, (tn_split_options){ .max_size = 1000 }, TN_E_USAGE, "model.safetensors"));
	set_kit_remove(out, "model.safetensors");
	tn_shards_free(split(bytes, two_each()));
	assert_int_equal(tempdir_count(out), 5);
	free((void *)bytes.ptr);
}

static bool stop_late(void *ctx, uint64_t done, uint64_t total)
{
	uint64_t *seen = ctx;
	assert_true(done >= *seen && done <= total);
	*seen = done;
	return done < total;
}

static void stopped_leaves_nothing(void **state)
{
	tn_view bytes = set_kit_single();
	uint64_t seen = 0;
	tn_split_options how = two_each();
	(void)state;
	how.write.work = (tn_work){ .progress = stop_late, .ctx = &seen };
	tn_shards *shards = refused(bytes, how, TN_E_USAGE, "stopped by the caller");
	assert_true(seen > bytes.len); /* of all shards */
	tn_shards_free(shards);
	assert_false(files_exist(out));
	assert_int_equal(mkdir(out, 0777), 0);
	seen = 0;
	tn_shards_free(refused(bytes, how, TN_E_USAGE, "stopped by the caller"));
	assert_int_equal(tempdir_count(out), 0);
	free((void *)bytes.ptr);
}

static void losses_stop_it_before_a_byte(void **state)
{
	(void)state;
	tn_writer *w = kit_writer("burnpack");
	kit_add(w, "a", TN_FLEX32, 1, (uint64_t[]){ 3 }, 0);
	kit_add(w, "b", TN_F32, 1, (uint64_t[]){ 3 }, 1);
	tn_view bytes = kit_save(w);
	tn_writer_free(w);
	tn_split_options how = { .format = "safetensors", .max_tensors = 1, .write = { .no_envelope = true, .no_sync = true } };
	tn_shards *shards = refused(bytes, how, TN_E_LOSSY, "model-00001-of-00002.safetensors: ");
	assert_true(tn_report_of(tn_shards_report(shards), TN_ERROR) != 0);
	tn_shards_free(shards);
	assert_false(files_exist(out));
	free((void *)bytes.ptr);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(writes_shards_and_index), CASE(one_shard_has_no_index), CASE(sizes),
		CASE(from_another_format),     CASE(what_the_index_said_is_said_again), CASE(refusals),
		CASE(merging_spares_the_shards),
		CASE(what_is_there_stays),     CASE(stopped_leaves_nothing), CASE(losses_stop_it_before_a_byte),
	};
	return cmocka_run_group_tests_name("split", tests, NULL, NULL);
}
