/* test_thin_plan.c - plans, loads, profiles and statistics of archives, against what ThinTensor's own planner says.
 *
 * tests/plan/NAME/manifest.json is the manifest of an archive, its white space aside; the other files are what
 * thintensor-core 1.0.1 printed for that archive with the options below. The planner looks at no payload, so the
 * archives here are made of the manifest, a page table and zeros. */
#include "support/files.h"

#include "format/thin/archive.h"
#include "io/json_tree.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define GIB (UINT64_C(1) << 30)
#define ROWS "row_major_contiguous"

/* ---- Archives ---- */

struct building {
	struct arena        mem;
	struct manifest     m;
	struct thin_record *records;
	uint64_t            n, data;
	bool               *taken; /* [m.n_pages] */
};

static tn_digest *digest_of(struct building *b, tn_view hex)
{
	tn_digest *d = ARENA_NEW(&b->mem, 1, tn_digest);
	for (size_t i = 0; i < TN_DIGEST_LEN; i++) {
		char two[3] = { (char)hex.ptr[2 * i], (char)hex.ptr[2 * i + 1], '\0' };
		d->bytes[i] = (uint8_t)strtoul(two, NULL, 16);
	}
	return d;
}

static void take(struct building *b, uint64_t page)
{
	const struct page *p = &b->m.pages[page];
	if (b->taken[page] || p->fused_to.ptr != NULL)
		return;
	b->taken[page] = true;
	b->records[b->n++] = (struct thin_record){
		.id = p->id, .offset = b->data, .stored = p->size, .raw = p->size, .digest = digest_of(b, p->checksum),
	};
	b->data += p->size;
}

/* Of a slice, the page that it is one of. */
static void take_named(struct building *b, tn_view id)
{
	for (uint64_t i = 0; i < b->m.n_pages; i++) {
		if (!view_eq(b->m.pages[i].id, id))
			continue;
		if (b->m.pages[i].fused_to.ptr != NULL)
			take_named(b, b->m.pages[i].fused_to);
		else
			take(b, i);
	}
}

/* Upstream's hot order puts pages of no layer in front; then both follow the tape. */
static void order_records(struct building *b, bool hot)
{
	b->records = ARENA_NEW(&b->mem, b->m.n_pages, struct thin_record);
	b->taken = ARENA_NEW(&b->mem, b->m.n_pages, bool);
	for (uint64_t i = 0; hot && i < b->m.n_pages; i++)
		if ((b->m.pages[i].has & PAGE_LAYER) == 0)
			take(b, i);
	for (uint64_t i = 0; i < b->m.n_stages; i++)
		for (uint64_t k = 0; k < b->m.tape[i].n_refs; k++)
			take_named(b, b->m.tape[i].refs[k]);
	for (uint64_t i = 0; i < b->m.n_pages; i++)
		take(b, i);
}

static tn_view assemble(struct building *b)
{
	struct buf text, out;
	uint8_t head[THIN_HEADER], record[THIN_RECORD + THIN_ID_MAX];
	uint64_t table = 0;
	buf_init(&text, 0);
	buf_init(&out, 0);
	manifest_print(&text, &b->m, NULL);
	for (uint64_t i = 0; i < b->n; i++)
		table += THIN_RECORD + b->records[i].id.len;
	struct thin_header h = {
		.manifest_off = THIN_HEADER, .manifest_len = text.len, .table_off = THIN_HEADER + text.len, .page_count = b->n,
		.data_off = THIN_HEADER + text.len + table,
	};
	thin_put_header(head, &h);
	buf_put(&out, head, THIN_HEADER);
	buf_view(&out, buf_bytes(&text));
	for (uint64_t i = 0; i < b->n; i++) {
		b->records[i].offset += h.data_off;
		buf_put(&out, record, thin_put_record(record, &b->records[i]));
	}
	buf_fill(&out, 0, (size_t)b->data);
	assert_false(out.failed);
	buf_fini(&text);
	return buf_bytes(&out);
}

static char *path_of(const char *model, const char *file)
{
	char path[512];
	snprintf(path, sizeof path, "%s/plan/%s/%s.json", TENON_TEST_DATA, model, file);
	return strdup(path);
}

static tn_view load(const char *model, const char *file)
{
	char *path = path_of(model, file);
	tn_view text = files_load(path);
	free(path);
	return text;
}

