/* zoo_apr.c - hostile APR files, among them those that grow when they are decompressed. */
#include "limits/zoo.h"
#include "codec/lz4.h"
#include "codec/zstd.h"
#include "format/apr/layout.h"
#include "io/blocks.h"

#include <stdlib.h>

enum { TAIL = 400, IMAGE_HEAD = 3 << 20, IMAGE = 63 << 20 }; /* of images: what is read at most */

static void header(struct buf *b, uint32_t tensors, uint64_t metadata_len, uint64_t index_at, uint64_t data_at, unsigned flags)
{
	const struct apr_header h = {
		.major = APR_MAJOR, .minor = APR_MINOR, .flags = (uint16_t)(APR_ROW_MAJOR | flags), .count = tensors,
		.metadata_at = APR_HEADER, .metadata_len = (uint32_t)metadata_len, .index_at = index_at, .data_at = data_at,
	};
	apr_header_put(&h, b->ptr);
}

static void pad(struct buf *b) { buf_fill(b, 0, (size_t)pad_to(b->len, APR_ALIGN)); }

static void begin(struct buf *b)
{
	buf_fill(b, 0, APR_HEADER);
	buf_text(b, "{}");
	pad(b);
}

static void entry(struct buf *b, const char *name, size_t n, uint8_t code, unsigned rank, uint64_t dim, uint64_t len)
{
	buf_u16(b, (uint16_t)n);
	buf_put(b, name, n);
	buf_byte(b, code);
	buf_byte(b, (uint8_t)rank);
	for (unsigned d = 0; d < rank; d++)
		buf_u64(b, d == 0 ? dim : UINT64_C(1) << 62);
	buf_u64(b, 0);
	buf_u64(b, len);
}

static void end(struct buf *b, unsigned tensors)
{
	uint64_t index = APR_HEADER + APR_ALIGN;
	pad(b);
	header(b, tensors, 2, index, b->len, 0);
}

/* ---- The index ---- */

static void empty_tensor(struct buf *b, unsigned i)
{
	char name[16];
	entry(b, name, (size_t)snprintf(name, sizeof name, "%08x", i), 7, 1, 0, 0);
}

static void huge_shape(struct buf *b, unsigned i)
{
	char name[16];
	entry(b, name, (size_t)snprintf(name, sizeof name, "%08x", i), 3, 20, 0, 0);
}

static void not_text(struct buf *b, unsigned i)
{
	char name[16];
	size_t n = (size_t)snprintf(name, sizeof name, "\xff%08x", i);
	entry(b, name, n, 7, 9, 0, 0);
}

static void tensors(struct buf *b) { begin(b), end(b, zoo_fill(b, empty_tensor, TAIL)); }
static void huge_shapes(struct buf *b) { begin(b), end(b, zoo_fill(b, huge_shape, TAIL)); }
static void not_texts(struct buf *b) { begin(b), end(b, zoo_fill(b, not_text, TAIL)); }

static void long_names(struct buf *b)
{
	enum { LONG = 65535 };
	char *name = malloc(LONG);
	unsigned n = 0;
	begin(b);
	for (; n < 15; n++) {
		memset(name, 'a' + (int)n, LONG);
		entry(b, name, LONG, 7, 1, 0, 0);
	}
	free(name);
	end(b, n);
}

static void count_tensors(struct buf *b)
{
	begin(b);
	buf_fill(b, 0, ZOO_SIZE - TAIL);
	end(b, UINT32_MAX);
}

/* ---- Metadata ---- */

static void metadata(struct buf *b, const char *before, zoo_part part, const char *after)
{
	buf_fill(b, 0, APR_HEADER);
	buf_text(b, before);
	zoo_fill(b, part, TAIL);
	buf_text(b, after);
	uint64_t len = b->len - APR_HEADER;
	pad(b);
	header(b, 0, len, b->len, b->len, 0);
}

static void pair(struct buf *b, unsigned i) { buf_printf(b, "%s\"%x\":[]", i != 0 ? "," : "", i); }
static void same_pair(struct buf *b, unsigned i) { buf_printf(b, "%s\"a\":%u", i != 0 ? "," : "", i); }
static void opened(struct buf *b, unsigned i) { (void)i, buf_text(b, "{\"a\":"); }
static void digit(struct buf *b, unsigned i) { (void)i, buf_text(b, "9"); }
static void empty_text(struct buf *b, unsigned i) { buf_text(b, i != 0 ? ",\"\"" : "\"\""); }

