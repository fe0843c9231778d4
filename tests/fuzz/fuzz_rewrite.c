/* fuzz_rewrite.c - any bytes that open as a model file, written again: in its own format with an edit or two, in another format
 * and back, stamped, repacked, taken apart. What is written opens, and has the same tensors and metadata where nothing was
 * asked to change.
 *
 * What is done follows from the CRC of the input, so that golden files are inputs as they are and each mutation draws anew. */
#include "fuzz/check_file.h"
#include "fuzz/scratch.h"

#include "codec/crc32.h"

static tn_error err; /* of the last call */
enum { MUCH = 64 << 20 }; /* what is larger once written is left alone */
static const tn_work one = { .threads = 1 };

static uint32_t draw(uint32_t *lot, uint32_t n)
{
	uint32_t v = *lot % n;
	*lot = *lot / n * 2654435761u + 12345u;
	return v;
}

/* Why a file that opens cannot be written: what the target lacks, or stored data that do not decode. */
static bool is_reason(tn_code code)
{
	return (code == TN_E_LOSSY || code == TN_E_UNSUPPORTED || code == TN_E_CORRUPT || code == TN_E_LIMIT || code == TN_E_USAGE ||
	        code == TN_E_CHECKSUM) && err.msg[0] != '\0';
}

/* NULL where not all tensors can be read. */
static tn_digest *hash(const tn_file *f, tn_digest *out)
{
	return tn_hash(f, &one, NULL, out, NULL) == TN_OK ? out : NULL;
}

static void compare(const tn_file *a, const tn_file *b, bool metadata)
{
	tn_digest x, y;
	if (hash(a, &x) == NULL)
		return;
	require(hash(b, &y) != NULL && memcmp(&x, &y, sizeof x) == 0, "the same tensors");
	require(!metadata || check_same_keys(tn_metadata(a), tn_metadata(b)), "the same metadata");
}

/* ---- In its own format ---- */

static void edit(tn_writer *w, uint32_t *lot)
{
	static const char *const keys[] = { "a", "general.name", "format", "model_type", "general.alignment", "tenon", "tenon.meta", "tenon.slack", "" };
	static const char *const types[] = { "string", "u8", "i64", "f32", "f64", "bool", "u32[]", "string[]", "json", "bytes", "null" };
	static const char *const texts[] = { "", "1", "-1", "1.5", "true", "[1,2]", "[\"x\"]", "{\"a\":null}", "00ff", "32", "18446744073709551615" };
	tn_meta *root = tn_writer_metadata(w);
	tn_view key = tn_text(keys[draw(lot, 9)]);
	tn_code code = draw(lot, 4) == 0 ? tn_remove(w, root, key, &err)
	             : tn_put_text(w, root, key, types[draw(lot, 11)], tn_text(texts[draw(lot, 11)]), &err);
	require(code == TN_OK || code == TN_E_USAGE || code == TN_E_NOTFOUND, "an edit, or what is wrong with it");
}

static void write_again(const tn_file *f, uint32_t *lot)
{
	const tn_write_options options = {
		.keep_unknown = draw(lot, 2) == 0, .slack = draw(lot, 4) == 0 ? 100 : 0, .allow_loss = draw(lot, 4) == 0, .work = one,
	};
	uint32_t edits = draw(lot, 3);
	tn_writer *w;
	tn_file *again;
	uint64_t size;
	size_t len;
	if (tn_writer_of(&w, f, &options, &err) != TN_OK) {
		require(is_reason(err.code), err.msg);
		return;
	}
	for (uint32_t i = 0; i < edits; i++)
		edit(w, lot);
	if (tn_writer_size(w, &size, &err) != TN_OK) {
		require(is_reason(err.code), err.msg);
	} else if (size <= MUCH) {
		uint8_t *bytes = malloc(size != 0 ? (size_t)size : 1);
		require(bytes != NULL, "memory");
		if (tn_writer_save_memory(w, bytes, (size_t)size, &len, &err) == TN_OK) {
			require(len == size, "the planned size");
			require(tn_open_memory(&again, (tn_view){ bytes, len }, NULL, &err) == TN_OK, err.msg);
			if (!options.allow_loss)
				compare(f, again, edits == 0);
			tn_close(again);
		} else {
			require(is_reason(err.code), err.msg);
		}
		free(bytes);
	}
	tn_writer_free(w);
}

