/* test_burnpack_legacy.c - old files: their schemes, their booleans, and where their data starts. */
#include "unit/burnpack.h"

#define OLD(store, param, level) \
	"'value':'Q8S','param':" param ",'store':" store ",'level':" level ",'mode':'Symmetric'"
#define SIZE(extents, len) "{'storage':" extents ",'len':" len "}"

/* ---- Schemes ---- */

static void opens_as(const char *metadata, size_t data, const char *words, const char *dialect)
{
	struct opened o;
	if (open_text(&o, metadata, data) != TN_OK)
		fail_msg("%s: %s", metadata, o.err.msg);
	tn_view text = o.model.tensors[0].dtype_text;
	if (!view_is(text, words))
		fail_msg("%s: %.*s", metadata, VIEW_ARG(text));
	assert_string_equal(o.model.dialect, dialect);
	assert_true(says(&o.report, TN_NOTE, dialect));
	close_opened(&o);
}

#define DIALECT_SCHEME "burnpack 0.21, old quantisation scheme"

static void translates_schemes(void **state)
{
	(void)state;
	opens_as(QUANTISED(OLD("'Native'", "'F32'", "'Tensor'"), "8"), 8, "QFloat(Q8S, Native, tensor F32)", DIALECT_SCHEME);
	opens_as(QUANTISED(OLD("'Native'", "'F16'", "{'Block':" SIZE("[2,1,1,1,1]", "1") "}"), "8"), 8,
	         "QFloat(Q8S, Native, block [2] F16)", DIALECT_SCHEME);
	opens_as(QUANTISED(OLD("'Native'", "'UE4M3'", "{'BlockTensor':{'block':" SIZE("[4,1,1,1,1]", "1") ",'global':'F32'}}"),
	                   "9"), 9, "QFloat(Q8S, Native, block [4] UE4M3, tensor F32)", DIALECT_SCHEME);
	opens_as(QUANTISED(OLD("'U32'", "'F32'", "'Tensor'"), "8"), 8, "QFloat(Q8S, PackedU32(0), tensor F32)",
	         DIALECT_SCHEME "; burnpack 0.19, store U32");
	opens_as(QUANTISED(OLD("{'PackedU32':0}", "'F32'", "'Tensor'"), "8"), 8, "QFloat(Q8S, PackedU32(0), tensor F32)",
	         DIALECT_SCHEME);
}

/* CPU writers kept f32 scales whatever was declared: the length tells, and the translation says what is there. */
static void f32_scales_are_recognised(void **state)
{
	(void)state;
	opens_as(QUANTISED(OLD("'Native'", "'F16'", "'Tensor'"), "8"), 8, "QFloat(Q8S, Native, tensor F32)",
	         DIALECT_SCHEME "; burnpack 0.21, f32 scales");
	opens_as(QUANTISED(OLD("'Native'", "'F16'", "'Tensor'"), "6"), 6, "QFloat(Q8S, Native, tensor F16)", DIALECT_SCHEME);
	opens_as(QUANTISED(OLD("'Native'", "'BF16'", "{'Block':" SIZE("[2,1,1,1,1]", "1") "}"), "12"), 12,
	         "QFloat(Q8S, Native, block [2] F32)", DIALECT_SCHEME "; burnpack 0.21, f32 scales");
}

#define OLD_4X6(block, end) "{'tensors':{'t':{'dtype':{'QFloat':{" OLD("'Native'", "'F32'", "{'Block':" block "}") \
	"}},'shape':[4,6],'data_offsets':[0," end "]}}}"

/* Blocks of CPU writers were runs of elements, those of GPU writers rectangles. */
static void runs_are_told_from_rectangles(void **state)
{
	(void)state;
	struct opened o;
	/* [4] over rows of 6: 8 rectangles, 6 runs */
	opens_as(OLD_4X6(SIZE("[4,1,1,1,1]", "1"), "56"), 56, "QFloat(Q8S, Native, block [4] F32)", DIALECT_SCHEME);
	opens_as(OLD_4X6(SIZE("[4,1,1,1,1]", "1"), "48"), 48, "QFloat(Q8S, Native, block [4] F32, runs)", DIALECT_SCHEME);
	/* [2,3]: 4 of either */
	opens_as(OLD_4X6(SIZE("[2,3,1,1,1]", "2"), "40"), 40, "QFloat(Q8S, Native, block [2,3] F32, uncertain)", DIALECT_SCHEME);
	/* [1,3]: 8 of either, and the same ones */
	opens_as(OLD_4X6(SIZE("[1,3,1,1,1]", "2"), "56"), 56, "QFloat(Q8S, Native, block [3] F32)", DIALECT_SCHEME);
	assert_int_equal(open_text(&o, OLD_4X6(SIZE("[4,1,1,1,1]", "1"), "48"), 48), TN_OK);
	assert_true(says(&o.report, TN_WARNING, "a run of elements"));
	close_opened(&o);
	assert_int_equal(open_text(&o, OLD_4X6(SIZE("[2,3,1,1,1]", "2"), "40"), 40), TN_OK);
	assert_true(says(&o.report, TN_WARNING, "may be runs of elements or rectangles"));
	close_opened(&o);
	assert_int_equal(open_text(&o, OLD_4X6(SIZE("[2,3,1,1,1]", "2"), "41"), 41), TN_OK);
	assert_true(says(&o.report, TN_WARNING, "the payload has 41 bytes"));
	close_opened(&o);
}

