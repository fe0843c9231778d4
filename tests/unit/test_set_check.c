/* test_set_check.c - verifying paths: every finding about a set, and sums that others keep of files. */
#include "tenon.h"

#include "codec/sha256.h"
#include "support/set_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char *folder;
static tn_verified done;

static int set_up(void **state)
{
	(void)state;
	folder = tempdir_new();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	tn_report_free(done.report);
	done.report = NULL;
	tempdir_remove(folder);
	return 0;
}

static void put(const char *name, tn_view bytes)
{
	free(kit_store(folder, name, bytes));
	free((void *)bytes.ptr);
}

static void check(const char *name)
{
	tn_error err;
	char *path = name != NULL ? files_join(folder, name) : folder;
	tn_report_free(done.report);
	if (tn_verify_path(path, NULL, NULL, &done, &err) != TN_OK)
		fail_msg("%s", err.msg);
	if (path != folder)
		free(path);
}

static void expect(tn_severity severity, const char *text)
{
	if (set_kit_says(done.report, severity, text))
		return;
	for (size_t i = 0; i < tn_report_count(done.report); i++)
		print_error("%s: %s\n", tn_severity_name(tn_report_at(done.report, i).severity), tn_report_at(done.report, i).text);
	fail_msg("no %s has '%s'", tn_severity_name(severity), text);
}

static void sound(void **state)
{
	(void)state;
	set_kit_store(folder);
	check(NULL);
	assert_int_equal(tn_report_count(done.report), 0);
	assert_int_equal(done.files, 3);
	assert_string_equal(done.format, "safetensors");
	check(SET_INDEX);
	assert_int_equal(tn_report_count(done.report), 0);
	check(SET_SHARD(1));
	assert_int_equal(done.files, 1);
	const tn_open_options single = { .single = true };
	tn_error err;
	tn_verified none;
	assert_int_equal(tn_verify_path(folder, &single, NULL, &none, &err), TN_E_USAGE);
	assert_null(none.report);
	assert_int_equal(tn_verify_path(NULL, NULL, NULL, &none, &err), TN_E_USAGE);
}

static void missing_and_damaged(void **state)
{
	(void)state;
	set_kit_store(folder);
	set_kit_remove(folder, SET_SHARD(1));
	set_kit_text(folder, SET_SHARD(3), "this is no model at all");
	check(NULL);
	assert_int_equal(done.files, 1);
	assert_int_equal(tn_report_of(done.report, TN_ERROR), 2);
	expect(TN_ERROR, "the file '" SET_SHARD(1) "' is missing");
	expect(TN_ERROR, SET_SHARD(3) ": ");
	set_kit_remove(folder, SET_SHARD(2));
	set_kit_remove(folder, SET_SHARD(3));
	check(NULL);
	assert_int_equal(done.files, 0);
	assert_int_equal(tn_report_of(done.report, TN_ERROR), 3);
}

static void gaps_in_a_series(void **state)
{
	(void)state;
	put("m-00002-of-00300.safetensors", set_kit_file("ab"));
	put("m-00005-of-00300.safetensors", set_kit_file("cd"));
	check(NULL);
	assert_int_equal(tn_report_of(done.report, TN_ERROR), 100); /* no more are named */
	expect(TN_ERROR, "the file 'm-00001-of-00300.safetensors' is missing");
	expect(TN_ERROR, "the file 'm-00006-of-00300.safetensors' is missing");
	assert_false(set_kit_says(done.report, TN_ERROR, "m-00005"));
}

static void gaps_in_an_index(void **state)
{
	(void)state;
	set_kit_store(folder);
	set_kit_text(folder, SET_INDEX, "{\"weight_map\":{\"a\":\"" SET_SHARD(1) "\",\"b\":\"" SET_SHARD(1) "\",\"e\":\"" SET_SHARD(3)
	                                "\",\"f\":\"" SET_SHARD(3) "\"}}");
	check(NULL);
	assert_int_equal(tn_report_of(done.report, TN_ERROR), 1);
	expect(TN_ERROR, "'" SET_SHARD(2) "' is not in the index; of its tensors 2 of 2 are nowhere in the set, the first is 'c'");
	set_kit_remove(folder, SET_SHARD(2));
	check(NULL);
	expect(TN_ERROR, "the file '" SET_SHARD(2) "' is missing");
}

static void extra_files(void **state)
{
	(void)state;
	set_kit_store(folder);
	put("copies.safetensors", set_kit_file("ad"));
	put("more.safetensors", set_kit_file("axy"));
	set_kit_text(folder, "broken.safetensors", "nothing in here");
	set_kit_text(folder, "config.json", "{}");
	check(NULL);
	assert_int_equal(tn_report_of(done.report, TN_ERROR), 0);
	expect(TN_WARNING, "'copies.safetensors' is not in the index; all its tensors are copies");
	expect(TN_WARNING, "'more.safetensors' is not in the index; of its tensors 2 of 3 are nowhere");
	expect(TN_WARNING, "'broken.safetensors' is not in the index, and does not open: ");
	assert_int_equal(tn_report_count(done.report), 3);
}

