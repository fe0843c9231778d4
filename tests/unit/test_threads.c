/* test_threads.c - what tenon.h promises about threads: work that is split over any number of them comes out as with one,
 * and any number of them may use one open file. The thread sanitizer watches this test; see the preset tsan. */
#include "support/dump.h"
#include "support/exercise.h"
#include "support/files.h"
#include "support/host.h"
#include "tenon.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { THREADS = 4, ROWS = 40, ROW = 8192, SMALL = 12 };

/* The models are in safetensors and in all other formats; as an APR file also compressed. */
static const struct form {
	const char *file, *format;
	tn_compress compress;
} forms[] = {
	{ "m.safetensors", "safetensors", TN_COMPRESS_NONE },
	{ "m.bpk", "burnpack", TN_COMPRESS_NONE }, { "m.gguf", "gguf", TN_COMPRESS_NONE },
	{ "m.apr", "apr", TN_COMPRESS_NONE }, { "lz4.apr", "apr", TN_COMPRESS_LZ4 }, { "zstd.apr", "apr", TN_COMPRESS_ZSTD },
	{ "m.thin", "thin", TN_COMPRESS_NONE },
};
enum { FORMS = sizeof forms / sizeof *forms };

static _Noreturn void stop(const char *what, const tn_error *err)
{
	fprintf(stderr, "threads: %s: %s\n", what, err->msg);
	exit(99);
}

static tn_file *open_file(const char *path, tn_io io)
{
	const tn_open_options how = { .io = io };
	tn_file *f;
	tn_error err;
	if (tn_open(&f, path, &how, &err) != TN_OK)
		stop(path, &err);
	return f;
}

static void convert(const tn_file *f, const char *path, tn_convert_options how)
{
	tn_converted done;
	tn_error err;
	how.write.carry = how.write.no_sync = how.write.exact_path = true;
	if (tn_convert(f, path, &how, &done, &err) != TN_OK)
		stop(path, &err);
	tn_report_free(done.report);
}

static void add(tn_writer *w, const char *name, const uint64_t *shape, const float *x)
{
	size_t n = (size_t)(shape[0] * shape[1]) * sizeof *x;
	tn_source s = { .kind = TN_SOURCE_MEMORY, .memory = { host_to_file(TN_F32, x, n), n } };
	tn_error err;
	if (tn_writer_add(w, tn_text(name), TN_F32, 2, shape, n, &s, &err) != TN_OK)
		stop(name, &err);
}

/* A tensor of many blocks, that packs well, and a few small ones. */
static void make_model(const char *path)
{
	static float x[ROWS * ROW];
	const tn_write_options how = { .no_sync = true };
	const uint64_t large[] = { ROWS, ROW }, small[] = { 1, ROW };
	tn_writer *w;
	tn_error err;
	char name[20];
	for (size_t i = 0; i < ROWS * ROW; i++)
		x[i] = (float)(i % 1000) / 16 + (float)(i * 2654435761u >> 29);
	if (tn_writer_new(&w, "safetensors", &how, &err) != TN_OK)
		stop("a writer", &err);
	add(w, "large", large, x);
	for (size_t i = 0; i < SMALL; i++) {
		snprintf(name, sizeof name, "small.%zu", i);
		add(w, name, small, x + i * ROW);
	}
	if (tn_writer_save(w, path, &err) != TN_OK)
		stop(path, &err);
	tn_writer_free(w);
}

static int set_up(void **state)
{
	if (tempdir_enter(state) != 0)
		return -1;
	make_model(forms[0].file);
	tn_file *f = open_file(forms[0].file, TN_IO_AUTO);
	for (size_t i = 1; i < FORMS; i++)
		convert(f, forms[i].file, (tn_convert_options){
			.format = forms[i].format, .write = { .compress = forms[i].compress, .work.threads = 1 },
		});
	tn_close(f);
	return 0;
}

/* ---- One call, many threads ---- */

