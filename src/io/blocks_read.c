/* blocks_read.c - any range of a tensor that is stored in blocks.
 *
 * Head and table come from a file: each length is held against what is stored and against what a
 * block may have before anything is taken for it. Like all reading in bulk this goes by position
 * and not through the map. */
#include "io/blocks.h"

#include "base/bytes.h"
#include "base/claim.h"
#include "base/mem.h"
#include "base/num.h"
#include "codec/lz4.h"
#include "io/blocks_worker.h"
#include "io/planes.h"

enum { AT_A_TIME = 1024, PARALLEL_FROM = 8 };

struct coded {
	const struct reader *r;
	const struct tensor *t;
	enum block_codec     codec;
	unsigned             width;
	uint64_t             n; /* blocks */
};

static tn_code corrupt(const struct coded *c, const char *why, tn_error *err)
{
	return err_set(err, TN_E_CORRUPT, c->t->offset, "compressed tensor '%s': %s",
	               ESC(c->t->name), why);
}

static tn_code read_head(struct coded *c, tn_error *err)
{
	uint8_t p[BLOCKS_HEAD];
	const struct tensor *t = c->t;
	c->n = t->nbytes / BLOCK_SIZE + (t->nbytes % BLOCK_SIZE != 0);
	if (!blocks_fit(t->nbytes, t->stored))
		return corrupt(c, "its table does not fit what is stored", err);
	if (reader_read(c->r, t->offset, p, sizeof p, err) != TN_OK)
		return err->code;
	c->codec = p[0];
	c->width = p[1] != 0 ? p[1] : 1;
	if (c->codec != BLOCKS_LZ4 && c->codec != BLOCKS_ZSTD)
		return corrupt(c, "its codec is not known", err);
	if (c->width > 8 || !is_power_of_two(c->width) || le16(p + 2) != 0)
		return corrupt(c, "its planes are not known", err);
	if (le32(p + 4) != BLOCK_SIZE)
		return corrupt(c, "its blocks have another size than 65536", err);
	if (le64(p + 8) != t->nbytes)
		return corrupt(c, "it has another size than its shape", err);
	return TN_OK;
}

static uint64_t block_bytes(const struct coded *c, uint64_t i)
{
	return min_u64(BLOCK_SIZE, c->t->nbytes - i * BLOCK_SIZE);
}

static size_t stored_length(uint32_t entry) { return entry & ~BLOCKS_STORED_RAW; }

/* A block that is stored raw has its own length, any other is shorter. */
static bool length_ok(const struct coded *c, uint64_t i, uint32_t entry)
{
	uint64_t raw = block_bytes(c, i), n = stored_length(entry);
	return entry & BLOCKS_STORED_RAW ? n == raw : n != 0 && n < raw;
}

/* The table up to block last. Where block first starts is in *at, those from first on are kept. */
static tn_code read_table(const struct coded *c, uint64_t first, uint64_t last, uint32_t *kept,
                          uint64_t *at, tn_error *err)
{
	uint8_t piece[4 * AT_A_TIME];
	uint64_t end = BLOCKS_HEAD + 4 * c->n;
	*at = end;
	for (uint64_t i = 0; i <= last; ) {
		uint64_t many = min_u64(last + 1 - i, AT_A_TIME);
		if (reader_read(c->r, c->t->offset + BLOCKS_HEAD + 4 * i, piece, (size_t)(4 * many),
		                err) != TN_OK)
			return err->code;
		for (uint64_t k = 0; k < many; k++, i++) {
			uint32_t entry = le32(piece + 4 * k);
			if (!length_ok(c, i, entry) || stored_length(entry) > c->t->stored - end)
				return corrupt(c, "its table has a length that cannot be", err);
			end += stored_length(entry);
			*at = i < first ? end : *at;
			if (kept != NULL && i >= first)
				kept[i - first] = entry;
		}
	}
	if (last + 1 == c->n && end != c->t->stored)
		return corrupt(c, "its blocks do not fill what is stored", err);
	return TN_OK;
}

/* ---- Blocks ---- */

