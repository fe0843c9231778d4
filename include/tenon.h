/* tenon.h - read, check and write the files that hold model weights.
 *
 * One header, read top to bottom: errors, tensors, metadata, reading, checking, writing.
 * The same calls work for every format that tn_format_at() lists.
 *
 *	tn_error err;
 *	tn_file *f;
 *	if (tn_open(&f, "model.safetensors", NULL, &err) != TN_OK)
 *		return fprintf(stderr, "%s\n", err.msg), 3;
 *	for (size_t i = 0; i < tn_tensor_count(f); i++) {
 *		tn_tensor t = tn_tensor_at(f, i);
 *		tn_view bytes;
 *		if (tn_bytes(f, i, &bytes, &err) == TN_OK)
 *			use(t.name, t.dtype, t.rank, t.shape, bytes);
 *	}
 *	tn_close(f);
 *
 * Conventions, true of every function here:
 *
 *  - _open/_close own memory and a system resource, _new/_free own memory, _init/_fini work on
 *    the caller's storage; _at, _find and _bytes borrow. Everything reached from a tn_file lives
 *    until tn_close, everything reached from a tn_report until tn_report_free.
 *  - The object or the place of the result comes first, the tn_error last; it may be NULL.
 *    On failure the result is NULL, zero or untouched, as the function says.
 *  - Option structs may be NULL or all zero: both mean the defaults.
 *  - Shapes are row-major, outermost dimension first, in every format. Sizes and offsets are
 *    in bytes unless the name says otherwise.
 *  - There is no state outside of these objects but the list that tn_abandon_all goes by. A tn_file
 *    is immutable once open: any number of threads may use it. A tn_writer, a tn_buffer and an iterator belong to one thread at a time.
 */
#ifndef TENON_H
#define TENON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TN_VERSION_MAJOR 0
#define TN_VERSION_MINOR 1
#define TN_VERSION_PATCH 0

#if defined(_WIN32)
#  define TN_API
#elif defined(__GNUC__)
#  define TN_API __attribute__((visibility("default")))
#else
#  define TN_API
#endif
#if defined(__GNUC__)
#  define TN_CHECK __attribute__((warn_unused_result))
#else
#  define TN_CHECK
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The library's version as text, "0.1.0". Static storage. */
TN_API const char *tn_version(void);

/* ---- Errors ------------------------------------------------------------------------------ */

/* A tn_code says who must act. */
typedef enum tn_code {
	TN_OK = 0,
	TN_E_NOMEM,       /* the machine: an allocation failed */
	TN_E_IO,          /* the machine: the system refused, tn_error.sys says why */
	TN_E_FORMAT,      /* the file is of no format known here */
	TN_E_UNSUPPORTED, /* the file is sound, but asks for what is not implemented or not decidable */
	TN_E_TRUNCATED,   /* the file ends before its own description of itself */
	TN_E_CORRUPT,     /* the file contradicts its format */
	TN_E_CHECKSUM,    /* the structure is sound, a digest is not */
	TN_E_LIMIT,       /* a limit was reached that the caller may raise, see tn_limits */
	TN_E_LOSSY,       /* something of this model would not be in what is written */
	TN_E_NOTFOUND,    /* no tensor, key or format of that name */
	TN_E_USAGE        /* the caller: arguments that cannot be meant */
} tn_code;

/* The stable lower-case name of a code: "ok", "truncated", ... Static storage. */
TN_API const char *tn_code_name(tn_code code);

#define TN_NO_OFFSET UINT64_MAX

/* Why a call failed. Caller-owned; a call that succeeds sets code to TN_OK. */
typedef struct tn_error {
	tn_code  code;
	int      sys;      /* errno where code is TN_E_IO, else 0 */
	uint64_t offset;   /* byte offset in the input file, or TN_NO_OFFSET */
	char     msg[240]; /* one line, lower case; bytes from files are escaped in it */
	const char *kind;  /* of a file that is no model, or a relative of one: the stable name of what it is instead,
	                      "git-lfs-pointer" (docs/wrong-files.md has all); else NULL. Static storage. */
} tn_error;

/* A borrowed run of bytes; never terminated. ptr may be NULL where len is 0. */
typedef struct tn_view {
	const uint8_t *ptr;
	size_t         len;
} tn_view;

/* A view of a C string, without its terminator. text may be NULL: the empty view. */
TN_API tn_view tn_text(const char *text);

/* ---- Findings ---------------------------------------------------------------------------- */

typedef enum tn_severity {
	TN_NOTE,    /* worth knowing: a dialect, a derived value */
	TN_WARNING, /* readers may differ about it, or something will be dropped */
	TN_ERROR    /* wrong: tn_verify's answer is no, a conversion would lose something */
} tn_severity;

/* "note", "warning" or "error". Static storage. */
TN_API const char *tn_severity_name(tn_severity severity);

typedef struct tn_finding {
	tn_severity severity;
	tn_code     code;
	uint64_t    offset; /* in the file, or TN_NO_OFFSET */
	tn_view     tensor; /* the tensor's name; ptr is NULL when no single tensor is meant */
	const char *text;   /* same grammar as tn_error.msg */
} tn_finding;

/* An immutable list of findings in the order in which they were made. */
typedef struct tn_report tn_report;
TN_API size_t     tn_report_count(const tn_report *report);
TN_API tn_finding tn_report_at(const tn_report *report, size_t i); /* i < count */
/* How many findings have this severity. */
TN_API size_t     tn_report_of(const tn_report *report, tn_severity severity);
/* Frees a report that a function handed over; NULL is allowed. Not for tn_warnings(). */
TN_API void       tn_report_free(tn_report *report);

/* ---- Tensors ----------------------------------------------------------------------------- */

/* Every element type of the formats known here. Multi-byte elements are little-endian in files, in tn_bytes and in what
 * a writer is given; tn_read hands them out in the order of the host. Types that store blocks of elements follow the layouts of ggml and APR. */
