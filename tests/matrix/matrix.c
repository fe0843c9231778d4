/* matrix.c - every format to every format and back.
 *
 * A model is written in format A, converted to B and back to A: the bytes must be the same, and on
 * the way the content digest and the metadata. The formats come from tn_format_at, so a new one
 * joins by itself. */
#include "support/dump.h"
#include "support/files.h"
#include "support/hextext.h"
#include "support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define CORPUS TENON_TEST_DATA "/golden"

/* One test: a model in format a, by way of b. */
struct journey {
	const char *a, *b;
	const struct model_maker *maker; /* or */
	const char *path;                /* a file of the corpus */
	char title[160];
};

static char *folder;

static tn_file *open_bytes(tn_view bytes)
{
	tn_file *file;
	tn_error err;
	if (tn_open_memory(&file, bytes, NULL, &err) != TN_OK)
		fail_msg("does not open: %s", err.msg);
	return file;
}

static tn_code convert(const tn_file *file, const char *format, const char *path, tn_error *err)
{
	tn_convert_options how = {
		.format = format, .write = { .carry = true, .no_sync = true, .exact_path = true }
	};
	return tn_convert(file, path, &how, NULL, err);
}

/* Converts to a file and reads that. */
static tn_view convert_bytes(const tn_file *file, const char *format)
{
	tn_error err;
	char *path = files_join(folder, "out");
	if (convert(file, format, path, &err) != TN_OK)
		fail_msg("to %s: %s", format, err.msg);
	tn_view bytes = files_load(path);
	remove(path);
	free(path);
	return bytes;
}

static void assert_same_bytes(tn_view got, tn_view want, const char *what)
{
	size_t n = got.len < want.len ? got.len : want.len, at = 0;
	while (at < n && got.ptr[at] == want.ptr[at])
		at++;
	if (at < n || got.len != want.len)
		fail_msg("%s: differs at byte %zu (%zu bytes, not %zu)", what, at, got.len,
		         want.len);
}

static char *extras_of(const tn_file *file, tn_view name)
{
	size_t i;
	tn_error err;
	assert_int_equal(tn_tensor_find(file, name, &i, &err), TN_OK);
	const tn_meta *extras = tn_tensor_at(file, i).extras;
	return extras != NULL ? dump_meta(extras, true) : calloc(1, 1);
}

static void assert_same_text(char *got, char *want)
{
	assert_string_equal(got, want);
	free(got);
	free(want);
}

static void assert_same_model(const tn_file *got, const tn_file *want)
{
	tn_digest x, y;
	tn_error err;
	tn_work one = { .threads = 1 };
	assert_int_equal(tn_hash(got, &one, NULL, &x, &err), TN_OK);
	assert_int_equal(tn_hash(want, &one, NULL, &y, &err), TN_OK);
	assert_memory_equal(x.bytes, y.bytes, TN_DIGEST_LEN);
	assert_same_text(dump_meta(tn_metadata(got), true), dump_meta(tn_metadata(want), true));
	assert_same_text(dump_meta(tn_native(got), true), dump_meta(tn_native(want), true));
	for (size_t i = 0; i < tn_tensor_count(want); i++) {
		tn_view name = tn_tensor_at(want, i).name;
		assert_same_text(extras_of(got, name), extras_of(want, name));
	}
}

/* What our writers make, nobody complains about. */
static void assert_clean(const tn_file *file)
{
	tn_verify_options deep = { .deep = true, .work.threads = 1 };
	tn_report *report;
	tn_error err;
	assert_int_equal(tn_verify(file, &deep, &report, &err), TN_OK);
	for (size_t i = 0; i < tn_report_count(report); i++)
		if (tn_report_at(report, i).severity == TN_ERROR)
			fail_msg("written in %s: %s", tn_file_format(file),
			         tn_report_at(report, i).text);
	tn_report_free(report);
}

static void there_and_back(const struct journey *j, tn_view original)
{
	tn_file *a = open_bytes(original);
	assert_string_equal(tn_file_format(a), j->a);
	tn_view through = convert_bytes(a, j->b);
	tn_file *b = open_bytes(through);
	assert_string_equal(tn_file_format(b), j->b);
	assert_same_model(b, a);
	assert_clean(b);
	tn_view back = convert_bytes(b, j->a);
	assert_same_bytes(back, original, "back again");
	tn_close(b);
	tn_close(a);
	free((void *)back.ptr);
	free((void *)through.ptr);
}

