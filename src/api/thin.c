/* thin.c - ThinTensor archives as upstream's tools handle them: unpacked into a folder, put together from one, and
 * written again with their pages in another order. */
#include "format/thin/archive.h"

#include "api/call.h"
#include "api/file.h"
#include "api/save.h"
#include "base/mem.h"
#include "io/zstd_frames.h"
#include "sys/folder.h"
#include "sys/walk.h"

#include <string.h>

static const tn_write_options write_defaults;

/* ---- An archive from a manifest and sources ---- */

struct writing {
	struct arena    mem;
	struct plan     plan;
	struct archive  archive;
	struct source  *sources; /* as the pieces of the blobs count them */
	struct tensor  *names;   /* likewise, for errors */
	const tn_file  *origin;  /* that is read, or NULL */
	const tn_write_options *options;
	tn_error       *err;
};

static void writing_init(struct writing *w, const tn_write_options *opt, tn_error *err)
{
	memset(w, 0, sizeof *w);
	arena_init(&w->mem, limit_or(opt->max_memory, DEFAULT_MEMORY));
	plan_init(&w->plan, &w->mem);
	w->options = opt;
	w->err = err;
}

static tn_code sources_init(struct writing *w, uint64_t n)
{
	w->sources = ARENA_NEW(&w->mem, n, struct source);
	w->names = ARENA_NEW(&w->mem, n, struct tensor);
	return w->sources != NULL && w->names != NULL ? TN_OK : arena_err(&w->mem, w->err, "thin: pages");
}

/* The first of n faults. */
static void fail_with(tn_error *err, const tn_finding *f, size_t n)
{
	if (n == 1)
		err_set(err, f->code, f->offset, "%s", f->text);
	else
		err_set(err, f->code, f->offset, "%s (and %zu more fault%s)", f->text, n - 1, n == 2 ? "" : "s");
}

/* What upstream's validator refuses is not written. */
static tn_code judge(struct writing *w, const struct manifest *m)
{
	struct tn_report said;
	report_init(&said);
	bool ok = manifest_judge(m, &w->mem, &said);
	size_t wrong = said.of[TN_ERROR];
	if (!ok || said.failed)
		arena_err(&w->mem, w->err, "thin: manifest");
	for (size_t i = 0; i < said.n && w->err->code == TN_OK; i++)
		if (said.list[i].severity == TN_ERROR)
			fail_with(w->err, &said.list[i], wrong);
	report_fini(&said);
	return w->err->code;
}

static tn_code lay_out(struct writing *w, const struct manifest *m, const struct blob *blobs, uint64_t n)
{
	uint64_t align = w->options->align != 0 ? w->options->align : 1;
	if (!is_power_of_two(align) || align > UINT64_C(1) << 30)
		return err_set(w->err, TN_E_USAGE, TN_NO_OFFSET, "thin: alignment %llu is no power of two up to 2^30",
		               (unsigned long long)align);
	w->archive = (struct archive){
		.mem = &w->mem, .plan = &w->plan, .err = w->err, .m = m, .blobs = blobs, .n = n, .align = align,
	};
	return archive_plan(&w->archive);
}

static tn_code seal(void *archive, struct sink *out) { return archive_seal(archive, out); }

static tn_code write_to(struct writing *w, const char *path)
{
	struct plan_out out = {
		.plan = &w->plan, .sources = w->sources, .origin = w->origin, .tensors = w->names, .options = w->options,
		.seal = seal, .ctx = &w->archive, .mem = &w->mem, .err = w->err,
	};
	return plan_to_path(&out, path);
}

static void tell(const struct writing *w, uint64_t *records, uint64_t *size)
{
	if (records != NULL)
		*records = w->archive.n;
	if (size != NULL)
		*size = w->plan.size;
}

/* ---- Pack ---- */

struct pack_run {
	struct writing  w;
	struct sys_file target; /* what stands where the archive is to be */
	bool            replaces; /* something does */
	struct manifest m;
	tn_view        *ids;    /* of the files that were found */
	const char    **paths;
	uint64_t        n, cap;
	struct strmap   index;
	struct blob    *blobs;
	uint64_t        n_blobs;
};

