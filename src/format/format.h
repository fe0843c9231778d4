/* format.h - what a format supplies: one const object, and a line in registry.def. */
#ifndef FORMAT_FORMAT_H
#define FORMAT_FORMAT_H

#include "format/shards.h"
#include "io/envelope.h"
#include "io/plan.h"
#include "io/source_digest.h"
#include "model/check.h"

/* Turning a file's first bytes into a model. A pure function of its inputs: no system call. */
struct parse_job {
	tn_view          file;    /* the first bytes of the file; the whole of it when mapped */
	uint64_t         size;    /* of the whole file */
	bool             in_memory; /* limits on files do not apply */
	bool             mend;    /* faults that a rewrite mends without guessing do not fail: job_mended tells of each */
	struct tn_report *mended; /* not NULL where mend is */
	const tn_limits *limits;  /* as the caller gave them: 0 is the format's own */
	const struct model *first; /* of the first file, where this is a later one of a set that is being opened; else NULL */
	struct arena    *mem;     /* everything the model needs comes from here */
	struct model    *model;   /* initialised, empty */
	struct tn_report *report; /* what is tolerated */
	uint64_t         need;    /* out: with TRUNCATED, how many first bytes parse wants; 0: no more would help */
	/* Tells the core that the file's bytes in this range have been read and are hardly needed again: their memory may go,
	 * and comes back when they are. NULL: nobody wants to know. */
	void           (*passed)(void *ctx, uint64_t offset, uint64_t len);
	void            *passed_ctx;
	struct check_limits check; /* out: the common checks' limits, the format's own filled in */
	tn_view          image;   /* out: the file is but a wrapper of these bytes, and the model is of them; else empty */
	tn_error        *err;
};

/* True when the first n bytes are at hand. When they are not but the file has them: sets job->need and
 * fails with TRUNCATED, and the caller comes again with more. When the file ends before: TRUNCATED, need 0, and what
 * says which part: "burnpack: metadata". */
bool job_has(struct parse_job *job, uint64_t n, const char *what);
/* The caller's limit, or the format's own when the caller gave 0. */
static inline uint64_t limit_or(uint64_t given, uint64_t own) { return given != 0 ? given : own; }

/* Tells of a fault that is read over because a rewrite will mend it; what: "trailing bytes: left out". */
void job_mended(struct parse_job *job, uint64_t offset, const char *fmt, ...) PRINTF_LIKE(3, 4);

struct verify_job {
	const struct reader *file;
	const struct model  *model;  /* as the container shows it, the envelope applied */
	bool                 deep;   /* tensor data may be read */
	const tn_work       *work;   /* threads and progress for that */
	struct tn_report    *report;
	struct arena        *mem;
	tn_error            *err;    /* only what stops the check itself: NOMEM, IO */
};

/* Estimates from the execution tape of a file. */
struct estimate_job {
	const struct reader   *file;
	const struct model    *model; /* as the container shows it */
	tn_estimate_kind       kind;
	const tn_plan_options *options; /* the defaults filled in, but for backend: NULL is every layout */
	struct arena          *mem;
	struct tn_meta        *out;   /* an empty map, to be filled */
	tn_error              *err;
};

/* Turning a model into spans. */
struct plan_job {
	const struct model *model;
	bool                rewrite;      /* the model was read from this same format, as its container shows it, and may have got
	                                     more tensors: see job_had */
	bool                bare;         /* of a rewrite: whoever made the model has the container in view, its envelope included */
	bool                converted;    /* the model was read from another format, or has been: an envelope says so */
	bool                recarry;      /* what the file that is written again has carried may be, unasked: see job_carries */
	bool                allow_loss, carry, no_envelope, keep_unknown;
	tn_endian           endian;       /* KEEP: as the model's native subtree says, little-endian where it says nothing */
	uint64_t            slack;        /* bytes to leave in the head for later edits */
	uint64_t            fit;          /* where the data shall start if the head fits before; 0: wherever it may */
	uint64_t            align;        /* 0: the format's own */
	tn_compress         compress;     /* NONE, or of a format with CAP_BLOCKS */
	const struct source *sources;     /* [model->n] where their bytes will come from; NULL: not known. Looked at only where
	                                     what is to be written depends on them */
	const struct packing *packed;     /* [model->n] what compression makes of each tensor; NULL: not known yet */
	struct arena       *mem;
	struct plan        *plan;
	void               *own;          /* what the format's plan leaves for its seal */
	struct tn_report   *report;       /* losses: code TN_E_LOSSY, severity TN_ERROR, or TN_WARNING when allowed */
	tn_error           *err;
};

