/* cmd_info.c - tenon info: what a file is, in a page. */
#include "cli/fail.h"
#include "cli/input.h"
#include "cli/meta.h"
#include "cli/out.h"
#include <stdlib.h>

struct use {
	uint64_t count, bytes;
};

/* How many tensors of each dtype there are; returns the bytes of all. */
static uint64_t count_dtypes(const tn_file *file, struct use uses[TN_DTYPES])
{
	uint64_t all = 0;
	for (size_t i = 0; i < tn_tensor_count(file); i++) {
		tn_tensor t = tn_tensor_at(file, i);
		uses[t.dtype].count++;
		uses[t.dtype].bytes = sum(uses[t.dtype].bytes, t.stored);
		all = sum(all, t.stored);
	}
	return all;
}

static const struct use *sorting; /* qsort has no room for it */

static int by_bytes(const void *a, const void *b)
{
	size_t i = *(const size_t *)a, k = *(const size_t *)b;
	if (sorting[i].bytes != sorting[k].bytes)
		return sorting[i].bytes < sorting[k].bytes ? 1 : -1;
	return (i > k) - (i < k);
}

/* The dtypes in use, most bytes first. */
static size_t order(const struct use uses[TN_DTYPES], size_t out[TN_DTYPES])
{
	size_t n = 0;
	for (size_t d = 0; d < TN_DTYPES; d++)
		if (uses[d].count > 0)
			out[n++] = d;
	sorting = uses;
	qsort(out, n, sizeof *out, by_bytes);
	return n;
}

/* ---- For people ---- */

static void heading(const char *title)
{
	printf("\n%s%s%s\n", tint(stdout, TINT_HEAD), title, tint(stdout, TINT_NONE));
}

static struct text *fact(struct table *t, const char *name)
{
	text_str(table_cell(t), name);
	return table_cell(t);
}

static void print_facts(const char *path, const tn_file *file, uint64_t data)
{
	static const struct column columns[] = { { "", false }, { "", false } };
	struct table t;
	table_init(&t, columns, 2);
	text_escape(fact(&t, "file"), tn_text(path));
	struct text *cell = fact(&t, "format");
	text_str(cell, tn_file_format(file));
	if (*tn_file_version(file) != '\0')
		text_fmt(cell, " %s", tn_file_version(file));
	if (*tn_file_dialect(file) != '\0')
		text_str(fact(&t, "dialect"), tn_file_dialect(file));
	if (tn_file_part_count(file) > 1)
		text_count(fact(&t, "files"), tn_file_part_count(file));
	text_exact_size(fact(&t, "size"), tn_file_size(file));
	text_exact_size(fact(&t, "data"), data);
	text_count(fact(&t, "tensors"), tn_tensor_count(file));
	text_count(fact(&t, "parameters"), tn_file_parameters(file));
	if (data > 0)
		text_plural(fact(&t, "alignment"), tn_file_alignment(file), "byte");
	table_print(&t, "", false);
}

static void print_dtypes(const struct use uses[TN_DTYPES])
{
	static const struct column columns[] = {
		{ "DTYPE", false }, { "TENSORS", true }, { "SIZE", true },
	};
	size_t which[TN_DTYPES], n = order(uses, which);
	struct table t;
	if (n == 0)
		return;
	table_init(&t, columns, 3);
	for (size_t i = 0; i < n; i++) {
		text_str(table_cell(&t), tn_dtype_name((tn_dtype)which[i]));
		text_count(table_cell(&t), uses[which[i]].count);
		text_bytes(table_cell(&t), uses[which[i]].bytes);
	}
	heading("dtypes");
	table_print(&t, "  ", false);
}

static void print_map(const char *title, const tn_meta *map, bool whole)
{
	if (tn_meta_count(map) == 0)
		return;
	heading(title);
	meta_print(map, whole);
}

/* ---- For scripts ---- */

static void json_dtypes(struct json *j, const struct use uses[TN_DTYPES])
{
	size_t which[TN_DTYPES], n = order(uses, which);
	js_open(js_at(j, "dtypes"), '[', JSON_LINES);
	for (size_t i = 0; i < n; i++) {
		js_open(j, '{', JSON_ONE_LINE);
		js_string(js_at(j, "dtype"), tn_text(tn_dtype_name((tn_dtype)which[i])));
		js_uint(js_at(j, "count"), uses[which[i]].count);
		js_uint(js_at(j, "bytes"), uses[which[i]].bytes);
		js_close(j);
	}
	js_close(j);
}

static void json_parts(struct json *j, const tn_file *file)
{
	js_open(js_at(j, "files"), '[', JSON_LINES);
	for (size_t i = 0; i < tn_file_part_count(file); i++) {
		js_open(j, '{', JSON_ONE_LINE);
		js_string(js_at(j, "name"), tn_text(input_part(file, i)));
		js_uint(js_at(j, "size"), tn_file_part_at(file, i).size);
		js_close(j);
	}
	js_close(j);
}

static void print_json(const char *path, const tn_file *file, const struct use uses[TN_DTYPES],
                       uint64_t data)
{
	struct json j;
	js_begin(&j, stdout);
	js_open(&j, '{', JSON_LINES);
	js_string(js_at(&j, "file"), tn_text(path));
	js_string(js_at(&j, "format"), tn_text(tn_file_format(file)));
	js_string(js_at(&j, "version"), tn_text(tn_file_version(file)));
	js_string(js_at(&j, "dialect"), tn_text(tn_file_dialect(file)));
	js_uint(js_at(&j, "size"), tn_file_size(file));
	if (tn_file_part_count(file) > 1)
		json_parts(&j, file);
	js_uint(js_at(&j, "tensors"), tn_tensor_count(file));
	js_uint(js_at(&j, "parameters"), tn_file_parameters(file));
	js_uint(js_at(&j, "alignment"), tn_file_alignment(file));
	js_uint(js_at(&j, "data_bytes"), data);
	json_dtypes(&j, uses);
	meta_json(js_at(&j, "metadata"), tn_metadata(file));
	meta_json(js_at(&j, "native"), tn_native(file));
	findings_json(&j, "warnings", tn_warnings(file));
	js_close(&j);
	js_end(&j);
}

static enum status run(const struct cli *cli, const void *own)
{
	const char *path = cli->args[0];
	struct use uses[TN_DTYPES] = { 0 };
	struct input in;
	(void)own;
	enum status status = input_open(&in, cli, path);
	if (status != STATUS_YES)
		return status;
	uint64_t data = count_dtypes(in.file, uses);
	if (cli->json) {
		print_json(path, in.file, uses, data);
	} else {
		print_facts(path, in.file, data);
		print_dtypes(uses);
		print_map("metadata", tn_metadata(in.file), cli->verbose);
		print_map("native", tn_native(in.file), cli->verbose);
		findings_print(path, tn_warnings(in.file), findings_least(cli));
	}
	input_close(&in);
	return STATUS_YES;
}

const struct command cmd_info = {
	.name = "info", .args = "FILE",
	.summary = "Tell what a file is: format, metadata, dtypes, sizes",
	.details = "Long values are shortened; -v shows them whole.\n",
	.options = NULL, .least = 1, .most = 1, .run = run,
};