typedef enum tn_dtype {
	TN_OPAQUE = 0, /* a type unknown here; tn_tensor.dtype_text has the file's own word for it */
	TN_BOOL, TN_BOOL_U8, TN_BOOL_U32, /* 0 or 1 in 1, 1, 4 bytes; the latter two are burnpack's */
	TN_U8, TN_U16, TN_U32, TN_U64,
	TN_I8, TN_I16, TN_I32, TN_I64,
	TN_F16, TN_BF16, TN_F32, TN_FLEX32, TN_F64, /* flex32: stored as f32, computed at will (burnpack) */
	TN_C64,                                     /* complex: two f32 */
	TN_F8_E4M3, TN_F8_E5M2, TN_F8_E8M0, TN_F8_E4M3FNUZ, TN_F8_E5M2FNUZ,
	TN_F6_E2M3, TN_F6_E3M2, TN_F4, /* 6 and 4 bits an element, packed */
	TN_QFLOAT,                     /* burnpack's quantised tensors: the scheme is in tn_tensor.extras */
	TN_APR_Q4, TN_APR_Q8,
	TN_Q4_0, TN_Q4_1, TN_Q5_0, TN_Q5_1, TN_Q8_0, TN_Q8_1,
	TN_Q2_K, TN_Q3_K, TN_Q4_K, TN_Q5_K, TN_Q6_K, TN_Q8_K,
	TN_IQ2_XXS, TN_IQ2_XS, TN_IQ3_XXS, TN_IQ1_S, TN_IQ4_NL, TN_IQ3_S, TN_IQ2_S, TN_IQ4_XS, TN_IQ1_M,
	TN_TQ1_0, TN_TQ2_0, TN_MXFP4, TN_NVFP4, TN_Q1_0, TN_Q2_0,
	TN_DTYPES /* how many; grows in later versions */
} tn_dtype;

/* "f32", "bool", "q4_k", ...; "opaque" for TN_OPAQUE. Static storage. */
TN_API const char *tn_dtype_name(tn_dtype dtype);
/* The dtype of that name; false when there is none. */
TN_API bool        tn_dtype_named(const char *name, tn_dtype *out);
/* Bytes that a contiguous tensor of this dtype and shape occupies. rank 0 is one element, a
 * dimension of 0 is none. Fails with LIMIT when the product exceeds 64 bits, CORRUPT when the
 * shape does not fill whole bytes or blocks, UNSUPPORTED where the size does not follow from the
 * shape (opaque, qfloat). *out is untouched on failure. */
TN_API TN_CHECK tn_code tn_dtype_bytes(tn_dtype dtype, uint32_t rank, const uint64_t *shape,
                                       uint64_t *out, tn_error *err);

typedef struct tn_meta tn_meta; /* see Metadata */

#define TN_DIGEST_LEN 32
typedef struct tn_digest { uint8_t bytes[TN_DIGEST_LEN]; } tn_digest;

/* One tensor as the caller sees it. Every pointer is borrowed from the tn_file. */
typedef struct tn_tensor {
	tn_view         name;       /* any bytes that the format allows; UTF-8 in all but GGUF */
	tn_dtype        dtype;
	tn_view         dtype_text; /* the dtype in the file's own words: "F32", "{Bool: U8}" */
	uint32_t        rank;       /* 0: a scalar, one element */
	const uint64_t *shape;      /* rank numbers, outermost first */
	uint64_t        nbytes;     /* logical: what tn_read hands out */
	size_t          part;       /* the file that has it, see tn_file_part_at */
	uint64_t        offset;     /* of the stored bytes, from the start of that file */
	uint64_t        stored;     /* bytes in the file; differs from nbytes where encoded */
	bool            missing;    /* of a partial file: it reaches past the end, reading it is TRUNCATED */
	const tn_meta  *extras;     /* a map of what only some formats have (param_id, qfloat, op); or NULL */
	const tn_digest *digest;    /* BLAKE3 of the bytes as the file states it, not as it is; or NULL */
} tn_tensor;

/* ---- Metadata ---------------------------------------------------------------------------- */

/* A tree of borrowed nodes. Maps keep the order of the file. Numbers keep the width that the
 * file gave them, where it gave one. */
typedef enum tn_meta_type {
	TN_META_NULL, TN_META_BOOL, TN_META_INT, TN_META_UINT, TN_META_FLOAT,
	TN_META_STRING, TN_META_BYTES, TN_META_ARRAY, TN_META_MAP
} tn_meta_type;

TN_API tn_meta_type tn_meta_kind(const tn_meta *node);
/* Bits of a number as stored (8, 16, 32, 64), 0 where the file does not say or it is no number. */
TN_API unsigned     tn_meta_width(const tn_meta *node);
/* Items of an array or map; 0 for everything else. */
TN_API uint64_t     tn_meta_count(const tn_meta *node);
/* The key under which a node stands in its map; empty outside a map. */
TN_API tn_view      tn_meta_key(const tn_meta *node);
/* The value of key in a map; NULL when it is no map or has no such key. */
TN_API const tn_meta *tn_meta_find(const tn_meta *map, tn_view key);

/* Walks the items of an array or map:
 *	tn_meta_iter it = tn_meta_items(node);
 *	for (const tn_meta *item; (item = tn_meta_next(&it)) != NULL; ) ...
 * The item is valid until the next call with the same iterator: large arrays stay as the file
 * has them and are decoded one item at a time. */
typedef struct tn_meta_iter {
	const tn_meta *node;
	uint64_t       left;
	const void    *at;
	uint64_t       scratch[12];
} tn_meta_iter;
TN_API tn_meta_iter   tn_meta_items(const tn_meta *node);
TN_API const tn_meta *tn_meta_next(tn_meta_iter *it);

/* Typed getters: true and *out set when the value is of that kind and fits without loss.
 * Integers take any integer in range, also a float that is a whole number in range; f32 and f64
 * take floats and the integers that they represent exactly (f32: any float whose value survives;
 * NaN does); bool takes only a bool. A node of NULL gives false. */
TN_API bool tn_meta_u8 (const tn_meta *node, uint8_t  *out);
TN_API bool tn_meta_u16(const tn_meta *node, uint16_t *out);
TN_API bool tn_meta_u32(const tn_meta *node, uint32_t *out);
TN_API bool tn_meta_u64(const tn_meta *node, uint64_t *out);
TN_API bool tn_meta_i8 (const tn_meta *node, int8_t   *out);
TN_API bool tn_meta_i16(const tn_meta *node, int16_t  *out);
TN_API bool tn_meta_i32(const tn_meta *node, int32_t  *out);
TN_API bool tn_meta_i64(const tn_meta *node, int64_t  *out);
TN_API bool tn_meta_f32(const tn_meta *node, float    *out);
TN_API bool tn_meta_f64(const tn_meta *node, double   *out);
TN_API bool tn_meta_bool(const tn_meta *node, bool    *out);
TN_API bool tn_meta_string(const tn_meta *node, tn_view *out); /* strings only */
TN_API bool tn_meta_bytes(const tn_meta *node, tn_view *out);  /* strings and byte strings */

/* ---- Formats ----------------------------------------------------------------------------- */

typedef struct tn_format {
	const char *name;       /* "burnpack" */
	const char *extensions; /* "bpk": without dots, separated by commas */
	bool        reads, writes;
} tn_format;

TN_API size_t    tn_format_count(void);
TN_API tn_format tn_format_at(size_t i); /* i < count */
/* The format of that name, or of that extension (with or without a dot); false when there is none. */
TN_API bool      tn_format_find(const char *name_or_extension, tn_format *out);

/* ---- Reading ----------------------------------------------------------------------------- */

