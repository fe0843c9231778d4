/* test_put.c - filling a writer's metadata. */
#include "api/writer.h"

#include "support/api_kit.h"
#include "support/dump.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

static void every_kind_is_put(void **state)
{
	(void)state;
	tn_writer *w = kit_writer("burnpack");
	tn_meta *root = tn_writer_metadata(w), *map, *list;
	char text[] = "text", key[] = "s";
	assert_int_equal(tn_put_string(w, root, tn_text(key), tn_text(text), NULL), TN_OK);
	key[0] = text[0] = 'x'; /* keys and values are copied */
	assert_int_equal(tn_put_bytes(w, root, tn_text("b"), VIEW("\x00\xff"), NULL), TN_OK);
	assert_int_equal(tn_put_uint(w, root, tn_text("u"), 200, 8, NULL), TN_OK);
	assert_int_equal(tn_put_int(w, root, tn_text("i"), -5, 0, NULL), TN_OK);
	assert_int_equal(tn_put_f32(w, root, tn_text("f"), 0.5f, NULL), TN_OK);
	assert_int_equal(tn_put_f64(w, root, tn_text("d"), -0.0, NULL), TN_OK);
	assert_int_equal(tn_put_bool(w, root, tn_text("yes"), true, NULL), TN_OK);
	assert_int_equal(tn_put_null(w, root, tn_text("null"), NULL), TN_OK);
	assert_int_equal(tn_put_map(w, root, tn_text("map"), &map, NULL), TN_OK);
	assert_int_equal(tn_put_array(w, map, tn_text(""), &list, NULL), TN_OK);
	assert_int_equal(tn_put_string(w, list, tn_text("ignored"), (tn_view){ NULL, 0 }, NULL), TN_OK);
	assert_int_equal(tn_put_uint(w, list, tn_text("ignored"), 1, 64, NULL), TN_OK);
	char *dump = dump_meta(root, true);
	assert_string_equal(dump, "\"s\" string \"text\"\n\"b\" bytes \"\\x00\\xff\"\n\"u\" uint8 200\n\"i\" int -5\n"
	                          "\"f\" float32 3fe0000000000000\n\"d\" float64 8000000000000000\n\"yes\" bool true\n"
	                          "\"null\" null\n\"map\" map\n  \"\" array\n    string \"\"\n    uint64 1\n");
	free(dump);
	tn_writer_free(w);
}

static void a_key_stands_once(void **state)
{
	(void)state;
	tn_writer *w = kit_writer("burnpack");
	tn_meta *root = tn_writer_metadata(w);
	assert_int_equal(tn_put_uint(w, root, tn_text("a"), 1, 64, NULL), TN_OK);
	assert_int_equal(tn_put_uint(w, root, tn_text("b"), 2, 64, NULL), TN_OK);
	assert_int_equal(tn_put_string(w, root, tn_text("a"), tn_text("new"), NULL), TN_OK);
	char *dump = dump_meta(root, false);
	assert_string_equal(dump, "\"a\" string \"new\"\n\"b\" uint 2\n");
	free(dump);
	tn_writer_free(w);
}

static void numbers_fit_their_width(void **state)
{
	(void)state;
	static const struct { uint64_t v; unsigned width; bool ok; } unsigned_cases[] = {
		{ 255, 8, true }, { 256, 8, false }, { 65535, 16, true }, { 65536, 16, false }, { UINT32_MAX, 32, true },
		{ UINT64_C(1) << 32, 32, false }, { UINT64_MAX, 64, true }, { UINT64_MAX, 0, true }, { 0, 7, false }, { 0, 1, false },
		{ 0, 128, false }, { 0, 65, false }, { 0, 264, false }, { 0, 256, false }
	};
	static const struct { int64_t v; unsigned width; bool ok; } signed_cases[] = {
		{ 127, 8, true }, { 128, 8, false }, { -128, 8, true }, { -129, 8, false }, { INT16_MIN, 16, true },
		{ INT16_MIN - 1, 16, false }, { INT32_MAX, 32, true }, { INT64_C(1) << 31, 32, false }, { INT64_MIN, 64, true },
		{ INT64_MIN, 0, true }, { INT64_MAX, 64, true }, { 0, 24, false }, { 0, 264, false }
	};
	tn_writer *w = kit_writer("burnpack");
	tn_meta *root = tn_writer_metadata(w);
	uint64_t put = 0;
	for (size_t i = 0; i < sizeof unsigned_cases / sizeof *unsigned_cases; i++) {
		tn_error err;
		tn_meta *list;
		assert_int_equal(tn_put_array(w, root, tn_text("u"), &list, NULL), TN_OK);
		tn_code code = tn_put_uint(w, list, tn_text(""), unsigned_cases[i].v, unsigned_cases[i].width, &err);
		assert_int_equal(code, unsigned_cases[i].ok ? TN_OK : TN_E_USAGE);
		assert_int_equal(err.code, code);
		assert_int_equal(tn_meta_count(list), unsigned_cases[i].ok);
	}
	for (size_t i = 0; i < sizeof signed_cases / sizeof *signed_cases; i++) {
		tn_code code = tn_put_int(w, root, tn_text("i"), signed_cases[i].v, signed_cases[i].width, NULL);
		assert_int_equal(code, signed_cases[i].ok ? TN_OK : TN_E_USAGE);
		put += code == TN_OK;
	}
	assert_true(put != 0);
	int64_t last;
	assert_true(tn_meta_i64(tn_meta_find(root, tn_text("i")), &last));
	assert_true(last == INT64_MAX); /* what was refused left the value alone */
	tn_writer_free(w);
}

