/* report.h - findings, collected. */
#ifndef MODEL_REPORT_H
#define MODEL_REPORT_H

#include "base/arena.h"

/* Texts and names are copied into the report's own arena. A flood of like findings is cut: after
 * REPORT_MAX the rest are only counted, and the last finding says how many were left out. */
enum { REPORT_MAX = 10000 };

struct tn_report {
	struct arena mem;
	tn_finding  *list;
	size_t       n, cap;
	size_t       of[3];     /* by severity, those left out included */
	uint64_t     left_out;
	char        *summary;   /* the last finding's text once some are left out */
	bool         failed;    /* memory ran out: the report is incomplete */
};

void report_init(struct tn_report *r);
void report_fini(struct tn_report *r);
/* A finding about the whole file: tensor is the empty view with ptr NULL. */
void report_add(struct tn_report *r, tn_severity severity, tn_code code, uint64_t offset, tn_view tensor,
                const char *fmt, ...) PRINTF_LIKE(6, 7);
/* Copies every finding of from, and the number of those that it left out. */
void report_copy(struct tn_report *r, const struct tn_report *from);
/* The same, "FILE: " in front of each text. */
void report_copy_as(struct tn_report *r, const struct tn_report *from, const char *file);
/* The first finding of this code; NULL when there is none. */
const tn_finding *report_first(const struct tn_report *r, tn_code code);

static const tn_view NO_TENSOR = { NULL, 0 };

#endif
