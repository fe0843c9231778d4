/* test_plan.c - layouts: offsets and sizes when listed, bytes, digests and broken promises when run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "codec/crc32.h"
#include "io/plan.h"
#include "support/files.h"

#include <cmocka.h>

static struct arena mem;
static uint8_t room[256];

static int set_up(void **state)
{
	(void)state;
	arena_init(&mem, 0);
	memset(room, '.', sizeof room);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_fini(&mem);
	return 0;
}

static struct source memory_source(tn_view v)
{
	return (struct source){ .kind = SOURCE_MEMORY, .len = v.len, .memory = v };
}

static tn_code run(struct plan *p, const struct source *sources, tn_error *err)
{
	const struct tensor tensors[] = { { .name = VIEW("first") }, { .name = VIEW("sec\nond") } };
	struct sink out;
	err_clear(err);
	sink_init_memory(&out, room, sizeof room, err);
	return plan_run(p, sources, tensors, &out);
}

static void layout(void **state)
{
	struct plan p;
	tn_error err;
	(void)state;
	err_clear(&err);
	plan_init(&p, &mem);
	assert_int_equal(p.size, 0);
	plan_bytes(&p, VIEW("head!"));
	plan_bytes(&p, VIEW(""));
	plan_align(&p, 8);
	plan_align(&p, 8);
	plan_tensor(&p, 1, 3);
	plan_zero(&p, 0);
	plan_tensor(&p, 0, 0);
	plan_align(&p, 1);
	plan_zero(&p, 2);
	plan_crc(&p);
	assert_int_equal(plan_ok(&p, &err), TN_OK);
	static const struct { enum span_kind kind; uint64_t off, len; } want[] = {
		{ SPAN_BYTES, 0, 5 }, { SPAN_ZERO, 5, 3 }, { SPAN_TENSOR, 8, 3 }, { SPAN_TENSOR, 11, 0 }, { SPAN_ZERO, 11, 2 },
		{ SPAN_CRC, 13, 4 },
	};
	assert_int_equal(p.n, sizeof want / sizeof want[0]);
	for (size_t i = 0; i < p.n; i++) {
		assert_int_equal(p.spans[i].kind, want[i].kind);
		assert_int_equal(p.spans[i].off, want[i].off);
		assert_int_equal(p.spans[i].len, want[i].len);
	}
	assert_int_equal(p.size, 17);
}

static void bytes_of_a_run(void **state)
{
	const struct source sources[] = { memory_source(VIEW("")), memory_source(VIEW("abc")) };
	uint8_t crc[4];
	struct plan p;
	tn_error err;
	(void)state;
	plan_init(&p, &mem);
	plan_bytes(&p, VIEW("head!"));
	plan_align(&p, 8);
	plan_tensor(&p, 1, 3);
	plan_tensor(&p, 0, 0);
	plan_crc(&p);
	assert_int_equal(run(&p, sources, &err), TN_OK);
	assert_memory_equal(room, "head!\0\0\0abc", 11);
	put_le32(crc, crc32_update(0, room, 11));
	assert_memory_equal(room + 11, crc, 4);
	assert_int_equal(room[15], '.');
}

/* Of several spans as one, and of each besides. */
static void digest_of_a_group(void **state)
{
	struct plan p;
	tn_error err;
	(void)state;
	plan_init(&p, &mem);
	plan_bytes(&p, VIEW("before"));
	plan_group_begin(&p);
	plan_tensor_digest(&p, 0, 5);
	plan_tensor(&p, 1, 3);
	plan_group_end(&p);
	plan_bytes(&p, VIEW("after"));
	assert_int_equal(p.size, 19);
	const struct source sources[] = { memory_source(VIEW("hello")), memory_source(VIEW("abc")) };
	assert_int_equal(run(&p, sources, &err), TN_OK);
	tn_digest first = b3_of(VIEW("hello")), both = b3_of(VIEW("helloabc"));
	assert_memory_equal(room, "beforehelloabcafter", 19);
	assert_memory_equal(p.spans[2].hash.bytes, first.bytes, TN_DIGEST_LEN);
	assert_memory_equal(p.spans[4].hash.bytes, both.bytes, TN_DIGEST_LEN);
}

