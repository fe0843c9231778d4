/* test_envelope.c - what a target has no place for: printed, applied, and ignored where the container says otherwise. */
#include "io/envelope.h"

#include "io/typed_json.h"

#include "support/fault_mem.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

static struct arena mem;

static int set_up(void **state)
{
	(void)state;
	arena_init(&mem, 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_fini(&mem);
	return fault_mem.alive != 0;
}

/* ---- A container, and what a model looks like ---- */

static const uint64_t two_by_three[] = { 2, 3 }, line[] = { 24 };

static struct tensor tensor(const char *name, tn_dtype dtype, uint32_t rank, const uint64_t *shape)
{
	struct tensor t = { .name = tn_text(name), .dtype = dtype, .rank = rank, .shape = shape };
	assert_int_equal(dtype_bytes(dtype, BLOCK_ROWS, rank, shape, &t.nbytes, NULL), TN_OK);
	t.stored = t.nbytes;
	t.dtype_text = tn_text(dtype_info(dtype)->name);
	return t;
}

/* Three tensors f, r and s; a = "7", b = "text", and the number n. */
static void make_container(struct model *m)
{
	assert_true(model_init(m, &mem));
	m->tensors = ARENA_NEW(&mem, 3, struct tensor);
	m->n = 3;
	m->tensors[0] = tensor("f", TN_F32, 2, two_by_three);
	m->tensors[1] = tensor("r", TN_U8, 1, line);
	m->tensors[2] = tensor("s", TN_BOOL, 0, NULL);
	m->tensors[1].offset = 24;
	m->tensors[2].offset = 48;
	meta_add_string(&mem, m->metadata, VIEW("a"), VIEW("7"));
	meta_add_string(&mem, m->metadata, VIEW("b"), VIEW("text"));
	meta_add_uint(&mem, m->metadata, VIEW("n"), 5, 64);
}

static void put_shape(struct buf *b, const struct tensor *t)
{
	for (uint32_t d = 0; d < t->rank; d++)
		buf_printf(b, d == 0 ? "%llu" : ",%llu", (unsigned long long)t->shape[d]);
}

/* "METADATA f:f32[2,3] r:u8[24]{EXTRAS} ... NATIVE" */
static const char *look(const struct model *m)
{
	struct buf b;
	buf_init(&b, 0);
	typed_json_put(&b, m->metadata);
	for (uint64_t i = 0; i < m->n; i++) {
		const struct tensor *t = &m->tensors[i];
		buf_byte(&b, ' ');
		buf_view(&b, t->name);
		buf_byte(&b, ':');
		buf_view(&b, t->dtype_text);
		buf_byte(&b, '[');
		put_shape(&b, t);
		buf_byte(&b, ']');
		if (t->extras != NULL)
			typed_json_put(&b, t->extras);
	}
	if (tn_meta_count(m->native) != 0) {
		buf_byte(&b, ' ');
		typed_json_put(&b, m->native);
	}
	return (const char *)buf_done(&b, &mem).ptr;
}

#define META "{\"a\":\"7\",\"b\":\"text\",\"n\":5}"
#define TENSORS " f:f32[2,3] r:u8[24] s:bool[]"
#define AS_IT_WAS META TENSORS

/* ---- Applying ---- */

struct application {
	const char *text, *becomes;
	const char *warning; /* NULL: none; else the only one's text, or how it begins */
	bool        not_applied;
};

static const struct application applications[] = {
	/* nothing to say */
	{ "{\"tenon\":1}", AS_IT_WAS, NULL, false },
	{ " {\"tenon\":1, \"unknown\": [1]} ", AS_IT_WAS, NULL, false },
	/* what stands there for the container's sake goes, unless it was changed */
	{ "{\"tenon\":1,\"derived\":{\"a\":\"7\",\"n\":5}}", "{\"b\":\"text\"}" TENSORS, NULL, false },
	{ "{\"tenon\":1,\"derived\":{\"n\":6}}", AS_IT_WAS, "envelope: metadata 'n' was changed", false },
	{ "{\"tenon\":1,\"derived\":{\"gone\":6}}", AS_IT_WAS, NULL, false },
	{ "{\"tenon\":1,\"derived\":{\"n\":6,\"n\":5}}", AS_IT_WAS, "envelope: metadata 'n' was changed", false },
	{ "{\"tenon\":1,\"derived\":{\"n\":5},\"hidden\":{\"n\":\"mine\"}}", "{\"a\":\"7\",\"b\":\"text\",\"n\":\"mine\"}" TENSORS,
	  NULL, false },
	/* metadata: the typed value of an unchanged text */
	{ "{\"tenon\":1,\"metadata\":{\"a\":7}}", "{\"a\":7,\"b\":\"text\",\"n\":5}" TENSORS, NULL, false },
	{ "{\"tenon\":1,\"metadata\":{\"a\":{\"$i8\":7}}}", "{\"a\":{\"$i8\":7},\"b\":\"text\",\"n\":5}" TENSORS, NULL, false },
	{ "{\"tenon\":1,\"metadata\":{\"b\":\"text\"}}", AS_IT_WAS, NULL, false },
	{ "{\"tenon\":1,\"metadata\":{\"b\":{\"$bytes\":\"74657874\"}}}", AS_IT_WAS,
	  "envelope: metadata 'b' was changed after it was written; the change counts", false },
	{ "{\"tenon\":1,\"metadata\":{\"a\":8}}", AS_IT_WAS,
	  "envelope: metadata 'a' was changed after it was written; the change counts", false },
	{ "{\"tenon\":1,\"metadata\":{\"gone\":8}}", AS_IT_WAS,
	  "envelope: metadata 'gone' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"metadata\":{\"a\":{\"$u8\":700}}}", AS_IT_WAS,
	  "envelope: metadata 'a' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"metadata\":{\"a\":7,\"a\":{\"$u8\":7}}}", "{\"a\":7,\"b\":\"text\",\"n\":5}" TENSORS,
	  "envelope: metadata 'a' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"metadata\":[1]}", AS_IT_WAS, "envelope: member 'metadata' does not fit the file and is ignored", false },
	/* the width of a number that the container holds itself */
	{ "{\"tenon\":1,\"metadata\":{\"n\":{\"$u16\":5}}}", "{\"a\":\"7\",\"b\":\"text\",\"n\":{\"$u16\":5}}" TENSORS, NULL, false },
	{ "{\"tenon\":1,\"metadata\":{\"n\":{\"$u16\":6}}}", AS_IT_WAS,
	  "envelope: metadata 'n' was changed after it was written; the change counts", false },
	{ "{\"tenon\":1,\"metadata\":{\"n\":\"5\"}}", AS_IT_WAS,
	  "envelope: metadata 'n' was changed after it was written; the change counts", false },
	/* or the kind, where both are the same JSON */
	{ "{\"tenon\":1,\"metadata\":{\"n\":{\"$i16\":5}}}", "{\"a\":\"7\",\"b\":\"text\",\"n\":{\"$i16\":5}}" TENSORS, NULL, false },
	{ "{\"tenon\":1,\"metadata\":{\"n\":{\"$i16\":-5}}}", AS_IT_WAS,
	  "envelope: metadata 'n' was changed after it was written; the change counts", false },
	{ "{\"tenon\":1,\"metadata\":{\"n\":{\"$f64\":\"7ff8000000000000\"}}}", AS_IT_WAS,
	  "envelope: metadata 'n' was changed after it was written; the change counts", false },
	/* values that the container does not show */
	{ "{\"tenon\":1,\"hidden\":{\"h\":{\"$u8\":7}}}", "{\"a\":\"7\",\"b\":\"text\",\"n\":5,\"h\":{\"$u8\":7}}" TENSORS, NULL, false },
	{ "{\"tenon\":1,\"hidden\":{\"h\":1},\"metadata_order\":[\"h\",\"n\"]}", "{\"h\":1,\"n\":5,\"a\":\"7\",\"b\":\"text\"}" TENSORS, NULL, false },
	{ "{\"tenon\":1,\"hidden\":{\"a\":1}}", AS_IT_WAS, "envelope: metadata 'a' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"hidden\":{\"h\":1,\"h\":2}}", "{\"a\":\"7\",\"b\":\"text\",\"n\":5,\"h\":1}" TENSORS,
	  "envelope: metadata 'h' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"hidden\":{\"h\":{\"$u8\":700}}}", AS_IT_WAS, "envelope: metadata 'h' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"hidden\":[1]}", AS_IT_WAS, "envelope: member 'hidden' does not fit the file and is ignored", false },
	/* the order of keys; unknown ones are passed over, unnamed ones follow */
	{ "{\"tenon\":1,\"metadata_order\":[\"n\",\"b\",\"a\"]}", "{\"n\":5,\"b\":\"text\",\"a\":\"7\"}" TENSORS, NULL, false },
	{ "{\"tenon\":1,\"metadata_order\":[\"n\",\"x\",7,\"n\"]}", "{\"n\":5,\"a\":\"7\",\"b\":\"text\"}" TENSORS, NULL, false },
	{ "{\"tenon\":1,\"metadata_order\":[]}", AS_IT_WAS, NULL, false },
	{ "{\"tenon\":1,\"metadata_order\":{}}", AS_IT_WAS,
	  "envelope: member 'metadata_order' does not fit the file and is ignored", false },
	/* dtypes of the same size in the same shape, where the container holds their carrier */
	{ "{\"tenon\":1,\"tensors\":{\"f\":{\"dtype\":\"flex32\"}}}", META " f:flex32[2,3] r:u8[24] s:bool[]", NULL, false },
	{ "{\"tenon\":1,\"tensors\":{\"s\":{\"dtype\":\"bool_u8\"}}}", META " f:f32[2,3] r:u8[24] s:bool_u8[]", NULL, false },
	{ "{\"tenon\":1,\"tensors\":{\"r\":{\"dtype\":\"bool\"}}}", META " f:f32[2,3] r:bool[24] s:bool[]", NULL, false },
	{ "{\"tenon\":1,\"tensors\":{\"f\":{\"dtype\":\"f32\"}}}", AS_IT_WAS, NULL, false },
	{ "{\"tenon\":1,\"tensors\":{\"f\":{\"dtype\":\"i32\"}}}", AS_IT_WAS,
	  "envelope: the type of 'f' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"tensors\":{\"f\":{\"dtype\":\"F32\"}}}", AS_IT_WAS,
	  "envelope: the type of 'f' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"tensors\":{\"f\":{\"dtype\":\"flex32\\u0000\"}}}", AS_IT_WAS,
	  "envelope: the type of 'f' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"tensors\":{\"f\":{\"dtype\":7}}}", AS_IT_WAS,
	  "envelope: the type of 'f' does not fit the file and is ignored", false },
	/* carried as bytes */
	{ "{\"tenon\":1,\"tensors\":{\"r\":{\"dtype\":\"f32\",\"shape\":[3,2]}}}", META " f:f32[2,3] r:f32[3,2] s:bool[]", NULL, false },
	{ "{\"tenon\":1,\"tensors\":{\"r\":{\"dtype\":\"c64\",\"shape\":[3]}}}", META " f:f32[2,3] r:c64[3] s:bool[]", NULL, false },
	{ "{\"tenon\":1,\"tensors\":{\"r\":{\"dtype\":\"qfloat\",\"shape\":[5]}}}", META " f:f32[2,3] r:qfloat[5] s:bool[]", NULL, false },
	{ "{\"tenon\":1,\"tensors\":{\"r\":{\"dtype\":\"opaque\",\"dtype_text\":\"F5\",\"shape\":[5]}}}",
	  META " f:f32[2,3] r:F5[5] s:bool[]", NULL, false },
	{ "{\"tenon\":1,\"tensors\":{\"r\":{\"dtype\":\"apr_q8\",\"shape\":[20]}}}", META " f:f32[2,3] r:apr_q8[20] s:bool[]", NULL, false },
	{ "{\"tenon\":1,\"tensors\":{\"r\":{\"dtype\":\"f32\",\"shape\":[7]}}}", AS_IT_WAS,
	  "envelope: the type of 'r' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"tensors\":{\"r\":{\"dtype\":\"f32\",\"shape\":[4294967296,4294967296]}}}", AS_IT_WAS,
	  "envelope: the type of 'r' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"tensors\":{\"r\":{\"dtype\":\"f32\",\"shape\":[6,-1]}}}", AS_IT_WAS,
	  "envelope: the type of 'r' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"tensors\":{\"r\":{\"dtype\":\"f32\",\"shape\":6}}}", AS_IT_WAS,
	  "envelope: the type of 'r' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"tensors\":{\"f\":{\"dtype\":\"qfloat\",\"shape\":[6]}}}", AS_IT_WAS,
	  "envelope: the type of 'f' does not fit the file and is ignored", false },
	/* another shape of the same type and size */
	{ "{\"tenon\":1,\"tensors\":{\"f\":{\"shape\":[6]}}}", META " f:f32[6] r:u8[24] s:bool[]", NULL, false },
	{ "{\"tenon\":1,\"tensors\":{\"s\":{\"shape\":[1]}}}", META " f:f32[2,3] r:u8[24] s:bool[1]", NULL, false },
	{ "{\"tenon\":1,\"tensors\":{\"f\":{\"shape\":[5]}}}", AS_IT_WAS,
	  "envelope: the type of 'f' does not fit the file and is ignored", false },
	/* another shape of a carrier */
	{ "{\"tenon\":1,\"tensors\":{\"f\":{\"dtype\":\"flex32\",\"shape\":[1,1,1,2,3]}}}", META " f:flex32[1,1,1,2,3] r:u8[24] s:bool[]",
	  NULL, false },
	{ "{\"tenon\":1,\"tensors\":{\"s\":{\"dtype\":\"bool_u8\",\"shape\":[1]}}}", META " f:f32[2,3] r:u8[24] s:bool_u8[1]", NULL, false },
	{ "{\"tenon\":1,\"tensors\":{\"f\":{\"dtype\":\"flex32\",\"shape\":[7]}}}", AS_IT_WAS,
	  "envelope: the type of 'f' does not fit the file and is ignored", false },
	/* tensors that are not there, twice there, or nothing */
	{ "{\"tenon\":1,\"tensors\":{\"x\":{\"dtype\":\"f32\"}}}", AS_IT_WAS,
	  "envelope: tensor 'x' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"tensors\":{\"f\":7}}", AS_IT_WAS, "envelope: tensor 'f' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"tensors\":{\"f\":{\"shape\":[6]},\"f\":{\"shape\":[3,2]}}}", META " f:f32[6] r:u8[24] s:bool[]",
	  "envelope: tensor 'f' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"tensors\":{}}", AS_IT_WAS, NULL, false },
	/* extras */
	{ "{\"tenon\":1,\"tensors\":{\"f\":{\"extras\":{\"param_id\":3}}}}", META " f:f32[2,3]{\"param_id\":3} r:u8[24] s:bool[]", NULL, false },
	{ "{\"tenon\":1,\"tensors\":{\"f\":{\"extras\":7}}}", AS_IT_WAS,
	  "envelope: the extras of 'f' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"tensors\":{\"f\":{\"extras\":{\"x\":{\"$u8\":-1}}}}}", AS_IT_WAS,
	  "envelope: the extras of 'f' does not fit the file and is ignored", false },
	/* the order of tensors: the file's tensor k was tensor order[k] */
	{ "{\"tenon\":1,\"order\":[2,0,1]}", META " r:u8[24] s:bool[] f:f32[2,3]", NULL, false },
	{ "{\"tenon\":1,\"order\":[0,1]}", AS_IT_WAS, "envelope: the order of 'tensors' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"order\":[0,1,1]}", AS_IT_WAS, "envelope: the order of 'tensors' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"order\":[0,1,3]}", AS_IT_WAS, "envelope: the order of 'tensors' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"order\":[0,1,-1]}", AS_IT_WAS, "envelope: the order of 'tensors' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"order\":[0,1,2.0]}", AS_IT_WAS, "envelope: the order of 'tensors' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"order\":[0,1,2,3]}", AS_IT_WAS, "envelope: the order of 'tensors' does not fit the file and is ignored", false },
	/* tensors are named as they were before they move */
	{ "{\"tenon\":1,\"order\":[2,1,0],\"tensors\":{\"f\":{\"shape\":[6]}}}", META " s:bool[] r:u8[24] f:f32[6]", NULL, false },
	/* native subtrees are maps */
	{ "{\"tenon\":1,\"native\":{\"gguf\":{\"x\":[1]}}}", AS_IT_WAS " {\"gguf\":{\"x\":[1]}}", NULL, false },
	{ "{\"tenon\":1,\"native\":{\"gguf\":7}}", AS_IT_WAS, "envelope: native 'gguf' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"native\":{\"gguf\":{\"x\":{\"$u8\":300}}}}", AS_IT_WAS,
	  "envelope: native 'gguf' does not fit the file and is ignored", false },
	{ "{\"tenon\":1,\"native\":{\"a\":{},\"a\":{\"b\":1}}}", AS_IT_WAS " {\"a\":{}}", NULL, false },
	/* no envelopes */
	{ "{\"tenon\":2,\"metadata\":{\"a\":7}}", AS_IT_WAS,
	  "envelope: version 2 is not known to this program and is left alone", true },
	{ "{\"tenon\":0}", AS_IT_WAS, "envelope: version 0 is not known to this program and is left alone", true },
	{ "{\"tenon\":\"1\",\"metadata\":{\"a\":7}}", AS_IT_WAS, NULL, true },
	{ "{\"tenon\":1.0}", AS_IT_WAS, NULL, true },
	{ "{\"metadata\":{\"a\":7}}", AS_IT_WAS, NULL, true },
	{ "[]", AS_IT_WAS, NULL, true },
	{ "7", AS_IT_WAS, NULL, true },
	{ "", AS_IT_WAS, "envelope: ", true },
	{ "a note", AS_IT_WAS, "envelope: ", true },
	{ "{\"tenon\":1", AS_IT_WAS, "envelope: ", true },
};

static void the_container_wins(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof applications / sizeof *applications; i++) {
		const struct application *c = &applications[i];
		struct model m;
		struct tn_report r;
		tn_error err = { .code = TN_OK };
		bool applied = !c->not_applied;
		report_init(&r);
		make_container(&m);
		assert_int_equal(envelope_apply(&m, VIEW(ENVELOPE_KEY), tn_text(c->text), &mem, &r, &applied, &err), TN_OK);
		if (applied == c->not_applied || strcmp(look(&m), c->becomes) != 0)
			fail_msg("%s: applied %d, %s", c->text, applied, look(&m));
		assert_int_equal(r.n, c->warning != NULL);
		if (c->warning != NULL) {
			assert_int_equal(r.list[0].severity, TN_WARNING);
			if (strncmp(r.list[0].text, c->warning, strlen(c->warning)) != 0)
				fail_msg("%s: %s", c->text, r.list[0].text);
		}
		report_fini(&r);
	}
}

