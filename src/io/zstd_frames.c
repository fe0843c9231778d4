/* zstd_frames.c - zstd frames with a seek table: reading ranges, and making them. See zstd_frames.h. */
#include "io/zstd_frames.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/num.h"
#include "codec/zstd.h"
#include "io/tensor_read.h"

/* The seek table:  u32 0x184D2A5E | u32 length of what follows | { u32 stored, u32 raw } x n | u32 n | u8 0 |
 * u32 0x8F92EAB1. Bit 7 of the byte adds a checksum of 4 bytes to each entry. */
enum { FOOTER = 9, TABLE_HEAD = 8, ENTRY = 8, CHECKSUM = 4 };
enum { TABLE_PIECE = 64 * 1024 }; /* bytes of it in memory at a time: that of 2 GiB in frames of ours */
enum { STORED_MAX = 2 * ZSTD_RUN_MAX }; /* a decoder passes over what is no data, and reads it all */
enum { FRAME_ROOM = ZSTD_FRAME + ZSTD_FRAME / 64 }; /* bytes that do not shrink grow by less */
#define SKIPPABLE UINT32_C(0x184D2A5E)
#define SEEKABLE  UINT32_C(0x8F92EAB1)

struct frames {
	const struct reader *r;
	const struct tensor *t;
	tn_error            *err;
	struct zstd         *zstd;
	uint64_t             table; /* where the entries stand */
	uint64_t             n;
	size_t               entry; /* bytes of an entry */
	uint8_t             *piece; /* held entries from first on; NULL: one run of frames without a table */
	uint64_t             first, held;
};

static tn_code corrupt(const struct frames *f, const char *why)
{
	return err_set(f->err, TN_E_CORRUPT, f->t->offset, "tensor '%s': zstd: %s", ESC(f->t->name), why);
}

/* ---- The table ---- */

/* True where the bytes end in a table; its entries are not read yet. */
static bool find_table(struct frames *f)
{
	uint8_t foot[FOOTER], head[TABLE_HEAD];
	uint64_t stored = f->t->stored;
	if (stored < FOOTER + TABLE_HEAD ||
	    reader_read(f->r, f->t->offset + stored - FOOTER, foot, FOOTER, f->err) != TN_OK || le32(foot + 5) != SEEKABLE)
		return false;
	f->n = le32(foot);
	f->entry = ENTRY + ((foot[4] & 0x80) != 0 ? CHECKSUM : 0);
	uint64_t length = f->n * f->entry + FOOTER; /* 32 bits times 12 */
	if (!span_fits(TABLE_HEAD, length, stored))
		return false;
	f->table = f->t->offset + stored - length;
	return reader_read(f->r, f->table - TABLE_HEAD, head, TABLE_HEAD, f->err) == TN_OK && le32(head) == SKIPPABLE &&
	       le32(head + 4) == length;
}

/* Entry i, of a table that may be larger than memory; false when it cannot be read or is too large a frame. */
static bool read_entry(struct frames *f, uint64_t i, uint32_t *stored, uint32_t *raw)
{
	if (i < f->first || i - f->first >= f->held) {
		size_t some = (size_t)min_u64(f->n - i, TABLE_PIECE / f->entry);
		f->held = 0;
		if (reader_read(f->r, f->table + i * f->entry, f->piece, some * f->entry, f->err) != TN_OK)
			return false;
		f->first = i;
		f->held = some;
	}
	const uint8_t *entry = f->piece + (size_t)(i - f->first) * f->entry;
	*stored = le32(entry);
	*raw = le32(entry + 4);
	if (*raw > ZSTD_RUN_MAX)
		return corrupt(f, "a frame of more than 4 MiB") == TN_OK;
	return *stored <= STORED_MAX || corrupt(f, "a frame that is stored in more than 8 MiB") == TN_OK;
}

/* An entry of nothing is one all the same: some writers end with it. */
static tn_code check_table(struct frames *f)
{
	uint64_t all_stored = 0, all_raw = 0;
	uint32_t stored, raw;
	for (uint64_t i = 0; i < f->n; i++) {
		if (!read_entry(f, i, &stored, &raw))
			return f->err->code;
		all_stored += stored; /* 32 bits each, and fewer than 2^32 of them */
		all_raw += raw;
	}
	if (all_stored != f->table - TABLE_HEAD - f->t->offset || all_raw != f->t->nbytes)
		return corrupt(f, "its seek table does not fit its bytes");
	return TN_OK;
}

