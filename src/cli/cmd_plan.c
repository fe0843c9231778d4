/* cmd_plan.c - tenon plan: what of a model is resident on a device, and whether it fits. */
#include "cli/fail.h"
#include "cli/out.h"
#include "cli/tape.h"

enum { FEW = 20 };

struct plan {
	struct plan_args plan;
};

static const struct opt options[] = {
	PLAN_OPTIONS(offsetof(struct plan, plan)),
	OPT_END
};

static void print_question(const tn_meta *values)
{
	struct table t;
	tape_facts(&t);
	tape_backend(tape_fact(&t, "backend"), values);
	text_exact_size(tape_fact(&t, "device"), tape_uint(values, "vram_bytes"));
	text_exact_size(tape_fact(&t, "usable"), tape_uint(values, "usable_vram_bytes"));
	text_count(tape_fact(&t, "context"), tape_uint(values, "ctx_tokens"));
	text_count(tape_fact(&t, "batch"), tape_uint(values, "batch_size"));
	struct text *kv = tape_fact(&t, "kv cache");
	text_str(kv, "16 bits for ");
	text_count(kv, tape_uint(tape_find(values, "kv_policy"), "recent_tokens_high_precision"));
	text_str(kv, " tokens, then ");
	text_escape(kv, tape_view(values, "kv_dtype"));
	struct text *residency = tape_fact(&t, "residency");
	text_escape(residency, tape_view(values, "weight_residency"));
	if (tape_uint(values, "offload_layers") > 0)
		text_fmt(residency, ", n = %llu", (unsigned long long)tape_uint(values, "offload_layers"));
	table_print(&t, "", false);
}

static void print_bytes(const tn_meta *values)
{
	static const struct {
		const char *name, *key;
	} rows[] = {
		{ "resident weights", "weights_bytes" }, { "scratch", "scratch_bytes" }, { "kv cache", "kv_cache_bytes" },
		{ "metadata", "metadata_bytes" }, { "total", "total_bytes" }, { "streamed weights", "streamed_weight_bytes" },
		{ "all weights", "total_weight_bytes" }, { "all weights in the file", "physical_weight_bytes" },
	};
	struct table t;
	tape_facts(&t);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		text_exact_size(tape_fact(&t, rows[i].name), tape_uint(values, rows[i].key));
	tape_heading("bytes");
	table_print(&t, "  ", false);
}

static void print_text(const struct cli *cli, const tn_meta *values)
{
	struct text t = { 0 };
	print_question(values);
	tape_strings("resident pages", tape_find(values, "resident"), cli->verbose ? UINT64_MAX : FEW);
	print_bytes(values);
	text_str(&t, "\nstatus  ");
	text_escape(&t, tape_view(values, "status"));
	text_str(&t, "\n");
	out_text(&t);
	tape_strings("suggestions", tape_find(values, "suggestions"), UINT64_MAX);
}

static enum status run(const struct cli *cli, const void *own)
{
	const struct plan *o = own;
	tn_plan_options how;
	if (o->plan.vram == 0)
		return fail_usage(cli, "--vram says how much memory the device has");
	if (!plan_options(cli, &o->plan, &how))
		return STATUS_USAGE;
	return tape_show(cli, TN_ESTIMATE_PLAN, &how, print_text);
}

const struct command cmd_plan = {
	.name = "plan", .args = "FILE",
	.summary = "Tell whether a model with an execution tape fits a device",
	.details = "An estimate from the index of a ThinTensor archive. Long lists are cut; -v shows\nthem whole.\n",
	.options = options, .size = sizeof(struct plan), .least = 1, .most = 1, .run = run,
};
