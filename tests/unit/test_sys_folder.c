/* test_sys_folder.c - listing, following and making folders. */
#include "sys/folder.h"

#include "support/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static void lists_files_sorted(void **state)
{
	struct arena mem;
	struct sys_names names;
	tn_error err = { .code = TN_OK };
	(void)state;
	arena_init(&mem, 0);
	assert_int_equal(mkdir("in", 0777), 0);
	assert_int_equal(mkdir("in/folder", 0777), 0);
	files_store("in/b", tn_text("x"));
	files_store("in/a", tn_text("x"));
	files_store("in/.hidden", tn_text("x"));
	assert_int_equal(symlink("nowhere", "in/c"), 0);
	assert_int_equal(symlink("folder", "in/d"), 0);
	assert_int_equal(sys_folder_list("in", &mem, &names, &err), TN_OK);
	assert_int_equal(names.n, 3);
	assert_string_equal(names.list[0], "a");
	assert_string_equal(names.list[1], "b");
	assert_string_equal(names.list[2], "c");
	assert_int_equal(sys_folder_list("none", &mem, &names, &err), TN_E_IO);
	arena_fini(&mem);
}

static void a_long_list_and_a_small_budget(void **state)
{
	struct arena mem;
	struct sys_names names;
	tn_error err = { .code = TN_OK };
	(void)state;
	assert_int_equal(mkdir("many", 0777), 0);
	for (int i = 0; i < 150; i++) {
		char path[32];
		snprintf(path, sizeof path, "many/%03d", i);
		files_store(path, tn_text(""));
	}
	arena_init(&mem, 0);
	assert_int_equal(sys_folder_list("many", &mem, &names, &err), TN_OK);
	assert_int_equal(names.n, 150);
	assert_string_equal(names.list[149], "149");
	arena_fini(&mem);
	arena_init(&mem, 256);
	assert_int_equal(sys_folder_list("many", &mem, &names, &err), TN_E_LIMIT);
	arena_fini(&mem);
}

static void follows_and_makes(void **state)
{
	struct arena mem;
	tn_error err = { .code = TN_OK };
	bool made;
	(void)state;
	arena_init(&mem, 0);
	files_store("file", tn_text("x"));
	assert_int_equal(symlink("file", "link"), 0);
	const char *link, *file;
	assert_int_equal(sys_real_path("link", &mem, &link, &err), TN_OK);
	assert_int_equal(sys_real_path("./file", &mem, &file, &err), TN_OK);
	assert_string_equal(link, file);
	assert_int_equal(sys_real_path("none", &mem, &link, &err), TN_OK);
	assert_null(link);
	assert_int_equal(sys_folder_make("new", true, &made, &err), TN_OK);
	assert_true(made && sys_is_folder("new"));
	assert_int_equal(sys_folder_make("new", true, &made, &err), TN_OK);
	assert_false(made);
	sys_folder_remove("new");
	assert_false(sys_is_folder("new"));
	assert_int_equal(sys_folder_make("file", true, &made, &err), TN_E_IO);
	assert_false(sys_is_folder("file"));
	sys_file_remove("link");
	assert_true(files_exist("file"));
	sys_file_remove("link");
	arena_fini(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_files_sorted),
		cmocka_unit_test(a_long_list_and_a_small_budget),
		cmocka_unit_test(follows_and_makes),
	};
	return cmocka_run_group_tests_name("sys_folder", tests, tempdir_enter, tempdir_leave);
}