/* What an input may make the library do. 0 anywhere means the default in brackets; formats keep
 * their own limits as defaults so that what their readers refuse is refused here. */
typedef struct tn_limits {
	uint64_t max_memory;       /* bytes for the index of one file, or one save [1 GiB; of an apr file that is compressed as a
	                              whole besides 64 times its size, or 64 MiB, of metadata and index
	                              3 times, or 3 MiB] */
	uint64_t max_tensors;      /* [burnpack 100,000; else none] */
	uint64_t max_header;       /* bytes of header and index, in apr of the metadata [burnpack 100 MiB; safetensors
	                              100,000,000; apr 16 MiB; else none] */
	uint64_t max_tensor_bytes; /* [burnpack 10 GiB; else none] */
	uint64_t max_file_bytes;   /* of each file, not of bytes in memory [burnpack 100 GiB; else none] */
} tn_limits;

typedef enum tn_io {
	TN_IO_AUTO,   /* a map; on network and FUSE file systems, pread */
	TN_IO_MMAP,   /* map the file; a file that shrinks while mapped raises SIGBUS on access */
	TN_IO_PREAD,  /* never map: tn_bytes is refused, tn_read works, no SIGBUS is possible */
	TN_IO_DIRECT  /* as PREAD, past the page cache for tensor data where the system allows it */
} tn_io;

typedef struct tn_open_options {
	tn_limits   limits;
	tn_io       io;
	const char *format;          /* skip detection: a name from tn_format_at; NULL detects */
	bool        ignore_envelope; /* show the container as it is, see docs/envelope.md */
	bool        single;          /* open this one file, also where it is a shard of a model */
	bool        partial;         /* a file that has not arrived whole: header and index must be there,
	                                tensors that reach past its end are missing, with a warning */
} tn_open_options;

typedef struct tn_file tn_file;

/* Opens a model: detects the format of its file, reads header and index, checks every extent against
 * the size of the file. Tensor data is not touched. A path of a format with an extension rule
 * (burnpack: "model" means "model.bpk" when "model" does not exist) follows that rule.
 * A model may lie in several files (docs/sets.md): path is then their folder, their index, or, where
 * the format's shards say that they are shards, any one of them. *out is NULL on failure. */
TN_API TN_CHECK tn_code tn_open(tn_file **out, const char *path, const tn_open_options *options,
                                tn_error *err);
/* The same over bytes in memory, which must outlive the tn_file unchanged. */
TN_API TN_CHECK tn_code tn_open_memory(tn_file **out, tn_view bytes, const tn_open_options *options,
                                       tn_error *err);
/* Ends every borrow from the file. NULL is allowed. */
TN_API void             tn_close(tn_file *file);

TN_API const char *tn_file_format(const tn_file *file);   /* "safetensors" */
TN_API const char *tn_file_version(const tn_file *file);  /* the format version as text; "" where there is none */
TN_API const char *tn_file_dialect(const tn_file *file);  /* "burnpack 0.19, unaligned"; "" for the plain format */
TN_API uint64_t    tn_file_size(const tn_file *file);     /* bytes, of all files of a set */
TN_API uint64_t    tn_file_alignment(const tn_file *file);/* largest power of two (at most 4096) that divides
                                                             the offset of every tensor that has bytes */
TN_API uint64_t    tn_file_parameters(const tn_file *file); /* elements of all tensors, UINT64_MAX at most */

/* The files that the model lies in: one, or those of a set in their order. */
typedef struct tn_part {
	const char *path; /* as it was opened; NULL for bytes in memory */
	uint64_t    size; /* bytes */
} tn_part;
TN_API size_t  tn_file_part_count(const tn_file *file);
TN_API tn_part tn_file_part_at(const tn_file *file, size_t i); /* i < count */

/* What was tolerated while opening. Borrowed from the file; never NULL. */
TN_API const tn_report *tn_warnings(const tn_file *file);

/* The metadata that people put there: a map. Never NULL. */
TN_API const tn_meta *tn_metadata(const tn_file *file);
/* What the format has and the model has no name for: a map from format name to its subtree. It
 * comes from the file, or from the envelope of a converted one. Never NULL. */
TN_API const tn_meta *tn_native(const tn_file *file);

TN_API size_t    tn_tensor_count(const tn_file *file);
/* Tensors stand in the order of their data, or in the order that they had in the model that the file was
 * converted from. i must be below the count: else an empty tensor. */
TN_API tn_tensor tn_tensor_at(const tn_file *file, size_t i);
/* NOTFOUND when no tensor has that name. *out is untouched then. By a hash or by halves: fast. */
TN_API TN_CHECK tn_code tn_tensor_find(const tn_file *file, tn_view name, size_t *out, tn_error *err);

/* The tensor's bytes in place, without a copy, valid until tn_close. UNSUPPORTED where they are
 * stored encoded (compressed), where the file is not mapped, and for multi-byte elements on a big-endian host:
 * use tn_read then. The start has the alignment that the format gave it, at worst 1. */
TN_API TN_CHECK tn_code tn_bytes(const tn_file *file, size_t i, tn_view *out, tn_error *err);
/* Reads len bytes of tensor i from byte offset of its logical bytes into buf; decodes where needed.
 * USAGE when the range exceeds the tensor. buf is unspecified on failure. On a big-endian host the
 * elements are swapped to its order, and offset and len must cut no element. */
TN_API TN_CHECK tn_code tn_read(const tn_file *file, size_t i, uint64_t offset, void *buf, size_t len,
                                tn_error *err);

/* Elements first .. first + count of tensor i, in row-major order, as f32 in the order of this host. Every type is
 * decoded but opaque, c64, and qfloat with a table: UNSUPPORTED. Integers and f64 are rounded to the nearest f32 (f64
 * beyond its range becomes infinite); bools give 0 and 1; blocks and their scales follow docs/values.md. USAGE when the range exceeds the tensor. out is unspecified on failure. */
TN_API TN_CHECK tn_code tn_read_f32(const tn_file *file, size_t i, uint64_t first, float *out, size_t count,
                                    tn_error *err);

/* A growing buffer of any power-of-two alignment. Growing never zeroes and never copies: the
 * contents are lost. Zero-initialise, or call tn_buffer_init. */
typedef struct tn_buffer {
	uint8_t *ptr;
	size_t   len, cap;
	size_t   align; /* 0: 64 */
} tn_buffer;
/* align must be a power of two, or 0 for the default. Allocates nothing. */
TN_API void tn_buffer_init(tn_buffer *buffer, size_t align);
/* Room for len bytes; sets buffer->len. NOMEM; USAGE when align is no power of two. */
TN_API TN_CHECK tn_code tn_buffer_resize(tn_buffer *buffer, size_t len, tn_error *err);
TN_API void tn_buffer_fini(tn_buffer *buffer);
/* tn_read of a whole tensor into a buffer that is resized to fit. */
TN_API TN_CHECK tn_code tn_read_buffer(const tn_file *file, size_t i, tn_buffer *buffer, tn_error *err);

