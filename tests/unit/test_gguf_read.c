/* test_gguf_read.c - what the golden dumps do not show: widths of values, arrays that stay in the
 * file, headers longer than the first read, limits. */
#include "unit/gguf.h"

#include "model/meta.h"
#include "support/files.h"
#include "support/host.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

static tn_file *open_made(struct made *m)
{
	tn_file *f;
	tn_error err;
	if (tn_open_memory(&f, buf_bytes(&m->b), NULL, &err) != TN_OK)
		fail_msg("%s", err.msg);
	return f;
}

static const tn_meta *value(const tn_file *f, const char *key)
{
	const tn_meta *node = tn_meta_find(tn_metadata(f), tn_text(key));
	assert_non_null(node);
	return node;
}

/* ---- Values ---- */

static const struct scalar {
	const char  *key;
	unsigned     type, width; /* in the file */
	uint64_t     bits;
	tn_meta_type kind;
	unsigned     shown;       /* width in the model */
} scalars[] = {
	{ "u8", 0, 8, 0xff, TN_META_UINT, 8 },
	{ "i8", 1, 8, 0x80, TN_META_INT, 8 },
	{ "u16", 2, 16, 0xfffe, TN_META_UINT, 16 },
	{ "i16", 3, 16, 0x8000, TN_META_INT, 16 },
	{ "u32", 4, 32, 0xfffffffe, TN_META_UINT, 32 },
	{ "i32", 5, 32, 0x80000000, TN_META_INT, 32 },
	{ "f32", 6, 32, 0x7f800001, TN_META_FLOAT, 32 },
	{ "bool", 7, 8, 1, TN_META_BOOL, 0 },
	{ "u64", 10, 64, UINT64_MAX - 1, TN_META_UINT, 64 },
	{ "i64", 11, 64, UINT64_C(1) << 63, TN_META_INT, 64 },
	{ "f64", 12, 64, UINT64_C(0x7ff0000000000001), TN_META_FLOAT, 64 },
};
enum { SCALARS = sizeof scalars / sizeof *scalars };

static void check_scalar(const struct scalar *s, const tn_meta *node)
{
	int64_t i = 0;
	uint64_t u = 0;
	assert_int_equal(tn_meta_kind(node), s->kind);
	assert_int_equal(tn_meta_width(node), s->shown);
	switch (s->kind) {
	case TN_META_UINT:
		assert_true(tn_meta_u64(node, &u));
		assert_int_equal(u, s->bits);
		break;
	case TN_META_INT: /* each the least of its width */
		assert_true(tn_meta_i64(node, &i));
		assert_true(i == INT64_MIN >> (64 - s->width));
		break;
	case TN_META_FLOAT: /* a signalling NaN keeps its payload */
		assert_true(node->as.f_bits == (s->width == 32 ? f32_widen((uint32_t)s->bits)
		                                : s->bits));
		break;
	default:
		assert_true(node->as.b);
		break;
	}
}

static void scalars_keep_their_widths(void **state)
{
	(void)state;
	for (int big = 0; big < 2; big++) {
		struct made m = made_head(0, SCALARS, big);
		for (size_t i = 0; i < SCALARS; i++) {
			made_key(&m, scalars[i].key, scalars[i].type);
			made_number(&m, scalars[i].bits, scalars[i].width);
		}
		tn_file *f = open_made(&m);
		for (size_t i = 0; i < SCALARS; i++)
			check_scalar(&scalars[i], value(f, scalars[i].key));
		tn_close(f);
		buf_fini(&m.b);
	}
}

static void arrays_stay_in_the_file(void **state)
{
	(void)state;
	for (int big = 0; big < 2; big++) {
		struct made m = made_head(0, SCALARS, big);
		for (size_t i = 0; i < SCALARS; i++) {
			made_key(&m, scalars[i].key, 9);
			made_number(&m, scalars[i].type, 32);
			made_number(&m, 3, 64);
			for (int k = 0; k < 3; k++)
				made_number(&m, scalars[i].bits, scalars[i].width);
		}
		tn_file *f = open_made(&m);
		for (size_t i = 0; i < SCALARS; i++) {
			const tn_meta *array = value(f, scalars[i].key);
			assert_true(array->is_raw);
			assert_true(array->as.packed.raw->bytes > m.b.ptr &&
			            array->as.packed.raw->bytes < m.b.ptr + m.b.len);
			assert_int_equal(tn_meta_count(array), 3);
			tn_meta_iter it = tn_meta_items(array);
			for (const tn_meta *item; (item = tn_meta_next(&it)) != NULL; )
				check_scalar(&scalars[i], item);
		}
		tn_close(f);
		buf_fini(&m.b);
	}
}

static void strings_of_an_array_are_views(void **state)
{
	(void)state;
	static const char *const texts[] = { "one", "", "three\n" };
	struct made m = made_head(0, 1, false);
	made_key(&m, "k", 9);
	made_number(&m, 8, 32);
	made_number(&m, 3, 64);
	for (size_t i = 0; i < 3; i++)
		made_string(&m, texts[i]);
	tn_file *f = open_made(&m);
	tn_meta_iter it = tn_meta_items(value(f, "k"));
	for (size_t i = 0; i < 3; i++) {
		tn_view v;
		assert_true(tn_meta_string(tn_meta_next(&it), &v));
		assert_true(view_is(v, texts[i]));
		assert_true(v.ptr > m.b.ptr && v.ptr <= m.b.ptr + m.b.len);
	}
	assert_null(tn_meta_next(&it));
	tn_close(f);
	buf_fini(&m.b);
}

