/* read.h - what the parts of the reader share. */
#ifndef FORMAT_THIN_READ_H
#define FORMAT_THIN_READ_H

#include "format/thin/layout.h"
#include "format/thin/manifest.h"

/* A slice of a page that has a record. */
struct part {
	uint64_t record, off, size, tensor;
};

/* A page of kind fused_physical. */
struct parent {
	struct page page;
	uint64_t    record;
	bool        whole; /* the sum of its slices: no tensor of its own */
};

/* Extras that were made before, by what they hold. */
enum { CACHED = 256 };
struct cached {
	struct page     page;
	struct tn_meta *extras;
};

struct opening {
	struct parse_job  *job;
	struct thin_header h;
	struct thin_table  table;
	struct manifest    m;
	struct tensor *tensors;
	uint64_t       n, cap;
	tn_view       *ids;      /* of all pages, in the manifest's order */
	uint64_t       n_ids, cap_ids;
	struct part   *parts;
	uint64_t       n_parts, cap_parts;
	struct parent *parents;
	uint64_t       n_parents, cap_parents;
	struct cached *cache;    /* [CACHED] */
	uint64_t       physical; /* bytes of all pages that are no slices */
	uint64_t       last;     /* record that was found last */
	uint64_t       passed;   /* of the file: read, and given back */
};

bool thin_read_no_memory(struct opening *o);

/* ---- Extras and native values: maps that are filled ---- */

struct filling {
	struct arena   *mem;
	struct tn_meta *map;
	bool            ok;
};

/* A member; none where v.ptr is NULL. */
void fill_string(struct filling *f, const char *key, tn_view v);
void fill_uint(struct filling *f, const char *key, bool there, uint64_t v, unsigned width);
/* What a page says that a tensor does not. plainly: its dtype is the tensor's. */
void fill_page(struct filling *f, const struct page *p, bool plainly);

/* Whether the page's word for its dtype is our own. */
bool thin_spelled_plainly(const struct page *p, tn_dtype d);
bool thin_set_extras(struct opening *o, struct tensor *t, const struct page *p);
/* What the writer would not make of the model by itself: orders, tape, memory plan, alignment. */
bool thin_set_native(struct opening *o);

#endif
