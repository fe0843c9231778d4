/* cmd_stamp.c - tenon stamp: says in an APR file where the model comes from. */
#define _POSIX_C_SOURCE 200809L
#include "cli/fail.h"
#include "cli/input.h"
#include "cli/out.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct stamp {
	const char *license, *data_source, *data_license, *architecture;
	const char *hf_architecture, *hf_model_type;
	const char *vocabulary, *merges, *tokenizer_model;
	bool        force, no_sync;
};

#define AT(field) offsetof(struct stamp, field)
static const struct opt options[] = {
	{ "license", 0, OPT_TEXT, AT(license), "SPDX",
	  "of the weights: Apache-2.0, LicenseRef-ours" },
	{ "data-source", 0, OPT_TEXT, AT(data_source), "TEXT", "what it was trained on" },
	{ "data-license", 0, OPT_TEXT, AT(data_license), "SPDX", "of that" },
	{ "architecture", 0, OPT_TEXT, AT(architecture), "NAME", "the family: llama, qwen2" },
	{ "hf-architecture", 0, OPT_TEXT, AT(hf_architecture), "NAME",
	  "the class: Qwen2ForCausalLM" },
	{ "hf-model-type", 0, OPT_TEXT, AT(hf_model_type), "NAME",
	  "the model_type of config.json" },
	{ "vocabulary", 0, OPT_TEXT, AT(vocabulary), "FILE", "the tokenizer's tokens, one a line" },
	{ "merges", 0, OPT_TEXT, AT(merges), "FILE", "its merges, one a line, as in merges.txt" },
	{ "tokenizer-model", 0, OPT_TEXT, AT(tokenizer_model), "NAME", "its kind: bpe, unigram" },
	{ "force", 'f', OPT_FLAG, AT(force), NULL, "also when OUT exists" },
	{ "no-sync", 0, OPT_FLAG, AT(no_sync), NULL, "do not wait for the disk" },
	OPT_END
};

/* ---- Lists of lines ---- */

struct lines {
	struct text text;
	tn_view *list;
	size_t   n;
};

/* The last line may lack its end; one that is empty is an empty token, except at the end of the
 * file. */
static void split(struct lines *l)
{
	size_t cap = 0, from = 0, len = l->text.n;
	while (from < len) {
		const char *at = l->text.p + from, *end = memchr(at, '\n', len - from);
		size_t n = end != NULL ? (size_t)(end - at) : len - from;
		if (l->n == cap) {
			cap = cap > 0 ? 2 * cap : 1024;
			l->list = grab_again(l->list, cap * sizeof *l->list);
		}
		l->list[l->n++] = (tn_view){ (const uint8_t *)at, n };
		from += n + 1;
	}
}

/* path may be NULL: no list. */
static enum status read_lines(const struct cli *cli, const char *path, struct lines *l)
{
	if (path == NULL)
		return STATUS_YES;
	enum status status = input_text(&l->text, cli, path);
	if (status != STATUS_YES)
		return status;
	l->list = grab(sizeof *l->list); /* an empty file is an empty list, which is there */
	split(l);
	return STATUS_YES;
}

static void free_lines(struct lines *l)
{
	free(l->list);
	text_free(&l->text);
}

/* merges.txt begins with a line that names its version. */
static void skip_version(struct lines *l)
{
	static const char mark[] = "#version";
	if (l->n == 0 || l->list[0].len < sizeof mark - 1 ||
	    memcmp(l->list[0].ptr, mark, sizeof mark - 1) != 0)
		return;
	l->n--;
	memmove(l->list, l->list + 1, l->n * sizeof *l->list);
}

/* ---- The command ---- */

