/* fuzz_json.c - any bytes as JSON. What parses is walked, printed, and must parse to the same
 * again. */
#include "fuzz/fuzz.h"

#include "codec/json.h"

#include "base/utf8.h"

static void print(struct buf *out, const struct json_val *v)
{
	struct json_iter it = json_items(v);
	const char *comma = "";
	switch (json_type(v)) {
	case JSON_NULL:   buf_text(out, "null"); return;
	case JSON_BOOL:   buf_text(out, json_bool(v) ? "true" : "false"); return;
	case JSON_UINT:   json_put_uint(out, json_uint(v)); return;
	case JSON_INT:    json_put_int(out, json_int(v)); return;
	case JSON_REAL:   json_put_real(out, json_real(v)); return;
	case JSON_STRING:
		require(utf8_ok(json_string(v)), "strings are UTF-8");
		json_put_string(out, json_string(v));
		return;
	case JSON_ARRAY:
	case JSON_OBJECT:
		break;
	}
	bool object = json_type(v) == JSON_OBJECT;
	buf_byte(out, object ? '{' : '[');
	for (; json_next(&it); comma = ",") {
		buf_text(out, comma);
		if (object) {
			json_put_string(out, it.key);
			buf_byte(out, ':');
		}
		print(out, it.val);
	}
	buf_byte(out, object ? '}' : ']');
}

static struct buf printed(tn_view text, bool must_parse)
{
	struct json_doc *doc;
	struct json_options options = { .what = "fuzz", .budget = 64 << 20 };
	struct buf out;
	tn_error err = { 0 };
	buf_init(&out, 0);
	if (json_parse(&doc, text, &options, &err) == TN_OK) {
		print(&out, json_root(doc));
		json_free(doc);
	} else {
		require(!must_parse && doc == NULL && err.msg[0] != '\0' && err.offset <= text.len,
		        "what was printed parses; a refusal gives a reason and a place");
	}
	return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf once = printed((tn_view){ data, size }, false);
	if (once.len != 0) {
		struct buf twice = printed(buf_bytes(&once), true);
		require(view_eq(buf_bytes(&once), buf_bytes(&twice)), "the same text");
		buf_fini(&twice);
	}
	buf_fini(&once);
	return 0;
}
