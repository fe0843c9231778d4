/* test_writer.c - putting a model together, from every kind of source, and what is refused on the way. */
#include "tenon.h"

#include "support/api_kit.h"
#include "support/files.h"
#include "support/host.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static const char *const formats[] = { "burnpack", "safetensors" };
static const uint64_t three[] = { 3 };

static void a_writer_needs_a_format(void **state)
{
	(void)state;
	tn_writer *w = (tn_writer *)state;
	tn_error err;
	static const char *const names[] = { NULL, "", "bpk", "Safetensors", "no\tsuch" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		assert_int_equal(tn_writer_new(&w, names[i], NULL, &err), TN_E_NOTFOUND);
		assert_null(w);
		w = (tn_writer *)state;
	}
	assert_string_equal(err.msg, "there is no format 'no\\tsuch'");
	assert_int_equal(tn_writer_new(&w, "burnpack", &(tn_write_options){ .max_memory = 8 }, &err), TN_E_LIMIT);
	tn_writer_free(NULL);
}

/* ---- Sources ---- */

struct produced { size_t piece, total; unsigned calls; tn_code code; const char *msg; };

static tn_code produce(void *ctx, tn_emit *emit, tn_error *err)
{
	struct produced *p = ctx;
	p->calls++;
	for (size_t at = 0; at < p->total; at += p->piece) {
		uint8_t bytes[8];
		size_t n = p->total - at < p->piece ? p->total - at : p->piece;
		for (size_t i = 0; i < n; i++)
			bytes[i] = kit_byte(4, at + i);
		tn_emit_bytes(emit, bytes, n);
	}
	if (p->code != TN_OK && p->msg != NULL && err != NULL) {
		err->code = p->code;
		strcpy(err->msg, p->msg);
	}
	return p->code;
}

static void expect_bytes(const tn_file *f, const char *name, unsigned seed, uint64_t from, size_t len)
{
	tn_view v = host_file_bytes(f, kit_find(f, name));
	assert_int_equal(v.len, len);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(v.ptr[i], kit_byte(seed, from + i));
	free((void *)(uintptr_t)v.ptr);
}

static void bytes_come_from_anywhere(void **state)
{
	(void)state;
	char *folder = tempdir_new();
	for (size_t i = 0; i < 2; i++) {
		tn_view other = kit_file(formats[1 - i]);
		char *path = kit_store(folder, "other", other), *given = strdup(path);
		tn_file *in_memory = kit_open(other), *on_disk;
		assert_int_equal(tn_open(&on_disk, path, NULL, NULL), TN_OK);
		tn_writer *w = kit_writer(formats[i]);
		struct produced p = { .piece = 5, .total = 12 };
		size_t matrix = kit_find(in_memory, "matrix");
		const tn_source sources[] = {
			{ .kind = TN_SOURCE_TENSOR, .file = in_memory, .tensor = matrix },
			{ .kind = TN_SOURCE_TENSOR, .file = on_disk, .tensor = kit_find(on_disk, "matrix") },
			{ .kind = TN_SOURCE_FILE, .path = given, .offset = tn_tensor_at(in_memory, matrix).offset + 2 },
			{ .kind = TN_SOURCE_CALLBACK, .produce = produce, .ctx = &p },
		};
		kit_add(w, "memory", TN_U8, 1, three, 6);
		assert_int_equal(tn_writer_add(w, tn_text("tensor"), TN_F32, 2, (uint64_t[]){ 3, 2 }, 24, &sources[0], NULL), TN_OK);
		assert_int_equal(tn_writer_add(w, tn_text("mapped"), TN_I8, 1, (uint64_t[]){ 24 }, 0, &sources[1], NULL), TN_OK);
		assert_int_equal(tn_writer_add(w, tn_text("file"), TN_U8, 1, three, 0, &sources[2], NULL), TN_OK);
		assert_int_equal(tn_writer_add(w, tn_text("callback"), TN_F32, 1, three, 0, &sources[3], NULL), TN_OK);
		memset(given, 'x', strlen(given)); /* the path was copied */
		tn_view bytes = kit_save(w);
		assert_int_equal(p.calls, 1);
		tn_file *f = kit_open(bytes);
		expect_bytes(f, "memory", 6, 0, 3);
		expect_bytes(f, "tensor", 1, 0, 24);
		expect_bytes(f, "mapped", 1, 0, 24);
		expect_bytes(f, "file", 1, 2, 3);
		expect_bytes(f, "callback", 4, 0, 12);
		tn_close(f);
		tn_view again = kit_save(w); /* a second time: the same */
		assert_int_equal(again.len, bytes.len);
		assert_memory_equal(again.ptr, bytes.ptr, bytes.len);
		assert_int_equal(p.calls, 2);
		tn_writer_free(w);
		tn_close(in_memory);
		tn_close(on_disk);
		free((void *)(uintptr_t)bytes.ptr);
		free((void *)(uintptr_t)again.ptr);
		free((void *)(uintptr_t)other.ptr);
		free(given);
		free(path);
	}
	tempdir_remove(folder);
}

