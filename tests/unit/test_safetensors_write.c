/* test_safetensors_write.c - the bytes that a model becomes, and what is refused or lost on the way. */
#include "safetensors.h"

#include "codec/json.h"

/* A model made by hand and its plan. */
struct made {
	struct arena     mem;
	struct model     model;
	struct tensor    tensors[32];
	struct plan      plan;
	struct tn_report report;
	tn_error         err;
	struct plan_job  job;
};

static void make(struct made *w)
{
	*w = (struct made){ .err = { .code = TN_OK } };
	arena_init(&w->mem, 0);
	report_init(&w->report);
	plan_init(&w->plan, &w->mem);
	assert_true(model_init(&w->model, &w->mem));
	w->model.tensors = w->tensors;
	w->job = (struct plan_job){
		.model = &w->model, .mem = &w->mem, .plan = &w->plan, .report = &w->report, .err = &w->err,
	};
}

static void unmake(struct made *w)
{
	report_fini(&w->report);
	arena_fini(&w->mem);
}

static const uint64_t four[] = { 4 };

/* A tensor of shape [4], or of that many bytes where the shape does not say. */
static struct tensor *add(struct made *w, tn_view name, tn_dtype dtype, uint64_t nbytes)
{
	struct tensor *t = &w->tensors[w->model.n++];
	*t = (struct tensor){ .name = name, .dtype = dtype, .rank = 1, .shape = four, .nbytes = nbytes };
	tn_error ignored = { .code = TN_OK };
	if (nbytes == 0)
		assert_int_equal(dtype_bytes(dtype, BLOCK_FLAT, 1, four, &t->nbytes, &ignored), TN_OK);
	return t;
}

static void set(struct made *w, const char *key, const char *value)
{
	assert_non_null(meta_add_string(&w->mem, w->model.metadata, tn_text(key), tn_text(value)));
}

static tn_view header_of(const struct made *w)
{
	assert_int_equal(w->plan.spans[0].kind, SPAN_BYTES);
	const uint8_t *p = w->plan.spans[0].bytes;
	assert_int_equal(le64(p) + HEADER_AT, w->plan.spans[0].len);
	return (tn_view){ p + HEADER_AT, (size_t)le64(p) };
}

/* The text without its padding, which has a test of its own. */
static void expect_header(struct made *w, const char *want)
{
	assert_int_equal(format_safetensors.plan(&w->job), TN_OK);
	tn_view got = header_of(w);
	while (got.len != 0 && got.ptr[got.len - 1] == ' ')
		got.len--;
	if (!view_is(got, want))
		fail_msg("%.*s\nis not\n%s", VIEW_ARG(got), want);
}

static void expect_refused(struct made *w, tn_code code, const char *want)
{
	assert_int_equal(format_safetensors.plan(&w->job), code);
	if (strstr(w->err.msg, want) == NULL)
		fail_msg("'%s' does not say '%s'", w->err.msg, want);
	unmake(w);
}

/* ---- Order and text ---- */

static void tensors_go_from_wide_to_narrow(void **state)
{
	(void)state;
	static const char *const order = "U64 I64 F64 C64 F32 U32 I32 BF16 F16 U16 I16 F8_E5M2FNUZ F8_E4M3FNUZ F8_E8M0 "
	                                 "F8_E4M3 F8_E5M2 I8 U8 F6_E3M2 F6_E2M3 F4 BOOL ";
	char got[256] = "";
	struct made w;
	make(&w);
	for (unsigned i = SAFETENSORS_DTYPES; i-- > 0; )
		add(&w, tn_text(safetensors_dtypes[i].name), safetensors_dtypes[i].dtype, 0);
	assert_int_equal(format_safetensors.plan(&w.job), TN_OK);
	for (uint64_t k = 1; k < w.plan.n; k++) {
		tn_view name = w.tensors[w.plan.spans[k].tensor].name;
		strncat(got, (const char *)name.ptr, name.len);
		strcat(got, " ");
	}
	assert_string_equal(got, order);
	unmake(&w);
}

