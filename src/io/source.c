/* source.c - where bytes come from: random access to the file being read, and the bytes of one tensor
 * on their way into a sink.
 *
 * A source promises its length before a byte is asked for. Every kind is held to it here, in one place, and
 * a callback that produces too much is stopped at the first byte too many. */
#include "io/source.h"

#include "base/mem.h"
#include "base/num.h"
#include "io/sink.h"
#include "io/tensor_read.h"

/* ---- Random access ---- */

static tn_code outside(uint64_t off, uint64_t n, uint64_t size, tn_error *err)
{
	return err_set(err, TN_E_TRUNCATED, size, "%llu bytes at %llu wanted, the file has %llu",
	               (unsigned long long)n, (unsigned long long)off, (unsigned long long)size);
}

tn_code reader_read(const struct reader *r, uint64_t off, void *buf, size_t n, tn_error *err)
{
	if (!span_fits(off, n, r->size))
		return outside(off, n, r->size, err);
	/* never through the map of a file: a fault there is a signal, here it is an error */
	if (r->file != NULL)
		return sys_file_read(r->file, off, buf, n, true, err);
	if (n != 0)
		memcpy(buf, r->map.ptr + off, n);
	return TN_OK;
}

/* ---- A deferred tensor ---- */

struct tn_emit {
	struct sink *out;
	uint64_t     promised, given;
};

static void broken_promise(uint64_t promised, uint64_t produced, tn_error *err)
{
	err_set(err, TN_E_CORRUPT, TN_NO_OFFSET, "promised %llu bytes, produced %llu",
	        (unsigned long long)promised, (unsigned long long)produced);
}

void tn_emit_bytes(tn_emit *emit, const void *bytes, size_t n)
{
	if (!sink_ok(emit->out))
		return;
	if (n > emit->promised - emit->given) {
		uint64_t produced;
		if (!add_u64(emit->given, n, &produced))
			produced = UINT64_MAX;
		broken_promise(emit->promised, produced, emit->out->err);
		return;
	}
	emit->given += n;
	sink_write(emit->out, bytes, n);
}

/* The producer gets an error of its own: what the sink recorded must survive whatever it does there. */
static void stream_callback(const struct source *s, struct sink *out)
{
	struct tn_emit emit = { out, s->len, 0 };
	tn_error own;
	err_clear(&own);
	tn_code code = s->produce(s->ctx, &emit, &own);
	if (code == TN_OK || !sink_ok(out))
		return;
	own.msg[sizeof own.msg - 1] = '\0';
	if (own.code == TN_OK || own.msg[0] == '\0')
		err_set(out->err, code, TN_NO_OFFSET, "its producer failed and did not say why");
	else
		*out->err = own;
}

/* ---- The other kinds ---- */

static void stream_range(const struct source *s, struct sink *out)
{
	const struct reader *r = s->from;
	if (!span_fits(s->offset, s->len, r->size))
		outside(s->offset, s->len, r->size, out->err);
	else if (r->file != NULL && s->crc_known)
		sink_copy_known(out, r->file, s->offset, s->len, s->crc);
	else if (r->file != NULL)
		sink_copy(out, r->file, s->offset, s->len);
	else if (s->len != 0)
		sink_write(out, r->map.ptr + s->offset, (size_t)s->len);
}

enum { PIECE = 4 << 20 }; /* enough blocks for a few threads to decode */

static void stream_tensor(const struct source *s, struct sink *out)
{
	uint8_t *piece = mem_alloc((size_t)min_u64(PIECE, s->len));
	if (piece == NULL)
		err_set(out->err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	for (uint64_t at = 0; at < s->len && sink_ok(out); at += PIECE) {
		size_t n = (size_t)min_u64(PIECE, s->len - at);
		if (tensor_read(s->from, s->tensor, at, piece, n, out->err) == TN_OK)
			sink_write(out, piece, n);
	}
	mem_free(piece);
}

static void stream_path(const struct source *s, struct sink *out)
{
	struct sys_file f;
	if (sys_file_open(&f, s->path, TN_IO_PREAD, out->err) != TN_OK) {
		err_prefix(out->err, "%s", ESC(tn_text(s->path)));
		return;
	}
	if (!span_fits(s->offset, s->len, f.size)) {
		tn_view path = { (const uint8_t *)s->path, strlen(s->path) };
		outside(s->offset, s->len, f.size, out->err);
		err_prefix(out->err, "%s", ESC(path));
	} else {
		sink_copy(out, &f, s->offset, s->len);
	}
	sys_file_close(&f);
}

static void stream(const struct source *s, struct sink *out)
{
	uint64_t start = out->at;
	switch (s->kind) {
	case SOURCE_MEMORY:   sink_write(out, s->memory.ptr, s->memory.len); break;
	case SOURCE_RANGE:    stream_range(s, out); break;
	case SOURCE_TENSOR:   stream_tensor(s, out); break;
	case SOURCE_PATH:     stream_path(s, out); break;
	case SOURCE_CALLBACK: stream_callback(s, out); break;
	}
	if (sink_ok(out) && out->at - start != s->len)
		broken_promise(s->len, out->at - start, out->err);
}

void source_stream(const struct source *s, struct sink *out)
{
	struct b3 hash;
	tn_digest is;
	if (!sink_ok(out))
		return;
	if (s->digest != NULL)
		sink_hash_start(out, &hash);
	if (s->seen != NULL)
		sink_stretch_start(out, &s->seen->crc);
	stream(s, out);
	if (s->seen != NULL) {
		sink_stretch_stop(out);
		s->seen->whole = sink_ok(out);
	}
	if (s->digest == NULL)
		return;
	sink_hash_stop(out);
	b3_final(&hash, &is);
	if (sink_ok(out))
		digest_hold(&is, s->digest, out->err);
}
