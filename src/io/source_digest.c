/* source_digest.c - the BLAKE3 of some bytes of a source: streamed like all others, but into a hash. */
#include "io/source_digest.h"

#include "base/mem.h"
#include "base/num.h"
#include "io/sink.h"
#include "io/tensor_read.h"

enum { PIECE = 256 * 1024 };

/* A stored tensor is read from any place in it. */
static tn_code hash_stored(const struct source *s, uint64_t off, uint64_t len, struct b3 *hash, tn_error *err)
{
	uint8_t *piece = mem_alloc((size_t)min_u64(PIECE, len));
	if (piece == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory");
	for (uint64_t at = 0; at < len && err->code == TN_OK; at += PIECE) {
		size_t n = (size_t)min_u64(PIECE, len - at);
		if (tensor_read(s->from, s->tensor, off + at, piece, n, err) == TN_OK)
			b3_update(hash, piece, n);
	}
	mem_free(piece);
	return err->code;
}

/* The source of just those bytes; false where there is none. */
static bool narrow(const struct source *s, uint64_t off, uint64_t len, struct source *out)
{
	bool whole = off == 0 && len == s->len;
	*out = *s;
	out->len = len;
	out->digest = NULL; /* of all of them; here it is the caller that compares */
	out->seen = NULL;
	switch (s->kind) {
	case SOURCE_MEMORY:
		out->memory = (tn_view){ off != 0 ? s->memory.ptr + off : s->memory.ptr, (size_t)len };
		return true;
	case SOURCE_RANGE:
	case SOURCE_PATH:
		out->crc_known = s->crc_known && whole;
		return add_u64(s->offset, off, &out->offset);
	case SOURCE_TENSOR:
		return false; /* hash_stored */
	case SOURCE_CALLBACK:
		return whole && source_repeats(s);
	}
	return false;
}

static void take(void *hash, const uint8_t *p, size_t n) { b3_update(hash, p, n); }

static tn_code hash_stream(const struct source *s, struct b3 *hash, tn_error *err)
{
	struct sink out;
	if (sink_init_function(&out, s->len, take, hash, err) != TN_OK)
		return err->code;
	source_stream(s, &out);
	sink_flush(&out);
	sink_fini(&out);
	return err->code;
}

tn_code source_digest(const struct source *s, uint64_t off, uint64_t len, tn_digest *out, bool *known, tn_error *err)
{
	struct source part;
	struct b3 hash;
	*known = s->kind == SOURCE_TENSOR || narrow(s, off, len, &part);
	if (!*known)
		return TN_OK;
	b3_init(&hash);
	if (s->kind == SOURCE_TENSOR)
		hash_stored(s, off, len, &hash, err);
	else
		hash_stream(&part, &hash, err);
	b3_final(&hash, out);
	return err->code;
}
