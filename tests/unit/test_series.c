/* test_series.c - names of numbered files. */
#include "api/series.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void parses_what_loaders_write(void **state)
{
	struct series s;
	(void)state;
	assert_true(series_parse(tn_text("model-00002-of-00017.safetensors"), &s));
	assert_true(view_is(s.stem, "model"));
	assert_true(view_is(s.ext, ".safetensors"));
	assert_int_equal(s.k, 2);
	assert_int_equal(s.n, 17);
	assert_int_equal(s.width, 5);
	assert_true(series_parse(tn_text("a.b-c-00000-of-00001.apr"), &s));
	assert_true(view_is(s.stem, "a.b-c"));
	assert_int_equal(s.k, 0);
	assert_true(series_parse(tn_text("-1-of-2.x"), &s));
	assert_int_equal(s.stem.len, 0);
	assert_int_equal(s.width, 1);
}

static void refuses_what_is_none(void **state)
{
	static const char *const names[] = {
		"", "model", "model.safetensors", "model-00001-of-00002", "model-00001-of-.x", "model--of-00002.x", "model00001-of-00002.x",
		"model-00001of-00002.x", "model-mtp-of-00005.x", "00001-of-00002.x", "model-00001-of-00000.x",
		"model-00001-of-99999999999999999999.x", "-of-1.x", ".x", "1.x",
	};
	struct series s;
	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		assert_false(series_parse(tn_text(names[i]), &s));
}

static void same_and_named(void **state)
{
	struct series a, b;
	struct arena mem;
	(void)state;
	arena_init(&mem, 0);
	assert_true(series_parse(tn_text("m-00001-of-00002.x"), &a));
	assert_true(series_parse(tn_text("m-00002-of-00002.x"), &b));
	assert_true(series_same(&a, &b));
	assert_string_equal(series_name(&a, 2, &mem), "m-00002-of-00002.x");
	assert_true(series_parse(tn_text("m-00002-of-00003.x"), &b));
	assert_false(series_same(&a, &b));
	assert_true(series_parse(tn_text("n-00002-of-00002.x"), &b));
	assert_false(series_same(&a, &b));
	assert_true(series_parse(tn_text("m-00002-of-00002.y"), &b));
	assert_false(series_same(&a, &b));
	arena_fini(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_what_loaders_write),
		cmocka_unit_test(refuses_what_is_none),
		cmocka_unit_test(same_and_named),
	};
	return cmocka_run_group_tests_name("series", tests, NULL, NULL);
}