static void print_result(const struct cli *cli, const tn_converted *done)
{
	struct text t = { 0 };
	if (cli->json) {
		struct json j;
		js_begin(&j, stdout);
		js_open(&j, '{', JSON_LINES);
		js_string(js_at(&j, "file"), tn_text(cli->args[0]));
		js_string(js_at(&j, "output"), tn_text(cli->args[1]));
		js_uint(js_at(&j, "size"), done->size);
		js_uint(js_at(&j, "tensors"), done->tensors);
		findings_json(&j, "findings", done->report);
		js_close(&j);
		js_end(&j);
		return;
	}
	findings_print(cli->args[0], done->report, findings_least(cli));
	if (cli->quiet)
		return;
	text_escape(&t, tn_text(cli->args[1]));
	text_str(&t, ": stamped, ");
	text_plural(&t, done->tensors, "tensor");
	text_str(&t, ", ");
	text_exact_size(&t, done->size);
	text_str(&t, "\n");
	out_text(&t);
}

/* What was written must open: the stamp is worth nothing on a file that does not. */
static enum status read_again(const struct cli *cli)
{
	struct input in;
	enum status status = input_open(&in, cli, cli->args[1]);
	if (status == STATUS_YES)
		input_close(&in);
	return status;
}

static enum status write_stamped(const struct cli *cli, const struct stamp *o, const tn_file *file,
                                 const tn_apr_stamp *stamp)
{
	tn_write_options write = {
		.no_sync = o->no_sync, .exact_path = true, .max_memory = cli->max_memory,
		.work = cli_work(cli),
	};
	tn_converted done = { 0 };
	tn_error err = { 0 };
	enum status status;
	if (tn_apr_stamp_file(file, cli->args[1], stamp, &write, &done, &err) != TN_OK) {
		bool target = err.code == TN_E_IO && err.offset == TN_NO_OFFSET;
		status = fail_findings(cli, cli->args[target], &err, done.report);
	} else if ((status = read_again(cli)) == STATUS_YES) {
		print_result(cli, &done);
	}
	tn_report_free(done.report);
	return status;
}

static enum status stamp(const struct cli *cli, const struct stamp *o,
                         const struct lines *vocabulary, const struct lines *merges)
{
	struct input in;
	const tn_apr_stamp stamp = {
		.license = o->license,
		.data_license = o->data_license,
		.data_source = o->data_source,
		.hf_architecture = o->hf_architecture,
		.hf_model_type = o->hf_model_type,
		.architecture = o->architecture,
		.vocabulary = vocabulary->list,
		.n_vocabulary = vocabulary->n,
		.merges = merges->list,
		.n_merges = merges->n,
		.tokenizer_model_type = o->tokenizer_model,
	};
	enum status status = input_open(&in, cli, cli->args[0]);
	if (status != STATUS_YES)
		return status;
	status = write_stamped(cli, o, in.file, &stamp);
	input_close(&in);
	return status;
}

static enum status run(const struct cli *cli, const void *own)
{
	const struct stamp *o = own;
	struct lines vocabulary = { 0 }, merges = { 0 };
	if (strcmp(cli->args[1], "-") == 0)
		return fail_usage(cli, "OUT must be a file: it appears whole or not at all");
	if (!o->force && access(cli->args[1], F_OK) == 0)
		return fail_usage(cli, "'%s' exists: --force replaces it", cli->args[1]);
	enum status status = read_lines(cli, o->vocabulary, &vocabulary);
	if (status == STATUS_YES)
		status = read_lines(cli, o->merges, &merges);
	skip_version(&merges);
	if (status == STATUS_YES)
		status = stamp(cli, o, &vocabulary, &merges);
	free_lines(&vocabulary);
	free_lines(&merges);
	return status;
}

const struct command cmd_stamp = {
        .name = "stamp",
        .args = "IN OUT",
        .summary = "Say in an APR file where the model comes from",
        .details = "IN is written again with the fields that are given; all else stays. The "
	           "tensors stand in\n"
                   "the order of their names afterwards; where they did before, their bytes are "
		   "moved\n"
                   "without being read. The same stamp again gives the same bytes.\n",
        .options = options,
        .size = sizeof(struct stamp),
        .least = 2,
        .most = 2,
        .run = run,
};
