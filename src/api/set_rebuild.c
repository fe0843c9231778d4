/* set_rebuild.c - the index of a set, made anew from the headers of its files.
 *
 * What the files hold counts, not what an old index says of them; that one decides only where two files hold the same name.
 * Where it does not know either, a numbered file goes before one that is not, and otherwise nobody can tell. */
#include "api/call.h"
#include "api/save.h"
#include "api/set.h"
#include "base/mem.h"
#include "base/num.h"

#include <stdlib.h>
#include <string.h>

/* A tensor and the file that is to own it. */
struct owned {
	tn_view  name;
	size_t   part;
	size_t   rival;  /* another file with as good a claim; NOBODY */
	uint64_t nbytes;
};
#define NOBODY SIZE_MAX

struct rebuild {
	tn_file          *f;     /* the parts alone: they make no model yet */
	struct set        s;     /* of the folder */
	struct set        old;   /* what an index says; index is NULL where there is none */
	struct owned     *list;
	uint64_t          n;
	struct strmap     names, before; /* of list, of old.says.owners */
	struct tn_report *r;
	struct arena      mem;
	const char       *out;
	bool              sync;
	tn_error         *err;
};

static tn_code no_memory(struct rebuild *b) { return arena_err(&b->mem, b->err, "the index"); }

static tn_view name_at(const void *list, uint64_t i) { return ((const struct owned *)list)[i].name; }
static tn_view owner_at(const void *owners, uint64_t i) { return ((const struct shard_owner *)owners)[i].tensor; }

/* ---- The folder and its old index ---- */

/* An index that cannot be read is the reason for a new one. */
static tn_code read_old(struct rebuild *b, const char *path)
{
	bool found;
	tn_code code = set_find(&b->old, path, &found, b->err);
	if (code == TN_E_NOMEM || code == TN_E_USAGE || code == TN_E_FORMAT)
		return code;
	if (code != TN_OK) {
		report_add(b->r, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR, "the old index is not taken into account: %s", b->err->msg);
		err_clear(b->err);
		b->old.says = (struct shard_index){ .n_files = 0 };
		b->old.index = sys_is_folder(path) ? NULL : path;
	}
	return TN_OK;
}

static tn_code list_files(struct rebuild *b, const char *path)
{
	struct sys_names names;
	const char *slash = strrchr(path, '/');
	const char *folder = sys_is_folder(path) ? path
	                   : slash != NULL ? arena_printf(&b->mem, "%.*s", (int)(slash + 1 - path), path) : "";
	if (folder == NULL)
		return no_memory(b);
	size_t len = strlen(folder);
	b->s.folder = len != 0 && folder[len - 1] != '/' ? arena_printf(&b->mem, "%s/", folder) : folder;
	if (b->s.folder == NULL)
		return no_memory(b);
	if (set_list(&b->s, b->old.format, &names, b->err) != TN_OK)
		return b->err->code;
	if (names.n < 2)
		return err_set(b->err, TN_E_USAGE, TN_NO_OFFSET, names.n == 0 ? "this folder holds no model file"
		               : "this folder holds one model file, which needs no index");
	b->s.files = names.list;
	b->s.n = names.n;
	return TN_OK;
}

/* The series, for what it says of duplicates and for the name of the index. */
static tn_code find_series(struct rebuild *b)
{
	struct series series;
	for (uint64_t i = 0; i < b->s.n; i++) {
		if (!series_parse(tn_text(b->s.files[i]), &series))
			continue;
		if (b->s.series.n == 0)
			b->s.series = series;
		else if (!series_same(&series, &b->s.series))
			return err_set(b->err, TN_E_USAGE, TN_NO_OFFSET, "this folder holds more than one numbered set, '%s' is of another",
			               ESC(tn_text(b->s.files[i])));
	}
	return b->s.series.n != 0 ? set_gaps(&b->s, NULL, b->err) : TN_OK;
}

/* ---- Owners ---- */

static bool old_owner(const struct rebuild *b, tn_view name, const char **file)
{
	uint64_t i;
	if (b->old.says.n_owners == 0 || !strmap_find(&b->before, owner_at, b->old.says.owners, name, &i))
		return false;
	*file = b->old.files[b->old.says.owners[i].file];
	return true;
}

static bool is_numbered(const struct rebuild *b, size_t part)
{
	struct series series;
	return series_parse(tn_text(part_name(&b->f->parts[part])), &series);
}

/* What speaks for a file as the owner of a name that others have too. */
enum claim { CLAIM_NONE, CLAIM_NUMBER, CLAIM_OLD_INDEX };

static enum claim claim_to(const struct rebuild *b, tn_view name, size_t part)
{
	const char *file;
	if (old_owner(b, name, &file) && strcmp(file, part_name(&b->f->parts[part])) == 0)
		return CLAIM_OLD_INDEX;
	return is_numbered(b, part) ? CLAIM_NUMBER : CLAIM_NONE;
}

