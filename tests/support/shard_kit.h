/* shard_kit.h - opening the sets of a test, whose folder it passes. For a test's one file: these assert. */
#ifndef SUPPORT_SHARD_KIT_H
#define SUPPORT_SHARD_KIT_H

#include "support/files.h"

#include <stdlib.h>
#include <string.h>

/* FOLDER/NAME, or the folder itself where name is NULL. */
static inline tn_file *shard_kit_open(const char *folder, const char *name, bool single)
{
	const tn_open_options how = { .single = single };
	tn_file *f;
	tn_error err;
	char *path = name != NULL ? files_join(folder, name) : NULL;
	if (tn_open(&f, path != NULL ? path : folder, &how, &err) != TN_OK)
		fail_msg("%s", err.msg);
	free(path);
	return f;
}

/* Opening FOLDER/NAME fails, and the message has the text in it. */
static inline void shard_kit_refused(const char *folder, const char *name, tn_code code, const char *text)
{
	tn_file *f;
	tn_error err;
	char *path = files_join(folder, name);
	assert_int_equal(tn_open(&f, path, NULL, &err), code);
	if (strstr(err.msg, text) == NULL)
		fail_msg("'%s' is not in: %s", text, err.msg);
	free(path);
}

#endif
