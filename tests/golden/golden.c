/* golden.c - each file of the corpus beside what is expected of it.
 *
 *	good-X.hex     opens and shows what X.dump says; verifies without an error; is written again
 *	finding-X.hex  the same, but verifying it has a warning or an error to report
 *	bad-X.hex      does not open, for the reason in bad-X.err
 *
 * Where opening or verifying says anything, good-X.findings holds it word for word. Dumps were made
 * by an independent decoder; with TENON_BLESS=1 in the environment .err and .findings are written
 * instead of compared, to be read before they are committed. README.md has more. */
#include "support/dump.h"
#include "support/files.h"
#include "support/hextext.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define CORPUS TENON_TEST_DATA "/golden"

static bool starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static const char *base_name(const char *path)
{
	return strrchr(path, '/') + 1;
}

/* "X.hex" to "X.EXT". */
static char *beside(const char *path, const char *ext)
{
	size_t stem = strlen(path) - strlen("hex");
	char *other = malloc(stem + strlen(ext) + 1);
	assert_non_null(other);
	memcpy(other, path, stem);
	memcpy(other + stem, ext, strlen(ext) + 1);
	return other;
}

static char *load_text(const char *path)
{
	if (!files_exist(path))
		return calloc(1, 1);
	tn_view v = files_load(path);
	char *text = malloc(v.len + 1);
	assert_non_null(text);
	memcpy(text, v.ptr, v.len);
	text[v.len] = '\0';
	free((void *)v.ptr);
	return text;
}

/* got is freed. A missing file expects the empty text. */
static void expect_text(const char *path, const char *ext, char *got, bool may_bless)
{
	char *file = beside(path, ext);
	if (may_bless && getenv("TENON_BLESS") != NULL) {
		remove(file);
		if (got[0] != '\0')
			files_store(file, tn_text(got));
	}
	char *want = load_text(file);
	assert_string_equal(got, want);
	free(want);
	free(got);
	free(file);
}

/* ---- Files that open ---- */

struct opened {
	uint8_t *bytes;
	size_t   len;
	tn_file *file;
};

static struct opened open_hex(const char *path)
{
	struct opened o = { 0 };
	tn_error err;
	o.bytes = hextext_load(path, &o.len);
	if (tn_open_memory(&o.file, (tn_view){ o.bytes, o.len }, NULL, &err) != TN_OK)
		fail_msg("does not open: %s", err.msg);
	return o;
}

static void close_hex(struct opened *o)
{
	tn_close(o->file);
	free(o->bytes);
}

static void check_findings(const char *path, const tn_file *file)
{
	tn_report *report;
	tn_error err;
	tn_verify_options deep = { .deep = true };
	assert_int_equal(tn_verify(file, &deep, &report, &err), TN_OK);
	expect_text(path, "findings", dump_findings(file, report), true);
	if (starts(base_name(path), "finding-"))
		assert_true(tn_report_of(report, TN_WARNING) + tn_report_of(report, TN_ERROR) > 0);
	else
		assert_int_equal(tn_report_of(report, TN_ERROR), 0);
	tn_report_free(report);
}

/* What real writers made (their names start with a number) is written again byte for byte. The
 * cases made by hand use spellings that no writer uses, so for them the model must survive. */
static bool by_a_real_writer(const char *path)
{
	const char *name = strchr(base_name(path), '-') + 1;
	return name[0] >= '0' && name[0] <= '9';
}

/* What is read but not written: empty names and names with a NUL in safetensors, ggml's types in APR. */
static bool unwritable(const char *path)
{
	static const char *const names[] = {
		"good-18_names_empty_nul.hex", "good-name_empty.hex", "good-name_nul.hex",
		"finding-dim_huge.hex", "finding-dims5.hex", "finding-dupname_nul.hex",
		"finding-name64.hex", "finding-zero_rows_cut.hex",
		"good-ggml_8_q8_0.hex", "good-realizar.hex", "finding-name_no_utf8_q8_0.hex",
		/* a manifest that breaks a rule, bytes without their checksum, pages without bytes */
		"finding-bad_operator.hex", "finding-many_rules.hex", "finding-vram_order.hex",
		"finding-payload.hex", "finding-table_checksum.hex", "finding-flags.hex",
		"finding-no_record.hex", "finding-self_fused.hex", "finding-stored_size.hex",
		"finding-footer_wrong.hex"
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(base_name(path), names[i]) == 0)
			return true;
	return false;
}

