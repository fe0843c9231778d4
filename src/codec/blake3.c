/* blake3.c - BLAKE3 through the official C implementation, which keeps its state in our storage. */
#include "codec/blake3.h"
#include <assert.h>
#include <blake3.h>
#include <pthread.h>

static_assert(sizeof(blake3_hasher) <= sizeof(struct b3), "struct b3 holds the state");
static_assert(_Alignof(blake3_hasher) <= _Alignof(struct b3), "struct b3 is aligned for the state");
static_assert(BLAKE3_OUT_LEN == TN_DIGEST_LEN, "digests have the length that the library yields");

static blake3_hasher *hasher_of(struct b3 *h) { return (void *)h->state; }

/* With the first block the library looks what the processor can do, and keeps it in a variable that it does not guard. */
static void look_at_processor(void)
{
	blake3_hasher h;
	uint8_t out[BLAKE3_OUT_LEN];
	blake3_hasher_init(&h);
	blake3_hasher_finalize(&h, out, sizeof out);
}

void b3_init(struct b3 *h)
{
	static pthread_once_t looked = PTHREAD_ONCE_INIT;
	pthread_once(&looked, look_at_processor);
	blake3_hasher_init(hasher_of(h));
}

void b3_update(struct b3 *h, const void *p, size_t n)
{
	if (n != 0)
		blake3_hasher_update(hasher_of(h), p, n);
}

void b3_final(const struct b3 *h, tn_digest *out)
{
	blake3_hasher_finalize((const void *)h->state, out->bytes, sizeof out->bytes);
}

tn_digest b3_of(tn_view v)
{
	struct b3 h;
	tn_digest digest;
	b3_init(&h);
	b3_update(&h, v.ptr, v.len);
	b3_final(&h, &digest);
	return digest;
}

tn_code digest_hold(const tn_digest *is, const tn_digest *stated, tn_error *err)
{
	if (memcmp(is->bytes, stated->bytes, TN_DIGEST_LEN) == 0)
		return TN_OK;
	return err_set(err, TN_E_CHECKSUM, TN_NO_OFFSET, "its bytes do not have the checksum that is stated");
}
