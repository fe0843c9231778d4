/* test_cast.c - a cast as a source: its length is kept, whatever fails is told, and nothing stays
 * behind. tests/matrix/cast.c has the values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "support/fault_mem.h"

#include "base/bytes.h"
#include "io/cast.h"
#include "io/sink.h"

#include <string.h>

#include <cmocka.h>

enum { N = 40000, IN = 4 * N, OUT = 8 * N };

static uint8_t in[IN], out[OUT];
static const uint64_t shape[2] = { 2, N / 2 };

static struct tensor tensor_f32(void)
{
	return (struct tensor){
		.name = VIEW("t"),
		.dtype = TN_F32,
		.rank = 2,
		.shape = shape,
		.nbytes = IN,
		.stored = IN,
	};
}

/* Casts all N values to a type, with two of them too large for f16. */
static tn_code cast(tn_dtype to, uint64_t size, uint64_t *len, size_t *findings, tn_error *err)
{
	struct reader r = { .map = { in, (size_t)size }, .size = size };
	struct tensor t = tensor_f32();
	struct source s = { .kind = SOURCE_RANGE, .len = IN, .from = &r };
	struct tn_report report;
	struct arena mem;
	struct sink sink;
	err_clear(err);
	arena_init(&mem, 0);
	report_init(&report);
	put_le32(in, f32_bits(1e9f));
	put_le32(in + IN - 4, f32_bits(-1e9f));
	if (cast_tensor(&t, &s, to, &mem, &report, err) == TN_OK) {
		assert_int_equal(t.dtype, to);
		assert_int_equal(t.nbytes, s.len);
		assert_ptr_equal(s.from, &r);
		sink_init_memory(&sink, out, sizeof out, err);
		source_stream(&s, &sink);
		*len = s.len;
	}
	*findings = report.n;
	report_fini(&report);
	arena_fini(&mem);
	return err->code;
}

static void lengths(void **state)
{
	const struct { tn_dtype to; uint64_t len; size_t findings; } cases[] = {
		{ TN_F64, 8 * N, 0 }, { TN_FLEX32, 4 * N, 0 }, { TN_F16, 2 * N, 1 }, { TN_F8_E5M2, N, 1 },
		{ TN_Q8_0, N / 32 * 34, 1 }, { TN_APR_Q4, N / 32 * 18, 1 }, { TN_APR_Q8, N + 4, 0 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		tn_error err;
		uint64_t len;
		size_t findings;
		if (cast(cases[i].to, IN, &len, &findings, &err) != TN_OK)
			fail_msg("%s", err.msg);
		assert_int_equal(len, cases[i].len);
		assert_int_equal(findings, cases[i].findings);
	}
}

static void every_failed_allocation(void **state)
{
	tn_error err = { .code = TN_E_NOMEM };
	uint64_t len;
	size_t findings;
	int n = 0;
	(void)state;
	while (err.code != TN_OK) {
		fault_mem.alive = 0;
		fault_mem.fail_at = ++n;
		cast(TN_F16, IN, &len, &findings, &err);
		assert_true(err.code == TN_E_NOMEM || fault_mem.fail_at > 0);
		assert_int_equal(fault_mem.alive, 0);
	}
	fault_mem.fail_at = 0;
	assert_true(n > 2);
}

/* The file is shorter than it was when it was opened. */
static void input_ends_early(void **state)
{
	const tn_dtype types[] = { TN_F16, TN_APR_Q8, TN_Q8_0 };
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		tn_error err;
		uint64_t len;
		size_t findings;
		assert_int_equal(cast(types[i], IN - 1, &len, &findings, &err), TN_E_TRUNCATED);
	}
}

/* One pass or two, read in order or not: the bytes are held to the digest that is stated of them. */
static tn_code cast_known(tn_dtype from, tn_dtype to, uint64_t bytes, const tn_digest *digest, tn_error *err)
{
	struct reader r = { .map = { in, IN }, .size = IN };
	struct tensor t = tensor_f32();
	struct tn_report report;
	struct arena mem;
	struct sink sink;
	err_clear(err);
	arena_init(&mem, 0);
	report_init(&report);
	t.dtype = from;
	t.nbytes = t.stored = bytes;
	t.digest = digest;
	t.shape = (const uint64_t[2]){ N / 64, 32 };
	struct source s = { .kind = SOURCE_RANGE, .len = bytes, .from = &r, .digest = digest };
	assert_int_equal(cast_tensor(&t, &s, to, &mem, &report, err), TN_OK);
	assert_null(t.digest);
	assert_null(s.digest);
	sink_init_memory(&sink, out, sizeof out, err);
	source_stream(&s, &sink);
	report_fini(&report);
	arena_fini(&mem);
	return err->code;
}

