/* read.h - what the three parts of the reader share. */
#ifndef BURNPACK_READ_H
#define BURNPACK_READ_H

#include "format/burnpack/scheme_read.h"

/* Containers open around a member of the root, an entry of one of its maps, a member of a descriptor. */
enum { IN_ROOT = 1, IN_MAP = 2, IN_TENSOR = 3 };

/* The nodes of a map whose keys must differ. */
struct entries {
	struct tn_meta **nodes;
	uint64_t         n;
	struct strmap    keys;
};

struct reading {
	struct walk       w;
	struct parse_job *job;
	struct tensor    *tensors;
	uint64_t          n;
	uint64_t         *pool, pool_left; /* room for dimensions */
	struct entries    metadata, scalars;
	struct tn_meta   *unknown;  /* members of the root: key -> bytes */
	uint64_t          n_unknown;
	unsigned          old;      /* OLD_* */
	bool              modern;   /* something that files without padding never had */
	bool              unsorted;
};

/* Each reads the value of a member of the root. */
bool pack_read_tensors(struct reading *r);
bool pack_read_metadata(struct reading *r);
bool pack_read_scalars(struct reading *r);
/* Strings first, then scalars; a scalar of the name of a string stands apart, in native "burnpack". */
bool pack_fill_metadata(struct reading *r);
/* Steps over an unknown member and keeps its bytes in map. */
bool pack_read_unknown(struct reading *r, struct tn_meta *map, tn_view key, unsigned depth);

#endif
