/* test_planes.c - bytes by their place in the element, and back. */
#include "io/planes.h"

#include <string.h>

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static void by_place(void **state)
{
	(void)state;
	uint8_t out[11];
	planes_split((const uint8_t *)"aAbBcC", 6, 2, out);
	assert_memory_equal(out, "abcABC", 6);
	planes_split((const uint8_t *)"a1A!b2B\"", 8, 4, out);
	assert_memory_equal(out, "ab12AB!\"", 8);
	planes_split((const uint8_t *)"aAbBx", 5, 2, out);
	assert_memory_equal(out, "abABx", 5);
}

static void and_back(void **state)
{
	(void)state;
	static uint8_t in[4099], split[4099], out[4099];
	for (size_t i = 0; i < sizeof in; i++)
		in[i] = (uint8_t)(i * i + i / 256);
	for (unsigned width = 1; width <= 8; width *= 2) {
		for (size_t n = 0; n <= sizeof in; n += n < 40 ? 1 : 1353) {
			memset(out, 0xa5, sizeof out);
			planes_split(in, n, width, split);
			planes_join(split, n, width, out);
			assert_memory_equal(out, in, n);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_place),
		cmocka_unit_test(and_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
