/* set_find.c - which files a path means: those that an index names, or those that lie in a folder. */
#include "api/set.h"

#include "api/path.h"
#include "base/num.h"
#include "codec/json.h"

#include <stdio.h>
#include <string.h>

static bool ends_in(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);
	return n >= m && strcmp(name + n - m, suffix) == 0;
}

/* ---- Small files ---- */

tn_code set_read_file(const char *path, struct arena *mem, tn_view *out, tn_error *err)
{
	struct sys_file file;
	if (sys_file_open(&file, path, TN_IO_PREAD, err) != TN_OK)
		return err->code;
	uint8_t *bytes = arena_raw(mem, file.size, 1);
	if (bytes == NULL)
		arena_err(mem, err, "the text of a file");
	else
		sys_file_read(&file, 0, bytes, (size_t)file.size, false, err);
	*out = (tn_view){ bytes, (size_t)file.size };
	sys_file_close(&file);
	return err->code;
}

/* Whether the file begins as a JSON object does. Eight bytes tell it from every model: that of the one format whose
 * first byte may be a brace has zeros among them. */
static bool looks_like_json(const char *path)
{
	struct sys_file file;
	uint8_t head[8];
	tn_error ignored = { .code = TN_OK };
	if (sys_file_open(&file, path, TN_IO_PREAD, &ignored) != TN_OK)
		return false;
	bool yes = file.size >= sizeof head && sys_file_read(&file, 0, head, sizeof head, false, &ignored) == TN_OK;
	sys_file_close(&file);
	size_t at = 0;
	while (yes && at < sizeof head && (head[at] == ' ' || head[at] == '\t' || head[at] == '\r' || head[at] == '\n'))
		at++;
	return yes && at < sizeof head && head[at] == '{' && memchr(head, 0, sizeof head) == NULL;
}

/* ---- The index ---- */

static tn_code folder_of(struct set *s, const char *path, tn_error *err)
{
	const char *slash = strrchr(path, '/');
	s->folder = slash != NULL ? arena_printf(s->mem, "%.*s", (int)(slash + 1 - path), path) : "";
	return s->folder != NULL ? TN_OK : arena_err(s->mem, err, "a path");
}

static const struct format *format_of_index(const struct json_val *root)
{
	for (size_t i = 0; i < format_count; i++)
		if (formats[i]->shards != NULL && formats[i]->shards->is_index != NULL && formats[i]->shards->is_index(root))
			return formats[i];
	return NULL;
}

/* The names as C strings, numbers where they have them. A NUL in one is found when it is to become a path. */
static tn_code take_files(struct set *s, tn_error *err)
{
	s->n = s->says.n_files;
	s->files = ARENA_NEW(s->mem, s->n, const char *);
	if (s->files == NULL)
		return arena_err(s->mem, err, "the list of files");
	for (uint64_t i = 0; i < s->n; i++) {
		struct series series;
		tn_view copy = arena_copy(s->mem, s->says.files[i]);
		s->files[i] = (const char *)copy.ptr;
		if (copy.ptr == NULL)
			return arena_err(s->mem, err, "the list of files");
		if (s->series.n == 0 && series_parse(copy, &series))
			s->series = series;
	}
	if (s->n == 0)
		return err_set(err, TN_E_CORRUPT, TN_NO_OFFSET, "the index names no file");
	return TN_OK;
}

static tn_code read_index(struct set *s, const struct json_val *root, tn_error *err)
{
	struct index_job job = { .root = root, .mem = s->mem, .index = &s->says, .report = s->report, .err = err };
	if (s->format->shards->read_index(&job) != TN_OK)
		return err->code;
	return take_files(s, err);
}

/* *found is false for JSON that is no index; what is not even JSON is one by its name alone. */
static tn_code open_index(struct set *s, const char *path, bool *found, tn_error *err)
{
	struct json_doc *doc;
	tn_view text;
	const struct json_options how = { .budget = s->mem->budget, .what = "index" };
	if (set_read_file(path, s->mem, &text, err) != TN_OK || json_parse(&doc, text, &how, err) != TN_OK) {
		bool ours = ends_in(path, ".index.json") || err->code == TN_E_NOMEM || err->code == TN_E_IO;
		if (!ours)
			err_clear(err);
		*found = false;
		return err->code;
	}
	s->format = format_of_index(json_root(doc));
	*found = s->format != NULL;
	if (*found && folder_of(s, path, err) == TN_OK) {
		s->index = path;
		read_index(s, json_root(doc), err);
	}
	json_free(doc);
	return err->code;
}

/* ---- The folder ---- */