/* Manifest and pages are one model in many files: none gives its place to the archive. */
static tn_code spare(const struct pack_run *p, const struct sys_file *input)
{
	if (!p->replaces || !sys_file_same(input, &p->target))
		return TN_OK;
	return err_set(p->w.err, TN_E_USAGE, TN_NO_OFFSET, "the output is a file that is read");
}

static tn_code read_manifest(struct pack_run *p, const struct sys_file *f)
{
	tn_error *err = p->w.err;
	const struct manifest_options opt = { .origin = 0 };
	uint8_t *bytes = arena_raw(&p->w.mem, f->size, 1);
	if (bytes == NULL)
		return arena_err(&p->w.mem, err, "thin: manifest");
	if (sys_file_read(f, 0, bytes, (size_t)f->size, false, err) == TN_OK)
		manifest_read(&p->m, (tn_view){ bytes, (size_t)f->size }, &opt, &p->w.mem, err);
	return err->code;
}

static tn_code load_manifest(struct pack_run *p, const char *path)
{
	tn_error *err = p->w.err;
	struct sys_file f;
	if (sys_file_open(&f, path, TN_IO_PREAD, err) == TN_OK) {
		if (spare(p, &f) == TN_OK)
			read_manifest(p, &f);
		sys_file_close(&f);
	}
	if (err->code != TN_OK)
		err_prefix(err, "%s", ESC(tn_text(path)));
	return err->code;
}

/* "a/b/ID.bin" to "ID"; ptr is NULL for any other file. */
static tn_view page_of_path(const char *path)
{
	const char *slash = strrchr(path, '/');
	tn_view name = tn_text(slash != NULL ? slash + 1 : path);
	if (name.len < 4 || memcmp(name.ptr + name.len - 4, ".bin", 4) != 0)
		return (tn_view){ NULL, 0 };
	name.len -= 4;
	return name;
}

static bool more_files(struct pack_run *p)
{
	if (p->n < p->cap)
		return true;
	uint64_t cap = p->cap != 0 ? 2 * p->cap : 64;
	tn_view *ids = arena_raw(&p->w.mem, cap, sizeof *ids);
	const char **paths = arena_raw(&p->w.mem, cap, sizeof *paths);
	if (ids == NULL || paths == NULL)
		return false;
	copy_bytes(ids, p->ids, (size_t)p->n * sizeof *ids);
	copy_bytes(paths, p->paths, (size_t)p->n * sizeof *paths);
	p->ids = ids;
	p->paths = paths;
	p->cap = cap;
	return true;
}

static void found_file(void *ctx, const char *path, tn_error *err)
{
	struct pack_run *p = ctx;
	if (page_of_path(path).ptr == NULL)
		return;
	tn_view copy = arena_copy(&p->w.mem, tn_text(path));
	if (copy.ptr == NULL || !more_files(p)) {
		arena_err(&p->w.mem, err, "thin: list of pages");
		return;
	}
	p->paths[p->n] = (const char *)copy.ptr;
	p->ids[p->n++] = page_of_path((const char *)copy.ptr);
}

static tn_view id_at(const void *ids, uint64_t i) { return ((const tn_view *)ids)[i]; }

static tn_code index_files(struct pack_run *p, const char *folder)
{
	tn_error *err = p->w.err;
	uint64_t other;
	if (sys_walk(folder, found_file, p, err) != TN_OK)
		return err->code;
	if (!strmap_init(&p->index, &p->w.mem, p->n))
		return arena_err(&p->w.mem, err, "thin: list of pages");
	for (uint64_t i = 0; i < p->n; i++)
		if (!strmap_add(&p->index, id_at, p->ids, i, &other))
			return err_set(err, TN_E_CORRUPT, TN_NO_OFFSET, "two files are for page '%s': '%s' and '%s'", ESC(p->ids[i]),
			               ESC(tn_text(p->paths[other])), ESC(tn_text(p->paths[i])));
	return TN_OK;
}

static tn_code check_file(const struct pack_run *p, const struct page *page, const char *path)
{
	tn_error *err = p->w.err;
	struct sys_file f;
	if (sys_file_open(&f, path, TN_IO_PREAD, err) == TN_OK) {
		sys_file_close(&f);
		spare(p, &f);
	}
	if (err->code != TN_OK) {
		err_prefix(err, "page '%s'", ESC(page->id));
		return err->code;
	}
	if (f.size == page->size)
		return TN_OK;
	return err_set(err, TN_E_CORRUPT, TN_NO_OFFSET, "thin: page '%s': its file has %llu bytes, the manifest says %llu",
	               ESC(page->id), (unsigned long long)f.size, (unsigned long long)page->size);
}

