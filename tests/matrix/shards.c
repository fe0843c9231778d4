/* shards.c - every format that has shards: each hard model split and merged gives the file that was split, byte for byte;
 * and from each format into the shards of each other and back. */
#include "support/files.h"
#include "support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static char *folder;
static size_t merged;

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

/* False where the format has no shards, or cannot hold the model at all. */
static bool split(tn_view bytes, const char *format, uint64_t max_tensors, const char *out)
{
	const tn_split_options how = {
		.format = format, .max_tensors = max_tensors, .write = { .no_sync = true, .carry = true },
	};
	tn_file *f;
	tn_shards *shards;
	tn_error err;
	assert_int_equal(tn_open_memory(&f, bytes, NULL, &err), TN_OK);
	tn_code code = tn_split(f, out, &how, &shards, &err);
	if (code != TN_OK && code != TN_E_UNSUPPORTED && code != TN_E_LOSSY)
		fail_msg("%s", err.msg);
	tn_shards_free(shards);
	tn_close(f);
	return code == TN_OK;
}

static void expect_merged(const char *out, const char *format, tn_view bytes)
{
	const tn_convert_options how = { .format = format, .write = { .no_sync = true, .carry = true, .exact_path = true } };
	char *path = files_join(folder, "merged");
	tn_file *f;
	tn_error err;
	if (tn_open(&f, out, NULL, &err) != TN_OK || tn_convert(f, path, &how, NULL, &err) != TN_OK)
		fail_msg("%s", err.msg);
	tn_close(f);
	if (!files_equal(path, bytes))
		fail_msg("the merged file is another one");
	merged++;
	free(path);
}

static char *new_folder(void)
{
	static unsigned n;
	char name[32];
	snprintf(name, sizeof name, "out%u", n++);
	return files_join(folder, name);
}

static bool holds(const struct model_maker *maker, const char *format)
{
	const tn_write_options how = { .carry = true };
	tn_writer *w;
	uint64_t size;
	assert_int_equal(tn_writer_new(&w, format, &how, NULL), TN_OK);
	maker->fill(w);
	bool yes = tn_writer_size(w, &size, NULL) == TN_OK;
	tn_writer_free(w);
	return yes;
}

static void there_and_back(const struct model_maker *maker, const char *from, const char *to, uint64_t max_tensors)
{
	if (!holds(maker, from))
		return;
	char *out = new_folder();
	tn_view bytes = models_make(maker, from);
	print_message("%s: %s, shards of %s, %u tensors each\n", maker->name, from, to, (unsigned)max_tensors);
	if (split(bytes, to, max_tensors, out))
		expect_merged(out, from, bytes);
	free((void *)bytes.ptr);
	free(out);
}

static void every_format_and_model(void **state)
{
	(void)state;
	for (size_t m = 0; m < model_maker_count; m++)
		for (size_t i = 0; i < tn_format_count(); i++)
			for (size_t k = 0; k < tn_format_count(); k++)
				if (tn_format_at(i).writes && tn_format_at(k).writes)
					there_and_back(&model_makers[m], tn_format_at(i).name, tn_format_at(k).name, 1 + (i + k) % 3);
	assert_true(merged > 2 * model_maker_count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_format_and_model, set_up, tear_down),
	};
	return cmocka_run_group_tests_name("shards", tests, NULL, NULL);
}
