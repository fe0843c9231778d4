/* cast.c - conversions that change types: every type to every type that can be asked for, in every
 * format, and what is said about values that do not survive. */
#include "base/bytes.h"
#include "support/files.h"
#include "support/hextext.h"
#include "support/host.h"
#include "value/value.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { ROWS = 3, ROW = 512, ELEMENTS = ROWS * ROW };

static const uint64_t matrix[2] = { ROWS, ROW };

/* ---- Files ---- */

static tn_writer *writer_of(const char *format)
{
	tn_writer *w;
	tn_error err;
	if (tn_writer_new(&w, format,
	                  &(tn_write_options){ .carry = true, .no_sync = true, .exact_path = true },
	                  &err) != TN_OK)
		fail_msg("%s", err.msg);
	return w;
}

/* The bytes as a file has them. */
static void add(tn_writer *w, const char *name, tn_dtype d, uint32_t rank, const uint64_t *shape,
                const void *bytes, uint64_t n)
{
	tn_error err;
	tn_source s = { .kind = TN_SOURCE_MEMORY, .memory = { bytes, (size_t)n } };
	if (tn_writer_add(w, tn_text(name), d, rank, shape, n, &s, &err) != TN_OK)
		fail_msg("%s", err.msg);
}

static void add_floats(tn_writer *w, const char *name, const uint64_t *shape, const float *x, size_t n)
{
	add(w, name, TN_F32, 2, shape, host_to_file(TN_F32, x, n), n);
}

static void save(tn_writer *w, const char *path)
{
	tn_error err;
	if (tn_writer_save(w, path, &err) != TN_OK)
		fail_msg("%s", err.msg);
	tn_writer_free(w);
}

static tn_file *open_file(const char *path)
{
	tn_file *f;
	tn_error err;
	if (tn_open(&f, path, NULL, &err) != TN_OK)
		fail_msg("%s", err.msg);
	return f;
}

static tn_convert_options how_to(const char *format, tn_dtype dtype, tn_dtype quantize)
{
	return (tn_convert_options){
		.format = format, .dtype = dtype, .quantize = quantize,
		.write = { .carry = true, .no_sync = true, .exact_path = true },
	};
}

/* Converts path to "out"; the report is the caller's. */
static tn_code convert(const char *path, const tn_convert_options *how, tn_converted *done,
                       tn_error *err)
{
	tn_file *f = open_file(path);
	tn_code code = tn_convert(f, "out", how, done, err);
	tn_close(f);
	return code;
}

static void must_convert(const char *path, const tn_convert_options *how)
{
	tn_converted done;
	tn_error err;
	if (convert(path, how, &done, &err) != TN_OK)
		fail_msg("%s", err.msg);
	tn_report_free(done.report);
}

static tn_tensor find(const tn_file *f, const char *name, size_t *i)
{
	tn_error err;
	if (tn_tensor_find(f, tn_text(name), i, &err) != TN_OK)
		fail_msg("%s", err.msg);
	return tn_tensor_at(f, *i);
}

static void read_f32(const tn_file *f, const char *name, float *out, size_t n)
{
	size_t i;
	tn_error err;
	find(f, name, &i);
	if (tn_read_f32(f, i, 0, out, n, &err) != TN_OK)
		fail_msg("%s", err.msg);
}

/* ---- Every type to every type ---- */

static uint8_t noisy[16 * ELEMENTS];

/* Bytes of random bits that no bool is offended by. */
static uint64_t make_noise(tn_dtype d)
{
	uint64_t n;
	tn_error err;
	uint32_t x = (uint32_t)d + 1;
	if (tn_dtype_bytes(d, 2, matrix, &n, &err) != TN_OK)
		fail_msg("%s", err.msg);
	assert_true(n <= sizeof noisy);
	for (uint64_t i = 0; i < n; i++, x = x * 1664525 + 1013904223)
		noisy[i] = (uint8_t)(x >> 24);
	for (uint64_t i = 0; i < n && d >= TN_BOOL && d <= TN_BOOL_U32; i++)
		noisy[i] = d == TN_BOOL_U32 && i % 4 != 0 ? 0 : noisy[i] & 1;
	if (d == TN_APR_Q8)
		put_le32(noisy, f32_bits(0.01f));
	return n;
}

