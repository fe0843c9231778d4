/* test_sys_walk.c - folders made with their parents and walked. */
#include "sys/folder.h"
#include "sys/walk.h"

#include "support/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

static void count(void *ctx, const char *path, tn_error *err)
{
	(void)path, (void)err;
	++*(size_t *)ctx;
}

static void refuse(void *ctx, const char *path, tn_error *err)
{
	(void)path;
	++*(size_t *)ctx;
	err_set(err, TN_E_USAGE, TN_NO_OFFSET, "enough");
}

static void folders_are_made_with_their_parents(void **state)
{
	(void)state;
	char *root = tempdir_new(), *deep = files_join(root, "a/b/c"), *file = files_join(root, "f");
	char *below = files_join(file, "x");
	tn_error err;
	err_clear(&err);
	assert_int_equal(sys_folder_make_all(deep, false, &err), TN_OK);
	assert_int_equal(sys_folder_make_all(deep, false, &err), TN_OK);
	assert_int_equal(sys_kind_of(deep), SYS_FOLDER);
	files_store(file, tn_text("x"));
	assert_int_equal(sys_kind_of(file), SYS_FILE);
	assert_int_equal(sys_folder_make_all(below, false, &err), TN_E_IO);
	free(below);
	free(file);
	free(deep);
	tempdir_remove(root);
}

static void walks_see_files_and_follow_no_link(void **state)
{
	(void)state;
	char *root = tempdir_new(), *inner = files_join(root, "in/ner"), *one = files_join(root, "one");
	char *two = files_join(inner, "two"), *link = files_join(root, "link"), *loop = files_join(inner, "loop");
	size_t n = 0;
	tn_error err;
	err_clear(&err);
	assert_int_equal(sys_folder_make_all(inner, false, &err), TN_OK);
	files_store(one, tn_text("1"));
	files_store(two, tn_text("2"));
	assert_int_equal(symlink("one", link), 0);
	assert_int_equal(symlink("..", loop), 0);
	assert_int_equal(sys_kind_of(link), SYS_LINK);
	assert_int_equal(sys_walk(root, count, &n, &err), TN_OK);
	assert_int_equal(n, 2);
	n = 0;
	assert_int_equal(sys_walk(link, count, &n, &err), TN_OK); /* the place to start at may be one */
	assert_int_equal(n, 1);
	n = 0;
	assert_int_equal(sys_walk(root, refuse, &n, &err), TN_E_USAGE);
	assert_int_equal(n, 1);
	err_clear(&err);
	char *gone = files_join(root, "gone");
	assert_int_equal(sys_kind_of(gone), SYS_NOTHING);
	assert_int_equal(sys_walk(gone, count, &n, &err), TN_E_IO);
	free(gone);
	free(loop);
	free(link);
	free(two);
	free(one);
	free(inner);
	tempdir_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folders_are_made_with_their_parents),
		cmocka_unit_test(walks_see_files_and_follow_no_link),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
