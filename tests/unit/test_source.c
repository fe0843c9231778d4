/* test_source.c - readers and the four kinds of source, each held to its promise. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/sink.h"
#include "io/source.h"
#include "support/files.h"

#include <cmocka.h>

#define TEXT "0123456789abcdefghij"
enum { LEN = sizeof TEXT - 1, ROOM = 64 };

static uint8_t room[ROOM];

static int set_up(void **state)
{
	if (tempdir_enter(state) != 0)
		return -1;
	files_store("in", VIEW(TEXT));
	return 0;
}

static tn_code stream(const struct source *s, tn_error *err)
{
	struct sink out;
	err_clear(err);
	memset(room, '.', sizeof room);
	sink_init_memory(&out, room, sizeof room, err);
	sink_write(&out, "[", 1);
	source_stream(s, &out);
	sink_write(&out, "]", 1);
	return err->code;
}

static void yields(const struct source *s, const char *text)
{
	tn_error err;
	assert_int_equal(stream(s, &err), TN_OK);
	assert_int_equal(err.code, TN_OK);
	assert_memory_equal(room, text, strlen(text));
	assert_int_equal(room[strlen(text)], '.');
}

/* ---- Readers ---- */

static void readers(void **state)
{
	static const tn_io ways[] = { TN_IO_AUTO, TN_IO_PREAD, TN_IO_DIRECT };
	(void)state;
	for (size_t i = 0; i <= sizeof ways / sizeof ways[0]; i++) {
		struct sys_file f = { .fd = -1, .direct_fd = -1 };
		struct reader r = { .map = VIEW(TEXT), .size = LEN };
		char got[8] = "";
		tn_error err;
		err_clear(&err);
		if (i > 0) {
			assert_int_equal(sys_file_open(&f, "in", ways[i - 1], &err), TN_OK);
			r = (struct reader){ .map = f.map, .file = &f, .size = f.size };
		}
		assert_int_equal(reader_read(&r, 3, got, 5, &err), TN_OK);
		assert_string_equal(got, "34567");
		assert_int_equal(reader_read(&r, LEN, got, 0, &err), TN_OK);
		assert_int_equal(reader_read(&r, LEN - 2, got, 3, &err), TN_E_TRUNCATED);
		assert_int_equal(err.offset, LEN);
		err_clear(&err);
		assert_int_equal(reader_read(&r, UINT64_MAX, got, 2, &err), TN_E_TRUNCATED);
		sys_file_close(&f);
	}
}

static void reader_over_nothing(void **state)
{
	struct reader r = { .size = 0 };
	tn_error err;
	char got;
	(void)state;
	err_clear(&err);
	assert_int_equal(reader_read(&r, 0, &got, 0, &err), TN_OK);
	assert_int_equal(reader_read(&r, 0, &got, 1, &err), TN_E_TRUNCATED);
}

/* ---- Memory, ranges, paths ---- */

static void from_memory(void **state)
{
	tn_error err;
	struct source s = { .kind = SOURCE_MEMORY, .len = 5, .memory = VIEW("hello") };
	(void)state;
	yields(&s, "[hello]");
	s.len = 6;
	assert_int_equal(stream(&s, &err), TN_E_CORRUPT);
	assert_string_equal(err.msg, "promised 6 bytes, produced 5");
	yields(&(struct source){ .kind = SOURCE_MEMORY }, "[]");
}

static void from_a_range(void **state)
{
	struct sys_file f;
	tn_error err;
	(void)state;
	err_clear(&err);
	assert_int_equal(sys_file_open(&f, "in", TN_IO_AUTO, &err), TN_OK);
	const struct reader readers_of[] = {
		{ .map = f.map, .file = &f, .size = f.size },
		{ .map = VIEW(TEXT), .size = LEN },
	};
	for (size_t i = 0; i < 2; i++) {
		struct source s = { .kind = SOURCE_RANGE, .from = &readers_of[i], .offset = 8, .len = 5 };
		yields(&s, "[89abc]");
		s.offset = LEN, s.len = 0;
		yields(&s, "[]");
		s.offset = LEN - 1, s.len = 2;
		assert_int_equal(stream(&s, &err), TN_E_TRUNCATED);
		s.offset = UINT64_MAX;
		assert_int_equal(stream(&s, &err), TN_E_TRUNCATED);
	}
	sys_file_close(&f);
}

static void from_a_path(void **state)
{
	tn_error err;
	struct source s = { .kind = SOURCE_PATH, .path = "in", .offset = 10, .len = 10 };
	(void)state;
	yields(&s, "[abcdefghij]");
	s.offset = 11;
	assert_int_equal(stream(&s, &err), TN_E_TRUNCATED);
	assert_string_equal(err.msg, "in: 10 bytes at 11 wanted, the file has 20");
	s.path = ".";
	assert_int_equal(stream(&s, &err), TN_E_USAGE);
	assert_non_null(strstr(err.msg, "is a directory"));
	assert_int_equal(mkfifo("fifo", 0666), 0);
	s.path = "fifo";
	assert_int_equal(stream(&s, &err), TN_E_USAGE);
	s.path = "nowhere";
	assert_int_equal(stream(&s, &err), TN_E_IO);
	assert_int_equal(err.sys, ENOENT);
}

static void paths_are_closed_again(void **state)
{
	tn_error err;
	struct source s = { .kind = SOURCE_PATH, .path = "in", .len = 10 };
	(void)state;
	int before = dup(0);
	close(before);
	yields(&s, "[0123456789]");
	s.len = 21;
	assert_int_equal(stream(&s, &err), TN_E_TRUNCATED);
	int after = dup(0); /* the lowest free descriptor */
	close(after);
	assert_int_equal(after, before);
}

