/* save.c - a save in which one system call or one allocation fails, for each of them in turn: the old file stays
 * as it was, nothing is left beside it, and the error says what failed. */
#include "support/fault_calls.h" /* first: it chooses the width of file offsets */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "support/fault_mem.h"
#include "support/fault_save.h"

#include <cmocka.h>

enum { MANY = 1000 }; /* more calls than a save has */

/* Fails the nth call of a kind for every n until one save has no such call; returns how many failed. */
static int fail_each(struct fault_scene *scene, enum fault_call call, int sys, const char *name)
{
	tn_error err;
	for (int n = 1; n < MANY; n++) {
		fault_arm(call, n, sys);
		tn_code code = fault_save(scene, false, &err);
		fault_disarm();
		if (code == TN_OK) {
			assert_true(fault_scene_is(scene, scene->expected));
			fault_scene_reset(scene);
			if (fault.seen < n)
				return n - 1;
			continue; /* a call whose failure harms nothing: closing what was only read */
		}
		assert_int_equal(code, TN_E_IO);
		assert_int_equal(err.sys, sys);
		assert_non_null(strstr(err.msg, name));
		assert_non_null(strstr(err.msg, FAULT_TARGET));
		assert_true(fault_scene_is(scene, scene->old));
	}
	fail_msg("no end of calls");
	return 0;
}

static void every_write(void **state)
{
	struct fault_scene scene;
	(void)state;
	fault_scene_init(&scene, false);
	assert_true(fail_each(&scene, FAULT_WRITE, ENOSPC, "write ") >= 3);
	assert_true(fail_each(&scene, FAULT_WRITE, EIO, "write ") >= 3);
	fault_scene_fini(&scene);
	fault_scene_init(&scene, true);
	assert_true(fail_each(&scene, FAULT_WRITE, EDQUOT, "write ") >= 5);
	fault_scene_fini(&scene);
}

static void failure_in_a_tensor_names_it(void **state)
{
	struct fault_scene scene;
	tn_error err;
	(void)state;
	fault_scene_init(&scene, true);
	fault_arm(FAULT_WRITE, 1, ENOSPC);
	assert_int_equal(fault_save(&scene, false, &err), TN_E_IO);
	fault_disarm();
	assert_non_null(strstr(err.msg, "tensor 'mem': write " FAULT_TARGET ": "));
	fault_scene_fini(&scene);
}

static void rename_fails(void **state)
{
	struct fault_scene scene;
	(void)state;
	fault_scene_init(&scene, false);
	assert_int_equal(fail_each(&scene, FAULT_RENAME, EACCES, "rename "), 1);
	fault_scene_fini(&scene);
}

static void chmod_fails(void **state)
{
	struct fault_scene scene;
	tn_error err;
	(void)state;
	fault_scene_init(&scene, false);
	assert_int_equal(chmod(FAULT_TARGET, 0777), 0);
	fault_arm(FAULT_FCHMOD, 1, EPERM);
	assert_int_equal(fault_save(&scene, false, &err), TN_E_IO);
	fault_disarm();
	assert_non_null(strstr(err.msg, "chmod " FAULT_TARGET));
	assert_true(fault_scene_is(&scene, scene.old));
	fault_scene_fini(&scene);
}

static void fsync_fails(void **state)
{
	struct fault_scene scene;
	tn_error err;
	(void)state;
	fault_scene_init(&scene, false);
	fault_arm(FAULT_FSYNC, 1, EIO);
	assert_int_equal(fault_save(&scene, false, &err), TN_E_IO);
	assert_non_null(strstr(err.msg, "fsync " FAULT_TARGET));
	assert_true(fault_scene_is(&scene, scene.old));

	/* what a pipe may say, a file may not: it would be lost in a crash */
	fault_arm(FAULT_FSYNC, 1, EINVAL);
	assert_int_equal(fault_save(&scene, false, &err), TN_E_IO);
	assert_true(fault_scene_is(&scene, scene.old));

	/* the folder: the new file is whole and in place, only its safety in a crash is in doubt */
	fault_arm(FAULT_FSYNC, 2, EIO);
	assert_int_equal(fault_save(&scene, false, &err), TN_E_IO);
	assert_non_null(strstr(err.msg, "fsync of the folder of " FAULT_TARGET));
	assert_true(fault_scene_is(&scene, scene.expected));
	fault_scene_reset(&scene);

	/* a file system that cannot sync folders */
	fault_arm(FAULT_FSYNC, 2, EINVAL);
	assert_int_equal(fault_save(&scene, false, &err), TN_OK);
	assert_true(fault_scene_is(&scene, scene.expected));
	fault_disarm();
	fault_scene_fini(&scene);
}

