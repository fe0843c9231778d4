/* resume.h - the files beside a target while a conversion that can be resumed is not finished. */
#ifndef API_RESUME_H
#define API_RESUME_H

#include "format/format.h"

/* NAME.conversion-plan.json: what was found out before the first byte. */
tn_code resume_plan_path(const struct format *f, const char *path, const tn_write_options *opt, struct arena *mem,
                         const char **out, tn_error *err);
/* A text file that appears whole or not at all, and always through the same temporary file: a process that is killed
 * while it writes one leaves nothing that the next one does not take up. */
tn_code resume_write_text(const char *path, tn_view text, bool sync, tn_error *err);

#endif
