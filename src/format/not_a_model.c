/* not_a_model.c - names what a file is from its first bytes. See not_a_model.h. */
#include "format/not_a_model.h"

#include "base/bytes.h"
#include "base/view.h"

#include <inttypes.h>
#include <stdio.h>

struct file {
	tn_view     head;
	uint64_t    size;
	const char *ext;
	tn_error   *err;
};

/* Names the kind of file, for programs, beside what is said to people. */
static bool is(const struct file *f, const char *kind)
{
	f->err->kind = kind;
	return true;
}

static bool found(const struct file *f, const char *kind, const char *text)
{
	err_set(f->err, TN_E_FORMAT, 0, "not a model file: %s", text);
	return is(f, kind);
}

static bool starts(tn_view v, const char *magic, size_t len)
{
	return v.len >= len && memcmp(v.ptr, magic, len) == 0;
}

static bool contains(tn_view v, const char *text)
{
	for (size_t i = 0; i < v.len; i++)
		if (view_starts((tn_view){ v.ptr + i, v.len - i }, text))
			return true;
	return false;
}

static tn_view first_line(tn_view v)
{
	size_t n = 0;
	while (n < v.len && v.ptr[n] != '\n' && v.ptr[n] != '\r')
		n++;
	return (tn_view){ v.ptr, n };
}

/* Letters of either case, after white space; prefix in lower case. */
static bool starts_like(tn_view v, const char *prefix)
{
	size_t at = 0;
	while (at < v.len && (v.ptr[at] == ' ' || v.ptr[at] == '\t' || v.ptr[at] == '\n' || v.ptr[at] == '\r'))
		at++;
	for (; *prefix != '\0'; at++, prefix++) {
		if (at == v.len)
			return false;
		uint8_t c = v.ptr[at];
		if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != *prefix)
			return false;
	}
	return true;
}

/* ---- Files that something else left behind ---- */

static bool nothing(const struct file *f)
{
	if (f->size == 0)
		return found(f, "empty-file", "the file is empty; fetch it again");
	size_t zeros = 0;
	while (zeros < f->head.len && f->head.ptr[zeros] == 0)
		zeros++;
	if (zeros < 8 && zeros != f->head.len)
		return false;
	return found(f, "zero-bytes", "the file starts with zero bytes; probably a failed transfer, fetch it again");
}

/* The value of a pointer's line "key value"; empty when there is none. */
static tn_view pointer_line(tn_view text, const char *key)
{
	size_t n = strlen(key);
	while (text.len != 0) {
		tn_view line = first_line(text);
		if (view_starts(line, key))
			return (tn_view){ line.ptr + n, line.len - n };
		size_t skip = line.len < text.len ? line.len + 1 : line.len;
		text = (tn_view){ text.ptr + skip, text.len - skip };
	}
	return (tn_view){ NULL, 0 };
}

static bool lfs_pointer(const struct file *f)
{
	enum { DIGITS = 12 };
	if (!view_starts(f->head, "version https://git-lfs"))
		return false;
	tn_view oid = pointer_line(f->head, "oid sha256:"), size = pointer_line(f->head, "size ");
	if (oid.len > DIGITS)
		oid.len = DIGITS;
	err_set(f->err, TN_E_FORMAT, 0, "not a model file: a git-lfs pointer to %s bytes with sha256 %s...; fetch them with "
	        "'git lfs pull'", ESC(size), ESC(oid));
	return is(f, "git-lfs-pointer");
}

static bool web_page(const struct file *f)
{
	if (starts_like(f->head, "<!doctype html") || starts_like(f->head, "<html"))
		return found(f, "web-page", "a web page; download the file itself, not the page that shows it");
	if (starts_like(f->head, "<?xml"))
		return found(f, "xml-reply", "an XML document, as storage servers send for an error; look into it and fetch the file again");
	return false;
}

static bool json_text(const struct file *f)
{
	if (!starts_like(f->head, "{") && !starts_like(f->head, "["))
		return false;
	if (starts_like(f->head, "{\"error\"")) {
		err_set(f->err, TN_E_FORMAT, 0, "not a model file: a server's error reply, %s; fetch the file again",
		        ESC(first_line(f->head)));
		return is(f, "json-error-reply");
	}
	if (contains(f->head, "\"weight_map\""))
		return found(f, "model-index", "the index of a model in several files; open the files that it names");
	return found(f, "json-text", "a JSON text; the tensors are in another file");
}

static bool is_text(tn_view v)
{
	for (size_t i = 0; i < v.len; i++)
		if (v.ptr[i] >= 0x7f || (v.ptr[i] < 0x20 && v.ptr[i] != '\n' && v.ptr[i] != '\r' && v.ptr[i] != '\t'))
			return false;
	return true;
}

static bool plain_text(const struct file *f)
{
	enum { SHORT = 512 };
	if (!is_text(f->head))
		return false;
	err_set(f->err, TN_E_FORMAT, 0, "not a model file: text, '%s'; %s", ESC(first_line(f->head)),
	        f->size <= SHORT ? "probably a server's error message, fetch the file again" : "look into it");
	return is(f, "text");
}

/* ---- Models and containers of another kind ---- */

static bool archive(const struct file *f)
{
	if (!starts(f->head, "PK\3\4", 4) && !starts(f->head, "PK\5\6", 4))
		return false;
	if (contains(f->head, ".npy"))
		return found(f, "npz", "NumPy arrays in a zip file (npz); load them with numpy and save them as safetensors");
	if (contains(f->head, "data.pkl") || contains(f->head, "/version"))
		return found(f, "pytorch-zip", "a PyTorch checkpoint; load it with torch and save it as safetensors");
	return found(f, "zip", "a zip file, as PyTorch, Keras and NumPy write; load it there and save it as safetensors");
}

