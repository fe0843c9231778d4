/* cmd_unpack.c - tenon unpack: a ThinTensor archive into its manifest and a folder of pages. */
#include "cli/archive.h"
#include "cli/fail.h"
#include "cli/input.h"

struct unpack {
	bool replace, no_sync;
};

#define AT(field) offsetof(struct unpack, field)
static const struct opt options[] = {
	{ "replace", 0, OPT_FLAG, AT(replace), NULL, "write over files that are there" },
	{ "no-sync", 0, OPT_FLAG, AT(no_sync), NULL, "do not wait for the disk" },
	OPT_END
};

static enum status run(const struct cli *cli, const void *own)
{
	const struct unpack *o = own;
	tn_unpack_options how = { .replace = o->replace, .no_sync = o->no_sync, .work = cli_work(cli) };
	struct input in;
	tn_error err = { 0 };
	uint64_t records;
	enum status status = input_open(&in, cli, cli->args[0]);
	if (status != STATUS_YES)
		return status;
	if (tn_thin_unpack(in.file, cli->args[1], &how, &records, &err) != TN_OK)
		status = fail(cli, cli->args[0], &err);
	else
		archive_unpacked(cli, cli->args[1], records);
	input_close(&in);
	return status;
}

const struct command cmd_unpack = {
	.name = "unpack", .args = "FILE DIR",
	.summary = "Take a ThinTensor archive apart, to be packed again",
	.details = "Writes DIR/manifest.json and DIR/pages/ID.bin. FILE must pass 'verify --deep'.\n",
	.options = options, .size = sizeof(struct unpack), .least = 2, .most = 2, .run = run,
};
