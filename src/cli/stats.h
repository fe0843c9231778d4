/* stats.h - info --stats: a file's pages by size and by what they are, and how its execution tape uses them. */
#ifndef CLI_STATS_H
#define CLI_STATS_H

#include "cli/cli.h"

enum status stats(const struct cli *cli, const tn_file *file);

#endif
