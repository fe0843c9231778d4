/* registry.c - the formats that were built in, and which of them a file is. */
#include "format/format.h"

#include "base/view.h"
#include "format/not_a_model.h"

#include <string.h>

#define FORMAT(name) extern const struct format format_##name;
#include "format/registry.def"
#undef FORMAT

const struct format *const formats[] = {
#define FORMAT(name) &format_##name,
#include "format/registry.def"
#undef FORMAT
};
const size_t format_count = sizeof formats / sizeof *formats;

const struct format *format_named(const char *name)
{
	for (size_t i = 0; i < format_count; i++)
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	return NULL;
}

/* Whether list, separated by commas, holds ext. */
static bool lists(const char *list, const char *ext)
{
	size_t n = strlen(ext);
	while (n != 0) {
		if (strncmp(list, ext, n) == 0 && (list[n] == '\0' || list[n] == ','))
			return true;
		list = strchr(list, ',');
		if (list == NULL)
			return false;
		list++;
	}
	return false;
}

const struct format *format_for_extension(const char *ext)
{
	if (*ext == '.')
		ext++;
	for (size_t i = 0; i < format_count; i++)
		if (lists(formats[i]->exts, ext))
			return formats[i];
	return NULL;
}

/* What follows the last dot of the file's name; "" when there is none. */
static const char *extension(const char *path)
{
	const char *name = path != NULL ? strrchr(path, '/') : NULL;
	name = name != NULL ? name + 1 : path;
	const char *dot = name != NULL ? strrchr(name, '.') : NULL;
	return dot != NULL ? dot + 1 : "";
}

const struct format *format_detect(tn_view head, uint64_t file_size, const char *path, tn_error *err)
{
	const char *ext = extension(path);
	const struct format *best = NULL;
	int most = 0;
	for (size_t i = 0; i < format_count; i++) {
		int bits = formats[i]->probe(head, file_size);
		if (bits > most || (bits == most && bits != 0 && lists(formats[i]->exts, ext))) {
			most = bits;
			best = formats[i];
		}
	}
	if (best == NULL)
		not_a_model(head, file_size, ext, err);
	return best;
}
