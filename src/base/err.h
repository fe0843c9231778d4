/* err.h - filling a tn_error. The first failure wins; later ones are its echoes. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/view.h"

#if defined(__GNUC__)
#  define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#  define PRINTF_LIKE(fmt, args)
#endif

/* Records a failure unless err holds one already; returns the code that err then holds. */
tn_code err_set(tn_error *err, tn_code code, uint64_t offset, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* An IO failure of the system call described by what ("open", "write"); sys is errno. path is NULL where the
 * caller of the library named the file itself: "cannot open: permission denied". */
tn_code err_sys(tn_error *err, int sys, const char *what, const char *path);
/* NOMEM, or LIMIT when the arena's budget said no: see arena_err in arena.h. */
void    err_clear(tn_error *err);
/* Puts "text: " in front of the message, as when a failure passes through a tensor's producer. */
void    err_prefix(tn_error *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* "1 byte", "12 bytes", for messages: err_set(err, code, off, "short by %s", N_BYTES(n)). */
enum { BYTES_TEXT = 32 };
const char *bytes_text(uint64_t n, char out[BYTES_TEXT]);
#define N_BYTES(n) bytes_text((n), (char[BYTES_TEXT]){ 0 })

/* Room for an escaped name of reasonable length in a message. */
enum { ESCAPED = 96 };
/* v as printable ASCII or UTF-8 text in out: controls, quotes, backslashes and bytes that are no UTF-8
 * become \xNN (\n, \t and their kin by letter); cut with "..." where it does not fit. Returns out. */
const char *escape(tn_view v, char *out, size_t cap);
/* In a call's arguments: err_set(err, code, off, "tensor '%s'", ESC(name)). */
#define ESC(v) escape((v), (char[ESCAPED]){ 0 }, ESCAPED)

#endif
