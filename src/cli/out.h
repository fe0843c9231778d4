/* out.h - standard output: aligned tables, colour, and the last check that everything arrived. */
#ifndef CLI_OUT_H
#define CLI_OUT_H

#include "cli/text.h"
#include <stdio.h>

/* ---- Tables: all cells are collected, then printed with the columns aligned ---- */

struct column {
	const char *head;
	bool        right; /* numbers stand on the right */
};
struct table {
	const struct column *columns;
	unsigned             n_columns;
	struct text          text;   /* the cells, one after the other */
	size_t              *starts; /* where each begins */
	size_t               n, cap;
};
void         table_init(struct table *t, const struct column *columns, unsigned n);
/* The next cell, to be filled with the text_ functions before the next call. Row by row, left to
 * right. */
struct text *table_cell(struct table *t);
/* Prints and frees. Without rows only the heads; with head false the rows alone. */
void         table_print(struct table *t, const char *indent, bool head);

/* ---- Colour, only on a terminal and where NO_COLOR is unset ---- */

enum tint { TINT_NONE, TINT_HEAD, TINT_DIM, TINT_RED, TINT_YELLOW, TINT_GREEN };
const char *tint(FILE *to, enum tint which); /* TINT_NONE ends the others */

/* The text on stdout, and freed. */
void out_text(struct text *t);
/* Flushes standard output: status, or STATUS_SYSTEM and a message when it cannot be written. */
int  out_finish(int status);
/* One line on stderr, temporary files removed, exit status 4. */
_Noreturn void out_die(const char *message);

#endif
