/* test_thin_write.c - archives that are written: checksums, what becomes of tapes and slices when tensors are left out,
 * fields and placeholders, alignment. */
#include "tenon.h"

#include "base/view.h"
#include "support/api_kit.h"
#include "support/files.h"
#include "support/hextext.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static char *folder;

static tn_file *open_case(const char *name, uint8_t **bytes)
{
	char path[512];
	size_t len;
	snprintf(path, sizeof path, "%s/golden/thin/%s.hex", TENON_TEST_DATA, name);
	*bytes = hextext_load(path, &len);
	return kit_open((tn_view){ *bytes, len });
}

static tn_file *convert(const tn_file *from, tn_convert_options *how, tn_converted *done)
{
	char *path = files_join(folder, "out.thin");
	tn_error err;
	tn_file *file = NULL;
	how->write.no_sync = true;
	if (tn_convert(from, path, how, done, &err) != TN_OK || tn_open(&file, path, NULL, &err) != TN_OK)
		fail_msg("%s", err.msg);
	free(path);
	return file;
}

static bool is_not(void *name, const tn_tensor *t)
{
	return !view_eq(t->name, tn_text(name));
}

static const char *string_in(const tn_meta *map, const char *key)
{
	static char text[128];
	tn_view v = { NULL, 0 };
	tn_meta_string(tn_meta_find(map, tn_text(key)), &v);
	snprintf(text, sizeof text, "%.*s", (int)v.len, v.ptr != NULL ? (const char *)v.ptr : "");
	return text;
}

static bool says(const tn_report *report, const char *what)
{
	for (size_t i = 0; i < tn_report_count(report); i++)
		if (strstr(tn_report_at(report, i).text, what) != NULL)
			return true;
	return false;
}

/* ---- Bytes and their checksums ---- */

static void the_stated_digest_can_be_had(void **state)
{
	(void)state;
	tn_digest got;
	tn_error err;
	tn_view bytes = kit_many("thin", 3);
	tn_file *file = kit_open(bytes);
	for (size_t i = 0; i < 3; i++) {
		const tn_digest *stated = tn_tensor_at(file, i).digest;
		assert_non_null(stated);
		assert_int_equal(tn_hash_tensor(file, i, &got, &err), TN_OK);
		assert_memory_equal(stated->bytes, got.bytes, TN_DIGEST_LEN);
	}
	tn_close(file);
	free((void *)bytes.ptr);
}

static void damaged_bytes_are_not_given_a_new_checksum(void **state)
{
	(void)state;
	uint8_t *bytes;
	tn_file *file = open_case("finding-payload", &bytes);
	char *path = files_join(folder, "out.thin");
	tn_error err;
	remove(path);
	assert_int_equal(tn_convert(file, path, NULL, NULL, &err), TN_E_CHECKSUM);
	assert_non_null(strstr(err.msg, "L0.down"));
	assert_false(files_exist(path));
	tn_close(file);
	free(bytes);
	free(path);
}

/* ---- Selections ---- */

static void a_tape_names_only_what_is_there(void **state)
{
	(void)state;
	uint8_t *bytes;
	tn_file *file = open_case("good-02_two", &bytes);
	tn_convert_options how = { .select = is_not, .select_ctx = (void *)(uintptr_t)"E" };
	tn_converted done;
	tn_file *less = convert(file, &how, &done);
	assert_int_equal(tn_tensor_count(less), 1);
	assert_true(says(done.report, "stage 'embed' loses 1 of its pages"));
	tn_report_free(done.report);
	tn_close(less);
	tn_close(file);
	free(bytes);
}

static void a_slice_whose_page_is_not_whole_stands_alone(void **state)
{
	(void)state;
	uint8_t *bytes;
	tn_file *file = open_case("good-03_fused", &bytes);
	tn_convert_options how = { .select = is_not, .select_ctx = (void *)(uintptr_t)"k" };
	tn_converted done;
	tn_file *less = convert(file, &how, &done);
	assert_int_equal(tn_tensor_count(less), 1);
	assert_null(tn_meta_find(tn_tensor_at(less, 0).extras, tn_text("fused_to")));
	assert_null(tn_meta_find(tn_meta_find(tn_native(less), tn_text("thin")), tn_text("fused")));
	assert_true(says(done.report, "stands by itself"));
	tn_report_free(done.report);
	tn_close(less);
	tn_close(file);
	free(bytes);
}