static void equal_dtypes_go_by_the_bytes_of_the_name(void **state)
{
	(void)state;
	struct made w;
	make(&w);
	w.job.rewrite = true;
	add(&w, VIEW("\xf0\x90\x80\x80"), TN_U8, 0); /* U+10000 */
	add(&w, VIEW("ab"), TN_U8, 0);
	add(&w, VIEW("\xef\xbf\xbf"), TN_U8, 0); /* U+FFFF */
	add(&w, VIEW("a"), TN_U8, 0);
	expect_header(&w, "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
	                  "\"ab\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]},"
	                  "\"\xef\xbf\xbf\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[8,12]},"
	                  "\"\xf0\x90\x80\x80\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[12,16]}}");
	assert_int_equal(w.plan.size, w.plan.spans[0].len + 16);
	unmake(&w);
}

static void strings_are_escaped_as_serde_does(void **state)
{
	(void)state;
	struct made w;
	make(&w);
	w.job.rewrite = true;
	set(&w, "\"\\/\b\f\n\r\t\x01\x1f\x7f", "\xc2\x80\xe2\x80\xa8");
	expect_header(&w, "{\"__metadata__\":{\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\":\"\xc2\x80\xe2\x80\xa8\"}}");
	unmake(&w);
}

static void the_header_is_padded_to_its_alignment(void **state)
{
	(void)state;
	static const uint64_t aligns[] = { 8, 64, 256, 4096 };
	for (size_t i = 0; i < 4; i++) {
		for (size_t n = 1; n <= 8; n++) {
			struct made w;
			make(&w);
			w.job.align = aligns[i];
			add(&w, (tn_view){ (const uint8_t *)"12345678", n }, TN_U8, 0);
			assert_int_equal(format_safetensors.plan(&w.job), TN_OK);
			tn_view h = header_of(&w);
			assert_int_equal((HEADER_AT + h.len) % aligns[i], 0);
			size_t spaces = 0;
			while (h.ptr[h.len - 1 - spaces] == ' ')
				spaces++;
			assert_true(spaces < aligns[i] && h.ptr[h.len - 1 - spaces] == '}');
			unmake(&w);
		}
	}
}

static void an_alignment_that_was_read_is_restored(void **state)
{
	(void)state;
	struct made w;
	make(&w);
	struct tn_meta *native = model_native(&w.mem, &w.model, SAFETENSORS);
	assert_non_null(meta_add_uint(&w.mem, native, VIEW(NATIVE_ALIGN), 256, 0));
	assert_int_equal(format_safetensors.plan(&w.job), TN_OK);
	assert_int_equal(w.plan.spans[0].len, 256);
	plan_init(&w.plan, &w.mem);
	w.job.align = 64;
	assert_int_equal(format_safetensors.plan(&w.job), TN_OK);
	assert_int_equal(w.plan.spans[0].len, 64);
	unmake(&w);
}

/* ---- Metadata ---- */

static void a_new_file_sorts_its_keys_and_adds_none(void **state)
{
	(void)state;
	struct made w;
	make(&w);
	set(&w, "z", "2");
	set(&w, "a", "1");
	w.job.no_envelope = w.job.allow_loss = true; /* the order of the keys is what it would hold */
	expect_header(&w, "{\"__metadata__\":{\"a\":\"1\",\"z\":\"2\"}}");
	assert_false(says(&w.report, TN_NOTE, "format"));
	unmake(&w);
}

static void a_format_that_is_there_stays(void **state)
{
	(void)state;
	struct made w;
	make(&w);
	set(&w, "format", "np");
	expect_header(&w, "{\"__metadata__\":{\"format\":\"np\"}}");
	assert_int_equal(w.report.n, 0);
	unmake(&w);
}

static void a_converted_model_gets_no_key_of_ours(void **state)
{
	(void)state;
	struct made w;
	make(&w);
	w.job.converted = true;
	set(&w, "a", "1");
	expect_header(&w, "{\"__metadata__\":{\"a\":\"1\"}}");
	assert_true(says(&w.report, TN_NOTE, "no 'format'"));
	unmake(&w);
}

