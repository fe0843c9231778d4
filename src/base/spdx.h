/* spdx.h - licence expressions as SPDX defines them: "MIT", "Apache-2.0 OR (GPL-2.0-or-later WITH
 * Classpath-exception-2.0)", "LicenseRef-ours". */
#ifndef BASE_SPDX_H
#define BASE_SPDX_H

#include "base/view.h"

enum { SPDX_LICENCES = 699, SPDX_EXCEPTIONS = 79 };
extern const char *const spdx_licences[SPDX_LICENCES];
extern const char *const spdx_exceptions[SPDX_EXCEPTIONS];

/* Is the text a licence expression, its identifiers known? Their case does not count. Where it
 * is none, *bad is the word that is wrong, empty at the end of the text. */
bool spdx_ok(tn_view text, tn_view *bad);

#endif
