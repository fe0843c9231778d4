/* test_report.c - findings: kept in order, copied, counted, and cut when there are too many. */
#include "model/report.h"

#include "support/fault_mem.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static void findings_stand_in_order(void **state)
{
	(void)state;
	struct tn_report r;
	char name[] = "w";
	report_init(&r);
	assert_int_equal(tn_report_count(&r), 0);
	report_add(&r, TN_WARNING, TN_E_CORRUPT, 12, tn_text(name), "first %d", 1);
	report_add(&r, TN_ERROR, TN_E_CHECKSUM, TN_NO_OFFSET, NO_TENSOR, "second");
	report_add(&r, TN_NOTE, TN_OK, 0, (tn_view){ (const uint8_t *)"", 0 }, "third");
	name[0] = 'x'; /* what was given is copied */
	assert_int_equal(tn_report_count(&r), 3);
	tn_finding f = tn_report_at(&r, 0);
	assert_int_equal(f.severity, TN_WARNING);
	assert_int_equal(f.code, TN_E_CORRUPT);
	assert_int_equal(f.offset, 12);
	assert_true(view_is(f.tensor, "w"));
	assert_string_equal(f.text, "first 1");
	assert_null(tn_report_at(&r, 1).tensor.ptr);
	assert_non_null(tn_report_at(&r, 2).tensor.ptr); /* the tensor whose name is empty */
	for (int s = TN_NOTE; s <= TN_ERROR; s++)
		assert_int_equal(tn_report_of(&r, (tn_severity)s), 1);
	assert_ptr_equal(report_first(&r, TN_E_CHECKSUM), &r.list[1]);
	assert_null(report_first(&r, TN_E_IO));
	report_fini(&r);
	assert_int_equal(fault_mem.alive, 0);
}

static void past_the_end_there_is_nothing(void **state)
{
	(void)state;
	struct tn_report r;
	report_init(&r);
	tn_finding f = tn_report_at(&r, 0);
	assert_int_equal(f.offset, TN_NO_OFFSET);
	assert_string_equal(f.text, "");
	assert_null(f.tensor.ptr);
	report_fini(&r);
	tn_report_free(NULL);
}

static void long_texts_are_cut(void **state)
{
	(void)state;
	struct tn_report r;
	char text[1000];
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	report_init(&r);
	report_add(&r, TN_NOTE, TN_OK, 0, NO_TENSOR, "%s", text);
	assert_int_equal(strlen(tn_report_at(&r, 0).text), sizeof ((tn_error *)0)->msg - 1);
	report_fini(&r);
}

static void flood(struct tn_report *r, size_t n, tn_severity last)
{
	for (size_t i = 0; i < n; i++)
		report_add(r, i + 1 == n ? last : TN_NOTE, i + 1 == n ? TN_E_LOSSY : TN_OK, i, NO_TENSOR, "finding %zu", i);
}

static void a_flood_is_cut(void **state)
{
	(void)state;
	struct tn_report r;
	report_init(&r);
	flood(&r, REPORT_MAX, TN_NOTE);
	assert_int_equal(tn_report_count(&r), REPORT_MAX);
	assert_string_equal(tn_report_at(&r, REPORT_MAX - 1).text, "finding 9999");
	flood(&r, 1, TN_NOTE);
	assert_string_equal(tn_report_at(&r, REPORT_MAX - 1).text, "2 more findings are left out");
	assert_int_equal(tn_report_at(&r, REPORT_MAX - 1).offset, TN_NO_OFFSET);
	flood(&r, 1000, TN_ERROR);
	assert_int_equal(tn_report_count(&r), REPORT_MAX);
	assert_string_equal(tn_report_at(&r, REPORT_MAX - 2).text, "finding 9998");
	assert_string_equal(tn_report_at(&r, REPORT_MAX - 1).text, "1002 more findings are left out");
	assert_int_equal(tn_report_of(&r, TN_NOTE), REPORT_MAX + 1000);
	assert_int_equal(tn_report_of(&r, TN_ERROR), 1);
	/* whoever only walks the list sees that something was wrong */
	assert_int_equal(tn_report_at(&r, REPORT_MAX - 1).severity, TN_ERROR);
	assert_int_equal(tn_report_at(&r, REPORT_MAX - 1).code, TN_E_LOSSY);
	report_fini(&r);
}

static void a_copy_says_the_same(void **state)
{
	(void)state;
	static const size_t counts[] = { 0, 3, REPORT_MAX, REPORT_MAX + 1, REPORT_MAX + 500 };
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		struct tn_report from, to;
		report_init(&from);
		report_init(&to);
		flood(&from, counts[i], TN_ERROR);
		report_copy(&to, &from);
		assert_int_equal(to.n, from.n);
		for (size_t k = 0; k < to.n; k++) {
			assert_string_equal(to.list[k].text, from.list[k].text);
			assert_int_equal(to.list[k].severity, from.list[k].severity);
		}
		assert_memory_equal(to.of, from.of, sizeof to.of);
		report_fini(&from);
		report_add(&to, TN_WARNING, TN_OK, 0, NO_TENSOR, "one more"); /* nothing is borrowed from the other */
		if (counts[i] > REPORT_MAX) {
			char text[64];
			snprintf(text, sizeof text, "%zu more findings are left out", counts[i] - REPORT_MAX + 2);
			assert_string_equal(to.list[to.n - 1].text, text);
		}
		report_fini(&to);
	}
	assert_int_equal(fault_mem.alive, 0);
}

static void a_copy_may_come_after_others(void **state)
{
	(void)state;
	struct tn_report from, to;
	report_init(&from);
	report_init(&to);
	flood(&from, REPORT_MAX + 10, TN_NOTE);
	flood(&to, 5, TN_NOTE);
	report_copy(&to, &from);
	assert_int_equal(to.n, REPORT_MAX);
	assert_string_equal(to.list[REPORT_MAX - 1].text, "16 more findings are left out");
	assert_int_equal(tn_report_of(&to, TN_NOTE), REPORT_MAX + 15);
	report_fini(&from);
	report_fini(&to);
}

/* Whichever allocation fails, the report says that it is incomplete, and nothing is written out of bounds. */
static bool survives(size_t before, long n)
{
	struct tn_report r;
	report_init(&r);
	flood(&r, before, TN_NOTE);
	fault_mem.fail_at = n;
	report_add(&r, TN_ERROR, TN_OK, 0, VIEW("t"), "one");
	report_add(&r, TN_ERROR, TN_OK, 0, VIEW("t"), "two");
	bool struck = fault_mem.fail_at == 0;
	fault_mem.fail_at = 0;
	assert_int_equal(r.failed, struck);
	assert_int_equal(tn_report_of(&r, TN_ERROR), 2);
	report_fini(&r);
	assert_int_equal(fault_mem.alive, 0);
	return !struck;
}

static void memory_may_run_out(void **state)
{
	(void)state;
	static const size_t before[] = { 0, 16, REPORT_MAX };
	for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
		long n = 1;
		while (!survives(before[i], n))
			assert_true(++n < 20);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(findings_stand_in_order),
		cmocka_unit_test(past_the_end_there_is_nothing),
		cmocka_unit_test(long_texts_are_cut),
		cmocka_unit_test(a_flood_is_cut),
		cmocka_unit_test(a_copy_says_the_same),
		cmocka_unit_test(a_copy_may_come_after_others),
		cmocka_unit_test(memory_may_run_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
