/* blocks.h - a tensor's bytes in blocks that are compressed each by itself, so that any range of it
 * is read by decoding the blocks that it touches, and many blocks at once.
 *
 *	 0   1  codec: 1 lz4, 2 zstd
 *	 1   1  width of an element: 0 or 1, or 2, 4, 8: then within each block the first bytes of
 *	        all elements stand together, then the second ones, and so on
 *	 2   2  0
 *	 4   4  block size, 65536
 *	 8   8  bytes of the tensor
 *	16  4n  stored length of each of its n blocks; with bit 31 the block is stored as it is
 *	        the blocks, back to back
 *
 * All integers are little-endian. Bytes of like meaning beside each other compress better: of
 * bf16 numbers nothing is gained without the planes. */
#ifndef IO_BLOCKS_H
#define IO_BLOCKS_H

#include "io/source.h"

enum { BLOCK_SIZE = 1 << 16, BLOCKS_HEAD = 16 };

enum block_codec { BLOCKS_LZ4 = 1, BLOCKS_ZSTD = 2 };

/* What a tensor becomes in blocks, found by compressing it once; the bytes themselves are not
 * kept. */
struct packing {
	enum block_codec codec;
	unsigned         width;
	uint64_t         stored;  /* head, table and blocks; less than the tensor has */
	uint32_t        *lengths; /* as the table has them; NULL: blocks are not worth it */
};

/* Can n stored bytes hold the head and the table of a tensor of so many bytes? */
bool    blocks_fit(uint64_t nbytes, uint64_t stored);

/* ---- Writing ---- */

/* Compresses the source, which must be one that repeats, with up to so many threads. width is
 * that of the tensor's elements, 0 where they have none. NOMEM and failures of the source. */
tn_code blocks_measure(const struct source *s, enum block_codec codec, unsigned width,
                       unsigned threads, struct arena *mem, struct packing *out, tn_error *err);
/* Compresses it again and writes what was measured. CORRUPT when the source has changed. */
void blocks_stream(const struct source *s, const struct packing *p, unsigned threads,
                   struct sink *out);

/* ---- Reading ---- */

/* n bytes of the tensor from off, which must lie inside it. Any thread. */
tn_code blocks_read(const struct reader *r, const struct tensor *t, uint64_t off, void *buf,
                    size_t n, tn_error *err);
/* What compressed a tensor that is stored in blocks. */
tn_code blocks_codec(const struct reader *r, const struct tensor *t, enum block_codec *out, tn_error *err);
/* Head and table as a whole: every block inside what is stored, none left over. */
tn_code blocks_check(const struct reader *r, const struct tensor *t, tn_error *err);

#endif