static void keys(struct buf *b) { metadata(b, "{", pair, "}"); }
static void one_key(struct buf *b) { metadata(b, "{", same_pair, "}"); }
static void deep(struct buf *b) { metadata(b, "", opened, ""); }
/* A long value, and an envelope that says something of it over and over. */
static void value_again(struct buf *b, const char *member)
{
	buf_fill(b, 0, APR_HEADER);
	buf_text(b, "{\"a\":[0");
	while (b->len < ZOO_SIZE / 2)
		buf_text(b, ",0");
	buf_printf(b, "],\"tenon\":\"{\\\"tenon\\\":1,\\\"%s\\\":{", member);
	zoo_repeat(b, "\\\"a\\\":[],", TAIL);
	buf_text(b, "\\\"a\\\":[]}}\"}");
	uint64_t len = b->len - APR_HEADER;
	pad(b);
	header(b, 0, len, b->len, b->len, 0);
}

static void metadata_again(struct buf *b) { value_again(b, "metadata"); }
static void derived_again(struct buf *b) { value_again(b, "derived"); }
static void digits(struct buf *b) { metadata(b, "{\"a\":0.", digit, "}"); }
static void texts(struct buf *b) { metadata(b, "{\"a\":[", empty_text, "]}"); }

/* ---- Shards ---- */

/* The first of so many, as its name has to say as well. */
static void shard_of(struct buf *b, unsigned n)
{
	buf_fill(b, 0, APR_HEADER);
	buf_printf(b, "{\"sharding\":{\"shard_count\":%u,\"shard_index\":0,\"total_size\":0}}", n);
	size_t len = b->len - APR_HEADER;
	pad(b);
	header(b, 0, len, b->len, b->len, APR_SHARDED);
}

static void shard_of_millions(struct buf *b) { shard_of(b, 20000000); }
static void shard_of_most(struct buf *b) { shard_of(b, 99999); }

/* ---- Compressed as a whole ---- */

static void lz4_image(struct buf *b)
{
	enum { RAW = 250 << 20 };
	uint8_t *zeros = calloc(1, RAW);
	uint8_t *room = buf_room(b, ZOO_SIZE);
	size_t n = zeros != NULL && room != NULL ? lz4_pack(zeros, RAW, room + APR_HEADER + 4, ZOO_SIZE - APR_HEADER - 4) : 0;
	free(zeros);
	memset(room, 0, APR_HEADER);
	b->len = APR_HEADER + 4 + n;
	put_le32(room + APR_HEADER, RAW);
	header(b, 0, 64, 128, 128, APR_LZ4);
}

static void zstd_frames(struct buf *b, unsigned raw)
{
	uint8_t *zeros = calloc(1, raw), frame[4096];
	struct zstd *z = zstd_new();
	size_t n = zstd_pack(z, zeros, raw, frame, sizeof frame);
	buf_fill(b, 0, APR_HEADER);
	while (b->len + n <= ZOO_SIZE)
		buf_put(b, frame, n);
	zstd_free(z);
	free(zeros);
	header(b, 0, 64, 128, 128, APR_ZSTD);
}

static void zstd_image(struct buf *b) { zstd_frames(b, 8 << 20); }
static void zstd_small_frames(struct buf *b) { zstd_frames(b, 1); }

/* A whole file, decompressed, becomes one of a mebibyte: its bytes behind the header are one frame, and a frame that is
 * skipped fills the rest. Frees the file. */
static void as_image(struct buf *b, struct buf *file)
{
	enum { SKIPPED = 8 };
	struct zstd *z = zstd_new();
	uint8_t *room = buf_room(b, ZOO_SIZE);
	size_t n = zstd_pack(z, file->ptr + APR_HEADER, file->len - APR_HEADER, room + APR_HEADER, ZOO_SIZE - APR_HEADER - SKIPPED);
	zstd_free(z);
	memcpy(room, file->ptr, APR_HEADER);
	b->len = APR_HEADER + n;
	b->failed = n == 0; /* it did not shrink enough */
	buf_fini(file);
	buf_u32(b, 0x184D2A50);
	buf_u32(b, (uint32_t)(ZOO_SIZE - b->len - 4));
	buf_fill(b, 0, ZOO_SIZE - b->len);
}

/* Metadata of so many bytes, or a little less, and zeros up to the size of the whole. */
static void image_metadata(struct buf *b, size_t len, size_t size, const char *before, const char *part, const char *after)
{
	struct buf file;
	buf_init(&file, 0);
	buf_fill(&file, 0, APR_HEADER);
	buf_text(&file, before);
	buf_text(&file, part + 1);
	while (file.len + strlen(part) + strlen(after) <= APR_HEADER + len)
		buf_text(&file, part);
	buf_text(&file, after);
	len = file.len - APR_HEADER;
	pad(&file);
	header(&file, 0, len, file.len, file.len, APR_ZSTD);
	if (size > file.len)
		buf_fill(&file, 0, size - file.len);
	as_image(b, &file);
}

