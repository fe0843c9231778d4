/* cpu.h - the machine. */
#ifndef SYS_CPU_H
#define SYS_CPU_H

unsigned sys_cpu_count(void); /* processors that this process may use, at least 1 */

#endif
