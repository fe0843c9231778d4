/* cmd_formats.c - tenon formats: what can be read and written. */
#include "cli/fail.h"
#include "cli/out.h"
#include <string.h>

static void print_table(void)
{
	static const struct column columns[] = {
		{ "NAME", false }, { "EXTENSIONS", false }, { "READ", false }, { "WRITE", false },
	};
	struct table t;
	table_init(&t, columns, 4);
	for (size_t i = 0; i < tn_format_count(); i++) {
		tn_format f = tn_format_at(i);
		text_str(table_cell(&t), f.name);
		text_str(table_cell(&t), f.extensions);
		text_str(table_cell(&t), f.reads ? "yes" : "no");
		text_str(table_cell(&t), f.writes ? "yes" : "no");
	}
	table_print(&t, "", true);
}

static void json_extensions(struct json *j, const char *list)
{
	js_open(js_at(j, "extensions"), '[', JSON_ONE_LINE);
	while (*list != '\0') {
		size_t n = strcspn(list, ",");
		js_string(j, (tn_view){ (const uint8_t *)list, n });
		list += n + (list[n] == ',');
	}
	js_close(j);
}

static void print_json(void)
{
	struct json j;
	js_begin(&j, stdout);
	js_open(&j, '{', JSON_LINES);
	js_open(js_at(&j, "formats"), '[', JSON_LINES);
	for (size_t i = 0; i < tn_format_count(); i++) {
		tn_format f = tn_format_at(i);
		js_open(&j, '{', JSON_ONE_LINE);
		js_string(js_at(&j, "name"), tn_text(f.name));
		json_extensions(&j, f.extensions);
		js_bool(js_at(&j, "read"), f.reads);
		js_bool(js_at(&j, "write"), f.writes);
		js_close(&j);
	}
	js_close(&j);
	js_close(&j);
	js_end(&j);
}

static enum status run(const struct cli *cli, const void *own)
{
	(void)own;
	if (cli->json)
		print_json();
	else
		print_table();
	return STATUS_YES;
}

const struct command cmd_formats = {
	.name = "formats", .args = "", .summary = "List the formats that can be read and written",
	.details = NULL, .options = NULL, .least = 0, .most = 0, .run = run,
};