/* ---- Long work --------------------------------------------------------------------------- */

/* Called now and then from the calling thread with bytes done and in all. Returning false stops
 * the work: the call fails with USAGE, nothing is left behind. */
typedef bool (*tn_progress_fn)(void *ctx, uint64_t done, uint64_t total);

typedef struct tn_work {
	unsigned       threads;  /* 0: one per processor */
	tn_progress_fn progress; /* may be NULL */
	void          *ctx;
} tn_work;

/* ---- Checking ---------------------------------------------------------------------------- */

typedef struct tn_verify_options {
	bool    deep;    /* read tensor data as well: digests, bool values, padding */
	bool    no_sums; /* tn_verify_path: do not compare SHA-256 with what is known of it */
	tn_work work;
} tn_verify_options;

/* Everything worth saying about a file that opens: the findings of opening and all others,
 * collected to the end. *out is to be freed with tn_report_free and is NULL on failure. TN_OK means
 * that the check was carried out; the file is good when the report has no TN_ERROR. */
TN_API TN_CHECK tn_code tn_verify(const tn_file *file, const tn_verify_options *options,
                                  tn_report **out, tn_error *err);

/* The same for what a path means, also where tn_open fails because of a part of it: a file of a set that
 * is missing, damaged or of another set is a finding. Beyond the files it compares a set's index, its
 * folder and the headers in all directions; and the SHA-256 of each file with the name of its blob in
 * a Hugging Face cache, an LFS pointer beside it, or FILE.sha256. */
typedef struct tn_verified {
	const char *format; /* static storage */
	uint64_t    files;  /* that could be opened */
	tn_report  *report; /* to be freed with tn_report_free; NULL on failure */
} tn_verified;
TN_API TN_CHECK tn_code tn_verify_path(const char *path, const tn_open_options *open,
                                       const tn_verify_options *options, tn_verified *out, tn_error *err);

/* BLAKE3 of the logical bytes of tensor i: what b3sum prints for these bytes. */
TN_API TN_CHECK tn_code tn_hash_tensor(const tn_file *file, size_t i, tn_digest *out, tn_error *err);
/* All tensors in parallel. tensors may be NULL, else it takes tn_tensor_count digests in the order
 * of the file. *total is BLAKE3 over one line "DIGEST DTYPE [d0,d1] NAME\n" for each tensor, names
 * sorted bytewise, so it is the same for the same tensors in any container. */
TN_API TN_CHECK tn_code tn_hash(const tn_file *file, const tn_work *work, tn_digest *tensors,
                                tn_digest *total, tn_error *err);
/* 64 lower-case hex digits and a terminator. */
TN_API void tn_digest_text(const tn_digest *digest, char out[2 * TN_DIGEST_LEN + 1]);

/* Who owns each byte of the file. Regions are sorted by part and offset, cover each file and do not
 * overlap; tensors without bytes have regions of length 0, those past the end of a partial file too. */
typedef enum tn_region_kind {
	TN_REGION_HEADER,  /* fixed fields */
	TN_REGION_INDEX,   /* metadata and tensor table */
	TN_REGION_TENSOR,
	TN_REGION_PADDING, /* bytes that the format asks for */
	TN_REGION_GAP,     /* bytes that nothing claims; labelled "copy": a tensor that another file of the set owns */
	TN_REGION_TRAILING,/* bytes after the end of the model */
	TN_REGION_FOOTER   /* a checksum or end mark */
} tn_region_kind;
typedef struct tn_region {
	uint64_t       offset, len;
	tn_region_kind kind;
	size_t         tensor; /* index of a TENSOR, else SIZE_MAX */
	const char    *label;  /* "header", "index", "padding", ...; static storage */
	size_t         part;   /* the file, see tn_file_part_at */
} tn_region;
typedef struct tn_map tn_map;
TN_API TN_CHECK tn_code tn_map_new(tn_map **out, const tn_file *file, tn_error *err);
TN_API size_t    tn_map_count(const tn_map *map);
TN_API tn_region tn_map_at(const tn_map *map, size_t i);
TN_API void      tn_map_free(tn_map *map);

/* ---- Execution tapes ---------------------------------------------------------------------- */

/* What a device holds and moves when it runs a model along its execution tape. Estimates, made from the
 * index alone: no tensor is touched. Only formats with an execution tape have them (thin). */
typedef enum tn_estimate_kind {
	TN_ESTIMATE_PLAN,    /* what is resident, and whether it fits */
	TN_ESTIMATE_LOAD,    /* what is read for each token, in what order */
	TN_ESTIMATE_PROFILE, /* six ways to run on a device, and which of them to take */
	TN_ESTIMATE_STATS    /* pages by size, layer, role, kind, dtype and layout; how the tape uses them */
} tn_estimate_kind;

typedef struct tn_plan_options {
	const char *backend;        /* whose layouts are resident beside "generic"; NULL: every layout */
	uint64_t    vram;           /* bytes of the device */
	uint64_t    ctx;            /* tokens [4096] */
	uint64_t    batch;          /* [1] */
	const char *kv_dtype;       /* fp16 bf16 fp8 q8 q6 q5 q4 q3 q2 [q4] */
	const char *residency;      /* all stream offload-last-n offload-first-n offload-middle-out [all] */
	uint64_t    offload_layers; /* the n of the latter three */
	double      gpu_fraction;   /* of vram that may be used, over 0 to 1; below 0.05 counts as 0.05 [1] */
	uint64_t    prefetch_pages; /* LOAD: pages a request [4] */
} tn_plan_options;

typedef struct tn_estimate tn_estimate;
/* PLAN, LOAD and PROFILE take options; PROFILE passes over kv_dtype, residency, offload_layers and gpu_fraction.
 * UNSUPPORTED where the file's format has no execution tape, USAGE for a word or number that cannot be meant.
 * *out is NULL on failure. */
TN_API TN_CHECK tn_code tn_estimate_new(tn_estimate **out, const tn_file *file, tn_estimate_kind kind,
                                        const tn_plan_options *options, tn_error *err);
/* A map; docs/cli.md lists its keys. Lives as long as the estimate. */
TN_API const tn_meta   *tn_estimate_values(const tn_estimate *estimate);
TN_API void             tn_estimate_free(tn_estimate *estimate);

/* A file's tensors in the order in which its execution tape uses them, within a fixed budget of memory.
 *
 * The tape is that of tn_native()["thin"], which an envelope keeps through other formats; a file without one is
 * a tape of one stage, "model", that uses each tensor once in the order of tn_tensor_at. A step is one use of one
 * tensor, its page. What is dropped to make room is the page whose next use is farthest off, the tape being played
 * round and round. A tn_pages belongs to one thread at a time; any number of them may share a tn_file. */