/* What the container shows of a tensor itself counts more than what was written beside it. */
static void own_extras_stay(void **state)
{
	(void)state;
	struct model m;
	struct tn_report r;
	bool applied;
	report_init(&r);
	make_container(&m);
	meta_add_uint(&mem, tensor_extras(&mem, &m.tensors[0]), VIEW("param_id"), 1, 64);
	meta_add_map(&mem, m.native, VIEW("burnpack"));
	tn_view text = VIEW("{\"tenon\":1,\"tensors\":{\"f\":{\"extras\":{\"x\":1,\"param_id\":2,\"y\":3}}},"
	                    "\"native\":{\"burnpack\":{\"z\":1}}}");
	assert_int_equal(envelope_apply(&m, VIEW(ENVELOPE_KEY), text, &mem, &r, &applied, NULL), TN_OK);
	assert_string_equal(look(&m), META " f:f32[2,3]{\"param_id\":1,\"x\":1,\"y\":3} r:u8[24] s:bool[] {\"burnpack\":{}}");
	report_fini(&r);
}

/* ---- Printing ---- */

static void make_rich(struct model *m)
{
	make_container(m);
	m->tensors[0].dtype = TN_FLEX32;
	m->tensors[1].dtype = TN_OPAQUE;
	m->tensors[1].dtype_text = VIEW("odd\"type");
	meta_add_uint(&mem, tensor_extras(&mem, &m->tensors[2]), VIEW("param_id"), 9, 64);
	meta_add_float(&mem, m->metadata, VIEW("x"), UINT64_C(0x3fb99999a0000000), 32);
	meta_add_null(&mem, meta_add_map(&mem, m->native, VIEW("gguf")), VIEW("flag"));
}

