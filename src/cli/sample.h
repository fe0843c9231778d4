/* sample.h - the values of the sample model: the same bytes on every machine. */
#ifndef CLI_SAMPLE_H
#define CLI_SAMPLE_H

#include "tenon.h"

enum { SAMPLE_RANK = 2 };

/* One tensor of the sample. */
struct sample {
	char     name[64];
	tn_dtype dtype;
	uint32_t rank;
	uint64_t shape[SAMPLE_RANK];
};

/* Produces the bytes of a struct sample: a tn_produce_fn. */
tn_code sample_produce(void *ctx, tn_emit *emit, tn_error *err);

#endif
