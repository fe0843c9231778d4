/* value.c - how fast numbers of each type are decoded and made, beside memcpy of as many f32 in the
 * same run.
 *
 *	bench_value [MILLISECONDS]      for each measurement, by default 50
 *
 * GB/s of f32: 4 bytes an element, whatever the type takes. What does not fit the caches is left
 * out on purpose: a conversion works on pieces of this size. */
#include "value/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 65536 };

static float   x[N], y[N];
static uint8_t bytes[8 * N];

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

enum work { COPY, DECODE, ENCODE };

static void once(enum work work, const struct value_codec *c)
{
	if (work == COPY)
		memcpy(y, x, sizeof x);
	else if (work == DECODE)
		value_decode(c, bytes, y, N);
	else
		c->encode(x, bytes, N);
	__asm__ volatile("" ::: "memory"); /* the results are wanted */
}

/* The best of many short runs: what the machine does when nothing else disturbs it. */
static double speed(enum work work, const struct value_codec *c, double seconds)
{
	double best = 0, end = now() + seconds;
	while (now() < end) {
		double start = now();
		for (int i = 0; i < 8; i++)
			once(work, c);
		double rate = 8 * sizeof x / (now() - start) / 1e9;
		best = rate > best ? rate : best;
	}
	return best;
}

int main(int argc, char **argv)
{
	double seconds = (argc > 1 ? strtod(argv[1], NULL) : 50) / 1e3;
	for (uint32_t i = 0, r = 1; i < N; i++, r = r * 1664525 + 1013904223)
		x[i] = ((float)(r >> 8) / (1 << 24) - 0.5f) * 0.25f;
	double copy = speed(COPY, NULL, seconds);
	printf("%-12s %8s %7s %8s %7s\n", "type", "decode", "ratio", "encode", "ratio");
	printf("%-12s %8.2f %7.2f\n", "memcpy", copy, 1.0);
	for (int d = 0; d < TN_DTYPES; d++) {
		const struct value_codec *c = value_codec((tn_dtype)d);
		if (c == NULL)
			continue;
		double encode = 0;
		if (c->encode !=
		    NULL) /* first: it leaves numbers to decode that are like weights */
			encode = speed(ENCODE, c, seconds);
		double decode = speed(DECODE, c, seconds);
		printf("%-12s %8.2f %7.2f", tn_dtype_name((tn_dtype)d), decode, decode / copy);
		if (encode > 0)
			printf(" %8.2f %7.2f", encode, encode / copy);
		putchar('\n');
	}
	return 0;
}
