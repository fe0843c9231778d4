/* test_save.c - saving to a path: whole or not at all, in place, never over an input. */
#include "api/save.h"

#include "support/api_kit.h"
#include "support/files.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

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

static tn_writer *writer_with(const char *format, const tn_write_options *opt, const tn_source *source)
{
	tn_writer *w;
	assert_int_equal(tn_writer_new(&w, format, opt, NULL), TN_OK);
	assert_int_equal(tn_writer_add(w, tn_text("t"), TN_U8, 1, (uint64_t[]){ 5 }, 0, source, NULL), TN_OK);
	return w;
}

static const uint8_t five[] = { 1, 2, 3, 4, 5 };
static const tn_source from_memory = { .kind = TN_SOURCE_MEMORY, .memory = { five, 5 } };

static void files_are_as_planned(void **state)
{
	(void)state;
	static const char *const written[] = { "burnpack", "safetensors" };
	for (size_t i = 0; i < 2; i++) {
		for (int in_place = 0; in_place < 2; in_place++) {
			tn_writer *w = writer_with(written[i], &(tn_write_options){ .in_place = in_place != 0 }, &from_memory);
			uint64_t size;
			char *path = files_join(folder, "out.x");
			for (unsigned again = 0; again < 2; again++) { /* to a new file, and over an old one */
				assert_int_equal(tn_writer_save(w, path, NULL), TN_OK);
				tn_view saved = files_load(path), expected = kit_save(w);
				assert_int_equal(tn_writer_size(w, &size, NULL), TN_OK);
				assert_int_equal(saved.len, size);
				assert_int_equal(saved.len, expected.len);
				assert_memory_equal(saved.ptr, expected.ptr, saved.len);
				assert_int_equal(tempdir_count(folder), 1);
				free((void *)(uintptr_t)saved.ptr);
				free((void *)(uintptr_t)expected.ptr);
			}
			unlink(path);
			free(path);
			tn_writer_free(w);
		}
	}
}

static void extensions_are_added_where_the_format_does(void **state)
{
	(void)state;
	static const struct { const char *format, *name, *becomes; bool exact; } cases[] = {
		{ "burnpack", "model", "model.bpk", false }, { "burnpack", "model", "model", true },
		{ "burnpack", "model.x", "model.x", false }, { "safetensors", "model", "model", false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		tn_writer *w = writer_with(cases[i].format, &(tn_write_options){ .no_sync = true, .exact_path = cases[i].exact },
		                           &from_memory);
		char *path = files_join(folder, cases[i].name), *becomes = files_join(folder, cases[i].becomes);
		assert_int_equal(tn_writer_save(w, path, NULL), TN_OK);
		assert_true(files_exist(becomes));
		assert_int_equal(tempdir_count(folder), 1);
		unlink(becomes);
		free(path);
		free(becomes);
		tn_writer_free(w);
	}
}

static void a_failure_leaves_the_old_file(void **state)
{
	(void)state;
	char *none = files_join(folder, "none"), *path = kit_store(folder, "out.x", VIEW("old"));
	char *nowhere = files_join(folder, "no/such/folder");
	const tn_source absent = { .kind = TN_SOURCE_FILE, .path = none };
	tn_error err;
	tn_writer *w = writer_with("safetensors", NULL, &absent);
	assert_int_equal(tn_writer_save(w, path, &err), TN_E_IO);
	assert_true(err.sys != 0);
	assert_true(files_equal(path, VIEW("old")));
	assert_int_equal(tempdir_count(folder), 1);
	assert_int_equal(tn_writer_save(w, NULL, &err), TN_E_USAGE);
	tn_writer_free(w);
	/* too short a source */
	free(kit_store(folder, "none", VIEW("1234")));
	w = writer_with("burnpack", &(tn_write_options){ .no_sync = true }, &absent);
	assert_int_equal(tn_writer_save(w, path, &err), TN_E_TRUNCATED);
	assert_true(files_equal(path, VIEW("old")));
	assert_int_equal(tempdir_count(folder), 2);
	tn_writer_free(w);
	w = writer_with("burnpack", NULL, &from_memory);
	assert_int_equal(tn_writer_save(w, nowhere, &err), TN_E_IO);
	tn_writer_free(w);
	free(nowhere);
	free(none);
	free(path);
}

/* ---- Inputs ---- */

enum { AS_PATH, AS_TENSOR };

static tn_code save_over(const char *input, const char *target, int kind, bool in_place, tn_error *err)
{
	tn_file *f = NULL;
	tn_source source = { .kind = TN_SOURCE_FILE, .path = input };
	if (kind == AS_TENSOR) {
		assert_int_equal(tn_open(&f, input, NULL, NULL), TN_OK);
		source = (tn_source){ .kind = TN_SOURCE_TENSOR, .file = f, .tensor = kit_find(f, "line") };
	}
	tn_writer *w = writer_with("safetensors", &(tn_write_options){ .in_place = in_place, .no_sync = true }, &source);
	tn_code code = tn_writer_save(w, target, err);
	tn_writer_free(w);
	tn_close(f);
	return code;
}

static void an_input_is_never_truncated(void **state)
{
	(void)state;
	static const char *const targets[] = { "input", "hard", "soft", "./input" };
	tn_view bytes = kit_file("safetensors");
	char *input = kit_store(folder, "input", bytes), *hard = files_join(folder, "hard"), *soft = files_join(folder, "soft");
	assert_int_equal(link(input, hard), 0);
	assert_int_equal(symlink(input, soft), 0);
	for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
		for (int kind = AS_PATH; kind <= AS_TENSOR; kind++) {
			tn_error err;
			char *target = files_join(folder, targets[i]);
			assert_int_equal(save_over(input, target, kind, true, &err), TN_E_USAGE);
			assert_true(files_equal(input, bytes));
			assert_int_equal(tempdir_count(folder), 3);
			free(target);
		}
	}
	free((void *)(uintptr_t)bytes.ptr);
	free(input);
	free(hard);
	free(soft);
}

