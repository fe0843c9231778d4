/* read.c - input files where the system does not do as asked: reads that stop short or fail, maps that are
 * refused, file systems that are far away. */
#include "support/fault_calls.h" /* first: it chooses the width of file offsets */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include "support/fault_mem.h"
#include "support/files.h"
#include "sys/file.h"

#include <cmocka.h>

enum { N = (2 << 20) + 777, FILE_ON_EXT4 = 0xEF53 };

static uint8_t bytes[N];
static int shared_map_sys, private_map_sys; /* errno of a map of that kind; 0: it succeeds */
static uint32_t file_system = FILE_ON_EXT4;

/* A map is memory that looks like the file: what the system would give is not the question here. */
void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	(void)at, (void)prot, (void)fd, (void)off;
	int sys = (flags & MAP_TYPE) == MAP_SHARED ? shared_map_sys : private_map_sys;
	uint8_t *p = sys == 0 ? malloc(n) : NULL;
	if (p == NULL) {
		errno = sys;
		return MAP_FAILED;
	}
	memcpy(p, bytes, n);
	return p;
}

int munmap(void *p, size_t n)
{
	(void)n;
	free(p);
	return 0;
}

int fstatfs(int fd, struct statfs *fs)
{
	(void)fd;
	memset(fs, 0, sizeof *fs);
	memcpy(&fs->f_type, &file_system, sizeof file_system);
	return 0;
}

static int set_up(void **state)
{
	for (size_t i = 0; i < N; i++)
		bytes[i] = (uint8_t)(i * 13 + (i >> 9));
	if (tempdir_enter(state) != 0)
		return -1;
	files_store("in", (tn_view){ bytes, N });
	return 0;
}

static struct sys_file opened(tn_io io)
{
	struct sys_file f;
	tn_error err;
	err_clear(&err);
	assert_int_equal(sys_file_open(&f, "in", io, &err), TN_OK);
	return f;
}

static void read_whole(const struct sys_file *f)
{
	uint8_t *got = calloc(1, N);
	tn_error err;
	err_clear(&err);
	assert_int_equal(sys_file_read(f, 0, got, N, true, &err), TN_OK);
	assert_memory_equal(got, bytes, N);
	free(got);
}

static void interrupted_and_short(void **state)
{
	static const tn_io ways[] = { TN_IO_PREAD, TN_IO_DIRECT };
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct sys_file f = opened(ways[i]);
		fault_arm(FAULT_PREAD, 0, 0);
		fault.shorten = fault.interrupt = true;
		read_whole(&f);
		fault_disarm();
		assert_true(fault.seen > 4);
		sys_file_close(&f);
	}
}

static void read_fails(void **state)
{
	struct sys_file f = opened(TN_IO_PREAD);
	tn_error err;
	uint8_t byte;
	(void)state;
	err_clear(&err);
	fault_arm(FAULT_PREAD, 1, EIO);
	assert_int_equal(sys_file_read(&f, 0, &byte, 1, false, &err), TN_E_IO);
	fault_disarm();
	assert_int_equal(err.sys, EIO);
	assert_non_null(strstr(err.msg, "cannot read"));
	sys_file_close(&f);
}

/* The way past the page cache is a wish: where it fails, at the start or half-way, the plain way goes on. */
static void direct_falls_back(void **state)
{
	struct sys_file f = opened(TN_IO_DIRECT);
	(void)state;
	if (f.direct_fd < 0) {
		sys_file_close(&f);
		skip();
	}
	for (int n = 1; n <= 3; n++) {
		fault_arm(FAULT_PREAD, n, EINVAL);
		read_whole(&f);
		fault_disarm();
		assert_true(fault.seen > n);
	}
	fault_mem.fail_at = 1;
	read_whole(&f);
	assert_int_equal(fault_mem.fail_at, 0);
	assert_int_equal(fault_mem.alive, 0);
	sys_file_close(&f);
}

static void map_refused(void **state)
{
	struct sys_file f;
	tn_error err;
	(void)state;
	shared_map_sys = private_map_sys = ENOMEM;
	f = opened(TN_IO_AUTO);
	assert_null(f.map.ptr);
	read_whole(&f);
	sys_file_close(&f);
	err_clear(&err);
	assert_int_equal(sys_file_open(&f, "in", TN_IO_MMAP, &err), TN_E_IO);
	assert_int_equal(err.sys, ENOMEM);
	assert_non_null(strstr(err.msg, "cannot map"));
	assert_int_equal(f.fd, -1);
	shared_map_sys = private_map_sys = 0;
}

static void private_map_where_no_shared(void **state)
{
	(void)state;
	shared_map_sys = ENODEV;
	struct sys_file f = opened(TN_IO_MMAP);
	assert_int_equal(f.map.len, N);
	sys_file_close(&f);
	shared_map_sys = 0;
}

static void far_file_systems_are_not_mapped(void **state)
{
	static const uint32_t far[] = { 0x6969, 0x517B, 0xFF534D42, 0xFE534D42, 0x65735546, 0x01021997, 0x5346414F };
	(void)state;
	struct sys_file f = opened(TN_IO_AUTO);
	assert_non_null(f.map.ptr);
	sys_file_close(&f);
	for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
		file_system = far[i];
		f = opened(TN_IO_AUTO);
		assert_null(f.map.ptr);
		sys_file_close(&f);
		f = opened(TN_IO_MMAP); /* who asks for a map gets one */
		assert_non_null(f.map.ptr);
		sys_file_close(&f);
	}
	file_system = FILE_ON_EXT4;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interrupted_and_short),
		cmocka_unit_test(read_fails),
		cmocka_unit_test(direct_falls_back),
		cmocka_unit_test(map_refused),
		cmocka_unit_test(private_map_where_no_shared),
		cmocka_unit_test(far_file_systems_are_not_mapped),
	};
	return cmocka_run_group_tests_name("read", tests, set_up, tempdir_leave);
}
