/* file.h - what a tn_file is: one part, or the parts of a set, and the model that they make together. */
#ifndef API_FILE_H
#define API_FILE_H

#include "api/part.h"
#include "io/tensor_read.h"

struct tn_file {
	struct arena         mem;       /* what belongs to no single part: the name index, restored values */
	struct part         *parts;     /* n_parts of them; addresses are stable, sources point into them */
	size_t               n_parts;
	struct part          first;     /* storage for the usual case of one */
	const struct format *format;
	struct model         model;     /* of the whole; tensor.part says where the bytes are */
	struct strmap        names;     /* tensor names -> indices */
	struct tn_report     report;    /* what opening tolerated */
	bool                 bare;      /* opened without looking at envelopes */
	bool                 enveloped; /* the model is not what the container shows, but what it was made from */
};

/* An empty one that tn_close can take: one part, not yet open. NULL when memory is out. */
struct tn_file *file_new(const tn_open_options *opt);

static inline const struct reader *reader_of(const struct tn_file *f, const struct tensor *t)
{
	return &f->parts[t->part].reader;
}

/* The bytes of a tensor for a save: as they lie in the file, or decoded on the way, and held to what the file states of them. */
static inline struct source source_of(const struct tn_file *f, const struct tensor *t)
{
	return (struct source){
		.kind = tensor_is_plain(t) ? SOURCE_RANGE : SOURCE_TENSOR, .len = t->nbytes, .digest = t->digest,
		.from = reader_of(f, t), .tensor = t, .offset = t->offset,
	};
}

/* How its tensors are compressed: as the first of them that is, so that a file which is stamped or edited can stay as it was. */
tn_code file_compression(const struct tn_file *f, tn_compress *out, tn_error *err);

#endif
