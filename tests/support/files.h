/* files.h - whole files, folder listings and temporary folders for tests.
 *
 * These end the program with a message when the system refuses: what they do is the ground that
 * tests stand on, not what is tested. */
#ifndef SUPPORT_FILES_H
#define SUPPORT_FILES_H

#include "tenon.h"

/* The bytes of a file in a malloc of exactly that length (1 when it is empty). Free ptr with
 * free(). */
tn_view files_load(const char *path);
bool    files_exist(const char *path);
void    files_store(const char *path, tn_view bytes);
/* Compares a file with bytes. */
bool    files_equal(const char *path, tn_view bytes);

/* All regular files below a folder whose names end in suffix ("" for all), sorted by path. */
struct file_list {
	char **paths;
	size_t n, cap;
};
struct file_list files_below(const char *folder, const char *suffix);
void             files_free(struct file_list *list);

/* "FOLDER/NAME" in a malloc. */
char *files_join(const char *folder, const char *name);

/* A new folder under TMPDIR or /tmp; its path in a malloc. */
char *tempdir_new(void);
/* How many entries it has. */
size_t tempdir_count(const char *path);
/* Removes the folder with everything in it, and frees the path. */
void  tempdir_remove(char *path);
/* Of a test or a group: a new folder is the current one, its path is in *state; back to "/", and all of it goes. */
int   tempdir_enter(void **state);
int   tempdir_leave(void **state);

#endif
