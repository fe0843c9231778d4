/* test_blocks.c - tensors in blocks: written, read in any range, and tables that lie. */
#include "io/blocks.h"

#include "base/bytes.h"
#include "io/sink.h"
#include "io/tensor_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { MOST = 5 * BLOCK_SIZE + 1000 };
static uint8_t plain[MOST], stored[2 * MOST], out[MOST];

/* Numbers whose high bytes are alike, as of weights. */
static void fill(unsigned width)
{
	uint32_t x = 1;
	for (size_t i = 0; i < MOST; i++)
		plain[i] = width > 1 && i % width == width - 1
		                   ? 0x3f
		                   : (uint8_t)((x = x * 1664525 + 1013904223) >> 28);
}

/* Packs len bytes of plain; the stored ones, or the empty view where it does not pay. */
static tn_view pack(uint64_t len, enum block_codec codec, unsigned width, unsigned threads,
                    struct packing *p)
{
	struct source s = { .kind = SOURCE_MEMORY, .len = len, .memory = { plain, (size_t)len } };
	static struct arena mem;
	tn_error err = { .code = TN_OK };
	struct sink sink;
	arena_fini(&mem);
	arena_init(&mem, 0);
	assert_int_equal(blocks_measure(&s, codec, width, threads, &mem, p, &err), TN_OK);
	if (p->lengths == NULL)
		return (tn_view){ NULL, 0 };
	sink_init_memory(&sink, stored, sizeof stored, &err);
	blocks_stream(&s, p, threads, &sink);
	assert_int_equal(err.code, TN_OK);
	assert_int_equal(sink.at, p->stored);
	assert_true(p->stored < len);
	return (tn_view){ stored, (size_t)p->stored };
}

static tn_code read_some(tn_view v, uint64_t nbytes, uint64_t off, size_t n, tn_error *err)
{
	struct reader r = { .map = v, .size = v.len };
	struct tensor t = {
		.name = VIEW("t"), .enc = ENC_BLOCKS, .nbytes = nbytes, .stored = v.len,
	};
	*err = (tn_error){ .code = TN_OK };
	return tensor_read(&r, &t, off, out, n, err);
}

static void any_range(void **state)
{
	(void)state;
	static const uint64_t ends[] = {0,
	                                1,
	                                7,
	                                BLOCK_SIZE - 1,
	                                BLOCK_SIZE,
	                                BLOCK_SIZE + 1,
	                                3 * BLOCK_SIZE,
	                                5 * BLOCK_SIZE,
	                                5 * BLOCK_SIZE + 999,
	                                MOST };
	enum { ENDS = sizeof ends / sizeof *ends };
	for (unsigned width = 1; width <= 8; width *= 2) {
		for (int codec = BLOCKS_LZ4; codec <= BLOCKS_ZSTD; codec++) {
			struct packing p;
			tn_error err;
			fill(width);
			tn_view v = pack(MOST, (enum block_codec)codec, width, 2, &p);
			assert_true(v.len != 0);
			for (size_t a = 0; a < ENDS; a++) {
				for (size_t b = a; b < ENDS; b++) {
					size_t n = (size_t)(ends[b] - ends[a]);
					if (read_some(v, MOST, ends[a], n, &err) != TN_OK)
						fail_msg("%s", err.msg);
					assert_memory_equal(out, plain + ends[a], n);
				}
			}
		}
	}
}

static void lengths(void **state)
{
	(void)state;
	fill(2);
	for (uint64_t len = 0; len < 3 * BLOCK_SIZE; len += len < 300 ? 1 : 13337) {
		struct packing p;
		tn_error err;
		tn_view v = pack(len, BLOCKS_ZSTD, 2, 1, &p);
		if (v.len == 0)
			continue;
		assert_true(blocks_fit(len, v.len));
		assert_int_equal(read_some(v, len, 0, (size_t)len, &err), TN_OK);
		assert_memory_equal(out, plain, (size_t)len);
	}
}

static void planes_only_where_they_pay(void **state)
{
	(void)state;
	struct packing p;
	fill(4);
	pack(MOST, BLOCKS_LZ4, 4, 2, &p);
	assert_int_equal(p.width, 4);
	memset(plain, 0, MOST); /* the same either way */
	pack(MOST, BLOCKS_LZ4, 4, 2, &p);
	assert_int_equal(p.width, 0);
}

