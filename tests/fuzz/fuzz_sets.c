/* fuzz_sets.c - models in several files: a folder is made from the input, and opened, verified, rebuilt, mended.
 *
 * One byte for what to open and do, then files until the input ends: a byte for the name, one for what it is, and what that
 * needs. Shards and indexes are made to fit each other, so that what the input changes in them is what differs. The folder
 * lies in memory where the system has such a place, and is used again and again. */
#include "fuzz/check_file.h"
#include "fuzz/scratch.h"

enum { FILES = 6, ROOM = 1 << 16 };

static const char *const names[] = {
	"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json",
	"model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors", "model-00003-of-00003.safetensors",
	"model.safetensors", "other.safetensors.index.json",
	"m-00001-of-00002.gguf", "m-00002-of-00002.gguf", "m.gguf", "m-00001-of-00001.gguf",
	"a-00000-of-00002.apr", "a-00001-of-00002.apr", "a.apr", "a-00002-of-00002.apr",
};
enum { NAMES = sizeof names / sizeof names[0] };

static uint8_t bytes[ROOM];
static tn_error err; /* of the last call */

/* ---- Files ---- */

static void put_uint(tn_writer *w, const char *key, uint64_t v, unsigned width)
{
	require(tn_put_uint(w, tn_writer_metadata(w), tn_text(key), v, width, NULL) == TN_OK, "a number");
}

/* What a shard says of its place in the set. */
static void put_place(tn_writer *w, const char *format, uint8_t k, uint8_t n, uint8_t total)
{
	tn_meta *map;
	if (strcmp(format, "gguf") == 0) {
		put_uint(w, "split.no", k, 16);
		put_uint(w, "split.count", n, 16);
		require(tn_put_int(w, tn_writer_metadata(w), tn_text("split.tensors.count"), total, 32, NULL) == TN_OK, "a number");
	} else if (strcmp(format, "apr") == 0) {
		require(tn_put_map(w, tn_writer_metadata(w), tn_text("sharding"), &map, NULL) == TN_OK &&
		        tn_put_uint(w, map, tn_text("shard_count"), n, 64, NULL) == TN_OK &&
		        tn_put_uint(w, map, tn_text("shard_index"), k, 64, NULL) == TN_OK &&
		        tn_put_uint(w, map, tn_text("total_size"), total, 64, NULL) == TN_OK, "a place");
	} else if (k != 0) {
		require(tn_put_string(w, tn_writer_metadata(w), tn_text("k"), (tn_view){ &k, k < 128 }, NULL) == TN_OK, "a string");
	}
}

/* Tensors a to h, those whose bits are set; a byte each for the place, one for their number and one for what they hold. */
static size_t make_shard(struct input *in, const char *format)
{
	static uint8_t values[32];
	const tn_write_options options = { .allow_loss = true };
	tn_writer *w;
	size_t n = 0;
	uint8_t which = take(in), k = take(in), count = take(in), total = take(in);
	memset(values, which ^ k, sizeof values);
	require(tn_writer_new(&w, format, &options, NULL) == TN_OK, "a writer");
	for (unsigned i = 0; i < 8; i++) {
		const char name = (char)('a' + i);
		const uint64_t shape[] = { 1 + i };
		const tn_source source = { .kind = TN_SOURCE_MEMORY, .memory = { values, 1 + i } };
		if (which >> i & 1)
			require(tn_writer_add(w, (tn_view){ (const uint8_t *)&name, 1 }, TN_I8, 1, shape, 1 + i, &source, NULL) == TN_OK,
			        "a tensor");
	}
	if (count != 0)
		put_place(w, format, k, count, total);
	if (tn_writer_save_memory(w, bytes, sizeof bytes, &n, NULL) != TN_OK)
		n = 0;
	tn_writer_free(w);
	return n;
}

/* Which file has each of a to h: a byte names one. */
static size_t make_index(struct input *in)
{
	uint8_t which = take(in), total = take(in);
	size_t n = (size_t)snprintf((char *)bytes, ROOM, "{\"metadata\":{\"total_size\":%u},\"weight_map\":{", total);
	const char *comma = "";
	for (unsigned i = 0; i < 8; i++) {
		if (which >> i & 1) {
			n += (size_t)snprintf((char *)bytes + n, ROOM - n, "%s\"%c\":\"%s\"", comma, 'a' + (int)i, names[take(in) % NAMES]);
			comma = ",";
		}
	}
	return n + (size_t)snprintf((char *)bytes + n, ROOM - n, "}}");
}

