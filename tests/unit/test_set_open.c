/* test_set_open.c - opening models that lie in several files: by folder, by index, by numbers; and each way to be
 * refused. */
#include "tenon.h"

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

static void put(const char *name, tn_view bytes)
{
	free(kit_store(folder, name, bytes));
	free((void *)bytes.ptr);
}

/* Opens FOLDER/name, or the folder where name is NULL. */
static tn_file *opened(const char *name)
{
	tn_file *f;
	tn_error err;
	char *path = name != NULL ? files_join(folder, name) : folder;
	if (tn_open(&f, path, NULL, &err) != TN_OK)
		fail_msg("%s", err.msg);
	if (path != folder)
		free(path);
	return f;
}

static void refused(const char *name, tn_code code, const char *text)
{
	tn_file *f = (tn_file *)&folder;
	tn_error err;
	char *path = name != NULL ? files_join(folder, name) : folder;
	assert_int_equal(tn_open(&f, path, NULL, &err), code);
	assert_null(f);
	if (strstr(err.msg, text) == NULL)
		fail_msg("'%s' is not in: %s", text, err.msg);
	if (path != folder)
		free(path);
}

/* The model of set_kit_single, whatever its files are. */
static void expect_whole(const tn_file *f, size_t parts)
{
	assert_int_equal(tn_file_part_count(f), parts);
	assert_int_equal(tn_tensor_count(f), 6);
	assert_string_equal(tn_file_format(f), "safetensors");
	for (unsigned i = 0; i < 6; i++) {
		uint8_t bytes[10];
		char name[2] = { (char)('a' + i), '\0' };
		size_t at = kit_find(f, name);
		assert_int_equal(at, i);
		assert_int_equal(tn_read(f, at, 0, bytes, sizeof bytes, NULL), TN_OK);
		for (unsigned k = 0; k < sizeof bytes; k++)
			assert_int_equal(bytes[k], kit_byte(i, k));
	}
	assert_int_equal(tn_meta_count(tn_metadata(f)), 1);
}

/* ---- All ways see the same ---- */

static void folder_and_index(void **state)
{
	(void)state;
	set_kit_store(folder);
	tn_file *f = opened(NULL);
	expect_whole(f, 3);
	assert_int_equal(tn_report_count(tn_warnings(f)), 0);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(tn_tensor_at(f, i).part, i / 2);
	uint64_t sum = 0;
	for (size_t i = 0; i < 3; i++) {
		char *name = strrchr(tn_file_part_at(f, i).path, '/');
		char expected[64];
		snprintf(expected, sizeof expected, "/model-0000%zu-of-00003.safetensors", i + 1);
		assert_string_equal(name, expected);
		sum += tn_file_part_at(f, i).size;
	}
	assert_int_equal(tn_file_size(f), sum);
	assert_null(tn_file_part_at(f, 3).path);
	tn_close(f);
	f = opened(SET_INDEX);
	expect_whole(f, 3);
	tn_close(f);
}

static void shard_alone(void **state)
{
	(void)state;
	set_kit_store(folder);
	tn_file *f = opened(SET_SHARD(2));
	assert_int_equal(tn_tensor_count(f), 2);
	assert_int_equal(tn_file_part_count(f), 1);
	tn_close(f);
}

static void numbers_without_an_index(void **state)
{
	(void)state;
	set_kit_store(folder);
	set_kit_remove(folder, SET_INDEX);
	put("other.safetensors", set_kit_file("xyz"));
	tn_file *f = opened(NULL);
	expect_whole(f, 3);
	assert_true(set_kit_says(tn_warnings(f), TN_WARNING, "'other.safetensors' has no number"));
	tn_close(f);
	set_kit_remove(folder, SET_SHARD(2));
	refused(NULL, TN_E_TRUNCATED, "the file '" SET_SHARD(2) "' is missing");
}

static void numbers_from_zero(void **state)
{
	(void)state;
	put("m-00000-of-00002.safetensors", set_kit_file("abc"));
	put("m-00001-of-00002.safetensors", set_kit_file("def"));
	tn_file *f = opened(NULL);
	expect_whole(f, 2);
	tn_close(f);
}

