/* test_zstd_frames.c - ranges of bytes that lie as zstd frames, with and without a seek table, and damaged ones. */
#include "io/zstd_frames.h"

#include "base/bytes.h"
#include "codec/zstd.h"
#include "io/sink.h"
#include "io/tensor_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

enum { RAW = 3 * ZSTD_FRAME + 1000, ROOM = 2 * RAW };

static uint8_t raw[RAW], stored[ROOM], got[RAW];

static void fill(void)
{
	for (uint32_t i = 0, x = 1; i < RAW; i++, x = x * 1664525 + 1013904223)
		raw[i] = (uint8_t)(x >> 28);
}

/* The raw bytes as frames in stored; how many. */
static size_t pack(void)
{
	static const struct reader from = { .map = { raw, RAW }, .size = RAW };
	static const struct tensor t = { .name = VIEW("t"), .nbytes = RAW, .stored = RAW };
	struct zstd_frames ctx = { &from, &t };
	tn_error err = { .code = TN_OK };
	uint64_t size;
	assert_int_equal(zstd_frames_size(&from, &t, &size, &err), TN_OK);
	struct source source = zstd_frames_source(&ctx, size);
	struct sink out;
	sink_init_memory(&out, stored, ROOM, &err);
	source_stream(&source, &out); /* holds it to its promised size */
	assert_int_equal(err.code, TN_OK);
	return (size_t)size;
}

static tn_code read_range(size_t len, uint64_t off, size_t n, tn_error *err)
{
	const struct reader r = { .map = { stored, len }, .size = len };
	const struct tensor t = { .name = VIEW("t"), .enc = ENC_ZSTD, .nbytes = RAW, .stored = len };
	err_clear(err);
	memset(got, 0, RAW);
	return tensor_read(&r, &t, off, got, n, err);
}

static void any_range_is_read(void **state)
{
	(void)state;
	static const struct { size_t off, n; } ranges[] = {
		{ 0, RAW }, { 0, 1 }, { RAW - 1, 1 }, { ZSTD_FRAME - 1, 2 }, { ZSTD_FRAME, ZSTD_FRAME }, { 5, 2 * ZSTD_FRAME },
		{ RAW, 0 }, { 3 * ZSTD_FRAME + 10, 100 },
	};
	tn_error err;
	fill();
	size_t len = pack();
	assert_true(len < RAW);
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
		assert_int_equal(read_range(len, ranges[i].off, ranges[i].n, &err), TN_OK);
		assert_memory_equal(got, raw + ranges[i].off, ranges[i].n);
	}
}

/* The table is a frame that decoders pass over: without it the same bytes are one run. */
static void a_run_without_a_table_is_read(void **state)
{
	(void)state;
	tn_error err;
	fill();
	size_t len = pack();
	size_t frames = len - 8 - 9 - 4 * 8;
	assert_int_equal(read_range(frames, 7, RAW - 7, &err), TN_OK);
	assert_memory_equal(got, raw + 7, RAW - 7);
	struct zstd *z = zstd_new();
	assert_non_null(z);
	memset(got, 0, RAW);
	assert_true(zstd_unpack(z, stored, len, got, RAW));
	assert_memory_equal(got, raw, RAW);
	zstd_free(z);
}

static void damage_is_found(void **state)
{
	(void)state;
	tn_error err;
	fill();
	size_t len = pack();
	stored[len - 9 - 8]++; /* the last frame's length in the table */
	assert_int_equal(read_range(len, 0, RAW, &err), TN_E_CORRUPT);
	stored[len - 9 - 8]--;
	stored[0]++; /* a frame's magic */
	assert_int_equal(read_range(len, 0, 1, &err), TN_E_CORRUPT);
	assert_int_equal(read_range(len, ZSTD_FRAME, 1, &err), TN_OK); /* the others stand */
	stored[0]--;
	put_le32(stored + len - 9, UINT32_MAX); /* more frames than there are bytes: no table, but a run all the same */
	assert_int_equal(read_range(len, 0, RAW, &err), TN_OK);
	assert_memory_equal(got, raw, RAW);
	assert_int_equal(read_range(0, 0, 1, &err), TN_E_CORRUPT);
}

/* As tools that are not ours may have it: frames of any length, also of none, and more of them than are looked at at once. */
static void many_small_frames_are_read(void **state)
{
	(void)state;
	enum { FRAMES = 20000, ENTRY = 8, LONGEST = 64 };
	static uint8_t table[8 + FRAMES * ENTRY + 9], file[FRAMES * LONGEST + sizeof table];
	struct zstd *z = zstd_new();
	size_t len = 0, part;
	tn_error err = { .code = TN_OK };
	assert_non_null(z);
	fill();
	for (size_t i = 0; i < FRAMES; i++, len += part) {
		bool holds = i % 2 == 0;
		part = zstd_pack(z, raw + i / 2, holds, file + len, LONGEST);
		assert_true(part != 0);
		put_le32(table + 8 + i * ENTRY, (uint32_t)part);
		put_le32(table + 8 + i * ENTRY + 4, holds);
	}
	put_le32(table, 0x184D2A5E);
	put_le32(table + 4, sizeof table - 8);
	put_le32(table + sizeof table - 9, FRAMES);
	put_le32(table + sizeof table - 4, 0x8F92EAB1);
	memcpy(file + len, table, sizeof table);
	len += sizeof table;
	const struct reader r = { .map = { file, len }, .size = len };
	const struct tensor t = { .name = VIEW("t"), .enc = ENC_ZSTD, .nbytes = FRAMES / 2, .stored = len };
	assert_int_equal(tensor_read(&r, &t, 0, got, FRAMES / 2, &err), TN_OK);
	assert_memory_equal(got, raw, FRAMES / 2);
	assert_int_equal(tensor_read(&r, &t, FRAMES / 2 - 1, got, 1, &err), TN_OK);
	assert_int_equal(got[0], raw[FRAMES / 2 - 1]);
	zstd_free(z);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_range_is_read), cmocka_unit_test(a_run_without_a_table_is_read),
		cmocka_unit_test(damage_is_found), cmocka_unit_test(many_small_frames_are_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