static void stated_digests(void **state)
{
	const struct { tn_dtype from, to; uint64_t bytes; } cases[] = {
		{ TN_F32, TN_F16, 2 * N }, { TN_F64, TN_F32, 4 * N }, { TN_F32, TN_APR_Q8, 2 * N }, { TN_F16, TN_Q8_0, N },
		{ TN_APR_Q8, TN_F32, N / 2 + 4 }, { TN_Q8_0, TN_F32, N / 64 * 34 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		memset(in, 0, sizeof in);
		in[1] = 7;
		tn_digest digest = b3_of((tn_view){ in, (size_t)cases[i].bytes });
		tn_error err;
		if (cast_known(cases[i].from, cases[i].to, cases[i].bytes, &digest, &err) != TN_OK)
			fail_msg("%zu: %s", i, err.msg);
		for (uint64_t at = 0; at < cases[i].bytes; at += cases[i].bytes - 1) {
			in[at] ^= 1;
			assert_int_equal(cast_known(cases[i].from, cases[i].to, cases[i].bytes, &digest, &err), TN_E_CHECKSUM);
			in[at] ^= 1;
		}
	}
}

/* ---- Rules ---- */

static tn_dtype target(tn_dtype dtype, tn_dtype quantize, tn_dtype of, uint32_t rank, uint64_t row)
{
	const uint64_t dims[2] = { rank == 1 ? row : 3, row };
	struct tensor t = { .dtype = of, .rank = rank, .shape = dims };
	return cast_target(&(struct cast_rules){ dtype, quantize }, &t);
}

static void rules(void **state)
{
	const tn_dtype none = TN_OPAQUE;
	(void)state;
	for (int d = 0; d < TN_DTYPES; d++)
		assert_int_equal(target(none, none, (tn_dtype)d, 2, 256), d);
	const tn_dtype stay[] = { TN_OPAQUE, TN_BOOL, TN_BOOL_U32, TN_U8, TN_I64, TN_C64 };
	for (size_t i = 0; i < sizeof stay / sizeof *stay; i++)
		assert_int_equal(target(TN_F16, TN_Q8_0, stay[i], 2, 256), stay[i]);
	assert_int_equal(target(TN_F16, none, TN_F32, 1, 7), TN_F16);
	assert_int_equal(target(TN_F16, none, TN_F8_E8M0, 1, 7), TN_F16);
	assert_int_equal(target(TN_F16, none, TN_QFLOAT, 2, 7), TN_F16);
	assert_int_equal(target(TN_F16, none, TN_IQ1_S, 2, 256), TN_F16);
	assert_int_equal(target(none, TN_Q8_0, TN_F32, 2, 64), TN_Q8_0);
	assert_int_equal(target(none, TN_Q8_0, TN_F4, 2, 64), TN_Q8_0);
	assert_int_equal(target(none, TN_Q8_0, TN_F32, 2, 65), TN_F32);
	assert_int_equal(target(none, TN_APR_Q4, TN_F32, 2, 65), TN_APR_Q4);
	assert_int_equal(target(none, TN_APR_Q8, TN_F32, 2, 65), TN_APR_Q8);
	assert_int_equal(target(none, TN_Q8_0, TN_F32, 1, 64), TN_F32);
	assert_int_equal(target(none, TN_Q8_0, TN_F8_E8M0, 2, 64), TN_F8_E8M0);
	assert_int_equal(target(TN_BF16, TN_Q8_0, TN_F32, 1, 64), TN_BF16);
	assert_int_equal(target(TN_BF16, TN_Q8_0, TN_Q4_0, 2, 64), TN_BF16);
}

/* What can be asked for is what docs/values.md lists. */
static void what_can_be_asked_for(void **state)
{
	const tn_dtype floats[] = {
		TN_F16, TN_BF16, TN_F32, TN_FLEX32, TN_F64, TN_F8_E4M3, TN_F8_E5M2, TN_F8_E4M3FNUZ, TN_F8_E5M2FNUZ
	};
	const tn_dtype blocks[] = {
		TN_APR_Q4, TN_APR_Q8, TN_Q4_0, TN_Q4_1, TN_Q5_0, TN_Q5_1, TN_Q8_0, TN_Q8_1, TN_Q8_K, TN_TQ1_0, TN_TQ2_0,
		TN_MXFP4, TN_NVFP4, TN_Q1_0, TN_Q2_0
	};
	(void)state;
	for (int d = 1; d < TN_DTYPES; d++) {
		bool is_float = false, is_block = false;
		for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
			is_float |= floats[i] == (tn_dtype)d;
		for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
			is_block |= blocks[i] == (tn_dtype)d;
		tn_error err = { .code = TN_OK };
		assert_int_equal(cast_check(&(struct cast_rules){ (tn_dtype)d, TN_OPAQUE }, &err),
		                 is_float ? TN_OK : TN_E_USAGE);
		err_clear(&err);
		assert_int_equal(cast_check(&(struct cast_rules){ TN_OPAQUE, (tn_dtype)d }, &err),
		                 is_block ? TN_OK : TN_E_USAGE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths),
		cmocka_unit_test(every_failed_allocation),
		cmocka_unit_test(input_ends_early),
		cmocka_unit_test(stated_digests),
		cmocka_unit_test(rules),
		cmocka_unit_test(what_can_be_asked_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
