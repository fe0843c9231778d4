/* test_values.c - tensors as f32: any range of any type, and burnpack's schemes against a formula
 * for one element. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "io/values.h"

#include <cmocka.h>

enum { ROOM = 1 << 18, GUARD = 3 };

static uint8_t      room[ROOM];
static struct arena mem;

static uint32_t noise(void)
{
	static uint32_t x = 3;
	x = x * 1664525 + 1013904223;
	return x >> 8;
}

static int set_up(void **state)
{
	(void)state;
	arena_init(&mem, 0);
	for (size_t i = 0; i < sizeof room; i++)
		room[i] = (uint8_t)noise();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_fini(&mem);
	return 0;
}

/* A tensor that starts GUARD bytes into a file that ends with it. */
static struct tensor tensor_of(tn_dtype d, uint32_t rank, const uint64_t *shape, uint64_t nbytes)
{
	return (struct tensor){
		.name = VIEW("t"),
		.dtype = d,
		.dtype_text = VIEW("weird"),
		.rank = rank,
		.shape = shape,
		.nbytes = nbytes,
		.offset = GUARD,
		.stored = nbytes,
	};
}

static struct reader reader_of(const struct tensor *t)
{
	assert_true(t->nbytes + GUARD <= sizeof room);
	return (struct reader){ .map = { room, (size_t)t->nbytes + GUARD },
		                .size = t->nbytes + GUARD };
}

static float *read_all(const struct tensor *t, size_t *n)
{
	static struct values v;
	tn_error err = { .code = TN_OK };
	struct reader r = reader_of(t);
	if (values_open(&v, &r, t, &err) != TN_OK)
		fail_msg("%s", err.msg);
	*n = (size_t)v.elements;
	float *out = malloc(*n * sizeof *out + 1);
	assert_non_null(out);
	if (values_read(&v, 0, out, *n, &err) != TN_OK)
		fail_msg("%s", err.msg);
	return out;
}

/* Random ranges, read by one reader, are the same as in the whole. */
static void ranges(const struct tensor *t)
{
	static struct values v;
	tn_error err = { .code = TN_OK };
	struct reader r = reader_of(t);
	size_t n;
	float *whole = read_all(t, &n), *part = malloc(n * sizeof *part + 1);
	assert_non_null(part);
	assert_int_equal(values_open(&v, &r, t, &err), TN_OK);
	for (int round = 0; round < 60; round++) {
		size_t first = noise() % (n + 1), count = noise() % (n - first + 1);
		assert_int_equal(values_read(&v, first, part, count, &err), TN_OK);
		if (memcmp(part, whole + first, count * sizeof *part) != 0)
			fail_msg("%s: %zu elements from %zu differ", tn_dtype_name(t->dtype), count,
			         first);
	}
	free(part);
	free(whole);
}

static void ranges_of_all_types(void **state)
{
	const uint64_t shape[2] = { 21, 1024 }, line[1] = { 12345 };
	(void)state;
	for (int d = 0; d < TN_DTYPES; d++) {
		uint64_t bytes;
		tn_error err = { .code = TN_OK };
		if (value_codec((tn_dtype)d) == NULL && d != TN_APR_Q8)
			continue;
		assert_int_equal(dtype_bytes((tn_dtype)d, BLOCK_FLAT, 2, shape, &bytes, &err),
		                 TN_OK);
		struct tensor t = tensor_of((tn_dtype)d, 2, shape, bytes);
		ranges(&t);
	}
	/* blocks in a line, the last one partly used */
	const tn_dtype flat[] = { TN_APR_Q4, TN_Q4_K, TN_Q6_K };
	for (size_t i = 0; i < 3; i++) {
		uint64_t bytes;
		assert_int_equal(dtype_bytes(flat[i], BLOCK_FLAT, 1, line, &bytes, NULL), TN_OK);
		struct tensor t = tensor_of(flat[i], 1, line, bytes);
		ranges(&t);
	}
}

