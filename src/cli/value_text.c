/* value_text.c - single elements of a tensor as numbers to read. */
#include "cli/value_text.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum kind { NONE, TRUTH, UNSIGNED, SIGNED, SMALL, POWER, FLOAT, DOUBLE, COMPLEX };

/* How the all-ones exponent is read. */
enum specials { IEEE, NO_INF, ONE_NAN };

/* Floats of at most 16 bits: sign, exponent, mantissa. */
struct small { int exponent, mantissa, bias; enum specials specials; };

struct value {
	enum kind    kind;
	uint8_t      size;
	const char  *npy;
	struct small small;
};

static const struct value values[TN_DTYPES] = {
	[TN_BOOL]     = { TRUTH, 1, "|b1", { 0 } },
	[TN_BOOL_U8]  = { TRUTH, 1, "|b1", { 0 } },
	[TN_BOOL_U32] = { TRUTH, 4, "<u4", { 0 } },
	[TN_U8]  = { UNSIGNED, 1, "|u1", { 0 } }, [TN_U16] = { UNSIGNED, 2, "<u2", { 0 } },
	[TN_U32] = { UNSIGNED, 4, "<u4", { 0 } }, [TN_U64] = { UNSIGNED, 8, "<u8", { 0 } },
	[TN_I8]  = { SIGNED, 1, "|i1", { 0 } },   [TN_I16] = { SIGNED, 2, "<i2", { 0 } },
	[TN_I32] = { SIGNED, 4, "<i4", { 0 } },   [TN_I64] = { SIGNED, 8, "<i8", { 0 } },
	[TN_F16]    = { SMALL, 2, "<f2", { 5, 10, 15, IEEE } },
	[TN_BF16]   = { SMALL, 2, NULL, { 8, 7, 127, IEEE } },
	[TN_F32]    = { FLOAT, 4, "<f4", { 0 } },
	[TN_FLEX32] = { FLOAT, 4, "<f4", { 0 } },
	[TN_F64]    = { DOUBLE, 8, "<f8", { 0 } },
	[TN_C64]    = { COMPLEX, 8, "<c8", { 0 } },
	[TN_F8_E4M3]     = { SMALL, 1, NULL, { 4, 3, 7, NO_INF } },
	[TN_F8_E5M2]     = { SMALL, 1, NULL, { 5, 2, 15, IEEE } },
	[TN_F8_E4M3FNUZ] = { SMALL, 1, NULL, { 4, 3, 8, ONE_NAN } },
	[TN_F8_E5M2FNUZ] = { SMALL, 1, NULL, { 5, 2, 16, ONE_NAN } },
	[TN_F8_E8M0]     = { POWER, 1, NULL, { 0 } },
};

size_t value_size(tn_dtype dtype)
{
	return values[dtype].size;
}

const char *value_npy(tn_dtype dtype)
{
	return values[dtype].npy;
}

/* ---- Decoding ---- */

static uint64_t load(const uint8_t *p, size_t size)
{
	uint8_t  u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;
	switch (size) {
	case 1:  memcpy(&u8, p, 1); return u8;
	case 2:  memcpy(&u16, p, 2); return u16;
	case 4:  memcpy(&u32, p, 4); return u32;
	default: memcpy(&u64, p, 8); return u64;
	}
}

static int64_t load_signed(const uint8_t *p, size_t size)
{
	uint64_t u = load(p, size), sign = (uint64_t)1 << (8 * size - 1);
	return (int64_t)((u ^ sign) - sign);
}

static double small_decode(const struct small *s, uint32_t bits)
{
	uint32_t ones = (1u << s->exponent) - 1, fractions = (1u << s->mantissa) - 1;
	bool negative = bits >> (s->exponent + s->mantissa) & 1;
	uint32_t exponent = bits >> s->mantissa & ones, fraction = bits & fractions;
	bool nan = (s->specials == IEEE && exponent == ones && fraction != 0)
	           || (s->specials == NO_INF && exponent == ones && fraction == fractions)
	           || (s->specials == ONE_NAN && negative && exponent == 0 && fraction == 0);
	if (nan)
		return (double)NAN;
	if (s->specials == IEEE && exponent == ones)
		return negative ? -(double)INFINITY : (double)INFINITY;
	uint32_t whole = exponent > 0 ? fraction + fractions + 1 : fraction;
	double v = ldexp((double)whole, (exponent > 0 ? (int)exponent : 1) - s->bias - s->mantissa);
	return negative ? -v : v;
}

static float load_float(const uint8_t *p)
{
	float f;
	memcpy(&f, p, sizeof f);
	return f;
}

/* The small types fit f32 exactly, and are printed as such: who reads the text back as f32 gets the
 * same value. */
static void real_text(struct text *t, const struct value *v, const uint8_t *p)
{
	double d;
	switch (v->kind) {
	case SMALL:  text_f32(t, (float)small_decode(&v->small, (uint32_t)load(p, v->size))); break;
	case POWER:  text_f32(t, *p == 0xff ? NAN : ldexpf(1, *p - 127)); break;
	case DOUBLE: memcpy(&d, p, sizeof d), text_f64(t, d); break;
	default:     text_f32(t, load_float(p)); break;
	}
}

void value_text(struct text *t, tn_dtype dtype, const uint8_t *p)
{
	const struct value *v = &values[dtype];
	switch (v->kind) {
	case NONE:     break;
	case TRUTH:    text_str(t, load(p, v->size) != 0 ? "true" : "false"); break;
	case UNSIGNED: text_fmt(t, "%" PRIu64, load(p, v->size)); break;
	case SIGNED:   text_fmt(t, "%" PRId64, load_signed(p, v->size)); break;
	case COMPLEX:
		text_f32(t, load_float(p));
		text_str(t, signbit(load_float(p + 4)) ? "" : "+");
		text_f32(t, load_float(p + 4));
		text_str(t, "i");
		break;
	case SMALL:
	case POWER:
	case FLOAT:
	case DOUBLE:   real_text(t, v, p); break;
	}
}

void value_json(struct json *j, tn_dtype dtype, const uint8_t *p)
{
	if (values[dtype].kind == COMPLEX) {
		js_open(j, '[', JSON_ONE_LINE);
		js_f32(j, load_float(p));
		js_f32(j, load_float(p + 4));
		js_close(j);
		return;
	}
	struct text t = { 0 };
	value_text(&t, dtype, p);
	js_number(j, &t);
	text_free(&t);
}

void value_swap(tn_dtype dtype, uint8_t *p, size_t n)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	size_t unit = values[dtype].kind == COMPLEX ? 4 : values[dtype].size;
	for (size_t i = 0; unit > 1 && i + unit <= n; i += unit)
		for (size_t k = 0; k < unit / 2; k++) {
			uint8_t byte = p[i + k];
			p[i + k] = p[i + unit - 1 - k];
			p[i + unit - 1 - k] = byte;
		}
#else
	(void)dtype, (void)p, (void)n;
#endif
}
