/* test_update.c - a writer that begins as a file, and putting it back: in place where nothing
 * moves, else anew; in every format. */
#include "tenon.h"

#include "base/view.h"
#include "support/dump.h"
#include "support/files.h"
#include "support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <cmocka.h>

#define MUST(call) \
	do { \
		tn_error err_; \
		if ((call) != TN_OK) \
			fail_msg("%s", err_.msg); \
	} while (0)

static char *folder;

static const tn_write_options how = { .carry = true, .keep_unknown = true, .no_sync = true };

static const struct model_maker *maker_named(const char *name)
{
	for (size_t i = 0; i < model_maker_count; i++)
		if (strcmp(model_makers[i].name, name) == 0)
			return &model_makers[i];
	fail_msg("no model '%s'", name);
	return NULL;
}

/* A file of that model, opened, and a writer that begins as it. */
struct scene {
	char      *path;
	tn_view    before;
	tn_file   *file;
	tn_writer *w;
};

static struct scene set_out(const struct model_maker *maker, const char *format,
                            const tn_write_options *options)
{
	struct scene s = { .path = files_join(folder, "model.x") };
	s.before = models_make(maker, format);
	files_store(s.path, s.before);
	MUST(tn_open(&s.file, s.path, NULL, &err_));
	MUST(tn_writer_of(&s.w, s.file, options, &err_));
	return s;
}

static void tear(struct scene *s)
{
	tn_writer_free(s->w);
	tn_close(s->file);
	free((void *)s->before.ptr);
	assert_int_equal(tempdir_count(folder), 1); /* nothing beside the file */
	remove(s->path);
	free(s->path);
}

static bool writes(size_t format) { return tn_format_at(format).writes; }

/* ---- Nothing changed ---- */

static void an_unchanged_model_is_the_same_file(void **state)
{
	(void)state;
	for (size_t f = 0; f < tn_format_count(); f++) {
		for (size_t m = 0; writes(f) && m < model_maker_count; m++) {
			if (!models_fit(&model_makers[m], tn_format_at(f).name))
				continue;
			for (int in_place = 0; in_place < 2; in_place++) {
				struct scene s = set_out(&model_makers[m], tn_format_at(f).name,
				                         &how);
				bool patched;
				MUST(tn_writer_update(s.w, in_place, &patched, &err_));
				assert_true(!patched || in_place);
				if (!files_equal(s.path, s.before))
					fail_msg("%s in %s", model_makers[m].name,
					         tn_format_at(f).name);
				tear(&s);
			}
		}
	}
}

/* Nobody has to know that a file carries what its format lacks. */
static void what_is_carried_is_carried_again(void **state)
{
	(void)state;
	const tn_write_options plain = { .no_sync = true };
	static const char *const formats[] = { "burnpack", "safetensors", "gguf", "apr", "thin" };
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
		struct scene s = set_out(maker_named("dtypes"), formats[i], &plain);
		MUST(tn_writer_update(s.w, false, NULL, &err_));
		assert_true(files_equal(s.path, s.before));
		tear(&s);
	}
}

/* ---- A change ---- */

static tn_digest digest(const tn_file *f)
{
	tn_digest total;
	MUST(tn_hash(f, NULL, NULL, &total, &err_));
	return total;
}

/* After the change the file must be what the writer would have saved elsewhere, or have room more;
 * the data the same. */
static void expect_changed(struct scene *s, tn_digest data)
{
	tn_file *now;
	MUST(tn_open(&now, s->path, NULL, &err_));
	tn_digest after = digest(now);
	assert_memory_equal(after.bytes, data.bytes, TN_DIGEST_LEN);
	char *got = dump_meta(tn_metadata(now), true),
		*want = dump_meta(tn_writer_metadata(s->w), true);
	assert_string_equal(got, want);
	free(got);
	free(want);
	tn_close(now);
}

