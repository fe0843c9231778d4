/* test_sink.c - the sink: every byte once and in order, whatever the sizes of the pieces, the taps and the ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/crc32.h"
#include "io/sink.h"
#include "support/fault_mem.h"
#include "support/files.h"

#include <cmocka.h>

enum { N = 5 * SINK_BUFFER + 4321 };

static uint8_t bytes[N];

static int set_up(void **state)
{
	*state = tempdir_new();
	for (size_t i = 0; i < N; i++)
		bytes[i] = (uint8_t)(i * 31 + (i >> 7) + (i >> 15));
	return chdir(*state);
}

struct bench { /* a sink over a file, with all that it needs */
	struct sys_out out;
	struct sink    sink;
	tn_error       err;
};

static void start(struct bench *b)
{
	err_clear(&b->err);
	assert_int_equal(sys_out_open(&b->out, "out", false, false, 0, NULL, 0, &b->err), TN_OK);
	assert_int_equal(sink_init(&b->sink, &b->out, &b->err), TN_OK);
}

static tn_code finish(struct bench *b)
{
	sink_flush(&b->sink);
	sink_fini(&b->sink);
	return sys_out_commit(&b->out, &b->err);
}

static void pieces_of_all_sizes(void **state)
{
	static const size_t sizes[] = { 1000, 4096, SINK_BUFFER - 1, SINK_BUFFER, SINK_BUFFER + 1, 3 * SINK_BUFFER, N };
	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct bench b;
		start(&b);
		sink_crc_start(&b.sink);
		for (size_t done = 0, n; done < N; done += n) {
			n = sizes[i] < N - done ? sizes[i] : N - done;
			sink_write(&b.sink, bytes + done, n);
			assert_int_equal(b.sink.at, done + n);
		}
		sink_write(&b.sink, NULL, 0);
		assert_int_equal(sink_crc_value(&b.sink), crc32_update(0, bytes, N));
		assert_int_equal(finish(&b), TN_OK);
		assert_true(files_equal("out", (tn_view){ bytes, N }));
	}
}

static void zeros(void **state)
{
	struct bench b;
	uint8_t *want = calloc(1, 2 * SINK_BUFFER + 30);
	(void)state;
	start(&b);
	sink_crc_start(&b.sink);
	sink_write(&b.sink, "head", 4);
	sink_zero(&b.sink, 0);
	sink_zero(&b.sink, 2 * SINK_BUFFER + 22);
	sink_write(&b.sink, "tail", 4);
	memcpy(want, "head", 4);
	memcpy(want + 2 * SINK_BUFFER + 26, "tail", 4);
	assert_int_equal(sink_crc_value(&b.sink), crc32_update(0, want, 2 * SINK_BUFFER + 30));
	assert_int_equal(finish(&b), TN_OK);
	assert_true(files_equal("out", (tn_view){ want, 2 * SINK_BUFFER + 30 }));
	free(want);
}

/* The same copy with no tap (in the kernel), with a tap, and from a file opened past the page cache. */
static void copies(void **state)
{
	static const size_t heads[] = { 0, 10, SINK_BUFFER - 1, SINK_BUFFER };
	(void)state;
	files_store("in", (tn_view){ bytes, N });
	for (int way = 0; way < 3; way++) {
		for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
			struct sys_file in;
			struct bench b;
			start(&b);
			assert_int_equal(sys_file_open(&in, "in", way == 2 ? TN_IO_DIRECT : TN_IO_AUTO, &b.err), TN_OK);
			if (way == 1)
				sink_crc_start(&b.sink);
			sink_write(&b.sink, bytes, heads[i]);
			sink_copy(&b.sink, &in, heads[i], N - 100 - heads[i]);
			assert_int_equal(b.sink.at, N - 100);
			sink_copy(&b.sink, &in, N - 100, 100);
			sink_copy(&b.sink, &in, N, 0);
			if (way == 1)
				assert_int_equal(sink_crc_value(&b.sink), crc32_update(0, bytes, N));
			sys_file_close(&in);
			assert_int_equal(finish(&b), TN_OK);
			assert_true(files_equal("out", (tn_view){ bytes, N }));
		}
	}
}

