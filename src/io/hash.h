/* hash.h - BLAKE3 of many tensors at once: streamed, on several threads, one buffer a thread. */
#ifndef IO_HASH_H
#define IO_HASH_H

#include "codec/blake3.h"
#include "io/tensor_read.h"

struct hash_item {
	const struct reader *from;
	const struct tensor *tensor;
	tn_digest            digest; /* out */
	tn_code              code;   /* out: OK, or why it could not be read */
};

tn_code hash_tensor(const struct reader *from, const struct tensor *t, tn_digest *out, tn_error *err);
/* All of them. Where one cannot be read the work goes on if go_on is set and the file is at fault, and its code tells;
 * else it ends with that error. The caller's wish to stop ends it too (USAGE). */
tn_code hash_items(struct hash_item *items, uint64_t n, const tn_work *work, bool go_on, tn_error *err);

#endif
