/* checkpoint.c - hands a format what lies beside the weights of a checkpoint, and the digests of these. */
#include "api/checkpoint.h"

#include "api/digests.h"
#include "api/set.h"
#include "base/mem.h"
#include "base/num.h"
#include "io/hash.h"

#include <string.h>

/* ---- Files beside others ---- */

/* name in the folder of path. */
static const char *beside(struct arena *mem, const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	int folder = slash != NULL ? (int)(slash + 1 - path) : 0;
	return arena_printf(mem, "%.*s%s", folder, path, name);
}

tn_code checkpoint_config(const tn_file *f, const struct format *to, const tn_convert_options *opt, struct arena *mem,
                          const char **out, tn_error *err)
{
	const char *path = f->parts[0].path;
	*out = NULL;
	if (to->checkpoint == NULL || opt->no_config) {
		if (opt->config != NULL)
			err_set(err, TN_E_USAGE, TN_NO_OFFSET, opt->no_config ? "a config is named and unwanted at once"
			                                                      : "%s has no use for a config.json", to->name);
		return err->code;
	}
	if (opt->config != NULL) {
		*out = opt->config;
		return TN_OK;
	}
	bool returns = tn_meta_find(f->model.native, tn_text(to->name)) != NULL; /* it was such a file, and says all itself */
	if (path == NULL || (f->format->caps & CAP_CHECKPOINT) == 0 || returns)
		return TN_OK;
	const char *config = beside(mem, path, "config.json");
	if (config == NULL)
		return arena_err(mem, err, "a path");
	if (sys_file_exists(config))
		*out = config;
	return TN_OK;
}

/* ---- Digests of whole files ---- */

static tn_code hash_file(const char *path, tn_digest *out, tn_error *err)
{
	enum { PIECE = 64 * 1024 };
	struct sys_file file;
	struct b3 h;
	uint8_t *piece = mem_alloc(PIECE);
	if (piece == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	b3_init(&h);
	if (sys_file_open(&file, path, TN_IO_PREAD, err) == TN_OK) {
		for (uint64_t at = 0; at < file.size && err->code == TN_OK; at += PIECE) {
			size_t n = (size_t)min_u64(PIECE, file.size - at);
			if (sys_file_read(&file, at, piece, n, false, err) == TN_OK)
				b3_update(&h, piece, n);
		}
		sys_file_close(&file);
	}
	b3_final(&h, out);
	mem_free(piece);
	return err->code;
}

/* NULL in *out where the file is not there. */
static tn_code hash_beside(const char *config, const char *name, struct arena *mem, const tn_digest **out, tn_error *err)
{
	tn_digest *digest = ARENA_NEW(mem, 1, tn_digest);
	const char *path = beside(mem, config, name);
	if (digest == NULL || path == NULL)
		return arena_err(mem, err, "a path");
	if (!sys_file_exists(path))
		return TN_OK;
	if (hash_file(path, digest, err) != TN_OK)
		err_prefix(err, "%s", name);
	*out = digest;
	return err->code;
}

/* ---- Digests of tensors ---- */

struct hashing {
	const tn_file       *f;
	const struct tensor **stored;
	const tn_work       *work;
	const char          *journal;
	struct arena        *mem;
	tn_digest           *digests; /* [as many as are stored] those that were asked for */
};

static tn_code hash_stored(struct hashing *j, const uint64_t *which, uint64_t n, tn_digest *out, tn_error *err)
{
	struct hash_item *items = arena_raw(j->mem, n, sizeof *items);
	if (items == NULL)
		return arena_err(j->mem, err, "the list of digests");
	for (uint64_t k = 0; k < n; k++)
		items[k] = (struct hash_item){ .from = reader_of(j->f, j->stored[which[k]]), .tensor = j->stored[which[k]] };
	if (hash_items(items, n, j->work, false, err) != TN_OK)
		return err->code;
	for (uint64_t k = 0; k < n; k++)
		out[k] = items[k].digest;
	return TN_OK;
}

static tn_code digest(void *ctx, const uint64_t *which, uint64_t n, tn_digest *out, tn_error *err)
{
	struct hashing *j = ctx;
	struct known known = { .f = j->f, .stored = j->stored, .which = which, .n = n, .digests = out };
	bool found = false;
	if (j->journal != NULL && digests_load(&known, j->journal, j->mem, &found, err) != TN_OK)
		return err->code;
	if (!found && hash_stored(j, which, n, out, err) != TN_OK)
		return err->code;
	if (!found && j->journal != NULL && digests_save(&known, j->journal, j->mem, err) != TN_OK)
		return err->code;
	for (uint64_t k = 0; k < n; k++)
		j->digests[which[k]] = out[k];
	return TN_OK;
}

/* ---- The whole ---- */

static bool is_cast(const struct source *s) { return s->kind != SOURCE_RANGE && s->kind != SOURCE_TENSOR; }

/* The sources follow the tensors; those that pass unchanged have the digests that were computed. */
static tn_code follow(const struct checkpoint_job *job, const struct hashing *j, struct selection *s, tn_error *err)
{
	uint64_t n = job->out->n;
	struct source *sources = arena_raw(job->mem, n, sizeof *sources);
	if (sources == NULL)
		return arena_err(job->mem, err, "the tensor list");
	for (uint64_t i = 0; i < n; i++) {
		sources[i] = s->sources[job->from[i]];
		job->out->tensors[i].digest = is_cast(&sources[i]) ? NULL : &j->digests[job->from[i]];
	}
	s->sources = sources;
	s->model = *job->out;
	s->stored = NULL;
	return TN_OK;
}

tn_code checkpoint_apply(const tn_file *f, const struct format *to, const tn_convert_options *opt, const char *config,
                         const char *journal, struct arena *mem, struct selection *s, struct tn_report *report,
                         tn_error *err)
{
	struct model out;
	struct hashing hashing = { .f = f, .stored = s->stored, .work = &opt->write.work, .journal = journal, .mem = mem };
	struct checkpoint_job job = {
		.no_tokenizer = opt->no_tokenizer, .arch = opt->arch, .model = &s->model, .digest = digest, .ctx = &hashing,
		.own = (f->format->caps & CAP_CHECKPOINT) != 0 ? f->format->name : NULL, .mem = mem, .out = &out, .report = report, .err = err,
	};
	hashing.digests = ARENA_NEW(mem, s->model.n, tn_digest);
	if (hashing.digests == NULL)
		return arena_err(mem, err, "the list of digests");
	if (set_read_file(config, mem, &job.config, err) != TN_OK) {
		err_prefix(err, "%s", ESC(tn_text(config)));
		return err->code;
	}
	if (!opt->no_tokenizer && (hash_beside(config, "tokenizer.json", mem, &job.tokenizer, err) != TN_OK ||
	                           hash_beside(config, "tokenizer_config.json", mem, &job.tokenizer_config, err) != TN_OK))
		return err->code;
	return to->checkpoint(&job) == TN_OK ? follow(&job, &hashing, s, err) : err->code;
}
