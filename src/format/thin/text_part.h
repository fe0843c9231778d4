/* text_part.h - what the parts of the reader of JSON share. */
#ifndef FORMAT_THIN_TEXT_PART_H
#define FORMAT_THIN_TEXT_PART_H

#include "format/thin/text.h"

/* The next character that is no white space, not taken; 0 at the end (a NUL is no JSON either). */
uint8_t text_peek(struct text *t);
/* Takes the word when it stands here. */
bool text_take_word(struct text *t, const char *word);
/* Says what stands here in place of what was wanted, unless a fault is known already. Returns false. */
bool text_unexpected(struct text *t, const char *wanted);

enum number_kind { NUMBER_UINT, NUMBER_INT, NUMBER_REAL };
struct number {
	enum number_kind kind;
	uint64_t         u;
	int64_t          i;
	double           f;
};

bool text_at_digit(const struct text *t);
bool text_number(struct text *t, const char *what, struct number *n);
/* The form is checked, the value is not. */
bool text_skip_number(struct text *t);

#endif
