/* cut.h - where a row of tensors is cut into shards. */
#ifndef API_CUT_H
#define API_CUT_H

#include "model/model.h"

struct cut_rule {
	uint64_t max_bytes;   /* of the tensors of one shard; a tensor over it gets a shard alone; 0: no limit */
	uint64_t max_tensors; /* 0: no limit */
	bool     even;        /* no more shards than needed, and of these the largest as small as can be */
};

/* starts has room for n; starts[k] is the first tensor of shard k. Returns how many shards there are: at least one. */
uint64_t cut_shards(const struct tensor *t, uint64_t n, struct cut_rule rule, uint64_t *starts);

#endif
