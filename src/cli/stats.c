/* stats.c - info --stats: a file's pages by size and by what they are, and how its execution tape uses them. */
#include "cli/stats.h"
#include "cli/out.h"
#include "cli/tape.h"

enum { FEW = 12 };

static uint64_t shown(const struct cli *cli) { return cli->verbose ? UINT64_MAX : FEW; }

static void print_archive(const tn_meta *values)
{
	const tn_meta *model = tape_find(values, "model");
	static const struct {
		const char *name, *key;
	} numbers[] = {
		{ "layers", "layers" }, { "hidden size", "hidden_size" }, { "heads", "heads" }, { "kv heads", "kv_heads" },
	};
	struct table t;
	tape_facts(&t);
	text_escape(tape_fact(&t, "arch"), tape_view(model, "arch"));
	text_escape(tape_fact(&t, "dtype"), tape_view(model, "dtype"));
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		text_count(tape_fact(&t, numbers[i].name), tape_uint(model, numbers[i].key));
	text_exact_size(tape_fact(&t, "archive"), tape_uint(values, "archive_bytes"));
	text_exact_size(tape_fact(&t, "manifest"), tape_uint(values, "manifest_bytes"));
	text_count(tape_fact(&t, "data at"), tape_uint(values, "data_offset"));
	text_count(tape_fact(&t, "pages"), tape_uint(values, "page_count"));
	text_count(tape_fact(&t, "records"), tape_uint(values, "page_table_records"));
	text_exact_size(tape_fact(&t, "raw bytes"), tape_uint(values, "total_raw_bytes"));
	text_exact_size(tape_fact(&t, "stored bytes"), tape_uint(values, "total_stored_bytes"));
	table_print(&t, "", false);
}

static void print_tape(const tn_meta *tape)
{
	static const struct {
		const char *name, *key;
	} rows[] = {
		{ "stages", "stage_count" }, { "page references", "page_ref_count" }, { "pages used", "referenced_page_count" },
		{ "stages without pages", "empty_stage_count" },
	};
	struct table t;
	tape_facts(&t);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		text_count(tape_fact(&t, rows[i].name), tape_uint(tape, rows[i].key));
	text_count(tape_fact(&t, "pages not used"), tn_meta_count(tape_find(tape, "unreferenced_pages")));
	text_count(tape_fact(&t, "pages used again"), tn_meta_count(tape_find(tape, "duplicate_page_refs")));
	tape_heading("execution tape");
	table_print(&t, "  ", false);
}

static void print_largest(const tn_meta *pages, uint64_t most)
{
	static const struct column columns[] = {
		{ "PAGE", false }, { "SIZE", true }, { "KIND", false }, { "ROLE", false }, { "LAYER", true }, { "USES", true },
	};
	struct table t;
	uint64_t n = 0, layer;
	table_init(&t, columns, 6);
	tn_meta_iter it = tn_meta_items(pages);
	for (const tn_meta *p; n < most && (p = tn_meta_next(&it)) != NULL; n++) {
		text_escape(table_cell(&t), tape_view(p, "id"));
		text_bytes(table_cell(&t), tape_uint(p, "raw_bytes"));
		text_escape(table_cell(&t), tape_view(p, "kind"));
		text_escape(table_cell(&t), tape_view(p, "op"));
		struct text *cell = table_cell(&t);
		if (tn_meta_u64(tape_find(p, "layer"), &layer))
			text_count(cell, layer);
		else
			text_str(cell, "-");
		text_count(table_cell(&t), tape_uint(p, "referenced_stages"));
	}
	tape_heading("largest pages");
	table_print(&t, "  ", true);
}

/* key names what the buckets are of: "name", or "layer", a number. */
static void print_buckets(const char *title, const tn_meta *list, const char *key, uint64_t most)
{
	static const struct column columns[] = { { "", false }, { "", true }, { "", true }, { "", false } };
	struct table t;
	uint64_t n = 0;
	table_init(&t, columns, 4);
	tn_meta_iter it = tn_meta_items(list);
	for (const tn_meta *b; n < most && (b = tn_meta_next(&it)) != NULL; n++) {
		tn_view name = tape_view(b, key);
		struct text *cell = table_cell(&t);
		if (name.ptr != NULL)
			text_escape(cell, name);
		else
			text_count(cell, tape_uint(b, key));
		text_bytes(table_cell(&t), tape_uint(b, "raw_bytes"));
		text_count(table_cell(&t), tape_uint(b, "pages"));
		text_str(table_cell(&t), tape_uint(b, "pages") == 1 ? "page" : "pages");
	}
	if (n > 0)
		tape_heading(title);
	table_print(&t, "  ", false);
	if (tn_meta_count(list) > n)
		printf("  ... %llu more\n", (unsigned long long)(tn_meta_count(list) - n));
}

static void print_text(const struct cli *cli, const tn_meta *values)
{
	const tn_meta *tape = tape_find(values, "execution");
	uint64_t most = shown(cli);
	print_archive(values);
	print_tape(tape);
	print_largest(tape_find(values, "largest_pages"), most);
	print_buckets("roles", tape_find(values, "per_op"), "name", most);
	print_buckets("kinds", tape_find(values, "by_kind"), "name", most);
	print_buckets("dtypes", tape_find(values, "by_dtype"), "name", most);
	print_buckets("layouts", tape_find(values, "by_backend_layout"), "name", most);
	print_buckets("layers", tape_find(values, "per_layer"), "layer", most);
	tape_strings("pages not used", tape_find(tape, "unreferenced_pages"), most);
	tape_strings("pages of unknown role", tape_find(values, "unknown_op_pages"), most);
}

enum status stats(const struct cli *cli, const tn_file *file)
{
	tn_estimate *estimate;
	enum status status = tape_estimate(&estimate, cli, file, TN_ESTIMATE_STATS, NULL);
	if (status != STATUS_YES)
		return status;
	if (cli->json) {
		tape_json(stdout, tn_estimate_values(estimate));
		putchar('\n');
	} else {
		print_text(cli, tn_estimate_values(estimate));
	}
	tn_estimate_free(estimate);
	return STATUS_YES;
}
