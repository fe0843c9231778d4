/* set_check.c - everything worth saying about a path, also where it cannot be opened because of a part of what it means.
 *
 * An index, a folder and the headers of files say the same three times. Here they are compared in all directions; opening
 * (set_open.c, set_merge.c) has told already what it came across. */
#include "api/call.h"
#include "api/set.h"
#include "api/sums.h"
#include "base/mem.h"

#include <string.h>

struct check {
	tn_file                 *f;
	struct set               s;
	bool                     is_set;
	const tn_verify_options *opt;
	struct tn_report        *r;
	struct arena             mem;
	tn_error                *err;
};

/* ---- Files that the index does not name ---- */

static tn_view owner_at(const void *owners, uint64_t i) { return ((const struct shard_owner *)owners)[i].tensor; }

static bool named(const struct set *s, const char *name)
{
	for (uint64_t i = 0; i < s->n; i++)
		if (strcmp(s->files[i], name) == 0)
			return true;
	return false;
}

/* A numbered file of the set's own with tensors that are nowhere else: the index is stale. */
static bool in_series(const struct set *s, const char *name)
{
	struct series series;
	return s->series.n != 0 && series_parse(tn_text(name), &series) && series_same(&series, &s->series);
}

static void tell_extra(struct check *c, const char *name, const struct part *p, const struct strmap *owners)
{
	uint64_t hidden = 0, first = 0, i;
	for (uint64_t t = 0; t < p->model.n; t++) {
		tn_view tensor = p->model.tensors[t].name;
		bool known = strmap_find(owners, owner_at, c->s.says.owners, tensor, &i)
		          || (c->f->model.n != 0 && strmap_find(&c->f->names, model_name_at, &c->f->model, tensor, &i));
		if (!known && hidden++ == 0)
			first = t;
	}
	if (hidden == 0)
		report_add(c->r, TN_WARNING, TN_OK, TN_NO_OFFSET, NO_TENSOR,
		           "'%s' is not in the index; all its tensors are copies of the set's", ESC(tn_text(name)));
	else
		report_add(c->r, in_series(&c->s, name) ? TN_ERROR : TN_WARNING, TN_E_CORRUPT, TN_NO_OFFSET, p->model.tensors[first].name,
		           "'%s' is not in the index; of its tensors %llu of %llu are nowhere in the set, the first is '%s'",
		           ESC(tn_text(name)), (unsigned long long)hidden, (unsigned long long)p->model.n,
		           ESC(p->model.tensors[first].name));
}

static tn_code check_extra(struct check *c, const char *name, const struct strmap *owners)
{
	tn_error why = { .code = TN_OK };
	struct part p;
	const char *path = set_join(&c->s, name);
	if (path == NULL)
		return arena_err(c->s.mem, c->err, "a path");
	part_init(&p, DEFAULT_MEMORY);
	if (part_open(&p, path, c->s.opt, &why) == TN_OK)
		tell_extra(c, name, &p, owners);
	else
		report_add(c->r, TN_WARNING, why.code, TN_NO_OFFSET, NO_TENSOR, "'%s' is not in the index, and does not open: %s",
		           ESC(tn_text(name)), why.msg);
	part_close(&p);
	return TN_OK;
}

static tn_code check_extras(struct check *c)
{
	struct sys_names names;
	struct strmap owners;
	uint64_t other;
	if (set_list(&c->s, c->s.format, &names, c->err) != TN_OK)
		return c->err->code;
	if (!strmap_init(&owners, &c->mem, c->s.says.n_owners))
		return arena_err(&c->mem, c->err, "the index");
	for (uint64_t i = 0; i < c->s.says.n_owners; i++)
		strmap_add(&owners, owner_at, c->s.says.owners, i, &other);
	for (size_t i = 0; i < names.n; i++)
		if (!named(&c->s, names.list[i]) && check_extra(c, names.list[i], &owners) != TN_OK)
			return c->err->code;
	return TN_OK;
}

/* ---- The set ---- */

