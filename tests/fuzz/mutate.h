/* mutate.h - changing a model file as one who knows its layout: numbers, texts and records of its index are changed, removed,
 * doubled and swapped, and the lengths, offsets, counts and checksums around them follow. So a fuzzer gets behind them,
 * and the files that it finds are whole for every reader. Layouts are read coarsely: what a walker does not understand it
 * leaves out. */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include "base/bytes.h"
#include "base/num.h"
#include "base/view.h"
#include "tenon.h"

enum { LAYOUT_PARTS = 400, LAYOUT_REFS = 400 };

/* Something that can be changed. */
enum part_kind { PART_NUMBER, PART_TEXT, PART_DECIMAL, PART_RECORD };
struct part {
	enum part_kind kind;
	size_t at, len;
	size_t group; /* records: where their count stands, or any number that they share */
};

/* A number that depends on where other bytes are. */
enum ref_kind { REF_LENGTH, REF_OFFSET, REF_COUNT };
struct ref {
	enum ref_kind kind;
	size_t   at;
	unsigned width; /* bytes, little-endian; 0: the head of a CBOR item, of one byte */
	size_t   base;  /* what a length or an offset counts from */
};

struct layout {
	size_t      size; /* of the file: what does not lie in it is not taken */
	struct part parts[LAYOUT_PARTS];
	size_t      n_parts;
	struct ref  refs[LAYOUT_REFS];
	size_t      n_refs;
	size_t      head_end, data_at, align; /* align of 0: no padding in between that has to fit */
	bool        footer;                   /* apr: the last 4 bytes are the CRC of what is before them */
};

void layout_part(struct layout *l, enum part_kind kind, size_t at, size_t len, size_t group);
void layout_ref(struct layout *l, enum ref_kind kind, size_t at, unsigned width, size_t base);
/* The strings, numbers, members and items of a JSON text. */
void layout_json(struct layout *l, tn_view file, size_t at, size_t len);

struct mutated_format {
	bool (*is)(tn_view file);
	/* False where the file is not understood. */
	bool (*lay_out)(struct layout *l, tn_view file);
	/* Makes the checksums anew; NULL: there are none. */
	void (*seal)(const struct layout *l, uint8_t *data, size_t size);
};
extern const struct mutated_format mutated_apr, mutated_burnpack, mutated_gguf, mutated_safetensors, mutated_thin;

/* The layout of a file; the format is NULL where it is not understood. */
const struct mutated_format *layout_of(struct layout *l, tn_view file);
/* Replaces bytes, and what depends on how many they are; the new size. Bytes that do not fit cap change nothing. */
size_t mutate_replace(const struct layout *l, uint8_t *data, size_t size, size_t cap, size_t at, size_t len, tn_view by);
/* Makes bytes others and returns how many they are now, at most cap. */
typedef size_t (*mutate_bytes_fn)(uint8_t *data, size_t size, size_t cap);
/* A change by a seed; the new size. */
size_t mutate_file(uint8_t *data, size_t size, size_t cap, unsigned seed, mutate_bytes_fn bytes);

#endif
