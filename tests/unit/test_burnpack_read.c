/* test_burnpack_read.c - what opens, as what, and what does not, with which words. */
#include "unit/burnpack.h"

#define U8_T "'dtype':'U8','shape':[4],'data_offsets':[0,4]"

/* ---- The worked examples ---- */

static void reads_empty_pack(void **state)
{
	(void)state;
	struct opened o;
	example_empty(&o.file);
	assert_int_equal(o.file.len, EXAMPLE_EMPTY_SIZE);
	assert_int_equal(open_file(&o, NULL), TN_OK);
	assert_int_equal(o.model.n, 0);
	assert_string_equal(o.model.version, "1");
	assert_string_equal(o.model.dialect, "");
	assert_int_equal(o.model.data_at, 256);
	assert_int_equal(o.model.n_regions, 3);
	assert_int_equal(o.model.regions[2].kind, TN_REGION_PADDING);
	assert_int_equal(o.model.regions[2].len, 236);
	close_opened(&o);
}

static void reads_weight(void **state)
{
	(void)state;
	struct opened o;
	uint64_t id;
	tn_view producer;
	example_weight(&o.file);
	assert_int_equal(o.file.len, EXAMPLE_WEIGHT_SIZE);
	assert_int_equal(open_file(&o, NULL), TN_OK);
	const struct tensor *t = &o.model.tensors[0];
	assert_int_equal(o.model.n, 1);
	assert_true(view_is(t->name, "weight"));
	assert_true(view_is(t->dtype_text, "F32"));
	assert_int_equal(t->dtype, TN_F32);
	assert_int_equal(t->rank, 2);
	assert_int_equal(t->shape[0] * t->shape[1], 4);
	assert_int_equal(t->offset, 256);
	assert_int_equal(t->nbytes, 16);
	assert_true(tn_meta_u64(tn_meta_find(t->extras, VIEW("param_id")), &id));
	assert_int_equal(id, 42);
	assert_true(tn_meta_string(tn_meta_find(o.model.metadata, VIEW("producer")), &producer));
	assert_true(view_is(producer, "burn-pack docs"));
	assert_int_equal(o.report.n, 0);
	close_opened(&o);
}

static void reads_quantised_in_data_order(void **state)
{
	(void)state;
	struct opened o;
	tn_view value;
	example_quantised(&o.file);
	assert_int_equal(o.file.len, EXAMPLE_QUANTISED_SIZE);
	assert_int_equal(open_file(&o, NULL), TN_OK);
	const struct tensor *mask = &o.model.tensors[0], *q = &o.model.tensors[1];
	assert_true(view_is(mask->name, "mask"));
	assert_true(view_is(mask->dtype_text, "Bool(Native)"));
	assert_null(mask->extras);
	assert_true(view_is(q->name, "layer.q"));
	assert_int_equal(q->dtype, TN_QFLOAT);
	assert_true(view_is(q->dtype_text, "QFloat(Q8S, Native)"));
	assert_int_equal(q->offset, 512);
	assert_int_equal(q->nbytes, 10);
	const tn_meta *scheme = tn_meta_find(q->extras, VIEW("qfloat"));
	assert_true(tn_meta_string(tn_meta_find(scheme, VIEW("value")), &value));
	assert_true(view_is(value, "Q8S"));
	assert_int_equal(tn_meta_kind(tn_meta_find(scheme, VIEW("block"))), TN_META_NULL);
	assert_int_equal(o.report.n, 0);
	close_opened(&o);
}

/* A file cut anywhere is refused, and never read outside its bytes. */
static void every_prefix_is_refused(void **state)
{
	(void)state;
	struct buf whole;
	example_quantised(&whole);
	for (size_t n = 0; n < whole.len; n++) {
		struct opened o;
		assert_int_equal(open_bytes(&o, whole.ptr, n), TN_E_TRUNCATED);
		close_opened(&o);
	}
	buf_fini(&whole);
}

