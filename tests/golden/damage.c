/* damage.c - every prefix and every byte of the corpus.
 *
 * Each file is cut at every length, changed at every byte in five ways, and has bytes put in and
 * taken out; large ones are sampled. Nothing may crash, what opens must keep every promise of
 * tenon.h, and reading from a file must come to the same verdict as reading from memory. Where the
 * format has digests, other bytes than those of the undamaged file are an error to a deep verify.
 * A file that is changed after it was opened, as one under a map may be, gives anything but a
 * crash. Each variant stands in a malloc of exactly its length, so that a sanitizer sees a read
 * past the end. */
#include "support/exercise.h"
#include "support/files.h"
#include "support/hextext.h"
#include "support/sanitized.h"

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
	PER_FILE = 23,   /* one variant in so many also goes through a file */
	APART    = SANITIZED ? 13 : 5 /* shifts and later changes are tried at one position in so many */
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

/* ---- Digests ---- */

/* What is sound is known of a whole file, or of its tensors; of what is compressed, different bytes may be the same file. */
struct sound {
	enum { NO_DIGESTS, OF_THE_FILE, OF_TENSORS } digests;
	tn_digest *tensors;
	size_t     n;
};

static bool is_sound(const tn_file *f)
{
	const tn_verify_options deep = { .deep = true, .work.threads = 1 };
	tn_report *report;
	tn_error err;
	if (tn_verify(f, &deep, &report, &err) != TN_OK)
		fail_msg("%s", err.msg);
	bool sound = tn_report_of(report, TN_ERROR) == 0;
	tn_report_free(report);
	return sound;
}

static bool has_footer(const tn_file *f)
{
	tn_map *map;
	bool found = false;
	assert_int_equal(tn_map_new(&map, f, NULL), TN_OK);
	for (size_t i = 0; i < tn_map_count(map); i++)
		found = found || tn_map_at(map, i).kind == TN_REGION_FOOTER;
	tn_map_free(map);
	return found;
}

static bool has_digests(const tn_file *f)
{
	size_t i = 0, n = tn_tensor_count(f);
	while (i < n && tn_tensor_at(f, i).digest != NULL)
		i++;
	return i == n && n != 0;
}

static struct sound sound_of(tn_view bytes)
{
	struct sound s = { NO_DIGESTS, NULL, 0 };
	tn_file *f;
	if (tn_open_memory(&f, bytes, NULL, NULL) != TN_OK)
		return s;
	bool packed = strstr(tn_file_dialect(f), "realizar, compressed") != NULL;
	if (is_sound(f))
		s.digests = has_footer(f) && !packed ? OF_THE_FILE : has_footer(f) || has_digests(f) ? OF_TENSORS : NO_DIGESTS;
	s.n = s.digests == OF_TENSORS ? tn_tensor_count(f) : 0;
	s.tensors = calloc(s.n + 1, sizeof *s.tensors);
	for (size_t i = 0; i < s.n; i++)
		assert_int_equal(tn_hash_tensor(f, i, &s.tensors[i], NULL), TN_OK);
	tn_close(f);
	return s;
}

/* All tensors of the variant hold what some tensor of the sound file holds. */
static bool same_tensors(const struct sound *s, const tn_file *f)
{
	for (size_t i = 0, k; i < tn_tensor_count(f); i++) {
		tn_digest is;
		if (tn_hash_tensor(f, i, &is, NULL) != TN_OK)
			continue; /* an error was handed out, no data */
		for (k = 0; k < s->n && memcmp(&s->tensors[k], &is, sizeof is) != 0; k++)
			;
		if (k == s->n)
			return false;
	}
	return true;
}

/* Whether opening has a warning; of that code, unless it is TN_OK. */
static bool warned(const tn_file *f, tn_code code)
{
	const tn_report *r = tn_warnings(f);
	for (size_t i = 0; i < tn_report_count(r); i++)
		if (tn_report_at(r, i).severity == TN_WARNING && (code == TN_OK || tn_report_at(r, i).code == code))
			return true;
	return false;
}

/* Other bytes are told by an error, or by the warning that the digest is cut off; where bytes were shifted it may be out of
 * its place, and any warning will do. */
static void expect_told(const struct sound *s, const tn_file *f, size_t at, bool shifted)
{
	if (f == NULL || s->digests == NO_DIGESTS || (s->digests == OF_TENSORS && same_tensors(s, f)))
		return;
	if (is_sound(f) && !warned(f, shifted ? TN_OK : TN_E_TRUNCATED))
		fail_msg("changed at byte %zu it passes a deep verify", at);
}

static void test_every_byte(void **state)
{
	size_t len;
	uint8_t *bytes = hextext_load(*state, &len);
	struct sound sound = sound_of((tn_view){ bytes, len });
	for (size_t at = 0; at < len; at += step_for(len)) {
		uint8_t was = bytes[at];
		for (unsigned how = 0; how < 5; how++) {
			bytes[at] = changed(was, how);
			if (bytes[at] == was)
				continue;
			tn_file *file = try_variant((tn_view){ bytes, len });
			expect_told(&sound, file, at, false);
			tn_close(file);
		}
		bytes[at] = was;
	}
	free(sound.tensors);
	free(bytes);
}

/* ---- Shifts ---- */

/* One byte more at a place, or one less. */
static void test_shifts(void **state)
{
	size_t len;
	uint8_t *whole = hextext_load(*state, &len);
	struct sound sound = sound_of((tn_view){ whole, len });
	for (size_t at = 0; at < len; at += APART * step_for(len))
		for (unsigned more = 0; more < 2; more++) {
			size_t n = more ? len + 1 : len - 1;
			uint8_t *bytes = malloc(n != 0 ? n : 1);
			assert_non_null(bytes);
			memcpy(bytes, whole, at);
			if (more)
				bytes[at] = changed(whole[at], (unsigned)(at / APART) % 5);
			memcpy(bytes + at + more, whole + at + !more, n - at - more);
			tn_file *file = try_variant((tn_view){ bytes, n });
			expect_told(&sound, file, at, true);
			tn_close(file);
			free(bytes);
		}
	free(sound.tensors);
	free(whole);
}

/* ---- Under the reader's feet ---- */

/* What is read then may be anything: only that nothing is touched that is not the file's counts. */
static void test_changed_after_opening(void **state)
{
	size_t len;
	uint8_t *bytes = hextext_load(*state, &len);
	for (size_t at = 0; at < len; at += APART * step_for(len)) {
		uint8_t was = bytes[at];
		tn_file *file;
		if (tn_open_memory(&file, (tn_view){ bytes, len }, NULL, NULL) != TN_OK)
			break;
		bytes[at] = changed(was, 1 + (unsigned)(at / APART) % 4);
		(void)exercise(file);
		tn_close(file);
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
	static const CMUnitTestFunction each[] = { test_every_prefix, test_every_byte, test_shifts, test_changed_after_opening };
	enum { EACH = sizeof each / sizeof *each };
	struct CMUnitTest *tests = calloc(EACH * hex.n, sizeof *tests);
	if (tests == NULL || hex.n == 0)
		return 99;
	for (size_t i = 0; i < hex.n; i++) {
		const char *name = hex.paths[i] + strlen(CORPUS) + 1;
		for (size_t k = 0; k < EACH; k++)
			tests[EACH * i + k] = (struct CMUnitTest){ .name = name, .test_func = each[k],
				.initial_state = hex.paths[i] };
	}
	int failed = _cmocka_run_group_tests("damage", tests, EACH * hex.n, set_up, tear_down);
	free(tests);
	files_free(&hex);
	free(part);
	return failed;
}