static void collect(struct envelope *e, const struct model *m, const uint64_t *order)
{
	envelope_init(e, &mem, m);
	assert_true(envelope_empty(e));
	envelope_value(e, meta_find(m->metadata, VIEW("x")));
	envelope_tensor(e, 0, ENV_DTYPE);
	envelope_tensor(e, 1, ENV_DTYPE);
	envelope_tensor(e, 1, ENV_SHAPE);
	envelope_tensor(e, 2, ENV_EXTRAS);
	envelope_native(e, m->native->as.kids.first);
	e->keep_metadata_order = true;
	e->order = order;
	assert_false(envelope_empty(e));
}

static void everything_prints_in_its_order(void **state)
{
	(void)state;
	static const uint64_t order[] = { 2, 0, 1 };
	struct model m;
	struct envelope e;
	tn_view text;
	make_rich(&m);
	collect(&e, &m, order);
	assert_int_equal(envelope_print(&e, &text, NULL), TN_OK);
	assert_string_equal((const char *)text.ptr,
	                    "{\"tenon\":1,\"metadata\":{\"x\":{\"$f32\":0.10000000149011612}},"
	                    "\"metadata_order\":[\"a\",\"b\",\"n\",\"x\"],\"order\":[2,0,1],"
	                    "\"tensors\":{\"f\":{\"dtype\":\"flex32\"},"
	                    "\"r\":{\"dtype\":\"opaque\",\"dtype_text\":\"odd\\\"type\",\"shape\":[24]},"
	                    "\"s\":{\"extras\":{\"param_id\":9}}},\"native\":{\"gguf\":{\"flag\":null}}}");
}