/* As many tensors as may be told of beside two bytes of metadata. */
static void image_index(struct buf *b, zoo_part part)
{
	enum { MOST = (IMAGE_HEAD - 2) / APR_ENTRY };
	struct buf file;
	buf_init(&file, 0);
	begin(&file);
	for (unsigned i = 0; i < MOST; i++)
		part(&file, i);
	pad(&file);
	header(&file, MOST, 2, APR_HEADER + APR_ALIGN, file.len, APR_ZSTD);
	as_image(b, &file);
}

#define OWN "{\"tenon\":\"{\\\"tenon\\\":1,\\\"native\\\":{\\\"x\\\":["
static void image_numbers(struct buf *b) { image_metadata(b, IMAGE_HEAD, 0, "{\"a\":[", ",1", "]}"); }
static void image_lists(struct buf *b) { image_metadata(b, IMAGE_HEAD, 0, "{\"a\":[", ",[]", "]}"); }
static void image_envelope(struct buf *b) { image_metadata(b, IMAGE_HEAD, 0, OWN, ",[]", "]}}\"}"); }
static void image_full(struct buf *b) { image_metadata(b, IMAGE_HEAD, IMAGE, "{\"a\":[", ",1", "]}"); }
static void image_metadata_over(struct buf *b) { image_metadata(b, APR_METADATA_MAX, 0, "{\"a\":[", ",1", "]}"); }
static void image_tensors(struct buf *b) { image_index(b, empty_tensor); }
static void image_not_texts(struct buf *b) { image_index(b, not_text); }

/* ---- Tensors in blocks ---- */

static void blocks(struct buf *b, enum block_codec codec)
{
	static const uint8_t zeros[BLOCK_SIZE];
	uint8_t block[1024];
	struct zstd *z = zstd_new();
	size_t n = codec == BLOCKS_LZ4 ? lz4_pack(zeros, BLOCK_SIZE, block, sizeof block)
	                               : zstd_pack(z, zeros, BLOCK_SIZE, block, sizeof block);
	uint64_t many = (ZOO_SIZE - 2 * TAIL) / (n + 4), stored = BLOCKS_HEAD + many * (n + 4);
	zstd_free(z);
	begin(b);
	entry(b, "a", 1, 7 | APR_PACKED, 1, many * BLOCK_SIZE, stored);
	pad(b);
	header(b, 1, 2, APR_HEADER + APR_ALIGN, b->len, codec == BLOCKS_LZ4 ? APR_LZ4 : APR_ZSTD);
	buf_byte(b, (uint8_t)codec);
	buf_byte(b, 1);
	buf_u16(b, 0);
	buf_u32(b, BLOCK_SIZE);
	buf_u64(b, many * BLOCK_SIZE);
	for (uint64_t i = 0; i < many; i++)
		buf_u32(b, (uint32_t)n);
	for (uint64_t i = 0; i < many; i++)
		buf_put(b, block, n);
	pad(b);
}

static void lz4_blocks(struct buf *b) { blocks(b, BLOCKS_LZ4); }
static void zstd_blocks(struct buf *b) { blocks(b, BLOCKS_ZSTD); }

const struct animal zoo_apr[] = {
	{ "apr-tensors", tensors, NULL }, { "apr-huge-shapes", huge_shapes, NULL }, { "apr-not-texts", not_texts, NULL },
	{ "apr-long-names", long_names, NULL }, { "apr-count-tensors", count_tensors, NULL }, { "apr-keys", keys, NULL },
	{ "apr-one-key", one_key, NULL }, { "apr-deep", deep, NULL }, { "apr-digits", digits, NULL }, { "apr-texts", texts, NULL },
	{ "apr-metadata-again", metadata_again, NULL }, { "apr-derived-again", derived_again, NULL },
	{ "apr-shard-of-millions", shard_of_millions, "m-00000001-of-20000000.apr" },
	{ "apr-shard-of-most", shard_of_most, "m-00001-of-99999.apr" },
	{ "apr-lz4-image", lz4_image, NULL }, { "apr-zstd-image", zstd_image, NULL },
	{ "apr-zstd-small-frames", zstd_small_frames, NULL },
	{ "apr-image-numbers", image_numbers, NULL }, { "apr-image-lists", image_lists, NULL },
	{ "apr-image-envelope", image_envelope, NULL }, { "apr-image-full", image_full, NULL },
	{ "apr-image-metadata-over", image_metadata_over, NULL },
	{ "apr-image-tensors", image_tensors, NULL }, { "apr-image-not-texts", image_not_texts, NULL },
	{ "apr-lz4-blocks", lz4_blocks, NULL }, { "apr-zstd-blocks", zstd_blocks, NULL },
	{ NULL, NULL, NULL },
};