static void producers_are_held_to_their_word(void **state)
{
	(void)state;
	static const struct { struct produced p; tn_code code; const char *says; } cases[] = {
		{ { .piece = 8, .total = 11 }, TN_E_CORRUPT, "promised 12 bytes, produced 11" },
		{ { .piece = 1, .total = 13 }, TN_E_CORRUPT, "promised 12 bytes, produced 13" },
		{ { .piece = 1, .total = 0 }, TN_E_CORRUPT, "promised 12 bytes, produced 0" },
		{ { .piece = 1, .total = 5, .code = TN_E_UNSUPPORTED, .msg = "no such weights" }, TN_E_UNSUPPORTED, "no such weights" },
		{ { .piece = 1, .total = 12, .code = TN_E_NOMEM }, TN_E_NOMEM, "its producer failed" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct produced p = cases[i].p;
		const tn_source source = { .kind = TN_SOURCE_CALLBACK, .produce = produce, .ctx = &p };
		uint8_t room[4096];
		size_t len = 99;
		tn_error err;
		tn_writer *w = kit_writer("safetensors");
		assert_int_equal(tn_writer_add(w, tn_text("deferred"), TN_F32, 1, three, 0, &source, NULL), TN_OK);
		assert_int_equal(tn_writer_save_memory(w, room, sizeof room, &len, &err), cases[i].code);
		assert_non_null(strstr(err.msg, "deferred"));
		if (strstr(err.msg, cases[i].says) == NULL)
			fail_msg("%s", err.msg);
		assert_int_equal(len, 99);
		tn_writer_free(w);
	}
}

/* ---- What cannot be added ---- */

static void unusable_tensors_are_refused(void **state)
{
	(void)state;
	static const uint8_t zeros[16];
	static const tn_source good = { .kind = TN_SOURCE_MEMORY, .memory = { zeros, 12 } };
	static const tn_source no_file = { .kind = TN_SOURCE_TENSOR }, no_path = { .kind = TN_SOURCE_FILE };
	static const tn_source no_function = { .kind = TN_SOURCE_CALLBACK }, no_kind = { .kind = (tn_source_kind)9 };
	static const uint64_t huge[] = { UINT64_C(1) << 32, UINT64_C(1) << 32 };
	tn_view other = kit_file("safetensors");
	tn_file *f = kit_open(other);
	const tn_source past = { .kind = TN_SOURCE_TENSOR, .file = f, .tensor = 4 };
	const tn_source shorter = { .kind = TN_SOURCE_TENSOR, .file = f, .tensor = kit_find(f, "line") };
	const struct {
		tn_dtype dtype; uint32_t rank; const uint64_t *shape; uint64_t nbytes; const tn_source *source; tn_code code;
	} cases[] = {
		{ TN_OPAQUE, 1, three, 12, &good, TN_E_USAGE }, { TN_DTYPES, 1, three, 12, &good, TN_E_USAGE },
		{ (tn_dtype)-1, 1, three, 12, &good, TN_E_USAGE }, { TN_F32, 1, three, 12, NULL, TN_E_USAGE },
		{ TN_F32, 1, NULL, 12, &good, TN_E_USAGE }, { TN_F32, 1, three, 13, &good, TN_E_CORRUPT },
		{ TN_F32, 1, three, 11, &good, TN_E_CORRUPT }, { TN_U8, 1, three, 0, &good, TN_E_CORRUPT },
		{ TN_F64, 1, three, 0, &good, TN_E_CORRUPT }, { TN_F4, 1, three, 0, &good, TN_E_CORRUPT },
		{ TN_U8, 2, huge, 0, &good, TN_E_LIMIT }, { TN_QFLOAT, 1, three, 11, &good, TN_E_CORRUPT },
		{ TN_F32, 1, three, 0, &no_file, TN_E_USAGE }, { TN_F32, 1, three, 0, &past, TN_E_USAGE },
		{ TN_F32, 1, three, 0, &shorter, TN_E_USAGE }, { TN_F32, 1, three, 0, &no_path, TN_E_USAGE },
		{ TN_F32, 1, three, 0, &no_function, TN_E_USAGE }, { TN_F32, 1, three, 0, &no_kind, TN_E_USAGE },
	};
	tn_writer *w = kit_writer("safetensors");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		tn_error err;
		tn_code code = tn_writer_add(w, tn_text("t\n"), cases[i].dtype, cases[i].rank, cases[i].shape, cases[i].nbytes,
		                             cases[i].source, &err);
		if (code != cases[i].code || err.code != code || strncmp(err.msg, "tensor 't\\n': ", 14) != 0)
			fail_msg("case %zu: %s: %s", i, tn_code_name(code), err.msg);
	}
	assert_null(tn_writer_extras(w, 0)); /* nothing was added */
	assert_int_equal(tn_writer_add(w, tn_text("t\n"), TN_F32, 1, three, 12, &good, NULL), TN_OK);
	assert_non_null(tn_writer_extras(w, 0));
	assert_ptr_equal(tn_writer_extras(w, 0), tn_writer_extras(w, 0));
	assert_null(tn_writer_extras(w, 1));
	assert_int_equal(tn_writer_add(w, tn_text("t\n"), TN_F32, 1, three, 12, &good, NULL), TN_E_USAGE);
	assert_null(tn_writer_extras(w, 1));
	tn_view bytes = kit_save(w);
	tn_file *g = kit_open(bytes);
	assert_int_equal(tn_tensor_count(g), 1);
	tn_close(g);
	tn_close(f);
	tn_writer_free(w);
	free((void *)(uintptr_t)bytes.ptr);
	free((void *)(uintptr_t)other.ptr);
}

