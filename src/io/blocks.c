/* blocks.c - compressing a tensor in blocks, twice: once for the lengths, which stand before the data, and once for
 * the data. Memory is that of one batch of blocks, whatever the tensor's size. blocks_read.c is its twin. */
#include "io/blocks.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/num.h"
#include "codec/lz4.h"
#include "codec/zstd.h"
#include "io/planes.h"
#include "io/sink.h"

enum {
	BATCH = 64,           /* blocks in memory at a time */
	SAMPLES = 8           /* blocks that decide on planes */
};
#define STORED_RAW UINT32_C(0x80000000)

bool blocks_fit(uint64_t nbytes, uint64_t stored)
{
	uint64_t n = nbytes / BLOCK_SIZE + (nbytes % BLOCK_SIZE != 0);
	return stored >= BLOCKS_HEAD && n <= (stored - BLOCKS_HEAD) / 4;
}

/* ---- One block ---- */

/* What a thread works with. */
struct worker {
	struct zstd *zstd;
	uint8_t      planes[BLOCK_SIZE];
};

static struct worker *worker_new(enum block_codec codec)
{
	struct worker *w = mem_alloc(sizeof *w);
	if (w == NULL)
		return NULL;
	w->zstd = codec == BLOCKS_ZSTD ? zstd_new() : NULL;
	if (codec == BLOCKS_LZ4 || w->zstd != NULL)
		return w;
	mem_free(w);
	return NULL;
}

static void worker_free(struct worker *w)
{
	if (w != NULL)
		zstd_free(w->zstd);
	mem_free(w);
}

/* The block in to, which has room for n bytes; its length as the table has it. */
static uint32_t pack_block(struct worker *w, enum block_codec codec, unsigned width, const uint8_t *from, size_t n,
                           uint8_t *to)
{
	const uint8_t *bytes = from;
	if (width > 1) {
		planes_split(from, n, width, w->planes);
		bytes = w->planes;
	}
	size_t got = codec == BLOCKS_LZ4 ? lz4_pack(bytes, n, to, n - 1) : zstd_pack(w->zstd, bytes, n, to, n - 1);
	if (got != 0)
		return (uint32_t)got;
	memcpy(to, from, n);
	return (uint32_t)n | STORED_RAW;
}

static size_t stored_length(uint32_t entry) { return entry & ~STORED_RAW; }

/* ---- A batch of blocks ---- */

struct batch {
	uint8_t *raw, *packed; /* BATCH blocks each */
	uint32_t lengths[BATCH];
	size_t   bytes;        /* in raw */
};

static bool batch_init(struct batch *b)
{
	*b = (struct batch){ .raw = mem_alloc((size_t)BATCH * BLOCK_SIZE), .packed = mem_alloc((size_t)BATCH * BLOCK_SIZE) };
	return b->raw != NULL && b->packed != NULL;
}

static void batch_fini(struct batch *b)
{
	mem_free(b->raw);
	mem_free(b->packed);
}

static size_t block_bytes(const struct batch *b, size_t i)
{
	size_t left = b->bytes - i * BLOCK_SIZE;
	return left < BLOCK_SIZE ? left : BLOCK_SIZE;
}

static void pack_some(struct batch *b, const struct packing *p, size_t *next, int *failed)
{
	size_t n = (b->bytes + BLOCK_SIZE - 1) / BLOCK_SIZE;
	struct worker *w = worker_new(p->codec);
	for (size_t i = 0; w != NULL; ) {
#pragma omp atomic capture
		i = (*next)++;
		if (i >= n)
			break;
		b->lengths[i] = pack_block(w, p->codec, p->width, b->raw + i * BLOCK_SIZE, block_bytes(b, i),
		                           b->packed + i * BLOCK_SIZE);
	}
	if (w == NULL) {
#pragma omp atomic write
		*failed = 1;
	}
	worker_free(w);
}

/* Compresses what is in raw; false when memory is out. */
static bool batch_pack(struct batch *b, const struct packing *p, unsigned threads)
{
	size_t next = 0;
	int failed = 0;
	if (threads > b->bytes / BLOCK_SIZE + 1)
		threads = (unsigned)(b->bytes / BLOCK_SIZE + 1);
	(void)threads;
#pragma omp parallel num_threads((int)threads)
	pack_some(b, p, &next, &failed);
	return failed == 0;
}

/* The next batch of the source, from at. */
static tn_code batch_load(struct batch *b, const struct source *s, uint64_t at, tn_error *err)
{
	b->bytes = (size_t)min_u64(s->len - at, (uint64_t)BATCH * BLOCK_SIZE);
	return source_read(s, at, b->raw, b->bytes, err);
}

static tn_code no_memory(tn_error *err)
{
	return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for compression");
}

