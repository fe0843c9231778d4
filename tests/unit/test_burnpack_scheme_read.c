/* test_burnpack_scheme_read.c - schemes in the metadata: every member, both generations, what is refused. */
#include "unit/burnpack.h"

#define NEW "'value':'Q8S','store':'Native','mode':'Symmetric'"
#define BLOCK(storage, len) "'block':{'size':{'storage':" storage ",'len':" len "},'dtype':'F16'}"

static void opens_as(const char *metadata, const char *words)
{
	struct opened o;
	if (open_text(&o, metadata, 64) != TN_OK)
		fail_msg("%s: %s", metadata, o.err.msg);
	tn_view text = o.model.tensors[0].dtype_text;
	if (!view_is(text, words))
		fail_msg("%s: %.*s", metadata, VIEW_ARG(text));
	close_opened(&o);
}

static void reads_every_member(void **state)
{
	(void)state;
	opens_as(QUANTISED(NEW ",'tensor':null,'block':null", "8"), "QFloat(Q8S, Native)");
	opens_as(QUANTISED(NEW, "8"), "QFloat(Q8S, Native)");
	opens_as(QUANTISED(NEW ",'tensor':<f7>,'block':<f7>", "8"), "QFloat(Q8S, Native)");
	opens_as(QUANTISED("'tensor':'BF16','future':[1]," NEW, "6"), "QFloat(Q8S, Native, tensor BF16)");
	opens_as(QUANTISED("'mode':'Lookup','store':{'PackedU32':0},'value':'Q8F'", "8"), "QFloat(Q8F, PackedU32(0), Lookup)");
	opens_as(QUANTISED("'mode':'Symmetric','store':{'PackedNative':0},'value':'E2M1'", "6"), "QFloat(E2M1, PackedNative(0))");
	opens_as(QUANTISED(NEW "," BLOCK("[2,1,1,1,1]", "1"), "8"), "QFloat(Q8S, Native, block [2] F16)");
	opens_as(QUANTISED(NEW "," BLOCK("<450201010101>", "1"), "8"), "QFloat(Q8S, Native, block [2] F16)");
	opens_as(QUANTISED("'tensor':'F32'," NEW ",'block':{'x':0,'dtype':'UE4M3','size':{'y':0,'len':1,'storage':[4,1,1,1,1]}}",
	                   "9"), "QFloat(Q8S, Native, block [4] UE4M3, tensor F32)");
}

/* What is not in use is written as 1, leading extents of 1 not at all; readers take both. */
static void normalises_blocks(void **state)
{
	(void)state;
	opens_as(QUANTISED(NEW "," BLOCK("[1,2,1,1,1]", "2"), "8"), "QFloat(Q8S, Native, block [2] F16)");
	opens_as(QUANTISED(NEW "," BLOCK("[2,7,0,9,0]", "1"), "8"), "QFloat(Q8S, Native, block [2] F16)");
	opens_as(QUANTISED(NEW "," BLOCK("[1,1,1,1,1]", "5"), "12"), "QFloat(Q8S, Native, block [] F16)");
}

