/* scheme.h - what a quantised tensor says about itself: how its values are stored, and where its scales are.
 *
 *	payload = values | scales (of blocks, or the one of the tensor) | the tensor's scale when blocks have theirs too
 *
 * without padding between. In a model the scheme is the extras' map "qfloat":
 *
 *	value "Q8S"  store "Native", "PackedNative" or "PackedU32"  packed_dim (of packed stores)  mode "Symmetric"
 *	tensor: null or a scale type  block: null or { size: [extents], dtype: a scale type }
 *	layout: only of old files that the current format cannot describe, "runs" or "uncertain"
 *	unknown, and the block's unknown and size_unknown: members that were not known, name -> CBOR */
#ifndef BURNPACK_SCHEME_H
#define BURNPACK_SCHEME_H

#include "base/buf.h"
#include "model/model.h"

enum { SCHEME_DIMS = 5 };
enum scheme_store { STORE_NATIVE, STORE_PACKED_NATIVE, STORE_PACKED_U32, STORES };
enum scheme_mode { MODE_SYMMETRIC, MODE_LOOKUP, MODES };
enum scheme_scale { SCALE_NONE, SCALE_F32, SCALE_F16, SCALE_BF16, SCALE_UE8M0, SCALE_UE4M3, SCALES };
enum scheme_value {
	VALUE_Q8F, VALUE_E5M2, VALUE_E4M3, VALUE_Q4F, VALUE_E2M1, VALUE_Q2F, VALUE_Q8S, VALUE_Q4S, VALUE_Q2S, VALUES
};
enum scheme_layout {
	LAYOUT_RECTANGLES, /* as the format has it today */
	LAYOUT_RUNS,       /* a block is a run of consecutive elements: CPU writers before 0.22 */
	LAYOUT_UNCERTAIN   /* an old file whose scales may be read in more than one way, or in none */
};

extern const char *const scheme_values[VALUES];
extern const char *const scheme_stores[STORES];
extern const char *const scheme_modes[MODES];
extern const char *const scheme_scales[SCALES]; /* the first is "" */

/* Where members were that are not known. */
enum scheme_part { PART_SCHEME, PART_BLOCK, PART_SIZE, SCHEME_PARTS };

struct scheme {
	enum scheme_value  value;
	enum scheme_store  store;
	enum scheme_mode   mode;
	enum scheme_scale  tensor;
	enum scheme_scale  block;      /* SCALE_NONE: no blocks */
	uint64_t           packed_dim; /* from the innermost */
	uint8_t            rank;       /* of a block: leading extents that are given */
	uint8_t            size[SCHEME_DIMS];
	enum scheme_layout layout;
	const struct tn_meta *unknown[SCHEME_PARTS]; /* maps, or NULL */
};

/* Drops the leading extents of 1, as the writer does. */
void scheme_strip(struct scheme *s);
/* Does the packed dimension exist in a tensor of this rank? */
bool scheme_packs(const struct scheme *s, uint32_t rank);
/* Bytes of one scale: of the blocks where there are any, else of the tensor. */
unsigned scheme_scale_bytes(const struct scheme *s);
/* The three counts that lengths are made of; false when one overflows 64 bits. */
bool scheme_value_bytes(const struct scheme *s, uint32_t rank, const uint64_t *shape, uint64_t *out);
bool scheme_scale_count(const struct scheme *s, uint32_t rank, const uint64_t *shape, uint64_t *out);
unsigned scheme_global_bytes(const struct scheme *s);
/* The whole payload, after its layout (rectangles where it is uncertain); false when it overflows. */
bool scheme_bytes(const struct scheme *s, uint32_t rank, const uint64_t *shape, uint64_t *out);
/* Is a payload of this length what the scheme asks for? An uncertain layout fits in either way; a tensor
 * without elements may also have no scale. */
bool scheme_fits(const struct scheme *s, uint32_t rank, const uint64_t *shape, uint64_t len);
/* Do runs of consecutive elements and rectangles mean the same blocks of this shape? */
bool scheme_runs_agree(const struct scheme *s, uint32_t rank, const uint64_t *shape);

/* "QFloat(Q8S, PackedU32(0), block [32] F16)"; ptr is NULL when memory is out. */
tn_view scheme_text(const struct scheme *s, struct arena *a);
/* Adds "qfloat" to a tensor's extras; false when memory is out. */
bool scheme_to_meta(const struct scheme *s, struct arena *a, struct tn_meta *extras);
/* Reads that map back. NULL, or what is wrong with it. */
const char *scheme_from_meta(const struct tn_meta *qfloat, struct scheme *out);
/* How many members are not known. */
uint64_t scheme_unknown(const struct scheme *s);
/* The CBOR map of five that the current format has, and what is not known in it. */
void scheme_put(const struct scheme *s, struct buf *out);

#endif
