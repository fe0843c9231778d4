/* test_checkpoint.c - the files beside the weights of a checkpoint, and when they count. */
#include "tenon.h"

#include "support/checkpoint_kit.h"
#include "support/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char *folder;

/* A checkpoint of one file in the current folder. */
static int set_up(void **state)
{
	(void)state;
	folder = tempdir_new();
	checkpoint_make("llama", folder);
	return chdir(folder);
}

static int tear_down(void **state)
{
	(void)state;
	if (chdir("/") != 0)
		return -1;
	tempdir_remove(folder);
	return 0;
}

static tn_code convert_file(const char *from, const char *to, tn_convert_options how, tn_error *err)
{
	tn_file *f;
	how.write.no_sync = true;
	assert_int_equal(tn_open(&f, from, NULL, err), TN_OK);
	tn_code code = tn_convert(f, to, &how, NULL, err);
	tn_close(f);
	return code;
}

static tn_code convert(tn_convert_options how, tn_error *err)
{
	return convert_file("model.safetensors", "out.thin", how, err);
}

/* A string of the manifest's model, in a malloc. */
static char *field(const char *key)
{
	tn_file *f;
	tn_view v;
	assert_int_equal(tn_open(&f, "out.thin", NULL, NULL), TN_OK);
	char *copy = NULL;
	if (tn_meta_string(tn_meta_find(tn_metadata(f), tn_text(key)), &v)) {
		copy = calloc(1, v.len + 1);
		memcpy(copy, v.ptr, v.len);
	}
	tn_close(f);
	return copy;
}

static void expect_field(const char *key, const char *text)
{
	char *v = field(key);
	if (text == NULL)
		assert_null(v);
	else
		assert_string_equal(v, text);
	free(v);
}

static void replace(const char *path, const char *text) { files_store(path, tn_text(text)); }

static void beside_the_file(void **state)
{
	tn_error err;
	(void)state;
	assert_int_equal(convert((tn_convert_options){ .dry_run = false }, &err), TN_OK);
	expect_field("arch", "llama");
	expect_field("tokenizer_json_hash", "f805f0c92ece1156190b0b02c0489e91362a6997a9d8424f17e41a446ac2562c");
	assert_int_equal(convert((tn_convert_options){ .no_tokenizer = true, .arch = "custom" }, &err), TN_OK);
	expect_field("arch", "custom");
	expect_field("tokenizer_json_hash", NULL);
	assert_int_equal(convert((tn_convert_options){ .no_config = true }, &err), TN_OK);
	expect_field("model_type", NULL);
	assert_int_equal(remove("config.json"), 0);
	assert_int_equal(convert((tn_convert_options){ .dry_run = false }, &err), TN_OK);
	expect_field("model_type", NULL);
}

static void elsewhere(void **state)
{
	tn_error err;
	(void)state;
	assert_int_equal(rename("config.json", "other.json"), 0);
	assert_int_equal(convert((tn_convert_options){ .config = "other.json" }, &err), TN_OK);
	expect_field("model_type", "llama");
	assert_int_equal(convert((tn_convert_options){ .config = "none.json" }, &err), TN_E_IO);
	assert_non_null(strstr(err.msg, "none.json"));
	assert_int_equal(convert((tn_convert_options){ .config = "other.json", .no_config = true }, &err), TN_E_USAGE);
	assert_int_equal(convert_file("model.safetensors", "out.bpk", (tn_convert_options){ .config = "other.json" }, &err),
	                 TN_E_USAGE);
	assert_non_null(strstr(err.msg, "burnpack has no use for a config.json"));
}

/* Only what checkpoints are kept in is taken for one; others by name of the config, and archives become what they say. */
static void other_formats(void **state)
{
	tn_error err;
	(void)state;
	assert_int_equal(convert((tn_convert_options){ .dry_run = false }, &err), TN_OK);
	tn_view direct = files_load("out.thin");
	assert_int_equal(rename("out.thin", "again.thin"), 0);
	assert_int_equal(convert_file("model.safetensors", "w.bpk", (tn_convert_options){ .dry_run = false }, &err), TN_OK);
	assert_int_equal(convert_file("w.bpk", "out.thin", (tn_convert_options){ .dry_run = false }, &err), TN_OK);
	expect_field("model_type", NULL);
	assert_int_equal(convert_file("again.thin", "out.thin", (tn_convert_options){ .config = "config.json" }, &err), TN_OK);
	assert_true(files_equal("out.thin", direct));
	assert_int_equal(convert_file("again.thin", "out.thin", (tn_convert_options){ .dry_run = false }, &err), TN_OK);
	assert_true(files_equal("out.thin", direct));
	free((void *)(uintptr_t)direct.ptr);
}