/* ---- Measuring ---- */

/* A few blocks from all over the tensor, compressed in both ways, say whether planes pay. */
static tn_code choose_width(struct packing *p, unsigned width, const struct source *s, unsigned threads, struct batch *b,
                            tn_error *err)
{
	uint64_t blocks = s->len / BLOCK_SIZE, sums[2] = { 0, 0 };
	for (unsigned i = 0; i < SAMPLES && i < blocks; i++) {
		uint64_t at = blocks <= SAMPLES ? i : blocks / SAMPLES * i;
		b->bytes = BLOCK_SIZE * (size_t)(i + 1);
		if (source_read(s, at * BLOCK_SIZE, b->raw + (size_t)i * BLOCK_SIZE, BLOCK_SIZE, err) != TN_OK)
			return err->code;
	}
	if (blocks == 0 && batch_load(b, s, 0, err) != TN_OK)
		return err->code;
	for (unsigned with = 0; with < 2; with++) {
		p->width = with ? width : 0;
		if (!batch_pack(b, p, threads))
			return no_memory(err);
		for (size_t i = 0; i * BLOCK_SIZE < b->bytes; i++)
			sums[with] += stored_length(b->lengths[i]);
	}
	p->width = sums[1] < sums[0] ? width : 0;
	return TN_OK;
}

static tn_code measure(struct packing *p, const struct source *s, unsigned threads, struct batch *b, tn_error *err)
{
	uint64_t i = 0;
	for (uint64_t at = 0; at < s->len; at += b->bytes) {
		if (batch_load(b, s, at, err) != TN_OK)
			return err->code;
		if (!batch_pack(b, p, threads))
			return no_memory(err);
		for (size_t k = 0; k * BLOCK_SIZE < b->bytes; k++) {
			p->lengths[i++] = b->lengths[k];
			p->stored += stored_length(b->lengths[k]);
		}
	}
	return TN_OK;
}

tn_code blocks_measure(const struct source *s, enum block_codec codec, unsigned width, unsigned threads,
                       struct arena *mem, struct packing *out, tn_error *err)
{
	uint64_t n = s->len / BLOCK_SIZE + (s->len % BLOCK_SIZE != 0);
	struct packing p = { .codec = codec, .width = width, .stored = BLOCKS_HEAD + 4 * n };
	struct batch b;
	tn_code code = TN_OK;
	*out = (struct packing){ .lengths = NULL };
	if (p.stored >= s->len)
		return TN_OK;
	p.lengths = arena_raw(mem, n, sizeof *p.lengths);
	if (p.lengths == NULL)
		return arena_err(mem, err, "block lengths");
	if (!batch_init(&b))
		code = no_memory(err);
	if (code == TN_OK && width > 1)
		code = choose_width(&p, width, s, threads, &b, err);
	if (code == TN_OK)
		code = measure(&p, s, threads, &b, err);
	batch_fini(&b);
	if (code == TN_OK && p.stored < s->len)
		*out = p;
	return code;
}

/* ---- Writing ---- */

static void put_table(const struct packing *p, uint64_t nbytes, struct sink *out)
{
	uint64_t n = nbytes / BLOCK_SIZE + (nbytes % BLOCK_SIZE != 0);
	uint8_t head[BLOCKS_HEAD] = { (uint8_t)p->codec, (uint8_t)p->width }, entry[4];
	put_le32(head + 4, BLOCK_SIZE);
	put_le64(head + 8, nbytes);
	sink_write(out, head, sizeof head);
	for (uint64_t i = 0; i < n; i++) {
		put_le32(entry, p->lengths[i]);
		sink_write(out, entry, sizeof entry);
	}
}

static void put_batch(const struct batch *b, const uint32_t *lengths, struct sink *out)
{
	for (size_t k = 0; k * BLOCK_SIZE < b->bytes && sink_ok(out); k++) {
		if (b->lengths[k] != lengths[k])
			err_set(out->err, TN_E_CORRUPT, TN_NO_OFFSET, "its bytes changed while they were being compressed");
		sink_write(out, b->packed + k * BLOCK_SIZE, stored_length(b->lengths[k]));
	}
}

void blocks_stream(const struct source *s, const struct packing *p, unsigned threads, struct sink *out)
{
	struct batch b;
	if (!batch_init(&b))
		no_memory(out->err);
	else
		put_table(p, s->len, out);
	for (uint64_t at = 0; at < s->len && sink_ok(out); at += b.bytes) {
		if (batch_load(&b, s, at, out->err) != TN_OK)
			break;
		if (batch_pack(&b, p, threads))
			put_batch(&b, p->lengths + at / BLOCK_SIZE, out);
		else
			no_memory(out->err);
	}
	batch_fini(&b);
}