static void names_are_copied_and_told_apart(void **state)
{
	(void)state;
	static const tn_source nothing = { .kind = TN_SOURCE_MEMORY };
	static const uint64_t none[] = { 0 };
	char name[] = "a";
	uint64_t shape[] = { 0 };
	tn_writer *w = kit_writer("burnpack");
	assert_int_equal(tn_writer_add(w, tn_text(name), TN_U8, 1, shape, 0, &nothing, NULL), TN_OK);
	name[0] = 'b';
	shape[0] = 9;
	assert_int_equal(tn_writer_add(w, tn_text(name), TN_U8, 1, none, 0, &nothing, NULL), TN_OK);
	assert_int_equal(tn_writer_add(w, tn_text("a"), TN_U8, 1, none, 0, &nothing, NULL), TN_E_USAGE);
	assert_int_equal(tn_writer_add(w, tn_text("a "), TN_U8, 1, none, 0, &nothing, NULL), TN_OK);
	tn_view bytes = kit_save(w);
	tn_file *f = kit_open(bytes);
	assert_int_equal(tn_tensor_count(f), 3);
	assert_int_equal(tn_tensor_at(f, kit_find(f, "a")).shape[0], 0);
	kit_find(f, "b");
	tn_close(f);
	tn_writer_free(w);
	free((void *)(uintptr_t)bytes.ptr);
}

/* Lists double: on both sides of each doubling everything is still there. */
static void any_number_of_tensors(void **state)
{
	(void)state;
	static const size_t counts[] = { 0, 1, 63, 64, 65, 128, 129, 10000 };
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		for (size_t k = 0; k < 2; k++) {
			tn_view bytes = kit_many(formats[k], counts[i]);
			tn_file *f = kit_open(bytes);
			assert_int_equal(tn_tensor_count(f), counts[i]);
			if (counts[i] > 7)
				expect_bytes(f, "t7", 7, 0, 1);
			tn_close(f);
			free((void *)(uintptr_t)bytes.ptr);
		}
	}
}

