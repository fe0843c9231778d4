/* signals.c - leaving nothing behind when the program is stopped, and a clear word when a file
 * shrinks.
 *
 * A file that is cut while it is mapped raises SIGBUS at the first touch of a page that is gone. */
#define _POSIX_C_SOURCE 200809L
#include "cli/signals.h"
#include "cli/cli.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const char *volatile temp_path;
static const char *volatile watched_path;
static const uint8_t *volatile watched_start;
static volatile uint64_t watched_size;

void signals_watch(const char *path, const uint8_t *start, uint64_t size)
{
	watched_path = path;
	watched_start = start;
	watched_size = size;
}

void signals_temp(const char *path)
{
	temp_path = path;
}

static sigset_t before_hold;

void signals_hold(void)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before_hold);
}

void signals_release(void)
{
	sigprocmask(SIG_SETMASK, &before_hold, NULL);
}

void clean_up(void)
{
	if (temp_path != NULL)
		unlink(temp_path);
	tn_abandon_all();
}

static void on_stop(int number)
{
	clean_up();
	signal(number, SIG_DFL);
	raise(number);
}

/* stdio is not safe here. */
static void say(const char *s)
{
	if (write(STDERR_FILENO, s, strlen(s)) < 0)
		return; /* nobody is left to tell */
}

static void say_number(uint64_t n)
{
	char digits[24], *p = digits + sizeof digits;
	*--p = '\0';
	do
		*--p = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	say(p);
}

static void on_bus(int number, siginfo_t *info, void *context)
{
	(void)number, (void)context;
	clean_up();
	say("tenon: ");
	say(watched_path != NULL ? watched_path : "input");
	say(": the file became shorter while it was read");
	uint64_t at = (uint64_t)((uintptr_t)info->si_addr - (uintptr_t)watched_start);
	if (watched_start != NULL && at < watched_size) {
		say(" (io at byte ");
		say_number(at);
		say(")\n");
	} else {
		say(" (io)\n");
	}
	_exit(STATUS_SYSTEM);
}

static void install(int number, void (*handler)(int))
{
	struct sigaction old, action = { .sa_handler = handler };
	sigemptyset(&action.sa_mask);
	/* nohup stays in force */
	if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
		sigaction(number, &action, NULL);
}

void signals_install(void)
{
	install(SIGINT, on_stop);
	install(SIGTERM, on_stop);
	install(SIGHUP, on_stop);
	struct sigaction bus = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };
	sigemptyset(&bus.sa_mask);
	sigaction(SIGBUS, &bus, NULL);
	install(SIGXFSZ, SIG_IGN); /* then the write beyond the limit fails, and is told as a full disk is */
}