static bool stays(tn_dtype d) { return d <= TN_I64 || d == TN_C64; }

static void same_floats(const float *got, const float *want, const char *from, const char *to)
{
	for (size_t i = 0; i < ELEMENTS; i++)
		if (f32_bits(got[i]) != f32_bits(want[i]) && !(isnan(got[i]) && isnan(want[i])))
			fail_msg("%s to %s: element %zu is %a, not %a", from, to, i, (double)got[i],
			         (double)want[i]);
}

/* What the codec alone makes of the whole tensor. */
static void expect(const tn_file *f, tn_dtype to, float *want)
{
	static uint8_t bytes[8 * ELEMENTS];
	const struct value_codec *c = value_codec(to);
	size_t i;
	read_f32(f, "x", want, ELEMENTS);
	if (find(f, "x", &i).dtype == TN_F64 && c != NULL && c->elems == 1 && c->bytes < 4)
		value_f64_to_odd.decode(noisy, want, ELEMENTS);
	if (to == TN_APR_Q8) {
		float scale = apr_q8_scale(apr_q8_max(0, want, ELEMENTS));
		apr_q8_encode(scale, want, bytes, ELEMENTS);
		apr_q8_decode(scale, bytes, want, ELEMENTS);
		return;
	}
	c->encode(want, bytes, ELEMENTS);
	value_decode(c, bytes, want, ELEMENTS);
}

static void one_pair(const char *format, tn_dtype from, tn_dtype to)
{
	static float got[ELEMENTS], want[ELEMENTS];
	bool blocks = to >= TN_QFLOAT;
	tn_convert_options how = how_to(format, blocks ? TN_OPAQUE : to, blocks ? to : TN_OPAQUE);
	must_convert("in", &how);
	tn_file *in = open_file("in"), *out = open_file("out");
	size_t i;
	tn_tensor x = find(out, "x", &i);
	bool cast = !stays(from) && !(blocks && (from >= TN_QFLOAT || from == TN_F8_E8M0));
	assert_int_equal(x.dtype, cast ? to : from);
	assert_int_equal(x.rank, 2);
	if (cast) {
		expect(in, to, want);
		read_f32(out, "x", got, ELEMENTS);
		same_floats(got, want, tn_dtype_name(from), tn_dtype_name(to));
	} else {
		static uint8_t bytes[sizeof noisy];
		assert_int_equal(tn_read(out, i, 0, bytes, (size_t)x.nbytes, NULL), TN_OK);
		assert_memory_equal(host_to_file(from, bytes, (size_t)x.nbytes), noisy, (size_t)x.nbytes);
	}
	tn_close(in);
	tn_close(out);
}

static bool can_be_read(tn_dtype d)
{
	return value_codec(d) != NULL || d == TN_APR_Q8 || d == TN_C64;
}

static bool can_be_asked_for(tn_dtype d)
{
	return d == TN_APR_Q8 || (value_codec(d) != NULL && value_codec(d)->encode != NULL);
}

static void every_pair(void **state)
{
	(void)state;
	for (size_t k = 0; k < tn_format_count(); k++) {
		const char *format = tn_format_at(k).name;
		for (int from = 1; from < TN_DTYPES && tn_format_at(k).writes; from++) {
			if (!can_be_read((tn_dtype)from))
				continue;
			tn_writer *w = writer_of(format);
			uint64_t n = make_noise((tn_dtype)from);
			add(w, "x", (tn_dtype)from, 2, matrix, noisy, n);
			save(w, "in");
			for (int to = 1; to < TN_DTYPES; to++)
				if (can_be_asked_for((tn_dtype)to))
					one_pair(format, (tn_dtype)from, (tn_dtype)to);
		}
	}
}

