/* test_gguf_write.c - files of the writer against the same files put together by hand, and what it
 * refuses. */
#include "unit/gguf.h"

#include "base/view.h"
#include "model/dtype.h"
#include "support/files.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

#define MUST(call) \
	do { \
		tn_error err_; \
		if ((call) != TN_OK) \
			fail_msg("%s", err_.msg); \
	} while (0)

static uint8_t pool[4096];

static tn_writer *new_writer(tn_write_options options)
{
	tn_writer *w;
	MUST(tn_writer_new(&w, "gguf", &options, &err_));
	return w;
}

static void add(tn_writer *w, tn_view name, tn_dtype dtype, uint32_t rank, const uint64_t *shape)
{
	tn_source source = { .kind = TN_SOURCE_MEMORY, .memory = { pool, 0 } };
	uint64_t n;
	MUST(tn_dtype_bytes(dtype, rank, shape, &n, &err_));
	source.memory.len = (size_t)n;
	MUST(tn_writer_add(w, name, dtype, rank, shape, 0, &source, &err_));
}

static tn_view saved(tn_writer *w)
{
	uint64_t size;
	size_t len;
	MUST(tn_writer_size(w, &size, &err_));
	uint8_t *bytes = malloc((size_t)size);
	assert_non_null(bytes);
	MUST(tn_writer_save_memory(w, bytes, (size_t)size, &len, &err_));
	return (tn_view){ bytes, len };
}

static void expect(tn_writer *w, struct made *want)
{
	tn_view got = saved(w);
	assert_int_equal(got.len, want->b.len);
	assert_memory_equal(got.ptr, want->b.ptr, got.len);
	free((void *)got.ptr);
	buf_fini(&want->b);
	tn_writer_free(w);
}

static tn_file *reopen(tn_view bytes)
{
	tn_file *f;
	MUST(tn_open_memory(&f, bytes, NULL, &err_));
	return f;
}

/* ---- Byte for byte ---- */

static void pairs_have_their_types(void **state)
{
	(void)state;
	for (int big = 0; big < 2; big++) {
		tn_endian endian = big ? TN_ENDIAN_BIG : TN_ENDIAN_LITTLE;
		tn_writer *w = new_writer((tn_write_options){ .endian = endian });
		tn_meta *root = tn_writer_metadata(w);
		struct made m = made_head(0, 6, big);
		MUST(tn_put_string(w, root, VIEW("general.architecture"), VIEW("llama"), &err_));
		made_key(&m, "general.architecture", 8), made_string(&m, "llama");
		MUST(tn_put_int(w, root, VIEW("i16"), -2, 16, &err_));
		made_key(&m, "i16", 3), made_number(&m, 0xfffe, 16);
		MUST(tn_put_f32(w, root, VIEW("f32"), 0.5f, &err_));
		made_key(&m, "f32", 6), made_number(&m, 0x3f000000, 32);
		MUST(tn_put_bool(w, root, VIEW("bool"), true, &err_));
		made_key(&m, "bool", 7), made_number(&m, 1, 8);
		MUST(tn_put_text(w, root, VIEW("u16s"), "u16[]", VIEW("[1,2,65535]"), &err_));
		made_key(&m, "u16s", 9), made_number(&m, 2, 32), made_number(&m, 3, 64);
		made_number(&m, 1, 16), made_number(&m, 2, 16), made_number(&m, 65535, 16);
		MUST(tn_put_text(w, root, VIEW("none"), "string[]", VIEW("[]"), &err_));
		made_key(&m, "none", 9), made_number(&m, 8, 32), made_number(&m, 0, 64);
		made_pad(&m, 32);
		expect(w, &m);
	}
}