typedef struct tn_pages_options {
	/* Bytes for pages [256 MiB]; each is rounded up to a multiple of 64 and takes 128 more. It is never passed. The
	 * list of steps comes on top. */
	uint64_t budget;
} tn_pages_options;

typedef struct tn_step {
	tn_view  stage, op; /* op: what the stage does, empty where it does not say */
	size_t   tensor;    /* index in the file */
	uint64_t nbytes;
} tn_step;

typedef struct tn_pages_counts {
	uint64_t hits, faults;   /* uses that found their page in memory; that had to read it */
	uint64_t bytes_read, verified; /* bytes of the file that were read; pages held to their digest */
	uint64_t held, peak;     /* bytes of the budget in use now, and at most so far */
} tn_pages_counts;

typedef struct tn_pages tn_pages;
/* The file must stay open. A fused page that is no tensor is its slices, each a step. UNSUPPORTED when the tape uses what is
 * neither, LIMIT when that makes more than 2^20 steps of slices. *out is NULL on failure. */
TN_API TN_CHECK tn_code tn_pages_open(tn_pages **out, const tn_file *file, const tn_pages_options *options,
                                      tn_error *err);
TN_API void            tn_pages_close(tn_pages *pages);
TN_API size_t          tn_pages_count(const tn_pages *pages); /* steps */
TN_API tn_step         tn_pages_at(const tn_pages *pages, size_t step); /* out of range: an empty one */
/* The bytes of a step's page, as the file has them (little-endian), at an address that 64 divides. They stay until
 * the step is ended. Where the file states their BLAKE3, a page is held to it when it is first read: CHECKSUM then,
 * and at every later use, without another look. LIMIT when the pages in use leave no room for it. Steps may be used
 * in any order. */
TN_API TN_CHECK tn_code tn_pages_use(tn_pages *pages, size_t step, tn_view *out, tn_error *err);
/* Ends a use: the page stays until its room is needed. Without a use before, nothing happens. */
TN_API void            tn_pages_end(tn_pages *pages, size_t step);
/* Tells the system that the pages of the n steps from step on will be read soon, as far as they are not in memory and
 * together fit the budget; wraps round at the end of the tape. Returns at once. */
TN_API void            tn_pages_prefetch(tn_pages *pages, size_t step, size_t n);
/* Drops the page from memory unless it is in use, and from the system's cache of the file. */
TN_API void            tn_pages_release(tn_pages *pages, size_t step);
TN_API tn_pages_counts tn_pages_counted(const tn_pages *pages);

/* ---- Writing ----------------------------------------------------------------------------- */

/* The byte order of a new file, for formats that come in both (GGUF). */
typedef enum tn_endian {
	TN_ENDIAN_KEEP,   /* as the file was read; little-endian where it is new */
	TN_ENDIAN_LITTLE,
	TN_ENDIAN_BIG
} tn_endian;

typedef enum tn_compress {
	TN_COMPRESS_NONE,
	TN_COMPRESS_LZ4,  /* blocks of 64 KiB, each by itself: tn_read of any range decodes what it touches */
	TN_COMPRESS_ZSTD
} tn_compress;

/* How to write, common to saving a tn_writer and converting a tn_file. */
typedef struct tn_write_options {
	bool     allow_loss;   /* leave out what the target cannot hold, report it as a warning */
	bool     carry;        /* keep tensors of types that the target lacks as u8 bytes, their type in the envelope */
	bool     no_envelope;  /* write no envelope: what would go there counts as lost */
	bool     keep_unknown; /* a same-format rewrite keeps members that the format does not know */
	bool     in_place;     /* truncate and write the target directly: no temporary file, no old version kept */
	bool     no_sync;      /* do not wait for the disk; the file still appears whole or not at all */
	bool     exact_path;   /* do not add the format's extension to a path without one */
	tn_endian endian;      /* USAGE when BIG is asked of a format that has no such files */
	uint64_t slack;        /* bytes to leave for later edits of the metadata, where the format can: see tn_writer_update */
	uint64_t align;        /* alignment of the data section where the format leaves it free (safetensors, gguf, thin): a
	                          power of two; 0: its own */
	tn_compress compress;  /* apr only: USAGE elsewhere. Tensors that do not shrink stay as they are, and so do
	                          those of a callback. Sources are read twice: sizes stand before the data */
	uint64_t max_memory;   /* for plan and index [1 GiB] */
	tn_work  work;
} tn_write_options;

/* Where a tensor's bytes come from. On every host they are what tn_bytes would lend: little-endian. */
typedef struct tn_emit tn_emit;
/* Hands over the next n bytes of a deferred tensor. After the first failure it does nothing. */
TN_API void tn_emit_bytes(tn_emit *emit, const void *bytes, size_t n);
/* Produces all bytes of a deferred tensor by calls of tn_emit_bytes; called once, when the writer
 * comes to the tensor, in the order in which tensors are written. Returns TN_OK, or a code with
 * err filled in: the save then fails with it, the tensor's name in front of the message. */
typedef tn_code (*tn_produce_fn)(void *ctx, tn_emit *emit, tn_error *err);

typedef enum tn_source_kind {
	TN_SOURCE_MEMORY, TN_SOURCE_TENSOR, TN_SOURCE_FILE, TN_SOURCE_CALLBACK
} tn_source_kind;
typedef struct tn_source {
	tn_source_kind kind;
	tn_view        memory;  /* MEMORY: must live until the save is over */
	const tn_file *file;    /* TENSOR: of an open file, which must stay open */
	size_t         tensor;  /* TENSOR */
	const char    *path;    /* FILE: opened when the writer comes to it; the string is copied */
	uint64_t       offset;  /* FILE: where the bytes start */
	tn_produce_fn  produce; /* CALLBACK */
	void          *ctx;     /* CALLBACK */
} tn_source;

typedef struct tn_writer tn_writer;

/* A model to be written in one of the formats. Names and values are copied, tensor data is not. */
TN_API TN_CHECK tn_code tn_writer_new(tn_writer **out, const char *format,
                                      const tn_write_options *options, tn_error *err);
TN_API void             tn_writer_free(tn_writer *writer);

/* Adds a tensor of the given dtype and shape. nbytes is what the source will yield: it must equal
 * tn_dtype_bytes where that is defined (0 then means "as computed"). Fails with CORRUPT on a
 * contradiction, with USAGE on an unusable source, a missing dtype or a name that was added before. */
TN_API TN_CHECK tn_code tn_writer_add(tn_writer *writer, tn_view name, tn_dtype dtype, uint32_t rank,
                                      const uint64_t *shape, uint64_t nbytes, const tn_source *source,
                                      tn_error *err);
