/* json_tree.h - a metadata tree as the JSON that people write: for formats whose metadata is JSON.
 *
 * What JSON has is read as it stands: integers of 64 bits, signed where negative, and doubles. What
 * it lacks is printed as near as it comes, and the text is a fixed point: read back and printed
 * again it stays the same.
 *
 *	a number of another width    its value; a float of 32 bits by its shortest digits
 *	a float that is not finite   null
 *	a byte string                hex digits, as a string
 *	text that is no UTF-8        each offending byte as \xNN
 */
#ifndef IO_JSON_TREE_H
#define IO_JSON_TREE_H

#include "base/buf.h"
#include "codec/json.h"
#include "model/meta.h"

struct json_tree {
	struct arena *mem;
	uint64_t      repeated; /* keys that stood in an object before: the last value counts */
	tn_view       key;      /* the first of them */
};

/* The node that a value spells, strings copied; NULL when memory is out. Recursion is bounded by
 * the depth that the document was allowed. */
struct tn_meta *json_tree_get(struct json_tree *t, const struct json_val *v);
/* The members of an object into a map that is empty; false when memory is out. */
bool json_tree_fill(struct json_tree *t, const struct json_val *object, struct tn_meta *map);
void            json_tree_put(struct buf *out, const struct tn_meta *node);
/* Does reading what is printed give an equal node? */
bool            json_tree_keeps(const struct tn_meta *node);
/* Do containers nest at most depth deep, this one included? */
bool            json_tree_within(const struct tn_meta *node, unsigned depth);

#endif