/* ---- Element types ---- */

static void reads_every_dtype(void **state)
{
	(void)state;
	static const struct { const char *text; tn_dtype dtype; unsigned size; const char *words; } cases[] = {
		{ "'F64'", TN_F64, 8, "F64" }, { "'F32'", TN_F32, 4, "F32" }, { "'Flex32'", TN_FLEX32, 4, "Flex32" },
		{ "'F16'", TN_F16, 2, "F16" }, { "'BF16'", TN_BF16, 2, "BF16" }, { "'I64'", TN_I64, 8, "I64" },
		{ "'I32'", TN_I32, 4, "I32" }, { "'I16'", TN_I16, 2, "I16" }, { "'I8'", TN_I8, 1, "I8" },
		{ "'U64'", TN_U64, 8, "U64" }, { "'U32'", TN_U32, 4, "U32" }, { "'U16'", TN_U16, 2, "U16" },
		{ "'U8'", TN_U8, 1, "U8" }, { "{'Bool':'Native'}", TN_BOOL, 1, "Bool(Native)" },
		{ "{'Bool':'U8'}", TN_BOOL_U8, 1, "Bool(U8)" }, { "{'Bool':'U32'}", TN_BOOL_U32, 4, "Bool(U32)" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct opened o;
		char text[200];
		snprintf(text, sizeof text, ONE("'dtype':%s,'shape':[3],'data_offsets':[0,%u]"), cases[i].text, 3 * cases[i].size);
		assert_int_equal(open_text(&o, text, 3 * cases[i].size), TN_OK);
		assert_int_equal(o.model.tensors[0].dtype, cases[i].dtype);
		assert_true(view_is(o.model.tensors[0].dtype_text, cases[i].words));
		close_opened(&o);
	}
}

static void carries_unknown_dtype(void **state)
{
	(void)state;
	static const char *const texts[] = {
		ONE("'dtype':'F8','shape':[4],'data_offsets':[0,3]"),
		ONE("'dtype':{'F8':{'kind':[1,2]}},'shape':[4],'data_offsets':[0,3]"),
	};
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct opened o;
		assert_int_equal(open_text(&o, texts[i], 3), TN_OK);
		assert_int_equal(o.model.tensors[0].dtype, TN_OPAQUE);
		assert_true(view_is(o.model.tensors[0].dtype_text, "F8"));
		assert_int_equal(o.model.tensors[0].nbytes, 3);
		assert_true(says(&o.report, TN_WARNING, "dtype 'F8' is unknown"));
		close_opened(&o);
	}
}

/* ---- Tolerance ---- */

static void tolerates(void **state)
{
	(void)state;
	static const char *const texts[] = {
		ONE("'data_offsets':[0,4],'param_id':5,'shape':[4],'dtype':'U8'"),
		"{'future':[1,{'x':null},<d9d9f7>1,<5f4161ff>],'tensors':{'t':{" U8_T "}}}",
		ONE("'future':<c249010101010101010101>," U8_T),
		ONE(U8_T ",'param_id':null"),
		ONE(U8_T ",'param_id':<f7>"),
		"{'tensors':{'t':{" U8_T "}},'metadata':{},'scalars':{}}",
		"<bf>'tensors'<bf>'t'<bf>'dtype''U8''shape'<9f04ff>'data_offsets'[0,4]<ff><ff><ff>",
		"{'tensors':{<7f6174ff>:{" U8_T "}}}",
		ONE("'dtype':'U8','shape':[<1b0000000000000004>],'data_offsets':[<1800>,<190004>]"),
		"<d9d9f7>{'tensors':{'t':{'dtype':<c0>'U8','shape':<c1>[<c24104>],'data_offsets':[0,<d820>4]}}}",
		"{<4774656e736f7273>:{'t':{" U8_T "}}}",
		ONE("'dtype':'U8','shape':<4104>,'data_offsets':<420004>"),
	};
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct opened o;
		if (open_text(&o, texts[i], 4) != TN_OK)
			fail_msg("%s: %s", texts[i], o.err.msg);
		assert_int_equal(o.model.n, 1);
		assert_true(view_is(o.model.tensors[0].name, "t"));
		assert_int_equal(o.model.tensors[0].dtype, TN_U8);
		assert_int_equal(o.model.tensors[0].shape[0], 4);
		assert_int_equal(o.model.tensors[0].offset, o.model.data_at);
		close_opened(&o);
	}
}