static tn_code open_table(struct frames *f)
{
	if (!find_table(f))
		return f->err->code;
	if ((f->piece = mem_alloc(TABLE_PIECE)) == NULL)
		return err_set(f->err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for a seek table");
	return check_table(f);
}

/* ---- Reading ---- */

/* All of a frame, or of a run of them. */
static tn_code decode(const struct frames *f, uint64_t at, size_t stored, void *to, size_t raw)
{
	uint8_t *bytes = mem_alloc(stored);
	if (bytes == NULL)
		return err_set(f->err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for a zstd frame");
	if (reader_read(f->r, at, bytes, stored, f->err) == TN_OK && !zstd_unpack(f->zstd, bytes, stored, to, raw))
		corrupt(f, "its bytes do not decode to its size");
	mem_free(bytes);
	return f->err->code;
}

/* The n bytes from skip of a frame. */
static tn_code decode_part(const struct frames *f, uint64_t at, size_t stored, size_t raw, size_t skip, uint8_t *to, size_t n)
{
	if (n == raw)
		return decode(f, at, stored, to, raw);
	uint8_t *whole = mem_alloc(raw);
	if (whole == NULL)
		return err_set(f->err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for a zstd frame");
	if (decode(f, at, stored, whole, raw) == TN_OK)
		copy_bytes(to, whole + skip, n);
	mem_free(whole);
	return f->err->code;
}

static tn_code read_whole(const struct frames *f, uint64_t off, uint8_t *to, size_t n)
{
	if (f->t->nbytes > ZSTD_RUN_MAX || f->t->stored > STORED_MAX)
		return err_set(f->err, TN_E_UNSUPPORTED, f->t->offset,
		               "tensor '%s': zstd: more than 4 MiB without a seek table", ESC(f->t->name));
	return decode_part(f, f->t->offset, (size_t)f->t->stored, (size_t)f->t->nbytes, (size_t)off, to, n);
}

static tn_code read_frames(struct frames *f, uint64_t off, uint8_t *to, size_t n)
{
	uint64_t at = f->t->offset, begin = 0;
	uint32_t stored, raw;
	for (uint64_t i = 0; i < f->n && n != 0; i++) {
		if (!read_entry(f, i, &stored, &raw))
			return f->err->code;
		if (off < begin + raw) {
			size_t skip = (size_t)(off - begin), some = (size_t)min_u64(n, raw - skip);
			if (decode_part(f, at, stored, raw, skip, to, some) != TN_OK)
				return f->err->code;
			off += some, to += some, n -= some;
		}
		at += stored;
		begin += raw;
	}
	return TN_OK;
}

tn_code zstd_frames_read(const struct reader *r, const struct tensor *t, uint64_t off, void *buf, size_t n, tn_error *err)
{
	struct frames f = { .r = r, .t = t, .err = err, .zstd = zstd_new() };
	if (f.zstd == NULL)
		err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for zstd");
	else if (n != 0 && open_table(&f) == TN_OK) {
		if (f.piece != NULL)
			read_frames(&f, off, buf, n);
		else
			read_whole(&f, off, buf, n);
	}
	mem_free(f.piece);
	zstd_free(f.zstd);
	return err->code;
}

/* ---- Making ---- */

struct making {
	const struct reader *from;
	const struct tensor *t;
	struct zstd *zstd;
	uint8_t  *raw, *frame, *table;
	tn_error *err;
};

static tn_code making_init(struct making *m, const struct reader *from, const struct tensor *t, tn_error *err)
{
	size_t entries;
	*m = (struct making){ .from = from, .t = t, .zstd = zstd_new(), .err = err };
	if (t->nbytes / ZSTD_FRAME >= UINT32_MAX || !size_from_u64((t->nbytes / ZSTD_FRAME + 1) * ENTRY, &entries))
		return err_set(err, TN_E_LIMIT, TN_NO_OFFSET, "more than 2^32 zstd frames");
	m->raw = mem_alloc(ZSTD_FRAME);
	m->frame = mem_alloc(FRAME_ROOM);
	m->table = mem_alloc(TABLE_HEAD + entries + FOOTER);
	if (m->zstd == NULL || m->raw == NULL || m->frame == NULL || m->table == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for zstd frames");
	return TN_OK;
}

static void making_fini(struct making *m)
{
	zstd_free(m->zstd);
	mem_free(m->raw);
	mem_free(m->frame);
	mem_free(m->table);
}

/* Frames and table; emit of NULL only counts. */
static tn_code make(struct making *m, tn_emit *emit, uint64_t *size)
{
	uint32_t n = 0;
	*size = 0;
	for (uint64_t at = 0; at < m->t->nbytes && m->err->code == TN_OK; at += ZSTD_FRAME, n++) {
		size_t raw = (size_t)min_u64(ZSTD_FRAME, m->t->nbytes - at);
		if (tensor_read(m->from, m->t, at, m->raw, raw, m->err) != TN_OK)
			return m->err->code;
		size_t len = zstd_pack(m->zstd, m->raw, raw, m->frame, FRAME_ROOM);
		if (len == 0)
			return err_set(m->err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for a zstd frame");
		put_le32(m->table + TABLE_HEAD + n * (size_t)ENTRY, (uint32_t)len);
		put_le32(m->table + TABLE_HEAD + n * (size_t)ENTRY + 4, (uint32_t)raw);
		if (emit != NULL)
			tn_emit_bytes(emit, m->frame, len);
		*size += len;
	}
	size_t length = n * (size_t)ENTRY + FOOTER;
	put_le32(m->table, SKIPPABLE);
	put_le32(m->table + 4, (uint32_t)length);
	uint8_t *foot = m->table + TABLE_HEAD + length - FOOTER;
	put_le32(foot, n);
	foot[4] = 0;
	put_le32(foot + 5, SEEKABLE);
	if (emit != NULL)
		tn_emit_bytes(emit, m->table, TABLE_HEAD + length);
	*size += TABLE_HEAD + length;
	return m->err->code;
}

static tn_code run(const struct reader *from, const struct tensor *t, tn_emit *emit, uint64_t *size, tn_error *err)
{
	struct making m;
	if (making_init(&m, from, t, err) == TN_OK)
		make(&m, emit, size);
	making_fini(&m);
	return err->code;
}

tn_code zstd_frames_size(const struct reader *r, const struct tensor *t, uint64_t *out, tn_error *err)
{
	return run(r, t, NULL, out, err);
}

static tn_code produce(void *ctx, tn_emit *emit, tn_error *err)
{
	const struct zstd_frames *z = ctx;
	uint64_t size;
	return run(z->from, z->tensor, emit, &size, err);
}

struct source zstd_frames_source(struct zstd_frames *ctx, uint64_t size)
{
	return (struct source){ .kind = SOURCE_CALLBACK, .len = size, .from = ctx->from, .produce = produce, .ctx = ctx };
}
