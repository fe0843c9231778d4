/* test_open.c - opening: from memory and from paths, in each way of reading, and each way to be refused. */
#include "tenon.h"

#include "support/api_kit.h"
#include "support/dump.h"
#include "support/files.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const formats[] = { "burnpack", "safetensors" };
static const tn_io ios[] = { TN_IO_AUTO, TN_IO_MMAP, TN_IO_PREAD, TN_IO_DIRECT };
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

/* Opens FOLDER/name or, where name is NULL, the bytes; NULL with *err on failure. */
static tn_file *open_with(const char *name, tn_view bytes, const tn_open_options *opt, tn_error *err)
{
	tn_file *f = (tn_file *)&folder;
	char *path = name != NULL ? files_join(folder, name) : NULL;
	tn_code code = path != NULL ? tn_open(&f, path, opt, err) : tn_open_memory(&f, bytes, opt, err);
	assert_int_equal(code, err->code);
	assert_int_equal(f == NULL, code != TN_OK);
	free(path);
	return f;
}

static void put(const char *name, tn_view bytes) { free(kit_store(folder, name, bytes)); }

static void expect_dump(tn_file *f, const char *expected)
{
	char *text = dump_file(f);
	assert_string_equal(text, expected);
	free(text);
}

/* ---- All ways see the same ---- */

static void every_way_sees_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		tn_error err;
		tn_view bytes = kit_file(formats[i]);
		tn_file *f = kit_open(bytes);
		char *expected = dump_file(f);
		assert_non_null(strstr(expected, "matrix"));
		tn_close(f);
		put("file", bytes);
		for (size_t k = 0; k < 4; k++) {
			const tn_open_options opt = { .io = ios[k] };
			f = open_with("file", bytes, &opt, &err);
			expect_dump(f, expected);
			assert_string_equal(tn_file_format(f), formats[i]);
			assert_int_equal(tn_file_size(f), bytes.len);
			assert_int_equal(tn_file_parameters(f), 1 + 6 + 0 + 5);
			assert_int_equal(tn_report_count(tn_warnings(f)), 0);
			tn_view in_place;
			tn_code code = tn_bytes(f, kit_find(f, "line"), &in_place, &err);
			assert_int_equal(code, ios[k] == TN_IO_PREAD || ios[k] == TN_IO_DIRECT ? TN_E_UNSUPPORTED : TN_OK);
			tn_close(f);
		}
		free(expected);
		free((void *)(uintptr_t)bytes.ptr);
	}
}

/* Headers longer than what is read at first. */
static void long_headers_are_read_again(void **state)
{
	(void)state;
	enum { N = 4000 };
	for (size_t i = 0; i < 2; i++) {
		tn_error err;
		const tn_open_options opt = { .io = TN_IO_PREAD };
		tn_view bytes = kit_many(formats[i], N);
		put("file", bytes);
		tn_file *f = open_with("file", bytes, &opt, &err), *g = kit_open(bytes);
		assert_int_equal(tn_tensor_count(f), N);
		assert_true(tn_tensor_at(f, 0).offset > 64 * 1024);
		for (size_t k = 0; k < N; k += 97) {
			tn_tensor t = tn_tensor_at(f, k), u = tn_tensor_at(g, k);
			assert_int_equal(t.offset, u.offset);
			assert_int_equal(t.name.len, u.name.len);
			assert_memory_equal(t.name.ptr, u.name.ptr, t.name.len);
		}
		tn_close(f);
		tn_close(g);
		/* cut in its header: the file is short, and says so */
		put("file", (tn_view){ bytes.ptr, 100000 });
		assert_null(open_with("file", bytes, &opt, &err));
		assert_int_equal(err.code, TN_E_TRUNCATED);
		free((void *)(uintptr_t)bytes.ptr);
	}
}

