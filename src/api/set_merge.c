/* set_merge.c - one model out of the models of the parts.
 *
 * Tensors follow each other in the order of the files. Where there is an index it is the sole owner of names: a copy in
 * another file is left out with a warning, and what it names and no file has is an error that is reported, for what is
 * there can still be read. Metadata is the first file's, and whatever the others add to it. */
#include "api/set.h"

#include <stdio.h>

struct merge {
	tn_file          *f;
	const struct set *s;       /* NULL: a single file */
	const tn_open_options *opt;
	struct tn_report *lenient; /* NULL: contradictions fail */
	struct model     *models;  /* of each part, its envelope applied */
	struct strmap     owners;  /* of the index */
	uint8_t          *seen;    /* owner i has been found where the index says */
	uint8_t          *misplaced; /* part p says that it is another shard: its tensors do not count */
	size_t            n_misplaced;
	bool              from_zero; /* the numbers in names */
	tn_error         *err;
};

static tn_code no_memory(struct merge *g)
{
	return arena_err(&g->f->mem, g->err, "the model of the set");
}

/* The envelope speaks only after the container has been found sound by itself. */
static tn_code restore(struct merge *g, struct model *m)
{
	tn_file *f = g->f;
	tn_view key = tn_text(f->format->envelope_key), text;
	bool applied = false;
	if (g->opt->ignore_envelope || key.len == 0 || !tn_meta_string(meta_find(m->metadata, key), &text))
		return TN_OK;
	if (envelope_apply(m, key, text, &f->mem, &f->report, &applied, g->err) != TN_OK)
		return g->err->code;
	f->enveloped = f->enveloped || applied;
	return TN_OK;
}

/* ---- Of several parts ---- */

/* A contradiction between the files: a failure, or a finding where all are wanted. */
static tn_code contradiction(struct merge *g, tn_view tensor, const char *text)
{
	if (g->lenient == NULL)
		return err_set(g->err, TN_E_CORRUPT, TN_NO_OFFSET, "%s", text);
	report_add(g->lenient, TN_ERROR, TN_E_CORRUPT, TN_NO_OFFSET, tensor, "%s", text);
	return TN_OK;
}

static const char *name_of(const struct merge *g, size_t part) { return part_name(&g->f->parts[part]); }

static tn_view owner_at(const void *owners, uint64_t i) { return ((const struct shard_owner *)owners)[i].tensor; }

static tn_code index_owners(struct merge *g)
{
	const struct shard_index *says = &g->s->says;
	uint64_t other;
	g->seen = arena_new(&g->f->mem, says->n_owners, 1);
	if (g->seen == NULL || !strmap_init(&g->owners, &g->f->mem, says->n_owners))
		return no_memory(g);
	for (uint64_t i = 0; i < says->n_owners; i++)
		strmap_add(&g->owners, owner_at, says->owners, i, &other);
	return TN_OK;
}

/* What one file holds beside what the index gives it; told once for all of its tensors. */
struct beside {
	uint64_t copies, unlisted;
	tn_view  copy, name;
	uint64_t owner;
};

/* Whether tensor i of part p is the one that counts. */
static bool owned(struct merge *g, size_t p, tn_view name, struct beside *b)
{
	uint64_t i;
	if (g->s == NULL || g->s->index == NULL)
		return true;
	if (!strmap_find(&g->owners, owner_at, g->s->says.owners, name, &i)) {
		if (b->unlisted++ == 0)
			b->name = name;
		return true;
	}
	if (g->s->says.owners[i].file == g->f->parts[p].shard) {
		g->seen[i] = 1;
		return true;
	}
	if (b->copies++ == 0) {
		b->copy = name;
		b->owner = g->s->says.owners[i].file;
	}
	return false;
}

static void tell_beside(struct merge *g, size_t p, const struct beside *b)
{
	struct tn_report *r = &g->f->report;
	const char *file = name_of(g, p);
	if (b->copies != 0)
		report_add(r, TN_WARNING, TN_OK, TN_NO_OFFSET, b->copy,
		           "%s: copies of what the index gives to other files are left out: %llu, the first is '%s' (%s)",
		           ESC(tn_text(file)), (unsigned long long)b->copies, ESC(b->copy), ESC(g->s->says.files[b->owner]));
	if (b->unlisted != 0)
		report_add(r, TN_WARNING, TN_OK, TN_NO_OFFSET, b->name,
		           "%s: tensors that are not in the index: %llu, the first is '%s'", ESC(tn_text(file)),
		           (unsigned long long)b->unlisted, ESC(b->name));
}