static void test_model(void **state)
{
	const struct journey *j = *state;
	tn_view original = models_make(j->maker, j->a);
	there_and_back(j, original);
	free((void *)original.ptr);
}

/* Files with names that the format refuses to write: empty and with a NUL in safetensors, long and
 * with a NUL in GGUF. */
static bool has_unwritable_names(const char *path, const char *format)
{
	static const struct {
		const char *file, *format;
	} names[] = {
		{ "good-09_names.hex", "safetensors" },
		{ "good-18_names_empty_nul.hex", "safetensors" },
		{ "good-09_names.hex", "gguf" },
		{ "good-18_names_empty_nul.hex", "gguf" },
		{ "good-10_names_escapes.hex", "gguf" },
		/* no tensor, empty tensors, names with white space or slashes */
		{ "good-01_empty.hex", "thin" }, { "good-03_meta_only.hex", "thin" },
		{ "good-05_scalars.hex", "thin" }, { "good-06_order_padding.hex", "thin" },
		{ "good-07_trailing_empty.hex", "thin" }, { "good-08_only_empty.hex", "thin" },
		{ "good-09_names.hex", "thin" }, { "good-09_rank0_zero_dim.hex", "thin" },
		{ "good-10_names_escapes.hex", "thin" }, { "good-12_pad_0.hex", "thin" },
		{ "good-18_names_empty_nul.hex", "thin" },
		{ "good-01_no_tensors_padded.hex", "thin" }, { "good-02_no_tensors_kv_only.hex", "thin" },
		{ "good-03_all_scalars.hex", "thin" }, { "good-06_strings.hex", "thin" },
		{ "good-20_split_small_first-00001-of-00003.hex", "thin" },
		{ "good-30_ggml_arrays.hex", "thin" },
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strstr(path, names[i].file) != NULL && strcmp(format, names[i].format) == 0)
			return true;
	return false;
}

static void refused_without_a_trace(tn_view original, const char *format)
{
	tn_error err;
	tn_file *file = open_bytes(original);
	char *path = files_join(folder, "refused");
	assert_int_not_equal(convert(file, format, path, &err), TN_OK);
	assert_true(err.msg[0] != '\0');
	assert_int_equal(tempdir_count(folder), 0);
	free(path);
	tn_close(file);
}

static void test_corpus(void **state)
{
	const struct journey *j = *state;
	size_t len;
	uint8_t *bytes = hextext_load(j->path, &len);
	tn_view original = { bytes, len };
	if (has_unwritable_names(j->path, j->b))
		refused_without_a_trace(original, j->b);
	else if (has_unwritable_names(j->path, j->a))
		refused_without_a_trace(original, j->a);
	else
		there_and_back(j, original);
	free(bytes);
}

/* ---- What a format cannot hold ---- */

static void test_does_not_fit(void **state)
{
	const struct journey *j = *state;
	tn_write_options carry = { .carry = true };
	tn_writer *writer;
	tn_error err;
	uint64_t size;
	bool source_fits = models_fit(j->maker, j->a);
	assert_int_equal(tn_writer_new(&writer, source_fits ? j->b : j->a, &carry, &err), TN_OK);
	j->maker->fill(writer);
	assert_int_equal(tn_writer_size(writer, &size, &err), TN_E_LOSSY);
	tn_writer_free(writer);
	if (!source_fits)
		return;
	tn_view original = models_make(j->maker, j->a);
	refused_without_a_trace(original, j->b);
	free((void *)original.ptr);
}

/* ---- Losses ---- */

static size_t lossy_findings(const tn_report *report, tn_severity severity)
{
	size_t n = 0;
	for (size_t i = 0; i < tn_report_count(report); i++) {
		tn_finding f = tn_report_at(report, i);
		n += f.code == TN_E_LOSSY && f.severity == severity;
	}
	return n;
}

/* Without an envelope a conversion loses nothing, or is refused with all losses named and no file;
 * when they are allowed it is carried out and they are warnings. */
