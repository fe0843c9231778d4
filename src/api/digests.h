/* digests.h - the digests of a file's tensors, kept in a small file from run to run while a long conversion is not
 * finished. They hold as long as no input has another path, size or time of change. */
#ifndef API_DIGESTS_H
#define API_DIGESTS_H

#include "api/file.h"

struct known {
	const tn_file        *f;
	const struct tensor **stored;
	const uint64_t       *which;   /* [n] of stored */
	uint64_t              n;
	tn_digest            *digests; /* [n] */
};

/* *found is false where there is no such file, or it does not hold. */
tn_code digests_load(struct known *k, const char *path, struct arena *mem, bool *found, tn_error *err);
tn_code digests_save(const struct known *k, const char *path, struct arena *mem, tn_error *err);

#endif