static tn_code take_page(struct pack_run *p, uint64_t i)
{
	struct writing *w = &p->w;
	const struct page *page = &p->m.pages[i];
	uint64_t at, k = p->n_blobs;
	if (!strmap_find(&p->index, id_at, p->ids, page->id, &at))
		return err_set(w->err, TN_E_NOTFOUND, TN_NO_OFFSET, "thin: there is no file for page '%s'", ESC(page->id));
	if (check_file(p, page, p->paths[at]) != TN_OK)
		return w->err->code;
	struct piece *piece = arena_raw(&w->mem, 1, sizeof *piece);
	tn_digest *known = arena_raw(&w->mem, 1, sizeof *known);
	if (piece == NULL || known == NULL)
		return arena_err(&w->mem, w->err, "thin: pages");
	thin_hex_digest(page->checksum, known);
	*piece = (struct piece){ .source = k, .len = page->size, .page = i, .known = known };
	p->blobs[p->n_blobs++] = (struct blob){ .page = i, .pieces = piece, .n = 1 };
	w->sources[k] = (struct source){ .kind = SOURCE_PATH, .len = page->size, .path = p->paths[at] };
	w->names[k].name = page->id;
	return TN_OK;
}

/* Slices have no files: their bytes are in those of other pages. */
static tn_code take_pages(struct pack_run *p)
{
	p->blobs = arena_raw(&p->w.mem, p->m.n_pages, sizeof *p->blobs);
	if (p->blobs == NULL)
		return arena_err(&p->w.mem, p->w.err, "thin: pages");
	if (sources_init(&p->w, p->m.n_pages) != TN_OK)
		return p->w.err->code;
	for (uint64_t i = 0; i < p->m.n_pages; i++)
		if (p->m.pages[i].fused_to.ptr == NULL && take_page(p, i) != TN_OK)
			return p->w.err->code;
	return TN_OK;
}

/* The checksums of slices are in the manifest alone: writing holds only whole pages to theirs. */
static tn_code check_slice(const struct pack_run *p, const struct page *page)
{
	tn_error *err = p->w.err;
	tn_digest stated, got;
	uint64_t at;
	bool known;
	if (!strmap_find(&p->index, id_at, p->ids, page->fused_to, &at))
		return err_set(err, TN_E_NOTFOUND, TN_NO_OFFSET, "thin: there is no file for page '%s'", ESC(page->fused_to));
	const struct source s = { .kind = SOURCE_PATH, .len = page->size, .path = p->paths[at], .offset = page->fused_offset };
	if (source_digest(&s, 0, s.len, &got, &known, err) != TN_OK)
		return err->code;
	if (thin_hex_digest(page->checksum, &stated) && memcmp(stated.bytes, got.bytes, TN_DIGEST_LEN) != 0)
		return err_set(err, TN_E_CHECKSUM, TN_NO_OFFSET, "thin: page '%s': its bytes do not have the checksum that is stated",
		               ESC(page->id));
	return TN_OK;
}

static tn_code check_slices(const struct pack_run *p)
{
	for (uint64_t i = 0; i < p->m.n_pages; i++)
		if (p->m.pages[i].fused_to.ptr != NULL && check_slice(p, &p->m.pages[i]) != TN_OK)
			return p->w.err->code;
	return TN_OK;
}

tn_code tn_thin_pack(const char *manifest, const char *folder, const char *path, const tn_write_options *opt,
                     uint64_t *records, uint64_t *size, tn_error *err)
{
	CALL_BEGIN(err);
	struct pack_run p = { .n = 0 };
	if (manifest == NULL || folder == NULL || path == NULL)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "a manifest, a folder of pages and a path are needed");
	writing_init(&p.w, opt != NULL ? opt : &write_defaults, err);
	p.replaces = sys_file_identify(&p.target, path);
	if (load_manifest(&p, manifest) == TN_OK && judge(&p.w, &p.m) == TN_OK && index_files(&p, folder) == TN_OK &&
	    take_pages(&p) == TN_OK && check_slices(&p) == TN_OK && lay_out(&p.w, &p.m, p.blobs, p.n_blobs) == TN_OK &&
	    write_to(&p.w, path) == TN_OK)
		tell(&p.w, records, size);
	arena_fini(&p.w.mem);
	return err->code;
}