static void says_what_it_tolerated(void **state)
{
	(void)state;
	struct opened o;
	open_text(&o, "{'tensors':{'b':{" U8_T "},'a':{'dtype':'U8','shape':[0],'data_offsets':[4,4]}},'x':1}", 4);
	assert_int_equal(o.err.code, TN_OK);
	assert_true(says(&o.report, TN_NOTE, "not sorted"));
	assert_true(says(&o.report, TN_NOTE, "unknown members, not looked at: 1"));
	close_opened(&o);

	build(&o.file, ONE(U8_T), PACK_ALIGN, 4);
	o.file.ptr[6] += 3; /* three zeros of the padding now belong to the metadata */
	assert_int_equal(open_file(&o, NULL), TN_OK);
	assert_true(says(&o.report, TN_WARNING, "3 bytes follow"));
	close_opened(&o);
}

/* ---- Refusal ---- */

static void refuses(void **state)
{
	(void)state;
	static const struct { const char *text; tn_code code; const char *words; } cases[] = {
		{ "{}", TN_E_CORRUPT, "'tensors' is missing" },
		{ "[]", TN_E_CORRUPT, "the metadata is an array, not a map" },
		{ "{'tensors':null}", TN_E_CORRUPT, "'tensors' is null" },
		{ "{'tensors':{},'tensors':{}}", TN_E_CORRUPT, "'tensors' appears twice" },
		{ "{'tensors':{},1:2}", TN_E_CORRUPT, "a member's name is an unsigned integer" },
		{ "{'tensors':{},<7f6161ff>:2}", TN_E_CORRUPT, "a text in pieces" },
		{ "{'tensors':{},<61ff>:2}", TN_E_CORRUPT, "not UTF-8" },
		{ "{'tensors':{},'metadata':null}", TN_E_CORRUPT, "'metadata' is null" },
		{ "{'tensors':{},'metadata':{'a':1}}", TN_E_CORRUPT, "a metadata value is an unsigned integer" },
		{ "{'tensors':{},'metadata':{'a':<62c328>}}", TN_E_CORRUPT, "a metadata value is not UTF-8" },
		{ "{'tensors':<bbffffffffffffffff>}", TN_E_CORRUPT, "count exceeds" },
		{ "{'tensors':<bf>'t'<ff>}", TN_E_CORRUPT, "ends after a key" },
		{ "{'tensors':{<4174>:{" U8_T "}}}", TN_E_CORRUPT, "a tensor's name is a byte string" },
		{ "{'tensors':{<61ff>:{" U8_T "}}}", TN_E_CORRUPT, "a tensor's name is not UTF-8" },
		{ "{'tensors':{'t':['U8',[4],[0,4]]}}", TN_E_CORRUPT, "tensor 't': the descriptor is an array" },
		{ "{'tensors':{'t':{" U8_T "},'t':{'dtype':'U8','shape':[0],'data_offsets':[4,4]}}}", TN_E_CORRUPT,
		  "two tensors are called 't'" },
		{ ONE("'shape':[4],'data_offsets':[0,4]"), TN_E_CORRUPT, "tensor 't': member 'dtype' is missing" },
		{ ONE("'dtype':'U8','data_offsets':[0,4]"), TN_E_CORRUPT, "member 'shape' is missing" },
		{ ONE("'dtype':'U8','shape':[4]"), TN_E_CORRUPT, "member 'data_offsets' is missing" },
		{ ONE("'dtype':'U8'," U8_T), TN_E_CORRUPT, "member 'dtype' appears twice" },
		{ ONE("'dtype':'u8','shape':[4],'data_offsets':[0,4]"), TN_E_CORRUPT, "'U8' would be written" },
		{ ONE("'dtype':'QFloat','shape':[4],'data_offsets':[0,4]"), TN_E_CORRUPT, "'QFloat' has no scheme" },
		{ ONE("'dtype':{'U8':null},'shape':[4],'data_offsets':[0,4]"), TN_E_CORRUPT, "'U8' has a payload" },
		{ ONE("'dtype':<7f625538ff>,'shape':[4],'data_offsets':[0,4]"), TN_E_CORRUPT, "the dtype is a text in pieces" },
		{ ONE("'dtype':{'Bool':'U16'},'shape':[4],'data_offsets':[0,4]"), TN_E_CORRUPT, "the store of bool is 'U16'" },
		{ ONE("'dtype':<bf>'Bool''Native'<ff>,'shape':[4],'data_offsets':[0,4]"), TN_E_CORRUPT, "the dtype is a map" },
		{ ONE("'dtype':{'Bool':'Native','a':null},'shape':[4],'data_offsets':[0,4]"), TN_E_CORRUPT, "the dtype is a map" },
		{ ONE("'dtype':'U8','shape':[-4],'data_offsets':[0,4]"), TN_E_CORRUPT, "a dimension is negative" },
		{ ONE("'dtype':'U8','shape':[<c249010000000000000000>],'data_offsets':[0,4]"), TN_E_CORRUPT, "exceeds 64 bits" },
		{ ONE("'dtype':'U8','shape':[4],'data_offsets':[0]"), TN_E_CORRUPT, "data_offsets has 1 items" },
		{ ONE("'dtype':'U8','shape':[4],'data_offsets':[0,4,9]"), TN_E_CORRUPT, "data_offsets has 3 items" },
		{ ONE("'dtype':'U8','shape':[4],'data_offsets':<9f0004ff>"), TN_E_CORRUPT, "no definite length" },
		{ ONE("'dtype':'U8','shape':[4],'data_offsets':[4,0]"), TN_E_CORRUPT, "ends before it starts" },
		{ ONE("'dtype':'U8','shape':[3],'data_offsets':[0,4]"), TN_E_CORRUPT, "takes 3 bytes, data_offsets give 4" },
		{ ONE("'dtype':'F64','shape':[4],'data_offsets':[0,4]"), TN_E_CORRUPT, "takes 32 bytes, data_offsets give 4" },
		{ ONE("'dtype':'U8','shape':[1099511627776,1099511627776],'data_offsets':[0,4]"), TN_E_CORRUPT, "overflows" },
		{ ONE("'dtype':'U8','shape':[4],'data_offsets':[18446744073709551611,18446744073709551615]"), TN_E_CORRUPT,
		  "overflow" },
		{ ONE("'dtype':'U8','shape':[4],'data_offsets':[256,260]"), TN_E_TRUNCATED, "short by 256 bytes" },
		{ ONE(U8_T ",'param_id':-1"), TN_E_CORRUPT, "param_id is negative" },
		{ "{'tensors':{},'scalars':{'k':1}}", TN_E_CORRUPT, "a scalar is an unsigned integer" },
		{ "{'tensors':{},'scalars':{'k':{'Str':'x'}}}", TN_E_CORRUPT, "a scalar is 'Str'" },
		{ "{'tensors':{},'scalars':{'k':{'Float':1}}}", TN_E_CORRUPT, "no float" },
		{ "{'tensors':{},'scalars':{'k':{'Int':<f93c00>}}}", TN_E_CORRUPT, "a scalar is a float" },
		{ "{'tensors':{},'scalars':{'k':{'Int':9223372036854775808}}}", TN_E_CORRUPT, "exceeds 64 signed bits" },
		{ "{'tensors':{},'scalars':{'k':{'UInt':-1}}}", TN_E_CORRUPT, "a scalar is negative" },
		{ "{'tensors':{},'scalars':{'k':{'Bool':0}}}", TN_E_CORRUPT, "no bool" },
		{ "<a1>'tensors'", TN_E_CORRUPT, "ends early" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct opened o;
		tn_code code = open_text(&o, cases[i].text, 4);
		if (code != cases[i].code || strstr(o.err.msg, cases[i].words) == NULL)
			fail_msg("%s: %s '%s'", cases[i].text, tn_code_name(code), o.err.msg);
		close_opened(&o);
	}
}

static void refuses_long_member_names(void **state)
{
	(void)state;
	for (size_t n = PACK_KEY_MAX; n <= PACK_KEY_MAX + 1; n++) {
		struct opened o;
		char text[PACK_KEY_MAX + 64] = "{'tensors':{},'";
		size_t at = strlen(text);
		memset(text + at, 'k', n);
		strcpy(text + at + n, "':1}");
		assert_int_equal(open_text(&o, text, 0), n == PACK_KEY_MAX ? TN_OK : TN_E_CORRUPT);
		close_opened(&o);
	}
}

/* An unknown value may nest as deep as the containers around it leave room for. */
static void counts_nesting(void **state)
{
	(void)state;
	static const struct { const char *before, *after; unsigned most; } places[] = {
		{ "{'deep':", ",'tensors':{}}", PACK_NESTING - 1 },
		{ "{'tensors':{'t':{'deep':", "," U8_T "}}}", PACK_NESTING - 3 },
	};
	for (size_t i = 0; i < COUNT(places); i++)
		for (unsigned more = 0; more < 2; more++) {
			struct opened o;
			struct buf text;
			buf_init(&text, 0);
			buf_text(&text, places[i].before);
			buf_fill(&text, '[', places[i].most + more);
			buf_fill(&text, ']', places[i].most + more);
			buf_text(&text, places[i].after);
			buf_byte(&text, '\0');
			assert_int_equal(open_text(&o, (const char *)text.ptr, 4), more == 0 ? TN_OK : TN_E_CORRUPT);
			buf_fini(&text);
			close_opened(&o);
		}
}

/* ---- Metadata ---- */

static void reads_scalars_with_their_types(void **state)
{
	(void)state;
	struct opened o;
	int64_t i;
	uint64_t u;
	double f;
	bool b;
	assert_int_equal(open_text(&o, "{'scalars':{'i':{'Int':-3},'u':{'UInt':18446744073709551615},'f':{'Float':<f93800>},"
	                           "'b':{'Bool':true}},'tensors':{},'metadata':{'s':'x'}}", 0), TN_OK);
	const struct tn_meta *m = o.model.metadata;
	assert_true(view_is(m->as.kids.first->key, "s"));
	assert_true(tn_meta_i64(meta_find(m, VIEW("i")), &i));
	assert_int_equal(i, -3);
	assert_int_equal(meta_find(m, VIEW("i"))->width, 64);
	assert_true(tn_meta_u64(meta_find(m, VIEW("u")), &u));
	assert_true(u == UINT64_MAX);
	assert_true(tn_meta_f64(meta_find(m, VIEW("f")), &f));
	assert_true(f > 0.4999 && f < 0.5001);
	assert_true(tn_meta_bool(meta_find(m, VIEW("b")), &b));
	assert_true(b);
	close_opened(&o);
}

static void last_of_two_entries_counts(void **state)
{
	(void)state;
	struct opened o;
	tn_view s;
	assert_int_equal(open_text(&o, "{'tensors':{},'metadata':{'k':'1','l':'2','k':'3'}}", 0), TN_OK);
	assert_int_equal(tn_meta_count(o.model.metadata), 2);
	assert_true(tn_meta_string(meta_find(o.model.metadata, VIEW("k")), &s));
	assert_true(view_is(s, "3"));
	assert_true(says(&o.report, TN_WARNING, "'k' appears twice"));
	close_opened(&o);
}

static void scalar_of_a_strings_name_stands_apart(void **state)
{
	(void)state;
	struct opened o;
	assert_int_equal(open_text(&o, "{'tensors':{},'scalars':{'k':{'Int':1}},'metadata':{'k':'text'}}", 0), TN_OK);
	assert_int_equal(tn_meta_count(o.model.metadata), 1);
	const tn_meta *own = tn_meta_find(o.model.native, VIEW("burnpack"));
	assert_int_equal(tn_meta_kind(tn_meta_find(tn_meta_find(own, VIEW("scalars")), VIEW("k"))), TN_META_INT);
	close_opened(&o);
}

static void unknown_members_are_kept(void **state)
{
	(void)state;
	struct opened o;
	tn_view v;
	assert_int_equal(open_text(&o, "{'tensors':{'t':{" U8_T ",'zip':[7]}},'future':'x'}", 4), TN_OK);
	const tn_meta *root = tn_meta_find(tn_meta_find(o.model.native, VIEW("burnpack")), VIEW("unknown"));
	assert_true(tn_meta_bytes(tn_meta_find(root, VIEW("future")), &v));
	assert_true(view_is(v, "\x61x"));
	const tn_meta *own = tn_meta_find(o.model.tensors[0].extras, VIEW("unknown"));
	assert_true(tn_meta_bytes(tn_meta_find(own, VIEW("zip")), &v));
	assert_true(view_is(v, "\x81\x07"));
	close_opened(&o);
}

/* ---- Header and limits ---- */

static void refuses_headers(void **state)
{
	(void)state;
	static const struct { const char *head; tn_code code; const char *words; } cases[] = {
		{ "BURN\x01\0\x0a\0\0\0", TN_E_FORMAT, "starts with 'BURN'" },
		{ "NRUB\x02\0\x0a\0\0\0", TN_E_UNSUPPORTED, "version 2" },
		{ "NRUB\x01\0\x01\0\x40\x06", TN_E_LIMIT, "104857601 bytes of metadata" },
		{ "NRUB\x01\0\0\0\x40\x06", TN_E_TRUNCATED, "metadata" },
		{ "NRUB\x01\0\0\0\0\0", TN_E_CORRUPT, "ends early" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct opened o;
		assert_int_equal(open_bytes(&o, cases[i].head, 10), cases[i].code);
		assert_non_null(strstr(o.err.msg, cases[i].words));
		close_opened(&o);
	}
}

static void version_0_is_read(void **state)
{
	(void)state;
	struct opened o;
	build(&o.file, ONE(U8_T), PACK_ALIGN, 4);
	o.file.ptr[4] = 0;
	assert_int_equal(open_file(&o, NULL), TN_OK);
	assert_string_equal(o.model.version, "0");
	close_opened(&o);
}

static void keeps_limits(void **state)
{
	(void)state;
	static const tn_limits limits[] = {
		{ .max_tensors = 1 }, { .max_header = 20 }, { .max_tensor_bytes = 3 }, { .max_file_bytes = 259 },
	};
	for (size_t i = 0; i < COUNT(limits); i++) {
		struct opened o;
		build(&o.file, "{'tensors':{'a':{'dtype':'U8','shape':[0],'data_offsets':[0,0]},'t':{" U8_T "}}}", PACK_ALIGN, 4);
		assert_int_equal(open_file(&o, &limits[i]), TN_E_LIMIT);
		close_opened(&o);
	}
}

static void default_limits_are_upstreams(void **state)
{
	(void)state;
	struct opened o;
	assert_int_equal(open_text(&o, "{'tensors':{}}", 0), TN_OK);
	assert_int_equal(o.job.check.max_tensors, 100000);
	assert_true(o.job.check.max_tensor_bytes == UINT64_C(10737418240));
	close_opened(&o);
}

/* Parses with so much memory, and says how much it took. */
static tn_code parse_within(uint64_t budget, tn_view file, uint64_t *used)
{
	static const tn_limits none;
	struct arena mem;
	struct model model;
	struct tn_report report;
	tn_error err = { .code = TN_OK };
	arena_init(&mem, budget);
	report_init(&report);
	tn_code code = TN_E_LIMIT;
	if (model_init(&model, &mem)) {
		struct parse_job job = { .file = file, .size = file.len, .limits = &none, .mem = &mem, .model = &model,
		                         .report = &report, .err = &err };
		code = format_burnpack.parse(&job);
	}
	*used = mem.used;
	report_fini(&report);
	arena_fini(&mem);
	return code;
}

static void memory_budget_is_kept(void **state)
{
	(void)state;
	struct buf file;
	uint64_t used, less;
	build(&file, "{'tensors':{<7f6174ff>:{" U8_T ",'param_id':1,'x':0}},'metadata':{'a':'b'},'scalars':{'a':{'Int':1}},'y':1}",
	      PACK_ALIGN, 4);
	assert_int_equal(parse_within(1 << 20, buf_bytes(&file), &used), TN_OK);
	for (uint64_t budget = 1; budget < used; budget += 16)
		assert_int_equal(parse_within(budget, buf_bytes(&file), &less), TN_E_LIMIT);
	assert_int_equal(parse_within(used, buf_bytes(&file), &less), TN_OK);
	buf_fini(&file);
}

/* With the first bytes only, parse says how many it wants. */
static void asks_for_more_bytes(void **state)
{
	(void)state;
	static const size_t have[] = { 4, 10 };
	static const uint64_t want[] = { 10, 10 + 98 };
	for (size_t i = 0; i < COUNT(have); i++) {
		struct opened o;
		example_weight(&o.file);
		uint64_t size = o.file.len;
		o.file.len = have[i];
		open_file(&o, NULL);
		o.job.size = size;
		o.job.need = 0;
		o.err = (tn_error){ .code = TN_OK };
		assert_int_equal(format_burnpack.parse(&o.job), TN_E_TRUNCATED);
		assert_int_equal(o.job.need, want[i]);
		close_opened(&o);
	}
}

static void probes_magic_and_version(void **state)
{
	(void)state;
	assert_int_equal(format_burnpack.probe(VIEW("NRUB\x01\0"), 256), 48);
	assert_int_equal(format_burnpack.probe(VIEW("NRUB\x09\0"), 256), 32);
	assert_int_equal(format_burnpack.probe(VIEW("NRUB"), 256), 32);
	assert_int_equal(format_burnpack.probe(VIEW("BURN\x01\0"), 256), 0);
	assert_int_equal(format_burnpack.probe(VIEW("NRU"), 3), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_empty_pack),
		cmocka_unit_test(reads_weight),
		cmocka_unit_test(reads_quantised_in_data_order),
		cmocka_unit_test(every_prefix_is_refused),
		cmocka_unit_test(reads_every_dtype),
		cmocka_unit_test(carries_unknown_dtype),
		cmocka_unit_test(tolerates),
		cmocka_unit_test(says_what_it_tolerated),
		cmocka_unit_test(refuses),
		cmocka_unit_test(refuses_long_member_names),
		cmocka_unit_test(counts_nesting),
		cmocka_unit_test(reads_scalars_with_their_types),
		cmocka_unit_test(last_of_two_entries_counts),
		cmocka_unit_test(scalar_of_a_strings_name_stands_apart),
		cmocka_unit_test(unknown_members_are_kept),
		cmocka_unit_test(refuses_headers),
		cmocka_unit_test(version_0_is_read),
		cmocka_unit_test(keeps_limits),
		cmocka_unit_test(default_limits_are_upstreams),
		cmocka_unit_test(memory_budget_is_kept),
		cmocka_unit_test(asks_for_more_bytes),
		cmocka_unit_test(probes_magic_and_version),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
