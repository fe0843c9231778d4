/* cast.c - tensors in another type on their way into a file: which, their length, and their bytes.
 *
 * All casts go by way of f32. From f64 to types narrower than f32 that would round twice, so there
 * f64 is read with an odd last bit instead of a rounded one. What was made is decoded again and
 * compared, so that the count of values that did not survive is right for every type. */
#include "io/cast.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/num.h"
#include "io/hash.h"
#include "io/values.h"

enum { PIECE = 16384 }; /* elements; whole blocks of every type */

struct cast {
	const struct reader *from;
	struct tensor        stored;
	struct source_seen  *seen; /* see struct source */
	tn_dtype             to;
	struct tn_report    *report;
};

/* ---- Which ---- */

static bool is_blocks(tn_dtype d)
{
	return dtype_info(d)->class == DTYPE_BLOCK || d == TN_APR_Q8;
}

static bool is_float(tn_dtype d)
{
	return d >= TN_F16 && d <= TN_F4 && d != TN_C64 && d != TN_F8_E8M0;
}

static bool can_make(tn_dtype d)
{
	const struct value_codec *c = value_codec(d);
	return d == TN_APR_Q8 || (c != NULL && c->encode != NULL);
}

tn_code cast_check(const struct cast_rules *rules, tn_error *err)
{
	if (rules->dtype != TN_OPAQUE && (is_blocks(rules->dtype) || !can_make(rules->dtype)))
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET,
		               "%s is no floating-point type that tensors can be cast to",
		               dtype_info(rules->dtype)->name);
	if (rules->quantize != TN_OPAQUE &&
	    (!is_blocks(rules->quantize) || !can_make(rules->quantize)))
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET,
		               "%s is no block type that weights can be quantised to",
		               dtype_info(rules->quantize)->name);
	return TN_OK;
}

/* Blocks of APR lie in a line; all others must fill rows. */
static enum block_rule rule_of(tn_dtype d) { return d == TN_APR_Q4 ? BLOCK_FLAT : BLOCK_ROWS; }

static bool fits(tn_dtype d, const struct tensor *t)
{
	uint64_t bytes;
	return dtype_size(d, rule_of(d), t->rank, t->shape, &bytes);
}

tn_dtype cast_target(const struct cast_rules *rules, const struct tensor *t)
{
	if (rules->quantize != TN_OPAQUE && is_float(t->dtype) && t->rank >= 2 &&
	    fits(rules->quantize, t))
		return rules->quantize;
	bool number = is_float(t->dtype) || t->dtype == TN_F8_E8M0 || is_blocks(t->dtype) ||
	              t->dtype == TN_QFLOAT;
	return rules->dtype != TN_OPAQUE && number ? rules->dtype : t->dtype;
}

/* ---- What did not survive ---- */

static void say(const struct cast *c, tn_severity severity, uint64_t n, const char *what)
{
	if (n != 0)
		report_add(c->report, severity, TN_OK, TN_NO_OFFSET, c->stored.name,
		           "tensor '%s': %llu value%s %s %s", ESC(c->stored.name),
		           (unsigned long long)n, n == 1 ? "" : "s", what, dtype_info(c->to)->name);
}

static void report_losses(const struct cast *c, const struct value_losses *l)
{
	say(c, TN_WARNING, l->range, "beyond the range of");
	say(c, TN_WARNING, l->nan, "with a NaN that has another form in");
	say(c, TN_NOTE, l->vanished, "too small for");
}

/* ---- Making ---- */

struct making {
	const struct cast *cast;
	struct values       in, exact;  /* exact: finite ones stay finite, which shows overflow */
	bool                wide;       /* from f64 to a type that is rounded to from f32 */
	bool                lossless;   /* every f32 has a place in the type */
	float               scale;      /* apr_q8 */
	struct value_losses losses;
	float               x[PIECE], y[PIECE];
	uint8_t             bytes[8 * PIECE];
};

static tn_code find_scale(struct making *m, tn_error *err)
{
	float max = 0;
	for (uint64_t at = 0; at < m->in.elements; at += PIECE) {
		size_t n = (size_t)min_u64(PIECE, m->in.elements - at);
		if (values_read(&m->in, at, m->x, n, err) != TN_OK)
			return err->code;
		max = apr_q8_max(max, m->x, n);
	}
	m->scale = apr_q8_scale(max);
	return TN_OK;
}

static tn_code open_input(struct making *m, tn_error *err)
{
	const struct cast *c = m->cast;
	bool narrow = !is_blocks(c->to) && dtype_info(c->to)->bits < 32,
	     f64 = c->stored.dtype == TN_F64;
	if (values_open(&m->in, c->from, &c->stored, err) != TN_OK)
		return err->code;
	m->exact = m->in;
	m->exact.codec = f64 ? &value_f64_to_odd : m->in.codec;
	if (narrow)
		m->in.codec = m->exact.codec;
	m->wide = f64 && !narrow;
	m->lossless = !narrow && !is_blocks(c->to) && !f64;
	return c->to == TN_APR_Q8 ? find_scale(m, err) : TN_OK;
}

/* The bytes of m->x; how many they are. */
static size_t encode(struct making *m, size_t n)
{
	if (m->cast->to == TN_APR_Q8) {
		apr_q8_encode(m->scale, m->x, m->bytes, n);
		return n;
	}
	const struct value_codec *c = value_codec(m->cast->to);
	c->encode(m->x, m->bytes, n);
	return (n + c->elems - 1) / c->elems * c->bytes;
}

