/* layout.h - safetensors on disk, and what the files of this folder share.
 *
 *	0    8  N, unsigned, little-endian
 *	8    N  header: one JSON object in UTF-8, padded with spaces so that the data starts at a multiple of 8
 *	8+N  -  tensors back to back, to the last byte of the file
 *
 *	header       {"__metadata__":{key:value,...}, name:entry, ...}   keys and values of the former are strings
 *	entry        {"dtype":"F32","shape":[2,3],"data_offsets":[begin,end]}
 *
 * Offsets count from the start of the data; each tensor starts where the one before it ends.
 */
#ifndef FORMAT_SAFETENSORS_LAYOUT_H
#define FORMAT_SAFETENSORS_LAYOUT_H

#include "format/format.h"

#define SAFETENSORS "safetensors" /* the format's name, and that of its subtree in native and in extras */
#define METADATA_KEY "__metadata__"

enum {
	HEADER_AT   = 8,
	HEADER_MAX  = 100000000, /* what the reference reads; counts neither the 8 bytes before nor the data */
	HUB_MAX     = 25000000,  /* what the model hub's viewer reads */
	HEADER_DEPTH = 128,      /* containers inside each other, the header's own object included */
	ENTRY_DEPTH = 2,         /* of these, those around the value of an entry's member */
	DATA_ALIGN  = 8,         /* what the padding gives the data's start at least */
	ENTRY_MIN   = 48         /* bytes of the shortest entry: "":{"dtype":"X","shape":[],"data_offsets":[0,0]} */
};

/* Keys of the native subtree. */
#define NATIVE_ALIGN     "align"          /* uint: the padding gives the data this alignment, over 8 */
#define NATIVE_KEEP_ORDER "keep_metadata_order" /* bool: the keys are not sorted and are to stay so */
#define NATIVE_EMPTY_MAP "empty_metadata" /* bool: __metadata__ is there and holds nothing */
/* In a tensor's extras, the map "safetensors" holds the members of its entry that the format does not know, as
 * JSON text, and under this key the dtype when it is not known. */
#define EXTRA_DTYPE "dtype"

struct safetensors_dtype {
	const char *name;
	tn_dtype    dtype;
};
enum { SAFETENSORS_DTYPES = 22 };
/* In the writer's order: widest first. */
extern const struct safetensors_dtype safetensors_dtypes[SAFETENSORS_DTYPES];

/* Index in the table, or SAFETENSORS_DTYPES when there is none. */
unsigned safetensors_dtype_named(tn_view name);
unsigned safetensors_dtype_like(tn_view name); /* whatever its case */
unsigned safetensors_dtype_of(tn_dtype d);
/* Whether the padding of a header may give the data this alignment. */
bool     safetensors_align_ok(uint64_t align);
/* The spaces after a header text of that length. */
uint64_t safetensors_padding(uint64_t text_len, uint64_t align);
/* The child of that key in the map "safetensors" of extras or native; NULL when there is none. */
const struct tn_meta *safetensors_own(const struct tn_meta *map, const char *key);
bool     safetensors_flag(const struct model *m, const char *key);

extern const struct shard_rules safetensors_shards;

tn_code safetensors_parse(struct parse_job *job);
tn_code safetensors_plan(struct plan_job *job);
tn_code safetensors_verify(struct verify_job *job);

#endif
