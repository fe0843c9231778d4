/* qfloat_scheme.h - a tensor's "qfloat" extras as the scheme that its numbers are read by. */
#ifndef IO_QFLOAT_SCHEME_H
#define IO_QFLOAT_SCHEME_H

#include "model/model.h"
#include "value/qfloat.h"

/* Also finds the parts of the payload, where the tensor has elements. UNSUPPORTED, in words that
 * name the tensor, where the numbers do not follow from the file. */
tn_code qfloat_scheme(const struct tensor *t, struct qfloat *out, tn_error *err);

#endif
