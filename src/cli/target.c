/* target.c - the format of a file that is to be written. */
#include "cli/target.h"
#include "cli/fail.h"
#include <string.h>

enum status target_format(const struct cli *cli, const char *to, const char *path, tn_format *out)
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	if (strcmp(path, "-") == 0)
		return fail_usage(cli, "OUT must be a file: it appears whole or not at all");
	if (to != NULL && !tn_format_find(to, out))
		return fail_usage(cli, "no format '%s': see 'tenon formats'", to);
	if (to == NULL && (dot == NULL || !tn_format_find(dot, out)))
		return fail_usage(cli, "'%s' has no known extension: name the format with --to",
		                  path);
	if (!out->writes)
		return fail_usage(cli, "%s can be read, not written", out->name);
	return STATUS_YES;
}

tn_write_options target_options(const struct cli *cli, const struct target_args *args)
{
	return (tn_write_options){
		.allow_loss = args->allow_loss,   .carry = args->carry,
		.no_envelope = args->no_envelope, .keep_unknown = args->keep_unknown,
		.compress = (tn_compress)args->compress,
		.no_sync = args->no_sync,         .max_memory = cli->max_memory,
		.work = cli_work(cli),
	};
}
