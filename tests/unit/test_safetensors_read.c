/* test_safetensors_read.c - which headers open, and what is said about those that do not. */
#include "safetensors.h"

#define A2 "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}"

/* Each of these headers, over that many bytes of data. want: part of the error, or NULL where the file opens;
 * then finding is part of a finding of that severity, or NULL. */
struct row {
	const char *header;
	size_t      data;
	tn_code     code;
	const char *want;
	tn_severity severity;
	const char *finding;
};

static const struct row rows[] = {
	{ "{}", 0, TN_OK, NULL, 0, NULL },
	{ "{" A2 "}", 8, TN_OK, NULL, 0, NULL },
	/* names */
	{ "{" A2 "," A2 "}", 8, TN_E_CORRUPT, "another tensor has this name", 0, NULL },
	{ "{" A2 ",\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]}}", 16, TN_E_CORRUPT, "called 'a'", 0, NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}," A2 "}", 8, TN_E_CORRUPT, "called 'a'", 0, NULL },
	{ "{" A2 ",\"\\u0061\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, TN_E_CORRUPT, "this name", 0, NULL },
	{ "{\"\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, TN_OK, NULL, TN_WARNING, "no name" },
	{ "{\"a\\u0000\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, TN_OK, NULL, TN_WARNING, "NUL" },
	{ "{\"\xc3\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, TN_E_CORRUPT, "header: ", 0, NULL },
	{ "{\"\\ud800\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, TN_E_CORRUPT, "header: ", 0, NULL },
	/* metadata */
	{ "{\"__metadata__\":{\"x\":\"1\"}}", 0, TN_OK, NULL, 0, NULL },
	{ "{\"__metadata__\":{}}", 0, TN_OK, NULL, 0, NULL },
	{ "{\"__metadata__\":null}", 0, TN_OK, NULL, TN_NOTE, "null" },
	{ "{" A2 ",\"\\u005f_metadata__\":{\"x\":\"1\"}}", 8, TN_OK, NULL, TN_NOTE, "not stand first" },
	{ "{\"__metadata__\":{},\"__metadata__\":{}}", 0, TN_E_CORRUPT, "__metadata__ is there twice", 0, NULL },
	{ "{\"__metadata__\":{\"x\":\"1\",\"x\":\"2\"}}", 0, TN_E_CORRUPT, "'x' is there twice", 0, NULL },
	{ "{\"__metadata__\":{\"k\":\"1\",\"\\u006b\":\"2\"}}", 0, TN_E_CORRUPT, "'k' is there twice", 0, NULL },
	{ "{\"__metadata__\":{\"x\":1}}", 0, TN_E_CORRUPT, "'x' is a number, not a string", 0, NULL },
	{ "{\"__metadata__\":{\"x\":{}}}", 0, TN_E_CORRUPT, "'x' is an object", 0, NULL },
	{ "{\"__metadata__\":{\"x\":null}}", 0, TN_E_CORRUPT, "'x' is null", 0, NULL },
	{ "{\"__metadata__\":\"x\"}", 0, TN_E_CORRUPT, "no object of strings", 0, NULL },
	/* entries */
	{ "{\"a\":null}", 0, TN_E_CORRUPT, "entry is null", 0, NULL },
	{ "{\"a\":[\"F32\",[2],[0,8]]}", 8, TN_E_CORRUPT, "entry is an array", 0, NULL },
	{ "{\"a\":{\"shape\":[2],\"data_offsets\":[0,8],\"k\":\"v\"}}", 8, TN_E_CORRUPT, "dtype is missing", 0, NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8],\"k\":1}}", 8, TN_E_CORRUPT, "shape is missing", 0, NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"offsets\":[0,8]}}", 8, TN_E_CORRUPT, "data_offsets is missing", 0, NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, TN_E_CORRUPT, "dtype is there twice",
	  0, NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"foo\":[1,{}]}}", 8, TN_OK, NULL, TN_WARNING, "'foo'" },
	{ "{\"a\":1}", 0, TN_E_CORRUPT, "entry is a number", 0, NULL },
	{ "{\"a\":{}}", 0, TN_E_CORRUPT, "too short", 0, NULL },
	/* dtypes */
	{ "{\"a\":{\"dtype\":\"f32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, TN_E_CORRUPT, "must be spelled 'F32'", 0, NULL },
	{ "{\"a\":{\"dtype\":\"Bool\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2, TN_E_CORRUPT, "spelled 'BOOL'", 0, NULL },
	{ "{\"a\":{\"dtype\":\"\",\"shape\":[2000],\"data_offsets\":[0,2]}}", 2, TN_E_CORRUPT, "dtype is empty", 0, NULL },
	{ "{\"a\":{\"dtype\":{\"F32\":null},\"shape\":[2],\"data_offsets\":[0,8]}}", 8, TN_E_CORRUPT, "dtype is an object", 0, NULL },
	{ "{\"a\":{\"dtype\":17,\"shape\":[2000],\"data_offsets\":[0,8]}}", 8, TN_E_CORRUPT, "dtype is a number", 0, NULL },
	{ "{\"a\":{\"dtype\":\"F2_NEW\",\"shape\":[9],\"data_offsets\":[0,3]}}", 3, TN_OK, NULL, TN_WARNING, "'F2_NEW' is not known" },
	/* numbers */
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[2.0],\"data_offsets\":[0,8]}}", 8, TN_E_CORRUPT, "shape holds", 0, NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[2e0],\"data_offsets\":[0,8]}}", 8, TN_E_CORRUPT, "shape holds", 0, NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8, TN_E_CORRUPT, "shape holds", 0, NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[-0],\"data_offsets\":[0,0]}}", 0, TN_E_CORRUPT, "shape holds", 0, NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[02],\"data_offsets\":[0,8]}}", 8, TN_E_CORRUPT, "header: ", 0, NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[\"2\"],\"data_offsets\":[0,8]}}", 8, TN_E_CORRUPT, "shape holds a string", 0, NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[18446744073709551616],\"data_offsets\":[0,8]}}", 8, TN_E_CORRUPT, "more than 64 bits", 0,
	  NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8],\"pad\":1}}", 8, TN_E_CORRUPT, "shape is a number", 0, NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[-0,8]}}", 8, TN_E_CORRUPT, "data_offsets holds", 0, NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8.0]}}", 8, TN_E_CORRUPT, "data_offsets holds", 0, NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}}", 8, TN_E_CORRUPT, "two numbers", 0, NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,8]}}", 8, TN_E_CORRUPT, "two numbers", 0, NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", 8, TN_E_CORRUPT, "end before they begin", 0, NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,18446744073709551615]}}", 8, TN_E_CORRUPT, "overflow", 0, NULL },
	/* shapes */
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4, TN_OK, NULL, 0, NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[0,5],\"data_offsets\":[0,0]}}", 0, TN_OK, NULL, 0, NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[0,18446744073709551615,18446744073709551615],\"data_offsets\":[0,0]}}", 0, TN_OK, NULL,
	  TN_NOTE, "overflow 64 bits" },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[18446744073709551615,18446744073709551615,0],\"data_offsets\":[0,0]}}", 0, TN_OK, NULL,
	  TN_NOTE, "overflow 64 bits" },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0, TN_E_LIMIT, "tensor 'a': shape overflows",
	  0, NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904],\"data_offsets\":[0,0]}}", 0, TN_E_LIMIT, "tensor 'a': shape overflows",
	  0, NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 8, TN_E_CORRUPT, "takes 12 bytes, its data_offsets give 8", 0,
	  NULL },
	{ "{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]}}", 2, TN_E_CORRUPT, "no whole bytes", 0, NULL },
	{ "{\"a\":{\"dtype\":\"F4\",\"shape\":[2,2],\"data_offsets\":[0,2]}}", 2, TN_OK, NULL, 0, NULL },
	{ "{\"a\":{\"dtype\":\"F6_E2M3\",\"shape\":[6],\"data_offsets\":[0,4]}}", 4, TN_E_CORRUPT, "no whole bytes", 0, NULL },
	{ "{\"a\":{\"dtype\":\"F6_E2M3\",\"shape\":[8],\"data_offsets\":[0,6]}}", 6, TN_OK, NULL, 0, NULL },
	/* cover */
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]}}", 16, TN_E_CORRUPT, "8 bytes before it belong to no tensor", 0,
	  NULL },
	{ "{" A2 ",\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}", 12, TN_E_CORRUPT, "4 bytes before the end of 'a'", 0,
	  NULL },
	{ "{" A2 ",\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, TN_E_CORRUPT, "before the end of", 0, NULL },
	{ "{\"z\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[8,8]}," A2 "}", 8, TN_OK, NULL, TN_NOTE, "order of their data" },
	{ "{\"z\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}," A2 "}", 8, TN_OK, NULL, 0, NULL },
	{ "{\"z\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[2,2]}," A2 "}", 8, TN_E_CORRUPT, "bytes before", 0, NULL },
	{ "{" A2 "}", 7, TN_E_TRUNCATED, "short by 1 byte", 0, NULL },
	{ "{" A2 "}", 9, TN_E_CORRUPT, "1 byte after the last tensor", 0, NULL },
	{ "{}", 1, TN_E_CORRUPT, "1 byte after the last tensor", 0, NULL },
	{ "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[1,5]}}", 5,
	  TN_OK, NULL, 0, NULL },
	/* the text around it */
	{ " {" A2 "}", 8, TN_OK, NULL, TN_WARNING, "starts with white space" },
	{ "{" A2 "}\n", 8, TN_OK, NULL, TN_WARNING, "other white space" },
	{ "{" A2 "} ", 8, TN_OK, NULL, TN_NOTE, "not padded" },
	{ "\xef\xbb\xbf{}", 0, TN_E_CORRUPT, "byte order mark", 0, NULL },
	{ "{" A2 ",}", 8, TN_E_CORRUPT, "header: ", 0, NULL },
	{ "{'a':1}", 0, TN_E_CORRUPT, "header: ", 0, NULL },
	{ "{" A2 "}x", 8, TN_E_CORRUPT, "header: ", 0, NULL },
	{ "{/**/}", 0, TN_E_CORRUPT, "header: ", 0, NULL },
	{ "[]", 0, TN_E_CORRUPT, "header is an array", 0, NULL },
	{ "   ", 0, TN_E_CORRUPT, "header: ", 0, NULL },
	{ "{\"a\tb\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, TN_E_CORRUPT, "header: ", 0, NULL },
	{ "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"z\":NaN}}", 8, TN_E_CORRUPT, "header: ", 0, NULL },
};

static void check_row(const struct row *row)
{
	struct opened o;
	tn_code code = open_header(&o, tn_text(row->header), row->data);
	if (code != row->code || (code == TN_OK) != (row->want == NULL))
		fail_msg("%s: code %d, not %d: %s", row->header, (int)code, (int)row->code, o.err.msg);
	if (row->want != NULL && strstr(o.err.msg, row->want) == NULL)
		fail_msg("%s: '%s' does not say '%s'", row->header, o.err.msg, row->want);
	if (row->want != NULL && strncmp(o.err.msg, "safetensors: ", 13) != 0)
		fail_msg("%s: '%s' does not name the format", row->header, o.err.msg);
	if (row->finding != NULL && !says(&o.report, row->severity, row->finding))
		fail_msg("%s: nothing found says '%s'", row->header, row->finding);
	close_opened(&o);
}

static void each_header_opens_or_says_why_not(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		check_row(&rows[i]);
}

static void a_nul_padded_header_is_named(void **state)
{
	(void)state;
	struct opened o;
	assert_int_equal(open_header(&o, VIEW("{}\0\0\0"), 0), TN_E_CORRUPT);
	assert_string_equal(o.err.msg, "safetensors: header is padded with 3 NUL bytes, only spaces are allowed");
	assert_int_equal(o.err.offset, HEADER_AT + 2);
	close_opened(&o);
}

static void faults_have_the_offset_of_their_entry(void **state)
{
	(void)state;
	struct opened o;
	tn_view header = VIEW("{ \"__metadata__\" : {\"a\":\"}\\\"\"} ,\n" A2 ", \"b\":{\"dtype\":\"F32\",\"shape\":{},\"data_offsets\":[0,8]}}");
	assert_int_equal(open_header(&o, header, 8), TN_E_CORRUPT);
	assert_memory_equal(o.bytes + o.err.offset, "\"b\":", 4);
	close_opened(&o);
}

/* ---- What a good header becomes ---- */

static void the_model_is_in_data_order(void **state)
{
	(void)state;
	struct opened o;
	tn_view header = VIEW("{\"__metadata__\":{\"z\":\"1\",\"a\":\"\\u00e9\"},"
	                      "\"b\":{\"shape\":[1,2],\"dtype\":\"U16\",\"data_offsets\":[4,8]},"
	                      "\"\\u0061\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}  ");
	assert_int_equal(open_header(&o, header, 8), TN_OK);
	const struct tensor *t = o.model.tensors;
	uint64_t data = HEADER_AT + header.len;
	assert_int_equal(o.model.n, 2);
	assert_true(view_is(t[0].name, "a") && t[0].dtype == TN_F32 && t[0].rank == 0 && view_is(t[0].dtype_text, "F32"));
	assert_true(view_is(t[1].name, "b") && t[1].dtype == TN_U16 && t[1].rank == 2);
	assert_true(t[1].shape[0] == 1 && t[1].shape[1] == 2 && t[1].nbytes == 4 && t[1].stored == 4);
	assert_true(t[0].offset == data && t[1].offset == data + 4 && o.model.data_at == data);
	const struct tn_meta *z = o.model.metadata->as.kids.first;
	assert_true(view_is(z->key, "z") && view_is(z->as.s, "1"));
	assert_true(view_is(z->next->key, "a") && view_is(z->next->as.s, "\xc3\xa9"));
	assert_int_equal(o.model.n_regions, 3);
	assert_true(o.model.regions[2].kind == TN_REGION_PADDING && o.model.regions[2].len == 2);
	close_opened(&o);
}

static void every_dtype_is_known(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SAFETENSORS_DTYPES; i++) {
		const struct safetensors_dtype *d = &safetensors_dtypes[i];
		size_t bytes = (size_t)8 * dtype_info(d->dtype)->bits / 8;
		char header[128];
		struct opened o;
		snprintf(header, sizeof header, "{\"a\":{\"dtype\":\"%s\",\"shape\":[8],\"data_offsets\":[0,%zu]}}", d->name, bytes);
		assert_int_equal(open_header(&o, tn_text(header), bytes), TN_OK);
		assert_int_equal(o.model.tensors[0].dtype, d->dtype);
		close_opened(&o);
	}
}

