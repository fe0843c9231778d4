/* test_repair.c - indexes made anew, and files written again without their faults. */
#include "tenon.h"

#include "base/bytes.h"
#include "support/set_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char *folder;
static tn_report *report;
static const tn_write_options quick = { .no_sync = true };

static int set_up(void **state)
{
	(void)state;
	folder = tempdir_new();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	tn_report_free(report);
	report = NULL;
	tempdir_remove(folder);
	return 0;
}

static void put(const char *name, tn_view bytes)
{
	free(kit_store(folder, name, bytes));
	free((void *)bytes.ptr);
}

static tn_view load(const char *name)
{
	char *path = files_join(folder, name);
	tn_view bytes = files_load(path);
	free(path);
	return bytes;
}

/* ---- Indexes ---- */

static tn_code rebuild(const char *name, const char *to, tn_error *err)
{
	char *path = name != NULL ? files_join(folder, name) : folder, *out = to != NULL ? files_join(folder, to) : NULL;
	tn_report_free(report);
	tn_code code = tn_rebuild_index(path, out, NULL, &quick, &report, err);
	free(out);
	if (path != folder)
		free(path);
	return code;
}

static void rebuilt(const char *name, const char *to)
{
	tn_error err;
	if (rebuild(name, to, &err) != TN_OK)
		fail_msg("%s", err.msg);
}

static void not_rebuilt(tn_code code, const char *text)
{
	tn_error err;
	assert_int_equal(rebuild(NULL, NULL, &err), code);
	if (strstr(err.msg, text) == NULL)
		fail_msg("'%s' is not in: %s", text, err.msg);
}

static void expect_same(const char *name, tn_view expected)
{
	char *path = files_join(folder, name);
	assert_true(files_equal(path, expected));
	free(path);
}

static void makes_what_split_makes(void **state)
{
	(void)state;
	set_kit_store(folder);
	tn_view index = load(SET_INDEX);
	set_kit_remove(folder, SET_INDEX);
	rebuilt(NULL, NULL);
	assert_true(set_kit_says(report, TN_NOTE, "a new index of 6 tensors"));
	expect_same(SET_INDEX, index);
	set_kit_text(folder, SET_INDEX, "{\"metadata\":{\"total_size\":1},\"weight_map\":{\"a\":\"" SET_SHARD(2) "\",\"q\":\"" SET_SHARD(1) "\"}}");
	rebuilt(SET_INDEX, NULL);
	assert_true(set_kit_says(report, TN_NOTE, "tensors: 5 added, 1 given to another file, 1 removed"));
	assert_true(set_kit_says(report, TN_NOTE, "total_size: 1 becomes 60"));
	expect_same(SET_INDEX, index);
	set_kit_text(folder, SET_INDEX, "{\"weight_map\":");
	rebuilt(NULL, "other.json");
	assert_true(set_kit_says(report, TN_NOTE, "the old index is not taken into account: "));
	expect_same("other.json", index);
	rebuilt(SET_INDEX, NULL);
	expect_same(SET_INDEX, index);
	free((void *)index.ptr);
}

static void decides_who_owns(void **state)
{
	tn_file *f;
	(void)state;
	set_kit_store(folder);
	put("stray.safetensors", set_kit_file("abcdef"));
	rebuilt(NULL, NULL);
	assert_true(set_kit_says(report, TN_WARNING, "'stray.safetensors' owns no tensor"));
	put("stray.safetensors", set_kit_file("ax"));
	rebuilt(NULL, NULL);
	assert_int_equal(tn_open(&f, folder, NULL, NULL), TN_OK);
	assert_int_equal(tn_tensor_count(f), 7);
	assert_int_equal(tn_tensor_at(f, kit_find(f, "a")).part, 0);
	tn_close(f);
	/* the old index goes before numbers */
	set_kit_text(folder, SET_INDEX, "{\"weight_map\":{\"a\":\"stray.safetensors\"}}");
	rebuilt(NULL, NULL);
	assert_int_equal(tn_open(&f, folder, NULL, NULL), TN_OK);
	assert_int_equal(tn_tensor_at(f, kit_find(f, "a")).part, 3);
	assert_int_equal(tn_report_of(tn_warnings(f), TN_ERROR), 0);
	tn_close(f);
}

