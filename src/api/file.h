/* file.h - what a tn_file is. */
#ifndef API_FILE_H
#define API_FILE_H

#include "format/format.h"

struct tn_file {
	struct arena         mem;     /* the whole model */
	struct sys_file      file;    /* fd of -1 when the bytes are in memory */
	struct reader        reader;
	uint8_t             *head;    /* the file's first bytes where it is not mapped */
	const struct format *format;
	struct model         model;
	struct strmap        names;   /* tensor names -> indices */
	struct tn_report     report;  /* what opening tolerated */
	bool                 enveloped; /* the model is not what the container shows, but what it was made from */
};

#endif