static void digests(void **state)
{
	const struct source sources[] = { memory_source(VIEW("hello")), memory_source(VIEW("abc")) };
	struct plan p;
	tn_error err;
	(void)state;
	plan_init(&p, &mem);
	plan_bytes(&p, VIEW("head"));
	plan_tensor_digest(&p, 0, 5);
	plan_tensor_digest(&p, 1, 3);
	assert_int_equal(run(&p, sources, &err), TN_OK);
	tn_digest first = b3_of(VIEW("hello")), second = b3_of(VIEW("abc"));
	assert_memory_equal(p.spans[1].hash.bytes, first.bytes, TN_DIGEST_LEN);
	assert_memory_equal(p.spans[2].hash.bytes, second.bytes, TN_DIGEST_LEN);
}

static void digest_says_otherwise(struct plan *p, const struct source *sources)
{
	tn_error err;
	assert_int_equal(run(p, sources, &err), TN_E_CHECKSUM);
	assert_string_equal(err.msg, "tensor 'first': its bytes do not have the checksum that is stated");
}

/* What a source says of its bytes is looked at whatever becomes of them, and hashing them once is enough. */
static void digests_that_are_known(void **state)
{
	static const char text[] = "hellohellohellohellohellohellohello";
	tn_digest good = b3_of(tn_text(text)), bad = b3_of(VIEW("hell0"));
	struct source source = memory_source(tn_text(text));
	const struct packing packing = { .codec = BLOCKS_LZ4, .stored = 30, .lengths = (uint32_t[]){ 10 } };
	struct packing measured;
	struct plan p;
	tn_error err;
	(void)state;
	for (int i = 0; i < 4; i++) {
		plan_init(&p, &mem);
		if (i == 0)
			plan_tensor(&p, 0, source.len);
		else if (i == 1)
			plan_tensor_digest(&p, 0, source.len);
		else if (i == 2)
			plan_tensor_big_endian(&p, 0, source.len);
		else
			plan_blocks(&p, 0, &packing);
		source.digest = &bad;
		digest_says_otherwise(&p, &source);
		source.digest = &good;
		if (i < 3)
			assert_int_equal(run(&p, &source, &err), TN_OK);
		if (i == 1)
			assert_memory_equal(p.spans[0].hash.bytes, good.bytes, TN_DIGEST_LEN);
	}
	source.digest = &bad;
	err_clear(&err);
	assert_int_equal(blocks_measure(&source, BLOCKS_LZ4, 0, 1, &mem, &measured, &err), TN_E_CHECKSUM);
}

/* ---- Going on ---- */

struct marks {
	uint64_t at[8];
	size_t   n;
};

static tn_code mark(void *ctx, uint64_t done, tn_error *err)
{
	struct marks *m = ctx;
	m->at[m->n++] = done;
	return err->code;
}

static void list_all_kinds(struct plan *p)
{
	plan_init(p, &mem);
	plan_bytes(p, VIEW("head"));
	plan_tensor_digest(p, 0, 5);
	plan_group_begin(p);
	plan_tensor(p, 1, 3);
	plan_zero(p, 2);
	plan_group_end(p);
	plan_crc(p);
}

static void whole_spans(void **state)
{
	static const uint64_t want[] = { 0, 0, 0, 0, 4, 4, 4, 4, 4, 9, 9, 9, 12, 12, 14, 14, 14, 14, 18, 18 };
	struct plan p;
	(void)state;
	list_all_kinds(&p);
	assert_int_equal(p.size, 18);
	for (uint64_t n = 0; n < sizeof want / sizeof *want; n++)
		assert_int_equal(plan_whole(&p, n), want[n]);
	assert_int_equal(plan_whole(&p, UINT64_MAX), 18);
}

