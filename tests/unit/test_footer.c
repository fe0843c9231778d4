/* test_footer.c - an APR file's checksum is compared while its tensors become another file, whichever way they go. */
#include "support/files.h"

#include "api/footer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { N = 6, BYTES = 3000 };

static tn_error err;
#define OK(call) \
	do { \
		if ((call) != TN_OK) \
			fail_msg("%s", err.msg); \
	} while (0)

/* Tensors of several types, one of them empty, whose data does not lie in the order of their names. */
static void make(const char *path)
{
	static const struct { const char *name; tn_dtype dtype; uint64_t rows, cols, bytes; } list[N] = {
		{ "q8", TN_APR_Q8, 7, 5, 39 }, { "b", TN_F32, 8, 32, 1024 }, { "a", TN_F16, 3, 5, 30 }, { "q4", TN_APR_Q4, 2, 32, 36 },
		{ "none", TN_F32, 0, 4, 0 }, { "d", TN_F64, 2, 2, 32 },
	};
	static uint8_t bytes[BYTES];
	const tn_write_options options = { .no_sync = true };
	tn_writer *w;
	OK(tn_writer_new(&w, "apr", &options, &err));
	OK(tn_put_string(w, tn_writer_metadata(w), tn_text("name"), tn_text("original"), &err));
	for (size_t i = 0; i < N; i++) {
		const tn_source s = { .kind = TN_SOURCE_MEMORY, .memory = { bytes + 64 * i, (size_t)list[i].bytes } };
		OK(tn_writer_add(w, tn_text(list[i].name), list[i].dtype, 2, (const uint64_t[]){ list[i].rows, list[i].cols },
		                 list[i].bytes, &s, &err));
	}
	OK(tn_writer_save(w, path, &err));
	tn_writer_free(w);
}

static void flip(const char *path, uint64_t at)
{
	tn_view bytes = files_load(path);
	uint8_t *p = (uint8_t *)bytes.ptr;
	p[at] ^= 1;
	files_store(path, bytes);
	free(p);
}

/* A byte of the named tensor. */
static void damage(const char *path, const char *tensor)
{
	tn_file *f;
	size_t i;
	OK(tn_open(&f, path, NULL, &err));
	OK(tn_tensor_find(f, tn_text(tensor), &i, &err));
	uint64_t at = tn_tensor_at(f, i).offset;
	tn_close(f);
	flip(path, at);
}

static tn_code convert_with(const char *path, const char *target, const tn_convert_options *how, size_t *warnings)
{
	tn_file *f;
	tn_converted done;
	OK(tn_open(&f, path, NULL, &err));
	tn_code code = tn_convert(f, target, how, &done, &err);
	if (warnings != NULL)
		*warnings = tn_report_of(done.report, TN_WARNING);
	tn_report_free(done.report);
	tn_close(f);
	return code;
}

static const tn_convert_options ways[] = {
	{ .format = "burnpack" }, { .format = "safetensors" }, { .format = "apr" }, { .format = "gguf" },
	{ .format = "apr", .dtype = TN_F16 }, { .format = "safetensors", .dtype = TN_F64 }, { .format = "apr", .quantize = TN_APR_Q8 },
	{ .format = "apr", .write.compress = TN_COMPRESS_LZ4 }, { .format = "apr", .dtype = TN_F32, .write.compress = TN_COMPRESS_ZSTD },
	{ .format = "burnpack", .resume = true },
};

static tn_code convert(size_t way, size_t *warnings, bool allow_loss)
{
	tn_convert_options how = ways[way];
	how.write.no_sync = how.write.carry = true;
	how.write.allow_loss = allow_loss;
	return convert_with("m.apr", "out", &how, warnings);
}

static void every_target_and_cast(void **state)
{
	static const char *const names[] = { "q8", "b", "a", "q4", "d" };
	(void)state;
	for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
		make("m.apr");
		OK(convert(way, NULL, false));
		for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
			make("m.apr");
			damage("m.apr", names[i]);
			assert_int_equal(convert(way, NULL, false), TN_E_CHECKSUM);
			assert_non_null(strstr(err.msg, "apr: the footer is "));
		}
	}
}

