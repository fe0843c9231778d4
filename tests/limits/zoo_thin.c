/* zoo_thin.c - hostile ThinTensor archives. */
#include "limits/zoo.h"
#include "codec/blake3.h"
#include "codec/zstd.h"
#include "format/thin/layout.h"

#include <stdlib.h>

enum { TAIL = 900 };
#define NO_CHECKSUM "00000000000000000000000000000000" "00000000000000000000000000000000"
#define MODEL_OF(layers) \
	"\"model\":{\"arch\":\"a\",\"hidden_size\":1,\"layers\":" layers ",\"heads\":1,\"kv_heads\":1,\"dtype\":\"u8\""
#define MODEL MODEL_OF("1")
#define PLAN ",\"memory_plan\":{\"scratch_bytes\":0,\"min_vram_bytes\":0,\"recommended_vram_bytes\":0,\"kv_cache\":{\"policy\":\"p\"," \
             "\"recent_tokens_high_precision\":0,\"old_tokens_codec\":\"q4\"}}}"

/* An archive whose manifest is full of what part makes, and whose table has records for the parts with a number below
 * so many. */
struct shape {
	const char *model, *before, *after; /* more members of the model; around the parts */
	zoo_part    part;
	size_t      record;  /* room for each part's record */
};

static void archive(struct buf *b, const struct shape *s, unsigned records, void (*id)(struct buf *b, unsigned i))
{
	buf_fill(b, 0, THIN_HEADER);
	buf_printf(b, "{\"format\":\"thintensor\",\"version\":0," MODEL "%s},%s", s->model, s->before);
	size_t room = TAIL + records * s->record;
	unsigned n = zoo_fill(b, s->part, room);
	buf_text(b, s->after);
	buf_text(b, PLAN);
	struct thin_header h = { .manifest_off = THIN_HEADER, .manifest_len = b->len - THIN_HEADER, .table_off = b->len };
	h.page_count = n < records ? n : records;
	for (unsigned i = 0; i < h.page_count; i++) {
		size_t at = b->len;
		buf_u16(b, 0);
		id(b, i);
		put_le16(b->ptr + at, (uint16_t)(b->len - at - 2));
		buf_u64(b, b->len);
		buf_u64(b, 0);
		buf_u64(b, 0);
		buf_u32(b, 0);
		buf_fill(b, 0, TN_DIGEST_LEN);
	}
	h.data_off = b->len;
	thin_put_header(b->ptr, &h);
}

static void number_id(struct buf *b, unsigned i) { buf_printf(b, "%05x", i); }
static void one_id(struct buf *b, unsigned i) { (void)i, buf_byte(b, 'a'); }

/* ---- Pages ---- */

#define PAGE_OF(more) "%s{\"id\":\"%05x\",\"kind\":\"weight\",\"op\":\"o\",\"dtype\":\"u8\",\"shape\":[0],\"backend_layout\":\"l\",\"size\":0," \
                "\"checksum\":\"\"" more "}"
#define NO_TAPE "\"execution_tape\":[],\"pages\":["

static void page(struct buf *b, unsigned i) { buf_printf(b, PAGE_OF(""), i != 0 ? "," : "", i); }
static void same_page(struct buf *b, unsigned i) { buf_printf(b, PAGE_OF(""), i != 0 ? "," : "", 0); }
static void slice(struct buf *b, unsigned i) { buf_printf(b, PAGE_OF(",\"fused_to\":\"00000\",\"fused_offset\":0"), i != 0 ? "," : "", i + 1); }
static void self(struct buf *b, unsigned i) { buf_printf(b, PAGE_OF(",\"fused_to\":\"%05x\",\"scale_page\":\"%05x\""), i != 0 ? "," : "", i, i + 1, i ^ 1); }

static void fused(struct buf *b, unsigned i)
{
	if (i % 2 == 0)
		buf_printf(b, "%s{\"id\":\"a\",\"kind\":\"fused_physical\",\"op\":\"o\",\"dtype\":\"u8\",\"shape\":[0],\"backend_layout\":\"l\","
		           "\"size\":0,\"checksum\":\"\"}", i != 0 ? "," : "");
	else
		buf_printf(b, PAGE_OF(",\"fused_to\":\"a\",\"fused_offset\":0"), ",", i);
}

