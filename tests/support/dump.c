/* dump.c - an open file as text. */
#include "support/dump.h"

#include "base/buf.h"
#include "base/bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void put_quoted(struct buf *out, tn_view v)
{
	buf_byte(out, '"');
	for (size_t i = 0; i < v.len; i++) {
		uint8_t c = v.ptr[i];
		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c >= 0x20 && c < 0x7f)
			buf_byte(out, c);
		else
			buf_printf(out, "\\x%02x", c);
	}
	buf_byte(out, '"');
}

static char *done(struct buf *b)
{
	char *text = NULL;
	buf_byte(b, 0);
	if (!b->failed && (text = malloc(b->len)) != NULL)
		memcpy(text, b->ptr, b->len);
	buf_fini(b);
	if (text == NULL) {
		fprintf(stderr, "test set-up: out of memory\n");
		exit(99);
	}
	return text;
}

static void put_value(struct buf *out, const tn_meta *node)
{
	uint64_t u = 0;
	int64_t i = 0;
	double f = 0;
	bool b = false;
	tn_view s = { 0 };
	switch (tn_meta_kind(node)) {
	case TN_META_BOOL:
		tn_meta_bool(node, &b);
		buf_text(out, b ? " true" : " false");
		break;
	case TN_META_INT:
		tn_meta_i64(node, &i);
		buf_printf(out, " %" PRId64, i);
		break;
	case TN_META_UINT:
		tn_meta_u64(node, &u);
		buf_printf(out, " %" PRIu64, u);
		break;
	case TN_META_FLOAT:
		tn_meta_f64(node, &f);
		buf_printf(out, " %016" PRIx64, f64_bits(f));
		break;
	case TN_META_STRING:
	case TN_META_BYTES:
		tn_meta_bytes(node, &s);
		buf_byte(out, ' ');
		put_quoted(out, s);
		break;
	case TN_META_NULL:
	case TN_META_ARRAY:
	case TN_META_MAP:
		break;
	}
}

static void put_items(struct buf *out, const tn_meta *node, bool widths, size_t depth)
{
	static const char *const kinds[] = {
		"null", "bool", "int", "uint", "float", "string", "bytes", "array", "map"
	};
	tn_meta_iter it = tn_meta_items(node);
	for (const tn_meta *item; (item = tn_meta_next(&it)) != NULL; ) {
		buf_fill(out, ' ', 2 * depth);
		if (tn_meta_kind(node) == TN_META_MAP) {
			put_quoted(out, tn_meta_key(item));
			buf_byte(out, ' ');
		}
		buf_text(out, kinds[tn_meta_kind(item)]);
		if (widths && tn_meta_width(item) != 0)
			buf_printf(out, "%u", tn_meta_width(item));
		put_value(out, item);
		buf_byte(out, '\n');
		put_items(out, item, widths, depth + 1);
	}
}

static void put_tensor(struct buf *out, const tn_file *file, size_t i)
{
	tn_tensor t = tn_tensor_at(file, i);
	buf_text(out, "tensor ");
	put_quoted(out, t.name);
	buf_printf(out, " %s", tn_dtype_name(t.dtype));
	if (t.dtype == TN_OPAQUE) {
		buf_byte(out, ':');
		put_quoted(out, t.dtype_text);
	}
	buf_text(out, " [");
	for (uint32_t k = 0; k < t.rank; k++)
		buf_printf(out, "%s%" PRIu64, k != 0 ? "," : "", t.shape[k]);
	buf_printf(out, "] %" PRIu64 " %" PRIu64 " ", t.offset, t.nbytes);
	tn_digest digest;
	tn_error err;
	char hex[2 * TN_DIGEST_LEN + 1];
	bool ok = tn_hash_tensor(file, i, &digest, &err) == TN_OK;
	if (ok)
		tn_digest_text(&digest, hex);
	buf_printf(out, "%s\n", ok ? hex : err.msg);
	if (t.extras != NULL)
		put_items(out, t.extras, false, 1);
}

char *dump_file(const tn_file *file)
{
	struct buf out;
	buf_init(&out, 0);
	buf_printf(&out, "format %s\nversion \"%s\"\n", tn_file_format(file),
	           tn_file_version(file));
	for (size_t i = 0; i < tn_tensor_count(file); i++)
		put_tensor(&out, file, i);
	buf_text(&out, "metadata\n");
	put_items(&out, tn_metadata(file), false, 1);
	if (tn_meta_count(tn_native(file)) != 0) {
		buf_text(&out, "native\n");
		put_items(&out, tn_native(file), false, 1);
	}
	return done(&out);
}

char *dump_meta(const tn_meta *node, bool widths)
{
	struct buf out;
	buf_init(&out, 0);
	put_items(&out, node, widths, 0);
	return done(&out);
}

static void put_offset(struct buf *out, uint64_t offset)
{
	if (offset == TN_NO_OFFSET)
		buf_text(out, " -");
	else
		buf_printf(out, " %" PRIu64, offset);
}

char *dump_findings(const tn_file *file, const tn_report *report)
{
	struct buf out;
	buf_init(&out, 0);
	if (tn_file_dialect(file)[0] != '\0')
		buf_printf(&out, "dialect %s\n", tn_file_dialect(file));
	for (size_t i = 0; i < tn_report_count(report); i++) {
		tn_finding f = tn_report_at(report, i);
		buf_printf(&out, "%s %s", tn_severity_name(f.severity), tn_code_name(f.code));
		put_offset(&out, f.offset);
		buf_byte(&out, ' ');
		if (f.tensor.ptr != NULL)
			put_quoted(&out, f.tensor);
		else
			buf_byte(&out, '-');
		buf_printf(&out, " %s\n", f.text);
	}
	return done(&out);
}

char *dump_error(const tn_error *err)
{
	struct buf out;
	buf_init(&out, 0);
	buf_text(&out, tn_code_name(err->code));
	put_offset(&out, err->offset);
	buf_printf(&out, " %s\n", err->msg);
	return done(&out);
}
