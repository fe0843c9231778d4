/* sets.c - sets where memory runs out or the disk fails, at every allocation and every call: an error and nothing left
 * behind, or all of it. */
#include "support/fault_calls.h" /* first: it chooses the width of file offsets */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "support/fault_mem.h"
#include "support/set_kit.h"

#include <cmocka.h>

enum { MANY = 20000 };

static char *folder;

static int set_up(void **state)
{
	(void)state;
	folder = tempdir_new();
	if (chdir(folder) != 0)
		return -1;
	set_kit_store("set");
	tn_view more = set_kit_file("xy");
	free(kit_store("set", "more.safetensors", more));
	free((void *)more.ptr);
	set_kit_text("set", SET_SHARD(2) ".sha256", "0000000000000000000000000000000000000000000000000000000000000000");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (chdir("/") != 0)
		return -1;
	tempdir_remove(folder);
	return 0;
}

typedef tn_code (*action)(tn_error *err);

static tn_code do_open(tn_error *err)
{
	tn_file *f;
	tn_code code = tn_open(&f, "set", NULL, err);
	tn_close(f);
	return code;
}

static tn_code do_verify(tn_error *err)
{
	tn_verified done;
	tn_code code = tn_verify_path("set", NULL, NULL, &done, err);
	if (code == TN_OK)
		assert_int_equal(tn_report_of(done.report, TN_ERROR), 1);
	tn_report_free(done.report);
	return code;
}

static tn_code do_rebuild(tn_error *err)
{
	tn_report *report;
	tn_code code = tn_rebuild_index("set", "new.json", NULL, NULL, &report, err);
	tn_report_free(report);
	return code;
}

static tn_file *model;

static tn_code do_split(tn_error *err)
{
	const tn_split_options how = { .max_tensors = 2 };
	tn_shards *shards;
	tn_code code = tn_split(model, "out", &how, &shards, err);
	tn_shards_free(shards);
	return code;
}

/* Fails each allocation in turn until none is left to fail. */
static void every_allocation_of(action act, const char *made)
{
	tn_error err;
	long n;
	for (n = 1; n < MANY; n++) {
		long before = fault_mem.alive;
		fault_mem.fail_at = n;
		tn_code code = act(&err);
		bool failed = fault_mem.fail_at == 0;
		fault_mem.fail_at = 0;
		assert_int_equal(fault_mem.alive, before);
		if (code == TN_OK && !failed)
			break;
		if (code == TN_OK)
			continue; /* what failed was a wish: to read ahead past a buffer, say */
		assert_int_equal(code, TN_E_NOMEM);
		assert_false(made != NULL && files_exist(made));
	}
	assert_in_range(n, 5, MANY - 1);
}

static void opening(void **state)
{
	(void)state;
	every_allocation_of(do_open, NULL);
}

static void verifying(void **state)
{
	(void)state;
	every_allocation_of(do_verify, NULL);
}

static void rebuilding(void **state)
{
	(void)state;
	every_allocation_of(do_rebuild, "new.json");
	assert_true(files_exist("new.json"));
	set_kit_remove(".", "new.json");
}

static void empty_out(void)
{
	for (int k = 1; k <= 4; k++) {
		char name[64];
		snprintf(name, sizeof name, "model-%05d-of-00004.safetensors", k);
		set_kit_remove("out", name);
	}
	set_kit_remove("out", SET_INDEX);
	assert_int_equal(rmdir("out"), 0);
}

static void splitting(void **state)
{
	static const enum fault_call calls[] = { FAULT_WRITE, FAULT_FSYNC, FAULT_CLOSE, FAULT_RENAME };
	tn_error err;
	(void)state;
	tn_view bytes = set_kit_file("abcdefgh");
	model = kit_open(bytes);
	every_allocation_of(do_split, "out");
	assert_int_equal(tempdir_count("out"), 5);
	empty_out();
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		int n;
		for (n = 1; n < MANY; n++) {
			fault_arm(calls[i], n, EIO);
			tn_code code = do_split(&err);
			fault_disarm();
			if (code == TN_OK)
				break;
			assert_int_equal(code, TN_E_IO);
			/* the sync of a folder comes after the file has its name: all the same nothing stays */
			assert_false(files_exist("out"));
		}
		assert_in_range(n, 4, MANY - 1);
		empty_out();
	}
	tn_close(model);
	free((void *)bytes.ptr);
}

/* The name of a new folder must reach the disk as well, where that can be had. */
static void new_folder(void **state)
{
	tn_error err;
	(void)state;
	tn_view bytes = set_kit_file("ab");
	model = kit_open(bytes);
	fault_arm(FAULT_FSYNC, 1, EIO);
	assert_int_equal(do_split(&err), TN_E_IO);
	fault_disarm();
	assert_non_null(strstr(err.msg, "fsync ."));
	assert_false(files_exist("out"));
	fault_arm(FAULT_FSYNC, 1, EINVAL);
	assert_int_equal(do_split(&err), TN_OK);
	fault_disarm();
	tn_close(model);
	free((void *)bytes.ptr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opening),
		cmocka_unit_test(verifying),
		cmocka_unit_test(rebuilding),
		cmocka_unit_test(splitting),
		cmocka_unit_test(new_folder),
	};
	return cmocka_run_group_tests_name("sets", tests, set_up, tear_down);
}
