/* test_check.c - the laws that hold for every format, and the findings common to all. */
#include "model/check.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

static const struct check_limits no_limits = { UINT64_MAX, UINT64_MAX };

static struct tensor tensor(const char *name, uint64_t offset, uint64_t bytes)
{
	return (struct tensor){ .name = tn_text(name), .dtype = TN_U8, .offset = offset, .nbytes = bytes, .stored = bytes };
}

static tn_code check(struct tensor *t, uint64_t n, uint64_t file_size, const struct check_limits *lim, tn_error *err)
{
	struct model m = { .tensors = t, .n = n, .data_align = 1 };
	struct arena a;
	struct strmap names;
	arena_init(&a, 0);
	*err = (tn_error){ .code = TN_OK };
	tn_code code = model_check(&m, "fmt", file_size, lim, &a, &names, err);
	assert_int_equal(err->code, code);
	arena_fini(&a);
	return code;
}

static void a_sound_model_passes(void **state)
{
	(void)state;
	tn_error err;
	struct tensor t[] = {
		tensor("e", 8, 0), tensor("a", 8, 4), tensor("mid", 10, 0), tensor("b", 12, 8), tensor("", 20, 0), tensor("c", 32, 1)
	};
	assert_int_equal(check(t, 6, 33, &no_limits, &err), TN_OK);
	assert_int_equal(check(t, 0, 0, &no_limits, &err), TN_OK);
	assert_int_equal(check(t, 6, 33, &(struct check_limits){ 6, 8 }, &err), TN_OK);
}

static void names_are_found_afterwards(void **state)
{
	(void)state;
	struct tensor t[] = { tensor("x", 0, 1), tensor("y", 1, 1) };
	struct model m = { .tensors = t, .n = 2, .data_align = 1 };
	struct arena a;
	struct strmap names;
	tn_error err = { .code = TN_OK };
	uint64_t i;
	arena_init(&a, 0);
	assert_int_equal(model_check(&m, "fmt", 2, &no_limits, &a, &names, &err), TN_OK);
	assert_true(strmap_find(&names, model_name_at, &m, VIEW("y"), &i));
	assert_int_equal(i, 1);
	assert_false(strmap_find(&names, model_name_at, &m, VIEW("z"), &i));
	arena_fini(&a);
	arena_init(&a, 8);
	assert_int_equal(model_check(&m, "fmt", 2, &no_limits, &a, &names, &err), TN_E_LIMIT);
	arena_fini(&a);
}

