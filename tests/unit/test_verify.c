/* test_verify.c - verifying: what opening tolerated, the common laws' findings, the format's own. */
#include "tenon.h"

#include "support/api_kit.h"
#include "support/files.h"
#include "support/models.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const formats[] = { "burnpack", "safetensors" };

static void what_we_write_is_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		for (size_t k = 0; k < model_maker_count; k++) {
			tn_view bytes = models_make(&model_makers[k], formats[i]);
			tn_file *f = kit_open(bytes);
			for (int deep = 0; deep < 2; deep++) {
				tn_report *r;
				assert_int_equal(tn_verify(f, &(tn_verify_options){ .deep = deep != 0 }, &r, NULL), TN_OK);
				assert_int_equal(tn_report_of(r, TN_ERROR), 0);
				for (size_t n = 0; n < tn_report_count(r); n++)
					if (strstr(tn_report_at(r, n).text, "belong to nothing") != NULL)
						fail_msg("%s, %s: %s", formats[i], model_makers[k].name, tn_report_at(r, n).text);
				tn_report_free(r);
			}
			tn_close(f);
			free((void *)(uintptr_t)bytes.ptr);
		}
	}
}

/* The envelope gives the tensors another order than their data have: no gaps are seen between them. */
static void an_order_of_its_own_makes_no_gaps(void **state)
{
	(void)state;
	tn_writer *w = kit_writer("safetensors");
	kit_add(w, "z", TN_U8, 1, (uint64_t[]){ 3 }, 1);
	kit_add(w, "y", TN_F64, 1, (uint64_t[]){ 2 }, 2);
	kit_add(w, "x", TN_F32, 1, (uint64_t[]){ 2 }, 3);
	tn_view bytes = kit_save(w);
	tn_writer_free(w);
	tn_file *f = kit_open(bytes);
	assert_int_equal(kit_find(f, "z"), 0);
	assert_true(tn_tensor_at(f, 0).offset > tn_tensor_at(f, 1).offset);
	tn_report *r;
	assert_int_equal(tn_verify(f, NULL, &r, NULL), TN_OK);
	assert_int_equal(tn_report_of(r, TN_WARNING) + tn_report_of(r, TN_ERROR), 0);
	tn_report_free(r);
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

static void findings_of_opening_come_first(void **state)
{
	(void)state;
	tn_view bytes = kit_file("burnpack");
	uint8_t *longer = malloc(bytes.len + 1000);
	memcpy(longer, bytes.ptr, bytes.len);
	memset(longer + bytes.len, 'x', 1000);
	tn_file *f = kit_open((tn_view){ longer, bytes.len + 1000 });
	tn_report *r;
	assert_int_equal(tn_verify(f, NULL, &r, NULL), TN_OK);
	size_t told = tn_report_count(tn_warnings(f));
	assert_true(tn_report_count(r) > told);
	for (size_t i = 0; i < told; i++)
		assert_string_equal(tn_report_at(r, i).text, tn_report_at(tn_warnings(f), i).text);
	bool trailing = false;
	for (size_t i = 0; i < tn_report_count(r); i++)
		trailing = trailing || tn_report_at(r, i).offset == bytes.len;
	assert_true(trailing);
	tn_close(f);
	assert_true(tn_report_at(r, 0).text[0] != '\0'); /* the report outlives the file */
	tn_report_free(r);
	free(longer);
	free((void *)(uintptr_t)bytes.ptr);
}

/* What keeps the check itself from being made is an error, and there is no report then. */
static void a_check_that_cannot_be_made(void **state)
{
	(void)state;
	char *folder = tempdir_new();
	tn_writer *w = kit_writer("burnpack");
	kit_add(w, "b", TN_BOOL, 1, (uint64_t[]){ 1000 }, 1);
	tn_view bytes = kit_save(w);
	tn_writer_free(w);
	char *path = kit_store(folder, "file.bpk", bytes);
	tn_file *f;
	tn_error err;
	tn_report *r = (tn_report *)&err;
	assert_int_equal(tn_open(&f, path, &(tn_open_options){ .io = TN_IO_PREAD }, NULL), TN_OK);
	assert_int_equal(truncate(path, (off_t)bytes.len - 500), 0);
	assert_int_equal(tn_verify(f, &(tn_verify_options){ .deep = true }, &r, &err), TN_E_TRUNCATED);
	assert_null(r);
	assert_int_equal(tn_verify(f, NULL, &r, NULL), TN_OK); /* data is not looked at */
	tn_report_free(r);
	tn_close(f);
	free(path);
	tempdir_remove(folder);
	free((void *)(uintptr_t)bytes.ptr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_we_write_is_good),
		cmocka_unit_test(an_order_of_its_own_makes_no_gaps),
		cmocka_unit_test(findings_of_opening_come_first),
		cmocka_unit_test(a_check_that_cannot_be_made),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
