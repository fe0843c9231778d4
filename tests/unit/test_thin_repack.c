/* test_thin_repack.c - archives taken apart, put together and put in another order: the reference program's bytes, and
 * every check that is made on the way. */
#include "tenon.h"

#include "codec/blake3.h"
#include "support/api_kit.h"
#include "support/files.h"
#include "support/hextext.h"
#include "sys/folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
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

static char *at(const char *name) { return files_join(folder, name); }

static void assert_digest(const char *path, uint64_t size, const char *want)
{
	char hex[2 * TN_DIGEST_LEN + 1];
	tn_view v = files_load(path);
	tn_digest d = b3_of(v);
	tn_digest_text(&d, hex);
	assert_int_equal(v.len, size);
	assert_string_equal(hex, want);
	free((void *)v.ptr);
}

static void store(const char *name, const char *text)
{
	char *path = at(name);
	files_store(path, tn_text(text));
	free(path);
}

/* ---- The reference program's results ---- */

static void repack(const tn_file *file, tn_thin_layout layout, const char *path, uint64_t size, const char *digest)
{
	tn_repack_options how = { .layout = layout, .write.no_sync = true };
	uint64_t records, planned;
	tn_error err;
	how.dry_run = true;
	assert_int_equal(tn_thin_repack(file, path, &how, NULL, &planned, &err), TN_OK);
	assert_int_equal(planned, size);
	how.dry_run = false;
	if (tn_thin_repack(file, path, &how, &records, &planned, &err) != TN_OK)
		fail_msg("%s", err.msg);
	assert_digest(path, size, digest);
}

static void layouts_are_the_reference_programs(void **state)
{
	(void)state;
	uint8_t *bytes;
	tn_file *file = open_case("good-04_converter", &bytes);
	char *path = at("x.thin");
	repack(file, TN_THIN_EXECUTION, path, 57719, "d1a7ac5884067387d17eb3914b2d330ae39199225d15ffb22530bd6eacc52a64");
	repack(file, TN_THIN_HOT, path, 57719, "9b8293e47882d5eca407a0a425bf38b47badffb26480ad0f28d3a9f1e89b6e56");
	repack(file, TN_THIN_FUSED, path, 59249, "0dbebb2976b97addbbc9cedd2b16483817560bd7b1b68570c0c58fa63ada7226");
	tn_close(file);
	free(bytes);

	tn_error err;
	tn_repack_options again = { .layout = TN_THIN_FUSED };
	char *other = at("y.thin");
	assert_int_equal(tn_open(&file, path, NULL, &err), TN_OK);
	assert_int_equal(tn_thin_repack(file, other, &again, NULL, NULL, &err), TN_E_UNSUPPORTED);
	assert_false(files_exist(other));
	again.layout = (tn_thin_layout)9;
	assert_int_equal(tn_thin_repack(file, other, &again, NULL, NULL, &err), TN_E_USAGE);
	tn_close(file);
	free(other);
	free(path);
}

