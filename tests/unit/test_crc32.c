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
		assert_int_equal(crc32_update(0, cases[i].text, strlen(cases[i].text)), cases[i].crc);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values),
		cmocka_unit_test(pieces_give_the_same),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