static void digests(void **state)
{
	(void)state;
	for (size_t i = 0; i < FORMS; i++) {
		tn_file *f = open_file(forms[i].file, TN_IO_AUTO);
		tn_digest each[2][SMALL + 1], total[2];
		for (unsigned k = 0; k < 2; k++)
			assert_int_equal(tn_hash(f, &(tn_work){ .threads = k == 0 ? 1 : THREADS }, each[k], &total[k], NULL), TN_OK);
		assert_memory_equal(each[0], each[1], sizeof each[0]);
		assert_memory_equal(&total[0], &total[1], sizeof total[0]);
		tn_close(f);
	}
}

static void same_reports(const char *path)
{
	tn_file *f = open_file(path, TN_IO_AUTO);
	tn_report *one, *many;
	assert_int_equal(tn_verify(f, &(tn_verify_options){ .deep = true, .work.threads = 1 }, &one, NULL), TN_OK);
	assert_int_equal(tn_verify(f, &(tn_verify_options){ .deep = true, .work.threads = THREADS }, &many, NULL), TN_OK);
	assert_int_equal(tn_report_count(one), tn_report_count(many));
	for (size_t i = 0; i < tn_report_count(one); i++) {
		assert_int_equal(tn_report_at(one, i).code, tn_report_at(many, i).code);
		assert_string_equal(tn_report_at(one, i).text, tn_report_at(many, i).text);
	}
	tn_report_free(one);
	tn_report_free(many);
	tn_close(f);
}

/* Also where data are damaged in several tensors. */
static void deep_verification(void **state)
{
	(void)state;
	for (size_t i = 0; i < FORMS; i++) {
		same_reports(forms[i].file);
		tn_view v = files_load(forms[i].file);
		tn_file *f = open_file(forms[i].file, TN_IO_AUTO);
		for (size_t t = 0; t < tn_tensor_count(f); t += 3)
			((uint8_t *)(uintptr_t)v.ptr)[tn_tensor_at(f, t).offset + tn_tensor_at(f, t).stored / 2] ^= 0x10;
		tn_close(f);
		files_store("damaged", v);
		free((void *)(uintptr_t)v.ptr);
		same_reports("damaged");
	}
}

static void same_output(const tn_file *f, tn_convert_options how)
{
	how.write.work.threads = 1;
	convert(f, "one", how);
	how.write.work.threads = THREADS;
	convert(f, "many", how);
	tn_view one = files_load("one");
	assert_true(files_equal("many", one));
	free((void *)(uintptr_t)one.ptr);
}

/* Every format to every other, and to those that compress or cast. */
static void conversions(void **state)
{
	(void)state;
	for (size_t i = 0; i < FORMS; i++) {
		tn_file *f = open_file(forms[i].file, TN_IO_AUTO);
		for (size_t k = 0; k < FORMS; k++)
			same_output(f, (tn_convert_options){ .format = forms[k].format, .write.compress = forms[k].compress });
		same_output(f, (tn_convert_options){ .format = "safetensors", .dtype = TN_BF16 });
		same_output(f, (tn_convert_options){ .format = "gguf", .quantize = TN_Q8_0 });
		same_output(f, (tn_convert_options){ .format = "apr", .quantize = TN_APR_Q8 });
		tn_close(f);
	}
}

/* ---- Many threads, one file ---- */

struct use {
	const char    *path;
	const tn_file *file;
	unsigned       number;
	void         (*run)(const struct use *use);
};

static void *start(void *use)
{
	((struct use *)use)->run(use);
	return NULL;
}