static void plain_folder(void **state)
{
	(void)state;
	put("one.safetensors", set_kit_file("abc"));
	put("two.safetensors", set_kit_file("def"));
	set_kit_text(folder, "readme.txt", "no model");
	tn_file *f = opened(NULL);
	expect_whole(f, 2);
	tn_close(f);
	set_kit_remove(folder, "two.safetensors");
	f = opened(NULL);
	assert_int_equal(tn_file_part_count(f), 1);
	tn_close(f);
}

static void by_position(void **state)
{
	(void)state;
	set_kit_store(folder);
	const tn_open_options how = { .io = TN_IO_PREAD };
	tn_file *f;
	assert_int_equal(tn_open(&f, folder, &how, NULL), TN_OK);
	expect_whole(f, 3);
	tn_close(f);
}

static void single_file(void **state)
{
	(void)state;
	set_kit_store(folder);
	const tn_open_options how = { .single = true };
	tn_file *f;
	tn_error err;
	assert_int_equal(tn_open(&f, folder, &how, &err), TN_E_USAGE);
	assert_non_null(strstr(err.msg, "is a directory"));
}

/* ---- What the index says ---- */

#define MAP(text) "{\"metadata\":{\"total_size\":60,\"x\":[1,\"y\"]},\"weight_map\":{" text "}}"

static void index_owns_names(void **state)
{
	(void)state;
	put("a.safetensors", set_kit_file("abcx"));
	put("b.safetensors", set_kit_file("cdefy"));
	set_kit_text(folder, SET_INDEX, MAP("\"f\":\"b.safetensors\",\"a\":\"a.safetensors\",\"b\":\"a.safetensors\",\"c\":\"b.safetensors\","
	                                    "\"d\":\"b.safetensors\",\"e\":\"b.safetensors\",\"x\":\"a.safetensors\",\"q\":\"a.safetensors\""));
	tn_file *f = opened(NULL);
	assert_int_equal(tn_tensor_count(f), 8);
	assert_int_equal(tn_tensor_at(f, kit_find(f, "c")).part, 1);
	assert_true(set_kit_says(tn_warnings(f), TN_WARNING, "a.safetensors: copies of what the index gives to other files are left out: 1, "));
	assert_true(set_kit_says(tn_warnings(f), TN_WARNING, "b.safetensors: tensors that are not in the index: 1, the first is 'y'"));
	assert_true(set_kit_says(tn_warnings(f), TN_ERROR, "a.safetensors: tensors that the index gives to this file and it does not have: 1, "
	                                                   "the first is 'q'"));
	assert_true(set_kit_says(tn_warnings(f), TN_WARNING, "60 bytes in all, they take 80 bytes"));
	const tn_meta *own = tn_meta_find(tn_native(f), tn_text("safetensors"));
	assert_int_equal(tn_meta_count(tn_meta_find(tn_meta_find(own, tn_text("index")), tn_text("x"))), 2);
	tn_map *map;
	assert_int_equal(tn_map_new(&map, f, NULL), TN_OK);
	uint64_t sums[2] = { 0, 0 };
	size_t copies = 0;
	for (size_t i = 0; i < tn_map_count(map); i++) {
		tn_region r = tn_map_at(map, i);
		assert_int_equal(r.offset, sums[r.part]);
		sums[r.part] += r.len;
		copies += strcmp(r.label, "copy") == 0;
	}
	assert_int_equal(copies, 1);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(sums[i], tn_file_part_at(f, i).size);
	tn_map_free(map);
	tn_close(f);
}

