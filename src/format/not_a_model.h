/* not_a_model.h - what a file is that no format knows.
 *
 * The fault that users meet most is no broken model but a file that is something else: a pointer, an error page, a
 * checkpoint of another kind. Its first bytes say which. */
#ifndef FORMAT_NOT_A_MODEL_H
#define FORMAT_NOT_A_MODEL_H

#include "base/err.h"

/* Fills err with what the file is and what to do about it: UNSUPPORTED for a model of a format that this version
 * does not read, else FORMAT. ext is the extension of its name without the dot, or "". Returns the code. */
tn_code not_a_model(tn_view head, uint64_t file_size, const char *ext, tn_error *err);

#endif
