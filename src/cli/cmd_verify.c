/* cmd_verify.c - tenon verify: everything worth saying about a file, and a verdict. */
#include "cli/fail.h"
#include "cli/input.h"
#include "cli/out.h"
#include <inttypes.h>

struct verify {
	bool deep;
};

#define AT(field) offsetof(struct verify, field)
static const struct opt options[] = {
	{ "deep", 0, OPT_FLAG, AT(deep), NULL, "read every byte: digests, bool values, padding" },
	OPT_END
};

static void text_tensor(struct text *t, tn_view name)
{
	if (name.ptr != NULL)
		text_clip(t, name, 48);
	else
		text_str(t, "-");
}

static void print_findings(const tn_report *report, tn_severity least)
{
	static const struct column columns[] = {
		{ "SEVERITY", false }, { "CODE", false }, { "OFFSET", true }, { "TENSOR", false },
		{ "MESSAGE", false },
	};
	struct table t;
	table_init(&t, columns, 5);
	for (size_t i = 0; i < tn_report_count(report); i++) {
		tn_finding f = tn_report_at(report, i);
		if (f.severity < least)
			continue;
		text_str(table_cell(&t), tn_severity_name(f.severity));
		text_str(table_cell(&t), f.code != TN_OK ? tn_code_name(f.code) : "-");
		if (f.offset == TN_NO_OFFSET)
			text_str(table_cell(&t), "-");
		else
			text_fmt(table_cell(&t), "%" PRIu64, f.offset);
		text_tensor(table_cell(&t), f.tensor);
		text_str(table_cell(&t), f.text);
	}
	if (t.n > 0)
		table_print(&t, "", true);
}

static void text_counts(struct text *t, const tn_report *report)
{
	static const tn_severity order[] = { TN_ERROR, TN_WARNING, TN_NOTE };
	const char *between = "";
	for (size_t i = 0; i < 3; i++) {
		size_t n = tn_report_of(report, order[i]);
		if (n == 0)
			continue;
		text_str(t, between);
		text_plural(t, n, tn_severity_name(order[i]));
		between = ", ";
	}
}

/* "model.bpk: ok", "model.bpk: not ok: 2 errors, 1 note". */
static void print_verdict(const char *path, const tn_report *report)
{
	struct text t = { 0 };
	bool ok = tn_report_of(report, TN_ERROR) == 0;
	text_escape(&t, tn_text(path));
	text_fmt(&t, ": %s%s", tint(stdout, ok ? TINT_GREEN : TINT_RED), ok ? "ok" : "not ok");
	text_str(&t, tint(stdout, TINT_NONE));
	if (tn_report_count(report) > 0) {
		text_str(&t, ": ");
		text_counts(&t, report);
	}
	text_str(&t, "\n");
	out_text(&t);
}

static void print_json(const char *path, const tn_file *file, const tn_report *report)
{
	struct json j;
	js_begin(&j, stdout);
	js_open(&j, '{', JSON_LINES);
	js_string(js_at(&j, "file"), tn_text(path));
	js_string(js_at(&j, "format"), tn_text(tn_file_format(file)));
	js_bool(js_at(&j, "ok"), tn_report_of(report, TN_ERROR) == 0);
	findings_json(&j, "findings", report);
	js_close(&j);
	js_end(&j);
}

static enum status verify(const struct cli *cli, const struct verify *o, const tn_file *file)
{
	const char *path = cli->args[0];
	tn_verify_options how = { .deep = o->deep, .work = cli_work(cli) };
	tn_report *report;
	tn_error err = { 0 };
	if (tn_verify(file, &how, &report, &err) != TN_OK)
		return fail(cli, path, &err);
	if (cli->json) {
		print_json(path, file, report);
	} else {
		print_findings(report, cli->quiet ? TN_ERROR : TN_NOTE);
		if (!cli->quiet || tn_report_of(report, TN_ERROR) > 0)
			print_verdict(path, report);
	}
	enum status status = tn_report_of(report, TN_ERROR) == 0 ? STATUS_YES : STATUS_NO;
	tn_report_free(report);
	return status;
}

static enum status run(const struct cli *cli, const void *own)
{
	struct input in;
	enum status status = input_open(&in, cli, cli->args[0]);
	if (status != STATUS_YES)
		return status;
	status = verify(cli, own, in.file);
	input_close(&in);
	return status;
}

const struct command cmd_verify = {
	.name = "verify", .args = "FILE", .summary = "Check a file and list everything found",
	.details = "Exit status: 0 when no finding is an error, 1 when one is, 3 when the file\n"
	           "cannot be opened at all.\n",
	.options = options, .size = sizeof(struct verify), .least = 1, .most = 1, .run = run,
};
