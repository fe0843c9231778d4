/* resume.c - a save that keeps what it has written when it is interrupted, and goes on from there the next time.
 *
 * The bytes are in .NAME.partial beside the target. NAME.conversion-journal.json says what file is being made, by a
 * digest of its layout and inputs, and how much of it is certain to be on the disk. What another layout or other inputs
 * have left is begun anew: an input is the same where device, inode, size and both times are. What is taken over is read back where the format wants digests of it: where one is not what it must be
 * the run fails, and the next one begins anew. */
#include "api/resume.h"

#include "api/path.h"
#include "api/save.h"
#include "api/set.h"
#include "base/bytes.h"
#include "base/num.h"
#include "codec/json.h"

#include <stdio.h>
#include <string.h>

struct resume {
	struct save    *s;
	const char     *path, *plan, *journal;
	char            layout[2 * TN_DIGEST_LEN + 1];
	struct sys_out  out;
	struct sys_file written; /* the partial file, to be read */
};

/* ---- Names ---- */

static tn_code side_path(const struct format *f, const char *path, const tn_write_options *opt, const char *suffix,
                         struct arena *mem, const char **out, tn_error *err)
{
	if (!opt->exact_path)
		path = path_with_extension(mem, f, path);
	*out = path != NULL ? arena_printf(mem, "%s%s", path, suffix) : NULL;
	return *out != NULL ? TN_OK : arena_err(mem, err, "a path");
}

tn_code resume_plan_path(const struct format *f, const char *path, const tn_write_options *opt, struct arena *mem,
                         const char **out, tn_error *err)
{
	return side_path(f, path, opt, ".conversion-plan.json", mem, out, err);
}

static tn_code find_paths(struct resume *r, const char *path)
{
	struct save *s = r->s;
	if (side_path(s->format, path, s->options, "", &s->mem, &r->path, s->err) != TN_OK ||
	    side_path(s->format, path, s->options, ".conversion-journal.json", &s->mem, &r->journal, s->err) != TN_OK)
		return s->err->code;
	return resume_plan_path(s->format, path, s->options, &s->mem, &r->plan, s->err);
}

tn_code resume_write_text(const char *path, tn_view text, bool sync, tn_error *err)
{
	struct sys_out out;
	uint64_t have = 0;
	if (sys_out_resume(&out, path, sync, text.len, &have, err) != TN_OK)
		return err->code;
	sys_out_write(&out, text.ptr, text.len, err);
	return sys_out_commit(&out, err);
}

/* ---- What file it is ---- */

static void hash_number(struct b3 *h, uint64_t v)
{
	uint8_t bytes[8];
	put_le64(bytes, v);
	b3_update(h, bytes, sizeof bytes);
}

/* That it is the same file, and that its bytes are what they were. What is in memory is told by its bytes alone. */
static void hash_input(struct b3 *h, const struct reader *r)
{
	const struct sys_file *f = r->file;
	if (f == NULL) {
		b3_update(h, r->map.ptr, r->map.len);
		return;
	}
	hash_number(h, f->dev);
	hash_number(h, f->ino);
	hash_number(h, f->size);
	hash_number(h, (uint64_t)f->changed);
	hash_number(h, (uint64_t)f->touched);
}

/* Where the bytes of a tensor come from; *last is the input of the one before. */
static void hash_source(struct b3 *h, const struct source *s, const struct reader **last)
{
	hash_number(h, s->kind);
	hash_number(h, s->tensor != NULL ? s->tensor->offset : s->offset);
	if (s->from != NULL && s->from != *last)
		hash_input(h, s->from);
	*last = s->from;
}

static void hash_layout(struct resume *r)
{
	const struct save *s = r->s;
	const struct reader *last = NULL;
	struct b3 h;
	tn_digest digest;
	b3_init(&h);
	for (uint64_t i = 0; i < s->plan.n; i++) {
		const struct span *span = &s->plan.spans[i];
		hash_number(&h, span->kind);
		hash_number(&h, span->len);
		if (span->kind == SPAN_BYTES)
			b3_update(&h, span->bytes, (size_t)span->len);
		if (span_is_tensor(span))
			hash_source(&h, &s->sources[span->tensor], &last);
	}
	b3_final(&h, &digest);
	tn_digest_text(&digest, r->layout);
}

