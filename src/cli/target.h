/* target.h - the format of a file that is to be written. */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

#include "cli/cli.h"

/* By --to when given, else by the extension of the path. A failure has been printed. */
enum status target_format(const struct cli *cli, const char *to, const char *path, tn_format *out);

#endif
