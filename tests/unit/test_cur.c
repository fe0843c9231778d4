/* test_cur.c - the cursor moves inside its bytes, and stays where it failed. */
#include "codec/cur.h"
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
static const tn_view all = { bytes, sizeof bytes };

static void reads_are_little_endian_and_move(void **state)
{
	(void)state;
	tn_error err = { 0 };
	struct cur c = cur_over(all, 1000, "test: table", &err);
	assert_int_equal(cur_left(&c), 15);
	assert_int_equal(cur_u8(&c), 1);
	assert_int_equal(cur_u16(&c), 0x0302);
	assert_int_equal(cur_u32(&c), 0x07060504);
	assert_int_equal(cur_offset(&c), 1007);
	assert_true(cur_u64(&c) == 0x0f0e0d0c0b0a0908u);
	assert_int_equal(cur_left(&c), 0);
	assert_true(cur_ok(&c));
}

static void views_are_in_place(void **state)
{
	(void)state;
	tn_error err = { 0 };
	struct cur c = cur_over(all, 0, "test", &err);
	tn_view v = cur_view(&c, 5);
	assert_ptr_equal(v.ptr, bytes);
	assert_int_equal(v.len, 5);
	v = cur_view(&c, 0);
	assert_int_equal(v.len, 0);
	v = cur_view(&c, 10);
	assert_ptr_equal(v.ptr, bytes + 5);
	assert_true(cur_ok(&c));
	v = cur_view(&c, 1);
	assert_null(v.ptr);
	assert_int_equal(v.len, 0);
	assert_false(cur_ok(&c));
}

static void a_failed_read_poisons(void **state)
{
	(void)state;
	tn_error err = { 0 };
	struct cur c = cur_over(all, 1000, "test: table", &err);
	cur_take(&c, 10);
	assert_true(cur_u64(&c) == 0); /* five bytes are left */
	assert_int_equal(err.code, TN_E_TRUNCATED);
	assert_int_equal(err.offset, 1010);
	assert_string_equal(err.msg, "test: table: ends early");
	assert_int_equal(cur_left(&c), 0);
	assert_int_equal(cur_u8(&c), 0); /* though a byte would have been there */
	assert_int_equal(cur_u16(&c), 0);
	assert_int_equal(cur_u32(&c), 0);
	assert_int_equal(err.offset, 1010);
}

static void lengths_near_the_top_do_not_wrap(void **state)
{
	(void)state;
	static const uint64_t lengths[] = { 16, UINT32_MAX, UINT64_MAX, UINT64_MAX - 15, UINT64_C(1) << 63 };
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		tn_error err = { 0 };
		struct cur c = cur_over(all, 0, "test", &err);
		assert_null(cur_take(&c, lengths[i]));
		assert_int_equal(err.code, TN_E_TRUNCATED);
	}
}

static void counts_are_paid_for_in_bytes(void **state)
{
	(void)state;
	static const struct { uint64_t n, min; bool ok; } cases[] = {
		{ 0, 1, true }, { 15, 1, true }, { 16, 1, false }, { 7, 2, true }, { 8, 2, false },
		{ 1, 15, true },
		{ 1, 16, false }, { UINT64_MAX, 1, false }, { UINT64_MAX / 2 + 2, 2, false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		tn_error err = { 0 };
		struct cur c = cur_over(all, 0, "test", &err);
		uint64_t n = cur_count(&c, cases[i].n, cases[i].min);
		assert_true(n == (cases[i].ok ? cases[i].n : 0));
		assert_int_equal(err.code, cases[i].ok ? TN_OK : TN_E_TRUNCATED);
		assert_int_equal(cur_left(&c), cases[i].ok ? 15 : 0);
	}
}

static void failures_name_what_was_read(void **state)
{
	(void)state;
	tn_error err = { 0 };
	struct cur c = cur_over(all, 100, "gguf: header", &err);
	cur_u32(&c);
	cur_fail(&c, TN_E_CORRUPT, "bad magic");
	cur_fail(&c, TN_E_LIMIT, "later");
	assert_int_equal(err.code, TN_E_CORRUPT);
	assert_int_equal(err.offset, 104);
	assert_string_equal(err.msg, "gguf: header: bad magic");
}

static void nothing_can_be_read_from_nowhere(void **state)
{
	(void)state;
	tn_error err = { 0 };
	struct cur c = cur_over((tn_view){ NULL, 0 }, 5, "test", &err);
	assert_int_equal(cur_left(&c), 0);
	assert_int_equal(cur_view(&c, 0).len, 0);
	assert_true(cur_ok(&c));
	assert_int_equal(cur_u8(&c), 0);
	assert_int_equal(err.code, TN_E_TRUNCATED);
	assert_int_equal(err.offset, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_are_little_endian_and_move),
		cmocka_unit_test(views_are_in_place),
		cmocka_unit_test(a_failed_read_poisons),
		cmocka_unit_test(lengths_near_the_top_do_not_wrap),
		cmocka_unit_test(counts_are_paid_for_in_bytes),
		cmocka_unit_test(failures_name_what_was_read),
		cmocka_unit_test(nothing_can_be_read_from_nowhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
