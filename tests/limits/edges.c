/* edges.c - what is exactly as large, as many or as deep as a limit is read; one more is refused, in words that name
 * the limit. Limits that a caller may raise are raised. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "format/apr/layout.h"
#include "format/burnpack/layout.h"
#include "format/gguf/layout.h"
#include "format/thin/layout.h"
#include "limits/put.h"
#include "model/meta.h"

#include <cmocka.h>

/* A file in which the thing that is limited has the size n. */
typedef void (*make_fn)(struct buf *b, uint64_t n);

static void fill(struct buf *b, char c, uint64_t n) { buf_fill(b, (uint8_t)c, (size_t)n); }

static void repeat(struct buf *b, const char *text, uint64_t n)
{
	for (; n != 0; n--)
		buf_text(b, text);
}

/* ---- safetensors ---- */

static void st_begin(struct buf *b) { buf_u64(b, 0); }
static void st_end(struct buf *b) { put_le64(b->ptr, b->len - 8); }

static void st_header(struct buf *b, uint64_t n)
{
	st_begin(b);
	buf_text(b, "{}");
	fill(b, ' ', n - 2);
	st_end(b);
}

/* An unknown member; the header's object is the first to be open. */
static void st_depth(struct buf *b, uint64_t n)
{
	st_begin(b);
	buf_text(b, "{\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1],\"x\":");
	fill(b, '[', n - 2);
	fill(b, ']', n - 2);
	buf_text(b, "}}");
	st_end(b);
	buf_byte(b, 1);
}

/* ---- burnpack ---- */

static void pack_begin(struct buf *b)
{
	buf_text(b, PACK_MAGIC);
	buf_u16(b, PACK_VERSION);
	buf_u32(b, 0);
}

static void pack_end(struct buf *b) { put_le32(b->ptr + 6, (uint32_t)(b->len - PACK_HEADER)); }

static void cbor_head(struct buf *b, uint8_t major, uint32_t n)
{
	uint8_t p[5] = { (uint8_t)(major << 5 | 26) };
	put_be32(p + 1, n);
	buf_put(b, p, sizeof p);
}

static void pack_metadata(struct buf *b, uint64_t n)
{
	pack_begin(b);
	buf_text(b, "\xa2\x67tensors\xa0\x61x");
	cbor_head(b, 2, (uint32_t)(PACK_HEADER + n - b->len - 5));
	fill(b, 0, PACK_HEADER + n - b->len);
	pack_end(b);
}

static void pack_tensors(struct buf *b, uint64_t n)
{
	pack_begin(b);
	buf_text(b, "\xa1\x67tensors");
	cbor_head(b, 5, (uint32_t)n);
	for (uint64_t i = 0; i < n; i++) {
		buf_printf(b, "\x66%06llx\xa3\x65" "dtype\x62U8\x65shape\x81", (unsigned long long)i);
		buf_byte(b, 0);
		buf_text(b, "\x6c" "data_offsets\x82");
		fill(b, 0, 2);
	}
	pack_end(b);
}

/* The root is the first container. */
static void pack_depth(struct buf *b, uint64_t n)
{
	pack_begin(b);
	buf_text(b, "\xa2\x67tensors\xa0\x61x");
	repeat(b, "\x81", n - 1);
	buf_byte(b, 0);
	pack_end(b);
}

static void pack_key(struct buf *b, uint64_t n)
{
	pack_begin(b);
	buf_text(b, "\xa2\x67tensors\xa0");
	cbor_head(b, 3, (uint32_t)n);
	fill(b, 'k', n);
	buf_byte(b, 0);
	pack_end(b);
}

/* ---- APR ---- */

static void apr_end(struct buf *b)
{
	uint64_t len = b->len - APR_HEADER;
	fill(b, 0, pad_to(b->len, APR_ALIGN));
	const struct apr_header h = {
		.major = APR_MAJOR, .minor = APR_MINOR, .flags = APR_ROW_MAJOR, .metadata_at = APR_HEADER,
		.metadata_len = (uint32_t)len, .index_at = b->len, .data_at = b->len,
	};
	apr_header_put(&h, b->ptr);
}

