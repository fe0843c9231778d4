/* test_loss.c - what opening could not read, and what a set holds twice, is lost to every way of writing. */
#include "tenon.h"

#include "support/set_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
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

/* Two files; the index gives one of them a tensor that it does not have, and a sum that is none. */
static tn_file *open_set(void)
{
	static const char index[] = "{\"metadata\":{\"total_size\":30},\"weight_map\":{\"a\":\"1.safetensors\","
	                            "\"b\":\"2.safetensors\",\"c\":\"2.safetensors\"}}";
	for (unsigned k = 0; k < 2; k++) {
		tn_view bytes = set_kit_file(k == 0 ? "a" : "b");
		free(kit_store(folder, k == 0 ? "1.safetensors" : "2.safetensors", bytes));
		free((void *)bytes.ptr);
	}
	set_kit_text(folder, SET_INDEX, index);
	tn_file *f;
	tn_error err;
	if (tn_open(&f, folder, NULL, &err) != TN_OK)
		fail_msg("%s", err.msg);
	assert_true(set_kit_says(tn_warnings(f), TN_ERROR, "it does not have: 1, the first is 'c'"));
	return f;
}

static void expect_said(const tn_report *report, bool allowed)
{
	tn_severity severity = allowed ? TN_WARNING : TN_ERROR;
	assert_true(set_kit_says(report, severity, "it does not have: 1, the first is 'c'"));
	assert_true(set_kit_says(report, TN_WARNING, "30 bytes in all"));
	for (size_t i = 0; i < tn_report_count(report); i++)
		if (tn_report_at(report, i).severity == TN_ERROR || strstr(tn_report_at(report, i).text, "'c'") != NULL)
			assert_int_equal(tn_report_at(report, i).code, TN_E_LOSSY);
}

static void conversion(void **state)
{
	(void)state;
	static const char *const targets[] = { "safetensors", "burnpack", "gguf" };
	tn_file *f = open_set();
	for (size_t i = 0; i < 6; i++) {
		bool allowed = i % 2 == 1;
		const tn_convert_options how = {
			.format = targets[i / 2], .write = { .allow_loss = allowed, .exact_path = true, .carry = true, .no_sync = true },
		};
		tn_converted done;
		tn_error err;
		assert_int_equal(tn_convert(f, out, &how, &done, &err), allowed ? TN_OK : TN_E_LOSSY);
		assert_true(allowed || strstr(err.msg, "the first is 'c'") != NULL);
		expect_said(done.report, allowed);
		tn_report_free(done.report);
	}
	tn_close(f);
}

static void split(void **state)
{
	(void)state;
	tn_file *f = open_set();
	for (int allowed = 0; allowed < 2; allowed++) {
		const tn_split_options how = { .max_tensors = 1, .write = { .allow_loss = allowed, .no_sync = true } };
		tn_shards *shards;
		assert_int_equal(tn_split(f, out, &how, &shards, NULL), allowed ? TN_OK : TN_E_LOSSY);
		expect_said(tn_shards_report(shards), allowed);
		tn_shards_free(shards);
	}
	tn_close(f);
}

static void writer(void **state)
{
	(void)state;
	tn_file *f = open_set();
	for (int allowed = 0; allowed < 2; allowed++) {
		const tn_write_options how = { .allow_loss = allowed, .exact_path = true, .no_sync = true };
		tn_writer *w;
		uint64_t size;
		assert_int_equal(tn_writer_of(&w, f, &how, NULL), TN_OK);
		assert_int_equal(tn_writer_size(w, &size, NULL), allowed ? TN_OK : TN_E_LOSSY);
		assert_int_equal(tn_writer_save(w, out, NULL), allowed ? TN_OK : TN_E_LOSSY);
		expect_said(tn_writer_report(w), allowed);
		tn_writer_free(w);
	}
	tn_close(f);
}

/* Of three files the second adds a key, of which the third has another value: that one is named. */
static void values_that_differ(void **state)
{
	(void)state;
	static const char *const values[] = { NULL, "one", "two" };
	for (unsigned k = 0; k < 3; k++) {
		tn_writer *w = kit_writer("safetensors");
		kit_add(w, (char[2]){ (char)('a' + k), '\0' }, TN_U8, 1, (uint64_t[]){ 10 }, k);
		if (values[k] != NULL)
			assert_int_equal(tn_put_string(w, tn_writer_metadata(w), tn_text("who"), tn_text(values[k]), NULL), TN_OK);
		tn_view bytes = kit_save(w);
		free(kit_store(folder, (const char *[]){ "1.safetensors", "2.safetensors", "3.safetensors" }[k], bytes));
		free((void *)bytes.ptr);
		tn_writer_free(w);
	}
	tn_file *f;
	tn_error err;
	const tn_convert_options how = { .format = "safetensors", .write.no_sync = true };
	assert_int_equal(tn_open(&f, folder, NULL, NULL), TN_OK);
	assert_true(set_kit_says(tn_warnings(f), TN_WARNING, "3.safetensors: metadata 'who' differs from that of '2.safetensors'"));
	assert_int_equal(tn_convert(f, out, &how, NULL, &err), TN_E_LOSSY);
	assert_non_null(strstr(err.msg, "metadata 'who' differs"));
	tn_close(f);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = { CASE(conversion), CASE(split), CASE(writer), CASE(values_that_differ) };
	return cmocka_run_group_tests_name("loss", tests, NULL, NULL);
}