/* ---- Which tensors are quantised ---- */

static void weights_only(void **state)
{
	static float zeros[2 * 256];
	const uint64_t w2[2] = { 2, 256 }, w3[3] = { 2, 2, 64 }, norm[1] = { 256 },
	               odd[2] = { 2, 33 }, one[1] = { 1 };
	const struct { const char *name; tn_dtype d; uint32_t rank; const uint64_t *shape; tn_dtype want, both; } t[] = {
		{ "w2", TN_F32, 2, w2, TN_Q8_0, TN_Q8_0 }, { "w3", TN_F16, 3, w3, TN_Q8_0, TN_Q8_0 },
		{ "norm", TN_F32, 1, norm, TN_F32, TN_BF16 }, { "odd", TN_F32, 2, odd, TN_F32, TN_BF16 },
		{ "ids", TN_I64, 1, one, TN_I64, TN_I64 }, { "scalar", TN_F32, 0, NULL, TN_F32, TN_BF16 },
		{ "q", TN_Q4_K, 2, w2, TN_Q4_K, TN_BF16 }, { "bool", TN_BOOL, 2, w2, TN_BOOL, TN_BOOL },
	};
	(void)state;
	tn_writer *w = writer_of("safetensors");
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		uint64_t n;
		assert_int_equal(tn_dtype_bytes(t[i].d, t[i].rank, t[i].shape, &n, NULL), TN_OK);
		add(w, t[i].name, t[i].d, t[i].rank, t[i].shape, zeros, n);
	}
	save(w, "in");
	for (int both = 0; both < 2; both++) {
		tn_convert_options how = how_to("safetensors", both ? TN_BF16 : TN_OPAQUE, TN_Q8_0);
		must_convert("in", &how);
		tn_file *out = open_file("out");
		for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
			size_t at;
			assert_int_equal(find(out, t[i].name, &at).dtype,
			                 both ? t[i].both : t[i].want);
		}
		tn_close(out);
	}
}

/* apr_q4 and apr_q8 lie in a line: no row has to fit. */
static void apr_takes_any_row(void **state)
{
	const uint64_t odd[2] = { 3, 33 };
	static float x[99], y[99];
	const tn_dtype both[] = { TN_APR_Q4, TN_APR_Q8 };
	(void)state;
	for (size_t i = 0; i < 99; i++)
		x[i] = (float)i - 49;
	for (int k = 0; k < 2; k++) {
		tn_writer *w = writer_of("burnpack");
		add_floats(w, "x", odd, x, sizeof x);
		save(w, "in");
		tn_convert_options how = how_to("burnpack", TN_OPAQUE, both[k]);
		must_convert("in", &how);
		tn_file *out = open_file("out");
		size_t at;
		assert_int_equal(find(out, "x", &at).nbytes, k == 0 ? 4 * 18 : 4 + 99);
		read_f32(out, "x", y, 99);
		for (size_t i = 0; i < 99; i++)
			assert_true(fabsf(x[i] - y[i]) <= (k == 0 ? 3.6f : 0.2f));
		tn_close(out);
	}
}

/* ---- Golden values ---- */