static void refuses(void **state)
{
	(void)state;
	static const struct { const char *text; tn_code code; const char *words; } cases[] = {
		{ QUANTISED("'store':'Native','mode':'Symmetric'", "8"), TN_E_CORRUPT, "'value' is missing" },
		{ QUANTISED("'value':'Q8S','mode':'Symmetric'", "8"), TN_E_CORRUPT, "'store' is missing" },
		{ QUANTISED("'value':'Q8S','store':'Native'", "8"), TN_E_CORRUPT, "'mode' is missing" },
		{ QUANTISED(NEW ",'mode':'Symmetric'", "8"), TN_E_CORRUPT, "'mode' appears twice" },
		{ QUANTISED("'value':'Q8X','store':'Native','mode':'Symmetric'", "8"), TN_E_CORRUPT, "'Q8X' is unknown" },
		{ QUANTISED("'value':{'Q8S':1},'store':'Native','mode':'Symmetric'", "8"), TN_E_CORRUPT, "'Q8S' is unknown" },
		{ QUANTISED("'value':'Q8S','store':'Packed','mode':'Symmetric'", "8"), TN_E_CORRUPT, "store 'Packed' is unknown" },
		{ QUANTISED("'value':'Q8S','store':'PackedU32','mode':'Symmetric'", "8"), TN_E_CORRUPT, "has the wrong form" },
		{ QUANTISED("'value':'Q8S','store':{'Native':0},'mode':'Symmetric'", "8"), TN_E_CORRUPT, "has the wrong form" },
		{ QUANTISED("'value':'Q8S','store':'U32','mode':'Symmetric'", "8"), TN_E_CORRUPT, "older generation" },
		{ QUANTISED("'value':'Q8S','store':'Native','mode':'Affine'", "8"), TN_E_CORRUPT, "'Affine' is unknown" },
		{ QUANTISED("'value':'Q4S','store':{'PackedU32':1},'mode':'Symmetric'", "8"), TN_E_CORRUPT, "packed along" },
		{ QUANTISED(NEW ",'tensor':'F64'", "8"), TN_E_CORRUPT, "'F64' is unknown" },
		{ QUANTISED(NEW ",'tensor':''", "8"), TN_E_CORRUPT, "is empty" },
		{ QUANTISED(NEW "," BLOCK("[2,1,1,1]", "1"), "8"), TN_E_CORRUPT, "storage has 4 extents" },
		{ QUANTISED(NEW "," BLOCK("[2,1,1,1,1,1]", "1"), "8"), TN_E_CORRUPT, "storage has 6 extents" },
		{ QUANTISED(NEW "," BLOCK("<9f0201010101ff>", "1"), "8"), TN_E_CORRUPT, "no definite length" },
		{ QUANTISED(NEW "," BLOCK("[300,1,1,1,1]", "1"), "8"), TN_E_CORRUPT, "extent is 300" },
		{ QUANTISED(NEW "," BLOCK("[2,1,1,1,1]", "6"), "8"), TN_E_CORRUPT, "6 dimensions" },
		{ QUANTISED(NEW "," BLOCK("[2,0,1,1,1]", "2"), "8"), TN_E_CORRUPT, "extent is 0" },
		{ QUANTISED(NEW ",'block':{'dtype':'F16'}", "8"), TN_E_CORRUPT, "'size' is missing" },
		{ QUANTISED(NEW ",'block':{'size':{'storage':[2,1,1,1,1],'len':1}}", "8"), TN_E_CORRUPT, "'dtype' is missing" },
		{ QUANTISED(NEW ",'block':{'size':{'storage':[2,1,1,1,1]},'dtype':'F16'}", "8"), TN_E_CORRUPT, "'len' is missing" },
		{ QUANTISED(NEW ",'block':{'dtype':'F16','dtype':'F16'}", "8"), TN_E_CORRUPT, "'dtype' appears twice" },
		{ QUANTISED(NEW ",'param':'F32','level':'Tensor','tensor':null", "8"), TN_E_UNSUPPORTED, "two generations" },
		{ QUANTISED(NEW ",'param':'F32'", "8"), TN_E_CORRUPT, "'level' is missing" },
		{ QUANTISED(NEW ",'level':'Tensor'", "8"), TN_E_CORRUPT, "'param' is missing" },
		{ QUANTISED(NEW ",'param':'F32','level':'Row'", "8"), TN_E_CORRUPT, "level 'Row' is unknown" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct opened o;
		tn_code code = open_text(&o, cases[i].text, 64);
		if (code != cases[i].code || strstr(o.err.msg, cases[i].words) == NULL)
			fail_msg("%s: %s '%s'", cases[i].text, tn_code_name(code), o.err.msg);
		close_opened(&o);
	}
}

/* Any length opens, as with upstream, but a wrong one is told. */
static void wrong_length_is_told(void **state)
{
	(void)state;
	struct opened o;
	assert_int_equal(open_text(&o, QUANTISED(NEW, "9"), 9), TN_OK);
	assert_true(says(&o.report, TN_WARNING, "the payload has 9 bytes, the scheme asks for 8"));
	assert_int_equal(o.model.tensors[0].nbytes, 9);
	close_opened(&o);
	assert_int_equal(open_text(&o, QUANTISED(NEW, "8"), 8), TN_OK);
	assert_int_equal(o.report.n, 0);
	close_opened(&o);
	assert_int_equal(open_text(&o, QUANTISED(NEW "," BLOCK("[4,2,1,1,1]", "2"), "6"), 6), TN_OK);
	assert_true(says(&o.report, TN_WARNING, "a block has 2 dimensions, the tensor 1"));
	close_opened(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_every_member),
		cmocka_unit_test(normalises_blocks),
		cmocka_unit_test(refuses),
		cmocka_unit_test(wrong_length_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