static void owned_by(size_t part)
{
	tn_file *f;
	assert_int_equal(tn_open(&f, folder, NULL, NULL), TN_OK);
	assert_int_equal(tn_tensor_at(f, kit_find(f, "a")).part, part);
	assert_int_equal(tn_report_of(tn_warnings(f), TN_ERROR), 0);
	tn_close(f);
}

/* Those that nothing speaks for may come first, and be many. */
static void decides_among_many(void **state)
{
	(void)state;
	set_kit_store(folder);
	put("a1.safetensors", set_kit_file("agh"));
	put("a2.safetensors", set_kit_file("ai"));
	put("a3.safetensors", set_kit_file("aj"));
	rebuilt(NULL, NULL);
	owned_by(3);
	set_kit_text(folder, SET_INDEX, "{\"weight_map\":{\"a\":\"a3.safetensors\"}}");
	rebuilt(NULL, NULL);
	owned_by(2);
	put(SET_SHARD(3), set_kit_file("aef"));
	set_kit_text(folder, SET_INDEX, "{\"weight_map\":{\"a\":\"" SET_SHARD(3) "\"}}");
	rebuilt(NULL, NULL);
	owned_by(5);
	set_kit_remove(folder, SET_INDEX);
	not_rebuilt(TN_E_CORRUPT, "tensor 'a' is in '" SET_SHARD(1) "' and in '" SET_SHARD(3) "'");
}

static void does_not_guess(void **state)
{
	(void)state;
	not_rebuilt(TN_E_FORMAT, "holds no model file");
	put("1.safetensors", set_kit_file("ab"));
	not_rebuilt(TN_E_USAGE, "needs no index");
	put("2.safetensors", set_kit_file("bc"));
	not_rebuilt(TN_E_CORRUPT, "tensor 'b' is in '1.safetensors' and in '2.safetensors'");
	put("1.safetensors", set_kit_file(""));
	put("2.safetensors", set_kit_file(""));
	not_rebuilt(TN_E_USAGE, "hold no tensors");
	assert_int_equal(tempdir_count(folder), 2); /* no index */
	put("1.safetensors", set_kit_file("ab"));
	set_kit_text(folder, "2.safetensors", "this is no model at all");
	not_rebuilt(TN_E_FORMAT, "2.safetensors: ");
	set_kit_remove(folder, "1.safetensors");
	set_kit_remove(folder, "2.safetensors");
	put("m-00001-of-00003.safetensors", set_kit_file("ab"));
	put("m-00003-of-00003.safetensors", set_kit_file("bc"));
	not_rebuilt(TN_E_TRUNCATED, "'m-00002-of-00003.safetensors' is missing");
	assert_false(set_kit_says(report, TN_NOTE, "new index"));
	set_kit_remove(folder, "m-00003-of-00003.safetensors");
	put("1.bpk", kit_file("burnpack"));
	not_rebuilt(TN_E_USAGE, "more than one model");
	set_kit_remove(folder, "m-00001-of-00003.safetensors");
	put("2.bpk", kit_file("burnpack"));
	not_rebuilt(TN_E_UNSUPPORTED, "burnpack has no index");
}

/* The blob that an index in a cache links to is named by its content. */
static void a_link_stays(void **state)
{
	(void)state;
	char *set = files_join(folder, "set"), *index = files_join(set, SET_INDEX);
	assert_int_equal(mkdir(set, 0777), 0);
	set_kit_store(set);
	tn_view old = files_load(index);
	files_store(index, tn_text(""));
	assert_int_equal(unlink(index), 0);
	put("blob", old);
	assert_int_equal(symlink("../blob", index), 0);
	tn_error err;
	assert_int_equal(rebuild("set", NULL, &err), TN_E_USAGE);
	assert_non_null(strstr(err.msg, "is a link to a file elsewhere"));
	rebuilt("set", "new.json");
	free(index);
	free(set);
}

/* ---- Files ---- */

static tn_code repair(const char *name, const char *to, tn_error *err)
{
	char *path = files_join(folder, name), *out = files_join(folder, to);
	tn_report_free(report);
	tn_code code = tn_repair(path, out, NULL, &quick, &report, err);
	free(path);
	free(out);
	return code;
}

static void repaired(const char *name, const char *to)
{
	tn_error err;
	if (repair(name, to, &err) != TN_OK)
		fail_msg("%s", err.msg);
}

