/* fault_mem.h - an allocator whose nth allocation fails, and that knows how many are alive.
 *
 * These are definitions: one file of a program includes this, and it takes the place of the library's one
 * door to the allocator. */
#ifndef SUPPORT_FAULT_MEM_H
#define SUPPORT_FAULT_MEM_H

#include "base/mem.h"

#include <stdlib.h>

static struct {
	long fail_at; /* counting down: the allocation that finds 1 fails; 0: none does */
	long alive;
} fault_mem;

static inline int fault_mem_strikes(void) { return fault_mem.fail_at > 0 && --fault_mem.fail_at == 0; }

void *mem_alloc(size_t n)
{
	void *p = fault_mem_strikes() ? NULL : malloc(n != 0 ? n : 1);
	fault_mem.alive += p != NULL;
	return p;
}

void *mem_realloc(void *p, size_t n)
{
	void *q = fault_mem_strikes() ? NULL : realloc(p, n != 0 ? n : 1);
	fault_mem.alive += p == NULL && q != NULL;
	return q;
}

void mem_free(void *p)
{
	fault_mem.alive -= p != NULL;
	free(p);
}

#endif
