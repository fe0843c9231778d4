/* archive.h - what pack, unpack and repack say when they are done. */
#ifndef CLI_ARCHIVE_H
#define CLI_ARCHIVE_H

#include "cli/cli.h"

/* "out.thin: thin, 24 pages, 90.0 KiB (92,185 bytes)", or the JSON document. */
void archive_written(const struct cli *cli, const char *path, uint64_t records, uint64_t size, bool dry_run);
/* "dir: a manifest and 24 pages". */
void archive_unpacked(const struct cli *cli, const char *folder, uint64_t records);

#endif
