/* test_buf.c - a buffer grows, keeps its contents, and remembers that it failed. */
#include "base/buf.h"
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

static void assert_holds(const struct buf *b, const char *text)
{
	assert_false(b->failed);
	assert_int_equal(b->len, strlen(text));
	assert_memory_equal(b->ptr, text, b->len);
}

static void pieces_follow_each_other(void **state)
{
	(void)state;
	struct buf b;
	buf_init(&b, 0);
	buf_put(&b, "abc", 2);
	buf_byte(&b, '-');
	buf_text(&b, "text");
	buf_view(&b, VIEW("view"));
	buf_view(&b, (tn_view){ NULL, 0 });
	buf_fill(&b, '.', 3);
	buf_printf(&b, "%d%s", 42, "!");
	buf_printf(&b, "%s", "");
	assert_holds(&b, "ab-textview...42!");
	buf_fini(&b);
	assert_int_equal(buf_bytes(&b).len, 0);
}

static void growth_keeps_what_is_there(void **state)
{
	(void)state;
	struct buf b;
	buf_init(&b, 0);
	for (unsigned i = 0; i < 100000; i++)
		buf_byte(&b, (uint8_t)(i * 7));
	assert_int_equal(b.len, 100000);
	for (unsigned i = 0; i < 100000; i++)
		assert_int_equal(b.ptr[i], (uint8_t)(i * 7));
	buf_fini(&b);
}

static void long_prints_fit(void **state)
{
	(void)state;
	struct buf b;
	buf_init(&b, 0);
	size_t len = 0;
	for (int width = 1; width < 2000; width += 37) {
		buf_printf(&b, "%*d", width, 5);
		len += (size_t)width;
		assert_false(b.failed);
		assert_int_equal(b.len, len);
		assert_int_equal(b.ptr[len - 1], '5');
	}
	buf_fini(&b);
}

static void room_is_taken_by_raising_len(void **state)
{
	(void)state;
	struct buf b;
	buf_init(&b, 0);
	assert_non_null(buf_room(&b, 0));
	uint8_t *to = buf_room(&b, 1000);
	assert_non_null(to);
	memset(to, 'r', 1000);
	assert_int_equal(b.len, 0);
	b.len += 3;
	assert_holds(&b, "rrr");
	assert_null(buf_room(&b, SIZE_MAX));
	assert_true(b.failed);
	buf_fini(&b);
}

static void the_budget_makes_failure_stick(void **state)
{
	(void)state;
	struct buf b;
	buf_init(&b, 10);
	buf_text(&b, "0123456789");
	assert_holds(&b, "0123456789");
	assert_true(b.cap <= 10);
	buf_byte(&b, 'x');
	assert_true(b.failed);
	assert_int_equal(b.len, 10);
	buf_put(&b, "", 0);
	buf_printf(&b, "%d", 1);
	buf_fill(&b, 'x', 1);
	assert_null(buf_room(&b, 0));
	assert_int_equal(b.len, 10);
	buf_fini(&b);
	buf_text(&b, "again");
	assert_holds(&b, "again");
	buf_fini(&b);
}

static void the_result_moves_into_an_arena(void **state)
{
	(void)state;
	struct arena a;
	struct buf b;
	arena_init(&a, 64);
	buf_init(&b, 0);
	tn_view v = buf_done(&b, &a);
	assert_non_null(v.ptr);
	assert_int_equal(v.len, 0);

	buf_text(&b, "kept");
	v = buf_done(&b, &a);
	assert_null(b.ptr);
	assert_true(view_is(v, "kept"));
	assert_int_equal(v.ptr[4], 0);

	buf_fill(&b, 'x', 100); /* more than the arena has */
	assert_null(buf_done(&b, &a).ptr);
	assert_true(a.over);
	arena_fini(&a);
}

static void long_contents_are_moved(void **state)
{
	(void)state;
	enum { LONG = 1 << 20 };
	struct arena a;
	struct buf b;
	arena_init(&a, LONG + 64);
	buf_init(&b, 0);
	buf_fill(&b, 'x', LONG);
	tn_view v = buf_done(&b, &a);
	assert_non_null(v.ptr);
	assert_null(b.ptr);
	assert_int_equal(v.len, LONG);
	assert_int_equal(v.ptr[LONG - 1], 'x');
	assert_int_equal(v.ptr[LONG], 0);
	assert_in_range(a.used, LONG + 1, LONG + 64);

	buf_fill(&b, 'x', LONG); /* more than the arena has left */
	assert_null(buf_done(&b, &a).ptr);
	assert_null(b.ptr);
	assert_true(a.over);
	arena_fini(&a);
}

static void nothing_incomplete_is_handed_over(void **state)
{
	(void)state;
	struct arena a;
	struct buf b;
	arena_init(&a, 0);
	buf_init(&b, 4);
	buf_text(&b, "four");
	buf_text(&b, "more");
	assert_null(buf_done(&b, &a).ptr);
	assert_false(b.failed);
	arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_follow_each_other),
		cmocka_unit_test(growth_keeps_what_is_there),
		cmocka_unit_test(long_prints_fit),
		cmocka_unit_test(room_is_taken_by_raising_len),
		cmocka_unit_test(the_budget_makes_failure_stick),
		cmocka_unit_test(the_result_moves_into_an_arena),
		cmocka_unit_test(long_contents_are_moved),
		cmocka_unit_test(nothing_incomplete_is_handed_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
