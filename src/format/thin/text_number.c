/* text_number.c - the numbers of a text, by the arithmetic of upstream's parser or to the nearest double. */
#include "format/thin/text_part.h"

#include "codec/json.h"
#include "format/thin/layout.h"

#include <inttypes.h>
#include <math.h>

/* The digits as upstream's parser gathers them: sig * 10^e. */
struct digits {
	bool     negative, real; /* real: a fraction, an exponent, or too many digits */
	bool     cut;            /* digits were dropped */
	uint64_t sig;
	int64_t  e;
};

#define TEN(n) 1e##n##0, 1e##n##1, 1e##n##2, 1e##n##3, 1e##n##4, 1e##n##5, 1e##n##6, 1e##n##7, 1e##n##8, 1e##n##9
static const double power_of_10[] = {
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, TEN(1), TEN(2), TEN(3), TEN(4), TEN(5), TEN(6), TEN(7), TEN(8),
	TEN(9), TEN(10), TEN(11), TEN(12), TEN(13), TEN(14), TEN(15), TEN(16), TEN(17), TEN(18), TEN(19), TEN(20), TEN(21),
	TEN(22), TEN(23), TEN(24), TEN(25), TEN(26), TEN(27), TEN(28), TEN(29),
	1e300, 1e301, 1e302, 1e303, 1e304, 1e305, 1e306, 1e307, 1e308
};
enum { POWER_MAX = 308 };

bool text_at_digit(const struct text *t) { return t->p < t->end && *t->p >= '0' && *t->p <= '9'; }

/* True when the digit went into sig. */
static bool push_digit(struct digits *d, uint8_t c)
{
	uint64_t digit = (uint64_t)(c - '0');
	if (d->cut || d->sig > (UINT64_MAX - digit) / 10) {
		d->cut = true;
		return false;
	}
	d->sig = d->sig * 10 + digit;
	return true;
}

static bool integer_part(struct text *t, struct digits *d)
{
	if (!text_at_digit(t))
		return text_unexpected(t, "a digit");
	if (*t->p == '0') {
		t->p++;
		return !text_at_digit(t) || text_fail(t, TN_E_CORRUPT, "a number starts with 0");
	}
	for (; text_at_digit(t); t->p++)
		d->e += !push_digit(d, *t->p);
	d->real = d->cut;
	return true;
}

static bool fraction(struct text *t, struct digits *d)
{
	d->real = true;
	d->cut = false; /* one more digit may fit where an integer's last did not */
	if (!text_at_digit(t))
		return text_unexpected(t, "a digit");
	for (; text_at_digit(t); t->p++)
		d->e -= push_digit(d, *t->p);
	return true;
}

/* Clamped to what 32 bits hold, as upstream does. *over: the written exponent itself needs more. */
static bool exponent(struct text *t, struct digits *d, bool *over, bool *negative)
{
	int64_t e = 0;
	d->real = true;
	*negative = t->p < t->end && *t->p == '-';
	if (*negative || (t->p < t->end && *t->p == '+'))
		t->p++;
	if (!text_at_digit(t))
		return text_unexpected(t, "a digit");
	for (; text_at_digit(t); t->p++) {
		*over = *over || e > (INT32_MAX - (*t->p - '0')) / 10;
		if (!*over)
			e = e * 10 + (*t->p - '0');
	}
	d->e += *negative ? -e : e;
	d->e = d->e < INT32_MIN ? INT32_MIN : d->e > INT32_MAX ? INT32_MAX : d->e;
	return true;
}

static bool too_large(struct text *t) { return text_fail(t, TN_E_CORRUPT, "a number is too large"); }

/* Upstream's arithmetic: one multiplication or division by a power of ten. */
static bool scale(struct text *t, const struct digits *d, double *out)
{
	double f = (double)d->sig;
	int64_t e = d->e;
	for (; e > POWER_MAX || e < -POWER_MAX; e += POWER_MAX) {
		if (d->sig == 0 || f < 5e-324)
			break;
		if (e > 0)
			return too_large(t);
		f /= power_of_10[POWER_MAX];
	}
	if (d->sig != 0 && e >= 0)
		f *= power_of_10[e];
	else if (d->sig != 0 && e >= -POWER_MAX)
		f /= power_of_10[-e];
	*out = f;
	return isfinite(f) || too_large(t);
}