/* The map of extras of tensor i, in the order of adding, to be filled with the tn_put functions:
 * "param_id" (u64), "qfloat" (a map: value, store, packed_dim, mode, tensor, block). NULL when i
 * is out of range or memory ran out. */
TN_API tn_meta *tn_writer_extras(tn_writer *writer, size_t i);
/* The root map of the metadata, to be filled with the tn_put functions. Never NULL. */
TN_API tn_meta *tn_writer_metadata(tn_writer *writer);

/* Put a value under key into a map, replacing an earlier one in its place, or at the end of an array
 * (key is ignored). container must come from this writer. Keys and strings are copied. */
TN_API TN_CHECK tn_code tn_put_string(tn_writer *writer, tn_meta *container, tn_view key, tn_view value, tn_error *err);
TN_API TN_CHECK tn_code tn_put_bytes (tn_writer *writer, tn_meta *container, tn_view key, tn_view value, tn_error *err);
TN_API TN_CHECK tn_code tn_put_uint  (tn_writer *writer, tn_meta *container, tn_view key, uint64_t value, unsigned width, tn_error *err);
TN_API TN_CHECK tn_code tn_put_int   (tn_writer *writer, tn_meta *container, tn_view key, int64_t value, unsigned width, tn_error *err);
TN_API TN_CHECK tn_code tn_put_f32   (tn_writer *writer, tn_meta *container, tn_view key, float value, tn_error *err);
TN_API TN_CHECK tn_code tn_put_f64   (tn_writer *writer, tn_meta *container, tn_view key, double value, tn_error *err);
TN_API TN_CHECK tn_code tn_put_bool  (tn_writer *writer, tn_meta *container, tn_view key, bool value, tn_error *err);
TN_API TN_CHECK tn_code tn_put_null  (tn_writer *writer, tn_meta *container, tn_view key, tn_error *err);
/* *out is the new, empty map or array. They nest at most 100 deep: USAGE. */
TN_API TN_CHECK tn_code tn_put_map   (tn_writer *writer, tn_meta *container, tn_view key, tn_meta **out, tn_error *err);
TN_API TN_CHECK tn_code tn_put_array (tn_writer *writer, tn_meta *container, tn_view key, tn_meta **out, tn_error *err);

/* A value spelled as text. type is one of "string", "bool", "u8" ... "u64", "i8" ... "i64", "f32", "f64", the same without a
 * width as "uint", "int", "float", "bytes" (in hex), "null" (text is ignored), "json" (docs/envelope.md tells how it spells
 * widths); or an array as a JSON array, with "[]" behind the type of its items ("u32[]"; not of those without a width).
 * USAGE when the text spells no such value. */
TN_API TN_CHECK tn_code tn_put_text  (tn_writer *writer, tn_meta *container, tn_view key, const char *type, tn_view text, tn_error *err);
/* Takes a key out of a map; NOTFOUND when it is not there. */
TN_API TN_CHECK tn_code tn_remove    (tn_writer *writer, tn_meta *map, tn_view key, tn_error *err);

/* The exact size of the file that a save would write. Nothing is written, and no source is read unless it is to be
 * compressed. */
TN_API TN_CHECK tn_code tn_writer_size(tn_writer *writer, uint64_t *out, tn_error *err);
/* Writes the file: beside the target under a temporary name, synced, then renamed over it with the
 * target's permissions; on any failure the target stays as it was and nothing is left. A target that
 * is also an input is refused (USAGE) only when it is written in place, or is one file of a set. The file of tn_writer_of is
 * an input even where nothing of it is left. A file beyond the limit of the process (RLIMIT_FSIZE) is an IO failure where
 * SIGXFSZ is ignored; else the system ends the process, and the temporary file stays. */
TN_API TN_CHECK tn_code tn_writer_save(tn_writer *writer, const char *path, tn_error *err);
/* The same bytes into buf: USAGE when cap is below tn_writer_size, the tail past *len is untouched. */
TN_API TN_CHECK tn_code tn_writer_save_memory(tn_writer *writer, void *buf, size_t cap, size_t *len, tn_error *err);
/* A writer that begins with all that an open file holds, to be changed and saved in the same format. The file must stay
 * open until the writer is freed. Arrays of the file cannot be added to: put another in their place. Tensors of an APR file
 * that are compressed are compressed again, with the codec that they have. What is odd about a tensor of the file stays; one
 * that is added is judged as in a new file. What its envelope holds is carried again, also without options.carry; members
 * that no reader knows only with options.keep_unknown. */
TN_API TN_CHECK tn_code tn_writer_of(tn_writer **out, const tn_file *file, const tn_write_options *options,
                                     tn_error *err);
/* Saves a writer made by tn_writer_of over the file that it came from. With in_place, and where the changed metadata fit in
 * the room of the old so that no tensor moves, only the bytes that changed are written, in one piece: the work of a moment
 * whatever the size of the file, but what a crash of the system or a kill in that moment leaves may be neither the old file
 * nor the new. A write that fails half-way is taken back.
 * Otherwise the file is written anew as tn_writer_save does, and options.slack leaves room for the next time.
 * *patched (may be NULL) says which it was. What was borrowed from the open file is not to be used afterwards.
 * UNSUPPORTED when the file is a set of several, or memory. */
TN_API TN_CHECK tn_code tn_writer_update(tn_writer *writer, bool in_place, bool *patched, tn_error *err);
/* Removes the temporary files of every save in progress in this process (of the first 1,024 at once). For
 * signal handlers that end the process afterwards: it is async-signal-safe, and the saves themselves will fail if they go on. */
TN_API void             tn_abandon_all(void);
/* What the last size or save had to say (losses, notes). Borrowed from the writer; never NULL. */
TN_API const tn_report *tn_writer_report(const tn_writer *writer);

