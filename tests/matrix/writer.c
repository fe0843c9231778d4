/* writer.c - what saving promises, in every format: the ways of saving agree, sizes are exact,
 * deferred tensors are asked for once and in order, and a failure leaves the old file as it was. */
#include "support/files.h"
#include "support/host.h"
#include "support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static char *folder;

static tn_writer *writer_in(const char *format, const tn_write_options *options)
{
	tn_writer *writer;
	tn_error err;
	if (tn_writer_new(&writer, format, options, &err) != TN_OK)
		fail_msg("%s", err.msg);
	return writer;
}

/* ---- The ways of saving agree ---- */

static tn_view save_file(const struct model_maker *maker, const char *format, bool in_place)
{
	tn_write_options how = { .carry = true, .no_sync = true, .in_place = in_place };
	tn_writer *writer = writer_in(format, &how);
	char *path = files_join(folder, "model.out");
	tn_error err;
	if (in_place)
		files_store(path, tn_text("something longer that was here before, to be cut off"));
	maker->fill(writer);
	if (tn_writer_save(writer, path, &err) != TN_OK)
		fail_msg("%s", err.msg);
	tn_view bytes = files_load(path);
	assert_int_equal(tempdir_count(folder), 1);
	remove(path);
	free(path);
	tn_writer_free(writer);
	return bytes;
}

static void assert_views_equal(tn_view got, tn_view want)
{
	assert_int_equal(got.len, want.len);
	if (want.len != 0)
		assert_memory_equal(got.ptr, want.ptr, want.len);
}

static void test_ways_agree(void **state)
{
	for (size_t m = 0; m < model_maker_count; m++) {
		if (!models_fit(&model_makers[m], *state))
			continue;
		tn_view memory = models_make(&model_makers[m], *state);
		tn_view renamed = save_file(&model_makers[m], *state, false);
		tn_view in_place = save_file(&model_makers[m], *state, true);
		assert_views_equal(renamed, memory);
		assert_views_equal(in_place, memory);
		free((void *)memory.ptr);
		free((void *)renamed.ptr);
		free((void *)in_place.ptr);
	}
}

/* A buffer that is too small is refused untouched; in a larger one the tail is. */
static void test_memory_bounds(void **state)
{
	tn_writer *writer = writer_in(*state, &(tn_write_options){ .carry = true });
	uint64_t size;
	size_t len = 4711;
	tn_error err;
	model_makers[1].fill(writer);
	assert_int_equal(tn_writer_size(writer, &size, &err), TN_OK);
	uint8_t *buf = malloc((size_t)size + 16);
	assert_non_null(buf);
	memset(buf, 0xa5, (size_t)size + 16);
	assert_int_equal(tn_writer_save_memory(writer, buf, (size_t)size - 1, &len, &err),
	                 TN_E_USAGE);
	assert_int_equal(buf[0], 0xa5);
	assert_int_equal(tn_writer_save_memory(writer, buf, (size_t)size + 16, &len, &err), TN_OK);
	assert_int_equal(len, size);
	for (size_t i = 0; i < 16; i++)
		assert_int_equal(buf[size + i], 0xa5);
	free(buf);
	tn_writer_free(writer);
}

static void test_dry_run(void **state)
{
	for (size_t m = 0; m < model_maker_count; m++) {
		if (!models_fit(&model_makers[m], *state))
			continue;
		tn_view bytes = models_make(&model_makers[m], "safetensors");
		tn_file *file;
		tn_error err;
		assert_int_equal(tn_open_memory(&file, bytes, NULL, &err), TN_OK);
		char *path = files_join(folder, "dry.out");
		tn_convert_options how = {
			.format = *state, .dry_run = true,
			.write = { .carry = true, .no_sync = true },
		};
		tn_converted planned, written;
		assert_int_equal(tn_convert(file, path, &how, &planned, &err), TN_OK);
		assert_false(files_exist(path));
		how.dry_run = false;
		assert_int_equal(tn_convert(file, path, &how, &written, &err), TN_OK);
		tn_view out = files_load(path);
		assert_int_equal(planned.size, out.len);
		assert_int_equal(written.size, out.len);
		assert_int_equal(planned.tensors, tn_tensor_count(file));
		tn_report_free(planned.report);
		tn_report_free(written.report);
		remove(path);
		free(path);
		free((void *)out.ptr);
		tn_close(file);
		free((void *)bytes.ptr);
	}
}