/* A file of block types becomes plain safetensors, with the values of the types' own decoders. */
static void blocks_to_plain_safetensors(void **state)
{
	const char *const names[] = { "q4_k-apr", "q6_k-apr", "apr_q4-apr", "q4_0-normal" };
	const tn_dtype types[] = { TN_Q4_K, TN_Q6_K, TN_APR_Q4, TN_Q4_0 };
	(void)state;
	for (size_t k = 0; k < 4; k++) {
		char path[400];
		size_t len, i;
		snprintf(path, sizeof path, "%s/values/%s.hex", TENON_TEST_DATA, names[k]);
		uint8_t *bytes = hextext_load(path, &len);
		uint64_t n = le32(bytes), skip = le32(bytes + 4) & 1 ? 4 * n : 0,
		         stored = len - 8 - skip - 4 * n;
		if (types[k] == TN_APR_Q4)
			n -= n % 32, stored = n / 32 * 18; /* a writer's blocks fill rows */
		const uint8_t *decoded = bytes + len - 4 * le32(bytes);
		tn_writer *w = writer_of("safetensors");
		add(w, "x", types[k], 1, &n, bytes + 8 + skip, stored);
		save(w, "in");
		tn_convert_options how = how_to("safetensors", TN_F32, TN_OPAQUE);
		how.write.carry = false;
		must_convert("in", &how);
		tn_file *out = open_file("out");
		assert_int_equal(find(out, "x", &i).dtype, TN_F32);
		assert_null(tn_meta_find(tn_metadata(out), tn_text("tenon.meta")));
		for (uint64_t e = 0; e < n; e++) {
			float got;
			assert_int_equal(tn_read_f32(out, i, e, &got, 1, NULL), TN_OK);
			assert_int_equal(f32_bits(got), le32(decoded + 4 * e));
		}
		tn_close(out);
		free(bytes);
	}
}

/* A scheme goes with its values; what else stands beside it stays. */
static void scheme_is_dropped(void **state)
{
	const uint64_t shape[1] = { 4 };
	uint8_t payload[8] = { 1, 2, 0xff, 0x80 };
	tn_error err;
	float x[4], want[4] = { 0.25f, 0.5f, -0.25f, -32 };
	uint64_t id;
	size_t i;
	(void)state;
	put_le32(payload + 4, f32_bits(0.25f));
	tn_writer *w = writer_of("burnpack");
	add(w, "x", TN_QFLOAT, 1, shape, payload, sizeof payload);
	tn_meta *q, *extras = tn_writer_extras(w, 0);
	assert_int_equal(tn_put_uint(w, extras, tn_text("param_id"), 7, 64, &err), TN_OK);
	assert_int_equal(tn_put_map(w, extras, tn_text("qfloat"), &q, &err), TN_OK);
	assert_int_equal(tn_put_string(w, q, tn_text("value"), tn_text("Q8F"), &err), TN_OK);
	assert_int_equal(tn_put_string(w, q, tn_text("store"), tn_text("Native"), &err), TN_OK);
	save(w, "in");
	tn_convert_options how = how_to("burnpack", TN_F32, TN_OPAQUE);
	must_convert("in", &how);
	tn_file *out = open_file("out");
	tn_tensor t = find(out, "x", &i);
	assert_int_equal(t.dtype, TN_F32);
	assert_null(tn_meta_find(t.extras, tn_text("qfloat")));
	assert_true(tn_meta_u64(tn_meta_find(t.extras, tn_text("param_id")), &id) && id == 7);
	read_f32(out, "x", x, 4);
	assert_memory_equal(x, want, sizeof x);
	tn_close(out);
}

/* What the format lacks is carried only when that is asked for, also in a file of its own that is
 * enveloped. */
static void carried_on_request(void **state)
{
	static float x[ELEMENTS];
	tn_converted done;
	tn_error err;
	(void)state;
	for (int enveloped = 0; enveloped < 2; enveloped++) {
		tn_writer *w = writer_of("safetensors");
		add_floats(w, "x", matrix, x, sizeof x);
		if (enveloped)
			add(w, "y", TN_FLEX32, 2, matrix, x, sizeof x);
		save(w, "in");
		tn_convert_options how = how_to("safetensors", TN_OPAQUE, TN_Q8_0);
		how.write.carry = false;
		assert_int_equal(convert("in", &how, &done, &err), TN_E_LOSSY);
		tn_report_free(done.report);
		how.quantize = TN_OPAQUE;
		must_convert("in", &how);
	}
}

