/* test_sys_cpu.c - the number of processors follows what the process may use. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "sys/cpu.h"

#include <cmocka.h>

static void follows_affinity(void **state)
{
	cpu_set_t all, one;
	size_t first = 0;
	(void)state;
	if (sched_getaffinity(0, sizeof all, &all) != 0)
		skip();
	assert_int_equal(sys_cpu_count(), CPU_COUNT(&all));
	while (!CPU_ISSET(first, &all))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
	assert_int_equal(sys_cpu_count(), 1);
	assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(follows_affinity) };
	return cmocka_run_group_tests_name("sys_cpu", tests, NULL, NULL);
}
