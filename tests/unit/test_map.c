/* test_map.c - who owns each byte: sorted, without overlap, the whole file. */
#include "tenon.h"

#include "support/api_kit.h"
#include "support/models.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static const char *const formats[] = { "burnpack", "safetensors" };

/* Checks what tenon.h promises of every map; gives how many bytes are of each kind. */
static void check_map(const tn_file *f, uint64_t bytes_of[TN_REGION_FOOTER + 1])
{
	tn_map *map;
	uint64_t at = 0;
	size_t tensors = 0;
	memset(bytes_of, 0, (TN_REGION_FOOTER + 1) * sizeof *bytes_of);
	bool *seen = calloc(tn_tensor_count(f) + 1, sizeof *seen);
	assert_int_equal(tn_map_new(&map, f, NULL), TN_OK);
	for (size_t i = 0; i < tn_map_count(map); i++) {
		tn_region r = tn_map_at(map, i);
		assert_int_equal(r.offset, at);
		at += r.len;
		bytes_of[r.kind] += r.len;
		assert_true(r.label[0] != '\0');
		assert_int_equal(r.tensor != SIZE_MAX, r.kind == TN_REGION_TENSOR);
		assert_true(r.len != 0 || r.kind == TN_REGION_TENSOR);
		if (r.kind != TN_REGION_TENSOR)
			continue;
		tn_tensor t = tn_tensor_at(f, r.tensor);
		assert_int_equal(t.offset, r.offset);
		assert_int_equal(t.stored, r.len);
		assert_false(seen[r.tensor]);
		seen[r.tensor] = true;
		tensors++;
	}
	assert_int_equal(at, tn_file_size(f));
	assert_int_equal(tensors, tn_tensor_count(f));
	assert_int_equal(tn_map_at(map, tn_map_count(map)).tensor, SIZE_MAX);
	tn_map_free(map);
	free(seen);
}

static void every_model_is_covered(void **state)
{
	(void)state;
	uint64_t of[TN_REGION_FOOTER + 1];
	for (size_t i = 0; i < 2; i++) {
		for (size_t k = 0; k < model_maker_count; k++) {
			tn_view bytes = models_make(&model_makers[k], formats[i]);
			tn_file *f = kit_open(bytes);
			check_map(f, of);
			assert_int_equal(of[TN_REGION_GAP] + of[TN_REGION_TRAILING], 0);
			assert_true(of[TN_REGION_HEADER] != 0);
			tn_close(f);
			free((void *)(uintptr_t)bytes.ptr);
		}
	}
	tn_map_free(NULL);
}

static void regions_add_up(void **state)
{
	(void)state;
	uint64_t of[TN_REGION_FOOTER + 1];
	for (size_t i = 0; i < 2; i++) {
		tn_view bytes = kit_file(formats[i]);
		tn_file *f = kit_open(bytes);
		check_map(f, of);
		assert_int_equal(of[TN_REGION_TENSOR], 8 + 24 + 5);
		assert_int_equal(of[TN_REGION_HEADER] + of[TN_REGION_INDEX] + of[TN_REGION_PADDING], bytes.len - 37);
		tn_close(f);
		free((void *)(uintptr_t)bytes.ptr);
	}
}

static void bytes_after_the_model_are_trailing(void **state)
{
	(void)state;
	uint64_t of[TN_REGION_FOOTER + 1];
	tn_view bytes = kit_file("burnpack");
	uint8_t *longer = malloc(bytes.len + 1000);
	memcpy(longer, bytes.ptr, bytes.len);
	memset(longer + bytes.len, 'x', 1000);
	tn_file *f = kit_open((tn_view){ longer, bytes.len + 1000 });
	check_map(f, of);
	assert_int_equal(of[TN_REGION_TRAILING], 1000);
	tn_close(f);
	free(longer);
	free((void *)(uintptr_t)bytes.ptr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_model_is_covered),
		cmocka_unit_test(regions_add_up),
		cmocka_unit_test(bytes_after_the_model_are_trailing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