/* ---- What is said ---- */

/* Of numbers of this host. */
static void says(tn_dtype from, const void *numbers, uint64_t n, uint64_t elements, tn_dtype dtype,
                 tn_dtype quantize, const char *warning, const char *note)
{
	const uint64_t shape[2] = { 1, elements };
	tn_converted done;
	tn_error err;
	tn_convert_options how = how_to("safetensors", dtype, quantize);
	tn_writer *w = writer_of("safetensors");
	add(w, "x", from, 2, shape, host_to_file(from, numbers, (size_t)n), n);
	save(w, "in");
	assert_int_equal(convert("in", &how, &done, &err), TN_OK);
	assert_int_equal(tn_report_of(done.report, TN_WARNING), warning != NULL);
	const char *found[2] = { NULL, NULL };
	for (size_t i = 0; i < tn_report_count(done.report); i++) {
		tn_finding f = tn_report_at(done.report, i);
		if (strncmp(f.text, "tensor 'x': ", 12) == 0)
			found[f.severity == TN_NOTE] = f.text;
	}
	const char *expected[2] = { warning, note };
	for (int k = 0; k < 2; k++) {
		assert_int_equal(found[k] != NULL, expected[k] != NULL);
		if (found[k] != NULL)
			assert_string_equal(found[k], expected[k]);
	}
	tn_report_free(done.report);
}

static void losses_are_counted(void **state)
{
	float x[32] = { 70000, -1e30f, 1, 0, -0.0f, 1e-30f };
	double wide[2] = { 1e300, (double)INFINITY };
	float one = 1, nan = f32_of(0x7fc12345), tiny[32] = { 1e-12f, 0, -1e-13f };
	(void)state;
	says(TN_F32, x, sizeof x, 32, TN_F16, TN_OPAQUE,
	     "tensor 'x': 2 values beyond the range of f16",
	     "tensor 'x': 1 value too small for f16");
	says(TN_F32, x, sizeof x, 32, TN_BF16, TN_OPAQUE, NULL, NULL);
	says(TN_F32, x, sizeof x, 32, TN_F8_E4M3, TN_OPAQUE,
	     "tensor 'x': 2 values beyond the range of f8_e4m3",
	     "tensor 'x': 1 value too small for f8_e4m3");
	says(TN_F64, wide, sizeof wide, 2, TN_F32, TN_OPAQUE,
	     "tensor 'x': 1 value beyond the range of f32", NULL);
	says(TN_F64, wide, sizeof wide, 2, TN_BF16, TN_OPAQUE,
	     "tensor 'x': 1 value beyond the range of bf16", NULL);
	says(TN_F32, &nan, sizeof nan, 1, TN_F16, TN_OPAQUE,
	     "tensor 'x': 1 value with a NaN that has another form in f16", NULL);
	says(TN_F32, tiny, sizeof tiny, 32, TN_OPAQUE, TN_Q4_0, NULL,
	     "tensor 'x': 2 values too small for q4_0");
	says(TN_F32, &one, sizeof one, 1, TN_F16, TN_OPAQUE, NULL, NULL);
}

static void refused(const tn_convert_options *how, tn_code code, const char *message)
{
	tn_converted done;
	tn_error err;
	assert_int_equal(convert("in", how, &done, &err), code);
	assert_string_equal(err.msg, message);
	tn_report_free(done.report);
}

