/* part.c - from a path or bytes to a checked model of one file. */
#include "api/part.h"

#include "api/path.h"
#include "base/mem.h"
#include "base/num.h"

#include <string.h>

enum {
	FIRST_READ = 64 * 1024 /* most headers of small models; longer ones say how long they are */
};

void part_init(struct part *p, uint64_t budget)
{
	memset(p, 0, sizeof *p);
	p->file.fd = p->file.direct_fd = -1;
	arena_init(&p->mem, budget);
	report_init(&p->report);
	report_init(&p->mended);
}

void part_close(struct part *p)
{
	report_fini(&p->report);
	report_fini(&p->mended);
	arena_fini(&p->mem);
	mem_free(p->head);
	mem_free(p->actual);
	sys_file_close(&p->file);
}

/* ---- The first bytes ---- */

/* Where there is no map: reads the first n bytes anew. What was parsed from shorter ones is forgotten. */
static tn_code read_head(struct part *p, uint64_t n, tn_view *out, tn_error *err)
{
	size_t len;
	if (n > p->mem.budget || !size_from_u64(n, &len))
		return err_set(err, TN_E_LIMIT, TN_NO_OFFSET, "header and index take %llu bytes, the memory limit is %llu",
		               (unsigned long long)n, (unsigned long long)p->mem.budget);
	mem_free(p->head);
	p->head = mem_alloc(len);
	if (p->head == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for the first %llu bytes", (unsigned long long)n);
	*out = (tn_view){ p->head, len };
	return reader_read(&p->reader, 0, p->head, len, err);
}

static tn_code first_bytes(struct part *p, tn_view *out, tn_error *err)
{
	if (p->reader.map.ptr != NULL || p->reader.size == 0) {
		*out = p->reader.map;
		return TN_OK;
	}
	return read_head(p, min_u64(p->reader.size, FIRST_READ), out, err);
}

/* ---- Format and model ---- */

static tn_code choose_format(struct part *p, tn_view head, const tn_open_options *opt, tn_error *err)
{
	if (opt->format == NULL)
		p->format = format_detect(head, p->reader.size, p->path, err);
	else if ((p->format = format_named(opt->format)) == NULL)
		err_set(err, TN_E_NOTFOUND, TN_NO_OFFSET, "there is no format '%s'", ESC(tn_text(opt->format)));
	return p->format != NULL ? TN_OK : err->code;
}

/* What a caller asks for; a format may have a limit of its own. */
static tn_code check_file_size(const struct part *p, const tn_open_options *opt, tn_error *err)
{
	uint64_t limit = opt->limits.max_file_bytes;
	if (limit == 0 || p->reader.file == NULL || p->reader.size <= limit)
		return TN_OK;
	return err_set(err, TN_E_LIMIT, TN_NO_OFFSET, "%s: %llu bytes, the limit is %llu", p->format->name,
	               (unsigned long long)p->reader.size, (unsigned long long)limit);
}

/* Of a map, pages count as the process's memory until they are given back. */
static void passed(void *part, uint64_t offset, uint64_t len)
{
	const struct part *p = part;
	if (p->reader.file != NULL)
		sys_file_forget(p->reader.file, offset, len);
}

/* Programs that go by the name will take the file for what it is not. */
static void check_extension(struct part *p)
{
	const char *ext = p->path != NULL ? path_extension(p->path) : NULL;
	const struct format *named = ext != NULL ? format_for_extension(ext) : NULL;
	if (named != NULL && named != p->format)
		report_add(&p->report, TN_WARNING, TN_E_FORMAT, TN_NO_OFFSET, NO_TENSOR,
		           "the name ends in .%s, the file is %s: rename it", ESC(tn_text(ext)), p->format->name);
}

/* What the first file of the set says is a matter of its own format alone. */
static const struct model *first_model(const struct part *p)
{
	return p->first != NULL && p->first->format == p->format ? &p->first->model : NULL;
}

static tn_code parse_once(struct part *p, tn_view head, const tn_open_options *opt, struct parse_job *job, tn_error *err)
{
	if (!model_init(&p->model, &p->mem))
		return arena_err(&p->mem, err, "the model");
	*job = (struct parse_job){
		.file = head, .size = p->reader.size, .in_memory = p->reader.file == NULL, .limits = &opt->limits,
		.first = first_model(p), .mem = &p->mem, .model = &p->model, .report = &p->report, .mend = p->mend, .mended = &p->mended,
		.check = { UINT64_MAX, UINT64_MAX, opt->partial ? &p->report : NULL }, .err = err,
		.passed = passed, .passed_ctx = p,
	};
	return p->format->parse(job);
}

static void forget(struct part *p, tn_error *err)
{
	uint64_t budget = p->mem.budget;
	arena_fini(&p->mem);
	arena_init(&p->mem, budget);
	report_fini(&p->report);
	report_init(&p->report);
	report_fini(&p->mended);
	report_init(&p->mended);
	err_clear(err);
}

/* Parses; where more of the file is asked for than was read, reads that much and begins again. */
static tn_code parse(struct part *p, tn_view head, const tn_open_options *opt, struct parse_job *job, tn_error *err)
{
	for (;;) {
		tn_code code = parse_once(p, head, opt, job, err);
		bool more = code == TN_E_TRUNCATED && job->need > head.len && job->need <= p->reader.size;
		if (!more)
			return code;
		forget(p, err);
		if (read_head(p, job->need, &head, err) != TN_OK)
			return err->code;
	}
}

static tn_code build(struct part *p, const tn_open_options *opt, tn_error *err)
{
	struct parse_job job;
	tn_view head;
	tn_code code = first_bytes(p, &head, err);
	if (code == TN_OK)
		code = choose_format(p, head, opt, err);
	if (code == TN_OK)
		code = check_file_size(p, opt, err);
	if (code == TN_OK)
		code = parse(p, head, opt, &job, err);
	if (code == TN_OK)
		check_extension(p);
	if (code == TN_OK && job.image.ptr != NULL)
		p->reader = (struct reader){ .map = job.image, .size = job.image.len, .packed = p->reader.file };
	if (code == TN_OK)
		code = model_check(&p->model, p->format->name, p->reader.size, &job.check, &p->mem, &p->names, err);
	if (code == TN_OK && p->report.failed)
		code = err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for findings");
	return code;
}

/* ---- Entry points ---- */

/* "model.bpk" where there is no "model". NULL when memory is out. */
static const char *actual_path(struct part *p, const char *path)
{
	if (path_extension(path) != NULL || sys_file_exists(path))
		return path;
	for (size_t i = 0; i < format_count; i++) {
		const char *longer = path_with_extension(&p->mem, formats[i], path);
		if (longer == NULL || (longer != path && sys_file_exists(longer)))
			return longer;
	}
	return path;
}

static tn_code open_file(struct part *p, const char *path, const tn_open_options *opt, tn_error *err)
{
	const char *actual = actual_path(p, path);
	if (actual == NULL)
		return arena_err(&p->mem, err, "a path");
	size_t n = strlen(actual) + 1;
	if ((p->actual = mem_alloc(n)) == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	memcpy(p->actual, actual, n);
	return sys_file_open(&p->file, p->actual, opt->io, err);
}

tn_code part_open(struct part *p, const char *path, const tn_open_options *opt, tn_error *err)
{
	p->path = path;
	if (open_file(p, path, opt, err) != TN_OK)
		return err->code;
	p->reader = (struct reader){ .map = p->file.map, .file = &p->file, .size = p->file.size };
	return build(p, opt, err);
}

tn_code part_open_memory(struct part *p, tn_view bytes, const tn_open_options *opt, tn_error *err)
{
	p->reader = (struct reader){ .map = bytes, .size = bytes.len };
	return build(p, opt, err);
}
