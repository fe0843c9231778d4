/* read_alignment.c - where the data of a later shard lie.
 *
 * gguf-py lays every shard of a model out with its alignment and says it in the first alone; gguf-split, and Tenon, lay the later
 * ones out with 32, as their readers do. Which of the two it was, the length of the file tells: where the layouts put
 * the data at different places, they do not end in the same padding. What fits neither is not guessed at. */
#include "format/gguf/read.h"

#include <inttypes.h>

/* Whether tensors can be elsewhere than the file itself says. */
static bool is_in_doubt(const struct reading *r, uint64_t n)
{
	struct shard_place place;
	return n != 0 && !r->own_align && gguf_shards.place(r->job->model, &place) && place.k != 0;
}

/* The alignment that the set's first shard has; 0 where that is not at hand. */
static uint64_t first_alignment(const struct reading *r)
{
	struct shard_place place;
	const struct model *first = r->job->first;
	return first != NULL && gguf_shards.place(first, &place) && place.k == 0 ? first->data_align : 0;
}

/* Where the tensors end, counted from the data; false when it is not known. */
static bool data_length(const struct tensor *t, uint64_t n, uint64_t *out)
{
	*out = 0;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t end;
		if (t[i].dtype == TN_OPAQUE || !add_u64(t[i].offset, t[i].stored, &end))
			return false;
		*out = max_u64(*out, end);
	}
	return true;
}

/* The first and the last byte at which a file of that layout ends: without padding behind the last tensor, and with it. */
static bool ends_of(const struct reading *r, uint64_t length, uint64_t align, uint64_t *first, uint64_t *last)
{
	return align_up(gcur_at(&r->c), align, first) && add_u64(*first, length, first) && align_up(*first, align, last);
}

static bool fits(const struct reading *r, uint64_t length, uint64_t align)
{
	uint64_t first, last;
	return ends_of(r, length, align, &first, &last) && first <= r->job->size && r->job->size <= last;
}

/* The shard by itself: bytes behind its data are the trace of a layout that it does not tell. */
static void tell_doubt(struct reading *r, uint64_t length)
{
	uint64_t first, last;
	if (!ends_of(r, length, r->align, &first, &last) || r->job->size <= last)
		return;
	gguf_note(r, TN_ERROR, TN_E_CORRUPT, last, NO_TENSOR,
	          "this shard says no alignment, and with %" PRIu64 " there are %s behind its data: its tensors may be "
	          "elsewhere, which the first shard of the set tells", r->align, N_BYTES(r->job->size - last));
}

static bool refuse(struct reading *r, uint64_t other)
{
	err_set(r->job->err, TN_E_CORRUPT, r->job->size,
	        GGUF ": this shard says no alignment, and its size fits neither %" PRIu64 " nor the %" PRIu64 " of the first "
	        "shard: where its tensors are cannot be told", r->align, other);
	return false;
}

static bool same_start(const struct reading *r, uint64_t other)
{
	return pad_to(gcur_at(&r->c), r->align) == pad_to(gcur_at(&r->c), other);
}

bool gguf_settle_alignment(struct reading *r, const struct tensor *t, uint64_t n)
{
	uint64_t length, other = first_alignment(r);
	if (!is_in_doubt(r, n) || other == r->align)
		return true;
	bool known = data_length(t, n, &length);
	if (known && other == 0)
		tell_doubt(r, length);
	if (other == 0 || (known && fits(r, length, r->align)))
		return true;
	if (!known || !fits(r, length, other))
		return same_start(r, other) || refuse(r, other);
	r->align = other;
	gguf_note(r, TN_WARNING, TN_E_CORRUPT, TN_NO_OFFSET, NO_TENSOR,
	          ALIGNMENT_KEY " stands in the first shard alone, and this one is laid out with it as well, %" PRIu64
	          ": llama.cpp reads other bytes, or refuses the file", other);
	return true;
}