/* ---- Deferred tensors ---- */

enum { DEFERRED = 5 };
static const struct {
	const char *name;
	tn_dtype    dtype;
	uint64_t    n;
} deferred[DEFERRED] = {
	{ "m", TN_U8, 3 }, { "a", TN_F32, 2 }, { "z", TN_F64, 4 }, { "b", TN_U8, 300 },
	{ "c", TN_BF16, 1 }
};

struct log {
	size_t order[2 * DEFERRED], n;
};
struct producer {
	struct log *log;
	size_t      i, extra;    /* which tensor; bytes more than promised */
	size_t      missing;     /* bytes fewer */
	bool        fails;
};

static uint64_t deferred_bytes(size_t i)
{
	uint64_t nbytes = 0;
	assert_int_equal(tn_dtype_bytes(deferred[i].dtype, 1, &deferred[i].n, &nbytes, NULL),
	                 TN_OK);
	return nbytes;
}

/* One byte at a time: a writer may count on no particular pieces. */
static tn_code produce(void *ctx, tn_emit *emit, tn_error *err)
{
	const struct producer *p = ctx;
	if (p->log->n < 2 * DEFERRED)
		p->log->order[p->log->n++] = p->i;
	if (p->fails) {
		err->code = TN_E_NOTFOUND;
		snprintf(err->msg, sizeof err->msg, "the data has gone");
		return TN_E_NOTFOUND;
	}
	uint64_t n = deferred_bytes(p->i) + p->extra - p->missing;
	for (uint64_t k = 0; k < n; k++)
		tn_emit_bytes(emit, &(uint8_t){ (uint8_t)(k * 7 + p->i) }, 1);
	return TN_OK;
}

static tn_writer *deferred_writer(const char *format, struct producer *producers)
{
	tn_write_options how = { .carry = true, .no_sync = true };
	tn_writer *writer = writer_in(format, &how);
	tn_error err;
	for (size_t i = 0; i < DEFERRED; i++) {
		tn_source source = {
			.kind = TN_SOURCE_CALLBACK, .produce = produce, .ctx = &producers[i]
		};
		assert_int_equal(tn_writer_add(writer, tn_text(deferred[i].name), deferred[i].dtype,
		                               1, &deferred[i].n, 0, &source, &err),
		                 TN_OK);
	}
	return writer;
}

static void test_deferred_once_in_order(void **state)
{
	struct log log = { 0 };
	struct producer producers[DEFERRED];
	for (size_t i = 0; i < DEFERRED; i++)
		producers[i] = (struct producer){ .log = &log, .i = i };
	tn_writer *writer = deferred_writer(*state, producers);
	uint64_t size;
	tn_error err;
	assert_int_equal(tn_writer_size(writer, &size, &err), TN_OK);
	assert_int_equal(log.n, 0); /* planning asks for nothing */
	tn_view bytes = models_save(writer);
	assert_int_equal(log.n, DEFERRED);
	tn_file *file;
	assert_int_equal(tn_open_memory(&file, bytes, NULL, &err), TN_OK);
	uint64_t at = 0;
	for (size_t i = 0; i < DEFERRED; i++) {
		size_t which = log.order[i], where;
		assert_int_equal(tn_tensor_find(file, tn_text(deferred[which].name), &where, &err),
		                 TN_OK);
		/* asked for in the order in which they are written */
		assert_true(tn_tensor_at(file, where).offset > at);
		at = tn_tensor_at(file, where).offset;
		tn_view data = host_file_bytes(file, where);
		assert_int_equal(data.len, deferred_bytes(which));
		for (size_t k = 0; k < data.len; k++)
			assert_int_equal(data.ptr[k], (uint8_t)(k * 7 + which));
		free((void *)data.ptr);
	}
	tn_close(file);
	free((void *)bytes.ptr);
	tn_writer_free(writer);
}

