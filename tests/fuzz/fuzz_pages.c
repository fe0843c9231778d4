/* fuzz_pages.c - the page cache against a model of it: a file in memory with pages of all codings, some of them damaged, a
 * tape over them, and a list of calls. Each use gives the right bytes, or the reason that it must give.
 *
 * One byte for the number of pages, three for each (length, filling, coding), a byte for the stages of the tape, each a
 * number of references and these; the budget; then calls. */
#include "fuzz/fuzz.h"

#include "api/file.h"
#include "api/set.h"
#include "codec/blake3.h"
#include "io/zstd_frames.h"

enum { PAGES = 12, PAGE = 2048, STEPS = 64, ROOM = PAGES * (PAGE + 256) };

struct page {
	uint8_t  bytes[PAGE];
	size_t   n;
	bool     damaged, bad; /* bad: a use has found out */
	unsigned users;
};

struct played {
	struct page page[PAGES];
	unsigned    n;
	uint64_t    budget;
};

static uint8_t bytes[ROOM];
static struct played p;

/* ---- Building ---- */

static size_t compress(const struct page *g, uint8_t *to)
{
	struct reader r = { .map = { g->bytes, g->n }, .size = g->n };
	struct tensor t = { .name = VIEW("x"), .nbytes = g->n, .stored = g->n };
	struct zstd_frames ctx = { &r, &t };
	struct sink sink;
	tn_error err = { .code = TN_OK };
	uint64_t len;
	require(zstd_frames_size(&r, &t, &len, &err) == TN_OK, "frames");
	struct source s = zstd_frames_source(&ctx, len);
	sink_init_memory(&sink, to, len, &err);
	source_stream(&s, &sink);
	require(err.code == TN_OK, "frames");
	sink_fini(&sink);
	return (size_t)len;
}

/* What was compressed lately: a compressor takes longer to make than all the rest of a run. */
static size_t compress_once(const struct page *g, uint8_t length, uint8_t fill, uint8_t *to)
{
	static struct { uint8_t length, fill, bytes[PAGE + 256]; size_t n; } kept[256];
	unsigned at = (length * 31u + fill) % 256;
	if (kept[at].n == 0 || kept[at].length != length || kept[at].fill != fill) {
		kept[at].length = length;
		kept[at].fill = fill;
		kept[at].n = compress(g, kept[at].bytes);
	}
	memcpy(to, kept[at].bytes, kept[at].n);
	return kept[at].n;
}

/* what: 0 whether it has a digest, 1 whether that is wrong, 2-4 whether it is compressed. */
static size_t add_page(struct input *in, struct model *m, struct arena *mem, unsigned i, size_t at)
{
	struct page *g = &p.page[i];
	uint8_t length = take(in), fill = take(in), what = take(in);
	uint64_t *shape = arena_raw(mem, 1, sizeof *shape);
	tn_digest *digest = arena_raw(mem, 1, sizeof *digest);
	const char *name = arena_printf(mem, "p%u", i);
	require(shape != NULL && digest != NULL && name != NULL, "memory");
	g->n = (size_t)length * 8;
	g->bad = false;
	g->users = 0;
	for (size_t k = 0; k < g->n; k++)
		g->bytes[k] = (uint8_t)(fill + k / 5);
	*digest = b3_of((tn_view){ g->bytes, g->n });
	g->damaged = (what & 3) == 3;
	if (g->damaged)
		digest->bytes[what % TN_DIGEST_LEN] ^= 1;
	bool zstd = (what >> 2) % 8 == 1 && g->n != 0;
	size_t stored = zstd ? compress_once(g, length, fill, bytes + at) : g->n;
	if (!zstd)
		copy_bytes(bytes + at, g->bytes, g->n);
	*shape = g->n;
	m->tensors[i] = (struct tensor){
		.name = tn_text(name), .dtype = TN_U8, .dtype_text = VIEW("u8"), .rank = 1, .shape = shape, .nbytes = g->n, .offset = at,
		.stored = stored, .enc = zstd ? ENC_ZSTD : ENC_RAW, .digest = what & 1 ? digest : NULL,
	};
	return at + stored;
}

