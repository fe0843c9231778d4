/* meta.h - the metadata tree. Nodes live in one arena and are linked in file order. */
#ifndef MODEL_META_H
#define MODEL_META_H

#include "base/arena.h"

/* An array that stays as the file has it: fixed-size numbers or length-prefixed strings, decoded by the
 * iterator. */
struct meta_raw {
	const uint8_t *bytes;  /* borrowed from the file */
	uint64_t       len;
	uint8_t        kind;   /* tn_meta_type of the items: BOOL INT UINT FLOAT STRING */
	uint8_t        width;  /* bits of a number; of a string's length prefix: 32 or 64 */
	bool           big_endian;
};

/* Containers inside each other. What builds a tree keeps to META_DEPTH; one that is read may be deeper where a format
 * allows it (APR, an index of shards), but never than META_DEEPEST, so that what walks a tree may recurse. */
enum { META_DEPTH = 100, META_DEEPEST = 128 };

/* The iterator builds items in the caller's tn_meta_iter, whose declared type is another one. */
#if defined(__GNUC__)
#  define META_ALIAS __attribute__((may_alias))
#else
#  define META_ALIAS
#endif

struct META_ALIAS tn_meta {
	uint8_t  type;     /* tn_meta_type */
	uint8_t  width;    /* bits, 0 unknown */
	bool     is_raw;   /* ARRAY: items are in raw, not in kids */
	uint8_t  depth;    /* of a container in a writer: how many it stands in */
	tn_view  key;
	struct tn_meta *next;
	union {
		bool     b;
		int64_t  i;
		uint64_t u;
		uint64_t f_bits;  /* FLOAT: the double's bits, so that NaN payloads survive; an f32 is widened */
		tn_view  s;       /* STRING, BYTES */
		struct { struct tn_meta *first, *last; uint64_t n; } kids;
		struct { struct meta_raw *raw; uint64_t n; } packed;
	} as;
};

/* Nodes made here are not linked anywhere. NULL when memory is out. Views are borrowed, not copied. */
struct tn_meta *meta_new(struct arena *a, tn_meta_type type);
/* Appends to an array or map; returns the node. key is borrowed. No test for repeated keys. A NULL node
 * (out of memory) is passed through. */
struct tn_meta *meta_append(struct tn_meta *container, tn_view key, struct tn_meta *node);
/* The same, replacing a node of equal key in its place. */
struct tn_meta *meta_set(struct tn_meta *map, tn_view key, struct tn_meta *node);
/* Gives the node another value in its place, under its own key. */
void            meta_become(struct tn_meta *node, const struct tn_meta *value);
/* Unlinks the node of that key; false when there is none. */
bool            meta_remove(struct tn_meta *map, tn_view key);
struct tn_meta *meta_find(const struct tn_meta *map, tn_view key);

/* Makers and adders in one step; all return NULL when memory is out. */
struct tn_meta *meta_add_string(struct arena *a, struct tn_meta *to, tn_view key, tn_view v);
struct tn_meta *meta_add_bytes (struct arena *a, struct tn_meta *to, tn_view key, tn_view v);
struct tn_meta *meta_add_uint  (struct arena *a, struct tn_meta *to, tn_view key, uint64_t v, unsigned width);
struct tn_meta *meta_add_int   (struct arena *a, struct tn_meta *to, tn_view key, int64_t v, unsigned width);
struct tn_meta *meta_add_float (struct arena *a, struct tn_meta *to, tn_view key, uint64_t bits, unsigned width);
struct tn_meta *meta_add_bool  (struct arena *a, struct tn_meta *to, tn_view key, bool v);
struct tn_meta *meta_add_null  (struct arena *a, struct tn_meta *to, tn_view key);
struct tn_meta *meta_add_map   (struct arena *a, struct tn_meta *to, tn_view key);
struct tn_meta *meta_add_array (struct arena *a, struct tn_meta *to, tn_view key);

/* The child map of that key, made when it is missing. */
struct tn_meta *meta_map_at(struct arena *a, struct tn_meta *map, tn_view key);
/* A deep copy, raw arrays by reference; views are copied when own is true. NULL when memory is out. */
struct tn_meta *meta_clone(struct arena *a, const struct tn_meta *node, bool own);
/* The kind and width that all items of an array share, when they are bools, numbers of a known width or strings. The width
 * of a bool or string is 0. False for other arrays, and for an empty one that is not raw: its items would be of no kind. */
bool            meta_uniform(const struct tn_meta *array, tn_meta_type *kind, unsigned *width);
/* Equal in kind, width, value, order and keys of the children (keys of the two nodes themselves aside). */
bool            meta_equal(const struct tn_meta *a, const struct tn_meta *b);

#endif