static tn_code add_tensor(struct merge *g, size_t p, const struct tensor *t)
{
	struct model *m = &g->f->model;
	uint64_t other;
	char text[sizeof g->err->msg];
	m->tensors[m->n] = *t;
	m->tensors[m->n].part = (uint32_t)p;
	if (strmap_add(&g->f->names, model_name_at, m, m->n, &other)) {
		m->n++;
		return TN_OK;
	}
	snprintf(text, sizeof text, "tensor '%s' is in '%s' and in '%s', and no index says which counts", ESC(t->name),
	         ESC(tn_text(name_of(g, m->tensors[other].part))), ESC(tn_text(name_of(g, p))));
	return contradiction(g, t->name, text);
}

/* A single file whose envelope changed nothing: its tensors and the index of their names serve as they are. */
static bool take_as_is(struct merge *g)
{
	if (g->f->n_parts != 1 || g->s != NULL || g->f->enveloped)
		return false;
	g->f->model.n = g->models[0].n;
	g->f->names = g->f->first.names;
	return true;
}

static tn_code merge_tensors(struct merge *g)
{
	struct model *m = &g->f->model;
	uint64_t total = 0;
	for (size_t p = 0; p < g->f->n_parts; p++)
		total += g->models[p].n; /* all of them are in memory: no sum overflows */
	if (total > limit_or(g->opt->limits.max_tensors, UINT64_MAX))
		return err_set(g->err, TN_E_LIMIT, TN_NO_OFFSET, "the set has %llu tensors, the limit is %llu",
		               (unsigned long long)total, (unsigned long long)g->opt->limits.max_tensors);
	m->by_name = NULL; /* it is of a part */
	m->tensors = arena_raw(&g->f->mem, total, sizeof *m->tensors);
	if (m->tensors == NULL || !strmap_init(&g->f->names, &g->f->mem, total))
		return no_memory(g);
	for (size_t p = 0; p < g->f->n_parts; p++) {
		struct beside b = { 0 };
		for (uint64_t i = 0; i < g->models[p].n && g->misplaced[p] == 0; i++) {
			const struct tensor *t = &g->models[p].tensors[i];
			if (owned(g, p, t->name, &b) && add_tensor(g, p, t) != TN_OK)
				return g->err->code;
		}
		tell_beside(g, p, &b);
	}
	return TN_OK;
}

/* Names that the index gives to an open file which does not have them: told once for each file. */
static void tell_absent(struct merge *g)
{
	const struct shard_index *says = &g->s->says;
	for (size_t p = 0; p < g->f->n_parts; p++) {
		uint64_t absent = 0, first = 0;
		for (uint64_t i = 0; i < says->n_owners; i++)
			if (says->owners[i].file == g->f->parts[p].shard && g->seen[i] == 0 && absent++ == 0)
				first = i;
		if (absent != 0)
			report_add(&g->f->report, TN_ERROR, TN_E_CORRUPT, TN_NO_OFFSET, says->owners[first].tensor,
			           "%s: tensors that the index gives to this file and it does not have: %llu, the first is '%s'",
			           ESC(tn_text(name_of(g, p))), (unsigned long long)absent, ESC(says->owners[first].tensor));
	}
}

/* What has another size than the index gives it is another file, or a stale index. */
static void check_sizes(struct merge *g)
{
	for (size_t p = 0; g->s->says.sizes != NULL && p < g->f->n_parts; p++) {
		uint64_t says = g->s->says.sizes[g->f->parts[p].shard], is = g->f->parts[p].reader.size;
		if (is != says)
			report_add(&g->f->report, TN_ERROR, TN_E_CORRUPT, TN_NO_OFFSET, NO_TENSOR,
			           "%s: the index says that the file has %s, it has %s", ESC(tn_text(name_of(g, p))), N_BYTES(says), N_BYTES(is));
	}
}

static void check_total(struct merge *g)
{
	uint64_t total = 0;
	if (!g->s->says.has_total || g->f->n_parts != g->s->n)
		return;
	for (uint64_t i = 0; i < g->f->model.n; i++)
		total += g->f->model.tensors[i].stored; /* ranges of files that are there */
	if (total != g->s->says.total)
		report_add(&g->f->report, TN_WARNING, TN_E_CORRUPT, TN_NO_OFFSET, NO_TENSOR,
		           "the index says that the tensors take %s in all, they take %s", N_BYTES(g->s->says.total), N_BYTES(total));
}

