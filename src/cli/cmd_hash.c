/* cmd_hash.c - tenon hash: content digests, and whether they are those of a list. */
#include "cli/digests.h"
#include "cli/fail.h"
#include "cli/input.h"
#include "cli/out.h"
#include <stdlib.h>
#include <string.h>

struct hash {
	const char *check;
};

#define AT(field) offsetof(struct hash, field)
static const struct opt options[] = {
	{ "check", 0, OPT_TEXT, AT(check), "LIST",
	  "compare with what this command printed before" },
	OPT_END
};

/* ---- Printing ---- */

/* As the coreutils do: a line whose name had to be escaped starts with a backslash. */
static void print_line(const tn_digest *digest, tn_view name)
{
	char hex[DIGEST_HEX + 1];
	struct text t = { 0 };
	text_escape(&t, name);
	tn_digest_text(digest, hex);
	printf("%s%s  %s\n", t.n != name.len ? "\\" : "", hex, text_is(&t));
	text_free(&t);
}

static void json_digest(struct json *j, const char *key, const tn_digest *digest)
{
	char hex[DIGEST_HEX + 1];
	tn_digest_text(digest, hex);
	js_string(js_at(j, key), tn_text(hex));
}

static void print_list(const tn_file *file, const tn_digest *digests, const tn_digest *total)
{
	for (size_t i = 0; i < tn_tensor_count(file); i++)
		print_line(&digests[i], tn_tensor_at(file, i).name);
	print_line(total, tn_text("total"));
}

static void print_json(const char *path, const tn_file *file, const tn_digest *digests,
                       const tn_digest *total)
{
	struct json j;
	js_begin(&j, stdout);
	js_open(&j, '{', JSON_LINES);
	js_string(js_at(&j, "file"), tn_text(path));
	js_string(js_at(&j, "algorithm"), tn_text("blake3"));
	json_digest(&j, "total", total);
	js_open(js_at(&j, "tensors"), '[', JSON_LINES);
	for (size_t i = 0; i < tn_tensor_count(file); i++) {
		js_open(&j, '{', JSON_ONE_LINE);
		js_string(js_at(&j, "name"), tn_tensor_at(file, i).name);
		json_digest(&j, "digest", &digests[i]);
		js_close(&j);
	}
	js_close(&j);
	js_close(&j);
	js_end(&j);
}

/* ---- Comparing ---- */

struct comparison {
	bool        as_json, json_names;
	struct json json;
	struct text text; /* for people: a line per difference */
	size_t      differences;
};

static void text_difference(struct comparison *c, const char *kind, tn_view name)
{
	text_fmt(&c->text, "%s: ", kind);
	if (c->json_names)
		text_escape(&c->text, name);
	else /* spelled in an escaped way already */
		text_add(&c->text, name.ptr, name.len);
	text_str(&c->text, "\n");
}

/* kind is "changed", "missing" (from the file) or "added" (to the list); a name of NULL stands for the whole. */
static void differ(struct comparison *c, const char *kind, tn_view name, const char *expected,
                   const char *actual)
{
	c->differences++;
	if (!c->as_json) {
		text_difference(c, kind, name.ptr != NULL ? name : tn_text("a dtype or a shape"));
		return;
	}
	js_open(&c->json, '{', JSON_ONE_LINE);
	js_at(&c->json, "name");
	if (name.ptr != NULL)
		js_string(&c->json, name);
	else
		js_null(&c->json);
	js_string(js_at(&c->json, "kind"), tn_text(kind));
	if (expected != NULL)
		js_string(js_at(&c->json, "expected"), tn_text(expected));
	if (actual != NULL)
		js_string(js_at(&c->json, "actual"), tn_text(actual));
	js_close(&c->json);
}

/* Both lists are sorted by name. */
static void compare(struct comparison *c, const struct digests *want, const struct digests *have)
{
	size_t i = 0, k = 0;
	while (i < want->n || k < have->n) {
		const struct digest_line *w = i < want->n ? &want->lines[i] : NULL;
		const struct digest_line *h = k < have->n ? &have->lines[k] : NULL;
		int order = w == NULL ? 1 : h == NULL ? -1 : digests_cmp(w, h);
		if (order < 0)
			differ(c, "missing", text_view(&w->name), w->digest, NULL);
		else if (order > 0)
			differ(c, "added", text_view(&h->name), NULL, h->digest);
		else if (strcmp(w->digest, h->digest) != 0)
			differ(c, "changed", text_view(&w->name), w->digest, h->digest);
		i += order <= 0;
		k += order >= 0;
	}
	if (c->differences > 0 || *want->total == '\0')
		return;
	if (strcmp(want->total, have->total) != 0) /* it also covers dtypes and shapes */
		differ(c, "changed", (tn_view){ NULL, 0 }, want->total, have->total);
}