/* Whatever type the fused page has, and where its word tells of none. */
static void a_missing_last_slice_is_noticed(void **state)
{
	static const char *const cases[] = { "good-fused_typed", "good-fused_own_word" };
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		uint8_t *bytes;
		tn_file *file = open_case(cases[i], &bytes);
		tn_converted done;
		tn_file *less = convert(file, &(tn_convert_options){ .select = is_not, .select_ctx = (void *)(uintptr_t)"b" }, &done);
		assert_int_equal(tn_tensor_count(less), 1);
		assert_null(tn_meta_find(tn_tensor_at(less, 0).extras, tn_text("fused_to")));
		assert_true(says(done.report, "stands by itself"));
		tn_report_free(done.report);
		tn_close(less);
		tn_converted all;
		tn_file *same = convert(file, &(tn_convert_options){ 0 }, &all);
		const tn_meta *fused = tn_meta_find(tn_meta_find(tn_native(same), tn_text("thin")), tn_text("fused"));
		assert_int_equal(tn_meta_count(fused), 1);
		tn_report_free(all.report);
		tn_close(same);
		tn_close(file);
		free(bytes);
	}
}

/* ---- Slices of pages that are tensors ---- */

static bool is_slice(const tn_file *file, const char *name)
{
	return tn_meta_find(tn_tensor_at(file, kit_find(file, name)).extras, tn_text("fused_to")) != NULL;
}

static void holds(const tn_file *file, const char *name, const char *bytes)
{
	char got[16] = "";
	tn_error err;
	size_t i = kit_find(file, name);
	assert_true(tn_tensor_at(file, i).nbytes < sizeof got);
	assert_int_equal(tn_read(file, i, 0, got, (size_t)tn_tensor_at(file, i).nbytes, &err), TN_OK);
	assert_string_equal(got, bytes);
}

/* As safetensors, where each has bytes of its own, with one of them changed. */
static tn_view changed_elsewhere(const char *golden, const char *tensor, const char *bytes)
{
	uint8_t *from;
	tn_file *file = open_case(golden, &from);
	char *path = files_join(folder, "elsewhere.safetensors");
	tn_error err;
	tn_convert_options how = { .write.no_sync = true };
	assert_int_equal(tn_convert(file, path, &how, NULL, &err), TN_OK);
	tn_close(file);
	free(from);
	tn_view stored = files_load(path);
	file = kit_open(stored);
	memcpy((uint8_t *)(uintptr_t)stored.ptr + tn_tensor_at(file, kit_find(file, tensor)).offset, bytes, strlen(bytes));
	tn_close(file);
	free(path);
	return stored;
}

static void a_slice_that_was_changed_elsewhere_gets_bytes_of_its_own(void **state)
{
	(void)state;
	tn_view bytes = changed_elsewhere("good-overlapping_slices", "s1", "WXYZ");
	tn_file *file = kit_open(bytes);
	tn_converted done;
	tn_file *thin = convert(file, &(tn_convert_options){ 0 }, &done);
	holds(thin, "s1", "WXYZ");
	holds(thin, "s3", "abcd");
	assert_false(is_slice(thin, "s1"));
	assert_true(is_slice(thin, "s2") && is_slice(thin, "s3"));
	assert_true(says(done.report, "page 's1' stands by itself"));
	tn_report_free(done.report);
	tn_close(thin);
	tn_close(file);
	free((void *)bytes.ptr);
}

static void slices_of_a_tensor_that_was_changed_keep_theirs(void **state)
{
	(void)state;
	tn_view bytes = changed_elsewhere("good-overlapping_slices", "p", "W");
	tn_file *file = kit_open(bytes);
	tn_converted done;
	tn_file *thin = convert(file, &(tn_convert_options){ 0 }, &done);
	holds(thin, "p", "Wbcdefghij");
	holds(thin, "s1", "abcd");
	assert_false(is_slice(thin, "s1") || is_slice(thin, "s3"));
	assert_true(is_slice(thin, "s2"));
	tn_report_free(done.report);
	tn_close(thin);
	tn_close(file);
	free((void *)bytes.ptr);
}

