/* resume.c - conversions that are killed before their nth system call, for every n, and gone on with: the target is whole
 * or absent in between, the bytes in the end are those of a conversion that nothing disturbed, and nothing else stays. */
#include "support/fault_calls.h" /* first: it chooses the width of file offsets */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/view.h"
#include "support/checkpoint_kit.h"
#include "support/fault_mem.h"
#include "support/files.h"

#include <fcntl.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { MANY = 1000, TENSORS = 4, LONG = 300 * 1024 };

#define TARGET  "out.thin"
#define PARTIAL ".out.thin.partial"
#define JOURNAL TARGET ".conversion-journal.json"
#define PLAN    TARGET ".conversion-plan.json"

static char   *folder;
static tn_view expected;
static size_t  inputs; /* files that are no target */

/* ---- Scenes ---- */

static size_t files_here(void)
{
	struct file_list all = files_below(".", "");
	size_t n = all.n;
	files_free(&all);
	return n;
}

static tn_code convert(tn_error *err)
{
	tn_file *f;
	tn_convert_options how = { .resume = true, .write.no_sync = true, .write.work.threads = 1 };
	if (tn_open(&f, "in", NULL, err) != TN_OK)
		return err->code;
	tn_code code = tn_convert(f, TARGET, &how, NULL, err);
	tn_close(f);
	return code;
}

static void begin(void)
{
	folder = tempdir_new();
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(mkdir("in", 0777), 0);
}

static void begun(void)
{
	tn_error err;
	inputs = files_here();
	assert_int_equal(convert(&err), TN_OK);
	expected = files_load(TARGET);
	assert_int_equal(files_here(), inputs + 1);
	assert_int_equal(remove(TARGET), 0);
}

/* Tensors long enough to be vouched for one by one; the checksums of the archive are known at the end only. */
static void plain_scene(void)
{
	static uint8_t bytes[TENSORS][LONG];
	const uint64_t shape[] = { LONG };
	tn_write_options quick = { .no_sync = true };
	tn_writer *w;
	begin();
	assert_int_equal(tn_writer_new(&w, "safetensors", &quick, NULL), TN_OK);
	for (unsigned t = 0; t < TENSORS; t++) {
		char name[] = { (char)('a' + t), '\0' };
		for (unsigned i = 0; i < LONG; i++)
			bytes[t][i] = (uint8_t)(i * (t + 3) + i / 253);
		tn_source from = { .kind = TN_SOURCE_MEMORY, .memory = { bytes[t], LONG } };
		assert_int_equal(tn_writer_add(w, tn_text(name), TN_U8, 1, shape, 0, &from, NULL), TN_OK);
	}
	assert_int_equal(tn_writer_save(w, "in/model.safetensors", NULL), TN_OK);
	tn_writer_free(w);
	begun();
}

/* Shards and a config: digests are computed first, and kept. */
static void checkpoint_scene(void)
{
	begin();
	checkpoint_make("llama-3shards", "in");
	begun();
}

static void end(void)
{
	free((void *)(uintptr_t)expected.ptr);
	assert_int_equal(chdir("/"), 0);
	tempdir_remove(folder);
}

/* ---- Being killed ---- */

