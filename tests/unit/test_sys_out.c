/* test_sys_out.c - output files: names, permissions, links, special targets, writing in place. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/files.h"
#include "sys/out.h"

#include <cmocka.h>

static tn_code save(const char *path, bool in_place, tn_view bytes, tn_error *err)
{
	struct sys_out out;
	err_clear(err);
	if (sys_out_open(&out, path, in_place, true, bytes.len, NULL, 0, err) != TN_OK) {
		assert_int_equal(out.fd, -1);
		assert_null(out.target);
		return err->code;
	}
	sys_out_write(&out, bytes.ptr, bytes.len, err);
	tn_code code = sys_out_commit(&out, err);
	sys_out_abandon(&out); /* harmless after commit */
	return code;
}

static void saves(const char *path, const char *text)
{
	tn_error err;
	tn_view bytes = { (const uint8_t *)text, strlen(text) };
	assert_int_equal(save(path, false, bytes, &err), TN_OK);
	assert_true(files_equal(path, bytes));
}

static unsigned mode_of(const char *path)
{
	struct stat st;
	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

static void new_file_obeys_umask(void **state)
{
	(void)state;
	mode_t old = umask(0027);
	saves("new", "hello");
	umask(0077);
	saves("secret", "hello");
	umask(old);
	assert_int_equal(mode_of("new"), 0640);
	assert_int_equal(mode_of("secret"), 0600);
	assert_int_equal(tempdir_count("."), 2);
}

static void target_keeps_mode(void **state)
{
	static const mode_t modes[] = { 0600, 0644, 0666, 0777, 0440, 0404 };
	(void)state;
	mode_t old = umask(0022);
	for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
		files_store("kept", VIEW("old"));
		assert_int_equal(chmod("kept", modes[i]), 0);
		saves("kept", "new");
		assert_int_equal(mode_of("kept"), modes[i]);
		unlink("kept");
	}
	umask(old);
}

/* What is written over a private file is not readable to others at any moment. */
static void temp_of_private_target_is_private(void **state)
{
	struct sys_out out;
	tn_error err;
	(void)state;
	err_clear(&err);
	files_store("private", VIEW("old"));
	assert_int_equal(chmod("private", 0600), 0);
	assert_int_equal(sys_out_open(&out, "private", false, false, 0, NULL, 0, &err), TN_OK);
	assert_int_equal(mode_of(out.temp), 0600);
	sys_out_abandon(&out);
}

static void target_keeps_owner(void **state)
{
	struct stat st;
	(void)state;
	if (geteuid() != 0)
		skip(); /* only root may give files away */
	files_store("owned", VIEW("old"));
	assert_int_equal(chown("owned", 1234, 4321), 0);
	saves("owned", "new");
	assert_int_equal(stat("owned", &st), 0);
	assert_int_equal(st.st_uid, 1234);
	assert_int_equal(st.st_gid, 4321);
}

static void temp_name(void **state)
{
	struct sys_out a, b;
	char expected[64];
	tn_error err;
	(void)state;
	err_clear(&err);
	assert_int_equal(sys_out_open(&a, "model.bpk", false, false, 0, NULL, 0, &err), TN_OK);
	assert_int_equal(sys_out_open(&b, "model.bpk", false, false, 0, NULL, 0, &err), TN_OK);
	snprintf(expected, sizeof expected, "model.bpk.%ld-0.tmp", (long)getpid());
	assert_string_equal(a.temp, expected);
	snprintf(expected, sizeof expected, "model.bpk.%ld-1.tmp", (long)getpid());
	assert_string_equal(b.temp, expected);
	assert_false(files_exist("model.bpk"));
	assert_int_equal(tempdir_count("."), 2);
	assert_int_equal(sys_out_write(&a, "a", 1, &err), TN_OK);
	assert_int_equal(sys_out_write(&b, "b", 1, &err), TN_OK);
	assert_int_equal(sys_out_commit(&b, &err), TN_OK);
	sys_out_abandon(&a);
	assert_true(files_equal("model.bpk", VIEW("b")));
	assert_int_equal(tempdir_count("."), 1);
}

