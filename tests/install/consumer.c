/* A program as a user writes it: it saves a model to memory, opens the bytes and reads a tensor back. */
#include <stdio.h>
#include <string.h>
#include <tenon.h>

static const float ones[3] = {1, 1, 1};

static int check(const void *bytes, size_t len)
{
	tn_view v = {bytes, len}, got = {0};
	tn_file *f;

	if (tn_open_memory(&f, v, NULL, NULL) != TN_OK)
		return 1;
	int bad = tn_tensor_count(f) != 1 || tn_bytes(f, 0, &got, NULL) != TN_OK ||
	          got.len != sizeof ones || memcmp(got.ptr, ones, sizeof ones) != 0;
	tn_close(f);
	return bad;
}

int main(void)
{
	static unsigned char buf[4096];
	const uint64_t shape[1] = {3};
	tn_source from = {.kind = TN_SOURCE_MEMORY, .memory = {(const uint8_t *)ones, sizeof ones}};
	tn_writer *w;
	size_t len;

	if (tn_writer_new(&w, "safetensors", NULL, NULL) != TN_OK)
		return 1;
	int bad = tn_writer_add(w, tn_text("ones"), TN_F32, 1, shape, 0, &from, NULL) != TN_OK ||
	          tn_writer_save_memory(w, buf, sizeof buf, &len, NULL) != TN_OK || check(buf, len);
	tn_writer_free(w);
	if (!bad)
		printf("tenon %s\n", tn_version());
	return bad;
}