static void copy_of_a_shrunken_file(void **state)
{
	(void)state;
	for (int way = 0; way < 2; way++) {
		struct sys_file in;
		struct bench b;
		start(&b);
		files_store("in", (tn_view){ bytes, N });
		assert_int_equal(sys_file_open(&in, "in", TN_IO_PREAD, &b.err), TN_OK);
		assert_int_equal(truncate("in", N - 1), 0);
		if (way == 1)
			sink_crc_start(&b.sink);
		sink_copy(&b.sink, &in, 0, N);
		assert_int_equal(b.err.code, TN_E_TRUNCATED);
		assert_int_equal(b.err.offset, N - 1);
		sys_file_close(&in);
		assert_int_equal(finish(&b), TN_E_TRUNCATED);
		assert_false(files_exist("out"));
	}
}

/* What an earlier run has written is seen by the taps and not written again. */
static void replays(void **state)
{
	(void)state;
	for (int tapped = 0; tapped < 2; tapped++) {
		struct sys_file in;
		struct bench b;
		uint64_t have = N - 10;
		files_store(".out.partial", (tn_view){ bytes, N });
		err_clear(&b.err);
		assert_int_equal(sys_out_resume(&b.out, "out", false, N, &have, &b.err), TN_OK);
		assert_int_equal(sink_init(&b.sink, &b.out, &b.err), TN_OK);
		assert_int_equal(sys_file_open(&in, ".out.partial", TN_IO_PREAD, &b.err), TN_OK);
		if (tapped != 0)
			sink_crc_start(&b.sink);
		sink_replay(&b.sink, &in, 7);
		sink_replay(&b.sink, &in, N - 17);
		assert_int_equal(b.sink.at, N - 10);
		sink_write(&b.sink, bytes + N - 10, 10);
		if (tapped != 0)
			assert_int_equal(sink_crc_value(&b.sink), crc32_update(0, bytes, N));
		sys_file_close(&in);
		assert_int_equal(finish(&b), TN_OK);
		assert_true(files_equal("out", (tn_view){ bytes, N }));
	}
}

static void hash_sees_its_part(void **state)
{
	struct bench b;
	struct b3 hash;
	struct sys_file in;
	tn_digest got, want = b3_of((tn_view){ bytes + 5, N - 10 });
	(void)state;
	start(&b);
	files_store("in", (tn_view){ bytes, N });
	assert_int_equal(sys_file_open(&in, "in", TN_IO_AUTO, &b.err), TN_OK);
	sink_write(&b.sink, bytes, 5);
	sink_hash_start(&b.sink, &hash);
	sink_write(&b.sink, bytes + 5, 2 * SINK_BUFFER);
	sink_copy(&b.sink, &in, 2 * SINK_BUFFER + 5, N - 10 - 2 * SINK_BUFFER);
	sink_hash_stop(&b.sink);
	sink_write(&b.sink, bytes + N - 5, 5);
	b3_final(&hash, &got);
	assert_memory_equal(got.bytes, want.bytes, TN_DIGEST_LEN);
	sys_file_close(&in);
	assert_int_equal(finish(&b), TN_OK);
	assert_true(files_equal("out", (tn_view){ bytes, N }));
}

/* Beside the CRC of all, and a copy does not pass it by inside the kernel. */
static void a_stretch_has_a_crc_of_its_own(void **state)
{
	struct bench b;
	struct sys_file in;
	uint32_t crc;
	(void)state;
	for (int all = 0; all < 2; all++) {
		start(&b);
		files_store("in", (tn_view){ bytes, N });
		assert_int_equal(sys_file_open(&in, "in", TN_IO_AUTO, &b.err), TN_OK);
		if (all != 0)
			sink_crc_start(&b.sink);
		sink_write(&b.sink, bytes, 5);
		sink_stretch_start(&b.sink, &crc);
		sink_write(&b.sink, bytes + 5, 10);
		sink_copy(&b.sink, &in, 15, N - 20);
		sink_stretch_stop(&b.sink);
		sink_write(&b.sink, bytes + N - 5, 5);
		assert_int_equal(crc, crc32_update(0, bytes + 5, N - 10));
		assert_int_equal(sink_crc_value(&b.sink), all != 0 ? crc32_update(0, bytes, N) : 0);
		sys_file_close(&in);
		assert_int_equal(finish(&b), TN_OK);
	}
}