/* True when it was killed, false when it came to its end with success. */
static bool killed_at(int n)
{
	int status;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		tn_error err;
		fault_arm(FAULT_ANY, n, 0);
		_exit(convert(&err) == TN_OK ? 0 : 1);
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

/* Nothing but the target stays of the conversion. */
static void expect_done(void)
{
	assert_true(files_equal(TARGET, expected));
	assert_int_equal(files_here(), inputs + 1);
	assert_int_equal(remove(TARGET), 0);
}

static int kill_each(void)
{
	tn_error err;
	int n;
	for (n = 1; n < MANY && killed_at(n); n++) {
		if (files_exist(TARGET))
			assert_true(files_equal(TARGET, expected));
		assert_int_equal(convert(&err), TN_OK);
		expect_done();
	}
	assert_true(n < MANY);
	expect_done();
	return n;
}

static void each_call_of_a_plain_one(void **state)
{
	(void)state;
	plain_scene();
	assert_true(kill_each() > 20);
	end();
}

static void each_call_of_a_checkpoint(void **state)
{
	(void)state;
	checkpoint_scene();
	assert_true(kill_each() > 20);
	end();
}

/* Runs that are all killed come to an end if each goes on where the one before it stopped. */
static void killed_again_and_again(void **state)
{
	int runs = 1, calls = 0;
	(void)state;
	plain_scene();
	while (killed_at(++calls)) { /* how many an undisturbed run has */
		remove(TARGET);
		remove(PARTIAL);
		remove(JOURNAL);
	}
	expect_done();
	while (killed_at(calls - 10))
		assert_true(++runs < 20);
	assert_in_range(runs, 2, 19);
	expect_done();
	end();
}

/* ---- Failing ---- */

static void full_disk(void **state)
{
	tn_error err;
	int failed = 0;
	(void)state;
	plain_scene();
	for (int n = 1; n < MANY; n++) {
		fault_arm(FAULT_WRITE, n, ENOSPC);
		tn_code code = convert(&err);
		fault_disarm();
		if (code == TN_OK && fault.seen < n)
			break;
		if (code != TN_OK) {
			assert_int_equal(code, TN_E_IO);
			assert_int_equal(err.sys, ENOSPC);
			assert_false(files_exist(TARGET));
			assert_true(files_exist(PARTIAL));
			assert_int_equal(convert(&err), TN_OK);
			failed++;
		}
		expect_done();
	}
	assert_true(failed >= 4);
	end();
}

/* Leaves a conversion that lacks only its new name. */
static void interrupt(void)
{
	tn_error err;
	for (int n = 1;; n++) { /* the last renaming of all is the target's */
		assert_true(n < MANY);
		fault_arm(FAULT_RENAME, n, EACCES);
		tn_code code = convert(&err);
		fault_disarm();
		if (code != TN_OK && strstr(err.msg, "rename " TARGET ":") != NULL)
			return;
		if (code == TN_OK)
			assert_int_equal(remove(TARGET), 0);
	}
}

/* The file's time of change is another one then, however coarse the clock. */
static void flip(const char *path, long at)
{
	static int flips;
	flips++;
	const struct timespec when[2] = { { .tv_sec = 1000000 + flips }, { .tv_sec = 1000000 + flips } };
	FILE *f = fopen(path, "r+b");
	assert_non_null(f);
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	int c = fgetc(f);
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	fputc(c ^ 1, f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, when, 0), 0);
}

/* What the disk made of the bytes is noticed where their digests are known, and not again the next time. */
static void damage_of_the_unfinished_file(void **state)
{
	tn_error err;
	(void)state;
	checkpoint_scene();
	interrupt();
	assert_true(files_exist(PLAN));
	flip(PARTIAL, (long)expected.len - 1);
	assert_int_equal(convert(&err), TN_E_CHECKSUM);
	assert_false(files_exist(TARGET));
	assert_int_equal(convert(&err), TN_OK);
	expect_done();
	end();
}

static void tail_of_junk(void **state)
{
	tn_error err;
	(void)state;
	plain_scene();
	interrupt();
	FILE *f = fopen(PARTIAL, "ab");
	fputs("junk", f);
	fclose(f);
	assert_int_equal(convert(&err), TN_OK);
	expect_done();
	end();
}

static void unfinished_file_lost(void **state)
{
	tn_error err;
	(void)state;
	plain_scene();
	interrupt();
	assert_int_equal(remove(PARTIAL), 0);
	assert_int_equal(convert(&err), TN_OK);
	expect_done();
	end();
}

/* A journal that says nothing, and one that is somebody else's. */
static void other_journals(void **state)
{
	tn_error err;
	(void)state;
	checkpoint_scene();
	interrupt();
	files_store(JOURNAL, VIEW("{\"made_by\":"));
	files_store(PLAN, VIEW("{\"schema_version\":1,\"inputs\":[],\"digests\":[]}"));
	assert_int_equal(convert(&err), TN_OK);
	expect_done();
	files_store(JOURNAL, VIEW("{\"schema_version\":1,\"completed_pages\":3}"));
	assert_int_equal(convert(&err), TN_E_USAGE);
	assert_non_null(strstr(err.msg, "journal of another program"));
	assert_int_equal(remove(JOURNAL), 0);
	remove(PLAN);
	end();
}

/* Inputs that are not what they were: what was written of them does not count. */
static void changed_input(void **state)
{
	tn_error err;
	(void)state;
	checkpoint_scene();
	interrupt();
	flip("in/model-00002-of-00003.safetensors", 9000);
	flip("in/model-00002-of-00003.safetensors", 9000);
	assert_int_equal(convert(&err), TN_OK);
	expect_done();
	interrupt();
	flip("in/model-00002-of-00003.safetensors", 9000);
	assert_int_equal(convert(&err), TN_OK);
	assert_false(files_equal(TARGET, expected));
	assert_int_equal(files_here(), inputs + 1);
	end();
}