static void longest_name(void **state)
{
	char name[256];
	(void)state;
	memset(name, 'n', 255);
	name[255] = '\0';
	saves(name, "long");
	memcpy(name + 200, "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 16);
	saves(name, "long");
	assert_int_equal(tempdir_count("."), 2);
}

static void in_other_folder(void **state)
{
	char *path = files_join(*state, "there");
	assert_int_equal(mkdir("sub", 0777), 0);
	saves("sub/file", "sub");
	saves("./sub/../dot", "dot");
	saves(path, "absolute");
	free(path);
}

static bool is_link(const char *path)
{
	struct stat st;
	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static void links_are_followed(void **state)
{
	(void)state;
	assert_int_equal(mkdir("a", 0777), 0);
	assert_int_equal(mkdir("b", 0777), 0);
	files_store("b/real", VIEW("old"));
	assert_int_equal(symlink("../b/middle", "a/link"), 0);
	assert_int_equal(symlink("real", "b/middle"), 0);
	saves("a/link", "through two links");
	assert_true(is_link("a/link") && is_link("b/middle") && !is_link("b/real"));
	assert_true(files_equal("b/real", VIEW("through two links")));
	assert_int_equal(tempdir_count("a"), 1);
	assert_int_equal(tempdir_count("b"), 2);
}

static void dangling_link_is_filled(void **state)
{
	char *absolute = files_join(*state, "b/made");
	tn_error err;
	assert_int_equal(mkdir("b", 0777), 0);
	assert_int_equal(symlink(absolute, "link"), 0);
	free(absolute);
	saves("link", "made");
	assert_true(is_link("link") && !is_link("b/made"));
	assert_true(files_equal("b/made", VIEW("made")));

	assert_int_equal(symlink("nowhere/at/all", "lost"), 0);
	assert_int_equal(save("lost", false, VIEW("x"), &err), TN_E_IO);
	assert_int_equal(err.sys, ENOENT);
}

static void link_loop(void **state)
{
	tn_error err;
	(void)state;
	assert_int_equal(symlink("y", "x"), 0);
	assert_int_equal(symlink("x", "y"), 0);
	assert_int_equal(save("x", false, VIEW("x"), &err), TN_E_IO);
	assert_int_equal(err.sys, ELOOP);
	assert_int_equal(tempdir_count("."), 2);
}

static void refused_targets(void **state)
{
	tn_error err;
	(void)state;
	assert_int_equal(mkdir("folder", 0777), 0);
	assert_int_equal(symlink("folder", "link"), 0);
	static const char *const folders[] = { "folder", "folder/", "link", ".", ".." };
	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
		assert_int_equal(save(folders[i], i % 2 == 0, VIEW("x"), &err), TN_E_USAGE);
		assert_non_null(strstr(err.msg, "is a directory"));
	}
	assert_int_equal(save("", false, VIEW("x"), &err), TN_E_USAGE);
	assert_int_equal(save("none/", false, VIEW("x"), &err), TN_E_USAGE);
	assert_non_null(strstr(err.msg, "no file name"));
	assert_int_equal(save("none/file", false, VIEW("x"), &err), TN_E_IO);
	assert_int_equal(err.sys, ENOENT);
	assert_non_null(strstr(err.msg, "create none/file"));
	files_store("file", VIEW("old"));
	assert_int_equal(save("file/below", false, VIEW("x"), &err), TN_E_IO);
	assert_int_equal(err.sys, ENOTDIR);
	assert_int_equal(tempdir_count("."), 3);
}

static void no_space(void **state)
{
	struct sys_out out;
	tn_error err;
	(void)state;
	files_store("old", VIEW("old"));
	for (int in_place = 0; in_place < 2; in_place++) {
		err_clear(&err);
		assert_int_equal(sys_out_open(&out, "old", in_place, true, INT64_MAX, NULL, 0, &err), TN_E_IO);
		assert_int_equal(err.sys, ENOSPC);
		assert_non_null(strstr(err.msg, "save 9223372036854775807 bytes"));
		err_clear(&err);
		assert_int_equal(sys_out_open(&out, "new", in_place, true, INT64_MAX, NULL, 0, &err), TN_E_IO);
		assert_int_equal(err.sys, ENOSPC);
	}
	assert_true(files_equal("old", VIEW("old")));
	assert_int_equal(tempdir_count("."), 1);
}

static void fifo(void **state)
{
	struct sys_out out;
	struct stat st;
	tn_error err;
	char got[16] = "";
	(void)state;
	err_clear(&err);
	assert_int_equal(mkfifo("fifo", 0666), 0);
	int reader = open("fifo", O_RDONLY | O_NONBLOCK);
	assert_int_equal(sys_out_open(&out, "fifo", false, true, INT64_MAX, NULL, 0, &err), TN_OK);
	assert_int_equal(sys_out_write(&out, "through", 7, &err), TN_OK);
	assert_int_equal(sys_out_commit(&out, &err), TN_OK); /* that it cannot be synced is no failure */
	assert_int_equal(read(reader, got, sizeof got), 7);
	assert_string_equal(got, "through");

	assert_int_equal(sys_out_open(&out, "fifo", false, true, 0, NULL, 0, &err), TN_OK);
	assert_int_equal(sys_out_patch(&out, 0, "x", 1, &err), TN_E_USAGE);
	assert_non_null(strstr(err.msg, "cannot go back"));
	sys_out_abandon(&out);
	close(reader);
	assert_int_equal(stat("fifo", &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(tempdir_count("."), 1);
}

static void device(void **state)
{
	tn_error err;
	(void)state;
	assert_int_equal(save("/dev/null", false, VIEW("gone"), &err), TN_OK);
	assert_int_equal(symlink("/dev/null", "null"), 0);
	assert_int_equal(save("null", true, VIEW("gone"), &err), TN_OK);
	assert_true(is_link("null"));
	if (access("/dev/full", W_OK) == 0) {
		assert_int_equal(save("/dev/full", false, VIEW("gone"), &err), TN_E_IO);
		assert_int_equal(err.sys, ENOSPC);
		assert_non_null(strstr(err.msg, "write /dev/full"));
	}
}

static void in_place_keeps_the_file(void **state)
{
	struct stat before, after;
	tn_error err;
	(void)state;
	files_store("file", VIEW("old and much longer"));
	assert_int_equal(link("file", "twin"), 0);
	assert_int_equal(stat("file", &before), 0);
	assert_int_equal(save("file", true, VIEW("new"), &err), TN_OK);
	assert_int_equal(stat("file", &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_true(files_equal("twin", VIEW("new")));
	assert_int_equal(tempdir_count("."), 2);
}

static void in_place_abandoned(void **state)
{
	struct sys_out out;
	tn_error err;
	(void)state;
	err_clear(&err);
	files_store("file", VIEW("old"));
	assert_int_equal(sys_out_open(&out, "file", true, false, 0, NULL, 0, &err), TN_OK);
	assert_int_equal(sys_out_write(&out, "ne", 2, &err), TN_OK);
	sys_out_abandon(&out);
	assert_true(files_equal("file", VIEW("")));

	assert_int_equal(sys_out_open(&out, "new", true, false, 0, NULL, 0, &err), TN_OK);
	assert_int_equal(sys_out_write(&out, "ne", 2, &err), TN_OK);
	assert_true(files_equal("new", VIEW("ne")));
	sys_out_abandon(&out);
	assert_false(files_exist("new"));

	assert_int_equal(save("new", true, VIEW("new"), &err), TN_OK);
	assert_true(files_equal("new", VIEW("new")));
}

/* Under whatever name: a hard link is the same file. */
static void input_is_not_written_in_place(void **state)
{
	struct sys_file other, input;
	const struct sys_file *inputs[] = { &other, &input };
	struct sys_out out;
	tn_error err;
	(void)state;
	err_clear(&err);
	files_store("other", VIEW("other"));
	files_store("input", VIEW("input"));
	assert_int_equal(link("input", "hard"), 0);
	assert_int_equal(symlink("input", "soft"), 0);
	assert_int_equal(sys_file_open(&other, "other", TN_IO_AUTO, &err), TN_OK);
	assert_int_equal(sys_file_open(&input, "input", TN_IO_AUTO, &err), TN_OK);
	static const char *const names[] = { "input", "hard", "soft" };
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		err_clear(&err);
		assert_int_equal(sys_out_open(&out, names[i], true, true, 1, inputs, 2, &err), TN_E_USAGE);
		assert_non_null(strstr(err.msg, "output is also an input"));
		assert_true(files_equal("input", VIEW("input")));
	}
	/* a rename takes nothing away from who has the old file open */
	err_clear(&err);
	assert_int_equal(sys_out_open(&out, "input", false, true, 1, inputs, 2, &err), TN_OK);
	assert_int_equal(sys_out_write(&out, "new", 3, &err), TN_OK);
	assert_int_equal(sys_out_commit(&out, &err), TN_OK);
	assert_true(files_equal("input", VIEW("new")));
	assert_memory_equal(input.map.ptr, "input", 5);
	sys_file_close(&input);
	sys_file_close(&other);
}

static void copies(void **state)
{
	enum { N = 300000, FROM = 12345 };
	struct sys_file f;
	struct sys_out out;
	uint64_t moved;
	tn_error err;
	uint8_t *bytes = malloc(N);
	(void)state;
	err_clear(&err);
	for (size_t i = 0; i < N; i++)
		bytes[i] = (uint8_t)(i ^ i >> 8);
	files_store("from", (tn_view){ bytes, N });
	assert_int_equal(sys_file_open(&f, "from", TN_IO_PREAD, &err), TN_OK);
	assert_int_equal(sys_out_open(&out, "to", false, false, 0, NULL, 0, &err), TN_OK);
	assert_int_equal(sys_out_copy(&out, &f, FROM, N - FROM, &moved, &err), TN_OK);
	assert_in_range(moved, 0, N - FROM); /* as much as this file system can */
	assert_int_equal(sys_out_write(&out, bytes + FROM + moved, (size_t)(N - FROM - moved), &err), TN_OK);
	assert_int_equal(sys_out_commit(&out, &err), TN_OK);
	assert_true(files_equal("to", (tn_view){ bytes + FROM, N - FROM }));

	/* past the end nothing moves, and that is for the reader to tell */
	assert_int_equal(sys_out_open(&out, "to", false, false, 0, NULL, 0, &err), TN_OK);
	assert_int_equal(sys_out_copy(&out, &f, N, 10, &moved, &err), TN_OK);
	assert_int_equal(moved, 0);
	sys_out_abandon(&out);
	sys_file_close(&f);
	free(bytes);
}

static void patches(void **state)
{
	struct sys_out out;
	tn_error err;
	(void)state;
	err_clear(&err);
	assert_int_equal(sys_out_open(&out, "file", false, false, 0, NULL, 0, &err), TN_OK);
	assert_int_equal(sys_out_write(&out, "0123456789", 10, &err), TN_OK);
	assert_int_equal(sys_out_patch(&out, 3, "abc", 3, &err), TN_OK);
	assert_int_equal(sys_out_write(&out, "!", 1, &err), TN_OK);
	assert_int_equal(sys_out_commit(&out, &err), TN_OK);
	assert_true(files_equal("file", VIEW("012abc6789!")));
}

static void failure_is_not_committed(void **state)
{
	struct sys_out out;
	tn_error err;
	(void)state;
	files_store("file", VIEW("old"));
	err_clear(&err);
	assert_int_equal(sys_out_open(&out, "file", false, true, 0, NULL, 0, &err), TN_OK);
	assert_int_equal(sys_out_write(&out, "new", 3, &err), TN_OK);
	err_set(&err, TN_E_CORRUPT, TN_NO_OFFSET, "something else");
	assert_int_equal(sys_out_commit(&out, &err), TN_E_CORRUPT);
	assert_true(files_equal("file", VIEW("old")));
	assert_int_equal(tempdir_count("."), 1);
}

/* As in a signal handler, in a process that then ends. */
static void abandon_all(void **state)
{
	int status;
	(void)state;
	files_store("a", VIEW("old"));
	pid_t child = fork();
	if (child == 0) {
		struct sys_out a, b, c;
		tn_error err;
		err_clear(&err);
		bool ok = sys_out_open(&a, "a", false, false, 0, NULL, 0, &err) == TN_OK
		       && sys_out_open(&b, "b", false, false, 0, NULL, 0, &err) == TN_OK
		       && sys_out_open(&c, "c", true, false, 0, NULL, 0, &err) == TN_OK;
		ok = ok && tempdir_count(".") == 4;
		sys_out_abandon_all();
		ok = ok && tempdir_count(".") == 1;
		sys_out_abandon_all();
		sys_out_abandon(&a);
		if (ok)
			kill(getpid(), SIGKILL); /* what abandons all is about to be ended by a signal, and frees nothing */
		_exit(1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_true(files_equal("a", VIEW("old")));
	assert_int_equal(tempdir_count("."), 1);
}

/* More outputs at once than the handler can know of work none the less. */
static void many_at_once(void **state)
{
	enum { N = 70 };
	static struct sys_out out[N];
	tn_error err;
	char name[16];
	(void)state;
	err_clear(&err);
	for (int i = 0; i < N; i++) {
		snprintf(name, sizeof name, "out%d", i);
		assert_int_equal(sys_out_open(&out[i], name, false, false, 0, NULL, 0, &err), TN_OK);
	}
	for (int i = 0; i < N; i++)
		if (i % 2 == 0)
			assert_int_equal(sys_out_commit(&out[i], &err), TN_OK);
		else
			sys_out_abandon(&out[i]);
	assert_int_equal(tempdir_count("."), N / 2);
}

static void read_only_folder(void **state)
{
	int status;
	(void)state;
	assert_int_equal(mkdir("closed", 0755), 0);
	files_store("closed/file", VIEW("old"));
	assert_int_equal(chmod("closed", 0555), 0);
	assert_int_equal(chmod(".", 0755), 0);
	pid_t child = fork();
	if (child == 0) {
		tn_error err;
		if (geteuid() == 0 && setuid(65534) != 0)
			_exit(77);
		bool ok = save("closed/file", false, VIEW("new"), &err) == TN_E_IO && err.sys == EACCES
		       && strstr(err.msg, "create closed/file") != NULL;
		_exit(ok ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(chmod("closed", 0755), 0);
	assert_true(files_equal("closed/file", VIEW("old")));
	assert_int_equal(tempdir_count("closed"), 1);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, tempdir_enter, tempdir_leave)

/* ---- Going on ---- */

/* The library's renaming passes here. */
static void (*before_rename)(const char *from);
static bool lock_was_free;

static void try_lock(const char *from)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(from, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	lock_was_free = fcntl(fd, F_OFD_SETLK, &whole) == 0;
	close(fd);
}

int rename(const char *from, const char *to)
{
	if (before_rename != NULL)
		before_rename(from);
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static tn_code resume(const char *path, uint64_t want, uint64_t *have, const char *text, bool finish)
{
	struct sys_out out;
	tn_error err;
	err_clear(&err);
	*have = want;
	if (sys_out_resume(&out, path, true, 100, have, &err) != TN_OK) {
		assert_int_equal(out.fd, -1);
		return err.code;
	}
	assert_int_equal(sys_out_write(&out, text, strlen(text), &err), TN_OK);
	assert_int_equal(sys_out_sync(&out, &err), TN_OK);
	if (finish)
		return sys_out_commit(&out, &err);
	sys_out_abandon(&out);
	return TN_OK;
}

static void resumes(void **state)
{
	uint64_t have;
	(void)state;
	saves("model", "old");
	assert_int_equal(resume("model", 0, &have, "hello", false), TN_OK);
	assert_true(files_equal("model", VIEW("old")));
	assert_true(files_equal(".model.partial", VIEW("hello")));
	sys_out_abandon_all();
	assert_int_equal(resume("model", 3, &have, "p!", false), TN_OK);
	assert_int_equal(have, 3);
	assert_true(files_equal(".model.partial", VIEW("help!")));
	assert_int_equal(resume("./model", 6, &have, "short", false), TN_OK); /* more than there is: none of it counts */
	assert_int_equal(have, 0);
	assert_true(files_equal(".model.partial", VIEW("short")));
	assert_int_equal(resume("model", 5, &have, "er", true), TN_OK);
	assert_true(files_equal("model", VIEW("shorter")));
	assert_int_equal(tempdir_count("."), 1);
}

/* Another run that comes just before the file gets its name cannot take it, and just after it finds another file. */
static void locked_until_it_has_its_name(void **state)
{
	uint64_t have;
	(void)state;
	lock_was_free = true;
	before_rename = try_lock;
	assert_int_equal(resume("model", 0, &have, "hello", true), TN_OK);
	before_rename = NULL;
	assert_false(lock_was_free);
	assert_int_equal(resume("model", 0, &have, "again", true), TN_OK);
	assert_int_equal(tempdir_count("."), 1);
}

static void resumes_beside_what_a_link_names(void **state)
{
	uint64_t have;
	(void)state;
	assert_int_equal(mkdir("real", 0777), 0);
	assert_int_equal(symlink("real/model", "link"), 0);
	assert_int_equal(resume("link", 0, &have, "ab", false), TN_OK);
	assert_true(files_equal("real/.model.partial", VIEW("ab")));
	assert_int_equal(resume("link", 2, &have, "c", true), TN_OK);
	assert_true(files_equal("real/model", VIEW("abc")));
}

/* What a run that was killed leaves has the permissions of the target, perhaps too few to go on with. */
static void resumes_for_a_target_that_is_read_only(void **state)
{
	int status;
	(void)state;
	assert_int_equal(chmod(".", 0777), 0);
	pid_t child = fork();
	if (child == 0) {
		uint64_t have;
		if (geteuid() == 0 && setuid(65534) != 0)
			_exit(77);
		files_store("model", VIEW("old"));
		bool ok = chmod("model", 0444) == 0 && resume("model", 0, &have, "ab", false) == TN_OK &&
		          mode_of(".model.partial") == 0444 && resume("model", 2, &have, "c", false) == TN_OK && have == 2 &&
		          chmod(".model.partial", 0444) == 0 && resume("model", 3, &have, "d", true) == TN_OK &&
		          files_equal("model", VIEW("abcd")) && mode_of("model") == 0444;
		_exit(ok ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

static void refuses_to_resume(void **state)
{
	uint64_t have;
	(void)state;
	assert_int_equal(resume("/dev/null", 0, &have, "", true), TN_E_USAGE);
	assert_int_equal(resume(".", 0, &have, "", true), TN_E_USAGE);
	assert_int_equal(resume("none/model", 0, &have, "", true), TN_E_IO);
	assert_int_equal(mkdir(".model.partial", 0777), 0);
	assert_int_equal(resume("model", 0, &have, "", true), TN_E_IO);
	assert_int_equal(tempdir_count("."), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_FOLDER(new_file_obeys_umask),
		IN_FOLDER(target_keeps_mode),
		IN_FOLDER(temp_of_private_target_is_private),
		IN_FOLDER(target_keeps_owner),
		IN_FOLDER(temp_name),
		IN_FOLDER(longest_name),
		IN_FOLDER(in_other_folder),
		IN_FOLDER(links_are_followed),
		IN_FOLDER(dangling_link_is_filled),
		IN_FOLDER(link_loop),
		IN_FOLDER(refused_targets),
		IN_FOLDER(no_space),
		IN_FOLDER(fifo),
		IN_FOLDER(device),
		IN_FOLDER(in_place_keeps_the_file),
		IN_FOLDER(in_place_abandoned),
		IN_FOLDER(input_is_not_written_in_place),
		IN_FOLDER(copies),
		IN_FOLDER(patches),
		IN_FOLDER(failure_is_not_committed),
		IN_FOLDER(abandon_all),
		IN_FOLDER(many_at_once),
		IN_FOLDER(read_only_folder),
		IN_FOLDER(resumes),
		IN_FOLDER(locked_until_it_has_its_name),
		IN_FOLDER(resumes_beside_what_a_link_names),
		IN_FOLDER(resumes_for_a_target_that_is_read_only),
		IN_FOLDER(refuses_to_resume),
	};
	return cmocka_run_group_tests_name("sys_out", tests, NULL, NULL);
}
