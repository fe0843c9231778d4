/* host.c - numbers of this host as bytes of a file, and back. */
#include "support/host.h"

#include "model/dtype.h"

#include <stdio.h>
#include <stdlib.h>

static _Noreturn void give_up(const char *what)
{
	fprintf(stderr, "test: %s\n", what);
	exit(99);
}

static void *grab(size_t n)
{
	void *p = malloc(n != 0 ? n : 1);
	if (p == NULL)
		give_up("out of memory");
	return p;
}

uint64_t host_at(size_t width, uint64_t at)
{
	return host_is_big_endian() ? at / width * width + (width - 1 - at % width) : at;
}

/* Where the file has them, where this host has them: turning is its own reverse. */
static void turn(tn_dtype dtype, uint8_t *to, const uint8_t *from, size_t n)
{
	size_t width = dtype_info(dtype)->swap > 1 ? dtype_info(dtype)->swap : 1;
	for (size_t i = 0; i < n; i++)
		to[i] = from[host_at(width, i)];
}

const void *host_to_file(tn_dtype dtype, const void *p, size_t n)
{
	if (!host_is_big_endian())
		return p;
	uint8_t *copy = grab(n);
	turn(dtype, copy, p, n);
	return copy;
}

tn_view host_file_bytes(const tn_file *file, size_t i)
{
	tn_tensor t = tn_tensor_at(file, i);
	size_t n = (size_t)t.nbytes;
	uint8_t *read = grab(n), *bytes = grab(n);
	tn_view in_place;
	if (tn_read(file, i, 0, read, n, NULL) != TN_OK)
		give_up("a tensor cannot be read");
	turn(t.dtype, bytes, read, n);
	free(read);
	if (tn_bytes(file, i, &in_place, NULL) == TN_OK && (in_place.len != n || memcmp(in_place.ptr, bytes, n) != 0))
		give_up("the bytes in place differ from those read");
	return (tn_view){ bytes, n };
}