/* Runs that many at the same time; what fails there ends the program. */
static void at_once(const char *path, const tn_file *file, void (*run)(const struct use *use))
{
	pthread_t threads[THREADS];
	struct use uses[THREADS];
	for (unsigned i = 0; i < THREADS; i++) {
		uses[i] = (struct use){ .path = path, .file = file, .number = i, .run = run };
		assert_int_equal(pthread_create(&threads[i], NULL, start, &uses[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void do_everything(const struct use *use)
{
	const char *broken = exercise(use->file);
	if (broken != NULL)
		stop(use->path, &(tn_error){ .msg = "a file that is read by many breaks its promises" });
}

static void readers_of_one_file(void **state)
{
	static const tn_io ways[] = { TN_IO_MMAP, TN_IO_PREAD, TN_IO_DIRECT };
	(void)state;
	for (size_t i = 0; i < FORMS; i++) {
		tn_file *f = open_file(forms[i].file, ways[i % 3]);
		at_once(forms[i].file, f, do_everything);
		tn_close(f);
	}
}

/* Digests of all, each call with threads of its own, and a conversion to a file of one's own. */
static void do_long_work(const struct use *use)
{
	char path[20];
	tn_digest total, again;
	tn_error err;
	if (tn_hash(use->file, &(tn_work){ .threads = 2 }, NULL, &total, &err) != TN_OK)
		stop("tn_hash", &err);
	snprintf(path, sizeof path, "out.%u", use->number);
	convert(use->file, path, (tn_convert_options){
		.format = "apr", .write = { .compress = TN_COMPRESS_LZ4, .work.threads = 2 },
	});
	tn_file *f = open_file(path, TN_IO_AUTO);
	if (tn_hash(f, &(tn_work){ .threads = 2 }, NULL, &again, &err) != TN_OK)
		stop("tn_hash", &err);
	tn_close(f);
	if (memcmp(&total, &again, sizeof total) != 0)
		stop(path, &(tn_error){ .msg = "other tensors than before" });
}

static void long_work_side_by_side(void **state)
{
	(void)state;
	for (size_t i = 0; i < FORMS; i++) {
		tn_file *f = open_file(forms[i].file, TN_IO_AUTO);
		at_once(forms[i].file, f, do_long_work);
		tn_close(f);
	}
}

/* Pages with a budget that holds a part of the model only. */
static void play_pages(const struct use *use)
{
	const tn_pages_options how = { .budget = 4 * sizeof(float) * ROW + ROWS * ROW * sizeof(float) };
	tn_pages *pages;
	tn_view bytes;
	tn_error err;
	if (tn_pages_open(&pages, use->file, &how, &err) != TN_OK)
		stop("tn_pages_open", &err);
	for (size_t i = 0; i < tn_pages_count(pages); i++) {
		tn_pages_prefetch(pages, i, 3);
		tn_view wanted = host_file_bytes(use->file, tn_pages_at(pages, i).tensor);
		if (tn_pages_use(pages, i, &bytes, &err) != TN_OK)
			stop("tn_pages_use", &err);
		if (bytes.len != wanted.len || memcmp(bytes.ptr, wanted.ptr, bytes.len) != 0)
			stop("tn_pages_use", &(tn_error){ .msg = "other bytes than tn_read gives" });
		tn_pages_end(pages, i);
		free((void *)(uintptr_t)wanted.ptr);
	}
	tn_pages_close(pages);
}

static void players_of_one_file(void **state)
{
	(void)state;
	for (size_t i = 0; i < FORMS; i++) {
		tn_file *f = open_file(forms[i].file, i % 2 == 0 ? TN_IO_MMAP : TN_IO_PREAD);
		at_once(forms[i].file, f, play_pages);
		tn_close(f);
	}
}

/* ---- Many threads, each with a file of its own ---- */

static void open_and_look(const struct use *use)
{
	tn_file *f = open_file(use->path, TN_IO_AUTO);
	char *dump = dump_file(f);
	if (strstr(dump, "large") == NULL)
		stop(use->path, &(tn_error){ .msg = "a tensor is missing" });
	free(dump);
	tn_close(f);
}

static void openers_of_one_path(void **state)
{
	(void)state;
	for (size_t i = 0; i < FORMS; i++)
		at_once(forms[i].file, NULL, open_and_look);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digests),
		cmocka_unit_test(deep_verification),
		cmocka_unit_test(conversions),
		cmocka_unit_test(readers_of_one_file),
		cmocka_unit_test(long_work_side_by_side),
		cmocka_unit_test(players_of_one_file),
		cmocka_unit_test(openers_of_one_path),
	};
	return cmocka_run_group_tests(tests, set_up, tempdir_leave);
}
