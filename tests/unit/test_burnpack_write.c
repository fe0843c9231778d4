/* test_burnpack_write.c - the bytes of a model, what is refused, and what goes into the envelope. */
#include "unit/burnpack.h"

/* A model being written, and the file that came of it. */
struct written {
	struct arena     mem;
	struct model     model;
	struct tensor    tensors[4];
	struct plan      plan;
	struct tn_report report;
	struct plan_job  job;
	tn_error         err;
	struct buf       file;
};

static void start(struct written *w)
{
	memset(w, 0, sizeof *w);
	arena_init(&w->mem, 0);
	report_init(&w->report);
	buf_init(&w->file, 0);
	assert_true(model_init(&w->model, &w->mem));
	w->model.tensors = w->tensors;
	plan_init(&w->plan, &w->mem);
	w->job = (struct plan_job){ .model = &w->model, .mem = &w->mem, .plan = &w->plan, .report = &w->report, .err = &w->err };
}

static void finish(struct written *w)
{
	report_fini(&w->report);
	arena_fini(&w->mem);
	buf_fini(&w->file);
}

static struct tensor *add(struct written *w, const char *name, tn_dtype dtype, uint32_t rank, const uint64_t *shape,
                          uint64_t nbytes)
{
	struct tensor *t = &w->tensors[w->model.n++];
	*t = (struct tensor){ .name = tn_text(name), .dtype = dtype, .rank = rank, .shape = shape, .nbytes = nbytes,
	                      .stored = nbytes };
	return t;
}

/* Plans, and lays the spans out; data[i] belongs to tensor i, NULL stands for zeros. */
static tn_code write_out(struct written *w, const char *const *data)
{
	if (format_burnpack.plan(&w->job) != TN_OK)
		return w->err.code;
	for (uint64_t i = 0; i < w->plan.n; i++) {
		const struct span *s = &w->plan.spans[i];
		assert_int_equal(s->off, w->file.len);
		if (s->kind == SPAN_BYTES)
			buf_put(&w->file, s->bytes, (size_t)s->len);
		else if (s->kind == SPAN_ZERO || data == NULL)
			buf_fill(&w->file, 0, (size_t)s->len);
		else
			buf_put(&w->file, data[s->tensor], (size_t)s->len);
	}
	assert_int_equal(w->plan.size, w->file.len);
	return TN_OK;
}

/* Reads what was written. */
static void read_back(const struct written *w, struct opened *o)
{
	if (open_bytes(o, w->file.ptr, w->file.len) != TN_OK)
		fail_msg("%s", o->err.msg);
}

static void same_file(const struct written *w, struct buf *want)
{
	assert_int_equal(w->file.len, want->len);
	assert_memory_equal(w->file.ptr, want->ptr, want->len);
	buf_fini(want);
}

static const uint64_t shape22[] = { 2, 2 }, shape23[] = { 2, 3 }, shape3[] = { 3 }, shape4[] = { 4 }, shape0[] = { 0 };

/* ---- The worked examples ---- */

static void writes_empty_pack(void **state)
{
	(void)state;
	struct written w;
	struct buf want;
	start(&w);
	assert_int_equal(write_out(&w, NULL), TN_OK);
	example_empty(&want);
	same_file(&w, &want);
	finish(&w);
}

static void writes_weight(void **state)
{
	(void)state;
	struct written w;
	struct buf want;
	start(&w);
	struct tensor *t = add(&w, "weight", TN_F32, 2, shape22, 16);
	meta_add_uint(&w.mem, tensor_extras(&w.mem, t), VIEW("param_id"), 42, 64);
	meta_add_string(&w.mem, w.model.metadata, VIEW("producer"), VIEW("burn-pack docs"));
	assert_int_equal(write_out(&w, (const char *const[]){ EXAMPLE_WEIGHT_DATA }), TN_OK);
	example_weight(&want);
	same_file(&w, &want);
	finish(&w);
}

