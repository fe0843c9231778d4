/* blocks.c - compressing a tensor in blocks, twice: once for the lengths, which stand before the
 * data, and once for the data. Memory is that of one batch of blocks, whatever the tensor's
 * size. blocks_read.c is its twin. */
#include "io/blocks.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/num.h"
#include "codec/lz4.h"
#include "io/blocks_worker.h"
#include "io/planes.h"
#include "io/sink.h"

enum { BATCH = SINK_BUFFER / BLOCK_SIZE };

bool blocks_fit(uint64_t nbytes, uint64_t stored)
{
	uint64_t n = nbytes / BLOCK_SIZE + (nbytes % BLOCK_SIZE != 0);
	return stored >= BLOCKS_HEAD && n <= (stored - BLOCKS_HEAD) / 4;
}

/* ---- One block ---- */

/* The block in to, which has room for n bytes; its length as the table has it. */
static uint32_t pack_block(struct blocks_worker *w, enum block_codec codec, unsigned width,
                           const uint8_t *from, size_t n, uint8_t *to)
{
	const uint8_t *bytes = from;
	if (width > 1) {
		planes_split(from, n, width, w->planes);
		bytes = w->planes;
	}
	size_t got = codec == BLOCKS_LZ4 ? lz4_pack(bytes, n, to, n - 1)
	                                 : zstd_pack(w->zstd, bytes, n, to, n - 1);
	if (got != 0)
		return (uint32_t)got;
	memcpy(to, from, n);
	return (uint32_t)n | BLOCKS_STORED_RAW;
}

static size_t stored_length(uint32_t entry) { return entry & ~BLOCKS_STORED_RAW; }

/* ---- A batch of blocks: what a full buffer of a sink holds ---- */

struct batch {
	const struct packing *p;
	unsigned       threads;
	uint32_t       lengths[BATCH];
	uint8_t       *packed;  /* BATCH blocks, or as many as there are */
	const uint8_t *raw;
	size_t         bytes;   /* in raw */
};

static size_t blocks_of(size_t bytes) { return (bytes + BLOCK_SIZE - 1) / BLOCK_SIZE; }

/* For a source of n bytes. */
static bool batch_init(struct batch *b, const struct packing *p, uint64_t n, unsigned threads)
{
	size_t most = (size_t)min_u64(n, (uint64_t)BATCH * BLOCK_SIZE);
	*b = (struct batch){ .p = p, .threads = threads };
	b->packed = mem_alloc(blocks_of(most) * BLOCK_SIZE);
	return b->packed != NULL;
}

static size_t block_bytes(const struct batch *b, size_t i)
{
	size_t left = b->bytes - i * BLOCK_SIZE;
	return left < BLOCK_SIZE ? left : BLOCK_SIZE;
}

static void pack_some(struct batch *b, size_t *next, int *failed)
{
	struct blocks_worker *w = blocks_worker_new(b->p->codec, b->bytes);
	for (size_t i = 0; w != NULL; ) {
#pragma omp atomic capture
		i = (*next)++;
		if (i >= blocks_of(b->bytes))
			break;
		b->lengths[i] = pack_block(w, b->p->codec, b->p->width, b->raw + i * BLOCK_SIZE,
		                           block_bytes(b, i), b->packed + i * BLOCK_SIZE);
	}
	if (w == NULL) {
#pragma omp atomic write
		*failed = 1;
	}
	blocks_worker_free(w);
}

/* False when memory is out. */
static bool batch_pack(struct batch *b, const uint8_t *raw, size_t n)
{
	size_t next = 0, blocks = blocks_of(n);
	int failed = 0, threads = b->threads < blocks ? (int)b->threads : (int)blocks;
	b->raw = raw;
	b->bytes = n;
	(void)threads;
#pragma omp parallel num_threads(threads)
	pack_some(b, &next, &failed);
	return failed == 0;
}

static uint64_t batch_stored(const struct batch *b)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < blocks_of(b->bytes); i++)
		sum += stored_length(b->lengths[i]);
	return sum;
}

static void no_memory(tn_error *err)
{
	err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for compression");
}

/* ---- Measuring ---- */

struct measuring {
	struct batch    b;
	struct packing  p;
	uint64_t        n; /* blocks so far */
	tn_error       *err;
};