/* Whether the tensor stands in the file that is written again: what is odd about it there may stay. One that was added to it
 * is held to what a new file may have. */
static inline bool job_had(const struct plan_job *job, const struct tensor *t) { return job->rewrite && !t->added; }

/* Whether the tensor may be kept as bytes where its type or shape cannot be held. */
static inline bool job_carries(const struct plan_job *job, const struct tensor *t)
{
	return job->carry || (job->recarry && !t->added);
}

/* One LOSSY finding of the severity that the job's options give it. tensor may be NO_TENSOR. */
void job_lossy(struct plan_job *job, tn_view tensor, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* A value of people's own under a name that this file needs for itself goes into the envelope; false where there is none. */
bool job_hide(struct plan_job *job, struct envelope *e, tn_view key);
/* Likewise under the envelope's name, before job_envelope. Where nothing else needs an envelope, a text stays that no reader
 * takes for one, such as one of a later version, and any where the container is in view. */
bool job_hide_namesake(struct plan_job *job, struct envelope *e, tn_view key);
/* The text of an envelope for a target; empty where there is nothing to say, or the job wants none. What it cannot hold,
 * and then all of it, is reported as job_lossy does. */
tn_code job_envelope(struct plan_job *job, struct envelope *e, const char *target, tn_view *text);

/* Turning the tensors of a Hugging Face checkpoint into the model that the format would have of them: their names there
 * and the text of config.json say what they are. */
struct checkpoint_job {
	tn_view             config;    /* the text of config.json */
	const tn_digest    *tokenizer, *tokenizer_config; /* BLAKE3 of tokenizer.json, tokenizer_config.json; NULL: none */
	bool                no_tokenizer; /* nobody asks for them */
	const char         *arch;      /* what to call the architecture; NULL: as the config does */
	const struct model *model;     /* the tensors as they stand there */
	const char         *own;       /* the format whose subtree in native tells of the form of the files that are read, and of
	                                  nothing else but SHARDS_INDEX; NULL: none */
	/* Digests of the contents of some of them; called once, when all the rest has succeeded. */
	tn_code           (*digest)(void *ctx, const uint64_t *tensors, uint64_t n, tn_digest *out, tn_error *err);
	void               *ctx;
	struct arena       *mem;
	struct model       *out;       /* uninitialised; tensors in the order of their data */
	const uint64_t     *from;      /* out: [out->n] which tensor of model each is; one may be there twice */
	struct tn_report   *report;    /* what is not known, left out or not used */
	tn_error           *err;
};

enum {
	CAP_META_STRINGS = 1, /* string metadata */
	CAP_META_TREE    = 2, /* typed, nested metadata */
	CAP_DIGEST       = 4, /* carries checksums of its data */
	CAP_BIG_ENDIAN   = 8, /* can be written in that order */
	CAP_SLACK        = 16, /* can leave room in the head */
	CAP_BLOCKS       = 32, /* holds tensors compressed in blocks */
	CAP_CHECKPOINT   = 64 /* what Hugging Face checkpoints are kept in: a config.json may lie beside the file */
};

struct format {
	const char *name;
	const char *exts;  /* "bpk": a tie-break, never evidence */
	uint32_t    caps;
	bool        adds_extension; /* a path without an extension gets the first of exts (burnpack) */
	/* Where in the root metadata an envelope's text stands. parse leaves it there as a string like any other;
	 * the core takes it out and applies it once the container has passed the common checks. */
	const char *envelope_key;
	/* Bits of evidence that the first bytes give; 0: not mine. No allocation, no I/O. */
	int     (*probe)(tn_view head, uint64_t file_size);
	tn_code (*parse)(struct parse_job *job);
	tn_code (*verify)(struct verify_job *job); /* NULL: the common laws are all there is */
	tn_code (*plan)(struct plan_job *job);     /* NULL: read-only */
	/* Patches fixed-width head fields that depend on the data. NULL: none do. */
	tn_code (*seal)(struct plan_job *job, struct sink *out);
	tn_code (*estimate)(struct estimate_job *job); /* NULL: the format has no execution tape */
	tn_code (*checkpoint)(struct checkpoint_job *job); /* NULL: checkpoints are written like everything else */
	const struct shard_rules *shards; /* NULL: a model is always one file */
};

extern const struct format *const formats[];
extern const size_t format_count;
const struct format *format_named(const char *name);
/* By extension, with or without a dot; NULL when there is none. */
const struct format *format_for_extension(const char *ext);
/* The format with the most evidence. NULL with err filled in words that name what the file is instead. */
const struct format *format_detect(tn_view head, uint64_t file_size, const char *path, tn_error *err);

#endif
