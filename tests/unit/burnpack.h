/* burnpack.h - small burnpack files in memory, their metadata written as people read it. */
#ifndef UNIT_BURNPACK_H
#define UNIT_BURNPACK_H

#include "base/bytes.h"
#include "base/num.h"
#include "codec/cbor.h"
#include "format/burnpack/layout.h"
#include "format/burnpack/scheme.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

extern const struct format format_burnpack;

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- CBOR from text ---- */

static inline const char *cbor_value(const char *p, struct buf *out);

static inline const char *cbor_items(const char *p, char close, bool map, struct buf *out)
{
	struct buf items;
	uint64_t n = 0;
	buf_init(&items, 0);
	for (; *p != close; n++) {
		p = cbor_value(p, &items);
		p += *p == ',' || *p == ':';
	}
	if (map)
		cbor_put_map(out, n / 2);
	else
		cbor_put_array(out, n);
	buf_view(out, buf_bytes(&items));
	buf_fini(&items);
	return p + 1;
}

/* <f6> stands for itself; what follows without a comma goes with it, as the value of a tag does. */
static inline const char *cbor_raw(const char *p, struct buf *out)
{
	for (; *p != '>'; p += 2) {
		unsigned byte;
		assert_int_equal(sscanf(p, "%2x", &byte), 1);
		buf_byte(out, (uint8_t)byte);
	}
	p++;
	return *p == '\0' || strchr(",:]}", *p) != NULL ? p : cbor_value(p, out);
}

/* {'key':1}, ['text',-1], null, true, false, <hex>; no blanks. Returns where the value ends. */
static inline const char *cbor_value(const char *p, struct buf *out)
{
	char *end = NULL;
	switch (*p) {
	case '{': return cbor_items(p + 1, '}', true, out);
	case '[': return cbor_items(p + 1, ']', false, out);
	case '<': return cbor_raw(p + 1, out);
	case 'n': cbor_put_null(out); return p + 4;
	case 't': cbor_put_bool(out, true); return p + 4;
	case 'f': cbor_put_bool(out, false); return p + 5;
	case '\'': {
		const char *close = strchr(p + 1, '\'');
		cbor_put_text(out, (tn_view){ (const uint8_t *)p + 1, (size_t)(close - p - 1) });
		return close + 1;
	}
	case '-': cbor_put_int(out, strtoll(p, &end, 10)); return end;
	default: cbor_put_uint(out, strtoull(p, &end, 10)); return end;
	}
}

/* One tensor 't' of these members. */
#define ONE(members) "{'tensors':{'t':{" members "}}}"
/* The same, quantised: four values of one byte and what the scheme adds. */
#define QUANTISED(scheme, end) ONE("'dtype':{'QFloat':{" scheme "}},'shape':[4],'data_offsets':[0," end "]")

/* ---- Files ---- */

/* One file and what was read from it. */
struct opened {
	struct buf       file;
	struct arena     mem;
	struct model     model;
	struct tn_report report;
	struct strmap    names;
	struct parse_job job;
	tn_error         err;
};

/* Header and metadata, then zeros up to a multiple of align, then data bytes 1 2 3 ... */
static inline void build(struct buf *out, const char *metadata, uint64_t align, size_t data)
{
	struct buf cbor;
	buf_init(&cbor, 0);
	buf_init(out, 0);
	while (*metadata != '\0')
		metadata = cbor_value(metadata, &cbor);
	buf_text(out, "NRUB");
	buf_fill(out, 0, 6);
	put_le16(out->ptr + 4, 1);
	put_le32(out->ptr + 6, (uint32_t)cbor.len);
	buf_view(out, buf_bytes(&cbor));
	buf_fill(out, 0, (size_t)pad_to(out->len, align));
	for (size_t i = 0; i < data; i++)
		buf_byte(out, (uint8_t)(i + 1));
	buf_fini(&cbor);
}

/* Reads o->file as opening does: parse, then the common checks. */
static inline tn_code open_file(struct opened *o, const tn_limits *limits)
{
	static const tn_limits none;
	arena_init(&o->mem, 0);
	report_init(&o->report);
	o->err = (tn_error){ .code = TN_OK };
	assert_true(model_init(&o->model, &o->mem));
	o->job = (struct parse_job){
		.file = buf_bytes(&o->file), .size = o->file.len, .limits = limits != NULL ? limits : &none, .mem = &o->mem,
		.model = &o->model, .report = &o->report, .err = &o->err,
	};
	if (format_burnpack.parse(&o->job) != TN_OK)
		return o->err.code;
	return model_check(&o->model, "burnpack", o->file.len, &o->job.check, &o->mem, &o->names, &o->err);
}