static void writes_quantised_in_the_order_given(void **state)
{
	(void)state;
	struct written w;
	struct buf want;
	struct scheme s = { .value = VALUE_Q8S };
	start(&w);
	add(&w, "mask", TN_BOOL, 1, shape3, 3);
	struct tensor *q = add(&w, "layer.q", TN_QFLOAT, 2, shape23, 10);
	meta_add_uint(&w.mem, tensor_extras(&w.mem, q), VIEW("param_id"), 7, 64);
	assert_true(scheme_to_meta(&s, &w.mem, q->extras));
	assert_int_equal(write_out(&w, (const char *const[]){ EXAMPLE_MASK_DATA, EXAMPLE_Q_DATA }), TN_OK);
	example_quantised(&want);
	same_file(&w, &want);
	assert_int_equal(w.report.n, 0);
	finish(&w);
}

/* An empty tensor still starts at a multiple of 256, and the file is padded up to there. */
static void pads_up_to_a_last_empty_tensor(void **state)
{
	(void)state;
	struct written w;
	struct opened o;
	start(&w);
	add(&w, "a", TN_U8, 1, shape3, 3);
	add(&w, "b", TN_F32, 1, shape0, 0);
	assert_int_equal(write_out(&w, NULL), TN_OK);
	assert_int_equal(w.file.len, 512);
	read_back(&w, &o);
	assert_int_equal(o.model.tensors[1].offset, 512);
	close_opened(&o);
	finish(&w);
}

/* ---- Metadata ---- */

static void sorts_metadata_and_scalars(void **state)
{
	(void)state;
	struct written w;
	struct opened o;
	start(&w);
	w.job.rewrite = true;
	struct tn_meta *m = w.model.metadata;
	meta_add_bool(&w.mem, m, VIEW("z"), true);
	meta_add_string(&w.mem, m, VIEW("b"), VIEW("2"));
	meta_add_int(&w.mem, m, VIEW("y"), 5, 64);
	meta_add_string(&w.mem, m, VIEW("a"), VIEW("1"));
	meta_add_float(&w.mem, m, VIEW("x"), UINT64_C(0x7ff8000000000001), 64);
	assert_int_equal(write_out(&w, NULL), TN_OK);
	read_back(&w, &o);
	static const char *const keys[] = { "a", "b", "x", "y", "z" };
	const struct tn_meta *node = o.model.metadata->as.kids.first;
	for (size_t i = 0; i < COUNT(keys); i++, node = node->next)
		assert_true(view_is(node->key, keys[i]));
	assert_null(node);
	assert_int_equal(meta_find(o.model.metadata, VIEW("y"))->type, TN_META_INT);
	assert_true(meta_find(o.model.metadata, VIEW("x"))->as.f_bits == UINT64_C(0x7ff8000000000001));
	close_opened(&o);
	finish(&w);
}

static bool envelope_has(const struct opened *o, const char *text)
{
	tn_view v;
	if (!tn_meta_string(meta_find(o->model.metadata, VIEW(ENVELOPE_KEY)), &v))
		return false;
	return memmem(v.ptr, v.len, text, strlen(text)) != NULL;
}

static void other_types_travel_in_the_envelope(void **state)
{
	(void)state;
	struct written w;
	struct opened o;
	tn_view list;
	start(&w);
	struct tn_meta *array = meta_add_array(&w.mem, w.model.metadata, VIEW("list"));
	meta_add_uint(&w.mem, array, NO_TENSOR, 1, 64);
	meta_add_uint(&w.mem, w.model.metadata, VIEW("small"), 7, 8);
	assert_int_equal(write_out(&w, NULL), TN_OK);
	read_back(&w, &o);
	assert_true(tn_meta_string(meta_find(o.model.metadata, VIEW("list")), &list));
	assert_true(view_is(list, "[1]"));
	assert_int_equal(meta_find(o.model.metadata, VIEW("small"))->type, TN_META_UINT);
	assert_true(envelope_has(&o, "\"list\""));
	assert_true(envelope_has(&o, "\"small\":{\"$u8\":7}"));
	assert_false(envelope_has(&o, "metadata_order"));
	close_opened(&o);
	finish(&w);
}

