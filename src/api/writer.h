/* writer.h - what a tn_writer is. */
#ifndef API_WRITER_H
#define API_WRITER_H

#include "api/file.h"
#include "api/save.h"

struct tn_writer {
	struct arena         mem;     /* names, shapes, metadata */
	const struct format *format;
	tn_write_options     options;
	struct model         model;   /* model.tensors is tensors */
	struct tensor       *tensors;
	struct source       *sources;
	uint64_t             cap;
	struct strmap        names;
	struct tn_report     report;  /* of the last size or save */
	struct footers      *footers; /* of the file that it was made of */
	const tn_file       *origin;  /* of tn_writer_of; else NULL */
};

/* Room for cap tensors, more than there are; false when memory is out. */
bool        writer_grow(tn_writer *w, uint64_t cap);
/* Hooks a new node, NULL when memory ran out, into its container under a copy of the key. */
tn_code     writer_put(tn_writer *w, tn_meta *to, tn_view key, struct tn_meta *node, tn_error *err);
/* Tells a container and those in it how deep they stand; false when one stands deeper than META_DEPTH: no other may be put
 * into that. */
bool        writer_set_depth(struct tn_meta *node, unsigned depth);
/* A save of the writer's model, to be begun. */
struct save writer_save(tn_writer *w, tn_error *err);

#endif
