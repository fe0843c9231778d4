/* input.h - opening the FILE of a command, which may be '-' for standard input. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include "cli/cli.h"
#include "cli/text.h"

struct input {
	tn_file *file;
	void    *bytes; /* of standard input, mapped */
	size_t   len;
};
/* STATUS_YES, or the status of a failure that has been printed. */
enum status input_options(const struct cli *cli, tn_open_options *out);
enum status input_open(struct input *in, const struct cli *cli, const char *path);
/* The same for a file that may not have arrived whole. */
enum status input_open_partial(struct input *in, const struct cli *cli, const char *path);
void        input_close(struct input *in);
/* Says what is wrong with the file although it opens: for commands that give its content, and no findings with it. */
void        input_errors(const struct cli *cli, const struct input *in);
/* The name of one of the files, without its folder. */
const char *input_part(const tn_file *file, size_t part);
/* The index of the tensor of that name; a failure has been printed. */
enum status input_find(const struct input *in, const struct cli *cli, const char *path,
                       const char *name, size_t *out);

/* The whole of a list that the user names, which may be a pipe; at most 256 MiB, for a device may have no end. */
enum status input_text(struct text *out, const struct cli *cli, const char *path);

#endif
