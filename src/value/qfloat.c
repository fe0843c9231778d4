/* qfloat.c - where each number of a quantised burnpack tensor stands, and what it is.
 *
 * Storage units are bytes, or words of 32 bits. Sub-byte values of a native store take a byte each,
 * except e2m1 in a packed native store: two in a byte. In a unit the first value has the lowest
 * bits. */
#include "value/qfloat.h"

#include "base/num.h"
#include "value/codec.h"

static unsigned value_bits(const struct qfloat *q)
{
	switch (q->value) {
	case QF_Q4:
	case QF_E2M1: return 4;
	case QF_Q2:   return 2;
	default:      return 8;
	}
}

static unsigned unit_bytes(const struct qfloat *q) { return q->store == QF_PACKED_U32 ? 4 : 1; }

/* Values in a storage unit. */
static unsigned values_in_unit(const struct qfloat *q)
{
	if (q->store == QF_PACKED_U32)
		return 32 / value_bits(q);
	return q->store == QF_PACKED_NATIVE && q->value == QF_E2M1 ? 2 : 1;
}

static uint64_t ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

/* The dimension along which values are packed; a scalar has none, and is a unit of its own. */
static uint32_t packed_dim(const struct qfloat *q) { return q->rank - 1 - (uint32_t)q->packed_dim; }

static uint64_t storage_dim(const struct qfloat *q, uint32_t d)
{
	unsigned per = values_in_unit(q);
	return per > 1 && d == packed_dim(q) ? ceil_div(q->shape[d], per) : q->shape[d];
}

/* With more extents than dimensions the first count; missing ones are 1. */
static uint64_t block_extent(const struct qfloat *q, uint32_t d)
{
	uint32_t missing = q->rank > q->n_size ? q->rank - q->n_size : 0;
	return d < missing ? 1 : q->size[d - missing];
}

static uint64_t run_length(const struct qfloat *q)
{
	uint64_t n = 1;
	for (unsigned i = 0; i < q->n_size; i++)
		n *= q->size[i]; /* five bytes: at most 40 bits */
	return n;
}

/* ---- Layout ---- */

unsigned qfloat_scale_bytes(enum qfloat_scale s)
{
	static const uint8_t bytes[] = { 0, 4, 2, 2, 1, 1 };
	return bytes[s];
}

float qfloat_scale_value(enum qfloat_scale s, const uint8_t *p)
{
	switch (s) {
	case QF_F16:   return get_f16(p);
	case QF_BF16:  return f32_of((uint32_t)load16(p) << 16);
	case QF_UE8M0: return f32_of(e8m0_bits(*p));
	case QF_UE4M3: return f32_of(e4m3_bits(*p & 0x7f));
	default:       return f32_of(load32(p));
	}
}

/* Storage units and scales are no more than elements, so only the elements can overflow. */
static bool count_parts(struct qfloat *q, uint64_t *units)
{
	*units = q->elements = q->n_scales = 1;
	for (uint32_t d = 0; d < q->rank; d++) {
		if (!mul_u64(q->elements, q->shape[d], &q->elements))
			return false;
		*units *= storage_dim(q, d);
		if (q->block != QF_NONE)
			q->n_scales *= ceil_div(q->shape[d], block_extent(q, d));
	}
	if (q->block != QF_NONE && q->runs)
		q->n_scales = q->elements / run_length(q);
	return true;
}

bool qfloat_lay(struct qfloat *q, uint64_t nbytes)
{
	uint64_t units, scales, end;
	uint64_t global = q->block != QF_NONE ? qfloat_scale_bytes(q->tensor) : 0;
	if (values_in_unit(q) > 1 && q->rank > 0 && q->packed_dim >= q->rank)
		return false;
	return count_parts(q, &units) && mul_u64(units, unit_bytes(q), &q->scales_at) &&
	       mul_u64(q->n_scales, qfloat_scale_bytes(qfloat_scale_type(q)), &scales) &&
	       add_u64(q->scales_at, scales, &q->global_at) &&
	       add_u64(q->global_at, global, &end) && end == nbytes &&
	       (!q->runs || q->block == QF_NONE || q->n_scales * run_length(q) == q->elements);
}

