/* cast.h - tensors in another type on their way into a file.
 *
 * What is cast is decided before anything is planned: then the plan sees the new type and length,
 * and the bytes are made when the writer reaches them, through buffers of fixed size. */
#ifndef IO_CAST_H
#define IO_CAST_H

#include "io/source.h"

/* As in tn_convert_options; TN_OPAQUE for none. */
struct cast_rules { tn_dtype dtype, quantize; };

/* USAGE when one of them names a type that it cannot mean. */
tn_code cast_check(const struct cast_rules *rules, tn_error *err);
/* The type that a tensor is to have: its own where no rule applies. */
tn_dtype cast_target(const struct cast_rules *rules, const struct tensor *t);
/* Turns a tensor and its source, which is that of a stored tensor, into the cast ones. Memory comes
 * from the arena, findings (values that did not survive) go to the report while the source is
 * streamed. UNSUPPORTED when the tensor cannot be decoded. */
tn_code cast_tensor(struct tensor *t, struct source *s, tn_dtype to, struct arena *a,
                    struct tn_report *report, tn_error *err);

#endif