static void a_slice_of_another_type_is_none_any_more(void **state)
{
	(void)state;
	tn_error err;
	tn_writer *w = kit_writer("thin");
	kit_add(w, "F", TN_U8, 1, (uint64_t[]){ 32 }, 1);
	kit_add(w, "a", TN_F32, 1, (uint64_t[]){ 4 }, 1);
	tn_meta *of_page = tn_writer_extras(w, 0), *of_slice = tn_writer_extras(w, 1);
	assert_int_equal(tn_put_string(w, of_page, tn_text("kind"), tn_text("fused_physical"), &err), TN_OK);
	assert_int_equal(tn_put_string(w, of_slice, tn_text("fused_to"), tn_text("F"), &err), TN_OK);
	assert_int_equal(tn_put_uint(w, of_slice, tn_text("fused_offset"), 0, 64, &err), TN_OK);
	tn_view bytes = kit_save(w);
	tn_writer_free(w);
	tn_file *file = kit_open(bytes);
	assert_true(is_slice(file, "a"));
	tn_converted done;
	tn_file *thin = convert(file, &(tn_convert_options){ .dtype = TN_F16 }, &done);
	assert_false(is_slice(thin, "a"));
	assert_int_equal(tn_tensor_at(thin, kit_find(thin, "a")).nbytes, 8);
	tn_report *said;
	assert_int_equal(tn_verify(thin, &(tn_verify_options){ .deep = true }, &said, &err), TN_OK);
	assert_false(says(said, "checksum"));
	tn_report_free(said);
	tn_report_free(done.report);
	tn_close(thin);
	tn_close(file);
	free((void *)bytes.ptr);
}

/* ---- Fields ---- */

static void unknown_sizes_are_placeholders_and_come_out_again(void **state)
{
	(void)state;
	tn_view bytes = kit_many("safetensors", 2);
	tn_file *file = kit_open(bytes);
	tn_convert_options how = { .format = "thin" };
	tn_converted done;
	tn_file *thin = convert(file, &how, &done);
	assert_true(says(done.report, "placeholders"));
	assert_int_equal(tn_meta_count(tn_metadata(thin)), tn_meta_count(tn_metadata(file)));
	tn_close(thin);
	tn_report_free(done.report);

	char *path = files_join(folder, "out.thin");
	tn_open_options bare = { .ignore_envelope = true };
	tn_error err;
	assert_int_equal(tn_open(&thin, path, &bare, &err), TN_OK);
	assert_string_equal(string_in(tn_metadata(thin), "arch"), "unknown");
	assert_string_equal(string_in(tn_metadata(thin), "dtype"), "u8");
	tn_close(thin);
	free(path);
	tn_close(file);
	free((void *)bytes.ptr);
}

/* Values that upstream's validator would refuse stay out of the fields, and are not lost. */
static void impossible_sizes_are_kept_aside(void **state)
{
	(void)state;
	const uint64_t shape[] = { 2 };
	tn_error err;
	tn_writer *w = kit_writer("thin");
	kit_add(w, "t", TN_U8, 1, shape, 0);
	assert_int_equal(tn_put_uint(w, tn_writer_metadata(w), tn_text("heads"), 3, 32, &err), TN_OK);
	assert_int_equal(tn_put_uint(w, tn_writer_metadata(w), tn_text("kv_heads"), 5, 32, &err), TN_OK);
	tn_view bytes = kit_save(w);
	tn_writer_free(w);
	tn_file *file = kit_open(bytes);
	uint32_t heads = 0, kv = 0;
	assert_true(tn_meta_u32(tn_meta_find(tn_metadata(file), tn_text("heads")), &heads));
	assert_true(tn_meta_u32(tn_meta_find(tn_metadata(file), tn_text("kv_heads")), &kv));
	assert_int_equal(heads, 3);
	assert_int_equal(kv, 5);
	assert_int_equal(tn_meta_count(tn_metadata(file)), 2);
	tn_close(file);
	free((void *)bytes.ptr);
}