static void a_rewrite_keeps_the_order_of_keys(void **state)
{
	(void)state;
	struct made w;
	make(&w);
	w.job.rewrite = true;
	set(&w, "z", "1");
	set(&w, "a", "2");
	expect_header(&w, "{\"__metadata__\":{\"z\":\"1\",\"a\":\"2\"}}");
	unmake(&w);
}

static void keys_that_stood_unsorted_stand_so_again(void **state)
{
	(void)state;
	struct made w;
	make(&w);
	w.job.converted = true;
	set(&w, "z", "1");
	set(&w, "a", "2");
	assert_non_null(meta_add_bool(&w.mem, model_native(&w.mem, &w.model, SAFETENSORS), VIEW(NATIVE_KEEP_ORDER), true));
	expect_header(&w, "{\"__metadata__\":{\"z\":\"1\",\"a\":\"2\"}}");
	unmake(&w);
}

static void empty_maps_are_as_they_were(void **state)
{
	(void)state;
	struct made w;
	make(&w);
	expect_header(&w, "{}");
	plan_init(&w.plan, &w.mem);
	struct tn_meta *native = model_native(&w.mem, &w.model, SAFETENSORS);
	assert_non_null(meta_add_bool(&w.mem, native, VIEW(NATIVE_EMPTY_MAP), true));
	expect_header(&w, "{\"__metadata__\":{}}");
	unmake(&w);
}

/* ---- The envelope ---- */

/* The value of a metadata key in the planned header, in the arena. */
static tn_view planned(struct made *w, const char *key)
{
	const struct json_options opt = { .what = "test" };
	struct json_doc *doc;
	tn_error err = { .code = TN_OK };
	assert_int_equal(json_parse(&doc, header_of(w), &opt, &err), TN_OK);
	const struct json_val *meta = json_find(json_root(doc), METADATA_KEY);
	const struct json_val *v = meta != NULL ? json_find(meta, key) : NULL;
	tn_view text = v != NULL ? arena_copy(&w->mem, json_string(v)) : (tn_view){ NULL, 0 };
	json_free(doc);
	return text;
}

static bool has(tn_view text, const char *part)
{
	return text.ptr != NULL && strstr((const char *)text.ptr, part) != NULL;
}

static void what_has_no_place_goes_into_the_envelope(void **state)
{
	(void)state;
	struct made w;
	make(&w);
	assert_non_null(meta_add_uint(&w.mem, w.model.metadata, VIEW("steps"), 7, 32));
	set(&w, "a", "unsorted");
	add(&w, VIEW("flag"), TN_BOOL_U8, 0);
	struct tensor *t = add(&w, VIEW("flex"), TN_FLEX32, 0);
	assert_non_null(meta_add_uint(&w.mem, tensor_extras(&w.mem, t), VIEW("param_id"), 5, 64));
	assert_non_null(model_native(&w.mem, &w.model, "other"));
	assert_int_equal(format_safetensors.plan(&w.job), TN_OK);
	tn_view text = planned(&w, ENVELOPE_KEY);
	assert_true(has(text, "\"steps\"") && has(text, "\"bool_u8\"") && has(text, "\"flex32\""));
	assert_true(has(text, "\"param_id\"") && has(text, "\"other\""));
	assert_true(has(text, "\"metadata_order\":[\"steps\",\"a\"") && has(text, "\"order\":[1,0]"));
	assert_true(view_is(planned(&w, "steps"), "7"));
	assert_int_equal(report_first(&w.report, TN_E_LOSSY) != NULL, 0);
	unmake(&w);
}

static void without_an_envelope_it_is_lost(void **state)
{
	(void)state;
	for (int allow = 0; allow <= 1; allow++) {
		struct made w;
		make(&w);
		w.job.no_envelope = true;
		w.job.allow_loss = allow;
		add(&w, VIEW("flex"), TN_FLEX32, 0);
		assert_int_equal(format_safetensors.plan(&w.job), TN_OK);
		assert_null(planned(&w, ENVELOPE_KEY).ptr);
		const tn_finding *f = report_first(&w.report, TN_E_LOSSY);
		assert_non_null(f);
		assert_int_equal(f->severity, allow ? TN_WARNING : TN_ERROR);
		unmake(&w);
	}
}

