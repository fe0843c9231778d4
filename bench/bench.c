/* bench.c - times calls of the library in one process.
 *
 *	bench open FILE RUNS     open and close, the file in the page cache
 *	bench hash FILE RUNS     content digest, all threads
 *	bench verify FILE RUNS   deep verification, all threads
 *
 * Prints one line: median and least milliseconds, and the peak of memory in KiB. bench/run puts these lines beside
 * those of the peers, which are measured in the same way by bench/peers. */
#include <tenon.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static tn_file *open_or_die(const char *path)
{
	tn_error err;
	tn_file *f;
	if (tn_open(&f, path, NULL, &err) != TN_OK) {
		fprintf(stderr, "bench: %s: %s\n", path, err.msg);
		exit(1);
	}
	return f;
}

static void open_and_close(const char *path) { tn_close(open_or_die(path)); }

static void hash(const char *path)
{
	tn_error err;
	tn_digest total;
	tn_file *f = open_or_die(path);
	if (tn_hash(f, NULL, NULL, &total, &err) != TN_OK) {
		fprintf(stderr, "bench: %s: %s\n", path, err.msg);
		exit(1);
	}
	tn_close(f);
}

static void verify(const char *path)
{
	const tn_verify_options deep = { .deep = true };
	tn_error err;
	tn_report *report;
	tn_file *f = open_or_die(path);
	if (tn_verify(f, &deep, &report, &err) != TN_OK || tn_report_of(report, TN_ERROR) != 0) {
		fprintf(stderr, "bench: %s: not good\n", path);
		exit(1);
	}
	tn_report_free(report);
	tn_close(f);
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static void measure(void (*work)(const char *), const char *path, size_t runs)
{
	double *ms = malloc(runs * sizeof *ms);
	if (ms == NULL)
		exit(1);
	work(path); /* warms the page cache */
	for (size_t i = 0; i < runs; i++) {
		double start = now_ms();
		work(path);
		ms[i] = now_ms() - start;
	}
	qsort(ms, runs, sizeof *ms, by_value);
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("%.2f %.2f %ld\n", ms[runs / 2], ms[0], usage.ru_maxrss);
	free(ms);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*work)(const char *);
	} kinds[] = { { "open", open_and_close }, { "hash", hash }, { "verify", verify } };
	long runs = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
	for (size_t i = 0; runs > 0 && i < sizeof kinds / sizeof *kinds; i++) {
		if (strcmp(argv[1], kinds[i].name) == 0) {
			measure(kinds[i].work, argv[2], (size_t)runs);
			return 0;
		}
	}
	fprintf(stderr, "usage: bench open|hash|verify FILE RUNS\n");
	return 2;
}