static void stale_index(void **state)
{
	(void)state;
	put("1.safetensors", set_kit_file("abx"));
	put("2.safetensors", set_kit_file("bcd"));
	set_kit_text(folder, SET_INDEX, "{\"metadata\":{\"total_size\":7},\"weight_map\":{\"a\":\"1.safetensors\",\"b\":\"2.safetensors\","
	                                "\"c\":\"1.safetensors\",\"d\":\"2.safetensors\"}}");
	check(NULL);
	expect(TN_ERROR, "1.safetensors: tensors that the index gives to this file and it does not have: 1, the first is 'c'");
	expect(TN_WARNING, "1.safetensors: copies of what the index gives to other files are left out: 1, ");
	expect(TN_WARNING, "2.safetensors: copies of what the index gives to other files are left out: 1, the first is 'c'");
	expect(TN_WARNING, "1.safetensors: tensors that are not in the index: 1, the first is 'x'");
	expect(TN_WARNING, "the index says that the tensors take 7 bytes");
}

static void duplicates_without_an_index(void **state)
{
	(void)state;
	put("1.safetensors", set_kit_file("ab"));
	put("2.safetensors", set_kit_file("bc"));
	check(NULL);
	assert_int_equal(tn_report_of(done.report, TN_ERROR), 1);
	expect(TN_ERROR, "tensor 'b' is in '1.safetensors' and in '2.safetensors'");
}

static void hostile_names_are_findings(void **state)
{
	(void)state;
	put("1.safetensors", set_kit_file("ab"));
	set_kit_text(folder, SET_INDEX, "{\"weight_map\":{\"a\":\"1.safetensors\",\"b\":\"1.safetensors\",\"c\":\"../2.safetensors\","
	                                "\"d\":\"/3.safetensors\"}}");
	check(NULL);
	assert_int_equal(tn_report_of(done.report, TN_ERROR), 2);
	expect(TN_ERROR, "'../2.safetensors', which leads out of the folder");
	expect(TN_ERROR, "'/3.safetensors', which is an absolute path");
}

static void findings_of_parts_name_them(void **state)
{
	(void)state;
	set_kit_store(folder);
	tn_writer *w = kit_writer("safetensors");
	kit_add(w, "c", TN_U8, 1, (uint64_t[]){ 10 }, 2);
	kit_add(w, "d", TN_U8, 1, (uint64_t[]){ 10 }, 3);
	put(SET_SHARD(2), kit_save(w));
	tn_writer_free(w);
	check(NULL);
	expect(TN_NOTE, SET_SHARD(2) ": safetensors: metadata has no 'format'");
}

static void what_does_not_open_fails(void **state)
{
	tn_error err;
	(void)state;
	set_kit_text(folder, "x.safetensors", "this is no model at all");
	char *path = files_join(folder, "x.safetensors");
	assert_int_equal(tn_verify_path(path, NULL, NULL, &done, &err), TN_E_FORMAT);
	assert_null(done.report);
	free(path);
	set_kit_text(folder, SET_INDEX, "{\"weight_map\":");
	assert_int_equal(tn_verify_path(folder, NULL, NULL, &done, &err), TN_E_CORRUPT);
}

/* ---- Sums ---- */

static void hex_of(tn_view bytes, char out[SHA256_HEX + 1])
{
	struct s256 h;
	uint8_t digest[SHA256_LEN];
	s256_init(&h);
	s256_update(&h, bytes.ptr, bytes.len);
	s256_final(&h, digest);
	sha256_text(digest, out);
}

static char right[SHA256_HEX + 1], wrong[SHA256_HEX + 1];
static size_t size;

static void one_file(void)
{
	tn_view bytes = set_kit_single();
	hex_of(bytes, right);
	memset(wrong, '0', SHA256_HEX);
	size = bytes.len;
	put("m.safetensors", bytes);
}

static void say(const char *name, const char *fmt, const char *hex)
{
	char text[300];
	snprintf(text, sizeof text, "%s%s  m.safetensors\n", fmt, hex);
	set_kit_text(folder, name, text);
}

static void checksum_file(void **state)
{
	(void)state;
	one_file();
	check("m.safetensors");
	assert_int_equal(tn_report_count(done.report), 0);
	say("m.safetensors.sha256", "", right);
	check("m.safetensors");
	expect(TN_NOTE, "its SHA-256 is what 'm.safetensors.sha256' says");
	assert_int_equal(tn_report_of(done.report, TN_ERROR), 0);
	say("m.safetensors.sha256", "", wrong);
	check("m.safetensors");
	expect(TN_ERROR, "'m.safetensors.sha256' says 0000");
	assert_int_equal(tn_report_at(done.report, 0).code, TN_E_CHECKSUM);
	const tn_verify_options none = { .no_sums = true };
	char *path = files_join(folder, "m.safetensors");
	tn_report_free(done.report);
	assert_int_equal(tn_verify_path(path, NULL, &none, &done, NULL), TN_OK);
	assert_int_equal(tn_report_count(done.report), 0);
	free(path);
	say("m.safetensors.sha256", "no digest ", wrong);
	check("m.safetensors");
	expect(TN_WARNING, "'m.safetensors.sha256' begins with no SHA-256");
}