/* ---- An archive that is open ---- */

/* Its model as its container shows it, when it is one and nothing is wrong with it. */
static tn_code must_verify(const tn_file *f, const tn_work *work, tn_error *err)
{
	const tn_verify_options deep = { .deep = true, .work = *work };
	tn_report *report;
	if (strcmp(f->format->name, THIN) != 0 || f->n_parts != 1)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "this is no ThinTensor archive but %s", f->format->name);
	if (tn_verify(f, &deep, &report, err) != TN_OK)
		return err->code;
	for (size_t i = 0; i < report->n && err->code == TN_OK; i++)
		if (report->list[i].severity == TN_ERROR)
			fail_with(err, &report->list[i], report->of[TN_ERROR]);
	tn_report_free(report);
	return err->code;
}

static tn_code load(struct thin_front *front, const tn_file *f, struct arena *mem, tn_error *err)
{
	return thin_load(front, &f->first.reader, &f->first.model, mem, err);
}

/* ---- Unpack ---- */

struct unpacking {
	const tn_file           *f;
	const tn_unpack_options *options;
	struct arena             mem;
	struct thin_front        front;
	tn_error                *err;
};

/* Nothing that is there is written over unasked, and no link is followed. */
static tn_code check_target(struct unpacking *u, const char *path)
{
	enum sys_kind kind = sys_kind_of(path);
	struct sys_file there;
	if (u->f->first.reader.file != NULL && sys_file_identify(&there, path) && sys_file_same(&u->f->first.file, &there))
		return err_set(u->err, TN_E_USAGE, TN_NO_OFFSET, "'%s' is the archive that is read", ESC(tn_text(path)));
	if (kind == SYS_NOTHING || (kind == SYS_FILE && u->options->replace))
		return TN_OK;
	return err_set(u->err, TN_E_USAGE, TN_NO_OFFSET, kind == SYS_FILE ? "'%s' is there already" :
	               "'%s' is there already, and is no file", ESC(tn_text(path)));
}

static tn_code write_file(struct unpacking *u, const char *path, const struct source *s)
{
	struct sys_out out;
	struct sink sink;
	if (check_target(u, path) != TN_OK || sys_out_open(&out, path, false, !u->options->no_sync, s->len, NULL, 0, u->err) != TN_OK)
		return u->err->code;
	if (sink_init(&sink, &out, u->err) == TN_OK) {
		source_stream(s, &sink);
		sink_flush(&sink);
		sink_fini(&sink);
	}
	if (u->err->code == TN_OK)
		return sys_out_commit(&out, u->err);
	sys_out_abandon(&out);
	return u->err->code;
}

static tn_code write_page(struct unpacking *u, const char *folder, uint64_t i)
{
	struct thin_record r = thin_record_at(&u->front.table, i);
	const struct tensor t = thin_record_tensor(&r);
	const struct source s = source_of(u->f, &t);
	if (id_fault(r.id) != NULL || memchr(r.id.ptr, 0, r.id.len) != NULL)
		return err_set(u->err, TN_E_UNSUPPORTED, TN_NO_OFFSET, "thin: page '%s' cannot be the name of a file", ESC(r.id));
	const char *path = arena_printf(&u->mem, "%s/pages/%.*s.bin", folder, VIEW_ARG(r.id));
	if (path == NULL)
		return arena_err(&u->mem, u->err, "a path");
	return write_file(u, path, &s);
}

static tn_code write_manifest(struct unpacking *u, const char *folder)
{
	struct buf text;
	const char *path = arena_printf(&u->mem, "%s/manifest.json", folder);
	buf_init(&text, u->mem.budget);
	manifest_print(&text, &u->front.m, NULL);
	const struct source s = { .kind = SOURCE_MEMORY, .len = text.len, .memory = buf_bytes(&text) };
	if (path == NULL || text.failed)
		arena_err(&u->mem, u->err, "thin: manifest");
	else
		write_file(u, path, &s);
	buf_fini(&text);
	return u->err->code;
}

