/* plan.c - the layout of a file before it is written, and the run that writes it.
 *
 * Listing spans fixes every offset and the size of the file. The run holds each span to its offset and
 * length: a difference is a fault of the program, or of a source, and never a file that looks right. */
#include "io/plan.h"

#include "base/bytes.h"
#include "base/num.h"

/* ---- Listing ---- */

void plan_init(struct plan *p, struct arena *mem)
{
	*p = (struct plan){ .mem = mem };
}

static bool room_for_one(struct plan *p)
{
	if (p->n < p->cap)
		return true;
	uint64_t cap = p->cap != 0 ? p->cap * 2 : 64;
	struct span *spans = ARENA_NEW(p->mem, cap, struct span);
	if (spans == NULL)
		return false;
	copy_bytes(spans, p->spans, (size_t)p->n * sizeof *spans);
	p->spans = spans;
	p->cap = cap;
	return true;
}

/* The span gets its place; a failure sticks, and plan_ok tells of it. */
static void push(struct plan *p, struct span s)
{
	uint64_t end;
	if (p->failed)
		return;
	if (!add_u64(p->size, s.len, &end) || end > INT64_MAX) {
		p->failed = p->too_big = true;
		return;
	}
	if (!room_for_one(p)) {
		p->failed = true;
		return;
	}
	s.off = p->size;
	p->spans[p->n++] = s;
	p->size = end;
}

void plan_bytes(struct plan *p, tn_view bytes)
{
	if (bytes.len != 0)
		push(p, (struct span){ .kind = SPAN_BYTES, .bytes = bytes.ptr, .len = bytes.len });
}

void plan_zero(struct plan *p, uint64_t n)
{
	if (n != 0)
		push(p, (struct span){ .kind = SPAN_ZERO, .len = n });
}

void plan_align(struct plan *p, uint64_t align)
{
	plan_zero(p, pad_to(p->size, align));
}

/* Empty tensors are listed too: their sources are asked like all others. */
void plan_tensor(struct plan *p, uint64_t i, uint64_t len)
{
	push(p, (struct span){ .kind = SPAN_TENSOR, .tensor = i, .len = len });
}

void plan_tensor_digest(struct plan *p, uint64_t i, uint64_t len)
{
	push(p, (struct span){ .kind = SPAN_TENSOR, .tensor = i, .len = len, .digest = true });
}

void plan_tensor_big_endian(struct plan *p, uint64_t i, uint64_t len)
{
	push(p, (struct span){ .kind = SPAN_TENSOR, .tensor = i, .len = len, .big = true });
}
void plan_group_begin(struct plan *p) { push(p, (struct span){ .kind = SPAN_GROUP }); }
void plan_group_end(struct plan *p) { push(p, (struct span){ .kind = SPAN_DIGEST }); }

void plan_blocks(struct plan *p, uint64_t i, const struct packing *packing)
{
	push(p, (struct span){ .kind = SPAN_BLOCKS, .tensor = i, .len = packing->stored, .packing = packing });
}

void plan_crc(struct plan *p)
{
	p->has_crc = true;
	push(p, (struct span){ .kind = SPAN_CRC, .len = 4 });
}

tn_code plan_ok(const struct plan *p, tn_error *err)
{
	if (!p->failed)
		return TN_OK;
	if (p->too_big)
		return err_set(err, TN_E_LIMIT, TN_NO_OFFSET, "the file would have more than 2^63-1 bytes");
	return arena_err(p->mem, err, "layout plan");
}

/* ---- Running ---- */

static void run_tensor(struct span *span, const struct source *source, const struct tensor *tensor,
                       struct sink *out)
{
	struct b3 hash;
	bool known = source->digest != NULL, hashes = span->digest && !known;
	if (hashes)
		sink_hash_start(out, &hash);
	if (span->big)
		sink_swap_start(out, tensor->dtype);
	source_stream(source, out);
	if (span->big)
		sink_swap_stop(out);
	if (hashes) {
		sink_hash_stop(out);
		b3_final(&hash, &span->hash);
	} else if (known) {
		span->hash = *source->digest; /* the source was held to it */
	}
	if (!sink_ok(out))
		err_prefix(out->err, "tensor '%s'", ESC(tensor->name));
}

