/* commands.c - everything that writes, in every format, while each allocation fails in turn, each system call fails in turn,
 * and the process is killed before each of them.
 *
 * What is promised of each: the files are as they were, or as the work leaves them when nothing disturbs it; and nothing is
 * left beside them but, when it was killed, what is named as a temporary file. Work that makes several files may be cut
 * off between two of them when it is killed: each is whole, and an index never names what is not there. */
#define FAULT_NO_DISK
#include "support/fault_calls.h" /* first: it chooses the width of file offsets */

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/view.h"
#include "support/api_kit.h"
#include "support/checkpoint_kit.h"
#include "support/fault_mem.h"
#include "support/files.h"
#include "support/sanitized.h"
#include "support/snapshot.h"

#include <sys/wait.h>

#include <cmocka.h>

enum { MANY = 100000 };

static unsigned long played; /* faults so far */

static const char *format; /* that the work at hand is done in */

static const tn_write_options quiet = { .work.threads = 1 };

/* ---- Files to begin with ---- */

static const char *named(const char *stem)
{
	static char name[64];
	tn_format f;
	tn_format_find(format, &f);
	snprintf(name, sizeof name, "%s.%.*s", stem, (int)strcspn(f.extensions, ","), f.extensions);
	return name;
}

static void store(const char *path, tn_view bytes)
{
	files_store(path, bytes);
	free((void *)(uintptr_t)bytes.ptr);
}

/* Types that every format has. */
static tn_view model_in(const char *name)
{
	tn_writer *w = kit_writer(name);
	kit_add(w, "matrix", TN_F32, 2, (uint64_t[]){ 2, 3 }, 1);
	kit_add(w, "line", TN_I8, 1, (uint64_t[]){ 700 }, 2);
	kit_add(w, "halves", TN_F16, 2, (uint64_t[]){ 40, 4 }, 3);
	assert_int_equal(tn_put_string(w, tn_writer_metadata(w), tn_text("a"), tn_text("1"), NULL), TN_OK);
	assert_int_equal(tn_put_string(w, tn_writer_metadata(w), tn_text("b"), tn_text("two"), NULL), TN_OK);
	tn_view bytes = kit_save(w);
	tn_writer_free(w);
	return bytes;
}

static void begin_file(void)
{
	store(named("in"), model_in(format));
	files_store("OUT", VIEW("the old file, which took a week to train"));
}

static void begin_foreign(void)
{
	store("in", model_in(strcmp(format, "safetensors") != 0 ? "safetensors" : "burnpack"));
	files_store("OUT", VIEW("the old file, which took a week to train"));
}

