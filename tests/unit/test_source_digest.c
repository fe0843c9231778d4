/* test_source_digest.c - the digest of a part of each kind of source. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "io/source_digest.h"
#include "support/files.h"

#include <cmocka.h>

#define TEXT "0123456789abcdefghij"
enum { LEN = sizeof TEXT - 1 };

static int set_up(void **state)
{
	if (tempdir_enter(state) != 0)
		return -1;
	files_store("in", VIEW(TEXT));
	return 0;
}

static void gives(const struct source *s, uint64_t off, tn_view bytes)
{
	tn_error err = { .code = TN_OK };
	tn_digest got, wanted = b3_of(bytes);
	bool known = false;
	assert_int_equal(source_digest(s, off, bytes.len, &got, &known, &err), TN_OK);
	assert_true(known);
	assert_memory_equal(got.bytes, wanted.bytes, TN_DIGEST_LEN);
}

static void of_bytes_that_can_be_reached(void **state)
{
	(void)state;
	const struct reader r = { .map = VIEW(TEXT), .size = LEN };
	const struct tensor stored = { .enc = ENC_RAW, .offset = 2, .stored = LEN - 2, .nbytes = LEN - 2 };
	const struct source from[] = {
		{ .kind = SOURCE_MEMORY, .len = LEN - 2, .memory = VIEW("23456789abcdefghij") },
		{ .kind = SOURCE_RANGE, .len = LEN - 2, .from = &r, .offset = 2, .crc_known = true, .crc = 1 },
		{ .kind = SOURCE_TENSOR, .len = LEN - 2, .from = &r, .tensor = &stored },
		{ .kind = SOURCE_PATH, .len = LEN - 2, .path = "in", .offset = 2 },
	};
	for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
		gives(&from[i], 0, VIEW("23456789abcdefghij"));
		gives(&from[i], 3, VIEW("567"));
		gives(&from[i], LEN - 2, VIEW(""));
	}
}

static tn_code produce(void *ctx, tn_emit *emit, tn_error *err)
{
	(void)ctx, (void)err;
	tn_emit_bytes(emit, TEXT, LEN);
	return TN_OK;
}

static void of_what_is_made_only_as_a_whole_and_again(void **state)
{
	(void)state;
	struct source s = { .kind = SOURCE_CALLBACK, .len = LEN, .produce = produce, .again = true };
	tn_error err = { .code = TN_OK };
	tn_digest got;
	bool known = true;
	gives(&s, 0, VIEW(TEXT));
	assert_int_equal(source_digest(&s, 1, 2, &got, &known, &err), TN_OK);
	assert_false(known);
	s.again = false;
	known = true;
	assert_int_equal(source_digest(&s, 0, LEN, &got, &known, &err), TN_OK);
	assert_false(known);
}

static void failures_are_told(void **state)
{
	(void)state;
	const struct source s = { .kind = SOURCE_PATH, .len = LEN, .path = "nowhere" };
	tn_error err = { .code = TN_OK };
	tn_digest got;
	bool known;
	assert_int_equal(source_digest(&s, 0, LEN, &got, &known, &err), TN_E_IO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_bytes_that_can_be_reached),
		cmocka_unit_test(of_what_is_made_only_as_a_whole_and_again),
		cmocka_unit_test(failures_are_told),
	};
	return cmocka_run_group_tests(tests, set_up, tempdir_leave);
}