static void order_of_keys_travels_from_another_format(void **state)
{
	(void)state;
	for (int converted = 0; converted < 2; converted++) {
		struct written w;
		struct opened o;
		start(&w);
		w.job.converted = converted != 0;
		meta_add_string(&w.mem, w.model.metadata, VIEW("b"), VIEW("2"));
		meta_add_string(&w.mem, w.model.metadata, VIEW("a"), VIEW("1"));
		assert_int_equal(write_out(&w, NULL), TN_OK);
		read_back(&w, &o);
		assert_int_equal(envelope_has(&o, "\"metadata_order\":[\"b\",\"a\"]"), converted);
		assert_int_equal(meta_find(o.model.metadata, VIEW(ENVELOPE_KEY)) != NULL, converted);
		close_opened(&o);
		finish(&w);
	}
}

static void order_of_keys_joins_an_envelope(void **state)
{
	(void)state;
	struct written w;
	struct opened o;
	start(&w);
	meta_add_string(&w.mem, w.model.metadata, VIEW("b"), VIEW("2"));
	meta_add_null(&w.mem, w.model.metadata, VIEW("a"));
	assert_int_equal(write_out(&w, NULL), TN_OK);
	read_back(&w, &o);
	assert_true(envelope_has(&o, "\"metadata_order\":[\"b\",\"a\"]"));
	close_opened(&o);
	finish(&w);
}

static void order_of_empty_tensors_travels_from_another_format(void **state)
{
	(void)state;
	for (int converted = 0; converted < 2; converted++) {
		struct written w;
		struct opened o;
		start(&w);
		w.job.converted = converted != 0;
		add(&w, "d", TN_U8, 1, shape0, 0);
		add(&w, "c", TN_U8, 1, shape0, 0);
		add(&w, "b", TN_U8, 1, shape3, 3);
		add(&w, "a", TN_U8, 1, shape0, 0);
		assert_int_equal(write_out(&w, NULL), TN_OK);
		read_back(&w, &o);
		assert_true(view_is(o.model.tensors[0].name, "c"));
		assert_int_equal(envelope_has(&o, "\"order\":[1,0,2,3]"), converted);
		close_opened(&o);
		finish(&w);
	}
}

static void extras_and_native_travel(void **state)
{
	(void)state;
	struct written w;
	struct opened o;
	start(&w);
	struct tensor *t = add(&w, "t", TN_U8, 1, shape3, 3);
	meta_add_string(&w.mem, tensor_extras(&w.mem, t), VIEW("role"), VIEW("bias"));
	meta_add_uint(&w.mem, model_native(&w.mem, &w.model, "gguf"), VIEW("alignment"), 32, 32);
	assert_int_equal(write_out(&w, NULL), TN_OK);
	read_back(&w, &o);
	assert_true(envelope_has(&o, "\"extras\":{\"role\":\"bias\"}"));
	assert_true(envelope_has(&o, "\"native\":{\"gguf\""));
	close_opened(&o);
	finish(&w);
}

static void without_envelope_each_thing_is_lost(void **state)
{
	(void)state;
	for (int allow = 0; allow < 2; allow++) {
		struct written w;
		struct opened o;
		start(&w);
		w.job.no_envelope = true;
		w.job.allow_loss = allow != 0;
		meta_add_null(&w.mem, w.model.metadata, VIEW("nothing"));
		assert_int_equal(write_out(&w, NULL), TN_OK);
		assert_true(says(&w.report, allow ? TN_WARNING : TN_ERROR, "'nothing'"));
		assert_int_equal(report_first(&w.report, TN_E_LOSSY)->code, TN_E_LOSSY);
		read_back(&w, &o);
		assert_null(meta_find(o.model.metadata, VIEW(ENVELOPE_KEY)));
		close_opened(&o);
		finish(&w);
	}
}

