/* digests.h - a list of digests as 'tenon hash' prints it, read back. */
#ifndef CLI_DIGESTS_H
#define CLI_DIGESTS_H

#include "cli/text.h"

enum { DIGEST_HEX = 2 * TN_DIGEST_LEN };

struct digest_line {
	struct text name;
	char        digest[DIGEST_HEX + 1];
};
struct digests {
	struct digest_line *lines;
	size_t              n, cap;
	char                total[DIGEST_HEX + 1]; /* "" when the list has none */
	bool                json; /* names are spelled as in JSON, not as in text */
};

/* Reads the text form or the JSON form. False with a complaint when it is neither. */
bool digests_parse(struct digests *list, const char *text, size_t n, struct text *complaint);
void digests_free(struct digests *list);
void digests_sort(struct digests *list); /* by name */
int  digests_cmp(const struct digest_line *a, const struct digest_line *b);
/* An empty line at the end of the list. */
struct digest_line *digests_add(struct digests *list);
/* A tensor's name as the list spells it. */
void digests_name(const struct digests *list, struct text *out, tn_view name);

#endif
