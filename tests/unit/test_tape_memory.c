/* test_tape_memory.c - the nth allocation fails: estimates and the playing of a tape say so, and nothing stays behind. */
#include "support/api_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "support/fault_mem.h"

static tn_view archive(void)
{
	tn_writer *w = kit_writer("thin");
	for (unsigned i = 0; i < 4; i++)
		kit_add(w, (char[]){ 'p', (char)('0' + i), '\0' }, TN_U8, 1, (uint64_t[]){ 100 }, i);
	tn_view bytes = kit_save(w);
	tn_writer_free(w);
	return bytes;
}

static tn_code estimate(const tn_file *f, tn_estimate_kind kind, tn_error *err)
{
	static const tn_plan_options options = { .backend = "cuda", .vram = 10 };
	tn_estimate *e;
	tn_code code = tn_estimate_new(&e, f, kind, &options, err);
	assert_int_equal(e == NULL, code != TN_OK);
	tn_estimate_free(e);
	return code;
}

static tn_code play(const tn_file *f, tn_error *err)
{
	static const tn_pages_options options = { .budget = 600 };
	tn_pages *pages;
	tn_view bytes;
	if (tn_pages_open(&pages, f, &options, err) != TN_OK) {
		assert_null(pages);
		return err->code;
	}
	for (size_t i = 0; err->code == TN_OK && i < 2 * tn_pages_count(pages); i++)
		if (tn_pages_use(pages, i % 4, &bytes, err) == TN_OK)
			tn_pages_end(pages, i % 4);
	tn_pages_close(pages);
	return err->code;
}

static tn_code work(const tn_file *f, unsigned which, tn_error *err)
{
	return which < 4 ? estimate(f, (tn_estimate_kind)which, err) : play(f, err);
}

static void every_failed_allocation_is_reported(void **state)
{
	(void)state;
	tn_view bytes = archive();
	tn_file *f = kit_open(bytes);
	for (unsigned which = 0; which < 5; which++) {
		long alive = fault_mem.alive, n = 1;
		for (;; n++) {
			tn_error err = { .code = TN_OK };
			fault_mem.fail_at = n;
			tn_code code = work(f, which, &err);
			bool struck = fault_mem.fail_at == 0;
			fault_mem.fail_at = 0;
			assert_int_equal(fault_mem.alive, alive);
			if (!struck) {
				assert_int_equal(code, TN_OK);
				break;
			}
			assert_int_equal(code, TN_E_NOMEM);
		}
		assert_true(n > 2);
	}
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

/* The budget of the file holds for its estimates, which keep more of the manifest than opening does. */
static void the_limit_on_memory_holds(void **state)
{
	(void)state;
	tn_view bytes = kit_many("thin", 2000);
	tn_open_options small = { .limits.max_memory = 8 << 20 };
	tn_file *f;
	tn_error err;
	size_t done = 0, refused = 0;
	while (tn_open_memory(&f, bytes, &small, &err) == TN_OK) {
		tn_code code = estimate(f, TN_ESTIMATE_PROFILE, &err);
		assert_true(code == TN_OK || code == TN_E_LIMIT);
		done += code == TN_OK;
		refused += code == TN_E_LIMIT;
		tn_close(f);
		small.limits.max_memory -= small.limits.max_memory / 16;
	}
	assert_int_equal(err.code, TN_E_LIMIT);
	assert_true(done > 0 && refused > 0);
	free((void *)(uintptr_t)bytes.ptr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_failed_allocation_is_reported),
		cmocka_unit_test(the_limit_on_memory_holds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
