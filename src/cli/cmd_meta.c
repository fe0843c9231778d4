/* cmd_meta.c - tenon meta: shows the metadata of a file, or changes them where they are. */
#include "cli/fail.h"
#include "cli/input.h"
#include "cli/meta.h"
#include "cli/out.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGS = 10000 };

struct meta {
	uint64_t slack;
	bool     no_in_place, no_sync;
};

#define AT(field) offsetof(struct meta, field)
static const struct opt options[] = {
	{ "slack", 0, OPT_SIZE, AT(slack), "N",
	  "where the file is rewritten, leave room for later edits" },
	{ "no-in-place", 0, OPT_FLAG, AT(no_in_place), NULL,
	  "rewrite the file even where the change fits" },
	{ "no-sync", 0, OPT_FLAG, AT(no_sync), NULL, "do not wait for the disk" },
	OPT_END
};

enum verb { SHOW, GET, SET, REMOVE };

/* The arguments: FILE and verb in either order, then what the verb takes. */
struct order {
	enum verb    verb;
	const char  *path;
	const char **items;
	int          n;
};

static bool is_verb(const char *word, enum verb *out)
{
	static const char *const words[] = { [GET] = "get", [SET] = "set", [REMOVE] = "rm" };
	for (int v = GET; v <= REMOVE; v++) {
		if (strcmp(word, words[v]) != 0)
			continue;
		*out = (enum verb)v;
		return true;
	}
	return false;
}

static enum status read_order(const struct cli *cli, struct order *o)
{
	*o = (struct order){ .verb = SHOW, .path = cli->args[0] };
	if (cli->nargs == 1)
		return STATUS_YES;
	if (is_verb(cli->args[0], &o->verb))
		o->path = cli->args[1];
	else if (!is_verb(cli->args[1], &o->verb))
		return fail_usage(cli, "expected get, set or rm, not '%s'", cli->args[1]);
	o->items = cli->args + 2;
	o->n = cli->nargs - 2;
	if (o->n == 0 || (o->verb == GET && o->n != 1))
		return fail_usage(cli, o->verb == SET   ? "set takes K=V or K:TYPE=V"
		                       : o->verb == GET ? "get takes one key"
		                                        : "rm takes keys");
	if (o->verb != GET && strcmp(o->path, "-") == 0)
		return fail_usage(cli, "standard input cannot be changed");
	return STATUS_YES;
}

/* ---- Showing ---- */

static enum status show(const struct cli *cli, const tn_file *file)
{
	struct json j;
	if (!cli->json) {
		meta_print(tn_metadata(file), cli->verbose);
		return STATUS_YES;
	}
	js_begin(&j, stdout);
	js_open(&j, '{', JSON_LINES);
	js_string(js_at(&j, "file"), tn_text(cli->args[0]));
	js_string(js_at(&j, "format"), tn_text(tn_file_format(file)));
	meta_json(js_at(&j, "metadata"), tn_metadata(file));
	js_close(&j);
	js_end(&j);
	return STATUS_YES;
}

/* ---- Types ---- */

static void scalar_type(struct text *t, const tn_meta *node)
{
	if (tn_meta_kind(node) == TN_META_NULL)
		text_str(t, "string");
	else
		meta_type(t, node);
}

/* Whether one type does for all items; an empty array is of no type that could be seen. */
static bool same_types(const tn_meta *array)
{
	tn_meta_iter it = tn_meta_items(array);
	const tn_meta *item = tn_meta_next(&it);
	tn_meta_type kind = tn_meta_kind(item);
	unsigned width = tn_meta_width(item);
	bool number = kind == TN_META_INT || kind == TN_META_UINT || kind == TN_META_FLOAT;
	bool known = kind == TN_META_BOOL || kind == TN_META_STRING || (number && width != 0);
	if (item == NULL || !known)
		return false;
	while ((item = tn_meta_next(&it)) != NULL)
		if (tn_meta_kind(item) != kind || tn_meta_width(item) != width)
			return false;
	return true;
}

/* The type that a new value gets without saying so: that of the old one, or string. */
static void type_of(struct text *t, const tn_meta *old)
{
	tn_meta_iter it = tn_meta_items(old);
	if (old == NULL)
		text_str(t, "string");
	else if (tn_meta_kind(old) == TN_META_ARRAY && same_types(old))
		meta_type(t, tn_meta_next(&it)), text_str(t, "[]");
	else if (tn_meta_kind(old) == TN_META_ARRAY || tn_meta_kind(old) == TN_META_MAP)
		text_str(t, "json");
	else
		scalar_type(t, old);
}

static bool is_type(const char *word, size_t n)
{
	static const char *const types[] = {
		"string", "bool", "bytes", "null", "json", "uint", "int", "float", "u8", "u16",
		"u32", "u64", "i8",
		"i16", "i32", "i64", "f32", "f64",
	};
	if (n > 2 && memcmp(word + n - 2, "[]", 2) == 0)
		n -= 2;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strlen(types[i]) == n && memcmp(types[i], word, n) == 0)
			return true;
	return false;
}

/* ---- Changing ---- */

/* Where a key is there, what stands behind it and a colon was meant as a type. */
static bool is_mistyped(const tn_meta *root, const char *item, size_t colon, size_t end)
{
	tn_view key = { (const uint8_t *)item, colon }, whole = { (const uint8_t *)item, end };
	return colon != 0 && tn_meta_find(root, whole) == NULL && tn_meta_find(root, key) != NULL;
}

