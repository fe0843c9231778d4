/* test_names.c - names of severities and formats, and the version. */
#include "format/format.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

static void the_version_is_the_headers(void **state)
{
	(void)state;
	char text[32];
	snprintf(text, sizeof text, "%d.%d.%d", TN_VERSION_MAJOR, TN_VERSION_MINOR, TN_VERSION_PATCH);
	assert_string_equal(tn_version(), text);
}

static void severities(void **state)
{
	(void)state;
	assert_string_equal(tn_severity_name(TN_NOTE), "note");
	assert_string_equal(tn_severity_name(TN_WARNING), "warning");
	assert_string_equal(tn_severity_name(TN_ERROR), "error");
}

static void every_format_is_found(void **state)
{
	(void)state;
	tn_format f;
	assert_true(tn_format_count() >= 2);
	for (size_t i = 0; i < tn_format_count(); i++) {
		tn_format at = tn_format_at(i);
		assert_true(at.reads);
		assert_true(tn_format_find(at.name, &f));
		assert_ptr_equal(f.name, at.name);
		char ext[32], dotted[33];
		snprintf(ext, sizeof ext, "%.*s", (int)strcspn(at.extensions, ","), at.extensions);
		snprintf(dotted, sizeof dotted, ".%s", ext);
		assert_true(tn_format_find(ext, &f));
		assert_ptr_equal(f.name, at.name);
		assert_true(tn_format_find(dotted, &f));
		assert_ptr_equal(f.name, at.name);
	}
	assert_null(tn_format_at(tn_format_count()).name);
	assert_null(tn_format_at(SIZE_MAX).name);
}

static void the_two_that_are_written(void **state)
{
	(void)state;
	static const char *const pairs[][2] = { { "burnpack", "bpk" }, { "safetensors", "safetensors" } };
	for (size_t i = 0; i < 2; i++) {
		tn_format f;
		assert_true(tn_format_find(pairs[i][1], &f));
		assert_string_equal(f.name, pairs[i][0]);
		assert_true(f.reads && f.writes);
	}
}

static void other_names_are_no_formats(void **state)
{
	(void)state;
	static const char *const names[] = { "", ".", "Burnpack", "bp", "bpkx", ",", "bpk,", "..bpk", "burnpack " };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		tn_format f = { .name = "untouched" };
		assert_false(tn_format_find(names[i], &f));
		assert_string_equal(f.name, "untouched");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_version_is_the_headers),
		cmocka_unit_test(severities),
		cmocka_unit_test(every_format_is_found),
		cmocka_unit_test(the_two_that_are_written),
		cmocka_unit_test(other_names_are_no_formats),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
