/* cbor_put.c - CBOR as ciborium writes it: definite lengths, shortest heads, shortest floats. */
#include "codec/cbor.h"
#include <cbor.h>

enum { HEAD_MAX = 9 };

enum { MAJOR_UINT, MAJOR_NEGINT, MAJOR_TEXT = 3, MAJOR_ARRAY, MAJOR_MAP };

/* The head of any item is that of the number with another major type. The library's own functions for strings, arrays
 * and maps take a size_t, which need not hold it. */
static void put_head(struct buf *out, unsigned major, uint64_t n)
{
	uint8_t *to = buf_room(out, HEAD_MAX);
	if (to == NULL)
		return;
	out->len += cbor_encode_uint(n, to, HEAD_MAX);
	to[0] |= (uint8_t)(major << 5);
}

void cbor_put_uint(struct buf *out, uint64_t v) { put_head(out, MAJOR_UINT, v); }

void cbor_put_int(struct buf *out, int64_t v)
{
	if (v >= 0)
		put_head(out, MAJOR_UINT, (uint64_t)v);
	else
		put_head(out, MAJOR_NEGINT, ~(uint64_t)v); /* -1 - v */
}

void cbor_put_text(struct buf *out, tn_view v)
{
	put_head(out, MAJOR_TEXT, v.len);
	buf_view(out, v);
}

void cbor_put_array(struct buf *out, uint64_t n) { put_head(out, MAJOR_ARRAY, n); }
void cbor_put_map(struct buf *out, uint64_t n) { put_head(out, MAJOR_MAP, n); }
void cbor_put_bool(struct buf *out, bool v) { buf_byte(out, v ? 0xf5 : 0xf4); }
void cbor_put_null(struct buf *out) { buf_byte(out, 0xf6); }

/* ---- Floats ---- */

struct float_parts { uint64_t sign; int exp; uint64_t frac; }; /* exp without bias */

static struct float_parts parts_of(uint64_t bits)
{
	const uint64_t frac_mask = (UINT64_C(1) << 52) - 1;
	return (struct float_parts){ bits >> 63, (int)(bits >> 52 & 0x7ff) - 1023, bits & frac_mask };
}

/* The same number in a type with fewer bits; false when it does not fit exactly. Infinities fit; of
 * the NaNs only those without a payload, as ciborium has it. */
static bool narrow(uint64_t bits, unsigned exp_bits, unsigned frac_bits, uint32_t *out)
{
	const struct float_parts f = parts_of(bits);
	const int high = (1 << (exp_bits - 1)) - 1, low = 1 - high;
	const unsigned drop = 52 - frac_bits;
	const uint64_t quiet = UINT64_C(1) << 51;
	uint64_t exp, frac = f.frac;
	if (f.exp == 1024) {
		if (frac != 0 && frac != quiet)
			return false;
		exp = (UINT64_C(1) << exp_bits) - 1;
	} else if (f.exp == -1023 && frac == 0) {
		exp = 0;
	} else if (f.exp >= low && f.exp <= high) {
		exp = (uint64_t)(f.exp + high);
	} else if (f.exp < low && f.exp >= low - (int)frac_bits) {
		/* a subnormal of the narrow type: the leading 1 becomes visible */
		unsigned shift = (unsigned)(low - f.exp);
		uint64_t whole = frac | UINT64_C(1) << 52;
		if ((whole & ((UINT64_C(1) << shift) - 1)) != 0)
			return false;
		exp = 0;
		frac = whole >> shift;
	} else {
		return false;
	}
	if ((frac & ((UINT64_C(1) << drop) - 1)) != 0)
		return false;
	*out = (uint32_t)(f.sign << (exp_bits + frac_bits) | exp << frac_bits | frac >> drop);
	return true;
}

void cbor_put_float(struct buf *out, uint64_t bits)
{
	uint8_t item[HEAD_MAX];
	uint32_t small;
	if (narrow(bits, 5, 10, &small)) {
		item[0] = 0xf9;
		put_be16(item + 1, (uint16_t)small);
		buf_put(out, item, 3);
	} else if (narrow(bits, 8, 23, &small)) {
		item[0] = 0xfa;
		put_be32(item + 1, small);
		buf_put(out, item, 5);
	} else {
		item[0] = 0xfb;
		put_be64(item + 1, bits);
		buf_put(out, item, 9);
	}
}