static void each_part_alone_makes_it_not_empty(void **state)
{
	(void)state;
	static const uint64_t order[] = { 0, 1, 2 };
	struct model m;
	make_rich(&m);
	for (unsigned part = 0; part < 5; part++) {
		struct envelope e;
		tn_view text;
		envelope_init(&e, &mem, &m);
		if (part == 0) envelope_value(&e, m.metadata->as.kids.first);
		if (part == 1) envelope_tensor(&e, 2, ENV_EXTRAS);
		if (part == 2) envelope_native(&e, m.native->as.kids.first);
		if (part == 3) e.keep_metadata_order = true;
		if (part == 4) e.order = order;
		assert_false(envelope_empty(&e));
		assert_int_equal(envelope_print(&e, &text, NULL), TN_OK);
		assert_true(text.len > strlen("{\"tenon\":1}"));
	}
}

/* A container that lost all that was collected becomes the model again. */
static void what_was_printed_comes_back(void **state)
{
	(void)state;
	static const uint64_t order[] = { 2, 0, 1 }; /* the target's first tensor is the model's third */
	struct model m, shown;
	struct envelope e;
	struct tn_report r;
	tn_view text;
	bool applied;
	report_init(&r);
	make_rich(&m);
	collect(&e, &m, order);
	assert_int_equal(envelope_print(&e, &text, NULL), TN_OK);
	assert_true(model_init(&shown, &mem));
	shown.tensors = ARENA_NEW(&mem, 3, struct tensor);
	shown.n = 3;
	shown.tensors[0] = tensor("s", TN_BOOL, 0, NULL);
	shown.tensors[1] = tensor("f", TN_F32, 2, two_by_three);
	shown.tensors[2] = tensor("r", TN_U8, 1, line);
	meta_add_string(&mem, shown.metadata, VIEW("x"), envelope_plain(&mem, meta_find(m.metadata, VIEW("x"))));
	meta_add_string(&mem, shown.metadata, VIEW("b"), VIEW("text"));
	meta_add_uint(&mem, shown.metadata, VIEW("n"), 5, 64);
	meta_add_string(&mem, shown.metadata, VIEW("a"), VIEW("7"));
	assert_int_equal(envelope_apply(&shown, VIEW(ENVELOPE_KEY), text, &mem, &r, &applied, NULL), TN_OK);
	m.tensors[0].dtype_text = VIEW("flex32");
	assert_string_equal(look(&shown), look(&m));
	assert_int_equal(r.n, 0);
	report_fini(&r);
}

