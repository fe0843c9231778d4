/* input.c - opening the FILE of a command, which may be '-' for standard input.
 *
 * A regular file on standard input is mapped as it is; anything else is copied to an unlinked
 * temporary file first, since a model file is read out of order. */
#define _POSIX_C_SOURCE 200809L
#include "cli/input.h"
#include "cli/fail.h"
#include "cli/signals.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Everything that standard input has to give; false with errno set. */
static bool spool(FILE *to)
{
	enum { PIECE = 1 << 16 };
	static char piece[PIECE];
	for (;;) {
		ssize_t n = read(STDIN_FILENO, piece, PIECE);
		if (n == 0)
			return fflush(to) == 0;
		if (n < 0 && errno != EINTR)
			return false;
		if (n > 0 && fwrite(piece, 1, (size_t)n, to) != (size_t)n)
			return false;
	}
}

static bool map(struct input *in, int fd)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		return false;
	if ((uint64_t)st.st_size > SIZE_MAX) {
		errno = EFBIG;
		return false;
	}
	in->len = (size_t)st.st_size;
	if (in->len == 0)
		return true;
	void *p = mmap(NULL, in->len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return false;
	in->bytes = p;
	return true;
}

static bool map_stdin(struct input *in)
{
	struct stat st;
	if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode)
	    && lseek(STDIN_FILENO, 0, SEEK_CUR) == 0)
		return map(in, STDIN_FILENO);
	FILE *f = tmpfile();
	if (f == NULL)
		return false;
	bool good = spool(f) && map(in, fileno(f));
	int sys = errno;
	fclose(f);
	errno = sys;
	return good;
}

/* Where the library has mapped the file: known from any tensor that lies there as it is. */
static void watch(const struct input *in, const char *path)
{
	tn_view bytes;
	const uint8_t *start = in->bytes;
	if (start == NULL && tn_tensor_count(in->file) > 0 && tn_tensor_at(in->file, 0).part == 0
	    && tn_bytes(in->file, 0, &bytes, NULL) == TN_OK && bytes.len > 0)
		start = bytes.ptr - tn_tensor_at(in->file, 0).offset;
	signals_watch(path, start, tn_file_part_at(in->file, 0).size); /* of a set the first file alone */
}

const char *input_part(const tn_file *file, size_t part)
{
	const char *path = tn_file_part_at(file, part).path;
	const char *slash = path != NULL ? strrchr(path, '/') : NULL;
	return slash != NULL ? slash + 1 : path;
}

enum status input_options(const struct cli *cli, tn_open_options *out)
{
	*out = (tn_open_options){ .limits.max_memory = cli->max_memory, .single = cli->single };
	if (cli->io > 0)
		out->io = (tn_io)(cli->io - 1);
	tn_format format;
	if (cli->from != NULL && !tn_format_find(cli->from, &format))
		return fail_usage(cli, "no format '%s': see 'tenon formats'", cli->from);
	out->format = cli->from != NULL ? format.name : NULL;
	return STATUS_YES;
}

static enum status open_either(struct input *in, const struct cli *cli, const char *path,
                               bool partial)
{
	tn_error err = { 0 };
	tn_open_options options;
	*in = (struct input){ 0 };
	enum status status = input_options(cli, &options);
	if (status != STATUS_YES)
		return status;
	options.partial = partial;
	signals_watch(path, NULL, 0);
	tn_code code;
	if (strcmp(path, "-") == 0) {
		if (!map_stdin(in))
			return fail_system(cli, path, "standard input", errno);
		code = tn_open_memory(&in->file, (tn_view){ in->bytes, in->len }, &options, &err);
	} else {
		code = tn_open(&in->file, path, &options, &err);
	}
	if (code != TN_OK) {
		input_close(in);
		return fail(cli, path, &err);
	}
	watch(in, path);
	return STATUS_YES;
}

enum status input_open(struct input *in, const struct cli *cli, const char *path)
{
	return open_either(in, cli, path, false);
}

enum status input_open_partial(struct input *in, const struct cli *cli, const char *path)
{
	return open_either(in, cli, path, true);
}

void input_close(struct input *in)
{
	signals_watch(NULL, NULL, 0);
	tn_close(in->file);
	if (in->bytes != NULL)
		munmap(in->bytes, in->len);
	*in = (struct input){ 0 };
}

void input_errors(const struct cli *cli, const struct input *in)
{
	if (!cli->json)
		findings_print(cli->args[0], tn_warnings(in->file), TN_ERROR);
}

enum status input_find(const struct input *in, const struct cli *cli, const char *path,
                       const char *name, size_t *out)
{
	tn_error err = { 0 };
	if (tn_tensor_find(in->file, tn_text(name), out, &err) != TN_OK)
		return fail(cli, path, &err);
	return STATUS_YES;
}

enum status input_text(struct text *out, const struct cli *cli, const char *path)
{
	enum { MOST = 256 << 20 };
	static char piece[1 << 16];
	FILE *f = fopen(path, "rb");
	if (f == NULL)
		return fail_system(cli, path, "open", errno);
	for (size_t n; out->n <= MOST && (n = fread(piece, 1, sizeof piece, f)) > 0; )
		text_add(out, piece, n);
	int sys = out->n > MOST ? EFBIG : ferror(f) ? errno : 0;
	fclose(f);
	return sys == 0 ? STATUS_YES : fail_system(cli, path, "read", sys);
}