/* Compares n values from at with what the bytes stand for. */
static tn_code count_losses(struct making *m, uint64_t at, size_t n, tn_error *err)
{
	const struct value_codec *c = value_codec(m->cast->to);
	if (m->lossless)
		return TN_OK;
	if (c != NULL)
		value_decode(c, m->bytes, m->y, n);
	else
		apr_q8_decode(m->scale, m->bytes, m->y, n);
	if (m->wide && values_read(&m->exact, at, m->x, n, err) != TN_OK)
		return err->code;
	value_compare(m->x, m->y, n, c != NULL ? c->elems : n, &m->losses);
	return TN_OK;
}

static tn_code make(struct making *m, tn_emit *emit, tn_error *err)
{
	if (m->cast->to == TN_APR_Q8 && m->in.elements != 0) {
		put_le32(m->bytes, f32_bits(m->scale));
		tn_emit_bytes(emit, m->bytes, 4);
	}
	for (uint64_t at = 0; at < m->in.elements; at += PIECE) {
		size_t n = (size_t)min_u64(PIECE, m->in.elements - at);
		if (values_read(&m->in, at, m->x, n, err) != TN_OK)
			return err->code;
		tn_emit_bytes(emit, m->bytes, encode(m, n));
		if (count_losses(m, at, n, err) != TN_OK)
			return err->code;
	}
	return TN_OK;
}

/* All at once before it is decoded, for types that are not read from the first byte to the last. */
static tn_code check_first(const struct cast *c, tn_error *err)
{
	tn_digest is;
	if (c->stored.digest == NULL)
		return TN_OK;
	if (hash_tensor(c->from, &c->stored, &is, err) != TN_OK)
		return err->code;
	return digest_hold(&is, c->stored.digest, err);
}

/* What is read is held to the digest that its file states. */
static tn_code make_checked(struct making *m, tn_emit *emit, tn_error *err)
{
	struct b3 hash;
	tn_digest is;
	const struct cast *c = m->cast;
	struct source_seen seen = { 0 };
	b3_init(&hash);
	if (!values_watch(&m->in, c->stored.digest != NULL ? &hash : NULL, c->seen != NULL ? &seen.crc : NULL, err))
		return check_first(c, err) == TN_OK ? make(m, emit, err) : err->code;
	if (err->code != TN_OK || make(m, emit, err) != TN_OK)
		return err->code;
	if (c->seen != NULL)
		*c->seen = (struct source_seen){ .crc = seen.crc, .whole = true };
	b3_final(&hash, &is);
	return c->stored.digest != NULL ? digest_hold(&is, c->stored.digest, err) : TN_OK;
}

static tn_code produce(void *ctx, tn_emit *emit, tn_error *err)
{
	const struct cast *c = ctx;
	struct making *m = mem_alloc(sizeof *m);
	if (m == NULL)
		return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for a cast");
	m->cast = c;
	m->losses = (struct value_losses){ 0, 0, 0 };
	if (open_input(m, err) == TN_OK && make_checked(m, emit, err) == TN_OK)
		report_losses(c, &m->losses);
	mem_free(m);
	if (err->code == TN_OK && c->report->failed)
		err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for findings");
	return err->code;
}

/* ---- Planning ---- */

/* The tensor is no longer what its scheme describes. */
static bool drop_scheme(struct tensor *t, struct arena *a)
{
	if (t->dtype != TN_QFLOAT || t->extras == NULL)
		return true;
	if ((t->extras = meta_clone(a, t->extras, false)) == NULL)
		return false;
	meta_remove(t->extras, VIEW("qfloat"));
	return true;
}

/* Opened once before anything is written: what cannot be decoded is known then. */
static tn_code try_open(const struct cast *c, struct arena *a, tn_error *err)
{
	struct values *v = arena_raw(a, 1, sizeof *v);
	return v == NULL ? arena_err(a, err, "a cast") : values_open(v, c->from, &c->stored, err);
}

tn_code cast_tensor(struct tensor *t, struct source *s, tn_dtype to, struct arena *a,
                    struct tn_report *report, tn_error *err)
{
	tn_error why = { .code = TN_OK };
	uint64_t bytes;
	struct cast *c = ARENA_NEW(a, 1, struct cast);
	if (c == NULL)
		return arena_err(a, err, "a cast");
	*c = (struct cast){ .from = s->from, .stored = *t, .seen = s->seen, .to = to, .report = report };
	if (try_open(c, a, err) != TN_OK)
		return err->code;
	if (dtype_bytes(to, rule_of(to), t->rank, t->shape, &bytes, &why) != TN_OK)
		return err_set(err, why.code, TN_NO_OFFSET, "tensor '%s': %s", ESC(t->name),
		               why.msg);
	if (!drop_scheme(t, a))
		return arena_err(a, err, "a cast");
	t->dtype = to;
	t->dtype_text = tn_text(dtype_info(to)->name);
	t->enc = ENC_RAW;
	t->nbytes = t->stored = bytes;
	t->digest = NULL; /* of other bytes */
	*s = (struct source){
		.kind = SOURCE_CALLBACK, .len = bytes, .from = c->from, .produce = produce,
		.ctx = c, .again = true,
	};
	return TN_OK;
}
