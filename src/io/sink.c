/* sink.c - the only way bytes leave: one buffer, the taps that look at what passes, progress.
 *
 * Every byte passes accept() exactly once, whichever way it came: that is where taps, the count and
 * progress are. The exception is a copy inside the kernel, whose bytes nobody sees; it is taken only while no
 * tap is on. A file is never read through its map here: that would charge the process with every page. */
#include "io/sink.h"

#include "base/mem.h"
#include "base/num.h"
#include "codec/crc32.h"

enum { PROGRESS_STEP = 8 << 20 };

static tn_code init(struct sink *s, struct sys_out *out, size_t n, tn_error *err)
{
	*s = (struct sink){ .out = out, .buf = mem_alloc(n), .buf_len = n, .err = err };
	if (s->buf == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "no memory for the output buffer");
	return TN_OK;
}

tn_code sink_init(struct sink *s, struct sys_out *out, tn_error *err)
{
	return init(s, out, SINK_BUFFER, err);
}

tn_code sink_init_function(struct sink *s, uint64_t n, sink_take_fn take, void *ctx, tn_error *err)
{
	/* always room for a unit that is to be turned */
	tn_code code = init(s, NULL, n < SINK_BUFFER - SWAP_UNIT_MAX ? (size_t)n + SWAP_UNIT_MAX : SINK_BUFFER, err);
	s->take = take;
	s->take_ctx = ctx;
	return code;
}

void sink_init_memory(struct sink *s, void *memory, uint64_t cap, tn_error *err)
{
	*s = (struct sink){ .memory = memory, .cap = cap, .buf_len = SINK_BUFFER, .err = err };
}

void sink_fini(struct sink *s)
{
	mem_free(s->buf);
	s->buf = NULL;
}

/* Where the bytes go in the end, unless that is memory. */
static tn_code hand_over(struct sink *s, const uint8_t *p, size_t n)
{
	if (s->take == NULL)
		return sys_out_write(s->out, p, n, s->err);
	s->take(s->take_ctx, p, n);
	return s->err->code;
}

void sink_flush(struct sink *s)
{
	if (sink_ok(s) && s->fill != 0) {
		if (s->swap != TN_OPAQUE)
			swap_units(s->swap, s->buf, s->fill); /* whole units: see room_of */
		hand_over(s, s->buf, s->fill);
	}
	s->fill = 0;
}

/* ---- Accepting bytes ---- */

static void count(struct sink *s, uint64_t n)
{
	s->at += n;
	if (s->progress == NULL || (s->at - s->reported < PROGRESS_STEP && s->at != s->total))
		return;
	s->reported = s->at;
	if (!s->progress(s->progress_ctx, s->at, s->total))
		err_set(s->err, TN_E_USAGE, TN_NO_OFFSET, "stopped by the caller");
}

static void accept(struct sink *s, const uint8_t *p, size_t n)
{
	if (s->crc_on)
		s->crc = crc32_update(s->crc, p, n);
	if (s->stretch != NULL)
		*s->stretch = crc32_update(*s->stretch, p, n);
	if (s->hash != NULL)
		b3_update(s->hash, p, n);
	if (s->group != NULL)
		b3_update(s->group, p, n);
	count(s, n);
}

/* While bytes are turned the buffer holds whole units when it is full. */
static size_t room_of(const struct sink *s)
{
	return s->swap == TN_OPAQUE ? s->buf_len : s->buf_len - s->buf_len % swap_unit(s->swap);
}

/* Where the next bytes go, and for how many of the n that are to come there is room; NULL after a failure.
 * To be followed by filled(). */
static uint8_t *window(struct sink *s, uint64_t n, size_t *room)
{
	if (s->buf == NULL && !span_fits(s->at, n, s->cap))
		err_set(s->err, TN_E_USAGE, TN_NO_OFFSET, "a buffer of %llu bytes is too small",
		        (unsigned long long)s->cap);
	if (s->buf != NULL && s->fill == room_of(s))
		sink_flush(s);
	if (!sink_ok(s))
		return NULL;
	*room = (size_t)min_u64(n, room_of(s) - s->fill);
	return s->buf != NULL ? s->buf + s->fill : s->memory + s->at;
}

static void filled(struct sink *s, const uint8_t *p, size_t n)
{
	if (s->buf != NULL)
		s->fill += n;
	accept(s, p, n);
}

void sink_write(struct sink *s, const void *p, size_t n)
{
	const uint8_t *from = p;
	while (n != 0 && sink_ok(s)) {
		size_t room;
		uint8_t *to = window(s, n, &room);
		if (to == NULL)
			return;
		/* an empty buffer, and more to come: skip the copy */
		if (s->buf != NULL && room == s->buf_len && s->swap == TN_OPAQUE) {
			if (hand_over(s, from, room) == TN_OK)
				accept(s, from, room);
		} else {
			memcpy(to, from, room);
			filled(s, from, room);
		}
		from += room;
		n -= room;
	}
}

