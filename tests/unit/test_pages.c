/* test_pages.c - playing a tape: its order, the budget that holds, what is read again and what is trusted. */
#include "support/api_kit.h"
#include "support/files.h"
#include "support/hextext.h"
#include "support/host.h"

#include "api/file.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { EXTRA = 128, PAGE = 4096 }; /* what a page takes beside its bytes */

/* Pages p0, p1, ... of n bytes each, seeds 0 to 7 over and over; stages stage0, stage1, ... that use the pages named by
 * the digits of uses, a stage for each word. */
static tn_view archive(size_t n_pages, uint64_t n, const char *uses)
{
	tn_writer *w = kit_writer("thin");
	for (size_t i = 0; i < n_pages; i++)
		kit_add(w, (char[]){ 'p', (char)('0' + i), '\0' }, TN_U8, 1, &n, (unsigned)i % 8);
	tn_view plain = kit_save(w);
	tn_writer_free(w);
	if (uses == NULL)
		return plain;
	/* the plain tape has one stage: the file is written anew with another one in its native subtree */
	tn_file *f = kit_open(plain);
	struct arena *mem = &f->mem;
	struct tn_meta *native = model_native(mem, &f->model, "thin"), *refs = NULL;
	struct tn_meta *tape = meta_add_array(mem, native, tn_text("execution_tape"));
	unsigned stages = 0;
	for (const char *p = uses; *p != '\0'; p++) {
		if (p == uses || *p == ' ') {
			struct tn_meta *stage = meta_add_map(mem, tape, tn_text(""));
			meta_add_string(mem, stage, tn_text("stage"), tn_text(arena_printf(mem, "stage%u", stages++)));
			meta_add_string(mem, stage, tn_text("operator"), tn_text("rope"));
			refs = meta_add_array(mem, stage, tn_text("page_refs"));
		}
		if (*p != ' ')
			meta_add_string(mem, refs, tn_text(""), tn_text(arena_printf(mem, "p%c", *p)));
	}
	char *folder = tempdir_new(), *path = files_join(folder, "m.thin");
	tn_convert_options how = { .write.no_sync = true };
	tn_error err;
	if (tn_convert(f, path, &how, NULL, &err) != TN_OK)
		fail_msg("%s", err.msg);
	tn_view bytes = files_load(path);
	tn_close(f);
	free((void *)(uintptr_t)plain.ptr);
	free(path);
	tempdir_remove(folder);
	return bytes;
}

struct played {
	tn_view   bytes;
	tn_file  *file;
	tn_pages *pages;
};

static struct played begin(tn_view bytes, uint64_t budget)
{
	struct played p = { .bytes = bytes, .file = kit_open(bytes) };
	tn_pages_options how = { .budget = budget };
	tn_error err;
	if (tn_pages_open(&p.pages, p.file, &how, &err) != TN_OK)
		fail_msg("%s", err.msg);
	return p;
}

static void end(struct played *p)
{
	tn_pages_close(p->pages);
	tn_close(p->file);
	free((void *)(uintptr_t)p->bytes.ptr);
}

/* Uses a step and ends it; the bytes must be those of the file, and the budget must hold. */
static void use(const struct played *p, size_t step, uint64_t budget)
{
	tn_view got, wanted = host_file_bytes(p->file, tn_pages_at(p->pages, step).tensor);
	tn_error err;
	if (tn_pages_use(p->pages, step, &got, &err) != TN_OK)
		fail_msg("step %zu: %s", step, err.msg);
	assert_int_equal(got.len, wanted.len);
	assert_memory_equal(got.ptr, wanted.ptr, got.len);
	free((void *)(uintptr_t)wanted.ptr);
	assert_int_equal((uintptr_t)got.ptr % 64, 0);
	assert_true(tn_pages_counted(p->pages).held <= budget);
	assert_true(tn_pages_counted(p->pages).peak <= budget);
	tn_pages_end(p->pages, step);
}

