/* err.c - filling a tn_error, and the escaping that makes bytes of a file fit to be shown. */
#define _POSIX_C_SOURCE 200809L /* strerror_r */
#include "base/err.h"
#include "base/utf8.h"
#include <stdarg.h>
#include <stdio.h>

const char *tn_code_name(tn_code code)
{
	static const char *const names[] = {
		[TN_OK]            = "ok",
		[TN_E_NOMEM]       = "nomem",
		[TN_E_IO]          = "io",
		[TN_E_FORMAT]      = "format",
		[TN_E_UNSUPPORTED] = "unsupported",
		[TN_E_TRUNCATED]   = "truncated",
		[TN_E_CORRUPT]     = "corrupt",
		[TN_E_CHECKSUM]    = "checksum",
		[TN_E_LIMIT]       = "limit",
		[TN_E_LOSSY]       = "lossy",
		[TN_E_NOTFOUND]    = "notfound",
		[TN_E_USAGE]       = "usage",
	};
	return (size_t)code < sizeof names / sizeof *names ? names[code] : "unknown";
}

tn_view tn_text(const char *text)
{
	return text != NULL ? (tn_view){ (const uint8_t *)text, strlen(text) } : (tn_view){ NULL, 0 };
}

/* Terminates a message that was cut at cap bytes, leaving no half of a character behind. */
static void cut_message(char *msg, size_t cap)
{
	size_t len = strnlen(msg, cap - 1);
	msg[len] = '\0';
	msg[utf8_span((tn_view){ (const uint8_t *)msg, len })] = '\0';
}

PRINTF_LIKE(2, 0)
static void format_message(tn_error *err, const char *fmt, va_list args)
{
	int n = vsnprintf(err->msg, sizeof err->msg, fmt, args);
	if (n < 0)
		err->msg[0] = '\0';
	else if ((size_t)n >= sizeof err->msg)
		cut_message(err->msg, sizeof err->msg);
}

tn_code err_set(tn_error *err, tn_code code, uint64_t offset, const char *fmt, ...)
{
	if (err == NULL)
		return code;
	if (err->code != TN_OK)
		return err->code;
	err->code = code;
	err->sys = 0;
	err->offset = offset;
	va_list args;
	va_start(args, fmt);
	format_message(err, fmt, args);
	va_end(args);
	return code;
}

tn_code err_sys(tn_error *err, int sys, const char *what, const char *path)
{
	char why[128];
	if (err == NULL)
		return TN_E_IO;
	if (err->code != TN_OK)
		return err->code;
	if (strerror_r(sys, why, sizeof why) != 0)
		snprintf(why, sizeof why, "system error %d", sys);
	if (path == NULL)
		err_set(err, TN_E_IO, TN_NO_OFFSET, "cannot %s: %s", what, why);
	else
		err_set(err, TN_E_IO, TN_NO_OFFSET, "%s %s: %s", what, ESC(tn_text(path)), why);
	err->sys = sys;
	return TN_E_IO;
}

const char *bytes_text(uint64_t n, char out[BYTES_TEXT])
{
	snprintf(out, BYTES_TEXT, "%llu byte%s", (unsigned long long)n, n == 1 ? "" : "s");
	return out;
}

void err_clear(tn_error *err)
{
	if (err != NULL)
		*err = (tn_error){ .code = TN_OK, .offset = TN_NO_OFFSET };
}

void err_prefix(tn_error *err, const char *fmt, ...)
{
	if (err == NULL || err->code == TN_OK)
		return;
	char rest[sizeof err->msg];
	memcpy(rest, err->msg, sizeof rest);
	va_list args;
	va_start(args, fmt);
	format_message(err, fmt, args);
	va_end(args);
	size_t len = strlen(err->msg);
	int n = snprintf(err->msg + len, sizeof err->msg - len, ": %s", rest);
	if (n < 0 || (size_t)n >= sizeof err->msg - len)
		cut_message(err->msg, sizeof err->msg);
}

/* Characters that a terminal would obey instead of showing: C1 controls, line and paragraph
 * separators, direction marks and overrides, the byte order mark. */
static bool is_invisible(uint32_t c)
{
	return (c >= 0x7f && c <= 0x9f) || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

/* What one character becomes: itself, a letter after a backslash, or \xNN for each of its bytes. */
enum { ESCAPED_CHAR = 4 * 4 };
static size_t escape_char(const uint8_t *p, size_t len, uint32_t c, char out[ESCAPED_CHAR])
{
	static const char hex[] = "0123456789abcdef";
	if (c >= '\a' && c <= '\r') {
		out[0] = '\\';
		out[1] = "abtnvfr"[c - '\a'];
		return 2;
	}
	if (c >= 0x20 && c != '"' && c != '\'' && c != '\\' && !is_invisible(c)) {
		memcpy(out, p, len);
		return len;
	}
	for (size_t i = 0; i < len; i++) {
		out[4 * i] = '\\';
		out[4 * i + 1] = 'x';
		out[4 * i + 2] = hex[p[i] >> 4];
		out[4 * i + 3] = hex[p[i] & 15];
	}
	return 4 * len;
}

const char *escape(tn_view v, char *out, size_t cap)
{
	size_t len = 0;
	size_t keep = 0; /* what stays when the text must be cut: "..." fits after it */
	for (size_t i = 0; i < v.len;) {
		char piece[ESCAPED_CHAR];
		uint32_t c = 0;
		size_t took = utf8_decode(v.ptr + i, v.len - i, &c);
		if (took == 0) {
			c = 0; /* a stray byte is shown as a control would be */
			took = 1;
		}
		size_t n = escape_char(v.ptr + i, took, c, piece);
		if (n >= cap - len) {
			for (len = keep; len < keep + 3 && len + 1 < cap; len++)
				out[len] = '.';
			break;
		}
		memcpy(out + len, piece, n);
		len += n;
		i += took;
		if (len + 3 < cap)
			keep = len;
	}
	out[len] = '\0';
	return out;
}