static void envelopes_key_may_be_taken(void **state)
{
	(void)state;
	struct written w;
	struct opened o;
	start(&w);
	meta_add_string(&w.mem, w.model.metadata, VIEW(ENVELOPE_KEY), VIEW("mine"));
	assert_int_equal(write_out(&w, NULL), TN_OK);
	assert_int_equal(w.report.n, 0);
	finish(&w);
	start(&w);
	meta_add_null(&w.mem, w.model.metadata, VIEW("a"));
	meta_add_string(&w.mem, w.model.metadata, VIEW(ENVELOPE_KEY), VIEW("mine"));
	assert_int_equal(write_out(&w, NULL), TN_OK);
	assert_int_equal(w.report.n, 0);
	read_back(&w, &o);
	assert_true(envelope_has(&o, "\"hidden\":{\"tenon.meta\":\"mine\"}"));
	close_opened(&o);
	finish(&w);
}

static void text_must_be_utf8(void **state)
{
	(void)state;
	struct written w;
	struct opened o;
	start(&w);
	add(&w, "\xff", TN_U8, 1, shape3, 3);
	meta_add_string(&w.mem, w.model.metadata, VIEW("k\xff"), VIEW("v"));
	meta_add_string(&w.mem, w.model.metadata, VIEW("v"), VIEW("a\xff"));
	assert_int_equal(write_out(&w, NULL), TN_OK);
	assert_true(says(&w.report, TN_ERROR, "a name that is not UTF-8"));
	assert_true(says(&w.report, TN_ERROR, "a key that is not UTF-8"));
	read_back(&w, &o);
	assert_int_equal(o.model.n, 0);
	assert_true(envelope_has(&o, "\"$string\""));
	close_opened(&o);
	finish(&w);
}

static void keys_that_stand_twice_are_told(void **state)
{
	(void)state;
	struct written w;
	struct opened o;
	tn_view v;
	start(&w);
	meta_add_string(&w.mem, w.model.metadata, VIEW("k"), VIEW("1"));
	meta_add_string(&w.mem, w.model.metadata, VIEW("k"), VIEW("2"));
	assert_int_equal(write_out(&w, NULL), TN_OK);
	assert_true(says(&w.report, TN_ERROR, "'k' stands there twice"));
	read_back(&w, &o);
	assert_true(tn_meta_string(meta_find(o.model.metadata, VIEW("k")), &v));
	assert_true(view_is(v, "2"));
	close_opened(&o);
	finish(&w);
}

/* ---- Types that burnpack lacks ---- */

static void add_foreign(struct written *w)
{
	add(w, "a", TN_U8, 1, shape3, 3);
	add(w, "b", TN_F8_E4M3, 1, shape4, 4);
	struct tensor *t = add(w, "c", TN_OPAQUE, 1, shape4, 9);
	t->dtype_text = VIEW("X9");
}

static void foreign_types_are_lost(void **state)
{
	(void)state;
	struct written w;
	struct opened o;
	start(&w);
	add_foreign(&w);
	assert_int_equal(write_out(&w, NULL), TN_OK);
	assert_true(says(&w.report, TN_ERROR, "there is no dtype f8_e4m3; --carry"));
	assert_true(says(&w.report, TN_ERROR, "there is no dtype X9"));
	read_back(&w, &o);
	assert_int_equal(o.model.n, 1);
	close_opened(&o);
	finish(&w);
}

static void foreign_types_are_carried(void **state)
{
	(void)state;
	struct written w;
	struct opened o;
	start(&w);
	w.job.carry = true;
	add_foreign(&w);
	assert_int_equal(write_out(&w, NULL), TN_OK);
	assert_int_equal(w.report.n, 0);
	read_back(&w, &o);
	assert_int_equal(o.model.n, 3);
	assert_int_equal(o.model.tensors[2].dtype, TN_U8);
	assert_int_equal(o.model.tensors[2].rank, 1);
	assert_int_equal(o.model.tensors[2].shape[0], 9);
	assert_true(envelope_has(&o, "\"dtype\":\"f8_e4m3\""));
	assert_true(envelope_has(&o, "\"dtype_text\":\"X9\""));
	close_opened(&o);
	finish(&w);
}

