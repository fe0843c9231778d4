/* scheme_read.h - a quantisation scheme in the metadata, of the current keys or of the old ones. */
#ifndef BURNPACK_SCHEME_READ_H
#define BURNPACK_SCHEME_READ_H

#include "format/burnpack/legacy.h"
#include "format/burnpack/walk.h"

/* Reads the payload of the variant QFloat, with depth containers open around it. */
bool scheme_read(struct walk *w, unsigned depth, struct scheme_in *out);

#endif
