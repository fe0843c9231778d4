/* text.h - growing text, and file bytes, sizes and shapes made fit to be read. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include "tenon.h"

#if defined(__GNUC__)
#  define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#  define PRINTF_LIKE(fmt, args)
#endif

/* Memory or the end of the program: there is nothing that a command could do without. */
void *grab(size_t n);
void *grab_again(void *p, size_t n);

/* Zero is empty. p is terminated once something was added; text_is gives "" before. */
struct text {
	char  *p;
	size_t n, cap;
};
void        text_free(struct text *t);
const char *text_is(const struct text *t);
tn_view     text_view(const struct text *t);
void        text_add(struct text *t, const void *p, size_t n);
void        text_str(struct text *t, const char *s);
void        text_fmt(struct text *t, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Bytes from a file: controls, direction marks, backslashes and what is no UTF-8 become \n, \x1b,
 * \u{202e}. */
void text_escape(struct text *t, tn_view v);
/* The same, cut after some columns with "...". */
void text_clip(struct text *t, tn_view v, size_t columns);
/* 1536 as "1.5 KiB". */
void text_bytes(struct text *t, uint64_t bytes);
/* "1.0 MiB (1,044,776 bytes)". */
void text_exact_size(struct text *t, uint64_t bytes);
/* 1044776 as "1,044,776". */
void text_count(struct text *t, uint64_t n);
/* "1 tensor", "2 tensors". */
void text_plural(struct text *t, uint64_t n, const char *noun);
/* "[64, 128]". */
void text_shape(struct text *t, uint32_t rank, const uint64_t *shape);
/* "f32"; of a type unknown to the library the file's own word. */
void text_dtype(struct text *t, const tn_tensor *x);
/* Shortest decimal that reads back as the same number: "0.1", "1.0", "1e-7", "NaN", "-Infinity". */
void text_f64(struct text *t, double v);
void text_f32(struct text *t, float v);

/* Columns that n bytes of UTF-8 take on a terminal. */
size_t text_columns(const char *p, size_t n);
/* One character at p: its length, or 0 where no well-formed sequence starts. */
size_t text_char(const uint8_t *p, size_t n, uint32_t *out);
/* A character that would move the cursor, turn the line round or not be seen. */
bool   text_unsafe(uint32_t c);
/* Bytewise order, as strcmp. */
int    view_cmp(tn_view a, tn_view b);
/* a + b, UINT64_MAX at most. */
uint64_t sum(uint64_t a, uint64_t b);

#endif
