/* utf8.c - well-formed UTF-8, after table 3-7 of the Unicode standard. */
#include "base/utf8.h"
#include <string.h>

static bool is_tail(uint8_t c) { return (c & 0xc0) == 0x80; }

/* The second byte is where overlong forms, surrogates and values past 10FFFF show. */
static bool second_fits(uint8_t lead, uint8_t second)
{
	switch (lead) {
	case 0xe0: return second >= 0xa0;
	case 0xed: return second <= 0x9f;
	case 0xf0: return second >= 0x90;
	case 0xf4: return second <= 0x8f;
	default:   return true;
	}
}

/* Bytes of the character that a lead byte announces; 0 for a byte that leads none. */
static size_t lead_len(uint8_t lead)
{
	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4)
		return 0;
	return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

size_t utf8_decode(const uint8_t *p, size_t n, uint32_t *out)
{
	size_t len = n != 0 ? lead_len(p[0]) : 0;
	if (len == 0 || len > n)
		return 0;
	if (len == 1) {
		*out = p[0];
		return 1;
	}
	if (!second_fits(p[0], p[1]))
		return 0;
	uint32_t c = p[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if (!is_tail(p[i]))
			return 0;
		c = c << 6 | (p[i] & 0x3fu);
	}
	*out = c;
	return len;
}

#define HIGH_BITS UINT64_C(0x8080808080808080)

/* Names are ASCII almost always: eight bytes at a step. */
static size_t skip_ascii(const uint8_t *p, size_t i, size_t n)
{
	uint64_t word;
	for (; n - i >= sizeof word; i += sizeof word) {
		memcpy(&word, p + i, sizeof word);
		if ((word & HIGH_BITS) != 0)
			break;
	}
	if (i < n && n - i < sizeof word && n >= sizeof word) { /* the last eight, some of them for the second time */
		memcpy(&word, p + n - sizeof word, sizeof word);
		if ((word & HIGH_BITS) == 0)
			return n;
	}
	while (i < n && p[i] < 0x80)
		i++;
	return i;
}

size_t utf8_span(tn_view v)
{
	size_t i = 0;
	while ((i = skip_ascii(v.ptr, i, v.len)) < v.len) {
		uint32_t c;
		size_t len = utf8_decode(v.ptr + i, v.len - i, &c);
		if (len == 0)
			break;
		i += len;
	}
	return i;
}

/* How many bytes of a malformed sequence one U+FFFD stands for: those that began a character, or the first. */
static size_t malformed_len(const uint8_t *p, size_t n)
{
	size_t len = lead_len(p[0]), i = 1;
	if (len < 2 || n < 2 || !second_fits(p[0], p[1]))
		return 1;
	while (i < len && i < n && is_tail(p[i]))
		i++;
	return i;
}

static uint32_t next_replaced(tn_view *v)
{
	uint32_t c;
	size_t len = utf8_decode(v->ptr, v->len, &c);
	if (len == 0) {
		len = malformed_len(v->ptr, v->len);
		c = 0xfffd;
	}
	v->ptr += len;
	v->len -= len;
	return c;
}

int utf8_cmp_replaced(tn_view a, tn_view b)
{
	while (a.len != 0 && b.len != 0) {
		uint32_t x = next_replaced(&a), y = next_replaced(&b);
		if (x != y)
			return x < y ? -1 : 1;
	}
	return (a.len != 0) - (b.len != 0);
}

size_t utf8_encode(uint32_t c, uint8_t out[4])
{
	size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	if (len == 1) {
		out[0] = (uint8_t)c;
		return 1;
	}
	for (size_t i = len - 1; i > 0; i--, c >>= 6)
		out[i] = (uint8_t)(0x80 | (c & 0x3f));
	out[0] = (uint8_t)((0xf00u >> len & 0xff) | c); /* C0, E0 or F0 */
	return len;
}
