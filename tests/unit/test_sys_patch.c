/* test_sys_patch.c - bytes of a file changed where they are, and of no other file. */
#include "sys/patch.h"

#include "base/view.h"
#include "support/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char *folder, *path;

static struct sys_file opened(void)
{
	struct sys_file f;
	tn_error err;
	files_store(path, VIEW("0123456789"));
	assert_int_equal(sys_file_open(&f, path, TN_IO_PREAD, &err), TN_OK);
	return f;
}

static void the_bytes_are_changed(void **state)
{
	(void)state;
	for (int sync = 0; sync < 2; sync++) {
		struct sys_file f = opened();
		tn_error err = { .code = TN_OK };
		assert_int_equal(sys_patch(path, &f, 3, "abc", "345", 3, sync, &err), TN_OK);
		assert_true(files_equal(path, VIEW("012abc6789")));
		assert_int_equal(sys_patch(path, &f, 10, "", "", 0, sync, &err), TN_OK);
		sys_file_close(&f);
	}
}

static void refuse(struct sys_file *f, uint64_t off, size_t n)
{
	tn_error err = { .code = TN_OK };
	assert_int_equal(sys_patch(path, f, off, "abcdefghijk", "01234567890", n, false, &err), TN_E_USAGE);
	sys_file_close(f);
}

static void another_file_is_left_alone(void **state)
{
	(void)state;
	struct sys_file f = opened();
	char *other = files_join(folder, "other");
	files_store(other, VIEW("9876543210"));
	assert_int_equal(rename(other, path), 0);
	refuse(&f, 0, 3);
	assert_true(files_equal(path, VIEW("9876543210")));
	free(other);
	f = opened();
	assert_int_equal(truncate(path, 9), 0);
	refuse(&f, 0, 3);
	assert_true(files_equal(path, VIEW("012345678")));
	f = opened();
	refuse(&f, 8, 3); /* would make it longer */
	assert_true(files_equal(path, VIEW("0123456789")));
}

static void the_system_may_refuse(void **state)
{
	(void)state;
	struct sys_file f = opened();
	tn_error err = { .code = TN_OK };
	assert_int_equal(remove(path), 0);
	assert_int_equal(sys_patch(path, &f, 0, "a", "0", 1, false, &err), TN_E_IO);
	sys_file_close(&f);
}

static int set_up(void **state)
{
	(void)state;
	folder = tempdir_new();
	path = files_join(folder, "file");
	return 0;
}

static int clean_up(void **state)
{
	(void)state;
	free(path);
	tempdir_remove(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_bytes_are_changed),
		cmocka_unit_test(another_file_is_left_alone),
		cmocka_unit_test(the_system_may_refuse),
	};
	return cmocka_run_group_tests(tests, set_up, clean_up);
}