/* "K=V" or "K:TYPE=V"; a colon before what is no type belongs to the key. */
static enum status set_one(const struct cli *cli, const struct order *o, tn_writer *w,
                           const char *item)
{
	size_t end = strcspn(item, "="), key = end;
	struct text type = { 0 };
	tn_error err = { 0 };
	if (item[end] == '\0' || end == 0)
		return fail_usage(cli, "set takes K=V or K:TYPE=V, not '%s'", item);
	while (key > 0 && item[key - 1] != ':')
		key--;
	bool typed = key > 1 && is_type(item + key, end - key);
	if (!typed && key > 1 && is_mistyped(tn_writer_metadata(w), item, key - 1, end))
		return fail_usage(cli, "'%.*s' is no type, and no key '%.*s' is there", (int)(end - key), item + key, (int)end, item);
	tn_view name = { (const uint8_t *)item, typed ? key - 1 : end };
	if (typed)
		text_add(&type, item + key, end - key);
	else
		type_of(&type, tn_meta_find(tn_writer_metadata(w), name));
	tn_code code = tn_put_text(w, tn_writer_metadata(w), name, text_is(&type),
	                           tn_text(item + end + 1), &err);
	text_free(&type);
	return code == TN_OK ? STATUS_YES : fail(cli, o->path, &err);
}

static enum status remove_one(const struct cli *cli, const struct order *o, tn_writer *w,
                              const char *key)
{
	tn_error err = { 0 };
	if (tn_remove(w, tn_writer_metadata(w), tn_text(key), &err) == TN_OK)
		return STATUS_YES;
	return fail(cli, o->path, &err);
}

static enum status apply(const struct cli *cli, const struct order *o, tn_writer *w)
{
	enum status status = STATUS_YES;
	for (int i = 0; i < o->n && status == STATUS_YES; i++)
		status = o->verb == SET ? set_one(cli, o, w, o->items[i])
		       : remove_one(cli, o, w, o->items[i]);
	return status;
}

static void report_done(const struct cli *cli, const struct order *o, const tn_file *file,
                        const tn_writer *w,
                        bool patched)
{
	struct json j;
	struct text t = { 0 };
	if (cli->json) {
		js_begin(&j, stdout);
		js_open(&j, '{', JSON_LINES);
		js_string(js_at(&j, "file"), tn_text(o->path));
		js_string(js_at(&j, "format"), tn_text(tn_file_format(file)));
		js_bool(js_at(&j, "in_place"), patched);
		findings_json(&j, "findings", tn_writer_report(w));
		js_close(&j);
		js_end(&j);
		return;
	}
	findings_print(o->path, tn_writer_report(w), findings_least(cli));
	text_escape(&t, tn_text(o->path));
	text_str(&t, patched ? ": changed in place\n" : ": rewritten\n");
	if (!cli->quiet)
		out_text(&t);
	text_free(&t);
}

/* What was carried into the file, and what its format does not know, stays. */
static enum status change(const struct cli *cli, const struct meta *how, const struct order *o,
                          const tn_file *file)
{
	tn_write_options write = {
		.carry = true, .keep_unknown = true, .no_sync = how->no_sync, .slack = how->slack,
		.max_memory = cli->max_memory, .work = cli_work(cli),
	};
	tn_writer *w;
	tn_error err = { 0 };
	bool patched = false;
	if (tn_writer_of(&w, file, &write, &err) != TN_OK)
		return fail(cli, o->path, &err);
	enum status status = apply(cli, o, w);
	if (status == STATUS_YES) {
		if (tn_writer_update(w, !how->no_in_place, &patched, &err) == TN_OK)
			report_done(cli, o, file, w, patched);
		else
			status = fail_findings(cli, o->path, &err, tn_writer_report(w));
	}
	tn_writer_free(w);
	return status;
}

static enum status run(const struct cli *cli, const void *own)
{
	struct order o;
	struct input in;
	enum status status = read_order(cli, &o);
	if (status == STATUS_YES)
		status = input_open(&in, cli, o.path);
	if (status != STATUS_YES)
		return status;
	status = o.verb == SHOW  ? show(cli, in.file)
	         : o.verb == GET ? meta_get(cli, o.path, in.file, o.items[0])
	                         : change(cli, own, &o, in.file);
	input_close(&in);
	return status;
}

const struct command cmd_meta = {
	.name = "meta", .args = "FILE [get KEY | set K=V... | rm KEY...]",
	.summary = "Show or change the metadata of a file",
	.details = "K=V keeps the type of the value that is there; a new one is a string.\n"
	           "K:TYPE=V says the type: string, bool, u8 to u64, i8 to i64, f32, f64,\n"
	           "bytes (hex), null, json, or u32[] and its like for an array. A change that\n"
	           "fits the room of the old metadata is made in place, whatever the size of the\n"
	           "file; a crash of the system in that moment can spoil the header, which\n"
	           "--no-in-place excludes. Otherwise the file is rewritten beside and moved\n"
	           "over the old one.\n",
	.options = options, .size = sizeof(struct meta), .least = 1, .most = MOST_ARGS, .run = run,
};