/* An archive that was made into a file of tensors becomes again what it was, whatever config lies there now. */
static void way_back(void **state)
{
	tn_error err;
	(void)state;
	assert_int_equal(convert((tn_convert_options){ .arch = "first" }, &err), TN_OK);
	tn_view archive = files_load("out.thin");
	assert_int_equal(convert_file("out.thin", "back.safetensors", (tn_convert_options){ .dry_run = false }, &err), TN_OK);
	assert_int_equal(convert_file("back.safetensors", "out.thin", (tn_convert_options){ .dry_run = false }, &err), TN_OK);
	assert_true(files_equal("out.thin", archive));
	free((void *)(uintptr_t)archive.ptr);
}

static void wrong_config(void **state)
{
	tn_error err;
	(void)state;
	replace("config.json", "{\"num_hidden_layers\":");
	assert_int_equal(convert((tn_convert_options){ .dry_run = false }, &err), TN_E_CORRUPT);
	replace("config.json", "{}");
	assert_int_equal(convert((tn_convert_options){ .dry_run = true }, &err), TN_E_UNSUPPORTED);
	assert_false(files_exist("out.thin"));
}

/* Casts change the types and sizes that the archive states; the checksums follow when the bytes are made. */
static void with_a_cast(void **state)
{
	tn_error err;
	tn_file *f;
	tn_report *report;
	const tn_verify_options deep = { .deep = true };
	(void)state;
	for (int resume = 0; resume < 2; resume++) {
		assert_int_equal(convert((tn_convert_options){ .dtype = TN_F32, .resume = resume != 0 }, &err), TN_OK);
		assert_int_equal(tn_open(&f, "out.thin", NULL, &err), TN_OK);
		assert_int_equal(tn_tensor_at(f, 0).dtype, TN_F32);
		assert_int_equal(tn_verify(f, &deep, &report, &err), TN_OK);
		assert_int_equal(tn_report_of(report, TN_ERROR), 0);
		tn_report_free(report);
		tn_close(f);
	}
}

static bool no_head(void *ctx, const tn_tensor *t)
{
	(void)ctx;
	return t->name.len != strlen("lm_head.weight") || memcmp(t->name.ptr, "lm_head.weight", t->name.len) != 0;
}

static void with_a_selection(void **state)
{
	static const char *const set[] = { "arch", "mine", NULL };
	tn_error err;
	(void)state;
	assert_int_equal(convert((tn_convert_options){ .select = no_head, .set = set }, &err), TN_OK);
	expect_field("arch", "mine");
	tn_file *f;
	size_t i;
	assert_int_equal(tn_open(&f, "out.thin", NULL, &err), TN_OK);
	assert_int_equal(tn_tensor_find(f, tn_text("lm_head.weight"), &i, &err), TN_E_NOTFOUND);
	tn_close(f);
}

static void resuming_in_place(void **state)
{
	tn_error err;
	(void)state;
	assert_int_equal(convert((tn_convert_options){ .resume = true, .write.in_place = true }, &err), TN_E_USAGE);
	assert_int_equal(convert((tn_convert_options){ .resume = true, .dry_run = true }, &err), TN_OK);
	assert_int_equal(tempdir_count("."), 4);
}

static bool stop_at_once(void *ctx, uint64_t done, uint64_t total)
{
	(void)ctx;
	return done == 0 && total == 0;
}

static void stopped_by_the_caller(void **state)
{
	tn_error err;
	tn_convert_options how = { .write.work = { .threads = 1, .progress = stop_at_once } };
	(void)state;
	assert_int_equal(convert(how, &err), TN_E_USAGE);
	assert_false(files_exist("out.thin"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(beside_the_file), TEST(elsewhere), TEST(other_formats), TEST(way_back), TEST(wrong_config), TEST(with_a_cast),
		TEST(with_a_selection), TEST(resuming_in_place), TEST(stopped_by_the_caller),
	};
	return cmocka_run_group_tests_name("checkpoint", tests, NULL, NULL);
}