static void losses_are_named(void **state)
{
	(void)state;
	static const uint64_t order[] = { 2, 0, 1 };
	static const struct { const char *text, *tensor; } losses[] = {
		{ "fmt: metadata 'x' becomes plain text", NULL }, { "fmt: the order of metadata keys has no place", NULL },
		{ "fmt: the order of tensors has no place", NULL }, { "fmt: the dtype flex32 of this tensor has no place", "f" },
		{ "fmt: the dtype opaque of this tensor has no place", "r" }, { "fmt: the shape of this tensor has no place", "r" },
		{ "fmt: 'param_id' of this tensor has no place", "s" }, { "fmt: what gguf alone knows has no place", NULL }
	};
	const size_t n = sizeof losses / sizeof *losses;
	struct model m;
	struct envelope e;
	struct tn_report r;
	report_init(&r);
	make_rich(&m);
	collect(&e, &m, order);
	envelope_report_lost(&e, "fmt", TN_ERROR, &r);
	assert_int_equal(r.n, n);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(r.list[i].text, losses[i].text);
		assert_int_equal(r.list[i].code, TN_E_LOSSY);
		assert_int_equal(r.list[i].severity, TN_ERROR);
		assert_int_equal(r.list[i].tensor.ptr != NULL, losses[i].tensor != NULL);
		assert_true(losses[i].tensor == NULL || view_is(r.list[i].tensor, losses[i].tensor));
	}
	report_fini(&r);
}

