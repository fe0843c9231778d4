/* sums.c - a file against what else is known of its content.
 *
 * A Hugging Face cache names each large file by its SHA-256, and where it downloads into a plain folder it keeps that
 * beside it. Git LFS leaves pointers, people leave FILE.sha256. None of them needs a network. */
#include "api/sums.h"

#include "api/set.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/numtext.h"
#include "codec/sha256.h"

#include <string.h>

enum {
	SMALL = 1024,     /* no pointer and no checksum of one file is longer */
	PIECE = 1 << 20,
	CLAIMS = 8
};

/* What somebody says of the file. */
struct claim {
	uint8_t     digest[SHA256_LEN];
	const char *who;       /* "the name of its blob" */
};

struct sums {
	const struct part *p;
	const tn_work     *work;
	struct tn_report  *report;
	struct arena      *mem;
	struct claim       claims[CLAIMS];
	size_t             n;
	tn_error          *err;
};

static void add_claim(struct sums *s, const uint8_t digest[SHA256_LEN], const char *who)
{
	if (who == NULL)
		arena_err(s->mem, s->err, "a name");
	if (s->n == CLAIMS || who == NULL)
		return;
	memcpy(s->claims[s->n].digest, digest, SHA256_LEN);
	s->claims[s->n++].who = who;
}

/* ---- Who says something ---- */

static void ask_blob(struct sums *s)
{
	uint8_t digest[SHA256_LEN];
	static const char blobs[] = "/blobs/";
	const char *real;
	size_t len = sys_real_path(s->p->actual, s->mem, &real, s->err) == TN_OK && real != NULL ? strlen(real) : 0;
	if (len < SHA256_HEX + sizeof blobs - 1)
		return;
	const char *name = real + len - SHA256_HEX;
	if (memcmp(name - (sizeof blobs - 1), blobs, sizeof blobs - 1) == 0 && sha256_parse(tn_text(name), digest))
		add_claim(s, digest, "the name of its blob");
}

/* The text after the next occurrence of a word; empty when there is none. */
static tn_view after(tn_view text, const char *word)
{
	size_t n = strlen(word);
	for (size_t at = 0; at + n <= text.len; at++)
		if (memcmp(text.ptr + at, word, n) == 0)
			return (tn_view){ text.ptr + at + n, text.len - at - n };
	return (tn_view){ text.ptr, 0 };
}

static bool pointer_size(tn_view text, uint64_t *out)
{
	tn_view v = after(text, "\nsize ");
	size_t n = 0;
	while (n < v.len && v.ptr[n] >= '0' && v.ptr[n] <= '9')
		n++;
	return text_u64((tn_view){ v.ptr, n }, out);
}

static void take_pointer(struct sums *s, const char *name, tn_view text)
{
	uint8_t digest[SHA256_LEN];
	uint64_t size;
	if (pointer_size(text, &size) && size != s->p->reader.size)
		report_add(s->report, TN_ERROR, size > s->p->reader.size ? TN_E_TRUNCATED : TN_E_CORRUPT, TN_NO_OFFSET, NO_TENSOR,
		           "the file has %s, the LFS pointer '%s' says %s", N_BYTES(s->p->reader.size), ESC(tn_text(name)), N_BYTES(size));
	else if (sha256_parse(after(text, "\noid sha256:"), digest))
		add_claim(s, digest, arena_printf(s->mem, "the LFS pointer '%s'", ESC(tn_text(name))));
}

/* A small file's text; false where it is not small, or not to be had. */
static bool small_text(struct sums *s, const char *path, tn_view *out)
{
	struct sys_file file;
	tn_error ignored = { .code = TN_OK };
	if (sys_file_open(&file, path, TN_IO_PREAD, &ignored) != TN_OK)
		return false;
	bool small = file.size <= SMALL;
	sys_file_close(&file);
	if (small && set_read_file(path, s->mem, out, &ignored) == TN_OK)
		return true;
	if (ignored.code == TN_E_NOMEM || ignored.code == TN_E_LIMIT)
		*s->err = ignored;
	return false;
}

