/* strmap.c - open addressing with linear probing over a table at most half full.
 *
 * The file chooses the names, so the hash must not let it choose collisions: each step folds the
 * full 128-bit product back into 64 bits, which leaves no difference that cancels whatever the state,
 * and the state starts from the table's address, which the file cannot know. The order of slots never
 * shows. */
#include "base/strmap.h"
#include "base/bytes.h"
#include "base/num.h"

/* The hash's upper half; the lower one chose the slot. Small, for the table is read all over. */
struct strmap_slot {
	uint32_t hash;
	uint32_t index; /* + 1; 0 is a free slot */
};

static uint32_t tag(uint64_t hash) { return (uint32_t)(hash >> 32); }

#ifdef __SIZEOF_INT128__
static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 p = (unsigned __int128)a * b;
	return (uint64_t)p ^ (uint64_t)(p >> 64);
}
#else
static uint64_t fold(uint64_t a, uint64_t b)
{
	uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
	uint64_t low = al * bl;
	uint64_t mid = ah * bl + (low >> 32);
	uint64_t mid2 = al * bh + (uint32_t)mid;
	return (mid2 << 32 | (uint32_t)low) ^ (ah * bh + (mid >> 32) + (mid2 >> 32));
}
#endif

static uint64_t hash_of(const struct strmap *m, tn_view v)
{
	const uint64_t odd = 0x9e3779b97f4a7c15u; /* 2^64 over the golden ratio */
	uint64_t h = fold((uint64_t)(uintptr_t)m->slots ^ 0xd1b54a32d192ed03u, odd) ^ v.len;
	const uint8_t *p = v.ptr;
	size_t n = v.len;
	for (; n >= 8; p += 8, n -= 8)
		h = fold(h ^ le64(p), odd);
	uint64_t tail = 0;
	copy_bytes(&tail, p, n);
	h = fold(h ^ tail, odd);
	return fold(h, odd);
}

bool strmap_init(struct strmap *m, struct arena *a, uint64_t n)
{
	uint64_t least, slots = 8;
	*m = (struct strmap){ 0 };
	if (n >= UINT32_MAX || !mul_u64(n, 2, &least))
		return false;
	while (slots < least)
		slots *= 2;
	m->slots = ARENA_NEW(a, slots, struct strmap_slot);
	m->mask = slots - 1;
	return m->slots != NULL;
}

/* The slot that holds name, or the free one where it would go. */
static struct strmap_slot *probe(const struct strmap *m, strmap_key_fn key, const void *ctx,
                                 tn_view name, uint64_t hash)
{
	for (uint64_t i = hash & m->mask;; i = (i + 1) & m->mask) {
		struct strmap_slot *s = &m->slots[i];
		if (s->index == 0 || (s->hash == tag(hash) && view_eq(key(ctx, s->index - 1), name)))
			return s;
	}
}

bool strmap_add(struct strmap *m, strmap_key_fn key, const void *ctx, uint64_t i, uint64_t *other)
{
	tn_view name = key(ctx, i);
	uint64_t hash = hash_of(m, name);
	struct strmap_slot *s = probe(m, key, ctx, name, hash);
	if (s->index != 0) {
		*other = s->index - 1;
		return false;
	}
	*s = (struct strmap_slot){ tag(hash), (uint32_t)(i + 1) };
	m->count++;
	return true;
}

bool strmap_find(const struct strmap *m, strmap_key_fn key, const void *ctx, tn_view name,
                 uint64_t *out)
{
	if (m->count == 0)
		return false;
	const struct strmap_slot *s = probe(m, key, ctx, name, hash_of(m, name));
	if (s->index == 0)
		return false;
	*out = s->index - 1;
	return true;
}