/* The first batch says whether planes pay. */
static bool choose_width(struct measuring *m, const uint8_t *raw, size_t n)
{
	unsigned width = m->p.width;
	if (width <= 1)
		return true;
	if (!batch_pack(&m->b, raw, n))
		return false;
	uint64_t with = batch_stored(&m->b);
	m->p.width = 0;
	if (!batch_pack(&m->b, raw, n))
		return false;
	if (with < batch_stored(&m->b))
		m->p.width = width;
	return true;
}

static void measure_batch(void *ctx, const uint8_t *raw, size_t n)
{
	struct measuring *m = ctx;
	if ((m->n == 0 && !choose_width(m, raw, n)) || !batch_pack(&m->b, raw, n)) {
		no_memory(m->err);
		return;
	}
	m->p.stored += batch_stored(&m->b);
	for (size_t i = 0; i < blocks_of(n); i++)
		m->p.lengths[m->n++] = m->b.lengths[i];
}

static uint64_t block_count(uint64_t nbytes)
{
	return nbytes / BLOCK_SIZE + (nbytes % BLOCK_SIZE != 0);
}

tn_code blocks_measure(const struct source *s, enum block_codec codec, unsigned width,
                       unsigned threads, struct arena *mem, struct packing *out, tn_error *err)
{
	uint64_t n = block_count(s->len);
	struct measuring m = { .p = { .codec = codec, .width = width }, .err = err };
	struct sink sink;
	*out = (struct packing){ .lengths = NULL };
	m.p.stored = BLOCKS_HEAD + 4 * n;
	if (m.p.stored >= s->len)
		return TN_OK;
	m.p.lengths = arena_raw(mem, n, sizeof *m.p.lengths);
	if (m.p.lengths == NULL)
		return arena_err(mem, err, "block lengths");
	if (sink_init_function(&sink, s->len, measure_batch, &m, err) != TN_OK)
		return err->code;
	if (batch_init(&m.b, &m.p, s->len, threads)) {
		source_stream(s, &sink);
		sink_flush(&sink);
	} else {
		no_memory(err);
	}
	mem_free(m.b.packed);
	sink_fini(&sink);
	if (err->code == TN_OK && m.p.stored < s->len)
		*out = m.p;
	return err->code;
}

/* ---- Writing ---- */

static void put_table(const struct packing *p, uint64_t nbytes, struct sink *out)
{
	uint8_t head[BLOCKS_HEAD] = { (uint8_t)p->codec, (uint8_t)p->width }, entry[4];
	put_le32(head + 4, BLOCK_SIZE);
	put_le64(head + 8, nbytes);
	sink_write(out, head, sizeof head);
	for (uint64_t i = 0; i < block_count(nbytes); i++) {
		put_le32(entry, p->lengths[i]);
		sink_write(out, entry, sizeof entry);
	}
}

struct writing {
	struct batch b;
	uint64_t     n;   /* blocks so far */
	struct sink *out;
};

static void write_batch(void *ctx, const uint8_t *raw, size_t n)
{
	struct writing *w = ctx;
	if (!batch_pack(&w->b, raw, n))
		no_memory(w->out->err);
	for (size_t i = 0; i < blocks_of(n) && sink_ok(w->out); i++) {
		if (w->b.lengths[i] != w->b.p->lengths[w->n++])
			err_set(w->out->err, TN_E_CORRUPT, TN_NO_OFFSET,
				"its bytes changed while they were being compressed");
		sink_write(w->out, w->b.packed + i * BLOCK_SIZE, stored_length(w->b.lengths[i]));
	}
}

/* The source streams into a sink of its own, which shares the error of the one that is written
 * to. */
void blocks_stream(const struct source *s, const struct packing *p, unsigned threads,
                   struct sink *out)
{
	struct writing w = { .out = out };
	struct sink sink;
	if (!sink_ok(out) || sink_init_function(&sink, s->len, write_batch, &w, out->err) != TN_OK)
		return;
	if (batch_init(&w.b, p, s->len, threads)) {
		put_table(p, s->len, out);
		source_stream(s, &sink);
		sink_flush(&sink);
	} else {
		no_memory(out->err);
	}
	mem_free(w.b.packed);
	sink_fini(&sink);
}