static void memory_is_limited(void **state)
{
	(void)state;
	static const tn_source nothing = { .kind = TN_SOURCE_MEMORY };
	static const uint64_t none[] = { 0 };
	tn_writer *w;
	tn_error err = { .code = TN_OK };
	assert_int_equal(tn_writer_new(&w, "burnpack", &(tn_write_options){ .max_memory = 20000 }, NULL), TN_OK);
	char name[4] = "aaa";
	while (tn_writer_add(w, tn_text(name), TN_U8, 1, none, 0, &nothing, &err) == TN_OK)
		for (size_t i = 0; i < 3 && ++name[i] > 'z'; i++)
			name[i] = 'a';
	assert_int_equal(err.code, TN_E_LIMIT);
	tn_writer_free(w);
}

/* ---- Saving to memory ---- */

static void the_size_is_told_beforehand(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		tn_writer *w = kit_writer(formats[i]);
		uint64_t size, again;
		size_t len = 99;
		tn_error err;
		struct produced p = { .piece = 1, .total = 12 };
		const tn_source source = { .kind = TN_SOURCE_CALLBACK, .produce = produce, .ctx = &p };
		assert_int_equal(tn_writer_add(w, tn_text("t"), TN_F32, 1, three, 0, &source, NULL), TN_OK);
		assert_int_equal(tn_writer_size(w, &size, NULL), TN_OK);
		assert_int_equal(tn_writer_size(w, &again, NULL), TN_OK);
		assert_int_equal(size, again);
		assert_int_equal(p.calls, 0); /* no source is asked */
		uint8_t *room = malloc((size_t)size + 1);
		memset(room, 0xee, (size_t)size + 1);
		assert_int_equal(tn_writer_save_memory(w, room, (size_t)size - 1, &len, &err), TN_E_USAGE);
		assert_int_equal(len, 99);
		assert_int_equal(p.calls, 0);
		for (uint64_t k = 0; k <= size; k++)
			assert_int_equal(room[k], 0xee);
		assert_int_equal(tn_writer_save_memory(w, NULL, 0, &len, NULL), TN_E_USAGE);
		assert_int_equal(tn_writer_save_memory(w, room, (size_t)size + 1, &len, &err), TN_OK);
		assert_int_equal(len, size);
		assert_int_equal(room[size], 0xee);
		free(room);
		tn_writer_free(w);
	}
}

/* ---- Reports ---- */

static void a_report_is_of_the_last_try(void **state)
{
	(void)state;
	static const uint8_t block[18];
	static const tn_source source = { .kind = TN_SOURCE_MEMORY, .memory = { block, 18 } };
	tn_writer *w = kit_writer("safetensors");
	uint64_t size = 7;
	tn_error err;
	assert_int_equal(tn_report_count(tn_writer_report(w)), 0);
	assert_int_equal(tn_writer_add(w, tn_text("q"), TN_Q4_0, 1, (uint64_t[]){ 32 }, 0, &source, NULL), TN_OK);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(tn_writer_size(w, &size, &err), TN_E_LOSSY);
		assert_int_equal(size, 7);
		assert_int_equal(tn_report_of(tn_writer_report(w), TN_ERROR), 1);
	}
	assert_int_equal(tn_writer_add(w, tn_text("r"), TN_Q4_0, 1, (uint64_t[]){ 32 }, 0, &source, NULL), TN_OK);
	assert_int_equal(tn_writer_size(w, &size, &err), TN_E_LOSSY);
	assert_int_equal(tn_report_of(tn_writer_report(w), TN_ERROR), 2);
	assert_non_null(strstr(err.msg, "(and 1 more losses)"));
	tn_writer_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_writer_needs_a_format),
		cmocka_unit_test(bytes_come_from_anywhere),
		cmocka_unit_test(producers_are_held_to_their_word),
		cmocka_unit_test(unusable_tensors_are_refused),
		cmocka_unit_test(names_are_copied_and_told_apart),
		cmocka_unit_test(any_number_of_tensors),
		cmocka_unit_test(memory_is_limited),
		cmocka_unit_test(the_size_is_told_beforehand),
		cmocka_unit_test(a_report_is_of_the_last_try),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
