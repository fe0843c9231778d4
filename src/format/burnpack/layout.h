/* layout.h - the numbers of a burnpack file, and what its files of code share.
 *
 *   0   4  magic, "NRUB" (u32 little-endian 0x4255524e)
 *   4   2  version, little-endian: 0 or 1
 *   6   4  M, the length of the metadata, little-endian
 *  10   M  metadata: one CBOR map { tensors, metadata, scalars }
 *          zeros up to a multiple of 256: the base, from which offsets count
 *          tensors, each at a multiple of 256 from the base, zeros between, none after the last */
#ifndef BURNPACK_LAYOUT_H
#define BURNPACK_LAYOUT_H

#include "base/bytes.h"
#include "base/num.h"
#include "format/format.h"

#define PACK_MAGIC "NRUB"

enum {
	PACK_HEADER  = 10,
	PACK_VERSION = 1,       /* written; read are 0 and 1 */
	PACK_ALIGN   = 256,
	PACK_NESTING = 128,     /* maps, arrays, tags and variants within each other */
	PACK_KEY_MAX = 4096,    /* bytes of a struct's key or a variant's name */
	PACK_MAX_TENSORS  = 100000,
	PACK_MAX_METADATA = 100 << 20
};
/* In the extras of a tensor whose dtype is not known: the map "burnpack", and in it the CBOR of that dtype. */
#define PACK "burnpack"
#define EXTRA_DTYPE "dtype"
#define PACK_MAX_TENSOR_BYTES (UINT64_C(10) << 30)
#define PACK_MAX_FILE_BYTES   (UINT64_C(100) << 30)

/* The name of an element type, except of booleans and quantised ones; NULL when burnpack has none. */
const char *pack_dtype_name(tn_dtype d);
/* The type of that name; TN_OPAQUE when there is none. */
tn_dtype    pack_dtype_named(tn_view name);
/* The spelling that differs from name by case only; NULL when there is none. */
const char *pack_dtype_meant(tn_view name);
/* The index of name in a list of n; -1 when it is not there. */
int         pack_index(const char *const *list, int n, tn_view name);

tn_code pack_parse(struct parse_job *job);
tn_code pack_verify(struct verify_job *job);
tn_code pack_plan(struct plan_job *job);

#endif
