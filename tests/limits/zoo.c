/* zoo.c - no file of a mebibyte makes a command crash, hang, or take 256 MiB: each hostile file under each command that
 * reads. Prints what the dearest of them took.
 *
 *	test_limits_zoo TENON [ANIMAL]
 *
 * The files are made here. A hang is what takes 20 seconds of a processor. With an animal's name, it alone is run, every
 * command is listed, and the file is kept. */
#include "limits/zoo.h"
#include "support/files.h"
#include "support/sanitized.h"
#include "support/set_kit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HANG = 20 /* seconds */, MEMORY = 256 << 10 /* KiB */, SANITIZER_DIED = 99, STATUS_MAX = 4, ARGS = 4 };
#define TARGET "animal.out.thin" /* that is never written */

/* ---- Making ---- */

unsigned zoo_fill(struct buf *b, zoo_part part, size_t room)
{
	enum { LONGEST = 256 };
	unsigned i = 0;
	while (b->len + LONGEST + room <= ZOO_SIZE)
		part(b, i++);
	return i;
}

unsigned zoo_repeat(struct buf *b, const char *text, size_t room)
{
	unsigned i = 0;
	for (size_t n = strlen(text); b->len + n + room <= ZOO_SIZE; i++)
		buf_text(b, text);
	return i;
}

/* ---- Running ---- */

/* Under a sanitizer a process takes longer to start than to work: the commands that do most stand for the others. */
static const struct {
	const char *args[ARGS];
	const char *target;
	bool        always;
} commands[] = {
	{ { "ls", "--json" }, NULL, true },
	{ { "ls", "--tree", "--io=pread" }, NULL, false },
	{ { "info", "-v" }, NULL, true },
	{ { "verify" }, NULL, false },
	{ { "verify", "--deep" }, NULL, true },
	{ { "map" }, NULL, false },
	{ { "hash" }, NULL, false },
	{ { "meta", "-v" }, NULL, false },
	{ { "convert", "--dry-run" }, TARGET, true },
	{ { "repack", "--dry-run", "--layout=fused" }, TARGET, false },
};
enum { COMMANDS = sizeof commands / sizeof *commands };

struct cost {
	double      seconds;
	long        kib;
	const char *slowest, *largest;
};

static struct cost costs[COMMANDS];
static unsigned runs, failures;

static _Noreturn void run_command(const char *tenon, int command, const char *file)
{
	const struct rlimit cap = { HANG, HANG + 1 };
	const char *argv[ARGS + 4] = { "tenon" };
	const char *const *args = commands[command].args;
	size_t n = 1;
	int null = open("/dev/null", O_RDWR);
	while (n <= ARGS && args[n - 1] != NULL) {
		argv[n] = args[n - 1];
		n++;
	}
	argv[n] = file;
	argv[n + 1] = commands[command].target;
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	setrlimit(RLIMIT_CPU, &cap);
	execv(tenon, (char *const *)(uintptr_t)argv);
	_exit(SANITIZER_DIED);
}

static void fail(const char *animal, int command, const char *what, long n)
{
	printf("FAILED: tenon %s %s: %s: %s %ld\n", commands[command].args[0],
	       commands[command].args[1] != NULL ? commands[command].args[1] : "", animal, what, n);
	failures++;
}

static double seconds(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec / 1e6; }

static void judge(const char *animal, int command, int status, const struct rusage *used, bool listed)
{
	struct cost *c = &costs[command];
	double s = seconds(used->ru_utime) + seconds(used->ru_stime);
	if (WIFSIGNALED(status))
		fail(animal, command, WTERMSIG(status) == SIGXCPU ? "hangs" : "dies of signal", WTERMSIG(status));
	else if (WEXITSTATUS(status) > STATUS_MAX)
		fail(animal, command, "ends with status", WEXITSTATUS(status));
	if (!SANITIZED && used->ru_maxrss > MEMORY)
		fail(animal, command, "takes KiB", used->ru_maxrss);
	if (s > c->seconds) {
		c->seconds = s;
		c->slowest = animal;
	}
	if (used->ru_maxrss > c->kib) {
		c->kib = used->ru_maxrss;
		c->largest = animal;
	}
	if (listed)
		printf("  %-7s %-7s status %d  %6.3f s  %7.1f MiB\n", commands[command].args[0],
		       commands[command].args[1] != NULL ? commands[command].args[1] : "", WEXITSTATUS(status), s,
		       (double)used->ru_maxrss / 1024);
}

static void show(const char *tenon, const struct animal *a, const char *path, bool listed)
{
	for (int i = 0; i < COMMANDS; i++) {
		struct rusage used;
		int status;
		if (SANITIZED && !commands[i].always)
			continue;
		fflush(stdout);
		pid_t child = fork();
		if (child == 0)
			run_command(tenon, i, path);
		if (child < 0 || wait4(child, &status, 0, &used) != child) {
			perror("run");
			exit(SANITIZER_DIED);
		}
		runs++;
		judge(a->name, i, status, &used, listed);
	}
}

/* Sets find one shard beside their index: the tensors a and b. */
static void visit(const char *tenon, const struct animal *a, const char *folder, bool listed)
{
	struct buf b;
	buf_init(&b, 0);
	a->make(&b);
	if (b.failed || b.len > ZOO_SIZE) {
		printf("FAILED: %s has %zu bytes\n", a->name, b.len);
		failures++;
	}
	char *path = files_join(folder, a->file != NULL ? a->file : "animal");
	files_store(path, buf_bytes(&b));
	if (listed)
		printf("%s: %s, %zu bytes\n", a->name, path, b.len);
	show(tenon, a, path, listed);
	buf_fini(&b);
	if (!listed)
		unlink(path);
	free(path);
}

static void report(unsigned animals)
{
	printf("%u files, %u runs\n%-22s %-9s %-26s %-11s %s\n", animals, runs, "command", "at most", "with", "at most", "with");
	for (int i = 0; i < COMMANDS; i++)
		if (costs[i].slowest != NULL)
			printf("%-6s %-15s %6.3f s  %-26s %6.1f MiB  %s\n", commands[i].args[0],
			       commands[i].args[1] != NULL ? commands[i].args[1] : "", costs[i].seconds, costs[i].slowest,
			       (double)costs[i].kib / 1024, costs[i].largest);
}

int main(int argc, char **argv)
{
	static const struct animal *const houses[] = {
		zoo_safetensors, zoo_gguf, zoo_burnpack, zoo_apr, zoo_thin, zoo_sets, zoo_checkpoints,
	};
	unsigned animals = 0;
	if (argc < 2)
		return SANITIZER_DIED;
	setenv("ASAN_OPTIONS", "allocator_may_return_null=1:exitcode=99", 1);
	setenv("UBSAN_OPTIONS", "exitcode=99", 1);
	char *folder = tempdir_new();
	tn_view shard = set_kit_file("ab");
	free(kit_store(folder, "shard.safetensors", shard));
	free((void *)(uintptr_t)shard.ptr);
	for (size_t h = 0; h < sizeof houses / sizeof *houses; h++) {
		if (houses[h] == zoo_checkpoints)
			free(kit_store(folder, "config.json", tn_text(zoo_config)));
		for (const struct animal *a = houses[h]; a->name != NULL; a++)
			if (argc < 3 || strcmp(argv[2], a->name) == 0) {
				visit(argv[1], a, folder, argc > 2);
				animals++;
			}
	}
	report(animals);
	if (argc < 3)
		tempdir_remove(folder);
	return failures != 0 || animals == 0;
}