/* Gives the file times of another one. False where the system's own record of the change is still the old one's: its clock
 * is coarse. */
static bool passes_for(const char *path, const struct stat *old)
{
	const struct timespec when[2] = { old->st_atim, old->st_mtim };
	struct stat now;
	assert_int_equal(utimensat(AT_FDCWD, path, when, 0), 0);
	assert_int_equal(stat(path, &now), 0);
	return now.st_ctim.tv_sec != old->st_ctim.tv_sec || now.st_ctim.tv_nsec != old->st_ctim.tv_nsec;
}

/* Of the same size and time: one that took the place of the other, and one that was changed where it is. */
static void input_that_looks_the_same(void **state)
{
	static const char path[] = "in/model.safetensors";
	tn_error err;
	struct stat old;
	(void)state;
	for (int in_place = 0; in_place < 2; in_place++) {
		plain_scene();
		interrupt();
		assert_int_equal(stat(path, &old), 0);
		tn_view bytes = files_load(path);
		files_store("in/new", bytes);
		free((void *)(uintptr_t)bytes.ptr);
		flip(in_place ? path : "in/new", 500);
		if (!in_place)
			assert_int_equal(rename("in/new", path), 0);
		while (!passes_for(path, &old) && in_place)
			;
		remove("in/new");
		assert_int_equal(convert(&err), TN_OK);
		tn_view got = files_load(TARGET);
		size_t others = 0; /* the flipped byte, and the two digests of its tensor */
		for (size_t i = expected.len - TENSORS * LONG; i < expected.len; i++)
			others += got.ptr[i] != expected.ptr[i];
		assert_int_equal(others, 1);
		free((void *)(uintptr_t)got.ptr);
		end();
	}
}

/* Digests that are not those of the tensors are not kept for ever. */
static void damage_of_the_digests(void **state)
{
	tn_error err;
	(void)state;
	checkpoint_scene();
	interrupt();
	tn_view plan = files_load(PLAN);
	uint8_t *last = (uint8_t *)(uintptr_t)plan.ptr + plan.len - sizeof "\"}]}\n";
	*last = *last == '0' ? '1' : '0';
	files_store(PLAN, plan);
	free((void *)(uintptr_t)plan.ptr);
	assert_int_equal(convert(&err), TN_E_CHECKSUM);
	assert_false(files_exist(PLAN) || files_exist(JOURNAL));
	assert_int_equal(convert(&err), TN_OK);
	expect_done();
	end();
}

/* Whatever allocation fails: no target, nothing lost, and the next run finds its way. */
static void every_allocation(void **state)
{
	tn_error err;
	long n;
	(void)state;
	checkpoint_scene();
	for (n = 1; n < 100 * MANY; n += 1 + n / 100) { /* where each object of an arena is one there are thousands */
		long before = fault_mem.alive;
		fault_mem.fail_at = n;
		tn_code code = convert(&err);
		fault_mem.fail_at = 0;
		assert_int_equal(fault_mem.alive, before);
		if (code == TN_OK)
			break;
		assert_int_equal(code, TN_E_NOMEM);
		assert_false(files_exist(TARGET));
	}
	assert_in_range(n, 20, 100 * MANY - 1);
	expect_done();
	end();
}

static void two_at_once(void **state)
{
	tn_error err;
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	(void)state;
	plain_scene();
	files_store(PARTIAL, VIEW("mine"));
	int fd = open(PARTIAL, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &whole), 0);
	assert_int_equal(convert(&err), TN_E_IO);
	assert_non_null(strstr(err.msg, "lock the unfinished file of " TARGET));
	assert_true(files_equal(PARTIAL, VIEW("mine")));
	close(fd);
	assert_int_equal(convert(&err), TN_OK);
	expect_done();
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_of_a_plain_one),
		cmocka_unit_test(each_call_of_a_checkpoint),
		cmocka_unit_test(killed_again_and_again),
		cmocka_unit_test(full_disk),
		cmocka_unit_test(damage_of_the_unfinished_file),
		cmocka_unit_test(tail_of_junk),
		cmocka_unit_test(unfinished_file_lost),
		cmocka_unit_test(other_journals),
		cmocka_unit_test(changed_input),
		cmocka_unit_test(input_that_looks_the_same),
		cmocka_unit_test(damage_of_the_digests),
		cmocka_unit_test(every_allocation),
		cmocka_unit_test(two_at_once),
	};
	return cmocka_run_group_tests_name("resume", tests, NULL, NULL);
}