static void steps_follow_the_tape(void **state)
{
	static const char order[] = "120020";
	static const char *const stages[] = { "stage0", "stage0", "stage1", "stage3", "stage3", "stage3" };
	(void)state;
	struct played p = begin(archive(3, 10, "12 0  020"), 1 << 20);
	assert_int_equal(tn_pages_count(p.pages), 6);
	for (size_t i = 0; i < 6; i++) {
		tn_step s = tn_pages_at(p.pages, i);
		tn_view name = tn_tensor_at(p.file, s.tensor).name;
		assert_int_equal(name.ptr[1], order[i]);
		assert_memory_equal(s.stage.ptr, stages[i], s.stage.len);
		assert_memory_equal(s.op.ptr, "rope", 4);
		assert_int_equal(s.nbytes, 10);
	}
	assert_int_equal(tn_pages_at(p.pages, 6).tensor, SIZE_MAX);
	end(&p);
}

/* A model of four times the budget, played three times. */
static void a_tape_is_played_inside_the_budget(void **state)
{
	(void)state;
	const uint64_t budget = 2 * (PAGE + EXTRA);
	struct played p = begin(archive(8, PAGE, NULL), budget);
	assert_int_equal(tn_pages_count(p.pages), 8);
	for (int token = 0; token < 3; token++)
		for (size_t i = 0; i < 8; i++)
			use(&p, i, budget);
	tn_pages_counts c = tn_pages_counted(p.pages);
	assert_int_equal(c.peak, budget);
	assert_int_equal(c.faults + c.hits, 24);
	assert_int_equal(c.bytes_read, c.faults * PAGE);
	assert_int_equal(c.verified, 8); /* once each, however often they are read */
	end(&p);
}

/* Played round, a cache that drops what was not used for longest would never hit. Of n pages with room for m the best
 * is m - 1 hits in n - 1 uses. */
static void what_is_wanted_last_is_dropped(void **state)
{
	(void)state;
	const uint64_t budget = 4 * (PAGE + EXTRA);
	struct played p = begin(archive(8, PAGE, NULL), budget);
	for (int token = 0; token < 8; token++)
		for (size_t i = 0; i < 8; i++)
			use(&p, i, budget);
	assert_int_equal(tn_pages_counted(p.pages).hits, 24); /* 3 in 7, after the first round */
	end(&p);
}

static void a_page_that_is_used_again_soon_stays(void **state)
{
	(void)state;
	const uint64_t budget = 2 * (PAGE + EXTRA);
	struct played p = begin(archive(4, PAGE, "010203"), budget);
	for (size_t i = 0; i < 6; i++)
		use(&p, i, budget);
	assert_int_equal(tn_pages_counted(p.pages).faults, 4);
	assert_int_equal(tn_pages_counted(p.pages).hits, 2);
	end(&p);
}

static void pages_in_use_are_not_dropped(void **state)
{
	(void)state;
	const uint64_t budget = 2 * (PAGE + EXTRA);
	struct played p = begin(archive(4, PAGE, NULL), budget);
	tn_view one, two, three;
	tn_error err;
	assert_int_equal(tn_pages_use(p.pages, 0, &one, NULL), TN_OK);
	assert_int_equal(tn_pages_use(p.pages, 1, &two, NULL), TN_OK);
	assert_int_equal(tn_pages_use(p.pages, 2, &three, &err), TN_E_LIMIT);
	assert_string_equal(err.msg, "page 'p2' takes 4224 bytes, the budget is 8448, and 8448 of it are in use");
	assert_int_equal(one.ptr[0], kit_byte(0, 0));
	assert_int_equal(two.ptr[0], kit_byte(1, 0));
	tn_pages_release(p.pages, 0); /* in use: nothing happens */
	assert_int_equal(tn_pages_use(p.pages, 2, &three, NULL), TN_E_LIMIT);
	tn_pages_end(p.pages, 0);
	assert_int_equal(tn_pages_use(p.pages, 2, &three, NULL), TN_OK);
	assert_int_equal(two.ptr[PAGE - 1], kit_byte(1, PAGE - 1));
	tn_pages_end(p.pages, 3); /* was not used */
	end(&p);
}

