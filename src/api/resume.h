/* resume.h - the files beside a target while a conversion that can be resumed is not finished. */
#ifndef API_RESUME_H
#define API_RESUME_H

#include "format/format.h"

/* NAME.conversion-plan.json: what was found out before the first byte. */
tn_code resume_plan_path(const struct format *f, const char *path, const tn_write_options *opt, struct arena *mem,
                         const char **out, tn_error *err);

#endif
