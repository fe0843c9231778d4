/* test_blake3.c - the published test vectors, whole and in pieces. */
#include "codec/blake3.h"
#include <pthread.h>
#include <stdio.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

enum { MOST = 102400 };
static uint8_t input[MOST]; /* 0, 1, ..., 250, 0, 1, ... as the vectors have it */

static int fill_input(void **state)
{
	(void)state;
	for (size_t i = 0; i < MOST; i++)
		input[i] = (uint8_t)(i % 251);
	return 0;
}

static void assert_digest(const tn_digest *digest, const char *hex)
{
	char text[2 * TN_DIGEST_LEN + 1];
	for (size_t i = 0; i < TN_DIGEST_LEN; i++)
		snprintf(text + 2 * i, 3, "%02x", digest->bytes[i]);
	assert_string_equal(text, hex);
}

static const struct { size_t len; const char *hex; } vectors[] = {
	{ 0, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262" },
	{ 1, "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213" },
	{ 1024, "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7" },
	{ 31744, "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47" },
	{ 102400, "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085" },
};

static void *hash_first(void *out)
{
	*(tn_digest *)out = b3_of((tn_view){ input, vectors[3].len });
	return NULL;
}

/* Before any other test: the library looks at the processor with its first block. */
static void threads_that_are_the_first(void **state)
{
	enum { THREADS = 4 };
	pthread_t threads[THREADS];
	tn_digest digests[THREADS];
	(void)state;
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hash_first, &digests[i]), 0);
	for (size_t i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_digest(&digests[i], vectors[3].hex);
	}
}

static void whole_inputs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
		tn_digest digest = b3_of((tn_view){ input, vectors[i].len });
		assert_digest(&digest, vectors[i].hex);
	}
	tn_digest digest = b3_of((tn_view){ NULL, 0 });
	assert_digest(&digest, vectors[0].hex);
}

static void pieces_give_the_same(void **state)
{
	(void)state;
	for (size_t step = 1; step < 5000; step = 3 * step + 1) {
		struct b3 h;
		tn_digest digest;
		b3_init(&h);
		for (size_t at = 0; at < 31744; at += step)
			b3_update(&h, input + at, step < 31744 - at ? step : 31744 - at);
		b3_final(&h, &digest);
		assert_digest(&digest, vectors[3].hex);
	}
}

static void a_digest_may_be_taken_midway(void **state)
{
	(void)state;
	struct b3 h;
	tn_digest digest;
	b3_init(&h);
	b3_update(&h, input, 1024);
	b3_final(&h, &digest);
	assert_digest(&digest, vectors[2].hex);
	b3_update(&h, input + 1024, 31744 - 1024);
	b3_final(&h, &digest);
	assert_digest(&digest, vectors[3].hex);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_that_are_the_first),
		cmocka_unit_test(whole_inputs),
		cmocka_unit_test(pieces_give_the_same),
		cmocka_unit_test(a_digest_may_be_taken_midway),
	};
	return cmocka_run_group_tests(tests, fill_input, NULL);
}