static void a_key_of_the_envelopes_name_goes_into_the_envelope(void **state)
{
	(void)state;
	struct made w;
	make(&w);
	set(&w, ENVELOPE_KEY, "mine");
	expect_header(&w, "{\"__metadata__\":{\"tenon.meta\":\"mine\"}}");
	plan_init(&w.plan, &w.mem);
	add(&w, VIEW("flex"), TN_FLEX32, 0);
	assert_int_equal(format_safetensors.plan(&w.job), TN_OK);
	assert_true(has(planned(&w, ENVELOPE_KEY), "flex32"));
	assert_true(has(planned(&w, ENVELOPE_KEY), "mine"));
	assert_int_equal(w.report.n, 0);
	unmake(&w);
}

static void block_types_are_lost_or_carried(void **state)
{
	(void)state;
	struct made w;
	make(&w);
	add(&w, VIEW("q"), TN_Q4_K, 144);
	add(&w, VIEW("f"), TN_F32, 0);
	assert_int_equal(format_safetensors.plan(&w.job), TN_OK);
	assert_true(says(&w.report, TN_ERROR, "there is no dtype q4_k; --carry keeps its bytes as u8"));
	assert_int_equal(w.plan.n, 2);
	assert_int_equal(w.plan.spans[1].tensor, 1);
	plan_init(&w.plan, &w.mem);
	w.job.carry = true;
	assert_int_equal(format_safetensors.plan(&w.job), TN_OK);
	tn_view h = header_of(&w);
	assert_non_null(strstr((const char *)arena_copy(&w.mem, h).ptr,
	                       "\"q\":{\"dtype\":\"U8\",\"shape\":[144],\"data_offsets\":[16,160]}"));
	assert_true(has(planned(&w, ENVELOPE_KEY), "\"dtype\":\"q4_k\",\"shape\":[4]"));
	unmake(&w);
}

/* ---- Members and dtypes that are not known ---- */

static struct tensor *strange(struct made *w, const char *member, const char *text)
{
	struct tensor *t = add(w, VIEW("a"), TN_OPAQUE, 3);
	struct tn_meta *own = meta_map_at(&w->mem, tensor_extras(&w->mem, t), VIEW(SAFETENSORS));
	assert_non_null(meta_add_string(&w->mem, own, VIEW(EXTRA_DTYPE), VIEW("F9")));
	assert_non_null(meta_add_string(&w->mem, own, tn_text(member), tn_text(text)));
	return t;
}

/* As an envelope of someone's making could have it: three bytes that call themselves f32. */
static void a_dtype_that_would_be_known_is_not_put_in_unseen(void **state)
{
	(void)state;
	static const char *const words[] = { "F32", "f32", "" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		struct made w;
		make(&w);
		struct tensor *t = add(&w, VIEW("a"), TN_OPAQUE, 3);
		struct tn_meta *own = meta_map_at(&w.mem, tensor_extras(&w.mem, t), VIEW(SAFETENSORS));
		assert_non_null(meta_add_string(&w.mem, own, VIEW(EXTRA_DTYPE), tn_text(words[i])));
		assert_int_equal(format_safetensors.plan(&w.job), TN_OK);
		assert_true(says(&w.report, TN_ERROR, "there is no dtype"));
		unmake(&w);
	}
}

static void unknown_members_are_kept_only_when_asked(void **state)
{
	(void)state;
	struct made w;
	make(&w);
	w.job.rewrite = true;
	strange(&w, "m", "[1,{}]");
	expect_header(&w, "{\"a\":{\"dtype\":\"F9\",\"shape\":[4],\"data_offsets\":[0,3]}}");
	assert_true(says(&w.report, TN_WARNING, "member 'm' is dropped"));
	plan_init(&w.plan, &w.mem);
	w.job.keep_unknown = true;
	expect_header(&w, "{\"a\":{\"dtype\":\"F9\",\"shape\":[4],\"data_offsets\":[0,3],\"m\":[1,{}]}}");
	unmake(&w);
}

