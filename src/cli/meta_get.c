/* meta_get.c - one metadata value on standard output: what 'get --meta' and 'meta get' do. */
#define _POSIX_C_SOURCE 200809L
#include "cli/fail.h"
#include "cli/meta.h"
#include "cli/out.h"
#include <unistd.h>

static void print_value(const tn_meta *value)
{
	struct json j;
	tn_view string;
	struct text t = { 0 };
	if (!tn_meta_string(value, &string)) {
		js_begin(&j, stdout);
		meta_json(&j, value);
	} else if (isatty(STDOUT_FILENO)) {
		text_escape(&t, string);
		out_text(&t);
	} else {
		fwrite(string.ptr, 1, string.len, stdout);
	}
	putchar('\n');
}

enum status meta_get(const struct cli *cli, const char *path, const tn_file *file, const char *key)
{
	const tn_meta *value = tn_meta_find(tn_metadata(file), tn_text(key));
	if (value == NULL)
		return fail_with(cli, path, TN_E_NOTFOUND, "no metadata key '%s'", key);
	if (!cli->json) {
		print_value(value);
		return STATUS_YES;
	}
	struct json j;
	js_begin(&j, stdout);
	js_open(&j, '{', JSON_LINES);
	js_string(js_at(&j, "file"), tn_text(path));
	js_string(js_at(&j, "key"), tn_text(key));
	meta_json(js_at(&j, "value"), value);
	js_close(&j);
	js_end(&j);
	return STATUS_YES;
}