static bool in_question(const struct set *s, const struct format *f)
{
	return s->opt->format == NULL || strcmp(s->opt->format, f->name) == 0;
}

/* The index to take: the only one, or the one whose stem is "model". *several is another one that stands against it. */
static const char *choose_index(const struct set *s, const struct sys_names *names, const char **several)
{
	const char *best = NULL;
	*several = NULL;
	for (size_t i = 0; i < names->n; i++) {
		for (size_t k = 0; k < format_count; k++) {
			const struct shard_rules *rules = formats[k]->shards;
			if (rules == NULL || rules->index_suffix == NULL || !in_question(s, formats[k]) ||
			    !ends_in(names->list[i], rules->index_suffix))
				continue;
			if (strlen(names->list[i]) == strlen("model") + strlen(rules->index_suffix) && strncmp(names->list[i], "model", 5) == 0) {
				*several = NULL;
				return names->list[i];
			}
			if (best == NULL)
				best = names->list[i];
			else
				*several = names->list[i];
		}
	}
	return best;
}

static const struct format *format_of_name(const struct set *s, const char *name)
{
	const char *ext = path_extension(name);
	const struct format *f = ext != NULL && *ext != '\0' ? format_for_extension(ext) : NULL;
	return f != NULL && in_question(s, f) ? f : NULL;
}

tn_code set_list(const struct set *s, const struct format *format, struct sys_names *out, tn_error *err)
{
	if (sys_folder_list(s->folder[0] != '\0' ? s->folder : ".", s->mem, out, err) != TN_OK)
		return err->code;
	size_t n = 0;
	for (size_t i = 0; i < out->n; i++) {
		const struct format *f = format_of_name(s, out->list[i]);
		if (f != NULL && (format == NULL || f == format))
			out->list[n++] = out->list[i];
	}
	out->n = n;
	return TN_OK;
}

static tn_code ambiguous(const char *one, const char *other, tn_error *err)
{
	return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "this folder holds more than one model, '%s' and '%s': name one of them",
	               ESC(tn_text(one)), ESC(tn_text(other)));
}

static tn_code one_format(struct set *s, tn_error *err)
{
	s->format = format_of_name(s, s->files[0]);
	for (uint64_t i = 1; i < s->n; i++)
		if (format_of_name(s, s->files[i]) != s->format)
			return ambiguous(s->files[0], s->files[i], err);
	return TN_OK;
}

/* Where some of the files are numbered, they are the model, and the others are not of it. */
static tn_code keep_series(struct set *s, tn_error *err)
{
	const char *first = NULL;
	uint64_t n = 0;
	struct series series;
	for (uint64_t i = 0; i < s->n; i++) {
		if (!series_parse(tn_text(s->files[i]), &series))
			continue;
		if (first == NULL) {
			first = s->files[i];
			s->series = series;
		} else if (!series_same(&series, &s->series)) {
			return ambiguous(first, s->files[i], err);
		}
	}
	for (uint64_t i = 0; first != NULL && i < s->n; i++) {
		if (series_parse(tn_text(s->files[i]), &series))
			s->files[n++] = s->files[i];
		else
			report_add(s->report, TN_WARNING, TN_OK, TN_NO_OFFSET, NO_TENSOR,
			           "'%s' has no number in the series '%s' and is left out", ESC(tn_text(s->files[i])), ESC(tn_text(first)));
	}
	if (first != NULL)
		s->n = n;
	return TN_OK;
}

tn_code set_of_folder(struct set *s, const char *folder, tn_error *err)
{
	struct sys_names names;
	size_t len = strlen(folder);
	s->folder = len != 0 && folder[len - 1] != '/' ? arena_printf(s->mem, "%s/", folder) : folder;
	if (s->folder == NULL)
		return arena_err(s->mem, err, "a path");
	if (set_list(s, NULL, &names, err) != TN_OK)
		return err->code;
	if (names.n == 0)
		return err_set(err, TN_E_FORMAT, TN_NO_OFFSET, "this folder holds no model file");
	s->files = names.list;
	s->n = names.n;
	return one_format(s, err) == TN_OK ? keep_series(s, err) : err->code;
}

static tn_code find_in_folder(struct set *s, const char *path, tn_error *err)
{
	struct sys_names names;
	const char *other;
	bool found;
	if (sys_folder_list(path, s->mem, &names, err) != TN_OK)
		return err->code;
	const char *index = choose_index(s, &names, &other);
	if (index == NULL)
		return set_of_folder(s, path, err);
	if (other != NULL)
		return ambiguous(index, other, err);
	index = arena_printf(s->mem, "%s%s%s", path, ends_in(path, "/") ? "" : "/", index);
	if (index == NULL)
		return arena_err(s->mem, err, "a path");
	if (open_index(s, index, &found, err) == TN_OK && !found)
		err_set(err, TN_E_CORRUPT, TN_NO_OFFSET, "'%s' is not an index", ESC(tn_text(index)));
	return err->code;
}

