/* json_print.c - JSON text as serde_json spells it. */
#include "base/numtext.h"
#include "base/utf8.h"
#include "codec/json.h"
#include <math.h>

static bool needs_escape(uint8_t c) { return c < 0x20 || c == '"' || c == '\\'; }

static void put_escape(struct buf *out, uint8_t c)
{
	switch (c) {
	case '"':  buf_text(out, "\\\""); break;
	case '\\': buf_text(out, "\\\\"); break;
	case '\b': buf_text(out, "\\b");  break;
	case '\f': buf_text(out, "\\f");  break;
	case '\n': buf_text(out, "\\n");  break;
	case '\r': buf_text(out, "\\r");  break;
	case '\t': buf_text(out, "\\t");  break;
	default:   buf_printf(out, "\\u%04x", c); break;
	}
}

/* The inside of a string: runs that need nothing are copied whole. */
static void put_inside(struct buf *out, tn_view v)
{
	size_t from = 0;
	for (size_t i = 0; i < v.len; i++) {
		if (!needs_escape(v.ptr[i]))
			continue;
		buf_put(out, v.ptr + from, i - from);
		put_escape(out, v.ptr[i]);
		from = i + 1;
	}
	if (from < v.len)
		buf_put(out, v.ptr + from, v.len - from);
}

void json_put_string(struct buf *out, tn_view v)
{
	buf_byte(out, '"');
	put_inside(out, v);
	buf_byte(out, '"');
}

void json_put_lossy(struct buf *out, tn_view v)
{
	buf_byte(out, '"');
	while (v.len != 0) {
		size_t good = utf8_span(v);
		put_inside(out, (tn_view){ v.ptr, good });
		if (good == v.len)
			break;
		buf_printf(out, "\\\\x%02x", v.ptr[good]);
		v = (tn_view){ v.ptr + good + 1, v.len - good - 1 };
	}
	buf_byte(out, '"');
}

void json_put_uint(struct buf *out, uint64_t v)
{
	char text[NUMTEXT];
	buf_put(out, text, u64_text(v, text));
}

void json_put_int(struct buf *out, int64_t v)
{
	char text[NUMTEXT];
	buf_put(out, text, i64_text(v, text));
}

void json_put_real(struct buf *out, double v)
{
	char text[NUMTEXT];
	if (isfinite(v))
		buf_put(out, text, f64_text(v, text));
	else
		buf_text(out, "null");
}