/* ---- Metadata ---- */

struct keys {
	struct tn_meta **nodes;
	size_t          *parts;  /* which file each is from */
	struct strmap    map;
	uint64_t         n;
};

static tn_view key_at(const void *nodes, uint64_t i) { return ((struct tn_meta *const *)nodes)[i]->key; }

/* A key that is not there yet is added; one that has another value there is told of, and lost to what is made of the model. */
static tn_code add_key(struct merge *g, struct keys *k, size_t p, const struct tn_meta *node)
{
	uint64_t other;
	if (strmap_find(&k->map, key_at, k->nodes, node->key, &other)) {
		if (!meta_equal(k->nodes[other], node))
			report_add(&g->f->report, TN_WARNING, TN_E_LOSSY, TN_NO_OFFSET, NO_TENSOR,
			           "%s: metadata '%s' differs from that of '%s', which counts", ESC(tn_text(name_of(g, p))), ESC(node->key),
			           ESC(tn_text(name_of(g, k->parts[other]))));
		return TN_OK;
	}
	struct tn_meta *copy = meta_clone(&g->f->mem, node, false);
	if (copy == NULL)
		return no_memory(g);
	k->parts[k->n] = p;
	k->nodes[k->n] = meta_append(g->f->model.metadata, node->key, copy);
	strmap_add(&k->map, key_at, k->nodes, k->n++, &other);
	return TN_OK;
}

static tn_code merge_metadata(struct merge *g)
{
	struct keys k = { .n = 0 };
	uint64_t total = 0, other;
	for (size_t p = 0; p < g->f->n_parts; p++)
		total += tn_meta_count(g->models[p].metadata);
	k.nodes = arena_raw(&g->f->mem, total, sizeof *k.nodes);
	k.parts = arena_new(&g->f->mem, total, sizeof *k.parts);
	if (k.nodes == NULL || k.parts == NULL || !strmap_init(&k.map, &g->f->mem, total))
		return no_memory(g);
	for (struct tn_meta *x = g->f->model.metadata->as.kids.first; x != NULL; x = x->next) {
		k.nodes[k.n] = x;
		strmap_add(&k.map, key_at, k.nodes, k.n++, &other);
	}
	for (size_t p = 1; p < g->f->n_parts; p++)
		for (const struct tn_meta *x = g->models[p].metadata->as.kids.first; x != NULL; x = x->next)
			if (add_key(g, &k, p, x) != TN_OK)
				return g->err->code;
	return TN_OK;
}

static tn_code keep_index_metadata(struct merge *g)
{
	struct tn_meta *own, *metadata = g->s->says.metadata;
	if (metadata == NULL)
		return TN_OK;
	metadata = meta_clone(&g->f->mem, metadata, true);
	own = model_native(&g->f->mem, &g->f->model, g->f->format->name);
	if (metadata == NULL || own == NULL)
		return no_memory(g);
	meta_set(own, VIEW(SHARDS_INDEX), metadata);
	return TN_OK;
}

/* ---- What the shards say of themselves ---- */

/* The place that the name of a file gives it, or its place among the files. */
static struct shard_place expected(const struct merge *g, size_t p)
{
	const struct series *of = &g->s->series;
	struct series series;
	struct shard_place place = { g->f->parts[p].shard, g->s->n, UINT64_MAX };
	if (of->n == 0 || !series_parse(tn_text(name_of(g, p)), &series) || !series_same(&series, of))
		return place;
	place.k = series.k - (series.k != 0 && !g->from_zero);
	place.n = series.n;
	return place;
}

static tn_code check_place(struct merge *g, size_t p)
{
	struct shard_place is, want = expected(g, p);
	char text[sizeof g->err->msg];
	const char *file = name_of(g, p);
	if (!g->f->format->shards->place(&g->f->parts[p].model, &is))
		snprintf(text, sizeof text, "%s: it is a whole model, not a shard of this set", ESC(tn_text(file)));
	else if (is.n != want.n || is.k != want.k)
		snprintf(text, sizeof text, "%s: it says that it is shard %llu of %llu, not %llu of %llu", ESC(tn_text(file)),
		         (unsigned long long)is.k + 1, (unsigned long long)is.n, (unsigned long long)want.k + 1,
		         (unsigned long long)want.n);
	else
		return TN_OK;
	g->misplaced[p] = 1;
	g->n_misplaced++;
	return contradiction(g, NO_TENSOR, text);
}

