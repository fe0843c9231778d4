/* writer.h - what a tn_writer is. */
#ifndef API_WRITER_H
#define API_WRITER_H

#include "format/format.h"

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
};

#endif
