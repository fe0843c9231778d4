/* meta.h - metadata for people and for scripts. */
#ifndef CLI_META_H
#define CLI_META_H

#include "cli/cli.h"
#include "cli/js.h"

/* One value; strings as strings, byte strings as hex. */
void meta_json(struct json *j, const tn_meta *node);
/* A value on one line, cut after some columns; SIZE_MAX for all of it. */
void meta_text(struct text *t, const tn_meta *node, size_t columns);
/* "string", "u32", "array of 3". */
void meta_type(struct text *t, const tn_meta *node);
/* The value of that key on stdout, raw or as JSON; a failure has been printed. */
enum status meta_get(const struct cli *cli, const char *path, const tn_file *file, const char *key);
/* A map, one key a line, maps inside it as deeper lines. */
void meta_print(const tn_meta *map, bool whole);

#endif
