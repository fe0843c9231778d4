/* main.c - the tenon command: finds the command of that name and runs it. */
#include "cli/cli.h"
#include "cli/fail.h"
#include "cli/out.h"
#include "cli/signals.h"
#include <stdlib.h>
#include <string.h>

static const struct command *const commands[] = {
	&cmd_ls, &cmd_info, &cmd_get, &cmd_convert, &cmd_split, &cmd_merge, &cmd_verify, &cmd_hash,
	&cmd_map, &cmd_meta, &cmd_stamp, &cmd_pack, &cmd_unpack, &cmd_repack, &cmd_plan, &cmd_simulate,
	&cmd_profile, &cmd_formats, &cmd_sample,
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static int unknown(const char *name, char **args)
{
	struct cli cli = { .json = opt_asks_json(args) };
	return (int)fail_usage(&cli, "no command '%s'", name);
}

static void print_overview(FILE *to)
{
	fprintf(to, "usage: tenon COMMAND [OPTION]... ARGUMENT...\n\n"
	        "Reads, checks, converts and writes the files that hold model weights.\n\n");
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(to, "  %-8s  %s\n", commands[i]->name, commands[i]->summary);
	fprintf(to, "  %-8s  %s\n", "help", "Show this list, or the options of a command");
	fprintf(to, "\n'tenon help COMMAND' tells more. FILE may be '-' for standard input.\n"
	        "--json is for scripts. Exit status: 0 yes, 1 no, 2 usage, 3 not a readable "
	        "model file, 4 system.\n");
}

static int help(const char *name)
{
	struct cli cli = { .command = name != NULL ? find(name) : NULL };
	if (name == NULL)
		print_overview(stdout);
	else if (cli.command == NULL)
		return unknown(name, (char *[]){ NULL });
	else
		opt_help(&cli);
	return STATUS_YES;
}

static int run(const struct command *command, int argc, char **argv)
{
	const char **args = grab(((size_t)argc + 1) * sizeof *args);
	struct cli cli = { .command = command, .args = args };
	void *own = calloc(1, command->size > 0 ? command->size : 1);
	if (own == NULL)
		out_die("out of memory");
	int status = STATUS_USAGE;
	if (opt_parse(&cli, own, argv))
		status = cli.help ? help(command->name) : (int)command->run(&cli, own);
	opt_free(command->options, own);
	free(own);
	free(args);
	return status;
}

static int dispatch(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	if (name == NULL) {
		print_overview(stderr);
		return STATUS_USAGE;
	}
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		return printf("tenon %s\n", tn_version()) < 0;
	if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		return help(argc > 2 ? argv[2] : NULL);
	const struct command *command = find(name);
	return command != NULL ? run(command, argc - 2, argv + 2) : unknown(name, argv + 2);
}

int main(int argc, char **argv)
{
	signals_install();
	return out_finish(dispatch(argc, argv));
}
