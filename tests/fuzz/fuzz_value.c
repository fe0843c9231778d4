/* fuzz_value.c - any bytes as numbers of any type: what is read whole and in slices is the same, also past a cast to any
 * other type, and what narrow floats say survives being read and made again.
 *
 * A byte for the type, one for the type of the cast, one where the slices are cut, and the numbers. For quantised tensors
 * of burnpack the scheme stands before the numbers. */
#include "fuzz/fuzz.h"

#include "io/cast.h"
#include "io/qfloat_scheme.h"
#include "io/sink.h"
#include "io/values.h"

enum { MOST = 2048 };

static float whole[MOST], piece[MOST], again[MOST];

static bool same(const float *a, const float *b, size_t n) { return memcmp(a, b, n * sizeof *a) == 0; }

static void read_slices(struct values *v, size_t n, unsigned cut)
{
	tn_error err = { .code = TN_OK };
	size_t step = 1 + cut % 97;
	require(values_read(v, 0, whole, n, &err) == TN_OK, "what was opened is read");
	for (size_t at = 0; at < n; at += step) {
		size_t some = n - at < step ? n - at : step;
		require(values_read(v, at, piece, some, &err) == TN_OK && same(piece, whole + at, some), "a slice is a part of the whole");
	}
	size_t from = cut % n;
	require(values_read(v, from, piece, n - from, &err) == TN_OK && same(piece, whole + from, n - from), "to the end");
}

/* Reading and making again the numbers of a plain type changes none, NaN aside. */
static void make_again(tn_dtype d, size_t n)
{
	const struct value_codec *c = value_codec(d);
	static uint8_t bytes[8 * MOST];
	struct value_losses losses = { 0, 0, 0 };
	if (c == NULL || c->encode == NULL || n % c->elems != 0 || n == 0)
		return;
	c->encode(whole, bytes, n);
	value_decode(c, bytes, again, n);
	value_compare(whole, again, n, c->elems, &losses);
	if (dtype_info(d)->class != DTYPE_PLAIN)
		return;
	require(losses.range == 0 && losses.vanished == 0, "no number is lost");
	for (size_t i = 0; i < n; i++)
		require(whole[i] == again[i] || (whole[i] != whole[i] && again[i] != again[i]), "a number read is made again");
}

static void cast_to(const struct reader *r, const struct tensor *from, tn_dtype to)
{
	struct arena mem;
	struct tn_report report;
	struct sink sink;
	static uint8_t bytes[8 * MOST + 64];
	tn_error err = { .code = TN_OK };
	struct tensor t = *from;
	struct source s = { .kind = SOURCE_RANGE, .len = t.nbytes, .from = r, .tensor = from };
	arena_init(&mem, 16 << 20);
	report_init(&report);
	bool can = to == TN_APR_Q8 || (value_codec(to) != NULL && value_codec(to)->encode != NULL);
	if (can && cast_tensor(&t, &s, to, &mem, &report, &err) == TN_OK && s.len <= sizeof bytes) {
		sink_init_memory(&sink, bytes, s.len, &err);
		source_stream(&s, &sink);
		require(err.code == TN_OK && sink.at == s.len, "a cast gives the bytes that it promised");
		sink_fini(&sink);
	}
	report_fini(&report);
	arena_fini(&mem);
}

static void check_tensor(struct tensor *t, tn_view bytes, tn_dtype to, unsigned cut)
{
	static struct values v;
	tn_error err = { .code = TN_OK };
	struct reader r = { .map = bytes, .size = bytes.len };
	if (values_open(&v, &r, t, &err) != TN_OK) {
		require(err.msg[0] != '\0', "a refusal gives a reason");
		return;
	}
	if (v.elements == 0 || v.elements > MOST)
		return;
	read_slices(&v, (size_t)v.elements, cut);
	make_again(t->dtype, (size_t)v.elements);
	cast_to(&r, t, to);
}

/* As many elements as the bytes hold. */
static uint64_t elements_of(tn_dtype d, size_t n)
{
	const struct value_codec *c = value_codec(d);
	return c != NULL ? n / c->bytes * c->elems : d == TN_APR_Q8 && n >= 4 ? n - 4 : n;
}

