/* cmd_split.c - tenon split: a model into several files. */
#include "cli/fail.h"
#include "cli/input.h"
#include "cli/out.h"
#include "cli/target.h"
#include <string.h>

struct split {
	const char        *to, *name;
	uint64_t           max_size, max_tensors;
	bool               even, dry_run;
	struct target_args target;
};

#define AT(field) offsetof(struct split, field)
static const struct opt options[] = {
	{ "max-size", 0, OPT_SIZE, AT(max_size), "SIZE",
	  "bytes of tensors in a shard (5GB); a larger tensor gets one alone" },
	{ "max-tensors", 0, OPT_COUNT, AT(max_tensors), "N", "tensors in a shard" },
	{ "even", 0, OPT_FLAG, AT(even), NULL, "as few shards as needed, of even sizes" },
	{ "name", 0, OPT_TEXT, AT(name), "STEM",
	  "begins the names: STEM-00001-of-00003.EXT (model)" },
	{ "to", 0, OPT_TEXT, AT(to), "FORMAT", "instead of the format of IN" },
	{ "dry-run", 0, OPT_FLAG, AT(dry_run), NULL, "only say what would be written" },
	TARGET_OPTIONS(AT(target)),
	OPT_END
};

static void print_json(const struct cli *cli, const struct split *o, const char *format,
                       const tn_shards *shards)
{
	struct json j;
	js_begin(&j, stdout);
	js_open(&j, '{', JSON_LINES);
	js_string(js_at(&j, "file"), tn_text(cli->args[0]));
	js_string(js_at(&j, "output"), tn_text(cli->args[1]));
	js_string(js_at(&j, "format"), tn_text(format));
	js_bool(js_at(&j, "dry_run"), o->dry_run);
	js_open(js_at(&j, "shards"), '[', JSON_LINES);
	for (size_t i = 0; i < tn_shards_count(shards); i++) {
		tn_shard s = tn_shards_at(shards, i);
		js_open(&j, '{', JSON_ONE_LINE);
		js_string(js_at(&j, "name"), tn_text(s.name));
		js_uint(js_at(&j, "size"), s.size);
		js_uint(js_at(&j, "tensors"), s.tensors);
		js_close(&j);
	}
	js_close(&j);
	if (tn_shards_index(shards) != NULL)
		js_string(js_at(&j, "index"), tn_text(tn_shards_index(shards)));
	else
		js_null(js_at(&j, "index"));
	findings_json(&j, "findings", tn_shards_report(shards));
	js_close(&j);
	js_end(&j);
}

static void print_table(const tn_shards *shards)
{
	static const struct column columns[] = {
		{ "NAME", false }, { "TENSORS", true }, { "SIZE", true },
	};
	struct table t;
	table_init(&t, columns, 3);
	for (size_t i = 0; i < tn_shards_count(shards); i++) {
		tn_shard s = tn_shards_at(shards, i);
		text_escape(table_cell(&t), tn_text(s.name));
		text_count(table_cell(&t), s.tensors);
		text_bytes(table_cell(&t), s.size);
	}
	table_print(&t, "", true);
}

/* "out: 3 shards and model.safetensors.index.json". */
static void print_summary(const struct cli *cli, const struct split *o, const tn_shards *shards)
{
	struct text t = { 0 };
	print_table(shards);
	text_escape(&t, tn_text(cli->args[1]));
	text_fmt(&t, ": %s", o->dry_run ? "would be " : "");
	text_plural(&t, tn_shards_count(shards), "shard");
	if (tn_shards_index(shards) != NULL) {
		text_str(&t, " and ");
		text_escape(&t, tn_text(tn_shards_index(shards)));
	}
	text_str(&t, "\n");
	out_text(&t);
}

static enum status split(const struct cli *cli, const struct split *o, const tn_file *file)
{
	tn_split_options how = {
		.format = o->to, .stem = o->name, .max_size = o->max_size,
		.max_tensors = o->max_tensors, .even = o->even, .dry_run = o->dry_run,
		.write = target_options(cli, &o->target),
	};
	tn_shards *shards;
	tn_error err = { 0 };
	enum status status = STATUS_YES;
	if (tn_split(file, cli->args[1], &how, &shards, &err) != TN_OK) {
		bool target = err.code == TN_E_IO || err.code == TN_E_USAGE;
		status = fail_findings(cli, cli->args[target ? 1 : 0], &err,
		                       shards != NULL ? tn_shards_report(shards) : NULL);
	} else if (cli->json) {
		print_json(cli, o, o->to != NULL ? o->to : tn_file_format(file), shards);
	} else {
		findings_print(cli->args[0], tn_shards_report(shards), findings_least(cli));
		if (!cli->quiet || o->dry_run)
			print_summary(cli, o, shards);
	}
	tn_shards_free(shards);
	return status;
}

static enum status run(const struct cli *cli, const void *own)
{
	struct input in;
	enum status status = input_open(&in, cli, cli->args[0]);
	if (status != STATUS_YES)
		return status;
	status = split(cli, own, in.file);
	input_close(&in);
	return status;
}

const struct command cmd_split = {
	.name = "split", .args = "IN DIR", .summary = "Write a model as several files and their index",
	.details = "Tensors stay whole and in order; a shard ends before it would pass a limit. DIR is\n"
	           "made where it is missing; where it holds files of that name already, nothing is\n"
	           "written. The shards appear when all of them are complete, the index last.\n"
	           "'tenon merge' is the way back.\n",
	.options = options, .size = sizeof(struct split), .least = 2, .most = 2, .run = run,
};
