/* fuzz.h - what the fuzzers have in common: their entry point, a stop that says what was broken, and an input read
 * from front to back. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include "tenon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "broken: %s\n", what);
		abort();
	}
}

/* Past its end an input goes on with zeros. */
struct input {
	const uint8_t *p, *end;
};

static inline size_t input_left(const struct input *in) { return (size_t)(in->end - in->p); }

static inline uint8_t take(struct input *in) { return in->p < in->end ? *in->p++ : 0; }

/* n bytes, or as many as there are. */
static inline tn_view take_view(struct input *in, size_t n)
{
	size_t left = input_left(in);
	tn_view v = { in->p, n < left ? n : left };
	in->p += v.len;
	return v;
}

static inline uint64_t take_number(struct input *in, unsigned bytes)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)take(in) << 8 * i;
	return v;
}

#endif
