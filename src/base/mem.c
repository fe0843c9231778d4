#include "base/mem.h"
#include <stdlib.h>

void *mem_alloc(size_t n) { return malloc(n != 0 ? n : 1); }
void *mem_realloc(void *p, size_t n) { return realloc(p, n != 0 ? n : 1); }
void  mem_free(void *p) { free(p); }