static tn_file *open_bare(tn_view bytes)
{
	const tn_open_options bare = { .ignore_envelope = true };
	tn_error err;
	tn_file *file = NULL;
	if (tn_open_memory(&file, bytes, &bare, &err) != TN_OK)
		fail_msg("%s", err.msg);
	return file;
}

/* The field is free-form: any JSON stands there as it is, to as many containers as reading allows. */
static void deep_values_go_into_the_envelope(void **state)
{
	(void)state;
	for (unsigned deep = 98; deep <= 99; deep++) {
		tn_error err;
		tn_writer *w = kit_writer("thin");
		kit_add(w, "t", TN_U8, 1, (uint64_t[]){ 2 }, 0);
		tn_meta *at;
		assert_int_equal(tn_put_map(w, tn_writer_metadata(w), tn_text("rope_scaling"), &at, &err), TN_OK);
		for (unsigned i = 1; i < deep; i++)
			assert_int_equal(tn_put_map(w, at, tn_text("k"), &at, &err), TN_OK);
		tn_view bytes = kit_save(w);
		tn_writer_free(w);
		tn_file *file = kit_open(bytes), *bare = open_bare(bytes);
		assert_non_null(tn_meta_find(tn_metadata(file), tn_text("rope_scaling")));
		assert_int_equal(tn_meta_find(tn_metadata(bare), tn_text("rope_scaling")) != NULL, deep == 98);
		tn_close(bare);
		tn_close(file);
		free((void *)bytes.ptr);
	}
}

static void a_number_in_a_free_form_field_needs_no_envelope(void **state)
{
	(void)state;
	tn_error err;
	tn_writer *w = kit_writer("thin");
	kit_add(w, "t", TN_U8, 1, (uint64_t[]){ 2 }, 0);
	tn_meta *metadata = tn_writer_metadata(w);
	assert_int_equal(tn_put_string(w, metadata, tn_text("arch"), tn_text("a"), &err), TN_OK);
	assert_int_equal(tn_put_uint(w, metadata, tn_text("hidden_size"), 1, 64, &err), TN_OK);
	assert_int_equal(tn_put_uint(w, metadata, tn_text("layers"), 1, 32, &err), TN_OK);
	assert_int_equal(tn_put_uint(w, metadata, tn_text("heads"), 1, 32, &err), TN_OK);
	assert_int_equal(tn_put_uint(w, metadata, tn_text("kv_heads"), 1, 32, &err), TN_OK);
	assert_int_equal(tn_put_string(w, metadata, tn_text("dtype"), tn_text("u8"), &err), TN_OK);
	assert_int_equal(tn_put_uint(w, metadata, tn_text("rope_scaling"), 2, 64, &err), TN_OK);
	tn_view bytes = kit_save(w);
	tn_writer_free(w);
	tn_file *bare = open_bare(bytes);
	uint64_t v = 0;
	assert_true(tn_meta_u64(tn_meta_find(tn_metadata(bare), tn_text("rope_scaling")), &v));
	assert_int_equal(v, 2);
	assert_null(tn_meta_find(tn_metadata(bare), tn_text("tenon")));
	tn_close(bare);
	free((void *)bytes.ptr);
}

/* Before room is asked for as much as the manifest says. */
static void pages_without_bytes_are_no_tensors(void **state)
{
	(void)state;
	uint8_t *bytes;
	tn_file *from = open_case("finding-no_record", &bytes);
	tn_convert_options how = { .format = "safetensors", .dry_run = true, .write.carry = true };
	tn_error err;
	assert_int_equal(tn_convert(from, "x", &how, NULL, &err), TN_E_CORRUPT);
	assert_non_null(strstr(err.msg, "has no bytes in this file"));
	tn_close(from);
	free(bytes);
}