static void metadata_that_differs(void **state)
{
	(void)state;
	tn_writer *w = kit_writer("safetensors");
	kit_add(w, "d", TN_U8, 1, (uint64_t[]){ 1 }, 0);
	assert_int_equal(tn_put_string(w, tn_writer_metadata(w), tn_text("format"), tn_text("tf"), NULL), TN_OK);
	assert_int_equal(tn_put_string(w, tn_writer_metadata(w), tn_text("more"), tn_text("1"), NULL), TN_OK);
	put("b.safetensors", kit_save(w));
	tn_writer_free(w);
	put("a.safetensors", set_kit_file("abc"));
	tn_file *f = opened(NULL);
	tn_view v;
	assert_true(tn_meta_string(tn_meta_find(tn_metadata(f), tn_text("format")), &v));
	assert_memory_equal(v.ptr, "pt", 2);
	assert_true(tn_meta_string(tn_meta_find(tn_metadata(f), tn_text("more")), &v));
	assert_true(set_kit_says(tn_warnings(f), TN_WARNING, "b.safetensors: metadata 'format' differs from that of 'a.safetensors'"));
	tn_close(f);
}

/* ---- Refusals ---- */

static void hostile_paths(void **state)
{
	static const struct {
		const char *path, *why;
	} cases[] = {
		{ "../x.safetensors", "leads out of the folder" }, { "..", "leads out of the folder" }, { ".", "leads out of the folder" },
		{ "..\\\\x", "leads out of the folder" }, { "/etc/passwd", "is an absolute path" }, { "\\\\\\\\host\\\\x", "is an absolute path" },
		{ "C:x.safetensors", "names a drive" }, { "sub/x.safetensors", "is a path" }, { "sub\\\\x.safetensors", "is a path" },
		{ "", "is empty" }, { "a\\u0000b", "holds a NUL" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[200];
		snprintf(text, sizeof text, "{\"weight_map\":{\"a\":\"%s\"}}", cases[i].path);
		set_kit_text(folder, SET_INDEX, text);
		refused(SET_INDEX, TN_E_CORRUPT, cases[i].why);
		refused(NULL, TN_E_CORRUPT, cases[i].why);
	}
}

static void link_to(const char *target, const char *name)
{
	char *path = files_join(folder, name);
	assert_int_equal(symlink(target, path), 0);
	free(path);
}

static void make(const char *name)
{
	char *path = files_join(folder, name);
	assert_int_equal(mkdir(path, 0777), 0);
	free(path);
}

static void links(void **state)
{
	(void)state;
	make("set");
	make("elsewhere");
	put("elsewhere/b.safetensors", set_kit_file("abcdef"));
	put("set/b.safetensors", set_kit_file("abcdef"));
	set_kit_text(folder, "set/" SET_INDEX, MAP("\"a\":\"x.safetensors\""));
	link_to("../elsewhere/b.safetensors", "set/x.safetensors");
	refused("set", TN_E_CORRUPT, "'x.safetensors' is a link that leads out of the folder");
	set_kit_remove(folder, "set/x.safetensors");
	link_to("b.safetensors", "set/x.safetensors");
	tn_close(opened("set"));
	set_kit_remove(folder, "set/x.safetensors");
	link_to("nowhere", "set/x.safetensors");
	refused("set", TN_E_TRUNCATED, "the file 'x.safetensors' is missing");
}

/* A snapshot of a Hugging Face cache is nothing but links into its repository. */
static void cache_of_the_hub(void **state)
{
	(void)state;
	make("models--x--y");
	make("models--x--y/blobs");
	make("models--x--y/snapshots");
	make("models--x--y/snapshots/1234");
	make("models--x--z");
	make("models--x--z/blobs");
	put("models--x--y/blobs/0a", set_kit_file("abcdef"));
	put("models--x--z/blobs/0b", set_kit_file("abcdef"));
	set_kit_text(folder, "models--x--y/blobs/0c", "{\"metadata\":{},\"weight_map\":{\"a\":\"m.safetensors\"}}");
	link_to("../../blobs/0c", "models--x--y/snapshots/1234/" SET_INDEX);
	link_to("../../blobs/0a", "models--x--y/snapshots/1234/m.safetensors");
	tn_close(opened("models--x--y/snapshots/1234"));
	set_kit_remove(folder, "models--x--y/snapshots/1234/m.safetensors");
	link_to("../../../models--x--z/blobs/0b", "models--x--y/snapshots/1234/m.safetensors");
	refused("models--x--y/snapshots/1234", TN_E_CORRUPT, "is a link that leads out");
}

static void bad_indexes(void **state)
{
	static const struct {
		const char *text, *why;
		tn_code     code;
	} cases[] = {
		{ "{\"weight_map\":{\"a\":1}}", "is not an index", TN_E_CORRUPT },
		{ "{\"weight_map\":{\"a\":\"x\",\"b\":1}}", "'b' is given no file name", TN_E_CORRUPT },
		{ "{\"weight_map\":{\"a\":\"x\",\"a\":\"x\"}}", "'a' is there twice", TN_E_CORRUPT },
		{ "{\"weight_map\":{}}", "names no file", TN_E_CORRUPT },
		{ "{\"weight_map\":{\"a\":\"x\"}", "index: ", TN_E_CORRUPT },
		{ "{\"weight_map\":{\"a\":\"x\"}}", "the file 'x' is missing", TN_E_TRUNCATED },
		{ "{\"weight\":{\"a\":\"x\"}}", "is not an index", TN_E_CORRUPT },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		set_kit_text(folder, SET_INDEX, cases[i].text);
		refused(NULL, cases[i].code, cases[i].why);
	}
	set_kit_text(folder, "x", "this is no model");
	set_kit_text(folder, SET_INDEX, "{\"weight_map\":{\"a\":\"x\"}}");
	refused(NULL, TN_E_FORMAT, "x: ");
}

static void which_model(void **state)
{
	(void)state;
	refused(NULL, TN_E_FORMAT, "holds no model file");
	put("a-00001-of-00001.safetensors", set_kit_file("a"));
	put("b-00001-of-00001.safetensors", set_kit_file("b"));
	refused(NULL, TN_E_USAGE, "'a-00001-of-00001.safetensors' and 'b-00001-of-00001.safetensors'");
	set_kit_remove(folder, "a-00001-of-00001.safetensors");
	put("c.bpk", kit_file("burnpack"));
	refused(NULL, TN_E_USAGE, "more than one model");
	set_kit_remove(folder, "c.bpk");
	put("c.safetensors", set_kit_file("b"));
	set_kit_remove(folder, "b-00001-of-00001.safetensors");
	put("d.safetensors", set_kit_file("b"));
	refused(NULL, TN_E_CORRUPT, "tensor 'b' is in 'c.safetensors' and in 'd.safetensors'");
	set_kit_text(folder, "one.safetensors.index.json", "{\"weight_map\":{\"b\":\"c.safetensors\"}}");
	tn_close(opened(NULL));
	set_kit_text(folder, "two.safetensors.index.json", "{\"weight_map\":{\"b\":\"d.safetensors\"}}");
	refused(NULL, TN_E_USAGE, "'one.safetensors.index.json' and 'two.safetensors.index.json'");
	set_kit_text(folder, SET_INDEX, "{\"weight_map\":{\"b\":\"d.safetensors\"}}");
	tn_close(opened(NULL));
}

static void limits_hold_for_all(void **state)
{
	(void)state;
	set_kit_store(folder);
	tn_file *f;
	tn_error err;
	const tn_open_options few = { .limits.max_tensors = 5 };
	assert_int_equal(tn_open(&f, folder, &few, &err), TN_E_LIMIT);
	assert_non_null(strstr(err.msg, "the set has 6 tensors"));
	bool opens = false;
	for (uint64_t bytes = 64; !opens && bytes < 1 << 20; bytes += bytes / 2) {
		const tn_open_options small = { .limits.max_memory = bytes };
		opens = tn_open(&f, folder, &small, &err) == TN_OK;
		if (!opens)
			assert_int_equal(err.code, TN_E_LIMIT);
	}
	assert_true(opens);
	tn_close(f);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(folder_and_index),      CASE(shard_alone),        CASE(numbers_without_an_index), CASE(numbers_from_zero),
		CASE(plain_folder),          CASE(by_position),        CASE(single_file),              CASE(index_owns_names),
		CASE(metadata_that_differs), CASE(hostile_paths),      CASE(links),                    CASE(cache_of_the_hub),
		CASE(bad_indexes),           CASE(which_model),        CASE(limits_hold_for_all),
	};
	return cmocka_run_group_tests_name("set_open", tests, NULL, NULL);
}
