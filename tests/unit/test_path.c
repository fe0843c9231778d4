/* test_path.c - the extension of a path, as Rust's Path::extension sees it, and adding one. */
#include "api/path.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static void extensions(void **state)
{
	(void)state;
	static const struct { const char *path, *ext; } cases[] = {
		{ "model.bpk", "bpk" }, { "model", NULL }, { "a/b.c/model", NULL }, { "a/b.c/model.x", "x" }, { ".x3", NULL },
		{ "a/.x3", NULL }, { ".x3.y", "y" }, { "x2.", "" }, { "a.b.c", "c" }, { "", NULL }, { ".", NULL }, { "..", NULL },
		{ "a/..", NULL }, { "...", "" }, { "a/", NULL }, { "/", NULL }, { "./model", NULL },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *ext = path_extension(cases[i].path);
		if ((ext == NULL) != (cases[i].ext == NULL) || (ext != NULL && strcmp(ext, cases[i].ext) != 0))
			fail_msg("'%s' has '%s'", cases[i].path, ext != NULL ? ext : "none");
	}
}

static void some_formats_add_theirs(void **state)
{
	(void)state;
	static const struct format adds = { .exts = "one,two", .adds_extension = true }, leaves = { .exts = "one" };
	static const struct { const char *path, *becomes; } cases[] = {
		{ "model", "model.one" }, { "a.b/model", "a.b/model.one" }, { "model.x", "model.x" }, { "model.two", "model.two" },
		{ "x2.", "x2." }, { ".hidden", ".hidden.one" },
	};
	struct arena a;
	arena_init(&a, 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_string_equal(path_with_extension(&a, &adds, cases[i].path), cases[i].becomes);
		assert_ptr_equal(path_with_extension(&a, &leaves, cases[i].path), cases[i].path);
	}
	arena_fini(&a);
	arena_init(&a, 8);
	assert_null(path_with_extension(&a, &adds, "a longer path"));
	arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(extensions), cmocka_unit_test(some_formats_add_theirs) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