static void close_fails(void **state)
{
	struct fault_scene scene;
	tn_error err;
	int failed = 0;
	(void)state;
	fault_scene_init(&scene, false);
	fail_each(&scene, FAULT_CLOSE, EIO, "close ");
	for (int n = 1; n <= 3; n++) { /* the input, the output, the folder */
		fault_arm(FAULT_CLOSE, n, EIO);
		failed += fault_save(&scene, false, &err) != TN_OK;
		fault_disarm();
		fault_scene_reset(&scene);
	}
	assert_int_equal(failed, 1);
	fault_scene_fini(&scene);
}

/* What the kernel cannot copy is read and written; what went wrong while copying is an error. */
static void copy_fails(void **state)
{
	static const int fallback[] = { EXDEV, EINVAL, ENOSYS, EOPNOTSUPP, ETXTBSY, EPERM, EBADF };
	struct fault_scene scene;
	tn_error err;
	(void)state;
	fault_scene_init(&scene, false);
	for (size_t i = 0; i < sizeof fallback / sizeof fallback[0]; i++) {
		fault_arm(FAULT_COPY, 1, fallback[i]);
		assert_int_equal(fault_save(&scene, false, &err), TN_OK);
		fault_disarm();
		assert_int_equal(fault.seen, 1);
		assert_true(fault_scene_is(&scene, scene.expected));
		fault_scene_reset(&scene);
	}
	/* after a part was copied: the rest takes the other way */
	fault_arm(FAULT_COPY, 2, EXDEV);
	fault.shorten = true;
	assert_int_equal(fault_save(&scene, false, &err), TN_OK);
	fault_disarm();
	assert_int_equal(fault.seen, 2);
	assert_true(fault_scene_is(&scene, scene.expected));
	fault_scene_reset(&scene);
	assert_true(fail_each(&scene, FAULT_COPY, ENOSPC, "copy_file_range ") >= 1);
	assert_true(fail_each(&scene, FAULT_COPY, EIO, "copy_file_range ") >= 1);
	fault_scene_fini(&scene);
}

static void interrupted_and_short(void **state)
{
	static const enum fault_call calls[] = { FAULT_PREAD, FAULT_WRITE, FAULT_COPY, FAULT_FSYNC };
	struct fault_scene scene;
	tn_error err;
	(void)state;
	for (int round = 0; round < 2; round++) {
		fault_scene_init(&scene, round == 1);
		for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
			fault_arm(calls[i], 0, 0);
			fault.shorten = fault.interrupt = true;
			assert_int_equal(fault_save(&scene, false, &err), TN_OK);
			fault_disarm();
			assert_true(fault_scene_is(&scene, scene.expected));
			fault_scene_reset(&scene);
		}
		fault_scene_fini(&scene);
	}
}

static void patch_fails_and_goes_on(void **state)
{
	struct fault_scene scene;
	struct sys_out out;
	tn_error err;
	(void)state;
	err_clear(&err);
	fault_scene_init(&scene, false);
	assert_int_equal(sys_out_open(&out, FAULT_TARGET, false, true, 0, NULL, 0, &err), TN_OK);
	assert_int_equal(sys_out_write(&out, "0123456789", 10, &err), TN_OK);
	fault_arm(FAULT_PWRITE, 0, 0);
	fault.shorten = fault.interrupt = true;
	assert_int_equal(sys_out_patch(&out, 2, "abcde", 5, &err), TN_OK);
	fault_disarm();
	assert_int_equal(sys_out_write(&out, "!", 1, &err), TN_OK);
	assert_int_equal(sys_out_commit(&out, &err), TN_OK);
	assert_true(fault_scene_is(&scene, VIEW("01abcde789!")));
	fault_scene_reset(&scene);

	assert_int_equal(sys_out_open(&out, FAULT_TARGET, false, true, 0, NULL, 0, &err), TN_OK);
	assert_int_equal(sys_out_write(&out, "0123456789", 10, &err), TN_OK);
	fault_arm(FAULT_PWRITE, 1, EIO);
	assert_int_equal(sys_out_patch(&out, 2, "abcde", 5, &err), TN_E_IO);
	fault_disarm();
	assert_non_null(strstr(err.msg, "pwrite " FAULT_TARGET));
	assert_int_equal(sys_out_commit(&out, &err), TN_E_IO); /* a failure does not take the target's name */
	assert_true(fault_scene_is(&scene, scene.old));
	fault_scene_fini(&scene);
}