static void many_values_are_kept(void **state)
{
	(void)state;
	struct model m;
	struct envelope e;
	tn_view text;
	assert_true(model_init(&m, &mem));
	envelope_init(&e, &mem, &m);
	for (unsigned i = 0; i < 1000; i++) {
		const char *key = arena_printf(&mem, "k%u", i);
		envelope_value(&e, meta_add_uint(&mem, m.metadata, tn_text(key), i, 64));
	}
	assert_int_equal(e.n_values, 1000);
	assert_int_equal(envelope_print(&e, &text, NULL), TN_OK);
	struct json_doc *doc;
	assert_int_equal(json_parse(&doc, text, &(struct json_options){ .what = "test" }, NULL), TN_OK);
	const struct json_val *values = json_find(json_root(doc), "metadata");
	assert_int_equal(json_count(values), 1000);
	assert_int_equal(json_uint(json_find(values, "k999")), 999);
	json_free(doc);
}

/* What it cannot name is a loss, what it can name stays. */
static void names_are_utf8(void **state)
{
	(void)state;
	static const char *const losses[] = {
		"fmt: metadata 'x\\xff' becomes plain text", "fmt: metadata 'deep' has no place",
		"fmt: metadata 'd\\xff' becomes plain text", "fmt: what gguf alone knows has no place",
		"fmt: the dtype flex32 of this tensor has no place", "fmt: 'param_id' of this tensor has no place",
		"fmt: 'id\\xff' of this tensor has no place",
	};
	const size_t n = sizeof losses / sizeof *losses;
	struct model m;
	struct envelope e;
	struct tn_report r;
	tn_view text;
	report_init(&r);
	make_rich(&m);
	m.tensors[0].name = VIEW("\xff");
	meta_add_null(&mem, tensor_extras(&mem, &m.tensors[2]), VIEW("id\xff"));
	meta_add_null(&mem, m.native->as.kids.first, VIEW("\xff"));
	collect(&e, &m, NULL);
	e.keep_metadata_order = false;
	envelope_value(&e, meta_add_null(&mem, m.metadata, VIEW("x\xff")));
	envelope_hidden(&e, meta_add_map(&mem, m.metadata, VIEW("deep")));
	meta_add_null(&mem, meta_find(m.metadata, VIEW("deep")), VIEW("\xff"));
	envelope_derived(&e, meta_add_null(&mem, m.metadata, VIEW("d\xff")));
	envelope_drop_unnamed(&e, "fmt", TN_WARNING, &r);
	assert_int_equal(r.n, n);
	for (size_t i = 0; i < n; i++) {
		const char *said = arena_printf(&mem, "%s: a name that is no UTF-8 cannot stand in the envelope", losses[i]);
		assert_string_equal(r.list[i].text, said);
		assert_int_equal(r.list[i].code, TN_E_LOSSY);
		assert_int_equal(r.list[i].severity, TN_WARNING);
	}
	assert_int_equal(envelope_print(&e, &text, NULL), TN_OK);
	assert_string_equal((const char *)text.ptr, "{\"tenon\":1,\"metadata\":{\"x\":{\"$f32\":0.10000000149011612}},"
	                    "\"tensors\":{\"r\":{\"dtype\":\"opaque\",\"dtype_text\":\"odd\\\"type\",\"shape\":[24]}}}");
	report_fini(&r);
}

static void nothing_may_be_left_to_say(void **state)
{
	(void)state;
	struct model m;
	struct envelope e;
	struct tn_report r;
	report_init(&r);
	make_rich(&m);
	m.tensors[0].name = VIEW("\xff");
	envelope_init(&e, &mem, &m);
	envelope_tensor(&e, 0, ENV_DTYPE);
	envelope_drop_unnamed(&e, "fmt", TN_ERROR, &r);
	assert_int_equal(r.n, 1);
	assert_true(envelope_empty(&e));
	report_fini(&r);
}

/* ---- Plain forms ---- */

