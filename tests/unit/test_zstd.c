/* test_zstd.c - frames there and back, in one piece and streamed, and frames that are none. */
#include "codec/zstd.h"

#include <string.h>

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static uint8_t in[300000], packed[400000], out[300000];

static void fill(void)
{
	for (size_t i = 0; i < sizeof in; i++)
		in[i] = (uint8_t)(i / 9 ^ i >> 12);
}

static void there_and_back(void **state)
{
	(void)state;
	struct zstd *z = zstd_new();
	assert_non_null(z);
	fill();
	for (size_t n = 1; n <= sizeof in; n = n * 5 + 3) {
		size_t got = zstd_pack(z, in, n, packed, sizeof packed);
		assert_true(got != 0);
		assert_true(zstd_unpack(z, packed, got, out, n));
		assert_memory_equal(out, in, n);
		assert_false(zstd_unpack(z, packed, got, out, n - 1));
		assert_false(zstd_unpack(z, packed, got, out, n + 1));
		assert_false(zstd_unpack(z, packed, got - 1, out, n));
		assert_int_equal(zstd_pack(z, in, n, packed, 4), 0);
	}
	assert_false(zstd_unpack(z, "no frame", 8, out, 8));
	zstd_free(z);
	zstd_free(NULL);
}

static bool unpacks(const void *p, size_t n, uint64_t budget, struct buf *b)
{
	buf_init(b, budget);
	return zstd_unpack_all((tn_view){ p, n }, b);
}

static void all_frames(void **state)
{
	(void)state;
	struct zstd *z = zstd_new();
	struct buf b;
	fill();
	size_t first = zstd_pack(z, in, sizeof in, packed, sizeof packed);
	size_t both = first + zstd_pack(z, "more", 4, packed + first, sizeof packed - first);
	assert_true(unpacks(packed, both, 0, &b));
	assert_int_equal(b.len, sizeof in + 4);
	assert_memory_equal(b.ptr, in, sizeof in);
	assert_memory_equal(b.ptr + sizeof in, "more", 4);
	buf_fini(&b);
	for (size_t n = 0; n < both; n += n < first - 20 ? 97 : 1) {
		bool whole = unpacks(packed, n, 0, &b);
		assert_true(whole == (n == first));
		buf_fini(&b);
	}
	assert_false(unpacks(packed, first, sizeof in - 1, &b));
	assert_true(b.over);
	buf_fini(&b);
	assert_false(unpacks("no frame at all", 15, 0, &b));
	buf_fini(&b);
	zstd_free(z);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(all_frames),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