/* The folder of the file, with its slash, then the rest. */
static const char *beside_path(const struct sums *s, const char *between, const char *name, const char *suffix)
{
	const char *file = part_name(s->p);
	const char *path = arena_printf(s->mem, "%.*s%s%s%s", (int)(file - s->p->actual), s->p->actual, between, name, suffix);
	if (path == NULL)
		arena_err(s->mem, s->err, "a path");
	return path;
}

static bool ends_in(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);
	return n >= m && strcmp(name + n - m, suffix) == 0;
}

/* FILE.sha256, and anything called FILE.x that is an LFS pointer. */
static void ask_beside(struct sums *s, const struct sys_names *beside)
{
	static const char lfs[] = "version https://git-lfs.github.com/spec/v1\n";
	const char *own = part_name(s->p);
	size_t n = strlen(own);
	for (size_t i = 0; i < beside->n; i++) {
		const char *name = beside->list[i], *path;
		uint8_t digest[SHA256_LEN];
		tn_view text;
		if (strncmp(name, own, n) != 0 || name[n] != '.' || (path = beside_path(s, "", name, "")) == NULL ||
		    !small_text(s, path, &text))
			continue;
		if (view_starts(text, lfs))
			take_pointer(s, name, text);
		else if (ends_in(name, ".sha256") && sha256_parse(text, digest))
			add_claim(s, digest, arena_printf(s->mem, "'%s'", ESC(tn_text(name))));
		else if (ends_in(name, ".sha256"))
			report_add(s->report, TN_WARNING, TN_E_FORMAT, TN_NO_OFFSET, NO_TENSOR, "'%s' begins with no SHA-256",
			           ESC(tn_text(name)));
	}
}

/* What the hub's client keeps of a file that it loaded into a plain folder: revision, etag, time, one a line. */
static void ask_download(struct sums *s)
{
	uint8_t digest[SHA256_LEN];
	tn_view text;
	const char *path = beside_path(s, ".cache/huggingface/download/", part_name(s->p), ".metadata");
	if (path != NULL && small_text(s, path, &text) && sha256_parse(after(text, "\n"), digest))
		add_claim(s, digest, "the record of its download");
}

/* ---- What the file says ---- */

static tn_code digest_of(struct sums *s, uint8_t out[SHA256_LEN])
{
	struct s256 h;
	uint64_t size = s->p->reader.size;
	uint8_t *piece = mem_alloc((size_t)min_u64(PIECE, size));
	if (piece == NULL)
		return err_set(s->err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	s256_init(&h);
	for (uint64_t at = 0; at < size && s->err->code == TN_OK; ) {
		size_t n = (size_t)min_u64(PIECE, size - at);
		if (sys_file_read(s->p->reader.file, at, piece, n, true, s->err) != TN_OK)
			break;
		s256_update(&h, piece, n);
		at += n;
		if (s->work->progress != NULL && !s->work->progress(s->work->ctx, at, size))
			err_set(s->err, TN_E_USAGE, TN_NO_OFFSET, "stopped by the caller");
	}
	s256_final(&h, out);
	mem_free(piece);
	return s->err->code;
}

static void compare(struct sums *s, const uint8_t digest[SHA256_LEN])
{
	char is[SHA256_HEX + 1], says[SHA256_HEX + 1];
	sha256_text(digest, is);
	for (size_t i = 0; i < s->n; i++) {
		sha256_text(s->claims[i].digest, says);
		if (strcmp(is, says) == 0)
			report_add(s->report, TN_NOTE, TN_OK, TN_NO_OFFSET, NO_TENSOR, "its SHA-256 is what %s says", s->claims[i].who);
		else
			report_add(s->report, TN_ERROR, TN_E_CHECKSUM, TN_NO_OFFSET, NO_TENSOR, "its SHA-256 is %s, %s says %s", is,
			           s->claims[i].who, says);
	}
}

tn_code sums_check(const struct part *p, const struct sys_names *beside, const tn_work *work, struct tn_report *r,
                   struct arena *mem, tn_error *err)
{
	struct sums s = { .p = p, .work = work, .report = r, .mem = mem, .err = err };
	uint8_t digest[SHA256_LEN];
	if (p->actual == NULL)
		return TN_OK;
	ask_blob(&s);
	ask_beside(&s, beside);
	ask_download(&s);
	if (err->code == TN_OK && s.n != 0 && digest_of(&s, digest) == TN_OK)
		compare(&s, digest);
	return err->code;
}