/* Saves with one producer gone wrong over a file that is there. */
static void expect_failure(const char *format, struct producer bad, tn_code code)
{
	struct log log = { 0 };
	struct producer producers[DEFERRED];
	for (size_t i = 0; i < DEFERRED; i++)
		producers[i] = (struct producer){ .log = &log, .i = i };
	bad.log = &log;
	producers[bad.i] = bad;
	tn_writer *writer = deferred_writer(format, producers);
	char *path = files_join(folder, "old.out"), quoted[16];
	tn_error err;
	files_store(path, tn_text("the old file"));
	tn_code got = tn_writer_save(writer, path, &err);
	assert_int_not_equal(got, TN_OK);
	assert_int_equal(got, err.code);
	if (code != TN_OK)
		assert_int_equal(got, code);
	snprintf(quoted, sizeof quoted, "'%s'", deferred[bad.i].name);
	if (strstr(err.msg, quoted) == NULL)
		fail_msg("the message does not name the tensor: %s", err.msg);
	assert_true(files_equal(path, tn_text("the old file")));
	assert_int_equal(tempdir_count(folder), 1);
	remove(path);
	free(path);
	tn_writer_free(writer);
}

static void test_wrong_length(void **state)
{
	for (size_t i = 0; i < DEFERRED; i++) {
		expect_failure(*state, (struct producer){ .i = i, .extra = 1 }, TN_OK);
		expect_failure(*state, (struct producer){ .i = i, .missing = 1 }, TN_OK);
		expect_failure(*state,
		               (struct producer){ .i = i, .missing = (size_t)deferred_bytes(i) },
		               TN_OK);
	}
}

static void test_failing_producer(void **state)
{
	for (size_t i = 0; i < DEFERRED; i++)
		expect_failure(*state, (struct producer){ .i = i, .fails = true }, TN_E_NOTFOUND);
}

/* ---- Adding to a file that was there ---- */

enum { LONGEST_NAME = 65536, MOST_DIMS = 256 };

struct odd {
	size_t   name; /* bytes of it */
	char     fill;
	tn_dtype dtype;
	uint32_t rank; /* all dimensions are 1 */
	uint64_t nbytes;
};
static const struct odd odd[] = {
	{ 300, 'n', TN_F32, 1, 4 }, { LONGEST_NAME, 'n', TN_F32, 1, 4 }, { 10, '\xff', TN_F32, 1, 4 },
	{ 100, ' ', TN_F32, 1, 4 }, { 10, '/', TN_F32, 1, 4 }, { 0, 'n', TN_F32, 1, 4 },
	{ 1, 'n', TN_F32, 5, 4 }, { 1, 'n', TN_F32, 9, 4 }, { 1, 'n', TN_F32, MOST_DIMS, 4 },
	{ 1, 'n', TN_Q8_0, 1, 34 }, { 1, 'n', TN_QFLOAT, 0, 4 }, { 1, 'n', TN_BOOL_U32, 0, 4 },
};

static tn_code add_odd(tn_writer *writer, const struct odd *o)
{
	static uint8_t name[LONGEST_NAME], bytes[64];
	uint64_t shape[MOST_DIMS];
	tn_error err;
	memset(name, o->fill, sizeof name);
	for (size_t d = 0; d < MOST_DIMS; d++)
		shape[d] = 1;
	tn_source source = { .kind = TN_SOURCE_MEMORY, .memory = { bytes, (size_t)o->nbytes } };
	return tn_writer_add(writer, (tn_view){ name, o->name }, o->dtype, o->rank, shape, o->nbytes,
	                     &source, &err);
}

/* What a save says, and of what it writes whether that opens with the tensor or without it. */
static tn_error save_odd(tn_writer *writer, const struct odd *o, size_t *tensors)
{
	tn_error err = { .code = TN_OK };
	*tensors = 0;
	uint64_t size;
	if (add_odd(writer, o) != TN_OK || tn_writer_size(writer, &size, &err) != TN_OK) {
		tn_writer_free(writer);
		return err;
	}
	tn_view bytes = models_save(writer);
	tn_file *file;
	tn_error why;
	if (tn_open_memory(&file, bytes, NULL, &why) != TN_OK)
		fail_msg("what was written cannot be read: %s", why.msg);
	*tensors = tn_tensor_count(file);
	tn_close(file);
	free((void *)bytes.ptr);
	tn_writer_free(writer);
	return err;
}

