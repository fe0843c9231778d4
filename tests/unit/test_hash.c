/* test_hash.c - content digests: what they are taken over, alike for any container and any number of threads. */
#include "base/buf.h"
#include "codec/blake3.h"

#include "support/api_kit.h"
#include "support/files.h"
#include "support/host.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

static tn_digest digest_of(tn_view v)
{
	struct b3 h;
	tn_digest d;
	b3_init(&h);
	b3_update(&h, v.ptr, v.len);
	b3_final(&h, &d);
	return d;
}

static bool same(const tn_digest *a, const tn_digest *b) { return memcmp(a, b, sizeof *a) == 0; }

static void digests_as_text(void **state)
{
	(void)state;
	char text[2 * TN_DIGEST_LEN + 1];
	tn_digest d = digest_of(VIEW(""));
	tn_digest_text(&d, text); /* BLAKE3 of nothing, from its specification */
	assert_string_equal(text, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
}

static void a_tensors_digest_is_that_of_its_bytes(void **state)
{
	(void)state;
	static const char *const formats[] = { "burnpack", "safetensors" };
	for (size_t i = 0; i < 2; i++) {
		tn_view bytes = kit_file(formats[i]);
		tn_file *f = kit_open(bytes);
		for (size_t k = 0; k < tn_tensor_count(f); k++) {
			tn_view v = host_file_bytes(f, k);
			tn_digest d, want = digest_of(v);
			free((void *)(uintptr_t)v.ptr);
			assert_int_equal(tn_hash_tensor(f, k, &d, NULL), TN_OK);
			assert_true(same(&d, &want));
		}
		tn_digest d;
		assert_int_equal(tn_hash_tensor(f, tn_tensor_count(f), &d, NULL), TN_E_USAGE);
		tn_close(f);
		free((void *)(uintptr_t)bytes.ptr);
	}
}

/* The lines of kit_file, names sorted, put together by hand. */
static tn_digest expected_total(void)
{
	static const struct { unsigned seed; size_t len; const char *rest; } lines[] = {
		{ 2, 0, " f16 [0,4] empty\n" }, { 3, 5, " u8 [5] line\n" }, { 1, 24, " f32 [2,3] matrix\n" }, { 0, 8, " f64 [] scalar\n" }
	};
	struct buf text;
	buf_init(&text, 0);
	for (size_t i = 0; i < 4; i++) {
		uint8_t bytes[24];
		char hex[2 * TN_DIGEST_LEN + 1];
		for (size_t k = 0; k < lines[i].len; k++)
			bytes[k] = kit_byte(lines[i].seed, k);
		tn_digest d = digest_of((tn_view){ bytes, lines[i].len });
		tn_digest_text(&d, hex);
		buf_text(&text, hex);
		buf_text(&text, lines[i].rest);
	}
	tn_digest total = digest_of(buf_bytes(&text));
	buf_fini(&text);
	return total;
}

static void the_total_is_the_same_in_any_container(void **state)
{
	(void)state;
	static const char *const formats[] = { "burnpack", "safetensors" };
	const tn_digest want = expected_total();
	for (size_t i = 0; i < 2; i++) {
		tn_view bytes = kit_file(formats[i]);
		tn_file *f = kit_open(bytes);
		tn_digest total, tensors[4], one;
		assert_int_equal(tn_hash(f, NULL, NULL, &total, NULL), TN_OK);
		assert_true(same(&total, &want));
		assert_int_equal(tn_hash(f, NULL, tensors, &total, NULL), TN_OK);
		for (size_t k = 0; k < 4; k++) {
			assert_int_equal(tn_hash_tensor(f, k, &one, NULL), TN_OK);
			assert_true(same(&one, &tensors[k]));
		}
		tn_close(f);
		free((void *)(uintptr_t)bytes.ptr);
	}
}

static void a_file_without_tensors_has_a_total(void **state)
{
	(void)state;
	tn_view bytes = kit_many("safetensors", 0);
	tn_file *f = kit_open(bytes);
	tn_digest total, want = digest_of(VIEW(""));
	assert_int_equal(tn_hash(f, NULL, NULL, &total, NULL), TN_OK);
	assert_true(same(&total, &want));
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

static void any_number_of_threads(void **state)
{
	(void)state;
	static const unsigned threads[] = { 0, 1, 2, 8, 1000 };
	enum { N = 300 };
	tn_view bytes = kit_many("burnpack", N);
	tn_file *f = kit_open(bytes);
	tn_digest *first = calloc(N, sizeof *first), *again = calloc(N, sizeof *again), total, other;
	assert_int_equal(tn_hash(f, &(tn_work){ .threads = 1 }, first, &total, NULL), TN_OK);
	for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
		assert_int_equal(tn_hash(f, &(tn_work){ .threads = threads[i] }, again, &other, NULL), TN_OK);
		assert_memory_equal(first, again, N * sizeof *first);
		assert_true(same(&total, &other));
	}
	free(first);
	free(again);
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

struct watch { unsigned calls, stop_at; uint64_t last, total; bool sane; };

static bool progress(void *ctx, uint64_t done, uint64_t total)
{
	struct watch *w = ctx;
	w->sane = w->sane && done > w->last && done <= total && (w->calls == 0 || total == w->total);
	w->last = done;
	w->total = total;
	return ++w->calls != w->stop_at;
}

static void progress_is_told_and_may_stop(void **state)
{
	(void)state;
	tn_view bytes = kit_many("safetensors", 50);
	tn_file *f = kit_open(bytes);
	tn_digest total;
	tn_error err;
	struct watch w = { .sane = true };
	assert_int_equal(tn_hash(f, &(tn_work){ 1, progress, &w }, NULL, &total, &err), TN_OK);
	assert_true(w.sane);
	assert_int_equal(w.calls, 50);
	assert_int_equal(w.last, 50);
	assert_int_equal(w.total, 50);
	for (unsigned threads = 1; threads <= 2; threads++) {
		w = (struct watch){ .stop_at = 1, .sane = true };
		tn_code code = tn_hash(f, &(tn_work){ threads, progress, &w }, NULL, &total, &err);
		assert_int_equal(code, w.calls == 0 ? TN_OK : TN_E_USAGE); /* another thread may have done it all */
		assert_int_equal(err.code, code);
		assert_true(w.calls <= 1);
	}
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

static void a_file_that_shrinks_is_truncated(void **state)
{
	(void)state;
	char *folder = tempdir_new();
	tn_view bytes = kit_file("burnpack");
	char *path = kit_store(folder, "file", bytes);
	tn_file *f;
	tn_digest total;
	tn_error err;
	assert_int_equal(tn_open(&f, path, &(tn_open_options){ .io = TN_IO_PREAD }, NULL), TN_OK);
	assert_int_equal(truncate(path, (off_t)bytes.len - 1), 0);
	for (unsigned threads = 1; threads <= 4; threads++) {
		assert_int_equal(tn_hash(f, &(tn_work){ .threads = threads }, NULL, &total, &err), TN_E_TRUNCATED);
		assert_int_equal(err.code, TN_E_TRUNCATED);
	}
	tn_close(f);
	/* a mapped file is read by position too: an error, not a signal */
	files_store(path, bytes);
	assert_int_equal(tn_open(&f, path, &(tn_open_options){ .io = TN_IO_MMAP }, NULL), TN_OK);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(tn_hash(f, NULL, NULL, &total, &err), TN_E_TRUNCATED);
	tn_close(f);
	free(path);
	tempdir_remove(folder);
	free((void *)(uintptr_t)bytes.ptr);
}

/* Longer than a piece, and not a multiple of one. */
static void long_tensors_are_hashed_in_pieces(void **state)
{
	(void)state;
	enum { LEN = 600001 };
	uint8_t *data = malloc(LEN);
	for (size_t i = 0; i < LEN; i++)
		data[i] = kit_byte(5, i);
	tn_writer *w = kit_writer("safetensors");
	tn_source source = { .kind = TN_SOURCE_MEMORY, .memory = { data, LEN } };
	assert_int_equal(tn_writer_add(w, tn_text("t"), TN_U8, 1, (uint64_t[]){ LEN }, 0, &source, NULL), TN_OK);
	tn_view bytes = kit_save(w);
	tn_file *f = kit_open(bytes);
	tn_digest d, want = digest_of(source.memory);
	assert_int_equal(tn_hash_tensor(f, 0, &d, NULL), TN_OK);
	assert_true(same(&d, &want));
	tn_close(f);
	tn_writer_free(w);
	free((void *)(uintptr_t)bytes.ptr);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digests_as_text),
		cmocka_unit_test(a_tensors_digest_is_that_of_its_bytes),
		cmocka_unit_test(the_total_is_the_same_in_any_container),
		cmocka_unit_test(a_file_without_tensors_has_a_total),
		cmocka_unit_test(any_number_of_threads),
		cmocka_unit_test(progress_is_told_and_may_stop),
		cmocka_unit_test(a_file_that_shrinks_is_truncated),
		cmocka_unit_test(long_tensors_are_hashed_in_pieces),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