/* What is no tensor counts too: a letter of the metadata, the footer itself. */
static void beside_the_tensors(void **state)
{
	(void)state;
	make("m.apr");
	tn_view bytes = files_load("m.apr");
	size_t at = 0, n = bytes.len;
	while (memcmp(bytes.ptr + at, "original", 8) != 0)
		at++;
	free((void *)bytes.ptr);
	flip("m.apr", at);
	assert_int_equal(convert(0, NULL, false), TN_E_CHECKSUM);
	flip("m.apr", at);
	OK(convert(0, NULL, false));
	flip("m.apr", n - 1);
	assert_int_equal(convert(0, NULL, false), TN_E_CHECKSUM);
	assert_int_equal(err.offset, n - 4);
}

/* Who wants what is left of it gets a warning. */
static void tolerated(void **state)
{
	size_t before, after;
	(void)state;
	make("m.apr");
	OK(convert(1, &before, true));
	damage("m.apr", "a");
	OK(convert(1, &after, true));
	assert_int_equal(after, before + 1);
}

static bool not_b(void *ctx, const tn_tensor *t)
{
	(void)ctx;
	return t->name.ptr[0] != 'b';
}

/* A part of the file cannot be judged by the sum of the whole. */
static void parts_are_not_judged(void **state)
{
	const tn_convert_options how = { .format = "safetensors", .select = not_b, .write = { .no_sync = true, .carry = true } };
	(void)state;
	make("m.apr");
	damage("m.apr", "b");
	OK(convert_with("m.apr", "out", &how, NULL));
}

static void edits(void **state)
{
	tn_file *f;
	tn_writer *w;
	make("m.apr");
	damage("m.apr", "q4");
	tn_view before = files_load("m.apr");
	OK(tn_open(&f, "m.apr", NULL, &err));
	OK(tn_writer_of(&w, f, NULL, &err));
	OK(tn_put_string(w, tn_writer_metadata(w), tn_text("name"), tn_text("other"), &err));
	assert_int_equal(tn_writer_update(w, true, NULL, &err), TN_E_CHECKSUM);
	tn_writer_free(w);
	/* data that has to move among itself */
	const tn_apr_stamp stamp = { .license = "MIT" };
	assert_int_equal(tn_apr_stamp_file(f, "out", &stamp, NULL, NULL, &err), TN_E_CHECKSUM);
	tn_close(f);
	assert_true(files_equal("m.apr", before));
	assert_int_equal(tempdir_count(*state), 1);
	free((void *)before.ptr);
}

/* Each file of a set has a footer of its own. */
static void sets(void **state)
{
	tn_split_options how = { .max_tensors = 2, .write.no_sync = true };
	const tn_convert_options merge = { .format = "apr", .write.no_sync = true };
	tn_shards *shards;
	tn_file *f;
	(void)state;
	make("m.apr");
	OK(tn_open(&f, "m.apr", NULL, &err));
	OK(tn_split(f, "set", &how, &shards, &err));
	tn_shards_free(shards);
	tn_close(f);
	OK(convert_with("set", "out", &merge, NULL));
	damage("set/model-00002-of-00003.apr", "a");
	assert_int_equal(convert_with("set", "out", &merge, NULL), TN_E_CHECKSUM);

	damage("m.apr", "d");
	OK(tn_open(&f, "m.apr", NULL, &err));
	assert_int_equal(tn_split(f, "set2", &how, &shards, &err), TN_E_CHECKSUM);
	tn_shards_free(shards);
	assert_int_equal(access("set2", F_OK), -1);
	tn_close(f);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, tempdir_enter, tempdir_leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(every_target_and_cast),
		IN_FOLDER(beside_the_tensors),
		IN_FOLDER(tolerated),
		IN_FOLDER(parts_are_not_judged),
		IN_FOLDER(edits),
		IN_FOLDER(sets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