static void test_losses(void **state)
{
	const struct journey *j = *state;
	tn_view original = models_make(j->maker, j->a);
	tn_file *file = open_bytes(original);
	char *path = files_join(folder, "lossy");
	tn_convert_options how = {
		.format = j->b,
		.write = { .no_envelope = true, .no_sync = true, .exact_path = true }
	};
	tn_converted out;
	tn_error err;
	tn_code code = tn_convert(file, path, &how, &out, &err);
	size_t lost = lossy_findings(out.report, TN_ERROR);
	tn_report_free(out.report);
	assert_true(code == TN_OK || code == TN_E_LOSSY);
	assert_true((code == TN_E_LOSSY) == (lost > 0));
	assert_int_equal(tempdir_count(folder), code == TN_OK ? 1 : 0);
	remove(path);

	how.write.allow_loss = true;
	if (tn_convert(file, path, &how, &out, &err) != TN_OK)
		fail_msg("with losses allowed: %s", err.msg);
	assert_int_equal(lossy_findings(out.report, TN_WARNING), lost);
	tn_report_free(out.report);
	tn_view bytes = files_load(path);
	tn_file *poorer = open_bytes(bytes);
	assert_clean(poorer);
	tn_close(poorer);
	remove(path);
	free((void *)bytes.ptr);
	free(path);
	tn_close(file);
	free((void *)original.ptr);
}

/* The test above would pass if nothing were ever lost. */
static void test_something_is_lost(void **state)
{
	(void)state;
	const struct model_maker *everything = &model_makers[model_maker_count - 1];
	for (size_t k = 0; k < tn_format_count(); k++) {
		tn_writer *writer;
		tn_write_options bare = { .no_envelope = true };
		uint64_t size;
		tn_error err;
		if (!tn_format_at(k).writes)
			continue;
		assert_int_equal(tn_writer_new(&writer, tn_format_at(k).name, &bare, &err), TN_OK);
		everything->fill(writer);
		assert_int_equal(tn_writer_size(writer, &size, &err), TN_E_LOSSY);
		assert_true(lossy_findings(tn_writer_report(writer), TN_ERROR) > 0);
		tn_writer_free(writer);
	}
}

/* ---- The list of tests ---- */

struct list {
	struct CMUnitTest *tests;
	size_t n, cap;
};

static void list_add(struct list *list, const char *kind, CMUnitTestFunction run, struct journey j)
{
	struct journey *kept = malloc(sizeof *kept);
	if (list->n == list->cap) {
		list->cap = list->cap != 0 ? 2 * list->cap : 128;
		list->tests = realloc(list->tests, list->cap * sizeof *list->tests);
	}
	if (kept == NULL || list->tests == NULL)
		exit(99);
	*kept = j;
	snprintf(kept->title, sizeof kept->title, "%s %s: %s to %s", kind,
	         j.maker != NULL ? j.maker->name : strrchr(j.path, '/') + 1, j.a, j.b);
	list->tests[list->n++] =
		(struct CMUnitTest){ .name = kept->title, .test_func = run, .initial_state = kept };
}

static void add_pair(struct list *list, const char *a, const char *b,
                     const struct file_list *corpus)
{
	for (size_t m = 0; m < model_maker_count; m++) {
		struct journey j = { .a = a, .b = b, .maker = &model_makers[m] };
		if (models_fit(j.maker, a) && models_fit(j.maker, b)) {
			list_add(list, "model", test_model, j);
			list_add(list, "losses", test_losses, j);
		} else {
			list_add(list, "too much", test_does_not_fit, j);
		}
	}
	char prefix[64];
	snprintf(prefix, sizeof prefix, "/%s/good-", a);
	for (size_t i = 0; i < corpus->n; i++) {
		const char *name = strstr(corpus->paths[i], prefix);
		/* by a real writer: strictly written, so it comes back to the byte */
		if (name != NULL && name[strlen(prefix)] >= '0' && name[strlen(prefix)] <= '9')
			list_add(list, "corpus", test_corpus,
			         (struct journey){ .a = a, .b = b, .path = corpus->paths[i] });
	}
}

static int set_up(void **state)
{
	(void)state;
	folder = tempdir_new();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	tempdir_remove(folder);
	return 0;
}

int main(void)
{
	struct list list = { 0 };
	struct file_list corpus = files_below(CORPUS, ".hex");
	for (size_t a = 0; a < tn_format_count(); a++)
		for (size_t b = 0; b < tn_format_count(); b++)
			if (tn_format_at(a).writes && tn_format_at(b).writes)
				add_pair(&list, tn_format_at(a).name, tn_format_at(b).name,
				         &corpus);
	list_add(&list, "all", test_something_is_lost,
	         (struct journey){ .a = "any", .b = "any", .path = "/" });
	int failed = _cmocka_run_group_tests("matrix", list.tests, list.n, set_up, tear_down);
	for (size_t i = 0; i < list.n; i++)
		free(list.tests[i].initial_state);
	free(list.tests);
	files_free(&corpus);
	return failed;
}