static inline tn_code open_bytes(struct opened *o, const void *bytes, size_t len)
{
	buf_init(&o->file, 0);
	buf_put(&o->file, bytes, len);
	return open_file(o, NULL);
}

static inline tn_code open_text(struct opened *o, const char *metadata, size_t data)
{
	build(&o->file, metadata, PACK_ALIGN, data);
	return open_file(o, NULL);
}

static inline void close_opened(struct opened *o)
{
	report_fini(&o->report);
	arena_fini(&o->mem);
	buf_fini(&o->file);
}

/* Whether a finding of this severity has text in it. */
static inline bool says(const struct tn_report *r, tn_severity severity, const char *text)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->list[i].severity == severity && strstr(r->list[i].text, text) != NULL)
			return true;
	return false;
}

/* ---- The worked examples of the format: what upstream's writer wrote ---- */

/* No tensors: 256 bytes. */
#define EXAMPLE_EMPTY \
	"NRUB\x01\x00\x0a\x00\x00\x00" \
	"\xa1\x67tensors\xa0"
enum { EXAMPLE_EMPTY_SIZE = 256 };

/* "weight", f32 [2,2], 1 2 3 4, param_id 42, producer "burn-pack docs": 272 bytes. */
#define EXAMPLE_WEIGHT \
	"NRUB\x01\x00\x62\x00\x00\x00" \
	"\xa2\x67tensors\xa1\x66weight\xa4\x65" "dtype\x63" "F32\x65shape\x82\x02\x02" \
	"\x6c" "data_offsets\x82\x00\x10\x68param_id\x18\x2a" \
	"\x68metadata\xa1\x68producer\x6e" "burn-pack docs"
#define EXAMPLE_WEIGHT_DATA "\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40\x00\x00\x80\x40"
enum { EXAMPLE_WEIGHT_SIZE = 272 };

/* "mask", bool [3], 1 0 1, written first; "layer.q", q8s [2,3], param_id 7: 522 bytes. */
#define EXAMPLE_QUANTISED \
	"NRUB\x01\x00\xaf\x00\x00\x00" \
	"\xa1\x67tensors\xa2\x67layer.q\xa4\x65" "dtype\xa1\x66QFloat\xa5\x65value\x63Q8S\x65store\x66Native" \
	"\x64mode\x69Symmetric\x66tensor\xf6\x65" "block\xf6\x65shape\x82\x02\x03" \
	"\x6c" "data_offsets\x82\x19\x01\x00\x19\x01\x0a\x68param_id\x07" \
	"\x64mask\xa3\x65" "dtype\xa1\x64" "Bool\x66Native\x65shape\x81\x03\x6c" "data_offsets\x82\x00\x03"
#define EXAMPLE_MASK_DATA "\x01\x00\x01"
#define EXAMPLE_Q_DATA "\x00\x19\x33\x4c\x66\x7f\x00\x00\x00\x3f"
enum { EXAMPLE_QUANTISED_SIZE = 522 };

static inline void put_at(struct buf *out, size_t at, const char *bytes, size_t n)
{
	if (out->len < at)
		buf_fill(out, 0, at - out->len);
	buf_put(out, bytes, n);
}

static inline void example_empty(struct buf *out)
{
	buf_init(out, 0);
	put_at(out, 0, EXAMPLE_EMPTY, sizeof EXAMPLE_EMPTY - 1);
	put_at(out, EXAMPLE_EMPTY_SIZE, "", 0);
}

static inline void example_weight(struct buf *out)
{
	buf_init(out, 0);
	put_at(out, 0, EXAMPLE_WEIGHT, sizeof EXAMPLE_WEIGHT - 1);
	put_at(out, 0x100, EXAMPLE_WEIGHT_DATA, 16);
}

static inline void example_quantised(struct buf *out)
{
	buf_init(out, 0);
	put_at(out, 0, EXAMPLE_QUANTISED, sizeof EXAMPLE_QUANTISED - 1);
	put_at(out, 0x100, EXAMPLE_MASK_DATA, 3);
	put_at(out, 0x200, EXAMPLE_Q_DATA, 10);
}

#endif
