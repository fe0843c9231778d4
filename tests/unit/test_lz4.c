/* test_lz4.c - blocks there and back, and blocks that are none. */
#include "codec/lz4.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static void there_and_back(void **state)
{
	(void)state;
	static uint8_t in[70000], packed[80000], out[70000];
	for (size_t i = 0; i < sizeof in; i++)
		in[i] = (uint8_t)(i / 7);
	for (size_t n = 1; n <= sizeof in; n = n * 3 + 1) {
		size_t got = lz4_pack(in, n, packed, sizeof packed);
		assert_true(got != 0);
		assert_true(lz4_unpack(packed, got, out, n));
		assert_memory_equal(out, in, n);
		assert_false(lz4_unpack(packed, got, out, n - 1));
		assert_false(lz4_unpack(packed, got, out, n + 1));
		assert_false(lz4_unpack(packed, got - 1, out, n));
		assert_int_equal(lz4_pack(in, n, packed, got - 1), 0);
	}
}

static void any_bytes(void **state)
{
	(void)state;
	uint32_t x = 1;
	for (unsigned round = 0; round < 20000; round++) {
		size_t n = round % 40, len = round % 97;
		uint8_t *in = malloc(n + 1), *out = malloc(len + 1); /* tight, for sanitizers */
		for (size_t i = 0; i < n; i++)
			in[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
		lz4_unpack(in, n, out, len);
		free(in);
		free(out);
	}
}

/* liblz4 counts in int; nothing of these lengths is looked at. */
static void lengths_beyond_int(void **state)
{
	(void)state;
	uint8_t byte = 0;
	assert_int_equal(lz4_pack(&byte, (size_t)INT_MAX + 1, &byte, 1), 0);
	assert_false(lz4_unpack(&byte, (size_t)INT_MAX + 1, &byte, 1));
	assert_false(lz4_unpack(&byte, 1, &byte, (size_t)INT_MAX + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(any_bytes),
		cmocka_unit_test(lengths_beyond_int),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