/* The archive in a malloc. */
static tn_view build(const char *model, const char *manifest, bool hot)
{
	struct building b = { 0 };
	struct manifest_options opt = { 0 };
	tn_error err = { .code = TN_OK };
	tn_view text = load(model, manifest);
	arena_init(&b.mem, 0);
	if (manifest_read(&b.m, text, &opt, &b.mem, &err) != TN_OK)
		fail_msg("%s: %s", model, err.msg);
	order_records(&b, hot);
	tn_view archive = assemble(&b);
	arena_fini(&b.mem);
	free((void *)(uintptr_t)text.ptr);
	return archive;
}

/* ---- Comparison ---- */

/* JSON without white space, for JSON with some. */
static void compact(struct buf *out, tn_view text)
{
	struct json_doc *doc;
	struct json_options opt = { .what = "expected" };
	struct arena mem;
	tn_error err;
	arena_init(&mem, 0);
	assert_int_equal(json_parse(&doc, text, &opt, &err), TN_OK);
	struct json_tree tree = { .mem = &mem };
	json_tree_put(out, json_tree_get(&tree, json_root(doc)));
	buf_byte(out, '\0');
	json_free(doc);
	arena_fini(&mem);
}

static void same_as_file(const tn_meta *values, const char *model, const char *file)
{
	struct buf got, wanted;
	tn_view text = load(model, file);
	buf_init(&got, 0);
	buf_init(&wanted, 0);
	json_tree_put(&got, values);
	buf_byte(&got, '\0');
	compact(&wanted, text);
	if (strcmp((const char *)got.ptr, (const char *)wanted.ptr) != 0)
		fail_msg("%s, %s: got\n%s\nwanted\n%s", model, file, (const char *)got.ptr, (const char *)wanted.ptr);
	buf_fini(&got);
	buf_fini(&wanted);
	free((void *)(uintptr_t)text.ptr);
}

/* ---- What upstream says ---- */

struct asked {
	const char      *file;
	tn_estimate_kind kind;
	tn_plan_options  options;
};

static const struct asked of_all[] = {
	{ "plan-cuda", TN_ESTIMATE_PLAN, { .backend = "cuda", .vram = 8 * GIB } },
	{ "plan-tight", TN_ESTIMATE_PLAN,
	  { .backend = ROWS, .vram = 67318579, .ctx = 8192, .batch = 2, .kv_dtype = "Q8" } },
	{ "simulate-stream", TN_ESTIMATE_LOAD, { .backend = ROWS, .vram = GIB, .residency = "stream" } },
	{ "profile", TN_ESTIMATE_PROFILE, { .backend = ROWS, .vram = 65 << 20 } },
	{ "stats", TN_ESTIMATE_STATS, { 0 } },
};

static const struct asked of_one[] = {
	{ "plan-middle", TN_ESTIMATE_PLAN,
	  { .backend = ROWS, .vram = GIB, .residency = "offload-middle-out", .offload_layers = 1, .gpu_fraction = 0.5 } },
};

static const struct asked of_hot[] = {
	{ "simulate-hot", TN_ESTIMATE_LOAD, { .backend = ROWS, .vram = GIB, .residency = "stream", .prefetch_pages = 3 } },
};

static const struct asked of_fused[] = {
	{ "plan-fused", TN_ESTIMATE_PLAN, { .backend = ROWS, .vram = GIB, .kv_dtype = "q3" } },
	{ "simulate-fused", TN_ESTIMATE_LOAD, { .backend = ROWS, .vram = GIB, .prefetch_pages = 2 } },
	{ "stats-fused", TN_ESTIMATE_STATS, { 0 } },
};

static const struct asked of_slices[] = {
	{ "plan-small", TN_ESTIMATE_PLAN, { .backend = ROWS, .vram = 100 } },
	{ "profile", TN_ESTIMATE_PROFILE, { .backend = ROWS, .vram = 65 << 20 } },
	{ "stats", TN_ESTIMATE_STATS, { 0 } },
};

static tn_file *open_bytes(tn_view bytes)
{
	tn_file *f;
	tn_error err;
	if (tn_open_memory(&f, bytes, NULL, &err) != TN_OK)
		fail_msg("%s", err.msg);
	return f;
}

