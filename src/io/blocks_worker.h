/* blocks_worker.h - what a thread works with when it codes blocks, either way. */
#ifndef IO_BLOCKS_WORKER_H
#define IO_BLOCKS_WORKER_H

#include "codec/zstd.h"
#include "io/blocks.h"

/* In the table: the block is stored as it is. */
#define BLOCKS_STORED_RAW UINT32_C(0x80000000)

struct blocks_worker {
	struct zstd *zstd; /* of BLOCKS_ZSTD */
	uint8_t     *planes;
	uint8_t     *stored, *block; /* reading */
	uint8_t      room[];
};

/* For blocks of a tensor of so many bytes. NULL when memory is out. */
struct blocks_worker *blocks_worker_new(enum block_codec codec, uint64_t nbytes);
void                  blocks_worker_free(struct blocks_worker *w); /* NULL is allowed */

#endif