static void noise_stays_as_it_is(void **state)
{
	(void)state;
	struct packing p;
	uint32_t x = 1;
	for (size_t i = 0; i < MOST; i++)
		plain[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
	pack(MOST, BLOCKS_LZ4, 1, 2, &p);
	assert_null(p.lengths);
	/* one block of noise among others is stored raw */
	memset(plain + BLOCK_SIZE, 0, 4 * BLOCK_SIZE);
	tn_view v = pack(MOST, BLOCKS_LZ4, 1, 2, &p);
	tn_error err;
	assert_int_equal(p.lengths[0], BLOCK_SIZE | UINT32_C(0x80000000));
	assert_int_equal(read_some(v, MOST, 5, BLOCK_SIZE, &err), TN_OK);
	assert_memory_equal(out, plain + 5, BLOCK_SIZE);
}

static void the_same_with_any_number_of_threads(void **state)
{
	(void)state;
	struct packing p;
	fill(2);
	tn_view one = pack(MOST, BLOCKS_ZSTD, 2, 1, &p);
	uint8_t *copy = malloc(one.len);
	assert_non_null(copy);
	memcpy(copy, one.ptr, one.len);
	tn_view many = pack(MOST, BLOCKS_ZSTD, 2, 7, &p);
	assert_int_equal(many.len, one.len);
	assert_memory_equal(many.ptr, copy, one.len);
	free(copy);
}

/* ---- Tables that lie ---- */

static void put(size_t at, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		stored[at + i] = (uint8_t)(v >> 8 * i);
}

static void lies(void **state)
{
	(void)state;
	static const struct {
		size_t      at;
		uint64_t    v;
		unsigned    bytes;
		const char *msg;
	} cases[] = {
		{ 0, 3, 1, "its codec is not known" },
		{ 0, 0, 1, "its codec is not known" },
		{ 1, 3, 1, "its planes are not known" },
		{ 1, 16, 1, "its planes are not known" },
		{ 2, 1, 2, "its planes are not known" },
		{ 4, 4096, 4, "its blocks have another size than 65536" },
		{ 8, MOST + 1, 8, "it has another size than its shape" },
		{ 8, UINT64_MAX, 8, "it has another size than its shape" },
		{ 16, 0, 4, "its table has a length that cannot be" },
		{ 16, BLOCK_SIZE, 4, "its table has a length that cannot be" },
		{ 16, UINT32_MAX, 4, "its table has a length that cannot be" },
		{ 20, 0x80000001, 4, "its table has a length that cannot be" },
		{ 36, 1000 | UINT32_C(0x80000000), 4, "its table has a length that cannot be" },
		{ 36, 1, 4, "its blocks do not fill what is stored" },
		{ 40, 0xffffffff, 4, "a block does not decode to its length" },
	};
	struct packing p;
	tn_error err;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char want[160];
		fill(2);
		tn_view v = pack(MOST, BLOCKS_LZ4, 2, 1, &p);
		put(cases[i].at, cases[i].v, cases[i].bytes);
		snprintf(want, sizeof want, "compressed tensor 't': %s", cases[i].msg);
		assert_int_equal(read_some(v, MOST, 0, MOST, &err), TN_E_CORRUPT);
		assert_string_equal(err.msg, want);
	}
}

/* Every byte of head and table, and cut at every length of them: refused or read, and nothing
 * else. */
static void every_byte_of_the_table(void **state)
{
	(void)state;
	enum { TABLE = BLOCKS_HEAD + 4 * 6 };
	struct packing p;
	tn_error err;
	fill(2);
	tn_view v = pack(MOST, BLOCKS_ZSTD, 2, 1, &p);
	for (size_t at = 0; at < TABLE; at++) {
		uint8_t was = stored[at];
		for (unsigned c = 0; c < 256; c++) {
			stored[at] = (uint8_t)c;
			struct reader r = { .map = v, .size = v.len };
			struct tensor t = { .name = VIEW("t"),
			                   .enc = ENC_BLOCKS,
			                   .nbytes = MOST,
			                   .stored = v.len };
			tn_code code = read_some(v, MOST, 0, MOST, &err);
			assert_true(code == TN_OK || code == TN_E_CORRUPT);
			err.code = TN_OK;
			blocks_check(&r, &t, &err);
			assert_true(code == TN_E_CORRUPT || err.code == TN_OK);
		}
		stored[at] = was;
	}
	for (size_t n = 0; n < TABLE; n++)
		assert_int_equal(read_some((tn_view){ v.ptr, n }, MOST, 0, 1, &err), TN_E_CORRUPT);
	v.len--;
	assert_int_equal(read_some(v, MOST, 0, MOST, &err), TN_E_CORRUPT);
}

static void what_can_hold_a_table(void **state)
{
	(void)state;
	assert_true(blocks_fit(0, 16));
	assert_false(blocks_fit(0, 15));
	assert_true(blocks_fit(1, 20));
	assert_false(blocks_fit(1, 19));
	assert_false(blocks_fit(BLOCK_SIZE + 1, 20));
	assert_false(blocks_fit(UINT64_MAX, 1 << 20));
}

/* A source that gives other bytes the second time is found out. */
static void changed_in_between(void **state)
{
	(void)state;
	struct source s = { .kind = SOURCE_MEMORY, .len = MOST, .memory = { plain, MOST } };
	struct packing p;
	struct arena mem;
	struct sink sink;
	tn_error err = { .code = TN_OK };
	arena_init(&mem, 0);
	fill(2);
	assert_int_equal(blocks_measure(&s, BLOCKS_LZ4, 2, 1, &mem, &p, &err), TN_OK);
	memset(plain, 0, MOST);
	sink_init_memory(&sink, stored, sizeof stored, &err);
	blocks_stream(&s, &p, 1, &sink);
	assert_int_equal(err.code, TN_E_CORRUPT);
	arena_fini(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_range),
		cmocka_unit_test(lengths),
		cmocka_unit_test(planes_only_where_they_pay),
		cmocka_unit_test(noise_stays_as_it_is),
		cmocka_unit_test(the_same_with_any_number_of_threads),
		cmocka_unit_test(lies),
		cmocka_unit_test(every_byte_of_the_table),
		cmocka_unit_test(what_can_hold_a_table),
		cmocka_unit_test(changed_in_between),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
