/* paths.c - folders and files that may not be written or read, as somebody who is not root; and files that shrink or
 * change while the library is at work on them. Each in every format. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/view.h"
#include "support/api_kit.h"
#include "support/files.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NOBODY = 65534 };

/* Long enough that its bytes are read in several pieces. */
static void store_model(const char *format)
{
	static uint8_t bytes[3 << 20];
	const uint64_t shape[] = { sizeof bytes };
	const tn_source from = { .kind = TN_SOURCE_MEMORY, .memory = { bytes, sizeof bytes } };
	tn_writer *w = kit_writer(format);
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 251);
	assert_int_equal(tn_writer_add(w, tn_text("t"), TN_I8, 1, shape, 0, &from, NULL), TN_OK);
	tn_view file = kit_save(w);
	files_store("in", file);
	free((void *)(uintptr_t)file.ptr);
	tn_writer_free(w);
}

static void each_format(void (*test)(const char *format))
{
	for (size_t i = 0; i < tn_format_count(); i++) {
		store_model(tn_format_at(i).name);
		test(tn_format_at(i).name);
	}
}

/* ---- Not allowed ---- */

/* Converts in a child that is not root: its answer is the errno of an IO failure, 0 for success. Paths are relative to the
 * current folder, for those above it may be closed to it. */
static int as_nobody(const char *in, const char *out, const char *format, bool in_place)
{
	int status;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		tn_error err;
		tn_file *f;
		const tn_convert_options how = { .format = format, .write = { .in_place = in_place, .no_sync = true, .exact_path = true } };
		if (geteuid() == 0 && setuid(NOBODY) != 0)
			_exit(255);
		tn_code code = tn_open(&f, in, NULL, &err);
		if (code == TN_OK)
			code = tn_convert(f, out, &how, NULL, &err);
		_exit(code == TN_OK ? 0 : code == TN_E_IO ? err.sys : 254);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void read_only_folder(const char *format)
{
	assert_int_equal(mkdir("closed", 0755), 0);
	files_store("closed/out", VIEW("old"));
	assert_int_equal(chmod("closed/out", 0666), 0);
	assert_int_equal(chmod("closed", 0555), 0);
	assert_int_equal(as_nobody("in", "closed/out", format, false), EACCES);
	assert_true(files_equal("closed/out", VIEW("old")));
	assert_int_equal(tempdir_count("closed"), 1);
	assert_int_equal(as_nobody("in", "closed/new", format, false), EACCES);
	assert_int_equal(tempdir_count("closed"), 1);
	/* that the file itself may be written is enough to write it in place */
	assert_int_equal(as_nobody("in", "closed/out", format, true), 0);
	assert_int_equal(chmod("closed", 0755), 0);
	assert_int_equal(unlink("closed/out"), 0);
	assert_int_equal(rmdir("closed"), 0);
}

/* Who may write the folder may replace what is in it; the permissions stay. */
static void read_only_file(const char *format)
{
	struct stat st;
	assert_int_equal(mkdir("open", 0777), 0);
	assert_int_equal(chmod("open", 0777), 0);
	files_store("open/out", VIEW("old"));
	assert_int_equal(chmod("open/out", 0444), 0);
	assert_int_equal(as_nobody("in", "open/out", format, true), EACCES);
	assert_true(files_equal("open/out", VIEW("old")));
	assert_int_equal(as_nobody("in", "open/out", format, false), 0);
	assert_int_equal(stat("open/out", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0444);
	assert_int_equal(tempdir_count("open"), 1);
	assert_int_equal(unlink("open/out"), 0);
	assert_int_equal(rmdir("open"), 0);
}

static void unreadable(const char *format)
{
	assert_int_equal(chmod("in", 0000), 0);
	assert_int_equal(as_nobody("in", "out", format, false), EACCES);
	assert_false(files_exist("out"));
	assert_int_equal(chmod("in", 0644), 0);
}

static void permissions(void **state)
{
	(void)state;
	assert_int_equal(chmod(".", 0755), 0);
	each_format(read_only_folder);
	each_format(read_only_file);
	each_format(unreadable);
}

/* ---- Shrinking ---- */

enum { DONE, TOLD, BUS, OTHER };

struct cut {
	uint64_t len;
	bool     done;
};

static bool cut_now(void *ctx, uint64_t done, uint64_t total)
{
	struct cut *c = ctx;
	(void)total;
	if (!c->done && done > 0)
		c->done = truncate("in", (off_t)c->len) == 0;
	return true;
}

static void on_bus(int number)
{
	(void)number;
	_exit(BUS);
}

/* The file is cut when the work has begun. */
static int cut_during(tn_io io, uint64_t len, int what, const char *format)
{
	int status;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct cut c = { .len = len };
		const tn_open_options how = { .io = io };
		const tn_work work = { .threads = 1, .progress = cut_now, .ctx = &c };
		const tn_convert_options to = { .format = format, .write = { .no_sync = true, .work = work } };
		tn_digest total;
		tn_error err;
		tn_file *f;
		signal(SIGBUS, on_bus);
		if (tn_open(&f, "in", &how, &err) != TN_OK)
			_exit(OTHER);
		tn_code code = what == 0 ? tn_hash(f, &work, NULL, &total, &err) : tn_convert(f, "out.x", &to, NULL, &err);
		_exit(code == TN_OK ? DONE : code == TN_E_TRUNCATED || code == TN_E_IO ? TOLD : OTHER);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Bytes in bulk are read by position, whatever the way: an error, not a signal, and no target. */
static void shrink(const char *format)
{
	static const tn_io ways[] = { TN_IO_AUTO, TN_IO_MMAP, TN_IO_PREAD };
	for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
		for (int what = 0; what < 2; what++) {
			store_model(format);
			int end = cut_during(ways[w], 1 << 20, what, format);
			if (end != TOLD && !(what == 1 && end == DONE)) /* the system may copy all of it in one call */
				fail_msg("%s: %s through way %d: ends as %d", format, what == 0 ? "hashed" : "converted", (int)ways[w], end);
			if (end != DONE)
				assert_false(files_exist("out.x"));
			unlink("out.x");
		}
}

static void shrinking(void **state)
{
	(void)state;
	each_format(shrink);
}

/* Bytes that are borrowed lie in the map, and are gone with the file: that is the promise of TN_IO_MMAP. */
static void borrowed_bytes_raise_a_signal(void **state)
{
	(void)state;
	for (int mapped = 0; mapped < 2; mapped++) {
		int status;
		store_model("safetensors");
		pid_t child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			const tn_open_options how = { .io = mapped ? TN_IO_MMAP : TN_IO_PREAD };
			tn_view bytes;
			tn_file *f;
			signal(SIGBUS, on_bus);
			if (tn_open(&f, "in", &how, NULL) != TN_OK)
				_exit(OTHER);
			if (tn_bytes(f, 0, &bytes, NULL) != TN_OK)
				_exit(TOLD); /* nothing is borrowed without a map */
			if (truncate("in", 4096) != 0)
				_exit(OTHER);
			volatile uint8_t last = bytes.ptr[bytes.len - 1];
			(void)last;
			_exit(DONE);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), mapped ? BUS : TOLD);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(permissions, tempdir_enter, tempdir_leave),
		cmocka_unit_test_setup_teardown(shrinking, tempdir_enter, tempdir_leave),
		cmocka_unit_test_setup_teardown(borrowed_bytes_raise_a_signal, tempdir_enter, tempdir_leave),
	};
	return cmocka_run_group_tests_name("paths", tests, NULL, NULL);
}