static void there_and_back(const char *name, uint64_t size, const char *digest)
{
	uint8_t *bytes;
	tn_file *file = open_case(name, &bytes);
	char *root = at("u"), *manifest = at("u/manifest.json"), *pages = at("u/pages"), *path = at("z.thin");
	tn_unpack_options no_sync = { .no_sync = true, .replace = true };
	tn_write_options how = { .no_sync = true };
	uint64_t unpacked = 0, packed = 1;
	tn_error err;
	if (tn_thin_unpack(file, root, &no_sync, &unpacked, &err) != TN_OK ||
	    tn_thin_pack(manifest, pages, path, &how, &packed, NULL, &err) != TN_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(unpacked, packed);
	assert_digest(path, size, digest);
	tn_close(file);
	free(bytes);
	free(path);
	free(pages);
	free(manifest);
	free(root);
}

static void what_is_taken_apart_is_packed_to_the_same_bytes(void **state)
{
	(void)state;
	there_and_back("good-01_one", 1032, "5654d2d174709deaa3e13ca2ef28c100a932ba7586d7521bd891ffaf9aad67ba");
	there_and_back("good-03_fused", 1928, "2c7f773622b51e69671068ead54d131448c847ecd09a0f4fab6087377b04e62c");
	/* records in the manifest's order now */
	there_and_back("good-04_converter", 57719, "4a221726db58264d8842ce3c11ad61117582c6df61a7e45e93f7c5942a9d1dcd");
}

/* ---- Pack ---- */

#define MANIFEST(size, checksum) \
	"{\"format\":\"thintensor\",\"version\":0,\"model\":{\"arch\":\"a\",\"hidden_size\":1,\"layers\":1,\"heads\":1," \
	"\"kv_heads\":1,\"dtype\":\"u8\"},\"execution_tape\":[{\"stage\":\"s\"}],\"pages\":[{\"id\":\"p\",\"kind\":\"weight\"," \
	"\"op\":\"x\",\"dtype\":\"u8\",\"shape\":[1],\"backend_layout\":\"g\",\"size\":" size ",\"checksum\":\"" checksum "\"}]," \
	"\"memory_plan\":{\"scratch_bytes\":0,\"min_vram_bytes\":0,\"recommended_vram_bytes\":0,\"kv_cache\":{\"policy\":\"p\"," \
	"\"recent_tokens_high_precision\":0,\"old_tokens_codec\":\"c\"}}}"
#define SUM_OF_A "17762fddd969a453925d65717ac3eea21320b66b54342fde15128d6caf21215f"
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

/* Packs manifest.json and pages; the code, and the message in *err. */
static tn_code pack(const char *manifest_text, tn_error *err)
{
	char *manifest = at("manifest.json"), *pages = at("pages"), *path = at("p.thin");
	tn_write_options how = { .no_sync = true };
	if (manifest_text != NULL)
		files_store(manifest, tn_text(manifest_text));
	tn_code code = tn_thin_pack(manifest, pages, path, &how, NULL, NULL, err);
	assert_int_equal(files_exist(path), code == TN_OK);
	remove(path);
	free(path);
	free(pages);
	free(manifest);
	return code;
}

static void make_folder(const char *name)
{
	char *path = at(name);
	tn_error err = { .code = TN_OK };
	assert_int_equal(sys_folder_make_all(path, false, &err), TN_OK);
	free(path);
}

static void each_check_of_packing(void **state)
{
	(void)state;
	tn_error err;
	make_folder("pages/deep");
	assert_int_equal(pack("{", &err), TN_E_CORRUPT);
	assert_int_equal(pack(MANIFEST("0", "x"), &err), TN_E_CORRUPT);
	assert_non_null(strstr(err.msg, "size is 0"));
	assert_non_null(strstr(err.msg, "(and 1 more fault)"));
	assert_int_equal(pack(MANIFEST("1", ZEROS), &err), TN_E_NOTFOUND);
	store("pages/p.txt", "a");
	assert_int_equal(pack(NULL, &err), TN_E_NOTFOUND);
	store("pages/deep/p.bin", "ab");
	assert_int_equal(pack(NULL, &err), TN_E_CORRUPT);
	assert_non_null(strstr(err.msg, "2 bytes"));
	store("pages/deep/p.bin", "a");
	assert_int_equal(pack(NULL, &err), TN_E_CHECKSUM);
	assert_int_equal(pack(MANIFEST("1", SUM_OF_A), &err), TN_OK);
	store("pages/other.bin", "");
	store("pages/deep/other.bin", "");
	assert_int_equal(pack(NULL, &err), TN_E_CORRUPT);
	assert_non_null(strstr(err.msg, "two files are for page 'other'"));
}

static void slices_are_held_to_their_checksums(void **state)
{
	(void)state;
	uint8_t *bytes;
	tn_file *file = open_case("good-03_fused", &bytes);
	char *root = at("s"), *manifest = at("s/manifest.json"), *pages = at("s/pages"), *path = at("s.thin");
	const tn_unpack_options no_sync = { .no_sync = true };
	const tn_write_options how = { .no_sync = true };
	tn_error err;
	assert_int_equal(tn_thin_unpack(file, root, &no_sync, NULL, &err), TN_OK);
	tn_view text = files_load(manifest);
	uint8_t *sum = NULL;
	for (size_t i = 0; sum == NULL && i + 8 < text.len; i++)
		if (memcmp(text.ptr + i, "cc6dc4b3", 8) == 0) /* of the slice k */
			sum = (uint8_t *)(uintptr_t)text.ptr + i;
	assert_non_null(sum);
	*sum = 'd';
	files_store(manifest, text);
	assert_int_equal(tn_thin_pack(manifest, pages, path, &how, NULL, NULL, &err), TN_E_CHECKSUM);
	assert_non_null(strstr(err.msg, "page 'k'"));
	assert_false(files_exist(path));
	tn_close(file);
	free(bytes);
	free((void *)text.ptr);
	free(path);
	free(pages);
	free(manifest);
	free(root);
}

/* ---- Unpack ---- */

static void nothing_is_written_over_or_followed(void **state)
{
	(void)state;
	uint8_t *bytes;
	tn_file *file = open_case("good-02_two", &bytes);
	tn_unpack_options how = { .no_sync = true };
	tn_error err;
	char *root = at("v"), *page = at("v/pages/E.bin"), *target = at("target");
	assert_int_equal(tn_thin_unpack(file, root, &how, NULL, &err), TN_OK);
	assert_int_equal(tn_thin_unpack(file, root, &how, NULL, &err), TN_E_USAGE);
	how.replace = true;
	assert_int_equal(tn_thin_unpack(file, root, &how, NULL, &err), TN_OK);
	store("target", "mine");
	remove(page);
	assert_int_equal(symlink(target, page), 0);
	assert_int_equal(tn_thin_unpack(file, root, &how, NULL, &err), TN_E_USAGE);
	assert_true(files_equal(target, tn_text("mine")));
	tn_close(file);
	free(bytes);
	free(target);
	free(page);
	free(root);
}

static void what_does_not_verify_stays_packed(void **state)
{
	(void)state;
	uint8_t *bytes;
	tn_file *file = open_case("finding-payload", &bytes);
	char *root = at("w"), *path = at("w.thin");
	tn_error err;
	assert_int_equal(tn_thin_unpack(file, root, NULL, NULL, &err), TN_E_CHECKSUM);
	assert_int_equal(tn_thin_repack(file, path, NULL, NULL, NULL, &err), TN_E_CHECKSUM);
	assert_false(files_exist(root));
	assert_false(files_exist(path));
	tn_close(file);
	free(bytes);
	tn_view other = kit_file("safetensors");
	file = kit_open(other);
	assert_int_equal(tn_thin_unpack(file, root, NULL, NULL, &err), TN_E_USAGE);
	tn_close(file);
	free((void *)other.ptr);
	free(path);
	free(root);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(layouts_are_the_reference_programs), TEST(what_is_taken_apart_is_packed_to_the_same_bytes),
		TEST(each_check_of_packing), TEST(slices_are_held_to_their_checksums),
		TEST(nothing_is_written_over_or_followed), TEST(what_does_not_verify_stays_packed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