static void add_tape(struct input *in, struct model *m, struct arena *mem)
{
	unsigned stages = take(in) % 8, steps = 0;
	struct tn_meta *thin = model_native(mem, m, "thin");
	struct tn_meta *tape = stages != 0 ? meta_add_array(mem, thin, VIEW("execution_tape")) : NULL;
	for (unsigned i = 0; i < stages; i++) {
		struct tn_meta *stage = meta_add_map(mem, tape, VIEW(""));
		meta_add_string(mem, stage, VIEW("stage"), VIEW("s"));
		struct tn_meta *refs = meta_add_array(mem, stage, VIEW("page_refs"));
		for (unsigned n = take(in) % 12; n > 0 && steps < STEPS; n--, steps++)
			meta_add_string(mem, refs, VIEW(""), m->tensors[take(in) % m->n].name);
	}
}

static tn_file *build(struct input *in)
{
	static const tn_open_options defaults = { .limits.max_memory = 16 << 20 };
	size_t at = 0;
	tn_error err = { .code = TN_OK };
	tn_file *f = file_new(&defaults);
	require(f != NULL && model_init(&f->first.model, &f->first.mem), "memory");
	struct part *part = &f->first;
	p.n = 1 + take(in) % PAGES;
	part->model.n = p.n;
	part->model.tensors = ARENA_NEW(&part->mem, p.n, struct tensor);
	require(part->model.tensors != NULL && strmap_init(&part->names, &part->mem, p.n), "memory");
	for (unsigned i = 0; i < p.n; i++) {
		uint64_t other;
		at = add_page(in, &part->model, &part->mem, i, at);
		require(strmap_add(&part->names, model_name_at, &part->model, i, &other), "a name");
	}
	add_tape(in, &part->model, &part->mem);
	part->model.version = part->model.dialect = "";
	part->format = format_named("thin");
	part->reader = (struct reader){ .map = { bytes, at }, .size = at };
	require(set_merge(f, NULL, &defaults, NULL, &err) == TN_OK, "a model");
	return f;
}

/* ---- Playing ---- */

static uint64_t cost_of(const struct page *g) { return (g->n + 63) / 64 * 64 + 128; }

/* Pages in use cannot go. */
static bool has_room(const struct page *wanted)
{
	uint64_t held = wanted->users == 0 ? cost_of(wanted) : 0;
	for (unsigned i = 0; i < p.n; i++)
		held += p.page[i].users != 0 ? cost_of(&p.page[i]) : 0;
	return held <= p.budget;
}

static void use(tn_pages *pages, size_t step)
{
	struct page *g = &p.page[tn_pages_at(pages, step).tensor];
	bool room = has_room(g), digest = g->damaged;
	tn_view v;
	tn_code code = tn_pages_use(pages, step, &v, NULL);
	if (code == TN_E_LIMIT) {
		require(!room && !g->bad, "no room where pages in use fill it");
		return;
	}
	if (code == TN_E_CHECKSUM) {
		require(digest, "a page is doubted that is damaged");
		g->bad = true;
		return;
	}
	require(code == TN_OK && room && !digest, "a page");
	require(v.len == g->n && memcmp(v.ptr, g->bytes, g->n) == 0 && (uintptr_t)v.ptr % 64 == 0, "its bytes");
	g->users++;
}

static void end(tn_pages *pages, size_t step)
{
	struct page *g = &p.page[tn_pages_at(pages, step).tensor];
	tn_pages_end(pages, step);
	if (g->users != 0)
		g->users--;
}

static void play(struct input *in, tn_pages *pages)
{
	size_t n = tn_pages_count(pages);
	for (unsigned i = 0; n != 0 && i < 256 && input_left(in) != 0; i++) {
		uint8_t call = take(in);
		size_t step = (call >> 2) % n;
		switch (call % 4) {
		case 0: case 1: use(pages, step); break;
		case 2: end(pages, step); break;
		default:
			tn_pages_prefetch(pages, step, 3);
			tn_pages_release(pages, step);
		}
		tn_pages_counts c = tn_pages_counted(pages);
		require(c.held <= p.budget && c.held <= c.peak && c.peak <= p.budget, "the budget holds");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	tn_file *f = build(&in);
	tn_pages *pages;
	p.budget = 64 * (1 + (uint64_t)take(&in));
	const tn_pages_options options = { .budget = p.budget };
	tn_error err;
	tn_code code = tn_pages_open(&pages, f, &options, &err);
	require(code == TN_OK, err.msg);
	play(&in, pages);
	tn_pages_close(pages);
	tn_close(f);
	return 0;
}
