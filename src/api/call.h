/* call.h - the first line of every public function: an error to write to, cleared. */
#ifndef API_CALL_H
#define API_CALL_H

#include "base/err.h"

/* err is the caller's or, when that is NULL, storage that nobody looks at. */
#define CALL_BEGIN(err)                  \
	tn_error call_scratch;               \
	if ((err) == NULL)                   \
		(err) = &call_scratch;           \
	err_clear(err)

enum { DEFAULT_MEMORY = 1 << 30 }; /* bytes for the index of one file, or one save */

#endif
