/* test_strmap.c - names to indices. */
#include "base/strmap.h"
#include <stdio.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static tn_view key_of(const void *ctx, uint64_t i)
{
	return ((const tn_view *)ctx)[i];
}

static void equal_names_are_found(void **state)
{
	(void)state;
	static const tn_view keys[] = {
		{ (const uint8_t *)"a", 1 }, { (const uint8_t *)"", 0 }, { (const uint8_t *)"ab", 2 },
		{ (const uint8_t *)"a\0", 2 }, { (const uint8_t *)"eight ch", 8 },
		{ (const uint8_t *)"eight chars", 11 },
		{ (const uint8_t *)"a", 1 }, { NULL, 0 }, { (const uint8_t *)"eight chars", 11 },
	};
	static const uint64_t first[] = { 0, 1, 2, 3, 4, 5, 0, 1, 5 };
	struct arena a;
	struct strmap m;
	arena_init(&a, 0);
	assert_true(strmap_init(&m, &a, 9));
	for (uint64_t i = 0; i < 9; i++) {
		uint64_t other = 99;
		assert_int_equal(strmap_add(&m, key_of, keys, i, &other), first[i] == i);
		assert_int_equal(other, first[i] == i ? 99 : first[i]);
	}
	assert_int_equal(m.count, 6);
	for (uint64_t i = 0; i < 9; i++) {
		uint64_t at = 99;
		assert_true(strmap_find(&m, key_of, keys, keys[i], &at));
		assert_int_equal(at, first[i]);
	}
	uint64_t at = 99;
	assert_false(strmap_find(&m, key_of, keys, VIEW("b"), &at));
	assert_false(strmap_find(&m, key_of, keys, VIEW("eight charsX"), &at));
	assert_int_equal(at, 99);
	arena_fini(&a);
}

static void an_empty_map_has_nothing(void **state)
{
	(void)state;
	struct arena a;
	struct strmap m = { 0 };
	uint64_t at;
	arena_init(&a, 0);
	assert_false(strmap_find(&m, key_of, NULL, VIEW(""), &at));
	assert_true(strmap_init(&m, &a, 0));
	assert_false(strmap_find(&m, key_of, NULL, VIEW(""), &at));
	arena_fini(&a);
}

/* Every table size is filled to the promised count. */
static void as_many_fit_as_were_announced(void **state)
{
	(void)state;
	enum { MOST = 130 };
	char text[MOST][8];
	tn_view keys[MOST];
	for (size_t i = 0; i < MOST; i++) {
		snprintf(text[i], sizeof text[i], "%zu", i);
		keys[i] = tn_text(text[i]);
	}
	for (uint64_t n = 1; n <= MOST; n++) {
		struct arena a;
		struct strmap m;
		uint64_t at;
		arena_init(&a, 0);
		assert_true(strmap_init(&m, &a, n));
		assert_true(m.mask + 1 >= 2 * n);
		for (uint64_t i = 0; i < n; i++)
			assert_true(strmap_add(&m, key_of, keys, i, &at));
		for (uint64_t i = 0; i < MOST; i++)
			assert_int_equal(strmap_find(&m, key_of, keys, keys[i], &at), i < n);
		arena_fini(&a);
	}
}

struct counted {
	const tn_view *keys;
	uint64_t *asked;
};

static tn_view counted_key(const void *ctx, uint64_t i)
{
	const struct counted *c = ctx;
	(*c->asked)++;
	return c->keys[i];
}

/* Names that differ in few bits must not meet: keys are compared only when whole hashes are equal. */
static void similar_names_are_told_apart_by_hash(void **state)
{
	(void)state;
	enum { COUNT = 1 << 16 };
	uint8_t (*bytes)[16] = test_calloc(COUNT, sizeof *bytes);
	tn_view *keys = test_calloc(COUNT, sizeof *keys);
	for (uint32_t i = 0; i < COUNT; i++) {
		for (unsigned bit = 0; bit < 16; bit++) /* one bit of i goes to the top of each byte */
			bytes[i][bit] = (uint8_t)((i >> bit & 1) << 7);
		keys[i] = (tn_view){ bytes[i], 16 };
	}
	struct arena a;
	struct strmap m;
	uint64_t at, asked = 0;
	struct counted ctx = { keys, &asked };
	arena_init(&a, 0);
	assert_true(strmap_init(&m, &a, COUNT));
	for (uint64_t i = 0; i < COUNT; i++)
		assert_true(strmap_add(&m, counted_key, &ctx, i, &at));
	assert_in_range(asked, COUNT, COUNT + 2); /* its own key once, hardly any other */
	for (uint64_t i = 0; i < COUNT; i++) {
		assert_true(strmap_find(&m, counted_key, &ctx, keys[i], &at));
		assert_int_equal(at, i);
	}
	arena_fini(&a);
	test_free(keys);
	test_free(bytes);
}

static void memory_may_be_refused(void **state)
{
	(void)state;
	struct arena a;
	struct strmap m;
	arena_init(&a, 1000);
	assert_false(strmap_init(&m, &a, 1000));
	assert_true(a.over);
	assert_false(strmap_init(&m, &a, UINT64_MAX));
	assert_false(strmap_init(&m, &a, UINT64_MAX / 4));
	arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_names_are_found),
		cmocka_unit_test(an_empty_map_has_nothing),
		cmocka_unit_test(as_many_fit_as_were_announced),
		cmocka_unit_test(similar_names_are_told_apart_by_hash),
		cmocka_unit_test(memory_may_be_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