static void pointer_file(void **state)
{
	char text[300];
	static const char form[] = "version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %zu\n";
	(void)state;
	one_file();
	snprintf(text, sizeof text, form, right, size);
	set_kit_text(folder, "m.safetensors.lfs", text);
	check("m.safetensors");
	expect(TN_NOTE, "its SHA-256 is what the LFS pointer 'm.safetensors.lfs' says");
	snprintf(text, sizeof text, form, wrong, size);
	set_kit_text(folder, "m.safetensors.lfs", text);
	check("m.safetensors");
	expect(TN_ERROR, "the LFS pointer 'm.safetensors.lfs' says 0000");
	snprintf(text, sizeof text, form, wrong, size + 1);
	set_kit_text(folder, "m.safetensors.lfs", text);
	check("m.safetensors");
	expect(TN_ERROR, "the LFS pointer 'm.safetensors.lfs' says");
	assert_int_equal(tn_report_at(done.report, 0).code, TN_E_TRUNCATED);
}

static void make(const char *name)
{
	char *path = files_join(folder, name);
	assert_int_equal(mkdir(path, 0777), 0);
	free(path);
}

static void record_of_a_download(void **state)
{
	(void)state;
	one_file();
	make(".cache");
	make(".cache/huggingface");
	make(".cache/huggingface/download");
	say(".cache/huggingface/download/m.safetensors.metadata", "0123456789abcdef\n", right);
	check("m.safetensors");
	expect(TN_NOTE, "the record of its download says");
	say(".cache/huggingface/download/m.safetensors.metadata", "0123456789abcdef\n", wrong);
	check("m.safetensors");
	expect(TN_ERROR, "the record of its download says 0000");
}

static void blob_of_a_cache(void **state)
{
	char name[100], target[100];
	(void)state;
	one_file();
	make("models--x--y");
	make("models--x--y/blobs");
	make("models--x--y/snapshots");
	make("models--x--y/snapshots/1");
	char *link = files_join(folder, "models--x--y/snapshots/1/m.safetensors");
	for (int round = 0; round < 2; round++) {
		snprintf(name, sizeof name, "models--x--y/blobs/%s", round == 0 ? right : wrong);
		snprintf(target, sizeof target, "../../blobs/%s", round == 0 ? right : wrong);
		put(name, set_kit_single());
		assert_int_equal(symlink(target, link), 0);
		check("models--x--y/snapshots/1/m.safetensors");
		expect(round == 0 ? TN_NOTE : TN_ERROR, "the name of its blob says");
		check("models--x--y/snapshots/1");
		expect(round == 0 ? TN_NOTE : TN_ERROR, "the name of its blob says");
		check(name);
		expect(round == 0 ? TN_NOTE : TN_ERROR, "the name of its blob says");
		assert_int_equal(unlink(link), 0);
	}
	free(link);
}

static void sums_of_a_set(void **state)
{
	(void)state;
	set_kit_store(folder);
	memset(wrong, '0', SHA256_HEX);
	say(SET_SHARD(3) ".sha256", "", wrong);
	check(NULL);
	expect(TN_ERROR, SET_SHARD(3) ": its SHA-256 is ");
}

static bool never(void *ctx, uint64_t at, uint64_t total)
{
	(void)ctx, (void)at, (void)total;
	return false;
}

static void sums_can_be_stopped(void **state)
{
	const tn_verify_options how = { .work.progress = never };
	tn_error err;
	(void)state;
	one_file();
	say("m.safetensors.sha256", "", right);
	char *path = files_join(folder, "m.safetensors");
	assert_int_equal(tn_verify_path(path, NULL, &how, &done, &err), TN_E_USAGE);
	assert_null(done.report);
	free(path);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(sound),                       CASE(missing_and_damaged),      CASE(gaps_in_a_series), CASE(gaps_in_an_index),
		CASE(extra_files),                 CASE(stale_index),              CASE(duplicates_without_an_index),
		CASE(hostile_names_are_findings),  CASE(findings_of_parts_name_them), CASE(what_does_not_open_fails),
		CASE(checksum_file),               CASE(pointer_file),             CASE(record_of_a_download), CASE(blob_of_a_cache),
		CASE(sums_of_a_set),               CASE(sums_can_be_stopped),
	};
	return cmocka_run_group_tests_name("set_check", tests, NULL, NULL);
}
