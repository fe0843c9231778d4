/* kill.c - a save that is killed before its nth system call, for every n: whoever comes after finds the old file
 * or the new one, whole, and at most one file beside it, whose name ends in .tmp. */
#include "support/fault_calls.h" /* first: it chooses the width of file offsets */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "support/fault_save.h"
#include "support/files.h"

#include <sys/wait.h>

#include <cmocka.h>

enum { MANY = 1000 };

/* True when the child was killed, false when it came to its end with success. */
static bool killed_at(const struct fault_scene *scene, int n)
{
	int status;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		tn_error err;
		fault_arm(FAULT_ANY, n, 0);
		_exit(fault_save(scene, false, &err) == TN_OK ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status)) {
		assert_int_equal(WTERMSIG(status), SIGKILL);
		return true;
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	return false;
}

static void kill_each(bool crc)
{
	struct fault_scene scene;
	int n, with_old = 0, with_new = 0, with_temp = 0;
	fault_scene_init(&scene, crc);
	for (n = 1; n < MANY && killed_at(&scene, n); n++) {
		bool is_new = files_equal(FAULT_TARGET, scene.expected);
		assert_true(is_new || files_equal(FAULT_TARGET, scene.old));
		with_new += is_new;
		with_old += !is_new;
		struct file_list temps = files_below(".", ".tmp");
		size_t left = temps.n;
		files_free(&temps);
		assert_true(left <= !is_new);
		with_temp += left != 0;
		assert_int_equal(fault_scene_reset(&scene), left);
	}
	assert_true(n < MANY);
	assert_true(with_old > with_temp && with_temp >= 8); /* killed before there was one, and after */
	assert_true(with_new >= 1); /* killed between the rename and the end */
	assert_true(fault_scene_is(&scene, scene.expected));
	fault_scene_fini(&scene);
}

static void killed_while_copying(void **state) { (void)state; kill_each(false); }
static void killed_while_writing(void **state) { (void)state; kill_each(true); }

/* What a killed save left does not stand in the way of the next one, not even under the same number. */
static void leftover_is_passed_by(void **state)
{
	struct fault_scene scene;
	tn_error err;
	char name[64];
	(void)state;
	fault_scene_init(&scene, false);
	snprintf(name, sizeof name, FAULT_TARGET ".%ld-0.tmp", (long)getpid());
	files_store(name, VIEW("left"));
	assert_int_equal(fault_save(&scene, false, &err), TN_OK);
	assert_true(files_equal(FAULT_TARGET, scene.expected));
	assert_true(files_equal(name, VIEW("left")));
	fault_scene_fini(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_while_copying),
		cmocka_unit_test(killed_while_writing),
		cmocka_unit_test(leftover_is_passed_by),
	};
	return cmocka_run_group_tests_name("kill", tests, NULL, NULL);
}