static void tensors_are_padded_each(void **state)
{
	(void)state;
	const uint64_t shape[] = { 2, 32 }, dims[] = { 32, 2 }, five = 5;
	tn_writer *w = new_writer((tn_write_options){ .align = 64 });
	struct made m = made_head(3, 1, false);
	add(w, VIEW("a"), TN_I8, 1, &five);
	add(w, VIEW("scalar"), TN_F32, 0, NULL);
	add(w, VIEW("q"), TN_Q8_0, 2, shape);
	made_key(&m, "general.alignment", 4), made_number(&m, 64, 32);
	made_info(&m, "a", 1, &five, 24, 0);
	made_info(&m, "scalar", 0, NULL, 0, 64);
	made_info(&m, "q", 2, dims, 8, 128);
	made_pad(&m, 64), buf_put(&m.b, pool, 5);
	made_pad(&m, 64), buf_put(&m.b, pool, 4);
	made_pad(&m, 64), buf_put(&m.b, pool, 68);
	made_pad(&m, 64);
	expect(w, &m);
}

/* ---- What GGUF has no place for ---- */

static void wider_models_come_back(void **state)
{
	(void)state;
	const uint64_t deep[] = { 1, 1, 2, 1, 3, 4 }, five[] = { 2, 2, 2, 2, 2 }, few[] = { 3 };
	tn_writer *w = new_writer((tn_write_options){ .carry = true });
	tn_meta *root = tn_writer_metadata(w);
	add(w, VIEW("leading ones"), TN_F32, 6, deep);
	add(w, VIEW("five"), TN_F16, 5, five);
	add(w, VIEW("bytes"), TN_U8, 1, few);
	add(w, VIEW("flags"), TN_BOOL, 1, few);
	MUST(tn_put_string(w, root, VIEW(""), VIEW("under no key"), &err_));
	MUST(tn_put_null(w, root, VIEW("nothing"), &err_));
	MUST(tn_put_uint(w, root, VIEW("no width"), 7, 0, &err_));
	tn_view bytes = saved(w);
	tn_file *f = reopen(bytes), *plain;
	tn_open_options as_it_is = { .ignore_envelope = true };
	MUST(tn_open_memory(&plain, bytes, &as_it_is, &err_));
	assert_int_equal(tn_tensor_at(plain, 0).rank, 4);
	assert_int_equal(tn_tensor_at(plain, 1).rank, 2);
	assert_int_equal(tn_tensor_at(plain, 2).dtype, TN_I8);
	assert_int_equal(tn_meta_width(tn_meta_find(tn_metadata(plain), VIEW("no width"))), 32);
	assert_int_equal(tn_tensor_at(f, 0).rank, 6);
	assert_memory_equal(tn_tensor_at(f, 0).shape, deep, sizeof deep);
	assert_memory_equal(tn_tensor_at(f, 1).shape, five, sizeof five);
	assert_int_equal(tn_tensor_at(f, 2).dtype, TN_U8);
	assert_int_equal(tn_tensor_at(f, 3).dtype, TN_BOOL);
	assert_int_equal(tn_meta_count(tn_metadata(f)), 3);
	tn_meta_iter it = tn_meta_items(tn_metadata(f));
	assert_int_equal(tn_meta_key(tn_meta_next(&it)).len, 0);
	assert_int_equal(tn_meta_kind(tn_meta_next(&it)), TN_META_NULL);
	assert_int_equal(tn_meta_width(tn_meta_next(&it)), 0);
	tn_close(plain);
	tn_close(f);
	free((void *)bytes.ptr);
	tn_writer_free(w);
}

static void losses_are_named(void **state)
{
	(void)state;
	const uint64_t five[] = { 2, 1, 1, 1, 1 }, few = 3;
	static const struct {
		tn_view     name;
		tn_dtype    dtype;
		const char *why;
	} tensors[] = {
		{ VIEW("0123456789012345678901234567890123456789012345678901234567890123"), TN_F32,
			"more than 63 bytes" },
		{ VIEW("n\0ul"), TN_F32, "holds a NUL" },
		{ VIEW("u16"), TN_U16, "no dtype u16" },
		{ VIEW("five"), TN_F64, "more than 4 dimensions" },
	};
	for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
		bool deep = tensors[i].dtype == TN_F64;
		tn_writer *w = new_writer((tn_write_options){ 0 });
		uint64_t size;
		tn_error err;
		add(w, tensors[i].name, tensors[i].dtype, deep ? 5 : 1, deep ? five : &few);
		assert_int_equal(tn_writer_size(w, &size, &err), TN_E_LOSSY);
		if (strstr(err.msg, tensors[i].why) == NULL)
			fail_msg("'%s' does not say '%s'", err.msg, tensors[i].why);
		tn_writer_free(w);
	}
}

