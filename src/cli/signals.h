/* signals.h - leaving nothing behind when the program is stopped, and a clear word when a file
 * shrinks. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include "tenon.h"

void signals_install(void);
/* Names the mapped file for SIGBUS; start is where it is mapped, NULL where that is not known.
 * Until the next call. */
void signals_watch(const char *path, const uint8_t *start, uint64_t size);
/* Lets signals wait while a temporary file is made and named, so that none is left unnamed. */
void signals_hold(void);
void signals_release(void);
/* A temporary file of the command itself, to be removed; NULL: no more. The string must live. */
void signals_temp(const char *path);
/* Removes all temporary files. Safe in a signal handler. */
void clean_up(void);

#endif
