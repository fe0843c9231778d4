/* mutate_safetensors.c - a length, a JSON header, and data. There is no magic: what begins with a length that fits and a brace
 * is one. */
#include "fuzz/mutate.h"

#include "format/safetensors/layout.h"

static bool is(tn_view file)
{
	return file.len > HEADER_AT && file.ptr[HEADER_AT] == '{';
}

static bool lay_out(struct layout *l, tn_view file)
{
	uint64_t n = le64(file.ptr);
	layout_part(l, PART_NUMBER, 0, 8, 0);
	layout_ref(l, REF_LENGTH, 0, 8, HEADER_AT);
	if (span_fits(HEADER_AT, n, file.len))
		layout_json(l, file, HEADER_AT, (size_t)n);
	return true;
}

const struct mutated_format mutated_safetensors = { is, lay_out, NULL };
