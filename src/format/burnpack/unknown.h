/* unknown.h - what a reader did not know, on its way back into a file as it stood. It may have come out of an envelope, so
 * none of it is put there unseen. */
#ifndef BURNPACK_UNKNOWN_H
#define BURNPACK_UNKNOWN_H

#include "base/buf.h"
#include "model/meta.h"

/* The maps that may have members that are not known. */
enum unknown_place { UNKNOWN_IN_ROOT, UNKNOWN_IN_TENSOR, UNKNOWN_IN_SCHEME, UNKNOWN_IN_BLOCK, UNKNOWN_IN_SIZE };

/* How many members of such a map can be written: whole CBOR under names that are not the place's own. The map, name ->
 * CBOR, may be NULL, or something else. */
uint64_t unknown_count(const struct tn_meta *map, enum unknown_place place);
void     unknown_put(const struct tn_meta *map, enum unknown_place place, struct buf *out);
/* Whether this CBOR would be read as a dtype that is not known. */
bool     unknown_is_dtype(tn_view cbor, struct arena *mem);

#endif