/* The envelope cannot name such tensors and keys. */
static void losses_under_odd_names(void **state)
{
	(void)state;
	const uint64_t few = 3;
	for (int meta = 0; meta < 2; meta++) {
		for (int allowed = 0; allowed < 2; allowed++) {
			tn_writer *w = new_writer((tn_write_options){ .carry = true, .allow_loss = allowed != 0 });
			tn_meta *root = tn_writer_metadata(w), *map;
			uint64_t size;
			tn_error err;
			tn_view text;
			if (meta)
				MUST(tn_put_map(w, root, VIEW("k\xff"), &map, &err_));
			else
				add(w, VIEW("t\xff"), TN_U16, 1, &few);
			tn_code code = tn_writer_size(w, &size, &err);
			assert_int_equal(code, allowed ? TN_OK : TN_E_LOSSY);
			assert_true(allowed || strstr(err.msg, "a name that is no UTF-8 cannot stand in the envelope") != NULL);
			if (allowed) {
				tn_view bytes = saved(w);
				tn_file *f = reopen(bytes);
				const tn_meta *plain = tn_meta_find(tn_metadata(f), VIEW("k\xff"));
				assert_int_equal(tn_meta_count(tn_metadata(f)), meta); /* no envelope either */
				assert_true(!meta || (tn_meta_string(plain, &text) && view_is(text, "{}")));
				assert_true(meta || tn_tensor_at(f, 0).dtype == TN_I8);
				tn_close(f);
				free((void *)bytes.ptr);
			}
			tn_writer_free(w);
		}
	}
}

/* llama.cpp asks for a u32; the envelope knows what it was. */
static void alignment_keeps_its_type(void **state)
{
	(void)state;
	for (int narrow = 0; narrow < 2; narrow++) {
		tn_writer *w = new_writer((tn_write_options){ 0 });
		tn_meta *root = tn_writer_metadata(w);
		const tn_open_options as_it_is = { .ignore_envelope = true };
		tn_file *f;
		MUST(narrow ? tn_put_uint(w, root, VIEW("general.alignment"), 64, 8, &err_)
		            : tn_put_int(w, root, VIEW("general.alignment"), 64, 32, &err_));
		tn_view bytes = saved(w);
		MUST(tn_open_memory(&f, bytes, &as_it_is, &err_));
		const tn_meta *node = tn_meta_find(tn_metadata(f), VIEW("general.alignment"));
		assert_int_equal(tn_meta_kind(node), TN_META_UINT);
		assert_int_equal(tn_meta_width(node), 32);
		tn_close(f);
		f = reopen(bytes);
		node = tn_meta_find(tn_metadata(f), VIEW("general.alignment"));
		assert_int_equal(tn_meta_kind(node), narrow ? TN_META_UINT : TN_META_INT);
		assert_int_equal(tn_meta_width(node), narrow ? 8 : 32);
		tn_close(f);
		tn_writer_free(w);
		free((void *)bytes.ptr);
	}
}

static void alignment_is_checked(void **state)
{
	(void)state;
	static const uint64_t bad[] = { 3, 48, UINT64_C(1) << 21, UINT64_C(1) << 63 };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		tn_writer *w = new_writer((tn_write_options){ .align = bad[i] });
		uint64_t size;
		tn_error err;
		assert_int_equal(tn_writer_size(w, &size, &err), TN_E_USAGE);
		tn_writer_free(w);
	}
	tn_writer *w = new_writer((tn_write_options){ 0 });
	uint64_t size;
	tn_error err;
	MUST(tn_put_string(w, tn_writer_metadata(w), VIEW("general.alignment"), VIEW("64"), &err_));
	assert_int_equal(tn_writer_size(w, &size, &err), TN_E_LOSSY);
	tn_writer_free(w);
}

/* ---- Byte order ---- */