static void pages_are_aligned_on_request(void **state)
{
	(void)state;
	tn_view bytes = kit_many("thin", 5);
	tn_file *file = kit_open(bytes);
	tn_convert_options how = { .write.align = 256 };
	tn_converted done;
	tn_file *aligned = convert(file, &how, &done);
	assert_int_equal(tn_file_alignment(aligned) % 256, 0);
	tn_report_free(done.report);
	how.write.align = 0; /* kept */
	tn_close(aligned);
	tn_error err;
	how.write.align = 3;
	char *path = files_join(folder, "x.thin");
	assert_int_equal(tn_convert(file, path, &how, NULL, &err), TN_E_USAGE);
	free(path);
	tn_close(file);
	free((void *)bytes.ptr);
}

static int set_up(void **state)
{
	(void)state;
	folder = tempdir_new();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	tempdir_remove(folder);
	return 0;
}

/* ---- Names ---- */

static void keys_that_are_no_utf8_are_lost(void **state)
{
	(void)state;
	const uint64_t few = 3;
	tn_writer *w = kit_writer("gguf");
	tn_convert_options how = { .format = "thin" };
	tn_converted done = { 0 };
	tn_error err;
	kit_add(w, "t", TN_I8, 1, &few, 0);
	assert_int_equal(tn_put_string(w, tn_writer_metadata(w), VIEW("k\xff"), VIEW("v"), NULL), TN_OK);
	tn_view bytes = kit_save(w);
	tn_file *from = kit_open(bytes);
	char *path = files_join(folder, "none.thin");
	assert_int_equal(tn_convert(from, path, &how, NULL, &err), TN_E_LOSSY);
	assert_non_null(strstr(err.msg, "metadata 'k\\xff' has no place: a name that is no UTF-8"));
	how.write.allow_loss = true;
	tn_file *to = convert(from, &how, &done);
	assert_true(says(done.report, "metadata 'k\\xff' has no place"));
	assert_null(tn_meta_find(tn_metadata(to), VIEW("k\xff")));
	assert_null(tn_meta_find(tn_metadata(to), VIEW("k\\xff")));
	tn_report_free(done.report);
	tn_close(to);
	tn_close(from);
	tn_writer_free(w);
	free(path);
	free((void *)bytes.ptr);
}

/* Nothing but a text can stand where the envelope does, so anything else goes into it. */
static void a_number_of_the_envelopes_name_goes_into_it(void **state)
{
	(void)state;
	const uint64_t few = 3;
	uint64_t number;
	tn_writer *w = kit_writer("gguf");
	tn_convert_options how = { .format = "thin" };
	kit_add(w, "t", TN_I8, 1, &few, 0);
	assert_int_equal(tn_put_uint(w, tn_writer_metadata(w), VIEW("tenon"), 7, 64, NULL), TN_OK);
	tn_view bytes = kit_save(w);
	tn_file *from = kit_open(bytes), *to = convert(from, &how, NULL);
	assert_true(tn_meta_u64(tn_meta_find(tn_metadata(to), VIEW("tenon")), &number));
	assert_int_equal(number, 7);
	tn_close(to);
	tn_close(from);
	tn_writer_free(w);
	free((void *)bytes.ptr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stated_digest_can_be_had),
		cmocka_unit_test(damaged_bytes_are_not_given_a_new_checksum),
		cmocka_unit_test(a_tape_names_only_what_is_there),
		cmocka_unit_test(a_slice_whose_page_is_not_whole_stands_alone),
		cmocka_unit_test(a_missing_last_slice_is_noticed),
		cmocka_unit_test(a_slice_that_was_changed_elsewhere_gets_bytes_of_its_own),
		cmocka_unit_test(slices_of_a_tensor_that_was_changed_keep_theirs),
		cmocka_unit_test(a_slice_of_another_type_is_none_any_more),
		cmocka_unit_test(unknown_sizes_are_placeholders_and_come_out_again),
		cmocka_unit_test(impossible_sizes_are_kept_aside),
		cmocka_unit_test(deep_values_go_into_the_envelope),
		cmocka_unit_test(a_number_in_a_free_form_field_needs_no_envelope),
		cmocka_unit_test(pages_without_bytes_are_no_tensors),
		cmocka_unit_test(pages_are_aligned_on_request),
		cmocka_unit_test(keys_that_are_no_utf8_are_lost),
		cmocka_unit_test(a_number_of_the_envelopes_name_goes_into_it),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