static void lost_pages(struct buf *b) { archive(b, &(struct shape){ "", NO_TAPE, "]", page, 0 }, 0, number_id); }
static void pages(struct buf *b) { archive(b, &(struct shape){ "", NO_TAPE, "]", page, 67 }, 5000, number_id); }
static void one_page(struct buf *b) { archive(b, &(struct shape){ "", NO_TAPE, "]", same_page, 0 }, 0, number_id); }
static void slices(struct buf *b) { archive(b, &(struct shape){ "", NO_TAPE, "]", slice, 67 }, 1, number_id); }
static void slices_of_slices(struct buf *b) { archive(b, &(struct shape){ "", NO_TAPE, "]", self, 0 }, 0, number_id); }
static void fused_pages(struct buf *b) { archive(b, &(struct shape){ "", NO_TAPE, "]", fused, 67 }, 1, one_id); }
static void records(struct buf *b) { archive(b, &(struct shape){ "", NO_TAPE, "]", page, 63 }, 5000, one_id); }

/* ---- The tape ---- */

static void stage(struct buf *b, unsigned i) { buf_printf(b, "%s{\"stage\":\"%x\",\"page_refs\":[]}", i != 0 ? "," : "", i); }
static void ref(struct buf *b, unsigned i) { buf_printf(b, "%s\"%x\"", i != 0 ? "," : "", i); }
static void opened(struct buf *b, unsigned i) { (void)i, buf_text(b, "{\"a\":"); }
static void member(struct buf *b, unsigned i) { buf_printf(b, "%s\"%x\":0", i != 0 ? "," : "", i); }
static void same_member(struct buf *b, unsigned i) { buf_printf(b, "%s\"a\":%u", i != 0 ? "," : "", i); }

#define OPEN_STAGE "\"execution_tape\":[{\"stage\":\"s\",\"page_refs\":["
#define OPEN_PARAMS "\"execution_tape\":[{\"stage\":\"s\",\"page_refs\":[],\"operator_params\":{"
static void stages(struct buf *b) { archive(b, &(struct shape){ "", "\"execution_tape\":[", "],\"pages\":[]", stage, 0 }, 0, number_id); }
static void refs(struct buf *b) { archive(b, &(struct shape){ "", OPEN_STAGE, "]}],\"pages\":[]", ref, 0 }, 0, number_id); }
static void deep_params(struct buf *b) { archive(b, &(struct shape){ "", OPEN_PARAMS "\"b\":", "", opened, 0 }, 0, number_id); }
static void params(struct buf *b) { archive(b, &(struct shape){ "", OPEN_PARAMS, "}}],\"pages\":[]", member, 0 }, 0, number_id); }
static void same_params(struct buf *b) { archive(b, &(struct shape){ "", OPEN_PARAMS, "}}],\"pages\":[]", same_member, 0 }, 0, number_id); }

static void unknown(struct buf *b) { archive(b, &(struct shape){ "", NO_TAPE "],\"x\":{", "}", member, 0 }, 0, number_id); }
static void unknown_deep(struct buf *b) { archive(b, &(struct shape){ "", NO_TAPE "],\"x\":", "", opened, 0 }, 0, number_id); }
static void digit(struct buf *b, unsigned i) { (void)i, buf_byte(b, '9'); }
static void digits(struct buf *b) { archive(b, &(struct shape){ "", NO_TAPE "],\"x\":0.", "", digit, 0 }, 0, number_id); }
static void real(struct buf *b, unsigned i) { buf_printf(b, "%s1.%ue-%u", i != 0 ? "," : "", i, i % 300); }
static void reals(struct buf *b) { archive(b, &(struct shape){ "", OPEN_PARAMS "\"b\":[", "]}}],\"pages\":[]", real, 0 }, 0, number_id); }

/* ---- Bytes ---- */

static void count_pages(struct buf *b)
{
	archive(b, &(struct shape){ "", NO_TAPE "],\"x\":{", "}", member, 0 }, 0, number_id);
	put_le64(b->ptr + 40, UINT64_C(1) << 32);
}

/* As many arrays in arrays as an object on the tape may hold. */
static void nest(struct buf *b, unsigned i)
{
	enum { DEEP = 94 };
	if (i != 0)
		buf_byte(b, ',');
	for (unsigned k = 0; k < DEEP; k++)
		buf_byte(b, '[');
	for (unsigned k = 0; k < DEEP; k++)
		buf_byte(b, ']');
}

