/* part.h - one file of a model, opened and parsed by itself: the only one, or a shard of a set. */
#ifndef API_PART_H
#define API_PART_H

#include "format/format.h"

struct part {
	const char          *path;    /* as it was asked for; the caller's, while the file is opened */
	char                *actual;  /* what was opened, a copy; NULL in memory */
	uint64_t             shard;   /* which file of its set it is */
	const struct part   *first;   /* the first file of that set, where it has been opened before this one; else NULL */
	struct arena         mem;     /* this file's model */
	struct sys_file      file;    /* fd of -1 when the bytes are in memory */
	struct reader        reader;
	uint8_t             *head;    /* the file's first bytes where it is not mapped */
	const struct format *format;
	struct model         model;
	struct strmap        names;   /* tensor names -> indices */
	struct tn_report     report;  /* what opening this file tolerated */
	bool                 mend;    /* read over what a rewrite mends */
	struct tn_report     mended;  /* that was read over */
};

/* An empty part that part_close can take; budget is for its model. */
void    part_init(struct part *p, uint64_t budget);
void    part_close(struct part *p);
/* Finds the bytes, detects the format, parses, applies the common laws. On failure the part is still to be closed.
 * path must outlive the part; with a format's extension rule the file opened may be path.bpk. */
tn_code part_open(struct part *p, const char *path, const tn_open_options *opt, tn_error *err);
tn_code part_open_memory(struct part *p, tn_view bytes, const tn_open_options *opt, tn_error *err);

#endif
