/* repair.c - a file again, without the faults that can be mended without guessing.
 *
 * The format reads over such faults when it is asked to (parse_job.mend) and says each of them; the writer then does not
 * make them again. Bytes of tensors are never touched. */
#include "api/call.h"
#include "api/set.h"
#include "base/mem.h"

/* What a rewrite mends in every format: bytes that nothing claims, tensors off their alignment. */
static void list_lint(const struct part *p, struct tn_report *r)
{
	struct tn_report lint;
	report_init(&lint);
	model_lint(&p->model, p->format->name, p->reader.size, &lint);
	for (size_t i = 0; i < lint.n; i++)
		report_add(r, TN_NOTE, TN_OK, lint.list[i].offset, lint.list[i].tensor, "%s: mended", lint.list[i].text);
	r->failed = r->failed || lint.failed;
	report_fini(&lint);
}

static tn_code rewrite(const tn_file *f, const char *out, const tn_write_options *write, struct tn_report *r, tn_error *err)
{
	tn_convert_options how = { .format = f->format->name, .write = *write };
	tn_converted done;
	how.write.exact_path = true;
	how.write.keep_unknown = true;
	if (tn_convert(f, out, &how, &done, err) == TN_OK)
		report_add(r, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR, "'%s' is written: %llu tensors, %llu bytes", ESC(tn_text(out)),
		           (unsigned long long)done.tensors, (unsigned long long)done.size);
	if (done.report != NULL)
		report_copy(r, done.report);
	tn_report_free(done.report);
	return err->code;
}

static tn_code repair(tn_file *f, const char *path, const char *out, const tn_open_options *open, const tn_write_options *write,
                      struct tn_report *r, tn_error *err)
{
	f->first.mend = true;
	if (part_open(&f->first, path, open, err) != TN_OK)
		return err->code;
	report_copy(r, &f->first.mended);
	if (f->first.mended.n == 0)
		list_lint(&f->first, r);
	if (r->failed)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for findings");
	if (r->n == 0) {
		report_add(r, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR, "there is nothing to mend, and nothing is written");
		return TN_OK;
	}
	return set_merge(f, NULL, open, NULL, err) == TN_OK ? rewrite(f, out, write, r, err) : err->code;
}

/* A set is mended by its index alone: each of its files is a file. What is wrong with it, mending the index tells. */
static bool is_set(const char *path, const tn_open_options *open, struct tn_report *said, struct arena *mem, tn_error *err)
{
	struct set s = { .mem = mem, .opt = open, .report = said };
	bool found = false;
	if (set_find(&s, path, &found, err) == TN_OK)
		return found;
	if (err->code == TN_E_NOMEM)
		return false;
	err_clear(err);
	return true;
}

static tn_code repair_path(const char *path, const char *out, const tn_open_options *open, const tn_write_options *write,
                           tn_report **report, tn_error *err)
{
	tn_file *f = file_new(open);
	struct tn_report *r = mem_alloc(sizeof *r);
	if (f == NULL || r == NULL) {
		tn_close(f);
		mem_free(r);
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	}
	report_init(r);
	if (is_set(path, open, r, &f->mem, err)) {
		tn_close(f);
		tn_report_free(r);
		return tn_rebuild_index(path, out, open, write, report, err);
	}
	if (err->code == TN_OK)
		repair(f, path, out, open, write, r, err);
	tn_close(f);
	*report = r;
	return err->code;
}

tn_code tn_repair(const char *path, const char *out, const tn_open_options *open, const tn_write_options *write,
                  tn_report **report, tn_error *err)
{
	static const tn_open_options open_defaults;
	static const tn_write_options write_defaults;
	CALL_BEGIN(err);
	*report = NULL;
	if (path == NULL || out == NULL)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "no path given");
	return repair_path(path, out, open != NULL ? open : &open_defaults, write != NULL ? write : &write_defaults, report, err);
}
