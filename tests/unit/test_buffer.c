/* test_buffer.c - buffers of any alignment. */
#include "tenon.h"

#include "support/fault_mem.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

static void every_power_of_two(void **state)
{
	(void)state;
	static const size_t lengths[] = { 0, 1, 63, 64, 65, 5000 };
	for (size_t align = 1; align <= 4096; align *= 2) {
		tn_buffer b;
		tn_buffer_init(&b, align);
		assert_null(b.ptr);
		for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
			assert_int_equal(tn_buffer_resize(&b, lengths[i], NULL), TN_OK);
			assert_int_equal(b.len, lengths[i]);
			assert_true(b.cap >= lengths[i]);
			assert_int_equal((uintptr_t)b.ptr % align, 0);
			memset(b.ptr, 0xa5, b.len);
		}
		tn_buffer_fini(&b);
		assert_null(b.ptr);
		assert_int_equal(b.align, align);
	}
	assert_int_equal(fault_mem.alive, 0);
}

static void the_default_is_64(void **state)
{
	(void)state;
	tn_buffer zero = { 0 };
	for (size_t len = 1; len < 100000; len *= 3) {
		assert_int_equal(tn_buffer_resize(&zero, len, NULL), TN_OK);
		assert_int_equal((uintptr_t)zero.ptr % 64, 0);
	}
	tn_buffer_fini(&zero);
	tn_buffer_fini(&zero);
}

static void shrinking_keeps_the_memory(void **state)
{
	(void)state;
	tn_buffer b = { 0 };
	assert_int_equal(tn_buffer_resize(&b, 100, NULL), TN_OK);
	uint8_t *ptr = b.ptr;
	memset(b.ptr, 7, 100);
	assert_int_equal(tn_buffer_resize(&b, 0, NULL), TN_OK);
	assert_int_equal(tn_buffer_resize(&b, 100, NULL), TN_OK);
	assert_ptr_equal(b.ptr, ptr);
	assert_int_equal(b.ptr[99], 7);
	tn_buffer_fini(&b);
}

static void other_alignments_are_refused(void **state)
{
	(void)state;
	static const size_t aligns[] = { 3, 6, 48, 63, 4097, SIZE_MAX };
	for (size_t i = 0; i < sizeof aligns / sizeof *aligns; i++) {
		tn_buffer b;
		tn_error err;
		tn_buffer_init(&b, aligns[i]);
		assert_int_equal(tn_buffer_resize(&b, 10, &err), TN_E_USAGE);
		assert_int_equal(err.code, TN_E_USAGE);
		assert_null(b.ptr);
		assert_int_equal(b.len, 0);
		tn_buffer_fini(&b);
	}
}

static void what_there_is_no_room_for(void **state)
{
	(void)state;
	static const size_t lengths[] = { SIZE_MAX, SIZE_MAX - 64, SIZE_MAX / 2 };
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		tn_buffer b = { .align = 4096 };
		assert_int_equal(tn_buffer_resize(&b, 10, NULL), TN_OK);
		fault_mem.fail_at = 1; /* where the length can be asked for at all */
		assert_int_equal(tn_buffer_resize(&b, lengths[i], NULL), TN_E_NOMEM);
		fault_mem.fail_at = 0;
		assert_null(b.ptr);
		assert_int_equal(b.len, 0);
		assert_int_equal(b.cap, 0);
		assert_int_equal(tn_buffer_resize(&b, 10, NULL), TN_OK); /* still of use */
		tn_buffer_fini(&b);
	}
	assert_int_equal(fault_mem.alive, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_power_of_two),
		cmocka_unit_test(the_default_is_64),
		cmocka_unit_test(shrinking_keeps_the_memory),
		cmocka_unit_test(other_alignments_are_refused),
		cmocka_unit_test(what_there_is_no_room_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