/* ---- Runs ---- */

/* The row of an element, and its place in it. */
static uint64_t row_length(const struct qfloat *q)
{
	return q->rank > 0 ? q->shape[q->rank - 1] : 1;
}

/* Unit and scale of the element whose row and column are given; *left is how many of its row share
 * the scale. */
static void locate(const struct qfloat *q, uint64_t row, uint64_t column, uint64_t *unit,
                   unsigned *field, uint64_t *scale, uint64_t *left)
{
	unsigned per = values_in_unit(q);
	uint64_t unit_stride = 1, scale_stride = 1;
	*unit = *scale = *field = 0;
	*left = row_length(q) - column;
	for (uint32_t d = q->rank; d-- > 0; ) {
		bool inner = d == q->rank - 1;
		uint64_t i = inner ? column : row % q->shape[d], extent = block_extent(q, d);
		if (!inner)
			row /= q->shape[d];
		if (per > 1 && d == packed_dim(q)) {
			*field = (unsigned)(i % per);
			*unit += i / per * unit_stride;
		} else {
			*unit += i * unit_stride;
		}
		unit_stride *= storage_dim(q, d);
		if (q->block == QF_NONE)
			continue;
		*scale += i / extent * scale_stride;
		scale_stride *= ceil_div(q->shape[d], extent);
		if (inner)
			*left = min_u64(*left, extent - i % extent);
	}
}

void qfloat_run(const struct qfloat *q, uint64_t first, size_t max, struct qfloat_run *out)
{
	unsigned per = values_in_unit(q);
	uint64_t unit, scale, left, row = row_length(q);
	bool across = per > 1 && q->rank > 0 && packed_dim(q) != q->rank - 1;
	*out = (struct qfloat_run){ .across = across };
	locate(q, first / row, first % row, &unit, &out->field, &scale, &left);
	if (q->block != QF_NONE && q->runs) {
		uint64_t run = run_length(q);
		scale = first / run;
		left = min_u64(row - first % row, run - first % run);
	}
	out->n = (size_t)min_u64(left, max);
	out->at = unit * unit_bytes(q);
	uint64_t units = out->across ? out->n : ceil_div(out->field + (uint64_t)out->n, per);
	out->bytes = (size_t)units * unit_bytes(q);
	out->scale_at = q->scales_at + scale * qfloat_scale_bytes(qfloat_scale_type(q));
}

/* ---- Numbers ---- */

static float number(const struct qfloat *q, uint32_t code)
{
	float f4;
	switch (q->value) {
	case QF_E4M3: return f32_of(e4m3_bits((uint8_t)code));
	case QF_E5M2: return f16_value((uint16_t)(code << 8)); /* the top half of an f16 */
	case QF_E2M1:
		f4 = f32_of(widen_code(code & 7, 1, 1));
		return code & 8 ? -f4 : f4;
	default: {
		uint32_t sign = 1u << (value_bits(q) - 1);
		return (float)((int32_t)(code ^ sign) - (int32_t)sign);
	}
	}
}

void qfloat_decode(const struct qfloat *q, const struct qfloat_run *run, const uint8_t *in,
                   float scale, float *out)
{
	unsigned bits = value_bits(q), per = values_in_unit(q), size = unit_bytes(q),
	         field = run->field;
	uint32_t mask = (1u << bits) - 1;
	for (size_t i = 0; i < run->n; i++) {
		uint32_t unit = size == 4 ? load32(in) : *in;
		out[i] = scale * number(q, unit >> field * bits & mask);
		if (run->across || ++field == per) {
			in += size;
			field = run->across ? field : 0;
		}
	}
}
