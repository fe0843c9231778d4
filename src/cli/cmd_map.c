/* cmd_map.c - tenon map: who owns which bytes of a file, gaps included. */
#include "cli/fail.h"
#include "cli/input.h"
#include "cli/out.h"
#include <inttypes.h>
#include <string.h>

static const char *const kinds[] = {
	[TN_REGION_HEADER] = "header", [TN_REGION_INDEX] = "index", [TN_REGION_TENSOR] = "tensor",
	[TN_REGION_PADDING] = "padding", [TN_REGION_GAP] = "gap", [TN_REGION_TRAILING] = "trailing",
	[TN_REGION_FOOTER] = "footer",
};

static void text_owner(struct text *t, const tn_file *file, const tn_region *r)
{
	if (r->tensor != SIZE_MAX)
		text_escape(t, tn_tensor_at(file, r->tensor).name);
	else if (r->label != NULL && strcmp(r->label, kinds[r->kind]) != 0)
		text_str(t, r->label);
}

static void print_table(const tn_file *file, const tn_map *map)
{
	static const struct column columns[] = {
		{ "OFFSET", true }, { "END", true }, { "SIZE", true }, { "KIND", false },
		{ "OWNER", false }, { "FILE", false },
	};
	bool set = tn_file_part_count(file) > 1;
	struct table t;
	table_init(&t, columns, set ? 6 : 5);
	for (size_t i = 0; i < tn_map_count(map); i++) {
		tn_region r = tn_map_at(map, i);
		text_fmt(table_cell(&t), "%" PRIu64, r.offset);
		text_fmt(table_cell(&t), "%" PRIu64, sum(r.offset, r.len));
		text_bytes(table_cell(&t), r.len);
		text_str(table_cell(&t), kinds[r.kind]);
		text_owner(table_cell(&t), file, &r);
		if (set)
			text_escape(table_cell(&t), tn_text(input_part(file, r.part)));
	}
	table_print(&t, "", true);
}

static void json_region(struct json *j, const tn_file *file, const tn_region *r)
{
	js_open(j, '{', JSON_ONE_LINE);
	js_uint(js_at(j, "offset"), r->offset);
	js_uint(js_at(j, "length"), r->len);
	js_string(js_at(j, "kind"), tn_text(kinds[r->kind]));
	if (r->tensor != SIZE_MAX)
		js_string(js_at(j, "tensor"), tn_tensor_at(file, r->tensor).name);
	else
		js_null(js_at(j, "tensor"));
	if (tn_file_part_count(file) > 1)
		js_string(js_at(j, "part"), tn_text(input_part(file, r->part)));
	js_close(j);
}

static void print_json(const char *path, const tn_file *file, const tn_map *map)
{
	struct json j;
	js_begin(&j, stdout);
	js_open(&j, '{', JSON_LINES);
	js_string(js_at(&j, "file"), tn_text(path));
	js_string(js_at(&j, "format"), tn_text(tn_file_format(file)));
	js_uint(js_at(&j, "size"), tn_file_size(file));
	js_open(js_at(&j, "regions"), '[', JSON_LINES);
	for (size_t i = 0; i < tn_map_count(map); i++) {
		tn_region r = tn_map_at(map, i);
		json_region(&j, file, &r);
	}
	js_close(&j);
	js_close(&j);
	js_end(&j);
}

static enum status run(const struct cli *cli, const void *own)
{
	const char *path = cli->args[0];
	struct input in;
	tn_map *map;
	tn_error err = { 0 };
	(void)own;
	enum status status = input_open(&in, cli, path);
	if (status != STATUS_YES)
		return status;
	if (tn_map_new(&map, in.file, &err) != TN_OK)
		status = fail(cli, path, &err);
	else if (cli->json)
		print_json(path, in.file, map);
	else
		print_table(in.file, map);
	tn_map_free(map);
	input_close(&in);
	return status;
}

const struct command cmd_map = {
	.name = "map", .args = "FILE", .summary = "Show who owns which bytes, gaps included",
	.details = "Kinds: header, index, tensor, padding (the format asks for it), gap (nothing\n"
	           "claims it), trailing (after the end of the model), footer.\n",
	.options = NULL, .least = 1, .most = 1, .run = run,
};
