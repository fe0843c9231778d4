/* opt.c - options as tables: parsing, complaints and help from the same table. */
#include "cli/opt.h"
#include "cli/cli.h"
#include "cli/fail.h"
#include "cli/out.h"
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct opt common[] = {
	{ "json", 0, OPT_FLAG, offsetof(struct cli, json), NULL,
	  "print one JSON document and nothing else" },
	{ "from", 0, OPT_TEXT, offsetof(struct cli, from), "FORMAT",
	  "read FILE as this format, without a look at it" },
	{ "single", 0, OPT_FLAG, offsetof(struct cli, single), NULL,
	  "read this one file, also where it is a shard of a model" },
	{ "io", 0, OPT_CHOICE, offsetof(struct cli, io), "auto|mmap|pread|direct",
	  "how the file is read" },
	{ "threads", 0, OPT_COUNT, offsetof(struct cli, threads), "N",
	  "at most N threads; 0: one per processor" },
	{ "max-memory", 0, OPT_SIZE, offsetof(struct cli, max_memory), "SIZE",
	  "memory for the index of a file (1GiB)" },
	{ "quiet", 'q', OPT_FLAG, offsetof(struct cli, quiet), NULL,
	  "only what was asked for, and errors" },
	{ "verbose", 'v', OPT_FLAG, offsetof(struct cli, verbose), NULL,
	  "say more; notes as well as warnings" },
	{ "help", 'h', OPT_FLAG, offsetof(struct cli, help), NULL, "this text" },
	OPT_END
};

/* ---- Values ---- */

