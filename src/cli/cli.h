/* cli.h - what the commands of tenon share: how a command is described, the common options, exit
 * status.
 *
 * Each command is one file cmd_NAME.c that defines one struct command; main.c lists them. The
 * command line sees the library through tenon.h alone. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "cli/opt.h"

enum status {
	STATUS_YES = 0,
	STATUS_NO = 1,      /* differs, verification failed, lossy, not found */
	STATUS_USAGE = 2,
	STATUS_INPUT = 3,   /* not a readable model file */
	STATUS_SYSTEM = 4
};

struct command;

struct cli {
	const struct command *command;
	const char          **args; /* positional arguments */
	int                   nargs;
	bool                  json, quiet, verbose, help, single;
	const char           *from; /* a format's name, or NULL */
	int                   io;   /* 0, or 1 + tn_io */
	uint64_t              threads, max_memory;
};

struct command {
	const char       *name;
	const char       *args;    /* "FILE TENSOR" */
	const char       *summary; /* half a line, for the list of commands */
	const char       *details; /* paragraphs after the options, or NULL */
	const struct opt *options; /* its own, ended by OPT_END */
	size_t            size;    /* of the struct that its options fill */
	int               least, most; /* positional arguments */
	enum status     (*run)(const struct cli *cli, const void *options);
};

extern const struct command cmd_ls, cmd_info, cmd_get, cmd_convert, cmd_split, cmd_merge, cmd_verify, cmd_hash, cmd_map,
	cmd_formats, cmd_meta, cmd_sample, cmd_pack, cmd_unpack, cmd_repack;

/* The work options of the library as the command line gave them; progress draws a bar on a
 * terminal. */
tn_work cli_work(const struct cli *cli);

#endif
