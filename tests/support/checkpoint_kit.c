/* checkpoint_kit.c - makes the checkpoints that tests/checkpoints describes. */
#include "support/checkpoint_kit.h"

#include "support/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 512, SHARD_TENSORS = 256, RANK = 8 };

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "checkpoint: %s\n", what);
	abort();
}

char *checkpoint_file(const char *name, const char *file)
{
	char *folder = files_join(TENON_TEST_DATA "/checkpoints", name), *path = files_join(folder, file);
	free(folder);
	return path;
}

static void copy_if_there(const char *name, const char *folder, const char *file)
{
	char *from = checkpoint_file(name, file), *to = files_join(folder, file);
	if (files_exist(from)) {
		tn_view text = files_load(from);
		files_store(to, text);
		free((void *)(uintptr_t)text.ptr);
	}
	free(from);
	free(to);
}

/* Any two contents differ in their first bytes. */
static uint8_t *contents(unsigned number, uint64_t n)
{
	uint8_t *bytes = malloc((size_t)n + 1);
	must(bytes != NULL, "no memory");
	for (uint64_t i = 0; i < n; i++) {
		uint64_t v = i < 2 ? number >> (8 * i) : number * 31 + i * 7 + i / 251;
		bytes[i] = (uint8_t)v;
	}
	return bytes;
}

struct shard {
	char       name[64];
	tn_writer *writer;
	uint8_t   *owned[SHARD_TENSORS];
	size_t     n;
};

static void begin(struct shard *s, const char *name)
{
	tn_write_options quick = { .no_sync = true };
	*s = (struct shard){ .n = 0 };
	snprintf(s->name, sizeof s->name, "%s", name);
	must(tn_writer_new(&s->writer, "safetensors", &quick, NULL) == TN_OK, "no writer");
	must(tn_put_string(s->writer, tn_writer_metadata(s->writer), tn_text("format"), tn_text("pt"), NULL) == TN_OK,
	     "no metadata");
}

static void end(struct shard *s, const char *folder)
{
	char *path = files_join(folder, s->name);
	tn_error err;
	if (tn_writer_save(s->writer, path, &err) != TN_OK)
		must(false, err.msg);
	free(path);
	tn_writer_free(s->writer);
	while (s->n != 0)
		free(s->owned[--s->n]);
}

static uint32_t read_shape(char *text, uint64_t shape[RANK])
{
	uint32_t rank = 0;
	for (char *at = text; *at != '\0' && rank < RANK; rank++) {
		shape[rank] = strtoull(at, &at, 10);
		at += *at == ',';
	}
	return rank;
}

static void add(struct shard *s, const char *dtype, char *shape_text, unsigned number, const char *name)
{
	uint64_t shape[RANK], nbytes = 0;
	uint32_t rank = read_shape(shape_text, shape);
	tn_dtype d;
	must(tn_dtype_named(dtype, &d) && tn_dtype_bytes(d, rank, shape, &nbytes, NULL) == TN_OK, dtype);
	must(s->n < SHARD_TENSORS, "too many tensors in a shard");
	uint8_t *bytes = s->owned[s->n++] = contents(number, nbytes);
	for (uint64_t i = 0; d == TN_BOOL && i < nbytes; i++)
		bytes[i] = bytes[i] & 1;
	tn_source from = { .kind = TN_SOURCE_MEMORY, .memory = { bytes, (size_t)nbytes } };
	tn_error err;
	if (tn_writer_add(s->writer, tn_text(name), d, rank, shape, nbytes, &from, &err) != TN_OK)
		must(false, err.msg);
}

void checkpoint_make(const char *name, const char *folder)
{
	char line[LINE], file[64], dtype[16], shape[64], tensor[256], *path = checkpoint_file(name, "tensors.txt");
	unsigned number;
	FILE *list = fopen(path, "r");
	struct shard s = { .writer = NULL };
	must(list != NULL, path);
	while (fgets(line, sizeof line, list) != NULL) {
		must(sscanf(line, "%63s %15s %63s %u %255s", file, dtype, shape, &number, tensor) == 5, line);
		if (s.writer != NULL && strcmp(s.name, file) != 0)
			end(&s, folder);
		if (strcmp(s.name, file) != 0)
			begin(&s, file);
		add(&s, dtype, shape, number, tensor);
	}
	end(&s, folder);
	fclose(list);
	free(path);
	copy_if_there(name, folder, "config.json");
	copy_if_there(name, folder, "tokenizer.json");
	copy_if_there(name, folder, "tokenizer_config.json");
}
