/* fail.h - saying what went wrong, and what was found: one grammar for people, one for scripts. */
#ifndef CLI_FAIL_H
#define CLI_FAIL_H

#include "cli/cli.h"
#include "cli/js.h"

/* "tenon: FILE: MESSAGE (CODE at byte OFFSET)" on stderr, or the JSON document of a failure on
 * stdout. Returns the exit status that belongs to the code. */
enum status fail(const struct cli *cli, const char *file, const tn_error *err);
/* The same for a failure that the command line itself found. */
enum status fail_with(const struct cli *cli, const char *file, tn_code code, const char *fmt,
                      ...) PRINTF_LIKE(4, 5);
/* The same for a system call that failed; what says which. */
enum status fail_system(const struct cli *cli, const char *file, const char *what, int sys);
/* Arguments that cannot be meant. */
enum status fail_usage(const struct cli *cli, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A failure with the findings that explain it. */
enum status fail_findings(const struct cli *cli, const char *file, const tn_error *err,
                          const tn_report *report);

/* One finding a line on stderr, those of at least this severity. */
void findings_print(const char *file, const tn_report *report, tn_severity least);
/* "key": [FINDING, ...]; report may be NULL. */
void findings_json(struct json *j, const char *key, const tn_report *report);
/* The least severity that the user wants to hear of. */
tn_severity findings_least(const struct cli *cli);

#endif
