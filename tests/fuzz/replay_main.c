/* replay_main.c - runs a fuzzer's entry point over a corpus, without a fuzzer.
 *
 *	replay_fuzz_open FILE-OR-FOLDER...
 *
 * Files named .hex are hex text (scripts/hextext); others are taken as they are. Every target also
 * gets the whole of tests/golden, since it must stand any bytes at all. */
#include "support/files.h"
#include "support/hextext.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t replay_file(const char *path)
{
	size_t len;
	uint8_t *bytes = hextext_load(path, &len);
	LLVMFuzzerTestOneInput(bytes, len);
	free(bytes);
	return 1;
}

static size_t replay(const char *path, const char *suffix)
{
	struct stat st;
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		return replay_file(path);
	struct file_list list = files_below(path, suffix);
	size_t n = 0;
	for (size_t i = 0; i < list.n; i++)
		n += replay_file(list.paths[i]);
	files_free(&list);
	return n;
}

int main(int argc, char **argv)
{
	size_t n = replay(TENON_TEST_DATA "/golden", ".hex");
	for (int i = 1; i < argc; i++)
		n += replay(argv[i], "");
	printf("%zu inputs\n", n);
	return n != 0 ? 0 : 1;
}
