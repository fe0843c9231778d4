/* cmd_ls.c - tenon ls: the tensors of a file, as a table, a tree or JSON. */
#include "cli/fail.h"
#include "cli/glob.h"
#include "cli/input.h"
#include "cli/meta.h"
#include "cli/out.h"
#include "cli/tree.h"
#include <inttypes.h>
#include <stdlib.h>

enum { SORT_FILE, SORT_NAME, SORT_SIZE, SORT_OFFSET };

struct ls {
	struct opt_list filter;
	int             sort;
	bool            tree;
	uint64_t        limit;
};

#define AT(field) offsetof(struct ls, field)
static const struct opt options[] = {
	{ "filter", 0, OPT_LIST, AT(filter), "GLOB", "only names that match; may be repeated" },
	{ "sort", 0, OPT_CHOICE, AT(sort), "name|size|offset", "instead of the order of the file" },
	{ "tree", 0, OPT_FLAG, AT(tree), NULL, "group names at dots and slashes" },
	{ "limit", 0, OPT_COUNT, AT(limit), "N", "the first N only" },
	OPT_END
};

/* ---- Which tensors, in which order ---- */

static int by_name(const void *a, const void *b)
{
	return view_cmp(((const tn_tensor *)a)->name, ((const tn_tensor *)b)->name);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = ((const tn_tensor *)a)->stored, y = ((const tn_tensor *)b)->stored;
	return x != y ? (x < y ? 1 : -1) : by_name(a, b);
}

static int by_offset(const void *a, const void *b)
{
	uint64_t x = ((const tn_tensor *)a)->offset, y = ((const tn_tensor *)b)->offset;
	return x != y ? (x < y ? -1 : 1) : by_name(a, b);
}

static tn_tensor *choose(const tn_file *file, const struct ls *o, size_t *n)
{
	static int (*const orders[])(const void *, const void *) = {
		NULL, by_name, by_size, by_offset,
	};
	size_t count = tn_tensor_count(file);
	tn_tensor *list = grab(count * sizeof *list);
	*n = 0;
	for (size_t i = 0; i < count; i++) {
		tn_tensor t = tn_tensor_at(file, i);
		if (glob_any(&o->filter, t.name))
			list[(*n)++] = t;
	}
	if (o->sort != SORT_FILE)
		qsort(list, *n, sizeof *list, orders[o->sort]);
	return list;
}

/* ---- For people ---- */

static void print_table(const tn_file *file, const tn_tensor *list, size_t n)
{
	static const struct column columns[] = {
		{ "NAME", false }, { "DTYPE", false }, { "SHAPE", false }, { "SIZE", true },
		{ "OFFSET", true }, { "FILE", false },
	};
	bool set = tn_file_part_count(file) > 1;
	struct table t;
	table_init(&t, columns, set ? 6 : 5);
	for (size_t i = 0; i < n; i++) {
		text_escape(table_cell(&t), list[i].name);
		text_dtype(table_cell(&t), &list[i]);
		text_shape(table_cell(&t), list[i].rank, list[i].shape);
		text_bytes(table_cell(&t), list[i].stored);
		text_fmt(table_cell(&t), "%" PRIu64, list[i].offset);
		if (set)
			text_escape(table_cell(&t), tn_text(input_part(file, list[i].part)));
	}
	table_print(&t, "", true);
}

/* "3 of 23 tensors, 1.2 MiB". */
static void print_total(const tn_tensor *list, size_t n, size_t shown, size_t all)
{
	struct text t = { 0 };
	uint64_t bytes = 0;
	for (size_t i = 0; i < n; i++)
		bytes = sum(bytes, list[i].stored);
	text_str(&t, tint(stdout, TINT_DIM));
	if (n < all) {
		text_count(&t, n);
		text_str(&t, " of ");
	}
	text_plural(&t, all, "tensor");
	text_str(&t, ", ");
	text_bytes(&t, bytes);
	if (shown < n) {
		text_str(&t, "; ");
		text_count(&t, n - shown);
		text_str(&t, " not shown");
	}
	text_fmt(&t, "%s\n", tint(stdout, TINT_NONE));
	out_text(&t);
}

/* ---- For scripts ---- */

static void json_tensor(struct json *j, const tn_file *file, const tn_tensor *t)
{
	js_open(j, '{', JSON_ONE_LINE);
	js_string(js_at(j, "name"), t->name);
	js_string(js_at(j, "dtype"), tn_text(tn_dtype_name(t->dtype)));
	if (t->dtype == TN_OPAQUE)
		js_string(js_at(j, "dtype_text"), t->dtype_text);
	js_open(js_at(j, "shape"), '[', JSON_ONE_LINE);
	for (uint32_t d = 0; d < t->rank; d++)
		js_uint(j, t->shape[d]);
	js_close(j);
	js_uint(js_at(j, "offset"), t->offset);
	js_uint(js_at(j, "nbytes"), t->stored);
	if (tn_file_part_count(file) > 1)
		js_string(js_at(j, "part"), tn_text(input_part(file, t->part)));
	js_close(j);
}

static void print_json(const char *path, const tn_file *file, const tn_tensor *list, size_t n)
{
	struct json j;
	js_begin(&j, stdout);
	js_open(&j, '{', JSON_LINES);
	js_string(js_at(&j, "file"), tn_text(path));
	js_string(js_at(&j, "format"), tn_text(tn_file_format(file)));
	js_string(js_at(&j, "version"), tn_text(tn_file_version(file)));
	js_string(js_at(&j, "dialect"), tn_text(tn_file_dialect(file)));
	meta_json(js_at(&j, "metadata"), tn_metadata(file));
	js_open(js_at(&j, "tensors"), '[', JSON_LINES);
	for (size_t i = 0; i < n; i++)
		json_tensor(&j, file, &list[i]);
	js_close(&j);
	findings_json(&j, "warnings", tn_warnings(file));
	js_close(&j);
	js_end(&j);
}

static enum status run(const struct cli *cli, const void *own)
{
	const struct ls *o = own;
	struct input in;
	size_t n;
	if (cli->json && o->tree)
		return fail_usage(cli, "--tree is for people, --json for scripts: choose one");
	enum status status = input_open(&in, cli, cli->args[0]);
	if (status != STATUS_YES)
		return status;
	tn_tensor *list = choose(in.file, o, &n);
	size_t shown = o->limit > 0 && o->limit < n ? (size_t)o->limit : n;
	if (cli->json) {
		print_json(cli->args[0], in.file, list, shown);
	} else {
		findings_print(cli->args[0], tn_warnings(in.file), findings_least(cli));
		if (o->tree)
			tree_print(list, shown);
		else
			print_table(in.file, list, shown);
		if (!cli->quiet)
			print_total(list, n, shown, tn_tensor_count(in.file));
	}
	free(list);
	input_close(&in);
	return STATUS_YES;
}

const struct command cmd_ls = {
	.name = "ls", .args = "FILE", .summary = "List the tensors of a file",
	.details = "In a GLOB '*' stands for any characters, dots too, '?' for one, [a-z] for one\n"
	           "of a set.\n"
	           "SIZE and OFFSET tell where the bytes lie in the file.\n",
	.options = options, .size = sizeof(struct ls), .least = 1, .most = 1, .run = run,
};