static void refusals(void **state)
{
	const uint64_t four[1] = { 3 };
	static uint8_t bytes[1024];
	tn_writer *w = writer_of("safetensors");
	(void)state;
	add(w, "x", TN_QFLOAT, 1, four, bytes, 7);
	save(w, "in");
	tn_convert_options how = how_to("safetensors", TN_Q8_0, TN_OPAQUE);
	refused(&how, TN_E_USAGE, "q8_0 is no floating-point type that tensors can be cast to");
	how = how_to("safetensors", TN_I8, TN_OPAQUE);
	refused(&how, TN_E_USAGE, "i8 is no floating-point type that tensors can be cast to");
	how = how_to("safetensors", TN_OPAQUE, TN_Q4_K);
	refused(&how, TN_E_USAGE, "q4_k is no block type that weights can be quantised to");
	how = how_to("safetensors", TN_OPAQUE, TN_F16);
	refused(&how, TN_E_USAGE, "f16 is no block type that weights can be quantised to");
	how = how_to("safetensors", TN_F32, TN_OPAQUE);
	refused(&how, TN_E_UNSUPPORTED, "tensor 'x' cannot be decoded: its scheme is unknown");
	w = writer_of("safetensors");
	add(w, "x", TN_F32, 1, four, bytes, 12);
	save(w, "in");
	how = how_to("safetensors", (tn_dtype)TN_DTYPES, TN_OPAQUE);
	refused(&how, TN_E_USAGE, "opaque is no floating-point type that tensors can be cast to");
}

/* A cast reads its input while the output is written: over itself only by way of a temporary file.
 */
static void over_itself(void **state)
{
	static float x[ELEMENTS];
	tn_converted done;
	tn_error err;
	(void)state;
	tn_writer *w = writer_of("safetensors");
	add_floats(w, "x", matrix, x, sizeof x);
	save(w, "out");
	tn_convert_options how = how_to("safetensors", TN_F16, TN_OPAQUE);
	how.write.in_place = true;
	assert_int_equal(convert("out", &how, &done, &err), TN_E_USAGE);
	tn_report_free(done.report);
	how.write.in_place = false;
	how.dry_run = true;
	assert_int_equal(convert("out", &how, &done, &err), TN_OK);
	uint64_t size = done.size;
	tn_report_free(done.report);
	how.dry_run = false;
	assert_int_equal(convert("out", &how, &done, &err), TN_OK);
	assert_int_equal(done.size, size);
	tn_report_free(done.report);
	tn_file *f = open_file("out");
	assert_int_equal(tn_file_size(f), size);
	assert_int_equal(tn_tensor_at(f, 0).dtype, TN_F16);
	tn_close(f);
}

/* ---- Reading ---- */

static void read_bounds(void **state)
{
	static float x[ELEMENTS];
	float y[2];
	tn_error err;
	(void)state;
	tn_writer *w = writer_of("safetensors");
	x[ELEMENTS - 1] = 5;
	add_floats(w, "x", matrix, x, sizeof x);
	save(w, "in");
	tn_file *f = open_file("in");
	assert_int_equal(tn_read_f32(f, 0, ELEMENTS - 2, y, 2, &err), TN_OK);
	assert_true(y[1] > 4);
	assert_int_equal(tn_read_f32(f, 0, ELEMENTS, NULL, 0, &err), TN_OK);
	assert_int_equal(tn_read_f32(f, 0, ELEMENTS - 1, y, 2, &err), TN_E_USAGE);
	assert_string_equal(err.msg, "2 elements from 1535 of tensor 'x', which has 1536");
	assert_int_equal(tn_read_f32(f, 0, UINT64_MAX, y, 2, &err), TN_E_USAGE);
	assert_int_equal(tn_read_f32(f, 1, 0, y, 1, &err), TN_E_USAGE);
	tn_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pair),
		cmocka_unit_test(weights_only),
		cmocka_unit_test(apr_takes_any_row),
		cmocka_unit_test(blocks_to_plain_safetensors),
		cmocka_unit_test(scheme_is_dropped),
		cmocka_unit_test(carried_on_request),
		cmocka_unit_test(losses_are_counted),
		cmocka_unit_test(refusals),
		cmocka_unit_test(over_itself),
		cmocka_unit_test(read_bounds),
	};
	return cmocka_run_group_tests(tests, tempdir_enter, tempdir_leave);
}