/* Each law broken alone: the code, the place, and the whole message. */
static void each_law(void **state)
{
	(void)state;
	struct tensor longer = tensor("a\n", 0, 4);
	longer.stored = 5;
	const struct {
		struct tensor       t[3];
		uint64_t            n, size;
		struct check_limits lim;
		tn_code             code;
		uint64_t            offset;
		const char         *msg;
	} cases[] = {
		{ { tensor("a", 0, 1), tensor("b", 1, 1) }, 2, 2, { 1, UINT64_MAX }, TN_E_LIMIT, TN_NO_OFFSET,
		  "fmt: 2 tensors, the limit is 1" },
		{ { tensor("a", 0, 1), tensor("b", 1, 9) }, 2, 10, { 2, 8 }, TN_E_LIMIT, 1,
		  "fmt: tensor 'b': 9 bytes, the limit is 8" },
		{ { tensor("a", 0, 1), tensor("b", 1, 1), tensor("a", 2, 0) }, 3, 2, no_limits, TN_E_CORRUPT, 2,
		  "fmt: two tensors are called 'a'" },
		{ { longer }, 1, 5, no_limits, TN_E_CORRUPT, 0, "fmt: tensor 'a\\n': 5 bytes stored, its shape needs 4" },
		{ { tensor("a", UINT64_MAX, 2) }, 1, 5, no_limits, TN_E_CORRUPT, TN_NO_OFFSET,
		  "fmt: tensor 'a': its extent overflows 64 bits" },
		{ { tensor("a", 0, 4), tensor("b", 3, 4) }, 2, 7, no_limits, TN_E_CORRUPT, 3, "fmt: tensor 'b' overlaps 'a'" },
		{ { tensor("a", 0, 4), tensor("e", 2, 0), tensor("b", 3, 4) }, 3, 7, no_limits, TN_E_CORRUPT, 3,
		  "fmt: tensor 'b' overlaps 'a'" },
		{ { tensor("a", 0, 4), tensor("b", 0, 4) }, 2, 7, no_limits, TN_E_CORRUPT, 0, "fmt: tensor 'b' overlaps 'a'" },
		{ { tensor("a", 0, 4), tensor("b", 4, 4), tensor("c", 8, 8) }, 3, 6, no_limits, TN_E_TRUNCATED, 6,
		  "fmt: file is short by 10 bytes: has 6, needs 16; first tensor not whole is 'b', 1 of 3 tensors are whole" },
		{ { tensor("e", 7, 0) }, 1, 6, no_limits, TN_E_TRUNCATED, 6,
		  "fmt: file is short by 1 byte: has 6, needs 7; first tensor not whole is 'e', 0 of 1 tensors are whole" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tensor t[3];
		tn_error err;
		memcpy(t, cases[i].t, sizeof t);
		tn_code code = check(t, cases[i].n, cases[i].size, &cases[i].lim, &err);
		if (code != cases[i].code || err.offset != cases[i].offset || strcmp(err.msg, cases[i].msg) != 0)
			fail_msg("case %zu: %s at %llu: %s", i, tn_code_name(code), (unsigned long long)err.offset, err.msg);
	}
}

/* The reader tests counts before it spends memory on them. */
static void counts_come_first(void **state)
{
	(void)state;
	struct model m = { .tensors = NULL, .n = UINT64_MAX / 2, .data_align = 1 };
	struct arena a;
	struct strmap names;
	tn_error err = { .code = TN_OK };
	arena_init(&a, 1 << 20);
	assert_int_equal(model_check(&m, "fmt", 0, &(struct check_limits){ 10, 10 }, &a, &names, &err), TN_E_LIMIT);
	assert_string_equal(err.msg, "fmt: 9223372036854775807 tensors, the limit is 10");
	arena_fini(&a);
}

/* Empty tensors between do not hide a long one that reaches over several. */
static void overlap_is_found_over_many(void **state)
{
	(void)state;
	enum { N = 2000 };
	struct tensor *t = malloc(N * sizeof *t);
	char (*names)[8] = malloc(N * sizeof *names);
	tn_error err;
	for (uint64_t i = 0; i < N; i++) {
		snprintf(names[i], sizeof names[i], "%u", (unsigned)i);
		t[i] = tensor(names[i], i, i % 3 != 0);
	}
	assert_int_equal(check(t, N, N, &no_limits, &err), TN_OK);
	t[1000].nbytes = t[1000].stored = 5;
	assert_int_equal(check(t, N, N, &no_limits, &err), TN_E_CORRUPT);
	assert_string_equal(err.msg, "fmt: tensor '1001' overlaps '1000'");
	free(names);
	free(t);
}

/* ---- Findings ---- */

static void lint(struct model *m, uint64_t size, struct tn_report *r)
{
	report_init(r);
	model_lint(m, "fmt", size, r);
	assert_false(r->failed);
}

static void a_tidy_file_has_no_findings(void **state)
{
	(void)state;
	struct tn_report r;
	struct tensor t[] = { tensor("a", 64, 60), tensor("e", 128, 0), tensor("b", 128, 4) };
	struct model m = { .tensors = t, .n = 3, .data_at = 64, .data_align = 64 };
	model_region(&m, TN_REGION_HEADER, 0, 10, "header");
	model_region(&m, TN_REGION_INDEX, 10, 54, "index");
	model_region(&m, TN_REGION_FOOTER, 132, 4, "checksum");
	lint(&m, 136, &r);
	assert_int_equal(r.n, 0);
	report_fini(&r);
	m.n = 0;
	m.n_regions = 2;
	lint(&m, 64, &r);
	assert_int_equal(r.n, 0);
	report_fini(&r);
}

static void expect(const struct tn_report *r, size_t i, uint64_t offset, const char *tensor_name, const char *text)
{
	assert_true(i < r->n);
	const tn_finding *f = &r->list[i];
	assert_int_equal(f->severity, TN_WARNING);
	assert_int_equal(f->offset, offset);
	assert_string_equal(f->text, text);
	if (tensor_name == NULL)
		assert_null(f->tensor.ptr);
	else
		assert_true(view_is(f->tensor, tensor_name));
}

static void gaps_misalignment_and_trailing_bytes(void **state)
{
	(void)state;
	struct tn_report r;
	struct tensor t[] = { tensor("a", 20, 4), tensor("b", 31, 4), tensor("c", 60, 4) };
	struct model m = { .tensors = t, .n = 3, .data_at = 12, .data_align = 8 };
	lint(&m, 70, &r);
	assert_int_equal(r.n, 4);
	expect(&r, 0, 12, "a", "fmt: 8 bytes before this tensor belong to nothing");
	/* 7 bytes before b are padding, but b is not where padding leads */
	expect(&r, 1, 31, "b", "fmt: the data does not start at a multiple of 8");
	expect(&r, 2, 35, "c", "fmt: 25 bytes before this tensor belong to nothing");
	expect(&r, 3, 64, NULL, "fmt: 6 bytes after the end of the model");
	report_fini(&r);
}

static void regions_fill_gaps(void **state)
{
	(void)state;
	struct tn_report r;
	struct tensor t[] = { tensor("a", 10, 4), tensor("b", 40, 4) };
	struct model m = { .tensors = t, .n = 2, .data_at = 10, .data_align = 1 };
	model_region(&m, TN_REGION_INDEX, 24, 16, "index"); /* in no order */
	model_region(&m, TN_REGION_PADDING, 14, 10, "padding");
	lint(&m, 44, &r);
	assert_int_equal(r.n, 0);
	report_fini(&r);
	m.regions[0].len = 13;
	lint(&m, 44, &r);
	assert_int_equal(r.n, 1);
	expect(&r, 0, 37, "b", "fmt: 3 bytes before this tensor belong to nothing");
	report_fini(&r);
}

static void empty_tensors_are_never_misaligned(void **state)
{
	(void)state;
	struct tn_report r;
	struct tensor t[] = { tensor("a", 8, 3), tensor("e", 11, 0) };
	struct model m = { .tensors = t, .n = 2, .data_at = 8, .data_align = 8 };
	lint(&m, 11, &r);
	assert_int_equal(r.n, 0);
	report_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sound_model_passes),
		cmocka_unit_test(names_are_found_afterwards),
		cmocka_unit_test(each_law),
		cmocka_unit_test(counts_come_first),
		cmocka_unit_test(overlap_is_found_over_many),
		cmocka_unit_test(a_tidy_file_has_no_findings),
		cmocka_unit_test(gaps_misalignment_and_trailing_bytes),
		cmocka_unit_test(regions_fill_gaps),
		cmocka_unit_test(empty_tensors_are_never_misaligned),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