/* ---- Callbacks ---- */

static int times_called;

static tn_code in_three(void *ctx, tn_emit *emit, tn_error *err)
{
	(void)err;
	times_called++;
	tn_emit_bytes(emit, ctx, 2);
	tn_emit_bytes(emit, NULL, 0);
	tn_emit_bytes(emit, (const char *)ctx + 2, 3);
	return TN_OK;
}

static void from_a_callback(void **state)
{
	char text[] = "hello";
	tn_error err;
	struct source s = { .kind = SOURCE_CALLBACK, .len = 5, .produce = in_three, .ctx = text };
	(void)state;
	times_called = 0;
	yields(&s, "[hello]");
	assert_int_equal(times_called, 1);
	s.len = 6;
	assert_int_equal(stream(&s, &err), TN_E_CORRUPT);
	assert_string_equal(err.msg, "promised 6 bytes, produced 5");
	s.len = 4;
	assert_int_equal(stream(&s, &err), TN_E_CORRUPT);
	assert_string_equal(err.msg, "promised 4 bytes, produced 5");
	assert_memory_equal(room, "[he.", 4); /* nothing of the piece that was too long */
}

static tn_code endless(void *ctx, tn_emit *emit, tn_error *err)
{
	(void)ctx;
	for (int i = 0; i < 1000; i++)
		tn_emit_bytes(emit, "x", 1);
	tn_emit_bytes(emit, "x", SIZE_MAX); /* not looked at any more */
	err_set(err, TN_E_IO, TN_NO_OFFSET, "an echo");
	return TN_E_IO;
}

static void first_failure_stays(void **state)
{
	tn_error err;
	struct source s = { .kind = SOURCE_CALLBACK, .len = 3, .produce = endless };
	(void)state;
	assert_int_equal(stream(&s, &err), TN_E_CORRUPT);
	assert_string_equal(err.msg, "promised 3 bytes, produced 4");
	assert_memory_equal(room, "[xxx.", 5);
	s.len = 1000; /* the sink is full before the promise is broken */
	assert_int_equal(stream(&s, &err), TN_E_USAGE);
	assert_non_null(strstr(err.msg, "too small"));
}

static tn_code too_long_at_once(void *ctx, tn_emit *emit, tn_error *err)
{
	(void)ctx, (void)err;
	tn_emit_bytes(emit, "x", 1);
	tn_emit_bytes(emit, "x", SIZE_MAX);
	return TN_OK;
}

static void no_sum_wraps(void **state)
{
	tn_error err;
	struct source s = { .kind = SOURCE_CALLBACK, .len = 2, .produce = too_long_at_once };
	(void)state;
	assert_int_equal(stream(&s, &err), TN_E_CORRUPT);
	assert_non_null(strstr(err.msg, "promised 2 bytes, produced "));
}

static tn_code fails_in_words(void *ctx, tn_emit *emit, tn_error *err)
{
	(void)ctx, (void)emit;
	return err_sys(err, EIO, "fetch", "layer");
}

static tn_code fails_in_silence(void *ctx, tn_emit *emit, tn_error *err)
{
	(void)ctx, (void)emit, (void)err;
	return TN_E_NOTFOUND;
}

static tn_code complains_and_succeeds(void *ctx, tn_emit *emit, tn_error *err)
{
	(void)ctx;
	err_set(err, TN_E_IO, TN_NO_OFFSET, "tried twice");
	tn_emit_bytes(emit, "ok", 2);
	return TN_OK;
}

static void what_a_producer_says(void **state)
{
	tn_error err;
	(void)state;
	assert_int_equal(stream(&(struct source){ .kind = SOURCE_CALLBACK, .produce = fails_in_words }, &err), TN_E_IO);
	assert_int_equal(err.sys, EIO);
	assert_non_null(strstr(err.msg, "fetch layer"));
	assert_int_equal(stream(&(struct source){ .kind = SOURCE_CALLBACK, .produce = fails_in_silence }, &err),
	                 TN_E_NOTFOUND);
	assert_non_null(strstr(err.msg, "did not say why"));
	yields(&(struct source){ .kind = SOURCE_CALLBACK, .len = 2, .produce = complains_and_succeeds }, "[ok]");
}

static void not_asked_after_a_failure(void **state)
{
	char text[] = "hello";
	struct source s = { .kind = SOURCE_CALLBACK, .len = 5, .produce = in_three, .ctx = text };
	struct sink out;
	tn_error err;
	(void)state;
	err_clear(&err);
	sink_init_memory(&out, room, sizeof room, &err);
	err_set(&err, TN_E_IO, TN_NO_OFFSET, "before");
	times_called = 0;
	source_stream(&s, &out);
	assert_int_equal(times_called, 0);
	assert_string_equal(err.msg, "before");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readers),
		cmocka_unit_test(reader_over_nothing),
		cmocka_unit_test(from_memory),
		cmocka_unit_test(from_a_range),
		cmocka_unit_test(from_a_path),
		cmocka_unit_test(paths_are_closed_again),
		cmocka_unit_test(from_a_callback),
		cmocka_unit_test(first_failure_stays),
		cmocka_unit_test(no_sum_wraps),
		cmocka_unit_test(what_a_producer_says),
		cmocka_unit_test(not_asked_after_a_failure),
	};
	return cmocka_run_group_tests_name("source", tests, set_up, tempdir_leave);
}
