/* damage_sets.c - models in several files, each file of which is changed, cut and stretched: nothing crashes, and where a
 * digest of the file is known the change is told. Then checkpoints whose config.json is damaged, on their way into an
 * archive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/sha256.h"
#include "support/api_kit.h"
#include "support/checkpoint_kit.h"
#include "support/files.h"
#include "support/sanitized.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { APART = SANITIZED ? 5 : 1, HEAD = 700 /* bytes of a file that are changed one by one */ };

/* ---- Sets ---- */

static void make_set(const char *format)
{
	tn_writer *w = kit_writer(format);
	kit_add(w, "a", TN_F32, 2, (uint64_t[]){ 2, 3 }, 1);
	kit_add(w, "b", TN_I8, 1, (uint64_t[]){ 10 }, 2);
	kit_add(w, "c", TN_F16, 1, (uint64_t[]){ 9 }, 3);
	tn_view bytes = kit_save(w);
	tn_writer_free(w);
	tn_file *f = kit_open(bytes);
	const tn_split_options how = { .max_tensors = 1, .write.no_sync = true };
	tn_shards *shards;
	assert_int_equal(tn_split(f, "set", &how, &shards, NULL), TN_OK);
	tn_shards_free(shards);
	tn_close(f);
	free((void *)(uintptr_t)bytes.ptr);
}

static void store_sum(const char *path, tn_view bytes)
{
	struct s256 h;
	uint8_t sum[SHA256_LEN];
	char name[256], text[SHA256_HEX + 1];
	s256_init(&h);
	s256_update(&h, bytes.ptr, bytes.len);
	s256_final(&h, sum);
	sha256_text(sum, text);
	snprintf(name, sizeof name, "%s.sha256", path);
	files_store(name, tn_text(text));
}

static void read_all(const tn_file *f)
{
	uint8_t room[64];
	tn_map *map;
	for (size_t i = 0; i < tn_tensor_count(f); i++) {
		tn_tensor t = tn_tensor_at(f, i);
		if (t.nbytes <= sizeof room && tn_read(f, i, 0, room, (size_t)t.nbytes, NULL) != TN_OK)
			continue;
	}
	assert_int_equal(tn_map_new(&map, f, NULL), TN_OK);
	tn_map_free(map);
}

/* Opens and verifies; told: the report must have an error, or the set cannot be opened. */
static void look(bool told, const char *path, size_t at)
{
	const tn_verify_options deep = { .deep = true, .work.threads = 1 };
	tn_verified done;
	tn_file *f;
	tn_error err = { .msg = "" };
	if (tn_open(&f, "set", NULL, &err) == TN_OK)
		read_all(f);
	else
		assert_true(err.msg[0] != '\0' && strchr(err.msg, '\n') == NULL);
	tn_close(f);
	tn_code code = tn_verify_path("set", NULL, &deep, &done, &err);
	if (told && code == TN_OK && tn_report_of(done.report, TN_ERROR) == 0)
		fail_msg("%s: changed at byte %zu it passes", path, at);
	tn_report_free(done.report);
}

static void damage_file(const char *path, bool has_sum)
{
	tn_view whole = files_load(path);
	uint8_t *bytes = malloc(whole.len + 1);
	size_t end = whole.len < HEAD ? whole.len : HEAD;
	assert_non_null(bytes);
	for (size_t at = 0; at < end; at += APART) {
		memcpy(bytes, whole.ptr, whole.len);
		bytes[at] ^= at % 2 == 0 ? 0x01 : 0x82;
		files_store(path, (tn_view){ bytes, whole.len });
		look(has_sum, path, at);
		if (at % 4 != 0)
			continue;
		files_store(path, (tn_view){ whole.ptr, at });
		look(has_sum, path, at);
		memmove(bytes + at + 1, whole.ptr + at, whole.len - at);
		files_store(path, (tn_view){ bytes, whole.len + 1 });
		look(has_sum, path, at);
	}
	files_store(path, whole);
	free(bytes);
	free((void *)(uintptr_t)whole.ptr);
}

static bool is_index(const char *path) { return strstr(path, ".index.json") != NULL; }

static void damage_set(const char *format)
{
	make_set(format);
	struct file_list all = files_below("set", "");
	assert_true(all.n >= 3);
	for (int sums = 0; sums < 2; sums++) {
		for (size_t i = 0; sums && i < all.n; i++) {
			tn_view bytes = files_load(all.paths[i]);
			if (!is_index(all.paths[i]))
				store_sum(all.paths[i], bytes);
			free((void *)(uintptr_t)bytes.ptr);
		}
		/* the first file and the index stand for the others where sums tell everything */
		for (size_t i = 0; i < all.n; i++)
			if (!sums || i == 0)
				damage_file(all.paths[i], sums && !is_index(all.paths[i]));
	}
	files_free(&all);
}

static void safetensors_sets(void **state) { (void)state; damage_set("safetensors"); }
static void gguf_sets(void **state) { (void)state; damage_set("gguf"); }
static void apr_sets(void **state) { (void)state; damage_set("apr"); }

/* ---- Checkpoints ---- */

static void try_checkpoint(void)
{
	const tn_convert_options how = { .format = "thin", .dry_run = true, .write.work.threads = 1 };
	tn_converted done = { 0 };
	tn_file *f;
	tn_error err = { .msg = "" };
	assert_int_equal(tn_open(&f, "in", NULL, &err), TN_OK);
	if (tn_convert(f, "out.thin", &how, &done, &err) != TN_OK)
		assert_true(err.msg[0] != '\0' && strchr(err.msg, '\n') == NULL);
	tn_report_free(done.report);
	tn_close(f);
}

static void damage_json(const char *path, size_t apart)
{
	tn_view whole = files_load(path);
	uint8_t *bytes = malloc(whole.len + 1);
	assert_non_null(bytes);
	for (size_t at = 0; at < whole.len; at += apart) {
		static const char instead[] = "9-\"[{e0}\xff";
		memcpy(bytes, whole.ptr, whole.len);
		bytes[at] = (uint8_t)instead[at / apart % (sizeof instead - 1)];
		files_store(path, (tn_view){ bytes, whole.len });
		try_checkpoint();
		memmove(bytes + at + 1, whole.ptr + at, whole.len - at);
		files_store(path, (tn_view){ bytes, whole.len + (at % 2) });
		try_checkpoint();
	}
	files_store(path, (tn_view){ whole.ptr, whole.len / 2 });
	try_checkpoint();
	files_store(path, whole);
	free(bytes);
	free((void *)(uintptr_t)whole.ptr);
}

static void checkpoints(void **state)
{
	static const char *const names[] = { "llama-3shards", "mixtral", "llama-gptq", "mllama" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char *in = files_join(*state, "in");
		assert_int_equal(mkdir(in, 0777), 0);
		checkpoint_make(names[i], in);
		try_checkpoint();
		damage_json("in/config.json", SANITIZED ? 23 : 5);
		tempdir_remove(in);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(safetensors_sets, tempdir_enter, tempdir_leave),
		cmocka_unit_test_setup_teardown(gguf_sets, tempdir_enter, tempdir_leave),
		cmocka_unit_test_setup_teardown(apr_sets, tempdir_enter, tempdir_leave),
		cmocka_unit_test_setup_teardown(checkpoints, tempdir_enter, tempdir_leave),
	};
	return cmocka_run_group_tests_name("damage_sets", tests, NULL, NULL);
}
