/* zstd.c - zstd frames through libzstd. */
#include "codec/zstd.h"

#include "base/mem.h"

#include <zstd.h>

enum { LEVEL = 3 };

struct zstd {
	ZSTD_CCtx *pack; /* each made when first needed */
	ZSTD_DCtx *unpack;
};

struct zstd *zstd_new(void)
{
	struct zstd *z = mem_alloc(sizeof *z);
	if (z != NULL)
		*z = (struct zstd){ NULL, NULL };
	return z;
}

void zstd_free(struct zstd *z)
{
	if (z == NULL)
		return;
	ZSTD_freeCCtx(z->pack);
	ZSTD_freeDCtx(z->unpack);
	mem_free(z);
}

size_t zstd_pack(struct zstd *z, const void *from, size_t n, void *to, size_t cap)
{
	if (z->pack == NULL && (z->pack = ZSTD_createCCtx()) == NULL)
		return 0;
	size_t got = ZSTD_compressCCtx(z->pack, to, cap, from, n, LEVEL);
	return ZSTD_isError(got) ? 0 : got;
}

bool zstd_unpack(struct zstd *z, const void *from, size_t n, void *to, size_t len)
{
	if (z->unpack == NULL && (z->unpack = ZSTD_createDCtx()) == NULL)
		return false;
	/* an error is a huge number */
	return ZSTD_decompressDCtx(z->unpack, to, len, from, n) == len;
}

bool zstd_unpack_all(tn_view from, struct buf *out)
{
	ZSTD_DCtx *d = ZSTD_createDCtx();
	ZSTD_inBuffer in = { from.ptr, from.len, 0 };
	size_t left = 1; /* 0 between frames */
	if (d == NULL)
		out->failed = true;
	while (!out->failed && (in.pos < in.size || left != 0)) {
		size_t before = in.pos, room = ZSTD_DStreamOutSize();
		uint8_t *to = buf_room(out, room);
		if (to == NULL)
			break;
		ZSTD_outBuffer piece = { to, room, 0 };
		left = ZSTD_decompressStream(d, &piece, &in);
		out->len += piece.pos;
		if (ZSTD_isError(left) || (in.pos == before && piece.pos == 0))
			break; /* no frame, or no progress: it ends early */
	}
	ZSTD_freeDCtx(d);
	return !out->failed && left == 0 && in.pos == in.size;
}
