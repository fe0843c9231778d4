/* loss.h - what a file to be written lacks of the one that was read. */
#ifndef API_LOSS_H
#define API_LOSS_H

#include "api/file.h"

/* What opening said of the file that is to be written as another one, without its notes. What could not be read (an error), and
 * what the model has no place for (LOSSY), is lost by that: an error unless it is allowed. */
void    loss_of_opening(const tn_file *f, bool allowed, struct tn_report *r);
/* LOSSY, with the first error of the report; OK where it has none. */
tn_code loss_refuse(const struct tn_report *r, tn_error *err);

#endif