/* From wherever it goes on: the same bytes, digests and marks as from the beginning. */
static void resumed_runs(void **state)
{
	const struct source sources[] = { memory_source(VIEW("hello")), memory_source(VIEW("abc")) };
	const struct tensor tensors[] = { { .name = VIEW("first") }, { .name = VIEW("second") } };
	char *folder = tempdir_new();
	tn_digest tensor = b3_of(VIEW("hello")), group = b3_of((tn_view){ (const uint8_t *)"abc\0", 5 });
	uint8_t expected[18] = "headhelloabc";
	(void)state;
	put_le32(expected + 14, crc32_update(0, expected, 14));
	assert_int_equal(chdir(folder), 0);
	for (uint64_t n = 0; n <= 18; n++) {
		struct plan p;
		struct sys_out out;
		struct sys_file file;
		struct sink sink;
		struct marks marks = { .n = 0 };
		tn_error err;
		err_clear(&err);
		list_all_kinds(&p);
		struct plan_resume resume = { .have = plan_whole(&p, n), .file = &file, .step = 5, .mark = mark, .ctx = &marks };
		files_store(".out.partial", (tn_view){ expected, (size_t)n });
		assert_int_equal(sys_out_resume(&out, "out", false, p.size, &resume.have, &err), TN_OK);
		assert_int_equal(sys_file_open(&file, ".out.partial", TN_IO_PREAD, &err), TN_OK);
		assert_int_equal(sink_init(&sink, &out, &err), TN_OK);
		p.resume = &resume;
		assert_int_equal(plan_run(&p, sources, tensors, &sink), TN_OK);
		assert_memory_equal(p.spans[1].hash.bytes, tensor.bytes, TN_DIGEST_LEN);
		assert_memory_equal(p.spans[5].hash.bytes, group.bytes, TN_DIGEST_LEN);
		assert_int_equal(marks.n, n < 9 ? 3 : n < 12 ? 2 : n < 18 ? 1 : 0);
		assert_int_equal(n < 18 ? marks.at[marks.n - 1] : 18, 18);
		sink_fini(&sink);
		sys_file_close(&file);
		assert_int_equal(sys_out_commit(&out, &err), TN_OK);
		assert_true(files_equal("out", (tn_view){ expected, 18 }));
	}
	assert_int_equal(chdir("/"), 0);
	tempdir_remove(folder);
}

static void nothing(void **state)
{
	struct plan p;
	tn_error err;
	(void)state;
	plan_init(&p, &mem);
	assert_int_equal(run(&p, NULL, &err), TN_OK);
	assert_int_equal(room[0], '.');
}

static void many_spans(void **state)
{
	enum { N = 10000 };
	struct plan p;
	(void)state;
	plan_init(&p, &mem);
	for (uint64_t i = 0; i < N; i++)
		plan_tensor(&p, i, i);
	assert_int_equal(p.n, N);
	for (uint64_t i = 0; i < N; i++) {
		assert_int_equal(p.spans[i].tensor, i);
		assert_int_equal(p.spans[i].off, i * (i - 1) / 2 * (i != 0));
	}
	assert_int_equal(p.size, (uint64_t)N * (N - 1) / 2);
}

static void too_big(void **state)
{
	struct plan p;
	tn_error err;
	(void)state;
	plan_init(&p, &mem);
	plan_tensor(&p, 0, INT64_MAX);
	err_clear(&err);
	assert_int_equal(plan_ok(&p, &err), TN_OK);
	plan_zero(&p, 1);
	plan_bytes(&p, VIEW("more"));
	assert_int_equal(plan_ok(&p, &err), TN_E_LIMIT);
	assert_int_equal(p.n, 1);
	assert_int_equal(run(&p, NULL, &err), TN_E_LIMIT);
	assert_int_equal(room[0], '.');

	plan_init(&p, &mem);
	plan_zero(&p, 2);
	plan_tensor(&p, 0, UINT64_MAX - 1);
	err_clear(&err);
	assert_int_equal(plan_ok(&p, &err), TN_E_LIMIT);
}