/* The file with n bytes more at its end. */
static tn_view longer(tn_view bytes, size_t n)
{
	uint8_t *p = calloc(1, bytes.len + n);
	assert_non_null(p);
	memcpy(p, bytes.ptr, bytes.len);
	free((void *)bytes.ptr);
	return (tn_view){ p, bytes.len + n };
}

static void trailing_bytes(void **state)
{
	(void)state;
	tn_view good = set_kit_single();
	put("bad.safetensors", longer(set_kit_single(), 100));
	repaired("bad.safetensors", "good.safetensors");
	assert_true(set_kit_says(report, TN_NOTE, "100 bytes after the last tensor left out"));
	expect_same("good.safetensors", good);
	free((void *)good.ptr);
	tn_view pack = kit_file("burnpack");
	put("bad.bpk", longer(kit_file("burnpack"), 100));
	repaired("bad.bpk", "good.bpk");
	assert_true(set_kit_says(report, TN_NOTE, "bytes after the end of the model: mended"));
	expect_same("good.bpk", pack);
	free((void *)pack.ptr);
}

static void header_padded_with_nuls(void **state)
{
	(void)state;
	tn_view bytes = set_kit_file("abc"), good = set_kit_file("abc");
	uint8_t *p = (uint8_t *)bytes.ptr;
	size_t n = (size_t)le64(p), nuls = 0;
	for (size_t at = 8 + n; p[at - 1] == ' '; at--, nuls++)
		p[at - 1] = 0;
	assert_true(nuls != 0);
	put("bad.safetensors", bytes);
	repaired("bad.safetensors", "good.safetensors");
	assert_true(set_kit_says(report, TN_NOTE, "the header is padded with"));
	expect_same("good.safetensors", good);
	free((void *)good.ptr);
}

static void missing_format(void **state)
{
	(void)state;
	tn_view good = set_kit_file("a");
	tn_writer *w = kit_writer("safetensors");
	kit_add(w, "a", TN_U8, 1, (uint64_t[]){ 10 }, 0);
	put("bad.safetensors", kit_save(w));
	tn_writer_free(w);
	repaired("bad.safetensors", "good.safetensors");
	assert_true(set_kit_says(report, TN_NOTE, "it is set to 'pt'"));
	expect_same("good.safetensors", good);
	free((void *)good.ptr);
}

static void nothing_to_mend(void **state)
{
	(void)state;
	put("good.safetensors", set_kit_single());
	repaired("good.safetensors", "new.safetensors");
	assert_true(set_kit_says(report, TN_NOTE, "nothing to mend"));
	assert_int_equal(tempdir_count(folder), 1);
}

static void what_cannot_be_mended(void **state)
{
	tn_error err;
	(void)state;
	tn_view bytes = set_kit_single();
	bytes.len -= 3;
	put("bad.safetensors", bytes);
	assert_int_equal(repair("bad.safetensors", "new.safetensors", &err), TN_E_TRUNCATED);
	assert_int_equal(tempdir_count(folder), 1);
	tn_report_free(report);
	assert_int_equal(tn_repair(NULL, "x", NULL, NULL, &report, &err), TN_E_USAGE);
	assert_int_equal(tn_repair("x", NULL, NULL, NULL, &report, &err), TN_E_USAGE);
	assert_int_equal(tn_rebuild_index(NULL, NULL, NULL, NULL, &report, &err), TN_E_USAGE);
}

static void a_set_by_its_index(void **state)
{
	(void)state;
	set_kit_store(folder);
	tn_view index = load(SET_INDEX);
	set_kit_text(folder, SET_INDEX, "{\"weight_map\":{\"a\":\"" SET_SHARD(1) "\"}}");
	repaired(SET_INDEX, "new.json");
	expect_same("new.json", index);
	free((void *)index.ptr);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(makes_what_split_makes), CASE(decides_who_owns),         CASE(decides_among_many),        CASE(does_not_guess), CASE(a_link_stays),
		CASE(trailing_bytes),         CASE(header_padded_with_nuls), CASE(missing_format), CASE(nothing_to_mend),
		CASE(what_cannot_be_mended),  CASE(a_set_by_its_index),
	};
	return cmocka_run_group_tests_name("repair", tests, NULL, NULL);
}
