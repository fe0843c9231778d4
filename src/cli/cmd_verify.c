/* cmd_verify.c - tenon verify: everything worth saying about a file, and a verdict. */
#include "cli/fail.h"
#include "cli/input.h"
#include "cli/out.h"
#include "cli/signals.h"
#include <inttypes.h>
#include <string.h>

struct verify {
	bool        deep, no_sums, rebuild;
	const char *repair, *output;
};

#define AT(field) offsetof(struct verify, field)
static const struct opt options[] = {
	{ "deep", 0, OPT_FLAG, AT(deep), NULL, "read every byte: digests, bool values, padding" },
	{ "no-sums", 0, OPT_FLAG, AT(no_sums), NULL, "do not compare SHA-256 with what is known of it" },
	{ "rebuild-index", 0, OPT_FLAG, AT(rebuild), NULL,
	  "make the index of a set anew from its files" },
	{ "output", 'o', OPT_TEXT, AT(output), "OUT", "where --rebuild-index writes it" },
	{ "repair", 0, OPT_TEXT, AT(repair), "OUT",
	  "write to OUT what can be mended without guessing" },
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

static bool has_any(const tn_report *report, tn_severity least)
{
	for (size_t i = 0; i < tn_report_count(report); i++)
		if (tn_report_at(report, i).severity >= least)
			return true;
	return false;
}

static void text_counts(struct text *t, const tn_report *report, tn_severity least)
{
	static const tn_severity order[] = { TN_ERROR, TN_WARNING, TN_NOTE };
	const char *between = "";
	for (size_t i = 0; i < 3; i++) {
		size_t n = tn_report_of(report, order[i]);
		if (n == 0 || order[i] < least)
			continue;
		text_str(t, between);
		text_plural(t, n, tn_severity_name(order[i]));
		between = ", ";
	}
}

/* "model.bpk: ok", "model.bpk: not ok: 2 errors, 1 note". */
static void print_verdict(const char *path, const tn_report *report, tn_severity least)
{
	struct text t = { 0 };
	bool ok = tn_report_of(report, TN_ERROR) == 0;
	text_escape(&t, tn_text(path));
	text_fmt(&t, ": %s%s", tint(stdout, ok ? TINT_GREEN : TINT_RED), ok ? "ok" : "not ok");
	text_str(&t, tint(stdout, TINT_NONE));
	if (has_any(report, least)) {
		text_str(&t, ": ");
		text_counts(&t, report, least);
	}
	text_str(&t, "\n");
	out_text(&t);
}

static void print_json(const char *path, const char *format, const tn_report *report)
{
	struct json j;
	js_begin(&j, stdout);
	js_open(&j, '{', JSON_LINES);
	js_string(js_at(&j, "file"), tn_text(path));
	js_string(js_at(&j, "format"), tn_text(format));
	js_bool(js_at(&j, "ok"), tn_report_of(report, TN_ERROR) == 0);
	findings_json(&j, "findings", report);
	js_close(&j);
	js_end(&j);
}

static enum status print(const struct cli *cli, const char *format, const tn_report *report)
{
	const char *path = cli->args[0];
	bool ok = tn_report_of(report, TN_ERROR) == 0;
	if (cli->json) {
		print_json(path, format, report);
	} else {
		tn_severity least = cli->quiet ? TN_ERROR : TN_NOTE;
		print_findings(report, least);
		if (!cli->quiet || !ok)
			print_verdict(path, report, least);
	}
	return ok ? STATUS_YES : STATUS_NO;
}

/* Standard input: bytes without a name, and nothing beside them. */
static enum status verify_stdin(const struct cli *cli, const tn_verify_options *how)
{
	struct input in;
	tn_report *report;
	tn_error err = { 0 };
	enum status status = input_open(&in, cli, cli->args[0]);
	if (status != STATUS_YES)
		return status;
	if (tn_verify(in.file, how, &report, &err) != TN_OK) {
		status = fail(cli, cli->args[0], &err);
	} else {
		status = print(cli, tn_file_format(in.file), report);
		tn_report_free(report);
	}
	input_close(&in);
	return status;
}

/* ---- Mending ---- */

static void json_mended(const struct cli *cli, const tn_report *report)
{
	struct json j;
	js_begin(&j, stdout);
	js_open(&j, '{', JSON_LINES);
	js_string(js_at(&j, "file"), tn_text(cli->args[0]));
	findings_json(&j, "changes", report);
	js_close(&j);
	js_end(&j);
}

static enum status mend(const struct cli *cli, const struct verify *o, const tn_open_options *open)
{
	tn_write_options write = { .max_memory = cli->max_memory, .work = cli_work(cli) };
	tn_report *report;
	tn_error err = { 0 };
	enum status status = STATUS_YES;
	tn_code code = o->rebuild
		? tn_rebuild_index(cli->args[0], o->output, open, &write, &report, &err)
		: tn_repair(cli->args[0], o->repair, open, &write, &report, &err);
	if (code != TN_OK)
		status = fail_findings(cli, cli->args[0], &err, report);
	else if (cli->json)
		json_mended(cli, report);
	else if (!cli->quiet)
		print_findings(report, TN_NOTE);
	tn_report_free(report);
	return status;
}

static bool options_fit(const struct cli *cli, const struct verify *o)
{
	bool from_stdin = strcmp(cli->args[0], "-") == 0;
	if (o->output != NULL && !o->rebuild)
		fail_usage(cli, "-o goes with --rebuild-index");
	else if (o->rebuild && o->repair != NULL)
		fail_usage(cli, "--rebuild-index and --repair exclude each other");
	else if ((o->deep || o->no_sums) && (o->rebuild || o->repair != NULL))
		fail_usage(cli, "%s goes with checking: check what was mended afterwards", o->deep ? "--deep" : "--no-sums");
	else if (from_stdin && (o->rebuild || o->repair != NULL))
		fail_usage(cli, "standard input cannot be mended: name a file");
	else
		return true;
	return false;
}

static enum status run(const struct cli *cli, const void *own)
{
	const struct verify *o = own;
	tn_verify_options how = { .deep = o->deep, .no_sums = o->no_sums, .work = cli_work(cli) };
	tn_open_options open;
	tn_verified done;
	tn_error err = { 0 };
	enum status status = input_options(cli, &open);
	if (status != STATUS_YES)
		return status;
	if (!options_fit(cli, o))
		return STATUS_USAGE;
	if (o->rebuild || o->repair != NULL)
		return mend(cli, o, &open);
	if (strcmp(cli->args[0], "-") == 0)
		return verify_stdin(cli, &how);
	signals_watch(cli->args[0], NULL, 0);
	if (tn_verify_path(cli->args[0], &open, &how, &done, &err) != TN_OK)
		return fail(cli, cli->args[0], &err);
	status = print(cli, done.format, done.report);
	tn_report_free(done.report);
	return status;
}

const struct command cmd_verify = {
	.name = "verify", .args = "FILE", .summary = "Check a file or a set and list everything found",
	.details = "FILE may be the folder or the index of a set: index, files and headers are then\n"
	           "compared in all directions. The SHA-256 of a file is compared with the name of its\n"
	           "blob in a Hugging Face cache, an LFS pointer beside it, and FILE.sha256.\n"
	           "Exit status: 0 when no finding is an error, 1 when one is, 3 when the file\n"
	           "cannot be opened at all. With --repair and --rebuild-index: 0 when what could be\n"
	           "mended is, or nothing had to be; nothing else is checked.\n",
	.options = options, .size = sizeof(struct verify), .least = 1, .most = 1, .run = run,
};
