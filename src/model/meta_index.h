/* meta_index.h - the members of a map by hash of their keys, for where a file chose these: meta_find and meta_set go
 * through the map, so that a loop of them over the keys of a file takes the square of their number. */
#ifndef MODEL_META_INDEX_H
#define MODEL_META_INDEX_H

#include "base/strmap.h"
#include "model/meta.h"

/* Holds as long as the map is changed by meta_index_set alone. */
struct meta_index {
	struct tn_meta  *map;
	struct tn_meta **nodes;
	uint64_t         n;
	struct strmap    keys;
};

/* Of the map as it stands, with room for so many more keys; of equal keys the first counts, as for meta_find. False when
 * memory is out. */
bool            meta_index_init(struct meta_index *ix, struct arena *a, struct tn_meta *map, uint64_t more);
struct tn_meta *meta_index_find(const struct meta_index *ix, tn_view key);
/* As meta_set: adds the node, or puts its value in the place of the one of equal key. At most as many new keys as room was
 * made for. key is borrowed. */
void            meta_index_set(struct meta_index *ix, tn_view key, struct tn_meta *node);

#endif