static bool parse_count(const char *text, uint64_t *out)
{
	uint64_t v = 0;
	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++) {
		unsigned digit = (unsigned char)*text - (unsigned)'0';
		if (digit > 9 || v > (UINT64_MAX - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*out = v;
	return true;
}

bool opt_size(const char *text, uint64_t *out)
{
	static const char units[] = "KMGTP";
	char digits[24];
	size_t n = strspn(text, "0123456789");
	if (n >= sizeof digits)
		return false;
	memcpy(digits, text, n);
	digits[n] = '\0';
	uint64_t v = 0;
	if (!parse_count(digits, &v))
		return false;
	text += n;
	const char *unit = *text != '\0' && *text != 'B' ? strchr(units, *text) : NULL;
	if (unit != NULL)
		text++;
	uint64_t step = strcmp(text, "B") == 0 ? 1000 : 1024;
	bool binary = *text == '\0' || (unit != NULL && strcmp(text, "iB") == 0);
	for (; unit != NULL && unit >= units; unit--) {
		if (v > UINT64_MAX / step)
			return false;
		v *= step;
	}
	*out = v;
	return binary || step == 1000;
}

/* How many times 1024 a unit stands for; false when it is none. */
static bool parse_unit(const char *text, unsigned *power)
{
	static const char letters[] = "bkmgt";
	char unit[4] = "";
	size_t n = strlen(text);
	if (n > 3)
		return false;
	for (size_t i = 0; i < n; i++)
		unit[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] - 'A' + 'a' : text[i]);
	const char *letter = n > 0 ? strchr(letters, unit[0]) : letters;
	if (letter == NULL)
		return false;
	*power = (unsigned)(letter - letters);
	return n < 2 || (*power > 0 && (strcmp(unit + 1, "b") == 0 || strcmp(unit + 1, "ib") == 0));
}

bool opt_memory(const char *text, uint64_t *out)
{
	char number[64];
	char *end;
	unsigned power;
	size_t n = strspn(text, "0123456789.");
	if (n == 0 || n >= sizeof number)
		return false;
	memcpy(number, text, n);
	number[n] = '\0';
	double v = strtod(number, &end);
	text += n;
	text += strspn(text, " ");
	if (*end != '\0' || !parse_unit(text, &power))
		return false;
	while (power-- > 0)
		v *= 1024;
	v = floor(v + 0.5);
	if (v > 18446744073709551616.0)
		return false;
	*out = v < 18446744073709551616.0 ? (uint64_t)v : UINT64_MAX;
	return true;
}

/* 1 for the first of the words between bars, 0 when it is none of them. */
static int parse_choice(const char *words, const char *text)
{
	size_t len = strlen(text);
	for (int i = 1; ; i++) {
		size_t n = strcspn(words, "|");
		if (n == len && memcmp(words, text, n) == 0)
			return i;
		if (words[n] == '\0')
			return 0;
		words += n + 1;
	}
}

static void list_add(struct opt_list *list, const char *text)
{
	list->items = grab_again(list->items, (list->n + 2) * sizeof *list->items);
	list->items[list->n++] = text;
	list->items[list->n] = NULL;
}

static const char *wanted(const struct opt *o)
{
	return o->type == OPT_COUNT ? "a number" : o->type == OPT_SIZE ? "a size like 64K or 5GB"
		: o->type == OPT_MEMORY ? "a size like 64.5M or 8GB" : o->arg;
}

static bool store(struct cli *cli, const struct opt *o, void *into, const char *value)
{
	void *at = (char *)into + o->at;
	bool good = true;
	switch (o->type) {
	case OPT_FLAG:   *(bool *)at = true; break;
	case OPT_TEXT:   *(const char **)at = value; break;
	case OPT_COUNT:  good = parse_count(value, at); break;
	case OPT_SIZE:   good = opt_size(value, at); break;
	case OPT_MEMORY: good = opt_memory(value, at); break;
	case OPT_CHOICE: good = (*(int *)at = parse_choice(o->arg, value)) != 0; break;
	case OPT_LIST:   list_add(at, value); break;
	}
	if (!good)
		fail_usage(cli, "--%s takes %s, not '%s'", o->name, wanted(o), value);
	return good;
}

/* ---- Parsing ---- */

static const struct opt *find_long(const struct opt *o, const char *name, size_t n)
{
	for (; o != NULL && o->name != NULL; o++)
		if (strlen(o->name) == n && memcmp(o->name, name, n) == 0)
			return o;
	return NULL;
}

static const struct opt *find_letter(const struct opt *o, char letter)
{
	for (; o != NULL && o->name != NULL; o++)
		if (o->letter == letter)
			return o;
	return NULL;
}

struct parser {
	struct cli *cli;
	void       *own;
	char      **argv; /* the rest */
};

/* --name, --name=VALUE or --name VALUE. */
static bool parse_long(struct parser *p, const char *arg)
{
	const char *value = strchr(arg, '=');
	size_t n = value != NULL ? (size_t)(value - arg) : strlen(arg);
	void *into = p->own;
	const struct opt *o = find_long(p->cli->command->options, arg, n);
	if (o == NULL) {
		into = p->cli;
		o = find_long(common, arg, n);
	}
	if (o == NULL)
		return fail_usage(p->cli, "unknown option '--%.*s'", (int)n, arg), false;
	if (o->type == OPT_FLAG && value != NULL)
		return fail_usage(p->cli, "--%s takes no value", o->name), false;
	if (value != NULL)
		value++;
	else if (o->type != OPT_FLAG && (value = *p->argv) != NULL)
		p->argv++;
	if (o->type != OPT_FLAG && value == NULL)
		return fail_usage(p->cli, "--%s needs %s", o->name, wanted(o)), false;
	return store(p->cli, o, into, value);
}

/* -q, -qv, -oVALUE or -o VALUE. */
static bool parse_letters(struct parser *p, const char *letters)
{
	for (; *letters != '\0'; letters++) {
		void *into = p->own;
		const struct opt *o = find_letter(p->cli->command->options, *letters);
		if (o == NULL) {
			into = p->cli;
			o = find_letter(common, *letters);
		}
		if (o == NULL)
			return fail_usage(p->cli, "unknown option '-%c'", *letters), false;
		if (o->type == OPT_FLAG) {
			if (!store(p->cli, o, into, NULL))
				return false;
			continue;
		}
		const char *value = letters[1] != '\0' ? letters + 1 : *p->argv;
		if (value == NULL)
			return fail_usage(p->cli, "-%c needs %s", o->letter, wanted(o)), false;
		if (value == *p->argv)
			p->argv++;
		return store(p->cli, o, into, value);
	}
	return true;
}

static bool enough_arguments(struct cli *cli)
{
	const struct command *c = cli->command;
	if (cli->help || (cli->nargs >= c->least && cli->nargs <= c->most))
		return true;
	if (cli->nargs > c->most)
		fail_usage(cli, "unexpected argument '%s'", cli->args[c->most]);
	else
		fail_usage(cli, "expected %s", c->args);
	return false;
}

bool opt_asks_json(char **args)
{
	for (; *args != NULL && strcmp(*args, "--") != 0; args++)
		if (strcmp(*args, "--json") == 0)
			return true;
	return false;
}

bool opt_parse(struct cli *cli, void *own, char **argv)
{
	struct parser p = { cli, own, argv };
	cli->json = opt_asks_json(argv); /* a complaint must know how to complain */
	while (*p.argv != NULL) {
		const char *arg = *p.argv++;
		if (strcmp(arg, "--") == 0)
			break;
		bool positional = arg[0] != '-' || arg[1] == '\0';
		if (positional)
			cli->args[cli->nargs++] = arg;
		else if (!(arg[1] == '-' ? parse_long(&p, arg + 2) : parse_letters(&p, arg + 1)))
			return false;
	}
	while (*p.argv != NULL)
		cli->args[cli->nargs++] = *p.argv++;
	return enough_arguments(cli);
}

void opt_free(const struct opt *options, void *own)
{
	for (const struct opt *o = options; o != NULL && o->name != NULL; o++)
		if (o->type == OPT_LIST)
			free(((struct opt_list *)(void *)((char *)own + o->at))->items);
}

/* ---- Help ---- */

static void help_options(const char *title, const struct opt *o)
{
	static const struct column columns[] = { { "", false }, { "", false } };
	struct table t;
	if (o == NULL || o->name == NULL)
		return;
	table_init(&t, columns, 2);
	for (; o->name != NULL; o++) {
		struct text *cell = table_cell(&t);
		text_fmt(cell, o->letter != 0 ? "-%c, " : "    ", o->letter);
		text_fmt(cell, "--%s%s%s", o->name, o->arg != NULL ? " " : "",
		         o->arg != NULL ? o->arg : "");
		text_str(table_cell(&t), o->help);
	}
	printf("\n%s%s%s\n", tint(stdout, TINT_HEAD), title, tint(stdout, TINT_NONE));
	table_print(&t, "  ", false);
}

void opt_help(const struct cli *cli)
{
	const struct command *c = cli->command;
	printf("usage: tenon %s [OPTION]...%s%s\n\n%s.\n", c->name, *c->args != '\0' ? " " : "",
	       c->args, c->summary);
	help_options("Options", c->options);
	help_options("Common options", common);
	if (c->details != NULL)
		printf("\n%s", c->details);
}
