/* out.c - standard output: aligned tables, colour, and the last check that everything arrived. */
#define _POSIX_C_SOURCE 200809L
#include "cli/out.h"
#include "cli/cli.h"
#include "cli/signals.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void table_init(struct table *t, const struct column *columns, unsigned n)
{
	*t = (struct table){ .columns = columns, .n_columns = n };
}

struct text *table_cell(struct table *t)
{
	if (t->n == t->cap) {
		t->cap = t->cap > 0 ? t->cap * 2 : 256;
		t->starts = grab_again(t->starts, t->cap * sizeof *t->starts);
	}
	t->starts[t->n++] = t->text.n;
	return &t->text;
}

static tn_view cell(const struct table *t, size_t i)
{
	size_t end = i + 1 < t->n ? t->starts[i + 1] : t->text.n;
	return (tn_view){ (const uint8_t *)text_is(&t->text) + t->starts[i], end - t->starts[i] };
}

/* A few very long names must not push everything else off the screen. */
enum { WIDEST = 64 };

static size_t column_width(const struct table *t, unsigned column, bool head)
{
	size_t width = head ? strlen(t->columns[column].head) : 0;
	for (size_t i = column; i < t->n; i += t->n_columns) {
		tn_view v = cell(t, i);
		size_t w = text_columns((const char *)v.ptr, v.len);
		if (w > width && (w <= WIDEST || width < WIDEST))
			width = w < WIDEST ? w : WIDEST;
	}
	return width;
}

/* A row, or the heads; blanks wait until something follows them. */
static void print_row(const struct table *t, const size_t *widths, const tn_view *cells)
{
	size_t blanks = 0;
	for (unsigned c = 0; c < t->n_columns; c++) {
		size_t w = text_columns((const char *)cells[c].ptr, cells[c].len);
		size_t pad = w < widths[c] ? widths[c] - w : 0;
		bool right = t->columns[c].right;
		if (cells[c].len > 0) {
			printf("%*s", (int)(blanks + (right ? pad : 0)), "");
			fwrite(cells[c].ptr, 1, cells[c].len, stdout);
			blanks = right ? 0 : pad;
		} else {
			blanks += widths[c];
		}
		blanks += 2;
	}
}

void table_print(struct table *t, const char *indent, bool head)
{
	size_t *widths = grab(t->n_columns * sizeof *widths);
	tn_view *cells = grab(t->n_columns * sizeof *cells);
	for (unsigned c = 0; c < t->n_columns; c++) {
		widths[c] = column_width(t, c, head);
		cells[c] = tn_text(t->columns[c].head);
	}
	if (head) {
		printf("%s%s", indent, tint(stdout, TINT_HEAD));
		print_row(t, widths, cells);
		printf("%s\n", tint(stdout, TINT_NONE));
	}
	for (size_t i = 0; i < t->n; i += t->n_columns) {
		for (unsigned c = 0; c < t->n_columns; c++)
			cells[c] = cell(t, i + c);
		fputs(indent, stdout);
		print_row(t, widths, cells);
		putchar('\n');
	}
	free(cells);
	free(widths);
	free(t->starts);
	text_free(&t->text);
	*t = (struct table){ 0 };
}

static bool colours(FILE *to)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	bool wanted = (no == NULL || *no == '\0') && (term == NULL || strcmp(term, "dumb") != 0);
	return wanted && isatty(fileno(to));
}

const char *tint(FILE *to, enum tint which)
{
	static const char *const codes[] = {
		"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[33m", "\x1b[32m",
	};
	return colours(to) ? codes[which] : "";
}

void out_text(struct text *t)
{
	if (t->n > 0)
		fwrite(t->p, 1, t->n, stdout);
	text_free(t);
}

int out_finish(int status)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	if (errno != EPIPE)
		fprintf(stderr, "tenon: standard output: %s\n",
		        errno != 0 ? strerror(errno) : "write failed");
	return STATUS_SYSTEM;
}

void out_die(const char *message)
{
	clean_up();
	fprintf(stderr, "tenon: %s\n", message);
	exit(STATUS_SYSTEM);
}