static ino_t inode(const char *path)
{
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

static void a_value_of_the_same_length_is_patched(void **state)
{
	(void)state;
	for (size_t f = 0; f < tn_format_count(); f++) {
		if (!writes(f))
			continue;
		struct scene s = set_out(maker_named("strings"), tn_format_at(f).name, &how);
		tn_digest data = digest(s.file);
		bool patched = false;
		ino_t was = inode(s.path);
		MUST(tn_put_string(s.w, tn_writer_metadata(s.w), VIEW("producer"),
		                   VIEW("tenon's TESTS"), &err_));
		MUST(tn_writer_update(s.w, true, &patched, &err_));
		assert_int_equal(patched, inode(s.path) == was);
		expect_changed(&s, data);
		tear(&s);
	}
}

static void a_longer_value_is_a_rewrite(void **state)
{
	(void)state;
	static char longer[5000];
	memset(longer, 'x', sizeof longer - 1);
	for (size_t f = 0; f < tn_format_count(); f++) {
		if (!writes(f))
			continue;
		struct scene s = set_out(maker_named("values"), tn_format_at(f).name, &how);
		tn_digest data = digest(s.file);
		bool patched = true;
		MUST(tn_put_string(s.w, tn_writer_metadata(s.w), VIEW("more"), tn_text(longer),
		                   &err_));
		MUST(tn_writer_update(s.w, true, &patched, &err_));
		assert_false(patched);
		expect_changed(&s, data);
		tear(&s);
	}
}

/* ---- Slack ---- */

static void grow_and_shrink(const char *format)
{
	tn_write_options roomy = how;
	roomy.slack = 4000;
	struct scene s = set_out(maker_named("strings"), format, &roomy);
	tn_digest data = digest(s.file);
	MUST(tn_writer_update(s.w, false, NULL, &err_)); /* leaves the room */
	for (size_t n = 0; n < 3500; n += 1 + n / 3) {
		static char value[4000];
		bool patched = false;
		memset(value, 'v', n);
		value[n] = '\0';
		tn_writer_free(s.w);
		tn_close(s.file);
		MUST(tn_open(&s.file, s.path, NULL, &err_));
		MUST(tn_writer_of(&s.w, s.file, &how, &err_));
		MUST(tn_put_string(s.w, tn_writer_metadata(s.w), VIEW("note"), tn_text(value),
		                   &err_));
		MUST(tn_writer_update(s.w, true, &patched, &err_));
		if (!patched)
			fail_msg("%s: %zu bytes do not fit the room", format, n);
		expect_changed(&s, data);
	}
	tear(&s);
}

static void room_takes_later_edits(void **state)
{
	(void)state;
	grow_and_shrink("safetensors");
	grow_and_shrink("gguf");
}

/* ---- Refusals ---- */

static void what_cannot_be_updated(void **state)
{
	(void)state;
	struct scene s = set_out(maker_named("strings"), "gguf", &how);
	tn_writer *fresh, *of_memory;
	tn_file *memory;
	tn_error err;
	MUST(tn_writer_new(&fresh, "gguf", NULL, &err_));
	assert_int_equal(tn_writer_update(fresh, true, NULL, &err), TN_E_USAGE);
	MUST(tn_open_memory(&memory, s.before, NULL, &err_));
	MUST(tn_writer_of(&of_memory, memory, NULL, &err_));
	assert_int_equal(tn_writer_update(of_memory, true, NULL, &err), TN_E_UNSUPPORTED);
	tn_writer_free(of_memory);
	tn_close(memory);
	tn_writer_free(fresh);
	tear(&s);
}

/* Another file under the name, or the same one grown, is not patched. */
static void a_file_that_changed_is_left_alone(void **state)
{
	(void)state;
	struct scene s = set_out(maker_named("strings"), "gguf", &how);
	tn_error err;
	char *other = files_join(folder, "other");
	files_store(other, s.before);
	assert_int_equal(rename(other, s.path), 0);
	free(other);
	MUST(tn_put_string(s.w, tn_writer_metadata(s.w), VIEW("producer"), VIEW("tenon's TESTS"),
	                   &err_));
	assert_int_equal(tn_writer_update(s.w, true, NULL, &err), TN_E_USAGE);
	assert_true(files_equal(s.path, s.before));
	tear(&s);
}

static void losses_stop_an_update(void **state)
{
	(void)state;
	tn_write_options bare = { .no_envelope = true, .no_sync = true };
	struct scene s = set_out(maker_named("strings"), "safetensors", &bare);
	tn_error err;
	MUST(tn_put_uint(s.w, tn_writer_metadata(s.w), VIEW("number"), 7, 8, &err_));
	assert_int_equal(tn_writer_update(s.w, true, NULL, &err), TN_E_LOSSY);
	assert_true(files_equal(s.path, s.before));
	tear(&s);
}

/* ---- A file that was another format's before ---- */

static void add_empty(tn_writer *w, const char *name)
{
	const uint64_t none = 0;
	const tn_source nothing = { .kind = TN_SOURCE_MEMORY };
	MUST(tn_writer_add(w, tn_text(name), TN_U8, 1, &none, 0, &nothing, &err_));
}

/* Keys and tensors that no format would put in this order of its own accord. */
static void make_unsorted(const char *path)
{
	tn_writer *w;
	MUST(tn_writer_new(&w, "gguf", &how, &err_));
	tn_meta *meta = tn_writer_metadata(w);
	MUST(tn_put_string(w, meta, VIEW("name"), VIEW("x"), &err_));
	MUST(tn_put_string(w, meta, VIEW("z"), VIEW("1"), &err_));
	MUST(tn_put_string(w, meta, VIEW("a"), VIEW("2"), &err_));
	add_empty(w, "u");
	add_empty(w, "t");
	MUST(tn_writer_save(w, path, &err_));
	tn_writer_free(w);
}

static void convert(const char *from, const char *to, const char *format)
{
	tn_file *f;
	const tn_convert_options options = { .format = format, .write = how };
	MUST(tn_open(&f, from, NULL, &err_));
	MUST(tn_convert(f, to, &options, NULL, &err_));
	tn_close(f);
}

static void edit(const char *path)
{
	tn_file *f;
	tn_writer *w;
	MUST(tn_open(&f, path, NULL, &err_));
	MUST(tn_writer_of(&w, f, &how, &err_));
	MUST(tn_put_string(w, tn_writer_metadata(w), VIEW("a"), VIEW("three"), &err_));
	MUST(tn_writer_update(w, true, NULL, &err_));
	tn_writer_free(w);
	tn_close(f);
}

static void has_order(const char *path, const char *format)
{
	static const char *const keys[] = { "name", "z", "a" };
	tn_file *f;
	size_t i = 0;
	MUST(tn_open(&f, path, NULL, &err_));
	tn_meta_iter it = tn_meta_items(tn_metadata(f));
	for (const tn_meta *x; (x = tn_meta_next(&it)) != NULL; i++)
		if (i == 3 || !view_is(tn_meta_key(x), keys[i]))
			fail_msg("%s: key %zu is '%.*s'", format, i, VIEW_ARG(tn_meta_key(x)));
	assert_int_equal(tn_tensor_count(f), 2);
	if (!view_is(tn_tensor_at(f, 0).name, "u"))
		fail_msg("%s: the tensors are in another order", format);
	tn_close(f);
}

static void an_edit_keeps_the_order_of_the_other_format(void **state)
{
	(void)state;
	static const char *const formats[] = { "burnpack", "apr", "safetensors" }; /* thin holds no empty tensors */
	char *from = files_join(folder, "from"), *to = files_join(folder, "to");
	make_unsorted(from);
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
		convert(from, to, formats[i]);
		edit(to);
		has_order(to, formats[i]);
	}
	remove(from);
	remove(to);
	free(from);
	free(to);
}

static int set_up(void **state)
{
	(void)state;
	folder = tempdir_new();
	return 0;
}

static int clean_up(void **state)
{
	(void)state;
	tempdir_remove(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_unchanged_model_is_the_same_file),
		cmocka_unit_test(what_is_carried_is_carried_again),
		cmocka_unit_test(a_value_of_the_same_length_is_patched),
		cmocka_unit_test(a_longer_value_is_a_rewrite),
		cmocka_unit_test(room_takes_later_edits),
		cmocka_unit_test(what_cannot_be_updated),
		cmocka_unit_test(a_file_that_changed_is_left_alone),
		cmocka_unit_test(losses_stop_an_update),
		cmocka_unit_test(an_edit_keeps_the_order_of_the_other_format),
	};
	return cmocka_run_group_tests(tests, set_up, clean_up);
}
