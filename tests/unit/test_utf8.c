/* test_utf8.c - UTF-8 against the rules of the Unicode standard. */
#include "base/utf8.h"
#include "base/view.h"
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

/* The offset of the first fault. */
static void faults_are_found_where_they_stand(void **state)
{
	(void)state;
	static const struct { tn_view text; size_t span; } cases[] = {
		{ { NULL, 0 }, 0 },
		{ { (const uint8_t *)"twelve bytes", 12 }, 12 },
		{ { (const uint8_t *)"nul \0 inside", 12 }, 12 },
		{ { (const uint8_t *)"\xc2\x80\xdf\xbf", 4 }, 4 },
		{ { (const uint8_t *)"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf", 12 }, 12 },
		{ { (const uint8_t *)"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 8 }, 8 },
		{ { (const uint8_t *)"a\x80", 2 }, 1 },                       /* a tail alone */
		{ { (const uint8_t *)"abcdefghijklmnop\xff", 17 }, 16 },      /* past the eight-byte steps */
		{ { (const uint8_t *)"abcdefghi\xc3\xa9jklmnopqrs\xfe", 22 }, 21 },
		{ { (const uint8_t *)"\xc0\xaf", 2 }, 0 },                    /* overlong '/' */
		{ { (const uint8_t *)"\xc1\xbf", 2 }, 0 },
		{ { (const uint8_t *)"\xe0\x9f\xbf", 3 }, 0 },                /* overlong */
		{ { (const uint8_t *)"\xf0\x8f\xbf\xbf", 4 }, 0 },            /* overlong */
		{ { (const uint8_t *)"ok\xed\xa0\x80", 5 }, 2 },              /* surrogate D800 */
		{ { (const uint8_t *)"ok\xed\xbf\xbf", 5 }, 2 },              /* surrogate DFFF */
		{ { (const uint8_t *)"\xf4\x90\x80\x80", 4 }, 0 },            /* past 10FFFF */
		{ { (const uint8_t *)"\xf5\x80\x80\x80", 4 }, 0 },
		{ { (const uint8_t *)"\xc3", 1 }, 0 },                        /* cut short */
		{ { (const uint8_t *)"x\xe2\x82", 3 }, 1 },
		{ { (const uint8_t *)"\xf0\x9f\x98", 3 }, 0 },
		{ { (const uint8_t *)"\xe2\x28\xa1", 3 }, 0 },                /* a tail missing in the middle */
		{ { (const uint8_t *)"\xe2\x82\x28", 3 }, 0 },
		{ { (const uint8_t *)"\xf0\x9f\x98\x28", 4 }, 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(utf8_span(cases[i].text), cases[i].span);
		assert_int_equal(utf8_ok(cases[i].text), cases[i].span == cases[i].text.len);
	}
}

/* Words of eight bytes are looked at in one go, the last one over again: a stray byte is found wherever it stands. */
static void a_stray_byte_is_found_at_any_place(void **state)
{
	(void)state;
	for (size_t n = 1; n < 36; n++) {
		for (size_t bad = 0; bad <= n; bad++) {
			uint8_t *text = malloc(n); /* of this size, so that sanitizers see its edges */
			assert_non_null(text);
			memset(text, 'a', n);
			if (bad < n)
				text[bad] = 0xff;
			assert_int_equal(utf8_span((tn_view){ text, n }), bad);
			free(text);
		}
	}
}

/* In the order of their characters; of each what a decoder that replaces makes of it. */
static void malformed_bytes_are_compared_as_replaced(void **state)
{
	(void)state;
	static const struct { const char *text, *replaced; } cases[] = {
		{ "", "" }, { "a", "a" }, { "ab", "ab" }, { "a\xe3\x81\x82", "a\xe3\x81\x82" },
		{ "a\xe2\x82", "a\xef\xbf\xbd" },                             /* cut short: once */
		{ "a\xe2\x82" "b", "a\xef\xbf\xbd" "b" },
		{ "a\xf0\x9f\x98" "c", "a\xef\xbf\xbd" "c" },
		{ "a\xc3", "a\xef\xbf\xbd" }, { "a\xff", "a\xef\xbf\xbd" },
		{ "a\x80\x80", "a\xef\xbf\xbd\xef\xbf\xbd" },                 /* tails alone: each */
		{ "a\xe0\x9f\xbf", "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* overlong: so is the lead */
		{ "a\xed\xa0\x80", "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "a\xc0\xaf", "a\xef\xbf\xbd\xef\xbf\xbd" },
		{ "a\xf4\x90\x80", "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "a\xe2\x28", "a\xef\xbf\xbd(" },
		{ "a\xf0\x9f\x98\x80", "a\xf0\x9f\x98\x80" },
	};
	enum { N = sizeof cases / sizeof *cases };
	for (size_t i = 0; i < N; i++) {
		for (size_t k = 0; k < N; k++) {
			int want = view_cmp(tn_text(cases[i].replaced), tn_text(cases[k].replaced));
			int got = utf8_cmp_replaced(tn_text(cases[i].text), tn_text(cases[k].text));
			if ((got > 0) - (got < 0) != (want > 0) - (want < 0))
				fail_msg("cases %zu and %zu: %d, not %d", i, k, got, want);
		}
	}
}

static void every_scalar_value_survives(void **state)
{
	(void)state;
	for (uint32_t c = 0; c <= 0x10ffff; c++) {
		if (c >= 0xd800 && c <= 0xdfff)
			continue;
		uint8_t bytes[4];
		uint32_t back = ~c;
		size_t len = utf8_encode(c, bytes);
		if (utf8_decode(bytes, len, &back) != len || back != c || utf8_decode(bytes, len - 1, &back) != 0)
			fail_msg("character %x", (unsigned)c);
	}
}

static void encodings_have_the_least_length(void **state)
{
	(void)state;
	static const struct { uint32_t c; size_t len; const char *bytes; } cases[] = {
		{ 0x00, 1, "\x00" }, { 0x7f, 1, "\x7f" }, { 0x80, 2, "\xc2\x80" }, { 0x7ff, 2, "\xdf\xbf" },
		{ 0x800, 3, "\xe0\xa0\x80" }, { 0xffff, 3, "\xef\xbf\xbf" }, { 0x10000, 4, "\xf0\x90\x80\x80" },
		{ 0x10ffff, 4, "\xf4\x8f\xbf\xbf" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint8_t bytes[4];
		assert_int_equal(utf8_encode(cases[i].c, bytes), cases[i].len);
		assert_memory_equal(bytes, cases[i].bytes, cases[i].len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_are_found_where_they_stand),
		cmocka_unit_test(a_stray_byte_is_found_at_any_place),
		cmocka_unit_test(malformed_bytes_are_compared_as_replaced),
		cmocka_unit_test(every_scalar_value_survives),
		cmocka_unit_test(encodings_have_the_least_length),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