static void apr_metadata(struct buf *b, uint64_t n)
{
	fill(b, 0, APR_HEADER);
	buf_text(b, "{\"a\":\"");
	fill(b, 'a', n - 8);
	buf_text(b, "\"}");
	apr_end(b);
}

static void apr_depth(struct buf *b, uint64_t n)
{
	fill(b, 0, APR_HEADER);
	buf_text(b, "{\"a\":");
	fill(b, '[', n - 1);
	fill(b, ']', n - 1);
	buf_text(b, "}");
	apr_end(b);
}

/* Compressed as a whole, the header not counted. */
static void apr_image(struct buf *b, uint64_t n)
{
	fill(b, 0, APR_HEADER);
	buf_u32(b, (uint32_t)n);
	/* three literals, a match of offset 1 that is 4 + 15 + 255 + 255 + ... long, five literals */
	uint64_t more = n - 3 - 5 - 4 - 15;
	buf_put(b, "\x3f{} \x01\x00", 6);
	fill(b, '\xff', more / 255);
	buf_byte(b, (uint8_t)(more % 255));
	buf_put(b, "\x50     ", 6);
	const struct apr_header h = {
		.major = APR_MAJOR, .minor = APR_MINOR, .flags = APR_ROW_MAJOR | APR_LZ4, .metadata_at = APR_HEADER,
		.metadata_len = 2, .index_at = 128, .data_at = 128,
	};
	apr_header_put(&h, b->ptr);
}

/* ---- GGUF ---- */

static void gguf_begin(struct buf *b, const char *key, uint32_t type)
{
	buf_text(b, GGUF_MAGIC);
	buf_u32(b, GGUF_VERSION);
	buf_u64(b, 0);
	buf_u64(b, 1);
	buf_u64(b, strlen(key));
	buf_text(b, key);
	buf_u32(b, type);
}

static void gguf_depth(struct buf *b, uint64_t n)
{
	gguf_begin(b, "a", VALUE_ARRAY);
	for (; n > 1; n--) {
		buf_u32(b, VALUE_ARRAY);
		buf_u64(b, 1);
	}
	buf_u32(b, VALUE_U8);
	buf_u64(b, 0);
}

/* ---- thin ---- */

#define THIN_BEGIN "{\"format\":\"thintensor\",\"version\":0,\"model\":{\"arch\":\"a\",\"hidden_size\":1,\"layers\":1,\"heads\":1," \
                   "\"kv_heads\":1,\"dtype\":\"u8\"},\"execution_tape\":["
#define THIN_END ",\"memory_plan\":{\"scratch_bytes\":0,\"min_vram_bytes\":0,\"recommended_vram_bytes\":0,\"kv_cache\":{" \
                 "\"policy\":\"p\",\"recent_tokens_high_precision\":0,\"old_tokens_codec\":\"q4\"}}}"

static void thin_finish(struct buf *b, tn_view id)
{
	static const tn_digest zero;
	struct thin_header h = { .manifest_off = THIN_HEADER, .manifest_len = b->len - THIN_HEADER, .table_off = b->len };
	h.page_count = id.len != 0;
	h.data_off = b->len + h.page_count * (THIN_RECORD + id.len);
	if (id.len != 0) {
		const struct thin_record r = { .id = id, .offset = h.data_off, .digest = &zero };
		b->len += thin_put_record(buf_room(b, THIN_RECORD + id.len), &r);
	}
	thin_put_header(b->ptr, &h);
}

/* Around the value stand the manifest, the tape, a stage and its parameters. */
static void thin_depth(struct buf *b, uint64_t n)
{
	fill(b, 0, THIN_HEADER);
	buf_text(b, THIN_BEGIN "{\"stage\":\"s\",\"page_refs\":[],\"operator_params\":{\"a\":");
	fill(b, '[', n - 4);
	fill(b, ']', n - 4);
	buf_text(b, "}}],\"pages\":[]" THIN_END);
	thin_finish(b, (tn_view){ NULL, 0 });
}

static void thin_id(struct buf *b, uint64_t n)
{
	uint8_t *id = malloc((size_t)n);
	memset(id, 'i', (size_t)n);
	fill(b, 0, THIN_HEADER);
	buf_text(b, THIN_BEGIN "],\"pages\":[{\"id\":\"");
	fill(b, 'i', n);
	buf_text(b, "\",\"kind\":\"weight\",\"op\":\"o\",\"dtype\":\"u8\",\"shape\":[0],\"backend_layout\":\"l\",\"size\":0,\"checksum\":\"\"}]" THIN_END);
	thin_finish(b, (tn_view){ id, (size_t)n });
	free(id);
}

