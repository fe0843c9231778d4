/* tape.c - what plan, simulate, profile and info --stats share. */
#include "cli/tape.h"
#include "cli/fail.h"
#include "cli/input.h"
#include "cli/meta.h"
#include "cli/out.h"
#include <stdlib.h>

/* ---- Options ---- */

static bool parse_fraction(const char *text, double *out)
{
	char *end;
	if (text == NULL)
		return true;
	*out = strtod(text, &end);
	return end != text && *end == '\0' && *out > 0 && *out <= 1;
}

bool plan_options(const struct cli *cli, const struct plan_args *args, tn_plan_options *out)
{
	*out = (tn_plan_options){
		.backend = args->backend, .vram = args->vram, .ctx = args->ctx, .batch = args->batch,
		.kv_dtype = args->kv_dtype, .residency = args->residency, .offload_layers = args->offload,
		.prefetch_pages = args->prefetch,
	};
	if (!parse_fraction(args->fraction, &out->gpu_fraction))
		return fail_usage(cli, "--gpu-fraction takes a number over 0, and 1 at most, not '%s'", args->fraction), false;
	return true;
}

/* ---- The estimate ---- */

/* A manifest that breaks its rules is not worth planning with. */
static enum status check(const struct cli *cli, const tn_file *file)
{
	const char *path = cli->args[0];
	tn_verify_options how = { .work = cli_work(cli) };
	tn_report *report;
	tn_error err = { 0 };
	enum status status = STATUS_YES;
	if (tn_verify(file, &how, &report, &err) != TN_OK)
		return fail(cli, path, &err);
	if (tn_report_of(report, TN_ERROR) > 0) {
		err = (tn_error){ .code = TN_E_CORRUPT, .offset = TN_NO_OFFSET, .msg = "it does not pass verification" };
		status = fail_findings(cli, path, &err, report);
	}
	tn_report_free(report);
	return status;
}

enum status tape_estimate(tn_estimate **out, const struct cli *cli, const tn_file *file, tn_estimate_kind kind,
                          const tn_plan_options *options)
{
	tn_error err = { 0 };
	enum status status = check(cli, file);
	if (status == STATUS_YES && tn_estimate_new(out, file, kind, options, &err) != TN_OK)
		status = fail(cli, cli->args[0], &err);
	return status;
}

static void json_tree(struct json *j, const tn_meta *node)
{
	bool map = tn_meta_kind(node) == TN_META_MAP;
	if (!map && tn_meta_kind(node) != TN_META_ARRAY) {
		meta_json(j, node);
		return;
	}
	js_open(j, map ? '{' : '[', JSON_LINES);
	tn_meta_iter it = tn_meta_items(node);
	for (const tn_meta *item; (item = tn_meta_next(&it)) != NULL; )
		json_tree(map ? js_at_view(j, tn_meta_key(item)) : j, item);
	js_close(j);
}

void tape_json(FILE *to, const tn_meta *values)
{
	struct json j;
	js_begin(&j, to);
	json_tree(&j, values);
}

static void show(const struct cli *cli, const tn_meta *values, void (*print)(const struct cli *, const tn_meta *))
{
	if (cli->json) {
		tape_json(stdout, values);
		putchar('\n');
	} else {
		print(cli, values);
	}
}

enum status tape_show(const struct cli *cli, tn_estimate_kind kind, const tn_plan_options *options,
                      void (*print)(const struct cli *cli, const tn_meta *values))
{
	struct input in;
	tn_estimate *estimate;
	enum status status = input_open(&in, cli, cli->args[0]);
	if (status != STATUS_YES)
		return status;
	status = tape_estimate(&estimate, cli, in.file, kind, options);
	if (status == STATUS_YES) {
		show(cli, tn_estimate_values(estimate), print);
		tn_estimate_free(estimate);
	}
	input_close(&in);
	return status;
}

/* ---- For people ---- */

const tn_meta *tape_find(const tn_meta *map, const char *key) { return tn_meta_find(map, tn_text(key)); }

uint64_t tape_uint(const tn_meta *map, const char *key)
{
	uint64_t v = 0;
	tn_meta_u64(tape_find(map, key), &v);
	return v;
}

tn_view tape_view(const tn_meta *map, const char *key)
{
	tn_view v = { 0 };
	tn_meta_string(tape_find(map, key), &v);
	return v;
}

void tape_heading(const char *title)
{
	printf("\n%s%s%s\n", tint(stdout, TINT_HEAD), title, tint(stdout, TINT_NONE));
}

void tape_facts(struct table *t)
{
	static const struct column columns[] = { { "", false }, { "", false } };
	table_init(t, columns, 2);
}

struct text *tape_fact(struct table *t, const char *name)
{
	text_str(table_cell(t), name);
	return table_cell(t);
}

void tape_backend(struct text *t, const tn_meta *values)
{
	tn_view backend = tape_view(values, "backend");
	if (backend.ptr != NULL)
		text_escape(t, backend);
	else
		text_str(t, "any");
}

void tape_strings(const char *title, const tn_meta *array, uint64_t most)
{
	uint64_t n = 0;
	struct text t = { 0 };
	if (tn_meta_count(array) == 0)
		return;
	tape_heading(title);
	tn_meta_iter it = tn_meta_items(array);
	for (const tn_meta *item; n < most && (item = tn_meta_next(&it)) != NULL; n++) {
		tn_view v = { 0 };
		tn_meta_string(item, &v);
		text_str(&t, "  ");
		text_escape(&t, v);
		text_str(&t, "\n");
	}
	if (tn_meta_count(array) > n) {
		text_str(&t, "  ... ");
		text_count(&t, tn_meta_count(array) - n);
		text_str(&t, " more\n");
	}
	out_text(&t);
}