static void scale_in_front(void **state)
{
	const uint64_t shape[1] = { 3 };
	size_t n;
	(void)state;
	put_le32(room + GUARD, f32_bits(0.5f));
	memcpy(room + GUARD + 4, "\x01\xff\x80", 3);
	struct tensor t = tensor_of(TN_APR_Q8, 1, shape, 7);
	float *x = read_all(&t, &n), want[3] = { 0.5f, -0.5f, -64 };
	assert_int_equal(n, 3);
	assert_memory_equal(x, want, sizeof want);
	free(x);
}

static void no_elements(void **state)
{
	const uint64_t shape[2] = { 0, 7 };
	const tn_dtype some[] = { TN_F32, TN_APR_Q8, TN_APR_Q4, TN_Q4_K };
	size_t n;
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct tensor t = tensor_of(some[i], 2, shape, 0);
		free(read_all(&t, &n));
		assert_int_equal(n, 0);
	}
}

/* A scale that is no number counts as 0 where the tensor says so. */
static void finite_scales(void **state)
{
	const uint64_t shape[1] = { 256 };
	size_t n;
	(void)state;
	struct tensor t = tensor_of(TN_Q6_K, 1, shape, 210);
	memset(room + GUARD, 0x11, 208);
	put_le16(room + GUARD + 208, 0x7e00);
	float *x = read_all(&t, &n);
	assert_true(isnan(x[0]));
	free(x);
	t.finite_scales = true;
	x = read_all(&t, &n);
	for (size_t i = 0; i < n; i++)
		assert_true(fabsf(x[i]) < 1e-9f);
	free(x);
}

/* ---- QFloat ---- */

struct spec {
	const char *value, *store, *tensor, *block;
	uint64_t    packed_dim;
	uint32_t    rank, n_size;
	uint64_t    shape[3];
	uint8_t     size[3];
	bool        runs;
};

static unsigned bits_of(const char *value)
{
	return strchr(value, '8') != NULL || value[0] == 'E' ? (strcmp(value, "E2M1") == 0 ? 4 : 8)
	       : value[1] == '4'                             ? 4
	                                                     : 2;
}

static unsigned per_unit(const struct spec *s)
{
	if (strcmp(s->store, "PackedU32") == 0)
		return 32 / bits_of(s->value);
	return strcmp(s->store, "PackedNative") == 0 && strcmp(s->value, "E2M1") == 0 ? 2 : 1;
}

static unsigned scale_bytes(const char *scale)
{
	return scale == NULL ? 0 : strcmp(scale, "F32") == 0 ? 4 : scale[0] == 'U' ? 1 : 2;
}

static uint64_t dim_of(const struct spec *s, uint32_t d, bool stored)
{
	bool packed = per_unit(s) > 1 && d + 1 + s->packed_dim == s->rank;
	return stored && packed ? (s->shape[d] + per_unit(s) - 1) / per_unit(s) : s->shape[d];
}

static uint64_t extent(const struct spec *s, uint32_t d)
{
	if (s->n_size >= s->rank)
		return s->size[d];
	return d < s->rank - s->n_size ? 1 : s->size[d - (s->rank - s->n_size)];
}

static uint64_t product(const struct spec *s, bool stored)
{
	uint64_t n = 1;
	for (uint32_t d = 0; d < s->rank; d++)
		n *= dim_of(s, d, stored);
	return n;
}

static uint64_t run_of(const struct spec *s)
{
	uint64_t n = 1;
	for (uint32_t i = 0; i < s->n_size; i++)
		n *= s->size[i];
	return n;
}

static uint64_t scale_count(const struct spec *s)
{
	uint64_t n = 1;
	if (s->block != NULL && s->runs)
		return product(s, false) / run_of(s);
	for (uint32_t d = 0; d < s->rank && s->block != NULL; d++)
		n *= (s->shape[d] + extent(s, d) - 1) / extent(s, d);
	return n;
}

static unsigned unit_bytes(const struct spec *s)
{
	return strcmp(s->store, "PackedU32") == 0 ? 4 : 1;
}