/* The current members would claim another layout than an old file has. */
static void old_layouts_are_not_given_current_schemes(void **state)
{
	(void)state;
	static const enum scheme_layout layouts[] = { LAYOUT_RUNS, LAYOUT_UNCERTAIN };
	for (size_t i = 0; i < COUNT(layouts); i++) {
		struct written w;
		struct scheme s = { .value = VALUE_Q8S, .layout = layouts[i] };
		start(&w);
		struct tensor *t = add(&w, "t", TN_QFLOAT, 1, shape4, 8);
		t->dtype_text = VIEW("QFloat");
		assert_true(scheme_to_meta(&s, &w.mem, tensor_extras(&w.mem, t)));
		assert_int_equal(write_out(&w, NULL), TN_OK);
		assert_true(says(&w.report, TN_ERROR, "there is no scheme of this kind"));
		finish(&w);
	}
}

/* ---- Refusals and warnings ---- */

static tn_code plan_of(struct written *w, const char *words)
{
	tn_code code = format_burnpack.plan(&w->job);
	if (words != NULL)
		assert_non_null(strstr(w->err.msg, words));
	return code;
}

static void refuses_what_cannot_be_meant(void **state)
{
	(void)state;
	static const uint64_t wide[] = { UINT64_MAX, 2 };
	struct written w;
	start(&w);
	add(&w, "t", TN_F32, 2, shape22, 15);
	assert_int_equal(plan_of(&w, "tensor 't': 15 bytes, its shape takes 16"), TN_E_CORRUPT);
	finish(&w);
	start(&w);
	add(&w, "t", TN_F32, 2, wide, 15);
	assert_int_equal(plan_of(&w, "overflows"), TN_E_LIMIT);
	finish(&w);
	start(&w);
	add(&w, "t", TN_U8, 1, shape3, 3);
	add(&w, "s", TN_U8, 1, shape3, 3);
	add(&w, "t", TN_U8, 1, shape4, 4);
	assert_int_equal(plan_of(&w, "two tensors are called 't'"), TN_E_CORRUPT);
	finish(&w);
	start(&w);
	add(&w, "t", TN_QFLOAT, 1, shape4, 8);
	assert_int_equal(plan_of(&w, "qfloat: is missing"), TN_E_USAGE);
	finish(&w);
	start(&w);
	struct scheme s = { .value = VALUE_Q4S, .store = STORE_PACKED_U32, .packed_dim = 1 };
	assert_true(scheme_to_meta(&s, &w.mem, tensor_extras(&w.mem, add(&w, "t", TN_QFLOAT, 1, shape4, 8))));
	assert_int_equal(plan_of(&w, "a dimension that the tensor does not have"), TN_E_USAGE);
	finish(&w);
}

static void warns_of_what_readers_refuse(void **state)
{
	(void)state;
	static const uint64_t huge[] = { UINT64_C(10737418241) };
	struct written w;
	struct scheme s = { .value = VALUE_Q8S };
	start(&w);
	add(&w, "t", TN_U8, 1, huge, huge[0]);
	struct tensor *q = add(&w, "q", TN_QFLOAT, 1, shape4, 7);
	assert_true(scheme_to_meta(&s, &w.mem, tensor_extras(&w.mem, q)));
	w.job.align = 4096;
	assert_int_equal(plan_of(&w, NULL), TN_OK);
	assert_true(says(&w.report, TN_WARNING, "readers refuse tensors of more than 10737418240 bytes"));
	assert_true(says(&w.report, TN_WARNING, "the payload has 7 bytes"));
	assert_true(says(&w.report, TN_NOTE, "aligned to 256"));
	finish(&w);
}

static void start_small(struct written *w)
{
	start(w);
	add(w, "t", TN_U8, 1, shape3, 3);
	meta_add_string(&w->mem, w->model.metadata, VIEW("a"), VIEW("b"));
	meta_add_bool(&w->mem, w->model.metadata, VIEW("c"), true);
}

