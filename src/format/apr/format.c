/* format.c - what APR supplies to the core, and the header's bytes. */
#include "format/apr/layout.h"

#include "codec/crc32.h"

/* Magic and version are 48 bits of evidence; another version may still be told by its checksum. */
static int probe(tn_view head, uint64_t file_size)
{
	(void)file_size;
	if (head.len < 4 || memcmp(head.ptr, APR_MAGIC, 4) != 0)
		return apr_relative_probe(head);
	return head.len >= 6 && head.ptr[4] == APR_MAJOR && head.ptr[5] == APR_MINOR ? 48 : 32;
}

uint32_t apr_header_crc(const uint8_t header[APR_HEADER])
{
	return crc32_update(crc32_update(0, header, 40), header + APR_RESERVED_AT, APR_RESERVED);
}

void apr_header_put(const struct apr_header *h, uint8_t out[APR_HEADER])
{
	memcpy(out, APR_MAGIC, 4);
	out[4] = h->major;
	out[5] = h->minor;
	put_le16(out + 6, h->flags);
	put_le32(out + 8, h->count);
	put_le64(out + 12, h->metadata_at);
	put_le32(out + 20, h->metadata_len);
	put_le64(out + 24, h->index_at);
	put_le64(out + 32, h->data_at);
	memcpy(out + APR_RESERVED_AT, h->reserved, APR_RESERVED);
	put_le32(out + 40, apr_header_crc(out));
}

const struct tn_meta *apr_native(const struct model *m, const char *key)
{
	const struct tn_meta *own = meta_find(m->native, VIEW("apr"));
	return own != NULL && own->type == TN_META_MAP ? meta_find(own, tn_text(key)) : NULL;
}

const struct format format_apr = {
	.name = "apr",
	.exts = "apr",
	.caps = CAP_META_STRINGS | CAP_META_TREE | CAP_DIGEST | CAP_BLOCKS,
	.envelope_key = APR_ENVELOPE_KEY,
	.probe = probe,
	.parse = apr_parse,
	.verify = apr_verify,
	.plan = apr_plan,
	.shards = &apr_shards,
};
