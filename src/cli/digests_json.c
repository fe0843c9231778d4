/* digests_json.c - the JSON form of a list of digests: just enough of JSON to find "total", "name"
 * and "digest".
 *
 * The text ends with a NUL, which no rule here accepts, so no test for the end is needed. */
#include "cli/digests_json.h"
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64 };

static void skip_space(const char **p)
{
	*p += strspn(*p, " \t\r\n");
}

static bool take(const char **p, char c)
{
	skip_space(p);
	bool here = **p == c;
	*p += here;
	return here;
}

/* Four hex digits. */
static bool take_unit(const char **p, uint32_t *out)
{
	char digits[5] = { 0 };
	if (strspn(*p, "0123456789abcdefABCDEF") < 4)
		return false;
	memcpy(digits, *p, 4);
	*p += 4;
	*out = (uint32_t)strtoul(digits, NULL, 16);
	return true;
}

static void add_char(struct text *out, uint32_t c)
{
	uint8_t bytes[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const uint8_t leads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	for (size_t i = n; i-- > 1; c >>= 6)
		bytes[i] = (uint8_t)(0x80 | (c & 0x3f));
	bytes[0] = (uint8_t)(leads[n] | c);
	text_add(out, bytes, n);
}

/* The second half of a pair, as its ten bits. */
static bool take_low(const char **p, uint32_t *out)
{
	if (strncmp(*p, "\\u", 2) != 0)
		return false;
	*p += 2;
	if (!take_unit(p, out) || *out < 0xdc00 || *out >= 0xe000)
		return false;
	*out -= 0xdc00;
	return true;
}

/* What follows a backslash. */
static bool take_escape(const char **p, struct text *out)
{
	static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
	uint32_t c, low;
	char letter = *(*p)++;
	const char *at = letter != '\0' ? strchr(letters, letter) : NULL;
	if (at != NULL)
		add_char(out, (uint8_t)meant[at - letters]);
	else if (letter == '"' || letter == '\\' || letter == '/')
		add_char(out, (uint8_t)letter);
	else if (letter != 'u' || !take_unit(p, &c))
		return false;
	else if (c < 0xd800 || c >= 0xe000)
		add_char(out, c);
	else if (!take_low(p, &low) || c >= 0xdc00)
		return false;
	else
		add_char(out, 0x10000 + ((c - 0xd800) << 10) + low);
	return true;
}

static bool take_string(const char **p, struct text *out)
{
	if (!take(p, '"'))
		return false;
	while (**p != '"') {
		size_t plain = strcspn(*p, "\"\\");
		text_add(out, *p, plain);
		*p += plain;
		if (**p == '\0' || (**p == '\\' && (++*p, !take_escape(p, out))))
			return false;
	}
	++*p;
	return true;
}

static bool skip_value(const char **p, unsigned depth);

typedef bool (*member_fn)(const char **p, const char *key, void *ctx);

/* {"key": value, ...}: each is called with p at the value. */
static bool each_member(const char **p, member_fn each, void *ctx)
{
	if (!take(p, '{'))
		return false;
	if (take(p, '}'))
		return true;
	do {
		struct text key = { 0 };
		bool good = take_string(p, &key) && take(p, ':') && each(p, text_is(&key), ctx);
		text_free(&key);
		if (!good)
			return false;
	} while (take(p, ','));
	return take(p, '}');
}

static bool skip_member(const char **p, const char *key, void *ctx)
{
	(void)key;
	return skip_value(p, *(unsigned *)ctx);
}

static bool skip_items(const char **p, unsigned depth)
{
	if (!take(p, '['))
		return false;
	if (take(p, ']'))
		return true;
	do
		if (!skip_value(p, depth))
			return false;
	while (take(p, ','));
	return take(p, ']');
}

static bool skip_value(const char **p, unsigned depth)
{
	unsigned deeper = depth + 1;
	skip_space(p);
	if (depth > DEEPEST)
		return false;
	if (**p == '{')
		return each_member(p, skip_member, &deeper);
	if (**p == '[')
		return skip_items(p, deeper);
	if (**p == '"') {
		struct text unused = { 0 };
		bool good = take_string(p, &unused);
		text_free(&unused);
		return good;
	}
	size_t n = strcspn(*p, ",]} \t\r\n");
	*p += n;
	return n > 0;
}

static bool take_digest(const char **p, char out[DIGEST_HEX + 1])
{
	struct text t = { 0 };
	bool good = take_string(p, &t) && t.n == DIGEST_HEX
		&& strspn(text_is(&t), "0123456789abcdef") == DIGEST_HEX;
	if (good)
		memcpy(out, t.p, DIGEST_HEX + 1);
	text_free(&t);
	return good;
}

static bool tensor_member(const char **p, const char *key, void *ctx)
{
	struct digest_line *line = ctx;
	if (strcmp(key, "digest") == 0)
		return take_digest(p, line->digest);
	line->name.n = strcmp(key, "name") == 0 ? 0 : line->name.n;
	return strcmp(key, "name") == 0 ? take_string(p, &line->name) : skip_value(p, 0);
}

static bool take_tensors(const char **p, struct digests *list)
{
	if (!take(p, '['))
		return false;
	if (take(p, ']'))
		return true;
	do {
		struct digest_line *line = digests_add(list);
		if (!each_member(p, tensor_member, line) || *line->digest == '\0')
			return false;
	} while (take(p, ','));
	return take(p, ']');
}

static bool root_member(const char **p, const char *key, void *ctx)
{
	struct digests *list = ctx;
	if (strcmp(key, "total") == 0)
		return take_digest(p, list->total);
	return strcmp(key, "tensors") == 0 ? take_tensors(p, list) : skip_value(p, 0);
}

bool digests_parse_json(struct digests *list, const char *text)
{
	if (!each_member(&text, root_member, list))
		return false;
	skip_space(&text);
	return *text == '\0';
}
