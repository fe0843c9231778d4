/* npy.h - the head of a numpy file, version 1.0. */
#ifndef CLI_NPY_H
#define CLI_NPY_H

#include <stdint.h>
#include <stdio.h>

void npy_header(FILE *to, const char *descr, uint32_t rank, const uint64_t *shape);

#endif
