/* strmap.h - names to indices, by hash: duplicates are found in one pass, never by pairs. */
#ifndef BASE_STRMAP_H
#define BASE_STRMAP_H

#include "base/arena.h"

/* The keys stay where they are: the map holds (hash, index) and asks for the key at an index. */
struct strmap {
	struct strmap_slot *slots;
	uint64_t mask;
	uint64_t count;
};

/* Room for n keys, allocated once from the arena; false when memory is out. */
bool strmap_init(struct strmap *m, struct arena *a, uint64_t n);
/* Keys are fetched through this. */
typedef tn_view (*strmap_key_fn)(const void *ctx, uint64_t i);
/* Adds key i. False when an equal key is there: *other is its index. At most n adds. */
bool strmap_add(struct strmap *m, strmap_key_fn key, const void *ctx, uint64_t i, uint64_t *other);
/* The index of an equal key; false when there is none. */
bool strmap_find(const struct strmap *m, strmap_key_fn key, const void *ctx, tn_view name, uint64_t *out);

#endif
