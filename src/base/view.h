/* view.h - borrowed runs of bytes, passed by value. */
#ifndef BASE_VIEW_H
#define BASE_VIEW_H

#include "tenon.h"
#include <string.h>

/* The view of a string literal. */
#define VIEW(literal) ((tn_view){ (const uint8_t *)(literal), sizeof(literal) - 1 })

/* For printf's %.*s. The bytes must be known to be printable: bytes of a file go through escape(). */
#define VIEW_ARG(v) (int)(v).len, (const char *)(v).ptr

static inline bool view_eq(tn_view a, tn_view b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool view_is(tn_view a, const char *text)
{
	return view_eq(a, (tn_view){ (const uint8_t *)text, strlen(text) });
}

/* Bytewise; a prefix comes first. */
static inline int view_cmp(tn_view a, tn_view b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int d = n != 0 ? memcmp(a.ptr, b.ptr, n) : 0;
	return d != 0 ? d : (a.len > b.len) - (a.len < b.len);
}

static inline bool view_starts(tn_view v, const char *prefix)
{
	size_t n = strlen(prefix);
	return v.len >= n && (n == 0 || memcmp(v.ptr, prefix, n) == 0);
}

/* memcpy that allows the empty copy from nowhere. */
static inline void copy_bytes(void *to, const void *from, size_t n)
{
	if (n != 0)
		memcpy(to, from, n);
}

#endif