static const char *scale_type(const struct spec *s)
{
	return s->block != NULL ? s->block : s->tensor != NULL ? s->tensor : "F32";
}

static double scale_at(const char *type, const uint8_t *p)
{
	if (strcmp(type, "F32") == 0)
		return (double)f32_of(le32(p));
	if (strcmp(type, "BF16") == 0)
		return (double)f32_of((uint32_t)le16(p) << 16);
	if (strcmp(type, "UE8M0") == 0)
		return ldexp(1, *p - 127);
	if (strcmp(type, "UE4M3") == 0)
		return (*p & 0x7f) < 8 ? ldexp(*p & 7, -9)
		                       : ldexp(8 + (*p & 7), (*p >> 3 & 15) - 10);
	unsigned h = le16(p), e = h >> 10 & 31;
	return e == 0 ? ldexp(h & 1023, -24) : ldexp(1024 + (h & 1023), (int)e - 25);
}

static double value_of(const char *value, unsigned code)
{
	const double e2m1[8] = { 0, .5, 1, 1.5, 2, 3, 4, 6 };
	if (strcmp(value, "E2M1") == 0)
		return code & 8 ? -e2m1[code & 7] : e2m1[code & 7];
	if (value[0] == 'E') {
		int mantissa = value[3] - '0', bias = mantissa == 3 ? 7 : 15,
		    e = (int)(code & 0x7f) >> mantissa;
		int fraction = (int)code & ((1 << mantissa) - 1),
		    whole = e > 0 ? fraction + (1 << mantissa) : fraction;
		double v = ldexp(whole, (e > 0 ? e : 1) - bias - mantissa);
		return code & 0x80 ? -v : v;
	}
	unsigned bits = bits_of(value);
	return code >> (bits - 1) ? (double)code - (double)(1u << bits) : (double)code;
}

/* Element i by its coordinates, as the specification has it. */
static double element(const struct spec *s, const uint8_t *payload, uint64_t i)
{
	uint64_t unit = 0, scale = 0, field = 0, at[3] = { 0 }, rest = i;
	for (uint32_t d = s->rank; d-- > 0; rest /= s->shape[d])
		at[d] = rest % s->shape[d];
	for (uint32_t d = 0; d < s->rank; d++) {
		bool packed = dim_of(s, d, true) != s->shape[d] ||
		              (per_unit(s) > 1 && d + 1 + s->packed_dim == s->rank);
		unit = unit * dim_of(s, d, true) + (packed ? at[d] / per_unit(s) : at[d]);
		field = packed ? at[d] % per_unit(s) : field;
		if (s->block != NULL)
			scale = scale * ((s->shape[d] + extent(s, d) - 1) / extent(s, d)) +
			        at[d] / extent(s, d);
	}
	if (s->block != NULL && s->runs)
		scale = i / run_of(s);
	const uint8_t *p = payload + unit * unit_bytes(s),
	              *scales = payload + product(s, true) * unit_bytes(s);
	uint32_t word = unit_bytes(s) == 4 ? le32(p) : *p;
	unsigned code = word >> field * bits_of(s->value) & ((1u << bits_of(s->value)) - 1);
	double x = scale_at(scale_type(s), scales + scale * scale_bytes(scale_type(s)));
	if (s->block != NULL && s->tensor != NULL)
		x = (double)(float)(x * scale_at(s->tensor,
		                                 scales + scale_count(s) * scale_bytes(s->block)));
	return (double)(float)(x * value_of(s->value, code));
}