static void run_blocks(const struct plan *p, const struct span *span, const struct source *source,
                       const struct tensor *tensor, struct sink *out)
{
	blocks_stream(source, span->packing, p->threads != 0 ? p->threads : 1, out);
	if (!sink_ok(out))
		err_prefix(out->err, "tensor '%s'", ESC(tensor->name));
}

static void run_crc(struct sink *out)
{
	uint8_t field[4];
	put_le32(field, sink_crc_value(out));
	sink_write(out, field, sizeof field);
}

static void run_digest(struct span *span, const struct b3 *group, struct sink *out)
{
	sink_group_stop(out);
	b3_final(group, &span->hash);
}

static void run_span(const struct plan *p, struct span *span, const struct source *sources,
                     const struct tensor *tensors, struct b3 *group, struct sink *out)
{
	switch (span->kind) {
	case SPAN_BYTES:  sink_write(out, span->bytes, (size_t)span->len); break;
	case SPAN_ZERO:   sink_zero(out, span->len); break;
	case SPAN_TENSOR: run_tensor(span, &sources[span->tensor], &tensors[span->tensor], out); break;
	case SPAN_BLOCKS: run_blocks(p, span, &sources[span->tensor], &tensors[span->tensor], out); break;
	case SPAN_GROUP:  sink_group_start(out, group); break;
	case SPAN_DIGEST: run_digest(span, group, out); break;
	case SPAN_CRC:    run_crc(out); break;
	}
}

/* ---- Going on ---- */

uint64_t plan_whole(const struct plan *p, uint64_t n)
{
	uint64_t whole = 0;
	for (uint64_t i = 0; i < p->n && p->spans[i].off + p->spans[i].len <= n; i++)
		whole = p->spans[i].off + p->spans[i].len;
	return whole;
}

static bool is_there(const struct plan *p, const struct span *span)
{
	return p->resume != NULL && span->len != 0 && span->off + span->len <= p->resume->have;
}

static void replay(const struct plan *p, struct span *span, struct sink *out)
{
	struct b3 hash;
	if (span->digest)
		sink_hash_start(out, &hash);
	sink_replay(out, p->resume->file, span->len);
	if (span->digest) {
		sink_hash_stop(out);
		b3_final(&hash, &span->hash);
	}
}

static void mark(const struct plan *p, uint64_t *marked, struct sink *out)
{
	const struct plan_resume *r = p->resume;
	if (r == NULL || out->at <= *marked || (out->at - *marked < r->step && out->at != p->size))
		return;
	sink_flush(out);
	if (sink_ok(out))
		r->mark(r->ctx, out->at, out->err);
	*marked = out->at;
}

tn_code plan_run(struct plan *p, const struct source *sources, const struct tensor *tensors, struct sink *out)
{
	tn_code code = plan_ok(p, out->err);
	if (code != TN_OK)
		return code;
	struct b3 group;
	uint64_t marked = p->resume != NULL ? p->resume->have : 0;
	out->total = p->size;
	if (p->has_crc)
		sink_crc_start(out);
	for (uint64_t i = 0; i < p->n && sink_ok(out); i++) {
		struct span *span = &p->spans[i];
		if (is_there(p, span))
			replay(p, span, out);
		else
			run_span(p, span, sources, tensors, &group, out);
		if (sink_ok(out) && out->at != span->off + span->len)
			err_set(out->err, TN_E_USAGE, TN_NO_OFFSET,
			        "part %llu of the file was planned to end at byte %llu and ends at %llu",
			        (unsigned long long)i, (unsigned long long)(span->off + span->len),
			        (unsigned long long)out->at);
		mark(p, &marked, out);
	}
	sink_flush(out);
	return out->err->code;
}
