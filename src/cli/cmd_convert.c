/* cmd_convert.c - tenon convert: a model in another format, or again in its own; and tenon merge: those of several files. */
#include "cli/fail.h"
#include "cli/glob.h"
#include "cli/input.h"
#include "cli/out.h"
#include "cli/target.h"
#include <stdlib.h>
#include <string.h>

struct convert {
	const char     *to, *dtype, *quantize, *config, *arch;
	struct opt_list filter, meta;
	bool            dry_run, in_place, no_config, no_tokenizer, resume;
	uint64_t        align, slack;
	int             endian; /* 0, or what the library calls so */
	struct target_args target;
};

#define AT(field) offsetof(struct convert, field)
static const struct opt options[] = {
	{ "to", 0, OPT_TEXT, AT(to), "FORMAT", "instead of the extension of OUT" },
	{ "filter", 0, OPT_LIST, AT(filter), "GLOB",
	  "only tensors whose names match; may be repeated" },
	{ "meta", 0, OPT_LIST, AT(meta), "K=V", "set a metadata string; may be repeated" },
	{ "dtype", 0, OPT_TEXT, AT(dtype), "TYPE",
	  "cast floating and quantised tensors: f32, f16, bf16, ..." },
	{ "quantize", 0, OPT_TEXT, AT(quantize), "TYPE",
	  "quantise weights, not norms or biases: q8_0, q4_0, apr_q8, ..." },
	{ "dry-run", 0, OPT_FLAG, AT(dry_run), NULL, "only say what would be written and lost" },
	{ "resume", 0, OPT_FLAG, AT(resume), NULL,
	  "keep what is done when stopped; the same command goes on" },
	{ "config", 0, OPT_TEXT, AT(config), "FILE",
	  "config.json of the model, where it is not beside IN" },
	{ "no-config", 0, OPT_FLAG, AT(no_config), NULL, "make nothing of a config.json beside IN" },
	{ "arch", 0, OPT_TEXT, AT(arch), "NAME",
	  "name of the architecture, instead of that in the config" },
	{ "no-tokenizer", 0, OPT_FLAG, AT(no_tokenizer), NULL,
	  "no digests of the tokenizer's files" },
	{ "align", 0, OPT_SIZE, AT(align), "N",
	  "alignment of the data, where the format leaves it free" },
	{ "slack", 0, OPT_SIZE, AT(slack), "N",
	  "leave room for later edits of metadata, where the format can" },
	{ "endian", 0, OPT_CHOICE, AT(endian), "little|big",
	  "byte order of OUT (GGUF), by default that of IN" },
	{ "in-place", 0, OPT_FLAG, AT(in_place), NULL,
	  "write OUT itself, without a temporary file" },
	TARGET_OPTIONS(AT(target)),
	OPT_END
};

static bool chosen(void *ctx, const tn_tensor *tensor)
{
	return glob_any(ctx, tensor->name);
}

/* "K=V" pairs as key, value, key, value, NULL; all in one block. */
static char **split_pairs(const struct cli *cli, const struct opt_list *list)
{
	size_t bytes = (2 * list->n + 1) * sizeof(char *);
	for (size_t i = 0; i < list->n; i++)
		bytes += strlen(list->items[i]) + 1;
	char **pairs = grab(bytes), *to = (char *)(pairs + 2 * list->n + 1);
	for (size_t i = 0; i < list->n; i++) {
		size_t n = strlen(list->items[i]), key = strcspn(list->items[i], "=");
		if (key == 0 || key == n) {
			fail_usage(cli, "--meta takes K=V, not '%s'", list->items[i]);
			free(pairs);
			return NULL;
		}
		memcpy(to, list->items[i], n + 1);
		to[key] = '\0';
		pairs[2 * i] = to;
		pairs[2 * i + 1] = to + key + 1;
		to += n + 1;
	}
	pairs[2 * list->n] = NULL;
	return pairs;
}

static void print_json(const struct cli *cli, const tn_convert_options *how,
                       const tn_converted *done)
{
	struct json j;
	js_begin(&j, stdout);
	js_open(&j, '{', JSON_LINES);
	js_string(js_at(&j, "file"), tn_text(cli->args[0]));
	js_string(js_at(&j, "output"), tn_text(cli->args[1]));
	js_string(js_at(&j, "format"), tn_text(how->format));
	js_uint(js_at(&j, "size"), done->size);
	js_uint(js_at(&j, "tensors"), done->tensors);
	js_bool(js_at(&j, "dry_run"), how->dry_run);
	findings_json(&j, "findings", done->report);
	js_close(&j);
	js_end(&j);
}

/* "out.bpk: burnpack, 23 tensors, 1.2 MiB (1,234,567 bytes)". */
static void print_summary(const struct cli *cli, const tn_convert_options *how,
                          const tn_converted *done, bool refused)
{
	struct text t = { 0 };
	text_escape(&t, tn_text(cli->args[1]));
	text_fmt(&t, ": %s%s, ", how->dry_run ? "would be " : "", how->format);
	text_plural(&t, done->tensors, "tensor");
	text_str(&t, ", ");
	text_exact_size(&t, done->size);
	if (refused)
		text_str(&t, "; refused without --allow-loss");
	text_str(&t, "\n");
	out_text(&t);
}