static void plain_forms(void **state)
{
	(void)state;
	struct tn_meta *list = meta_new(&mem, TN_META_ARRAY), *map = meta_new(&mem, TN_META_MAP);
	meta_add_string(&mem, list, VIEW(""), VIEW("a\"\xff"));
	meta_add_bytes(&mem, list, VIEW(""), VIEW("\x00\xff"));
	meta_add_null(&mem, list, VIEW(""));
	meta_append(map, VIEW("k\n"), list);
	meta_add_bool(&mem, map, VIEW(""), true);
	const struct { struct tn_meta node; const char *text; } cases[] = {
		{ { .type = TN_META_NULL }, "null" }, { { .type = TN_META_BOOL, .as.b = true }, "true" },
		{ { .type = TN_META_BOOL }, "false" }, { { .type = TN_META_UINT, .as.u = UINT64_MAX }, "18446744073709551615" },
		{ { .type = TN_META_INT, .width = 8, .as.i = -7 }, "-7" },
		{ { .type = TN_META_FLOAT, .width = 64, .as.f_bits = UINT64_C(0x3fb999999999999a) }, "0.1" },
		{ { .type = TN_META_FLOAT, .width = 32, .as.f_bits = UINT64_C(0x3fb99999a0000000) }, "0.1" },
		{ { .type = TN_META_FLOAT, .width = 64, .as.f_bits = UINT64_C(0x7ff8000000000001) }, "nan" },
		{ { .type = TN_META_FLOAT, .width = 32, .as.f_bits = UINT64_C(0x7ff0000000000000) }, "inf" },
		{ { .type = TN_META_FLOAT, .width = 64, .as.f_bits = UINT64_C(0xfff0000000000000) }, "-inf" },
		{ { .type = TN_META_STRING, .as.s = VIEW("a \"b\"\n") }, "a \"b\"\n" }, { { .type = TN_META_STRING }, "" },
		{ { .type = TN_META_STRING, .as.s = VIEW("\xff" "a\xc3\xa9\xfe") }, "\\xff" "a\xc3\xa9\\xfe" },
		{ { .type = TN_META_BYTES, .as.s = VIEW("\x00\xff") }, "00ff" }, { { .type = TN_META_BYTES }, "" },
		{ { .type = TN_META_ARRAY }, "[]" }, { { .type = TN_META_MAP }, "{}" },
		{ *map, "{\"k\\n\":[\"a\\\"\\\\xff\",\"00ff\",null],\"\":true}" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		tn_view text = envelope_plain(&mem, &cases[i].node);
		assert_non_null(text.ptr);
		if (!view_is(text, cases[i].text))
			fail_msg("'%.*s', not '%s'", VIEW_ARG(text), cases[i].text);
	}
}

/* ---- Hostile texts ---- */

static tn_view repeated(const char *head, const char *item, unsigned n, const char *tail)
{
	struct buf b;
	buf_init(&b, 0);
	buf_text(&b, head);
	for (unsigned i = 0; i < n; i++) {
		buf_text(&b, i == 0 ? "" : ",");
		buf_printf(&b, "%.*s%u%s", (int)strcspn(item, "#"), item, i, item + strcspn(item, "#") + 1);
	}
	buf_text(&b, tail);
	return buf_done(&b, &mem);
}

/* Each would take minutes if anything looked at pairs. */
static void a_hundred_thousand_of_anything(void **state)
{
	(void)state;
	enum { N = 100000 };
	static const struct { const char *head, *item, *tail; } texts[] = {
		{ "{\"tenon\":1,\"metadata\":{", "\"k#\":1", "}}" },
		{ "{\"tenon\":1,\"metadata_order\":[", "\"k#\"", "]}" },
		{ "{\"tenon\":1,\"tensors\":{", "\"t#\":{\"shape\":[1]}", "}}" },
		{ "{\"tenon\":1,\"tensors\":{", "\"f\":{\"extras\":{\"x#\":1}}", "}}" },
		{ "{\"tenon\":1,\"tensors\":{\"f\":{\"extras\":{", "\"x#\":1", "}},\"f\":{\"extras\":{\"y\":1}}}}" },
		{ "{\"tenon\":1,\"tensors\":{\"f\":{\"shape\":[", "#", "]}}}" },
		{ "{\"tenon\":1,\"order\":[", "#", "]}" },
		{ "{\"tenon\":1,\"native\":{", "\"n#\":{}", "}}" },
		{ "{\"tenon\":1,\"native\":{\"x\":{", "\"n#\":1", "}}}" },
		{ "{\"tenon\":1,", "\"m#\":1", "}" },
	};
	struct model big;
	assert_true(model_init(&big, &mem));
	for (unsigned i = 0; i < N; i++)
		meta_add_string(&mem, big.metadata, tn_text(arena_printf(&mem, "k%u", N - i)), VIEW("1"));
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct tn_report r;
		struct model m = big;
		bool applied;
		report_init(&r);
		tn_view text = repeated(texts[i].head, texts[i].item, N, texts[i].tail);
		m.tensors = ARENA_NEW(&mem, 1, struct tensor);
		m.n = 1;
		m.tensors[0] = tensor("f", TN_F32, 2, two_by_three);
		m.native = meta_new(&mem, TN_META_MAP);
		assert_int_equal(envelope_apply(&m, VIEW(ENVELOPE_KEY), text, &mem, &r, &applied, NULL), TN_OK);
		assert_true(applied);
		assert_int_equal(tn_meta_count(m.metadata), N);
		assert_true(tn_meta_count(m.native) <= 64);
		report_fini(&r);
	}
}

static tn_view nested(unsigned n)
{
	struct buf b;
	buf_init(&b, 0);
	buf_text(&b, "{\"tenon\":1,\"native\":{\"x\":{\"deep\":");
	buf_fill(&b, '[', n);
	buf_fill(&b, ']', n);
	buf_text(&b, "}}}");
	return buf_done(&b, &mem);
}

static void deep_nesting_is_left_alone(void **state)
{
	(void)state;
	static const struct { unsigned n; bool applied; } cases[] = { { META_DEEPEST - 1, true }, { 1000, false }, { 1000000, false } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct model m;
		struct tn_report r;
		bool applied;
		report_init(&r);
		make_container(&m);
		assert_int_equal(envelope_apply(&m, VIEW(ENVELOPE_KEY), nested(cases[i].n), &mem, &r, &applied, NULL), TN_OK);
		assert_int_equal(applied, cases[i].applied);
		assert_int_equal(r.n, !cases[i].applied);
		assert_int_equal(tn_meta_count(m.native), cases[i].applied);
		report_fini(&r);
	}
}

