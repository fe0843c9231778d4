/* archive.c - what pack, unpack and repack say when they are done. */
#include "cli/archive.h"
#include "cli/js.h"
#include "cli/out.h"

void archive_written(const struct cli *cli, const char *path, uint64_t records, uint64_t size, bool dry_run)
{
	if (cli->json) {
		struct json j;
		js_begin(&j, stdout);
		js_open(&j, '{', JSON_LINES);
		js_string(js_at(&j, "output"), tn_text(path));
		js_string(js_at(&j, "format"), tn_text("thin"));
		js_uint(js_at(&j, "size"), size);
		js_uint(js_at(&j, "pages"), records);
		js_bool(js_at(&j, "dry_run"), dry_run);
		js_close(&j);
		js_end(&j);
	} else if (!cli->quiet || dry_run) {
		struct text t = { 0 };
		text_escape(&t, tn_text(path));
		text_fmt(&t, ": %sthin, ", dry_run ? "would be " : "");
		text_plural(&t, records, "page");
		text_str(&t, ", ");
		text_exact_size(&t, size);
		text_str(&t, "\n");
		out_text(&t);
	}
}

void archive_unpacked(const struct cli *cli, const char *folder, uint64_t records)
{
	if (cli->json) {
		struct json j;
		js_begin(&j, stdout);
		js_open(&j, '{', JSON_LINES);
		js_string(js_at(&j, "file"), tn_text(cli->args[0]));
		js_string(js_at(&j, "output"), tn_text(folder));
		js_uint(js_at(&j, "pages"), records);
		js_close(&j);
		js_end(&j);
	} else if (!cli->quiet) {
		struct text t = { 0 };
		text_escape(&t, tn_text(folder));
		text_str(&t, ": a manifest and ");
		text_plural(&t, records, "page");
		text_str(&t, "\n");
		out_text(&t);
	}
}
