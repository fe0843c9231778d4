#include "io/blocks_worker.h"

#include "base/mem.h"
#include "base/num.h"

struct blocks_worker *blocks_worker_new(enum block_codec codec, uint64_t nbytes)
{
	size_t most = (size_t)min_u64(nbytes, BLOCK_SIZE);
	struct blocks_worker *w = mem_alloc(sizeof *w + 3 * most);
	if (w == NULL)
		return NULL;
	w->planes = w->room;
	w->stored = w->planes + most;
	w->block = w->stored + most;
	w->zstd = codec == BLOCKS_ZSTD ? zstd_new() : NULL;
	if (codec == BLOCKS_LZ4 || w->zstd != NULL)
		return w;
	mem_free(w);
	return NULL;
}

void blocks_worker_free(struct blocks_worker *w)
{
	if (w != NULL)
		zstd_free(w->zstd);
	mem_free(w);
}
