/* model.h - what every format is read into and written from. It knows no format. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/strmap.h"
#include "model/dtype.h"
#include "model/meta.h"
#include "model/report.h"

enum encoding {
	ENC_RAW,
	ENC_BIG_ENDIAN, /* every number turned, see model/swap.h */
	ENC_BLOCKS,     /* see io/blocks.h */
	ENC_ZSTD,       /* see io/zstd_frames.h */
	ENC_NONE        /* the file names the tensor and has no bytes that could be read; verify says why */
};

/* Whether a tensor's bytes are its own. */
enum slice {
	SLICE_NONE,
	SLICE_PART, /* one part of a run that several make together: aligned as it comes */
	SLICE_ALIAS /* other tensors have these bytes as well */
};

/* A file may have a hundred thousand of these, and making room for them is much of what opening costs: large members first. */
struct tensor {
	tn_view         name;
	tn_view         dtype_text; /* the file's own word, for people and for opaque types */
	const uint64_t *shape;
	uint64_t        nbytes;     /* logical bytes */
	uint64_t        offset;     /* of the stored bytes, from the start of their file */
	uint64_t        stored;
	const tn_digest *digest;    /* BLAKE3 of the logical bytes as the file states it; NULL where it does not */
	struct tn_meta *extras;     /* a map, or NULL; tensors of one file may share it, so it is replaced, not changed */
	uint32_t        rank;
	uint32_t        part;       /* which file of a set; 0 in a single file */
	tn_dtype        dtype;
	uint8_t         enc;        /* enum encoding */
	uint8_t         slice;      /* enum slice */
	bool            finite_scales; /* q4_k, q6_k: a scale that is no finite number counts as 0, as APR has it */
	bool            missing;    /* of a file that is allowed to be partial: it reaches past the end */
	bool            added;      /* by a caller who puts a model together: no file has it yet */
};

/* A part of the file that is no tensor: for tn_map and for gaps. */
struct region {
	uint64_t       offset, len;
	tn_region_kind kind;
	const char    *label;
};
enum { MODEL_REGIONS = 8 };

struct model {
	struct tensor  *tensors;   /* in the order of their data */
	uint64_t        n;
	const uint32_t *by_name;   /* [n] where the tensors stand in the order of their names, which are known
	                              to differ; NULL: not known */
	struct tn_meta *metadata;  /* a map: what people put there */
	struct tn_meta *native;    /* a map: format name -> subtree */
	const char     *version;   /* the format's own, as text */
	const char     *dialect;   /* "" for the plain format */
	uint64_t        data_at;   /* where the data section starts */
	uint64_t        data_align;/* what the format's writer aligns tensors to; 1 when it does not */
	struct region   regions[MODEL_REGIONS];
	unsigned        n_regions;
};

/* An empty model with its two maps; false when memory is out. */
bool model_init(struct model *m, struct arena *a);
void model_region(struct model *m, tn_region_kind kind, uint64_t offset, uint64_t len, const char *label);
/* The tensor's extras, made when it has none; NULL when memory is out. */
struct tn_meta *tensor_extras(struct arena *a, struct tensor *t);
/* The subtree of a format in model.native, made when missing. */
struct tn_meta *model_native(struct arena *a, struct model *m, const char *format);
/* Sorts tensors by (offset, end): empty ones before the tensor that starts where they stand; stable.
 * False when there is no memory for the order. */
bool model_sort_by_data(struct tensor *t, uint64_t n);
/* Likewise, and model->by_name is set: the tensors stood in the order of their names. */
bool model_sort_named_by_data(struct arena *a, struct model *m);
/* By name, bytewise. */
bool model_sort_by_name(struct tensor *t, uint64_t n);

#endif
