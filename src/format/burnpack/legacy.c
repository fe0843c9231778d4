/* legacy.c - telling old files apart, and giving them the meaning that they had when they were written.
 *
 * burn changed the layout, the booleans and the quantisation schemes without changing the version number, so
 * everything here is evidence, not declaration. Where it does not suffice a file is refused: bytes that are
 * shifted by the padding look like weights. */
#include "format/burnpack/legacy.h"

#include <stdio.h>

const char *legacy_dialect(unsigned old, struct arena *a)
{
	static const char *const names[] = {
		"burnpack 0.19, unaligned", "burnpack 0.20, plain Bool", "burnpack 0.21, old quantisation scheme",
		"burnpack 0.19, store U32", "burnpack 0.21, f32 scales",
	};
	const char *text = "";
	for (unsigned i = 0; i < sizeof names / sizeof *names && text != NULL; i++)
		if (old & 1u << i)
			text = *text == '\0' ? names[i] : arena_printf(a, "%s; %s", text, names[i]);
	return text;
}

/* ---- Schemes ---- */

static void translate(struct scheme_in *in)
{
	struct scheme *s = &in->s;
	s->block = in->level == LEVEL_TENSOR ? SCALE_NONE : in->param;
	s->tensor = in->level == LEVEL_TENSOR ? in->param : in->level == LEVEL_BLOCK_TENSOR ? in->global : SCALE_NONE;
}

static bool fits(struct scheme s, enum scheme_layout layout, uint32_t rank, const uint64_t *shape, uint64_t len)
{
	s.layout = layout;
	return scheme_fits(&s, rank, shape, len);
}

static struct scheme with_f32_scales(struct scheme s)
{
	if (s.block != SCALE_NONE)
		s.block = SCALE_F32;
	if (s.tensor != SCALE_NONE)
		s.tensor = SCALE_F32;
	return s;
}

/* CPU writers kept every scale as f32 and let a block be a run of elements; GPU writers did neither. The
 * length tells which, except where several explanations give the same. */
static unsigned explain(struct scheme_in *in, uint32_t rank, const uint64_t *shape, uint64_t len)
{
	struct scheme f32 = with_f32_scales(in->s);
	bool runs_differ = in->s.block != SCALE_NONE && !scheme_runs_agree(&in->s, rank, shape);
	bool as_said = fits(in->s, LAYOUT_RECTANGLES, rank, shape, len);
	bool as_f32 = !as_said && fits(f32, LAYOUT_RECTANGLES, rank, shape, len);
	bool runs_said = runs_differ && fits(in->s, LAYOUT_RUNS, rank, shape, len);
	bool runs_f32 = runs_differ && fits(f32, LAYOUT_RUNS, rank, shape, len);
	bool rectangles = as_said || as_f32, runs = runs_said || runs_f32;
	bool wide = rectangles ? as_f32 : !runs_said && runs_f32;
	if (wide)
		in->s = f32;
	in->s.layout = rectangles == runs ? LAYOUT_UNCERTAIN : runs ? LAYOUT_RUNS : LAYOUT_RECTANGLES;
	/* leading extents of 1 on a tensor of fewer dimensions: which extents counted depended on the writer */
	if (in->raw_rank > rank && in->raw_rank != in->s.rank)
		in->s.layout = LAYOUT_UNCERTAIN;
	return wide ? OLD_SCALES : 0;
}

static void doubts(const struct scheme *s, uint32_t rank, const uint64_t *shape, uint64_t len, char words[SCHEME_WORDS])
{
	uint64_t want;
	words[0] = '\0';
	if (!scheme_fits(s, rank, shape, len) && scheme_bytes(s, rank, shape, &want))
		snprintf(words, SCHEME_WORDS, "the payload has %llu bytes, the scheme asks for %llu", (unsigned long long)len,
		         (unsigned long long)want);
	else if (s->layout == LAYOUT_RUNS)
		snprintf(words, SCHEME_WORDS, "a block of this old file is a run of elements, which the current format cannot say");
	else if (s->layout == LAYOUT_UNCERTAIN)
		snprintf(words, SCHEME_WORDS, "the blocks of this old file may be runs of elements or rectangles");
	else if (s->block != SCALE_NONE && s->rank > rank)
		snprintf(words, SCHEME_WORDS, "a block has %u dimensions, the tensor %u", s->rank, rank);
}

unsigned legacy_scheme(struct scheme_in *in, uint32_t rank, const uint64_t *shape, uint64_t len,
                       char words[SCHEME_WORDS])
{
	unsigned old = in->store_u32 ? OLD_STORE : 0;
	if (in->old) {
		translate(in);
		old |= OLD_SCHEME | explain(in, rank, shape, len);
	}
	doubts(&in->s, rank, shape, len, words);
	return old;
}

/* ---- The base ---- */

/* What the relative offsets of the tensors, in data order, say. */
struct offsets {
	uint64_t end;        /* the furthest */
	bool     contiguous; /* back to back from 0, as files without padding have them */
	bool     unaligned;  /* some tensor starts off the alignment, as in files with padding none does */
};

