/* set_kit.c - sets of safetensors files for tests. */
#include "support/set_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Noreturn void give_up(const char *what, const char *why)
{
	fprintf(stderr, "test set-up: %s: %s\n", what, why);
	exit(99);
}

tn_view set_kit_file(const char *letters)
{
	tn_writer *w = kit_writer("safetensors");
	for (; *letters != '\0'; letters++)
		kit_add(w, (char[2]){ *letters, '\0' }, TN_U8, 1, (uint64_t[]){ 10 }, (unsigned)(*letters - 'a') % 8);
	if (tn_put_string(w, tn_writer_metadata(w), tn_text("format"), tn_text("pt"), NULL) != TN_OK)
		give_up("metadata", "refused");
	tn_view bytes = kit_save(w);
	tn_writer_free(w);
	return bytes;
}

tn_view set_kit_single(void) { return set_kit_file("abcdef"); }

void set_kit_store(const char *folder)
{
	tn_view bytes = set_kit_single();
	tn_file *f = kit_open(bytes);
	const tn_split_options options = { .max_tensors = 2, .write.no_sync = true };
	tn_shards *shards;
	tn_error err;
	if (tn_split(f, folder, &options, &shards, &err) != TN_OK)
		give_up("split", err.msg);
	tn_shards_free(shards);
	tn_close(f);
	free((void *)bytes.ptr);
}

void set_kit_text(const char *folder, const char *name, const char *text)
{
	free(kit_store(folder, name, tn_text(text)));
}

void set_kit_remove(const char *folder, const char *name)
{
	char *path = files_join(folder, name);
	if (unlink(path) != 0)
		give_up("remove", path);
	free(path);
}

bool set_kit_says(const tn_report *report, tn_severity severity, const char *text)
{
	for (size_t i = 0; i < tn_report_count(report); i++)
		if (tn_report_at(report, i).severity == severity && strstr(tn_report_at(report, i).text, text) != NULL)
			return true;
	return false;
}