static void list_file(struct digests *have, const struct digests *want, const tn_file *file,
                      const tn_digest *digests, const tn_digest *total)
{
	*have = (struct digests){ .json = want->json };
	for (size_t i = 0; i < tn_tensor_count(file); i++) {
		struct digest_line *line = digests_add(have);
		digests_name(have, &line->name, tn_tensor_at(file, i).name);
		tn_digest_text(&digests[i], line->digest);
	}
	tn_digest_text(total, have->total);
	digests_sort(have);
}

static enum status read_list(const struct cli *cli, const char *path, struct digests *list)
{
	struct text text = { 0 }, complaint = { 0 };
	enum status status = input_text(&text, cli, path);
	if (status == STATUS_YES && !digests_parse(list, text_is(&text), text.n, &complaint))
		status = fail_with(cli, path, TN_E_FORMAT, "%s", text_is(&complaint));
	text_free(&text);
	text_free(&complaint);
	return status;
}

static void print_verdict(const struct cli *cli, const char *list, struct comparison *c)
{
	struct text t = { 0 };
	out_text(&c->text);
	text_escape(&t, tn_text(cli->args[0]));
	text_fmt(&t, ": %s", c->differences == 0 ? "ok, the same as " : "");
	if (c->differences > 0) {
		text_plural(&t, c->differences, "difference");
		text_str(&t, " from ");
	}
	text_escape(&t, tn_text(list));
	text_str(&t, "\n");
	if (c->differences > 0 || !cli->quiet)
		out_text(&t);
	text_free(&t);
}

static enum status check(const struct cli *cli, const char *path, const struct digests *want,
                         const struct digests *have)
{
	struct comparison c = { .as_json = cli->json, .json_names = want->json };
	if (c.as_json) {
		js_begin(&c.json, stdout);
		js_open(&c.json, '{', JSON_LINES);
		js_string(js_at(&c.json, "file"), tn_text(cli->args[0]));
		js_string(js_at(&c.json, "list"), tn_text(path));
		js_string(js_at(&c.json, "algorithm"), tn_text("blake3"));
		js_string(js_at(&c.json, "total"), tn_text(have->total));
		js_open(js_at(&c.json, "differences"), '[', JSON_LINES);
	}
	compare(&c, want, have);
	if (c.as_json) {
		js_close(&c.json);
		js_bool(js_at(&c.json, "ok"), c.differences == 0);
		js_close(&c.json);
		js_end(&c.json);
	} else {
		print_verdict(cli, path, &c);
	}
	return c.differences == 0 ? STATUS_YES : STATUS_NO;
}

/* ---- The command ---- */

static enum status hash(const struct cli *cli, const struct hash *o, const tn_file *file,
                        const struct digests *want)
{
	tn_work work = cli_work(cli);
	tn_digest *digests = grab(tn_tensor_count(file) * sizeof *digests), total;
	tn_error err = { 0 };
	enum status status = STATUS_YES;
	struct digests have = { 0 };
	if (tn_hash(file, &work, digests, &total, &err) != TN_OK) {
		status = fail(cli, cli->args[0], &err);
	} else if (o->check != NULL) {
		list_file(&have, want, file, digests, &total);
		status = check(cli, o->check, want, &have);
		digests_free(&have);
	} else if (cli->json) {
		print_json(cli->args[0], file, digests, &total);
	} else {
		print_list(file, digests, &total);
	}
	free(digests);
	return status;
}

static enum status run(const struct cli *cli, const void *own)
{
	const struct hash *o = own;
	struct digests want = { 0 };
	struct input in;
	enum status status = o->check != NULL ? read_list(cli, o->check, &want) : STATUS_YES;
	digests_sort(&want);
	if (status == STATUS_YES)
		status = input_open(&in, cli, cli->args[0]);
	if (status == STATUS_YES) {
		input_errors(cli, &in);
		status = hash(cli, o, in.file, &want);
		input_close(&in);
	}
	digests_free(&want);
	return status;
}

const struct command cmd_hash = {
	.name = "hash", .args = "FILE",
	.summary = "Digest the content of each tensor and of the whole",
	.details = "A digest is BLAKE3 of a tensor's bytes; the total, last, covers names, dtypes\n"
	           "and shapes too. Both are the same for the same tensors in any format. LIST is\n"
	           "either form of the output; exit status 1 when it differs.\n",
	.options = options, .size = sizeof(struct hash), .least = 1, .most = 1, .run = run,
};
