/* test_value.c - every vector of tests/values, both ways, bit for bit; and laws that hold for all
 * codecs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "model/dtype.h"
#include "support/files.h"
#include "support/hextext.h"
#include "value/value.h"

#include <cmocka.h>

#define VECTORS TENON_TEST_DATA "/values"

struct vector {
	const char    *name;   /* for messages */
	tn_dtype       dtype;
	size_t         n;
	const uint8_t *src, *stored, *decoded; /* NULL: not given */
	size_t         n_stored;
};

static struct vector vector_of(const char *path, const uint8_t *bytes, size_t len)
{
	struct vector v = { .name = strrchr(path, '/') + 1 };
	char type[16];
	size_t n = strcspn(v.name, "-");
	assert_true(n < sizeof type && len >= 8);
	memcpy(type, v.name, n);
	type[n] = '\0';
	if (!tn_dtype_named(type, &v.dtype))
		fail_msg("%s: no type", v.name);
	uint32_t parts = le32(bytes + 4);
	v.n = le32(bytes);
	size_t floats = 4 * v.n;
	v.src = parts & 1 ? bytes + 8 : NULL;
	v.stored = bytes + 8 + (v.src != NULL ? floats : 0);
	v.decoded = parts & 2 ? bytes + len - floats : NULL;
	v.n_stored = (size_t)(bytes + len - v.stored) - (v.decoded != NULL ? floats : 0);
	return v;
}

/* A block in a malloc of its own, so that a sanitizer sees a step too far. */
static void *exactly(const void *from, size_t n)
{
	void *p = malloc(n != 0 ? n : 1);
	assert_non_null(p);
	if (from != NULL)
		memcpy(p, from, n);
	return p;
}

static bool is_nan(uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000; }

static void compare_floats(const struct vector *v, const float *got, const uint8_t *want)
{
	for (size_t i = 0; i < v->n; i++) {
		uint32_t g = f32_bits(got[i]), w = le32(want + 4 * i);
		if (g != w && !(is_nan(g) && is_nan(w)))
			fail_msg("%s: value %zu is %08x, not %08x", v->name, i, g, w);
	}
}

static float *floats_of(const uint8_t *bytes, size_t n)
{
	float *x = exactly(NULL, n * sizeof *x);
	for (size_t i = 0; i < n; i++)
		x[i] = f32_of(le32(bytes + 4 * i));
	return x;
}

static void decode(const struct vector *v)
{
	float *out = exactly(NULL, v->n * sizeof *out);
	uint8_t *in = exactly(v->stored, v->n_stored);
	if (v->dtype == TN_APR_Q8)
		apr_q8_decode(f32_of(le32(in)), in + 4, out, v->n);
	else
		value_decode(value_codec(v->dtype), in, out, v->n);
	compare_floats(v, out, v->decoded);
	free(in);
	free(out);
}

static void encode(const struct vector *v)
{
	float *x = floats_of(v->src, v->n);
	uint8_t *out = exactly(NULL, v->n_stored);
	if (v->dtype == TN_APR_Q8) {
		float scale = apr_q8_scale(apr_q8_max(0, x, v->n));
		put_le32(out, f32_bits(scale));
		apr_q8_encode(scale, x, out + 4, v->n);
	} else {
		value_codec(v->dtype)->encode(x, out, v->n);
	}
	for (size_t i = 0; i < v->n_stored; i++)
		if (out[i] != v->stored[i])
			fail_msg("%s: byte %zu is %02x, not %02x", v->name, i, out[i],
			         v->stored[i]);
	free(out);
	free(x);
}

static void vectors(void **state)
{
	(void)state;
	struct file_list all = files_below(VECTORS, ".hex");
	assert_true(all.n > 50);
	for (size_t i = 0; i < all.n; i++) {
		size_t len;
		uint8_t *bytes = hextext_load(all.paths[i], &len);
		struct vector v = vector_of(all.paths[i], bytes, len);
		if (v.decoded != NULL)
			decode(&v);
		if (v.src != NULL)
			encode(&v);
		free(bytes);
	}
	files_free(&all);
}

/* ---- Laws ---- */

/* Codecs and the table of types agree about blocks. */
static void sizes(void **state)
{
	(void)state;
	for (int d = 0; d < TN_DTYPES; d++) {
		const struct value_codec *c = value_codec((tn_dtype)d);
		const struct dtype_info *info = dtype_info((tn_dtype)d);
		if (c == NULL)
			continue;
		if (info->class == DTYPE_BLOCK) {
			assert_int_equal(c->elems, info->block_elems);
			assert_int_equal(c->bytes, info->block_bytes);
		} else {
			assert_int_equal(info->class, DTYPE_PLAIN);
			assert_int_equal(c->bytes * 8, c->elems * info->bits);
		}
		assert_int_equal(VALUE_BLOCK % c->elems, 0);
	}
}

static uint32_t noise(void)
{
	static uint32_t x = 1;
	x = x * 1664525 + 1013904223;
	return x ^ x >> 15;
}

