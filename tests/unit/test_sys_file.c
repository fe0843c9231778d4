/* test_sys_file.c - input files: what is refused, the ways of reading, files that shrink. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/files.h"
#include "sys/file.h"

#include <cmocka.h>

enum { BIG = (3 << 20) + 123 }; /* several bounce buffers, and a tail that fills no block */

static uint8_t big[BIG];

static int set_up(void **state)
{
	*state = tempdir_new();
	for (size_t i = 0; i < sizeof big; i++)
		big[i] = (uint8_t)(i * 7 + (i >> 8) + (i >> 16));
	if (chdir(*state) != 0)
		return -1;
	files_store("big", (tn_view){ big, sizeof big });
	files_store("empty", VIEW(""));
	return 0;
}

static void is_refused(const char *path, const char *words)
{
	struct sys_file f;
	tn_error err;
	static const tn_io ways[] = { TN_IO_AUTO, TN_IO_MMAP, TN_IO_PREAD, TN_IO_DIRECT };
	for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
		err_clear(&err);
		assert_int_equal(sys_file_open(&f, path, ways[i], &err), TN_E_USAGE);
		assert_int_equal(f.fd, -1);
		assert_non_null(strstr(err.msg, words));
	assert_non_null(strstr(err.msg, "not a file"));
	}
}

static void make_socket(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	memcpy(at.sun_path, name, strlen(name) + 1);
	assert_int_equal(bind(s, (struct sockaddr *)&at, sizeof at), 0);
	close(s);
}

static void refuses_what_is_no_file(void **state)
{
	(void)state;
	assert_int_equal(mkdir("folder", 0777), 0);
	assert_int_equal(mkfifo("fifo", 0666), 0);
	make_socket("socket");
	is_refused("folder", "is a directory");
	is_refused("fifo", "is a FIFO");
	is_refused("socket", "is a socket");
	is_refused("/dev/null", "is a device");
}

static void missing(void **state)
{
	struct sys_file f;
	tn_error err;
	(void)state;
	err_clear(&err);
	assert_int_equal(sys_file_open(&f, "nowhere", TN_IO_AUTO, &err), TN_E_IO);
	assert_int_equal(err.sys, ENOENT);
	assert_non_null(strstr(err.msg, "cannot open"));
	sys_file_close(&f); /* a closed one may be closed again */
	assert_int_equal(f.fd, -1);
}

static void exists(void **state)
{
	(void)state;
	assert_true(sys_file_exists("big"));
	assert_true(sys_file_exists("."));
	assert_false(sys_file_exists("nowhere"));
	assert_false(sys_file_exists("big/nowhere"));
	assert_int_equal(symlink("nowhere", "dangling"), 0);
	assert_false(sys_file_exists("dangling"));
}

/* A link is the file that it leads to; what cannot be read still is who it is. */
static void identifies(void **state)
{
	(void)state;
	struct sys_file f, other;
	tn_error err;
	assert_int_equal(sys_file_open(&f, "big", TN_IO_PREAD, &err), TN_OK);
	sys_file_close(&f);
	assert_int_equal(link("big", "again"), 0);
	assert_int_equal(symlink("again", "pointer"), 0);
	assert_int_equal(chmod("big", 0), 0);
	assert_true(sys_file_identify(&other, "pointer") && sys_file_same(&f, &other));
	assert_int_equal(other.fd, -1);
	assert_int_equal(chmod("big", 0600), 0);
	assert_true(sys_file_identify(&other, ".") && !sys_file_same(&f, &other));
	assert_false(sys_file_identify(&other, "nowhere"));
	assert_int_equal(unlink("again"), 0);
	assert_int_equal(unlink("pointer"), 0);
}

static void maps(void **state)
{
	struct sys_file f;
	struct stat st;
	tn_error err;
	(void)state;
	err_clear(&err);
	assert_int_equal(sys_file_open(&f, "big", TN_IO_MMAP, &err), TN_OK);
	assert_int_equal(f.size, BIG);
	assert_int_equal(f.map.len, BIG);
	assert_memory_equal(f.map.ptr, big, BIG);
	assert_int_equal(stat("big", &st), 0);
	assert_int_equal(f.dev, st.st_dev);
	assert_int_equal(f.ino, st.st_ino);
	sys_file_will_read(&f, 12345, 100000);
	sys_file_will_read(&f, BIG, 1); /* outside: nothing happens */
	assert_memory_equal(f.map.ptr, big, BIG);
	sys_file_close(&f);
	assert_null(f.map.ptr);
	assert_int_equal(f.fd, -1);
	assert_int_equal(f.ino, st.st_ino); /* who it was is still known */
	assert_int_equal(f.size, BIG);
}

