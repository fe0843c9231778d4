/* checkpoints.c - checkpoints of many families into archives: the manifests, records and warnings that
 * tests/checkpoints has of them. */
#include "format/thin/layout.h"
#include "support/checkpoint_kit.h"
#include "support/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static char *folder, *target;

static int set_up(void **state)
{
	(void)state;
	folder = tempdir_new();
	target = files_join(folder, "out.thin");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(target);
	tempdir_remove(folder);
	return 0;
}

/* ---- Comparing ---- */

/* With TENON_BLESS the file is written instead. */
static void expect_text(const char *name, const char *file, const char *text, bool bless)
{
	char *path = checkpoint_file(name, file);
	if (bless && getenv("TENON_BLESS") != NULL)
		files_store(path, tn_text(text));
	tn_view expected = files_load(path);
	char *copy = malloc(expected.len + 1);
	memcpy(copy, expected.ptr, expected.len);
	copy[expected.len] = '\0';
	assert_string_equal(text, copy);
	free(copy);
	free((void *)(uintptr_t)expected.ptr);
	free(path);
}

static char *text_of(tn_view v)
{
	char *text = malloc(v.len + 2);
	assert_non_null(text);
	memcpy(text, v.ptr, v.len);
	text[v.len] = '\n';
	text[v.len + 1] = '\0';
	return text;
}

/* Checksums are of the bytes that the kit made. A deep verify looks at them. */
static void empty_checksums(char *manifest)
{
	static const char key[] = "\"checksum\": \"";
	for (char *at = manifest; (at = strstr(at, key)) != NULL; ) {
		at += strlen(key);
		memmove(at, at + THIN_HEX, strlen(at + THIN_HEX) + 1);
	}
}

static void compare_archive(const char *name)
{
	tn_view file = files_load(target);
	uint64_t off = le64(file.ptr + 16), len = le64(file.ptr + 24), n = le64(file.ptr + 40);
	char *manifest = text_of((tn_view){ file.ptr + off, (size_t)len }), *ids = calloc(1, file.len), *end = ids;
	empty_checksums(manifest);
	expect_text(name, "manifest.json", manifest, false);
	const uint8_t *record = file.ptr + off + len;
	for (uint64_t i = 0; i < n; i++) {
		uint16_t id = le16(record);
		end += sprintf(end, "%.*s\n", (int)id, (const char *)record + 2);
		record += THIN_RECORD + id;
	}
	expect_text(name, "records.txt", ids, false);
	free(ids);
	free(manifest);
	free((void *)(uintptr_t)file.ptr);
}

static void expect_sound(void)
{
	tn_file *f;
	tn_report *report;
	const tn_verify_options deep = { .deep = true };
	assert_int_equal(tn_open(&f, target, NULL, NULL), TN_OK);
	assert_int_equal(tn_verify(f, &deep, &report, NULL), TN_OK);
	assert_int_equal(tn_report_count(report), 0);
	tn_report_free(report);
	tn_close(f);
}

/* ---- Converting ---- */

static char *findings_text(const tn_report *report)
{
	char *text = calloc(1, tn_report_count(report) * 512 + 1), *end = text;
	assert_non_null(text);
	for (size_t i = 0; i < tn_report_count(report); i++) {
		tn_finding f = tn_report_at(report, i);
		end += sprintf(end, "%s: %s\n", tn_severity_name(f.severity), f.text);
	}
	return text;
}

static tn_code convert(tn_convert_options how, tn_converted *done, tn_error *err)
{
	tn_file *f;
	how.write.no_sync = true;
	assert_int_equal(tn_open(&f, folder, NULL, NULL), TN_OK);
	tn_code code = tn_convert(f, target, &how, done, err);
	tn_close(f);
	return code;
}

static void expect_error(const char *name, const tn_error *err)
{
	char text[sizeof err->msg + 32];
	snprintf(text, sizeof text, "%s: %s\n", tn_code_name(err->code), err->msg);
	expect_text(name, "warnings.txt", text, true);
	assert_false(files_exist(target));
}

static void expect_conversion(const char *name)
{
	tn_converted done, dry;
	tn_error err;
	checkpoint_make(name, folder);
	if (convert((tn_convert_options){ .dry_run = false }, &done, &err) != TN_OK) {
		expect_error(name, &err);
		tn_report_free(done.report);
		return;
	}
	char *said = findings_text(done.report);
	expect_text(name, "warnings.txt", said, true);
	compare_archive(name);
	expect_sound();
	tn_view file = files_load(target);
	assert_int_equal(remove(target), 0);
	assert_int_equal(convert((tn_convert_options){ .dry_run = true }, &dry, &err), TN_OK);
	assert_int_equal(dry.size, file.len);
	assert_false(files_exist(target));
	assert_int_equal(convert((tn_convert_options){ .resume = true }, NULL, &err), TN_OK);
	assert_true(files_equal(target, file));
	free((void *)(uintptr_t)file.ptr);
	tn_report_free(dry.report);
	tn_report_free(done.report);
	free(said);
}

#define FAMILY(test, name) static void test(void **state) { (void)state; expect_conversion(name); }
FAMILY(gemma2, "gemma2")
FAMILY(gpt_oss, "gpt-oss-mxfp4")
FAMILY(gpt2, "gpt2")
FAMILY(gpt2_gated, "gpt2-gated")
FAMILY(llama, "llama")
FAMILY(llama_in_shards, "llama-3shards")
FAMILY(llama_fp8, "llama-fp8")
FAMILY(llama_gptq, "llama-gptq")
FAMILY(mixtral, "mixtral")
FAMILY(mllama, "mllama")
FAMILY(qwen2, "qwen2")

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(gemma2), TEST(gpt_oss), TEST(gpt2), TEST(gpt2_gated), TEST(llama), TEST(llama_in_shards),
		TEST(llama_fp8), TEST(llama_gptq), TEST(mixtral), TEST(mllama), TEST(qwen2),
	};
	return cmocka_run_group_tests_name("checkpoints", tests, NULL, NULL);
}