/* Which tensors, and which metadata, a conversion takes. */
typedef struct tn_convert_options {
	const char      *format;  /* target; NULL: by the extension of the path */
	tn_write_options write;
	/* Keep a tensor? NULL keeps all. */
	bool           (*select)(void *ctx, const tn_tensor *tensor);
	void            *select_ctx;
	/* Metadata to set, as strings: NULL-terminated pairs key, value, key, value, NULL. */
	const char *const *set;
	/* Cast every tensor of a floating, block or quantised type to this type: f64, f32, flex32, f16, bf16 or an f8 but
	 * e8m0. Integers, bools, c64 and unknown types stay. TN_OPAQUE (0): no cast. UNSUPPORTED when such a
	 * tensor cannot be decoded, see tn_read_f32. */
	tn_dtype         dtype;
	/* Quantise floats of rank 2 and more to this block type, where their rows fill whole blocks; norms, biases and
	 * all others stay, or follow dtype. docs/values.md lists what can be made. TN_OPAQUE (0): none.
	 * Values that do not survive a cast are counted in the report, as warnings of code TN_OK; they are no loss:
	 * they were asked for. */
	tn_dtype         quantize;
	bool             dry_run; /* plan only: *size is exact, path is not touched */
	/* Keep what is written when the conversion is interrupted, beside the target as .NAME.partial, and go on from there: the
	 * bytes are the same. NAME.conversion-plan.json and NAME.conversion-journal.json tell how far it came; all three go
	 * when the target is complete. USAGE together with in_place. */
	bool             resume;
	/* Hugging Face checkpoints, for formats that say what each tensor is for (thin): config.json beside the weights
	 * (a folder of shards, or one safetensors file) tells, as do the digests of tokenizer.json and
	 * tokenizer_config.json. UNSUPPORTED where it describes no model that the format knows. */
	const char      *config;       /* the path of the config.json, for weights in any format; NULL: the one beside them */
	bool             no_config;    /* convert the tensors as they are, whatever lies beside them */
	bool             no_tokenizer; /* no digests of tokenizer files */
	const char      *arch;         /* what to call the architecture; NULL: as the config does */
} tn_convert_options;

/* What a conversion did. Free report with tn_report_free. */
typedef struct tn_converted {
	uint64_t   size;    /* bytes of the target */
	uint64_t   tensors;
	tn_report *report;  /* what was lost, changed or derived; NULL only on failure before planning */
} tn_converted;

/* Writes an open file in another format, or its own. Everything travels: what the target has no place
 * for goes into an envelope (docs/envelope.md) and comes back from there. Anything lost fails with
 * LOSSY before a byte is written unless allowed. That includes what opening could not read: an error among the findings of
 * tn_warnings, or a value of a set that its first file has otherwise. A tensor whose digest the file states is held to it,
 * cast or not: CHECKSUM then, as for every function that writes tensors of an open file. So is an APR file to its footer where
 * all of its tensors are written, none of them compressed; with allow_loss that is a warning. out may be NULL. The report is
 * also given on failure; it begins with the warnings of opening. */
TN_API TN_CHECK tn_code tn_convert(const tn_file *file, const char *path, const tn_convert_options *options,
                                   tn_converted *out, tn_error *err);

/* ---- Models in several files ------------------------------------------------------------- */

/* How a model is cut: tensors stay whole and in order, a shard ends before it would pass a limit. A
 * tensor larger than max_size gets a shard alone. */
typedef struct tn_split_options {
	const char      *format;      /* NULL: that of the file */
	const char      *stem;        /* of the file names, STEM-00001-of-00003.EXT; NULL: "model" */
	uint64_t         max_size;    /* bytes of tensors [5,000,000,000; none where max_tensors is given] */
	uint64_t         max_tensors; /* 0: no limit */
	bool             even;        /* no more shards than the limits ask for, and these as even as can be */
	bool             dry_run;     /* plan only: names and sizes are exact, the folder is not touched */
	tn_write_options write;
} tn_split_options;

typedef struct tn_shard {
	const char *name;    /* in the folder */
	uint64_t    size;    /* bytes of the file */
	uint64_t    tensors;
} tn_shard;

/* What a split did, or would do. */
typedef struct tn_shards tn_shards;
TN_API size_t           tn_shards_count(const tn_shards *shards);
TN_API tn_shard         tn_shards_at(const tn_shards *shards, size_t i); /* i < count */
/* The name of the index; NULL where there is none: one shard alone, or a format that has none. */
TN_API const char      *tn_shards_index(const tn_shards *shards);
/* What was lost, changed or derived. Never NULL. */
TN_API const tn_report *tn_shards_report(const tn_shards *shards);
TN_API void             tn_shards_free(tn_shards *shards); /* NULL is allowed */

/* Writes an open file as shards into a folder, which is made where it is missing. All files are written
 * under temporary names first and appear one after the other, the index last; on failure none is left.
 * A folder that holds files of that stem already is refused with USAGE. UNSUPPORTED for a format that
 * has no shards. *out may be given on failure too, for its report; it is NULL where planning did not
 * begin. The way back is tn_convert of the opened set. */
TN_API TN_CHECK tn_code tn_split(const tn_file *file, const char *folder, const tn_split_options *options,
                                 tn_shards **out, tn_error *err);

/* Makes the index of a set anew from the headers of all model files in its folder. path is the folder,
 * or an index in it. Where two files hold a tensor of the same name the old index says which counts, else
 * a numbered file goes before one that is not, else CORRUPT. out may be NULL: the old index is replaced,
 * or STEM.safetensors.index.json made. *report tells what changed; it is NULL only where memory ran out. */
TN_API TN_CHECK tn_code tn_rebuild_index(const char *path, const char *out, const tn_open_options *open,
                                         const tn_write_options *write, tn_report **report, tn_error *err);
/* Writes a file again, to out, without the faults that can be mended without guessing: bytes after the end,
 * a header padded with NULs, missing padding (GGUF), a missing 'format' (safetensors). Of a set it is the index that is
 * made anew. *report says what was mended; where that is nothing, nothing is written. */
TN_API TN_CHECK tn_code tn_repair(const char *path, const char *out, const tn_open_options *open,
                                  const tn_write_options *write, tn_report **report, tn_error *err);

/* ---- APR --------------------------------------------------------------------------------- */

/* The metadata fields that APR gives a type, in the order of its files. The tree that tn_metadata
 * gives has them too, under their names; here they are read and written as what they are. */
typedef enum tn_apr_field {
	TN_APR_MODEL_TYPE, TN_APR_NAME, TN_APR_DESCRIPTION, TN_APR_AUTHOR, TN_APR_LICENSE,
	TN_APR_DATA_SOURCE, TN_APR_DATA_LICENSE, TN_APR_VERSION, TN_APR_SOURCE,
	TN_APR_ORIGINAL_FORMAT, TN_APR_CREATED_AT, TN_APR_TOTAL_SIZE, TN_APR_PARAM_COUNT,
	TN_APR_QUANTIZATION, TN_APR_SHARDING, TN_APR_CHAT_TEMPLATE, TN_APR_CHAT_FORMAT,
	TN_APR_SPECIAL_TOKENS, TN_APR_ARCHITECTURE, TN_APR_HF_ARCHITECTURE, TN_APR_HF_MODEL_TYPE,
	TN_APR_HIDDEN_SIZE, TN_APR_NUM_LAYERS, TN_APR_NUM_HEADS, TN_APR_NUM_KV_HEADS,
	TN_APR_VOCAB_SIZE, TN_APR_INTERMEDIATE_SIZE, TN_APR_MAX_POSITION_EMBEDDINGS,
	TN_APR_ROPE_THETA, TN_APR_ROPE_TYPE, TN_APR_RMS_NORM_EPS, TN_APR_HEAD_DIM,
	TN_APR_NUM_EXPERTS, TN_APR_NUM_EXPERTS_PER_TOK, TN_APR_MOE_INTERMEDIATE_SIZE,
	TN_APR_FIELDS
} tn_apr_field;

