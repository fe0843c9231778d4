/* outfile.h - an output file that appears whole or not at all; or standard output. */
#ifndef CLI_OUTFILE_H
#define CLI_OUTFILE_H

#include "cli/cli.h"
#include <stdio.h>

struct outfile {
	FILE *to;
	char *path, *temp; /* NULL when written directly */
};
/* path NULL or "-" is standard output; a device or pipe is written directly. False: see errno. */
bool outfile_open(struct outfile *o, const char *path);
/* Syncs, and moves the file to its place. Ends the output, also when it fails with errno set. */
bool outfile_commit(struct outfile *o);
void outfile_abandon(struct outfile *o);

#endif