/* Trouble with the target is told with the name of the target. */
static const char *culprit(const struct cli *cli, const tn_error *err)
{
	return err->code == TN_E_IO && err->offset == TN_NO_OFFSET ? cli->args[1] : cli->args[0];
}

static bool loses(const tn_report *report)
{
	for (size_t i = 0; i < tn_report_count(report); i++)
		if (tn_report_at(report, i).code == TN_E_LOSSY
		    && tn_report_at(report, i).severity >= TN_WARNING)
			return true;
	return false;
}

static enum status failed(const struct cli *cli, const tn_error *err, const tn_report *report)
{
	enum status status = fail_findings(cli, culprit(cli, err), err, report);
	if (err->code == TN_E_LOSSY && !cli->json)
		fprintf(stderr, "nothing was written: --allow-loss leaves these out\n");
	return status;
}

/* A dry run goes on where the conversion would be refused, so that it can tell the size. */
static enum status convert(const struct cli *cli, const tn_file *file,
                           const tn_convert_options *how, bool allow_loss)
{
	tn_converted done = { 0 };
	tn_error err = { 0 };
	enum status status = STATUS_YES;
	if (tn_convert(file, cli->args[1], how, &done, &err) != TN_OK) {
		status = failed(cli, &err, done.report);
	} else {
		bool refused = !allow_loss && loses(done.report);
		status = refused ? STATUS_NO : STATUS_YES;
		if (cli->json) {
			print_json(cli, how, &done);
		} else {
			findings_print(cli->args[0], done.report, findings_least(cli));
			if (!cli->quiet || how->dry_run)
				print_summary(cli, how, &done, refused);
		}
	}
	tn_report_free(done.report);
	return status;
}

/* The type of that name; none when no name is given. Whether it can be cast to is for the library
 * to say. */
static bool named_type(const struct cli *cli, const char *option, const char *name, tn_dtype *out)
{
	*out = TN_OPAQUE;
	if (name == NULL || (tn_dtype_named(name, out) && *out != TN_OPAQUE))
		return true;
	fail_usage(cli, "--%s: there is no type '%s'", option, name);
	return false;
}

static tn_write_options write_options(const struct cli *cli, const struct convert *o)
{
	tn_write_options out = target_options(cli, &o->target);
	out.in_place = o->in_place;
	out.exact_path = true;
	out.align = o->align;
	out.endian = (tn_endian)o->endian;
	out.slack = o->slack;
	return out;
}

/* A shard that stands alone is a mistake: what it lacks would be lacking in OUT. */
static bool is_one_file(const struct cli *cli, const tn_file *file)
{
	const char *path = tn_file_part_at(file, 0).path;
	return tn_file_part_count(file) == 1 && (path == NULL || strcmp(path, cli->args[0]) == 0);
}

static enum status run(const struct cli *cli, const void *own)
{
	const struct convert *o = own;
	tn_format format;
	struct input in;
	struct opt_list filter = o->filter;
	tn_dtype dtype, quantize;
	if (!named_type(cli, "dtype", o->dtype, &dtype) ||
	    !named_type(cli, "quantize", o->quantize, &quantize))
		return STATUS_USAGE;
	enum status status = target_format(cli, o->to, cli->args[1], &format);
	if (status != STATUS_YES)
		return status;
	char **pairs = split_pairs(cli, &o->meta);
	if (pairs == NULL)
		return STATUS_USAGE;
	status = input_open(&in, cli, cli->args[0]);
	if (status == STATUS_YES && cli->command == &cmd_merge && is_one_file(cli, in.file)) {
		status = fail_usage(cli, "'%s' is one file: name the folder or the index of a set", cli->args[0]);
		input_close(&in);
	} else if (status == STATUS_YES) {
		tn_convert_options how = {
			.format = format.name,
			.write = write_options(cli, o),
			.select = chosen, .select_ctx = &filter,
			.set = (const char *const *)pairs, .dtype = dtype, .quantize = quantize,
			.dry_run = o->dry_run, .resume = o->resume,
			.config = o->config, .no_config = o->no_config,
			.no_tokenizer = o->no_tokenizer, .arch = o->arch,
		};
		how.write.allow_loss |= o->dry_run;
		status = convert(cli, in.file, &how, o->target.allow_loss);
		input_close(&in);
	}
	free(pairs);
	return status;
}

const struct command cmd_convert = {
	.name = "convert", .args = "IN OUT",
	.summary = "Write a file in another format, or again in its own",
	.details = "Everything travels: what the format of OUT has no place for goes into an\n"
	           "envelope in its metadata and comes back from there. What would be lost is\n"
	           "listed and refused (exit status 1) unless --allow-loss is given. OUT appears\n"
	           "whole or not at all, except with --in-place.\n",
	.options = options, .size = sizeof(struct convert), .least = 2, .most = 2, .run = run,
};

const struct command cmd_merge = {
	.name = "merge", .args = "IN OUT",
	.summary = "Write the files of a set as one",
	.details = "IN is the folder of the set, its index, or one of its shards where the shards say\n"
	           "that they are such. The shards stay as they are. OUT may be of any format: this is\n"
	           "'tenon convert' for sets, and for nothing else.\n",
	.options = options, .size = sizeof(struct convert), .least = 2, .most = 2, .run = run,
};