static void extents_beyond_the_dimensions_are_uncertain(void **state)
{
	(void)state;
	opens_as(QUANTISED(OLD("'Native'", "'F32'", "{'Block':" SIZE("[1,2,1,1,1]", "2") "}"), "12"), 12,
	         "QFloat(Q8S, Native, block [2] F32, uncertain)", DIALECT_SCHEME);
}

static void reads_plain_bool(void **state)
{
	(void)state;
	struct opened o;
	assert_int_equal(open_text(&o, ONE("'dtype':'Bool','shape':[2],'data_offsets':[0,2]"), 2), TN_OK);
	assert_int_equal(o.model.tensors[0].dtype, TN_BOOL);
	assert_true(view_is(o.model.tensors[0].dtype_text, "Bool"));
	assert_string_equal(o.model.dialect, "burnpack 0.20, plain Bool");
	close_opened(&o);
}

/* ---- Where the data starts ---- */

#define TENSOR(name, start, end, n) "'" name "':{'dtype':'U8','shape':[" n "],'data_offsets':[" start "," end "]}"
#define BURN(version) ",'metadata':{'producer':'burn','version':'" version "'}"
/* Back to back, as burn 0.19 has them. */
#define BACK_TO_BACK TENSOR("a", "0", "3", "3") "," TENSOR("b", "3", "7", "4")
#define AT_256 TENSOR("a", "0", "256", "256") "," TENSOR("b", "256", "260", "4")

/* Opens metadata that is followed at once by data bytes, the first of them zero where zeros says how many. */
static tn_code open_packed(struct opened *o, const char *metadata, size_t data, size_t zeros)
{
	build(&o->file, metadata, 1, data);
	memset(o->file.ptr + o->file.len - data, 0, zeros);
	return open_file(o, NULL);
}

