/* buffer.c - buffers of any alignment. Devices and vector units want their own; malloc gives 16. */
#include "api/call.h"
#include "base/mem.h"
#include "base/num.h"

#include <string.h>

enum { DEFAULT_ALIGN = 64 };

void tn_buffer_init(tn_buffer *b, size_t align) { *b = (tn_buffer){ .align = align }; }

/* The address that malloc gave stands just below the aligned one. */
static void *block_of(const uint8_t *ptr)
{
	void *block;
	memcpy(&block, ptr - sizeof block, sizeof block);
	return block;
}

static uint8_t *aligned_block(size_t len, size_t align)
{
	uint64_t total;
	size_t n;
	if (!add_u64(len, align, &total) || !add_u64(total, sizeof(void *), &total) || !size_from_u64(total, &n))
		return NULL;
	uint8_t *block = mem_alloc(n);
	if (block == NULL)
		return NULL;
	uint8_t *ptr = block + sizeof block;
	ptr += pad_to((uintptr_t)ptr, align);
	memcpy(ptr - sizeof block, &block, sizeof block);
	return ptr;
}

void tn_buffer_fini(tn_buffer *b)
{
	if (b->ptr != NULL)
		mem_free(block_of(b->ptr));
	*b = (tn_buffer){ .align = b->align };
}

tn_code tn_buffer_resize(tn_buffer *b, size_t len, tn_error *err)
{
	CALL_BEGIN(err);
	size_t align = b->align != 0 ? b->align : DEFAULT_ALIGN;
	if (!is_power_of_two(align))
		return err_set(err, TN_E_USAGE, TN_NO_OFFSET, "alignment %zu is no power of two", align);
	if (b->ptr == NULL || len > b->cap) {
		/* contents need not survive: freeing first halves the peak, and nothing is zeroed or copied */
		tn_buffer_fini(b);
		b->ptr = aligned_block(len, align);
		if (b->ptr == NULL)
			return err_set(err, TN_E_NOMEM, TN_NO_OFFSET, "out of memory for %zu bytes", len);
		b->cap = len;
	}
	b->len = len;
	return TN_OK;
}