/* ---- The journal ---- */

static tn_code put_journal(void *ctx, uint64_t done, tn_error *err)
{
	struct resume *r = ctx;
	char text[256];
	if (sys_out_sync(&r->out, err) != TN_OK)
		return err->code;
	snprintf(text, sizeof text, "{\"schema_version\":1,\"made_by\":\"tenon\",\"plan_blake3\":\"%s\",\"size\":%llu,"
	         "\"completed\":%llu}\n", r->layout, (unsigned long long)r->s->plan.size, (unsigned long long)done);
	return resume_write_text(r->journal, tn_text(text), !r->s->options->no_sync, err);
}

static bool is_text(const struct json_val *v, const char *text)
{
	return v != NULL && json_type(v) == JSON_STRING && view_is(json_string(v), text);
}

/* How much the journal vouches for: 0 where it speaks of another file. */
static tn_code read_journal(struct resume *r, const struct json_val *root, uint64_t *have)
{
	const struct json_val *done = json_find(root, "completed");
	if (!is_text(json_find(root, "made_by"), "tenon"))
		return err_set(r->s->err, TN_E_USAGE, TN_NO_OFFSET,
		               "'%s' is the journal of another program: remove it to begin anew", ESC(tn_text(r->journal)));
	if (is_text(json_find(root, "plan_blake3"), r->layout) && done != NULL && json_type(done) == JSON_UINT)
		*have = plan_whole(&r->s->plan, json_uint(done));
	return TN_OK;
}

static tn_code load_journal(struct resume *r, uint64_t *have)
{
	struct save *s = r->s;
	const struct json_options how = { .budget = s->mem.budget, .what = "journal" };
	struct json_doc *doc;
	tn_view text;
	*have = 0;
	if (!sys_file_exists(r->journal))
		return TN_OK;
	if (set_read_file(r->journal, &s->mem, &text, s->err) != TN_OK)
		return s->err->code;
	if (json_parse(&doc, text, &how, s->err) == TN_OK) {
		read_journal(r, json_root(doc), have);
		json_free(doc);
	} else if (s->err->code == TN_E_CORRUPT) {
		err_clear(s->err); /* it vouches for nothing */
	}
	return s->err->code;
}

/* ---- The save ---- */

static tn_code run(struct resume *r, uint64_t have)
{
	enum { LEAST_STEP = 256 * 1024 };
	struct save *s = r->s;
	struct sink sink;
	struct plan_resume how = {
		.have = have, .file = &r->written, .step = max_u64(LEAST_STEP, s->plan.size / 100), .mark = put_journal, .ctx = r,
	};
	if (have != 0 && sys_file_open(&r->written, r->out.temp, TN_IO_PREAD, s->err) != TN_OK)
		return s->err->code;
	s->plan.resume = &how;
	if (sink_init(&sink, &r->out, s->err) == TN_OK) {
		save_stream(s, &sink);
		sink_fini(&sink);
	}
	s->plan.resume = NULL;
	return s->err->code;
}

tn_code save_resumable(struct save *s, const char *path)
{
	struct resume r = { .s = s, .written = { .fd = -1, .direct_fd = -1 } };
	uint64_t have;
	if (find_paths(&r, path) != TN_OK)
		return s->err->code;
	hash_layout(&r);
	if (load_journal(&r, &have) != TN_OK ||
	    sys_out_resume(&r.out, r.path, !s->options->no_sync, s->plan.size, &have, s->err) != TN_OK)
		return s->err->code;
	if (put_journal(&r, have, s->err) == TN_OK)
		run(&r, have);
	sys_file_close(&r.written);
	sys_out_commit(&r.out, s->err);
	/* where a digest is not right, what was kept of it or of the bytes may be to blame */
	if (s->err->code == TN_OK || s->err->code == TN_E_CHECKSUM) {
		sys_file_remove(r.plan);
		sys_file_remove(r.journal);
	}
	return s->err->code;
}