/* Two uses of one page are two: it may go after the second has ended. */
static void uses_are_counted(void **state)
{
	(void)state;
	struct played p = begin(archive(2, PAGE, "00 1"), PAGE + EXTRA);
	tn_view a, b;
	assert_int_equal(tn_pages_use(p.pages, 0, &a, NULL), TN_OK);
	assert_int_equal(tn_pages_use(p.pages, 1, &b, NULL), TN_OK);
	assert_ptr_equal(a.ptr, b.ptr);
	tn_pages_end(p.pages, 0);
	assert_int_equal(tn_pages_use(p.pages, 2, &b, NULL), TN_E_LIMIT);
	tn_pages_end(p.pages, 1);
	assert_int_equal(tn_pages_use(p.pages, 2, &b, NULL), TN_OK);
	end(&p);
}

static void a_page_over_the_budget_is_refused(void **state)
{
	(void)state;
	struct played p = begin(archive(1, PAGE, NULL), PAGE + EXTRA - 1);
	tn_view bytes;
	assert_int_equal(tn_pages_use(p.pages, 0, &bytes, NULL), TN_E_LIMIT);
	assert_int_equal(tn_pages_counted(p.pages).bytes_read, 0);
	assert_int_equal(tn_pages_use(p.pages, 1, &bytes, NULL), TN_E_USAGE);
	end(&p);
}

static void a_wrong_checksum_is_found_once_and_for_all(void **state)
{
	(void)state;
	tn_view bytes = archive(3, PAGE, NULL), out;
	((uint8_t *)(uintptr_t)bytes.ptr)[bytes.len - PAGE - 1] ^= 1; /* the last byte of p1 */
	struct played p = begin(bytes, PAGE + EXTRA);
	tn_error err;
	use(&p, 0, PAGE + EXTRA);
	assert_int_equal(tn_pages_use(p.pages, 1, &out, &err), TN_E_CHECKSUM);
	assert_string_equal(err.msg, "page 'p1' does not have the checksum that the file states");
	assert_int_equal(err.offset, tn_tensor_at(p.file, 1).offset);
	use(&p, 2, PAGE + EXTRA);
	uint64_t read = tn_pages_counted(p.pages).bytes_read;
	assert_int_equal(tn_pages_use(p.pages, 1, &out, &err), TN_E_CHECKSUM);
	assert_int_equal(tn_pages_counted(p.pages).bytes_read, read); /* known, not read again */
	assert_int_equal(tn_pages_counted(p.pages).verified, 3);
	end(&p);
}

/* A good page is not looked at again, even where it is read again: what has been opened does not change. */
static void a_good_page_is_trusted(void **state)
{
	(void)state;
	tn_view bytes = archive(2, PAGE, NULL), out;
	struct played p = begin(bytes, PAGE + EXTRA);
	use(&p, 1, PAGE + EXTRA);
	use(&p, 0, PAGE + EXTRA);
	((uint8_t *)(uintptr_t)bytes.ptr)[bytes.len - 1] ^= 1;
	assert_int_equal(tn_pages_use(p.pages, 1, &out, NULL), TN_OK);
	assert_int_equal(tn_pages_counted(p.pages).verified, 2);
	end(&p);
}

static void releasing_frees_the_room(void **state)
{
	(void)state;
	struct played p = begin(archive(2, PAGE, NULL), 1 << 20);
	use(&p, 0, 1 << 20);
	use(&p, 1, 1 << 20);
	assert_int_equal(tn_pages_counted(p.pages).held, 2 * (PAGE + EXTRA));
	tn_pages_release(p.pages, 0);
	tn_pages_release(p.pages, 0);
	tn_pages_release(p.pages, 9);
	assert_int_equal(tn_pages_counted(p.pages).held, PAGE + EXTRA);
	use(&p, 0, 1 << 20);
	use(&p, 1, 1 << 20);
	assert_int_equal(tn_pages_counted(p.pages).faults, 3);
	end(&p);
}

static tn_view five_floats(const char *format)
{
	tn_writer *w = kit_writer(format);
	for (unsigned i = 0; i < 5; i++)
		kit_add(w, (char[]){ 'p', (char)('0' + i), '\0' }, TN_F32, 1, (uint64_t[]){ 9 }, i);
	tn_view bytes = kit_save(w);
	tn_writer_free(w);
	return bytes;
}

