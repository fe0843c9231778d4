/* test_gguf_shards.c - GGUF models in several files. */
#include "tenon.h"

#include "support/set_kit.h"
#include "unit/gguf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "support/shard_kit.h"

#define SHARD(k) "model-0000" #k "-of-00003.gguf"

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

/* Tensors a to f, i8 [32], and some metadata. */
static tn_view whole(void)
{
	tn_writer *w = kit_writer("gguf");
	for (unsigned i = 0; i < 6; i++)
		kit_add(w, (char[2]){ (char)('a' + i), '\0' }, TN_I8, 1, (uint64_t[]){ 32 }, i);
	assert_int_equal(tn_put_string(w, tn_writer_metadata(w), tn_text("general.architecture"), tn_text("x"), NULL), TN_OK);
	assert_int_equal(tn_put_uint(w, tn_writer_metadata(w), tn_text("x.count"), 7, 32, NULL), TN_OK);
	tn_view bytes = kit_save(w);
	tn_writer_free(w);
	return bytes;
}

static void split(tn_view bytes, tn_endian endian)
{
	tn_file *f = kit_open(bytes);
	const tn_split_options how = { .max_tensors = 2, .write = { .no_sync = true, .endian = endian } };
	tn_shards *shards;
	tn_error err;
	if (tn_split(f, folder, &how, &shards, &err) != TN_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(tn_shards_count(shards), 3);
	assert_null(tn_shards_index(shards));
	tn_shards_free(shards);
	tn_close(f);
}

static void expect_merged(tn_file *f, tn_view bytes)
{
	char *path = files_join(folder, "merged.gguf");
	tn_error err;
	if (tn_convert(f, path, NULL, NULL, &err) != TN_OK)
		fail_msg("%s", err.msg);
	assert_true(files_equal(path, bytes));
	assert_int_equal(unlink(path), 0);
	free(path);
	tn_close(f);
}

static void any_shard_and_back(void **state)
{
	tn_view bytes = whole();
	(void)state;
	split(bytes, TN_ENDIAN_KEEP);
	expect_merged(shard_kit_open(folder, SHARD(1), false), bytes);
	expect_merged(shard_kit_open(folder, SHARD(3), false), bytes);
	expect_merged(shard_kit_open(folder, NULL, false), bytes);
	free((void *)bytes.ptr);
}

static uint64_t number(const tn_file *f, const char *key)
{
	uint64_t v;
	assert_true(tn_meta_u64(tn_meta_find(tn_metadata(f), tn_text(key)), &v));
	return v;
}

static void what_a_shard_says(void **state)
{
	tn_view bytes = whole();
	(void)state;
	split(bytes, TN_ENDIAN_KEEP);
	for (unsigned k = 0; k < 3; k++) {
		char name[64];
		snprintf(name, sizeof name, "model-%05u-of-00003.gguf", k + 1);
		tn_file *f = shard_kit_open(folder, name, true);
		assert_int_equal(tn_tensor_count(f), 2);
		assert_int_equal(tn_meta_count(tn_metadata(f)), k == 0 ? 5 : 3);
		assert_int_equal(number(f, "split.no"), k);
		assert_int_equal(number(f, "split.count"), 3);
		assert_int_equal(number(f, "split.tensors.count"), 6);
		assert_int_equal(tn_meta_width(tn_meta_find(tn_metadata(f), tn_text("split.no"))), 16);
		assert_int_equal(tn_meta_kind(tn_meta_find(tn_metadata(f), tn_text("split.tensors.count"))), TN_META_INT);
		tn_close(f);
	}
	tn_file *f = shard_kit_open(folder, NULL, false);
	assert_int_equal(tn_meta_count(tn_metadata(f)), 2);
	tn_close(f);
	free((void *)bytes.ptr);
}

static void big_endian(void **state)
{
	tn_view bytes = whole();
	(void)state;
	split(bytes, TN_ENDIAN_BIG);
	tn_file *f = shard_kit_open(folder, SHARD(2), true), *set = shard_kit_open(folder, NULL, false);
	assert_non_null(strstr(tn_file_dialect(f), "big"));
	tn_close(f);
	char *path = files_join(folder, "little.gguf");
	const tn_convert_options how = { .write = { .no_sync = true, .endian = TN_ENDIAN_LITTLE } };
	assert_int_equal(tn_convert(set, path, &how, NULL, NULL), TN_OK);
	tn_close(set);
	assert_true(files_equal(path, bytes));
	free(path);
	free((void *)bytes.ptr);
}

/* The first shard often holds the metadata alone. */
static void first_without_tensors(void **state)
{
	(void)state;
	for (uint64_t k = 0; k < 2; k++) {
		tn_writer *w = kit_writer("gguf");
		tn_meta *m = tn_writer_metadata(w);
		char name[64];
		if (k == 1)
			kit_add(w, "a", TN_I8, 1, (uint64_t[]){ 32 }, 0);
		else
			assert_int_equal(tn_put_uint(w, m, tn_text("x.count"), 7, 32, NULL), TN_OK);
		assert_int_equal(tn_put_uint(w, m, tn_text("split.no"), k, 16, NULL), TN_OK);
		assert_int_equal(tn_put_int(w, m, tn_text("split.tensors.count"), 1, 32, NULL), TN_OK);
		assert_int_equal(tn_put_uint(w, m, tn_text("split.count"), 2, 16, NULL), TN_OK);
		snprintf(name, sizeof name, "m-%05u-of-00002.gguf", (unsigned)k + 1);
		tn_view bytes = kit_save(w);
		free(kit_store(folder, name, bytes));
		free((void *)bytes.ptr);
		tn_writer_free(w);
	}
	tn_file *f = shard_kit_open(folder, "m-00001-of-00002.gguf", false);
	assert_int_equal(tn_tensor_count(f), 1);
	assert_int_equal(tn_tensor_at(f, 0).part, 1);
	assert_int_equal(number(f, "x.count"), 7);
	assert_int_equal(tn_meta_count(tn_metadata(f)), 1);
	tn_close(f);
}

static void missing_and_misplaced(void **state)
{
	tn_view bytes = whole();
	(void)state;
	split(bytes, TN_ENDIAN_KEEP);
	char *two = files_join(folder, SHARD(2)), *other = files_join(folder, "other.gguf");
	assert_int_equal(rename(two, other), 0);
	shard_kit_refused(folder, SHARD(1), TN_E_TRUNCATED, "'" SHARD(2) "' is missing");
	shard_kit_refused(folder, "other.gguf", TN_E_UNSUPPORTED, "should end in -00002-of-00003");
	char *one = files_join(folder, SHARD(1));
	tn_view first = files_load(one);
	files_store(two, first);
	shard_kit_refused(folder, SHARD(3), TN_E_CORRUPT, SHARD(2) ": it says that it is shard 1 of 3, not 2 of 3");
	files_store(two, bytes);
	shard_kit_refused(folder, SHARD(3), TN_E_CORRUPT, SHARD(2) ": it is a whole model, not a shard");
	tn_verified done;
	assert_int_equal(tn_verify_path(one, NULL, NULL, &done, NULL), TN_OK);
	assert_true(set_kit_says(done.report, TN_ERROR, SHARD(2) ": it is a whole model"));
	assert_int_equal(tn_report_of(done.report, TN_ERROR), 1);
	tn_report_free(done.report);
	free((void *)first.ptr);
	free((void *)bytes.ptr);
	free(one), free(two), free(other);
}

static void wrong_count(void **state)
{
	tn_view bytes = whole();
	(void)state;
	split(bytes, TN_ENDIAN_KEEP);
	tn_file *f = shard_kit_open(folder, SHARD(2), true);
	tn_writer *w;
	const tn_write_options quick = { .no_sync = true };
	assert_int_equal(tn_writer_of(&w, f, &quick, NULL), TN_OK);
	assert_int_equal(tn_put_int(w, tn_writer_metadata(w), tn_text("split.tensors.count"), 9, 32, NULL), TN_OK);
	char *path = files_join(folder, SHARD(2));
	assert_int_equal(tn_writer_save(w, path, NULL), TN_OK);
	tn_writer_free(w);
	tn_close(f);
	shard_kit_refused(folder, SHARD(1), TN_E_CORRUPT, SHARD(2) ": it says that the set has 9 tensors, it has 6");
	free(path);
	free((void *)bytes.ptr);
}

/* ---- Alignment ---- */

/* A shard of two, as gguf-py lays it out: one tensor t0 or t1 of 8 bytes, each its number plus one; the alignment is said in the
 * first alone. name_length moves the end of the header; more is what follows the data. */
static void store_shard(unsigned k, unsigned align, unsigned name_length, unsigned more)
{
	char name[64] = { 't', (char)('0' + k) };
	memset(name + 2, 'x', name_length - 2);
	struct made m = made_head(1, k == 0 ? 3 : 2, false);
	if (k == 0) {
		made_key(&m, "general.alignment", 4);
		made_number(&m, align, 32);
	}
	made_key(&m, "split.no", 2);
	made_number(&m, k, 16);
	made_key(&m, "split.count", 2);
	made_number(&m, 2, 16);
	made_info(&m, name, 1, (uint64_t[]){ 8 }, 24, 0);
	made_pad(&m, align);
	buf_fill(&m.b, (uint8_t)(k + 1), 8);
	made_pad(&m, align);
	buf_fill(&m.b, 0, more);
	snprintf(name, sizeof name, "m-%05u-of-00002.gguf", k + 1);
	free(kit_store(folder, name, buf_bytes(&m.b)));
	buf_fini(&m.b);
}

/* The length of a name with which the header ends in the first half of a line of 64 bytes, so that the layouts differ. */
enum { SHORT_NAME = 30 };

static void expect_data(const tn_file *f)
{
	uint8_t bytes[8];
	assert_int_equal(tn_tensor_count(f), 2);
	for (unsigned k = 0; k < 2; k++) {
		assert_int_equal(tn_read(f, k, 0, bytes, sizeof bytes, NULL), TN_OK);
		for (unsigned i = 0; i < sizeof bytes; i++)
			assert_int_equal(bytes[i], k + 1);
	}
}

static void alignment_of_the_first_holds_for_all(void **state)
{
	(void)state;
	unsigned told = 0;
	for (unsigned length = 2; length < 60; length++) {
		store_shard(0, 64, length, 0);
		store_shard(1, 64, length, 0);
		for (unsigned k = 0; k < 2; k++) {
			tn_file *f = shard_kit_open(folder, k == 0 ? "m-00001-of-00002.gguf" : "m-00002-of-00002.gguf", false);
			expect_data(f);
			if (set_kit_says(tn_warnings(f), TN_WARNING, "laid out with it as well, 64"))
				told++;
			tn_close(f);
		}
	}
	assert_true(told != 0);
}

/* As gguf-split does, and tenon split: the later shards are what their readers expect. */
static void alignment_of_its_own(void **state)
{
	(void)state;
	tn_writer *w = kit_writer("gguf");
	for (unsigned i = 0; i < 6; i++)
		kit_add(w, (char[2]){ (char)('a' + i), '\0' }, TN_I8, 1, (uint64_t[]){ 5 }, i);
	assert_int_equal(tn_put_uint(w, tn_writer_metadata(w), tn_text("general.alignment"), 256, 32, NULL), TN_OK);
	tn_view bytes = kit_save(w);
	tn_writer_free(w);
	split(bytes, TN_ENDIAN_KEEP);
	tn_file *f = shard_kit_open(folder, SHARD(3), false);
	assert_int_equal(tn_report_count(tn_warnings(f)), 0);
	expect_merged(f, bytes);
	free((void *)bytes.ptr);
}

static void alignment_that_nothing_tells(void **state)
{
	(void)state;
	store_shard(0, 64, SHORT_NAME, 0);
	store_shard(1, 64, SHORT_NAME, 1);
	shard_kit_refused(folder, "m-00001-of-00002.gguf", TN_E_CORRUPT, "its size fits neither 32 nor the 64 of the first shard");
	store_shard(1, 64, SHORT_NAME, 0);
	tn_file *f = shard_kit_open(folder, "m-00002-of-00002.gguf", true);
	assert_true(set_kit_says(tn_warnings(f), TN_ERROR, "this shard says no alignment, and with 32 there are 64 bytes behind its data"));
	tn_close(f);
	f = shard_kit_open(folder, "m-00001-of-00002.gguf", true);
	assert_int_equal(tn_report_count(tn_warnings(f)), 0);
	tn_close(f);
}

/* ---- Marks ---- */

/* A shard of two with one tensor, with the pairs of that number and count; a number of 9: without it. */
static void store_marked(const char *name, const char *tensor, unsigned number, unsigned count)
{
	struct made m = made_head(1, number == 9 ? 1 : 2, false);
	if (number != 9) {
		made_key(&m, "split.no", 2);
		made_number(&m, number, 16);
	}
	made_key(&m, "split.count", 2);
	made_number(&m, count, 16);
	made_info(&m, tensor, 1, (uint64_t[]){ 32 }, 24, 0);
	made_pad(&m, 32);
	buf_fill(&m.b, 1, 32);
	free(kit_store(folder, name, buf_bytes(&m.b)));
	buf_fini(&m.b);
}

/* Converts to FOLDER/name and hands over the report. */
static tn_report *converted(tn_file *f, const char *name)
{
	char *path = files_join(folder, name);
	const tn_convert_options how = { .write.no_sync = true };
	tn_converted done;
	tn_error err;
	if (tn_convert(f, path, &how, &done, &err) != TN_OK)
		fail_msg("%s", err.msg);
	free(path);
	tn_close(f);
	return done.report;
}

static void count_without_a_number(void **state)
{
	(void)state;
	store_marked("m-00001-of-00002.gguf", "a", 9, 2);
	store_marked("m-00002-of-00002.gguf", "b", 9, 2);
	tn_file *f = shard_kit_open(folder, "m-00002-of-00002.gguf", false);
	assert_int_equal(tn_tensor_count(f), 1);
	assert_true(set_kit_says(tn_warnings(f), TN_WARNING, "one of 2 shards, and no split.no says which"));
	tn_close(f);
	f = shard_kit_open(folder, NULL, false);
	assert_int_equal(tn_tensor_count(f), 2);
	assert_int_equal(tn_meta_count(tn_metadata(f)), 0);
	tn_report_free(converted(f, "out.gguf"));
	f = shard_kit_open(folder, "out.gguf", false);
	assert_int_equal(tn_meta_count(tn_metadata(f)), 0);
	assert_int_equal(tn_report_count(tn_warnings(f)), 0);
	tn_close(f);
}

static void shard_under_another_name(void **state)
{
	static const char warning[] = "says that it is shard 2 of 2, and is no model of its own";
	(void)state;
	store_marked("m-00002-of-00002.gguf", "b", 1, 2);
	tn_report *report = converted(shard_kit_open(folder, "m-00002-of-00002.gguf", true), "one.gguf");
	assert_true(set_kit_says(report, TN_WARNING, warning));
	tn_report_free(report);
	report = converted(shard_kit_open(folder, "m-00002-of-00002.gguf", true), "n-00002-of-00002.gguf");
	assert_int_equal(tn_report_of(report, TN_WARNING), 0);
	tn_report_free(report);
	report = converted(shard_kit_open(folder, "m-00002-of-00002.gguf", true), "one.safetensors");
	assert_int_equal(tn_report_of(report, TN_WARNING), 0);
	tn_report_free(report);
	report = converted(shard_kit_open(folder, "one.safetensors", false), "two.gguf");
	assert_true(set_kit_says(report, TN_WARNING, warning));
	tn_report_free(report);
}

/* Of a model that was merged by gguf-split. */
static void marks_of_a_whole_model(void **state)
{
	(void)state;
	store_marked("whole.gguf", "a", 0, 0);
	tn_file *f = shard_kit_open(folder, "whole.gguf", false);
	const tn_split_options how = { .max_tensors = 1, .dry_run = true };
	char *out = files_join(folder, "out");
	tn_shards *shards;
	assert_int_equal(tn_report_count(tn_warnings(f)), 0);
	assert_int_equal(tn_split(f, out, &how, &shards, NULL), TN_OK);
	assert_int_equal(tn_shards_count(shards), 1);
	assert_false(set_kit_says(tn_shards_report(shards), TN_NOTE, "give way")); /* one file alone is no shard */
	tn_shards_free(shards);
	tn_close(f);
	store_marked("m-00001-of-00002.gguf", "a", 0, 2);
	store_marked("m-00002-of-00002.gguf", "b", 1, 2);
	tn_report_free(converted(shard_kit_open(folder, "m-00001-of-00002.gguf", false), "both.gguf"));
	f = shard_kit_open(folder, "both.gguf", false);
	tn_writer *w;
	const tn_write_options quick = { .no_sync = true };
	assert_int_equal(tn_writer_of(&w, f, &quick, NULL), TN_OK);
	assert_int_equal(tn_put_uint(w, tn_writer_metadata(w), tn_text("split.count"), 0, 16, NULL), TN_OK);
	assert_int_equal(tn_writer_update(w, false, NULL, NULL), TN_OK);
	tn_writer_free(w);
	tn_close(f);
	f = shard_kit_open(folder, "both.gguf", false);
	assert_int_equal(tn_split(f, out, &how, &shards, NULL), TN_OK);
	assert_true(set_kit_says(tn_shards_report(shards), TN_NOTE, "the model's own 'split.*', by which it is a whole one, give way"));
	tn_shards_free(shards);
	tn_close(f);
	free(out);
}

/* ---- Which files ---- */

static void move(const char *from, const char *to)
{
	char *old = files_join(folder, from), *new = files_join(folder, to);
	assert_int_equal(rename(old, new), 0);
	free(old), free(new);
}

static void numbers_from_zero(void **state)
{
	(void)state;
	store_shard(0, 32, SHORT_NAME, 0);
	store_shard(1, 32, SHORT_NAME, 0);
	move("m-00001-of-00002.gguf", "m-00000-of-00002.gguf");
	move("m-00002-of-00002.gguf", "m-00001-of-00002.gguf");
	set_kit_text(folder, "m-1-of-00002.gguf", "the name of another set");
	set_kit_text(folder, "m-00002-of-00002.gguf", "a number that is none of two from 0");
	tn_file *f = shard_kit_open(folder, "m-00001-of-00002.gguf", false);
	expect_data(f);
	tn_close(f);
	set_kit_remove(folder, "m-00000-of-00002.gguf");
	shard_kit_refused(folder, "m-00001-of-00002.gguf", TN_E_TRUNCATED, "the file 'm-00000-of-00002.gguf' is missing");
}

/* A count is a number in a file, and costs what is there. */
static void more_than_names_have_room_for(void **state)
{
	(void)state;
	struct made m = made_head(0, 2, false);
	made_key(&m, "split.no", 4);
	made_number(&m, 0, 32);
	made_key(&m, "split.count", 4);
	made_number(&m, 100000, 32);
	free(kit_store(folder, "m-000001-of-100000.gguf", buf_bytes(&m.b)));
	shard_kit_refused(folder, "m-000001-of-100000.gguf", TN_E_LIMIT, "this is one of 100000 shards, the limit is 99999");
	put_le32(m.b.ptr + m.b.len - 4, 99999);
	char *path = kit_store(folder, "m-00001-of-99999.gguf", buf_bytes(&m.b));
	shard_kit_refused(folder, "m-00001-of-99999.gguf", TN_E_TRUNCATED, "the file 'm-00002-of-99999.gguf' is missing");
	tn_verified done;
	assert_int_equal(tn_verify_path(path, NULL, NULL, &done, NULL), TN_OK);
	assert_int_equal(tn_report_of(done.report, TN_ERROR), 100); /* the first gaps are told one by one */
	tn_report_free(done.report);
	buf_fini(&m.b);
	free(path);
}

static void padding_is_mended(void **state)
{
	(void)state;
	tn_writer *w = kit_writer("gguf");
	kit_add(w, "a", TN_I8, 1, (uint64_t[]){ 5 }, 0);
	tn_view good = kit_save(w), bad = { good.ptr, good.len - 27 };
	tn_writer_free(w);
	char *in = kit_store(folder, "bad.gguf", bad), *out = files_join(folder, "good.gguf");
	tn_report *report;
	assert_int_equal(tn_repair(in, out, NULL, NULL, &report, NULL), TN_OK);
	assert_true(set_kit_says(report, TN_NOTE, "27 bytes of padding at the end are missing: added"));
	assert_true(files_equal(out, good));
	tn_report_free(report);
	free((void *)good.ptr);
	free(in), free(out);
}

/* Where it ends, only the end of the file says: with padding it would be another tensor. */
static void an_unknown_type_is_not_padded(void **state)
{
	(void)state;
	const uint64_t eight = 8;
	struct made m = made_head(1, 0, false);
	made_info(&m, "a", 1, &eight, 144, 0);
	made_pad(&m, 32);
	buf_fill(&m.b, 3, 5);
	char *in = kit_store(folder, "bad.gguf", buf_bytes(&m.b)), *out = files_join(folder, "good.gguf");
	tn_report *report;
	assert_int_equal(tn_repair(in, out, NULL, NULL, &report, NULL), TN_OK);
	assert_true(set_kit_says(report, TN_NOTE, "nothing to mend"));
	assert_false(files_exist(out));
	tn_report_free(report);
	buf_fini(&m.b);
	free(in), free(out);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(any_shard_and_back),    CASE(what_a_shard_says), CASE(big_endian), CASE(first_without_tensors),
		CASE(missing_and_misplaced), CASE(wrong_count),       CASE(padding_is_mended),
		CASE(alignment_of_the_first_holds_for_all), CASE(alignment_of_its_own), CASE(alignment_that_nothing_tells),
		CASE(numbers_from_zero),     CASE(more_than_names_have_room_for),
		CASE(count_without_a_number), CASE(shard_under_another_name), CASE(marks_of_a_whole_model),
		CASE(an_unknown_type_is_not_padded),
	};
	return cmocka_run_group_tests_name("gguf_shards", tests, NULL, NULL);
}