static void memory_budget_is_kept(void **state)
{
	(void)state;
	struct written w;
	start_small(&w);
	uint64_t before = w.mem.used;
	assert_int_equal(plan_of(&w, NULL), TN_OK);
	uint64_t used = w.mem.used;
	finish(&w);
	for (uint64_t budget = before + 1; budget < used; budget += 16) {
		start_small(&w);
		w.mem.budget = budget;
		assert_int_equal(plan_of(&w, NULL), TN_E_LIMIT);
		finish(&w);
	}
}

/* ---- Rewriting ---- */

/* Opens metadata and plans the same file again. */
static void rewrite(struct written *w, struct opened *o, const char *metadata, size_t data, bool keep_unknown)
{
	assert_int_equal(open_text(o, metadata, data), TN_OK);
	start(w);
	w->job.model = &o->model;
	w->job.rewrite = true;
	w->job.keep_unknown = keep_unknown;
	assert_int_equal(write_out(w, NULL), TN_OK);
}

static void unknown_members_stay_on_request(void **state)
{
	(void)state;
	static const char text[] =
		"{'tensors':{'t':{'dtype':'U8','shape':[0],'data_offsets':[0,0],'param_id':9,'zip':[7]}},'future':{'x':1}}";
	struct written w;
	struct opened o;
	rewrite(&w, &o, text, 0, true);
	assert_int_equal(w.file.len, o.file.len);
	assert_memory_equal(w.file.ptr, o.file.ptr, o.file.len);
	finish(&w);
	close_opened(&o);
	rewrite(&w, &o, text, 0, false);
	assert_true(says(&w.report, TN_NOTE, "unknown members, left out: 2"));
	assert_null(memmem(w.file.ptr, w.file.len, "future", 6));
	finish(&w);
	close_opened(&o);
}

/* Be it a word or have a payload, and whether or not an envelope made the model something else than the file shows. */
static void a_dtype_that_is_not_known_goes_back_as_it_came(void **state)
{
	(void)state;
	static const char *const texts[] = {
		ONE("'dtype':'F8','shape':[3],'data_offsets':[0,3]"),
		ONE("'dtype':{'F8':{'kind':[1,2]}},'shape':[3],'data_offsets':[0,3],'param_id':1"),
	};
	for (size_t i = 0; i < 2 * COUNT(texts); i++) {
		struct written w;
		struct opened o;
		assert_int_equal(open_text(&o, texts[i / 2], 3), TN_OK);
		start(&w);
		w.job.model = &o.model;
		w.job.rewrite = i % 2 == 0;
		w.job.converted = w.job.carry = i % 2 != 0;
		assert_int_equal(write_out(&w, NULL), TN_OK);
		assert_int_equal(w.report.n, 0);
		assert_int_equal(w.file.len, o.file.len);
		assert_memory_equal(w.file.ptr, o.file.ptr, o.file.len - 3); /* all but the data, which is not written here */
		finish(&w);
		close_opened(&o);
	}
}

/* As an envelope of someone's making could have it. */
static void a_dtype_that_would_be_known_is_not_put_in_unseen(void **state)
{
	(void)state;
	static const tn_view words[] = {
		VIEW("\x63" "F32"), VIEW("\x63" "f32"), VIEW("\xa1\x64" "Bool\x62U8"), VIEW("\x62" "F8\x01"), VIEW("\x62" "F"), VIEW("\x07"), VIEW(""),
	};
	for (size_t i = 0; i < COUNT(words); i++) {
		struct written w;
		struct opened o;
		start(&w);
		w.job.carry = w.job.rewrite = true;
		struct tensor *t = add(&w, "t", TN_OPAQUE, 1, shape4, 3);
		t->dtype_text = VIEW("F8");
		struct tn_meta *own = meta_add_map(&w.mem, tensor_extras(&w.mem, t), VIEW("burnpack"));
		meta_add_bytes(&w.mem, own, VIEW("dtype"), words[i]);
		assert_int_equal(write_out(&w, NULL), TN_OK);
		read_back(&w, &o);
		assert_int_equal(o.model.tensors[0].dtype, TN_U8);
		close_opened(&o);
		finish(&w);
	}
}