static void ask(const char *model, const char *manifest, bool hot, const struct asked *list, size_t n)
{
	tn_view bytes = build(model, manifest, hot);
	tn_file *f = open_bytes(bytes);
	for (size_t i = 0; i < n; i++) {
		tn_estimate *e;
		tn_error err;
		if (tn_estimate_new(&e, f, list[i].kind, &list[i].options, &err) != TN_OK)
			fail_msg("%s, %s: %s", model, list[i].file, err.msg);
		same_as_file(tn_estimate_values(e), model, list[i].file);
		tn_estimate_free(e);
	}
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

static void every_checkpoint_is_planned_as_upstream_does(void **state)
{
	static const char *const models[] = {
		"gemma2", "gpt-oss-mxfp4", "gpt2-gated", "llama", "llama-3shards", "llama-fp8", "llama-gptq", "mixtral", "mllama",
		"qwen2",
	};
	(void)state;
	for (size_t i = 0; i < COUNT(models); i++)
		ask(models[i], "manifest", false, of_all, COUNT(of_all));
}

static void residency_order_and_fusion_count_as_upstream_has_them(void **state)
{
	(void)state;
	ask("gemma2", "manifest", false, of_one, COUNT(of_one));
	ask("gemma2", "manifest", true, of_hot, COUNT(of_hot));
	ask("gemma2", "manifest-fused", false, of_fused, COUNT(of_fused));
}

/* A fused page of no layer whose slices lie over one another and leave bytes out, pages used again in another order than
 * that of their names, and the largest page of a kind that is never resident. */
static void odd_archives_count_as_upstream_has_them(void **state)
{
	(void)state;
	ask("slices", "manifest", false, of_slices, COUNT(of_slices));
}

/* ---- What upstream says nothing of, or wrongly ---- */

static uint64_t number(const tn_file *f, const tn_plan_options *opt, const char *key)
{
	tn_estimate *e;
	uint64_t v = 0;
	assert_int_equal(tn_estimate_new(&e, f, TN_ESTIMATE_PLAN, opt, NULL), TN_OK);
	assert_true(tn_meta_u64(tn_meta_find(tn_estimate_values(e), tn_text(key)), &v));
	tn_estimate_free(e);
	return v;
}

/* Upstream finds nothing resident for any real backend in what its own converter made. */
static void without_a_backend_every_layout_is_resident(void **state)
{
	(void)state;
	tn_view bytes = build("mixtral", "manifest", false);
	tn_file *f = open_bytes(bytes);
	tn_plan_options any = { .vram = GIB }, cuda = { .backend = "cuda", .vram = GIB };
	tn_plan_options rows = { .backend = ROWS, .vram = GIB };
	assert_int_equal(number(f, &any, "weights_bytes"), 103232);
	assert_int_equal(number(f, &any, "streamed_weight_bytes"), 0);
	assert_int_equal(number(f, &rows, "weights_bytes"), 29504);
	assert_int_equal(number(f, &cuda, "weights_bytes"), 0);
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

/* A plan of many layers, of one page and one byte each, by what is offloaded. */
static void layers_are_offloaded_from_where_the_mode_says(void **state)
{
	static const struct {
		const char *residency;
		uint64_t    n;
		const char *kept; /* layers that stay */
	} cases[] = {
		{ "all", 2, "0123456" }, { "stream", 0, "" }, { "offload-last-n", 2, "01234" }, { "offload-first-n", 3, "3456" },
		{ "offload-last-n", 9, "" }, { "offload-first-n", 0, "0123456" }, { "offload-middle-out", 0, "0123456" },
		{ "offload-middle-out", 1, "012456" }, { "offload-middle-out", 2, "01456" }, { "offload-middle-out", 3, "0156" },
		{ "offload-middle-out", 4, "056" }, { "offload-middle-out", 7, "" },
	};
	(void)state;
	struct buf text;
	struct manifest_options opt = { 0 };
	buf_init(&text, 0);
	buf_text(&text, "{\"format\":\"thintensor\",\"version\":0,\"model\":{\"arch\":\"a\",\"hidden_size\":1,\"layers\":7,"
	         "\"heads\":1,\"kv_heads\":1,\"dtype\":\"u8\"},\"execution_tape\":[{\"stage\":\"s\",\"page_refs\":[]}],\"pages\":[");
	for (int i = 0; i < 7; i++)
		buf_printf(&text, "%s{\"id\":\"%d\",\"kind\":\"weight\",\"layer\":%d,\"op\":\"o\",\"dtype\":\"u8\",\"shape\":[1],"
		           "\"backend_layout\":\"x\",\"size\":1,\"checksum\":\"%064d\"}", i > 0 ? "," : "", i, i, i);
	buf_text(&text, "],\"memory_plan\":{\"scratch_bytes\":0,\"min_vram_bytes\":0,\"recommended_vram_bytes\":0,\"kv_cache\":"
	         "{\"policy\":\"p\",\"recent_tokens_high_precision\":0,\"old_tokens_codec\":\"q4\"}}}");
	struct building b = { 0 };
	tn_error err = { .code = TN_OK };
	arena_init(&b.mem, 0);
	assert_int_equal(manifest_read(&b.m, buf_bytes(&text), &opt, &b.mem, &err), TN_OK);
	order_records(&b, false);
	tn_view bytes = assemble(&b);
	tn_file *f = open_bytes(bytes);
	for (size_t i = 0; i < COUNT(cases); i++) {
		tn_plan_options how = { .vram = 1, .residency = cases[i].residency, .offload_layers = cases[i].n };
		tn_estimate *e;
		char kept[16] = "";
		assert_int_equal(tn_estimate_new(&e, f, TN_ESTIMATE_PLAN, &how, NULL), TN_OK);
		tn_meta_iter it = tn_meta_items(tn_meta_find(tn_estimate_values(e), tn_text("resident")));
		for (const tn_meta *item; (item = tn_meta_next(&it)) != NULL; ) {
			tn_view id;
			assert_true(tn_meta_string(item, &id));
			strncat(kept, (const char *)id.ptr, 1);
		}
		assert_string_equal(kept, cases[i].kept);
		tn_estimate_free(e);
	}
	tn_close(f);
	arena_fini(&b.mem);
	buf_fini(&text);
	free((void *)(uintptr_t)bytes.ptr);
}

static void suggestion(const tn_file *f, const tn_plan_options *opt, const char *const *wanted)
{
	tn_estimate *e;
	assert_int_equal(tn_estimate_new(&e, f, TN_ESTIMATE_PLAN, opt, NULL), TN_OK);
	tn_meta_iter it = tn_meta_items(tn_meta_find(tn_estimate_values(e), tn_text("suggestions")));
	for (const tn_meta *item; (item = tn_meta_next(&it)) != NULL; wanted++) {
		tn_view said;
		assert_true(tn_meta_string(item, &said));
		assert_non_null(*wanted);
		if (!view_is(said, *wanted))
			fail_msg("'%.*s' in place of '%s'", VIEW_ARG(said), *wanted);
	}
	assert_null(*wanted);
	tn_estimate_free(e);
}

/* gemma2: 72400 bytes of weights, 64 MiB of scratch, 3705 of metadata; 128 values a token and layer in the cache. */
static void what_would_fit_is_suggested(void **state)
{
	const uint64_t rest = 72400 + 67108864 + 3705;
	(void)state;
	tn_view bytes = build("gemma2", "manifest", false);
	tn_file *f = open_bytes(bytes);
	/* 256 tokens of 256 bytes, and 744 of 64 */
	suggestion(f, &(tn_plan_options){ .vram = rest + 256 * 256 + 744 * 64, .ctx = 1001 },
	           (const char *const[]){ "lower context to 1000", "try kv codec q2 for maximum context length",
	                                  "use weight residency stream",
	                                  "use weight residency offload-last-n with --offload-layers 1", NULL });
	suggestion(f, &(tn_plan_options){ .vram = rest + 256 * 256 + 744 * 64, .ctx = 1000 }, (const char *const[]){ NULL });
	suggestion(f, &(tn_plan_options){ .vram = 1000, .kv_dtype = "q2", .residency = "stream", .batch = 3 },
	           (const char *const[]){ "reduce batch size", "offload layers 1..1", NULL });
	suggestion(f, &(tn_plan_options){ .vram = 1000, .kv_dtype = "bf16", .residency = "offload-last-n" },
	           (const char *const[]){ "enable kv codec q4", "offload layers 1..1", NULL });
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

static void sums_saturate(void **state)
{
	(void)state;
	tn_view bytes = build("gemma2", "manifest", false);
	tn_file *f = open_bytes(bytes);
	tn_plan_options how = { .vram = UINT64_MAX, .ctx = UINT64_MAX, .batch = UINT64_MAX };
	assert_int_equal(number(f, &how, "kv_cache_bytes"), UINT64_MAX);
	assert_int_equal(number(f, &how, "scratch_bytes"), UINT64_MAX);
	assert_int_equal(number(f, &how, "total_bytes"), UINT64_MAX);
	assert_int_equal(number(f, &how, "usable_vram_bytes"), UINT64_MAX);
	how.gpu_fraction = 0.001; /* counts as 0.05 */
	how.vram = 1000;
	assert_int_equal(number(f, &how, "usable_vram_bytes"), 50);
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_checkpoint_is_planned_as_upstream_does),
		cmocka_unit_test(residency_order_and_fusion_count_as_upstream_has_them),
		cmocka_unit_test(odd_archives_count_as_upstream_has_them),
		cmocka_unit_test(without_a_backend_every_layout_is_resident),
		cmocka_unit_test(layers_are_offloaded_from_where_the_mode_says),
		cmocka_unit_test(what_would_fit_is_suggested),
		cmocka_unit_test(sums_saturate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