/* Block i, stored at the given place, into to. */
static tn_code read_block(const struct coded *c, struct blocks_worker *w, uint64_t i, uint64_t at,
                          uint32_t entry, uint8_t *to, tn_error *err)
{
	size_t raw = (size_t)block_bytes(c, i), n = stored_length(entry);
	bool planes = c->width > 1;
	if (entry & BLOCKS_STORED_RAW)
		return reader_read(c->r, c->t->offset + at, to, n, err);
	if (reader_read(c->r, c->t->offset + at, w->stored, n, err) != TN_OK)
		return err->code;
	uint8_t *into = planes ? w->planes : to;
	if (!(c->codec == BLOCKS_LZ4 ? lz4_unpack(w->stored, n, into, raw)
	                             : zstd_unpack(w->zstd, w->stored, n, into, raw)))
		return corrupt(c, "a block does not decode to its length", err);
	if (planes)
		planes_join(w->planes, raw, c->width, to);
	return TN_OK;
}

/* A range of the tensor. Blocks that it has whole are decoded where they belong, those at its
 * ends elsewhere. */
struct range {
	struct coded *c;
	uint64_t      off, first;
	uint8_t      *buf;
	size_t        n;
	uint32_t     *entries;
	uint64_t     *places;  /* where each block is stored */
	uint64_t      blocks;
	int           failed;  /* who sets it first writes err */
	tn_error      err;
};

static tn_code read_part(const struct range *g, struct blocks_worker *w, uint64_t k, tn_error *err)
{
	uint64_t i = g->first + k, start = i * BLOCK_SIZE, end = start + block_bytes(g->c, i);
	uint64_t from = max_u64(start, g->off), to = min_u64(end, g->off + g->n);
	bool whole = from == start && to == end;
	uint8_t *place = g->buf + (from - g->off);
	if (read_block(g->c, w, i, g->places[k], g->entries[k], whole ? place : w->block, err) !=
	    TN_OK)
		return err->code;
	if (!whole)
		memcpy(place, w->block + (from - start), (size_t)(to - from));
	return TN_OK;
}

static void read_some(struct range *g, uint64_t *next)
{
	struct blocks_worker *w = blocks_worker_new(g->c->codec, g->c->t->nbytes);
	tn_error err;
	err_clear(&err);
	if (w == NULL)
		err_set(&err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for decompression");
	while (err.code == TN_OK) {
		uint64_t k;
#pragma omp atomic capture
		k = (*next)++;
		if (k >= g->blocks)
			break;
		read_part(g, w, k, &err);
	}
	if (err.code != TN_OK && claim(&g->failed))
		g->err = err;
	blocks_worker_free(w);
}

static tn_code read_range(struct range *g, tn_error *err)
{
	uint64_t at, next = 0, last = g->first + g->blocks - 1;
	if (read_table(g->c, g->first, last, g->entries, &at, err) != TN_OK)
		return err->code;
	for (uint64_t k = 0; k < g->blocks; k++) {
		g->places[k] = at;
		at += stored_length(g->entries[k]);
	}
	err_clear(&g->err);
#pragma omp parallel if (g->blocks >= PARALLEL_FROM)
	read_some(g, &next);
	if (g->err.code != TN_OK)
		*err = g->err;
	return err->code;
}

tn_code blocks_read(const struct reader *r, const struct tensor *t, uint64_t off, void *buf,
                    size_t n, tn_error *err)
{
	struct coded c = { .r = r, .t = t };
	if (n == 0)
		return TN_OK;
	if (read_head(&c, err) != TN_OK)
		return err->code;
	struct range g = { .c = &c, .off = off, .buf = buf, .n = n, .first = off / BLOCK_SIZE };
	g.blocks = (off + n - 1) / BLOCK_SIZE - g.first + 1;
	g.entries = mem_alloc((size_t)g.blocks * sizeof *g.entries);
	g.places = mem_alloc((size_t)g.blocks * sizeof *g.places);
	if (g.entries == NULL || g.places == NULL)
		err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for decompression");
	else
		read_range(&g, err);
	mem_free(g.entries);
	mem_free(g.places);
	return err->code;
}

tn_code blocks_codec(const struct reader *r, const struct tensor *t, enum block_codec *out, tn_error *err)
{
	struct coded c = { .r = r, .t = t };
	if (read_head(&c, err) == TN_OK)
		*out = c.codec;
	return err->code;
}

tn_code blocks_check(const struct reader *r, const struct tensor *t, tn_error *err)
{
	struct coded c = { .r = r, .t = t };
	uint64_t at;
	if (read_head(&c, err) != TN_OK)
		return err->code;
	if (c.n == 0)
		return t->stored == BLOCKS_HEAD
		               ? TN_OK
			       : corrupt(&c, "its blocks do not fill what is stored", err);
	return read_table(&c, c.n, c.n - 1, NULL, &at, err);
}