/* Header flags. */
enum {
	TN_APR_LZ4 = 0x0001, TN_APR_ZSTD = 0x0002, TN_APR_ENCRYPTED = 0x0004, TN_APR_SIGNED = 0x0008,
	TN_APR_SHARDED = 0x0010, TN_APR_QUANTIZED = 0x0020, TN_APR_HAS_FILTERBANK = 0x0040,
	TN_APR_HAS_MODEL_CARD = 0x0080, TN_APR_STREAMING = 0x0100, TN_APR_HAS_VOCAB = 0x0200,
	TN_APR_ROW_MAJOR = 0x0400, TN_APR_COLUMN_MAJOR = 0x0800
};

/* Which fields are there: given has bit 1 << TN_APR_X set for field X; without it the field's value is
 * zero and means nothing. Of the three objects a text without a ptr is null. */
#define TN_APR_GIVEN(field) ((uint64_t)1 << (field))
typedef struct tn_apr {
	uint64_t given;
	tn_view  model_type, name, description, author, license, data_source, data_license, version,
	         source, original_format, created_at;
	uint64_t total_size, param_count;
	struct {
		tn_view  quant_type;
		uint8_t  bits;
		bool     symmetric, has_block_size;
		uint64_t block_size;
	} quantization;
	struct {
		uint64_t shard_count, shard_index, total_size;
		tn_view  pattern;
	} sharding;
	tn_view  chat_template, chat_format;
	struct {
		tn_view bos, eos, unk, pad, im_start, im_end;
	} special_tokens;
	tn_view  architecture, hf_architecture, hf_model_type;
	uint64_t hidden_size, num_layers, num_heads, num_kv_heads, vocab_size, intermediate_size,
	         max_position_embeddings;
	float    rope_theta;
	uint32_t rope_type; /* 0: adjacent pairs, 2: split halves */
	float    rms_norm_eps;
	uint64_t head_dim, num_experts, num_experts_per_tok, moe_intermediate_size;
} tn_apr;

/* The typed fields of a file's metadata, whatever its format: those whose value has the field's type.
 * Texts are borrowed from the file. */
TN_API void     tn_apr_read(const tn_file *file, tn_apr *out);
/* Puts the fields that are given into a writer's metadata, under their names. */
TN_API TN_CHECK tn_code tn_apr_put(tn_writer *writer, const tn_apr *fields, tn_error *err);
/* The header flags of an APR file, or of the one that a file was before: TN_APR_ROW_MAJOR alone is usual. */
TN_API uint16_t tn_apr_flags(const tn_file *file);
/* The flags of the file to write; ROW_MAJOR is always set. USAGE for COLUMN_MAJOR and ENCRYPTED, which
 * readers refuse, and for LZ4 and ZSTD, which tn_write_options.compress sets. */
TN_API TN_CHECK tn_code tn_apr_set_flags(tn_writer *writer, uint16_t flags, tn_error *err);

/* Where a model comes from. NULL fields stay as they are; lists that are not NULL but empty count as
 * given and change nothing. */
typedef struct tn_apr_stamp {
	const char    *license, *data_license; /* SPDX expressions, or "" */
	const char    *data_source;
	const char    *hf_architecture, *hf_model_type, *architecture;
	const tn_view *vocabulary; /* custom keys tokenizer.vocabulary and .vocab_size, flag HAS_VOCAB */
	size_t         n_vocabulary;
	const tn_view *merges;     /* custom key tokenizer.merges */
	size_t         n_merges;
	const char    *tokenizer_model_type; /* custom key tokenizer.model_type */
} tn_apr_stamp;

/* Is text a licence expression of SPDX ("Apache-2.0", "MIT OR GPL-2.0-or-later", "LicenseRef-ours")?
 * err says which word is not. */
TN_API TN_CHECK tn_code tn_spdx_check(const char *text, tn_error *err);
/* Writes an APR file again with a stamp in its metadata; all else is kept, tensors stand in the order of
 * their names. The data of a file that has them so and has a footer is moved as it is, not read: the new
 * footer follows from the old one, and is as right or wrong as that was. Compressed tensors stay so. The same stamp twice gives the
 * same bytes. USAGE when no field is set, the file is no APR file, or a licence is no SPDX expression. */
TN_API TN_CHECK tn_code tn_apr_stamp_file(const tn_file *file, const char *path, const tn_apr_stamp *stamp,
                                          const tn_write_options *options, tn_converted *out, tn_error *err);

/* ---- ThinTensor archives ----------------------------------------------------------------- */

/* Writes the archive path from a manifest and a folder of pages: DIR/.../ID.bin for each page that is no slice. The
 * manifest must keep all rules, each page must have the length and checksum that it states; the records stand in the
 * manifest's order. *records and *size tell of the result; both may be NULL. Of options, in_place, no_sync, align and
 * work count. USAGE where path is the manifest or one of the pages. */
TN_API TN_CHECK tn_code tn_thin_pack(const char *manifest, const char *folder, const char *path,
                                     const tn_write_options *options, uint64_t *records, uint64_t *size, tn_error *err);

typedef struct tn_unpack_options {
	bool    replace; /* files that are there; else the first of them is a failure (USAGE) */
	bool    no_sync;
	tn_work work;
} tn_unpack_options;
/* The way back: DIR/manifest.json and DIR/pages/ID.bin for each record. The archive must pass a deep verification.
 * Each file appears whole or not at all; those written before a failure stay. records may be NULL. */
TN_API TN_CHECK tn_code tn_thin_unpack(const tn_file *file, const char *folder, const tn_unpack_options *options,
                                       uint64_t *records, tn_error *err);

typedef enum tn_thin_layout {
	TN_THIN_EXECUTION, /* pages in the order in which the tape first names them, then the others */
	TN_THIN_HOT,       /* pages of no layer, embeddings and heads first, then as above */
	TN_THIN_FUSED      /* q, k and v, and gate and up, of each layer as one page each, then as the first */
} tn_thin_layout;
typedef struct tn_repack_options {
	tn_thin_layout   layout;
	bool             zstd;  /* compress pages that shrink; upstream's readers refuse such a file */
	tn_write_options write; /* in_place, no_sync, align, work and max_memory count */
	bool             dry_run;
} tn_repack_options;
/* Writes an archive with its pages in another order. The input must pass a deep verification. */
TN_API TN_CHECK tn_code tn_thin_repack(const tn_file *file, const char *path, const tn_repack_options *options,
                                       uint64_t *records, uint64_t *size, tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
