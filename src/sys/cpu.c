/* cpu.c - how many processors this process may use: its affinity mask where the system has one that
 * fits, else what is online. */
#define _GNU_SOURCE 1
#include "sys/cpu.h"

#include <sched.h>
#include <unistd.h>

unsigned sys_cpu_count(void)
{
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
		return (unsigned)CPU_COUNT(&set);
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	return online > 0 ? (unsigned)online : 1;
}
