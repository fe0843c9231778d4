/* numtext.c - numbers to text and back.
 *
 * The C library finds the digits and reads them back; only digits and exponents pass between the two,
 * never a decimal point, because its spelling belongs to the locale. The spelling of the result is
 * serde_json's, see layout_decimal. */
#include "base/numtext.h"
#include "base/num.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *put_u64(char *to, uint64_t v)
{
	char back[20];
	size_t n = 0;
	do {
		back[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v != 0);
	while (n != 0)
		*to++ = back[--n];
	return to;
}

static size_t end_text(const char *out, char *end)
{
	*end = '\0';
	return (size_t)(end - out);
}

size_t u64_text(uint64_t v, char out[NUMTEXT])
{
	return end_text(out, put_u64(out, v));
}

size_t i64_text(int64_t v, char out[NUMTEXT])
{
	char *to = out;
	if (v < 0)
		*to++ = '-';
	return end_text(out, put_u64(to, v < 0 ? 0 - (uint64_t)v : (uint64_t)v));
}

/* ---- Real numbers ---- */

enum { MOST_DIGITS = 17 };

/* A positive number as 0.DIGITS x 10^point, the first and the last digit not 0. */
struct decimal {
	char digits[MOST_DIGITS + 1];
	int  len;
	int  point;
};

/* What sets the two types apart. */
struct real_kind {
	bool (*reads_back)(const struct decimal *d, double v);
	int    sure;     /* a decimal of so many digits survives the type: no shorter one is missed */
	int    most;     /* so many digits tell any two values apart */
	double normal;   /* below it the type is less precise than sure promises */
	int    low, high;/* plain spelling for an exponent of the first digit from low to high */
};

/* v rounded to n digits. */
static void round_to(struct decimal *d, double v, int n)
{
	char text[NUMTEXT];
	snprintf(text, sizeof text, "%.*e", n - 1, v);
	d->len = 0;
	const char *s = text;
	for (; *s != 'e'; s++)
		if (*s >= '0' && *s <= '9' && d->len < MOST_DIGITS)
			d->digits[d->len++] = *s;
	d->point = (int)strtol(s + 1, NULL, 10) + 1;
	d->digits[d->len] = '\0';
}

static void drop_zeros(struct decimal *d)
{
	while (d->len > 1 && d->digits[d->len - 1] == '0')
		d->len--;
	d->digits[d->len] = '\0';
}

/* The next decimal up with as many digits. False where a digit would be carried past the first. */
static bool step_up(struct decimal *d)
{
	int i = d->len - 1;
	while (i > 0 && d->digits[i] == '9')
		d->digits[i--] = '0';
	if (d->digits[i] == '9')
		return false;
	d->digits[i]++;
	return true;
}

/* "DIGITSeEXPONENT": a number in any locale. */
static void decimal_text(const struct decimal *d, char out[NUMTEXT])
{
	snprintf(out, NUMTEXT, "%se%d", d->digits, d->point - d->len);
}

static bool f64_reads_back(const struct decimal *d, double v)
{
	char text[NUMTEXT];
	decimal_text(d, text);
	return strtod(text, NULL) >= v && strtod(text, NULL) <= v;
}

static bool f32_reads_back(const struct decimal *d, double v)
{
	char text[NUMTEXT];
	decimal_text(d, text);
	return (double)strtof(text, NULL) >= v && (double)strtof(text, NULL) <= v;
}

/* The nearest decimal of n digits that reads back as v. At a power of two the values above lie twice
 * as far apart as those below: there the nearest decimal may miss while the next one up does not. */
static bool fits_in(struct decimal *d, const struct real_kind *k, double v, int n)
{
	round_to(d, v, n);
	if (k->reads_back(d, v))
		return true;
	int exp;
	bool power_of_two = frexp(v, &exp) <= 0.5;
	return power_of_two && step_up(d) && k->reads_back(d, v);
}

static struct decimal shortest(const struct real_kind *k, double v)
{
	struct decimal d;
	int n = v < k->normal ? 1 : k->sure;
	while (n < k->most && !fits_in(&d, k, v, n))
		n++;
	if (n == k->most)
		round_to(&d, v, n);
	drop_zeros(&d);
	return d;
}

static char *put_zeros(char *to, int n)
{
	for (; n > 0; n--)
		*to++ = '0';
	return to;
}

static char *put_digits(char *to, const char *digits, int n)
{
	memcpy(to, digits, (size_t)n);
	return to + n;
}

static char *put_exponent(char *to, int exp)
{
	*to++ = 'e';
	*to++ = exp < 0 ? '-' : '+';
	return put_u64(to, (uint64_t)(exp < 0 ? -exp : exp));
}

/* "120.0", "1.25", "0.00012", "1e-7", "1.5e+16": the plain spelling between low and high, always a
 * point or an exponent, so that it reads back as a real. */
static char *layout_decimal(char *to, const struct decimal *d, const struct real_kind *k)
{
	int exp = d->point - 1;
	int whole = d->point < d->len ? d->point : d->len; /* digits before the point */
	if (exp < k->low || exp > k->high) {
		*to++ = d->digits[0];
		if (d->len > 1) {
			*to++ = '.';
			to = put_digits(to, d->digits + 1, d->len - 1);
		}
		return put_exponent(to, exp);
	}
	if (whole <= 0) {
		*to++ = '0', *to++ = '.';
		return put_digits(put_zeros(to, -d->point), d->digits, d->len);
	}
	to = put_zeros(put_digits(to, d->digits, whole), d->point - whole);
	*to++ = '.';
	return whole < d->len ? put_digits(to, d->digits + whole, d->len - whole) : put_zeros(to, 1);
}

static size_t real_text(const struct real_kind *k, double v, char out[NUMTEXT])
{
	char *to = out;
	if (signbit(v))
		*to++ = '-';
	if (fpclassify(v) == FP_ZERO) {
		memcpy(to, "0.0", 3);
		to += 3;
	} else {
		struct decimal d = shortest(k, fabs(v));
		to = layout_decimal(to, &d, k);
	}
	return end_text(out, to);
}

static const struct real_kind f64 = { f64_reads_back, 15, 17, 0x1p-1022, -5, 15 };
static const struct real_kind f32 = { f32_reads_back, 6, 9, 0x1p-126, -6, 12 };

size_t f64_text(double v, char out[NUMTEXT]) { return real_text(&f64, v, out); }
size_t f32_text(float v, char out[NUMTEXT]) { return real_text(&f32, (double)v, out); }

double f32_decimal(float v)
{
	char text[NUMTEXT];
	if (fpclassify(v) == FP_ZERO)
		return (double)v;
	struct decimal d = shortest(&f32, fabs((double)v));
	decimal_text(&d, text);
	return copysign(strtod(text, NULL), (double)v);
}

/* ---- Reading ---- */

bool text_u64(tn_view text, uint64_t *out)
{
	uint64_t v = 0;
	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.ptr[i];
		if (c < '0' || c > '9' || !mul_u64(v, 10, &v) || !add_u64(v, (uint64_t)(c - '0'), &v))
			return false;
	}
	if (text.len == 0)
		return false;
	*out = v;
	return true;
}
