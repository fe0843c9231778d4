/* fuzz_roundtrip.c - a model built from the input, written in two formats and read back: what a writer took, the reader
 * gives back, and both formats give the same.
 *
 * The first byte says which two formats. Then comes a list of instructions, each a byte for what to do and what it needs
 * behind it. Only metadata strings and names that are UTF-8 without NUL are asked for: what the writer refuses is no test
 * here. */
#include "fuzz/check_file.h"

/* A name of readable characters, made different by a number. */
static size_t take_name(struct input *in, char *out, size_t cap, unsigned number)
{
	tn_view v = take_view(in, take(in) % 24);
	size_t n = 0;
	for (size_t i = 0; i < v.len; i++)
		out[n++] = (char)(v.ptr[i] % 127 != 0 ? v.ptr[i] % 127 : 'x');
	return n + (size_t)snprintf(out + n, cap - n, "#%u", number);
}

static void add_tensor(struct input *in, tn_writer *w, unsigned number)
{
	static const uint8_t zeros[1 << 13];
	char text[64];
	size_t len = take_name(in, text, sizeof text, number);
	tn_dtype dtype = (tn_dtype)(take(in) % TN_DTYPES);
	uint64_t shape[4], nbytes;
	uint32_t rank = take(in) % 5;
	for (uint32_t i = 0; i < rank; i++)
		shape[i] = (uint64_t)(take(in) % 9) * (take(in) % 16 == 0 ? 32 : 1);
	if (tn_dtype_bytes(dtype, rank, shape, &nbytes, NULL) != TN_OK || nbytes > sizeof zeros)
		return;
	/* the input's own bytes where it has enough, so that values vary */
	tn_view data = take_view(in, (size_t)nbytes);
	if (data.len < nbytes || dtype == TN_BOOL || dtype == TN_BOOL_U8 || dtype == TN_BOOL_U32)
		data = (tn_view){ zeros, (size_t)nbytes };
	tn_source source = { .kind = TN_SOURCE_MEMORY, .memory = data };
	tn_view name = { (const uint8_t *)text, len };
	tn_error err;
	if (tn_writer_add(w, name, dtype, rank, shape, nbytes, &source, &err) != TN_OK)
		require(err.msg[0] != '\0', "a refusal gives a reason");
}

static tn_code put_value(struct input *in, tn_writer *w, tn_meta *to, tn_view key, tn_meta **inner)
{
	static const unsigned widths[] = { 8, 16, 32, 64 };
	unsigned k = take(in) % 4;
	uint64_t v = take_number(in, 8);
	int64_t signed_v;
	double real;
	float small;
	memcpy(&signed_v, &v, sizeof v);
	memcpy(&real, &v, sizeof v);
	memcpy(&small, &v, sizeof small);
	switch (take(in) % 9) {
	case 0:  return tn_put_string(w, to, key, key, NULL);
	case 1:  return tn_put_bytes(w, to, key, take_view(in, take(in)), NULL);
	case 2:  return tn_put_uint(w, to, key, v >> (64 - widths[k]), widths[k], NULL);
	case 3:
		return tn_put_int(w, to, key, signed_v / (INT64_C(1) << (64 - widths[k])),
		                  widths[k], NULL);
	case 4:  return tn_put_f64(w, to, key, real, NULL);
	case 5:  return tn_put_f32(w, to, key, small, NULL);
	case 6:  return tn_put_bool(w, to, key, v % 2 != 0, NULL);
	case 7:  return tn_put_map(w, to, key, inner, NULL);
	default: return tn_put_array(w, to, key, inner, NULL);
	}
}

static void build(struct input in, tn_writer *w)
{
	tn_meta *at = tn_writer_metadata(w);
	unsigned depth = 0;
	for (unsigned number = 0; in.p < in.end && number < 60; number++) {
		uint8_t what = take(&in);
		if (what % 4 == 0) {
			add_tensor(&in, w, number);
			continue;
		}
		char key[64];
		tn_meta *inner = NULL;
		size_t len = take_name(&in, key, sizeof key, number);
		require(put_value(&in, w, at, (tn_view){ (const uint8_t *)key, len }, &inner) ==
		                TN_OK,
		        "a value is taken");
		if (inner != NULL && what % 2 == 0 && ++depth < 30)
			at = inner;
		if (what > 200) {
			at = tn_writer_metadata(w);
			depth = 0;
		}
	}
}

/* False where the format cannot hold the model, its envelope helping: empty tensors and some names in thin. */
static bool save(tn_writer *w, tn_view *out)
{
	uint64_t size;
	size_t len = 0;
	tn_error err;
	tn_code code = tn_writer_size(w, &size, &err);
	require(code == TN_OK || code == TN_E_LOSSY,
	        "with an envelope and carrying, a format takes a model or names a loss");
	if (code != TN_OK)
		return false;
	uint8_t *bytes = malloc(size != 0 ? (size_t)size : 1);
	require(bytes != NULL, "memory");
	require(tn_writer_save_memory(w, bytes, (size_t)size, &len, &err) == TN_OK,
	        "what was planned is written");
	require(len == size, "in the planned size");
	*out = (tn_view){ bytes, len };
	return true;
}

static tn_file *open_bytes(tn_view bytes, const char *format)
{
	tn_file *file;
	tn_error err;
	tn_code code = tn_open_memory(&file, bytes, NULL, &err);
	if (code != TN_OK)
		fprintf(stderr, "%s\n", err.msg);
	require(code == TN_OK, "what was written opens");
	require(strcmp(tn_file_format(file), format) == 0, "as the format in which it was written");
	return file;
}

/* The model as a file in memory, in a format; *bytes is to be freed. False where the format cannot hold it. */
static bool there_and_back(struct input in, const char *format, tn_view *bytes, tn_file **file)
{
	const tn_write_options carry = { .carry = true };
	tn_writer *w;
	require(tn_writer_new(&w, format, &carry, NULL) == TN_OK, "a writer");
	build(in, w);
	bool can = save(w, bytes);
	tn_writer_free(w);
	if (can)
		*file = open_bytes(*bytes, format);
	return can;
}

static void compare(const tn_file *a, const tn_file *b)
{
	const tn_work one = { .threads = 1 };
	tn_digest x, y;
	require(tn_hash(a, &one, NULL, &x, NULL) == TN_OK && tn_hash(b, &one, NULL, &y, NULL) == TN_OK, "a hash");
	require(memcmp(&x, &y, sizeof x) == 0, "the same tensors in both formats");
	require(check_same_keys(tn_metadata(a), tn_metadata(b)), "the same metadata in both formats");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	size_t n = tn_format_count(), which = take(&in) % (n * n);
	tn_file *files[2] = { NULL, NULL };
	tn_view bytes[2] = { { NULL, 0 }, { NULL, 0 } };
	if (there_and_back(in, tn_format_at(which % n).name, &bytes[0], &files[0]) &&
	    there_and_back(in, tn_format_at(which / n).name, &bytes[1], &files[1]))
		compare(files[0], files[1]);
	for (int i = 0; i < 2; i++) {
		tn_close(files[i]);
		free((void *)(uintptr_t)bytes[i].ptr);
	}
	return 0;
}
