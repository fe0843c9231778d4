/* test_tensor.c - tensors of an open file: found, lent, read in ranges. */
#include "tenon.h"

#include "support/api_kit.h"
#include "support/files.h"
#include "support/host.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const formats[] = { "burnpack", "safetensors" };

struct opened {
	tn_view  bytes;
	tn_file *in_memory, *read; /* the latter from a path, not mapped */
	char    *folder, *path;
};

static struct opened open_both(const char *format)
{
	struct opened o = { .bytes = kit_file(format), .folder = tempdir_new() };
	o.path = kit_store(o.folder, "file", o.bytes);
	o.in_memory = kit_open(o.bytes);
	assert_int_equal(tn_open(&o.read, o.path, &(tn_open_options){ .io = TN_IO_PREAD }, NULL), TN_OK);
	return o;
}

static void close_both(struct opened *o)
{
	tn_close(o->in_memory);
	tn_close(o->read);
	free(o->path);
	tempdir_remove(o->folder);
	free((void *)(uintptr_t)o->bytes.ptr);
}

static void names_lead_to_tensors(void **state)
{
	(void)state;
	static const struct { const char *name; tn_dtype dtype; uint32_t rank; uint64_t nbytes; } known[] = {
		{ "scalar", TN_F64, 0, 8 }, { "matrix", TN_F32, 2, 24 }, { "empty", TN_F16, 2, 0 }, { "line", TN_U8, 1, 5 }
	};
	for (size_t i = 0; i < 2; i++) {
		struct opened o = open_both(formats[i]);
		assert_int_equal(tn_tensor_count(o.in_memory), 4);
		for (size_t k = 0; k < 4; k++) {
			size_t at = 99;
			assert_int_equal(tn_tensor_find(o.in_memory, tn_text(known[k].name), &at, NULL), TN_OK);
			tn_tensor t = tn_tensor_at(o.in_memory, at);
			assert_memory_equal(t.name.ptr, known[k].name, t.name.len);
			assert_int_equal(t.dtype, known[k].dtype);
			assert_int_equal(t.rank, known[k].rank);
			assert_int_equal(t.nbytes, known[k].nbytes);
			assert_int_equal(t.stored, known[k].nbytes);
			assert_true(t.offset + t.stored <= o.bytes.len);
		}
		close_both(&o);
	}
}

static void other_names_and_numbers_lead_nowhere(void **state)
{
	(void)state;
	static const char *const names[] = { "", "Line", "lin", "line ", "a" };
	struct opened o = open_both("safetensors");
	for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
		tn_error err;
		size_t at = 99;
		assert_int_equal(tn_tensor_find(o.in_memory, tn_text(names[k]), &at, &err), TN_E_NOTFOUND);
		assert_int_equal(err.code, TN_E_NOTFOUND);
		assert_int_equal(at, 99);
	}
	const size_t past[] = { 4, SIZE_MAX };
	for (size_t k = 0; k < 2; k++) {
		tn_view v = { NULL, 77 };
		uint8_t byte = 7;
		tn_buffer b = { 0 };
		tn_tensor t = tn_tensor_at(o.in_memory, past[k]);
		assert_null(t.name.ptr);
		assert_int_equal(t.offset, TN_NO_OFFSET);
		assert_int_equal(tn_bytes(o.in_memory, past[k], &v, NULL), TN_E_USAGE);
		assert_int_equal(v.len, 77);
		assert_int_equal(tn_read(o.in_memory, past[k], 0, &byte, 1, NULL), TN_E_USAGE);
		assert_int_equal(tn_read_buffer(o.in_memory, past[k], &b, NULL), TN_E_USAGE);
		assert_null(b.ptr);
	}
	close_both(&o);
}

static void bytes_are_lent_in_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct opened o = open_both(formats[i]);
		tn_view v;
		assert_int_equal(tn_bytes(o.in_memory, kit_find(o.in_memory, "line"), &v, NULL), TN_OK);
		assert_ptr_equal(v.ptr, o.bytes.ptr + tn_tensor_at(o.in_memory, kit_find(o.in_memory, "line")).offset);
		assert_int_equal(v.len, 5);
		for (size_t k = 0; k < 5; k++)
			assert_int_equal(v.ptr[k], kit_byte(3, k));
		assert_int_equal(tn_bytes(o.in_memory, kit_find(o.in_memory, "empty"), &v, NULL), TN_OK);
		assert_int_equal(v.len, 0);
		/* without a map only what has no bytes can be lent */
		tn_error err;
		assert_int_equal(tn_bytes(o.read, kit_find(o.read, "matrix"), &v, &err), TN_E_UNSUPPORTED);
		assert_string_equal(err.msg, "the file is not mapped: read tensor 'matrix' instead");
		assert_int_equal(tn_bytes(o.read, kit_find(o.read, "empty"), &v, NULL), TN_OK);
		assert_int_equal(v.len, 0);
		close_both(&o);
	}
}