/* The best claim counts; that two are equally good says nothing as long as a better one may follow. */
static void own(struct rebuild *b, size_t part, const struct tensor *t)
{
	uint64_t at;
	struct owned *mine = &b->list[b->n], *first;
	*mine = (struct owned){ t->name, part, NOBODY, t->stored };
	if (strmap_add(&b->names, name_at, b->list, b->n, &at)) {
		b->n++;
		return;
	}
	first = &b->list[at];
	enum claim his = claim_to(b, t->name, first->part), ours = claim_to(b, t->name, part);
	if (ours > his)
		*first = *mine;
	else if (ours == his && first->rival == NOBODY)
		first->rival = part;
}

static tn_code check_rivals(struct rebuild *b)
{
	for (uint64_t i = 0; i < b->n; i++) {
		const struct owned *o = &b->list[i];
		if (o->rival != NOBODY)
			return err_set(b->err, TN_E_CORRUPT, TN_NO_OFFSET,
			               "tensor '%s' is in '%s' and in '%s': which of them counts cannot be told", ESC(o->name),
			               ESC(tn_text(part_name(&b->f->parts[o->part]))), ESC(tn_text(part_name(&b->f->parts[o->rival]))));
	}
	return TN_OK;
}

static tn_code list_owners(struct rebuild *b)
{
	uint64_t total = 0, other;
	for (size_t p = 0; p < b->f->n_parts; p++)
		total += b->f->parts[p].model.n; /* all of them are in memory */
	b->list = arena_raw(&b->mem, total + 1, sizeof *b->list);
	if (b->list == NULL || !strmap_init(&b->names, &b->mem, total) || !strmap_init(&b->before, &b->mem, b->old.says.n_owners))
		return no_memory(b);
	for (uint64_t i = 0; i < b->old.says.n_owners; i++)
		strmap_add(&b->before, owner_at, b->old.says.owners, i, &other);
	for (size_t p = 0; p < b->f->n_parts; p++)
		for (uint64_t i = 0; i < b->f->parts[p].model.n; i++)
			own(b, p, &b->f->parts[p].model.tensors[i]);
	return check_rivals(b);
}

/* ---- What changes ---- */

static void tell_changes(struct rebuild *b)
{
	uint64_t added = 0, moved = 0, gone = 0, total = 0, other;
	const char *file;
	for (uint64_t i = 0; i < b->n; i++) {
		if (!old_owner(b, b->list[i].name, &file))
			added++;
		else
			moved += strcmp(file, part_name(&b->f->parts[b->list[i].part])) != 0;
		total += b->list[i].nbytes; /* ranges of files that are there */
	}
	for (uint64_t i = 0; i < b->old.says.n_owners; i++)
		gone += !strmap_find(&b->names, name_at, b->list, b->old.says.owners[i].tensor, &other);
	if (b->old.says.n_files == 0)
		report_add(b->r, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR, "a new index of %llu tensors", (unsigned long long)b->n);
	else
		report_add(b->r, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR, "tensors: %llu added, %llu given to another file, %llu removed",
		           (unsigned long long)added, (unsigned long long)moved, (unsigned long long)gone);
	if (b->old.says.has_total && b->old.says.total != total)
		report_add(b->r, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR, "total_size: %llu becomes %llu",
		           (unsigned long long)b->old.says.total, (unsigned long long)total);
}

/* ---- The text ---- */

static int by_part(const void *a, const void *b)
{
	const struct owned *x = a, *y = b;
	return (x->part > y->part) - (x->part < y->part);
}

/* The shards that own something, each with its tensors, *n of them so far; a file that owns none is not of the set. */
static tn_code list_shards(struct rebuild *b, struct shard_done *done, uint64_t *n)
{
	tn_view *names = arena_raw(&b->mem, b->n, sizeof *names);
	if (names == NULL)
		return no_memory(b);
	if (b->n > 1)
		qsort(b->list, (size_t)b->n, sizeof *b->list, by_part);
	uint64_t i = 0;
	for (size_t p = 0; p < b->f->n_parts; p++) {
		const struct part *part = &b->f->parts[p];
		struct shard_done d = { .name = part_name(part), .size = part->reader.size, .tensors = names + i };
		for (; i < b->n && b->list[i].part == p; i++) {
			names[i] = b->list[i].name;
			d.data += b->list[i].nbytes;
			d.n++;
		}
		if (d.n != 0)
			done[(*n)++] = d;
		else
			report_add(b->r, TN_WARNING, TN_OK, TN_NO_OFFSET, NO_TENSOR, "'%s' owns no tensor and is left out of the index",
			           ESC(tn_text(d.name)));
	}
	return TN_OK;
}

