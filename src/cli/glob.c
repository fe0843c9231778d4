/* glob.c - names that match a pattern. Never slower than pattern times name. */
#include "cli/glob.h"
#include "cli/text.h"
#include <string.h>

/* The set at *pattern, just past its '['; moves past the ']'. A set that does not end is a plain
 * '['. */
static bool match_set(const char **pattern, uint8_t c, bool *well_formed)
{
	const char *p = *pattern;
	bool negated = *p == '!' || *p == '^', in = false;
	*well_formed = false;
	if (negated)
		p++;
	for (const char *first = p; *p != ']' || p == first; p++) {
		if (*p == '\0')
			return false;
		uint8_t low = (uint8_t)*p, high = low;
		if (p[1] == '-' && p[2] != ']' && p[2] != '\0') {
			high = (uint8_t)p[2];
			p += 2;
		}
		in |= c >= low && c <= high;
	}
	*pattern = p + 1;
	*well_formed = true;
	return in != negated;
}

/* One pattern item against the start of name: how many bytes it took, 0 for no match. */
static size_t match_one(const char **pattern, tn_view name)
{
	uint32_t c;
	if (name.len == 0)
		return 0;
	size_t len = text_char(name.ptr, name.len, &c);
	bool well_formed;
	char p = *(*pattern)++;
	if (p == '?')
		return len > 0 ? len : 1;
	if (p == '[') {
		bool in = match_set(pattern, name.ptr[0], &well_formed);
		if (well_formed)
			return in;
	}
	if (p == '\\' && **pattern != '\0')
		p = *(*pattern)++;
	return (uint8_t)p == name.ptr[0];
}

bool glob_match(const char *pattern, tn_view name)
{
	const char *star = NULL;
	tn_view retry = name;
	while (name.len > 0 || *pattern != '\0') {
		if (*pattern == '*') {
			star = ++pattern;
			retry = name;
			continue;
		}
		size_t took = *pattern != '\0' ? match_one(&pattern, name) : 0;
		if (took == 0) { /* let the last star take one byte more */
			if (star == NULL || retry.len == 0)
				return false;
			pattern = star;
			retry.ptr++, retry.len--;
			name = retry;
			continue;
		}
		name.ptr += took, name.len -= took;
	}
	return true;
}

bool glob_any(const struct opt_list *patterns, tn_view name)
{
	for (size_t i = 0; i < patterns->n; i++)
		if (glob_match(patterns->items[i], name))
			return true;
	return patterns->n == 0;
}
