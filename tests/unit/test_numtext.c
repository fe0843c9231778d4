/* test_numtext.c - spelling of numbers, and reading them back. */
#include "base/bytes.h"
#include "base/numtext.h"
#include "base/view.h"
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

/* Random but the same in every run. */
static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void assert_f64(double v, const char *text)
{
	char out[NUMTEXT];
	assert_int_equal(f64_text(v, out), strlen(text));
	assert_string_equal(out, text);
}

static void assert_f32(float v, const char *text)
{
	char out[NUMTEXT];
	assert_int_equal(f32_text(v, out), strlen(text));
	assert_string_equal(out, text);
}

static void doubles(void **state)
{
	(void)state;
	static const struct { double v; const char *text; } cases[] = {
		{ 0.0, "0.0" }, { -0.0, "-0.0" }, { 1.0, "1.0" }, { -1.5, "-1.5" }, { 0.5, "0.5" },
		{ 0.1, "0.1" }, { 0.3, "0.3" }, { 1.0 / 3, "0.3333333333333333" }, { 123456.789, "123456.789" },
		{ 10000, "10000.0" }, { 1e7, "10000000.0" }, { 0.00012345, "0.00012345" },
		{ 1e15, "1000000000000000.0" }, { 1e16, "1e+16" }, { 1.5e16, "1.5e+16" },
		{ 123e18, "1.23e+20" },
		{ 1e-5, "0.00001" }, { 1e-6, "1e-6" }, { 1.5e-6, "1.5e-6" }, { 1e-7, "1e-7" },
		{ -1e-10, "-1e-10" },
		{ 9007199254740991.0, "9007199254740991.0" }, { 9007199254740993.0, "9007199254740992.0" },
		{ 1.7976931348623157e308, "1.7976931348623157e+308" },
		{ 2.2250738585072014e-308, "2.2250738585072014e-308" }, /* the least normal number */
		{ 2.225073858507201e-308, "2.225073858507201e-308" },   /* the greatest subnormal */
		{ 5e-324, "5e-324" }, { 1e-323, "1e-323" }, { 1.5e-323, "1.5e-323" },
		{ 0x1p-44, "5.684341886080802e-14" },
		{ 9.5367431640625e-07, "9.5367431640625e-7" },
		{ 3.7416573867739413, "3.7416573867739413" }, { 0.1 + 0.2, "0.30000000000000004" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_f64(cases[i].v, cases[i].text);
}

static void floats(void **state)
{
	(void)state;
	static const struct { float v; const char *text; } cases[] = {
		{ 0.0f, "0.0" }, { -0.0f, "-0.0" }, { 1.0f, "1.0" }, { 0.1f, "0.1" }, { 10000.0f, "10000.0" },
		{ 1e-5f, "0.00001" }, { 1e-6f, "0.000001" }, { 1e-7f, "1e-7" }, { 1.5e-7f, "1.5e-7" },
		{ 1000000.0f, "1000000.0" }, { 1e12f, "1000000000000.0" }, { 1e13f, "1e+13" },
		{ 16777216.0f, "16777216.0" }, { 3.4028235e38f, "3.4028235e+38" },
		{ 1.1754944e-38f, "1.1754944e-38" },
		{ 1e-45f, "1e-45" }, { 0.33333334f, "0.33333334" }, { 3.1415927f, "3.1415927" },
		{ 0x1p-96f, "1.2621775e-29" }, { 8388608.5f, "8388608.0" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_f32(cases[i].v, cases[i].text);
}

/* Digits of a text without the zeros that only hold places. */
static int significant(const char *text)
{
	char digits[NUMTEXT];
	int n = 0, first = 0;
	for (; *text != '\0' && *text != 'e'; text++)
		if (*text >= '0' && *text <= '9')
			digits[n++] = *text;
	while (n > 0 && digits[n - 1] == '0')
		n--;
	while (first < n && digits[first] == '0')
		first++;
	return n - first;
}

static void any_double_reads_back_and_no_shorter_text_does(void **state)
{
	(void)state;
	uint64_t seed = 88172645463325252u;
	for (int i = 0; i < 30000; i++) {
		uint64_t bits = next_random(&seed);
		if (i % 3 == 0)
			bits &= 0xfff0000000000000u; /* powers of two have uneven neighbours */
		double v = f64_of(bits);
		if (!isfinite(v))
			continue;
		char out[NUMTEXT], shorter[NUMTEXT];
		f64_text(v, out);
		if (f64_bits(strtod(out, NULL)) != bits || strpbrk(out, ".e") == NULL)
			fail_msg("%a became %s", v, out);
		int n = significant(out);
		if (n > 1 && snprintf(shorter, sizeof shorter, "%.*e", n - 2, v) > 0 && f64_bits(strtod(shorter, NULL)) == bits)
			fail_msg("%s has a shorter spelling, %s", out, shorter);
	}
}

static void any_float_reads_back_and_no_shorter_text_does(void **state)
{
	(void)state;
	uint64_t seed = 362436069;
	for (int i = 0; i < 30000; i++) {
		uint32_t bits = (uint32_t)(next_random(&seed) >> 16);
		if (i % 3 == 0)
			bits &= 0xff800000u;
		float v = f32_of(bits);
		if (!isfinite(v))
			continue;
		char out[NUMTEXT], shorter[NUMTEXT];
		f32_text(v, out);
		if (f32_bits(strtof(out, NULL)) != bits || strpbrk(out, ".e") == NULL)
			fail_msg("%a became %s", (double)v, out);
		int n = significant(out);
		if (n > 1 && snprintf(shorter, sizeof shorter, "%.*e", n - 2, (double)v) > 0 &&
		    f32_bits(strtof(shorter, NULL)) == bits)
			fail_msg("%s has a shorter spelling, %s", out, shorter);
	}
}

static void the_locale_does_not_matter(void **state)
{
	(void)state;
	static const char *const commas[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8", "ps_AF.UTF-8" };
	for (size_t i = 0; i < sizeof commas / sizeof *commas; i++) {
		if (setlocale(LC_NUMERIC, commas[i]) == NULL)
			continue;
		assert_f64(-1234.5678, "-1234.5678");
		assert_f64(0.1 + 0.2, "0.30000000000000004");
		assert_f64(2.5e-300, "2.5e-300");
		assert_f32(0.1f, "0.1");
		setlocale(LC_NUMERIC, "C");
		return;
	}
	skip();
}

static void integers(void **state)
{
	(void)state;
	static const struct { uint64_t v; const char *text; } whole[] = {
		{ 0, "0" }, { 7, "7" }, { 10, "10" }, { 18446744073709551615u, "18446744073709551615" },
	};
	static const struct { int64_t v; const char *text; } with_sign[] = {
		{ 0, "0" }, { -1, "-1" }, { INT64_MAX, "9223372036854775807" },
		{ INT64_MIN, "-9223372036854775808" },
	};
	char out[NUMTEXT];
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
		assert_int_equal(u64_text(whole[i].v, out), strlen(whole[i].text));
		assert_string_equal(out, whole[i].text);
	}
	for (size_t i = 0; i < sizeof with_sign / sizeof *with_sign; i++) {
		assert_int_equal(i64_text(with_sign[i].v, out), strlen(with_sign[i].text));
		assert_string_equal(out, with_sign[i].text);
	}
}

static void reading_integers(void **state)
{
	(void)state;
	static const struct { const char *text; bool fits; uint64_t v; } cases[] = {
		{ "0", true, 0 }, { "007", true, 7 }, { "9223372036854775808", true, UINT64_C(1) << 63 },
		{ "18446744073709551615", true, UINT64_MAX },
		{ "18446744073709551616", false, 0 }, { "99999999999999999999", false, 0 },
		{ "", false, 0 }, { "-", false, 0 }, { "-0", false, 0 }, { "-1", false, 0 }, { "+1", false, 0 },
		{ " 1", false, 0 }, { "1 ", false, 0 }, { "1.0", false, 0 }, { "0x10", false, 0 }, { "1e3", false, 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t v = 0;
		assert_int_equal(text_u64(tn_text(cases[i].text), &v), cases[i].fits);
		assert_true(v == cases[i].v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(doubles),
		cmocka_unit_test(floats),
		cmocka_unit_test(any_double_reads_back_and_no_shorter_text_does),
		cmocka_unit_test(any_float_reads_back_and_no_shorter_text_does),
		cmocka_unit_test(the_locale_does_not_matter),
		cmocka_unit_test(integers),
		cmocka_unit_test(reading_integers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
