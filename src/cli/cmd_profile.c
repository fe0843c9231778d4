/* cmd_profile.c - tenon profile: six ways to run a model on a device, and which to take. */
#include "cli/fail.h"
#include "cli/input.h"
#include "cli/out.h"
#include "cli/outfile.h"
#include "cli/tape.h"
#include <errno.h>

enum { FEW = 8 };

struct profile {
	struct plan_args plan;
	const char      *out;
};

#define AT(field) offsetof(struct profile, field)
static const struct opt options[] = {
	{ "target-vram", 0, OPT_MEMORY, AT(plan.vram), "SIZE", "memory of the device: 8GB and 8GiB are the same" },
	{ "backend", 0, OPT_TEXT, AT(plan.backend), "NAME", "whose layouts stay resident beside 'generic' (all layouts)" },
	{ "ctx", 0, OPT_COUNT, AT(plan.ctx), "N", "tokens of context (4096)" },
	{ "batch", 0, OPT_COUNT, AT(plan.batch), "N", "sequences at a time (1)" },
	{ "out", 'o', OPT_TEXT, AT(out), "OUT", "write the profile as JSON there as well" },
	OPT_END
};

static void print_choice(const tn_meta *values)
{
	struct table t;
	tape_facts(&t);
	tape_backend(tape_fact(&t, "backend"), values);
	text_exact_size(tape_fact(&t, "device"), tape_uint(values, "target_vram_bytes"));
	text_count(tape_fact(&t, "context"), tape_uint(values, "ctx_tokens"));
	text_count(tape_fact(&t, "batch"), tape_uint(values, "batch_size"));
	text_escape(tape_fact(&t, "status"), tape_view(values, "status"));
	text_escape(tape_fact(&t, "selected"), tape_view(values, "selected_candidate"));
	text_escape(tape_fact(&t, "layout"), tape_view(values, "recommended_layout"));
	text_escape(tape_fact(&t, "kv codec"), tape_view(values, "kv_codec_recommendation"));
	text_count(tape_fact(&t, "hot pages"), tn_meta_count(tape_find(values, "always_hot_pages")));
	text_count(tape_fact(&t, "streamable pages"), tn_meta_count(tape_find(values, "streamable_pages")));
	text_count(tape_fact(&t, "offload candidates"), tn_meta_count(tape_find(values, "cpu_offload_candidates")));
	table_print(&t, "", false);
}

static void print_candidates(const tn_meta *candidates)
{
	static const struct column columns[] = {
		{ "CANDIDATE", false }, { "STATUS", false }, { "TOTAL", true }, { "RESIDENT", true }, { "STREAMED", true },
		{ "KV CACHE", true },
	};
	struct table t;
	table_init(&t, columns, 6);
	tn_meta_iter it = tn_meta_items(candidates);
	for (const tn_meta *c; (c = tn_meta_next(&it)) != NULL; ) {
		text_escape(table_cell(&t), tape_view(c, "name"));
		text_escape(table_cell(&t), tape_view(c, "status"));
		text_bytes(table_cell(&t), tape_uint(c, "total_bytes"));
		text_bytes(table_cell(&t), tape_uint(c, "resident_weight_bytes"));
		text_bytes(table_cell(&t), tape_uint(c, "streamed_weight_bytes"));
		text_bytes(table_cell(&t), tape_uint(c, "kv_cache_bytes"));
	}
	tape_heading("candidates");
	table_print(&t, "  ", true);
}

static void print_largest(const tn_meta *pages)
{
	static const struct column columns[] = { { "PAGE", false }, { "SIZE", true }, { "ROLE", false } };
	struct table t;
	uint64_t n = 0;
	table_init(&t, columns, 3);
	tn_meta_iter it = tn_meta_items(pages);
	for (const tn_meta *p; n < FEW && (p = tn_meta_next(&it)) != NULL; n++) {
		text_escape(table_cell(&t), tape_view(p, "id"));
		text_bytes(table_cell(&t), tape_uint(p, "raw_bytes"));
		text_escape(table_cell(&t), tape_view(p, "op"));
	}
	tape_heading("largest pages");
	table_print(&t, "  ", true);
}

static void print_text(const tn_meta *values)
{
	print_choice(values);
	print_candidates(tape_find(values, "candidates"));
	print_largest(tape_find(values, "biggest_memory_offenders"));
	tape_strings("notes", tape_find(values, "notes"), UINT64_MAX);
}

/* Upstream's file of a profile ends without a newline. */
static enum status write_file(const struct cli *cli, const char *path, const tn_meta *values)
{
	struct outfile out;
	if (!outfile_open(&out, path))
		return fail_system(cli, path, "create", errno);
	tape_json(out.to, values);
	return outfile_commit(&out) ? STATUS_YES : fail_system(cli, path, "write", errno);
}

static enum status profile(const struct cli *cli, const struct profile *o, const tn_plan_options *how,
                           const tn_file *file)
{
	tn_estimate *estimate;
	enum status status = tape_estimate(&estimate, cli, file, TN_ESTIMATE_PROFILE, how);
	if (status != STATUS_YES)
		return status;
	const tn_meta *values = tn_estimate_values(estimate);
	if (o->out != NULL)
		status = write_file(cli, o->out, values);
	if (status == STATUS_YES && cli->json) {
		tape_json(stdout, values);
		putchar('\n');
	} else if (status == STATUS_YES) {
		print_text(values);
	}
	tn_estimate_free(estimate);
	return status;
}

static enum status run(const struct cli *cli, const void *own)
{
	const struct profile *o = own;
	struct input in;
	tn_plan_options how;
	if (o->plan.vram == 0)
		return fail_usage(cli, "--target-vram says how much memory the device has");
	if (!plan_options(cli, &o->plan, &how))
		return STATUS_USAGE;
	enum status status = input_open(&in, cli, cli->args[0]);
	if (status != STATUS_YES)
		return status;
	status = profile(cli, o, &how, in.file);
	input_close(&in);
	return status;
}

const struct command cmd_profile = {
	.name = "profile", .args = "FILE",
	.summary = "Compare six ways to run a model with an execution tape on a device",
	.details = "An estimate from the index of a ThinTensor archive.\n",
	.options = options, .size = sizeof(struct profile), .least = 1, .most = 1, .run = run,
};