/* Numbers of several bytes are lent where they are those of the host. */
static void numbers_are_lent_in_the_order_of_the_host(void **state)
{
	(void)state;
	struct opened o = open_both("safetensors");
	size_t matrix = kit_find(o.in_memory, "matrix");
	tn_view v;
	tn_error err;
	tn_code code = tn_bytes(o.in_memory, matrix, &v, &err);
	if (host_is_big_endian()) {
		assert_int_equal(code, TN_E_UNSUPPORTED);
		assert_string_equal(err.msg, "tensor 'matrix' is little-endian: read it instead");
	} else {
		assert_int_equal(code, TN_OK);
		assert_ptr_equal(v.ptr, o.bytes.ptr + tn_tensor_at(o.in_memory, matrix).offset);
		assert_int_equal(v.len, 24);
		assert_int_equal(v.ptr[23], kit_byte(1, 23));
	}
	close_both(&o);
}

static void ranges_are_read(void **state)
{
	(void)state;
	static const struct { uint64_t offset; size_t len; bool fits; } ranges[] = {
		{ 0, 24, true }, { 0, 0, true }, { 24, 0, true }, { 23, 1, true }, { 5, 7, true }, { 4, 8, true }, { 20, 4, true },
		{ 24, 1, false }, { 25, 0, false }, { 0, 25, false }, { 1, 24, false }, { UINT64_MAX, 1, false },
		{ UINT64_MAX, 0, false }, { 8, SIZE_MAX, false }, { UINT64_MAX - 3, 8, false }, { 1, SIZE_MAX, false },
	};
	for (size_t i = 0; i < 2; i++) {
		struct opened o = open_both(formats[i]);
		for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++) {
			tn_file *files[] = { o.in_memory, o.read };
			for (size_t m = 0; m < 2; m++) {
				uint8_t buf[25];
				memset(buf, 0xee, sizeof buf);
				tn_code code = tn_read(files[m], kit_find(files[m], "matrix"), ranges[k].offset, buf, ranges[k].len, NULL);
				bool cuts = host_is_big_endian() && (ranges[k].offset % 4 != 0 || ranges[k].len % 4 != 0);
				bool read = ranges[k].fits && !cuts;
				assert_int_equal(code, read ? TN_OK : TN_E_USAGE);
				for (size_t b = 0; b < sizeof buf; b++)
					assert_int_equal(buf[b], read && b < ranges[k].len ? kit_byte(1, host_at(4, ranges[k].offset + b)) : 0xee);
			}
		}
		close_both(&o);
	}
}

static void the_message_names_the_range(void **state)
{
	(void)state;
	struct opened o = open_both("safetensors");
	tn_error err;
	uint8_t byte;
	assert_int_equal(tn_read(o.read, kit_find(o.read, "line"), UINT64_MAX, &byte, 1, &err), TN_E_USAGE);
	assert_string_equal(err.msg, "1 bytes from 18446744073709551615 of tensor 'line', which has 5");
	close_both(&o);
}

static void whole_tensors_fill_a_buffer(void **state)
{
	(void)state;
	struct opened o = open_both("burnpack");
	tn_buffer b;
	tn_buffer_init(&b, 512);
	assert_int_equal(tn_read_buffer(o.read, kit_find(o.read, "matrix"), &b, NULL), TN_OK);
	assert_int_equal(b.len, 24);
	assert_int_equal((uintptr_t)b.ptr % 512, 0);
	assert_int_equal(b.ptr[23], kit_byte(1, host_at(4, 23)));
	assert_int_equal(tn_read_buffer(o.in_memory, kit_find(o.in_memory, "line"), &b, NULL), TN_OK);
	assert_int_equal(b.len, 5);
	assert_int_equal(b.ptr[4], kit_byte(3, 4));
	assert_int_equal(tn_read_buffer(o.read, kit_find(o.read, "empty"), &b, NULL), TN_OK);
	assert_int_equal(b.len, 0);
	b.align = 3;
	assert_int_equal(tn_read_buffer(o.read, kit_find(o.read, "line"), &b, NULL), TN_E_USAGE);
	tn_buffer_fini(&b);
	close_both(&o);
}

static void ten_thousand_names(void **state)
{
	(void)state;
	enum { N = 10000 };
	tn_view bytes = kit_many("safetensors", N);
	tn_file *f = kit_open(bytes);
	char name[32];
	for (size_t i = 0; i < N; i++) {
		uint8_t byte;
		snprintf(name, sizeof name, "t%zu", i);
		assert_int_equal(tn_read(f, kit_find(f, name), 0, &byte, 1, NULL), TN_OK);
		assert_int_equal(byte, kit_byte((unsigned)(i % 8), 0));
	}
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_lead_to_tensors),
		cmocka_unit_test(other_names_and_numbers_lead_nowhere),
		cmocka_unit_test(bytes_are_lent_in_place),
		cmocka_unit_test(numbers_are_lent_in_the_order_of_the_host),
		cmocka_unit_test(ranges_are_read),
		cmocka_unit_test(the_message_names_the_range),
		cmocka_unit_test(whole_tensors_fill_a_buffer),
		cmocka_unit_test(ten_thousand_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
