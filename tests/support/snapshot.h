/* snapshot.h - all files below the current folder, to compare with and to go back to.
 *
 * What fails here ends the program: it is the ground that tests stand on. */
#ifndef SUPPORT_SNAPSHOT_H
#define SUPPORT_SNAPSHOT_H

#include "tenon.h"

struct snapshot {
	char   **paths; /* sorted; a folder's ends in a slash */
	tn_view *bytes;
	size_t   n;
};

struct snapshot snapshot_take(void);
void            snapshot_free(struct snapshot *s);
/* Puts the current folder back into that state. */
void            snapshot_restore(const struct snapshot *s);
/* The index of that path; -1 when it is not there. */
long            snapshot_find(const struct snapshot *s, const char *path);
bool            snapshot_equal(const struct snapshot *a, const struct snapshot *b);
/* Takes out what a save under way has beside its target: .tmp files, and with resumable the three of a conversion that can
 * be gone on with. Returns how many those were. */
size_t          snapshot_drop_temps(struct snapshot *s, bool resumable);

#endif