static void alignment_is_what_all_offsets_share(void **state)
{
	(void)state;
	tn_view bytes = kit_file("burnpack");
	tn_file *f = kit_open(bytes);
	uint64_t align = tn_file_alignment(f);
	assert_true(align >= 256 && align <= 4096);
	for (size_t i = 0; i < tn_tensor_count(f); i++)
		assert_int_equal(tn_tensor_at(f, i).nbytes == 0 ? 0 : tn_tensor_at(f, i).offset % align, 0);
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
	bytes = kit_many("burnpack", 0);
	f = kit_open(bytes);
	assert_int_equal(tn_file_alignment(f), 4096);
	assert_int_equal(tn_file_parameters(f), 0);
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

/* ---- Names of files ---- */

static void burnpack_adds_its_extension(void **state)
{
	(void)state;
	tn_error err;
	tn_view pack = kit_file("burnpack"), safe = kit_file("safetensors");
	put("model.bpk", pack);
	put("other.safetensors", safe);
	put("both", safe);
	put("both.bpk", pack);
	put("dotted.x.bpk", pack);
	tn_file *f = open_with("model", pack, NULL, &err);
	assert_string_equal(tn_file_format(f), "burnpack");
	tn_close(f);
	f = open_with("both", pack, NULL, &err); /* what exists is meant */
	assert_string_equal(tn_file_format(f), "safetensors");
	tn_close(f);
	static const char *const absent[] = { "other", "dotted.x", "model.", "nothing", "model.bpk/x" };
	for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
		assert_null(open_with(absent[i], pack, NULL, &err));
		assert_int_equal(err.code, TN_E_IO);
		assert_true(err.sys == ENOENT || err.sys == ENOTDIR);
	}
	free((void *)(uintptr_t)pack.ptr);
	free((void *)(uintptr_t)safe.ptr);
}

static void what_is_no_file(void **state)
{
	(void)state;
	tn_error err;
	tn_file *f = (tn_file *)&folder;
	assert_int_equal(tn_open(&f, NULL, NULL, &err), TN_E_USAGE);
	assert_null(f);
	const tn_open_options single = { .single = true };
	assert_int_equal(tn_open(&f, folder, &single, &err), TN_E_USAGE);
	assert_null(f);
	put("empty", (tn_view){ NULL, 0 });
	assert_null(open_with("empty", (tn_view){ NULL, 0 }, NULL, &err));
	assert_int_equal(err.code, TN_E_FORMAT);
	assert_null(open_with(NULL, (tn_view){ NULL, 0 }, NULL, &err));
	assert_int_equal(err.code, TN_E_FORMAT);
	tn_close(NULL);
}

/* ---- Formats ---- */

static void a_format_can_be_named(void **state)
{
	(void)state;
	tn_error err;
	tn_view bytes = kit_file("safetensors");
	tn_file *f = open_with(NULL, bytes, &(tn_open_options){ .format = "safetensors" }, &err);
	assert_non_null(f);
	tn_close(f);
	assert_null(open_with(NULL, bytes, &(tn_open_options){ .format = "burnpack" }, &err));
	assert_true(err.code == TN_E_FORMAT || err.code == TN_E_CORRUPT);
	assert_null(open_with(NULL, bytes, &(tn_open_options){ .format = "no\nsuch" }, &err));
	assert_int_equal(err.code, TN_E_NOTFOUND);
	assert_string_equal(err.msg, "there is no format 'no\\nsuch'");
	free((void *)(uintptr_t)bytes.ptr);
}

/* ---- The envelope ---- */

static tn_view enveloped(void)
{
	tn_writer *w = kit_writer("safetensors");
	kit_add(w, "z", TN_U8, 1, (uint64_t[]){ 3 }, 1);
	kit_add(w, "a", TN_FLEX32, 1, (uint64_t[]){ 2 }, 2);
	assert_int_equal(tn_put_uint(w, tn_writer_metadata(w), tn_text("n"), 7, 16, NULL), TN_OK);
	assert_int_equal(tn_put_uint(w, tn_writer_extras(w, 0), tn_text("param_id"), 9, 64, NULL), TN_OK);
	tn_view bytes = kit_save(w);
	tn_writer_free(w);
	return bytes;
}

