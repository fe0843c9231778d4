/* test_convert.c - an open file into another: what is taken along, what is refused, what is reported. */
#include "tenon.h"

#include "support/api_kit.h"
#include "support/dump.h"
#include "support/files.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

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

/* Converts into FOLDER/name. */
static tn_code convert(const tn_file *f, const char *name, const tn_convert_options *opt, tn_converted *out, tn_error *err)
{
	tn_error own;
	char *path = files_join(folder, name);
	tn_code code = tn_convert(f, path, opt, out, err != NULL ? err : &own);
	free(path);
	return code;
}

static tn_file *open_in(const char *name)
{
	char *path = files_join(folder, name);
	tn_file *f;
	assert_int_equal(tn_open(&f, path, NULL, NULL), TN_OK);
	free(path);
	return f;
}

/* What all tensors hold, wherever they lie. */
static tn_digest total_of(const tn_file *f)
{
	tn_digest total;
	assert_int_equal(tn_hash(f, NULL, NULL, &total, NULL), TN_OK);
	return total;
}

static void tensors_and_metadata_travel(void **state)
{
	(void)state;
	static const char *const pairs[][2] = {
		{ "burnpack", "x.safetensors" }, { "safetensors", "x.bpk" }, { "burnpack", "x.bpk" }, { "safetensors", "x.safetensors" }
	};
	for (size_t i = 0; i < 4; i++) {
		tn_view bytes = kit_file(pairs[i][0]);
		tn_file *f = kit_open(bytes);
		tn_converted out;
		assert_int_equal(convert(f, pairs[i][1], NULL, &out, NULL), TN_OK);
		assert_int_equal(out.tensors, 4);
		assert_int_equal(tn_report_of(out.report, TN_ERROR), 0);
		tn_report_free(out.report);
		tn_file *g = open_in(pairs[i][1]);
		assert_int_equal(tn_file_size(g), out.size);
		assert_string_equal(tn_file_format(g), strstr(pairs[i][1], "bpk") != NULL ? "burnpack" : "safetensors");
		tn_digest a = total_of(f), b = total_of(g);
		assert_memory_equal(&a, &b, sizeof a);
		char *before = dump_meta(tn_metadata(f), true), *after = dump_meta(tn_metadata(g), true);
		assert_string_equal(before, after);
		for (size_t k = 0; k < 4; k++) /* and the order of tensors */
			assert_memory_equal(tn_tensor_at(f, k).name.ptr, tn_tensor_at(g, k).name.ptr, tn_tensor_at(f, k).name.len);
		free(before);
		free(after);
		tn_close(f);
		tn_close(g);
		free((void *)(uintptr_t)bytes.ptr);
	}
}

static void the_target_says_its_format(void **state)
{
	(void)state;
	static const struct { const char *name, *format; tn_code code; } cases[] = {
		{ "x.bpk", NULL, TN_OK }, { "x.safetensors", NULL, TN_OK }, { "x.dat", "burnpack", TN_OK },
		{ "x.bpk", "safetensors", TN_OK }, { "x", NULL, TN_E_USAGE }, { "x.dat", NULL, TN_E_USAGE }, { "x.", NULL, TN_E_USAGE },
		{ ".bpk", NULL, TN_E_USAGE }, { "x.bpk", "no such", TN_E_NOTFOUND }, { "x.bpk", "", TN_E_NOTFOUND },
	};
	tn_view bytes = kit_file("safetensors");
	tn_file *f = kit_open(bytes);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		tn_error err;
		tn_converted out;
		size_t before = tempdir_count(folder);
		tn_code code = convert(f, cases[i].name, &(tn_convert_options){ .format = cases[i].format }, &out, &err);
		if (code != cases[i].code)
			fail_msg("%s as %s: %s", cases[i].name, cases[i].format, err.msg);
		assert_int_equal(err.code, code);
		assert_int_equal(out.report != NULL, code == TN_OK);
		assert_true(code == TN_OK || tempdir_count(folder) == before);
		tn_report_free(out.report);
	}
	tn_converted out;
	assert_int_equal(tn_convert(f, NULL, NULL, &out, NULL), TN_E_USAGE);
	assert_null(out.report);
	assert_int_equal(tn_convert(f, NULL, NULL, NULL, NULL), TN_E_USAGE);
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

