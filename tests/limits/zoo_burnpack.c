/* zoo_burnpack.c - hostile CBOR in burnpack files. */
#include "limits/zoo.h"
#include "format/burnpack/layout.h"

enum { TAIL = 300, TEXT = 0x60, MAP = 0xa0, OPEN_TEXT = 0x7f, OPEN_ARRAY = 0x9f, OPEN_MAP = 0xbf, BREAK = 0xff };

static void begin(struct buf *b)
{
	buf_text(b, PACK_MAGIC);
	buf_u16(b, PACK_VERSION);
	buf_u32(b, 0);
	buf_byte(b, OPEN_MAP);
}

static void end(struct buf *b)
{
	buf_byte(b, BREAK);
	put_le32(b->ptr + 6, (uint32_t)(b->len - PACK_HEADER));
}

static void text(struct buf *b, const char *s)
{
	size_t n = strlen(s);
	if (n < 24) {
		buf_byte(b, (uint8_t)(TEXT | n));
	} else {
		buf_byte(b, 0x78);
		buf_byte(b, (uint8_t)n);
	}
	buf_text(b, s);
}

static void name(struct buf *b, unsigned i)
{
	char s[16];
	snprintf(s, sizeof s, "%x", i);
	text(b, s);
}

static void no_tensors(struct buf *b)
{
	text(b, "tensors");
	buf_byte(b, MAP);
}

static void member(struct buf *b, const char *key, zoo_part part)
{
	begin(b);
	text(b, key);
	buf_byte(b, OPEN_MAP);
	zoo_fill(b, part, TAIL);
	buf_byte(b, BREAK);
	if (strcmp(key, "tensors") != 0)
		no_tensors(b);
	end(b);
}

/* ---- Tensors ---- */

static void descriptor(struct buf *b, const char *dtype)
{
	buf_byte(b, MAP | 3);
	text(b, "dtype");
	text(b, dtype);
	text(b, "shape");
	buf_put(b, "\x81\x00", 2);
	text(b, "data_offsets");
	buf_put(b, "\x82\x00\x00", 3);
}

static void tensor(struct buf *b, unsigned i)
{
	name(b, i);
	descriptor(b, "U8");
}

static void same_tensor(struct buf *b, unsigned i)
{
	(void)i;
	tensor(b, 0);
}

static void huge_shape(struct buf *b, unsigned i)
{
	name(b, i);
	buf_byte(b, MAP | 3);
	text(b, "dtype");
	text(b, "F64");
	text(b, "shape");
	buf_put(b, "\x83\x00\x1b\x7f\xff\xff\xff\xff\xff\xff\xff\x1b\x7f\xff\xff\xff\xff\xff\xff\xff", 20);
	text(b, "data_offsets");
	buf_put(b, "\x82\x00\x00", 3);
}

static void tensors(struct buf *b) { member(b, "tensors", tensor); }
static void one_name(struct buf *b) { member(b, "tensors", same_tensor); }
static void huge_shapes(struct buf *b) { member(b, "tensors", huge_shape); }

static void shape_of(struct buf *b, const char *head, size_t n, const char *item)
{
	begin(b);
	text(b, "tensors");
	buf_byte(b, MAP | 1);
	text(b, "a");
	buf_byte(b, MAP | 3);
	text(b, "dtype");
	text(b, "U8");
	text(b, "data_offsets");
	buf_put(b, "\x82\x00\x01", 3);
	text(b, "shape");
	buf_put(b, head, n);
	zoo_repeat(b, item, TAIL);
	end(b);
}

static void long_shape(struct buf *b) { shape_of(b, "\x9f", 1, "\x01"); }
static void count_shape(struct buf *b) { shape_of(b, "\x9b\0\0\0\1\0\0\0\0", 9, "\x01"); }
static void count_all(struct buf *b) { shape_of(b, "\x9b\xff\xff\xff\xff\xff\xff\xff\xff", 9, "\x01"); }
static void tags(struct buf *b) { shape_of(b, "\x81", 1, "\xc1"); }

/* ---- Metadata ---- */

static void pair(struct buf *b, unsigned i)
{
	name(b, i);
	buf_byte(b, TEXT);
}

static void same_pair(struct buf *b, unsigned i)
{
	text(b, "a");
	name(b, i);
}

static void scalar(struct buf *b, unsigned i)
{
	name(b, i);
	buf_byte(b, MAP | 1);
	text(b, "Int");
	buf_byte(b, 0);
}

/* A string in many pieces takes a buffer of its own. */
static void pieces(struct buf *b, unsigned i)
{
	name(b, i);
	buf_byte(b, OPEN_TEXT);
	buf_byte(b, TEXT);
	buf_byte(b, BREAK);
}

static void keys(struct buf *b) { member(b, "metadata", pair); }
static void one_key(struct buf *b) { member(b, "metadata", same_pair); }
static void scalars(struct buf *b) { member(b, "scalars", scalar); }
static void many_pieces(struct buf *b) { member(b, "metadata", pieces); }

static void one_piece_each(struct buf *b)
{
	begin(b);
	text(b, "metadata");
	buf_byte(b, MAP | 1);
	text(b, "a");
	buf_byte(b, OPEN_TEXT);
	zoo_repeat(b, "\x60", TAIL);
	buf_byte(b, BREAK);
	no_tensors(b);
	end(b);
}

/* ---- Nesting ---- */

static void unknown_of(struct buf *b, const char *item)
{
	begin(b);
	no_tensors(b);
	text(b, "other");
	zoo_repeat(b, item, TAIL);
	end(b);
}

static void deep_arrays(struct buf *b) { unknown_of(b, "\x81"); }
static void deep_open_arrays(struct buf *b) { unknown_of(b, "\x9f"); }
static void deep_maps(struct buf *b) { unknown_of(b, "\xbf\x61" "a"); }
static void deep_tags(struct buf *b) { unknown_of(b, "\xd8\x18"); }

static void unknown_member(struct buf *b, unsigned i)
{
	name(b, i);
	buf_byte(b, 0);
}

static void unknown_members(struct buf *b)
{
	begin(b);
	no_tensors(b);
	zoo_fill(b, unknown_member, TAIL);
	end(b);
}

const struct animal zoo_burnpack[] = {
	{ "pack-tensors", tensors, NULL }, { "pack-one-name", one_name, NULL }, { "pack-huge-shapes", huge_shapes, NULL },
	{ "pack-long-shape", long_shape, NULL }, { "pack-count-shape", count_shape, NULL }, { "pack-count-all", count_all, NULL },
	{ "pack-tags", tags, NULL }, { "pack-keys", keys, NULL }, { "pack-one-key", one_key, NULL },
	{ "pack-scalars", scalars, NULL }, { "pack-many-pieces", many_pieces, NULL }, { "pack-pieces", one_piece_each, NULL },
	{ "pack-deep-arrays", deep_arrays, NULL }, { "pack-deep-open-arrays", deep_open_arrays, NULL },
	{ "pack-deep-maps", deep_maps, NULL }, { "pack-deep-tags", deep_tags, NULL },
	{ "pack-unknown-members", unknown_members, NULL },
	{ NULL, NULL, NULL },
};
