/* layout.h - a ThinTensor archive on disk, and what the files of this folder share.
 *
 *	0   8  magic "THINv0\0\0"
 *	8   4  length of this header, 88
 *	12  4  version, 0
 *	16  8  where the manifest starts, 88
 *	24  8  its length
 *	32  8  where the page table starts: the byte after the manifest
 *	40  8  records in the page table
 *	48  8  where the data starts: the byte after the page table
 *	56  32 reserved, zero
 *
 * All numbers are little-endian. The manifest is one JSON object, see manifest.h. A record of the page table:
 *
 *	0     2  n, 1 to 4096
 *	2     n  the page's id
 *	2+n   8  where its bytes start, from the start of the file
 *	10+n  8  how many there are
 *	18+n  8  how many there are when they are decoded
 *	26+n  4  flags: 1 zstd
 *	30+n  32 BLAKE3 of the decoded bytes
 *
 * A page is a tensor. A logical page has no record: it is a slice of another page, which is fused_physical.
 */
#ifndef FORMAT_THIN_LAYOUT_H
#define FORMAT_THIN_LAYOUT_H

#include "base/bytes.h"
#include "base/num.h"
#include "format/format.h"

#define THIN "thin" /* the format's name, and that of its subtree in native */
#define THIN_MAGIC "THINv0\0\0"
#define THIN_ENVELOPE_KEY "tenon" /* of the manifest's root object: upstream passes over keys that it does not know */

enum {
	THIN_HEADER    = 88,
	THIN_RECORD    = 62, /* bytes of a record without its id */
	THIN_ID_MAX    = 4096,
	THIN_FLAG_ZSTD = 1,
	THIN_RATIO_MAX = 1 << 15, /* raw bytes that zstd can make of one: a block of 128 KiB takes at least 4 */
	THIN_HEX       = 2 * TN_DIGEST_LEN
};

struct thin_header {
	uint64_t manifest_off, manifest_len, table_off, page_count, data_off;
	bool     hash_is_zero;
};

struct thin_record {
	tn_view          id;
	uint64_t         offset, stored, raw;
	uint32_t         flags;
	const tn_digest *digest;
};

/* The page table of a file: where each record stands, and its index by id. */
struct thin_table {
	tn_view        bytes;  /* of the whole table */
	uint64_t       off, n;
	const uint8_t **at;    /* [n + 1]: where each starts, and the last one ends */
	struct strmap  ids;    /* the first record of each id */
	uint64_t       twice;  /* records whose id stood before */
};

struct thin_record thin_record_at(const struct thin_table *t, uint64_t i);
/* A record's bytes as a tensor without a type: what reads, hashes and copies tensors takes it. */
struct tensor thin_record_tensor(const struct thin_record *r);
/* The record of that id; false when there is none. */
bool thin_record_find(const struct thin_table *t, tn_view id, uint64_t *out);
/* The same, with a look at the record behind the last one that was found, where it is most of the time. */
bool thin_record_next(const struct thin_table *t, tn_view id, uint64_t *last, uint64_t *out);

/* Reading the front of a file, in this order; job_has asks for more where the bytes are not at hand. */
bool thin_read_header(struct parse_job *job, struct thin_header *h);
bool thin_read_table(struct parse_job *job, const struct thin_header *h, struct thin_table *table);

/* Writing: fixed layouts into the caller's memory. */
void thin_put_header(uint8_t to[THIN_HEADER], const struct thin_header *h);
/* Returns the record's length. */
size_t thin_put_record(uint8_t *to, const struct thin_record *r);
/* A checksum in the manifest's spelling; false when it is none. */
bool thin_hex_digest(tn_view hex, tn_digest *out);

/* ---- The tensor's dtype ---- */

/* The type that a word names; TN_OPAQUE when it is not known. */
tn_dtype thin_dtype_word(tn_view text);
/* What a page's own word for its type means, if shape and size agree with it; else TN_OPAQUE. */
tn_dtype thin_dtype(tn_view text, uint32_t rank, const uint64_t *shape, uint64_t size);

/* ---- Native and extras ----
 *
 * What a page is beyond a tensor is in its extras, unless it is what the writer would make of any tensor:
 * kind "weight", op "unknown", layout "row_major_contiguous" and nothing else. */
#define EXTRA_KIND    "kind"
#define EXTRA_LAYER   "layer"
#define EXTRA_OP      "op"
#define EXTRA_DTYPE   "dtype" /* where it is not spelled as Tenon does */
#define EXTRA_LAYOUT  "backend_layout"
#define EXTRA_EXPERIMENTAL "experimental"
#define EXTRA_FUSED_TO     "fused_to"
#define EXTRA_FUSED_OFFSET "fused_offset"
#define EXTRA_SCHEME  "quant_scheme"
#define EXTRA_BITS    "bits_per_weight"
#define EXTRA_GROUP   "quant_group_size"
#define EXTRA_SCALES  "scale_page"

#define NATIVE_TAPE   "execution_tape" /* array of maps: stage, operator, operator_params, page_refs */
#define NATIVE_PLAN   "memory_plan"    /* map */
#define NATIVE_PAGES  "pages"          /* array of ids in the manifest's order; or the string "by id" */
#define NATIVE_BY_ID  "by id"
#define NATIVE_TABLE  "page_table"     /* array of ids in the order of the records, where it is not that of the data */
#define NATIVE_FUSED  "fused"          /* array of maps: pages that are the sum of their slices */
#define FUSED_SIZE    "size"           /* uint, in these: the sum */
#define NATIVE_ALIGN  "align"          /* uint: of each page's bytes, over 1 */

#define CHECKPOINT_KEY "checkpoint." /* leads metadata of a checkpoint whose key is the name of a field of the manifest's model */

/* What a manifest says where the model knows nothing. */
#define PLAIN_ARCH   "unknown"
#define PLAIN_KIND   "weight"
#define PLAIN_OP     "unknown"
#define PLAIN_LAYOUT "row_major_contiguous"
#define PLAIN_STAGE  "model"
#define PLAIN_POLICY "paged"
#define PLAIN_CODEC  "q4"
enum { PLAIN_RECENT = 256 };

tn_code thin_parse(struct parse_job *job);
tn_code thin_verify(struct verify_job *job);
tn_code thin_plan(struct plan_job *job);
tn_code thin_checkpoint(struct checkpoint_job *job);
tn_code thin_seal(struct plan_job *job, struct sink *out);
tn_code thin_estimate(struct estimate_job *job);

#endif
