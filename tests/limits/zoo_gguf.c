/* zoo_gguf.c - hostile GGUF files. */
#include "limits/zoo.h"
#include "format/gguf/layout.h"

enum { TAIL = 300, COUNTS_AT = 8 };

static void begin(struct buf *b, uint64_t tensors, uint64_t pairs)
{
	buf_text(b, GGUF_MAGIC);
	buf_u32(b, GGUF_VERSION);
	buf_u64(b, tensors);
	buf_u64(b, pairs);
}

static void string(struct buf *b, const char *text)
{
	buf_u64(b, strlen(text));
	buf_text(b, text);
}

static void name(struct buf *b, unsigned i)
{
	char text[16];
	snprintf(text, sizeof text, "%x", i);
	string(b, text);
}

/* ---- Pairs ---- */

static void small_pair(struct buf *b, unsigned i)
{
	name(b, i);
	buf_u32(b, VALUE_BOOL);
	buf_byte(b, 2);
}

static void same_pair(struct buf *b, unsigned i)
{
	(void)i;
	small_pair(b, 0);
}

static void empty_array(struct buf *b, unsigned i)
{
	name(b, i);
	buf_u32(b, VALUE_ARRAY);
	buf_u32(b, VALUE_STRING);
	buf_u64(b, 0);
}

static void pairs_of(struct buf *b, zoo_part part)
{
	begin(b, 0, 0);
	uint64_t n = zoo_fill(b, part, TAIL); /* which moves the buffer */
	put_le64(b->ptr + COUNTS_AT + 8, n);
}

static void pairs(struct buf *b) { pairs_of(b, small_pair); }
static void one_key(struct buf *b) { pairs_of(b, same_pair); }
static void empty_arrays(struct buf *b) { pairs_of(b, empty_array); }

static void array(struct buf *b, const char *key, uint32_t type, uint64_t n)
{
	string(b, key);
	buf_u32(b, VALUE_ARRAY);
	buf_u32(b, type);
	buf_u64(b, n);
}

static void empty_strings(struct buf *b)
{
	uint64_t n = (ZOO_SIZE - TAIL) / 8;
	begin(b, 0, 1);
	array(b, "tokenizer.ggml.tokens", VALUE_STRING, n);
	buf_fill(b, 0, (size_t)n * 8);
}

static void bools(struct buf *b)
{
	begin(b, 0, 1);
	array(b, "a", VALUE_BOOL, ZOO_SIZE - TAIL);
	buf_fill(b, 2, ZOO_SIZE - TAIL);
}

static void one_key_of_all(struct buf *b)
{
	begin(b, 0, 1);
	buf_u64(b, ZOO_SIZE - TAIL);
	buf_fill(b, 0x1b, ZOO_SIZE - TAIL);
	buf_u32(b, VALUE_U8);
	buf_byte(b, 0);
}

static void one_value_of_all(struct buf *b)
{
	begin(b, 0, 1);
	string(b, "a");
	buf_u32(b, VALUE_STRING);
	buf_u64(b, ZOO_SIZE - TAIL);
	buf_fill(b, 0x1b, ZOO_SIZE - TAIL);
}

static void inner_array(struct buf *b, unsigned i)
{
	(void)i;
	buf_u32(b, VALUE_U8);
	buf_u64(b, 0);
}

static void wide_arrays(struct buf *b)
{
	begin(b, 0, 1);
	array(b, "a", VALUE_ARRAY, 0);
	size_t at = b->len - 8;
	uint64_t n = zoo_fill(b, inner_array, TAIL); /* which moves the buffer */
	put_le64(b->ptr + at, n);
}

static void deep_array(struct buf *b, unsigned i)
{
	(void)i;
	buf_u32(b, VALUE_ARRAY);
	buf_u64(b, 1);
}

static void deep_arrays(struct buf *b)
{
	begin(b, 0, 1);
	string(b, "a");
	buf_u32(b, VALUE_ARRAY);
	zoo_fill(b, deep_array, TAIL);
}

/* ---- Counts that nothing stands for ---- */

static void count_of(struct buf *b, uint32_t type, uint64_t n)
{
	begin(b, 0, 1);
	array(b, "a", type, n);
	buf_fill(b, 0, ZOO_SIZE - TAIL);
}

static void count_strings(struct buf *b) { count_of(b, VALUE_STRING, UINT64_C(1) << 32); }
static void count_numbers(struct buf *b) { count_of(b, VALUE_U64, UINT64_C(1) << 61); }
static void count_arrays(struct buf *b) { count_of(b, VALUE_ARRAY, UINT64_C(1) << 32); }
static void count_bytes(struct buf *b) { count_of(b, VALUE_U8, UINT64_MAX); }

