/* layout.h - the numbers of an APR v2 file, and what its files of code share. All integers are
 * little-endian.
 *
 *	 0   4  magic "APR\0"
 *	 4   2  version, major and minor: 2, 0
 *	 6   2  flags
 *	 8   4  number of tensors
 *	12   8  offset of the metadata: 64
 *	20   4  length of the metadata, padding not counted
 *	24   8  offset of the tensor index
 *	32   8  offset of the data
 *	40   4  CRC-32 of the other 60 bytes
 *	44  20  reserved
 *	64      metadata: one JSON object; zeros up to a multiple of 64
 *	        tensor index, sorted by name; zeros up to a multiple of 64
 *	        tensors, each followed by zeros up to a multiple of 64
 *	        CRC-32 of all bytes before it
 *
 *	entry   u16 n, name of n bytes, u8 dtype, u8 rank, u64 dimension x rank,
 *	        u64 offset in the data, u64 length */
#ifndef APR_LAYOUT_H
#define APR_LAYOUT_H

#include "base/bytes.h"
#include "base/num.h"
#include "format/format.h"

#define APR_MAGIC "APR\0"
#define APR_ENVELOPE_KEY "tenon" /* a custom key; its value is a string */
/* A custom key that tells of compressed tensors: { version: 1, codec: "lz4" or "zstd",
 * block_size: 65536 }. */
#define APR_COMPRESSION_KEY "tenon.compression"

enum {
	APR_HEADER      = 64,
	APR_MAJOR       = 2,
	APR_MINOR       = 0,
	APR_RESERVED_AT = 44,
	APR_RESERVED    = 20,
	APR_ALIGN       = 64,
	APR_FOOTER      = 4,
	APR_ENTRY       = 20,      /* bytes of the shortest entry */
	APR_NAME_MAX    = 256,
	APR_RANK_MAX    = 8,
	APR_PACKED      = 0x40,    /* added to the dtype code of a tensor in blocks: ours alone */
	APR_NESTING     = 127,     /* containers inside each other, the root included */
	APR_METADATA_MAX = 16 << 20
};

enum apr_flag {
	APR_LZ4          = 0x0001,
	APR_ZSTD         = 0x0002,
	APR_ENCRYPTED    = 0x0004,
	APR_SIGNED       = 0x0008,
	APR_SHARDED      = 0x0010,
	APR_QUANTIZED    = 0x0020,
	APR_HAS_VOCAB    = 0x0200,
	APR_ROW_MAJOR    = 0x0400,
	APR_COLUMN_MAJOR = 0x0800,
	APR_UNDEFINED    = 0xf000
};

/* Keys of the native subtree: what a file has beside tensors and metadata, where a new file
 * would have it otherwise. */
#define APR_NATIVE_FLAGS    "flags"    /* uint16 */
#define APR_NATIVE_VERSION  "version"  /* uint16, major in the high byte */
#define APR_NATIVE_RESERVED "reserved" /* 20 bytes */
#define APR_NATIVE_NULLS    "nulls"    /* array: typed fields that are spelled out as null */
#define APR_NATIVE_UNSORTED "unsorted" /* bool: the custom keys have an order of their own */

struct apr_header {
	uint8_t  major, minor;
	uint16_t flags;
	uint32_t count;
	uint64_t metadata_at;
	uint32_t metadata_len;
	uint64_t index_at, data_at;
	uint32_t crc;
	uint8_t  reserved[APR_RESERVED];
};

/* CRC-32 of a header, its own field left out. */
uint32_t apr_header_crc(const uint8_t header[APR_HEADER]);
/* The header as 64 bytes, its CRC made anew. */
void     apr_header_put(const struct apr_header *h, uint8_t out[APR_HEADER]);

/* ---- Element types ---- */

struct apr_dtype {
	uint8_t     code;
	tn_dtype    dtype;
	tn_view     text;
};
const struct apr_dtype *apr_dtype_coded(uint8_t code); /* NULL: no such code */
const struct apr_dtype *apr_dtype_of(tn_dtype d);      /* NULL: APR has no code for it */
/* What realizar means by a code that APR lacks, or has for something else; NULL: nothing. */
const struct apr_dtype *apr_dtype_ggml(uint8_t code);
/* Is this the length of a tensor? Elements in a line, or, for the two k-types, each row in
 * blocks of its own. */
bool apr_dtype_fits(tn_dtype d, uint32_t rank, const uint64_t *shape, uint64_t size);

/* The child of that key in the native subtree; NULL when there is none. */
const struct tn_meta *apr_native(const struct model *m, const char *key);

/* ---- Files of other kinds with a like name ---- */

/* Bits of evidence that the bytes are one; 0: none. */
int  apr_relative_probe(tn_view head);
/* Names it in job->err: true when it is one. */
bool apr_relative(struct parse_job *job);
/* The same for one that shares the magic and differs in what follows. */
bool apr_relative_older(struct parse_job *job);

extern const struct shard_rules apr_shards; /* shards.c */

tn_code apr_parse(struct parse_job *job);
tn_code apr_verify(struct verify_job *job);
tn_code apr_plan(struct plan_job *job);

#endif