void sink_zero(struct sink *s, uint64_t n)
{
	while (n != 0 && sink_ok(s)) {
		size_t room;
		uint8_t *to = window(s, n, &room);
		if (to == NULL)
			return;
		memset(to, 0, room);
		filled(s, to, room);
		n -= room;
	}
}

/* ---- Copying from a file ---- */

static bool tapped(const struct sink *s)
{
	return s->crc_on || s->stretch != NULL || s->hash != NULL || s->group != NULL;
}

static void copy_buffered(struct sink *s, const struct sys_file *from, uint64_t off, uint64_t n)
{
	while (n != 0 && sink_ok(s)) {
		size_t room;
		uint8_t *to = window(s, n, &room);
		if (to == NULL || sys_file_read(from, off, to, room, true, s->err) != TN_OK)
			return;
		filled(s, to, room);
		off += room;
		n -= room;
	}
}

/* How many of the n bytes went; those that did not must take the other way. */
static uint64_t copy_in_kernel(struct sink *s, const struct sys_file *from, uint64_t off, uint64_t n)
{
	uint64_t done = 0;
	sink_flush(s);
	while (done < n && sink_ok(s)) {
		uint64_t moved = 0, piece = min_u64(n - done, PROGRESS_STEP);
		sys_out_copy(s->out, from, off + done, piece, &moved, s->err);
		done += moved;
		count(s, moved);
		if (moved < piece)
			break;
	}
	return done;
}

void sink_copy(struct sink *s, struct sys_file *from, uint64_t off, uint64_t n)
{
	if (!sink_ok(s) || n == 0)
		return;
	/* a file opened past the page cache shall not be pulled through it; little is not worth a flush */
	bool in_kernel = s->out != NULL && !tapped(s) && s->swap == TN_OPAQUE && from->direct_fd < 0
	              && n > s->buf_len - s->fill;
	uint64_t done = in_kernel ? copy_in_kernel(s, from, off, n) : 0;
	copy_buffered(s, from, off + done, n - done);
}

void sink_copy_known(struct sink *s, struct sys_file *from, uint64_t off, uint64_t n, uint32_t crc)
{
	bool tap = s->crc_on;
	s->crc_on = false;
	sink_copy(s, from, off, n);
	s->crc_on = tap;
	s->crc = crc32_concat(s->crc, crc, n);
}

void sink_replay(struct sink *s, const struct sys_file *from, uint64_t n)
{
	sink_flush(s);
	while (n != 0 && sink_ok(s)) {
		size_t piece = (size_t)min_u64(n, SINK_BUFFER);
		if (!tapped(s))
			count(s, piece);
		else if (sys_file_read(from, s->at, s->buf, piece, false, s->err) == TN_OK)
			accept(s, s->buf, piece);
		n -= piece;
	}
}

void sink_patch(struct sink *s, uint64_t off, const void *p, size_t n)
{
	sink_flush(s);
	if (!sink_ok(s))
		return;
	if (!span_fits(off, n, s->at))
		err_set(s->err, TN_E_USAGE, off, "patch of %zu bytes past what was written", n);
	else if (tapped(s))
		err_set(s->err, TN_E_USAGE, off, "patch under a running checksum");
	else if (s->out != NULL)
		sys_out_patch(s->out, off, p, n, s->err);
	else
		copy_bytes(s->memory + off, p, n);
}

/* ---- Taps ---- */

void sink_crc_start(struct sink *s)
{
	s->crc = 0;
	s->crc_on = true;
}

uint32_t sink_crc_value(const struct sink *s)
{
	return s->crc;
}

void sink_stretch_start(struct sink *s, uint32_t *crc)
{
	*crc = 0;
	s->stretch = crc;
}

void sink_stretch_stop(struct sink *s)
{
	s->stretch = NULL;
}

void sink_hash_start(struct sink *s, struct b3 *h)
{
	b3_init(h);
	s->hash = h;
}

void sink_hash_stop(struct sink *s)
{
	s->hash = NULL;
}

void sink_group_start(struct sink *s, struct b3 *h)
{
	b3_init(h);
	s->group = h;
}

void sink_group_stop(struct sink *s)
{
	s->group = NULL;
}

/* ---- Byte order ---- */

/* Bytes for a file are turned in the buffer on their way out, those in memory where they lie when all are there. */
void sink_swap_start(struct sink *s, tn_dtype d)
{
	sink_flush(s);
	s->swap = d;
	s->swap_from = s->at;
}

void sink_swap_stop(struct sink *s)
{
	if (s->out != NULL)
		sink_flush(s);
	else if (sink_ok(s))
		swap_units(s->swap, s->memory + s->swap_from, (size_t)(s->at - s->swap_from));
	s->swap = TN_OPAQUE;
}