static void a_dry_run_writes_nothing(void **state)
{
	(void)state;
	tn_view bytes = kit_file("safetensors");
	tn_file *f = kit_open(bytes);
	tn_converted dry, wet;
	assert_int_equal(convert(f, "x.bpk", &(tn_convert_options){ .dry_run = true }, &dry, NULL), TN_OK);
	assert_int_equal(tempdir_count(folder), 0);
	assert_int_equal(convert(f, "x.bpk", NULL, &wet, NULL), TN_OK);
	assert_int_equal(dry.size, wet.size);
	assert_int_equal(dry.tensors, 4);
	tn_report_free(dry.report);
	tn_report_free(wet.report);
	assert_int_equal(tn_convert(f, "/no/such/folder/x.bpk", &(tn_convert_options){ .dry_run = true }, NULL, NULL), TN_OK);
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

static bool only_with_bytes(void *ctx, const tn_tensor *t)
{
	++*(unsigned *)ctx;
	return t->nbytes != 0 && t->rank != 0;
}

static bool none(void *ctx, const tn_tensor *t)
{
	(void)ctx;
	(void)t;
	return false;
}

static void tensors_are_selected(void **state)
{
	(void)state;
	static const char *const targets[] = { "x.bpk", "x.safetensors" };
	tn_view bytes = kit_file("safetensors");
	tn_file *f = kit_open(bytes);
	for (size_t i = 0; i < 2; i++) {
		unsigned asked = 0;
		tn_converted out;
		tn_convert_options opt = { .select = only_with_bytes, .select_ctx = &asked };
		assert_int_equal(convert(f, targets[i], &opt, &out, NULL), TN_OK);
		assert_int_equal(asked, 4);
		assert_int_equal(out.tensors, 2);
		tn_report_free(out.report);
		tn_file *g = open_in(targets[i]);
		assert_int_equal(tn_tensor_count(g), 2);
		uint8_t line[5];
		assert_int_equal(tn_read(g, kit_find(g, "line"), 0, line, 5, NULL), TN_OK);
		assert_int_equal(line[4], kit_byte(3, 4));
		kit_find(g, "matrix");
		assert_int_equal(tn_report_count(tn_warnings(g)), 0);
		tn_close(g);
		opt.select = none;
		assert_int_equal(convert(f, targets[i], &opt, NULL, NULL), TN_OK);
		g = open_in(targets[i]);
		assert_int_equal(tn_tensor_count(g), 0);
		tn_close(g);
	}
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

static void metadata_is_set(void **state)
{
	(void)state;
	static const char *const targets[] = { "x.bpk", "x.safetensors" };
	static const char *const set[] = { "b", "2", "new", "", "a", "one", "new", "value", NULL };
	static const char *const nothing[] = { NULL };
	tn_view bytes = kit_file("burnpack");
	tn_file *f = kit_open(bytes);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(convert(f, targets[i], &(tn_convert_options){ .set = set }, NULL, NULL), TN_OK);
		tn_file *g = open_in(targets[i]);
		char *dump = dump_meta(tn_metadata(g), false);
		assert_string_equal(dump, "\"a\" string \"one\"\n\"b\" string \"2\"\n\"new\" string \"value\"\n");
		free(dump);
		tn_close(g);
		assert_int_equal(convert(f, targets[i], &(tn_convert_options){ .set = nothing }, NULL, NULL), TN_OK);
	}
	char *dump = dump_meta(tn_metadata(f), false); /* the file itself is as it was */
	assert_string_equal(dump, "\"a\" string \"1\"\n\"b\" string \"two\"\n");
	free(dump);
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

/* ---- Losses ---- */

static tn_view with_typed_values(void)
{
	tn_writer *w = kit_writer("burnpack");
	kit_add(w, "flex", TN_FLEX32, 1, (uint64_t[]){ 2 }, 1);
	assert_int_equal(tn_put_uint(w, tn_writer_metadata(w), tn_text("n"), 7, 64, NULL), TN_OK);
	tn_view bytes = kit_save(w);
	tn_writer_free(w);
	return bytes;
}

static void losses_are_refused_before_anything_is_written(void **state)
{
	(void)state;
	tn_view bytes = with_typed_values();
	tn_file *f = kit_open(bytes);
	char *path = kit_store(folder, "x.safetensors", tn_text("old"));
	tn_convert_options opt = { .write = { .no_envelope = true, .no_sync = true } };
	tn_converted out;
	tn_error err;
	assert_int_equal(tn_convert(f, path, &opt, &out, &err), TN_E_LOSSY);
	assert_true(files_equal(path, tn_text("old")));
	assert_int_equal(tempdir_count(folder), 1);
	assert_non_null(out.report);
	size_t losses = tn_report_of(out.report, TN_ERROR);
	assert_int_equal(losses, 2);
	for (size_t i = 0; i < tn_report_count(out.report); i++) {
		tn_finding finding = tn_report_at(out.report, i);
		assert_true(finding.severity != TN_ERROR || finding.code == TN_E_LOSSY);
	}
	tn_report_free(out.report);
	assert_int_equal(tn_convert(f, path, &opt, NULL, NULL), TN_E_LOSSY);
	opt.dry_run = true;
	assert_int_equal(tn_convert(f, path, &opt, NULL, NULL), TN_E_LOSSY);
	/* allowed, they are warnings */
	opt.dry_run = false;
	opt.write.allow_loss = true;
	assert_int_equal(tn_convert(f, path, &opt, &out, &err), TN_OK);
	assert_int_equal(tn_report_of(out.report, TN_ERROR), 0);
	assert_int_equal(tn_report_of(out.report, TN_WARNING), losses);
	tn_report_free(out.report);
	tn_file *g = open_in("x.safetensors");
	assert_int_equal(tn_tensor_at(g, 0).dtype, TN_F32);
	tn_close(g);
	/* with an envelope nothing is lost */
	opt.write = (tn_write_options){ .no_sync = true };
	assert_int_equal(tn_convert(f, path, &opt, NULL, NULL), TN_OK);
	g = open_in("x.safetensors");
	assert_int_equal(tn_tensor_at(g, 0).dtype, TN_FLEX32);
	assert_int_equal(tn_meta_kind(tn_meta_find(tn_metadata(g), tn_text("n"))), TN_META_UINT);
	tn_close(g);
	tn_close(f);
	free(path);
	free((void *)(uintptr_t)bytes.ptr);
}

static void there_and_back_is_the_same_file(void **state)
{
	(void)state;
	tn_view bytes = with_typed_values();
	tn_file *f = kit_open(bytes);
	assert_int_equal(convert(f, "x.safetensors", NULL, NULL, NULL), TN_OK);
	tn_close(f);
	f = open_in("x.safetensors");
	assert_int_equal(convert(f, "back.bpk", NULL, NULL, NULL), TN_OK);
	tn_close(f);
	char *back = files_join(folder, "back.bpk");
	assert_true(files_equal(back, bytes));
	free(back);
	free((void *)(uintptr_t)bytes.ptr);
}

/* ---- Inputs ---- */

static void the_output_may_replace_the_input(void **state)
{
	(void)state;
	tn_view bytes = kit_file("burnpack");
	char *path = kit_store(folder, "x.bpk", bytes);
	tn_file *f = open_in("x.bpk");
	assert_int_equal(tn_convert(f, path, NULL, NULL, NULL), TN_OK);
	assert_true(files_equal(path, bytes)); /* a rewrite changes nothing */
	const tn_convert_options other = { .format = "safetensors" };
	tn_digest before = total_of(f);
	assert_int_equal(tn_convert(f, path, &other, NULL, NULL), TN_OK);
	tn_close(f);
	f = open_in("x.bpk");
	assert_string_equal(tn_file_format(f), "safetensors");
	tn_digest after = total_of(f);
	assert_memory_equal(&before, &after, sizeof before);
	tn_error err;
	tn_view now = files_load(path);
	tn_convert_options in_place = { .format = "burnpack", .write = { .in_place = true } };
	assert_int_equal(tn_convert(f, path, &in_place, NULL, &err), TN_E_USAGE);
	assert_true(files_equal(path, now));
	in_place.select = none; /* no byte of it is needed, and all would be gone */
	assert_int_equal(tn_convert(f, path, &in_place, NULL, &err), TN_E_USAGE);
	assert_true(files_equal(path, now));
	tn_close(f);
	assert_int_equal(tempdir_count(folder), 1);
	free(path);
	free((void *)(uintptr_t)now.ptr);
	free((void *)(uintptr_t)bytes.ptr);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tensors_and_metadata_travel),
		TEST(the_target_says_its_format),
		TEST(a_dry_run_writes_nothing),
		TEST(tensors_are_selected),
		TEST(metadata_is_set),
		TEST(losses_are_refused_before_anything_is_written),
		TEST(there_and_back_is_the_same_file),
		TEST(the_output_may_replace_the_input),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