static struct tn_meta *extras_of(const struct spec *s)
{
	struct tn_meta *extras = meta_new(&mem, TN_META_MAP),
	               *map = meta_add_map(&mem, extras, VIEW("qfloat"));
	meta_add_string(&mem, map, VIEW("value"), tn_text(s->value));
	meta_add_string(&mem, map, VIEW("store"), tn_text(s->store));
	if (strcmp(s->store, "Native") != 0)
		meta_add_uint(&mem, map, VIEW("packed_dim"), s->packed_dim, 64);
	meta_add_string(&mem, map, VIEW("mode"), VIEW("Symmetric"));
	if (s->tensor != NULL)
		meta_add_string(&mem, map, VIEW("tensor"), tn_text(s->tensor));
	if (s->block != NULL) {
		struct tn_meta *block = meta_add_map(&mem, map, VIEW("block"));
		struct tn_meta *size = meta_add_array(&mem, block, VIEW("size"));
		for (uint32_t i = 0; i < s->n_size; i++)
			meta_add_uint(&mem, size, NO_TENSOR, s->size[i], 8);
		meta_add_string(&mem, block, VIEW("dtype"), tn_text(s->block));
	}
	if (s->runs)
		meta_add_string(&mem, map, VIEW("layout"), VIEW("runs"));
	return extras;
}

/* Random values, but scales that are small positive numbers in every type, and values that are no
 * NaN. */
static void make_payload(const struct spec *s, const struct tensor *t)
{
	uint8_t *payload = room + GUARD;
	uint64_t values = product(s, true) * unit_bytes(s);
	for (uint64_t i = 0; i < t->nbytes; i++)
		payload[i] = (uint8_t)noise();
	if (s->value[0] == 'E' && strcmp(s->value, "E2M1") != 0)
		for (uint64_t i = 0; i < values; i++)
			payload[i] &= 0xbf;
	unsigned width = scale_bytes(scale_type(s));
	for (uint64_t i = 0; i < scale_count(s); i++)
		payload[values + i * width + width - 1] = width == 1
		                                                  ? (uint8_t)(0x20 + noise() % 0x40)
		                                                  : (uint8_t)(0x38 + noise() % 4);
	if (s->block != NULL && s->tensor != NULL)
		put_le32(payload + t->nbytes - 4, f32_bits(0.75f));
}

static void check_spec(const struct spec *s)
{
	uint64_t bytes = product(s, true) * unit_bytes(s) +
	                 scale_count(s) * scale_bytes(scale_type(s)) +
	                 (s->block != NULL ? scale_bytes(s->tensor) : 0);
	struct tensor t = tensor_of(TN_QFLOAT, s->rank, s->shape, bytes);
	size_t n;
	t.extras = extras_of(s);
	make_payload(s, &t);
	float *x = read_all(&t, &n);
	assert_int_equal(n, product(s, false));
	for (size_t i = 0; i < n; i++) {
		double want = element(s, room + GUARD, i);
		if (fabs((double)x[i] - want) > 0)
			fail_msg("%s %s(%u) %s/%s element %zu: %g, not %g", s->value, s->store,
			         (unsigned)s->packed_dim, s->tensor ? s->tensor : "-",
			         s->block ? s->block : "-", i, (double)x[i], want);
	}
	free(x);
	ranges(&t);
}

static const char *const values[] = { "Q8F", "Q8S",  "E5M2", "E4M3", "Q4F",
	                              "Q4S", "E2M1", "Q2F",  "Q2S" };
static const char *const stores[] = { "Native", "PackedNative", "PackedU32" };
enum { VALUES = sizeof values / sizeof *values, STORES = sizeof stores / sizeof *stores };

static void every_value_and_store(void **state)
{
	const char *const scales[] = { NULL, "F32", "F16", "BF16", "UE8M0", "UE4M3" };
	(void)state;
	for (size_t v = 0; v < VALUES; v++)
		for (size_t st = 0; st < STORES; st++)
			for (size_t sc = 0; sc < 6; sc++)
				for (uint64_t dim = 0; dim < (st == 0 ? 1 : 3); dim++) {
					struct spec s = {
						.value = values[v], .store = stores[st], .tensor = scales[sc], .packed_dim = dim, .rank = 3,
						.shape = { 5, 3, 37 },
					};
					check_spec(&s);
				}
}