static void unknown_members_of_a_scheme_stay_on_request(void **state)
{
	(void)state;
	static const char text[] = QUANTISED(
		"'value':'Q8S','store':'Native','mode':'Symmetric','tensor':null,'block':{'size':{'storage':[4,1,1,1,1],'len':1,'s':1},"
		"'dtype':'F32','b':[2]},'zero_point':{'at':3}", "8");
	struct written w;
	struct opened o;
	rewrite(&w, &o, text, 8, true);
	assert_true(says(&o.report, TN_NOTE, "unknown members, not looked at: 3"));
	assert_int_equal(w.file.len, o.file.len);
	assert_memory_equal(w.file.ptr, o.file.ptr, o.file.len - 8);
	assert_int_equal(w.report.n, 0);
	finish(&w);
	close_opened(&o);
	rewrite(&w, &o, text, 8, false);
	assert_true(says(&w.report, TN_NOTE, "unknown members, left out: 3"));
	assert_null(memmem(w.file.ptr, w.file.len, "zero_point", 10));
	finish(&w);
	close_opened(&o);
}

/* Each place has names of its own, and those of the others are none there. */
static void unknown_members_may_have_names_of_other_places(void **state)
{
	(void)state;
	static const char text[] = "{'tensors':{'t':{'dtype':'U8','shape':[0],'data_offsets':[0,0],'tensors':1}},'shape':2}";
	struct written w;
	struct opened o;
	rewrite(&w, &o, text, 0, true);
	assert_int_equal(w.file.len, o.file.len);
	assert_memory_equal(w.file.ptr, o.file.ptr, o.file.len);
	finish(&w);
	close_opened(&o);
}

/* As an envelope of someone's making could ask for. */
static void unknown_members_are_not_put_in_unseen(void **state)
{
	(void)state;
	static const struct { tn_view key, bytes; } cases[] = {
		{ VIEW("half"), VIEW("\x62\x61") },          /* a text of two bytes, one there */
		{ VIEW("two"), VIEW("\x01\x02") },           /* two items */
		{ VIEW("none"), VIEW("") },
		{ VIEW("shape"), VIEW("\x80") },             /* ours */
		{ VIEW("bad\xff"), VIEW("\x01") },
		{ VIEW("end"), VIEW("\xff") },               /* a break */
	};
	struct written w;
	start(&w);
	w.job.keep_unknown = true;
	struct tensor *t = add(&w, "t", TN_U8, 1, shape3, 3);
	struct tn_meta *root = model_native(&w.mem, &w.model, "burnpack");
	struct tn_meta *map = meta_add_map(&w.mem, tensor_extras(&w.mem, t), VIEW("unknown"));
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		meta_add_bytes(&w.mem, map, cases[i].key, cases[i].bytes);
	meta_add_string(&w.mem, map, VIEW("text"), VIEW("\x01"));
	meta_add_bytes(&w.mem, map, VIEW("good"), VIEW("\x01"));
	meta_add_string(&w.mem, root, VIEW("unknown"), VIEW("no map"));
	assert_int_equal(write_out(&w, NULL), TN_OK);
	struct opened o;
	read_back(&w, &o);
	assert_int_equal(o.model.n, 1);
	assert_int_equal(tn_meta_count(tn_meta_find(o.model.tensors[0].extras, VIEW("unknown"))), 1);
	close_opened(&o);
	finish(&w);
}

static void scalars_of_a_strings_name_come_back(void **state)
{
	(void)state;
	static const char text[] = "{'tensors':{},'metadata':{'k':'text'},'scalars':{'a':{'Bool':false},'k':{'UInt':1}}}";
	struct written w;
	struct opened o;
	rewrite(&w, &o, text, 0, false);
	assert_int_equal(w.file.len, o.file.len);
	assert_memory_equal(w.file.ptr, o.file.ptr, o.file.len);
	finish(&w);
	close_opened(&o);
}