static tn_code check_set(struct check *c)
{
	c->f->format = c->s.format;
	if (set_open(c->f, &c->s, &c->f->report, c->err) != TN_OK)
		return c->err->code;
	if (c->f->n_parts != 0 && set_merge(c->f, &c->s, c->s.opt, &c->f->report, c->err) != TN_OK)
		return c->err->code;
	if (c->s.index == NULL)
		return TN_OK;
	if (c->s.series.n != 0 && set_gaps(&c->s, c->r, c->err) != TN_OK)
		return c->err->code;
	return check_extras(c);
}

static tn_code find(struct check *c, const char *path)
{
	tn_file *f = c->f;
	if (!c->s.opt->single && set_find(&c->s, path, &c->is_set, c->err) != TN_OK)
		return c->err->code;
	if (c->is_set)
		return TN_OK;
	if (part_open(&f->first, path, c->s.opt, c->err) != TN_OK)
		return c->err->code;
	if (!c->s.opt->single && set_of_any(&c->s, &f->first, &c->is_set, c->err) != TN_OK)
		return c->err->code;
	if (!c->is_set)
		return set_merge(f, NULL, c->s.opt, NULL, c->err);
	part_close(&f->first); /* opened again as one of them */
	part_init(&f->first, f->mem.budget);
	return TN_OK;
}

/* ---- Sums ---- */

static tn_code check_sums(struct check *c)
{
	struct sys_names beside;
	const tn_file *f = c->f;
	for (size_t i = 0; i < f->n_parts; i++) {
		const struct part *p = &f->parts[i];
		const char *name = part_name(p);
		struct tn_report own;
		if (i == 0) {
			const char *folder = name != p->actual ? arena_printf(&c->mem, "%.*s", (int)(name - p->actual), p->actual) : ".";
			if (folder == NULL || sys_folder_list(folder, &c->mem, &beside, c->err) != TN_OK)
				return folder == NULL ? arena_err(&c->mem, c->err, "a path") : c->err->code;
		}
		report_init(&own);
		sums_check(p, &beside, &c->opt->work, &own, &c->mem, c->err);
		if (c->is_set && c->s.n > 1)
			report_copy_as(c->r, &own, name);
		else
			report_copy(c->r, &own);
		report_fini(&own);
		if (c->err->code != TN_OK)
			return c->err->code;
	}
	return TN_OK;
}

/* ---- The whole ---- */

static tn_code run(struct check *c, const char *path)
{
	if (find(c, path) != TN_OK || (c->is_set && check_set(c) != TN_OK))
		return c->err->code;
	if (verify_file(c->f, c->opt, c->r, &c->mem, c->err) != TN_OK)
		return c->err->code;
	if (!c->opt->no_sums && check_sums(c) != TN_OK)
		return c->err->code;
	return c->r->failed ? err_set(c->err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for findings") : TN_OK;
}

tn_code tn_verify_path(const char *path, const tn_open_options *open, const tn_verify_options *opt, tn_verified *out,
                       tn_error *err)
{
	static const tn_open_options open_defaults;
	static const tn_verify_options defaults;
	CALL_BEGIN(err);
	*out = (tn_verified){ .report = NULL };
	if (path == NULL)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "no path given");
	struct check c = { .opt = opt != NULL ? opt : &defaults, .err = err };
	struct tn_report said;
	c.f = file_new(open != NULL ? open : &open_defaults);
	c.r = mem_alloc(sizeof *c.r);
	if (c.f == NULL || c.r == NULL) {
		tn_close(c.f);
		mem_free(c.r);
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	}
	report_init(c.r);
	report_init(&said);
	arena_init(&c.mem, c.f->mem.budget);
	c.s = (struct set){ .mem = &c.f->mem, .opt = open != NULL ? open : &open_defaults, .report = &said };
	if (run(&c, path) == TN_OK)
		*out = (tn_verified){ c.f->format->name, c.f->n_parts, c.r };
	else
		tn_report_free(c.r);
	report_fini(&said);
	arena_fini(&c.mem);
	tn_close(c.f);
	return err->code;
}