/* As deep as a file may have it, every key in need of a wrapping of its own. */
static void the_deepest_tree_comes_back(void **state)
{
	(void)state;
	struct model m;
	struct envelope e;
	struct tn_report r;
	tn_view text;
	bool applied;
	report_init(&r);
	make_container(&m);
	struct tn_meta *at = meta_add_map(&mem, m.metadata, VIEW("deep")), *deep = at;
	for (unsigned i = 1; i < META_DEEPEST - 1; i++)
		at = meta_add_map(&mem, at, VIEW("$"));
	meta_add_float(&mem, meta_add_array(&mem, at, VIEW("$")), VIEW(""), 0, 64); /* an array that is an object there */
	envelope_init(&e, &mem, &m);
	envelope_value(&e, deep);
	assert_int_equal(envelope_print(&e, &text, NULL), TN_OK);
	tn_view plain = envelope_plain(&mem, deep);
	make_container(&m);
	meta_add_string(&mem, m.metadata, VIEW("deep"), plain);
	assert_int_equal(envelope_apply(&m, VIEW(ENVELOPE_KEY), text, &mem, &r, &applied, NULL), TN_OK);
	assert_int_equal(r.n, 0);
	assert_true(meta_equal(meta_find(m.metadata, VIEW("deep")), deep));
	report_fini(&r);
}

/* ---- Memory ---- */

#define LONG_TEXT \
	"{\"tenon\":1,\"metadata\":{\"a\":7},\"metadata_order\":[\"n\"],\"order\":[2,0,1]," \
	"\"tensors\":{\"f\":{\"dtype\":\"flex32\",\"extras\":{\"x\":{\"$bytes\":\"00\"}}}," \
	"\"r\":{\"dtype\":\"opaque\",\"dtype_text\":\"F5\",\"shape\":[5]}},\"native\":{\"x\":{\"y\":[\"z\"]}}}"

/* Whatever the budget: all of it, a limit, or, where not even the text can be read, nothing and a warning. */
static void a_small_budget_is_a_limit(void **state)
{
	(void)state;
	bool limited = false, applied = false;
	for (uint64_t budget = 16; !applied || limited; budget += 16) {
		struct model m;
		struct tn_report r;
		struct arena small;
		tn_error err = { .code = TN_OK };
		arena_init(&small, budget);
		report_init(&r);
		make_container(&m);
		tn_code code = envelope_apply(&m, VIEW(ENVELOPE_KEY), VIEW(LONG_TEXT), &small, &r, &applied, &err);
		limited = code != TN_OK;
		assert_true(code == TN_OK || code == TN_E_LIMIT);
		assert_int_equal(err.code, code);
		assert_true(limited || (applied ? r.n == 0 : r.n == 1));
		report_fini(&r);
		arena_fini(&small);
		assert_true(budget < 1 << 20);
	}
}

static void printing_within_a_budget(void **state)
{
	(void)state;
	struct model m;
	make_rich(&m);
	for (uint64_t budget = 16; ; budget += 16) {
		struct arena small;
		struct envelope e;
		tn_error err = { .code = TN_OK };
		tn_view text;
		arena_init(&small, budget);
		envelope_init(&e, &small, &m);
		envelope_tensor(&e, 2, ENV_EXTRAS);
		envelope_value(&e, m.metadata->as.kids.first);
		tn_code code = envelope_print(&e, &text, &err);
		arena_fini(&small);
		if (code == TN_OK)
			break;
		assert_int_equal(code, TN_E_LIMIT);
	}
}

static void memory_may_run_out(void **state)
{
	(void)state;
	for (long n = 1; ; n++) {
		struct model m;
		struct tn_report r;
		struct arena own;
		tn_error err = { .code = TN_OK };
		bool applied;
		arena_init(&own, 0);
		report_init(&r);
		make_container(&m);
		fault_mem.fail_at = n;
		tn_code code = envelope_apply(&m, VIEW(ENVELOPE_KEY), VIEW(LONG_TEXT), &own, &r, &applied, &err);
		bool struck = fault_mem.fail_at == 0;
		fault_mem.fail_at = 0;
		assert_int_equal(code, struck ? TN_E_NOMEM : TN_OK);
		report_fini(&r);
		arena_fini(&own);
		if (!struck)
			break;
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_container_wins),
		TEST(own_extras_stay),
		TEST(everything_prints_in_its_order),
		TEST(each_part_alone_makes_it_not_empty),
		TEST(what_was_printed_comes_back),
		TEST(losses_are_named),
		TEST(names_are_utf8),
		TEST(nothing_may_be_left_to_say),
		TEST(many_values_are_kept),
		TEST(plain_forms),
		TEST(a_hundred_thousand_of_anything),
		TEST(deep_nesting_is_left_alone),
		TEST(the_deepest_tree_comes_back),
		TEST(a_small_budget_is_a_limit),
		TEST(printing_within_a_budget),
		TEST(memory_may_run_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