static tn_code print(struct rebuild *b, tn_view *text)
{
	struct shard_done *done = arena_raw(&b->mem, b->f->n_parts, sizeof *done);
	struct model whole;
	struct tn_meta *own = NULL;
	struct buf out;
	uint64_t n = 0;
	if (done == NULL || !model_init(&whole, &b->mem) || (own = model_native(&b->mem, &whole, b->s.format->name)) == NULL)
		return no_memory(b);
	if (b->old.says.metadata != NULL)
		meta_append(own, VIEW(SHARDS_INDEX), b->old.says.metadata);
	if (list_shards(b, done, &n) != TN_OK)
		return b->err->code;
	buf_init(&out, b->mem.budget);
	b->s.format->shards->print_index(&out, done, n, &whole);
	*text = buf_done(&out, &b->mem);
	return text->ptr != NULL ? TN_OK : no_memory(b);
}

/* ---- Where it goes ---- */

/* An index that is a link is a file of a cache, whose name says what is in it. */
static tn_code choose_path(struct rebuild *b)
{
	const char *suffix = b->s.format->shards->index_suffix;
	if (b->out != NULL)
		return TN_OK;
	if (b->old.index != NULL)
		b->out = b->old.index;
	else if (b->s.series.n != 0)
		b->out = arena_printf(&b->mem, "%s%.*s%s", b->s.folder, VIEW_ARG(b->s.series.stem), suffix);
	else
		b->out = arena_printf(&b->mem, "%smodel%s", b->s.folder, suffix);
	if (b->out == NULL)
		return no_memory(b);
	const char *real, *folder;
	if (sys_real_path(b->out, &b->mem, &real, b->err) != TN_OK ||
	    sys_real_path(*b->s.folder != '\0' ? b->s.folder : ".", &b->mem, &folder, b->err) != TN_OK)
		return b->err->code;
	size_t n = folder != NULL ? strlen(folder) : 0;
	if (real != NULL && folder != NULL && (strncmp(real, folder, n) != 0 || real[n] != '/' || strchr(real + n + 1, '/') != NULL))
		return err_set(b->err, TN_E_USAGE, TN_NO_OFFSET, "'%s' is a link to a file elsewhere: name another place for the index",
		               ESC(tn_text(b->out)));
	return TN_OK;
}

static tn_code choose_format(struct rebuild *b)
{
	b->s.format = b->f->parts[0].format;
	for (size_t p = 1; p < b->f->n_parts; p++)
		if (b->f->parts[p].format != b->s.format)
			return err_set(b->err, TN_E_USAGE, TN_NO_OFFSET, "this folder holds files of more than one format");
	if (b->s.format->shards == NULL || b->s.format->shards->print_index == NULL)
		return err_set(b->err, TN_E_UNSUPPORTED, TN_NO_OFFSET, "%s has no index of shards", b->s.format->name);
	return TN_OK;
}

static tn_code run(struct rebuild *b, const char *path)
{
	tn_view text;
	if (read_old(b, path) != TN_OK || list_files(b, path) != TN_OK || find_series(b) != TN_OK)
		return b->err->code;
	b->s.format = b->old.format;
	if (set_open(b->f, &b->s, NULL, b->err) != TN_OK || choose_format(b) != TN_OK || list_owners(b) != TN_OK)
		return b->err->code;
	if (b->n == 0)
		return err_set(b->err, TN_E_USAGE, TN_NO_OFFSET, "the files of this folder hold no tensors, so an index would name none of them");
	tell_changes(b);
	if (print(b, &text) != TN_OK || choose_path(b) != TN_OK)
		return b->err->code;
	if (b->r->failed)
		return err_set(b->err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for findings");
	return set_write_text(b->out, text, b->sync, b->err);
}

tn_code tn_rebuild_index(const char *path, const char *out, const tn_open_options *open, const tn_write_options *write,
                         tn_report **report, tn_error *err)
{
	static const tn_open_options defaults;
	CALL_BEGIN(err);
	*report = NULL;
	if (path == NULL)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "no path given");
	struct rebuild b = { .out = out, .sync = write == NULL || !write->no_sync, .err = err };
	b.f = file_new(open != NULL ? open : &defaults);
	b.r = mem_alloc(sizeof *b.r);
	if (b.f == NULL || b.r == NULL) {
		tn_close(b.f);
		mem_free(b.r);
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	}
	report_init(b.r);
	arena_init(&b.mem, b.f->mem.budget);
	struct tn_report ignored; /* of files beside a series: here they count */
	report_init(&ignored);
	b.s = b.old = (struct set){ .mem = &b.f->mem, .opt = open != NULL ? open : &defaults, .report = &ignored };
	run(&b, path);
	report_fini(&ignored);
	*report = b.r;
	arena_fini(&b.mem);
	tn_close(b.f);
	return err->code;
}