/* A tensor of each type that GGUF has, large enough for several of the sink's buffers in one of
 * them. */
static tn_writer *all_types(tn_endian endian, uint8_t *large, uint64_t rows)
{
	const tn_write_options carry = { .endian = endian, .carry = true, .no_sync = true };
	tn_writer *w = new_writer(carry);
	const uint64_t shape[] = { 2, 256 }, big[] = { rows, 256 };
	tn_source source = { .kind = TN_SOURCE_MEMORY, .memory = { large, (size_t)(rows * 210) } };
	for (int d = TN_OPAQUE + 1; d < TN_DTYPES; d++) {
		if (d == TN_QFLOAT || d == TN_APR_Q8)
			continue;
		add(w, tn_text(tn_dtype_name((tn_dtype)d)), (tn_dtype)d, 2, shape);
	}
	MUST(tn_writer_add(w, VIEW("large"), TN_Q6_K, 2, big, 0, &source, &err_));
	return w;
}

static tn_digest digest(const tn_file *f)
{
	tn_digest total;
	MUST(tn_hash(f, NULL, NULL, &total, &err_));
	return total;
}

static void every_type_turns_and_turns_back(void **state)
{
	(void)state;
	enum { ROWS = 12000 };
	char *folder = tempdir_new(), *path = files_join(folder, "big.gguf"),
		*again = files_join(folder, "little.gguf");
	uint8_t *large = malloc((size_t)ROWS * 210);
	assert_non_null(large);
	for (size_t i = 0; i < (size_t)ROWS * 210; i++)
		large[i] = (uint8_t)(i * 31 + i / 997);
	tn_writer *w = all_types(TN_ENDIAN_LITTLE, large, ROWS),
		*turned = all_types(TN_ENDIAN_BIG, large, ROWS);
	tn_view little = saved(w), big = saved(turned);
	MUST(tn_writer_save(turned, path, &err_));
	assert_true(files_equal(path, big));
	tn_file *a = reopen(little), *b;
	MUST(tn_open(&b, path, NULL, &err_));
	assert_string_equal(tn_file_dialect(b), "big-endian");
	tn_digest x = digest(a), y = digest(b);
	assert_memory_equal(x.bytes, y.bytes, TN_DIGEST_LEN);
	tn_convert_options how = { .write = { .carry = true, .no_sync = true } };
	how.write.endian = TN_ENDIAN_LITTLE;
	MUST(tn_convert(b, again, &how, NULL, &err_));
	assert_true(files_equal(again, little));
	how.write.endian = TN_ENDIAN_KEEP;
	MUST(tn_convert(b, again, &how, NULL, &err_));
	assert_true(files_equal(again, big));
	tn_close(a);
	tn_close(b);
	tn_writer_free(w);
	tn_writer_free(turned);
	free((void *)little.ptr);
	free((void *)big.ptr);
	free(large);
	free(path);
	free(again);
	tempdir_remove(folder);
}

static void unknown_types_cannot_be_turned(void **state)
{
	(void)state;
	const uint64_t eight = 8;
	struct made m = made_head(1, 0, false);
	made_info(&m, "t", 1, &eight, 144, 0);
	made_pad(&m, 32);
	buf_fill(&m.b, 3, 32);
	tn_file *f = reopen(buf_bytes(&m.b));
	tn_convert_options how = { .format = "gguf", .dry_run = true };
	how.write.endian = TN_ENDIAN_BIG;
	tn_error err;
	assert_int_equal(tn_convert(f, "x", &how, NULL, &err), TN_E_LOSSY);
	how.write.endian = TN_ENDIAN_LITTLE;
	assert_int_equal(tn_convert(f, "x", &how, NULL, &err), TN_OK);
	tn_close(f);
	buf_fini(&m.b);
}