static void a_member_that_is_no_json_is_not_let_in(void **state)
{
	(void)state;
	struct made w;
	make(&w);
	w.job.rewrite = w.job.keep_unknown = true;
	strange(&w, "m", "1},\"evil\":{\"dtype\":\"U8\"");
	expect_header(&w, "{\"a\":{\"dtype\":\"F9\",\"shape\":[4],\"data_offsets\":[0,3]}}");
	unmake(&w);
}

/* ---- Refusals ---- */

static void names_that_cannot_be_are_lost(void **state)
{
	(void)state;
	static const struct { tn_view name; const char *want; } cases[] = {
		{ { (const uint8_t *)"__metadata__", 12 }, "reserved" },
		{ { (const uint8_t *)"", 0 }, "must have a name" },
		{ { (const uint8_t *)"a\0b", 3 }, "NUL" },
		{ { (const uint8_t *)"a\xff", 2 }, "UTF-8" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct made w;
		make(&w);
		add(&w, cases[i].name, TN_U8, 0);
		add(&w, VIEW("kept"), TN_U8, 0);
		assert_int_equal(format_safetensors.plan(&w.job), TN_OK);
		assert_true(says(&w.report, TN_ERROR, cases[i].want)); /* which the core takes for a refusal */
		assert_int_equal(w.plan.n, 2);
		assert_int_equal(w.plan.spans[1].tensor, 1);
		unmake(&w);
	}
}

static void other_faults_are_refused(void **state)
{
	(void)state;
	struct made w;
	make(&w);
	add(&w, VIEW("a"), TN_U8, 0);
	add(&w, VIEW("a"), TN_F32, 0);
	expect_refused(&w, TN_E_USAGE, "two tensors");

	static const uint64_t three[] = { 3 };
	make(&w);
	add(&w, VIEW("a"), TN_F4, 0)->shape = three;
	expect_refused(&w, TN_E_CORRUPT, "tensor 'a': 3 elements");

	make(&w);
	add(&w, VIEW("a"), TN_U8, 5);
	expect_refused(&w, TN_E_CORRUPT, "differ in size");

	make(&w);
	w.job.align = 16;
	expect_refused(&w, TN_E_USAGE, "alignment 16");
}

static void a_header_that_readers_refuse_is_not_written(void **state)
{
	(void)state;
	struct made w;
	make(&w);
	char *huge = malloc(HEADER_MAX);
	assert_non_null(huge);
	memset(huge, 'x', HEADER_MAX);
	set(&w, "a", "1");
	w.model.metadata->as.kids.first->as.s = (tn_view){ (const uint8_t *)huge, HEADER_MAX };
	assert_int_equal(format_safetensors.plan(&w.job), TN_E_LIMIT);
	unmake(&w);
	free(huge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tensors_go_from_wide_to_narrow),
		cmocka_unit_test(equal_dtypes_go_by_the_bytes_of_the_name),
		cmocka_unit_test(strings_are_escaped_as_serde_does),
		cmocka_unit_test(the_header_is_padded_to_its_alignment),
		cmocka_unit_test(an_alignment_that_was_read_is_restored),
		cmocka_unit_test(a_new_file_sorts_its_keys_and_adds_none),
		cmocka_unit_test(a_format_that_is_there_stays),
		cmocka_unit_test(a_converted_model_gets_no_key_of_ours),
		cmocka_unit_test(a_rewrite_keeps_the_order_of_keys),
		cmocka_unit_test(keys_that_stood_unsorted_stand_so_again),
		cmocka_unit_test(empty_maps_are_as_they_were),
		cmocka_unit_test(what_has_no_place_goes_into_the_envelope),
		cmocka_unit_test(without_an_envelope_it_is_lost),
		cmocka_unit_test(a_key_of_the_envelopes_name_goes_into_the_envelope),
		cmocka_unit_test(block_types_are_lost_or_carried),
		cmocka_unit_test(a_dtype_that_would_be_known_is_not_put_in_unseen),
		cmocka_unit_test(unknown_members_are_kept_only_when_asked),
		cmocka_unit_test(a_member_that_is_no_json_is_not_let_in),
		cmocka_unit_test(names_that_cannot_be_are_lost),
		cmocka_unit_test(other_faults_are_refused),
		cmocka_unit_test(a_header_that_readers_refuse_is_not_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