/* Written in place there is no old file to keep; half a file must not stay either. */
static void in_place(void **state)
{
	struct fault_scene scene;
	tn_error err;
	(void)state;
	fault_scene_init(&scene, false);
	fault_arm(FAULT_FTRUNCATE, 1, EIO);
	assert_int_equal(fault_save(&scene, true, &err), TN_E_IO);
	fault_disarm();
	assert_non_null(strstr(err.msg, "ftruncate " FAULT_TARGET));
	assert_true(fault_scene_is(&scene, scene.old));

	fault_arm(FAULT_WRITE, 2, ENOSPC);
	assert_int_equal(fault_save(&scene, true, &err), TN_E_IO);
	fault_disarm();
	assert_true(fault_scene_is(&scene, VIEW("")));

	assert_int_equal(fault_save(&scene, true, &err), TN_OK);
	assert_true(fault_scene_is(&scene, scene.expected));
	fault_scene_fini(&scene);
}

static void every_allocation(void **state)
{
	struct fault_scene scene;
	tn_error err;
	int n;
	(void)state;
	for (int round = 0; round < 3; round++) {
		bool emptied = false;
		fault_scene_init(&scene, round == 1);
		for (n = 1; n < MANY; n++) {
			fault_mem.fail_at = n;
			tn_code code = fault_save(&scene, round == 2, &err);
			fault_mem.fail_at = 0;
			assert_int_equal(fault_mem.alive, 0);
			if (code == TN_OK)
				break;
			assert_int_equal(code, TN_E_NOMEM);
			/* in place, the old bytes are gone once the target has been opened; before that they stay */
			emptied = emptied || (round == 2 && fault_scene_is(&scene, VIEW("")));
			assert_true(fault_scene_is(&scene, emptied ? VIEW("") : scene.old));
		}
		assert_in_range(n, 4, MANY - 1);
		assert_true(fault_scene_is(&scene, scene.expected));
		fault_scene_fini(&scene);
	}
}

/* The source cannot be read to its end. */
static void every_read(void **state)
{
	struct fault_scene scene;
	tn_error err;
	int n;
	(void)state;
	fault_scene_init(&scene, true);
	for (n = 1; n < MANY; n++) {
		fault_arm(FAULT_PREAD, n, EIO);
		tn_code code = fault_save(&scene, false, &err);
		fault_disarm();
		if (code == TN_OK)
			break;
		assert_int_equal(err.sys, EIO);
		assert_non_null(strstr(err.msg, "tensor 'copy': cannot read"));
		assert_true(fault_scene_is(&scene, scene.old));
	}
	assert_in_range(n, 3, MANY - 1);
	assert_true(fault_scene_is(&scene, scene.expected));
	fault_scene_fini(&scene);
}

/* A source file that becomes shorter between the plan and the copy. */
static void input_shrinks(void **state)
{
	struct fault_scene scene;
	tn_error err;
	(void)state;
	for (int round = 0; round < 2; round++) {
		fault_scene_init(&scene, round == 1);
		assert_int_equal(truncate(FAULT_INPUT, 5000), 0);
		assert_int_equal(fault_save(&scene, false, &err), TN_E_TRUNCATED);
		assert_non_null(strstr(err.msg, "tensor 'copy': " FAULT_INPUT ": "));
		scene.input.len = 5000;
		assert_true(fault_scene_is(&scene, scene.old));
		fault_scene_fini(&scene);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_write),
		cmocka_unit_test(failure_in_a_tensor_names_it),
		cmocka_unit_test(rename_fails),
		cmocka_unit_test(chmod_fails),
		cmocka_unit_test(fsync_fails),
		cmocka_unit_test(close_fails),
		cmocka_unit_test(copy_fails),
		cmocka_unit_test(interrupted_and_short),
		cmocka_unit_test(patch_fails_and_goes_on),
		cmocka_unit_test(in_place),
		cmocka_unit_test(every_allocation),
		cmocka_unit_test(every_read),
		cmocka_unit_test(input_shrinks),
	};
	return cmocka_run_group_tests_name("save", tests, NULL, NULL);
}
