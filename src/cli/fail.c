/* fail.c - saying what went wrong, and what was found: one grammar for people, one for scripts. */
#include "cli/fail.h"
#include "cli/out.h"
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

static enum status status_of(tn_code code)
{
	switch (code) {
	case TN_OK:          return STATUS_YES;
	case TN_E_LOSSY:
	case TN_E_NOTFOUND:  return STATUS_NO;
	case TN_E_USAGE:     return STATUS_USAGE;
	case TN_E_NOMEM:
	case TN_E_IO:        return STATUS_SYSTEM;
	case TN_E_FORMAT:
	case TN_E_UNSUPPORTED:
	case TN_E_TRUNCATED:
	case TN_E_CORRUPT:
	case TN_E_CHECKSUM:
	case TN_E_LIMIT:     break;
	}
	return STATUS_INPUT;
}

static void text_place(struct text *t, tn_code code, uint64_t offset)
{
	bool named = code != TN_OK, placed = offset != TN_NO_OFFSET; /* notes have no code */
	if (!named && !placed)
		return;
	text_fmt(t, " (%s%s", named ? tn_code_name(code) : "", named && placed ? " " : "");
	if (placed)
		text_fmt(t, "at byte %" PRIu64, offset);
	text_str(t, ")");
}

static void print_failure(const char *file, const tn_error *err)
{
	struct text t = { 0 };
	text_str(&t, "tenon: ");
	if (file != NULL) {
		text_escape(&t, tn_text(file));
		text_str(&t, ": ");
	}
	text_str(&t, err->msg);
	text_place(&t, err->code, err->offset);
	fflush(stdout);
	fprintf(stderr, "%s\n", text_is(&t));
	text_free(&t);
}

static void json_offset(struct json *j, uint64_t offset)
{
	if (offset == TN_NO_OFFSET)
		js_null(js_at(j, "offset"));
	else
		js_uint(js_at(j, "offset"), offset);
}

static void json_failure(const char *file, const tn_error *err, const tn_report *report)
{
	struct json j;
	js_begin(&j, stdout);
	js_open(&j, '{', JSON_LINES);
	if (file != NULL)
		js_string(js_at(&j, "file"), tn_text(file));
	else
		js_null(js_at(&j, "file"));
	js_open(js_at(&j, "error"), '{', JSON_ONE_LINE);
	js_string(js_at(&j, "code"), tn_text(tn_code_name(err->code)));
	json_offset(&j, err->offset);
	js_string(js_at(&j, "message"), tn_text(err->msg));
	if (err->kind != NULL)
		js_string(js_at(&j, "kind"), tn_text(err->kind));
	js_close(&j);
	if (report != NULL)
		findings_json(&j, "findings", report);
	js_close(&j);
	js_end(&j);
}

enum status fail_findings(const struct cli *cli, const char *file, const tn_error *err,
                          const tn_report *report)
{
	if (cli->json) {
		json_failure(file, err, report);
	} else {
		if (report != NULL)
			findings_print(file, report, findings_least(cli));
		print_failure(file, err);
	}
	return status_of(err->code);
}

enum status fail(const struct cli *cli, const char *file, const tn_error *err)
{
	return fail_findings(cli, file, err, NULL);
}

/* Arguments come from a terminal or a script: they are escaped like the bytes of a file. */
static void error_list(tn_error *err, tn_code code, const char *fmt, va_list ap) PRINTF_LIKE(3, 0);
static void error_list(tn_error *err, tn_code code, const char *fmt, va_list ap)
{
	char raw[sizeof err->msg];
	struct text t = { 0 };
	*err = (tn_error){ .code = code, .offset = TN_NO_OFFSET };
	vsnprintf(raw, sizeof raw, fmt, ap);
	text_clip(&t, tn_text(raw), 160);
	snprintf(err->msg, sizeof err->msg, "%s", text_is(&t));
	text_free(&t);
}

enum status fail_with(const struct cli *cli, const char *file, tn_code code, const char *fmt, ...)
{
	va_list ap;
	tn_error err;
	va_start(ap, fmt);
	error_list(&err, code, fmt, ap);
	va_end(ap);
	return fail(cli, file, &err);
}

enum status fail_system(const struct cli *cli, const char *file, const char *what, int sys)
{
	return fail_with(cli, file, TN_E_IO, "%s: %s", what, strerror(sys));
}

enum status fail_usage(const struct cli *cli, const char *fmt, ...)
{
	va_list ap;
	tn_error err;
	va_start(ap, fmt);
	error_list(&err, TN_E_USAGE, fmt, ap);
	va_end(ap);
	if (cli->json)
		return fail(cli, NULL, &err);
	const char *name = cli->command != NULL ? cli->command->name : NULL;
	if (name != NULL)
		fprintf(stderr, "tenon: %s: %s\ntry 'tenon help %s'\n", name, err.msg, name);
	else
		fprintf(stderr, "tenon: %s\ntry 'tenon help'\n", err.msg);
	return STATUS_USAGE;
}

/* ---- Findings ---- */

tn_severity findings_least(const struct cli *cli)
{
	return cli->verbose ? TN_NOTE : cli->quiet ? TN_ERROR : TN_WARNING;
}

static enum tint severity_tint(tn_severity s)
{
	return s == TN_ERROR ? TINT_RED : s == TN_WARNING ? TINT_YELLOW : TINT_DIM;
}

void findings_print(const char *file, const tn_report *report, tn_severity least)
{
	fflush(stdout);
	for (size_t i = 0; i < tn_report_count(report); i++) {
		tn_finding f = tn_report_at(report, i);
		if (f.severity < least)
			continue;
		struct text t = { 0 };
		text_str(&t, "tenon: ");
		text_escape(&t, tn_text(file));
		text_fmt(&t, ": %s%s", tint(stderr, severity_tint(f.severity)),
		         tn_severity_name(f.severity));
		text_fmt(&t, "%s: %s", tint(stderr, TINT_NONE), f.text);
		text_place(&t, f.code, f.offset);
		fprintf(stderr, "%s\n", text_is(&t));
		text_free(&t);
	}
}

static void finding_json(struct json *j, const tn_finding *f)
{
	js_open(j, '{', JSON_ONE_LINE);
	js_string(js_at(j, "severity"), tn_text(tn_severity_name(f->severity)));
	js_string(js_at(j, "code"), tn_text(tn_code_name(f->code)));
	json_offset(j, f->offset);
	if (f->tensor.ptr != NULL)
		js_string(js_at(j, "tensor"), f->tensor);
	else
		js_null(js_at(j, "tensor"));
	js_string(js_at(j, "message"), tn_text(f->text));
	js_close(j);
}

void findings_json(struct json *j, const char *key, const tn_report *report)
{
	size_t n = report != NULL ? tn_report_count(report) : 0;
	js_open(js_at(j, key), '[', JSON_LINES);
	for (size_t i = 0; i < n; i++) {
		tn_finding f = tn_report_at(report, i);
		finding_json(j, &f);
	}
	js_close(j);
}