static void patches(void **state)
{
	struct bench b;
	(void)state;
	start(&b);
	sink_write(&b.sink, "0123456789", 10);
	sink_patch(&b.sink, 0, "AB", 2);
	sink_patch(&b.sink, 8, "YZ", 2);
	sink_write(&b.sink, "!", 1);
	assert_int_equal(b.sink.at, 11);
	assert_int_equal(finish(&b), TN_OK);
	assert_true(files_equal("out", VIEW("AB234567YZ!")));
}

static void refused_patches(void **state)
{
	struct bench b;
	(void)state;
	start(&b);
	sink_write(&b.sink, "0123456789", 10);
	sink_patch(&b.sink, 9, "YZ", 2);
	assert_int_equal(b.err.code, TN_E_USAGE);
	assert_int_equal(finish(&b), TN_E_USAGE);
	start(&b);
	sink_crc_start(&b.sink);
	sink_write(&b.sink, "0123456789", 10);
	sink_patch(&b.sink, 0, "AB", 2);
	assert_int_equal(b.err.code, TN_E_USAGE);
	assert_int_equal(finish(&b), TN_E_USAGE);
	assert_false(files_exist("out"));
}

static void to_memory(void **state)
{
	enum { ROOM = 2 * SINK_BUFFER + 15 };
	uint8_t *to = malloc(ROOM + 1), *want = malloc(ROOM);
	struct sink s;
	struct sys_file in;
	tn_error err;
	(void)state;
	err_clear(&err);
	files_store("in", (tn_view){ bytes, N });
	assert_int_equal(sys_file_open(&in, "in", TN_IO_PREAD, &err), TN_OK);
	to[ROOM] = 0xEE;
	sink_init_memory(&s, to, ROOM, &err);
	sink_crc_start(&s);
	sink_write(&s, bytes, SINK_BUFFER + 1);
	sink_zero(&s, 4);
	sink_copy(&s, &in, 7, SINK_BUFFER + 10);
	memcpy(want, bytes, SINK_BUFFER + 1);
	memset(want + SINK_BUFFER + 1, 0, 4);
	memcpy(want + SINK_BUFFER + 5, bytes + 7, SINK_BUFFER + 10);
	assert_int_equal(err.code, TN_OK);
	assert_memory_equal(to, want, ROOM);
	assert_int_equal(to[ROOM], 0xEE);
	assert_int_equal(sink_crc_value(&s), crc32_update(0, want, ROOM));
	s.crc_on = false;
	sink_patch(&s, ROOM - 3, "abc", 3);
	sink_flush(&s);
	assert_memory_equal(to + ROOM - 3, "abc", 3);
	sink_write(&s, "x", 1);
	assert_int_equal(err.code, TN_E_USAGE);
	assert_int_equal(to[ROOM], 0xEE);
	sink_fini(&s);
	sys_file_close(&in);
	free(to);
	free(want);
}

static void errors_stick(void **state)
{
	struct bench b;
	struct sys_file in;
	(void)state;
	files_store("in", (tn_view){ bytes, N });
	start(&b);
	assert_int_equal(sys_file_open(&in, "in", TN_IO_PREAD, &b.err), TN_OK);
	sink_write(&b.sink, "0123", 4);
	err_set(&b.err, TN_E_CORRUPT, 7, "first");
	sink_write(&b.sink, bytes, N);
	sink_zero(&b.sink, N);
	sink_copy(&b.sink, &in, 0, N);
	sink_patch(&b.sink, 100, "x", 1);
	assert_int_equal(b.sink.at, 4);
	assert_string_equal(b.err.msg, "first");
	sys_file_close(&in);
	assert_int_equal(finish(&b), TN_E_CORRUPT);
	assert_false(files_exist("out"));
}

struct watch {
	uint64_t calls, last, least_step, stop_at, total;
};

static bool watch(void *ctx, uint64_t done, uint64_t total)
{
	struct watch *w = ctx;
	if (done != total && done - w->last < w->least_step)
		w->least_step = done - w->last;
	w->last = done;
	w->total = total;
	return ++w->calls != w->stop_at;
}

