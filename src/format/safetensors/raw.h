/* raw.h - the text of a JSON object's members, which the parsed document no longer has.
 *
 * For text that is known to be valid JSON: it finds ends, it does not check. */
#ifndef FORMAT_SAFETENSORS_RAW_H
#define FORMAT_SAFETENSORS_RAW_H

#include "base/arena.h"

struct raw {
	const uint8_t *p, *end;
	uint64_t       next;  /* number of the member that comes next */
	tn_view        key;   /* of the last one: with quotes, escapes as they stand */
	tn_view        value; /* of the last one */
};

/* A walk over the members of the object that text holds. */
struct raw raw_members(tn_view text);
bool       raw_next(struct raw *w);
/* Moves on to member i, at or after the last one. */
bool       raw_seek(struct raw *w, uint64_t i);
/* The text without white space outside of strings; ptr is NULL when memory is out. */
tn_view    raw_minify(struct arena *a, tn_view text);

#endif
