/* api_kit.c - small model files for tests of the public calls. */
#include "support/api_kit.h"

#include "support/files.h"

#include <stdio.h>
#include <stdlib.h>

static _Noreturn void give_up(const char *what, const char *why)
{
	fprintf(stderr, "test set-up: %s: %s\n", what, why);
	exit(99);
}

#define MUST(call) \
	do { \
		tn_error err_; \
		if ((call) != TN_OK) \
			give_up(#call, err_.msg); \
	} while (0)

tn_writer *kit_writer(const char *format)
{
	static const tn_write_options options = { .no_sync = true };
	tn_writer *writer;
	MUST(tn_writer_new(&writer, format, &options, &err_));
	return writer;
}

uint8_t kit_byte(unsigned seed, uint64_t at) { return (uint8_t)(seed * 31 + at * 7 + at / 251 + 1); }

enum { SEEDS = 8, LONGEST = 1 << 16 };

static const uint8_t *bytes_of(unsigned seed)
{
	static uint8_t bytes[SEEDS][LONGEST];
	static bool filled[SEEDS];
	if (seed >= SEEDS)
		give_up("a tensor", "there is no such seed");
	for (uint64_t i = 0; !filled[seed] && i < LONGEST; i++)
		bytes[seed][i] = kit_byte(seed, i);
	filled[seed] = true;
	return bytes[seed];
}

void kit_add(tn_writer *writer, const char *name, tn_dtype dtype, uint32_t rank, const uint64_t *shape, unsigned seed)
{
	uint64_t nbytes;
	MUST(tn_dtype_bytes(dtype, rank, shape, &nbytes, &err_));
	if (nbytes > LONGEST)
		give_up(name, "too long");
	tn_source source = { .kind = TN_SOURCE_MEMORY, .memory = { bytes_of(seed), (size_t)nbytes } };
	MUST(tn_writer_add(writer, tn_text(name), dtype, rank, shape, 0, &source, &err_));
}

tn_view kit_save(tn_writer *writer)
{
	uint64_t size;
	size_t len;
	MUST(tn_writer_size(writer, &size, &err_));
	uint8_t *bytes = malloc((size_t)size);
	if (bytes == NULL)
		give_up("a file", "out of memory");
	MUST(tn_writer_save_memory(writer, bytes, (size_t)size, &len, &err_));
	return (tn_view){ bytes, len };
}

tn_view kit_file(const char *format)
{
	tn_writer *w = kit_writer(format);
	kit_add(w, "scalar", TN_F64, 0, NULL, 0);
	kit_add(w, "matrix", TN_F32, 2, (uint64_t[]){ 2, 3 }, 1);
	kit_add(w, "empty", TN_F16, 2, (uint64_t[]){ 0, 4 }, 2);
	kit_add(w, "line", TN_U8, 1, (uint64_t[]){ 5 }, 3);
	MUST(tn_put_string(w, tn_writer_metadata(w), tn_text("a"), tn_text("1"), &err_));
	MUST(tn_put_string(w, tn_writer_metadata(w), tn_text("b"), tn_text("two"), &err_));
	tn_view bytes = kit_save(w);
	tn_writer_free(w);
	return bytes;
}

tn_view kit_many(const char *format, size_t n)
{
	tn_writer *w = kit_writer(format);
	char name[32];
	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof name, "t%zu", i);
		kit_add(w, name, TN_U8, 1, (uint64_t[]){ 1 }, (unsigned)(i % SEEDS));
	}
	tn_view bytes = kit_save(w);
	tn_writer_free(w);
	return bytes;
}

tn_file *kit_open(tn_view bytes)
{
	tn_file *file;
	MUST(tn_open_memory(&file, bytes, NULL, &err_));
	return file;
}

size_t kit_find(const tn_file *file, const char *name)
{
	size_t i;
	MUST(tn_tensor_find(file, tn_text(name), &i, &err_));
	return i;
}

char *kit_store(const char *folder, const char *name, tn_view bytes)
{
	char *path = files_join(folder, name);
	files_store(path, bytes);
	return path;
}
