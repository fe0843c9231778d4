/* js.c - printing JSON: keys in the order of the calls, lists one item a line. */
#include "cli/js.h"
#include "cli/out.h"
#include <inttypes.h>
#include <string.h>

void js_begin(struct json *j, FILE *to)
{
	*j = (struct json){ .to = to };
}

void js_end(struct json *j)
{
	fputc('\n', j->to);
}

static void new_line(const struct json *j, unsigned depth)
{
	fprintf(j->to, "\n%*s", (int)(2 * depth), "");
}

/* Whatever stands between the item before and this one. */
static void before_item(struct json *j)
{
	if (j->keyed) {
		j->keyed = false;
		return;
	}
	if (j->depth == 0)
		return;
	bool some = j->some[j->depth - 1], lines = j->lines[j->depth - 1];
	j->some[j->depth - 1] = true;
	if (some)
		fputs(lines ? "," : ", ", j->to);
	if (lines)
		new_line(j, j->depth);
}

static void print_string(FILE *to, tn_view v)
{
	fputc('"', to);
	for (size_t i = 0, len; i < v.len; i += len) {
		uint32_t c = 0;
		const char *p = (const char *)v.ptr + i;
		len = text_char(v.ptr + i, v.len - i, &c);
		if (len == 0) {
			len = 1;
			fprintf(to, "\\\\x%02x", v.ptr[i]);
		} else if (c == '"' || c == '\\') {
			fprintf(to, "\\%c", (char)c);
		} else if (c == '\n' || c == '\t' || c == '\r') {
			fputs(c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r", to);
		} else if (c >= 0x10000 && text_unsafe(c)) {
			fprintf(to, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd7c0 + (c >> 10),
			        0xdc00 + (c & 0x3ff));
		} else if (text_unsafe(c)) {
			fprintf(to, "\\u%04" PRIx32, c);
		} else {
			fwrite(p, 1, len, to);
		}
	}
	fputc('"', to);
}

struct json *js_at_view(struct json *j, tn_view key)
{
	before_item(j);
	print_string(j->to, key);
	fputs(": ", j->to);
	j->keyed = true;
	return j;
}

struct json *js_at(struct json *j, const char *key)
{
	return js_at_view(j, tn_text(key));
}

void js_open(struct json *j, char opener, enum json_style style)
{
	before_item(j);
	if (j->depth == JSON_DEPTH)
		out_die("metadata nests too deeply to be printed");
	bool inside_line = j->depth > 0 && !j->lines[j->depth - 1];
	j->lines[j->depth] = style == JSON_LINES && !inside_line;
	j->some[j->depth] = false;
	j->closer[j->depth] = opener == '{' ? '}' : ']';
	j->depth++;
	fputc(opener, j->to);
}

void js_close(struct json *j)
{
	j->depth--;
	if (j->some[j->depth] && j->lines[j->depth])
		new_line(j, j->depth);
	fputc(j->closer[j->depth], j->to);
}

void js_null(struct json *j)
{
	before_item(j);
	fputs("null", j->to);
}

void js_bool(struct json *j, bool v)
{
	before_item(j);
	fputs(v ? "true" : "false", j->to);
}

void js_uint(struct json *j, uint64_t v)
{
	before_item(j);
	fprintf(j->to, "%" PRIu64, v);
}

void js_int(struct json *j, int64_t v)
{
	before_item(j);
	fprintf(j->to, "%" PRId64, v);
}

void js_number(struct json *j, const struct text *t)
{
	before_item(j);
	fprintf(j->to, strpbrk(text_is(t), "NI") == NULL ? "%s" : "\"%s\"", text_is(t));
}

void js_f64(struct json *j, double v)
{
	struct text t = { 0 };
	text_f64(&t, v);
	js_number(j, &t);
	text_free(&t);
}

void js_f32(struct json *j, float v)
{
	struct text t = { 0 };
	text_f32(&t, v);
	js_number(j, &t);
	text_free(&t);
}

void js_string(struct json *j, tn_view v)
{
	before_item(j);
	print_string(j->to, v);
}

void js_hex(struct json *j, tn_view v)
{
	before_item(j);
	fputc('"', j->to);
	for (size_t i = 0; i < v.len; i++)
		fprintf(j->to, "%02x", v.ptr[i]);
	fputc('"', j->to);
}