static void reads_every_way(void **state)
{
	static const tn_io ways[] = { TN_IO_AUTO, TN_IO_MMAP, TN_IO_PREAD, TN_IO_DIRECT };
	static const size_t ranges[][2] = {
		{ 0, BIG }, { 0, 0 }, { BIG, 0 }, { 0, 1 }, { BIG - 1, 1 }, { 4095, 2 }, { 4096, 4096 }, { 1, 4095 },
		{ 1, BIG - 1 }, { BIG - 123, 123 }, { BIG - 124, 124 }, { (1 << 20) - 1, (1 << 20) + 2 },
	};
	uint8_t *got = malloc(BIG);
	tn_error err;
	(void)state;
	for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
		struct sys_file f;
		err_clear(&err);
		assert_int_equal(sys_file_open(&f, "big", ways[w], &err), TN_OK);
		assert_true(ways[w] < TN_IO_PREAD || f.map.ptr == NULL);
		assert_true(ways[w] == TN_IO_DIRECT || f.direct_fd == -1);
		for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
			size_t off = ranges[i][0], n = ranges[i][1];
			memset(got, 0, BIG);
			sys_file_will_read(&f, off, n);
			assert_int_equal(sys_file_read(&f, off, got, n, true, &err), TN_OK);
			assert_memory_equal(got, big + off, n);
			assert_true(n == BIG || got[n] == 0); /* and no byte more */
		}
		sys_file_close(&f);
	}
	free(got);
}

static void empty_file(void **state)
{
	static const tn_io ways[] = { TN_IO_AUTO, TN_IO_MMAP, TN_IO_PREAD, TN_IO_DIRECT };
	(void)state;
	for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
		struct sys_file f;
		tn_error err;
		uint8_t byte;
		err_clear(&err);
		assert_int_equal(sys_file_open(&f, "empty", ways[w], &err), TN_OK);
		assert_int_equal(f.size, 0);
		assert_null(f.map.ptr);
		assert_int_equal(sys_file_read(&f, 0, &byte, 0, true, &err), TN_OK);
		assert_int_equal(sys_file_read(&f, 0, &byte, 1, true, &err), TN_E_TRUNCATED);
		sys_file_close(&f);
	}
}

static void past_the_end(void **state)
{
	struct sys_file f;
	tn_error err;
	uint8_t bytes[8];
	(void)state;
	err_clear(&err);
	assert_int_equal(sys_file_open(&f, "big", TN_IO_PREAD, &err), TN_OK);
	assert_int_equal(sys_file_read(&f, BIG - 4, bytes, 8, false, &err), TN_E_TRUNCATED);
	err_clear(&err);
	assert_int_equal(sys_file_read(&f, UINT64_MAX - 2, bytes, 8, false, &err), TN_E_TRUNCATED);
	assert_int_equal(err.offset, BIG);
	sys_file_close(&f);
}

static void shrinks(void **state)
{
	static const tn_io ways[] = { TN_IO_PREAD, TN_IO_DIRECT };
	uint8_t *got = malloc(BIG);
	(void)state;
	for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
		struct sys_file f;
		tn_error err;
		err_clear(&err);
		files_store("short", (tn_view){ big, BIG });
		assert_int_equal(sys_file_open(&f, "short", ways[w], &err), TN_OK);
		assert_int_equal(truncate("short", 70001), 0);
		assert_int_equal(sys_file_read(&f, 0, got, BIG, true, &err), TN_E_TRUNCATED);
		assert_int_equal(err.offset, 70001);
		assert_non_null(strstr(err.msg, "file ended at byte 70001 while reading"));
		sys_file_close(&f);
	}
	free(got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_what_is_no_file),
		cmocka_unit_test(missing),
		cmocka_unit_test(exists),
		cmocka_unit_test(identifies),
		cmocka_unit_test(maps),
		cmocka_unit_test(reads_every_way),
		cmocka_unit_test(empty_file),
		cmocka_unit_test(past_the_end),
		cmocka_unit_test(shrinks),
	};
	return cmocka_run_group_tests_name("sys_file", tests, set_up, tempdir_leave);
}
