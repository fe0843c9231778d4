/* test_sha256.c - SHA-256 against the values of its standard, and its text. */
#include "codec/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define OF_NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define OF_ABC     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define OF_MILLION "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"

static void expect(struct s256 *h, const char *text)
{
	uint8_t digest[SHA256_LEN];
	char hex[SHA256_HEX + 1];
	s256_final(h, digest);
	sha256_text(digest, hex);
	assert_string_equal(hex, text);
}

static void standard_values(void **state)
{
	struct s256 h;
	char piece[1000];
	(void)state;
	s256_init(&h);
	s256_update(&h, NULL, 0);
	expect(&h, OF_NOTHING);
	s256_init(&h);
	s256_update(&h, "a", 1);
	s256_update(&h, "bc", 2);
	expect(&h, OF_ABC);
	s256_init(&h);
	memset(piece, 'a', sizeof piece);
	for (int i = 0; i < 1000; i++)
		s256_update(&h, piece, sizeof piece);
	expect(&h, OF_MILLION);
}

static void text(void **state)
{
	uint8_t digest[SHA256_LEN];
	char hex[SHA256_HEX + 1];
	(void)state;
	assert_true(sha256_parse(tn_text(OF_ABC), digest));
	sha256_text(digest, hex);
	assert_string_equal(hex, OF_ABC);
	assert_true(sha256_parse(tn_text("BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD  x"), digest));
	sha256_text(digest, hex);
	assert_string_equal(hex, OF_ABC);
	assert_false(sha256_parse(tn_text(""), digest));
	assert_false(sha256_parse(tn_text(OF_ABC "0"), digest));
	assert_false(sha256_parse(tn_text("g" OF_ABC), digest));
	assert_false(sha256_parse(tn_text("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015a"), digest));
	assert_false(sha256_parse(tn_text("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015a@"), digest));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(standard_values),
		cmocka_unit_test(text),
	};
	return cmocka_run_group_tests_name("sha256", tests, NULL, NULL);
}
