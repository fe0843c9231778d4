/* cut.c - where a row of tensors is cut into shards.
 *
 * Tensors keep their order. A new shard begins when the next tensor would take the sum past the limit; a sum that equals
 * the limit still fits. That gives the fewest shards; their sizes come out uneven, the last one mostly small. For even
 * ones the same rule is asked for the smallest limit that needs no more shards. */
#include "api/cut.h"

#include "base/num.h"

/* starts may be NULL. */
static uint64_t cut(const struct tensor *t, uint64_t n, uint64_t max_bytes, uint64_t max_tensors, uint64_t *starts)
{
	uint64_t shards = 0, sum = 0, count = 0;
	for (uint64_t i = 0; i < n; i++) {
		bool fits = count != 0 && count < max_tensors && sum <= max_bytes && t[i].nbytes <= max_bytes - sum;
		if (!fits) {
			if (starts != NULL)
				starts[shards] = i;
			shards++;
			sum = count = 0;
		}
		sum = sum > UINT64_MAX - t[i].nbytes ? UINT64_MAX : sum + t[i].nbytes;
		count++;
	}
	if (shards == 0) { /* no tensors: a model all the same */
		if (starts != NULL)
			starts[0] = 0;
		return 1;
	}
	return shards;
}

uint64_t cut_shards(const struct tensor *t, uint64_t n, struct cut_rule rule, uint64_t *starts)
{
	uint64_t bytes = rule.max_bytes != 0 ? rule.max_bytes : UINT64_MAX;
	uint64_t tensors = rule.max_tensors != 0 ? rule.max_tensors : UINT64_MAX;
	if (rule.even) {
		uint64_t few = cut(t, n, bytes, tensors, NULL), low = 0;
		while (low < bytes) {
			uint64_t middle = low + (bytes - low) / 2;
			if (cut(t, n, middle, tensors, NULL) <= few)
				bytes = middle;
			else
				low = middle + 1;
		}
	}
	return cut(t, n, bytes, tensors, starts);
}
