/* fuzz_blocks.c - tensors that are stored compressed, in blocks of LZ4 or zstd (io/blocks.h) or in zstd frames with a table
 * (io/zstd_frames.h): any bytes as one, and the bytes of our own writer, whole and damaged.
 *
 * The first byte says which coding, whether to read or to write, and the width of an element. Reading: the length of the
 * tensor in 3 bytes, and what is stored. Writing: how often the rest is repeated, which byte of the result is changed and how. */
#include "fuzz/fuzz.h"

#include "codec/lz4.h"
#include "codec/zstd.h"
#include "io/blocks.h"
#include "io/planes.h"
#include "io/sink.h"
#include "io/tensor_read.h"
#include "io/zstd_frames.h"

enum { MOST = 2 * BLOCK_SIZE + 999 };

static uint8_t raw[MOST], whole[MOST], piece[MOST], stored[MOST + MOST / 8];

/* ---- Reading ---- */

static bool is_reason(tn_code code) { return code == TN_E_CORRUPT || code == TN_E_UNSUPPORTED || code == TN_E_LIMIT; }

/* A range of what can be read whole can be read, and is the same. */
static void read_ranges(const struct reader *r, const struct tensor *t, unsigned cut)
{
	tn_error err = { .code = TN_OK };
	uint64_t from = t->nbytes * (cut % 16) / 16, n = (t->nbytes - from) * (cut / 16) / 16;
	require(tensor_read(r, t, from, piece, (size_t)n, &err) == TN_OK, "a range of what is read");
	require(memcmp(piece, whole + from, (size_t)n) == 0, "its bytes");
}

/* True when the whole can be read, into whole. */
static bool read_all(const struct reader *r, const struct tensor *t, unsigned cut)
{
	tn_error err = { .code = TN_OK }, check = { .code = TN_OK };
	if (t->enc == ENC_BLOCKS && blocks_check(r, t, &check) != TN_OK)
		require(is_reason(check.code) && check.msg[0] != '\0', "head and table, or a reason");
	if (tensor_read(r, t, 0, whole, (size_t)t->nbytes, &err) != TN_OK) {
		require(is_reason(err.code) && err.msg[0] != '\0', "bytes, or a reason");
		return false;
	}
	read_ranges(r, t, cut);
	return true;
}

/* Most lengths are short, since what is longer takes most of the time; every fourth may be of more than two blocks. */
static uint64_t take_length(struct input *in)
{
	uint64_t n = take_number(in, 3);
	return n >> 22 == 3 ? n % MOST : n % 4096;
}

static struct tensor tensor_of(enum encoding enc, uint64_t nbytes, uint64_t n)
{
	return (struct tensor){ .name = VIEW("x"), .dtype = TN_U8, .enc = (uint8_t)enc, .nbytes = nbytes, .stored = n };
}

static void read_any(struct input *in, enum encoding enc)
{
	uint64_t nbytes = take_length(in);
	unsigned cut = take(in);
	tn_view bytes = take_view(in, MOST);
	struct reader r = { .map = bytes, .size = bytes.len };
	struct tensor t = tensor_of(enc, nbytes, bytes.len);
	if (enc != ENC_BLOCKS || blocks_fit(nbytes, bytes.len)) /* what an index says otherwise is refused before */
		read_all(&r, &t, cut);
}

/* The two codecs by themselves, and any length but the right one is refused. */
static void unpack(struct input *in)
{
	size_t n = (size_t)take_length(in);
	tn_view bytes = take_view(in, MOST);
	struct buf out;
	buf_init(&out, 1 << 20);
	if (zstd_unpack_all(bytes, &out) && out.len < MOST) {
		struct zstd *z = zstd_new();
		require(z != NULL, "memory");
		require(zstd_unpack(z, bytes.ptr, bytes.len, piece, out.len) || bytes.len == 0, "in one go as well");
		require(bytes.len == 0 || view_eq(buf_bytes(&out), (tn_view){ piece, out.len }), "the same bytes");
		zstd_free(z);
	}
	buf_fini(&out);
	if (lz4_unpack(bytes.ptr, bytes.len, piece, n) && n != 0)
		require(!lz4_unpack(bytes.ptr, bytes.len, whole, n - 1), "a block has one length");
}