/* Blocks of random bits are decoded, all of them and in part, without a step outside. */
static void random_blocks(void **state)
{
	(void)state;
	for (int d = 0; d < TN_DTYPES; d++) {
		const struct value_codec *c = value_codec((tn_dtype)d);
		for (size_t blocks = 1; c != NULL && blocks <= 9; blocks++) {
			size_t n = blocks * c->elems, part = n - noise() % c->elems;
			uint8_t *in = exactly(NULL, blocks * c->bytes);
			float *whole = exactly(NULL, n * sizeof *whole),
			      *some = exactly(NULL, part * sizeof *some);
			for (size_t i = 0; i < blocks * c->bytes; i++)
				in[i] = (uint8_t)(noise() >> 8);
			value_decode(c, in, whole, n);
			value_decode(c, in, some, part);
			assert_memory_equal(some, whole, part * sizeof *some);
			free(some);
			free(whole);
			free(in);
		}
	}
}

/* Encoding any bits at all does no more than it should; and zeros come back as zeros. */
static void random_floats(void **state)
{
	(void)state;
	for (int d = 0; d < TN_DTYPES; d++) {
		const struct value_codec *c = value_codec((tn_dtype)d);
		if (c == NULL || c->encode == NULL)
			continue;
		size_t n = 8 * VALUE_BLOCK, bytes = n / c->elems * c->bytes;
		float *x = exactly(NULL, n * sizeof *x);
		uint8_t *out = exactly(NULL, bytes);
		for (size_t i = 0; i < n; i++)
			x[i] = f32_of(noise() ^ noise() << 16);
		c->encode(x, out, n);
		memset(x, 0, n * sizeof *x);
		c->encode(x, out, n);
		value_decode(c, out, x, n);
		for (size_t i = 0; i < n; i++)
			if (f32_bits(x[i]) << 1 != 0)
				fail_msg("%s: zero became %08x", tn_dtype_name((tn_dtype)d),
				         f32_bits(x[i]));
		free(out);
		free(x);
	}
}

/* A tamed block has no scale that is no number; nothing else of it changes. */
static void tame(void **state)
{
	uint8_t q4[2 * 144], q6[210], kept[sizeof q4];
	(void)state;
	memset(q4, 0x7c, sizeof q4); /* f16 0x7c7c is NaN */
	memset(q6, 0xfc, sizeof q6);
	memcpy(kept, q4, sizeof q4);
	value_tame(TN_Q5_K, q4, 1);
	assert_memory_equal(q4, kept, sizeof q4);
	value_tame(TN_Q4_K, q4, 2);
	for (size_t i = 0; i < sizeof q4; i++)
		assert_int_equal(q4[i], i % 144 < 4 ? 0 : 0x7c);
	value_tame(TN_Q6_K, q6, 1);
	for (size_t i = 0; i < sizeof q6; i++)
		assert_int_equal(q6[i], i >= 208 ? 0 : 0xfc);
	put_le16(q6 + 208, 0x7bff); /* the largest finite one */
	value_tame(TN_Q6_K, q6, 1);
	assert_int_equal(le16(q6 + 208), 0x7bff);
}

/* One of each kind of loss at the start, in the middle and at the end of more values than are
 * counted at once. */
static void losses(void **state)
{
	enum { N = 10000 };
	static float before[N], after[N];
	const size_t at[] = { 0, 4095, 4096, N - 1 };
	const uint32_t inf = 0x7f800000, nan = 0x7fc00001;
	const struct {
		uint32_t x, y;
		int kind;
	} cases[] = {
		/* kind: 0 none, 1 range, 2 nan, 3 vanished */
		{ 0x3f800000, inf, 1 },
		{ 0x3f800000, nan, 1 },
		{ 0xbf800000, 0xff800000, 1 },
		{ inf, 0x7f7fffff, 1 },
		{ inf, 0xff800000, 1 },
		{ inf, inf, 0 },
		{ nan, nan, 0 },
		{ nan, 0x7fc00000, 2 },
		{ nan, inf, 2 },
		{ 0x3f800000, 0, 3 },
		{ 0x00000001, 0x80000000, 3 },
		{ 0x80000000, 0, 0 },
		{ 0x3f800000, 0x40000000, 0 },
	};
	(void)state;
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
		for (size_t k = 0; k < 4; k++) {
			struct value_losses l = { 0, 0, 0 };
			before[at[k]] = f32_of(cases[c].x);
			after[at[k]] = f32_of(cases[c].y);
			value_compare(before, after, N, 1, &l);
			assert_int_equal(l.range, cases[c].kind == 1);
			assert_int_equal(l.nan, cases[c].kind == 2);
			assert_int_equal(l.vanished, cases[c].kind == 3);
			before[at[k]] = after[at[k]] = 0;
		}
}

/* In a block a value may become 0 as long as another does not; the last block may be partly used.
 */
static void losses_of_blocks(void **state)
{
	float before[70], after[70];
	struct value_losses l = { 0, 0, 0 };
	(void)state;
	for (size_t i = 0; i < 70; i++)
		before[i] = 1, after[i] = i == 5;
	value_compare(before, after, 70, 32, &l);
	assert_int_equal(l.vanished, 38);
	assert_int_equal(l.range + l.nan, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors),
		cmocka_unit_test(sizes),
		cmocka_unit_test(random_blocks),
		cmocka_unit_test(random_floats),
		cmocka_unit_test(tame),
		cmocka_unit_test(losses),
		cmocka_unit_test(losses_of_blocks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