static void make_set(void)
{
	tn_view bytes = model_in(format);
	tn_file *f = kit_open(bytes);
	const tn_split_options how = { .max_tensors = 2, .write = quiet };
	tn_shards *shards;
	tn_error err;
	if (tn_split(f, "set", &how, &shards, &err) != TN_OK)
		fail_msg("%s", err.msg);
	tn_shards_free(shards);
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

static void begin_set(void)
{
	make_set();
	files_store("OUT", VIEW("the old file, which took a week to train"));
}

static void begin_tail(void)
{
	tn_view bytes = model_in(format);
	FILE *f = fopen(named("in"), "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes.ptr, 1, bytes.len, f), bytes.len);
	fputs("a tail of junk", f);
	fclose(f);
	free((void *)(uintptr_t)bytes.ptr);
	files_store("OUT", VIEW("the old file, which took a week to train"));
}

static void begin_checkpoint(void)
{
	assert_int_equal(mkdir("in", 0777), 0);
	checkpoint_make("llama-3shards", "in");
	files_store("OUT", VIEW("the old file, which took a week to train"));
}

static void begin_pages(void)
{
	tn_unpack_options how = { .no_sync = true };
	begin_file();
	tn_view bytes = files_load(named("in"));
	tn_file *f = kit_open(bytes);
	assert_int_equal(tn_thin_unpack(f, "parts", &how, NULL, NULL), TN_OK);
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

/* ---- Work ---- */

static tn_code convert_from(const char *in, const char *out, const tn_convert_options *how, tn_error *err)
{
	tn_file *f;
	if (tn_open(&f, in, NULL, err) != TN_OK)
		return err->code;
	tn_code code = tn_convert(f, out, how, NULL, err);
	tn_close(f);
	return code;
}

static tn_code convert_with(const char *in, tn_write_options write, bool resume, tn_error *err)
{
	const tn_convert_options how = { .format = format, .write = write, .resume = resume };
	tn_convert_options exact = how;
	exact.write.exact_path = true;
	exact.write.work.threads = 1;
	return convert_from(in, "OUT", &exact, err);
}

static tn_code do_convert(tn_error *err) { return convert_with("in", quiet, false, err); }
static tn_code do_resume(tn_error *err) { return convert_with("in", quiet, true, err); }
static tn_code do_merge(tn_error *err) { return convert_with("set", quiet, false, err); }
static tn_code do_checkpoint(tn_error *err) { return convert_with("in", quiet, false, err); }
static tn_code do_lz4(tn_error *err) { return convert_with("in", (tn_write_options){ .compress = TN_COMPRESS_LZ4 }, false, err); }
static tn_code do_zstd(tn_error *err) { return convert_with("in", (tn_write_options){ .compress = TN_COMPRESS_ZSTD }, false, err); }

static tn_code do_over_itself(tn_error *err)
{
	static const char *const set[] = { "note", "over itself", NULL };
	const tn_convert_options how = { .write = quiet, .set = set };
	return convert_from(named("in"), named("in"), &how, err);
}

static tn_code update(const char *value, bool in_place, bool patched, tn_error *err)
{
	tn_file *f;
	tn_writer *w;
	bool was = !patched;
	if (tn_open(&f, named("in"), NULL, err) != TN_OK)
		return err->code;
	if (tn_writer_of(&w, f, &quiet, err) == TN_OK) {
		if (tn_put_string(w, tn_writer_metadata(w), tn_text("b"), tn_text(value), err) == TN_OK &&
		    tn_writer_update(w, in_place, &was, err) == TN_OK)
			assert_true(was == patched);
		tn_writer_free(w);
	}
	tn_close(f);
	return err->code;
}

static tn_code do_rewrite(tn_error *err) { return update("much longer than it was before, so that it does not fit", false, false, err); }
static tn_code do_patch(tn_error *err) { return update("TWO", true, true, err); }

static tn_code do_split(tn_error *err)
{
	const tn_split_options how = { .max_tensors = 1, .write = quiet };
	tn_shards *shards;
	tn_file *f;
	if (tn_open(&f, named("in"), NULL, err) != TN_OK)
		return err->code;
	tn_code code = tn_split(f, "out", &how, &shards, err);
	tn_shards_free(shards);
	tn_close(f);
	return code;
}

static tn_code do_rebuild(tn_error *err)
{
	tn_report *report;
	tn_code code = tn_rebuild_index("set", "index.json", NULL, &quiet, &report, err);
	tn_report_free(report);
	return code;
}

static tn_code do_repair(tn_error *err)
{
	tn_report *report;
	tn_write_options exact = quiet;
	exact.exact_path = true;
	tn_code code = tn_repair(named("in"), "OUT", NULL, &exact, &report, err);
	tn_report_free(report);
	return code;
}

static tn_code do_stamp(tn_error *err)
{
	const tn_apr_stamp stamp = { .license = "MIT", .data_source = "a source" };
	tn_write_options exact = quiet;
	tn_file *f;
	exact.exact_path = true;
	if (tn_open(&f, named("in"), NULL, err) != TN_OK)
		return err->code;
	tn_code code = tn_apr_stamp_file(f, "OUT", &stamp, &exact, NULL, err);
	tn_close(f);
	return code;
}

static tn_code do_pack(tn_error *err)
{
	return tn_thin_pack("parts/manifest.json", "parts/pages", "OUT", &quiet, NULL, NULL, err);
}

static tn_code thin_work(bool unpack, bool zstd, tn_error *err)
{
	const tn_unpack_options how = { .work.threads = 1 };
	const tn_repack_options to = { .layout = TN_THIN_HOT, .zstd = zstd, .write = { .exact_path = true, .work.threads = 1 } };
	tn_file *f;
	if (tn_open(&f, named("in"), NULL, err) != TN_OK)
		return err->code;
	tn_code code = unpack ? tn_thin_unpack(f, "out", &how, NULL, err) : tn_thin_repack(f, "OUT", &to, NULL, NULL, err);
	tn_close(f);
	return code;
}

static tn_code do_unpack(tn_error *err) { return thin_work(true, false, err); }
static tn_code do_repack(tn_error *err) { return thin_work(false, false, err); }
static tn_code do_repack_zstd(tn_error *err) { return thin_work(false, true, err); }

/* ---- Work that writes nothing ---- */

/* The calls of the second half do not go on after a failure of the first. */
static tn_code read_all(const char *path, tn_error *err)
{
	const tn_verify_options deep = { .deep = true, .work.threads = 1 };
	const tn_work alone = { .threads = 1 };
	tn_report *report = NULL;
	tn_digest total;
	tn_map *map = NULL;
	tn_pages *pages = NULL;
	tn_file *f;
	if (tn_open(&f, path, NULL, err) != TN_OK)
		return err->code;
	if (tn_hash(f, &alone, NULL, &total, err) == TN_OK && tn_map_new(&map, f, err) == TN_OK &&
	    tn_pages_open(&pages, f, NULL, err) == TN_OK && tn_verify(f, &deep, &report, err) == TN_OK)
		assert_int_equal(tn_report_of(report, TN_ERROR), 0);
	tn_report_free(report);
	tn_pages_close(pages);
	tn_map_free(map);
	tn_close(f);
	return err->code;
}

static tn_code do_read(tn_error *err) { return read_all(named("in"), err); }
static tn_code do_read_set(tn_error *err) { return read_all("set", err); }

static tn_code do_plan(tn_error *err)
{
	static const tn_plan_options how = { .vram = 1 << 20 };
	tn_file *f;
	tn_estimate *e;
	if (tn_open(&f, named("in"), NULL, err) != TN_OK)
		return err->code;
	for (int kind = TN_ESTIMATE_PLAN; kind <= TN_ESTIMATE_STATS && err->code == TN_OK; kind++)
		if (tn_estimate_new(&e, f, (tn_estimate_kind)kind, &how, err) == TN_OK)
			tn_estimate_free(e);
	tn_close(f);
	return err->code;
}

static tn_code do_verify_path(tn_error *err)
{
	const tn_verify_options deep = { .deep = true, .work.threads = 1 };
	tn_verified done;
	tn_code code = tn_verify_path("set", NULL, &deep, &done, err);
	tn_report_free(done.report);
	return code;
}

/* ---- The list ---- */

enum { SEVERAL = 1, RESUMES = 2, READS = 4 };

static const struct work {
	const char *name, *formats; /* NULL: all */
	void      (*begin)(void);
	tn_code   (*act)(tn_error *err);
	unsigned    flags;
} works[] = {
	{ "convert", NULL, begin_foreign, do_convert, 0 },
	{ "convert --resume", NULL, begin_foreign, do_resume, RESUMES },
	{ "convert over itself", NULL, begin_file, do_over_itself, 0 },
	{ "meta, rewritten", NULL, begin_file, do_rewrite, 0 },
	{ "meta, in place", "safetensors,burnpack,gguf", begin_file, do_patch, 0 },
	{ "split", "safetensors,gguf,apr", begin_file, do_split, SEVERAL },
	{ "merge", "safetensors,gguf,apr", begin_set, do_merge, 0 },
	{ "rebuild-index", "safetensors", begin_set, do_rebuild, 0 },
	{ "repair", "safetensors,gguf", begin_tail, do_repair, 0 },
	{ "convert --compress lz4", "apr", begin_foreign, do_lz4, 0 },
	{ "convert --compress zstd", "apr", begin_foreign, do_zstd, 0 },
	{ "stamp", "apr", begin_file, do_stamp, 0 },
	{ "pack", "thin", begin_pages, do_pack, 0 },
	{ "unpack", "thin", begin_file, do_unpack, SEVERAL },
	{ "repack", "thin", begin_file, do_repack, 0 },
	{ "repack --compress zstd", "thin", begin_file, do_repack_zstd, 0 },
	{ "convert a checkpoint", "thin", begin_checkpoint, do_checkpoint, 0 },
	{ "read", NULL, begin_file, do_read, READS },
	{ "read a set", "safetensors,gguf,apr", begin_set, do_read_set, READS },
	{ "verify a set", "safetensors,gguf,apr", begin_set, do_verify_path, READS },
	{ "plan", "thin", begin_file, do_plan, READS },
};

struct scene {
	const struct work *work;
	struct snapshot    before, after;
};

static bool is_for(const struct work *w, const char *name)
{
	const char *at = w->formats != NULL ? strstr(w->formats, name) : name;
	return at != NULL && (at[strlen(name)] == ',' || at[strlen(name)] == '\0');
}

typedef void (*test_fn)(const struct scene *s);

static void play(const struct work *w, const char *name, test_fn test)
{
	struct scene s = { .work = w };
	char *folder = tempdir_new();
	tn_error err = { .msg = "" };
	format = name;
	assert_int_equal(chdir(folder), 0);
	w->begin();
	s.before = snapshot_take();
	if (w->act(&err) != TN_OK)
		fail_msg("%s: %s: undisturbed: %s", name, w->name, err.msg);
	s.after = snapshot_take();
	assert_true(snapshot_equal(&s.before, &s.after) == ((w->flags & READS) != 0));
	snapshot_restore(&s.before);
	test(&s);
	snapshot_free(&s.before);
	snapshot_free(&s.after);
	assert_int_equal(chdir("/"), 0);
	tempdir_remove(folder);
}

static void each_work(test_fn test)
{
	played = 0;
	for (size_t i = 0; i < sizeof works / sizeof *works; i++)
		for (size_t k = 0; k < tn_format_count(); k++)
			if (is_for(&works[i], tn_format_at(k).name))
				play(&works[i], tn_format_at(k).name, test);
	print_message("%lu faults\n", played);
}

/* ---- What may be left ---- */

/* Files appear one by one, and each is whole; the index is the last. */
static bool is_between(const struct scene *s, const struct snapshot *now)
{
	for (size_t i = 0; i < now->n; i++) {
		long at = snapshot_find(&s->after, now->paths[i]);
		if (at < 0 || !view_eq(s->after.bytes[at], now->bytes[i]))
			return false;
		if (strstr(now->paths[i], ".index.json") != NULL && now->n != s->after.n)
			return false;
	}
	return true;
}

/* The temporary files that stand there are counted, and do not matter otherwise. */
static bool is_sound(const struct scene *s, bool was_killed, size_t *temps)
{
	struct snapshot now = snapshot_take();
	unsigned flags = s->work->flags;
	*temps = snapshot_drop_temps(&now, (flags & RESUMES) != 0);
	bool sound = snapshot_equal(&now, &s->before) || snapshot_equal(&now, &s->after) ||
	             ((flags & SEVERAL) && (was_killed || s->work->act == do_unpack) && is_between(s, &now));
	snapshot_free(&now);
	return sound;
}

static bool is_done(const struct scene *s)
{
	struct snapshot now = snapshot_take();
	bool done = snapshot_equal(&now, &s->after);
	snapshot_free(&now);
	return done;
}

/* ---- Every allocation ---- */

static void fail_allocations(const struct scene *s)
{
	size_t temps;
	long n;
	for (n = 1; n < MANY; n += 1 + n / (SANITIZED ? 12 : 100)) { /* where each object of an arena is one there are thousands */
		tn_error err = { .msg = "" };
		long before = fault_mem.alive;
		fault_mem.fail_at = n;
		tn_code code = s->work->act(&err);
		played++;
		bool failed = fault_mem.fail_at == 0;
		fault_mem.fail_at = 0;
		if (fault_mem.alive != before)
			fail_msg("%s: %s: allocation %ld: memory is lost", format, s->work->name, n);
		if (code == TN_OK ? !is_done(s) : code != TN_E_NOMEM || !is_sound(s, false, &temps))
			fail_msg("%s: %s: allocation %ld: %s, and files that should not be", format, s->work->name, n,
			         code == TN_OK ? "success" : err.msg);
		snapshot_restore(&s->before);
		if (code == TN_OK && !failed)
			return;
	}
	fail_msg("%s: %s: no end of allocations", format, s->work->name);
}

static void every_allocation(void **state)
{
	(void)state;
	each_work(fail_allocations);
}

/* ---- Every call ---- */

static const struct {
	enum fault_call call;
	int             sys;
	const char     *name;
} calls[] = {
	{ FAULT_OPEN, EMFILE, "open" }, { FAULT_PREAD, EIO, "pread" }, { FAULT_WRITE, ENOSPC, "write" },
	{ FAULT_PWRITE, EIO, "pwrite" }, { FAULT_COPY, EIO, "copy_file_range" }, { FAULT_FTRUNCATE, EIO, "ftruncate" },
	{ FAULT_FCHMOD, EPERM, "fchmod" }, { FAULT_FSYNC, EIO, "fsync" }, { FAULT_CLOSE, EIO, "close" },
	{ FAULT_RENAME, EACCES, "rename" }, { FAULT_MKDIR, EACCES, "mkdir" }, { FAULT_UNLINK, EPERM, "unlink" },
	{ FAULT_RMDIR, EPERM, "rmdir" },
};

/* A failure that harms nothing may go unsaid: the closing of what was read, the sync of a folder that cannot be opened. */
static void fail_call(const struct scene *s, size_t i)
{
	for (int n = 1; n < MANY; n++) {
		tn_error err = { .msg = "" };
		size_t temps = 0;
		fault_arm(calls[i].call, n, calls[i].sys);
		tn_code code = s->work->act(&err);
		fault_disarm();
		played++;
		bool sound = code == TN_OK ? is_done(s) || calls[i].call == FAULT_UNLINK
		                           : is_sound(s, false, &temps) && (temps == 0 || (s->work->flags & RESUMES) || calls[i].call == FAULT_UNLINK);
		bool said = code == TN_OK || ((code == TN_E_IO || code == TN_E_UNSUPPORTED) && err.msg[0] != '\0');
		if (!sound || !said)
			fail_msg("%s: %s: %s number %d fails: %s%s", format, s->work->name, calls[i].name, n,
			         code == TN_OK ? "success" : err.msg, sound ? "" : ", and files that should not be");
		snapshot_restore(&s->before);
		if (fault.seen < n)
			return;
	}
}

static void fail_calls(const struct scene *s)
{
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		fail_call(s, i);
}

static void every_call(void **state)
{
	(void)state;
	each_work(fail_calls);
}

/* Interrupted, and doing half of what they are asked, over and over: nobody notices. */
static void disturb(const struct scene *s)
{
	static const enum fault_call kinds[] = { FAULT_OPEN, FAULT_PREAD, FAULT_WRITE, FAULT_PWRITE, FAULT_COPY, FAULT_FSYNC };
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		tn_error err = { .msg = "" };
		fault_arm(kinds[i], 0, 0);
		fault.shorten = fault.interrupt = true;
		if (kinds[i] == FAULT_OPEN)
			fault.shorten = false;
		tn_code code = s->work->act(&err);
		fault_disarm();
		if (code != TN_OK || !is_done(s))
			fail_msg("%s: %s: interrupted: %s", format, s->work->name, err.msg);
		snapshot_restore(&s->before);
	}
}

static void interrupted_and_short(void **state)
{
	(void)state;
	each_work(disturb);
}

/* A disk that takes half of a change in place and then no more; and not even what was there before. */
static void break_patch(const struct scene *s)
{
	tn_error err = { .msg = "" };
	if (s->work->act != do_patch)
		return;
	fault_arm(FAULT_PWRITE, 2, ENOSPC);
	fault.shorten = true;
	assert_int_equal(s->work->act(&err), TN_E_IO);
	fault_disarm();
	assert_true(fault.seen > 2 && err.sys == ENOSPC);
	struct snapshot now = snapshot_take();
	assert_true(snapshot_equal(&now, &s->before));
	snapshot_free(&now);

	fault_arm(FAULT_PWRITE, 2, ENOSPC);
	fault.shorten = fault.forever = true;
	assert_int_equal(s->work->act(&err), TN_E_IO);
	fault_disarm();
	assert_non_null(strstr(err.msg, "half of a change could not be taken back"));
	snapshot_restore(&s->before);
}

static void half_a_patch_is_taken_back(void **state)
{
	(void)state;
	each_work(break_patch);
}

/* ---- Being killed ---- */

static bool killed_at(const struct scene *s, int n)
{
	int status;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		tn_error err;
		fault_arm(FAULT_ANY, n, 0);
		_exit(s->work->act(&err) == TN_OK ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0);
	return WIFSIGNALED(status);
}

/* What is left does not stand in the way of the same work. */
static void again(const struct scene *s, int n)
{
	tn_error err = { .msg = "" };
	size_t temps;
	if (s->work->act(&err) != TN_OK || !is_sound(s, false, &temps))
		fail_msg("%s: %s: after it was killed at call %d: %s", format, s->work->name, n, err.msg);
	if ((s->work->flags & RESUMES) && !is_done(s))
		fail_msg("%s: %s: gone on with after call %d, files are left", format, s->work->name, n);
}

static void kill_each(const struct scene *s)
{
	int n;
	if (s->work->flags & READS)
		return;
	for (n = 1; n < MANY && killed_at(s, n); n++) {
		size_t temps;
		played++;
		if (!is_sound(s, true, &temps))
			fail_msg("%s: %s: killed at call %d: neither the old files nor the new ones", format, s->work->name, n);
		if (!(s->work->flags & SEVERAL))
			again(s, n);
		snapshot_restore(&s->before);
	}
	assert_true(n > 3);
	assert_true(is_done(s));
	snapshot_restore(&s->before);
}

static void killed_at_every_call(void **state)
{
	(void)state;
	each_work(kill_each);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_allocation),
		cmocka_unit_test(every_call),
		cmocka_unit_test(interrupted_and_short),
		cmocka_unit_test(half_a_patch_is_taken_back),
		cmocka_unit_test(killed_at_every_call),
	};
	return cmocka_run_group_tests_name("commands", tests, NULL, NULL);
}
