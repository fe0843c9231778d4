/* layout.h - GGUF on disk, and what the files of this folder share.
 *
 *	 0   4  magic "GGUF", the same in either byte order
 *	 4   4  version: 1, 2 or 3; its low half is 0 when read in the wrong byte order
 *	 8   8  T, the number of tensors
 *	16   8  P, the number of pairs
 *	24   -  pairs: key (string), value type (4), value
 *	        infos: name (string), D (4), D dims (8 each, innermost first), type (4), offset (8)
 *	        zeros up to a multiple of A: the data, from which offsets count
 *	        tensors, each followed by zeros up to a multiple of A
 *
 *	string  length (8), bytes
 *	array   value type (4), count (8), items
 *
 * A is the value of the pair general.alignment, or 32. In version 1 the counts, lengths and dims
 * take 4 bytes. Without tensors the data start where the pairs end. In a big-endian file every
 * number is big-endian, those in the data too.
 */
#ifndef FORMAT_GGUF_LAYOUT_H
#define FORMAT_GGUF_LAYOUT_H

#include "format/format.h"

#define GGUF "gguf" /* the format's name, and that of its subtree in native and in extras */
#define GGUF_MAGIC "GGUF"
#define GGUF_MAGIC_TURNED "FUGG" /* what a fork writes in big-endian files */
#define ALIGNMENT_KEY "general.alignment"
/* the last pair, an array of u8: room for later edits, of no meaning */
#define SLACK_KEY "tenon.slack"

enum {
	GGUF_VERSION    = 3,       /* written; read are 1 to 3 */
	GGUF_ALIGN      = 32,
	GGUF_ALIGN_MAX  = 1 << 20, /* more has no use */
	GGUF_NESTING    = 8,       /* arrays within each other */
	GGUF_DIMS       = 4,       /* what ggml reads, as are the next four */
	GGUF_NAME_MAX   = 63,
	GGUF_STRING_MAX = 1 << 30,
	GGUF_ARRAY_MAX  = 1 << 30,
	GGUF_KEY_MAX    = 65535
};

/* Keys of the native subtree. */
#define NATIVE_BIG_ENDIAN "big_endian" /* bool: the file is in that order */
#define NATIVE_UNPADDED   "unpadded"   /* bool: no tensors, and the file ends with the last pair */
#define NATIVE_SLACK      "slack"      /* uint: bytes in that pair */
/* In a tensor's extras, the map "gguf" holds the number of a tensor type that is not known. */
#define EXTRA_TYPE "type"

/* ---- Value types ---- */

enum gguf_value {
	VALUE_U8, VALUE_I8, VALUE_U16, VALUE_I16, VALUE_U32, VALUE_I32, VALUE_F32, VALUE_BOOL,
	VALUE_STRING, VALUE_ARRAY, VALUE_U64, VALUE_I64, VALUE_F64, GGUF_VALUES
};
struct gguf_value_type {
	const char  *name;
	tn_meta_type kind;
	uint8_t      width; /* bits in the file; 0 for strings and arrays */
};
extern const struct gguf_value_type gguf_values[GGUF_VALUES];

/* The value type of that kind and width; GGUF_VALUES when there is none. */
enum gguf_value gguf_value_of(tn_meta_type kind, unsigned width);

/* ---- Tensor types ---- */

struct gguf_type {
	const char *name;
	tn_dtype    dtype; /* TN_OPAQUE: of a type that was removed */
};
enum { GGUF_TYPES = 43 };
extern const struct gguf_type gguf_types[GGUF_TYPES];

/* The number of the type; GGUF_TYPES when there is none. */
uint32_t gguf_type_of(tn_dtype d);
bool     gguf_type_is_live(uint32_t id);
/* The file's word for a type that is not live: "Q4_2", "type 144". NULL when memory is out. */
const char *gguf_type_name(struct arena *a, uint32_t id);

/* ---- Odds and ends ---- */

bool gguf_align_ok(uint64_t align);
/* The child of that key in the map "gguf" of extras or native; NULL when there is none. */
const struct tn_meta *gguf_own(const struct tn_meta *map, const char *key);
bool gguf_flag(const struct model *m, const char *key);

extern const struct shard_rules gguf_shards; /* shards.c */

tn_code gguf_parse(struct parse_job *job);
tn_code gguf_verify(struct verify_job *job);
tn_code gguf_plan(struct plan_job *job);

#endif
