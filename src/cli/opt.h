/* opt.h - options as tables: the table that fills a struct also prints the help. */
#ifndef CLI_OPT_H
#define CLI_OPT_H

#include "tenon.h"

/* What an option fills in its struct. */
enum opt_type {
	OPT_FLAG,   /* bool */
	OPT_TEXT,   /* const char * */
	OPT_COUNT,  /* uint64_t */
	OPT_SIZE,   /* uint64_t: 64K, 16MiB, 5GB */
	OPT_MEMORY, /* uint64_t: 8GB, 8 gib, 0.5g: powers of 1024 all, as memory is sold */
	OPT_CHOICE, /* int: 1 for the first word of arg ("a|b|c"), 2 for the second */
	OPT_LIST    /* struct opt_list: may be given again and again */
};

struct opt {
	const char   *name;   /* without dashes */
	char          letter; /* 0: none */
	enum opt_type type;
	size_t        at;     /* offsetof in the struct */
	const char   *arg;    /* "GLOB"; the words of a choice */
	const char   *help;
};
#define OPT_END { NULL, 0, OPT_FLAG, 0, NULL, NULL }

struct opt_list {
	const char **items; /* ended by NULL; or NULL itself when empty */
	size_t       n;
};

struct cli;

/* Whether --json is among the arguments, of which NULL is the last. */
bool opt_asks_json(char **args);
/* Splits argv into options and positional arguments: those of cli->command into own, the common
 * ones into cli. False after a complaint has been printed. cli->args has room for as many pointers. */
bool opt_parse(struct cli *cli, void *own, char **argv);
void opt_free(const struct opt *options, void *own);
/* The help of one command. */
void opt_help(const struct cli *cli);
/* 500, 64K, 16MiB: powers of 1024; 5GB: powers of 1000. */
bool opt_size(const char *text, uint64_t *out);
/* 64.2MiB, 8gb, 1G: powers of 1024, in any case, rounded to whole bytes. */
bool opt_memory(const char *text, uint64_t *out);

#endif