/* Of every format, from disk, with and without a map, with prefetching over the end of the tape. */
static void a_file_without_a_tape_is_one_stage(void **state)
{
	static const tn_io ways[] = { TN_IO_MMAP, TN_IO_PREAD, TN_IO_DIRECT };
	(void)state;
	char *folder = tempdir_new();
	for (size_t k = 0; k < tn_format_count() * 3; k++) {
		if (!tn_format_at(k / 3).writes)
			continue;
		tn_view bytes = five_floats(tn_format_at(k / 3).name), got;
		char *path = kit_store(folder, "m", bytes);
		tn_open_options how = { .io = ways[k % 3], .format = tn_format_at(k / 3).name };
		tn_file *f;
		tn_pages *pages;
		assert_int_equal(tn_open(&f, path, &how, NULL), TN_OK);
		assert_int_equal(tn_pages_open(&pages, f, NULL, NULL), TN_OK);
		assert_int_equal(tn_pages_count(pages), 5);
		for (size_t i = 0; i < 5; i++) {
			tn_view wanted = host_file_bytes(f, i);
			tn_pages_prefetch(pages, i, 3);
			assert_int_equal(tn_pages_use(pages, i, &got, NULL), TN_OK);
			assert_int_equal(tn_pages_at(pages, i).tensor, i);
			assert_int_equal(got.len, wanted.len);
			assert_memory_equal(got.ptr, wanted.ptr, got.len);
			free((void *)(uintptr_t)wanted.ptr);
			assert_memory_equal(tn_pages_at(pages, i).stage.ptr, "model", 5);
			tn_pages_end(pages, i);
			tn_pages_release(pages, i);
		}
		tn_pages_prefetch(pages, 5, 1);
		tn_pages_prefetch(pages, 4, SIZE_MAX);
		assert_int_equal(tn_pages_counted(pages).held, 0);
		tn_pages_close(pages);
		tn_close(f);
		free(path);
		free((void *)(uintptr_t)bytes.ptr);
	}
	tempdir_remove(folder);
}

/* The tape goes with the model into other formats, in the envelope. */
static void the_tape_travels(void **state)
{
	(void)state;
	tn_view bytes = archive(3, 10, "20 1");
	tn_file *f = kit_open(bytes), *other;
	char *folder = tempdir_new(), *path = files_join(folder, "m.safetensors");
	tn_convert_options how = { .write.no_sync = true };
	tn_pages *pages;
	assert_int_equal(tn_convert(f, path, &how, NULL, NULL), TN_OK);
	assert_int_equal(tn_open(&other, path, NULL, NULL), TN_OK);
	assert_int_equal(tn_pages_open(&pages, other, NULL, NULL), TN_OK);
	assert_int_equal(tn_pages_count(pages), 3);
	assert_memory_equal(tn_tensor_at(other, tn_pages_at(pages, 0).tensor).name.ptr, "p2", 2);
	tn_pages_close(pages);
	tn_close(other);
	tn_close(f);
	free(path);
	free((void *)(uintptr_t)bytes.ptr);
	tempdir_remove(folder);
}

/* A file from elsewhere: q and k are the whole of a page that is no tensor, and a stage uses just that. */
static tn_file *fused_tape(uint8_t **bytes, size_t refs)
{
	char path[512];
	size_t len;
	snprintf(path, sizeof path, "%s/golden/thin/good-03_fused.hex", TENON_TEST_DATA);
	*bytes = hextext_load(path, &len);
	tn_file *f = kit_open((tn_view){ *bytes, len });
	struct tn_meta *stage = meta_find(meta_find(f->model.native, VIEW("thin")), VIEW("execution_tape"))->as.kids.first;
	meta_remove(stage, VIEW("page_refs"));
	struct tn_meta *list = meta_add_array(&f->mem, stage, VIEW("page_refs"));
	for (size_t i = 0; i < refs; i++)
		meta_add_string(&f->mem, list, VIEW(""), VIEW("layer_0_attn_qkv_fused"));
	return f;
}