/* ---- Writing ---- */

static size_t repeat(struct input *in)
{
	unsigned times = take(in);
	tn_view bytes = take_view(in, MOST);
	size_t n = 0;
	if (times >= 240 && bytes.len != 0) /* more than a block */
		times = MOST;
	else if (times < 224)
		times %= 16;
	for (unsigned i = 0; i <= times && n < MOST; i++) {
		size_t some = bytes.len < MOST - n ? bytes.len : MOST - n;
		copy_bytes(raw + n, bytes.ptr, some);
		n += some;
	}
	return n;
}

/* The tensor's bytes as they are stored; 0 where blocks are not worth it. */
static size_t write_blocks(size_t n, enum block_codec codec, unsigned width)
{
	struct source s = { .kind = SOURCE_MEMORY, .len = n, .memory = { raw, n } };
	struct packing p;
	struct arena mem;
	struct sink sink;
	tn_error err = { .code = TN_OK };
	arena_init(&mem, 1 << 20);
	require(blocks_measure(&s, codec, width, 1, &mem, &p, &err) == TN_OK, "what is in memory is measured");
	size_t len = p.lengths != NULL ? (size_t)p.stored : 0;
	if (len != 0) {
		require(len < n, "blocks are shorter");
		sink_init_memory(&sink, stored, len, &err);
		blocks_stream(&s, &p, 1, &sink);
		require(err.code == TN_OK && sink.at == len, "as many bytes as were measured");
		sink_fini(&sink);
	}
	arena_fini(&mem);
	return len;
}

static size_t write_frames(size_t n)
{
	struct reader r = { .map = { raw, n }, .size = n };
	struct tensor t = tensor_of(ENC_RAW, n, n);
	struct zstd_frames ctx = { &r, &t };
	struct sink sink;
	tn_error err = { .code = TN_OK };
	uint64_t len;
	require(zstd_frames_size(&r, &t, &len, &err) == TN_OK && len <= sizeof stored, "what is in memory is measured");
	struct source s = zstd_frames_source(&ctx, len);
	sink_init_memory(&sink, stored, len, &err);
	source_stream(&s, &sink);
	require(err.code == TN_OK && sink.at == len, "as many bytes as were measured");
	sink_fini(&sink);
	return (size_t)len;
}

static void there_and_back(struct input *in, enum encoding enc, enum block_codec codec, unsigned width)
{
	unsigned cut = take(in), change = take(in);
	uint64_t place = take_number(in, 2);
	size_t n = repeat(in), len = enc == ENC_BLOCKS ? write_blocks(n, codec, width) : write_frames(n);
	struct tensor t = tensor_of(enc, n, len);
	struct reader r = { .map = { stored, len }, .size = len };
	if (len == 0)
		return;
	require(read_all(&r, &t, cut) && memcmp(whole, raw, n) == 0, "what was written is read");
	stored[place % len] ^= (uint8_t)change;
	read_all(&r, &t, cut);
}

static void planes(struct input *in, unsigned width)
{
	tn_view bytes = take_view(in, MOST);
	planes_split(bytes.ptr, bytes.len, width, piece);
	planes_join(piece, bytes.len, width, whole);
	require(view_eq(bytes, (tn_view){ whole, bytes.len }), "planes and back");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned widths[] = { 0, 1, 2, 4, 8, 2, 4, 8 };
	struct input in = { data, data + size };
	unsigned how = take(&in), width = widths[how >> 5];
	/* zstd's compressor takes a hundred times as long as all the rest */
	bool often = (how & 24) != 0 || take(&in) % 8 != 0;
	switch (how % 8) {
	case 0: case 1: read_any(&in, ENC_BLOCKS); break;
	case 2: read_any(&in, ENC_ZSTD); break;
	case 3: unpack(&in); break;
	case 4: there_and_back(&in, ENC_BLOCKS, BLOCKS_LZ4, width); break;
	case 5: there_and_back(&in, ENC_BLOCKS, often ? BLOCKS_LZ4 : BLOCKS_ZSTD, width); break;
	case 6: there_and_back(&in, often ? ENC_BLOCKS : ENC_ZSTD, BLOCKS_LZ4, width); break;
	default: planes(&in, width != 0 ? width : 1); break;
	}
	return 0;
}