/* ---- The edges ---- */

static const struct edge {
	const char *name;
	make_fn     make;
	uint64_t    limit;
	tn_code     code;
	const char *says;    /* of one more */
	tn_limits   raised;  /* by which one more is read as well; all zero: it cannot be raised */
} edges[] = {
	{ "safetensors header", st_header, 100000000, TN_E_LIMIT, "100000000", { .max_header = 100000001 } },
	{ "safetensors depth", st_depth, 128, TN_E_LIMIT, "deeper than 128", { 0 } },
	{ "burnpack metadata", pack_metadata, PACK_MAX_METADATA, TN_E_LIMIT, "104857600", { .max_header = PACK_MAX_METADATA + 1 } },
	{ "burnpack tensors", pack_tensors, PACK_MAX_TENSORS, TN_E_LIMIT, "the limit is 100000", { .max_tensors = PACK_MAX_TENSORS + 1 } },
	{ "burnpack depth", pack_depth, PACK_NESTING, TN_E_CORRUPT, "too deep", { 0 } },
	{ "burnpack key", pack_key, PACK_KEY_MAX, TN_E_CORRUPT, "at most 4096", { 0 } },
	{ "apr metadata", apr_metadata, APR_METADATA_MAX, TN_E_LIMIT, "16777216", { .max_header = APR_METADATA_MAX + 1 } },
	{ "apr depth", apr_depth, APR_NESTING, TN_E_LIMIT, "127", { 0 } },
	{ "apr image", apr_image, 64 << 20, TN_E_LIMIT, "67108864", { .max_memory = 1 << 30 } },
	{ "gguf depth", gguf_depth, GGUF_NESTING, TN_E_LIMIT, "more than 8 arrays", { 0 } },
	{ "thin depth", thin_depth, META_DEPTH, TN_E_LIMIT, "more than 100", { 0 } },
	{ "thin id", thin_id, THIN_ID_MAX, TN_E_CORRUPT, "4096", { 0 } },
};

static tn_code open_one(const struct edge *e, uint64_t n, const tn_limits *limits, tn_error *err)
{
	const tn_open_options how = { .limits = *limits };
	struct buf b;
	tn_file *f;
	buf_init(&b, 0);
	e->make(&b, n);
	assert_false(b.failed);
	tn_code code = tn_open_memory(&f, buf_bytes(&b), &how, err);
	tn_close(f);
	buf_fini(&b);
	return code;
}

static void each_edge(void **state)
{
	static const tn_limits none, nothing;
	(void)state;
	for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
		const struct edge *e = &edges[i];
		tn_error err;
		if (open_one(e, e->limit, &none, &err) != TN_OK)
			fail_msg("%s: at the limit: %s", e->name, err.msg);
		tn_code code = open_one(e, e->limit + 1, &none, &err);
		if (code != e->code || strstr(err.msg, e->says) == NULL)
			fail_msg("%s: one over the limit: %s: %s", e->name, tn_code_name(code), code != TN_OK ? err.msg : "");
		if (memcmp(&e->raised, &nothing, sizeof nothing) != 0 && open_one(e, e->limit + 1, &e->raised, &err) != TN_OK)
			fail_msg("%s: the limit is raised: %s", e->name, err.msg);
	}
}

/* A caller may also ask for less. */
static void lowered(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
		tn_limits less = edges[i].raised;
		uint64_t *of[] = { &less.max_header, &less.max_tensors };
		tn_error err;
		for (size_t k = 0; k < 2; k++) {
			if (*of[k] == 0)
				continue;
			*of[k] = 90;
			assert_int_equal(open_one(&edges[i], 91, &less, &err), TN_E_LIMIT);
			assert_non_null(strstr(err.msg, "90"));
			*of[k] = 91;
			assert_int_equal(open_one(&edges[i], 91, &less, &err), TN_OK);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_edge),
		cmocka_unit_test(lowered),
	};
	return cmocka_run_group_tests_name("edges", tests, NULL, NULL);
}
