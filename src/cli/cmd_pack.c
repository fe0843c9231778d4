/* cmd_pack.c - tenon pack: a ThinTensor archive from its manifest and a folder of pages. */
#include "cli/archive.h"
#include "cli/fail.h"

struct pack {
	uint64_t align;
	bool     no_sync;
};

#define AT(field) offsetof(struct pack, field)
static const struct opt options[] = {
	{ "align", 0, OPT_SIZE, AT(align), "N", "alignment of each page: a power of two" },
	{ "no-sync", 0, OPT_FLAG, AT(no_sync), NULL, "do not wait for the disk" },
	OPT_END
};

static enum status run(const struct cli *cli, const void *own)
{
	const struct pack *o = own;
	tn_write_options how = {
		.align = o->align, .no_sync = o->no_sync, .max_memory = cli->max_memory, .work = cli_work(cli),
	};
	uint64_t records, size;
	tn_error err = { 0 };
	if (tn_thin_pack(cli->args[0], cli->args[1], cli->args[2], &how, &records, &size, &err) != TN_OK)
		return fail(cli, NULL, &err);
	archive_written(cli, cli->args[2], records, size, false);
	return STATUS_YES;
}

const struct command cmd_pack = {
	.name = "pack", .args = "MANIFEST PAGES OUT",
	.summary = "Put a ThinTensor archive together from its parts",
	.details = "PAGES is a folder: ID.bin, there or in folders below, has the bytes of page ID.\n"
	           "The manifest must keep all rules, and every page its size and its checksum.\n",
	.options = options, .size = sizeof(struct pack), .least = 3, .most = 3, .run = run,
};