static void every_kind_of_block(void **state)
{
	const struct spec shapes[] = {
		{ .rank = 1, .shape = { 100 }, .n_size = 1, .size = { 16 } },
		{ .rank = 2, .shape = { 7, 70 }, .n_size = 1, .size = { 32 } },
		{ .rank = 2, .shape = { 7, 70 }, .n_size = 2, .size = { 3, 8 } },
		{ .rank = 3, .shape = { 4, 6, 10 }, .n_size = 2, .size = { 2, 5 } },
		{ .rank = 3, .shape = { 4, 6, 10 }, .n_size = 0 },
		{ .rank = 1, .shape = { 40 }, .n_size = 3, .size = { 4, 2, 2 } }, /* the first counts */
		{ .rank = 2, .shape = { 6, 20 }, .n_size = 2, .size = { 2, 10 }, .runs = true },
	};
	(void)state;
	for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
		for (size_t v = 0; v < VALUES; v++)
			for (size_t st = 0; st < STORES; st++)
				for (int both = 0; both < 2; both++) {
					struct spec s = shapes[k];
					s.value = values[v];
					s.store = stores[st];
					s.block = v % 2 == 0 ? "UE4M3" : "F16";
					s.tensor = both ? "F32" : NULL;
					check_spec(&s);
				}
}

static void scalar(void **state)
{
	(void)state;
	for (size_t st = 0; st < STORES; st++) {
		struct spec s = { .value = "Q4S", .store = stores[st] };
		check_spec(&s);
	}
}

/* ---- Refusals ---- */

static void refuse(const struct tensor *t, tn_code code, const char *says)
{
	static struct values v;
	tn_error err = { .code = TN_OK };
	struct reader r = reader_of(t);
	assert_int_equal(values_open(&v, &r, t, &err), code);
	assert_string_equal(err.msg, says);
}

static void undecodable_types(void **state)
{
	const uint64_t shape[1] = { 256 }, huge[2] = { UINT64_MAX, 2 };
	(void)state;
	struct tensor t = tensor_of(TN_C64, 1, shape, 2048);
	refuse(&t, TN_E_UNSUPPORTED, "tensor 't': c64 cannot be decoded to f32");
	t = tensor_of(TN_OPAQUE, 1, shape, 7);
	refuse(&t, TN_E_UNSUPPORTED, "tensor 't': weird cannot be decoded to f32");
	t = tensor_of(TN_F32, 2, huge, 8);
	refuse(&t, TN_E_LIMIT, "tensor 't': shape overflows 64 bits");
	t = tensor_of(TN_F32, 1, shape, 1023);
	refuse(&t, TN_E_CORRUPT, "tensor 't' has 1023 bytes, its shape takes 1024");
	t = tensor_of(TN_APR_Q8, 1, shape, 256);
	refuse(&t, TN_E_CORRUPT, "tensor 't' has 256 bytes, its shape takes 260");
}

static struct tn_meta *scheme_with(const char *key, tn_view text)
{
	struct spec s = { .value = "Q8S",
		          .store = "Native",
		          .block = "F32",
		          .rank = 1,
		          .shape = { 8 },
		          .n_size = 1,
		          .size = { 4 } };
	struct tn_meta *extras = extras_of(&s), *map = meta_find(extras, VIEW("qfloat")), *node;
	meta_remove(map, tn_text(key));
	if (text.ptr != NULL) {
		node = meta_new(&mem, TN_META_STRING);
		node->as.s = text;
		meta_set(map, tn_text(key), node);
	}
	return extras;
}