static void make_file(struct input *in)
{
	static const char *const formats[] = { "safetensors", "gguf", "apr" };
	const char *name = names[take(in) % NAMES];
	uint8_t what = take(in);
	size_t n;
	if (what % 8 < 3)
		n = make_shard(in, formats[what % 8]);
	else if (what % 8 < 6)
		n = make_index(in);
	else {
		tn_view text = take_view(in, take(in));
		n = text.len;
		if (n != 0)
			memcpy(bytes, text.ptr, n);
	}
	if (what & 64 && n != 0) /* a byte is changed */
		bytes[take_number(in, 2) % n] ^= take(in) | 1;
	if (what & 128 && n != 0) /* it ends early, or goes on */
		n = n - 1 + take(in) % 3;
	scratch_write(name, bytes, n);
}

/* ---- What is done with it ---- */

static bool is_reason(tn_code code)
{
	return code != TN_OK && code != TN_E_NOMEM;
}

static bool try_open(const char *path, bool single)
{
	const tn_open_options options = { .limits.max_memory = 64 << 20, .single = single };
	tn_file *file;
	tn_code code = tn_open(&file, path, &options, &err);
	require(code == TN_OK || (is_reason(code) && file == NULL && err.msg[0] != '\0'), "a file or a reason");
	if (code == TN_OK)
		check_file(file);
	tn_close(file);
	return code == TN_OK;
}

static void try_verify(const char *path, bool single, bool opens)
{
	const tn_open_options options = { .limits.max_memory = 64 << 20, .single = single };
	const tn_verify_options deep = { .deep = true, .work.threads = 1 };
	tn_verified v;
	tn_code code = tn_verify_path(path, &options, &deep, &v, &err);
	require(code == TN_OK || (!opens && is_reason(code) && err.msg[0] != '\0' && v.report == NULL),
	        "what opens can be verified");
	require(code != TN_OK || opens || tn_report_of(v.report, TN_ERROR) != 0, "what does not open is not good");
	if (code == TN_OK)
		tn_report_free(v.report);
}

/* An index that was made anew belongs to a set that opens. */
static void try_rebuild(const char *path)
{
	static char out[160];
	const tn_write_options quick = { .no_sync = true };
	tn_report *report;
	snprintf(out, sizeof out, "%s", scratch_path("made.safetensors.index.json"));
	tn_code code = tn_rebuild_index(path, out, NULL, &quick, &report, &err);
	require(code == TN_OK || (is_reason(code) && err.msg[0] != '\0'), "an index or a reason");
	tn_report_free(report);
	if (code == TN_OK && scratch_has(out))
		require(try_open(out, false), err.msg); /* the index that was made opens */
}

/* What was mended is good, as far as mending goes: it opens. */
static void try_repair(const char *path)
{
	static char out[160];
	const tn_write_options quick = { .no_sync = true };
	tn_report *report;
	snprintf(out, sizeof out, "%s", scratch_path("mended"));
	tn_code code = tn_repair(path, out, NULL, &quick, &report, &err);
	require(code == TN_OK || (is_reason(code) && err.msg[0] != '\0'), "a file or a reason");
	tn_report_free(report);
	if (code == TN_OK && scratch_has(out))
		/* of a set it is the index that is made anew */
		require(try_open(out, true) || (err.kind != NULL && strstr(err.msg, "index") != NULL), err.msg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[160];
	struct input in = { data, data + size };
	uint8_t what = take(&in);
	bool single = what == 255;
	scratch_clear();
	for (unsigned i = 0; i < FILES && input_left(&in) != 0; i++)
		make_file(&in);
	snprintf(path, sizeof path, "%s", scratch_path(what % 32 < NAMES ? names[what % 32] : ""));
	bool opens = try_open(path, single);
	try_verify(path, single, opens);
	if (what >> 5 == 1)
		try_rebuild(path);
	if (what >> 5 == 2)
		try_repair(path);
	return 0;
}
