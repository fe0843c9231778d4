/* check.h - the laws that hold for every format, checked once, on the model. */
#ifndef MODEL_CHECK_H
#define MODEL_CHECK_H

#include "model/model.h"

struct check_limits {
	uint64_t max_tensors, max_tensor_bytes; /* UINT64_MAX: none */
	struct tn_report *partial; /* not NULL: what lies past the end of the file is marked missing, a warning here */
};

/* Every extent lies inside the file, unless it may be partial (TRUNCATED: says by how much the file is short and which tensor is
 * the first not whole), names differ (CORRUPT), counts and sizes keep the limits (LIMIT). For tensors with
 * a size known from the shape, stored == nbytes when raw. Overlap of two tensors that have bytes is
 * CORRUPT. Fills *names for lookup, unless the model has its tensors by name. format leads the messages. */
tn_code model_check(const struct model *m, const char *format, uint64_t file_size, const struct check_limits *lim,
                    struct arena *a, struct strmap *names, tn_error *err);

tn_view model_name_at(const void *model, uint64_t i); /* a strmap_key_fn over a struct model */
/* The tensor of that name, by the model's own order or by the index that model_check filled. */
bool model_find(const struct model *m, const struct strmap *names, tn_view name, uint64_t *out);

/* Findings common to all formats: gaps (warning), trailing bytes (warning), tensors off data_align (warning). */
void model_lint(const struct model *m, const char *format, uint64_t file_size, struct tn_report *r);

#endif