/* ---- The three ways ---- */

tn_code set_find(struct set *s, const char *path, bool *found, tn_error *err)
{
	*found = true;
	if (sys_is_folder(path))
		return find_in_folder(s, path, err);
	*found = false;
	return looks_like_json(path) ? open_index(s, path, found, err) : TN_OK;
}

/* Whether a name has the numbers of that place. They count from 1, from 0 in some sets; from which, the shard's own word tells. */
static bool has_place(tn_view name, const struct shard_place *place, struct series *series, uint64_t *first)
{
	if (!series_parse(name, series) || series->n != place->n || series->k < place->k)
		return false;
	*first = series->k - place->k;
	return *first <= 1;
}

/* Whether it is one of the names that series_name gives the n files from number first on. */
static bool in_series(tn_view name, const struct series *of, uint64_t first)
{
	struct series series;
	return series_parse(name, &series) && series_same(&series, of) && series.width == of->width &&
	       name.len == of->stem.len + strlen("-") + of->width + strlen("-of-") + of->width + of->ext.len &&
	       series.k >= first && series.k - first < of->n;
}

/* The files of the series that are there. How many there should be is no more than a number in a file: nothing is made for
 * those that are missing, which set_gaps finds. */
static tn_code list_series(struct set *s, uint64_t first, tn_error *err)
{
	struct sys_names names;
	if (sys_folder_list(s->folder[0] != '\0' ? s->folder : ".", s->mem, &names, err) != TN_OK)
		return err->code;
	s->files = names.list;
	for (size_t i = 0; i < names.n; i++)
		if (in_series(tn_text(names.list[i]), &s->series, first))
			s->files[s->n++] = names.list[i];
	return TN_OK;
}

static tn_code set_of_shard(struct set *s, const struct part *shard, const struct shard_place *place, tn_error *err)
{
	uint64_t first;
	tn_view name = arena_copy(s->mem, tn_text(part_name(shard))); /* the part is about to be closed */
	s->format = shard->format;
	if (name.ptr == NULL)
		return arena_err(s->mem, err, "a path");
	if (folder_of(s, shard->actual, err) != TN_OK)
		return err->code;
	if (!has_place(name, place, &s->series, &first))
		return err_set(err, TN_E_UNSUPPORTED, TN_NO_OFFSET,
		               "%s: this is shard %llu of %llu, and its name does not say where the others are: it should end in "
		               "-%05llu-of-%05llu", s->format->name, (unsigned long long)place->k + 1, (unsigned long long)place->n,
		               (unsigned long long)place->k + s->format->shards->first, (unsigned long long)place->n);
	if (place->n > SHARDS_MAX)
		return err_set(err, TN_E_LIMIT, TN_NO_OFFSET, "%s: this is one of %llu shards, the limit is %d", s->format->name,
		               (unsigned long long)place->n, SHARDS_MAX);
	s->from_zero = first == 0;
	return list_series(s, first, err);
}

/* Its place in a set that any of its shards stands for. */
static bool is_shard(const struct format *format, const struct model *m, struct shard_place *place)
{
	const struct shard_rules *rules = format->shards;
	return rules != NULL && rules->any_stands_for_all && rules->place(m, place) && place->n > 1;
}

tn_code set_of_any(struct set *s, const struct part *p, bool *is, tn_error *err)
{
	struct shard_place place;
	*is = is_shard(p->format, &p->model, &place);
	return *is ? set_of_shard(s, p, &place, err) : TN_OK;
}

void set_tell_shard(const struct format *format, const struct model *m, const char *path, struct tn_report *r)
{
	struct shard_place place;
	struct series series;
	uint64_t first;
	const char *slash = strrchr(path, '/');
	if (!is_shard(format, m, &place) || has_place(tn_text(slash != NULL ? slash + 1 : path), &place, &series, &first))
		return;
	report_add(r, TN_WARNING, TN_OK, TN_NO_OFFSET, NO_TENSOR,
	           "%s: what is written says that it is shard %llu of %llu, and is no model of its own: where it is to open with the others, "
	           "its name should end in -%05llu-of-%05llu", format->name, (unsigned long long)place.k + 1, (unsigned long long)place.n,
	           (unsigned long long)place.k + format->shards->first, (unsigned long long)place.n);
}
