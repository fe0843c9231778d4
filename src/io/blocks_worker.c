#include "io/blocks_worker.h"

#include "base/mem.h"

struct blocks_worker *blocks_worker_new(enum block_codec codec)
{
	struct blocks_worker *w = mem_alloc(sizeof *w);
	if (w == NULL)
		return NULL;
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