/* The nearest double, for which the JSON library is asked: it depends on no locale. */
static bool nearest(struct text *t, const uint8_t *start, double *out)
{
	const struct json_options opt = { .what = THIN ": manifest" };
	struct json_doc *doc;
	tn_error why = { .code = TN_OK };
	if (json_parse(&doc, (tn_view){ start, (size_t)(t->p - start) }, &opt, &why) != TN_OK)
		return why.code == TN_E_NOMEM ? text_no_memory(t) : too_large(t);
	const struct json_val *v = json_root(doc);
	enum json_type type = json_type(v);
	*out = type == JSON_REAL ? json_real(v) : type == JSON_INT ? (double)json_int(v) : (double)json_uint(v);
	json_free(doc);
	return true;
}

/* Both arithmetics agree where every step is exact. */
static bool is_exact(const struct digits *d)
{
	return d->sig <= UINT64_C(1) << 53 && d->e >= -22 && d->e <= 22;
}

static bool real_value(struct text *t, const struct digits *d, const uint8_t *start, struct number *n)
{
	n->kind = NUMBER_REAL;
	if (t->exact && !is_exact(d))
		return nearest(t, start, &n->f);
	if (!scale(t, d, &n->f))
		return false;
	if (d->negative)
		n->f = -n->f;
	return true;
}

static bool number_value(struct text *t, const struct digits *d, const uint8_t *start, struct number *n)
{
	if (d->real || (d->negative && (d->sig == 0 || d->sig > (uint64_t)INT64_MAX + 1)))
		return real_value(t, d, start, n);
	n->kind = d->negative ? NUMBER_INT : NUMBER_UINT;
	n->u = d->sig;
	n->i = d->negative ? (int64_t)(0 - d->sig) : 0;
	return true;
}

bool text_number(struct text *t, const char *what, struct number *n)
{
	struct digits d = { .negative = false };
	bool over = false, down = false;
	uint8_t c = text_peek(t);
	const uint8_t *start = t->p;
	if (c != '-' && !text_at_digit(t))
		return text_unexpected(t, what);
	if (c == '-') {
		d.negative = true;
		t->p++;
	}
	if (!integer_part(t, &d))
		return false;
	if (text_take_word(t, ".") && !fraction(t, &d))
		return false;
	if ((text_take_word(t, "e") || text_take_word(t, "E")) && !exponent(t, &d, &over, &down))
		return false;
	if (over && d.sig != 0 && !down)
		return too_large(t);
	if (over)
		d.sig = 0;
	return number_value(t, &d, start, n);
}

bool text_skip_number(struct text *t)
{
	struct digits d = { .negative = false };
	bool over = false, down;
	text_take_word(t, "-");
	return integer_part(t, &d) && (!text_take_word(t, ".") || fraction(t, &d)) &&
	       (!(text_take_word(t, "e") || text_take_word(t, "E")) || exponent(t, &d, &over, &down));
}

bool text_uint(struct text *t, const char *what, uint64_t max, uint64_t *out)
{
	struct number n = { 0 };
	if (!text_number(t, what, &n))
		return false;
	if (n.kind != NUMBER_UINT)
		return text_fail(t, TN_E_CORRUPT, "%s is not a whole number of at least 0", what);
	if (n.u > max)
		return text_fail(t, TN_E_CORRUPT, "%s is %" PRIu64 ", at most %" PRIu64 " is possible", what, n.u, max);
	*out = n.u;
	return true;
}

bool text_real(struct text *t, const char *what, double *out)
{
	struct number n = { 0 };
	if (!text_number(t, what, &n))
		return false;
	*out = n.kind == NUMBER_REAL ? n.f : n.kind == NUMBER_INT ? (double)n.i : (double)n.u;
	return true;
}
