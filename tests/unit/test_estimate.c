/* test_estimate.c - estimates as calls: what they refuse, and the home of the result. */
#include "support/api_kit.h"
#include "support/files.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* A file without a tape of its own gets a plain one from the writer. */
static tn_file *thin_file(tn_view *bytes)
{
	uint64_t shape[] = { 5 };
	tn_writer *w = kit_writer("thin");
	kit_add(w, "a", TN_U8, 1, shape, 0);
	kit_add(w, "b", TN_U8, 1, shape, 1);
	*bytes = kit_save(w);
	tn_writer_free(w);
	return kit_open(*bytes);
}

static void a_format_without_a_tape_is_refused(void **state)
{
	(void)state;
	tn_view bytes = kit_file("burnpack");
	tn_file *f = kit_open(bytes);
	tn_estimate *e = (tn_estimate *)&bytes;
	tn_error err;
	assert_int_equal(tn_estimate_new(&e, f, TN_ESTIMATE_STATS, NULL, &err), TN_E_UNSUPPORTED);
	assert_null(e);
	assert_string_equal(err.msg, "burnpack files have no execution tape to plan with");
	tn_estimate_free(NULL);
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

static void options_that_cannot_be_meant_are_refused(void **state)
{
	static const struct {
		tn_plan_options options;
		const char     *msg;
	} cases[] = {
		{ { .kv_dtype = "q7" }, "thin: kv dtype 'q7' is not known" },
		{ { .residency = "ALL" }, "thin: weight residency 'ALL' is not known" },
		{ { .gpu_fraction = -0.5 }, "the gpu fraction is over 0, and 1 at most" },
		{ { .gpu_fraction = 1.5 }, "the gpu fraction is over 0, and 1 at most" },
		{ { .gpu_fraction = NAN }, "the gpu fraction is over 0, and 1 at most" },
	};
	(void)state;
	tn_view bytes;
	tn_file *f = thin_file(&bytes);
	for (size_t i = 0; i < COUNT(cases); i++) {
		tn_estimate *e;
		tn_error err;
		assert_int_equal(tn_estimate_new(&e, f, TN_ESTIMATE_PLAN, &cases[i].options, &err), TN_E_USAGE);
		assert_string_equal(err.msg, cases[i].msg);
		assert_null(e);
	}
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

/* The words of the options are copied: they may go before the result does. */
static void the_result_outlives_its_options(void **state)
{
	(void)state;
	tn_view bytes, said;
	tn_file *f = thin_file(&bytes);
	tn_estimate *e;
	char backend[] = "metal", kv[] = "FP16";
	tn_plan_options how = { .backend = backend, .kv_dtype = kv, .vram = 1 };
	assert_int_equal(tn_estimate_new(&e, f, TN_ESTIMATE_PLAN, &how, NULL), TN_OK);
	memset(backend, 'x', sizeof backend - 1);
	memset(kv, 'x', sizeof kv - 1);
	const tn_meta *values = tn_estimate_values(e);
	assert_true(tn_meta_string(tn_meta_find(values, tn_text("backend")), &said));
	assert_memory_equal(said.ptr, "metal", 5);
	assert_true(tn_meta_string(tn_meta_find(values, tn_text("kv_dtype")), &said));
	assert_memory_equal(said.ptr, "fp16", 4);
	tn_estimate_free(e);
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

/* Without a map the front of the file is read for it. */
static void a_file_that_is_not_mapped_will_do(void **state)
{
	(void)state;
	tn_view bytes;
	tn_close(thin_file(&bytes));
	char *folder = tempdir_new();
	char *path = kit_store(folder, "m.thin", bytes);
	tn_open_options how = { .io = TN_IO_PREAD };
	tn_file *f;
	tn_estimate *e;
	uint64_t n = 0;
	assert_int_equal(tn_open(&f, path, &how, NULL), TN_OK);
	assert_int_equal(tn_estimate_new(&e, f, TN_ESTIMATE_STATS, NULL, NULL), TN_OK);
	assert_true(tn_meta_u64(tn_meta_find(tn_estimate_values(e), tn_text("page_count")), &n));
	assert_int_equal(n, 2);
	tn_estimate_free(e);
	tn_close(f);
	free(path);
	tempdir_remove(folder);
	free((void *)(uintptr_t)bytes.ptr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_format_without_a_tape_is_refused),
		cmocka_unit_test(options_that_cannot_be_meant_are_refused),
		cmocka_unit_test(the_result_outlives_its_options),
		cmocka_unit_test(a_file_that_is_not_mapped_will_do),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
