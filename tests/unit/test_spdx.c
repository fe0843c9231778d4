/* test_spdx.c - licence expressions: what SPDX allows, and which word is wrong in what it does
 * not. */
#include "base/spdx.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

static void expressions(void **state)
{
	(void)state;
	static const char *const good[] = {
		"MIT",
		"mit",
		"Apache-2.0",
		"apache-2.0",
		"0BSD",
		"zlib",
		"ZPL-2.1",
		"GPL-2.0+",
		"MIT+",
		"GPL-2.0-or-later",
		"MIT OR Apache-2.0",
		"mit or apache-2.0",
		"MIT AND (Apache-2.0 OR BSD-3-Clause)",
		"(MIT)",
		"((MIT))",
		"  MIT\tOR ISC ",
		"GPL-2.0-only WITH Classpath-exception-2.0",
		"LicenseRef-ours",
		"LicenseRef-a.b-3",
		"DocumentRef-x:LicenseRef-y",
		"MIT AND LicenseRef-z OR ISC",
		"(MIT)OR(ISC)",
	};
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		tn_view bad;
		if (!spdx_ok(tn_text(good[i]), &bad))
			fail_msg("'%s' is refused at '%.*s'", good[i], VIEW_ARG(bad));
	}
}

static void no_expressions(void **state)
{
	(void)state;
	static const struct {
		const char *text, *bad;
	} cases[] = {
		{ "", "" },
		{ " ", "" },
		{ "Apache 2.0", "Apache" },
		{ "Apache2", "Apache2" },
		{ "MIT OR", "" },
		{ "OR MIT", "OR" },
		{ "MIT Or ISC", "Or" },
		{ "MIT ISC", "ISC" },
		{ "(MIT", "" },
		{ "MIT)", ")" },
		{ "()", ")" },
		{ "MIT WITH MIT", "MIT" },
		{ "MIT WITH", "" },
		{ "MIT OR foo", "foo" },
		{ "+", "+" },
		{ "LicenseRef-", "LicenseRef-" },
		{ "LicenseRef-a_b", "LicenseRef-a_b" },
		{ "DocumentRef-x:MIT", "DocumentRef-x:MIT" },
		{ "DocumentRef-:LicenseRef-y", "DocumentRef-:LicenseRef-y" },
		{ "proprietary", "proprietary" },
		{ "mi", "mi" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		tn_view bad;
		if (spdx_ok(tn_text(cases[i].text), &bad) || !view_is(bad, cases[i].bad))
			fail_msg("'%s': '%.*s', not '%s'", cases[i].text, VIEW_ARG(bad),
			         cases[i].bad);
	}
}

static void nesting_is_bounded(void **state)
{
	(void)state;
	char *text = malloc(200001);
	tn_view bad;
	memset(text, '(', 200000);
	text[200000] = '\0';
	assert_false(spdx_ok(tn_text(text), &bad));
	free(text);
}

/* Both lists are searched by halves. */
static void lists_are_sorted(void **state)
{
	(void)state;
	tn_view bad;
	for (size_t i = 0; i < SPDX_LICENCES; i++)
		assert_true(spdx_ok(tn_text(spdx_licences[i]), &bad));
	for (size_t i = 0; i < SPDX_EXCEPTIONS; i++) {
		char text[128];
		snprintf(text, sizeof text, "MIT WITH %s", spdx_exceptions[i]);
		assert_true(spdx_ok(tn_text(text), &bad));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expressions),
		cmocka_unit_test(no_expressions),
		cmocka_unit_test(nesting_is_bounded),
		cmocka_unit_test(lists_are_sorted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