static void reports_progress(void **state)
{
	enum { TOTAL = 40 << 20 };
	(void)state;
	for (int way = 0; way < 3; way++) {
		struct watch w = { .least_step = UINT64_MAX };
		struct sys_file in;
		struct bench b;
		start(&b);
		files_store("in", VIEW(""));
		assert_int_equal(truncate("in", TOTAL), 0);
		assert_int_equal(sys_file_open(&in, "in", TN_IO_AUTO, &b.err), TN_OK);
		b.sink.progress = watch;
		b.sink.progress_ctx = &w;
		b.sink.total = TOTAL;
		if (way == 0)
			sink_zero(&b.sink, TOTAL);
		if (way == 1)
			sink_write(&b.sink, in.map.ptr, in.map.len);
		if (way == 2)
			sink_copy(&b.sink, &in, 0, TOTAL);
		assert_int_equal(w.last, TOTAL);
		assert_int_equal(w.total, TOTAL);
		assert_in_range(w.calls, 3, 6);
		assert_true(w.least_step >= 8 << 20);
		sys_file_close(&in);
		sink_fini(&b.sink);
		sys_out_abandon(&b.out);
	}
}

static void stops_when_told(void **state)
{
	struct watch w = { .stop_at = 2 };
	struct bench b;
	(void)state;
	start(&b);
	b.sink.progress = watch;
	b.sink.progress_ctx = &w;
	b.sink.total = UINT64_C(1) << 40;
	sink_zero(&b.sink, UINT64_C(1) << 40);
	assert_int_equal(w.calls, 2);
	assert_int_equal(b.err.code, TN_E_USAGE);
	assert_string_equal(b.err.msg, "stopped by the caller");
	assert_int_equal(finish(&b), TN_E_USAGE);
	assert_false(files_exist("out"));
	assert_int_equal(tempdir_count("."), 0);
}

static void no_memory(void **state)
{
	struct bench b;
	(void)state;
	err_clear(&b.err);
	assert_int_equal(sys_out_open(&b.out, "out", false, false, 0, NULL, 0, &b.err), TN_OK);
	long before = fault_mem.alive;
	fault_mem.fail_at = 1;
	assert_int_equal(sink_init(&b.sink, &b.out, &b.err), TN_E_NOMEM);
	assert_int_equal(fault_mem.alive, before);
	sys_out_abandon(&b.out);
	assert_int_equal(fault_mem.alive, 0);
	assert_int_equal(tempdir_count("."), 0);
}

/* Whatever the size of what passes, one buffer is all that is asked for. */
static void one_buffer(void **state)
{
	struct sys_file in;
	struct bench b;
	(void)state;
	files_store("in", (tn_view){ bytes, N });
	start(&b);
	long before = fault_mem.alive;
	assert_int_equal(sys_file_open(&in, "in", TN_IO_AUTO, &b.err), TN_OK);
	fault_mem.fail_at = 1; /* any allocation from here on would fail */
	sink_crc_start(&b.sink);
	sink_write(&b.sink, bytes, N);
	sink_copy(&b.sink, &in, 0, N);
	sink_zero(&b.sink, N);
	assert_int_equal(b.err.code, TN_OK);
	assert_int_equal(fault_mem.fail_at, 1);
	assert_int_equal(fault_mem.alive, before);
	fault_mem.fail_at = 0;
	sys_file_close(&in);
	assert_int_equal(finish(&b), TN_OK);
	assert_int_equal(fault_mem.alive, 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tempdir_leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(pieces_of_all_sizes),
		IN_FOLDER(zeros),
		IN_FOLDER(copies),
		IN_FOLDER(copy_of_a_shrunken_file),
		IN_FOLDER(replays),
		IN_FOLDER(hash_sees_its_part),
		IN_FOLDER(a_stretch_has_a_crc_of_its_own),
		IN_FOLDER(patches),
		IN_FOLDER(refused_patches),
		IN_FOLDER(to_memory),
		IN_FOLDER(errors_stick),
		IN_FOLDER(reports_progress),
		IN_FOLDER(stops_when_told),
		IN_FOLDER(no_memory),
		IN_FOLDER(one_buffer),
	};
	return cmocka_run_group_tests_name("sink", tests, NULL, NULL);
}
