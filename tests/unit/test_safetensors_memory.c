/* test_safetensors_memory.c - the nth allocation fails: reading, verifying and planning say so, or can do
 * without it and come to the same result; nothing stays behind. */
#include "safetensors.h"

#include "support/fault_mem.h"

#define HEADER "{\"__metadata__\":{\"z\":\"1\",\"a\":\"\\u00e9\"}," \
	"\"b\":{\"dtype\":\"BOOL\",\"shape\":[2,2],\"data_offsets\":[4,8],\"x\":[1, 2]}," \
	"\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}," \
	"\"c\":{\"dtype\":\"NEW\",\"shape\":[1],\"data_offsets\":[8,9]}}"

/* What came of it. */
struct outcome {
	size_t   findings;
	uint64_t size;
};

static tn_code work(struct opened *o, uint8_t *bytes, size_t len, struct outcome *out)
{
	static const tn_limits none;
	struct reader file = { .map = { bytes, len }, .size = len };
	struct plan plan;
	*o = (struct opened){ .len = 0 };
	arena_init(&o->mem, 0);
	report_init(&o->report);
	if (!model_init(&o->model, &o->mem))
		return TN_E_NOMEM;
	struct parse_job parse = {
		.file = { bytes, len }, .size = len, .limits = &none, .mem = &o->mem, .model = &o->model,
		.report = &o->report, .err = &o->err,
	};
	struct verify_job verify = {
		.file = &file, .model = &o->model, .deep = true, .report = &o->report, .mem = &o->mem, .err = &o->err,
	};
	struct plan_job job = {
		.model = &o->model, .carry = true, .keep_unknown = true, .mem = &o->mem, .plan = &plan, .report = &o->report,
		.err = &o->err,
	};
	plan_init(&plan, &o->mem);
	if (format_safetensors.parse(&parse) != TN_OK || format_safetensors.verify(&verify) != TN_OK ||
	    format_safetensors.plan(&job) != TN_OK)
		return o->err.code;
	*out = (struct outcome){ o->report.n, plan.size };
	return o->report.failed ? TN_E_NOMEM : TN_OK;
}

static void every_failed_allocation_is_reported(void **state)
{
	(void)state;
	size_t len;
	uint8_t *bytes = file_of(VIEW(HEADER), 9, &len);
	struct opened o;
	struct outcome whole = { 0 }, got;
	assert_int_equal(work(&o, bytes, len, &whole), TN_OK);
	report_fini(&o.report);
	arena_fini(&o.mem);
	long n = 0;
	for (bool struck = true; struck; ) {
		fault_mem.fail_at = ++n;
		fault_mem.alive = 0;
		tn_code code = work(&o, bytes, len, &got);
		struck = fault_mem.fail_at == 0;
		fault_mem.fail_at = 0;
		if (code == TN_OK)
			assert_true(got.findings == whole.findings && got.size == whole.size);
		else
			assert_true(struck && code == TN_E_NOMEM);
		report_fini(&o.report);
		arena_fini(&o.mem);
		assert_int_equal(fault_mem.alive, 0);
	}
	assert_true(n > 5);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_failed_allocation_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