static tn_code make_folders(struct unpacking *u, const char *folder)
{
	const char *pages = arena_printf(&u->mem, "%s/pages", folder);
	if (pages == NULL)
		return arena_err(&u->mem, u->err, "a path");
	if (sys_kind_of(pages) == SYS_LINK)
		return err_set(u->err, TN_E_USAGE, TN_NO_OFFSET, "'%s' is a link, which is not followed", ESC(tn_text(pages)));
	return sys_folder_make_all(pages, !u->options->no_sync, u->err);
}

tn_code tn_thin_unpack(const tn_file *f, const char *folder, const tn_unpack_options *opt, uint64_t *records,
                       tn_error *err)
{
	static const tn_unpack_options defaults;
	CALL_BEGIN(err);
	struct unpacking u = { .f = f, .options = opt != NULL ? opt : &defaults, .err = err };
	if (folder == NULL)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "no folder given");
	if (must_verify(f, &u.options->work, err) != TN_OK)
		return err->code;
	arena_init(&u.mem, f->mem.budget);
	if (load(&u.front, f, &u.mem, err) == TN_OK && make_folders(&u, folder) == TN_OK &&
	    write_manifest(&u, folder) == TN_OK)
		for (uint64_t i = 0; i < u.front.table.n && err->code == TN_OK; i++)
			write_page(&u, folder, i);
	if (err->code == TN_OK && records != NULL)
		*records = u.front.table.n;
	arena_fini(&u.mem);
	return err->code;
}

/* ---- Repack ---- */

static tn_code take_records(struct writing *w, const tn_file *f, const struct thin_front *front)
{
	if (sources_init(w, front->table.n) != TN_OK)
		return w->err->code;
	for (uint64_t i = 0; i < front->table.n; i++) {
		struct thin_record r = thin_record_at(&front->table, i);
		w->names[i] = thin_record_tensor(&r);
		w->sources[i] = source_of(f, &w->names[i]);
	}
	return TN_OK;
}

/* Pages that have slices stay as they are: a slice must be found without decoding. */
static bool is_whole(const struct manifest *m, const struct blob *b)
{
	return b->n == 1 && !view_is(m->pages[b->page].kind, "fused_physical");
}

/* The sizes must be known before the first byte is written, so all is compressed twice. */
static tn_code compress(struct writing *w, const tn_file *f, const struct repacked *to)
{
	struct zstd_frames *ctx = arena_raw(&w->mem, to->n, sizeof *ctx);
	if (ctx == NULL)
		return arena_err(&w->mem, w->err, "thin: pages");
	for (uint64_t i = 0; i < to->n; i++) {
		struct blob *b = &to->blobs[i];
		uint64_t size;
		if (!is_whole(&to->m, b))
			continue;
		ctx[i] = (struct zstd_frames){ &f->first.reader, &w->names[b->pieces[0].source] };
		if (zstd_frames_size(ctx[i].from, ctx[i].tensor, &size, w->err) != TN_OK)
			return w->err->code;
		if (size >= to->m.pages[b->page].size)
			continue;
		b->zstd = size;
		w->sources[b->pieces[0].source] = zstd_frames_source(&ctx[i], size);
	}
	return TN_OK;
}

tn_code tn_thin_repack(const tn_file *f, const char *path, const tn_repack_options *opt, uint64_t *records,
                       uint64_t *size, tn_error *err)
{
	static const tn_repack_options defaults;
	CALL_BEGIN(err);
	struct writing w;
	struct thin_front front;
	struct repacked to;
	if (opt == NULL)
		opt = &defaults;
	if (path == NULL)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "no path given");
	if ((unsigned)opt->layout > TN_THIN_FUSED)
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "there is no layout %d", (int)opt->layout);
	if (must_verify(f, &opt->write.work, err) != TN_OK)
		return err->code;
	writing_init(&w, &opt->write, err);
	w.origin = f;
	if (load(&front, f, &w.mem, err) == TN_OK && thin_repack(&to, &front, opt->layout, &w.mem, err) == TN_OK &&
	    judge(&w, &to.m) == TN_OK && take_records(&w, f, &front) == TN_OK &&
	    (!opt->zstd || compress(&w, f, &to) == TN_OK) && lay_out(&w, &to.m, to.blobs, to.n) == TN_OK && (opt->dry_run || write_to(&w, path) == TN_OK))
		tell(&w, records, size);
	arena_fini(&w.mem);
	return err->code;
}