static void the_envelope_is_opened_or_shown(void **state)
{
	(void)state;
	tn_error err;
	tn_view bytes = enveloped(), text;
	tn_file *f = kit_open(bytes);
	const tn_meta *n = tn_meta_find(tn_metadata(f), tn_text("n"));
	assert_int_equal(tn_meta_kind(n), TN_META_UINT);
	assert_int_equal(tn_meta_width(n), 16);
	assert_null(tn_meta_find(tn_metadata(f), tn_text("tenon.meta")));
	assert_int_equal(kit_find(f, "z"), 0);
	assert_int_equal(kit_find(f, "a"), 1);
	assert_int_equal(tn_tensor_at(f, 1).dtype, TN_FLEX32);
	assert_non_null(tn_meta_find(tn_tensor_at(f, 0).extras, tn_text("param_id")));
	tn_close(f);
	f = open_with(NULL, bytes, &(tn_open_options){ .ignore_envelope = true }, &err);
	assert_true(tn_meta_string(tn_meta_find(tn_metadata(f), tn_text("n")), &text));
	assert_int_equal(text.len, 1);
	assert_true(tn_meta_string(tn_meta_find(tn_metadata(f), tn_text("tenon.meta")), &text));
	assert_int_equal(kit_find(f, "a"), 0);
	assert_int_equal(kit_find(f, "z"), 1);
	assert_int_equal(tn_tensor_at(f, 0).dtype, TN_F32);
	assert_null(tn_tensor_at(f, 1).extras);
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

/* ---- Limits ---- */

/* What every format holds. */
static tn_view four_tensors(const char *format)
{
	tn_writer *w = kit_writer(format);
	kit_add(w, "matrix", TN_F32, 2, (uint64_t[]){ 2, 3 }, 0);
	for (unsigned i = 0; i < 3; i++)
		kit_add(w, (char[2]){ (char)('a' + i), '\0' }, TN_I8, 1, (uint64_t[]){ 5 }, i);
	tn_view bytes = kit_save(w);
	tn_writer_free(w);
	return bytes;
}

static void limits_are_kept(void **state)
{
	(void)state;
	static const struct { tn_limits at, below; } cases[] = {
		{ { .max_tensors = 4 }, { .max_tensors = 3 } }, { { .max_tensor_bytes = 24 }, { .max_tensor_bytes = 23 } },
		{ { .max_header = 1 << 20 }, { .max_header = 16 } }, { { .max_memory = 1 << 20 }, { .max_memory = 300 } },
		{ { .max_file_bytes = 1 << 20 }, { .max_file_bytes = 100 } }
	};
	for (size_t i = 0; i < tn_format_count(); i++) {
		const char *format = tn_format_at(i).name;
		tn_view bytes = four_tensors(format);
		put("file", bytes);
		for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
			for (size_t io = cases[k].at.max_file_bytes != 0; io < 3; io++) { /* in memory, mapped, read */
				tn_error err;
				tn_open_options opt = { .limits = cases[k].at, .io = io == 1 ? TN_IO_MMAP : TN_IO_PREAD };
				tn_file *f = open_with(io == 0 ? NULL : "file", bytes, &opt, &err);
				if (f == NULL)
					fail_msg("%s, case %zu: %s", format, k, err.msg);
				tn_close(f);
				opt.limits = cases[k].below;
				f = open_with(io == 0 ? NULL : "file", bytes, &opt, &err);
				if (err.code != TN_E_LIMIT)
					fail_msg("%s, case %zu: %s: %s", format, k, tn_code_name(err.code), err.msg);
			}
		}
		free((void *)(uintptr_t)bytes.ptr);
	}
}

/* Whatever the budget is: the file opens, or the answer is LIMIT. */
static void any_budget_is_survived(void **state)
{
	(void)state;
	tn_view bytes = enveloped();
	put("file", bytes);
	for (size_t io = 0; io < 2; io++) {
		uint64_t budget = 16;
		for (bool opened = false; !opened; budget += 16) {
			tn_error err;
			const tn_open_options opt = { .limits = { .max_memory = budget }, .io = TN_IO_PREAD };
			tn_file *f = open_with(io == 0 ? NULL : "file", bytes, &opt, &err);
			if (f == NULL && err.code != TN_E_LIMIT)
				fail_msg("%llu: %s: %s", (unsigned long long)budget, tn_code_name(err.code), err.msg);
			opened = f != NULL && tn_report_count(tn_warnings(f)) == 0;
			tn_close(f);
		}
		assert_true(budget < 1 << 20);
	}
	free((void *)(uintptr_t)bytes.ptr);
}

static void nobody_needs_an_error(void **state)
{
	(void)state;
	tn_file *f;
	tn_view bytes = kit_file("safetensors");
	put("file", bytes);
	char *path = files_join(folder, "file"), *none = files_join(folder, "none");
	assert_int_equal(tn_open(&f, path, NULL, NULL), TN_OK);
	tn_close(f);
	assert_int_equal(tn_open(&f, none, NULL, NULL), TN_E_IO);
	assert_int_equal(tn_open(&f, NULL, NULL, NULL), TN_E_USAGE);
	assert_int_equal(tn_open_memory(&f, (tn_view){ bytes.ptr, 20 }, NULL, NULL), TN_E_TRUNCATED);
	assert_int_equal(tn_open_memory(&f, bytes, &(tn_open_options){ .format = "x" }, NULL), TN_E_NOTFOUND);
	free(path);
	free(none);
	free((void *)(uintptr_t)bytes.ptr);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_way_sees_the_same),
		TEST(long_headers_are_read_again),
		TEST(alignment_is_what_all_offsets_share),
		TEST(burnpack_adds_its_extension),
		TEST(what_is_no_file),
		TEST(a_format_can_be_named),
		TEST(the_envelope_is_opened_or_shown),
		TEST(limits_are_kept),
		TEST(any_budget_is_survived),
		TEST(nobody_needs_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