static void undecodable_schemes(void **state)
{
	const uint64_t shape[1] = { 8 };
	struct tensor t = tensor_of(TN_QFLOAT, 1, shape, 16);
	(void)state;
#define UNKNOWN "tensor 't' cannot be decoded: its scheme is unknown"
	refuse(&t, TN_E_UNSUPPORTED, UNKNOWN);
	const struct { const char *key; tn_view text; } unknown[] = {
		{ "value", VIEW("Q3") }, { "value", { NULL, 0 } }, { "store", VIEW("Odd") }, { "tensor", VIEW("F8") },
		{ "block", VIEW("F32") }, { "packed_dim", VIEW("x") },
	};
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
		t.extras = scheme_with(unknown[i].key, unknown[i].text);
		refuse(&t, TN_E_UNSUPPORTED, UNKNOWN);
	}
	t.extras = scheme_with("mode", VIEW("Lookup"));
	refuse(&t, TN_E_UNSUPPORTED,
	       "tensor 't' cannot be decoded: its values are looked up in a table that does not "
	       "travel with it");
	t.extras = scheme_with("layout", VIEW("uncertain"));
	refuse(&t, TN_E_UNSUPPORTED,
	       "tensor 't' cannot be decoded: it cannot be told how the blocks of this old file "
	       "lie");
	t.extras = scheme_with("none", (tn_view){ NULL, 0 });
	t.nbytes = 17;
	refuse(&t, TN_E_UNSUPPORTED,
	       "tensor 't' cannot be decoded: its payload is not of the length that its scheme "
	       "asks for");
}

/* Extents and dimensions at the edge of their types. */
static void hostile_schemes(void **state)
{
	static const uint64_t shape[3] = { (uint64_t)1 << 40, 1 << 20, 16 }, thin[3] = { 1, 1, 8 };
	struct spec s = { .value = "Q4S",
		          .store = "PackedU32",
		          .packed_dim = 7,
		          .rank = 3,
		          .shape = { 1, 1, 8 } };
	struct tensor t = tensor_of(TN_QFLOAT, 3, shape, 16);
	(void)state;
	t.extras = extras_of(&s);
#define LENGTH                                                                                     \
	"tensor 't' cannot be decoded: its payload is not of the length that its scheme asks for"
	refuse(&t, TN_E_LIMIT, "tensor 't': shape overflows 64 bits");
	t = tensor_of(TN_QFLOAT, 3, thin, 8);
	t.extras = extras_of(&s);
	refuse(&t, TN_E_UNSUPPORTED, LENGTH); /* packed along a dimension that there is not */
	s = (struct spec){ .value = "Q4S",
		           .store = "Native",
		           .block = "F32",
		           .rank = 3,
		           .shape = { 1, 1, 8 },
		           .n_size = 1,
		           .size = { 3 },
		           .runs = true };
	t = tensor_of(TN_QFLOAT, 3, thin, 16);
	t.extras = extras_of(&s);
	refuse(&t, TN_E_UNSUPPORTED, LENGTH); /* 8 elements are no whole runs of 3 */
}

/* Elements without bytes: refused whatever the type, since there is nothing to hand out. */
static void elements_without_bytes(void **state)
{
	static const uint64_t one[] = { 1 }, none[] = { 0 };
	static const tn_dtype types[] = { TN_F32, TN_Q8_0, TN_APR_Q8, TN_QFLOAT, TN_OPAQUE };
	static struct values v;
	(void)state;
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
		struct tensor t = tensor_of(types[i], 1, one, 0);
		struct reader r = reader_of(&t);
		tn_error err = { .code = TN_OK };
		t.enc = ENC_NONE;
		assert_int_not_equal(values_open(&v, &r, &t, &err), TN_OK);
	}
	struct tensor t = tensor_of(TN_F32, 1, none, 0);
	struct reader r = reader_of(&t);
	tn_error err = { .code = TN_OK };
	t.enc = ENC_NONE;
	assert_int_equal(values_open(&v, &r, &t, &err), TN_OK);
	assert_int_equal(v.elements, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_of_all_types),
		cmocka_unit_test(scale_in_front),
		cmocka_unit_test(no_elements),
		cmocka_unit_test(finite_scales),
		cmocka_unit_test(every_value_and_store),
		cmocka_unit_test(every_kind_of_block),
		cmocka_unit_test(scalar),
		cmocka_unit_test(undecodable_types),
		cmocka_unit_test(undecodable_schemes),
		cmocka_unit_test(hostile_schemes),
		cmocka_unit_test(elements_without_bytes),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
