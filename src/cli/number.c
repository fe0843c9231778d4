/* number.c - floating-point numbers as the shortest decimal text that reads back as the same
 * number. */
#include "cli/text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NaN and the infinities as JavaScript and Python's json spell them. */
static bool text_special(struct text *t, double v)
{
	if (isnan(v))
		text_str(t, "NaN");
	else if (isinf(v))
		text_str(t, v < 0 ? "-Infinity" : "Infinity");
	return !isfinite(v);
}

/* The digits without a point, trailing zeros gone; returns where it stands: 0.DIGITS * 10^point. */
static int split(double v, int precision, char digits[40])
{
	char e[48];
	snprintf(e, sizeof e, "%.*e", precision - 1, fabs(v));
	size_t n = 0;
	const char *p = e;
	for (; *p != 'e'; p++)
		if (*p != '.')
			digits[n++] = *p;
	while (n > 1 && digits[n - 1] == '0')
		n--;
	digits[n] = '\0';
	return atoi(p + 1) + 1;
}

/* Plain for sizes that people read, with an exponent otherwise: "1000000.0", "0.00001", "1.5e-7",
 * "1e+16". */
static void text_decimal(struct text *t, double v, int precision)
{
	char digits[40];
	if (text_special(t, v))
		return;
	int point = split(v, precision, digits), n = (int)strlen(digits);
	text_str(t, signbit(v) ? "-" : "");
	if (point <= -5 || point > 16)
		text_fmt(t, "%c%s%se%+d", digits[0], n > 1 ? "." : "", digits + 1, point - 1);
	else if (point <= 0)
		text_fmt(t, "0.%.*s%s", -point, "00000", digits);
	else if (n <= point)
		text_fmt(t, "%s%.*s.0", digits, point - n, "0000000000000000");
	else
		text_fmt(t, "%.*s.%s", point, digits, digits + point);
}

void text_f64(struct text *t, double v)
{
	char digits[40];
	int p = isnormal(v) ? 15 : 1; /* a subnormal has fewer digits */
	for (; p < 17; p++) {
		snprintf(digits, sizeof digits, "%.*g", p, v);
		double back = strtod(digits, NULL);
		if (back >= v && back <= v)
			break;
	}
	text_decimal(t, v, p);
}

void text_f32(struct text *t, float v)
{
	char digits[40];
	int p = isnormal(v) ? 6 : 1;
	for (; p < 9; p++) {
		snprintf(digits, sizeof digits, "%.*g", p, (double)v);
		float back = strtof(digits, NULL);
		if (back >= v && back <= v)
			break;
	}
	text_decimal(t, (double)v, p);
}