static void check_same_model(const tn_file *a, const char *path)
{
	tn_file *b;
	tn_error err;
	tn_digest x, y;
	assert_int_equal(tn_open(&b, path, NULL, &err), TN_OK);
	assert_int_equal(tn_hash(a, NULL, NULL, &x, &err), TN_OK);
	assert_int_equal(tn_hash(b, NULL, NULL, &y, &err), TN_OK);
	assert_memory_equal(x.bytes, y.bytes, TN_DIGEST_LEN);
	char *left = dump_meta(tn_metadata(a), true), *right = dump_meta(tn_metadata(b), true);
	assert_string_equal(left, right);
	free(left);
	free(right);
	tn_close(b);
}

static void check_rewrite(const char *path, const struct opened *o)
{
	char *folder = tempdir_new(), *target = files_join(folder, "copy.out");
	tn_convert_options how = { .format = tn_file_format(o->file), .write.no_sync = true };
	tn_error err;
	tn_code code = tn_convert(o->file, target, &how, NULL, &err);
	if (unwritable(path)) {
		assert_int_not_equal(code, TN_OK);
		assert_int_equal(tempdir_count(folder), 0);
	} else if (code != TN_OK) {
		fail_msg("not written again: %s", err.msg);
	} else if (by_a_real_writer(path)) {
		assert_true(files_equal(target, (tn_view){ o->bytes, o->len }));
	} else {
		check_same_model(o->file, target);
	}
	free(target);
	tempdir_remove(folder);
}

static void test_opens(void **state)
{
	const char *path = *state;
	struct opened o = open_hex(path);
	expect_text(path, "dump", dump_file(o.file), false);
	check_findings(path, o.file);
	check_rewrite(path, &o);
	close_hex(&o);
}

/* ---- Files that do not ---- */

static void test_refused(void **state)
{
	const char *path = *state;
	size_t len;
	uint8_t *bytes = hextext_load(path, &len);
	tn_file *file = (tn_file *)bytes;
	tn_error err;
	assert_int_not_equal(tn_open_memory(&file, (tn_view){ bytes, len }, NULL, &err), TN_OK);
	assert_null(file);
	expect_text(path, "err", dump_error(&err), true);
	free(bytes);
}

/* ---- The corpus itself ---- */

/* Nothing expected without a file, no refusal without a reason, no file without a comment. */
static void test_corpus_is_whole(void **state)
{
	(void)state;
	struct file_list all = files_below(CORPUS, "");
	for (size_t i = 0; i < all.n; i++) {
		const char *dot = strrchr(all.paths[i], '.');
		if (strcmp(dot, ".hex") == 0) {
			bool bad = starts(base_name(all.paths[i]), "bad-");
			char *witness = beside(all.paths[i], bad ? "err" : "dump");
			char *text = load_text(all.paths[i]);
			assert_true(files_exist(witness));
			assert_true(starts(text, "# "));
			free(witness);
			free(text);
		} else if (strcmp(dot, ".dump") == 0 || strcmp(dot, ".err") == 0 ||
		           strcmp(dot, ".findings") == 0) {
			char *source = malloc(strlen(all.paths[i]) + sizeof "hex");
			sprintf(source, "%.*s.hex", (int)(dot - all.paths[i]), all.paths[i]);
			assert_true(files_exist(source));
			free(source);
		}
	}
	files_free(&all);
}

int main(void)
{
	struct file_list hex = files_below(CORPUS, ".hex");
	struct CMUnitTest *tests = calloc(hex.n + 1, sizeof *tests);
	if (tests == NULL)
		return 99;
	for (size_t i = 0; i < hex.n; i++) {
		bool bad = starts(base_name(hex.paths[i]), "bad-");
		tests[i] = (struct CMUnitTest){ .name = hex.paths[i] + strlen(CORPUS) + 1,
			                        .test_func = bad ? test_refused : test_opens,
			                        .initial_state = hex.paths[i] };
	}
	tests[hex.n] = (struct CMUnitTest)cmocka_unit_test(test_corpus_is_whole);
	int failed = _cmocka_run_group_tests("golden", tests, hex.n + 1, NULL, NULL);
	free(tests);
	files_free(&hex);
	return failed;
}
