/* test_split_memory.c - splitting takes the memory of one plan, however many shards there are, and max_memory bounds it. */
#include "tenon.h"

#include "base/mem.h"
#include "support/files.h"
#include "support/set_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- An allocator that counts, in place of the library's door to it ---- */

static size_t alive, peak;

/* Before each piece stands its size, in room for any alignment. */
union head {
	size_t      n;
	max_align_t aligned;
};

static void *counted(union head *h, size_t n)
{
	if (h == NULL)
		return NULL;
	h->n = n;
	alive += n;
	peak = alive > peak ? alive : peak;
	return h + 1;
}

void *mem_alloc(size_t n) { return counted(malloc(sizeof(union head) + n), n); }

void mem_free(void *p)
{
	union head *h = p;
	if (p == NULL)
		return;
	alive -= h[-1].n;
	free(h - 1);
}

void *mem_realloc(void *p, size_t n)
{
	union head *h = p;
	if (p == NULL)
		return mem_alloc(n);
	alive -= h[-1].n;
	return counted(realloc(h - 1, sizeof *h + n), n);
}

/* ---- The test ---- */

enum { TENSORS = 100, TEXT = 64 << 10 };

/* Tensors of a few bytes beside a text that each shard of safetensors repeats. */
static tn_view model(void)
{
	static char text[TEXT + 1];
	tn_writer *w = kit_writer("safetensors");
	memset(text, 'x', TEXT);
	for (unsigned i = 0; i < TENSORS; i++)
		kit_add(w, (char[3]){ (char)('a' + i / 10), (char)('a' + i % 10), '\0' }, TN_U8, 1, (uint64_t[]){ 10 }, i % 8);
	assert_int_equal(tn_put_string(w, tn_writer_metadata(w), tn_text("text"), tn_text(text), NULL), TN_OK);
	tn_view bytes = kit_save(w);
	tn_writer_free(w);
	return bytes;
}

/* The most that was alive beyond the open file. */
static size_t split(const char *folder, bool dry_run, uint64_t max_memory, tn_code expected)
{
	tn_view bytes = model();
	tn_file *f = kit_open(bytes);
	const tn_split_options how = {
		.max_tensors = 1, .dry_run = dry_run, .write = { .max_memory = max_memory, .no_sync = true, .work.threads = 1 },
	};
	char *out = files_join(folder, dry_run ? "dry" : "out");
	tn_shards *shards;
	tn_error err;
	size_t before = peak = alive;
	if (tn_split(f, out, &how, &shards, &err) != expected)
		fail_msg("%s", err.msg);
	tn_shards_free(shards);
	size_t taken = peak - before;
	assert_int_equal(alive, before);
	tn_close(f);
	free((void *)bytes.ptr);
	free(out);
	return taken;
}

static void one_plan_at_a_time(void **state)
{
	enum { BOUND = TENSORS * TEXT / 4 };
	char *folder = tempdir_new();
	(void)state;
	assert_true(split(folder, true, 0, TN_OK) < BOUND);
	assert_true(split(folder, false, 0, TN_OK) < BOUND);
	assert_true(split(folder, true, 1 << 20, TN_OK) < BOUND);
	split(folder, true, TEXT / 2, TN_E_LIMIT);
	tempdir_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(one_plan_at_a_time) };
	return cmocka_run_group_tests_name("split_memory", tests, NULL, NULL);
}
