/* sha256.c - SHA-256 through Nettle, which keeps its state in our storage and allocates nothing. */
#include "codec/sha256.h"
#include <assert.h>
#include <nettle/sha2.h>
#include <nettle/version.h>

static_assert(sizeof(struct sha256_ctx) <= sizeof(struct s256), "struct s256 holds the state");
static_assert(SHA256_DIGEST_SIZE == SHA256_LEN, "digests have the length that the library yields");

static struct sha256_ctx *context_of(struct s256 *h) { return (void *)h->state; }

void s256_init(struct s256 *h) { nettle_sha256_init(context_of(h)); }

void s256_update(struct s256 *h, const void *p, size_t n)
{
	if (n != 0)
		nettle_sha256_update(context_of(h), n, p);
}

void s256_final(struct s256 *h, uint8_t out[SHA256_LEN])
{
#if NETTLE_VERSION_MAJOR >= 4
	nettle_sha256_digest(context_of(h), out);
#else
	nettle_sha256_digest(context_of(h), SHA256_LEN, out);
#endif
}

/* 16 when it is no hex digit. */
static unsigned digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10u : 16;
}

bool sha256_parse(tn_view text, uint8_t out[SHA256_LEN])
{
	if (text.len < SHA256_HEX || (text.len > SHA256_HEX && digit(text.ptr[SHA256_HEX]) < 16))
		return false;
	for (size_t i = 0; i < SHA256_LEN; i++) {
		unsigned high = digit(text.ptr[2 * i]), low = digit(text.ptr[2 * i + 1]);
		if (high == 16 || low == 16)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

void sha256_text(const uint8_t digest[SHA256_LEN], char out[SHA256_HEX + 1])
{
	static const char hex[] = "0123456789abcdef";
	for (size_t i = 0; i < SHA256_LEN; i++) {
		out[2 * i] = hex[digest[i] >> 4];
		out[2 * i + 1] = hex[digest[i] & 15];
	}
	out[SHA256_HEX] = '\0';
}