/* As an envelope of someone's making could have them. */
static void scalars_that_are_no_map_are_left_out(void **state)
{
	(void)state;
	static const uint8_t bytes[] = { 1, 2 };
	static struct meta_raw raw = { .bytes = bytes, .len = 2, .kind = TN_META_UINT, .width = 8 };
	for (int i = 0; i < 3; i++) {
		struct written w;
		struct opened o;
		start(&w);
		struct tn_meta *scalars = meta_add_array(&w.mem, model_native(&w.mem, &w.model, "burnpack"), VIEW("scalars"));
		if (i == 0) {
			scalars->is_raw = true;
			scalars->as.packed.raw = &raw;
			scalars->as.packed.n = 2;
		} else if (i == 1) {
			meta_add_uint(&w.mem, scalars, VIEW(""), 1, 64);
			meta_add_uint(&w.mem, scalars, VIEW(""), 2, 64);
		} else {
			scalars->type = TN_META_STRING;
			scalars->as.s = VIEW("text");
		}
		assert_int_equal(write_out(&w, NULL), TN_OK);
		assert_int_equal(w.report.n, 0);
		read_back(&w, &o);
		assert_int_equal(tn_meta_count(o.model.metadata), 0);
		close_opened(&o);
		finish(&w);
	}
}

/* Read generously, written strictly. */
static void old_files_become_current(void **state)
{
	(void)state;
	struct written w;
	struct opened o, again;
	rewrite(&w, &o, ONE("'dtype':'Bool','shape':[2],'data_offsets':[0,2]"), 2, false);
	read_back(&w, &again);
	assert_string_equal(again.model.dialect, "");
	assert_true(view_is(again.model.tensors[0].dtype_text, "Bool(Native)"));
	close_opened(&again);
	finish(&w);
	close_opened(&o);
	rewrite(&w, &o, QUANTISED("'value':'Q8S','param':'F16','store':'U32','level':'Tensor','mode':'Symmetric'", "8"), 8,
	        false);
	read_back(&w, &again);
	assert_string_equal(again.model.dialect, "");
	assert_true(view_is(again.model.tensors[0].dtype_text, "QFloat(Q8S, PackedU32(0), tensor F32)"));
	assert_int_equal(again.report.n, 0);
	close_opened(&again);
	finish(&w);
	close_opened(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_empty_pack),
		cmocka_unit_test(writes_weight),
		cmocka_unit_test(writes_quantised_in_the_order_given),
		cmocka_unit_test(pads_up_to_a_last_empty_tensor),
		cmocka_unit_test(sorts_metadata_and_scalars),
		cmocka_unit_test(other_types_travel_in_the_envelope),
		cmocka_unit_test(order_of_keys_travels_from_another_format),
		cmocka_unit_test(order_of_keys_joins_an_envelope),
		cmocka_unit_test(order_of_empty_tensors_travels_from_another_format),
		cmocka_unit_test(extras_and_native_travel),
		cmocka_unit_test(without_envelope_each_thing_is_lost),
		cmocka_unit_test(envelopes_key_may_be_taken),
		cmocka_unit_test(text_must_be_utf8),
		cmocka_unit_test(keys_that_stand_twice_are_told),
		cmocka_unit_test(foreign_types_are_lost),
		cmocka_unit_test(foreign_types_are_carried),
		cmocka_unit_test(old_layouts_are_not_given_current_schemes),
		cmocka_unit_test(refuses_what_cannot_be_meant),
		cmocka_unit_test(warns_of_what_readers_refuse),
		cmocka_unit_test(memory_budget_is_kept),
		cmocka_unit_test(unknown_members_stay_on_request),
		cmocka_unit_test(a_dtype_that_is_not_known_goes_back_as_it_came),
		cmocka_unit_test(a_dtype_that_would_be_known_is_not_put_in_unseen),
		cmocka_unit_test(unknown_members_of_a_scheme_stay_on_request),
		cmocka_unit_test(unknown_members_may_have_names_of_other_places),
		cmocka_unit_test(unknown_members_are_not_put_in_unseen),
		cmocka_unit_test(scalars_of_a_strings_name_come_back),
		cmocka_unit_test(scalars_that_are_no_map_are_left_out),
		cmocka_unit_test(old_files_become_current),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
