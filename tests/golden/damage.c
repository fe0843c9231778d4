/* damage.c - every prefix and every byte of the corpus.
 *
 * Each file is cut at every length and changed at every byte in five ways; large ones are sampled.
 * Nothing may crash, what opens must keep every promise of tenon.h, and reading from a file must
 * come to the same verdict as reading from memory. Each variant stands in a malloc of exactly its
 * length, so that a sanitizer sees a read past the end. */
#include "support/exercise.h"
#include "support/files.h"
#include "support/hextext.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define CORPUS TENON_TEST_DATA "/golden"

enum {
	WHOLE    = 2000, /* a file up to this long is changed at every byte */
	SAMPLES  = 500,  /* positions tried in a longer one */
	PER_FILE = 23    /* one variant in so many also goes through a file */
};

static char *folder;       /* for variants on disk */
static size_t n_variants;

static void same_from_disk(tn_view bytes, tn_code want, const tn_error *memory)
{
	char *path = files_join(folder, "variant");
	files_store(path, bytes);
	tn_open_options pread = { .io = TN_IO_PREAD, .single = true };
	tn_file *file;
	tn_error err;
	tn_code code = tn_open(&file, path, &pread, &err);
	if (code != want || strcmp(err.msg, memory->msg) != 0 || err.offset != memory->offset)
		fail_msg("from memory: %s %s; from a file: %s %s", tn_code_name(want), memory->msg,
		         tn_code_name(code), err.msg);
	if (code == TN_OK) {
		const char *broken = exercise(file);
		if (broken != NULL)
			fail_msg("from a file: %s", broken);
	}
	tn_close(file);
	free(path);
}

/* Opens a variant; the caller closes it. NULL when it is refused. */
static tn_file *try_variant(tn_view bytes)
{
	tn_file *file;
	tn_error err = { .msg = "" };
	tn_code code = tn_open_memory(&file, bytes, NULL, &err);
	assert_int_equal(code, err.code);
	assert_true((code == TN_OK) == (file != NULL));
	if (code == TN_OK) {
		const char *broken = exercise(file);
		if (broken != NULL)
			fail_msg("%s", broken);
	} else {
		assert_true(err.msg[0] != '\0');
		assert_true(strchr(err.msg, '\n') == NULL);
	}
	if (n_variants++ % PER_FILE == 0)
		same_from_disk(bytes, code, &err);
	return file;
}

static size_t step_for(size_t len)
{
	return len <= WHOLE ? 1 : len / SAMPLES + 1;
}

static bool same_content(const tn_file *a, const tn_file *b)
{
	tn_digest x, y;
	tn_error err;
	tn_work one = { .threads = 1 };
	return tn_hash(a, &one, NULL, &x, &err) == TN_OK &&
	       tn_hash(b, &one, NULL, &y, &err) == TN_OK &&
	       memcmp(x.bytes, y.bytes, TN_DIGEST_LEN) == 0;
}

/* Whatever was cut off, what opens as a partial file keeps its promises too. */
static void try_partial(tn_view bytes)
{
	static const tn_open_options partial = { .partial = true };
	tn_file *file;
	tn_error err;
	if (tn_open_memory(&file, bytes, &partial, &err) != TN_OK)
		return;
	const char *broken = exercise(file);
	if (broken != NULL)
		fail_msg("as a partial file: %s", broken);
	tn_close(file);
}

/* A file that was cut is refused, or holds the whole model all the same, or says that it may have
 * been cut. */
static void test_every_prefix(void **state)
{
	size_t len;
	uint8_t *whole = hextext_load(*state, &len);
	tn_file *model;
	tn_error err;
	bool opens = tn_open_memory(&model, (tn_view){ whole, len }, NULL, &err) == TN_OK;
	for (size_t n = 0; n < len; n += step_for(len)) {
		uint8_t *part = malloc(n != 0 ? n : 1);
		assert_non_null(part);
		memcpy(part, whole, n);
		tn_file *file = try_variant((tn_view){ part, n });
		if (file != NULL && opens && !same_content(file, model) &&
		    tn_report_of(tn_warnings(file), TN_WARNING) == 0)
			fail_msg("cut at %zu of %zu it opens, and says nothing", n, len);
		tn_close(file);
		try_partial((tn_view){ part, n });
		free(part);
	}
	tn_close(model);
	free(whole);
}

static uint8_t changed(uint8_t c, unsigned how)
{
	switch (how) {
	case 0:  return 0x00;
	case 1:  return 0xff;
	case 2:  return c ^ 0x01;
	case 3:  return c ^ 0x80;
	default: return (uint8_t)(c + 1);
	}
}

static void test_every_byte(void **state)
{
	size_t len;
	uint8_t *bytes = hextext_load(*state, &len);
	for (size_t at = 0; at < len; at += step_for(len)) {
		uint8_t was = bytes[at];
		for (unsigned how = 0; how < 5; how++) {
			bytes[at] = changed(was, how);
			if (bytes[at] != was)
				tn_close(try_variant((tn_view){ bytes, len }));
		}
		bytes[at] = was;
	}
	free(bytes);
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

/* With an argument, only the files below that folder of the corpus. */
int main(int argc, char **argv)
{
	char *part = argc > 1 ? files_join(CORPUS, argv[1]) : strdup(CORPUS);
	struct file_list hex = files_below(part, ".hex");
	struct CMUnitTest *tests = calloc(2 * hex.n, sizeof *tests);
	if (tests == NULL || hex.n == 0)
		return 99;
	for (size_t i = 0; i < hex.n; i++) {
		const char *name = hex.paths[i] + strlen(CORPUS) + 1;
		tests[2 * i] = (struct CMUnitTest){ .name = name, .test_func = test_every_prefix,
			.initial_state = hex.paths[i] };
		tests[2 * i + 1] = (struct CMUnitTest){ .name = name, .test_func = test_every_byte,
			.initial_state = hex.paths[i] };
	}
	int failed = _cmocka_run_group_tests("damage", tests, 2 * hex.n, set_up, tear_down);
	free(tests);
	files_free(&hex);
	free(part);
	return failed;
}