/* ---- Tensors ---- */

static void shapes_are_turned(void **state)
{
	(void)state;
	const uint64_t dims[] = { 5, 3, 2 };
	struct made m = made_head(1, 0, false);
	made_info(&m, "t", 3, dims, 24, 0);
	made_pad(&m, 32);
	buf_fill(&m.b, 7, 32);
	tn_file *f = open_made(&m);
	tn_tensor t = tn_tensor_at(f, 0);
	assert_int_equal(t.rank, 3);
	assert_int_equal(t.shape[0], 2);
	assert_int_equal(t.shape[1], 3);
	assert_int_equal(t.shape[2], 5);
	assert_int_equal(t.nbytes, 30);
	tn_close(f);
	buf_fini(&m.b);
}

static void big_endian_data_read_as_little(void **state)
{
	(void)state;
	const uint64_t two = 2;
	struct made m = made_head(1, 0, true);
	uint16_t got[2];
	tn_view view;
	tn_error err;
	made_info(&m, "t", 1, &two, 25, 0);
	made_pad(&m, 32);
	made_number(&m, 0x0102, 16);
	made_number(&m, 0x0304, 16);
	made_pad(&m, 32);
	tn_file *f = open_made(&m);
	assert_int_equal(tn_bytes(f, 0, &view, &err), TN_E_UNSUPPORTED);
	assert_int_equal(tn_read(f, 0, 0, got, 4, &err), TN_OK);
	assert_int_equal(got[0], 0x0102);
	assert_int_equal(got[1], 0x0304);
	if (host_is_big_endian()) {
		assert_int_equal(tn_read(f, 0, 1, got, 2, &err), TN_E_USAGE);
	} else {
		assert_int_equal(tn_read(f, 0, 1, got, 2, &err), TN_OK);
		assert_memory_equal(got, "\1\4", 2);
	}
	tn_close(f);
	buf_fini(&m.b);
}

/* ---- Headers of unknown length ---- */

enum { TOKENS = 40000 };

static struct made long_header(void)
{
	struct made m = made_head(1, 2, false);
	const uint64_t eight = 8;
	made_key(&m, "tokens", 9);
	made_number(&m, 8, 32);
	made_number(&m, TOKENS, 64);
	for (unsigned i = 0; i < TOKENS; i++)
		made_string(&m, "token");
	made_key(&m, "last", 4);
	made_number(&m, 4711, 32);
	made_info(&m, "t", 1, &eight, 24, 0);
	made_pad(&m, 32);
	buf_fill(&m.b, 1, 32);
	return m;
}

static void headers_are_read_as_far_as_they_go(void **state)
{
	(void)state;
	struct made m = long_header();
	char *folder = tempdir_new(), *path = files_join(folder, "long.gguf");
	const tn_open_options pread = { .io = TN_IO_PREAD };
	tn_file *f;
	tn_error err;
	uint32_t last;
	files_store(path, buf_bytes(&m.b));
	if (tn_open(&f, path, &pread, &err) != TN_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(tn_meta_count(value(f, "tokens")), TOKENS);
	assert_true(tn_meta_u32(value(f, "last"), &last));
	assert_int_equal(last, 4711);
	tn_close(f);
	/* cut: the same words whichever way it is read */
	for (size_t cut = 1; cut < m.b.len; cut += m.b.len / 50) {
		tn_error other;
		files_store(path, (tn_view){ m.b.ptr, m.b.len - cut });
		tn_code code = tn_open_memory(&f, (tn_view){ m.b.ptr, m.b.len - cut }, NULL, &err);
		tn_close(f);
		assert_int_equal(tn_open(&f, path, &pread, &other), code);
		assert_string_equal(other.msg, err.msg);
		tn_close(f);
	}
	buf_fini(&m.b);
	free(path);
	tempdir_remove(folder);
}

static void limits_are_kept(void **state)
{
	(void)state;
	struct made m = long_header();
	static const tn_open_options limits[] = {
		{ .limits.max_header = 1000 }, { .limits.max_memory = 100 },
		{ .limits.max_tensor_bytes = 7 },
	};
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		tn_file *f;
		tn_error err;
		assert_int_equal(tn_open_memory(&f, buf_bytes(&m.b), &limits[i], &err), TN_E_LIMIT);
	}
	buf_fini(&m.b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scalars_keep_their_widths),
		cmocka_unit_test(arrays_stay_in_the_file),
		cmocka_unit_test(strings_of_an_array_are_views),
		cmocka_unit_test(shapes_are_turned),
		cmocka_unit_test(big_endian_data_read_as_little),
		cmocka_unit_test(headers_are_read_as_far_as_they_go),
		cmocka_unit_test(limits_are_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
