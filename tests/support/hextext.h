/* hextext.h - binary test files as annotated text: scripts/hextext says what a line may hold. */
#ifndef SUPPORT_HEXTEXT_H
#define SUPPORT_HEXTEXT_H

#include "tenon.h"

/* The bytes that a hex text stands for, in a malloc of exactly their length, so that a sanitizer
 * sees a read past the end. NULL with *why set (and *line, from 1) when the text is not
 * well-formed. Free with free(). */
uint8_t *hextext_parse(tn_view text, size_t *len, const char **why, size_t *line);

/* The same of a file; ends the test program with a message when it cannot be read: a broken corpus
 * is no test result. Files that do not end in .hex are taken as they are. */
uint8_t *hextext_load(const char *path, size_t *len);

#endif