static void only_containers_take_values(void **state)
{
	(void)state;
	tn_writer *w = kit_writer("burnpack");
	tn_meta *root = tn_writer_metadata(w), *out = NULL;
	assert_int_equal(tn_put_uint(w, root, tn_text("n"), 1, 64, NULL), TN_OK);
	tn_meta *number = (tn_meta *)(uintptr_t)tn_meta_find(root, tn_text("n"));
	tn_meta *const bad[] = { NULL, number };
	for (size_t i = 0; i < 2; i++) {
		tn_error err;
		assert_int_equal(tn_put_string(w, bad[i], tn_text("k"), tn_text("v"), &err), TN_E_USAGE);
		assert_int_equal(tn_put_bytes(w, bad[i], tn_text("k"), tn_text("v"), NULL), TN_E_USAGE);
		assert_int_equal(tn_put_uint(w, bad[i], tn_text("k"), 1, 8, NULL), TN_E_USAGE);
		assert_int_equal(tn_put_int(w, bad[i], tn_text("k"), 1, 8, NULL), TN_E_USAGE);
		assert_int_equal(tn_put_f32(w, bad[i], tn_text("k"), 1, NULL), TN_E_USAGE);
		assert_int_equal(tn_put_f64(w, bad[i], tn_text("k"), 1, NULL), TN_E_USAGE);
		assert_int_equal(tn_put_bool(w, bad[i], tn_text("k"), true, NULL), TN_E_USAGE);
		assert_int_equal(tn_put_null(w, bad[i], tn_text("k"), NULL), TN_E_USAGE);
		assert_int_equal(tn_put_map(w, bad[i], tn_text("k"), &out, NULL), TN_E_USAGE);
		assert_int_equal(tn_put_array(w, bad[i], tn_text("k"), &out, NULL), TN_E_USAGE);
		assert_null(out);
	}
	tn_writer_free(w);
}

/* Far deeper than any stack would stand: refused at a depth that everything can walk. */
static void depth_is_bounded(void **state)
{
	(void)state;
	for (int arrays = 0; arrays < 2; arrays++) {
		tn_writer *w = kit_writer("safetensors");
		tn_meta *at = tn_writer_metadata(w), *out;
		unsigned depth = 0;
		tn_error err = { .code = TN_OK };
		while (depth < 100000) {
			tn_code code = arrays ? tn_put_array(w, at, tn_text("$"), &out, &err) : tn_put_map(w, at, tn_text("$"), &out, &err);
			if (code != TN_OK)
				break;
			at = out;
			depth++;
		}
		assert_int_equal(err.code, TN_E_USAGE);
		assert_int_equal(depth, META_DEPTH);
		assert_int_equal(tn_put_null(w, at, tn_text("leaf"), NULL), TN_OK);
		tn_view bytes = kit_save(w); /* and what was put comes back */
		tn_file *f = kit_open(bytes);
		assert_int_equal(tn_report_count(tn_warnings(f)), 0);
		const tn_meta *back = tn_metadata(f), *put = tn_writer_metadata(w);
		assert_true(meta_equal(tn_meta_find(back, tn_text("$")), tn_meta_find(put, tn_text("$"))));
		tn_close(f);
		tn_writer_free(w);
		free((void *)(uintptr_t)bytes.ptr);
	}
}

/* A file of APR may hold what a writer cannot be filled with. */
static void what_a_file_has_deeper_takes_no_more(void **state)
{
	(void)state;
	tn_writer *w = kit_writer("apr");
	tn_meta *root = tn_writer_metadata(w), *at = root, *out;
	for (unsigned depth = 0; depth < META_DEPTH + 10; depth++)
		assert_non_null(at = meta_add_map(&w->mem, at, VIEW("a")));
	assert_false(writer_set_depth(root, 0));
	assert_int_equal(tn_put_map(w, at, VIEW("b"), &out, NULL), TN_E_USAGE);
	assert_int_equal(tn_put_null(w, at, VIEW("b"), NULL), TN_OK);
	tn_writer_free(w);
}

static void memory_is_limited(void **state)
{
	(void)state;
	tn_writer *w;
	tn_error err;
	assert_int_equal(tn_writer_new(&w, "burnpack", &(tn_write_options){ .max_memory = 4096 }, NULL), TN_OK);
	tn_meta *list;
	assert_int_equal(tn_put_array(w, tn_writer_metadata(w), tn_text("l"), &list, NULL), TN_OK);
	uint64_t n = 0;
	while (tn_put_string(w, list, tn_text(""), tn_text("some text"), &err) == TN_OK)
		n++;
	assert_int_equal(err.code, TN_E_LIMIT);
	assert_int_equal(tn_meta_count(list), n);
	tn_writer_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_is_put),
		cmocka_unit_test(a_key_stands_once),
		cmocka_unit_test(numbers_fit_their_width),
		cmocka_unit_test(only_containers_take_values),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(what_a_file_has_deeper_takes_no_more),
		cmocka_unit_test(memory_is_limited),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
