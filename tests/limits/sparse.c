/* sparse.c - tensors past 4 GiB and past 2 TiB, in files that take no room on the disk: listed, read at both ends, mapped
 * out and verified, through a map and by position; and zstd frames that ask for more memory than is given. A file system
 * without such files is named, and passed over. */
#define _FILE_OFFSET_BITS 64
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "codec/zstd.h"
#include "format/apr/layout.h"
#include "format/burnpack/layout.h"
#include "format/gguf/layout.h"
#include "format/thin/layout.h"
#include "limits/put.h"
#include "support/files.h"
#include "support/sanitized.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* "a" is u8 [gap], all zeros; "b" are the eight bytes behind it. */
static const uint8_t LAST[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

/* The front of such a file; returns where its data begin. */
typedef uint64_t (*make_fn)(struct buf *b, uint64_t gap);

static uint64_t make_safetensors(struct buf *b, uint64_t gap)
{
	buf_u64(b, 0);
	buf_printf(b, "{\"a\":{\"dtype\":\"U8\",\"shape\":[%llu],\"data_offsets\":[0,%llu]},", (unsigned long long)gap,
	           (unsigned long long)gap);
	buf_printf(b, "\"b\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[%llu,%llu]}}", (unsigned long long)gap,
	           (unsigned long long)gap + 8);
	put_le64(b->ptr, b->len - 8);
	return b->len;
}

static void gguf_info(struct buf *b, char name, uint64_t n, uint64_t at)
{
	buf_u64(b, 1);
	buf_byte(b, (uint8_t)name);
	buf_u32(b, 1);
	buf_u64(b, n);
	buf_u32(b, 24); /* I8 */
	buf_u64(b, at);
}

static uint64_t make_gguf(struct buf *b, uint64_t gap)
{
	buf_text(b, GGUF_MAGIC);
	buf_u32(b, GGUF_VERSION);
	buf_u64(b, 2);
	buf_u64(b, 0);
	gguf_info(b, 'a', gap, 0);
	gguf_info(b, 'b', 8, gap);
	buf_fill(b, 0, (size_t)pad_to(b->len, GGUF_ALIGN));
	return b->len;
}

static void pack_u64(struct buf *b, uint64_t v)
{
	uint8_t p[9] = { 0x1b };
	put_be64(p + 1, v);
	buf_put(b, p, sizeof p);
}

static void pack_tensor(struct buf *b, char name, uint64_t n, uint64_t at)
{
	buf_byte(b, 0x61);
	buf_byte(b, (uint8_t)name);
	buf_text(b, "\xa3\x65" "dtype\x62U8\x65shape\x81");
	pack_u64(b, n);
	buf_text(b, "\x6c" "data_offsets\x82");
	pack_u64(b, at);
	pack_u64(b, at + n);
}

static uint64_t make_burnpack(struct buf *b, uint64_t gap)
{
	buf_text(b, PACK_MAGIC);
	buf_u16(b, PACK_VERSION);
	buf_u32(b, 0);
	buf_text(b, "\xa1\x67tensors\xa2");
	pack_tensor(b, 'a', gap, 0);
	pack_tensor(b, 'b', 8, gap);
	put_le32(b->ptr + 6, (uint32_t)(b->len - PACK_HEADER));
	buf_fill(b, 0, (size_t)pad_to(b->len, PACK_ALIGN));
	return b->len;
}

static void apr_entry(struct buf *b, char name, uint64_t n, uint64_t at)
{
	buf_u16(b, 1);
	buf_byte(b, (uint8_t)name);
	buf_byte(b, 7); /* U8 */
	buf_byte(b, 1);
	buf_u64(b, n);
	buf_u64(b, at);
	buf_u64(b, n);
}

static uint64_t make_apr(struct buf *b, uint64_t gap)
{
	buf_fill(b, 0, APR_HEADER);
	buf_text(b, "{}");
	buf_fill(b, 0, (size_t)pad_to(b->len, APR_ALIGN));
	uint64_t index = b->len;
	apr_entry(b, 'a', gap, 0);
	apr_entry(b, 'b', 8, gap);
	buf_fill(b, 0, (size_t)pad_to(b->len, APR_ALIGN));
	const struct apr_header h = {
		.major = APR_MAJOR, .minor = APR_MINOR, .flags = APR_ROW_MAJOR, .count = 2, .metadata_at = APR_HEADER,
		.metadata_len = 2, .index_at = index, .data_at = b->len,
	};
	apr_header_put(&h, b->ptr);
	return b->len;
}

#define THIN_PAGE "{\"id\":\"%s\",\"kind\":\"weight\",\"op\":\"unknown\",\"dtype\":\"u8\",\"shape\":[%llu]," \
                  "\"backend_layout\":\"row_major_contiguous\",\"size\":%llu,\"checksum\":" \
                  "\"0000000000000000000000000000000000000000000000000000000000000000\",\"experimental\":false}"

#define THIN_FRONT "{\"format\":\"thintensor\",\"version\":0,\"model\":{\"arch\":\"a\",\"hidden_size\":1,\"layers\":1,\"heads\":1," \
                   "\"kv_heads\":1,\"dtype\":\"u8\"},\"execution_tape\":[{\"stage\":\"s\",\"page_refs\":["
#define THIN_PAGES "]}],\"pages\":["
#define THIN_END "],\"memory_plan\":{\"scratch_bytes\":0,\"min_vram_bytes\":0,\"recommended_vram_bytes\":0,\"kv_cache\":{" \
                 "\"policy\":\"p\",\"recent_tokens_high_precision\":0,\"old_tokens_codec\":\"q4\"}}}"

static uint64_t make_thin(struct buf *b, uint64_t gap)
{
	static const tn_digest zero;
	buf_fill(b, 0, THIN_HEADER);
	buf_text(b, THIN_FRONT "\"a\",\"b\"" THIN_PAGES);
	buf_printf(b, THIN_PAGE "," THIN_PAGE, "a", (unsigned long long)gap, (unsigned long long)gap, "b", 8ULL, 8ULL);
	buf_text(b, THIN_END);
	struct thin_header h = {
		.manifest_off = THIN_HEADER, .manifest_len = b->len - THIN_HEADER, .table_off = b->len, .page_count = 2,
		.data_off = b->len + 2 * (THIN_RECORD + 1),
	};
	const struct thin_record records[] = {
		{ VIEW("a"), h.data_off, gap, gap, 0, &zero }, { VIEW("b"), h.data_off + gap, 8, 8, 0, &zero },
	};
	for (int i = 0; i < 2; i++)
		b->len += thin_put_record(buf_room(b, THIN_RECORD + 1), &records[i]);
	thin_put_header(b->ptr, &h);
	return b->len;
}

static const struct {
	const char *name;
	make_fn     make;
	uint64_t    pad; /* the file ends at a multiple of it */
} formats_here[] = {
	{ "safetensors", make_safetensors, 1 }, { "gguf", make_gguf, GGUF_ALIGN }, { "burnpack", make_burnpack, 1 },
	{ "apr", make_apr, APR_ALIGN }, { "thin", make_thin, 1 },
};

/* The whole file; false, with the reason printed, where the file system has none so large. */
static bool store(const char *path, make_fn make, uint64_t gap, uint64_t pad, uint64_t *data_at)
{
	struct buf b;
	buf_init(&b, 0);
	*data_at = make(&b, gap);
	assert_false(b.failed);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	assert_true(fd >= 0);
	uint64_t last = *data_at + gap, end = last + sizeof LAST + pad_to(last + sizeof LAST, pad);
	bool room = ftruncate(fd, (off_t)end) == 0;
	if (room) {
		assert_int_equal(pwrite(fd, b.ptr, b.len, 0), (ssize_t)b.len);
		assert_int_equal(pwrite(fd, LAST, sizeof LAST, (off_t)last), (ssize_t)sizeof LAST);
	} else {
		print_message("skipped: a file of %llu bytes: %s\n", (unsigned long long)end, strerror(errno));
	}
	close(fd);
	buf_fini(&b);
	return room;
}

static void check_tensor(const tn_file *f, const char *name, uint64_t n, uint64_t at, const uint8_t *end)
{
	uint8_t byte[8];
	size_t i;
	tn_view bytes;
	tn_error err;
	assert_int_equal(tn_tensor_find(f, tn_text(name), &i, &err), TN_OK);
	tn_tensor t = tn_tensor_at(f, i);
	assert_true(t.nbytes == n && t.offset == at && t.stored == n);
	assert_int_equal(tn_read(f, i, n - sizeof byte, byte, sizeof byte, &err), TN_OK);
	assert_memory_equal(byte, end, sizeof byte);
	assert_int_equal(tn_read(f, i, n - 1, byte, 2, &err), TN_E_USAGE);
	if (tn_bytes(f, i, &bytes, &err) == TN_OK) {
		assert_true(bytes.len == n);
		assert_memory_equal(bytes.ptr + n - sizeof byte, end, sizeof byte);
	}
}

static void check_map(const tn_file *f, uint64_t data_at, uint64_t gap)
{
	tn_map *map;
	tn_error err;
	uint64_t at = 0;
	bool found = false;
	assert_int_equal(tn_map_new(&map, f, &err), TN_OK);
	for (size_t i = 0; i < tn_map_count(map); i++) {
		tn_region r = tn_map_at(map, i);
		assert_true(r.offset == at);
		found = found || (r.kind == TN_REGION_TENSOR && r.offset == data_at + gap && r.len == sizeof LAST);
		at += r.len;
	}
	assert_true(found && at == tn_file_size(f));
	tn_map_free(map);
}

static void check_file(const char *path, tn_io io, uint64_t data_at, uint64_t gap)
{
	static const uint8_t zeros[8];
	const tn_open_options how = { .io = io, .limits = { .max_tensor_bytes = UINT64_MAX, .max_file_bytes = UINT64_MAX } };
	tn_verify_options shallow = { 0 };
	tn_report *report;
	tn_file *f;
	tn_error err = { .msg = "" };
	if (tn_open(&f, path, &how, &err) != TN_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(tn_tensor_count(f), 2);
	check_tensor(f, "a", gap, data_at, zeros);
	check_tensor(f, "b", sizeof LAST, data_at + gap, LAST);
	check_map(f, data_at, gap);
	assert_int_equal(tn_verify(f, &shallow, &report, &err), TN_OK);
	assert_int_equal(tn_report_of(report, TN_ERROR), 0);
	tn_report_free(report);
	tn_close(f);
}

static void check_all(uint64_t gap)
{
	static const tn_io ways[] = { TN_IO_AUTO, TN_IO_PREAD };
	char *folder = tempdir_new();
	for (size_t i = 0; i < sizeof formats_here / sizeof *formats_here; i++) {
		char *path = files_join(folder, formats_here[i].name);
		uint64_t data_at;
		bool there = store(path, formats_here[i].make, gap, formats_here[i].pad, &data_at);
		for (size_t w = 0; there && w < 2; w++)
			check_file(path, ways[w], data_at, gap);
		unlink(path);
		free(path);
	}
	tempdir_remove(folder);
}

static void past_4_gib(void **state)
{
	(void)state;
	check_all((UINT64_C(4) << 30) + 4096);
}

static void past_2_tib(void **state)
{
	(void)state;
	check_all((UINT64_C(2) << 40) + 4096);
}

/* Burnpack alone has limits for these: exactly as large, and one more. */
static void limits_of_burnpack(void **state)
{
	static const struct { uint64_t gap; tn_code code; const char *says; } cases[] = {
		{ UINT64_C(10) << 30, TN_OK, "" }, { (UINT64_C(10) << 30) + 1, TN_E_LIMIT, "the limit is 10737418240" },
	};
	char *folder = tempdir_new(), *path = files_join(folder, "x.bpk");
	uint64_t data_at;
	tn_file *f;
	tn_error err;
	(void)state;
	for (size_t i = 0; i < 2; i++)
		if (store(path, make_burnpack, cases[i].gap, 1, &data_at)) {
			assert_int_equal(tn_open(&f, path, NULL, &err), cases[i].code);
			assert_non_null(strstr(err.msg, cases[i].says));
			tn_close(f);
		}
	for (uint64_t more = 0; more < 2; more++)
		if (store(path, make_burnpack, 8, 1, &data_at) && truncate(path, (off_t)((UINT64_C(100) << 30) + more)) == 0) {
			assert_int_equal(tn_open(&f, path, NULL, &err), more == 0 ? TN_OK : TN_E_LIMIT);
			assert_non_null(strstr(err.msg, more == 0 ? "" : "the limit is 107374182400"));
			tn_close(f);
		}
	free(path);
	tempdir_remove(folder);
}

/* ---- Zstd frames ---- */

enum { FRAME = 4096, MOST_KIB = 96 << 10 };

/* The one page of an archive: a frame, so many bytes that decoders skip, and a seek table that calls both one entry and has
 * so many more of nothing. */
static void store_frames(const char *path, uint64_t skipped, uint64_t nothings)
{
	static const uint8_t zeros[FRAME];
	static const tn_digest zero;
	uint8_t frame[FRAME], skip[8], head[16], foot[9] = { 0 };
	struct zstd *z = zstd_new();
	struct buf b;
	buf_init(&b, 0);
	buf_fill(&b, 0, THIN_HEADER);
	buf_text(&b, THIN_FRONT "\"a\"" THIN_PAGES);
	buf_printf(&b, THIN_PAGE, "a", (unsigned long long)FRAME, (unsigned long long)FRAME);
	buf_text(&b, THIN_END);
	size_t n = zstd_pack(z, zeros, sizeof zeros, frame, sizeof frame);
	zstd_free(z);
	uint64_t stored = n + sizeof skip + skipped, table = 8 * (1 + nothings) + sizeof foot;
	struct thin_header h = {
		.manifest_off = THIN_HEADER, .manifest_len = b.len - THIN_HEADER, .table_off = b.len, .page_count = 1,
		.data_off = b.len + THIN_RECORD + 1,
	};
	const struct thin_record r = { VIEW("a"), h.data_off, stored + 8 + table, FRAME, THIN_FLAG_ZSTD, &zero };
	b.len += thin_put_record(buf_room(&b, THIN_RECORD + 1), &r);
	thin_put_header(b.ptr, &h);
	put_le32(skip, 0x184D2A50), put_le32(skip + 4, (uint32_t)skipped);
	put_le32(head, 0x184D2A5E), put_le32(head + 4, (uint32_t)table);
	put_le32(head + 8, (uint32_t)stored), put_le32(head + 12, FRAME);
	put_le32(foot, (uint32_t)(1 + nothings)), put_le32(foot + 5, 0x8F92EAB1);
	const struct { const void *p; size_t len; uint64_t at; } parts[] = {
		{ b.ptr, b.len, 0 }, { frame, n, h.data_off }, { skip, sizeof skip, h.data_off + n },
		{ head, sizeof head, h.data_off + stored }, { foot, sizeof foot, h.data_off + stored + 8 + table - sizeof foot },
	};
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
	assert_true(fd >= 0);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		assert_int_equal(pwrite(fd, parts[i].p, parts[i].len, (off_t)parts[i].at), (ssize_t)parts[i].len);
	close(fd);
	buf_fini(&b);
}

/* Reads the page by position, so that no map counts as memory; the code and the most KiB that it took. */
static tn_code read_frames(const char *path, long *kib)
{
	static uint8_t bytes[FRAME];
	const tn_open_options how = { .io = TN_IO_PREAD };
	struct rusage used;
	tn_file *f;
	tn_error err;
	int status = 0;
	pid_t child = fork();
	if (child == 0)
		_exit(tn_open(&f, path, &how, &err) != TN_OK ? 255 : (int)tn_read(f, 0, 0, bytes, sizeof bytes, &err));
	assert_true(child > 0 && wait4(child, &status, 0, &used) == child && WIFEXITED(status));
	*kib = used.ru_maxrss;
	return (tn_code)WEXITSTATUS(status);
}

/* Whatever a table says. */
static void frames_take_little_memory(void **state)
{
	static const struct { uint64_t skipped, nothings; tn_code code; } cases[] = {
		{ 0, 0, TN_OK }, { 1 << 20, 0, TN_OK }, { 200 << 20, 0, TN_E_CORRUPT }, { 0, 25 << 20, TN_OK },
	};
	char *folder = tempdir_new(), *path = files_join(folder, "x.thin");
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		long kib;
		store_frames(path, cases[i].skipped, cases[i].nothings);
		assert_int_equal(read_frames(path, &kib), cases[i].code);
		if (!SANITIZED)
			assert_in_range(kib, 0, MOST_KIB);
	}
	free(path);
	tempdir_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(past_4_gib),
		cmocka_unit_test(past_2_tib),
		cmocka_unit_test(limits_of_burnpack),
		cmocka_unit_test(frames_take_little_memory),
	};
	return cmocka_run_group_tests_name("sparse", tests, NULL, NULL);
}
