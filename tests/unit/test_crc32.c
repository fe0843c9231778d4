/* test_crc32.c - the published check values, in any pieces. */
#include "codec/crc32.h"
#include <string.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static void known_values(void **state)
{
	(void)state;
	static const struct { const char *text; uint32_t crc; } cases[] = {
		{ "", 0 }, { "a", 0xe8b7be43 }, { "123456789", 0xcbf43926 },
		{ "The quick brown fox jumps over the lazy dog", 0x414fa339 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(crc32_update(0, cases[i].text, strlen(cases[i].text)),
		                 cases[i].crc);
}

static void pieces_give_the_same(void **state)
{
	(void)state;
	const char *text = "123456789";
	for (size_t cut = 0; cut <= 9; cut++) {
		uint32_t crc = crc32_update(0, text, cut);
		crc = crc32_update(crc, NULL, 0); /* an empty piece changes nothing */
		assert_int_equal(crc32_update(crc, text + cut, 9 - cut), 0xcbf43926);
	}
}

/* Of parts and wholes of every length, zeros at the front and the back among them. */
static void parts_and_wholes(void **state)
{
	(void)state;
	static uint8_t bytes[3000];
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = i % 700 < 600 ? (uint8_t)(i * i * 31 + 7) : 0;
	uint32_t whole = crc32_update(0, bytes, sizeof bytes);
	for (size_t cut = 0; cut <= sizeof bytes; cut += cut < 40 ? 1 : 37) {
		size_t n = sizeof bytes - cut;
		uint32_t a = crc32_update(0, bytes, cut), b = crc32_update(0, bytes + cut, n);
		assert_int_equal(crc32_concat(a, b, n), whole);
		assert_int_equal(crc32_tail(whole, a, n), b);
	}
}

/* 2^40 zeros between two texts, in two steps of 2^39 each. */
static void lengths_past_32_bits(void **state)
{
	(void)state;
	uint32_t zeros = 0xd202ef8d; /* of one zero byte */
	for (uint64_t n = 1; n < UINT64_C(1) << 39; n *= 2)
		zeros = crc32_concat(zeros, zeros, n);
	uint32_t twice = crc32_concat(zeros, zeros, UINT64_C(1) << 39);
	uint32_t text = crc32_update(0, "text", 4);
	assert_int_equal(crc32_concat(crc32_concat(text, zeros, UINT64_C(1) << 39), zeros,
	                              UINT64_C(1) << 39),
	                 crc32_concat(text, twice, UINT64_C(1) << 40));
	assert_int_equal(
	        crc32_tail(crc32_concat(text, twice, UINT64_C(1) << 40), text, UINT64_C(1) << 40),
	        twice);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values),
		cmocka_unit_test(pieces_give_the_same),
		cmocka_unit_test(parts_and_wholes),
		cmocka_unit_test(lengths_past_32_bits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