static bool say_places(const struct merge *g)
{
	const struct shard_rules *rules = g->f->format->shards;
	struct shard_place place;
	return g->s != NULL && g->s->n > 1 && rules != NULL && rules->place != NULL && rules->place(&g->f->parts[0].model, &place);
}

/* Only for files that are a set by their own word: the first says that it is a shard. */
static tn_code check_places(struct merge *g)
{
	struct series series;
	g->misplaced = arena_new(&g->f->mem, g->f->n_parts, 1);
	if (g->misplaced == NULL)
		return no_memory(g);
	if (!say_places(g))
		return TN_OK;
	g->from_zero = g->s->from_zero;
	for (size_t p = 0; p < g->f->n_parts; p++)
		g->from_zero = g->from_zero || (series_parse(tn_text(name_of(g, p)), &series) && series.k == 0);
	for (size_t p = 0; p < g->f->n_parts; p++)
		if (check_place(g, p) != TN_OK)
			return g->err->code;
	return TN_OK;
}

/* Once all files are there. */
static tn_code check_count(struct merge *g)
{
	struct shard_place place;
	char text[sizeof g->err->msg];
	if (!say_places(g) || g->n_misplaced != 0 || g->f->n_parts != expected(g, 0).n)
		return TN_OK;
	for (size_t p = 0; p < g->f->n_parts; p++) {
		if (!g->f->format->shards->place(&g->f->parts[p].model, &place) || place.tensors == UINT64_MAX ||
		    place.tensors == g->f->model.n)
			continue;
		snprintf(text, sizeof text, "%s: it says that the set has %llu tensors, it has %llu", ESC(tn_text(name_of(g, p))),
		         (unsigned long long)place.tensors, (unsigned long long)g->f->model.n);
		if (contradiction(g, NO_TENSOR, text) != TN_OK)
			return g->err->code;
	}
	return TN_OK;
}

/* The marks of a shard are taken out of a copy: the part goes on showing what its file says. */
static tn_code unmark(struct merge *g, struct model *m)
{
	const struct shard_rules *rules = g->f->format->shards;
	if (rules == NULL || rules->make_whole == NULL)
		return TN_OK;
	m->metadata = meta_clone(&g->f->mem, m->metadata, false);
	m->native = meta_clone(&g->f->mem, m->native, false);
	if (m->metadata == NULL || m->native == NULL)
		return no_memory(g);
	rules->make_whole(m);
	return TN_OK;
}

/* ---- The whole ---- */

static void tell_warnings(struct merge *g)
{
	for (size_t p = 0; p < g->f->n_parts; p++) {
		if (g->s == NULL || g->s->n == 1)
			report_copy(&g->f->report, &g->f->parts[p].report);
		else
			report_copy_as(&g->f->report, &g->f->parts[p].report, name_of(g, p));
	}
}

static tn_code restore_parts(struct merge *g)
{
	g->models = arena_raw(&g->f->mem, g->f->n_parts, sizeof *g->models);
	if (g->models == NULL)
		return no_memory(g);
	for (size_t p = 0; p < g->f->n_parts; p++) {
		g->models[p] = g->f->parts[p].model;
		if ((g->s != NULL && g->s->n > 1 && unmark(g, &g->models[p]) != TN_OK) || restore(g, &g->models[p]) != TN_OK)
			return g->err->code;
	}
	g->f->model = g->models[0];
	g->f->model.n = 0;
	return TN_OK;
}

static tn_code merge_set(struct merge *g)
{
	if (g->s != NULL && g->s->index != NULL && index_owners(g) != TN_OK)
		return g->err->code;
	if (check_places(g) != TN_OK || (!take_as_is(g) && merge_tensors(g) != TN_OK) || g->s == NULL || merge_metadata(g) != TN_OK ||
	    check_count(g) != TN_OK)
		return g->err->code;
	if (g->s->index != NULL) {
		tell_absent(g);
		check_sizes(g);
		check_total(g);
	}
	return keep_index_metadata(g);
}

tn_code set_merge(tn_file *f, const struct set *s, const tn_open_options *opt, struct tn_report *lenient, tn_error *err)
{
	struct merge g = { .f = f, .s = s, .opt = opt, .lenient = lenient, .err = err };
	f->format = f->parts[0].format;
	if (s != NULL && s->report != NULL)
		report_copy(&f->report, s->report);
	tell_warnings(&g);
	if (restore_parts(&g) != TN_OK || merge_set(&g) != TN_OK)
		return err->code;
	return f->report.failed ? err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for findings") : TN_OK;
}
