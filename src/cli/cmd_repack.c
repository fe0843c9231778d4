/* cmd_repack.c - tenon repack: a ThinTensor archive with its pages in another order. */
#include "cli/archive.h"
#include "cli/fail.h"
#include "cli/input.h"

struct repack {
	int      layout, compress;
	uint64_t align;
	bool     dry_run, no_sync;
};

#define AT(field) offsetof(struct repack, field)
static const struct opt options[] = {
	{ "layout", 0, OPT_CHOICE, AT(layout), "execution|hot|fused",
	  "in the order of the tape (the default); pages of no layer first; or with q, k, v and gate, up fused" },
	{ "align", 0, OPT_SIZE, AT(align), "N", "alignment of each page: a power of two" },
	{ "compress", 0, OPT_CHOICE, AT(compress), "zstd|none",
	  "compress pages that shrink: for Tenon only, upstream's readers refuse such a file" },
	{ "dry-run", 0, OPT_FLAG, AT(dry_run), NULL, "only say what would be written" },
	{ "no-sync", 0, OPT_FLAG, AT(no_sync), NULL, "do not wait for the disk" },
	OPT_END
};

static enum status repack(const struct cli *cli, const struct repack *o, const tn_file *file)
{
	tn_repack_options how = {
		.layout = o->layout > 0 ? (tn_thin_layout)(o->layout - 1) : TN_THIN_EXECUTION,
		.zstd = o->compress == 1,
		.dry_run = o->dry_run,
		.write = { .align = o->align, .no_sync = o->no_sync, .max_memory = cli->max_memory, .work = cli_work(cli) },
	};
	uint64_t records, size;
	tn_error err = { 0 };
	if (tn_thin_repack(file, cli->args[1], &how, &records, &size, &err) != TN_OK)
		return fail(cli, cli->args[0], &err);
	archive_written(cli, cli->args[1], records, size, o->dry_run);
	return STATUS_YES;
}

static enum status run(const struct cli *cli, const void *own)
{
	struct input in;
	enum status status = input_open(&in, cli, cli->args[0]);
	if (status != STATUS_YES)
		return status;
	status = repack(cli, own, in.file);
	input_close(&in);
	return status;
}

const struct command cmd_repack = {
	.name = "repack", .args = "IN OUT",
	.summary = "Write a ThinTensor archive with its pages in another order",
	.details = "IN must pass 'verify --deep'.\n",
	.options = options, .size = sizeof(struct repack), .least = 2, .most = 2, .run = run,
};