/* What a format relaxes for what a file had already is not for a tensor that is new in it. */
static void test_added_as_in_a_new_file(void **state)
{
	const uint64_t one = 1;
	const tn_source source = { .kind = TN_SOURCE_MEMORY, .memory = { (const uint8_t *)"1234", 4 } };
	for (size_t k = 0; k < 2 * sizeof odd / sizeof *odd; k++) {
		const tn_write_options options = { .allow_loss = k % 2 != 0, .no_sync = true };
		tn_writer *fresh = writer_in(*state, &options), *again;
		tn_file *file;
		tn_error err;
		assert_int_equal(tn_writer_add(fresh, tn_text("w"), TN_F32, 1, &one, 0, &source, &err),
		                 TN_OK);
		tn_view bytes = models_save(fresh);
		assert_int_equal(tn_open_memory(&file, bytes, NULL, &err), TN_OK);
		assert_int_equal(tn_writer_of(&again, file, &options, &err), TN_OK);
		size_t tensors, want_tensors;
		tn_error want = save_odd(fresh, &odd[k / 2], &want_tensors);
		tn_error got = save_odd(again, &odd[k / 2], &tensors);
		assert_int_equal(got.code, want.code);
		assert_string_equal(got.msg, want.msg);
		assert_int_equal(tensors, want_tensors);
		tn_close(file);
		free((void *)bytes.ptr);
	}
}

/* ---- What cannot be meant ---- */

static void test_refusals_of_add(void **state)
{
	tn_writer *writer = writer_in(*state, NULL);
	const uint64_t shape[] = { 2, 2 }, huge[] = { UINT64_MAX, 2 };
	tn_source source = {
		.kind = TN_SOURCE_MEMORY, .memory = { (const uint8_t *)"0123456789abcdef", 16 }
	};
	tn_source nothing = { .kind = TN_SOURCE_CALLBACK };
	tn_error err;
	assert_int_equal(tn_writer_add(writer, tn_text("a"), TN_F32, 2, shape, 15, &source, &err),
	                 TN_E_CORRUPT);
	assert_int_equal(tn_writer_add(writer, tn_text("a"), TN_F32, 2, shape, 16, &nothing, &err),
	                 TN_E_USAGE);
	assert_int_equal(tn_writer_add(writer, tn_text("a"), TN_F32, 2, huge, 0, &source, &err),
	                 TN_E_LIMIT);
	assert_int_equal(tn_writer_add(writer, tn_text("a"), TN_F32, 2, shape, 0, &source, &err),
	                 TN_OK);
	assert_int_equal(tn_writer_add(writer, tn_text("a"), TN_I32, 2, shape, 0, &source, &err),
	                 TN_E_USAGE);
	tn_writer_free(writer);
}

static void test_unknown_format(void **state)
{
	(void)state;
	tn_writer *writer = (tn_writer *)folder;
	tn_error err;
	assert_int_equal(tn_writer_new(&writer, "no such format", NULL, &err), TN_E_NOTFOUND);
	assert_null(writer);
}

/* ---- The list of tests ---- */

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

static int run_in(const char *format)
{
	char *name = (char *)format;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(test_ways_agree, name),
		cmocka_unit_test_prestate(test_memory_bounds, name),
		cmocka_unit_test_prestate(test_dry_run, name),
		cmocka_unit_test_prestate(test_deferred_once_in_order, name),
		cmocka_unit_test_prestate(test_wrong_length, name),
		cmocka_unit_test_prestate(test_failing_producer, name),
		cmocka_unit_test_prestate(test_added_as_in_a_new_file, name),
		cmocka_unit_test_prestate(test_refusals_of_add, name),
		cmocka_unit_test(test_unknown_format),
	};
	return cmocka_run_group_tests_name(format, tests, set_up, tear_down);
}

int main(void)
{
	int failed = 0;
	for (size_t i = 0; i < tn_format_count(); i++)
		if (tn_format_at(i).writes)
			failed += run_in(tn_format_at(i).name);
	return failed;
}
