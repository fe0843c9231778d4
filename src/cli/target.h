/* target.h - what is to be written: its format, and what convert, merge and split keep of a model. */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

#include "cli/cli.h"

/* By --to when given, else by the extension of the path. A failure has been printed. */
enum status target_format(const struct cli *cli, const char *to, const char *path, tn_format *out);

struct target_args {
	bool allow_loss, carry, no_envelope, keep_unknown, no_sync;
	int  compress; /* what the library calls so */
};
/* For the tables of commands; at is the offset of a target_args in the command's own struct. */
#define TARGET_AT(at, field) ((at) + offsetof(struct target_args, field))
#define TARGET_OPTIONS(at)                                                                           \
	{ "allow-loss", 0, OPT_FLAG, TARGET_AT(at, allow_loss), NULL,                                \
	  "leave out what the format cannot hold" },                                                 \
	{ "carry", 0, OPT_FLAG, TARGET_AT(at, carry), NULL,                                          \
	  "keep tensors of types that the format lacks as bytes" },                                  \
	{ "no-envelope", 0, OPT_FLAG, TARGET_AT(at, no_envelope), NULL,                              \
	  "no envelope: what would go there is a loss" },                                            \
	{ "keep-unknown", 0, OPT_FLAG, TARGET_AT(at, keep_unknown), NULL,                            \
	  "in the same format: keep members unknown to it" },                                        \
	{ "compress", 0, OPT_CHOICE, TARGET_AT(at, compress), "lz4|zstd",                            \
	  "apr: tensors in blocks of 64 KiB" },                                                      \
	{ "no-sync", 0, OPT_FLAG, TARGET_AT(at, no_sync), NULL, "do not wait for the disk" }

tn_write_options target_options(const struct cli *cli, const struct target_args *args);

#endif