static void a_fused_page_is_its_slices(void **state)
{
	(void)state;
	uint8_t *bytes;
	tn_file *f = fused_tape(&bytes, 2);
	tn_pages *pages;
	tn_view got;
	tn_error err;
	assert_int_equal(tn_pages_open(&pages, f, NULL, &err), TN_OK);
	assert_int_equal(tn_pages_count(pages), 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(tn_pages_at(pages, i).tensor, kit_find(f, i % 2 == 0 ? "q" : "k"));
		assert_int_equal(tn_pages_use(pages, i, &got, &err), TN_OK);
		assert_int_equal(got.len, i % 2 == 0 ? 8 : 4);
		tn_pages_end(pages, i);
	}
	tn_pages_close(pages);
	tn_close(f);
	free(bytes);
}

static void a_fused_page_without_its_end_is_none(void **state)
{
	(void)state;
	uint8_t *bytes;
	tn_file *f = fused_tape(&bytes, 1);
	tn_pages *pages;
	tn_error err;
	f->model.tensors[kit_find(f, "k")].extras = NULL;
	assert_int_equal(tn_pages_open(&pages, f, NULL, &err), TN_E_UNSUPPORTED);
	assert_non_null(strstr(err.msg, "'layer_0_attn_qkv_fused', which is no tensor"));
	tn_close(f);
	free(bytes);
}

static void slices_do_not_make_a_tape_endless(void **state)
{
	(void)state;
	uint8_t *bytes;
	tn_file *f = fused_tape(&bytes, 1 << 19);
	tn_pages *pages;
	tn_error err;
	assert_int_equal(tn_pages_open(&pages, f, NULL, &err), TN_OK);
	assert_int_equal(tn_pages_count(pages), 1 << 20);
	tn_pages_close(pages);
	tn_close(f);
	free(bytes);
	f = fused_tape(&bytes, (1 << 19) + 1);
	assert_int_equal(tn_pages_open(&pages, f, NULL, &err), TN_E_LIMIT);
	tn_close(f);
	free(bytes);
}

static void a_page_that_is_no_tensor_is_refused(void **state)
{
	(void)state;
	tn_view bytes = archive(2, 10, NULL);
	tn_file *f = kit_open(bytes);
	struct tn_meta *native = model_native(&f->mem, &f->model, "thin");
	struct tn_meta *stage = meta_add_map(&f->mem, meta_add_array(&f->mem, native, tn_text("execution_tape")), tn_text(""));
	meta_add_string(&f->mem, stage, tn_text("stage"), tn_text("s"));
	struct tn_meta *refs = meta_add_array(&f->mem, stage, tn_text("page_refs"));
	meta_add_string(&f->mem, refs, tn_text(""), tn_text("other"));
	tn_pages *pages = (tn_pages *)&bytes;
	tn_error err;
	assert_int_equal(tn_pages_open(&pages, f, NULL, &err), TN_E_UNSUPPORTED);
	assert_string_equal(err.msg, "stage 's' uses 'other', which is no tensor of the file");
	assert_null(pages);
	tn_pages_close(NULL);
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_follow_the_tape),
		cmocka_unit_test(a_tape_is_played_inside_the_budget),
		cmocka_unit_test(what_is_wanted_last_is_dropped),
		cmocka_unit_test(a_page_that_is_used_again_soon_stays),
		cmocka_unit_test(pages_in_use_are_not_dropped),
		cmocka_unit_test(uses_are_counted),
		cmocka_unit_test(a_page_over_the_budget_is_refused),
		cmocka_unit_test(a_wrong_checksum_is_found_once_and_for_all),
		cmocka_unit_test(a_good_page_is_trusted),
		cmocka_unit_test(releasing_frees_the_room),
		cmocka_unit_test(a_file_without_a_tape_is_one_stage),
		cmocka_unit_test(the_tape_travels),
		cmocka_unit_test(a_fused_page_is_its_slices),
		cmocka_unit_test(a_fused_page_without_its_end_is_none),
		cmocka_unit_test(slices_do_not_make_a_tape_endless),
		cmocka_unit_test(a_page_that_is_no_tensor_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
