/* test_burnpack_walk.c - single values of the metadata, in every form that upstream's decoder takes. */
#include "unit/burnpack.h"

#include "format/burnpack/walk.h"

struct walking {
	struct walk  w;
	struct arena mem;
	struct buf   cbor;
	tn_error     err;
};

static void start(struct walking *s, const char *text)
{
	memset(s, 0, sizeof *s);
	arena_init(&s->mem, 0);
	buf_init(&s->cbor, 0);
	while (*text != '\0')
		text = cbor_value(text, &s->cbor);
	s->w = (struct walk){ .c = cur_over(buf_bytes(&s->cbor), 100, "test", &s->err), .mem = &s->mem };
}

static void finish(struct walking *s)
{
	arena_fini(&s->mem);
	buf_fini(&s->cbor);
}

static void reads_unsigned_integers(void **state)
{
	(void)state;
	static const struct { const char *text; uint64_t value; const char *error; } cases[] = {
		{ "7", 7, NULL }, { "<1800>", 0, NULL }, { "<1bffffffffffffffff>", UINT64_MAX, NULL }, { "<c1d820>9", 9, NULL },
		{ "<c240>", 0, NULL }, { "<c2420102>", 0x102, NULL }, { "<c2490000000000000000ff>", 255, NULL },
		{ "<c25f41014102ff>", 0x102, NULL },
		{ "<c2490100000000000000ff>", 0, "n exceeds 64 bits" }, { "<c340>", 0, "n is negative" }, { "-1", 0, "n is negative" },
		{ "'7'", 0, "n is a text, not an integer" }, { "<f93c00>", 0, "n is a float" }, { "<4101>", 0, "n is a byte string" },
		{ "<c25f6101ff>", 0, "made of definite pieces" }, { "<c2>", 0, "ends early" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct walking s;
		uint64_t v = 0;
		start(&s, cases[i].text);
		bool ok = walk_uint(&s.w, &v, "n");
		if (ok != (cases[i].error == NULL) || (ok ? v != cases[i].value : strstr(s.err.msg, cases[i].error) == NULL))
			fail_msg("%s: %s", cases[i].text, s.err.msg);
		finish(&s);
	}
}

static void reads_signed_integers(void **state)
{
	(void)state;
	static const struct { const char *text; int64_t value; bool ok; } cases[] = {
		{ "-1", -1, true }, { "<3b7fffffffffffffff>", INT64_MIN, true }, { "<1b7fffffffffffffff>", INT64_MAX, true },
		{ "<c34105>", -6, true }, { "<3b8000000000000000>", 0, false }, { "<1b8000000000000000>", 0, false },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct walking s;
		int64_t v = 0;
		start(&s, cases[i].text);
		assert_int_equal(walk_int(&s.w, &v, "n"), cases[i].ok);
		assert_true(v == cases[i].value);
		finish(&s);
	}
}

static void joins_texts(void **state)
{
	(void)state;
	static const struct { const char *text, *value; } cases[] = {
		{ "'abc'", "abc" }, { "<7f61616262ff>", NULL }, { "<7f6161626263ff>", "abc" }, { "<7fff>", "" },
		{ "<7f61c361a9ff>", NULL }, /* each piece must be UTF-8 by itself */
		{ "<7f4161ff>", NULL }, { "<61ff>", NULL }, { "<4161>", NULL }, { "<7f6161>", NULL },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct walking s;
		tn_view v;
		start(&s, cases[i].text);
		bool ok = walk_text(&s.w, &v, "name");
		assert_int_equal(ok, cases[i].value != NULL);
		assert_true(!ok || view_is(v, cases[i].value));
		finish(&s);
	}
}

static void knows_variants(void **state)
{
	(void)state;
	static const struct { const char *text; bool ok, payload; } cases[] = {
		{ "'A'", true, false }, { "{'A':1}", true, true }, { "<a14141>1", true, true }, { "<c0>'A'", true, false },
		{ "<4141>", false, false }, { "{}", false, false }, { "{'A':1,'B':2}", false, false }, { "<bf>'A'1<ff>", false, false },
		{ "<7f6141ff>", false, false }, { "<a161ff>1", false, false }, { "1", false, false },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct walking s;
		tn_view name;
		bool payload = false;
		start(&s, cases[i].text);
		bool ok = walk_variant(&s.w, &name, &payload, "kind");
		assert_int_equal(ok, cases[i].ok);
		assert_true(!ok || (view_is(name, "A") && payload == cases[i].payload));
		finish(&s);
	}
}

/* An indefinite container is counted ahead, and left at its break. */
static void counts_ahead(void **state)
{
	(void)state;
	struct walking s;
	struct walk_items items;
	tn_view key;
	uint64_t v;
	start(&s, "<bf>'a'1'b'2<ff>3");
	assert_true(walk_enter_map(&s.w, 0, &items, "map"));
	assert_int_equal(items.n, 2);
	for (uint64_t i = 0; i < items.n; i++) {
		assert_true(walk_key(&s.w, &key));
		assert_true(walk_uint(&s.w, &v, "value"));
		assert_int_equal(v, i + 1);
	}
	assert_true(walk_leave(&s.w, &items));
	assert_true(walk_uint(&s.w, &v, "value"));
	assert_int_equal(v, 3);
	finish(&s);
}

static void first_failure_ends_the_walk(void **state)
{
	(void)state;
	struct walking s;
	uint64_t v;
	start(&s, "'a'1");
	s.w.in_tensor = true;
	s.w.tensor = VIEW("layer\n");
	assert_false(walk_uint(&s.w, &v, "rank"));
	assert_false(walk_ok(&s.w));
	assert_false(walk_uint(&s.w, &v, "other"));
	assert_string_equal(s.err.msg, "burnpack: tensor 'layer\\n': rank is a text, not an integer");
	assert_int_equal(s.err.offset, 100);
	finish(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_unsigned_integers),
		cmocka_unit_test(reads_signed_integers),
		cmocka_unit_test(joins_texts),
		cmocka_unit_test(knows_variants),
		cmocka_unit_test(counts_ahead),
		cmocka_unit_test(first_failure_ends_the_walk),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
