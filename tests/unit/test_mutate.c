/* test_mutate.c - the fuzzers' mutation (fuzz/mutate.h): what it makes again of a file that was left alone is that file, and
 * after a change to its metadata the checksums are right and it opens. */
#include "fuzz/mutate.h"

#include "support/files.h"
#include "support/hextext.h"
#include "tenon.h"

#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

enum { CAP = 1 << 16 };

static uint8_t *load(const char *name, size_t *len)
{
	char path[512];
	snprintf(path, sizeof path, "%s/golden/%s.hex", TENON_TEST_DATA, name);
	uint8_t *bytes = hextext_load(path, len), *room = malloc(CAP);
	assert_non_null(room);
	assert_true(*len < CAP);
	memcpy(room, bytes, *len);
	free(bytes);
	return room;
}

/* footer: there was one before the change. */
static void seal(uint8_t *bytes, size_t len, bool footer)
{
	static struct layout l;
	const struct mutated_format *f = layout_of(&l, (tn_view){ bytes, len });
	assert_non_null(f);
	l.footer = footer;
	if (f->seal != NULL)
		f->seal(&l, bytes, len);
}

/* How many errors a deep check finds; -1 where it does not open. */
static int errors(const uint8_t *bytes, size_t len)
{
	const tn_verify_options deep = { .deep = true, .work.threads = 1 };
	tn_file *file;
	tn_report *report;
	if (tn_open_memory(&file, (tn_view){ bytes, len }, NULL, NULL) != TN_OK)
		return -1;
	assert_int_equal(tn_verify(file, &deep, &report, NULL), TN_OK);
	int n = (int)tn_report_of(report, TN_ERROR);
	tn_report_free(report);
	tn_close(file);
	return n;
}

static const char *const golden[] = {
	"apr/good-0_f32_2x2", "apr/good-05_meta_every_field", "burnpack/good-02_f32_2x2", "safetensors/good-ok",
	"gguf/good-22_small_llama", "thin/good-02_two",
};

/* ---- */

static void every_good_file_stays_as_it_is(void **state)
{
	(void)state;
	struct file_list list = files_below(TENON_TEST_DATA "/golden", ".hex");
	static struct layout l;
	size_t understood = 0;
	for (size_t i = 0; i < list.n; i++) {
		size_t len;
		uint8_t *bytes = hextext_load(list.paths[i], &len), *copy = malloc(len + 1);
		assert_non_null(copy);
		memcpy(copy, bytes, len);
		const struct mutated_format *f = layout_of(&l, (tn_view){ copy, len });
		for (size_t k = 0; f != NULL && k < l.n_parts; k++)
			assert_true(l.parts[k].at <= len && l.parts[k].len <= len - l.parts[k].at);
		if (f != NULL && f->seal != NULL && errors(bytes, len) == 0) {
			f->seal(&l, copy, len);
			assert_memory_equal(copy, bytes, len);
			understood++;
		}
		free(bytes);
		free(copy);
	}
	files_free(&list);
	assert_true(understood > 20);
}

/* A text of the file is made longer by a byte and shorter by one: lengths and places follow. */
static void change_each_text(const char *name)
{
	static struct layout l;
	size_t len;
	uint8_t *bytes = load(name, &len), *work = malloc(CAP);
	assert_non_null(work);
	int before = errors(bytes, len), opened = 0;
	assert_int_equal(before, 0);
	for (size_t i = 0; i < LAYOUT_PARTS; i++) {
		layout_of(&l, (tn_view){ bytes, len });
		if (i >= l.n_parts)
			break;
		struct part p = l.parts[i];
		bool footer = l.footer;
		if (p.kind != PART_TEXT || p.len == 0 || p.len > 22)
			continue;
		uint8_t longer[32];
		memcpy(work, bytes, len);
		memcpy(longer, work + p.at, p.len);
		longer[p.len] = 'x';
		size_t n = mutate_replace(&l, work, len, CAP, p.at, p.len, (tn_view){ longer, p.len + 1 });
		seal(work, n, footer);
		if (errors(work, n) == 0)
			opened++;
		layout_of(&l, (tn_view){ work, n });
		n = mutate_replace(&l, work, n, CAP, p.at, p.len + 1, (tn_view){ longer, p.len });
		seal(work, n, footer);
		assert_int_equal(n, len);
		assert_int_equal(errors(work, n), 0);
	}
	assert_true(opened > 0);
	free(bytes);
	free(work);
}

static void a_longer_text_moves_what_is_behind_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++)
		change_each_text(golden[i]);
}

/* A byte of the data: the file says so until it is sealed. */
static void checksums_are_made_again(void **state)
{
	(void)state;
	static const char *const sealed[] = { "apr/good-0_f32_2x2", "thin/good-02_two" };
	for (size_t i = 0; i < sizeof sealed / sizeof sealed[0]; i++) {
		static struct layout l;
		size_t len, at;
		uint8_t *bytes = load(sealed[i], &len);
		const struct mutated_format *f = layout_of(&l, (tn_view){ bytes, len });
		tn_file *file;
		assert_non_null(f);
		assert_int_equal(tn_open_memory(&file, (tn_view){ bytes, len }, NULL, NULL), TN_OK);
		at = (size_t)tn_tensor_at(file, 0).offset;
		tn_close(file);
		bytes[at] ^= 1;
		assert_int_not_equal(errors(bytes, len), 0);
		f->seal(&l, bytes, len);
		assert_int_equal(errors(bytes, len), 0);
		free(bytes);
	}
}

static size_t keep(uint8_t *data, size_t size, size_t cap)
{
	(void)data, (void)cap;
	return size;
}

/* Whatever the seed says, the result has a size that fits, and most results of most seeds open. */
static void many_changes_open(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
		size_t len, opened = 0;
		uint8_t *bytes = load(golden[i], &len), *work = malloc(CAP);
		assert_non_null(work);
		for (unsigned seed = 1; seed < 400; seed++) {
			memcpy(work, bytes, len);
			size_t n = mutate_file(work, len, len + 64, seed * 2654435761u, keep);
			assert_true(n <= len + 64);
			opened += errors(work, n) >= 0;
		}
		assert_true(opened > 100);
		free(bytes);
		free(work);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_good_file_stays_as_it_is),
		cmocka_unit_test(a_longer_text_moves_what_is_behind_it),
		cmocka_unit_test(checksums_are_made_again),
		cmocka_unit_test(many_changes_open),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