static void padding_beyond_8_is_an_alignment(void **state)
{
	(void)state;
	static const struct { size_t text, align; uint64_t native; } cases[] = {
		{ 2, 8, 0 }, { 2, 64, 64 }, { 2, 256, 256 }, { 2, 4096, 4096 }, { 2, 128, 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char header[4096];
		struct opened o;
		size_t n = cases[i].align - HEADER_AT;
		memset(header, ' ', sizeof header);
		memcpy(header, "{}", 2);
		if (n < 2)
			n += cases[i].align;
		assert_int_equal(open_header(&o, (tn_view){ (const uint8_t *)header, n }, 0), TN_OK);
		const struct tn_meta *align = safetensors_own(o.model.native, NATIVE_ALIGN);
		assert_true(cases[i].native == 0 ? align == NULL : align != NULL && align->as.u == cases[i].native);
		assert_int_equal(says(&o.report, TN_NOTE, "more padding"), cases[i].align == 128);
		close_opened(&o);
	}
}

static void what_is_not_known_is_kept_as_text(void **state)
{
	(void)state;
	struct opened o;
	tn_view header = VIEW("{\"a\":{\"x\": [ 1.50, \" \\\" \" ],\"dtype\":\"F9\",\"shape\":[2],\"data_offsets\":[0,3],\"y\":{}}}");
	assert_int_equal(open_header(&o, header, 3), TN_OK);
	const struct tensor *t = &o.model.tensors[0];
	assert_true(t->dtype == TN_OPAQUE && view_is(t->dtype_text, "F9") && t->nbytes == 3);
	assert_true(view_is(safetensors_own(t->extras, "x")->as.s, "[1.50,\" \\\" \"]"));
	assert_true(view_is(safetensors_own(t->extras, "y")->as.s, "{}"));
	assert_true(view_is(safetensors_own(t->extras, EXTRA_DTYPE)->as.s, "F9"));
	close_opened(&o);
}

static void an_empty_map_is_remembered(void **state)
{
	(void)state;
	struct opened o;
	assert_int_equal(open_header(&o, VIEW("{\"__metadata__\":{}}"), 0), TN_OK);
	assert_true(safetensors_flag(&o.model, NATIVE_EMPTY_MAP));
	close_opened(&o);
	assert_int_equal(open_header(&o, VIEW("{}"), 0), TN_OK);
	assert_false(safetensors_flag(&o.model, NATIVE_EMPTY_MAP));
	close_opened(&o);
}

/* ---- Lengths and limits ---- */

static void expect_length_fault(uint64_t n, size_t file, const tn_limits *limits, tn_code code, const char *want)
{
	struct opened o;
	uint8_t *bytes = calloc(file, 1);
	assert_non_null(bytes);
	if (file >= HEADER_AT)
		put_le64(bytes, n);
	assert_int_equal(open_bytes(&o, bytes, file, limits), code);
	if (strstr(o.err.msg, want) == NULL)
		fail_msg("'%s' does not say '%s'", o.err.msg, want);
	close_opened(&o);
}

static void a_length_that_cannot_be_is_explained(void **state)
{
	(void)state;
	static const tn_limits none, low = { .max_header = 10 };
	expect_length_fault(0, 1, &none, TN_E_TRUNCATED, "header length");
	expect_length_fault(0, 7, &none, TN_E_TRUNCATED, "the file has 7");
	expect_length_fault(0, 8, &none, TN_E_CORRUPT, "file starts with zero bytes; probably a failed transfer");
	expect_length_fault(100, 10, &none, TN_E_TRUNCATED, "ends at byte 108, the file has 10");
	expect_length_fault(UINT64_MAX, 10, &none, TN_E_CORRUPT, "18446744073709551615 is larger than the file (10 bytes)");
	expect_length_fault(HEADER_MAX + 1, 10, &none, TN_E_CORRUPT, "is larger than the file");
	expect_length_fault(11, 100, &low, TN_E_LIMIT, "header of 11 bytes, the limit is 10");
}

static void more_of_the_file_is_asked_for(void **state)
{
	(void)state;
	static const tn_limits none;
	struct opened o;
	size_t len;
	uint8_t *bytes = file_of(VIEW("{" A2 "}"), 8, &len);
	assert_int_equal(open_bytes(&o, bytes, len, &none), TN_OK);
	for (size_t have = 0; have < len - 8; have++) {
		tn_error err = { .code = TN_OK };
		struct parse_job job = {
			.file = { bytes, have }, .size = len, .limits = &none, .mem = &o.mem, .model = &o.model,
			.report = &o.report, .err = &err,
		};
		assert_int_equal(format_safetensors.parse(&job), TN_E_TRUNCATED);
		assert_int_equal(job.need, have < HEADER_AT ? HEADER_AT : len - 8);
	}
	close_opened(&o);
}

static void nesting_is_limited(void **state)
{
	(void)state;
	for (size_t depth = HEADER_DEPTH - ENTRY_DEPTH; depth <= HEADER_DEPTH - ENTRY_DEPTH + 1; depth++) {
		struct opened o;
		struct buf b;
		buf_init(&b, 0);
		buf_text(&b, "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"z\":");
		buf_fill(&b, '[', depth);
		buf_fill(&b, ']', depth);
		buf_text(&b, "}}");
		tn_code code = open_header(&o, buf_bytes(&b), 8);
		assert_int_equal(code, depth == HEADER_DEPTH - ENTRY_DEPTH ? TN_OK : TN_E_LIMIT);
		close_opened(&o);
		buf_fini(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_header_opens_or_says_why_not),
		cmocka_unit_test(a_nul_padded_header_is_named),
		cmocka_unit_test(faults_have_the_offset_of_their_entry),
		cmocka_unit_test(the_model_is_in_data_order),
		cmocka_unit_test(every_dtype_is_known),
		cmocka_unit_test(padding_beyond_8_is_an_alignment),
		cmocka_unit_test(what_is_not_known_is_kept_as_text),
		cmocka_unit_test(an_empty_map_is_remembered),
		cmocka_unit_test(a_length_that_cannot_be_is_explained),
		cmocka_unit_test(more_of_the_file_is_asked_for),
		cmocka_unit_test(nesting_is_limited),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
