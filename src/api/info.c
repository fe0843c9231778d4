/* info.c - what an open file says of itself. */
#include "api/file.h"
#include "base/num.h"

const char *tn_file_format(const tn_file *f) { return f->format->name; }
const char *tn_file_version(const tn_file *f) { return f->model.version; }
const char *tn_file_dialect(const tn_file *f) { return f->model.dialect; }

uint64_t tn_file_size(const tn_file *f)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < f->n_parts; i++)
		sum += f->parts[i].reader.size;
	return sum;
}

size_t tn_file_part_count(const tn_file *f) { return f->n_parts; }

tn_part tn_file_part_at(const tn_file *f, size_t i)
{
	if (i >= f->n_parts)
		return (tn_part){ NULL, 0 };
	return (tn_part){ f->parts[i].actual, f->parts[i].reader.size };
}

const tn_report *tn_warnings(const tn_file *f) { return &f->report; }
const tn_meta *tn_metadata(const tn_file *f) { return f->model.metadata; }
const tn_meta *tn_native(const tn_file *f) { return f->model.native; }

uint64_t tn_file_alignment(const tn_file *f)
{
	uint64_t offsets = 4096;
	for (uint64_t i = 0; i < f->model.n; i++)
		if (f->model.tensors[i].stored != 0)
			offsets |= f->model.tensors[i].offset;
	return offsets & (0 - offsets); /* the lowest bit that is set in any of them */
}

uint64_t tn_file_parameters(const tn_file *f)
{
	uint64_t sum = 0, n;
	for (uint64_t i = 0; i < f->model.n; i++) {
		const struct tensor *t = &f->model.tensors[i];
		if (!shape_elements(t->rank, t->shape, &n) || !add_u64(sum, n, &sum))
			return UINT64_MAX;
	}
	return sum;
}
