/* mem.h - the one door to the allocator, so that tests can make the nth allocation fail. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t n);              /* n of 0 counts as 1; NULL when there is none */
void *mem_realloc(void *p, size_t n);
void  mem_free(void *p);

#endif