/* Several files at once, the one in danger neither first nor last. */
static void each_of_many_inputs_is_looked_at(void **state)
{
	(void)state;
	tn_writer *w;
	char *paths[3];
	static const char *const names[] = { "a", "b", "c" };
	assert_int_equal(tn_writer_new(&w, "burnpack", &(tn_write_options){ .in_place = true, .exact_path = true }, NULL), TN_OK);
	for (size_t i = 0; i < 3; i++) {
		paths[i] = kit_store(folder, names[i], VIEW("12345"));
		const tn_source source = { .kind = TN_SOURCE_FILE, .path = paths[i] };
		assert_int_equal(tn_writer_add(w, tn_text(names[i]), TN_U8, 1, (uint64_t[]){ 5 }, 0, &source, NULL), TN_OK);
	}
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(tn_writer_save(w, paths[i], NULL), TN_E_USAGE);
		assert_true(files_equal(paths[i], VIEW("12345")));
	}
	for (size_t i = 0; i < 3; i++)
		free(paths[i]);
	tn_writer_free(w);
}

static void a_rename_may_replace_an_input(void **state)
{
	(void)state;
	tn_view bytes = kit_file("safetensors");
	for (int kind = AS_PATH; kind <= AS_TENSOR; kind++) {
		char *input = kit_store(folder, "input", bytes);
		tn_file *f;
		assert_int_equal(save_over(input, input, kind, false, NULL), TN_OK);
		assert_int_equal(tn_open(&f, input, NULL, NULL), TN_OK);
		tn_view v;
		assert_int_equal(tn_bytes(f, 0, &v, NULL), TN_OK);
		assert_memory_equal(v.ptr, kind == AS_PATH ? bytes.ptr : (const uint8_t[]){ kit_byte(3, 0) }, 1);
		tn_close(f);
		assert_int_equal(tempdir_count(folder), 1);
		free(input);
	}
	free((void *)(uintptr_t)bytes.ptr);
}

/* ---- Plans ---- */

struct watch { uint64_t last, total; unsigned calls, stop_at; };

static bool progress(void *ctx, uint64_t done, uint64_t total)
{
	struct watch *w = ctx;
	assert_true(done >= w->last && done <= total);
	w->last = done;
	w->total = total;
	return ++w->calls != w->stop_at;
}

static void progress_reaches_the_end_or_stops(void **state)
{
	(void)state;
	enum { LEN = 5 << 20 };
	uint8_t *data = calloc(1, LEN);
	for (unsigned stop = 0; stop < 2; stop++) {
		struct watch watch = { .stop_at = stop };
		tn_write_options opt = { .no_sync = true, .work = { .progress = progress, .ctx = &watch } };
		const tn_source source = { .kind = TN_SOURCE_MEMORY, .memory = { data, LEN } };
		tn_writer *w;
		char *path = files_join(folder, "out.x");
		assert_int_equal(tn_writer_new(&w, "safetensors", &opt, NULL), TN_OK);
		assert_int_equal(tn_writer_add(w, tn_text("t"), TN_U8, 1, (uint64_t[]){ LEN }, 0, &source, NULL), TN_OK);
		tn_code code = tn_writer_save(w, path, NULL);
		assert_int_equal(code, stop ? TN_E_USAGE : TN_OK);
		assert_true(watch.calls >= 1);
		assert_int_equal(files_exist(path), !stop);
		assert_int_equal(tempdir_count(folder), !stop);
		assert_true(stop || watch.last == watch.total);
		unlink(path);
		free(path);
		tn_writer_free(w);
	}
	free(data);
}

/* A plan that finds more than a report holds before its first loss. */
static tn_code long_plan(struct plan_job *job)
{
	for (unsigned i = 0; i < REPORT_MAX + 5; i++)
		report_add(job->report, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR, "note %u", i);
	report_add(job->report, TN_ERROR, TN_E_LOSSY, TN_NO_OFFSET, NO_TENSOR, "lost");
	return TN_OK;
}

static void losses_past_the_reports_end_count(void **state)
{
	(void)state;
	static const struct format format = { .name = "long", .plan = long_plan };
	static const tn_write_options options;
	struct tn_report r;
	struct arena a;
	struct model m;
	tn_error err = { .code = TN_OK };
	arena_init(&a, 0);
	assert_true(model_init(&m, &a));
	report_init(&r);
	struct save s = { .format = &format, .model = &m, .options = &options, .report = &r, .err = &err };
	assert_int_equal(save_begin(&s), TN_E_LOSSY);
	assert_int_equal(err.code, TN_E_LOSSY);
	save_end(&s);
	report_fini(&r);
	arena_fini(&a);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_are_as_planned),
		TEST(extensions_are_added_where_the_format_does),
		TEST(a_failure_leaves_the_old_file),
		TEST(an_input_is_never_truncated),
		TEST(each_of_many_inputs_is_looked_at),
		TEST(a_rename_may_replace_an_input),
		TEST(progress_reaches_the_end_or_stops),
		TEST(losses_past_the_reports_end_count),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
