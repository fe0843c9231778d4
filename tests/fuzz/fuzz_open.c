/* fuzz_open.c - any bytes as a model file. Built once for all formats, which are then detected, and once for each alone
 * (FUZZ_FORMAT). Whatever the bytes are, the promises of tenon.h must hold. */
#include "fuzz/check_file.h"

#ifndef FUZZ_FORMAT
#define FUZZ_FORMAT NULL
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	tn_file *file;
	tn_error err;
	/* the container as it is, for some inputs; any rule would do */
	tn_open_options options = { .format = FUZZ_FORMAT, .limits.max_memory = 64 << 20, .ignore_envelope = size % 4 == 3 };
	if (tn_open_memory(&file, (tn_view){ data, size }, &options, &err) != TN_OK) {
		require(file == NULL && err.msg[0] != '\0', "a refusal gives a reason and no file");
		return 0;
	}
	check_file(file);
	tn_close(file);
	return 0;
}
