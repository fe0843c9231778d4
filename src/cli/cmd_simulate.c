/* cmd_simulate.c - tenon simulate: what is read while a model's execution tape is played; reckoned, or with --run
 * done. */
#include "cli/fail.h"
#include "cli/out.h"
#include "cli/play.h"
#include "cli/tape.h"
#include <stdlib.h>

enum { FEW = 8 };

struct simulate {
	struct plan_args plan;
	bool             run;
	uint64_t         tokens, budget;
};

#define AT(field) offsetof(struct simulate, field)
static const struct opt options[] = {
	PLAN_OPTIONS(offsetof(struct simulate, plan)),
	{ "prefetch-pages", 0, OPT_COUNT, AT(plan.prefetch), "N", "pages a request (4)" },
	{ "run", 0, OPT_FLAG, AT(run), NULL, "play the tape over the file and measure" },
	{ "tokens", 0, OPT_COUNT, AT(tokens), "K", "--run: how often to play it (1)" },
	{ "budget", 0, OPT_MEMORY, AT(budget), "SIZE", "--run: memory for pages (the --vram)" },
	OPT_END
};

/* ---- For people ---- */

struct row {
	const char *name, *key;
	bool        bytes;
};

static void print_rows(const char *title, const tn_meta *values, const struct row *rows, size_t n)
{
	struct table t;
	tape_facts(&t);
	for (size_t i = 0; i < n; i++) {
		struct text *cell = tape_fact(&t, rows[i].name);
		if (rows[i].bytes)
			text_exact_size(cell, tape_uint(values, rows[i].key));
		else
			text_count(cell, tape_uint(values, rows[i].key));
	}
	if (title != NULL)
		tape_heading(title);
	table_print(&t, title != NULL ? "  " : "", false);
}
#define PRINT_ROWS(title, values, rows) print_rows(title, values, rows, sizeof(rows) / sizeof *(rows))

static void print_numbers(const tn_meta *values)
{
	static const struct row tape[] = {
		{ "context", "ctx_tokens", false }, { "batch", "batch_size", false }, { "stages", "stage_count", false },
		{ "page references", "execution_page_refs", false }, { "to the next page", "sequential_transitions", false },
		{ "to another page", "nonsequential_transitions", false }, { "backwards", "backward_jumps", false },
	};
	static const struct row resident[] = {
		{ "pages", "resident_pages", false }, { "initial read", "initial_archive_read_bytes", true },
		{ "runs of pages", "resident_read_groups", false }, { "requests", "resident_prefetch_io_ops_initial", false },
		{ "memory", "peak_memory_bytes", true },
	};
	static const struct row streamed[] = {
		{ "pages", "streamed_pages", false }, { "runs of pages", "stream_read_groups", false },
		{ "requests", "prefetch_io_ops_per_token", false }, { "longest run", "max_stream_group_bytes", true },
		{ "staging", "recommended_staging_bytes", true }, { "weights", "streamed_weight_bytes_per_token", true },
		{ "kv writes", "kv_write_bytes_per_token", true }, { "moved in all", "estimated_bytes_moved_per_token", true },
	};
	PRINT_ROWS(NULL, values, tape);
	PRINT_ROWS("resident", values, resident);
	PRINT_ROWS("streamed, for each token", values, streamed);
}

struct stage {
	tn_view  name;
	uint64_t bytes, pages, place;
};

static int by_bytes(const void *a, const void *b)
{
	const struct stage *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

/* Those that stream anything, the most first. */
static size_t sort_stages(const tn_meta *loads, struct stage *out)
{
	size_t n = 0;
	uint64_t place = 0;
	tn_meta_iter it = tn_meta_items(loads);
	for (const tn_meta *s; (s = tn_meta_next(&it)) != NULL; place++)
		if (tape_uint(s, "streamed_bytes") > 0)
			out[n++] = (struct stage){
				tape_view(s, "stage"), tape_uint(s, "streamed_bytes"), tape_uint(s, "streamed_refs"), place,
			};
	qsort(out, n, sizeof *out, by_bytes);
	return n;
}

static void print_stages(const tn_meta *loads)
{
	static const struct column columns[] = { { "STAGE", false }, { "STREAMED", true }, { "PAGES", true } };
	struct stage *stages = grab(((size_t)tn_meta_count(loads) + 1) * sizeof *stages);
	size_t n = sort_stages(loads, stages);
	struct table t;
	table_init(&t, columns, 3);
	for (size_t i = 0; i < n && i < FEW; i++) {
		text_escape(table_cell(&t), stages[i].name);
		text_bytes(table_cell(&t), stages[i].bytes);
		text_count(table_cell(&t), stages[i].pages);
	}
	if (n > 0)
		tape_heading("stages that stream most");
	table_print(&t, "  ", n > 0);
	free(stages);
}

/* ---- The command ---- */

static void print_text(const struct cli *cli, const tn_meta *values)
{
	(void)cli;
	print_numbers(values);
	print_stages(tape_find(values, "stage_loads"));
}

static enum status run(const struct cli *cli, const void *own)
{
	const struct simulate *o = own;
	tn_plan_options how;
	uint64_t budget = o->budget != 0 ? o->budget : o->plan.vram;
	if (budget == 0 || (!o->run && o->plan.vram == 0))
		return fail_usage(cli, "--vram says how much memory the device has");
	if (!o->run && (o->tokens != 0 || o->budget != 0))
		return fail_usage(cli, "--tokens and --budget belong to --run");
	if (!plan_options(cli, &o->plan, &how))
		return STATUS_USAGE;
	if (o->run)
		return play(cli, &(struct play){ .budget = budget, .tokens = o->tokens, .prefetch = o->plan.prefetch });
	return tape_show(cli, TN_ESTIMATE_LOAD, &how, print_text);
}

const struct command cmd_simulate = {
	.name = "simulate", .args = "FILE",
	.summary = "Reckon, or measure, what is read when an execution tape is played",
	.details = "Without --run an estimate from the index of a ThinTensor archive. With it the tape\n"
	           "of any model is played over FILE three times: through a map, through a cache of\n"
	           "pages within the budget, and through it with the next pages asked for early.\n",
	.options = options, .size = sizeof(struct simulate), .least = 1, .most = 1, .run = run,
};