static void unaligned_files_are_found(void **state)
{
	(void)state;
	static const struct { const char *text; size_t data, zeros; } cases[] = {
		{ "{'tensors':{" BACK_TO_BACK "}}", 7, 7 },                       /* a start off the alignment */
		{ "{'tensors':{" AT_256 "}" BURN("0.19.1") "}", 260, 260 },       /* the version that is told */
		{ "{'tensors':{" AT_256 "}" BURN("0.20.0-pre.4") "}", 260, 260 },
		{ "{'tensors':{" AT_256 "}}", 260, 0 },                           /* what would be padding is not zero */
		{ "{'tensors':{" AT_256 "}}", 260, 10 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct opened o;
		if (open_packed(&o, cases[i].text, cases[i].data, cases[i].zeros) != TN_OK)
			fail_msg("%s: %s", cases[i].text, o.err.msg);
		assert_string_equal(o.model.dialect, "burnpack 0.19, unaligned");
		assert_int_equal(o.model.data_at, o.file.len - cases[i].data);
		assert_int_equal(o.model.tensors[0].offset, o.model.data_at);
		assert_int_equal(o.model.data_align, 1);
		close_opened(&o);
	}
}

static void guess_is_told(void **state)
{
	(void)state;
	struct opened o;
	assert_int_equal(open_packed(&o, "{'tensors':{" AT_256 "}}", 260, 0), TN_OK);
	assert_true(says(&o.report, TN_WARNING, "read as a file of burn 0.19"));
	close_opened(&o);
	assert_int_equal(open_packed(&o, "{'tensors':{" BACK_TO_BACK "}}", 7, 0), TN_OK);
	assert_int_equal(tn_report_of(&o.report, TN_WARNING), 0);
	close_opened(&o);
}

/* Of this length there are files of burn 0.19, and later ones that lost as much as their padding has. */
static void uncertain_files_are_refused(void **state)
{
	(void)state;
	static const struct { const char *text; size_t data; const char *words; } cases[] = {
		{ "{'tensors':{" AT_256 "}}", 260, "cut by the length of its padding" },
		{ "{'tensors':{" BACK_TO_BACK "}" BURN("0.21.0") "}", 7, "of a later version" },
		{ "{'tensors':{" BACK_TO_BACK "},'scalars':{}}", 7, "of a later version" },
		{ "{'tensors':{" TENSOR("a", "0", "3", "3") ",'b':{'dtype':{'Bool':'U8'},'shape':[4],'data_offsets':[3,7]}}}", 7,
		  "of a later version" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct opened o;
		assert_int_equal(open_packed(&o, cases[i].text, cases[i].data, cases[i].data), TN_E_UNSUPPORTED);
		assert_non_null(strstr(o.err.msg, "cannot be told where the data starts"));
		assert_non_null(strstr(o.err.msg, cases[i].words));
		close_opened(&o);
	}
}

static void cut_files_are_truncated(void **state)
{
	(void)state;
	static const struct { const char *text; size_t data; } cases[] = {
		{ "{'tensors':{" AT_256 "}" BURN("0.21.0") "}", 260 },
		{ "{'tensors':{" AT_256 "},'scalars':{}}", 260 },
		{ "{'tensors':{" BACK_TO_BACK "}}", 6 },
		{ "{'tensors':{" BACK_TO_BACK "}}", 8 },
		{ "{'tensors':{" TENSOR("a", "0", "3", "3") "," TENSOR("b", "4", "8", "4") "}}", 8 },
		{ "{'tensors':{}}", 5 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct opened o;
		assert_int_equal(open_packed(&o, cases[i].text, cases[i].data, cases[i].data), TN_E_TRUNCATED);
		assert_non_null(strstr(o.err.msg, "short by"));
		close_opened(&o);
	}
}

/* Long enough for padding, and yet an old file with something after its end. */
static void old_files_with_a_tail_are_refused(void **state)
{
	(void)state;
	struct opened o;
	assert_int_equal(open_packed(&o, "{'tensors':{" BACK_TO_BACK "}" BURN("0.19.0") "}", 600, 600), TN_E_UNSUPPORTED);
	close_opened(&o);
	assert_int_equal(open_packed(&o, "{'tensors':{" TENSOR("a", "0", "4", "4") "}" BURN("0.19.0") "}", 600, 600),
	                 TN_E_UNSUPPORTED);
	close_opened(&o);
	assert_int_equal(open_packed(&o, "{'tensors':{" BACK_TO_BACK "}}", 600, 0), TN_E_UNSUPPORTED);
	close_opened(&o);
	/* with zeros for padding it is a file of another writer, whose tensors are off the alignment */
	assert_int_equal(open_text(&o, "{'tensors':{" BACK_TO_BACK "}}", 7), TN_OK);
	assert_int_equal(o.model.data_at, 256);
	close_opened(&o);
	/* written anew, an old file keeps the version in its metadata */
	assert_int_equal(open_text(&o, "{'tensors':{" TENSOR("a", "0", "4", "4") "}" BURN("0.19.0") "}", 4), TN_OK);
	assert_int_equal(o.model.data_at, 256);
	close_opened(&o);
}

static void old_empty_packs_are_whole(void **state)
{
	(void)state;
	struct opened o;
	assert_int_equal(open_packed(&o, "{'tensors':{}}", 0, 0), TN_OK);
	assert_int_equal(o.file.len, 20);
	assert_string_equal(o.model.dialect, "burnpack 0.19, unaligned");
	close_opened(&o);
	assert_int_equal(open_packed(&o, "{'tensors':{" TENSOR("a", "0", "0", "0") "}}", 0, 0), TN_OK);
	close_opened(&o);
}

/* The bytes that decide may not be at hand yet. */
static void asks_for_the_padding(void **state)
{
	(void)state;
	struct opened o;
	assert_int_equal(open_packed(&o, "{'tensors':{" AT_256 "}}", 260, 0), TN_OK);
	uint64_t after = o.model.data_at;
	o.job.file.len = (size_t)after;
	o.job.need = 0;
	assert_true(model_init(&o.model, &o.mem));
	assert_int_equal(format_burnpack.parse(&o.job), TN_E_TRUNCATED);
	assert_int_equal(o.job.need, 256);
	close_opened(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(translates_schemes),
		cmocka_unit_test(f32_scales_are_recognised),
		cmocka_unit_test(runs_are_told_from_rectangles),
		cmocka_unit_test(extents_beyond_the_dimensions_are_uncertain),
		cmocka_unit_test(reads_plain_bool),
		cmocka_unit_test(unaligned_files_are_found),
		cmocka_unit_test(guess_is_told),
		cmocka_unit_test(uncertain_files_are_refused),
		cmocka_unit_test(cut_files_are_truncated),
		cmocka_unit_test(old_files_with_a_tail_are_refused),
		cmocka_unit_test(old_empty_packs_are_whole),
		cmocka_unit_test(asks_for_the_padding),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