static void over_budget(void **state)
{
	struct arena tight;
	struct plan p;
	tn_error err;
	(void)state;
	err_clear(&err);
	arena_init(&tight, 64 << 10);
	plan_init(&p, &tight);
	for (uint64_t i = 0; i < 10000; i++)
		plan_tensor(&p, i, 1);
	assert_int_equal(plan_ok(&p, &err), TN_E_LIMIT);
	arena_fini(&tight);
}

static tn_code gives_up(void *ctx, tn_emit *emit, tn_error *err)
{
	(void)ctx;
	tn_emit_bytes(emit, "ab", 2);
	return err_set(err, TN_E_NOTFOUND, 77, "no such layer");
}

static void errors_name_the_tensor(void **state)
{
	const struct source sources[] = {
		memory_source(VIEW("hello")),
		{ .kind = SOURCE_CALLBACK, .len = 5, .produce = gives_up },
	};
	struct plan p;
	tn_error err;
	(void)state;
	plan_init(&p, &mem);
	plan_tensor(&p, 0, 5);
	plan_tensor_digest(&p, 1, 5);
	plan_bytes(&p, VIEW("tail"));
	assert_int_equal(run(&p, sources, &err), TN_E_NOTFOUND);
	assert_string_equal(err.msg, "tensor 'sec\\nond': no such layer");
	assert_int_equal(err.offset, 77);
	assert_memory_equal(room, "helloab.", 8); /* and nothing follows */
}

static void broken_promises(void **state)
{
	struct source sources[] = { memory_source(VIEW("hello")) };
	struct plan p;
	tn_error err;
	(void)state;
	sources[0].len = 4;
	plan_init(&p, &mem);
	plan_tensor(&p, 0, 4);
	assert_int_equal(run(&p, sources, &err), TN_E_CORRUPT);
	assert_string_equal(err.msg, "tensor 'first': promised 4 bytes, produced 5");

	/* a plan that does not go with its sources */
	sources[0].len = 5;
	plan_init(&p, &mem);
	plan_bytes(&p, VIEW("head"));
	plan_tensor(&p, 0, 6);
	assert_int_equal(run(&p, sources, &err), TN_E_USAGE);
	assert_non_null(strstr(err.msg, "planned to end at byte 10 and ends at 9"));
}

static bool note(void *ctx, uint64_t done, uint64_t total)
{
	uint64_t *last = ctx;
	last[0] = done;
	last[1] = total;
	return true;
}

static void progress_ends_with_the_size(void **state)
{
	struct source source = memory_source(VIEW("hello"));
	struct tensor tensor = { .name = VIEW("t") };
	uint64_t last[2] = { 0, 0 };
	struct plan p;
	struct sink out;
	tn_error err;
	(void)state;
	err_clear(&err);
	plan_init(&p, &mem);
	plan_tensor(&p, 0, 5);
	plan_zero(&p, 20);
	sink_init_memory(&out, room, sizeof room, &err);
	out.progress = note;
	out.progress_ctx = last;
	assert_int_equal(plan_run(&p, &source, &tensor, &out), TN_OK);
	assert_int_equal(last[0], 25);
	assert_int_equal(last[1], 25);
}

#define WITH_ARENA(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_ARENA(layout),
		WITH_ARENA(bytes_of_a_run),
		WITH_ARENA(digests),
		WITH_ARENA(digests_that_are_known),
		WITH_ARENA(whole_spans),
		WITH_ARENA(resumed_runs),
		WITH_ARENA(digest_of_a_group),
		WITH_ARENA(nothing),
		WITH_ARENA(many_spans),
		WITH_ARENA(too_big),
		WITH_ARENA(over_budget),
		WITH_ARENA(errors_name_the_tensor),
		WITH_ARENA(broken_promises),
		WITH_ARENA(progress_ends_with_the_size),
	};
	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