static bool pickle(const struct file *f)
{
	tn_view h = f->head;
	if (h.len < 3 || h.ptr[0] != 0x80 || h.ptr[1] < 2 || h.ptr[1] > 5)
		return false;
	return found(f, "pickle", "a Python pickle, as old PyTorch checkpoints are; load it with torch and save it as safetensors");
}

/* A protocol buffer has no magic: field 1 is the version, field 2 the producer's name. */
static bool onnx(const struct file *f)
{
	tn_view h = f->head;
	if (h.len < 4 || h.ptr[0] != 0x08 || h.ptr[1] == 0 || h.ptr[1] > 32 || h.ptr[2] != 0x12 || h.ptr[3] > 64)
		return false;
	return found(f, "onnx", "an ONNX model; load it with the onnx package and save its weights as safetensors");
}

struct magic {
	const char *bytes;
	uint8_t     len, at;
	tn_code     code;
	const char *kind;
	const char *what;
};
#define MAGIC(text, where) .bytes = text, .len = sizeof(text) - 1, .at = where

static const struct magic magics[] = {
	{ MAGIC("tjgg", 0), TN_E_UNSUPPORTED, "ggml", "a GGML model from before GGUF" },
	{ MAGIC("fmgg", 0), TN_E_UNSUPPORTED, "ggml", "a GGML model from before GGUF" },
	{ MAGIC("lmgg", 0), TN_E_UNSUPPORTED, "ggml", "a GGML model from before GGUF" },
	{ MAGIC("TFL3", 4), TN_E_FORMAT, "tflite", "a TensorFlow Lite model; convert it with TensorFlow" },
	{ MAGIC("\x89HDF\r\n", 0), TN_E_FORMAT, "hdf5", "an HDF5 file, as Keras writes; load it there and save it as safetensors" },
	{ MAGIC("\x93NUMPY", 0), TN_E_FORMAT, "npy", "a NumPy array (npy); load it with numpy and save it as safetensors" },
	{ MAGIC("\x1f\x8b", 0), TN_E_FORMAT, "gzip", "compressed with gzip; unpack it first" },
	{ MAGIC("\x28\xb5\x2f\xfd", 0), TN_E_FORMAT, "zstd", "compressed with zstd; unpack it first" },
	{ MAGIC("\x04\x22\x4d\x18", 0), TN_E_FORMAT, "lz4", "compressed with lz4; unpack it first" },
	{ MAGIC("\xfd" "7zXZ", 0), TN_E_FORMAT, "xz", "compressed with xz; unpack it first" },
	{ MAGIC("BZh", 0), TN_E_FORMAT, "bzip2", "compressed with bzip2; unpack it first" },
	{ MAGIC("7z\xbc\xaf", 0), TN_E_FORMAT, "7z", "a 7z archive; unpack it first" },
};

static bool by_magic(const struct file *f)
{
	for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
		const struct magic *m = &magics[i];
		if (f->head.len < m->at || !starts((tn_view){ f->head.ptr + m->at, f->head.len - m->at }, m->bytes, m->len))
			continue;
		if (m->code != TN_E_UNSUPPORTED)
			return found(f, m->kind, m->what);
		err_set(f->err, TN_E_UNSUPPORTED, 0,
		        "%s: not supported by this version; convert it to safetensors with its own tools", m->what);
		return is(f, m->kind);
	}
	return false;
}

/* ---- No idea ---- */

/* safetensors has no magic, so a name is all there is to go by. */
static bool named_safetensors(const struct file *f)
{
	enum { HEADER_AT = 8 };
	if (strcmp(f->ext, "safetensors") != 0)
		return false;
	if (f->size < HEADER_AT || f->head.len < HEADER_AT) {
		err_set(f->err, TN_E_FORMAT, 0, "safetensors: the file has %" PRIu64 " bytes, too few for the header length",
		        f->size);
		return is(f, "unknown");
	}
	uint64_t n = le64(f->head.ptr);
	if (n > f->size - HEADER_AT)
		err_set(f->err, TN_E_FORMAT, 0, "safetensors: header length %" PRIu64 " is larger than the file (%" PRIu64
		        " bytes)", n, f->size);
	else
		err_set(f->err, TN_E_FORMAT, HEADER_AT, "safetensors: no JSON object follows the header length %" PRIu64, n);
	return is(f, "unknown");
}

static void unknown(const struct file *f)
{
	enum { SHOWN = 8 };
	char hex[3 * SHOWN + 1] = "";
	for (size_t i = 0; i < f->head.len && i < SHOWN; i++)
		snprintf(hex + 3 * i, 4, " %02x", f->head.ptr[i]);
	err_set(f->err, TN_E_FORMAT, 0, "not a model file: starts with%s; name its format if you know it", hex);
	is(f, "unknown");
}

tn_code not_a_model(tn_view head, uint64_t file_size, const char *ext, tn_error *err)
{
	const struct file f = { head, file_size, ext, err };
	bool named = nothing(&f) || by_magic(&f) || archive(&f) || pickle(&f) || onnx(&f) || lfs_pointer(&f) ||
	             web_page(&f) || json_text(&f) || plain_text(&f) || named_safetensors(&f);
	if (!named)
		unknown(&f);
	return err->code;
}
