/* digests.c - a list of digests as 'tenon hash' prints it, read back.
 *
 * Text: "DIGEST  NAME" per line, the total last under the name "total". A line whose name is
 * escaped starts with a backslash, as those of the coreutils do. JSON: {"total": DIGEST, "tensors":
 * [{"name", "digest"}]}, other members skipped. Names are compared as they are spelled, so nothing
 * has to be unescaped from text. */
#include "cli/digests.h"
#include "cli/digests_json.h"
#include <stdlib.h>
#include <string.h>

struct digest_line *digests_add(struct digests *list)
{
	if (list->n == list->cap) {
		list->cap = list->cap > 0 ? 2 * list->cap : 64;
		list->lines = grab_again(list->lines, list->cap * sizeof *list->lines);
	}
	list->lines[list->n] = (struct digest_line){ 0 };
	return &list->lines[list->n++];
}

void digests_free(struct digests *list)
{
	for (size_t i = 0; i < list->n; i++)
		text_free(&list->lines[i].name);
	free(list->lines);
	*list = (struct digests){ 0 };
}

int digests_cmp(const struct digest_line *a, const struct digest_line *b)
{
	return view_cmp(text_view(&a->name), text_view(&b->name));
}

static int by_name(const void *a, const void *b)
{
	return digests_cmp(a, b);
}

void digests_sort(struct digests *list)
{
	if (list->n > 0)
		qsort(list->lines, list->n, sizeof *list->lines, by_name);
}

void digests_name(const struct digests *list, struct text *out, tn_view name)
{
	if (!list->json) {
		text_escape(out, name);
		return;
	}
	for (size_t i = 0, len; i < name.len; i += len) {
		uint32_t c;
		len = text_char(name.ptr + i, name.len - i, &c);
		if (len > 0)
			text_add(out, name.ptr + i, len);
		else
			text_fmt(out, "\\x%02x", name.ptr[i]);
		if (len == 0)
			len = 1;
	}
}

static bool parse_line(struct digests *list, const char *line, size_t n)
{
	if (n > 0 && *line == '\\')
		line++, n--;
	if (n < DIGEST_HEX + 2 || line[DIGEST_HEX] != ' ' || line[DIGEST_HEX + 1] != ' '
	    || strspn(line, "0123456789abcdef") != DIGEST_HEX)
		return false;
	struct digest_line *to = digests_add(list);
	memcpy(to->digest, line, DIGEST_HEX);
	text_add(&to->name, line + DIGEST_HEX + 2, n - DIGEST_HEX - 2);
	return true;
}

static bool parse_text(struct digests *list, const char *text, size_t n, struct text *complaint)
{
	size_t number = 1;
	for (size_t len; n > 0; number++) {
		const char *end = memchr(text, '\n', n);
		len = end != NULL ? (size_t)(end - text) : n;
		if (!parse_line(list, text, len)) {
			text_fmt(complaint, "line %zu is no 'DIGEST  NAME'", number);
			return false;
		}
		len += end != NULL;
		text += len, n -= len;
	}
	struct digest_line *last = list->n > 0 ? &list->lines[list->n - 1] : NULL;
	if (last != NULL && strcmp(text_is(&last->name), "total") == 0) {
		memcpy(list->total, last->digest, sizeof list->total);
		text_free(&last->name);
		list->n--;
	}
	return true;
}

bool digests_parse(struct digests *list, const char *text, size_t n, struct text *complaint)
{
	size_t space = strspn(text, " \t\r\n");
	*list = (struct digests){ .json = text[space] == '{' };
	bool good = list->json ? digests_parse_json(list, text)
	                       : parse_text(list, text, n, complaint);
	if (!good && list->json)
		text_str(complaint, "no JSON as 'tenon hash --json' prints it");
	if (!good)
		digests_free(list);
	return good;
}
