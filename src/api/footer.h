/* footer.h - the checksum at the end of a file, compared while its tensors pass into another one.
 *
 * An APR file has one CRC-32, over all of its bytes. Where all of its tensors are written they are looked at in passing,
 * in whatever order, and only the head and the gaps are read besides: nothing is read twice for it. */
#ifndef API_FOOTER_H
#define API_FOOTER_H

#include "api/file.h"

struct footers;

/* Makes sources, which are of f's tensors as they are stored, look at what they stream. *out is NULL where no file of f
 * has a footer; it lives in mem. */
tn_code footers_watch(const tn_file *f, struct source *sources, uint64_t n, struct arena *mem, struct footers **out,
                      tn_error *err);
/* To be asked when all has been streamed. CHECKSUM where the bytes are not those of the footer; with tolerate that is a
 * warning instead. A file of which not everything was streamed (tensors left out, compressed, or written by an earlier
 * run) is not judged. NULL is allowed. */
tn_code footers_check(const struct footers *w, bool tolerate, struct arena *mem, struct tn_report *report, tn_error *err);

#endif