/* ---- In others ---- */

/* Opened; NULL where it cannot be written so. */
static tn_file *converted(const tn_file *f, const char *name, const char *format, bool lossy, tn_dtype cast)
{
	tn_convert_options options = {
		.format = format, .dtype = cast, .no_config = true,
		.write = { .carry = true, .allow_loss = lossy, .no_sync = true, .exact_path = true, .work = one },
	};
	const tn_open_options single = { .single = true };
	tn_converted done;
	tn_file *out;
	options.dry_run = true;
	tn_code code = tn_convert(f, scratch_path(name), &options, &done, &err);
	tn_report_free(done.report);
	if (code == TN_OK && done.size <= MUCH) {
		options.dry_run = false;
		code = tn_convert(f, scratch_path(name), &options, &done, &err);
		tn_report_free(done.report);
	}
	if (code != TN_OK || done.size > MUCH) {
		require(code == TN_OK || is_reason(code), err.msg);
		return NULL;
	}
	require(tn_open(&out, scratch_path(name), &single, &err) == TN_OK, err.msg);
	require(strcmp(tn_file_format(out), format) == 0, "the format that was asked for");
	return out;
}

static void there_and_back(const tn_file *f, uint32_t *lot)
{
	static const tn_dtype casts[] = { TN_F32, TN_F16, TN_BF16, TN_F64, TN_F8_E4M3 };
	tn_format to = tn_format_at(draw(lot, (uint32_t)tn_format_count()));
	bool lossy = draw(lot, 4) == 0;
	tn_dtype cast = draw(lot, 4) == 0 ? casts[draw(lot, 5)] : TN_OPAQUE;
	tn_file *there = converted(f, "there", to.name, lossy, cast), *back;
	if (there == NULL)
		return;
	if (cast == TN_OPAQUE && !lossy) {
		compare(f, there, true);
		back = converted(there, "back", tn_file_format(f), false, TN_OPAQUE);
		if (back != NULL)
			compare(f, back, true);
		tn_close(back);
	}
	tn_close(there);
}

/* ---- What only one format has ---- */

static void reopen(const char *name)
{
	const tn_open_options single = { .single = true };
	tn_file *out;
	require(tn_open(&out, scratch_path(name), &single, &err) == TN_OK, err.msg);
	tn_close(out);
}

static void stamp(const tn_file *f)
{
	const tn_apr_stamp what = { .license = "MIT OR Apache-2.0", .data_source = "somewhere", .architecture = "llama" };
	const tn_write_options quick = { .no_sync = true, .exact_path = true, .work = one };
	tn_apr fields;
	tn_converted done;
	tn_apr_read(f, &fields);
	tn_code code = tn_apr_stamp_file(f, scratch_path("stamped"), &what, &quick, &done, &err);
	tn_report_free(done.report);
	require(code == TN_OK || is_reason(code), err.msg);
	if (code == TN_OK)
		reopen("stamped");
}

static void take_apart(const tn_file *f, uint32_t *lot)
{
	const tn_write_options quick = { .no_sync = true, .exact_path = true, .work = one };
	const tn_repack_options repack = { .layout = (tn_thin_layout)draw(lot, 3), .zstd = draw(lot, 4) == 0, .write = quick };
	const tn_unpack_options unpack = { .no_sync = true, .work = one };
	uint64_t n;
	tn_code code = tn_thin_repack(f, scratch_path("repacked"), &repack, &n, NULL, &err);
	require(code == TN_OK || is_reason(code), err.msg);
	if (code == TN_OK)
		reopen("repacked");
	code = tn_thin_unpack(f, scratch_path("pages"), &unpack, &n, &err);
	require(code == TN_OK || is_reason(code) || code == TN_E_IO, err.msg); /* IO: an id that no file can have */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const tn_open_options options = { .limits.max_memory = 64 << 20 };
	uint32_t lot = crc32_update(0, data, size), what = draw(&lot, 16);
	tn_file *f;
	if (tn_open_memory(&f, (tn_view){ data, size }, &options, NULL) != TN_OK)
		return 0;
	if (what < 8) {
		write_again(f, &lot);
	} else {
		scratch_clear();
		if (what < 15)
			there_and_back(f, &lot);
		else if (strcmp(tn_file_format(f), "thin") == 0)
			take_apart(f, &lot);
		else
			stamp(f);
	}
	tn_close(f);
	return 0;
}