/* Only the next tensor or the end of the file says where one of an unknown type ends. */
static void unknown_types_keep_their_length(void **state)
{
	(void)state;
	const uint64_t eight = 8;
	struct made m = made_head(2, 0, false);
	made_info(&m, "a", 1, &eight, 144, 0);
	made_info(&m, "z", 1, &eight, 144, 32);
	made_pad(&m, 32);
	buf_fill(&m.b, 3, 32 + 5);
	char *folder = tempdir_new(), *path = files_join(folder, "again.gguf");
	tn_file *f = reopen(buf_bytes(&m.b));
	assert_int_equal(tn_tensor_at(f, 1).nbytes, 5);
	tn_convert_options how = { .write.no_sync = true };
	tn_error err;
	MUST(tn_convert(f, path, &how, NULL, &err_));
	assert_true(files_equal(path, buf_bytes(&m.b)));
	how.write.align = 64;
	assert_int_equal(tn_convert(f, path, &how, NULL, &err), TN_E_LOSSY);
	assert_non_null(strstr(err.msg, "becomes longer by its padding"));
	tn_close(f);
	buf_fini(&m.b);
	free(path);
	tempdir_remove(folder);
}

/* A reader would take the next tensor for part of the one before. */
static void unknown_types_without_bytes_stand_last(void **state)
{
	(void)state;
	const uint64_t eight = 8;
	struct made m = made_head(2, 0, false);
	made_info(&m, "a", 1, &eight, 0, 0);
	made_info(&m, "z", 1, &eight, 144, 32);
	made_pad(&m, 32);
	buf_fill(&m.b, 3, 32);
	tn_file *f = reopen(buf_bytes(&m.b));
	tn_writer *w;
	uint64_t size;
	MUST(tn_writer_of(&w, f, NULL, &err_));
	MUST(tn_writer_size(w, &size, &err_));
	assert_int_equal(size, m.b.len);
	add(w, VIEW("after"), TN_F32, 1, &eight);
	assert_int_equal(tn_writer_size(w, &size, NULL), TN_E_LOSSY);
	tn_writer_free(w);
	tn_close(f);
	buf_fini(&m.b);
}

/* A tensor of the type 144 with a dimension of 0 has no bytes in a GGUF file; one that was carried may. */
static void unknown_types_without_elements_have_no_bytes(void **state)
{
	(void)state;
	static const char text[] =
	        "{\"__metadata__\":{\"tenon.meta\":\"{\\\"tenon\\\":1,\\\"tensors\\\":{\\\"a\\\":{\\\"dtype\\\":\\\"opaque\\\","
	        "\\\"dtype_text\\\":\\\"type 144\\\",\\\"shape\\\":[0],\\\"extras\\\":{\\\"gguf\\\":{\\\"type\\\":{\\\"$u32\\\":144}}}}}}\"},"
	        "\"a\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[0,5]}}";
	struct made m = { .big = false };
	buf_init(&m.b, 0);
	made_number(&m, strlen(text), 64);
	buf_text(&m.b, text);
	buf_fill(&m.b, 3, 5);
	tn_file *f = reopen(buf_bytes(&m.b));
	assert_int_equal(tn_tensor_at(f, 0).dtype, TN_OPAQUE);
	tn_convert_options how = { .format = "gguf", .dry_run = true };
	assert_int_equal(tn_convert(f, "x", &how, NULL, NULL), TN_E_LOSSY);
	how.write.carry = true;
	MUST(tn_convert(f, "x", &how, NULL, &err_));
	tn_close(f);
	buf_fini(&m.b);
}

int main(void)
{
	for (size_t i = 0; i < sizeof pool; i++)
		pool[i] = (uint8_t)(i * 13 + 1);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_have_their_types),
		cmocka_unit_test(tensors_are_padded_each),
		cmocka_unit_test(wider_models_come_back),
		cmocka_unit_test(losses_are_named),
		cmocka_unit_test(losses_under_odd_names),
		cmocka_unit_test(alignment_keeps_its_type),
		cmocka_unit_test(alignment_is_checked),
		cmocka_unit_test(every_type_turns_and_turns_back),
		cmocka_unit_test(unknown_types_cannot_be_turned),
		cmocka_unit_test(unknown_types_keep_their_length),
		cmocka_unit_test(unknown_types_without_bytes_stand_last),
		cmocka_unit_test(unknown_types_without_elements_have_no_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