/* ---- Quantised tensors of burnpack ---- */

static void put(struct arena *mem, struct tn_meta *map, const char *key, const char *const *words, unsigned n, unsigned i)
{
	require(meta_add_string(mem, map, tn_text(key), tn_text(words[i % n])) != NULL, "memory");
}

/* Words beside those that there are would never get past the scheme. */
static struct tn_meta *scheme(struct input *in, struct arena *mem)
{
	static const char *const values[] = { "Q8F", "Q8S", "Q4F", "Q4S", "Q2F", "Q2S", "E5M2", "E4M3", "E2M1" };
	static const char *const stores[] = { "Native", "PackedNative", "PackedU32" };
	static const char *const scales[] = { "F32", "F16", "BF16", "UE8M0", "UE4M3" };
	struct tn_meta *extras = meta_new(mem, TN_META_MAP), *q = extras != NULL ? meta_add_map(mem, extras, VIEW("qfloat")) : NULL;
	require(q != NULL, "memory");
	uint8_t how = take(in);
	put(mem, q, "value", values, 9, take(in));
	put(mem, q, "store", stores, 3, how);
	put(mem, q, "mode", (const char *const[]){ "Symmetric" }, 1, 0);
	require(meta_add_uint(mem, q, VIEW("packed_dim"), take(in) % 5, 64) != NULL, "memory");
	if (how & 4)
		put(mem, q, "layout", (const char *const[]){ "runs" }, 1, 0);
	if (how & 8)
		put(mem, q, "tensor", scales, 5, take(in));
	if (how & 16) {
		struct tn_meta *block = meta_add_map(mem, q, VIEW("block"));
		struct tn_meta *size = block != NULL ? meta_add_array(mem, block, VIEW("size")) : NULL;
		require(size != NULL, "memory");
		put(mem, block, "dtype", scales, 5, take(in));
		for (unsigned i = how >> 5; i > 0; i--)
			require(meta_add_uint(mem, size, VIEW(""), take(in), 8) != NULL, "memory");
	}
	return extras;
}

/* As many bytes as the scheme asks for, the input's and then zeros; what no scheme is stays as it is. */
static tn_view payload(struct tensor *t, tn_view given)
{
	static uint8_t bytes[MOST];
	struct qfloat q;
	tn_error err = { .code = TN_OK };
	(void)qfloat_scheme(t, &q, &err); /* which does not fit yet, but says what would */
	uint64_t n = q.global_at + (q.block != QF_NONE ? qfloat_scale_bytes(q.tensor) : 0);
	if (n == 0 || n > MOST)
		return given;
	memset(bytes, 0, sizeof bytes);
	copy_bytes(bytes, given.ptr, n < given.len ? (size_t)n : given.len);
	return (tn_view){ bytes, (size_t)n };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	tn_dtype d = (tn_dtype)(take(&in) % TN_DTYPES), to = (tn_dtype)(take(&in) % TN_DTYPES);
	unsigned cut = take(&in);
	uint64_t shape[5];
	struct arena mem;
	arena_init(&mem, 16 << 20);
	struct tensor t = { .name = VIEW("x"), .dtype = d, .rank = 1, .shape = shape, .dtype_text = VIEW("fuzz") };
	if (d == TN_QFLOAT) {
		t.extras = scheme(&in, &mem);
		t.rank = take(&in) % 5;
		for (unsigned i = 0; i < t.rank; i++)
			shape[i] = take(&in) % 19;
	}
	tn_view bytes = take_view(&in, MOST);
	if (d == TN_QFLOAT)
		bytes = payload(&t, bytes);
	else
		shape[0] = elements_of(d, bytes.len);
	t.finite_scales = cut % 2 != 0;
	t.nbytes = t.stored = bytes.len;
	if (value_codec(d) != NULL)
		t.nbytes = t.stored = shape[0] / value_codec(d)->elems * value_codec(d)->bytes;
	check_tensor(&t, bytes, to, cut);
	arena_fini(&mem);
	return 0;
}