static struct offsets look_at_offsets(const struct model *m)
{
	struct offsets o = { .contiguous = true };
	for (uint64_t i = 0; i < m->n; i++) {
		const struct tensor *t = &m->tensors[i];
		o.contiguous = o.contiguous && t->offset == o.end;
		o.unaligned = o.unaligned || t->offset % PACK_ALIGN != 0;
		o.end = max_u64(o.end, t->offset + t->stored);
	}
	return o;
}

/* What burn-store writes about itself. */
enum producer { PRODUCER_UNKNOWN, PRODUCER_OLD, PRODUCER_MODERN };

static enum producer look_at_producer(const struct model *m)
{
	tn_view producer, version;
	if (!tn_meta_string(meta_find(m->metadata, VIEW("producer")), &producer) || !view_is(producer, "burn") ||
	    !tn_meta_string(meta_find(m->metadata, VIEW("version")), &version))
		return PRODUCER_UNKNOWN;
	bool old = view_starts(version, "0.19.") || view_is(version, "0.20.0-pre.1") || view_is(version, "0.20.0-pre.2") ||
	           view_is(version, "0.20.0-pre.3") || view_is(version, "0.20.0-pre.4");
	return old ? PRODUCER_OLD : PRODUCER_MODERN;
}

/* Is what would be padding in a file with padding all zeros, as far as the file has it? False also when more
 * bytes are wanted first: then job->err is set. */
static bool padding_is_zero(struct parse_job *job, uint64_t from, uint64_t to)
{
	if (!job_has(job, to, "burnpack: padding"))
		return false;
	for (uint64_t at = from; at < to; at++)
		if (job->file.ptr[at] != 0)
			return false;
	return true;
}

static tn_code undecidable(struct parse_job *job, uint64_t offset, const char *why)
{
	return err_set(job->err, TN_E_UNSUPPORTED, offset, "burnpack: it cannot be told where the data starts: %s", why);
}

/* The file is exactly as long as one of burn 0.19 without padding. Or a later one, cut by chance by as many
 * bytes as its padding has: its tensors would be read from the padding on. */
static tn_code maybe_old(struct parse_job *job, struct legacy_base *b, const struct offsets *o, uint64_t aligned)
{
	enum producer producer = look_at_producer(job->model);
	bool modern = b->modern || producer == PRODUCER_MODERN;
	if (modern && !o->unaligned)
		return TN_OK; /* cut */
	if (modern)
		return undecidable(job, b->after, "the offsets are those of burn 0.19, the metadata is of a later version");
	if (!o->unaligned && producer == PRODUCER_UNKNOWN && o->end != 0) {
		bool zero = padding_is_zero(job, b->after, min_u64(aligned, job->size));
		if (job->err->code != TN_OK)
			return job->err->code;
		if (zero)
			return undecidable(job, b->after, "a file of burn 0.19, or one cut by the length of its padding");
		report_add(job->report, TN_WARNING, TN_E_CORRUPT, b->after, NO_TENSOR,
		           "burnpack: read as a file of burn 0.19, by its length and by what stands where padding would be");
	}
	b->base = b->after;
	b->old = true;
	return TN_OK;
}

/* Long enough for padding. Still no such file when everything else is as in burn 0.19 and only bytes after
 * the end make up the length. exact: there are none. */
static tn_code maybe_padded(struct parse_job *job, const struct legacy_base *b, const struct offsets *o, bool exact)
{
	if (!o->contiguous || o->end == 0 || b->base == b->after || (exact && !o->unaligned))
		return TN_OK;
	if (look_at_producer(job->model) == PRODUCER_OLD)
		return undecidable(job, b->after, "the metadata says burn 0.19, the length of the file does not");
	if (!o->unaligned)
		return TN_OK;
	bool zero = padding_is_zero(job, b->after, b->base);
	if (job->err->code != TN_OK)
		return job->err->code;
	return zero ? TN_OK : undecidable(job, b->after, "the offsets are those of burn 0.19, the length of the file is not");
}

tn_code legacy_find_base(struct parse_job *job, struct legacy_base *b)
{
	struct offsets o = look_at_offsets(job->model);
	uint64_t with, without;
	b->base = b->after + pad_to(b->after, PACK_ALIGN);
	if (!add_u64(b->base, o.end, &with) || !add_u64(b->after, o.end, &without))
		return err_set(job->err, TN_E_CORRUPT, PACK_HEADER, "burnpack: offsets overflow 64 bits");
	if (job->size >= with)
		return maybe_padded(job, b, &o, job->size == with);
	if (job->size == without && o.contiguous)
		return maybe_old(job, b, &o, b->base);
	if (job->model->n == 0)
		return err_set(job->err, TN_E_TRUNCATED, job->size, "burnpack: file is short by %s of padding",
		               N_BYTES(b->base - job->size));
	return TN_OK; /* cut: the common checks say by how much */
}
