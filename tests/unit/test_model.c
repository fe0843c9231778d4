/* test_model.c - making a model, and its orders. */
#include "model/model.h"

#include "support/fault_mem.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

static void an_empty_model(void **state)
{
	(void)state;
	struct arena a;
	struct model m;
	arena_init(&a, 0);
	assert_true(model_init(&m, &a));
	assert_int_equal(m.n, 0);
	assert_int_equal(m.data_align, 1);
	assert_string_equal(m.version, "");
	assert_string_equal(m.dialect, "");
	assert_int_equal(m.metadata->type, TN_META_MAP);
	assert_int_equal(m.native->type, TN_META_MAP);
	struct tn_meta *sub = model_native(&a, &m, "gguf");
	assert_ptr_equal(model_native(&a, &m, "gguf"), sub);
	struct tensor t = { .rank = 0 };
	struct tn_meta *extras = tensor_extras(&a, &t);
	assert_ptr_equal(t.extras, extras);
	assert_ptr_equal(tensor_extras(&a, &t), extras);
	arena_fini(&a);
	arena_init(&a, 8);
	assert_false(model_init(&m, &a));
	arena_fini(&a);
}

static void regions_are_few_and_not_empty(void **state)
{
	(void)state;
	struct model m = { .n_regions = 0 };
	model_region(&m, TN_REGION_HEADER, 0, 0, "header");
	assert_int_equal(m.n_regions, 0);
	for (uint64_t i = 0; i < MODEL_REGIONS + 2; i++)
		model_region(&m, TN_REGION_INDEX, i, 1, "index");
	assert_int_equal(m.n_regions, MODEL_REGIONS);
	assert_int_equal(m.regions[MODEL_REGIONS - 1].offset, MODEL_REGIONS - 1);
}

/* Tensors are known by the number in data_at's place: rank. */
static void place(struct tensor *t, uint32_t id, uint64_t offset, uint64_t stored)
{
	*t = (struct tensor){ .rank = id, .offset = offset, .stored = stored };
}

static void data_order_puts_empty_ones_first(void **state)
{
	(void)state;
	struct tensor t[7];
	place(&t[0], 4, 10, 5);
	place(&t[1], 6, 20, 1);
	place(&t[2], 1, 0, 10);
	place(&t[3], 2, 10, 0); /* of two empty ones at one place the first stays first */
	place(&t[4], 3, 10, 0);
	place(&t[5], 0, 0, 0);
	place(&t[6], 5, 15, 0);
	assert_true(model_sort_by_data(t, 7));
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(t[i].rank, i);
}

static void name_order_is_bytewise(void **state)
{
	(void)state;
	static const char *const names[] = { "b", "a10", "\xff", "a", "", "A", "a9", "b" };
	static const uint32_t order[] = { 4, 5, 3, 1, 6, 0, 7, 2 };
	struct tensor t[8];
	for (uint32_t i = 0; i < 8; i++)
		t[i] = (struct tensor){ .name = tn_text(names[i]), .rank = i };
	assert_true(model_sort_by_name(t, 8));
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(t[i].rank, order[i]);
}

/* Every permutation of six: all shapes of cycles. */
static void every_permutation_is_sorted(void **state)
{
	(void)state;
	enum { N = 6 };
	unsigned p[N] = { 0, 1, 2, 3, 4, 5 }, seen = 0;
	for (;;) {
		struct tensor t[N];
		for (unsigned i = 0; i < N; i++)
			place(&t[i], p[i], p[i] / 2 * 8, 8); /* in pairs: ties */
		assert_true(model_sort_by_data(t, N));
		for (unsigned i = 1; i < N; i++)
			assert_true(t[i - 1].offset <= t[i].offset);
		for (unsigned k = 0; k < N; k += 2) { /* the one that came first of a pair comes first */
			unsigned first = 0;
			while (p[first] / 2 != k / 2)
				first++;
			assert_int_equal(t[k].rank, p[first]);
			assert_int_equal(t[k].rank + t[k + 1].rank, 2 * k + 1);
		}
		seen++;
		unsigned i = N - 1, k = N - 1;
		while (i > 0 && p[i - 1] > p[i])
			i--;
		if (i == 0)
			break;
		while (p[k] < p[i - 1])
			k--;
		unsigned swap = p[k];
		p[k] = p[i - 1];
		p[i - 1] = swap;
		for (unsigned l = i, r = N - 1; l < r; l++, r--) {
			swap = p[l];
			p[l] = p[r];
			p[r] = swap;
		}
	}
	assert_int_equal(seen, 720);
}

static void many_are_sorted_stably(void **state)
{
	(void)state;
	enum { N = 5000 };
	struct tensor *t = malloc(N * sizeof *t);
	uint32_t x = 1;
	for (uint32_t i = 0; i < N; i++, x = x * 1664525 + 1013904223)
		place(&t[i], i, x >> 24, x >> 16 & 1);
	assert_true(model_sort_by_data(t, N));
	for (uint32_t i = 1; i < N; i++) {
		const struct tensor *p = &t[i - 1], *q = &t[i];
		bool before = p->offset < q->offset || (p->offset == q->offset && p->stored < q->stored);
		bool tie = p->offset == q->offset && p->stored == q->stored;
		assert_true(before || (tie && p->rank < q->rank));
	}
	free(t);
}

/* Sorting what is sorted takes no memory; what is not needs some, and stays as it was when there is none. */
static void sorting_needs_memory_only_when_it_moves(void **state)
{
	(void)state;
	struct tensor t[2];
	place(&t[0], 0, 0, 4);
	place(&t[1], 1, 4, 4);
	fault_mem.fail_at = 1;
	assert_true(model_sort_by_data(t, 2));
	assert_true(model_sort_by_data(t, 0));
	assert_int_equal(fault_mem.fail_at, 1);
	t[1].offset = 0;
	t[0].offset = 4;
	assert_false(model_sort_by_data(t, 2));
	assert_int_equal(fault_mem.fail_at, 0);
	assert_int_equal(t[0].rank, 0);
	fault_mem.fail_at = 1;
	t[0].name = tn_text("b");
	t[1].name = tn_text("a");
	assert_false(model_sort_by_name(t, 2));
	assert_int_equal(t[0].rank, 0);
	fault_mem.fail_at = 0;
}

/* The offsets of a file that was written as the tensors came, and whose index is in the order of names. */
static void names_are_found_after_sorting_by_data(void **state)
{
	(void)state;
	enum { N = 300 };
	struct arena a;
	struct model m = { .n = N };
	struct tensor t[N];
	char names[N][8];
	arena_init(&a, 0);
	for (uint32_t i = 0; i < N; i++) {
		snprintf(names[i], sizeof names[i], "%03u", i);
		place(&t[i], i, 4096 + 64 * (uint64_t)(i * 7 % N), 64);
		t[i].name = tn_text(names[i]);
	}
	m.tensors = t;
	assert_true(model_sort_named_by_data(&a, &m));
	for (uint32_t i = 0; i < N; i++) {
		assert_int_equal(t[i].offset, 4096 + 64 * i);
		assert_int_equal(t[m.by_name[i]].rank, i);
	}
	arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_model),
		cmocka_unit_test(regions_are_few_and_not_empty),
		cmocka_unit_test(data_order_puts_empty_ones_first),
		cmocka_unit_test(name_order_is_bytewise),
		cmocka_unit_test(every_permutation_is_sorted),
		cmocka_unit_test(many_are_sorted_stably),
		cmocka_unit_test(sorting_needs_memory_only_when_it_moves),
		cmocka_unit_test(names_are_found_after_sorting_by_data),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
