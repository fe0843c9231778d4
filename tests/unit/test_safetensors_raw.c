/* test_safetensors_raw.c - members of an object are found in its text, whatever stands in their strings. */
#include "format/safetensors/raw.h"

#include "base/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void members_come_in_order_with_their_text(void **state)
{
	(void)state;
	struct raw w = raw_members(VIEW("\n { \"a\" : [1, {\"x\":\"]}\\\"\"}] ,\"\\\"b\":\"c,\", \"d\":-1.5e3 , \"e\" : null}"));
	static const char *const want[][2] = {
		{ "\"a\"", "[1, {\"x\":\"]}\\\"\"}]" }, { "\"\\\"b\"", "\"c,\"" }, { "\"d\"", "-1.5e3" }, { "\"e\"", "null" },
	};
	for (size_t i = 0; i < 4; i++) {
		assert_true(raw_next(&w));
		assert_true(view_is(w.key, want[i][0]) && view_is(w.value, want[i][1]));
		assert_int_equal(w.next, i + 1);
	}
	assert_false(raw_next(&w));
}

static void a_walk_moves_forward_to_a_member(void **state)
{
	(void)state;
	struct raw w = raw_members(VIEW("{\"a\":1,\"b\":2,\"c\":3}"));
	assert_true(raw_seek(&w, 1));
	assert_true(view_is(w.value, "2"));
	assert_true(raw_seek(&w, 1));
	assert_true(view_is(w.value, "2"));
	assert_true(raw_seek(&w, 2));
	assert_true(view_is(w.value, "3"));
	assert_false(raw_seek(&w, 3));
}

/* Only valid text is meant, but no text makes it leave its bytes. */
static void broken_text_ends_the_walk(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"", " ", "{", "{}", "{\"", "{\"a", "{\"a\\", "{\"a\"", "{\"a\":", "{\"a\":[", "{\"a\":\"\\", "[1]", "{1", "{\"a\":1",
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct raw w = raw_members(tn_text(texts[i]));
		for (int steps = 0; raw_next(&w); steps++)
			assert_true(steps < 2);
		assert_true(w.p <= w.end);
	}
}

static void space_outside_of_strings_is_taken_out(void **state)
{
	(void)state;
	struct arena a;
	arena_init(&a, 0);
	assert_true(view_is(raw_minify(&a, VIEW(" [ 1 ,\t\" \\\" \" ,\r\n{ } ] ")), "[1,\" \\\" \",{}]"));
	assert_true(view_is(raw_minify(&a, VIEW("1")), "1"));
	arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_come_in_order_with_their_text),
		cmocka_unit_test(a_walk_moves_forward_to_a_member),
		cmocka_unit_test(broken_text_ends_the_walk),
		cmocka_unit_test(space_outside_of_strings_is_taken_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
