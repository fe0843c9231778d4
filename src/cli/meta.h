/* meta.h - metadata for people and for scripts. */
#ifndef CLI_META_H
#define CLI_META_H

#include "cli/js.h"

/* One value; strings as strings, byte strings as hex. */
void meta_json(struct json *j, const tn_meta *node);
/* A value on one line, cut after some columns; SIZE_MAX for all of it. */
void meta_text(struct text *t, const tn_meta *node, size_t columns);
/* "string", "u32", "array of 3". */
void meta_type(struct text *t, const tn_meta *node);
/* A map, one key a line, maps inside it as deeper lines. */
void meta_print(const tn_meta *map, bool whole);

#endif