static void counts(struct buf *b, uint64_t tensors, uint64_t n)
{
	begin(b, tensors, n);
	buf_fill(b, 0, ZOO_SIZE - TAIL);
}

static void count_tensors(struct buf *b) { counts(b, UINT64_C(1) << 32, 0); }
static void count_all_tensors(struct buf *b) { counts(b, UINT64_MAX, 0); }
static void count_pairs(struct buf *b) { counts(b, 0, UINT64_C(1) << 32); }
static void count_all_pairs(struct buf *b) { counts(b, 0, UINT64_MAX); }

/* ---- Tensors ---- */

static void scalar(struct buf *b, unsigned i)
{
	name(b, i);
	buf_u32(b, 0);
	buf_u32(b, 24); /* I8 */
	buf_u64(b, 0);
}

static void nothing(struct buf *b, unsigned i)
{
	name(b, i);
	buf_u32(b, 4);
	buf_u64(b, 0);
	buf_u64(b, UINT64_C(1) << 62);
	buf_u64(b, UINT64_C(1) << 62);
	buf_u64(b, UINT64_C(1) << 62);
	buf_u32(b, 28); /* F64 */
	buf_u64(b, 0);
}

static void odd_type(struct buf *b, unsigned i)
{
	name(b, i);
	buf_u32(b, 1);
	buf_u64(b, 0);
	buf_u32(b, 1000 + i);
	buf_u64(b, 0);
}

static void tensors_of(struct buf *b, zoo_part part, size_t room)
{
	begin(b, 0, 0);
	uint64_t n = zoo_fill(b, part, room); /* which moves the buffer */
	put_le64(b->ptr + COUNTS_AT, n);
	buf_fill(b, 0, GGUF_ALIGN - b->len % GGUF_ALIGN);
}

static void scalars(struct buf *b) { tensors_of(b, scalar, TAIL); }
static void nothings(struct buf *b) { tensors_of(b, nothing, TAIL); }
static void odd_types(struct buf *b) { tensors_of(b, odd_type, TAIL); }

static void turned(struct buf *b)
{
	enum { N = 128000 };
	static const uint8_t zeros[7];
	buf_put(b, "GGUF\0\0\0\3", 8);
	buf_fill(b, 0, 15);
	buf_byte(b, 1);
	buf_put(b, zeros, 7);
	buf_put(b, "\1a\0\0\0\11\0\0\0\10", 10);
	uint8_t count[8];
	put_be64(count, N);
	buf_put(b, count, 8);
	buf_fill(b, 0, (size_t)N * 8);
}

/* ---- Shards ---- */

static void number_pair(struct buf *b, const char *key, unsigned v)
{
	string(b, key);
	buf_u32(b, VALUE_U32);
	buf_u32(b, v);
}

/* The first of so many, as its name has to say as well. */
static void shard_of(struct buf *b, unsigned n)
{
	begin(b, 0, 2);
	number_pair(b, "split.no", 0);
	number_pair(b, "split.count", n);
}

static void shard_of_millions(struct buf *b) { shard_of(b, 20000000); }
static void shard_of_most(struct buf *b) { shard_of(b, 99999); }

const struct animal zoo_gguf[] = {
	{ "gguf-pairs", pairs, NULL }, { "gguf-one-key", one_key, NULL }, { "gguf-empty-arrays", empty_arrays, NULL },
	{ "gguf-empty-strings", empty_strings, NULL }, { "gguf-bools", bools, NULL }, { "gguf-long-key", one_key_of_all, NULL },
	{ "gguf-long-value", one_value_of_all, NULL }, { "gguf-wide-arrays", wide_arrays, NULL },
	{ "gguf-deep-arrays", deep_arrays, NULL }, { "gguf-count-strings", count_strings, NULL },
	{ "gguf-count-numbers", count_numbers, NULL }, { "gguf-count-arrays", count_arrays, NULL },
	{ "gguf-count-bytes", count_bytes, NULL }, { "gguf-count-tensors", count_tensors, NULL },
	{ "gguf-count-all-tensors", count_all_tensors, NULL }, { "gguf-count-pairs", count_pairs, NULL },
	{ "gguf-count-all-pairs", count_all_pairs, NULL }, { "gguf-scalars", scalars, NULL }, { "gguf-nothings", nothings, NULL },
	{ "gguf-odd-types", odd_types, NULL }, { "gguf-turned", turned, NULL },
	{ "gguf-shard-of-millions", shard_of_millions, "m-00000001-of-20000000.gguf" },
	{ "gguf-shard-of-most", shard_of_most, "m-00001-of-99999.gguf" },
	{ NULL, NULL, NULL },
};
