/* progress.c - a line on the terminal while long work is done, gone when it is over. */
#define _POSIX_C_SOURCE 200809L
#include "cli/cli.h"
#include "cli/text.h"
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_MS = 500, STEP_MS = 100, BAR = 30 };

static uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void draw(uint64_t done, uint64_t total)
{
	struct text t = { 0 };
	int full = total > 0 ? (int)((double)done / (double)total * BAR) : BAR;
	text_str(&t, "\r[");
	for (int i = 0; i < BAR; i++)
		text_str(&t, i < full ? "#" : " ");
	text_str(&t, "] ");
	text_bytes(&t, done);
	text_str(&t, " of ");
	text_bytes(&t, total);
	fprintf(stderr, "%s\x1b[K", text_is(&t));
	text_free(&t);
}

/* Quick work shows nothing at all. */
static bool progress(void *ctx, uint64_t done, uint64_t total)
{
	static uint64_t next;
	static bool drawn;
	(void)ctx;
	uint64_t now = now_ms();
	if (next == 0)
		next = now + FIRST_MS;
	if (done >= total) {
		if (drawn)
			fputs("\r\x1b[K", stderr);
		drawn = false;
	} else if (now >= next) {
		next = now + STEP_MS;
		drawn = true;
		draw(done, total);
	}
	return true;
}

tn_work cli_work(const struct cli *cli)
{
	tn_work work = { .threads = cli->threads < 1024 ? (unsigned)cli->threads : 1024 };
	if (!cli->quiet && !cli->json && isatty(STDERR_FILENO))
		work.progress = progress;
	return work;
}