/* With a page in which there is no fault, since a file that has one is not packed anew. */
static void sound(struct buf *b, const char *model, const char *id, zoo_part values)
{
	char hex[2 * TN_DIGEST_LEN + 1];
	const tn_digest digest = b3_of(VIEW("abcd"));
	tn_digest_text(&digest, hex);
	buf_fill(b, 0, THIN_HEADER);
	buf_printf(b, "{\"format\":\"thintensor\",\"version\":0,%s},\"execution_tape\":[{\"stage\":\"s\",\"page_refs\":[\"%s\"],"
	           "\"operator_params\":{\"b\":[", model, id);
	if (values != NULL)
		zoo_fill(b, values, TAIL);
	buf_printf(b, "]}}],\"pages\":[{\"id\":\"%s\",\"kind\":\"weight\",\"op\":\"o\",\"dtype\":\"u8\",\"shape\":[4],"
	           "\"backend_layout\":\"l\",\"size\":4,\"checksum\":\"%s\"}]" PLAN, id, hex);
	struct thin_header h = { .manifest_off = THIN_HEADER, .manifest_len = b->len - THIN_HEADER, .table_off = b->len, .page_count = 1 };
	h.data_off = b->len + THIN_RECORD + strlen(id);
	const struct thin_record r = { tn_text(id), h.data_off, 4, 4, 0, &digest };
	uint8_t *to = buf_room(b, THIN_RECORD + strlen(id));
	b->len += thin_put_record(to, &r);
	thin_put_header(b->ptr, &h);
	buf_text(b, "abcd");
}

static void nested(struct buf *b) { sound(b, MODEL, "a", nest); }
/* A claim that there are as many layers as the number of one. */
static void last_layer(struct buf *b) { sound(b, MODEL_OF("4294967295"), "model.layers.4294967294.x", NULL); }

/* The most that zstd frames of ours hold: 256 KiB of zeros in each. */
static void zstd_page(struct buf *b)
{
	enum { RAW = 4 << 20 };
	uint8_t *zeros = calloc(1, RAW), frame[4096];
	struct zstd *z = zstd_new();
	size_t n = zstd_pack(z, zeros, RAW, frame, sizeof frame);
	uint64_t many = (ZOO_SIZE - 4 * TAIL) / n;
	zstd_free(z);
	free(zeros);
	buf_fill(b, 0, THIN_HEADER);
	buf_printf(b, "{\"format\":\"thintensor\",\"version\":0," MODEL "}," NO_TAPE
	           "{\"id\":\"a\",\"kind\":\"weight\",\"op\":\"o\",\"dtype\":\"u8\",\"shape\":[%llu],\"backend_layout\":\"l\",\"size\":%llu,"
	           "\"checksum\":\"" NO_CHECKSUM "\"}]" PLAN, (unsigned long long)(many * RAW), (unsigned long long)(many * RAW));
	struct thin_header h = { .manifest_off = THIN_HEADER, .manifest_len = b->len - THIN_HEADER, .table_off = b->len, .page_count = 1 };
	h.data_off = b->len + THIN_RECORD + 1;
	static const tn_digest zero;
	const struct thin_record r = { VIEW("a"), h.data_off, many * n, many * RAW, THIN_FLAG_ZSTD, &zero };
	uint8_t *to = buf_room(b, THIN_RECORD + 1);
	b->len += thin_put_record(to, &r);
	thin_put_header(b->ptr, &h);
	for (uint64_t i = 0; i < many; i++)
		buf_put(b, frame, n);
}

const struct animal zoo_thin[] = {
	{ "thin-lost-pages", lost_pages, NULL }, { "thin-pages", pages, NULL }, { "thin-one-page", one_page, NULL },
	{ "thin-slices", slices, NULL }, { "thin-slices-of-slices", slices_of_slices, NULL }, { "thin-fused", fused_pages, NULL },
	{ "thin-records", records, NULL }, { "thin-stages", stages, NULL }, { "thin-refs", refs, NULL },
	{ "thin-deep-params", deep_params, NULL }, { "thin-params", params, NULL }, { "thin-same-params", same_params, NULL },
	{ "thin-nested-params", nested, NULL }, { "thin-last-layer", last_layer, NULL },
	{ "thin-unknown", unknown, NULL }, { "thin-unknown-deep", unknown_deep, NULL }, { "thin-digits", digits, NULL },
	{ "thin-reals", reals, NULL }, { "thin-count-pages", count_pages, NULL }, { "thin-zstd-page", zstd_page, NULL },
	{ NULL, NULL, NULL },
};
